"""Tests of the figures of the published sets: evidence in a text, and what a pack is worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.judgements import Place
from benchmarks.memory_sets import (
    Evidence,
    EvidenceReader,
    MemoryAnswer,
    MemoryPack,
    MemoryQuestion,
    hit_figures,
    pack_figures,
)

LINES = ("# Talk", "", "Ann: the red bike of my aunt stands in the old barn by the lake", "Bo: yes", "Ann: since May")


def _span(line: int, max_words: int | None = None, role: str = "") -> Evidence:
    return Evidence(Place("talk.md", line, line), max_words, role)


QUESTION = MemoryQuestion(
    id="q1",
    vault="one",
    part="talks",
    text="where is the bike?",
    category="facts",
    is_answerable=True,
    is_adversarial=False,
    evidence=(_span(3),),
    ignored=frozenset(),
    outdated=None,
)
HITS = (Place("other.md", 1, 9), Place("talk.md", 1, 4))


@pytest.fixture
def reader(tmp_path: Path) -> EvidenceReader:
    (tmp_path / "talk.md").write_text("\n".join(LINES), encoding="utf-8")
    return EvidenceReader(tmp_path)


def _answer(*delivered: bool, paths: tuple[str, ...] = ("talk.md",)) -> MemoryAnswer:
    return MemoryAnswer(HITS, {"1000": MemoryPack(90, paths, delivered)})


@pytest.mark.parametrize(
    ("text", "is_delivered"),
    [
        (LINES[2], True),
        ("> Ann: The RED bike of my aunt stands in the old\n", True),
        ("Ann: the red bike of my aunt", False),
        ("the lake by the barn old in stands", False),
    ],
)
def test_a_text_holds_evidence_from_half_of_its_runs_of_six_words(
    reader: EvidenceReader, text: str, is_delivered: bool
) -> None:
    assert reader.find_delivered([_span(3)], text) == (is_delivered,)


def test_evidence_of_less_than_six_words_is_held_whole_or_not_at_all(reader: EvidenceReader) -> None:
    assert reader.find_delivered([_span(4), _span(5)], "…\nBo: yes\nAnn: since") == (True, False)


def test_only_the_first_words_of_evidence_count_where_their_number_is_given(reader: EvidenceReader) -> None:
    text = "Ann: the red bike of my aunt"
    assert reader.find_delivered([_span(3, max_words=7)], text) == (True,)


def test_hits_are_counted_by_note_and_by_line() -> None:
    figures = hit_figures(replace(QUESTION, ignored=frozenset(["other.md"])), _answer(True))
    assert figures == {"notes in 5 hits": 1.0, "notes in 10 hits": 1.0, "evidence in 5 hits": 1.0}
    assert hit_figures(replace(QUESTION, evidence=(_span(5),)), _answer(True))["evidence in 5 hits"] == 0.0


def test_a_pack_is_worth_its_evidence_and_the_notes_that_it_is_from() -> None:
    both = replace(QUESTION, evidence=(_span(3), _span(4)))
    figures = pack_figures(both, _answer(True, False, paths=("talk.md", "other.md")), "1000")
    assert (figures["evidence"], figures["all of the evidence"], figures["tokens"]) == (0.5, 0.0, 90.0)
    assert (figures["precision of notes"], figures["recall of notes"]) == (0.5, 1.0)
    assert figures["exactly the notes"] == 0.0


def test_an_empty_pack_is_false_only_where_the_evidence_is_among_the_first_hits() -> None:
    empty = _answer(False, paths=())
    assert pack_figures(QUESTION, empty, "1000")["false-empty"] == 1.0
    elsewhere = replace(QUESTION, evidence=(_span(5),))
    assert pack_figures(elsewhere, empty, "1000")["empty, answerable"] == 1.0
    assert "false-empty" not in pack_figures(elsewhere, empty, "1000")


def test_an_empty_pack_is_right_for_a_question_without_an_answer() -> None:
    absent = replace(QUESTION, is_answerable=False, evidence=())
    assert pack_figures(absent, _answer(paths=()), "1000")["empty, unanswerable"] == 1.0
    adversarial = replace(QUESTION, is_adversarial=True)
    assert "empty, answerable" not in pack_figures(adversarial, _answer(False, paths=()), "1000")


def test_a_pack_may_hold_the_old_value_alone() -> None:
    changed = replace(QUESTION, evidence=(_span(3, role="original_info"), _span(5, role="updated_info")))
    only_old, both = (pack_figures(changed, _answer(True, held), "1000") for held in (False, True))
    assert (only_old["current value"], only_old["old value alone"]) == (0.0, 1.0)
    assert (both["current value"], both["old value alone"]) == (1.0, 0.0)
