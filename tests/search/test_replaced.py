from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from excerpt.base.kinds import Strategy
from excerpt.base.model import Result
from excerpt.base.settings import Settings
from excerpt.corpus.replaced import ReplacedNote
from excerpt.search.engine import Engine
from excerpt.search.explain import explain_hits
from excerpt.search.rank_reasons import describe_rank
from excerpt.search.replaced import find_newer_editions, order_replaced
from tests.search.library import open_vault

NOTES = {
    "Seats 2024.md": "---\nsuperseded_by: '[[Prices]]'\ndate: 2024-02-01\n---\n"
    "What does a seat cost? A seat costs ten euros.\n",
    "Prices.md": "---\ndate: 2026-03-01\n---\nEvery seat is twelve euros from now on, for teams too.\n",
    "Chairs.md": "A seat of oak costs a carpenter two days. What does a seat weigh?\n",
    "adr/0003-cron.md": "# Cron\n\n## Status\n\nSuperseded by ADR-12\n\n## Decision\n\nNightly jobs run in cron.\n",
    "adr/0012-queue.md": "# Jobs in a queue\n\n## Status\n\nAccepted\n\n## Decision\n\nJobs run in a queue at night.\n",
    "Beans.md": "Beans climb on poles.\n",
}
QUESTION = "what does a seat cost?"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    snapshot = open_vault(tmp_path_factory.mktemp("replaced"), NOTES)
    yield Engine(snapshot, Settings(), today=lambda: date(2026, 11, 1))
    snapshot.close()


def paths(result: Result) -> list[str]:
    return list(dict.fromkeys(hit.path for hit in result))


def test_what_replaces_a_note_stands_directly_above_it(engine: Engine) -> None:
    assert paths(engine.search(QUESTION))[:2] == ["Prices.md", "Seats 2024.md"]


def test_scores_fall_down_the_list_and_are_the_sums_of_their_signals(engine: Engine) -> None:
    hits = engine.search(QUESTION).hits
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert [sum(signal.part for signal in hit.signals) for hit in hits] == pytest.approx([hit.score for hit in hits])


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Seats 2024", "Seats 2024.md"),
        ("what did a seat cost in 2024?", "Seats 2024.md"),
        ("what did a seat cost in February 2024", "Seats 2024.md"),
        ("what does a seat cost since 2024", "Prices.md"),
        ("what runs nightly jobs in cron", "adr/0012-queue.md"),
        ("what does ADR 3 say of nightly jobs in cron", "adr/0003-cron.md"),
        ("how do 3 nightly jobs in cron run", "adr/0012-queue.md"),
    ],
)
def test_a_question_that_names_the_older_note_or_its_time_keeps_it_above(
    engine: Engine, query: str, first: str
) -> None:
    assert paths(engine.search(query))[0] == first


def test_a_strategy_of_its_own_keeps_the_order_by_score(engine: Engine) -> None:
    assert paths(engine.search(QUESTION, Strategy.ADAPTIVE))[0] == "Seats 2024.md"


def test_confidence_is_that_of_the_order_by_score(engine: Engine) -> None:
    alone = engine.search(f"{QUESTION} -path:Prices")
    assert engine.search(QUESTION).confidence == alone.confidence


def test_why_says_by_which_words_a_note_is_replaced(engine: Engine) -> None:
    result = engine.search(QUESTION)
    explained = explain_hits(engine, result)[1]
    assert "replaced on 2026-03-01 by Prices.md: “superseded_by: [[Prices]]”." in describe_rank(explained, (), 1)


def order_of(
    notes: list[int], replaced: dict[int, tuple[int, ...]], *, is_sure: bool = True, keeps_place: bool = False
) -> list[int] | None:
    by_note = {note: ReplacedNote(after, "words") for note, after in replaced.items()}
    moved = order_replaced(
        np.array(notes, np.int32), by_note, lambda note, after: keeps_place, lambda own, other: is_sure
    )
    return None if moved is None else np.array(notes)[moved.order].tolist()


def test_what_replaces_a_sure_note_is_raised_to_it() -> None:
    assert order_of([0, 5, 6, 1, 0], {0: (1,)}) == [1, 0, 5, 6, 0]


def test_an_unsure_note_is_lowered_to_what_replaces_it() -> None:
    assert order_of([0, 5, 0, 1, 6], {0: (1,)}, is_sure=False) == [5, 1, 0, 0, 6]


@pytest.mark.parametrize(("is_sure", "order"), [(True, [2, 1, 0, 5, 0, 6]), (False, [5, 2, 1, 0, 0, 6])])
def test_of_a_chain_the_last_note_comes_first(is_sure: bool, order: list[int]) -> None:
    assert order_of([0, 5, 1, 0, 2, 6], {0: (1,), 1: (2,)}, is_sure=is_sure) == order


