"""Tests that messages go to stderr and data to stdout."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from excerpt.cli.printing import ProgressLine, escape_for_stdout, print_json, print_line
from excerpt.json_forms import attributes_to_json, to_json_value
from excerpt.kinds import Scope
from excerpt.model import EntryHit, OmittedHit, Progress


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress(done: int, current: str = "Note.md") -> Progress:
    return Progress("reading", done, 2000, done * 100, 200_000, current, 1, 0, 3.4)


def test_progress_is_one_line_written_over_and_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_the_name_of_the_file_at_work_cannot_move_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_terminal_sees_controls_as_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Screen())
    assert escape_for_stdout("a\x1b[31m\tb\n") == "a␛[31m\tb\n"


def test_json_has_the_fields_of_values_in_their_order_at_any_depth(capsys: pytest.CaptureFixture[str]) -> None:
    left = OmittedHit("ü\udcff.md", 1, 2, 30, "large")
    print_json({"vault": Path("/v"), "scope": Scope.NOTE, "left": (left,), "score": np.float64(0.1), "none": None})
    assert capsys.readouterr().out == (
        '{"vault": "/v", "scope": "note", "left": [{"path": "ü\\udcff.md", "line_start": 1, "line_end": 2, '
        '"tokens": 30, "reason": "large"}], "score": 0.1, "none": null}\n'
    )


def test_what_has_no_form_in_json_is_not_made_one() -> None:
    with pytest.raises(TypeError, match="range cannot be written as JSON"):
        to_json_value({"lines": range(3)})


def test_some_fields_are_picked_in_the_order_asked_for() -> None:
    entry = EntryHit("abc", 2, 0.5, ("One",))
    assert list(attributes_to_json(entry, "score", "order").items()) == [("score", 0.5), ("order", 2)]
