"""Tests of the doctor's checks around the index: terminal, keys, editor, clipboard, settings, versions."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from excerpt.doctor import checks
from excerpt.doctor.checks import (
    Finding,
    Level,
    clipboard,
    editor,
    folders,
    keys,
    libraries,
    model,
    named,
    read_settings,
    terminal,
    tokenizer,
)
from excerpt.doctor.look import group
from excerpt.settings import Places, ScreenSettings, Settings

UTF8 = {"TERM": "xterm-256color", "LANG": "en_GB.UTF-8"}


def having(*names: str) -> Callable[[str], str | None]:
    """Return a stand-in for `shutil.which` that finds only these programs."""
    return lambda name: f"/usr/bin/{name}" if name in names else None


def told(findings: Iterable[Finding]) -> list[str]:
    return [f"{finding.level}: {finding.what} {finding.todo}".strip() for finding in findings]


def of_terminal(environment: dict[str, str], **others: object) -> list[str]:
    given: dict[str, object] = {"platform": "linux", "size": (120, 40), "encoding": "utf-8", "ask": lambda _: ""}
    return told(terminal(environment, **{**given, **others}))  # type: ignore[arg-type]


# --- terminal ---------------------------------------------------------------------------------------------------------


def test_a_good_terminal_is_told_in_lines_that_are_all_ok() -> None:
    assert of_terminal({**UTF8, "COLORTERM": "truecolor"}) == [
        "ok: TERM is xterm-256color",
        "ok: 120 columns and 40 lines: the context stands beside the list",
        "ok: 16 million colours: themes look as they are meant",
        "ok: The locale is en_GB.UTF-8: every script is shown",
    ]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({**UTF8, "TERM": "dumb"}, "warning: TERM is dumb: the app cannot be drawn here."),
        ({"LANG": "C.UTF-8"}, "warning: TERM is not set"),
        ({**UTF8, "LANG": "C"}, "warning: The locale is C, which is not UTF-8"),
        ({**UTF8, "LC_ALL": "POSIX"}, "warning: The locale is POSIX, which is not UTF-8"),
        ({**UTF8, "NO_COLOR": "1"}, "ok: NO_COLOR is set: the app is drawn without colours"),
        (UTF8, "ok: 256 colours"),
        ({**UTF8, "TERM": "linux"}, "ok: 16 colours"),
        ({**UTF8, "SSH_CONNECTION": "a b"}, "ok: Over ssh: copies go by tmux or the terminal"),
        ({**UTF8, "WT_SESSION": "x"}, "ok: Windows Terminal: it takes copies by OSC 52"),
    ],
)
def test_what_the_environment_says_is_told_with_what_it_means(environment: dict[str, str], expected: str) -> None:
    assert any(line.startswith(expected) for line in of_terminal(environment))


def test_a_small_terminal_is_a_warning_and_none_at_all_is_not() -> None:
    assert any("warning: 40 columns and 10 lines are few." in line for line in of_terminal(UTF8, size=(40, 10)))
    assert any(line.startswith("ok: There is no terminal here") for line in of_terminal(UTF8, size=None))
    assert "ok: The terminal does not say how large it is" in of_terminal(UTF8, size=(0, 0))


@pytest.mark.parametrize(
    ("option", "expected"),
    [("off", "warning: tmux: set-clipboard off"), ("external", "ok: tmux: set-clipboard external"), ("", "ok: tmux:")],
)
def test_tmux_is_asked_whether_it_hands_copies_on(option: str, expected: str) -> None:
    lines = of_terminal({**UTF8, "TMUX": "x"}, ask=lambda argv: option if "set-clipboard" in argv else "on")
    assert any(line.startswith(expected) and "allow-passthrough on" in line for line in lines)


# --- clipboard, keys, editor ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "programs", "expected"),
    [
        ({"DISPLAY": ":0"}, ("xclip",), "ok: Copies go to the clipboard by xclip, of any length"),
        ({"DISPLAY": ":0"}, (), "warning: Copies go to the terminal by OSC 52: up to 74,994 bytes"),
        ({"SSH_TTY": "/dev/pts/0"}, ("xclip",), "ok: Copies go to the terminal by OSC 52: up to 74,994 bytes"),
        ({"TMUX": "x"}, ("tmux",), "ok: Copies go to tmux, of any length"),
        ({"TMUX": "x"}, (), "warning: Copies go to the terminal by OSC 52 through tmux"),
    ],
)
def test_the_way_that_a_copy_goes_is_told_with_its_limit_and_the_file(
    environment: dict[str, str], programs: tuple[str, ...], expected: str
) -> None:
    lines = told(clipboard(environment, having(*programs), "linux", Path("/state/copies")))
    assert lines[0].startswith(expected)
    assert lines[-1] == "ok: Every copy is kept as a file too: /state/copies"


def test_a_keymap_that_clashes_or_cannot_be_sent_is_named_key_by_key() -> None:
    screen = ScreenSettings(keys={"strategy": "ctrl+y", "scope": "ctrl+m", "why": "ctrl+enter", "mrak": "f9"})
    lines = told(keys(screen))
    assert lines[0].startswith("problem: ctrl+m cannot be used for scope")
    assert lines[1].startswith("problem: There is no key called mrak. Did you mean mark?")
    assert lines[2].startswith("problem: ctrl+y is both copy-pack and strategy.")
    assert lines[3].startswith("warning: ctrl+enter (for why) is sent by few terminals.")
    assert len(lines) == 4


def test_keys_as_they_come_are_fine() -> None:
    assert told(keys(ScreenSettings())) == ["ok: Keys: all as they come, none taken twice"]


@pytest.mark.parametrize(
    ("setting", "environment", "expected"),
    [
        ("hx", {}, "ok: The editor is /usr/bin/hx (screen.editor), opened at the line"),
        ("", {"VISUAL": "code --wait"}, "ok: The editor is /usr/bin/code ($VISUAL), opened at the line"),
        ("", {"EDITOR": "ed"}, "warning: The editor is /usr/bin/ed ($EDITOR); how to give it a line is not known."),
        ("", {}, "ok: The editor is /usr/bin/nano (none is set, this one is installed), opened at the line"),
        ("gone", {}, "problem: There is no program gone to edit with. Set $EDITOR, or screen.editor."),
        ("'", {}, 'problem: The editor command "\'" cannot be read'),
    ],
)
def test_the_editor_is_named_with_where_it_comes_from(setting: str, environment: dict[str, str], expected: str) -> None:
    (line,) = told(editor(setting, environment, having("hx", "code", "ed", "nano")))
    assert line.startswith(expected)


# --- settings, model, tokenizer ---------------------------------------------------------------------------------------


@pytest.fixture
def where(tmp_path: Path) -> Places:
    return Places(*(tmp_path / name for name in ("config", "cache", "data", "state")))


def test_a_broken_settings_file_is_named_and_the_others_still_hold(where: Places, tmp_path: Path) -> None:
    file = where.vault_settings_file(tmp_path)
    file.parent.mkdir(parents=True)
    where.settings_file.write_text("[search]\nlimt = 3\n")
    file.write_text("[search]\nlimit = 7\n")
    settings, findings = read_settings(where, tmp_path)
    assert settings.search.limit == 7
    lines = told(findings)
    assert lines[0].startswith(f"problem: {where.settings_file}: unknown key search.limt. Did you mean search.limit?")
    assert lines[1].startswith("ok: The settings file of this vault is valid")


def test_a_pattern_that_is_none_is_a_problem_of_its_file(where: Places) -> None:
    where.config.mkdir()
    where.settings_file.write_text('[vault]\nexclude = ["!"]\n')
    settings, findings = read_settings(where, None)
    assert settings == Settings()
    assert str(where.settings_file) in told(findings)[0]
    assert "vault.exclude" in told(findings)[0]


def test_a_tokenizer_that_is_not_known_is_a_problem_and_another_than_the_indexs_a_warning() -> None:
    assert told([tokenizer("o200", "")])[0].startswith("problem: There is no tokenizer 'o200'.")
    assert told([tokenizer("chars/4", "o200k")])[0].startswith("warning: The tokenizer is chars/4; the index counts")
    assert told([tokenizer("chars/4", "chars/4")]) == ["ok: The tokenizer is chars/4, and it counts"]


def test_a_model_that_is_not_complete_is_told_by_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (line,) = told(model(str(tmp_path), ""))
    assert line.startswith("problem: ")
    assert "tokenizer.json, model.safetensors missing" in line


def test_an_index_of_another_model_is_a_warning() -> None:
    lines = told(model("", "another/1"))
    assert lines[0].startswith("ok: The embedding model is the one that ships with excerpt: 256 dimensions")
    assert lines[1].startswith("warning: The index has the vectors of another model.")


# --- folders, versions ------------------------------------------------------------------------------------------------


def test_a_file_in_the_place_of_a_folder_is_a_problem(where: Places) -> None:
    where.config.write_text("")
    lines = told(folders(where, None, 0))
    assert lines[0].startswith(f"problem: Settings: {where.config} is a file, not a folder.")
    assert lines[1] == f"ok: Indexes: {where.cache} (not there yet; it can be made)"


def test_folders_that_count_from_where_one_is_are_a_warning() -> None:
    here = Places(*(Path("~/.excerpt") / name for name in ("config", "cache", "data", "state")))
    assert told(folders(here, None, 0))[0].startswith(f"warning: Settings: {here.config} counts from the folder that")


@pytest.mark.parametrize(("free", "level"), [(1_000, Level.PROBLEM), (2e8, Level.WARNING), (9e8, Level.OK)])
def test_room_for_the_index_is_held_against_its_size(
    where: Places, monkeypatch: pytest.MonkeyPatch, free: int, level: Level
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": int(free)}))
    assert next(one for one in folders(where, None, 229_000_000) if "are free" in one.what).level is level


def test_an_index_on_a_network_drive_is_a_warning(where: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "is_silent", lambda _: True)
    assert any(
        line.startswith("warning: The index is on a network drive") for line in told(folders(where, where.cache, 0))
    )


def test_a_pinned_library_in_another_version_and_one_that_is_missing_are_problems() -> None:
    lines = told(libraries(["click==0.1", "no-such-library>=1", "msgspec>=0.1", "nope; extra == 'x'"]))
    assert lines[0].startswith("problem: The library click is ")
    assert lines[1].startswith("problem: The library no-such-library is not installed.")
    assert lines[2].startswith("ok: 1 library installed")


def test_a_look_that_fails_is_a_finding_and_the_others_go_on() -> None:
    def fails() -> Iterable[Finding]:
        raise RuntimeError("boom")

    found = group("x", fails, lambda: keys(ScreenSettings()))
    assert told(found.findings)[0].startswith("problem: This could not be looked at (RuntimeError: boom).")
    assert len(found.findings) == 2


def test_many_names_are_cut_and_counted() -> None:
    assert named(["a", "b"]) == "a, b"
    assert named(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
