"""Tests of the figures about questions in other people's words."""

from __future__ import annotations

from benchmarks.asked import Judged, figures, read_judged, table_rows

FIRST = Judged("plain", rank=1, is_packed=True, is_empty=False, confidence="likely")
SIXTH = Judged("plain", rank=6, is_packed=False, is_empty=True, confidence="unsure")
EMPTY = Judged("plain", rank=5, is_packed=False, is_empty=True, confidence="nothing")
ABSENT = Judged("absent", rank=0, is_packed=False, is_empty=True, confidence="strong")


def test_a_row_of_the_scorer_is_packed_from_four_fifths_of_an_answers_lines() -> None:
    row = {"wording": "plain", "rank": 1, "inside": 0.8, "passages": 2, "confidence": "likely", "tokens": 90}
    assert read_judged(row) == FIRST
    assert not read_judged({**row, "inside": 0.79}).is_packed


def test_a_pack_is_false_empty_only_if_the_answer_is_among_the_first_five_hits() -> None:
    shares = figures([FIRST, SIXTH, EMPTY])
    assert shares["in five"] == 2 / 3
    assert shares["empty"] == 2 / 3
    assert shares["false-empty"] == 1 / 2


def test_an_absent_answer_is_neither_found_nor_falsely_left_out() -> None:
    shares = figures([ABSENT])
    assert (shares["in five"], shares["in the pack"], shares["false-empty"]) == (None, None, None)
    assert shares["strong or likely"] == 1.0


def test_each_wording_that_was_asked_has_a_row() -> None:
    own, absent = table_rows("bees", [ABSENT, Judged("own", 1, True, False, "strong")])
    assert own == ("bees", "own", "1", "1.000", "1.000", "0.000", "0.000", "1.000", "0.000")
    assert absent == ("bees", "absent", "1", "", "", "1.000", "", "1.000", "0.000")
