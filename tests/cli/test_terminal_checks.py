"""Tests of the checks of terminal, keys, editor and clipboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from excerpt.base.settings import ScreenSettings
from excerpt.cli.terminal_checks import check_clipboard, check_editor, check_keys, check_terminal
from excerpt.service.findings import Severity
from tests.conftest import programs_finder
from tests.findings import finding_lines, has_finding

UTF8 = {"TERM": "xterm-256color", "LANG": "en_GB.UTF-8"}


def terminal_findings(environment: dict[str, str], **others: object) -> list[str]:
    given: dict[str, object] = {
        "platform": "linux",
        "size": (120, 40),
        "encoding": "utf-8",
        "run_program": lambda _: "",
    }
    return finding_lines(check_terminal(environment, **{**given, **others}))  # type: ignore[arg-type]


# --- terminal ---------------------------------------------------------------------------------------------------------


def test_every_finding_of_a_good_terminal_is_ok() -> None:
    lines = terminal_findings({**UTF8, "COLORTERM": "truecolor"})
    assert len(lines) == 4
    for facts in (("xterm-256color",), ("120 columns", "40 lines"), ("16 million",), ("en_GB.UTF-8",)):
        assert has_finding(lines, Severity.OK, *facts), facts


@pytest.mark.parametrize(
    ("environment", "level", "fact"),
    [
        ({**UTF8, "TERM": "dumb"}, Severity.WARNING, "TERM is dumb"),
        ({"LANG": "C.UTF-8"}, Severity.WARNING, "TERM is not set"),
        ({**UTF8, "LANG": "C"}, Severity.WARNING, "Set LANG"),
        ({**UTF8, "LC_ALL": "POSIX"}, Severity.WARNING, "POSIX"),
        ({**UTF8, "NO_COLOR": "1"}, Severity.OK, "NO_COLOR"),
        (UTF8, Severity.OK, "256 colours"),
        ({**UTF8, "TERM": "linux"}, Severity.OK, "16 colours"),
        ({**UTF8, "SSH_CONNECTION": "a b"}, Severity.OK, "ssh"),
        ({**UTF8, "WT_SESSION": "x"}, Severity.OK, "Windows Terminal"),
    ],
)
def test_environment_variables_are_reported_with_their_meaning(
    environment: dict[str, str], level: Severity, fact: str
) -> None:
    assert has_finding(terminal_findings(environment), level, fact)


def test_a_small_terminal_is_a_warning_and_a_missing_one_is_not() -> None:
    assert has_finding(terminal_findings(UTF8, size=(40, 10)), Severity.WARNING, "40 columns", "10 lines")
    assert has_finding(terminal_findings(UTF8, size=None), Severity.OK, "needs a terminal")
    assert has_finding(terminal_findings(UTF8, size=(0, 0)), Severity.OK, "size")


@pytest.mark.parametrize(
    ("option", "level", "fact"),
    [
        ("off", Severity.WARNING, "set-clipboard off"),
        ("external", Severity.OK, "set-clipboard external"),
        ("", Severity.OK, "set-clipboard"),
    ],
)
def test_the_doctor_asks_tmux_whether_it_forwards_copied_text(option: str, level: Severity, fact: str) -> None:
    lines = terminal_findings(
        {**UTF8, "TMUX": "x"}, run_program=lambda argv: option if "set-clipboard" in argv else "on"
    )
    assert has_finding(lines, level, fact, "allow-passthrough on")


# --- clipboard, keys, editor ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "programs", "level", "facts"),
    [
        ({"DISPLAY": ":0"}, ("xclip",), Severity.OK, ("xclip", "any length")),
        ({"DISPLAY": ":0"}, (), Severity.WARNING, ("OSC 52", "74,994 bytes", "xclip or xsel")),
        ({"SSH_TTY": "/dev/pts/0"}, ("xclip",), Severity.OK, ("OSC 52", "74,994 bytes")),
        ({"TMUX": "x"}, ("tmux",), Severity.OK, ("to tmux", "any length")),
        ({"TMUX": "x"}, (), Severity.WARNING, ("OSC 52 through tmux",)),
    ],
)
def test_the_doctor_reports_how_copied_text_reaches_the_clipboard_and_up_to_which_size(
    environment: dict[str, str], programs: tuple[str, ...], level: Severity, facts: tuple[str, ...]
) -> None:
    lines = finding_lines(check_clipboard(environment, programs_finder(*programs), "linux", Path("/state/copies")))
    assert has_finding(lines[:1], level, *facts)
    assert has_finding(lines[-1:], Severity.OK, "/state/copies")


def test_the_doctor_names_keys_that_clash_or_that_a_terminal_cannot_send() -> None:
    screen = ScreenSettings(keys={"strategy": "ctrl+y", "scope": "ctrl+m", "why": "ctrl+enter", "mrak": "f9"})
    lines = finding_lines(check_keys(screen))
    refused, unknown, taken, seldom = ([line] for line in lines)
    assert has_finding(refused, Severity.PROBLEM, "ctrl+m", "scope")
    assert has_finding(unknown, Severity.PROBLEM, "mrak", "mark?")
    assert has_finding(taken, Severity.PROBLEM, "ctrl+y", "copy-pack", "strategy")
    assert has_finding(seldom, Severity.WARNING, "ctrl+enter", "why")


def test_the_default_keymap_is_ok() -> None:
    assert [finding.level for finding in check_keys(ScreenSettings())] == [Severity.OK]


@pytest.mark.parametrize(
    ("setting", "environment", "level", "facts"),
    [
        ("hx", {}, Severity.OK, ("/usr/bin/hx", "screen.editor")),
        ("", {"VISUAL": "code --wait"}, Severity.OK, ("/usr/bin/code", "$VISUAL")),
        ("", {"EDITOR": "ed"}, Severity.WARNING, ("/usr/bin/ed", "$EDITOR")),
        ("", {}, Severity.OK, ("/usr/bin/nano", "no editor is set")),
        ("gone", {}, Severity.PROBLEM, ("gone", "$EDITOR", "screen.editor")),
        ("'", {}, Severity.PROBLEM, ('"\'"',)),
    ],
)
def test_the_editor_is_reported_with_its_source(
    setting: str, environment: dict[str, str], level: Severity, facts: tuple[str, ...]
) -> None:
    lines = finding_lines(check_editor(setting, environment, programs_finder("hx", "code", "ed", "nano")))
    assert len(lines) == 1
    assert has_finding(lines, level, *facts)


def test_a_machine_without_an_editor_is_a_warning() -> None:
    lines = finding_lines(check_editor("", {}, programs_finder()))
    assert has_finding(lines, Severity.WARNING, "No editor is set", "$EDITOR")
