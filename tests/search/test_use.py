"""Tests of the usage log: a crash-safe file of opened and packed notes, weighted by age."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.search import usage
from excerpt.search.usage import (
    HALF_LIFE_DAYS,
    UseEvent,
    UseKind,
    UseLog,
    latest_time,
    score_notes,
    summarize_by_note,
    update_paths,
)
from excerpt.state_files import encode_line

NOW = 1_700_000_000.0
DAY = 86_400.0


@pytest.fixture
def log(tmp_path: Path) -> UseLog:
    return UseLog(tmp_path / "use" / "vault.jsonl")


def opened(path: str, days_ago: float = 0.0, share: float = 1.0) -> UseEvent:
    return UseEvent(NOW - days_ago * DAY, UseKind.OPEN, path, "", share)


# --- the log ----------------------------------------------------------------------------------------------------------


def test_what_is_recorded_is_read_back(log: UseLog) -> None:
    log.record(UseKind.OPEN, [("Guides/Übung.md", "4be1")], NOW)
    log.record(UseKind.PACK, [("A.md", "1"), ("B.md", "2")], NOW + 1)
    assert log.events() == (
        UseEvent(NOW, UseKind.OPEN, "Guides/Übung.md", "4be1", 1.0),
        UseEvent(NOW + 1, UseKind.PACK, "A.md", "1", 0.5),
        UseEvent(NOW + 1, UseKind.PACK, "B.md", "2", 0.5),
    )


def test_a_line_is_json_with_a_time_that_people_read(log: UseLog) -> None:
    log.record(UseKind.OPEN, [("A.md", "4be1")], NOW)
    assert json.loads(log.file.read_text(encoding="utf-8")) == {
        "time": "2023-11-14T22:13:20.000Z",
        "kind": "open",
        "path": "A.md",
        "fragment": "4be1",
        "share": 1.0,
    }


def test_several_fragments_of_a_note_in_one_pack_count_as_one(log: UseLog) -> None:
    log.record(UseKind.PACK, [("A.md", "1"), ("A.md", "2"), ("B.md", "3")], NOW)
    assert [(event.path, event.fragment, event.share) for event in log.events()] == [
        ("A.md", "1", 0.5),
        ("B.md", "3", 0.5),
    ]


def test_an_act_with_no_note_leaves_no_file(log: UseLog) -> None:
    log.record(UseKind.PACK, [], NOW)
    assert not log.file.exists()


@pytest.mark.parametrize("path", ["a\nb.md", 'quo"te.md', "笔记.md", "not utf-8 \udce9.md", "line\u2028end.md"])
def test_any_file_name_is_kept(log: UseLog, path: str) -> None:
    log.record(UseKind.OPEN, [(path, "")], NOW)
    assert [event.path for event in log.events()] == [path]


def test_a_missing_file_holds_nothing(log: UseLog) -> None:
    assert log.events() == ()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"null",
        b"[1, 2]",
        b'"text"',
        b"\xff\xfe\x00",
        b'{"path": "B.md"}',
        b'{"time": "yesterday", "kind": "open", "path": "B.md"}',
        b'{"time": "2025-03-01T09:30:00", "kind": "open", "path": "B.md"}',
        b'{"time": "2025-03-01T09:30:00Z", "kind": "dream", "path": "B.md"}',
        b'{"time": "2025-03-01T09:30:00Z", "kind": "open", "path": 3}',
        b'{"time": "2025-03-01T09:30:00Z", "kind": "open", "path": "B.md", "share": NaN}',
        b'{"time": "2025-03-01T09:30:00Z", "kind": "open", "path": "B.md", "share": 1e9}',
        b'{"time": "0001-01-01T00:00:00+14:00", "kind": "open", "path": "B.md"}',
        b"[" * 100_000,
    ],
)
def test_a_broken_line_is_passed_over(log: UseLog, line: bytes) -> None:
    log.record(UseKind.OPEN, [("A.md", "")], NOW)
    with log.file.open("ab") as file:
        file.write(line + b"\n")
    log.record(UseKind.OPEN, [("C.md", "")], NOW)
    assert [event.path for event in log.events()] == ["A.md", "C.md"]


def test_after_a_line_cut_short_the_next_is_whole(log: UseLog) -> None:
    log.record(UseKind.OPEN, [("A.md", "")], NOW)
    with log.file.open("ab") as file:
        file.write(b'{"time": "2025-03-01T09:3')
    log.record(UseKind.OPEN, [("B.md", "")], NOW)
    assert [event.path for event in log.events()] == ["A.md", "B.md"]


@given(st.binary(max_size=400))
def test_reading_never_fails(data: bytes) -> None:
    assert isinstance(list(usage._parse_events(data)), list)


def test_what_another_process_adds_is_seen(log: UseLog) -> None:
    other = UseLog(log.file)
    log.record(UseKind.OPEN, [("A.md", "")], NOW)
    assert len(other.events()) == 1
    log.record(UseKind.OPEN, [("B.md", "")], NOW)
    assert len(other.events()) == 2
    log.clear()
    assert other.events() == ()


def test_clearing_forgets_all_and_says_how_much(log: UseLog) -> None:
    log.record(UseKind.PACK, [("A.md", ""), ("B.md", "")], NOW)
    assert log.clear() == 2
    assert not log.file.exists()
    assert log.events() == ()
    assert log.clear() == 0


def test_a_large_log_is_compacted_to_the_newest_events_of_a_year(log: UseLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "COMPACT_BYTES", 20_000)
    monkeypatch.setattr(usage, "MAX_EVENTS", 50)
    log.record(UseKind.OPEN, [("Old.md", "")], NOW - 400 * DAY)
    while log.events()[0].path == "Old.md":
        log.record(UseKind.OPEN, [(f"{len(log.events())}.md", "")], NOW)
    assert len(log.events()) == 50
    last = int(log.events()[-1].path.removesuffix(".md"))
    assert [event.path for event in log.events()] == [f"{number}.md" for number in range(last - 49, last + 1)]


def test_a_log_of_long_names_stays_small_too(log: UseLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "COMPACT_BYTES", 20_000)
    for number in range(40):
        log.record(UseKind.OPEN, [(f"{'x' * 4000}{number}.md", "")], NOW)
        assert log.file.stat().st_size <= 20_000
    assert log.events()[-1].path.endswith("39.md")


def test_of_a_log_that_something_else_has_filled_the_end_is_read(log: UseLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "COMPACT_BYTES", 1_000)
    log.file.parent.mkdir()
    log.file.write_bytes(b"x" * 50_000 + b"\n" + encode_line(usage._event_to_json(opened("A.md"))))
    assert [event.path for event in log.events()] == ["A.md"]


def append_many(file: Path, name: str, count: int) -> None:
    for number in range(count):
        UseLog(file).record(UseKind.OPEN, [(f"{name}{number}.md", "")], NOW)


def test_processes_that_append_at_once_lose_nothing(log: UseLog) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=append_many, args=(log.file, name, 40)) for name in "ab"]
    for process in processes:
        process.start()
    append_many(log.file, "c", 40)
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert {event.path for event in log.events()} == {f"{name}{n}.md" for name in "abc" for n in range(40)}
    assert len(log.events()) == 120


# --- weights ----------------------------------------------------------------------------------------------------------


def test_a_note_that_was_opened_stands_above_one_that_was_not() -> None:
    assert score_notes([opened("B.md")], ["A.md", "B.md"], NOW).tolist() == [0, 0.5]


def test_use_counts_half_after_a_half_life() -> None:
    once = [opened("A.md")]
    twice_long_ago = [opened("A.md", HALF_LIFE_DAYS)] * 2
    assert score_notes(once, ["A.md"], NOW) == pytest.approx(score_notes(twice_long_ago, ["A.md"], NOW))


def test_each_further_use_adds_less_and_none_reaches_one() -> None:
    few, more, many = (float(score_notes([opened("A.md")] * count, ["A.md"], NOW)[0]) for count in (1, 2, 1000))
    assert few < more < many < 1
    assert more - few < few


def test_a_note_in_a_large_pack_gains_less_than_one_opened() -> None:
    alone, shared = score_notes([opened("A.md"), opened("B.md", share=0.125)], ["A.md", "B.md"], NOW)
    assert alone > shared > 0


def test_use_of_notes_that_are_gone_says_nothing() -> None:
    assert not score_notes([opened("Gone.md")], ["A.md"], NOW).any()
    assert score_notes([], ["A.md"], NOW).dtype == np.float32
    assert len(score_notes([opened("A.md")], [], NOW)) == 0


def test_an_event_of_a_clock_that_was_fast_counts_as_now() -> None:
    assert score_notes([opened("A.md", -900)], ["A.md"], NOW).tolist() == [0.5]


def test_ages_count_from_the_newest_event() -> None:
    assert latest_time([opened("A.md", 3), opened("B.md", 1), opened("C.md", 2)]) == NOW - DAY
    assert latest_time([]) == 0


def test_what_was_learned_is_told_by_note_the_most_used_first() -> None:
    pack = UseEvent(NOW, UseKind.PACK, "B.md", "", 0.5)
    first, second = summarize_by_note([opened("A.md", 40), pack, opened("B.md", 1)])
    assert (first.path, first.opens, first.packs, first.last) == ("B.md", 1, 1, NOW)
    assert (second.path, second.opens, second.packs) == ("A.md", 1, 0)
    assert first.score > second.score


# --- moved notes ------------------------------------------------------------------------------------------------------


def test_events_of_a_moved_note_count_for_the_path_that_it_has_today() -> None:
    events = (opened("old.md"), opened("new.md", days_ago=30), opened("here.md"), opened("gone.md"))
    moves = {"old.md": "new.md", "here.md": "elsewhere.md"}
    here = update_paths(events, {"new.md", "here.md"}, moves.get)
    assert [event.path for event in here] == ["new.md", "new.md", "here.md", "gone.md"]
    assert [event.time for event in here] == [event.time for event in events]
    assert {note.path: note.opens for note in summarize_by_note(here)} == {"new.md": 2, "here.md": 1, "gone.md": 1}
