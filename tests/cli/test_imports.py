"""Tests of what a command may import, in fresh interpreters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ENGINE = {"whoosh", "model2vec", "numpy", "sqlite3", "splintr", "Stemmer", "markdown_it", "rapidfuzz", "watchfiles"}
SCREEN = {"textual", "rich"}

_RUN = """
import sys, types
from pathlib import Path
if sys.argv[1:2] == ["--app"]:
    opened = types.ModuleType("excerpt.tui.app")
    opened.run_app = lambda *_, **__: None
    sys.modules["excerpt.tui.app"] = opened
    from excerpt.cli import app
    app.start_app(Path(sys.argv[2]))
else:
    from excerpt.cli.main import run
    words = []
    for word in (*sys.argv[1:], "--then"):
        if word != "--then":
            words.append(word)
        elif words:
            run(words)
            words = []
sys.stderr.write("\\n".join({name.partition(".")[0] for name in sys.modules}))
"""


def imported(home: Path, *argv: str | Path) -> set[str]:
    """Return the packages imported after the command, or after the last of several separated by "--then"."""
    environment = {**os.environ, "EXCERPT_HOME": str(home)}
    command = [sys.executable, "-c", _RUN, *map(str, argv)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=True)
    return set(done.stderr.split("\n"))


@pytest.mark.parametrize("argv", [("--version",), ("--help",), ("config",), ("config", "--check"), ("demo", "--path")])
def test_what_does_not_search_imports_neither_engine_nor_screen(tmp_path: Path, argv: tuple[str, ...]) -> None:
    assert not imported(tmp_path, *argv) & (ENGINE | SCREEN)


def test_the_way_to_the_app_imports_nothing_of_the_engine(tmp_path: Path, vault: Path) -> None:
    assert not imported(tmp_path, "--app", vault) & ENGINE


@pytest.mark.programs
def test_the_doctor_looks_at_keys_and_clipboard_without_the_screen(tmp_path: Path, vault: Path) -> None:
    names = imported(tmp_path, "doctor", "--vault", vault, "--fix")
    assert "numpy" in names
    assert "textual" not in names


@pytest.mark.programs
def test_searching_imports_the_engine_and_no_command_about_notes_the_screen(tmp_path: Path, vault: Path) -> None:
    answer, pack = tmp_path / "answer.md", tmp_path / "pack.md"
    answer.write_text("Notes sync [1].\n", encoding="utf-8")
    asked = [(command, "sync conflict") for command in ("search", "pack", "overview", "recall")]
    of_a_pack = ("pack", "sync conflict", "-o", pack), ("check", answer, "--pack", pack)
    names = imported(tmp_path, *(word for one in (*asked, *of_a_pack) for word in (*one, "--vault", vault, "--then")))
    assert pack.exists()
    assert "numpy" in names
    assert "textual" not in names


_AGAIN = """
import sys
from excerpt.cli.main import run
from excerpt.index import changes
changes._CLOCK_TICK_NS = 0  # the vault was written just now
assert run(sys.argv[1:]) == 0
sys.stderr.write("\\n" + "\\n".join(sys.modules))
"""


def modules(*argv: str | Path) -> set[str]:
    """Return the modules imported after the command, with the clock's tick set to 0."""
    done = subprocess.run(
        [sys.executable, "-c", _AGAIN, *map(str, argv)], capture_output=True, text=True, encoding="utf-8", check=True
    )
    return set(done.stderr.split("\n"))


@pytest.mark.programs
@pytest.mark.parametrize("command", ["search", "pack", "status"])
def test_where_nothing_changed_the_builder_is_not_imported(vault: Path, command: str) -> None:
    asked = (command, *(() if command == "status" else ("sync conflict",)), "--vault", vault)
    assert "excerpt.index.build" in modules(*asked)
    assert not {"excerpt.index.build", "excerpt.index.pool"} & modules(*asked)
    (vault / "New.md").write_text("A sync conflict.\n", encoding="utf-8")
    assert "excerpt.index.build" in modules(*asked)


@pytest.mark.programs
def test_a_search_imports_neither_the_model_s_library_nor_the_reasons_of_hits(vault: Path) -> None:
    asked = ("search", "sync conflict", "--vault", vault)
    modules(*asked)
    assert not {"model2vec", "joblib", "tqdm", "splintr", "excerpt.search.explain"} & modules(*asked)


@pytest.mark.programs
def test_a_search_for_a_program_does_not_import_the_markdown_parser(vault: Path) -> None:
    """Its text for a reader does: the rows show what Markdown shows, for 25 ms of CPU."""
    asked = ("search", "sync conflict", "--json", "--vault", vault)
    modules(*asked)
    assert "markdown_it" not in modules(*asked)
