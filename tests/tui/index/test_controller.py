"""Tests of the index controller without a screen: its calls to engine and indexing process, and its notices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from excerpt.errors import IndexUnusableError
from excerpt.index.events import Command, IndexingPaused, VaultWatched
from excerpt.kinds import Strategy
from excerpt.known_vaults import VaultFolders
from excerpt.model import Status
from excerpt.service.engine_worker import EngineWorker
from excerpt.service.event_loop import Failure, IndexOpened
from excerpt.service.indexing_process import IndexingEnded, IndexingProcess
from excerpt.settings import Paths, SearchSettings, Settings, VaultSettings
from excerpt.tui.index.controller import ChangeDetection, IndexController
from tests.service.manual_loop import ManualLoop
from tests.tui.index.test_state import PROGRESS, STATUS

pytestmark = pytest.mark.usefixtures("living")

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


def test_what_fails_at_every_key_is_told_once_until_the_index_is_another(case: Case) -> None:
    failure = Failure("pack", "No tokenizer", "The tokenizer is gone.", "Choose another.")
    for _ in range(3):
        case.index.handle_failure(failure)
    assert case.told == ["The tokenizer is gone. Choose another."]
    case.index.handle_opened(IndexOpened(STATUS))
    case.index.handle_failure(failure)
    assert len(case.told) == 2


def test_a_damaged_index_is_mended_once_a_generation(case: Case) -> None:
    for _ in range(3):
        case.index.handle_failure(DAMAGED_INDEX_MESSAGE)
    assert case.process.sent == ["update"]
    case.index.handle_opened(IndexOpened(STATUS))
    case.index.handle_failure(DAMAGED_INDEX_MESSAGE)
    assert case.process.sent == ["update", "update"]


def test_an_index_that_cannot_be_opened_is_trouble_and_has_the_process_make_it(case: Case) -> None:
    case.process.is_running = False
    case.index.state = replace(case.index.state, change_detection=ChangeDetection.EVENTS)
    case.index.handle_failure(Failure("open", "The index cannot be used", "It is gone."))
    assert case.process.is_running


def test_a_generation_is_opened_once_however_often_it_is_told(case: Case) -> None:
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
def test_everything_is_asked_again_only_where_it_may_be_answered_otherwise(
    case: Case, message: IndexOpened, otherwise: bool
) -> None:
    case.index.handle_opened(IndexOpened(STATUS))
    assert case.index.handle_opened(message) is otherwise


def test_an_update_asked_for_while_paused_says_when_it_begins(case: Case) -> None:
    case.index.handle_event(IndexingPaused())
    case.told.clear()
    case.index.send_command("update")
    assert case.process.sent == ["update"]
    assert "starts when you press “Continue”" in case.told[0]


def test_the_end_of_a_process_that_was_started_again_meanwhile_is_not_heard(case: Case) -> None:
    case.index.handle_event(VaultWatched(polling=False))
    case.index.handle_event(IndexingEnded(0, ""))
    assert case.index.state.change_detection is ChangeDetection.EVENTS


def test_the_end_of_the_process_is_heard(case: Case) -> None:
    case.process.is_running = False
    case.index.handle_event(IndexingEnded(0, ""))
    assert case.index.state.change_detection is ChangeDetection.ENDED


def test_a_process_that_has_ended_is_started_by_the_user_alone(case: Case) -> None:
    case.process.is_running = False
    case.index.handle_event(IndexingEnded(0, ""))
    case.index.update_after_edit()
    assert not case.process.is_running
    case.index.send_command("update")
    assert case.process.is_running


def test_an_edit_is_looked_for_where_changes_are_not_seen(case: Case) -> None:
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
def test_settings_reach_the_parts_that_go_by_them(case: Case, settings: Settings, opens: int, restarts: bool) -> None:
    assert case.index.use_settings(Settings(), settings) is restarts
    assert case.engine.opens == opens


def test_the_state_has_no_generation_before_an_index_is_open(case: Case) -> None:
    assert case.index.state.generation == 0
    case.index.handle_opened(IndexOpened(Status("/v", 3, 1, 1, (), (), "model", "o200k", "")))
    assert case.index.state.generation == 3
