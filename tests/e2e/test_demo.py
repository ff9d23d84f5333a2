"""The demo vault in a real terminal: search, mark, copy, remember, forget, edit, quit."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from excerpt.known_vaults import DEMO
from tests.e2e.conftest import EXCERPT
from tests.e2e.terminal import Terminal

_SOURCE = re.compile(r"^From (?P<path>.+\.md):(?P<first>\d+)(?:-(?P<last>\d+))?, modified", re.MULTILINE)
_FENCED = re.compile(r"^(?P<fence>`{3,})\n(?P<text>.*?)\n(?P=fence)$", re.MULTILINE | re.DOTALL)


@pytest.fixture(params=[(80, 24), (140, 45)], ids=["80x24", "140x45"])
def app(request: pytest.FixtureRequest, shell: Mapping[str, str]) -> Iterator[Terminal]:
    """The app on the demo vault, open and searchable."""
    columns, rows = request.param
    with Terminal([*EXCERPT, "demo"], shell, columns, rows) as terminal:
        terminal.wait_for("Search", "Memory", "Index", " notes")
        yield terminal


def search(app: Terminal, query: str) -> None:
    """Type a query and wait until the list and the pack show its answer."""
    app.type(query)
    app.wait_for(f"❯ {query}", " hits · ", "saves ")


def quit_app(app: Terminal) -> None:
    app.press("ctrl+q")
    assert app.wait_exit() == 0


def test_typing_shows_ranked_fragments_and_the_best_one_in_its_note(app: Terminal) -> None:
    search(app, "token budget")
    app.wait_for("▌ 1   Token budget", "auto ▸ adaptive")
    assert re.search(r"\d+t$|\d+t\s+▏", app.line_with("▌ 1 "))
    app.wait_for("Token budget.md · ")
    quit_app(app)


def test_the_list_moves_while_the_query_is_typed_on(app: Terminal) -> None:
    search(app, "token")
    app.press("down", "down")
    app.wait_for("▌ 3 ")
    app.press("up")
    app.wait_for("▌ 2 ")
    app.type(" budget")
    app.wait_for("❯ token budget")
    quit_app(app)


def test_three_marks_are_copied_as_they_stand_in_their_notes(app: Terminal, home: Path) -> None:
    search(app, "clipboard over ssh")
    app.press("tab")
    app.wait_for("1 marked")
    app.press("tab", "tab")
    app.wait_for("3 marked")
    app.press("ctrl+y")
    app.wait_until(lambda: bool(app.copied()), "to copy by OSC 52")
    app.wait_for(" tokens, ", "sent to")
    (copied,) = app.copied()
    (file,) = (home / "state" / "copies").iterdir()
    assert file.read_text(encoding="utf-8") == copied
    sources = [match.groupdict() for match in _SOURCE.finditer(copied)]
    texts = [match["text"] for match in _FENCED.finditer(copied)]
    assert 1 <= len(sources) == len(texts) <= 3
    for source, text in zip(sources, texts, strict=True):
        lines = (DEMO / source["path"]).read_text(encoding="utf-8").split("\n")
        first = int(source["first"])
        assert text == "\n".join(lines[first - 1 : int(source["last"] or first)])
    quit_app(app)


def test_the_pack_on_the_screen_is_that_of_the_command_line(app: Terminal, shell: Mapping[str, str]) -> None:
    search(app, "hard token budget")
    app.press("ctrl+y")
    app.wait_until(lambda: bool(app.copied()), "to copy by OSC 52")
    command = [*EXCERPT, "pack", "hard token budget", "--vault", str(DEMO)]
    printed = subprocess.run(command, env=shell, check=True, capture_output=True).stdout
    assert app.copied() == [printed.decode()]
    quit_app(app)


def test_the_overview_of_what_is_searched_is_that_of_the_command_line(shell: Mapping[str, str]) -> None:
    with Terminal([*EXCERPT, "demo"], shell, 80, 24) as app:
        app.wait_for("Search", " notes")
        search(app, "token budget")
        app.press("f3")
        app.wait_for("◎ token budget", "main notes Token budget", " fragments in ", "passages", "themes")
        app.press("ctrl+y")
        app.wait_until(lambda: bool(app.copied()), "to copy by OSC 52")
        command = [*EXCERPT, "overview", "token budget", "--vault", str(DEMO)]
        printed = subprocess.run(command, env=shell, check=True, capture_output=True).stdout
        assert app.copied() == [printed.decode()]
        quit_app(app)


def test_a_fragment_is_remembered_and_forgotten(app: Terminal, home: Path) -> None:
    search(app, "token budget")
    app.press("ctrl+r")
    app.wait_for("Why it matters")
    app.type("release")
    app.wait_for("  release")
    field = app.row_of("Why it matters") + 1
    without_focus = app.backgrounds(field)
    app.press("tab")
    app.wait_until(lambda: app.backgrounds(field) != without_focus, "to move to the next field")
    app.type("for the talk")
    app.wait_for("for the talk")
    app.press("enter")
    app.wait_gone("Why it matters")
    app.press("f4")
    app.wait_for("memories · 1", "#release", "for the talk")
    (kept,) = [file for file in (home / "data").rglob("*.md") if file.parent.name != "trash"]
    assert "for the talk" in kept.read_text(encoding="utf-8")
    app.press("ctrl+d")
    app.wait_gone("memories · 1")
    (trashed,) = (home / "data").rglob("*.md")
    assert trashed.parent.name == "trash"
    quit_app(app)


def test_enter_opens_the_editor_at_the_line_and_comes_back(shell: Mapping[str, str], tmp_path: Path) -> None:
    editor = tmp_path / "vim"
    seen = tmp_path / "argv"
    editor.write_text(f'#!{sys.executable}\nimport sys\nopen({str(seen)!r}, "w").write("\\n".join(sys.argv[1:]))\n')
    editor.chmod(0o755)
    with Terminal([*EXCERPT, "demo"], {**shell, "EDITOR": str(editor)}) as app:
        app.wait_for("Search", " notes")
        search(app, "whose tokens")
        app.wait_for("▌ 1   Token budget › Whose tokens", "▎")
        app.press("enter")
        app.wait_until(seen.exists, "to run the editor")
        app.wait_until(lambda: "▌ 1   Token budget › Whose tokens" in app.text, "to come back to the list")
        place, file = seen.read_text(encoding="utf-8").split("\n")
        lines = (DEMO / "Token budget.md").read_text(encoding="utf-8").split("\n")
        assert Path(file) == DEMO / "Token budget.md"
        assert place == f"+{lines.index('## Whose tokens') + 3}"
        app.type(" of models")
        app.wait_for("❯ whose tokens of models")
        quit_app(app)


def test_help_opens_over_the_screen_and_closes(app: Terminal) -> None:
    app.press("f1")
    app.wait_for("Keys", "Copy the pack")
    app.press("esc")
    app.wait_gone("Copy the pack")
    quit_app(app)


def test_the_index_tab_says_what_is_indexed(app: Terminal) -> None:
    app.press("f5")
    app.wait_for("vault ", "notes ", "model ", "no file was skipped")
    quit_app(app)


def test_the_terminal_is_given_back_as_it_was(app: Terminal) -> None:
    search(app, "token")
    quit_app(app)
    assert app.output.rindex(b"\x1b[?1049l") > app.output.rindex(b"\x1b[?1049h")
    assert app.output.rindex(b"\x1b[?25h") > app.output.rindex(b"\x1b[?25l")
