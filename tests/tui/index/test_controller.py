"""Tests of the index on the screen: its process, its state after each event, the speed of a build."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from excerpt.base.errors import IndexBusyError, IndexUnusableError
from excerpt.base.kinds import Strategy
from excerpt.base.model import BuildReport, EmbeddingProgress, FileProblem, Progress, Status
from excerpt.base.settings import Paths, SearchSettings, Settings, VaultSettings
from excerpt.index.events import (
    Command,
    EmbeddingCompleted,
    EmbeddingFailed,
    IndexingCancelled,
    IndexingFailed,
    IndexingPaused,
    VaultEmptied,
    VaultWatched,
)
from excerpt.service.engine_worker import EngineWorker
from excerpt.service.event_loop import Failure, IndexOpened
from excerpt.service.indexing_process import IndexingEnded, IndexingProcess, ProcessEvent
from excerpt.text.display import format_duration
from excerpt.tui.index.controller import (
    BuildRate,
    BuildSamples,
    ChangeDetection,
    IndexController,
    IndexState,
    done_share,
    format_bar_state,
    format_build_result,
    format_rate,
)
from excerpt.tui.index.dialog import list_build_facts, list_status_facts
from excerpt.tui.messages import EventReported
from excerpt.tui.search.notices import search_notice
from excerpt.vault.known_vaults import VaultFolders
from tests.service.manual_loop import ManualLoop

pytestmark = pytest.mark.usefixtures("indexing_process")

STATUS = Status("/vault", 7, 171, 900, (), (), "model", "o200k", "2026-03-01T12:00:00+00:00")
PROGRESS = Progress("reading", 30, 171, 3_000_000, 40_000_000, "Big.md", 7, 0, 2.0)
REPORT = BuildReport(8, 2, 1, 0, 168, 900, 3, (), (), 0.2)
WATCHED = VaultWatched(polling=False)
BUSY = IndexingFailed(IndexBusyError.title, "Another excerpt is indexing.", "")
ENDED = IndexingEnded(9, "out of memory")
DAMAGED_INDEX_MESSAGE = Failure("search", IndexUnusableError.title, "A segment is damaged.", "It is mended.")


class Process(IndexingProcess):
    """Records the commands it is sent, and starts no child."""

    is_running = True

    def __init__(self, vault: Path) -> None:
        super().__init__(vault, print)
        self.sent: list[Command] = []

    def start(self) -> None:
        self.is_running = True

    def send(self, command: Command) -> None:
        self.sent.append(command)

    def end(self) -> None:
        self.is_running = False


class Engine(EngineWorker):
    """An engine that counts how often it opens the newest generation."""

    opens = 0

    def open(self) -> None:
        self.opens += 1


class Case:
    """A controller with a process and an engine that only record calls; `told` are the notices."""

    def __init__(self, folder: Path) -> None:
        user_paths = Paths(folder / "config", folder / "cache", folder / "data", folder / "state")
        self.told: list[str] = []
        self.index = IndexController(
            VaultFolders.of([folder]),
            Settings(),
            user_paths,
            loop=ManualLoop(),
            notify=lambda text, **_: self.told.append(text),
            on_state_change=list,
        )
        self.process = self.index.process = Process(folder)
        self.engine = self.index.engine = Engine(VaultFolders.of([folder]), user_paths, Settings(), ManualLoop())


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_a_repeated_failure_is_reported_once_until_the_index_changes(case: Case) -> None:
    failure = Failure("pack", "No tokenizer", "The tokenizer is gone.", "Choose another.")
    for _ in range(3):
        case.index.handle_failure(failure)
    assert case.told == ["The tokenizer is gone. Choose another."]
    case.index.handle_opened(IndexOpened(STATUS))
    case.index.handle_failure(failure)
    assert len(case.told) == 2


def test_a_damaged_index_is_repaired_once_per_generation(case: Case) -> None:
    for _ in range(3):
        case.index.handle_failure(DAMAGED_INDEX_MESSAGE)
    assert case.process.sent == ["update"]
    case.index.handle_opened(IndexOpened(STATUS))
    case.index.handle_failure(DAMAGED_INDEX_MESSAGE)
    assert case.process.sent == ["update", "update"]


def test_an_index_that_cannot_be_opened_is_reported_and_rebuilt(case: Case) -> None:
    case.process.is_running = False
    case.index.state = structs.replace(case.index.state, change_detection=ChangeDetection.EVENTS)
    case.index.handle_failure(Failure("open", "The index cannot be used", "It is gone."))
    assert case.process.is_running


def test_a_generation_is_opened_once_however_often_it_is_reported(case: Case) -> None:
    progress = replace(PROGRESS, generation=8)
    for _ in range(3):
        case.index.handle_event(progress)
    assert case.engine.opens == 1


def test_the_generation_in_use_is_not_opened_again(case: Case) -> None:
    case.index.handle_opened(IndexOpened(STATUS))
    case.index.handle_event(replace(PROGRESS, generation=STATUS.generation))
    assert case.engine.opens == 0


@pytest.mark.parametrize(
    ("message", "otherwise"),
    [
        (IndexOpened(STATUS), False),
        (IndexOpened(STATUS, has_new_settings=True), True),
        (IndexOpened(replace(STATUS, generation=8)), True),
    ],
)
def test_queries_are_repeated_only_if_their_answers_may_differ(
    case: Case, message: IndexOpened, otherwise: bool
) -> None:
    case.index.handle_opened(IndexOpened(STATUS))
    assert case.index.handle_opened(message) is otherwise


def test_an_update_requested_while_paused_says_when_it_starts(case: Case) -> None:
    case.index.handle_event(IndexingPaused())
    case.told.clear()
    case.index.send_command("update")
    assert case.process.sent == ["update"]
    assert "starts when you press “Continue”" in case.told[0]


def test_the_end_of_a_process_restarted_meanwhile_is_ignored(case: Case) -> None:
    case.index.handle_event(VaultWatched(polling=False))
    case.index.handle_event(IndexingEnded(0, ""))
    assert case.index.state.change_detection is ChangeDetection.EVENTS


def test_the_end_of_the_process_is_reported(case: Case) -> None:
    case.process.is_running = False
    case.index.handle_event(IndexingEnded(0, ""))
    assert case.index.state.change_detection is ChangeDetection.ENDED


def test_an_indexing_process_that_has_ended_is_restarted_only_by_the_user(case: Case) -> None:
    case.process.is_running = False
    case.index.handle_event(IndexingEnded(0, ""))
    case.index.update_after_edit()
    assert not case.process.is_running
    case.index.send_command("update")
    assert case.process.is_running


def test_an_edit_triggers_an_update_if_changes_are_not_watched(case: Case) -> None:
    case.index.handle_event(VaultWatched(polling=False))
    case.index.update_after_edit()
    assert case.process.sent == []
    case.index.handle_event(VaultWatched(polling=True))
    case.index.update_after_edit()
    assert case.process.sent == ["update"]


@pytest.mark.parametrize(
    ("settings", "opens", "restarts"),
    [
        (Settings(search=SearchSettings(strategy=Strategy.SEMANTIC)), 0, False),
        (Settings(search=SearchSettings(limit=7)), 1, False),
        (Settings(vault=VaultSettings(exclude=("Old",))), 1, True),
    ],
)
def test_changed_settings_are_passed_to_every_part_of_the_app_that_uses_them(
    case: Case, settings: Settings, opens: int, restarts: bool
) -> None:
    assert case.index.use_settings(Settings(), settings) is restarts
    assert case.engine.opens == opens


def test_without_an_open_index_the_state_has_no_generation(case: Case) -> None:
    assert case.index.state.generation == 0
    case.index.handle_opened(IndexOpened(Status("/v", 3, 1, 1, (), (), "model", "o200k", "")))
    assert case.index.state.generation == 3


def state_after(*events: ProcessEvent, status: Status | None = STATUS) -> IndexState:
    """Return the state after the opening of a generation with this status, and after the events."""
    state = IndexState() if status is None else IndexState().with_status(status)
    for event in events:
        state = state.with_event(event)
    return state


def test_the_tab_bar_shows_the_state_of_the_index_in_a_few_words() -> None:
    assert format_bar_state(state_after(status=None)) == "opening"
    assert format_bar_state(state_after()) == "171 notes · checking"
    assert format_bar_state(state_after(WATCHED)) == "171 notes · up to date"
    assert format_bar_state(state_after(VaultWatched(polling=True))) == "171 notes · polled"
    assert format_bar_state(state_after(WATCHED, IndexingPaused())) == "171 notes · paused"
    assert format_bar_state(state_after(WATCHED, PROGRESS)) == "reading 30 of 171"
    assert format_bar_state(state_after(PROGRESS, IndexingPaused())) == "paused 30 of 171"
    assert format_bar_state(state_after(WATCHED, ENDED)) == "171 notes · not watched"
    assert format_bar_state(state_after(WATCHED, VaultEmptied(171, "None left.", ""))) == "no notes found"
    skipped = replace(STATUS, skipped=(FileProblem("Zeros.md", "not text"),) * 3)
    assert format_bar_state(state_after(WATCHED, status=skipped)) == "171 notes · 3 skipped · up to date"
    assert format_bar_state(state_after(BUSY)) == "indexed by another excerpt"


EMBEDDING = EmbeddingProgress("~/minilm", 1_200, 5_000, 180.0)


def test_the_share_of_embedded_passages_replaces_up_to_date() -> None:
    embedding = state_after(WATCHED, EMBEDDING)
    assert format_bar_state(embedding) == "171 notes · embedding 24 %"
    paused = embedding.with_event(IndexingPaused())
    assert format_bar_state(paused) == "171 notes · embedding 24 %, paused"
    complete = structs.replace(EMBEDDING, done=5_000)
    assert format_bar_state(state_after(WATCHED, complete)) == "171 notes · up to date"


def test_the_dialog_shows_how_long_embedding_takes_and_why_it_stopped() -> None:
    embedding = state_after(WATCHED, EMBEDDING)
    assert ("embedding", "1,200 of 5,000 passages · about 3 min left") in list_status_facts(embedding)
    failed = embedding.with_event(EmbeddingFailed("The server is gone.", "Start it."))
    assert ("embedding", "1,200 of 5,000 passages · The server is gone. Start it.") in list_status_facts(failed)
    again = failed.with_event(structs.replace(EMBEDDING, seconds_left=None))
    assert ("embedding", "1,200 of 5,000 passages") in list_status_facts(again)
    completed = failed.with_event(EmbeddingCompleted(8, is_first=True))
    assert "embedding" not in dict(list_status_facts(completed))


def test_a_short_build_is_not_shown() -> None:
    state = state_after(WATCHED, replace(PROGRESS, seconds=0.2))
    assert state == state_after(WATCHED)


def test_the_first_build_is_shown_at_once() -> None:
    state = state_after(replace(PROGRESS, seconds=0.1), status=None)
    assert format_bar_state(state) == "reading 30 of 171"
    assert search_notice(state, VaultFolders.of([Path("/vault")])).title == "Reading the vault"


def test_a_failure_is_shown_until_a_build_succeeds() -> None:
    failed = state_after(WATCHED, IndexingFailed("Title", "No space left.", "Make room."))
    assert failed.with_event(PROGRESS).failure == failed.failure
    assert failed.with_event(REPORT).failure is None


def test_another_indexing_process_is_forgotten_when_this_one_builds() -> None:
    state = state_after(BUSY, PROGRESS)
    assert not state.is_locked
    assert state.failure is None


def test_a_cancelled_build_is_remembered_until_the_rest_is_read_on_request() -> None:
    cancelled = state_after(WATCHED, PROGRESS, IndexingCancelled())
    assert cancelled.progress is None
    assert "“Update” reads the rest" in dict(list_status_facts(cancelled))["unfinished"]
    assert cancelled.with_event(REPORT).is_unfinished
    assert not structs.replace(cancelled, is_update_requested=True).with_event(REPORT).is_unfinished


def test_an_emptied_vault_is_reported_until_notes_are_back_or_the_user_confirms() -> None:
    emptied = state_after(WATCHED, VaultEmptied(171, "No note is left.", ""))
    assert emptied.failure is not None
    assert emptied.failure.sentence == "No note is left."
    assert not emptied.with_event(REPORT).emptied
    assert emptied.with_event(REPORT).failure is None


def test_the_current_file_and_its_time_are_shown_only_if_it_takes_long() -> None:
    quick, slow = (replace(PROGRESS, current_seconds=seconds) for seconds in (0.4, 12.3))
    assert dict(list_build_facts(state_after(status=None), quick))["file"] == "Big.md"
    assert dict(list_build_facts(state_after(status=None), slow))["file"] == "for 12 s: Big.md"


def test_progress_is_counted_in_files_and_megabytes() -> None:
    facts = dict(list_build_facts(state_after(status=None), PROGRESS))
    assert facts["reading"] == "30 of 171 files · 3.0 of 40.0 MB"


def test_a_process_that_ended_is_neither_watching_nor_building() -> None:
    state = state_after(PROGRESS, ENDED)
    assert state.change_detection is ChangeDetection.ENDED
    assert not state.is_working


def test_a_build_is_summarised_in_one_sentence() -> None:
    assert format_build_result(REPORT) == "Notes: 1 changed, 2 added."
    assert format_build_result(replace(REPORT, added=0, changed=0)) == "No note has changed."


def test_a_new_user_gets_three_lines_on_how_to_begin() -> None:
    first = search_notice(state_after(), VaultFolders.of([Path("/vault")]), first=True)
    assert first.title == "Search 171 notes"
    assert [line.split()[:3] for line in first.sentence.splitlines()] == [
        ["Type", "a", "few"],
        ["⇥", "marks", "one"],
        ["F1", "lists", "the"],
    ]
    assert "marks" not in search_notice(state_after(), VaultFolders.of([Path("/vault")])).sentence


def test_waiting_progress_is_replaced_only_by_newer_progress() -> None:
    progress, report = EventReported(PROGRESS), EventReported(REPORT)
    assert progress.can_replace(progress)
    assert not progress.can_replace(report)
    assert not report.can_replace(report)
    assert not progress.can_replace(EventReported(EmbeddingProgress("~/minilm", 3, 9, None)))


MB = 1_000_000


def progress_at(seconds: float, notes: int, size: int, total: int = 100 * MB) -> Progress:
    return Progress("reading", notes, 1_000, size, total, "a.md", 1, 0, seconds)


def samples_of(*steps: Progress) -> BuildSamples:
    pace = BuildSamples()
    for step in steps:
        pace = pace.with_progress(step)
    return pace


def steady_progress(seconds: int, notes: int = 10, size: int = MB) -> list[Progress]:
    """Return the progress of a build that does that many notes and bytes in each second."""
    return [progress_at(float(second), second * notes, second * size) for second in range(seconds + 1)]


def test_in_the_first_second_of_a_build_no_rate_is_shown() -> None:
    assert samples_of(progress_at(0.0, 0, 0), progress_at(0.9, 50, MB)).rate is None


def test_the_rate_of_a_build_is_measured_over_the_last_seconds() -> None:
    fast = steady_progress(60)
    slow = [progress_at(60.0 + second, 600 + second, 60 * MB + second * 1000) for second in range(1, 12)]
    assert samples_of(*fast, *slow).rate == BuildRate(1.0, 1000.0)


def test_the_remaining_time_is_shown_once_the_rate_is_stable() -> None:
    steps = steady_progress(8)
    assert samples_of(*steps[:4]).seconds_left(steps[3]) is None
    assert samples_of(*steps).seconds_left(steps[8]) == pytest.approx(92)


def test_no_remaining_time_is_shown_while_the_rate_varies() -> None:
    steps = [*steady_progress(4), progress_at(6.0, 41, 4 * MB + 1), progress_at(8.0, 42, 4 * MB + 2)]
    assert samples_of(*steps).seconds_left(steps[-1]) is None


def test_the_rate_of_a_new_build_is_measured_without_the_previous_build() -> None:
    assert samples_of(*steady_progress(8), progress_at(0.2, 0, 0)).rate is None


def test_a_pause_of_the_build_does_not_lower_the_rate() -> None:
    """Leave pauses out, since the seconds of a build are its working time."""
    steps = steady_progress(8)
    assert samples_of(*steps, steps[-1], *[progress_at(9.0, 90, 9 * MB)]).rate == BuildRate(10.0, MB)


def test_the_share_done_is_in_bytes_or_else_in_notes() -> None:
    assert done_share(progress_at(1.0, 10, 50 * MB)) == 0.5
    assert done_share(progress_at(1.0, 10, 0, 0)) == 0.01


def test_rates_are_rounded_for_readers() -> None:
    steps = steady_progress(8, notes=400)
    assert format_rate(samples_of(*steps), steps[-1]) == "400 notes/s · 1.0 MB/s · about 2 min left"
    assert format_rate(samples_of(*steps[:3]), steps[2]) == "400 notes/s · 1.0 MB/s"
    assert format_rate(BuildSamples(), steps[0]) == ""


@pytest.mark.parametrize(
    ("seconds", "words"), [(3, "a few seconds"), (12, "about 10 s"), (48, "about 50 s"), (80, "about 1 min")]
)
def test_an_estimated_time_is_rounded(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words
