"""How far rows moved when the query was refined."""

from __future__ import annotations

from excerpt.tui.moves import LOOKED_AT, Ranking, move_sign


def looked_at(ids: str) -> Ranking:
    """A list that stood for a while, up to now (second 100)."""
    return Ranking().refined(ids, 90)


def test_rows_tell_how_far_they_went_up_or_down_and_which_are_new() -> None:
    moves = looked_at("abcde").refined("cabx", 100).moves()
    assert moves == {"c": 2, "a": -1, "b": -1, "x": None}


def test_a_row_in_its_place_has_not_moved() -> None:
    assert looked_at("abc").refined("abc", 100).moves() == {}


def test_the_first_list_has_nothing_to_be_compared_with() -> None:
    assert Ranking().refined("abc", 5).moves() == {}


def test_letters_typed_fast_are_compared_with_what_stood_before_all_of_them() -> None:
    typed = looked_at("abc").refined("bac", 100).refined("cba", 100.1)
    assert typed.moves() == {"c": 2, "a": -2}


def test_a_list_that_was_looked_at_is_what_the_next_is_compared_with() -> None:
    typed = looked_at("abc").refined("bac", 100).refined("cba", 101 + LOOKED_AT)
    assert typed.moves() == {"c": 2, "b": -1, "a": -1}


def test_another_question_is_no_refinement() -> None:
    assert looked_at("abcdefghij").refined("jklmnopqrs", 100).moves() == {}


def test_a_newer_index_moves_rows_against_the_same_list_as_before() -> None:
    again = looked_at("abc").refined("bac", 100).again("bca")
    assert again.moves() == {"b": 1, "c": 1, "a": -2}


def test_a_move_is_told_in_few_cells() -> None:
    assert [move_sign(by) for by in (3, -12, None)] == ["↑3", "↓12", "new"]
