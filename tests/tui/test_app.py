"""Tests of opening the app: only on a vault, only in a terminal."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from excerpt.base.errors import ExcerptError
from excerpt.index.events import VaultWatched
from excerpt.service.indexing_process import ProcessEvent
from excerpt.tui.app import ExcerptApp, check_terminal
from excerpt.tui.index.controller import ChangeDetection, IndexController
from excerpt.tui.pack.controller import BUDGETS, next_budget
from tests.tui.driver import ScriptedApp, notices_of, screen_of, until, until_tabs


@pytest.mark.programs
def test_without_a_terminal_nothing_is_drawn(tmp_path: Path, home: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom excerpt.base.errors import ExcerptError\n"
        "from excerpt.base.settings import Settings, user_paths\nfrom excerpt.tui.app import run_app\n"
        "try:\n    run_app(Path(sys.argv[1]), Settings(), user_paths())\n"
        "except ExcerptError as error:\n    print(error.message)\n    sys.exit(error.exit_code)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert (run.returncode, run.stdout, run.stderr) == (3, "The app needs a terminal for its input and output.\n", "")


def test_the_app_refuses_a_terminal_that_cannot_move_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(f"sys.{name}.isatty", lambda: True)
    with pytest.raises(ExcerptError, match="dumb"):
        check_terminal({"TERM": "dumb"})
    check_terminal({"TERM": "xterm"})


def test_textuals_server_for_browsers_needs_no_terminal() -> None:
    check_terminal({"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"})


def test_another_driver_needs_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    with pytest.raises(ExcerptError, match="needs a terminal"):
        check_terminal({"TEXTUAL_DRIVER": "textual.drivers.linux_driver:LinuxDriver"})


def test_the_budget_goes_up_and_down_in_steps() -> None:
    assert next_budget(4_000, 1) == 6_000
    assert next_budget(4_000, -1) == 3_000


def test_a_budget_between_two_steps_moves_to_the_nearest() -> None:
    assert next_budget(5_000, 1) == 6_000
    assert next_budget(5_000, -1) == 4_000


def test_the_budget_stays_within_the_steps() -> None:
    assert next_budget(BUDGETS[-1], 1) == BUDGETS[-1]
    assert next_budget(1, -1) == BUDGETS[0]


async def test_a_widget_removed_while_quitting_is_not_an_internal_error(app: ExcerptApp) -> None:
    async with app.run_test():
        app.exit()
        app._handle_exception(LookupError("its parts are gone"))
    assert app.fatal_exception is None


async def test_work_that_is_cancelled_before_it_starts_leaves_no_coroutine(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            app._show_start_messages()
            screen_of(app)._open_newer_generation()
            app.workers.cancel_all()
            await pilot.pause()
            gc.collect()
        assert [str(each.message) for each in shown] == []


async def test_messages_of_a_thread_are_delivered_in_the_event_loop(
    app: ExcerptApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_on_in: list[int] = []
    handle = IndexController.handle_event

    def noted(index: IndexController, event: ProcessEvent) -> None:
        if isinstance(event, VaultWatched):
            handed_on_in.append(threading.get_ident())
        handle(index, event)

    monkeypatch.setattr(IndexController, "handle_event", noted)
    async with app.run_test() as pilot:
        await asyncio.to_thread(screen_of(app).report_from_thread, VaultWatched(polling=False))
        await until(pilot, lambda: screen_of(app).index.state.change_detection is ChangeDetection.EVENTS, "the message")
    assert handed_on_in == [threading.get_ident()]


async def test_the_key_that_quits_other_programs_names_the_one_that_quits_excerpt(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: notices_of(scripted) == ["^q quits excerpt."], "the notice")
