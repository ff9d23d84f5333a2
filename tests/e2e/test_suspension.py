"""Tests of suspending and resuming the program, as by ctrl+z and fg in a shell, and of losing the terminal."""

from __future__ import annotations

import signal
from collections.abc import Mapping

import pytest

from tests.e2e.conftest import EXCERPT
from tests.e2e.terminal import Terminal

pytestmark = pytest.mark.programs


def test_all_of_the_screen_is_there_again_after_a_suspension_and_when_asked_for(shell: Mapping[str, str]) -> None:
    with Terminal([*EXCERPT, "demo"], shell) as app:
        app.wait_for("Search", " notes")
        app.type("token budget")
        app.wait_for("▌ 1 ", " hits", "/4,000 tokens")
        shown = ("Search", "❯ token budget", "▌ 1 ", "Token budget.md", "/4,000 tokens", "F1 more")
        for kill in (app.suspend, lambda: app.press("ctrl+z")):
            kill()
            app.wait_stopped()
            app.go_on()
            app.wait_for(*shown)
        app.clear()
        app.press("ctrl+l")
        app.wait_for(*shown)
        app.press("ctrl+q")
        assert app.wait_exit() == 0


def test_it_ends_with_its_terminal_also_where_its_parent_ignores_hanging_up(shell: Mapping[str, str]) -> None:
    ignoring = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh"]  # as nohup does
    with Terminal([*ignoring, *EXCERPT, "demo"], shell) as app:
        app.wait_for("Search", " notes")
        assert app.hang_up() == -signal.SIGHUP
