"""Tests of the usage log: a private, crash-safe file of opened, marked and copied hits."""

from __future__ import annotations

import json
import multiprocessing
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.model import Fragment, Hit, PastUse
from excerpt.search import usage
from excerpt.search.usage import (
    MAX_EARLIER,
    MAX_NOTES_ABOVE,
    MAX_QUERY_CHARS,
    READING_SECONDS,
    REWORDING_SECONDS,
    UnsureQuestions,
    UsedHit,
    UseEvent,
    UseKind,
    UseLog,
    find_used_hit,
    summarize_by_query,
    update_paths,
)

NOW = 1_700_000_000.0
DAY = 86_400.0


@pytest.fixture
def log(tmp_path: Path) -> UseLog:
    return UseLog(tmp_path / "use" / "vault.jsonl")


def used_hit(path: str, query: str = "sync", *, rank: int = 1, above: tuple[str, ...] = ()) -> UsedHit:
    return UsedHit(query, path, "4be1", rank, above)


def open_note(log: UseLog, path: str, query: str = "sync", now: float = NOW) -> None:
    log.record(UseKind.OPENED, [used_hit(path, query)], now)


# --- the log ----------------------------------------------------------------------------------------------------------


def test_recorded_events_are_read_back(log: UseLog) -> None:
    log.record(UseKind.OPENED, [UsedHit("häuser", "Guides/Übung.md", "4be1", 3, ("A.md", "B.md"))], NOW)
    log.record(UseKind.MARKED, [used_hit("A.md"), used_hit("B.md")], NOW + 1)
    assert log.events() == (
        UseEvent(NOW, UseKind.OPENED, "häuser", "Guides/Übung.md", "4be1", 3, 1.0, ("A.md", "B.md")),
        UseEvent(NOW + 1, UseKind.MARKED, "sync", "A.md", "4be1", 1, 0.5),
        UseEvent(NOW + 1, UseKind.MARKED, "sync", "B.md", "4be1", 1, 0.5),
    )


def test_a_line_is_json_with_a_readable_time(log: UseLog) -> None:
    log.record(UseKind.OPENED, [UsedHit("sync", "A.md", "4be1", 2, ("B.md",), "9c0d", ("two versions",))], NOW)
    assert json.loads(log.file.read_text(encoding="utf-8")) == {
        "time": "2023-11-14T22:13:20.000Z",
        "kind": "opened",
        "query": "sync",
        "path": "A.md",
        "fragment": "4be1",
        "rank": 2,
        "share": 1.0,
        "above": ["B.md"],
        "digest": "9c0d",
        "earlier": ["two versions"],
    }


@pytest.mark.skipif(sys.platform == "win32", reason="has no such permissions")
def test_only_the_owner_can_read_the_log(log: UseLog) -> None:
    open_note(log, "A.md")
    assert stat.S_IMODE(log.file.stat().st_mode) == 0o600


def test_marks_of_one_pack_are_one_event_without_skipped_notes(log: UseLog) -> None:
    hits = [used_hit("A.md"), used_hit("A.md", rank=2), used_hit("B.md", rank=4, above=("A.md", "C.md"))]
    log.record(UseKind.MARKED, hits, NOW)
    assert [(event.path, event.rank, event.share, event.above) for event in log.events()] == [
        ("A.md", 1, 0.5, ()),
        ("B.md", 4, 0.5, ("C.md",)),
    ]


def test_a_log_line_of_an_older_version_is_read_without_digest_and_earlier_questions(log: UseLog) -> None:
    log.file.parent.mkdir()
    log.file.write_text(
        '{"time": "2023-11-14T22:13:20.000Z", "kind": "opened", "query": "sync", "path": "A.md", "fragment": "4be1",'
        ' "rank": 2, "share": 1.0, "above": ["B.md"]}\n',
        encoding="utf-8",
    )
    open_note(log, "C.md", now=NOW + 1)
    assert log.events()[0] == UseEvent(NOW, UseKind.OPENED, "sync", "A.md", "4be1", 2, 1.0, ("B.md",))
    assert len(log.events()) == 2


def test_an_event_without_hits_creates_no_file(log: UseLog) -> None:
    log.record(UseKind.MARKED, [], NOW)
    assert not log.file.exists()


@pytest.mark.parametrize("path", ["a\nb.md", 'quo"te.md', "笔记.md", "not utf-8 \udce9.md", "line\u2028end.md"])
def test_the_use_of_a_note_with_any_file_name_can_be_recorded(log: UseLog, path: str) -> None:
    open_note(log, path)
    assert [event.path for event in log.events()] == [path]


