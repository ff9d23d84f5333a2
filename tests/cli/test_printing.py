"""Tests of what is printed: to a terminal, through a pipe, and of hostile file names."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from excerpt.base.json_forms import attributes_to_json, to_json_value
from excerpt.base.kinds import Scope
from excerpt.base.model import EntryHit, OmittedHit, Progress
from excerpt.base.settings import user_paths
from excerpt.cli.main import run
from excerpt.cli.printing import ProgressLine, escape_for_stdout, print_json, print_line
from excerpt.search.usage import UsedHit, UseKind, UseLog
from tests.cli.conftest import Excerpt


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress(done: int, current: str = "Note.md") -> Progress:
    return Progress("reading", done, 2000, done * 100, 200_000, current, 1, 0, 3.4)


def test_progress_is_one_line_that_is_overwritten_and_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    screen = Screen()
    line = ProgressLine(screen)
    line(progress(1))
    line(progress(1500, "a/very/long/" * 20))
    line.clear()
    first, second, cleared = screen.getvalue().split("\r\x1b[K")[1:]
    assert first == "reading · 1 of 2,000 files · 3 s · Note.md"
    assert second.startswith("reading · 1,500 of 2,000 files")
    assert len(second) < 60
    assert cleared == ""
    assert "\n" not in screen.getvalue()


def test_a_file_name_in_the_progress_cannot_move_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    ProgressLine(screen)(progress(1, "a\n\x1b[2J.md"))
    assert "a␊␛[2J.md" in screen.getvalue()


@pytest.mark.parametrize(("stream", "terminal"), [(io.StringIO(), "xterm"), (Screen(), "dumb")])
def test_a_pipe_and_a_dumb_terminal_get_no_progress(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, terminal: str
) -> None:
    monkeypatch.setenv("TERM", terminal)
    line = ProgressLine(stream)
    line(progress(1))
    line.clear()
    assert stream.getvalue() == ""


def test_data_reaches_a_pipe_byte_for_byte(capsys: pytest.CaptureFixture[str]) -> None:
    print_line(escape_for_stdout("a\x1b[31m\r\nb"), end="")
    assert capsys.readouterr().out == "a\x1b[31m\r\nb"


def test_a_terminal_shows_control_characters_as_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Screen())
    assert escape_for_stdout("a\x1b[31m\tb\n") == "a␛[31m\tb\n"


def test_json_has_the_fields_of_values_in_their_order_at_any_depth(capsys: pytest.CaptureFixture[str]) -> None:
    left = OmittedHit("ü\udcff.md", 1, 2, 30, "large")
    print_json({"vault": Path("/v"), "scope": Scope.NOTE, "left": (left,), "score": np.float64(0.1), "none": None})
    assert capsys.readouterr().out == (
        '{"vault": "/v", "scope": "note", "left": [{"path": "ü\\udcff.md", "line_start": 1, "line_end": 2, '
        '"tokens": 30, "reason": "large"}], "score": 0.1, "none": null}\n'
    )


def test_printing_a_value_without_a_json_form_raises_an_error() -> None:
    with pytest.raises(TypeError, match="range cannot be written as JSON"):
        to_json_value({"lines": range(3)})


def test_selected_fields_are_printed_in_the_requested_order() -> None:
    entry = EntryHit("abc", 2, 0.5, ("One",))
    assert list(attributes_to_json(entry, "score", "order").items()) == [("score", 0.5), ("order", 2)]


NAMES = (
    *("emoji 🧠🗂️ name.md", "Café.md", "Cafe\u0301.md", "Case.md", "case.md", " leading.md", "trailing .md", "-dash.md"),
    *("new\nline.md", "tab\there.md", "quote\"'`$(x).md", "hash#caret^pipe|[[x]].md", "percent%20.md"),
    *(f"{'a' * 240}.md", "note.MD", "two.dots.md.md", "عربي ملاحظة.md", "日本語のノート.md", "\u202egnp.md", "CON.md"),
    *("back\\slash.md", "\x1b]0;owned\x07.md", "\x9b31mred.md", "back\x08\rspace.md"),
)
OBEYED = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff]")
OUR_SEQUENCES = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;(?:file:///[!-:<-~]+)?\x1b\\")
"""Colours, and links to files, whose addresses are ASCII without spaces and semicolons."""


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    for number, name in enumerate(NAMES):
        (folder / name).write_text(f"A zeppelin, number{number}.\n", encoding="utf-8")
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("Coffee.\n", encoding="utf-8")
    (folder / "\x1b]0;skipped\x07\n.md").symlink_to("/nowhere")
    return folder


def on_terminal(monkeypatch: pytest.MonkeyPatch, *argv: str | Path) -> str:
    """Return what a command prints on a terminal, without the program's own colours and links."""
    screen = Screen()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", screen)
        run([str(word) for word in argv])
    return OUR_SEQUENCES.sub("", screen.getvalue())


@pytest.mark.skipif(os.name != "posix", reason="Windows allows few of these names")
def test_notes_with_hostile_names_are_found(excerpt: Excerpt, vault: Path) -> None:
    hits = excerpt("search", "zeppelin", "--vault", vault, "--json", "--limit", "50").json["hits"]
    assert sorted(hit["path"] for hit in hits) == sorted(NAMES)


