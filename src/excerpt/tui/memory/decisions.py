"""What the user decides about memories: done on the store in the memories' thread, each with its way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from excerpt.model import Memory, Source
from excerpt.tui.keymap import key_sign

if TYPE_CHECKING:
    from excerpt.memory.stale import MemoryStanding
    from excerpt.memory.store import MemoryStore


Decision = Callable[["MemoryStore"], "Done"]


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """What the user wrote into the form. `into` is the id of the memory it is to be merged with, "" for none."""

    text: str
    tags: tuple[str, ...]
    why: str
    into: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """A decision that was carried out: the memory as it is, what is said of it, and how to take it back, which can be
    taken back in turn."""

    memory: Memory
    told: str
    undo: Decision


def remembering(kept: MemoryDraft, source: Source | None, query: str) -> Decision:
    """A new memory, or one merged into another."""
    if kept.into:
        return _merging(kept, source)

    def decide(store: MemoryStore) -> Done:
        memory = store.remember(kept.text, kept.tags, kept.why, source, query)
        return Done(memory, f"Remembered{_tagged(memory)}.", forgetting(memory))

    return decide


def _merging(kept: MemoryDraft, source: Source | None) -> Decision:
    def decide(store: MemoryStore) -> Done:
        from excerpt.memory.recall import merged

        before = store.get(kept.into)
        found = kept.text, kept.tags, kept.why, source
        memory = store.change(kept.into, lambda memory: merged(memory, *found))
        return Done(memory, f"Merged into a memory you had{_tagged(memory)}.", _back_to(before, memory))

    return decide


def editing(shown: Memory, kept: MemoryDraft) -> Decision:
    """What the form changed of the memory that it showed; the rest is as the file says by now."""
    wanted = {
        name: value
        for name, value, was in (
            ("text", kept.text, shown.text),
            ("tags", kept.tags, shown.tags),
            ("why", kept.why, shown.why),
        )
        if value != was
    }

    def decide(store: MemoryStore) -> Done:
        before = store.get(shown.id)
        # mypy cannot tell the types of fields that are named by strings.
        memory = store.change(shown.id, lambda memory: replace(memory, **wanted))  # type: ignore[arg-type]
        return Done(memory, "Changed.", _back_to(before, memory))

    return decide


def forgetting(memory: Memory) -> Decision:
    def decide(store: MemoryStore) -> Done:
        gone = store.forget(memory.id)
        told = f"Forgotten; it is in the trash folder. {key_sign('memory-undo')} takes it back."
        return Done(gone, told, _restoring(gone))

    return decide


def _restoring(gone: Memory) -> Decision:
    def decide(store: MemoryStore) -> Done:
        memory = store.restore(gone.id)
        return Done(memory, "It is there again.", forgetting(memory))

    return decide


def following(found: MemoryStanding) -> Decision:
    """The link goes where the source went."""

    def decide(store: MemoryStore) -> Done:
        from excerpt.memory.stale import follow

        before = store.get(found.memory.id)
        memory = follow(store, found)
        return Done(memory, "The link follows its source.", _back_to(before, memory))

    return decide


def updating(found: MemoryStanding) -> Decision:
    """The text that is there now becomes the memory's."""

    def decide(store: MemoryStore) -> Done:
        from excerpt.memory.stale import update

        before = store.get(found.memory.id)
        memory = update(store, found)
        return Done(memory, "It says now what its source says.", _back_to(before, memory))

    return decide


def keeping(found: MemoryStanding) -> Decision:
    """The memory stays as it is, though its source changed."""

    def decide(store: MemoryStore) -> Done:
        from excerpt.memory.stale import keep

        before = store.get(found.memory.id)
        memory = keep(store, found)
        return Done(memory, "Kept as it is, until the source changes again.", _back_to(before, memory))

    return decide


def _back_to(before: Memory, after: Memory) -> Decision:
    """Puts a memory back as it was, unless somebody else has changed it since."""

    def decide(store: MemoryStore) -> Done:
        from excerpt.errors import MemoryUnusableError

        # Taking a later decision back leaves it as it was, with the time of that.
        if replace(store.get(after.id), updated=after.updated) != after:
            raise MemoryUnusableError(
                "The memory was changed elsewhere since.", "What it was is in the trash folder beside the memories."
            )
        memory = store.update(before)
        return Done(memory, "It is as it was.", _back_to(after, memory))

    return decide


def _tagged(memory: Memory) -> str:
    return " under " + " ".join(f"#{tag}" for tag in memory.tags) if memory.tags else ""
