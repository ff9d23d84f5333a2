"""What a push may change in a store: each note of this copy of the vault, of the store, and what this copy last saw.

Notes are compared by the digests of their files. The record of the last push is the base of a three-way comparison, as
a merge base is in git: what differs from it on one side alone was changed there. Without a record nothing is known to
have been removed here, so nothing is removed from the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from excerpt.errors import ExcerptError
from excerpt.text.display import format_count, visible_line

GONE = ""
"""The digest of a note that does not exist."""
_NAMED = 5
_MAX_REMOVED_SHARE = 0.2
_MAX_REMOVED = 10


class PushRefusedError(ExcerptError):
    """A push would undo what this copy of the vault has not seen, or remove a large part of the store."""

    title = "Nothing was pushed"


@dataclass(frozen=True, slots=True)
class PushRules:
    """What the user allows a push to do.

    `merge`: leave notes as they are in the store that were changed there alone, or on both sides. `mirror`: give the
    store this copy's version of every note. `removals`: remove a large part of the store. `overwrite`: notes that get
    this copy's version, by path.
    """

    merge: bool = False
    mirror: bool = False
    removals: bool = False
    overwrite: frozenset[str] = frozenset()


NO_RULES = PushRules()


@dataclass(frozen=True, slots=True)
class PushRecord:
    """What a copy of a vault knows of a store from its last push: digests by path.

    `notes` are the notes that both had in the same version, `seen` those that were left in the store in a version that
    the copy does not have, `pending` those that a push has begun to write and may have written. `remarks` and `moves`
    are what the copy last wrote of skipped files and of renamed notes.
    """

    notes: dict[str, str] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    remarks: list[tuple[str, bool, str]] = field(default_factory=list)
    moves: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PushPlan:
    """What a push does, with paths ascending: the notes to write and to remove.

    `kept` stay as the store has them; among them `conflicts` were changed on both sides, and `unseen` in the store
    alone since the last push. `base` is what the two had in common before.
    """

    write: tuple[str, ...]
    remove: tuple[str, ...]
    kept: tuple[str, ...]
    conflicts: tuple[str, ...]
    unseen: tuple[str, ...]
    base: Mapping[str, str]


def compare(
    own_digests: Mapping[str, str],
    stored_digests: Mapping[str, str],
    record: PushRecord,
    unreadable: Collection[str],
    rules: PushRules,
) -> PushPlan:
    """Return what to write and to remove; `own_digests` and `stored_digests` are digests by path.

    Notes of the store that are `unreadable` here, because of the kind of their file, stay whatever the rules.
    """
    write: list[str] = []
    remove: list[str] = []
    kept: list[str] = []
    conflicts: list[str] = []
    unseen: list[str] = []
    # As far as a push got that was interrupted, what is there is this copy's own.
    written = {path: digest for path, digest in record.pending.items() if stored_digests.get(path, GONE) == digest}
    base = {**record.notes, **written}
    for path in sorted(own_digests.keys() | stored_digests.keys()):
        own, stored, before = own_digests.get(path, GONE), stored_digests.get(path, GONE), base.get(path, GONE)
        if own == stored:
            continue
        if own == GONE and path in unreadable:
            kept.append(path)
        elif stored == before or rules.mirror or path in rules.overwrite:
            (remove if own == GONE else write).append(path)
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
    """Raise PushRefusedError where the rules do not allow a plan: it names the notes, and the options that would."""
    if unknown := sorted(rules.overwrite - own_digests.keys() - stored_digests.keys()):
        raise PushRefusedError(
            f"There is no note {_format_paths(unknown)}, here or in the store.",
            "Name a note by its path from the top of the vault.",
        )
    reasons: list[str] = []
    options: list[str] = []
    if not rules.merge and plan.unseen:
        added = [path for path in plan.unseen if path not in own_digests]
        removed_from_store = [path for path in plan.unseen if path not in stored_digests]
        changed = sorted({*plan.unseen} - {*added, *removed_from_store})
        if added:
            reasons.append(f"{_count_notes(added, 'are')} only in the store: {_format_paths(added)}.")
        if changed:
            reasons.append(f"{_count_notes(changed)} changed in the store: {_format_paths(changed)}.")
        if removed_from_store:
            reasons.append(
                f"{_count_notes(removed_from_store)} removed from the store: {_format_paths(removed_from_store)}."
            )
        options.append("--merge pushes the rest and leaves these as they are in the store")
    if not rules.merge and plan.conflicts:
        reasons.append(
            f"{_count_notes(plan.conflicts)} changed here and in the store: {_format_paths(plan.conflicts)}."
        )
        options.append("--overwrite NOTE pushes this copy's version of a note")
    if reasons:
        options.append("--mirror makes the store the same as this copy")
    removed = _removed(plan, own_digests, stored_digests)
    if not rules.removals and len(removed) > max(_MAX_REMOVED, _MAX_REMOVED_SHARE * len(stored_digests)):
        reasons.append(
            f"{len(removed):,} of {format_count(len(stored_digests), 'note')} would be removed: "
            f"{_format_paths(removed)}."
        )
        options.append("--accept-removals removes them, if this is the right folder")
    if reasons:
        raise PushRefusedError(
            f"The push was refused: nothing was written. {' '.join(reasons)}", f"{'; '.join(options)}."
        )


def conflict_sentence(conflicts: Sequence[str]) -> str:
    """Return what became of notes that were changed on both sides in a merge, and what to do."""
    return (
        f"{_count_notes(conflicts)} changed here and in the store, and not pushed: {_format_paths(conflicts)}."
        " Compare with `excerpt read NOTE --vault ADDRESS`; --overwrite NOTE pushes this copy's version."
    )


def next_record(
    plan: PushPlan, own_digests: Mapping[str, str], stored_digests: Mapping[str, str], unreadable: Collection[str]
) -> PushRecord:
    """Return the record after a plan was carried out, without remarks and moves."""
    kept = frozenset(plan.kept)
    notes = {path: digest for path, digest in own_digests.items() if path not in kept}
    notes |= {path: base for path in plan.kept if (base := plan.base.get(path, GONE)) != GONE}
    seen = {path: stored_digests.get(path, GONE) for path in plan.kept if path not in unreadable}
    return PushRecord(notes, seen)


def _removed(plan: PushPlan, own_digests: Mapping[str, str], stored_digests: Mapping[str, str]) -> list[str]:
    """Return the notes that a plan removes, without those that it only moves."""
    arriving = Counter(own_digests[path] for path in plan.write if path not in stored_digests)
    removed = []
    for path in plan.remove:
        if arriving[stored_digests[path]]:
            arriving[stored_digests[path]] -= 1
        else:
            removed.append(path)
    return removed


def _count_notes(paths: Sequence[str], verb: str = "were") -> str:
    """Return "1 note was" or "2 notes were"."""
    singular = {"were": "was", "are": "is"}
    return f"{format_count(len(paths), 'note')} {singular[verb] if len(paths) == 1 else verb}"


def _format_paths(paths: Sequence[str]) -> str:
    named = [visible_line(path) for path in paths[:_NAMED]]
    more = len(paths) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")