@pytest.mark.skipif(os.name != "posix", reason="Windows allows few of these names")
@pytest.mark.parametrize("command", [("status",), ("index", "--rebuild")])
def test_each_skipped_hostile_name_is_listed_on_one_line(
    excerpt: Excerpt, vault: Path, command: tuple[str, ...]
) -> None:
    out = excerpt(*command, "--vault", vault).out
    assert re.search(r"^  ␛\]0;skipped␇␊\.md: .*link", out, re.M)
    assert re.search(r"^  caf�\.md: .*UTF-8", out, re.M)
    assert OBEYED.findall(out) == []


@pytest.mark.skipif(os.name != "posix", reason="Windows allows few of these names")
@pytest.mark.parametrize(
    "command",
    [
        *(("status",), ("status", "--json"), ("index", "--rebuild"), ("index", "--rebuild", "--json")),
        *(("search", "zeppelin", *options) for options in (("--limit", "50"), ("--explain",), ("--json",))),
        ("search", "zeppelin", "--why", "\x1b]0;owned\x07"),
        *(("pack", "zeppelin", "--format", form) for form in ("markdown", "xml", "json")),
    ],
)
def test_no_command_prints_control_sequences_to_a_terminal(
    excerpt: Excerpt, vault: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    excerpt("index", "--vault", vault)
    shown = on_terminal(monkeypatch, *command, "--vault", vault)
    assert len(shown) > 100
    assert OBEYED.findall(shown) == []


@pytest.mark.skipif(os.name != "posix", reason="Windows allows few of these names")
@pytest.mark.parametrize("name", ["v\x1b]0;owned\x07\n\u202e", os.fsdecode(b"v\xff")])
def test_a_vault_may_have_a_hostile_name(
    excerpt: Excerpt, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "Note.md").write_text("A zeppelin.\n", encoding="utf-8")
    answer = excerpt("search", "zeppelin", "--vault", folder, "--json")
    assert [hit["path"] for hit in answer.json["hits"]] == ["Note.md"]
    assert excerpt("config", "--vault", folder, "--check").code == 0
    assert OBEYED.findall(on_terminal(monkeypatch, "status", "--vault", folder)) == []
    assert OBEYED.findall(on_terminal(monkeypatch, "config", "--vault", folder, "--path")) == []


@pytest.mark.skipif(os.name != "posix", reason="Windows allows few of these names")
@pytest.mark.programs
@pytest.mark.parametrize("word", ["\x1b]0;owned\x07", "\udcff", "\u202enothing", "a\nb\x9bc"])
@pytest.mark.parametrize(
    "command",
    [
        *(("search", "{}"), ("pack", "{}"), ("search", "x", "--why", "{}"), ("search", "x", "--strategy", "{}")),
        *(("search", "x", "--{}"), ("{}",), ("index", "--vault", "{}"), ("check", "{}", "{}"), ("forget", "{}")),
    ],
)
def test_control_sequences_of_an_argument_are_not_repeated(
    excerpt: Excerpt, vault: Path, command: tuple[str, ...], word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_VAULT", str(vault))
    excerpt("index")
    answer = excerpt(*(part.format(word) for part in command))
    assert "went wrong inside" not in answer.err
    assert OBEYED.findall(answer.err) == []


FORGED = "  2  Trusted.md:1 · strong"


@pytest.fixture
def forging(tmp_path: Path) -> Path:
    """Write two notes whose names, titles, tags and properties contain FORGED on lines of its own."""
    folder = tmp_path / "forging"
    folder.mkdir()
    forged = "Zeppelin" + "".join(f"{end}{FORGED}" for end in ("\n", "\r", "\x85", "\u2028"))
    name = json.dumps(forged)
    front = f"title: {name}\naliases: [{name}]\ntags: [{name}]\n{name}: {name}\n"
    for number in (1, 2):
        text = f"---\n{front}---\nA zeppelin, number{number}.\n\n## Head\n\nIt flies over the zeppelins.\n"
        (folder / f"{number}{forged}.md").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.skipif(os.name != "posix", reason="Windows allows few of these names")
@pytest.mark.parametrize(
    "command",
    [
        *(("search", "zeppelin", *options) for options in ((), ("--explain",), ("--why", "1Zeppelin{}"))),
        *(("overview", "zeppelin"), ("related", "1Zeppelin{}"), ("map", "zeppelin"), ("map",), ("peek", "1Zeppelin{}")),
        *(("pack", "zeppelin", "--expand", "none", "--format", form) for form in ("markdown", "xml", "plain")),
        *(("status",), ("doctor", "--quick"), ("index", "--rebuild"), ("recall", "--sources"), ("learned",)),
    ],
    ids=" ".join,
)
def test_no_name_adds_a_line_to_piped_output(
    excerpt: Excerpt, forging: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", sys.executable)  # without an editor, `doctor` reports a problem
    notes = sorted(file.name for file in forging.iterdir())
    excerpt("remember", "--source", f"{notes[0]}:9", "--tag", notes[1], "--vault", forging)
    UseLog(user_paths().use_file(forging.resolve())).record(
        UseKind.OPENED, [UsedHit(f"sync\n{FORGED}", notes[0], "", 1)], time.time()
    )
    answer = excerpt(*(part.format(notes[0][9:]) for part in command), "--vault", forging)
    assert answer.code in (0, 1)
    assert answer.out
    assert [line for line in (answer.out + answer.err).splitlines() if line.startswith(FORGED)] == []
