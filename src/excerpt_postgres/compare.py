"""Decide what a push may change in a store, by a three-way comparison as git does for a merge.

Compared are the notes of this copy of the vault, the notes of the store, and the record of the last push, by the
digests of their files. The record is the merge base: a note that differs from it on one side only was changed on that
side. Without a record, no note is known to have been removed from this copy, so none is removed from the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from msgspec import Struct, field

from excerpt.base.errors import ExcerptError
from excerpt.text.display import count_notes, format_count, format_names

NO_NOTE = ""
"""Stands for the digest of a note that does not exist."""
_MAX_LISTED = 5
_MAX_REMOVED_SHARE = 0.2  # of the notes in the store; a push that removes more has to be confirmed
_MAX_REMOVED = 10  # notes that a push may remove in any case


class PushRefusedError(ExcerptError):
    """Raised if a push would undo changes that this copy of the vault does not have, or remove a large part of it."""

    title = "Nothing was pushed"


class PushRules(Struct, frozen=True):
    """What the user allows a push to do when the store has changes that this copy of the vault does not have.

    With `merge`, notes that were changed in the store keep their version there. With `mirror`, all notes of the store
    become the same as in this copy. With `removals`, the push may remove a large part of the store. `overwrite` are the
    paths of notes that the push overwrites in the store in any case.
    """

    merge: bool = False
    mirror: bool = False
    removals: bool = False
    overwrite: frozenset[str] = frozenset()


NO_RULES = PushRules()


class PushRecord(Struct, frozen=True):
    """What a copy of a vault records about a store after each push; notes are given as digests by path.

    `notes` are the notes that copy and store had in the same version. `seen` are the notes that stayed in the store in
    a version that the copy does not have. `pending` are the notes of an unfinished push, which may have written them.
    `remarks` (path, is skipped, reason) and `moves` (old path, new path) are the ones that the copy last pushed.
    """

    notes: dict[str, str] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    remarks: list[tuple[str, bool, str]] = field(default_factory=list)
    moves: list[tuple[str, str]] = field(default_factory=list)


class PushPlan(Struct, frozen=True):
    """What a push is going to do; all paths are ascending.

    The store gets the notes in `write`, and loses those in `remove`. The notes in `kept` differ from this copy, but
    stay as they are in the store. Some of them are `conflicts`, changed on both sides, or `unseen`, changed in the
    store only since the last push. `base` are the digests, by path, of the versions that both had in common before.
    """

    write: tuple[str, ...]
    remove: tuple[str, ...]
    kept: tuple[str, ...]
    conflicts: tuple[str, ...]
    unseen: tuple[str, ...]
    base: Mapping[str, str]


def plan_push(
    own_digests: Mapping[str, str],
    stored_digests: Mapping[str, str],
    record: PushRecord,
    unreadable: Collection[str],
    rules: PushRules,
) -> PushPlan:
    """Decide what a push writes and removes.

    `own_digests` are the notes of this copy, `stored_digests` those of the store, as digests by path. Notes of the
    store whose files this copy is not able to read (`unreadable`) stay, whatever the rules.
    """
    write: list[str] = []
    remove: list[str] = []
    kept: list[str] = []
    conflicts: list[str] = []
    unseen: list[str] = []
    # Notes that an interrupted push has written are this copy's own versions.
    written = {path: digest for path, digest in record.pending.items() if stored_digests.get(path, NO_NOTE) == digest}
    base = {**record.notes, **written}
    for path in sorted(own_digests.keys() | stored_digests.keys()):
        own, stored, before = own_digests.get(path, NO_NOTE), stored_digests.get(path, NO_NOTE), base.get(path, NO_NOTE)
        if own == stored:
            continue
        if own == NO_NOTE and path in unreadable:
            kept.append(path)
        elif stored == before or rules.mirror or path in rules.overwrite:
            (remove if own == NO_NOTE else write).append(path)
        else:
            kept.append(path)
            if own != before:
                conflicts.append(path)
            elif record.seen.get(path) != stored:
                unseen.append(path)
    return PushPlan(tuple(write), tuple(remove), tuple(kept), tuple(conflicts), tuple(unseen), base)


def check_plan(
    plan: PushPlan, own_digests: Mapping[str, str], stored_digests: Mapping[str, str], rules: PushRules
) -> None:
    """Raise PushRefusedError if the rules do not allow a plan; the error names the notes, and options to allow it.

    Notes are given as digests by path, `own_digests` for this copy and `stored_digests` for the store.
    """
    if unknown := sorted(rules.overwrite - own_digests.keys() - stored_digests.keys()):
        raise PushRefusedError(
            f"There is no note {format_names(unknown, _MAX_LISTED)}, neither in this copy nor in the store.",
            "Name a note by its path from the top of the vault.",
        )
    reasons: list[str] = []
    options: list[str] = []
    if not rules.merge and plan.unseen:
        added = [path for path in plan.unseen if path not in own_digests]
        removed_from_store = [path for path in plan.unseen if path not in stored_digests]
        changed = sorted({*plan.unseen} - {*added, *removed_from_store})
        if added:
            reasons.append(f"{count_notes(added, 'are')} only in the store: {format_names(added, _MAX_LISTED)}.")
        if changed:
            reasons.append(f"{count_notes(changed)} changed in the store: {format_names(changed, _MAX_LISTED)}.")
        if removed_from_store:
            listed = format_names(removed_from_store, _MAX_LISTED)
            reasons.append(f"{count_notes(removed_from_store)} removed from the store: {listed}.")
        options.append("--merge pushes the rest and leaves these as they are in the store")
    if not rules.merge and plan.conflicts:
        listed = format_names(plan.conflicts, _MAX_LISTED)
        reasons.append(f"{count_notes(plan.conflicts)} changed in this copy and in the store: {listed}.")
        options.append("--overwrite NOTE pushes this copy's version of a note")
    if reasons:
        options.append("--mirror makes the store the same as this copy")
    removed = _removed_paths(plan, own_digests, stored_digests)
    if not rules.removals and len(removed) > max(_MAX_REMOVED, _MAX_REMOVED_SHARE * len(stored_digests)):
        reasons.append(
            f"{len(removed):,} of {format_count(len(stored_digests), 'note')} would be removed: "
            f"{format_names(removed, _MAX_LISTED)}."
        )
        options.append("--accept-removals removes them, if this is the right folder")
    if reasons:
        raise PushRefusedError(
            f"The push was refused: nothing was written. {' '.join(reasons)}", f"{'; '.join(options)}."
        )


def next_record(
    plan: PushPlan, own_digests: Mapping[str, str], stored_digests: Mapping[str, str], unreadable: Collection[str]
) -> PushRecord:
    """Return the record to save after a plan was carried out, still without remarks and moves."""
    kept = frozenset(plan.kept)
    notes = {path: digest for path, digest in own_digests.items() if path not in kept}
    notes |= {path: base for path in plan.kept if (base := plan.base.get(path, NO_NOTE)) != NO_NOTE}
    seen = {path: stored_digests.get(path, NO_NOTE) for path in plan.kept if path not in unreadable}
    return PushRecord(notes, seen)


def _removed_paths(plan: PushPlan, own_digests: Mapping[str, str], stored_digests: Mapping[str, str]) -> list[str]:
    """Return the paths of the notes that a plan removes, without renamed notes."""
    arriving = Counter(own_digests[path] for path in plan.write if path not in stored_digests)
    removed = []
    for path in plan.remove:
        if arriving[stored_digests[path]]:
            arriving[stored_digests[path]] -= 1
        else:
            removed.append(path)
    return removed