def test_a_missing_file_is_an_empty_log(log: UseLog) -> None:
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
        b'{"time": "2025-03-01T09:30:00Z", "kind": "opened", "path": "B.md"}',
        b'{"time": "yesterday", "kind": "opened", "query": "sync", "path": "B.md"}',
        b'{"time": "2025-03-01T09:30:00", "kind": "opened", "query": "sync", "path": "B.md"}',
        b'{"time": "2025-03-01T09:30:00Z", "kind": "dream", "path": "B.md"}',
        b'{"time": "2025-03-01T09:30:00Z", "kind": "opened", "query": "sync", "path": 3}',
        b'{"time": "2025-03-01T09:30:00Z", "kind": "opened", "query": "sync", "path": "B.md", "share": NaN}',
        b'{"time": "2025-03-01T09:30:00Z", "kind": "opened", "query": "sync", "path": "B.md", "share": 1e9}',
        b'{"time": "0001-01-01T00:00:00+14:00", "kind": "opened", "query": "sync", "path": "B.md"}',
        b"[" * 100_000,
    ],
)
def test_an_invalid_line_is_skipped(log: UseLog, line: bytes) -> None:
    open_note(log, "A.md")
    with log.file.open("ab") as file:
        file.write(line + b"\n")
    open_note(log, "C.md")
    assert [event.path for event in log.events()] == ["A.md", "C.md"]


def test_a_log_line_written_after_a_truncated_line_is_read(log: UseLog) -> None:
    open_note(log, "A.md")
    with log.file.open("ab") as file:
        file.write(b'{"time": "2025-03-01T09:3')
    open_note(log, "B.md")
    assert [event.path for event in log.events()] == ["A.md", "B.md"]


@given(st.binary(max_size=400))
def test_any_bytes_in_the_log_are_read_without_an_error(data: bytes) -> None:
    assert isinstance(list(usage._parse_events(data)), list)


def test_events_of_another_process_are_seen(log: UseLog) -> None:
    other = UseLog(log.file)
    open_note(log, "A.md")
    assert len(other.events()) == 1
    open_note(log, "B.md")
    assert len(other.events()) == 2
    log.forget()
    assert other.events() == ()


def test_forgetting_everything_deletes_the_file_and_returns_the_count(log: UseLog) -> None:
    log.record(UseKind.MARKED, [used_hit("A.md"), used_hit("B.md")], NOW)
    assert log.forget() == 2
    assert not log.file.exists()
    assert log.events() == ()
    assert log.forget() == 0


def test_forgetting_some_events_keeps_the_others(log: UseLog) -> None:
    open_note(log, "A.md", "sync")
    open_note(log, "B.md", "bread")
    assert log.forget(lambda event: event.query == "sync") == 1
    assert [event.path for event in log.events()] == ["B.md"]


def test_the_events_that_raised_a_hit_can_be_forgotten(log: UseLog) -> None:
    open_note(log, "A.md", now=NOW)
    open_note(log, "A.md", now=NOW + 1)
    assert log.forget_uses([PastUse("opened", "sync", NOW, "4be1")]) == 1
    assert [event.time for event in log.events()] == [NOW + 1]


@pytest.mark.programs
def test_a_large_log_is_reduced_to_the_newest_events(log: UseLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "COMPACT_BYTES", 20_000)
    monkeypatch.setattr(usage, "MAX_EVENTS", 50)
    open_note(log, "Old.md", now=NOW - 4000 * DAY)
    while log.events()[0].path == "Old.md":
        open_note(log, f"{len(log.events())}.md", now=NOW - 4000 * DAY)
    assert len(log.events()) == 50
    last = int(log.events()[-1].path.removesuffix(".md"))
    assert [event.path for event in log.events()] == [f"{number}.md" for number in range(last - 49, last + 1)]


def test_a_log_of_long_names_stays_small(log: UseLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "COMPACT_BYTES", 20_000)
    for number in range(40):
        open_note(log, f"{'x' * 4000}{number}.md")
        assert log.file.stat().st_size <= 20_000
    assert log.events()[-1].path.endswith("39.md")


def test_only_the_end_of_an_oversized_log_is_read(log: UseLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "COMPACT_BYTES", 1_000)
    log.file.parent.mkdir()
    log.file.write_bytes(b"x" * 50_000 + b"\n" + usage._encode_event(UseEvent(NOW, UseKind.OPENED, "sync", "A.md")))
    assert [event.path for event in log.events()] == ["A.md"]


def append_many(file: Path, name: str, count: int) -> None:
    for number in range(count):
        open_note(UseLog(file), f"{name}{number}.md")


@pytest.mark.programs
def test_concurrent_processes_lose_no_event(log: UseLog) -> None:
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


