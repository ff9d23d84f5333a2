"""Tests of what is offered beside the status of a result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from excerpt.base.kinds import Confidence
from excerpt.base.model import Hit, Result, Signal
from excerpt.service.offers import list_offers
from tests.tui.examples import make_hit, make_result


def hit_with_signals(path: str, words: float, meaning: float) -> Hit:
    signals = (Signal("words", words, 0.5, words / 2), Signal("meaning", meaning, 0.18, meaning * 0.18))
    return replace(make_hit(path, path=path), signals=signals)


def unsure_result(*hits: Hit, matched: int = 0, confidence: Confidence = Confidence.LIKELY) -> Result:
    return replace(make_result("sync", *hits), matched=matched, confidence=confidence)


AGREED = (hit_with_signals("A.md", 1.0, 1.0), hit_with_signals("B.md", 0.5, 0.5))
DIFFERENT = (hit_with_signals("A.md", 1.0, 0.2), hit_with_signals("B.md", 0.5, 1.0))
IN_FOLDERS = tuple(hit_with_signals(f"{folder}/{name}.md", 1.0, 1.0) for folder in ("Work", "Home") for name in "ab")


def test_comparing_is_offered_if_strategies_rank_different_notes_first() -> None:
    assert list_offers(unsure_result(*DIFFERENT)) == ("compare",)
    assert list_offers(unsure_result(*AGREED)) == ()


def test_different_fragments_of_one_note_are_no_reason_to_compare() -> None:
    first, second = DIFFERENT
    second = replace(second, fragment=replace(second.fragment, path="A.md"))
    assert list_offers(unsure_result(first, second)) == ()


def test_narrowing_is_offered_if_not_all_matches_are_listed_and_a_folder_divides_them() -> None:
    assert list_offers(unsure_result(*IN_FOLDERS, matched=200)) == ("suggest",)
    assert list_offers(unsure_result(*IN_FOLDERS, matched=4)) == ()
    assert list_offers(unsure_result(*IN_FOLDERS[:2], matched=200)) == ()


@pytest.mark.parametrize("confidence", [Confidence.STRONG, Confidence.NOTHING])
def test_no_action_is_offered_for_a_sure_answer_or_for_no_answer(confidence: Confidence) -> None:
    assert list_offers(unsure_result(*DIFFERENT, matched=200, confidence=confidence)) == ()
