"""Tests of the user's choices for packs as values, and of undoing them."""

from __future__ import annotations

from excerpt.kinds import Scope
from excerpt.pack.selection import AS_RANKED, NO_MARKS, Mark, Overrides, SavedMarks
from excerpt.tui.pack.controller import History, PackChoices

A, B = Mark("a", "A.md"), Mark("b", "B.md")
MARKED = PackChoices().toggling(A).toggling(B)


def test_marking_again_takes_the_mark_away() -> None:
    assert MARKED.marked == {"a", "b"}
    assert MARKED.toggling(A).marks == (B,)


def test_what_is_wished_for_marks_stays_while_the_query_changes() -> None:
    dropped = MARKED.dropping("one", ["a"])
    assert dropped.overrides("two") == Overrides(dropped=frozenset({"a"}))


def test_what_is_wished_for_top_hits_is_the_querys_alone() -> None:
    dropped = PackChoices().dropping("one", ["x"])
    assert dropped.overrides("one").dropped == {"x"}
    assert dropped.overrides("two") == AS_RANKED


def test_with_the_last_mark_goes_what_was_wished_for_marks() -> None:
    assert MARKED.dropping("", ["a"]).toggling(A).toggling(B).overrides("") == AS_RANKED
    assert MARKED.dropping("", ["a"]).unmarked() == PackChoices()


def test_marking_a_dropped_fragment_brings_it_back() -> None:
    assert MARKED.dropping("", ["c", "d"]).toggling(Mark("c", "C.md")).overrides("").dropped == {"d"}


def test_what_was_dropped_can_be_brought_back() -> None:
    assert MARKED.dropping("", ["a", "x"]).returning("", ["a"]).overrides("").dropped == {"x"}


def test_an_order_puts_its_packs_first_and_forgets_no_other() -> None:
    first = MARKED.ordering("", ["a", "b", "c"])
    assert first.ordering("", ["c", "a"]).overrides("").order == ("c", "a", "b")


def test_moving_a_pack_ends_the_order_of_the_vault() -> None:
    in_vault_order = MARKED.next_order("")
    assert in_vault_order.order_name("") == "vault order"
    assert in_vault_order.ordering("", ["b", "a"]).order_name("") == "own order"


def test_orders_go_round() -> None:
    own = MARKED.ordering("", ["b", "a"])
    assert [own.order_name(""), own.next_order("").order_name("")] == ["own order", ""]
    assert MARKED.next_order("").next_order("") == MARKED


def test_only_marks_and_what_belongs_to_them_are_kept() -> None:
    assert MARKED.growing("q", ["a"], Scope.NOTE).kept("q") == SavedMarks(
        "q", (A, B), Overrides(scopes=(("a", Scope.NOTE),))
    )
    assert PackChoices().dropping("q", ["x"]).kept("q") == NO_MARKS


def test_each_decision_is_taken_back_in_turn() -> None:
    history = History()
    for choices in (PackChoices().toggling(A), MARKED, MARKED.unmarked()):
        history.decide(choices)
    assert [history.undo() and history.now.marks for _ in range(3)] == [(A, B), (A,), ()]
    assert not history.undo()


def test_a_decision_that_changes_nothing_is_none() -> None:
    history = History()
    assert not history.decide(PackChoices())
    assert not history.undo()


def test_what_was_taken_back_is_decided_again_until_something_else_is() -> None:
    history = History()
    for choices in (PackChoices().toggling(A), MARKED):
        history.decide(choices)
    history.undo()
    history.undo()
    assert [history.redo() and history.now.marks for _ in range(3)] == [(A,), (A, B), False]
    history.undo()
    history.decide(MARKED.unmarked())
    assert not history.redo()


KEPT = SavedMarks("q", (A,), Overrides(order=("a",)))


def test_marks_of_an_earlier_session_are_no_marks_until_they_are_taken_up() -> None:
    history = History()
    history.decide(PackChoices().toggling(B))
    history.restore(KEPT)
    assert list(history.now.marks) == [B]
    history.decide(history.now.taking_up())
    assert list(history.now.marks) == [A, B]
    history.undo()
    assert list(history.now.marks) == [B]
    assert history.now.before == KEPT


def test_marks_of_an_earlier_session_come_with_what_was_wished_for_them() -> None:
    assert PackChoices(before=KEPT).taking_up() == PackChoices((A,), Overrides(order=("a",)))


def test_marks_of_an_earlier_session_are_kept_until_they_are_dropped() -> None:
    before = PackChoices(before=KEPT)
    assert before.kept("") == KEPT
    assert before.toggling(B).kept("s").marks == (A, B)
    assert before.without(()).kept("") == NO_MARKS
