"""Tests of the grep baseline: files are sorted in the order in which an agent reads the matches."""

from __future__ import annotations

from benchmarks.grep import USUAL, Files, Grep, found_by
from benchmarks.judgements import Question

FILES = Files(
    {
        "both.md": "The harbor and the lantern.",
        "often.md": "Harbor, harbor, harbor. Nothing else is here.",
        "once.md": "A harbor.",
        "longer.md": "Harbors without end.",
        "other.md": "Bread.",
    }
)
ASKED = Question("the lantern of the harbor", grades={"both.md": 1})


def test_files_with_most_of_the_words_come_first_then_those_with_most_matches() -> None:
    assert found_by(USUAL, FILES, ASKED) == ["both.md", "often.md", "once.md"]


def test_shorter_files_come_first_if_matches_do_not_count() -> None:
    assert found_by(Grep(3, whole=True, by_matches=False), FILES, ASKED) == ["both.md", "once.md", "often.md"]


def test_parts_of_words_are_found_if_whole_words_are_not_required() -> None:
    assert "longer.md" in found_by(Grep(3, whole=False, by_matches=True), FILES, ASKED)


def test_only_the_rarest_word_is_searched() -> None:
    assert found_by(Grep(1, whole=True, by_matches=True), FILES, ASKED) == ["both.md"]


def test_stop_words_are_not_searched() -> None:
    assert found_by(USUAL, FILES, Question("what is the bread", grades={})) == ["other.md"]


def test_source_notes_of_the_question_are_not_read() -> None:
    struck = Question(ASKED.text, grades={}, struck=frozenset({"both.md"}))
    assert found_by(USUAL, FILES, struck) == ["often.md", "once.md"]
