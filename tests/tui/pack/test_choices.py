"""Tests of the user's choices for packs as values, and of undoing them."""

from __future__ import annotations

from excerpt.kinds import Scope
from excerpt.pack.selection import NO_MARKS, NO_OVERRIDES, MarkedFragment, PackOverrides, SavedMarks
from excerpt.tui.pack.controller import ChoiceHistory, PackChoices

A, B = MarkedFragment("a", "A.md"), MarkedFragment("b", "B.md")
MARKED = PackChoices().with_toggled(A).with_toggled(B)


def test_marking_again_takes_the_mark_away() -> None:
    assert MARKED.marked_ids == {"a", "b"}
    assert MARKED.with_toggled(A).marks == (B,)


def test_what_is_wished_for_marks_stays_while_the_query_changes() -> None:
    dropped = MARKED.with_dropped("one", ["a"])
    assert dropped.overrides("two") == PackOverrides(dropped_ids=frozenset({"a"}))


def test_what_is_wished_for_top_hits_is_the_querys_alone() -> None:
    dropped = PackChoices().with_dropped("one", ["x"])
    assert dropped.overrides("one").dropped_ids == {"x"}
    assert dropped.overrides("two") == NO_OVERRIDES


def test_with_the_last_mark_goes_what_was_wished_for_marks() -> None:
    assert MARKED.with_dropped("", ["a"]).with_toggled(A).with_toggled(B).overrides("") == NO_OVERRIDES
    assert MARKED.with_dropped("", ["a"]).without_marks() == PackChoices()


def test_marking_a_dropped_fragment_brings_it_back() -> None:
    assert MARKED.with_dropped("", ["c", "d"]).with_toggled(MarkedFragment("c", "C.md")).overrides("").dropped_ids == {
        "d"
    }


def test_what_was_dropped_can_be_brought_back() -> None:
    assert MARKED.with_dropped("", ["a", "x"]).with_restored("", ["a"]).overrides("").dropped_ids == {"x"}


def test_an_order_puts_its_packs_first_and_forgets_no_other() -> None:
    first = MARKED.with_order("", ["a", "b", "c"])
    assert first.with_order("", ["c", "a"]).overrides("").ordered_ids == ("c", "a", "b")


def test_moving_a_pack_ends_the_order_of_the_vault() -> None:
    in_vault_order = MARKED.with_next_order("")
    assert in_vault_order.order_name("") == "vault order"
    assert in_vault_order.with_order("", ["b", "a"]).order_name("") == "own order"


def test_orders_go_round() -> None:
    own = MARKED.with_order("", ["b", "a"])
    assert [own.order_name(""), own.with_next_order("").order_name("")] == ["own order", ""]
    assert MARKED.with_next_order("").with_next_order("") == MARKED


def test_only_marks_and_what_belongs_to_them_are_kept() -> None:
    assert MARKED.with_scope("q", ["a"], Scope.NOTE).to_saved_marks("q") == SavedMarks(
        "q", (A, B), PackOverrides(scopes=(("a", Scope.NOTE),))
    )
    assert PackChoices().with_dropped("q", ["x"]).to_saved_marks("q") == NO_MARKS


def test_each_decision_is_taken_back_in_turn() -> None:
    history = ChoiceHistory()
    for choices in (PackChoices().with_toggled(A), MARKED, MARKED.without_marks()):
        history.replace_choices(choices)
    assert [history.undo() and history.current.marks for _ in range(3)] == [(A, B), (A,), ()]
    assert not history.undo()


def test_a_decision_that_changes_nothing_is_none() -> None:
    history = ChoiceHistory()
    assert not history.replace_choices(PackChoices())
    assert not history.undo()


def test_what_was_taken_back_is_decided_again_until_something_else_is() -> None:
    history = ChoiceHistory()
    for choices in (PackChoices().with_toggled(A), MARKED):
        history.replace_choices(choices)
    history.undo()
    history.undo()
    assert [history.redo() and history.current.marks for _ in range(3)] == [(A,), (A, B), False]
    history.undo()
    history.replace_choices(MARKED.without_marks())
    assert not history.redo()


KEPT = SavedMarks("q", (A,), PackOverrides(ordered_ids=("a",)))


def test_marks_of_an_earlier_session_are_no_marks_until_they_are_taken_up() -> None:
    history = ChoiceHistory()
    history.replace_choices(PackChoices().with_toggled(B))
    history.load_saved_marks(KEPT)
    assert list(history.current.marks) == [B]
    history.replace_choices(history.current.with_earlier_marks())
    assert list(history.current.marks) == [A, B]
    history.undo()
    assert list(history.current.marks) == [B]
    assert history.current.earlier_marks == KEPT


def test_marks_of_an_earlier_session_come_with_what_was_wished_for_them() -> None:
    assert PackChoices(earlier_marks=KEPT).with_earlier_marks() == PackChoices((A,), PackOverrides(ordered_ids=("a",)))


def test_marks_of_an_earlier_session_are_kept_until_they_are_dropped() -> None:
    before = PackChoices(earlier_marks=KEPT)
    assert before.to_saved_marks("") == KEPT
    assert before.with_toggled(B).to_saved_marks("s").marks == (A, B)
    assert before.without(()).to_saved_marks("") == NO_MARKS
