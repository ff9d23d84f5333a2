"""Tests of the checks of lists of hits."""

from __future__ import annotations

import pytest
from benchmarks.list_promises import CheckedList, falls, is_steady, list_verdicts


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ("", True),
        ("........", True),
        ("...xxxx..", True),
        ("...xxx..", False),
        ("x.xxxx", False),
        (".....x", True),
    ],
)
def test_an_order_is_steady_if_each_change_stays_for_three_further_letters(states: str, expected: bool) -> None:
    assert is_steady([letter == "x" for letter in states]) is expected


def test_equal_scores_fall_and_a_higher_one_does_not() -> None:
    assert falls([])
    assert falls([1.2, 1.2, 0.4])
    assert not falls([1.2, 0.4, 0.5])


def test_a_property_is_reported_with_its_share_and_the_first_query_that_lacks_it() -> None:
    checked = [
        CheckedList("salt", falls=True, is_same_confidence=True),
        CheckedList("how long does dough rest", falls=False, is_same_confidence=True, is_steady=False),
    ]
    scores, confidence, order = list_verdicts(checked)
    assert scores.startswith("- FAIL: scores fall down the list: 0.500 of 2 queries")
    assert scores.endswith("not for 'how long does dough rest'")
    assert confidence.startswith("- pass")
    assert "0.000 of 1 queries" in order
