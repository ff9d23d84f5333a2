"""The user's decisions about memories: functions that change the store in the memory thread and can be undone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from excerpt.model import Memory, Source
from excerpt.tui.keymap import key_sign

if TYPE_CHECKING:
    from excerpt.memory.stale import SourceCheck
    from excerpt.memory.store import MemoryStore


Decision = Callable[["MemoryStore"], "Done"]


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """What the user wrote in the form. `into` is the id of the memory to merge it with, "" for none."""

    text: str
    tags: tuple[str, ...]
    why: str
    into: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """A decision that was carried out.

    `memory` is the changed memory, `told` the message to show, `undo` the decision that reverses this one and can be
    undone in turn.
    """

    memory: Memory
    told: str
    undo: Decision


def remembering(kept: MemoryDraft, source: Source | None, query: str) -> Decision:
    """Return the decision to keep a new memory, or to merge it into another."""
    if kept.into:
        return _merging(kept, source)

    def decide(store: MemoryStore) -> Done:
        memory = store.remember(kept.text, kept.tags, kept.why, source, query)
        return Done(memory, f"Remembered{_tagged(memory)}.", forgetting(memory))

    return decide


def _merging(kept: MemoryDraft, source: Source | None) -> Decision:
    def decide(store: MemoryStore) -> Done:
        from excerpt.memory.recall import merge_memory

        before = store.get(kept.into)
        found = kept.text, kept.tags, kept.why, source
        memory = store.change(kept.into, lambda memory: merge_memory(memory, *found))
        return Done(memory, f"Merged into an existing memory{_tagged(memory)}.", _back_to(before, memory))

    return decide


def editing(shown: Memory, kept: MemoryDraft) -> Decision:
    """Return the decision to change the fields that were edited in the form; the others stay as in the file."""
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
        told = f"Forgotten. It is in the trash folder; {key_sign('memory-undo')} restores it."
        return Done(gone, told, _restoring(gone))

    return decide


def _restoring(gone: Memory) -> Decision:
    def decide(store: MemoryStore) -> Done:
        memory = store.restore(gone.id)
        return Done(memory, "The memory is restored.", forgetting(memory))

    return decide


def following(found: SourceCheck) -> Decision:
    """Return the decision to change a memory's source to the location its text has moved to."""

    def decide(store: MemoryStore) -> Done:
        from excerpt.memory.stale import follow

        before = store.get(found.memory.id)
        memory = follow(store, found)
        return Done(memory, "The link is updated.", _back_to(before, memory))

    return decide


def updating(found: SourceCheck) -> Decision:
    """Return the decision to replace a memory's text with the current text of its source."""

    def decide(store: MemoryStore) -> Done:
        from excerpt.memory.stale import update

        before = store.get(found.memory.id)
        memory = update(store, found)
        return Done(memory, "The memory has the new text of its source.", _back_to(before, memory))

    return decide


def keeping(found: SourceCheck) -> Decision:
    """Return the decision to keep a memory as it is although its source changed."""

    def decide(store: MemoryStore) -> Done:
        from excerpt.memory.stale import keep

        before = store.get(found.memory.id)
        memory = keep(store, found)
        return Done(memory, "Kept unchanged until the source changes again.", _back_to(before, memory))

    return decide


def _back_to(before: Memory, after: Memory) -> Decision:
    """Return the decision to restore `before`.

    It raises MemoryUnusableError if the memory was changed elsewhere and is no longer `after`.
    """

    def decide(store: MemoryStore) -> Done:
        from excerpt.errors import MemoryUnusableError

        # Undoing a later decision restores all but `updated`, which is the time of the undo.
        if replace(store.get(after.id), updated=after.updated) != after:
            raise MemoryUnusableError(
                "The memory was changed elsewhere in the meantime.",
                "Its former version is in the trash folder beside the memories.",
            )
        memory = store.update(before)
        return Done(memory, "The memory is as before.", _back_to(after, memory))

    return decide


def _tagged(memory: Memory) -> str:
    return " under " + " ".join(f"#{tag}" for tag in memory.tags) if memory.tags else ""
