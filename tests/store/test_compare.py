"""Tests of the three-way comparison behind a push: this copy, the store, and the state at the last push."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from excerpt_postgres.compare import (
    NO_RULES,
    PushPlan,
    PushRecord,
    PushRefusedError,
    PushRules,
    check_plan,
    next_record,
    plan_push,
)

MERGE, MIRROR = PushRules(merge=True), PushRules(mirror=True, removals=True)
Digests = dict[str, str]


def plan(ours: Digests, theirs: Digests, base: Digests, rules: PushRules = NO_RULES) -> PushPlan:
    return plan_push(ours, theirs, PushRecord(dict(base)), (), rules)


@pytest.mark.parametrize(
    ("ours", "theirs", "base", "done"),
    [
        *(("1", "1", "", []), ("1", "", "", ["write"]), ("2", "1", "1", ["write"]), ("", "1", "1", ["remove"])),
        *(("", "1", "", ["kept", "unseen"]), ("1", "2", "1", ["kept", "unseen"]), ("1", "", "1", ["kept", "unseen"])),
        *(("2", "1", "", ["kept", "conflicts"]), ("3", "2", "1", ["kept", "conflicts"])),
        *(("", "2", "1", ["kept", "conflicts"]), ("2", "", "1", ["kept", "conflicts"])),
    ],
)
def test_a_note_changed_only_here_is_written_or_removed(ours: str, theirs: str, base: str, done: list[str]) -> None:
    mine, there, before = ({"a.md": digest} if digest else {} for digest in (ours, theirs, base))
    found = plan(mine, there, before)
    assert [name for name in ("write", "remove", "kept", "conflicts", "unseen") if getattr(found, name)] == done


def test_a_mirror_makes_every_stored_note_equal_to_the_local_one() -> None:
    found = plan({"a": "1", "b": "2"}, {"b": "3", "c": "4"}, {}, MIRROR)
    assert (found.write, found.remove, found.kept) == (("a", "b"), ("c",), ())


def test_a_note_named_for_overwriting_is_pushed_whatever_the_store_has() -> None:
    found = plan({"a": "1", "b": "2"}, {"a": "3", "b": "4"}, {}, PushRules(overwrite=frozenset({"a"})))
    assert (found.write, found.conflicts) == (("a",), ("b",))


@pytest.mark.parametrize("rules", [NO_RULES, MERGE, MIRROR])
def test_an_attachment_that_cannot_be_read_here_is_kept(rules: PushRules) -> None:
    record = PushRecord({"a.pdf": "1"})
    found = plan_push({}, {"a.pdf": "1"}, record, {"a.pdf"}, rules)
    assert (found.kept, found.unseen) == (("a.pdf",), ())
    check_plan(found, {}, {"a.pdf": "1"}, rules)


def test_writes_of_an_interrupted_push_are_not_changes_of_others() -> None:
    record = PushRecord({"a": "1", "b": "1"}, pending={"a": "2", "b": ""})
    found = plan_push({"a": "3", "b": "2"}, {"a": "2"}, record, (), NO_RULES)
    assert (found.write, found.conflicts) == (("a", "b"), ())


def test_after_a_merge_that_left_a_conflict_the_next_push_is_not_refused() -> None:
    ours, theirs = {"a": "1"}, {"a": "2", "b": "1"}
    first = plan_push(ours, theirs, PushRecord({"a": "1"}), (), MERGE)
    again = plan_push(ours, theirs, next_record(first, ours, theirs, ()), (), NO_RULES)
    check_plan(again, ours, theirs, NO_RULES)
    assert again.kept == ("a", "b")


# --- refused pushes ---------------------------------------------------------------------------------------------------


def refusal_text(ours: Digests, theirs: Digests, base: Digests, rules: PushRules = NO_RULES) -> str:
    with pytest.raises(PushRefusedError) as error:
        check_plan(plan(ours, theirs, base, rules), ours, theirs, rules)
    return str(error.value)


def test_changes_of_others_are_named_with_the_option_to_push_anyway() -> None:
    message = refusal_text(
        {"a": "1", "b": "1", "c": "3"}, {"a": "2", "c": "2", "d": "1"}, {"a": "1", "b": "1", "c": "1"}
    )
    for part in (
        *(
            "1 note is only in the store: d.",
            "1 note was changed in the store: a.",
            "1 note was removed from the store",
        ),
        *("1 note was changed in this copy and in the store: c.", "--merge", "--mirror", "--overwrite NOTE"),
    ):
        assert part in message


def test_a_refusal_counts_all_changed_notes_and_names_a_few() -> None:
    theirs = {f"{number:02}": "1" for number in range(12)}
    assert "12 notes are only in the store: 00, 01, 02, 03, 04 and 7 more." in refusal_text({}, theirs, {})


@pytest.mark.parametrize(("there", "removed", "is_refused"), [(20, 10, False), (20, 11, True), (100, 20, False)])
def test_removing_more_than_ten_notes_and_a_fifth_requires_an_option(
    there: int, removed: int, is_refused: bool
) -> None:
    theirs = {f"{number:03}": str(number) for number in range(there)}
    ours = dict(list(theirs.items())[removed:])
    if is_refused:
        assert f"{removed} of {there} notes would be removed: 000," in refusal_text(ours, theirs, theirs)
        assert "--accept-removals" in refusal_text(ours, theirs, theirs, PushRules(mirror=True))
    rules = PushRules(removals=True) if is_refused else NO_RULES
    check_plan(plan(ours, theirs, theirs, rules), ours, theirs, rules)


def test_a_renamed_folder_does_not_count_as_removed_notes() -> None:
    theirs = {f"old/{number:03}": str(number) for number in range(50)}
    ours = {path.replace("old", "new"): digest for path, digest in theirs.items()}
    check_plan(plan(ours, theirs, theirs), ours, theirs, NO_RULES)


def test_overwriting_an_unknown_note_is_an_error() -> None:
    assert "There is no note c.md" in refusal_text({"a": "1"}, {}, {}, PushRules(overwrite=frozenset({"c.md"})))


# --- any sequence -----------------------------------------------------------------------------------------------------

COPIES = ("first", "second", "third")
PATHS = ("a", "b", "c", "d")


class Team(RuleBasedStateMachine):
    """A state machine of copies of a vault that change and are pushed in any order.

    A version of a note may leave the store only by a push from a copy that had it at its last push and no longer has
    it: it was changed or deleted there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folders: dict[str, Digests] = {name: {} for name in COPIES}
        self.records: dict[str, PushRecord] = {}
        self.held: dict[str, set[tuple[str, str]]] = {name: set() for name in COPIES}
        self.store: Digests = {}
        self.versions = 0
        self.pushed: set[str] = set()
        self.lost: set[str] = set()

    @initialize(paths=st.sets(st.sampled_from(PATHS)))
    def begin_with_the_same_notes(self, paths: set[str]) -> None:
        for name in COPIES:
            self.folders[name] = dict.fromkeys(paths, "v0")

    @rule(name=st.sampled_from(COPIES), path=st.sampled_from(PATHS))
    def edit(self, name: str, path: str) -> None:
        self.versions += 1
        self.folders[name][path] = f"v{self.versions}"

    @rule(name=st.sampled_from(COPIES), path=st.sampled_from(PATHS))
    def delete(self, name: str, path: str) -> None:
        self.folders[name].pop(path, None)

    @rule(name=st.sampled_from(COPIES))
    def take_all_from_the_store(self, name: str) -> None:
        self.folders[name] = dict(self.store)

    @rule(name=st.sampled_from(COPIES))
    def lose_the_record(self, name: str) -> None:
        self.records.pop(name, None)
        self.lost.add(name)

    @rule(name=st.sampled_from(COPIES), merge=st.booleans(), reached=st.integers(0, 9))
    def push(self, name: str, merge: bool, reached: int) -> None:
        """Push, and stop after some notes were written; 9 is after all of them and the record."""
        rules, ours, before = PushRules(merge=merge), self.folders[name], dict(self.store)
        record = self.records.get(name, PushRecord())
        found = plan_push(ours, self.store, record, (), rules)
        try:
            check_plan(found, ours, self.store, rules)
        except PushRefusedError:
            assert not merge
            assert self.pushed > {name} or name in self.lost or name not in self.pushed, "refused for its own changes"
            return
        self.pushed.add(name)
        pending = {path: ours[path] for path in found.write} | dict.fromkeys(found.remove, "")
        self.records[name] = PushRecord(dict(found.base), record.seen, pending)
        for path in (*found.write, *found.remove)[:reached]:
            if path in ours:
                self.store[path] = ours[path]
            else:
                del self.store[path]
        for path, version in before.items():
            if self.store.get(path) != version:
                assert (path, version) in self.held[name], "a version is gone that this copy never had"
        self.held[name] |= set(ours.items())
        if reached == 9:
            self.records[name] = next_record(found, ours, before, ())

    @invariant()
    def a_copy_that_has_all_of_the_store_is_never_refused(self) -> None:
        for name in COPIES:
            record = self.records.get(name, PushRecord())
            found = plan_push(self.store, self.store, record, (), NO_RULES)
            check_plan(found, self.store, self.store, NO_RULES)


TestTeam = Team.TestCase
TestTeam.settings = settings(derandomize=True, max_examples=150, stateful_step_count=30, deadline=None)
