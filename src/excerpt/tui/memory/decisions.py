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


Decision = Callable[["MemoryStore"], "DecisionResult"]


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """What the user wrote in the form. `into` is the id of the memory to merge it with, "" for none."""

    text: str
    tags: tuple[str, ...]
    why: str
    into: str = ""


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """A decision that was carried out.

    `memory` is the changed memory, `message` the message to show, `undo` the decision that reverses this one and can be
    undone in turn.
    """

    memory: Memory
    message: str
    undo: Decision


def remember_decision(draft: MemoryDraft, source: Source | None, query: str) -> Decision:
    """Return the decision to keep a new memory, or to merge it into another."""
    if draft.into:
        return _merge_decision(draft, source)

    def decide(store: MemoryStore) -> DecisionResult:
        memory = store.remember(draft.text, draft.tags, draft.why, source, query)
        return DecisionResult(memory, f"Remembered{_tagged(memory)}.", forget_decision(memory))

    return decide


def _merge_decision(draft: MemoryDraft, source: Source | None) -> Decision:
    def decide(store: MemoryStore) -> DecisionResult:
        from excerpt.memory.recall import merge_memory

        before = store.get(draft.into)
        fields = draft.text, draft.tags, draft.why, source
        memory = store.change(draft.into, lambda memory: merge_memory(memory, *fields))
        return DecisionResult(
            memory, f"Merged into an existing memory{_tagged(memory)}.", _revert_decision(before, memory)
        )

    return decide


def edit_decision(edited: Memory, draft: MemoryDraft) -> Decision:
    """Return the decision to change the fields that were edited in the form; the others stay as in the file."""
    changes = {
        name: value
        for name, value, old in (
            ("text", draft.text, edited.text),
            ("tags", draft.tags, edited.tags),
            ("why", draft.why, edited.why),
        )
        if value != old
    }

    def decide(store: MemoryStore) -> DecisionResult:
        before = store.get(edited.id)
        # mypy cannot tell the types of fields that are named by strings.
        memory = store.change(edited.id, lambda memory: replace(memory, **changes))  # type: ignore[arg-type]
        return DecisionResult(memory, "Changed.", _revert_decision(before, memory))

    return decide


def forget_decision(memory: Memory) -> Decision:
    def decide(store: MemoryStore) -> DecisionResult:
        forgotten = store.forget(memory.id)
        message = f"Forgotten. It is in the trash folder; {key_sign('memory-undo')} restores it."
        return DecisionResult(forgotten, message, _restore_decision(forgotten))

    return decide


def _restore_decision(forgotten: Memory) -> Decision:
    def decide(store: MemoryStore) -> DecisionResult:
        memory = store.restore(forgotten.id)
        return DecisionResult(memory, "The memory is restored.", forget_decision(memory))

    return decide


def follow_decision(check: SourceCheck) -> Decision:
    """Return the decision to change a memory's source to the location its text has moved to."""

    def decide(store: MemoryStore) -> DecisionResult:
        from excerpt.memory.stale import update_source_location

        before = store.get(check.memory.id)
        memory = update_source_location(store, check)
        return DecisionResult(memory, "The link is updated.", _revert_decision(before, memory))

    return decide


def update_decision(check: SourceCheck) -> Decision:
    """Return the decision to replace a memory's text with the current text of its source."""

    def decide(store: MemoryStore) -> DecisionResult:
        from excerpt.memory.stale import replace_text_with_source

        before = store.get(check.memory.id)
        memory = replace_text_with_source(store, check)
        return DecisionResult(memory, "The memory has the new text of its source.", _revert_decision(before, memory))

    return decide


def keep_decision(check: SourceCheck) -> Decision:
    """Return the decision to keep a memory as it is although its source changed."""

    def decide(store: MemoryStore) -> DecisionResult:
        from excerpt.memory.stale import confirm_text

        before = store.get(check.memory.id)
        memory = confirm_text(store, check)
        return DecisionResult(
            memory, "Kept unchanged until the source changes again.", _revert_decision(before, memory)
        )

    return decide


def _revert_decision(old: Memory, new: Memory) -> Decision:
    """Return the decision to restore `old`.

    It raises MemoryUnusableError if the memory was changed elsewhere and is no longer `new`.
    """

    def decide(store: MemoryStore) -> DecisionResult:
        from excerpt.errors import MemoryUnusableError

        # Undoing a later decision restores all but `updated`, which is the time of the undo.
        if replace(store.get(new.id), updated=new.updated) != new:
            raise MemoryUnusableError(
                "The memory was changed elsewhere in the meantime.",
                "Its former version is in the trash folder beside the memories.",
            )
        memory = store.update(old)
        return DecisionResult(memory, "The memory is as before.", _revert_decision(new, memory))

    return decide


def _tagged(memory: Memory) -> str:
    return " under " + " ".join(f"#{tag}" for tag in memory.tags) if memory.tags else ""
