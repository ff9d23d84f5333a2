"""Tests of the state of the index on the screen after each message about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from excerpt.errors import IndexBusyError
from excerpt.index.events import (
    EmbeddingCompleted,
    EmbeddingFailed,
    IndexingCancelled,
    IndexingFailed,
    IndexingPaused,
    VaultEmptied,
    VaultWatched,
)
from excerpt.known_vaults import VaultFolders
from excerpt.model import BuildReport, EmbeddingProgress, FileProblem, Progress, Status
from excerpt.service.indexing_process import IndexingEnded, ProcessEvent
from excerpt.tui.index.controller import ChangeDetection, IndexState, format_bar_state, format_build_result
from excerpt.tui.index.dialog import list_build_facts, list_status_facts
from excerpt.tui.messages import EventReported
from excerpt.tui.search.notices import search_notice

STATUS = Status("/vault", 7, 171, 900, (), (), "model", "o200k", "2026-03-01T12:00:00+00:00")
PROGRESS = Progress("reading", 30, 171, 3_000_000, 40_000_000, "Big.md", 7, 0, 2.0)
REPORT = BuildReport(8, 2, 1, 0, 168, 900, 3, (), (), 0.2)
WATCHED = VaultWatched(polling=False)
BUSY = IndexingFailed(IndexBusyError.title, "Another excerpt is indexing.", "")
ENDED = IndexingEnded(9, "out of memory")


def after(*events: ProcessEvent, status: Status | None = STATUS) -> IndexState:
    """Return the state after the opening of a generation with this status, and after the events."""
    state = IndexState() if status is None else IndexState().with_status(status)
    for event in events:
        state = state.with_event(event)
    return state


def test_the_tab_bar_says_in_few_words_how_the_index_stands() -> None:
    assert format_bar_state(after(status=None)) == "opening"
    assert format_bar_state(after()) == "171 notes · checking"
    assert format_bar_state(after(WATCHED)) == "171 notes · up to date"
    assert format_bar_state(after(VaultWatched(polling=True))) == "171 notes · polled"
    assert format_bar_state(after(WATCHED, IndexingPaused())) == "171 notes · paused"
    assert format_bar_state(after(WATCHED, PROGRESS)) == "reading 30 of 171"
    assert format_bar_state(after(PROGRESS, IndexingPaused())) == "paused 30 of 171"
    assert format_bar_state(after(WATCHED, ENDED)) == "171 notes · not watched"
    assert format_bar_state(after(WATCHED, VaultEmptied(171, "None left.", ""))) == "no notes found"
    skipped = replace(STATUS, skipped=(FileProblem("Zeros.md", "not text"),) * 3)
    assert format_bar_state(after(WATCHED, status=skipped)) == "171 notes · 3 skipped · up to date"
    assert format_bar_state(after(BUSY)) == "indexed by another excerpt"


EMBEDDING = EmbeddingProgress("~/minilm", 1_200, 5_000, 180.0)


def test_the_share_of_embedded_passages_stands_where_the_index_is_up_to_date_otherwise() -> None:
    embedding = after(WATCHED, EMBEDDING)
    assert format_bar_state(embedding) == "171 notes · embedding 24 %"
    paused = embedding.with_event(IndexingPaused())
    assert format_bar_state(paused) == "171 notes · embedding 24 %, paused"
    complete = replace(EMBEDDING, done=5_000)
    assert format_bar_state(after(WATCHED, complete)) == "171 notes · up to date"


def test_the_dialog_says_how_long_embedding_takes_and_why_it_does_not_go_on() -> None:
    embedding = after(WATCHED, EMBEDDING)
    assert ("embedding", "1,200 of 5,000 passages · about 3 min left") in list_status_facts(embedding)
    failed = embedding.with_event(EmbeddingFailed("The server is gone.", "Start it."))
    assert ("embedding", "1,200 of 5,000 passages · The server is gone. Start it.") in list_status_facts(failed)
    again = failed.with_event(replace(EMBEDDING, seconds_left=None))
    assert ("embedding", "1,200 of 5,000 passages") in list_status_facts(again)
    completed = failed.with_event(EmbeddingCompleted(8, is_first=True))
    assert "embedding" not in dict(list_status_facts(completed))


def test_a_build_of_a_moment_is_not_shown_so_that_nothing_flickers() -> None:
    state = after(WATCHED, replace(PROGRESS, seconds=0.2))
    assert state == after(WATCHED)


def test_the_first_build_is_shown_at_once() -> None:
    state = after(replace(PROGRESS, seconds=0.1), status=None)
    assert format_bar_state(state) == "reading 30 of 171"
    assert search_notice(state, VaultFolders.of([Path("/vault")])).title == "Reading the vault"


def test_trouble_stays_until_a_build_succeeds() -> None:
    failed = after(WATCHED, IndexingFailed("Title", "No space left.", "Make room."))
    assert failed.with_event(PROGRESS).failure == failed.failure
    assert failed.with_event(REPORT).failure is None


def test_another_excerpt_that_indexes_is_forgotten_when_this_one_has_its_turn() -> None:
    state = after(BUSY, PROGRESS)
    assert not state.is_locked
    assert state.failure is None


def test_a_cancelled_build_is_remembered_until_the_rest_was_asked_for_and_read() -> None:
    cancelled = after(WATCHED, PROGRESS, IndexingCancelled())
    assert cancelled.progress is None
    assert "“Update” reads the rest" in dict(list_status_facts(cancelled))["unfinished"]
    assert cancelled.with_event(REPORT).is_unfinished
    assert not replace(cancelled, is_update_requested=True).with_event(REPORT).is_unfinished


def test_an_emptied_vault_is_trouble_until_notes_are_back_or_agreed_to_be_gone() -> None:
    emptied = after(WATCHED, VaultEmptied(171, "No note is left.", ""))
    assert emptied.failure is not None
    assert emptied.failure.sentence == "No note is left."
    assert not emptied.with_event(REPORT).emptied
    assert emptied.with_event(REPORT).failure is None


def test_the_file_in_work_is_told_with_its_time_only_when_it_takes_long() -> None:
    quick, slow = (replace(PROGRESS, current_seconds=seconds) for seconds in (0.4, 12.3))
    assert dict(list_build_facts(after(status=None), quick))["file"] == "Big.md"
    assert dict(list_build_facts(after(status=None), slow))["file"] == "for 12 s: Big.md"


def test_what_is_done_is_counted_in_files_and_megabytes() -> None:
    facts = dict(list_build_facts(after(status=None), PROGRESS))
    assert facts["reading"] == "30 of 171 files · 3.0 of 40.0 MB"


def test_a_process_that_is_gone_is_neither_watching_nor_at_work() -> None:
    state = after(PROGRESS, ENDED)
    assert state.change_detection is ChangeDetection.ENDED
    assert not state.is_working


def test_what_a_build_did_is_told_in_one_sentence() -> None:
    assert format_build_result(REPORT) == "Notes: 1 changed, 2 added."
    assert format_build_result(replace(REPORT, added=0, changed=0)) == "No note has changed."


def test_who_opens_their_first_vault_is_told_in_three_lines_how_to_begin() -> None:
    first = search_notice(after(), VaultFolders.of([Path("/vault")]), first=True)
    assert first.title == "Search 171 notes"
    assert [line.split()[:3] for line in first.sentence.splitlines()] == [
        ["Type", "a", "few"],
        ["⇥", "marks", "one"],
        ["F1", "lists", "the"],
    ]
    assert "marks" not in search_notice(after(), VaultFolders.of([Path("/vault")])).sentence


def test_waiting_progress_is_replaced_by_newer_progress_only() -> None:
    progress, report = EventReported(PROGRESS), EventReported(REPORT)
    assert progress.can_replace(progress)
    assert not progress.can_replace(report)
    assert not report.can_replace(report)
    assert not progress.can_replace(EventReported(EmbeddingProgress("~/minilm", 3, 9, None)))