KEEP_UNTIL_KILLED = """
import sys
from itertools import count
from pathlib import Path
from excerpt.search.usage import UsedHit, UseKind, UseLog
file, name = sys.argv[1:]
for number in count():
    used = UsedHit(f"{name} {number}", "A.md", "4be1", 1, (), "9c0d", (f"{name} before {number}",))
    UseLog(Path(file)).record(UseKind.OPENED, [used], 1_700_000_000.0)
    print(number, flush=True)
"""


@pytest.mark.programs
def test_processes_that_are_killed_lose_no_question_that_they_kept(log: UseLog) -> None:
    def start(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", KEEP_UNTIL_KILLED, str(log.file), name]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    kept: set[tuple[str, ...]] = set()
    for kill in range(10):
        pair = {name: start(name) for name in (f"first {kill}", f"second {kill}")}
        for wait, (name, process) in enumerate(pair.items(), 1):
            with process:
                assert process.stdout is not None
                for _ in range(wait + kill % 4):  # killed while it keeps the next one
                    number = process.stdout.readline().strip()
                    kept.add((f"{name} {number}", f"{name} before {number}"))
                process.kill()
    assert len(kept) >= 20
    assert kept <= {(event.query, *event.earlier) for event in log.events()}


# --- what is used -----------------------------------------------------------------------------------------------------


def hit(path: str, fragment: str) -> Hit:
    return Hit(Fragment(fragment, path, "", (), 0, 0, 1, 1, "text of a note", 3, "9c0d"), 1.0)


HITS = (hit("A.md", "a1"), hit("B.md", "b1"), hit("A.md", "a2"), hit("C.md", "c1"))


def test_a_used_hit_is_recorded_with_its_rank_and_the_notes_above() -> None:
    assert find_used_hit(" sync ", HITS, "c1") == UsedHit("sync", "C.md", "c1", 4, ("A.md", "B.md"), "9c0d")


def test_a_note_listed_between_two_fragments_of_the_used_note_counts_as_skipped() -> None:
    assert find_used_hit("sync", HITS, "a2") == UsedHit("sync", "A.md", "a2", 3, ("B.md",), "9c0d")


def test_a_hit_outside_the_list_is_not_recorded() -> None:
    assert find_used_hit("sync", HITS, "d1") is None


@pytest.mark.parametrize("query", ["", "  ", "x" * (MAX_QUERY_CHARS + 1)])
def test_an_empty_query_and_a_pasted_text_are_not_recorded(query: str) -> None:
    assert find_used_hit(query, HITS, "c1") is None


def test_only_the_first_notes_above_are_recorded() -> None:
    found = find_used_hit("sync", [hit(f"{number}.md", str(number)) for number in range(40)], "30")
    assert found is not None
    assert found.above == tuple(f"{number}.md" for number in range(MAX_NOTES_ABOVE))


def test_learned_notes_are_listed_by_query_most_recently_used_first() -> None:
    events = (
        UseEvent(NOW, UseKind.OPENED, "Sync  conflict", "A.md"),
        UseEvent(NOW + 1, UseKind.COPIED, "bread", "B.md"),
        UseEvent(NOW + 2, UseKind.MARKED, "sync conflict", "A.md"),
    )
    first, second = summarize_by_query(events)
    assert (first.query, first.path, first.opened, first.marked, first.copied) == ("sync conflict", "A.md", 1, 1, 0)
    assert first.last == NOW + 2
    assert (second.query, second.path, second.copied) == ("bread", "B.md", 1)


# --- questions and their rewordings -----------------------------------------------------------------------------------


def ask_all(questions: UnsureQuestions, *asked: tuple[str, bool], seconds: float = 5.0) -> None:
    """Ask (query, whether its list is unsure) one after the other, `seconds` apart."""
    for number, (query, is_unsure) in enumerate(asked):
        questions.ask(query, is_unsure=is_unsure, now=number * seconds, min_seconds=READING_SECONDS)


def test_an_unsure_question_is_saved_with_the_passage_that_its_rewording_found() -> None:
    questions = UnsureQuestions()
    ask_all(questions, ("is it cheaper for students", True), ("education discount", False))
    earlier = questions.use(10.0)
    assert earlier == ("is it cheaper for students",)
    found = find_used_hit("education discount", HITS, "c1", earlier)
    assert found is not None
    assert (found.query, found.earlier, found.digest) == ("education discount", earlier, "9c0d")


def test_a_question_with_a_sure_answer_is_not_reworded() -> None:
    questions = UnsureQuestions()
    ask_all(questions, ("education discount", False), ("refund policy", False))
    assert questions.use(10.0) == ()


def test_a_query_that_is_typed_further_counts_as_one_question() -> None:
    questions = UnsureQuestions()
    ask_all(
        questions, ("is it", True), ("is it cheaper", True), ("is it cheaper for students", True), ("discount", False)
    )
    assert questions.use(20.0) == ("is it cheaper for students",)


def test_a_query_whose_list_was_shown_only_for_a_moment_is_no_question() -> None:
    questions = UnsureQuestions()
    ask_all(questions, ("is it cheap", True), ("is it chea", True), ("discount", False), seconds=0.2)
    assert questions.use(1.0) == ()


def test_every_hit_used_in_one_list_is_saved_with_the_questions_before() -> None:
    questions = UnsureQuestions()
    ask_all(questions, ("is it cheaper for students", True), ("education discount", False))
    assert questions.use(10.0) == questions.use(11.0) == ("is it cheaper for students",)


def test_a_question_after_an_answer_rewords_nothing() -> None:
    questions = UnsureQuestions()
    ask_all(questions, ("is it cheaper for students", True), ("education discount", False))
    questions.use(10.0)
    questions.ask("dark theme", is_unsure=False, now=15.0)
    assert questions.use(20.0) == ()


def test_a_question_asked_long_ago_no_longer_counts_as_reworded() -> None:
    questions = UnsureQuestions()
    ask_all(questions, ("is it cheaper for students", True), ("education discount", False))
    assert questions.use(5.0 + REWORDING_SECONDS) != ()
    assert questions.use(5.1 + REWORDING_SECONDS) == ()


def test_if_a_question_was_reworded_many_times_the_last_rewordings_are_saved() -> None:
    questions = UnsureQuestions()
    ask_all(questions, *((f"{number} words", True) for number in range(10)))
    assert questions.use(60.0) == tuple(f"{number} words" for number in range(9 - MAX_EARLIER, 9))


def test_a_question_too_long_to_be_recorded_is_left_out() -> None:
    questions = UnsureQuestions()
    ask_all(questions, ("x" * (MAX_QUERY_CHARS + 1), True), ("education discount", False))
    assert questions.use(10.0) == ()


def test_a_question_asked_again_is_the_last_one() -> None:
    questions = UnsureQuestions()
    asked = ("first words", "second words", "third words", "first words", "fourth words", "fifth words")
    ask_all(questions, *((text, True) for text in asked))
    assert questions.use(30.0) == ("third words", "first words", "fourth words")


def test_a_long_session_keeps_only_the_questions_that_can_be_reworded() -> None:
    questions = UnsureQuestions()
    ask_all(questions, *((f"{number} words", True) for number in range(1_000)))
    assert len(questions._questions) == MAX_EARLIER + 1
    assert len(questions.reworded(5_000.0)) == MAX_EARLIER


# --- a list that is shown ---------------------------------------------------------------------------------------------


def test_a_repeated_query_keeps_the_events_of_its_first_run(log: UseLog) -> None:
    assert log.events_at_query("sync") == ()
    open_note(log, "A.md")
    assert log.events_at_query("sync") == log.events_at_last_query() == ()
    assert len(log.events_at_query("bread")) == 1
    assert len(log.events_at_query("sync")) == 1


def test_a_query_repeated_after_its_list_was_left_has_all_events(log: UseLog) -> None:
    assert log.events_at_query("sync") == ()
    open_note(log, "A.md")
    log.end_list()
    assert len(log.events_at_query("sync")) == 1


def test_forgotten_events_disappear_from_the_list_on_the_screen(log: UseLog) -> None:
    open_note(log, "A.md")
    assert len(log.events_at_query("sync")) == 1
    log.forget()
    assert log.events_at_query("sync") == ()


def test_events_forgotten_by_another_process_disappear_from_a_repeated_query(log: UseLog) -> None:
    open_note(log, "A.md", "sync")
    open_note(log, "B.md", "bread")
    assert len(log.events_at_query("sync")) == 2
    UseLog(log.file).forget(lambda event: event.query == "sync")
    assert [event.path for event in log.events_at_query("sync")] == ["B.md"]
    UseLog(log.file).forget()
    assert log.events_at_query("sync") == ()


# --- moved notes ------------------------------------------------------------------------------------------------------


def test_events_of_a_moved_note_belong_to_its_present_path() -> None:
    paths = ("old.md", "new.md", "here.md", "gone.md")
    events = tuple(UseEvent(NOW, UseKind.OPENED, "sync", path, above=("old.md",)) for path in paths)
    moves = {"old.md": "new.md", "here.md": "elsewhere.md"}
    moved = update_paths(events, {"new.md", "here.md"}, moves.get)
    assert [event.path for event in moved] == ["new.md", "new.md", "here.md", "gone.md"]
    assert {event.above for event in moved} == {("new.md",)}
