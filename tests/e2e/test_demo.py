"""The guide in a wide terminal: what is typed is answered, and what is copied is what the command line prints."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping

import pytest

from excerpt.known_vaults import DEMO
from tests.e2e.conftest import EXCERPT
from tests.e2e.terminal import Terminal


@pytest.fixture
def app(shell: Mapping[str, str]) -> Iterator[Terminal]:
    """The app with the answer to a query on the screen."""
    with Terminal([*EXCERPT, "demo"], shell, 140, 45) as terminal:
        terminal.wait_for("Search", "Memory", " notes")
        terminal.type("token budget")
        terminal.wait_for("❯ token budget", " hits", "pack: ")
        yield terminal
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def test_typing_shows_ranked_fragments_and_the_best_one_in_its_note(app: Terminal) -> None:
    app.wait_for("▌ 1 ○ Token budget", "auto ▸ adaptive")
    assert re.search(r"\d+t\s+\S+\s*($|▏)", app.line_with("▌ 1 "))
    app.wait_for("Token budget.md · ")


def test_the_overview_of_what_is_searched_is_that_of_the_command_line(app: Terminal, shell: Mapping[str, str]) -> None:
    app.press("f3")
    app.wait_for("◎ token budget", "main notes Token budget", " fragments in ", "passages", "themes")
    app.press("ctrl+y")
    app.wait_until(lambda: bool(app.copied()), "to copy by OSC 52")
    command = [*EXCERPT, "overview", "token budget", "--vault", str(DEMO)]
    printed = subprocess.run(command, env=shell, check=True, capture_output=True).stdout
    assert app.copied() == [printed.decode()]
