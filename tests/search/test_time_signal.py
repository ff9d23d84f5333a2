"""Tests of the periods in queries: which notes they raise, and the order by date."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from excerpt.base.model import Result
from excerpt.base.settings import Settings
from excerpt.corpus.facets import UNKNOWN_DAY
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.search.explain_note import explain_note
from excerpt.search.interpretation import interpret_query
from tests.search.library import TODAY, notes_allowed, open_vault

LEASE = "The landlord sent the lease for the office. We agreed to wait.\n"
NOTES = {
    "Daily/2024-05-03.md": LEASE,
    "Daily/2024-06-09.md": LEASE,
    "Journal/2024/11/07.md": LEASE,
    "Meetings/Lease.md": f"---\ndate: 2025-02-11\n---\n{LEASE}",
    "Meetings/Office.md": f"# Office 5 March 2025\n\n{LEASE}",
    "Log.md": f"# Log\n\n## 2023-01-04\n\n{LEASE}\n### Rent\n\nThe rent is due.\n\n## 2023-08-20\n\n{LEASE}",
    "Undated.md": LEASE,
    "Gardens.md": "---\ndate: 2024-05-20\n---\nBeans climb.\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    snapshot = open_vault(tmp_path_factory.mktemp("time"), NOTES)
    yield snapshot
    snapshot.close()


@pytest.fixture
def engine(library: Snapshot) -> Engine:
    return Engine(library, Settings(), today=lambda: TODAY)


def found(result: Result) -> list[str]:
    return [f"{hit.fragment.path}:{hit.fragment.line_start}" for hit in result.hits]


def time_values(result: Result) -> Mapping[str, float]:
    return {hit.fragment.path: signal.value for hit in result.hits for signal in hit.signals if signal.name == "time"}


def day_of_notes(snapshot: Snapshot) -> dict[str, str]:
    known = zip(snapshot.table.paths, snapshot.facets.dates.tolist(), strict=True)
    return {path: str(np.datetime64(day, "D")) if day != UNKNOWN_DAY else "" for path, day in known if path != "Log.md"}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("lease in May 2024", "Daily/2024-05-03.md:1"),
        ("what did we agree about the lease on 7 November 2024", "Journal/2024/11/07.md:1"),
        ("lease last month", "Meetings/Lease.md:4"),
        ("lease this week or 2025-03-05", "Meetings/Office.md:3"),
        ("lease in January 2023", "Log.md:5"),
        ("lease in August 2023", "Log.md:13"),
    ],
)
def test_a_note_dated_in_the_time_that_the_query_names_comes_first(engine: Engine, query: str, first: str) -> None:
    assert found(engine.search(query))[0] == first


def test_the_time_signal_is_one_within_the_named_time_and_less_near_it_and_zero_without_a_date(engine: Engine) -> None:
    values = time_values(engine.search("lease in May 2024"))
    assert values["Daily/2024-05-03.md"] == 1
    assert 1 > values["Daily/2024-06-09.md"] > values["Journal/2024/11/07.md"]
    assert values["Undated.md"] == 0


def test_a_note_dated_in_the_named_time_that_does_not_match_is_not_listed(engine: Engine) -> None:
    plain, timed = engine.search('"lease"'), engine.search('"lease" in May 2024')
    assert "Gardens.md:4" not in found(timed)
    assert sorted(found(timed)) == sorted(found(plain))


@pytest.mark.parametrize("query", ["lease", "lease may be", '"in May 2024"', "lease date:2024-05"])
def test_a_query_that_names_no_time_has_no_time_signal(engine: Engine, query: str) -> None:
    result = engine.search(query)
    assert (result.periods, time_values(result)) == ((), {})


def test_the_words_of_an_ignored_time_are_searched_and_it_raises_no_note(engine: Engine) -> None:
    ignored = engine.search(r"lease \in May 2024")
    assert (ignored.periods, time_values(ignored)) == ((), {})
    assert found(engine.search(r"\March 2025"))[0] == "Meetings/Office.md:3"


def test_a_named_time_without_dated_notes_does_not_change_the_list(tmp_path: Path) -> None:
    snapshot = open_vault(tmp_path, {"A.md": LEASE, "B.md": "A lease of life.\n"})
    result = Engine(snapshot, Settings(), today=lambda: TODAY).search("lease in May 2024")
    assert time_values(result) == {}
    assert [period.text for period in result.periods] == ["in May 2024"]
    snapshot.close()


def test_the_confidence_of_a_hit_ignores_its_date(library: Snapshot) -> None:
    labels = []
    for today in (date(2024, 6, 2), date(2024, 12, 2), date(1999, 1, 1)):
        result = Engine(library, Settings(), today=lambda today=today: today).search("landlord lease last month")  # type: ignore[misc]
        labels.append({hit.fragment.id: hit.confidence for hit in result.hits})
    assert labels[0] == labels[1] == labels[2]


def test_a_result_has_the_times_that_its_query_names_and_a_filter_for_each(engine: Engine) -> None:
    periods = [(one.text, one.first, one.last, one.filter) for one in engine.search("lease since May 2024").periods]
    assert periods == [("since May 2024", "2024-05-01", None, "date:>=2024-05-01")]


def test_the_property_best_first_is_ordered_by_score_whatever_the_order_of_hits(engine: Engine) -> None:
    result = engine.search("landlord lease office sort:date")
    scores = [hit.score for hit in result.best_first]
    assert scores == sorted(scores, reverse=True)
    assert [hit.score for hit in result.hits] != scores


def test_the_property_best_first_is_ordered_by_date_without_ranking(engine: Engine) -> None:
    result = engine.search("date:2024 sort:-date")
    assert result.best_first == result.hits


def test_the_reason_for_a_lower_rank_names_the_time_in_the_query(engine: Engine) -> None:
    explanation = explain_note(engine, "lease in May 2024", "2024-06-09", Settings().search.strategy)
    assert explanation.reason.endswith("the first hit is dated nearer to the time that you named.")


def test_the_filter_for_a_named_time_finds_the_notes_dated_in_it(library: Snapshot) -> None:
    assert notes_allowed(library, "date:2023-08 ") == ["Log"]
    assert set(notes_allowed(library, "date:2024 ")) == {"2024-05-03", "2024-06-09", "07", "Gardens"}


# --- dates of notes ---------------------------------------------------------------------------------------------------


def test_the_date_of_a_note_is_from_a_property_or_its_path(library: Snapshot) -> None:
    assert day_of_notes(library) == {
        "Daily/2024-05-03.md": "2024-05-03",
        "Daily/2024-06-09.md": "2024-06-09",
        "Journal/2024/11/07.md": "2024-11-07",
        "Meetings/Lease.md": "2025-02-11",
        "Meetings/Office.md": "",  # its heading has one
        "Undated.md": "",
        "Gardens.md": "2024-05-20",
    }


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"folder": "Diary", "format": "DD-MM-YYYY"}, "Diary/05-03-2024.md"),
        ({"folder": "/Diary/", "format": "YYYY/MM MMMM/[Day] D"}, "Diary/2024/03 March/Day 5.md"),
        ({"format": "YYMMDD dddd"}, "240305 Tuesday.md"),
        ({"format": "MMMM Do, YYYY"}, "March 5th, 2024.md"),
    ],
)
def test_a_daily_note_is_recognised_by_the_format_of_obsidian(
    tmp_path: Path, settings: dict[str, str], path: str
) -> None:
    (tmp_path / "vault/.obsidian").mkdir(parents=True)
    (tmp_path / "vault/.obsidian/daily-notes.json").write_text(json.dumps(settings), encoding="utf-8")
    snapshot = open_vault(tmp_path, {path: "Rain.\n"})
    assert day_of_notes(snapshot) == {path: "2024-03-05"}
    snapshot.close()


@pytest.mark.parametrize(
    "content", ["", "[]", '{"format": 3}', '{"format": "HH:mm"}', '{"format": "\\ud800"}', "[" * 9999]
)
def test_settings_that_are_not_a_date_format_are_ignored(tmp_path: Path, content: str) -> None:
    (tmp_path / "vault/.obsidian").mkdir(parents=True)
    (tmp_path / "vault/.obsidian/daily-notes.json").write_text(content, encoding="utf-8")
    snapshot = open_vault(tmp_path, {"05-03-2024.md": "Rain.\n"})
    assert day_of_notes(snapshot) == {"05-03-2024.md": "2024-05-03"}
    snapshot.close()


# --- order ------------------------------------------------------------------------------------------------------------


def test_hits_are_ordered_by_date_with_undated_ones_last(engine: Engine) -> None:
    oldest = engine.search("lease landlord sort:date")
    assert [hit.date for hit in oldest.hits if hit.date] == sorted(hit.date for hit in oldest.hits if hit.date)
    assert found(oldest)[0] == "Log.md:5"
    assert found(oldest)[-1] == "Undated.md:1"
    newest = engine.search("lease landlord sort:-date")
    assert found(newest)[0] == "Meetings/Office.md:3"
    assert set(found(newest)) == set(found(oldest)) == set(found(engine.search("lease landlord")))


def test_ordering_keeps_the_best_hits_and_the_confidence_of_the_search(engine: Engine) -> None:
    plain, ordered = engine.search("lease landlord", limit=3), engine.search("lease landlord sort:-date", limit=3)
    assert set(found(ordered)) == set(found(plain))
    assert ordered.confidence == plain.confidence


def test_an_order_alone_lists_all_notes_or_those_that_pass_a_filter(engine: Engine) -> None:
    assert found(engine.search("sort:-date"))[:2] == ["Meetings/Office.md:3", "Meetings/Lease.md:4"]
    assert found(engine.search("path:Daily/ sort:date")) == ["Daily/2024-05-03.md:1", "Daily/2024-06-09.md:1"]


@pytest.mark.parametrize("typed", ["sort:size", "-sort:date", "sort:"])
def test_sort_with_an_unknown_order_is_searched_as_words(engine: Engine, typed: str) -> None:
    (query,) = engine.parse(f"lease {typed}")
    assert (query.sort, query.words.split()) == ("", ["lease", typed])


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_named_time_is_given_with_its_position_in_the_query(library: Snapshot) -> None:
    text = '!p tag:none "in May 2023" lease in May 2024 | rent since 2023'
    periods = interpret_query(library, text, TODAY).periods
    assert [text[one.start : one.end] for one in periods] == ["in May 2024", "since 2023"]


def test_a_named_time_without_dated_notes_is_reported(library: Snapshot) -> None:
    warnings = interpret_query(library, "lease in May 2019", TODAY).warnings
    assert [warning.message for warning in warnings] == ["no note has a date in this time"]


@pytest.mark.parametrize("query", ["what did I write in 2024", "notes from 2024", "which notes did we write in 2024"])
def test_a_question_that_is_only_a_time_lists_the_notes_of_that_time_newest_first(engine: Engine, query: str) -> None:
    result = engine.search(query)
    days = [hit.date for hit in result.hits]
    assert days == ["2024-11-07", "2024-06-09", "2024-05-20", "2024-05-03"]
    assert result.confidence is None
    assert [period.filter for period in result.periods] == ["date:2024"]
    assert result.matched == len(result.hits) == engine.count_matches_by_note(query).sum()


@pytest.mark.parametrize("query", ["the lease in 2024", "what happened in 1998", "2024", '"what" in 2024'])
def test_a_question_that_is_more_than_a_time_is_searched_as_usual(engine: Engine, query: str) -> None:
    assert engine.search(query).confidence is not None


def test_a_question_for_the_notes_of_a_time_without_any_finds_nothing(engine: Engine) -> None:
    result = engine.search("what did I write in 1998")
    assert (result.hits, result.matched) == ((), 0)
    assert [period.filter for period in result.periods] == ["date:1998"]


def test_a_list_of_the_notes_of_a_time_applies_the_filters_of_the_query(engine: Engine) -> None:
    assert found(engine.search("what did I write in 2024 path:Journal/")) == ["Journal/2024/11/07.md:1"]
