"""The user's decisions about memories: functions that change the memory store and can be undone.

They are called in the thread that owns the store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import Struct

from excerpt.base.errors import MemoryUnusableError
from excerpt.base.model import Memory, Source
from excerpt.text.display import format_count

if TYPE_CHECKING:
    from excerpt.memory.joined_store import JoinedMemoryStore
    from excerpt.memory.results import SourceCheck


Decision = Callable[["JoinedMemoryStore"], "DecisionResult"]
"""A decision about a memory: a function that changes the store and returns the result."""


class MemoryDraft(Struct, frozen=True):
    """What the user wrote in the form.

    `merge_id` is the id of the memory to merge this with, "" for a new memory. `replaces` are the ids of the memories
    that the new memory replaces. `shared` saves a new memory in the vault's store, for its readers.
    """

    text: str
    tags: tuple[str, ...]
    why: str
    merge_id: str = ""
    replaces: tuple[str, ...] = ()
    shared: bool = False


class DecisionResult(Struct, frozen=True):
    """The result of an executed decision.

    `memory` is the changed memory, `message` the sentence to show. `undo` is the decision that reverts this one; it can
    be undone too.
    """

    memory: Memory
    message: str
    undo: Decision


def make_remember_decision(draft: MemoryDraft, source: Source | None, query: str) -> Decision:
    """Return the decision to keep `draft` as a new memory, or to merge it into the memory that it names.

    `query` is the query that found the source.
    """
    from excerpt.memory.memory_file import make_memory

    if draft.merge_id:
        return make_merge_decision(draft.merge_id, draft, source)

    def decide(store: JoinedMemoryStore) -> DecisionResult:
        new = make_memory(draft.text, draft.tags, draft.why, source, query)
        memory = store.remember(new, draft.replaces, shared=draft.shared)
        count = len(draft.replaces)
        replaces = f" It replaces {format_count(count, 'memory', 'memories')}." if count else ""
        message = f"The memory is kept{_tags_suffix(memory)}.{replaces}"
        return DecisionResult(memory, message, make_forget_decision(memory))

    return decide


def make_merge_decision(memory_id: str, draft: MemoryDraft, source: Source | None) -> Decision:
    """Return the decision to merge `draft` into an existing memory."""
    from excerpt.memory.recall import merge_memory

    fields = draft.text, draft.tags, draft.why, source
    return _make_change_decision(
        memory_id,
        lambda store: store.change(memory_id, lambda memory: merge_memory(memory, *fields)),
        lambda memory: f"The text is merged into an existing memory{_tags_suffix(memory)}.",
    )


def make_edit_decision(edited: Memory, draft: MemoryDraft) -> Decision:
    """Return the decision to change those fields of a memory that the user has edited in the form.

    `edited` is the memory as the form showed it. Other fields stay as they are in the memory's file.
    """
    changes = {
        name: value
        for name, value, old in (
            ("tags", draft.tags, edited.tags),
            ("why", draft.why, edited.why),
        )
        if value != old
    }

    def change(store: JoinedMemoryStore) -> Memory:
        def apply_changes(memory: Memory) -> Memory:
            if memory.is_shared and memory.updated != edited.updated:
                raise MemoryUnusableError(
                    f"Somebody has changed memory {memory.id} in the meantime.", "Look at it, and edit it again."
                )
            # mypy cannot tell the types of fields that are named by strings.
            changed: Memory = replace(memory, **changes)  # type: ignore[arg-type]
            return changed if draft.text == edited.text else store.replace_text(changed, draft.text)

        return store.change(edited.id, apply_changes)

    return _make_change_decision(edited.id, change, lambda _: "The memory is changed.")


def make_forget_decision(memory: Memory, *, restore_hint: str = "") -> Decision:
    """Return the decision to move a memory to the trash folder. `restore_hint` says how it is restored."""

    def decide(store: JoinedMemoryStore) -> DecisionResult:
        forgotten = store.forget(memory.id)
        hint = f"; {restore_hint}" if restore_hint else ""
        place = "The store keeps it" if forgotten.is_shared else "It is in the trash folder"
        message = f"The memory is forgotten. {place}{hint}."
        return DecisionResult(forgotten, message, _make_restore_decision(forgotten))

    return decide


def _make_restore_decision(forgotten: Memory) -> Decision:
    def decide(store: JoinedMemoryStore) -> DecisionResult:
        memory = store.restore(forgotten.id)
        return DecisionResult(memory, "The memory is restored.", make_forget_decision(memory))

    return decide


def make_follow_decision(check: SourceCheck) -> Decision:
    """Return the decision to change a memory's source to the location its text has moved to."""
    from excerpt.memory.stale import update_source_location

    return _make_change_decision(
        check.memory.id,
        lambda store: update_source_location(store, check),
        lambda _: "The memory's link to its source is updated.",
    )


def make_update_decision(check: SourceCheck) -> Decision:
    """Return the decision to replace a memory's text with the current text of its source."""
    from excerpt.memory.stale import replace_text_with_source

    return _make_change_decision(
        check.memory.id,
        lambda store: replace_text_with_source(store, check),
        lambda _: "The memory has the new text of its source.",
    )


def make_keep_decision(check: SourceCheck) -> Decision:
    """Return the decision to keep a memory as it is although its source changed."""
    from excerpt.memory.stale import confirm_text

    return _make_change_decision(
        check.memory.id,
        lambda store: confirm_text(store, check),
        lambda _: "The memory stays as it is until its source changes again.",
    )


def _make_change_decision(
    memory_id: str, change: Callable[[JoinedMemoryStore], Memory], message: Callable[[Memory], str]
) -> Decision:
    """Return the decision to `change` an existing memory; `message` makes the sentence about the changed memory."""

    def decide(store: JoinedMemoryStore) -> DecisionResult:
        before = store.get(memory_id)
        memory = change(store)
        return DecisionResult(memory, message(memory), _make_revert_decision(before, memory))

    return decide


def _make_revert_decision(old: Memory, new: Memory) -> Decision:
    """Return the decision to replace the memory `new` by its former version `old`.

    The decision raises MemoryUnusableError if the memory was changed elsewhere and is no longer `new`.
    """

    def decide(store: JoinedMemoryStore) -> DecisionResult:
        # Undoing a later decision restores all but `updated`, which is the time of the undo.
        if replace(store.get(new.id), updated=new.updated) != new:
            raise MemoryUnusableError(
                "The memory was changed elsewhere in the meantime.",
                "The store keeps its former version."
                if new.is_shared
                else "Its former version is in the trash folder beside the memories.",
            )
        memory = store.change(old.id, lambda _: old)
        return DecisionResult(memory, "The memory is as it was before.", _make_revert_decision(new, memory))

    return decide


def _tags_suffix(memory: Memory) -> str:
    """Return the end of a sentence that names the memory's tags, such as ` under #sync`."""
    return " under " + " ".join(f"#{tag}" for tag in memory.tags) if memory.tags else ""