def test_of_a_chain_a_missing_note_is_left_out() -> None:
    assert order_of([0, 5, 2], {0: (1,), 1: (2,)}) == [2, 0, 5]


def test_a_note_is_raised_together_with_what_replaces_it() -> None:
    assert order_of([0, 2, 5, 1], {0: (1,), 1: (2,)}) == [2, 1, 0, 5]


def test_a_note_that_was_lowered_is_not_raised_to_an_older_one() -> None:
    notes = np.array([0, 1, 5, 2], np.int32)
    replaced = {0: ReplacedNote((1,), ""), 1: ReplacedNote((2,), "")}
    moved = order_replaced(notes, replaced, lambda _note, _after: False, lambda own, _other: own == 0)
    assert moved is not None
    assert notes[moved.order].tolist() == [5, 2, 1, 0]


def test_a_note_before_the_one_that_is_asked_for_stands_under_the_newest() -> None:
    notes = np.array([1, 0, 5, 2], np.int32)
    replaced = {0: ReplacedNote((1,), ""), 1: ReplacedNote((2,), "")}
    moved = order_replaced(notes, replaced, lambda note, _after: note == 1, lambda _own, _other: False)
    assert moved is not None
    assert notes[moved.order].tolist() == [1, 5, 2, 0]


def test_the_first_of_several_successors_in_the_list_counts() -> None:
    assert order_of([0, 5, 2, 1], {0: (1, 2)}) == [1, 0, 5, 2]


@pytest.mark.parametrize("replaced", [{0: (1,)}, {5: (8,)}, {0: ()}, {}])
def test_a_list_in_the_right_order_stays(replaced: dict[int, tuple[int, ...]]) -> None:
    assert order_of([1, 0, 5, 1], replaced) is None


def test_a_note_that_the_question_asks_for_keeps_its_place() -> None:
    assert order_of([0, 1], {0: (1,)}, keeps_place=True) is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Pricing 2024.md", "Pricing 2026.md"),
        ("a/2026-01-02 Roadmap.md", "a/2026-07-01 Roadmap.md"),
        ("Budget-2025-Q3.md", "Budget-2025-Q4.md"),
        ("Handbook (2023).md", "Handbook (2024).md"),
    ],
)
def test_of_a_series_by_name_the_newer_note_is_found(older: str, newer: str) -> None:
    notes, scores = np.array([0, 1], np.int32), np.array([1.0, 0.8], np.float32)
    assert find_newer_editions(notes, scores, (older, newer)) == {0: ReplacedNote((1,), "")}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2026-01-02.md", "2026-01-03.md"),
        ("Daily 2026-01-02.md", "Daily 2026-01-03.md"),
        ("2026-01-02 Team meeting.md", "2026-01-09 Team meeting.md"),
        ("Besprechung 2026-01-02.md", "Besprechung 2026-01-09.md"),
        ("Changelog 2024.md", "Changelog 2025.md"),
        ("a/Budget 2024.md", "b/Budget 2025.md"),
        ("Budget 2024.md", "Plan 2025.md"),
        ("RFC 2616.md", "RFC 7230.md"),
        ("From 2020 to 2024.md", "From 2020 to 2025.md"),
        ("errors/error-a2054.md", "errors/error-a2055.md"),
        ("errors/lnk2019.md", "errors/lnk2026.md"),
    ],
)
def test_notes_of_days_and_events_and_other_names_are_no_series(first: str, second: str) -> None:
    notes, scores = np.array([0, 1], np.int32), np.array([1.0, 0.9], np.float32)
    assert find_newer_editions(notes, scores, (first, second)) == {}


def test_a_newer_note_of_a_series_that_answers_less_is_not_raised() -> None:
    notes, scores = np.array([0, 1], np.int32), np.array([1.0, 0.7], np.float32)
    assert find_newer_editions(notes, scores, ("Pricing 2024.md", "Pricing 2026.md")) == {}


SEAT = "One seat costs {} euros a month, without the tax.\n"


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("how much does one seat cost a month?", "Pricing 2026.md"),
        ("how much did one seat cost a month in 2024?", "Pricing 2024.md"),
        ("seat euros tax", "Pricing 2024.md"),
    ],
)
def test_a_question_gets_the_newer_note_of_a_series_first_and_unmarked(tmp_path: Path, query: str, first: str) -> None:
    texts = {"Beans.md": NOTES["Beans.md"], "Chairs.md": NOTES["Chairs.md"]}
    texts |= {"Pricing 2024.md": SEAT.format("ten"), "Pricing 2026.md": SEAT.format("twelve")}
    with closing(open_vault(tmp_path, texts)) as snapshot:
        hits = Engine(snapshot, Settings(), today=lambda: date(2026, 11, 1)).search(query).hits
    assert hits[0].path == first
    assert {hit.replaced for hit in hits} == {None}
