"""Tests of the doctor's checks: terminal, keys, editor, clipboard, settings, versions, and the vault."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import excerpt
from excerpt.doctor import checks
from excerpt.doctor import checks as vaults
from excerpt.doctor.checks import (
    Finding,
    Severity,
    check_clipboard,
    check_editor,
    check_folders,
    check_keys,
    check_libraries,
    check_model,
    check_settings_files,
    check_terminal,
    check_tokenizer,
    check_vault,
    format_names,
    orphaned_vaults,
)
from excerpt.doctor.look import run_checks
from excerpt.known_vaults import add_recent_vault
from excerpt.settings import Paths, ScreenSettings, Settings, VaultSettings, user_paths
from excerpt.store.address import parse_address
from tests.conftest import programs_finder

UTF8 = {"TERM": "xterm-256color", "LANG": "en_GB.UTF-8"}


def finding_lines(findings: Iterable[Finding]) -> list[str]:
    return [f"{finding.level}: {finding.what} {finding.todo}".strip() for finding in findings]


def has_finding(lines: Iterable[str], level: Severity, *facts: str) -> bool:
    """Return whether one of the lines has this level and names all these facts."""
    return any(line.startswith(f"{level}: ") and all(fact in line for fact in facts) for line in lines)


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
def test_tmux_is_asked_whether_it_forwards_copies(option: str, level: Severity, fact: str) -> None:
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
def test_the_clipboard_route_is_reported_with_its_limit_and_file(
    environment: dict[str, str], programs: tuple[str, ...], level: Severity, facts: tuple[str, ...]
) -> None:
    lines = finding_lines(check_clipboard(environment, programs_finder(*programs), "linux", Path("/state/copies")))
    assert has_finding(lines[:1], level, *facts)
    assert has_finding(lines[-1:], Severity.OK, "/state/copies")


def test_each_clashing_or_unsendable_key_of_a_keymap_is_named() -> None:
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


# --- settings, model, tokenizer ---------------------------------------------------------------------------------------


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(*(tmp_path / name for name in ("config", "cache", "data", "state")))


def test_a_broken_settings_file_is_named_and_the_others_still_apply(paths: Paths, tmp_path: Path) -> None:
    file = paths.vault_settings_file(tmp_path)
    file.parent.mkdir(parents=True)
    paths.settings_file.write_text("[search]\nlimt = 3\n")
    file.write_text("[search]\nlimit = 7\n")
    settings, findings = check_settings_files(paths, tmp_path)
    assert settings.search.limit == 7
    lines = finding_lines(findings)
    assert has_finding(lines[:1], Severity.PROBLEM, str(paths.settings_file), "search.limt", "search.limit?")
    assert has_finding(lines[1:], Severity.OK, str(file), "is valid")


def test_an_invalid_pattern_is_a_problem_of_its_file(paths: Paths) -> None:
    paths.config.mkdir()
    paths.settings_file.write_text('[vault]\nexclude = ["!"]\n')
    settings, findings = check_settings_files(paths, None)
    assert settings == Settings()
    assert str(paths.settings_file) in finding_lines(findings)[0]
    assert "vault.exclude" in finding_lines(findings)[0]


def test_an_unknown_tokenizer_is_a_problem_and_one_that_differs_from_the_index_a_warning() -> None:
    assert has_finding(finding_lines([check_tokenizer("o200", "")]), Severity.PROBLEM, "'o200'")
    assert has_finding(finding_lines([check_tokenizer("chars/4", "o200k")]), Severity.WARNING, "chars/4", "o200k")
    assert has_finding(finding_lines([check_tokenizer("chars/4", "chars/4")]), Severity.OK, "chars/4")


def test_an_incomplete_model_is_reported_by_its_missing_file(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    lines = finding_lines(check_model(str(tmp_path), ""))
    assert len(lines) == 1
    assert has_finding(lines, Severity.PROBLEM, str(tmp_path), "tokenizer.json", "model.safetensors")


def test_an_index_of_another_model_is_a_warning() -> None:
    lines = finding_lines(check_model("", "another/1"))
    assert has_finding(lines[:1], Severity.OK, "256 dimensions")
    assert has_finding(lines[1:], Severity.WARNING, "another model", "`excerpt index`")


# --- data of other vaults ---------------------------------------------------------------------------------------------

STORE = "postgresql://ada@127.0.0.1/db?vault=wiki"


def remember(paths: Paths, folder: Path) -> None:
    memory = paths.memory_folder(folder) / "Tea.md"
    memory.parent.mkdir(parents=True)
    memory.write_text("Tea is green.\n")


def test_data_of_an_unknown_folder_is_a_warning(paths: Paths) -> None:
    remember(paths, Path("/gone"))
    assert has_finding(finding_lines(orphaned_vaults(paths, None)), Severity.WARNING, "unknown vault")


def test_data_of_a_store_opened_by_a_program_is_not_orphaned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path))
    with excerpt.open(STORE):
        remember(user_paths(), parse_address(STORE).folder)
    assert list(orphaned_vaults(user_paths(), None)) == []


def test_data_of_a_store_opened_in_the_app_is_not_orphaned(paths: Paths) -> None:
    add_recent_vault(paths, Path(STORE))
    remember(paths, parse_address(STORE).folder)
    assert list(orphaned_vaults(paths, None)) == []


# --- folders, versions ------------------------------------------------------------------------------------------------


def test_a_file_in_place_of_a_folder_is_a_problem(paths: Paths) -> None:
    paths.config.write_text("")
    lines = finding_lines(check_folders(paths, None, 0))
    assert has_finding(lines[:1], Severity.PROBLEM, f"{paths.config} is a file", "EXCERPT_HOME")
    assert has_finding(lines[1:2], Severity.OK, f"{paths.cache} (")


def test_files_in_a_private_folder_are_private(paths: Paths) -> None:
    for folder in paths.folders:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    file = paths.config / "excerpt.toml"
    file.write_text("")
    file.chmod(0o644)
    assert has_finding(finding_lines(check_folders(paths, None, 0)), Severity.OK, "No other user")
    paths.config.chmod(0o755)
    assert has_finding(finding_lines(check_folders(paths, None, 0)), Severity.WARNING, "2 files and folders", str(file))


def test_relative_folders_are_a_warning() -> None:
    here = Paths(*(Path("~/.excerpt") / name for name in ("config", "cache", "data", "state")))
    assert has_finding(
        finding_lines(check_folders(here, None, 0))[:1], Severity.WARNING, str(here.config), "EXCERPT_HOME"
    )


@pytest.mark.parametrize(("free", "level"), [(1_000, Severity.PROBLEM), (2e8, Severity.WARNING), (9e8, Severity.OK)])
def test_free_disk_space_is_compared_with_the_size_of_the_index(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, free: int, level: Severity
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": int(free)}))
    assert next(one for one in check_folders(paths, None, 229_000_000) if "are free" in one.what).level is level


def test_an_index_on_a_network_drive_is_a_warning(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "lacks_change_events", lambda _: True)
    assert has_finding(
        finding_lines(check_folders(paths, paths.cache, 0)), Severity.WARNING, "network drive", str(paths.cache)
    )


def test_a_wrong_version_and_a_missing_library_are_problems() -> None:
    lines = finding_lines(check_libraries(["click==0.1", "no-such-library>=1", "msgspec>=0.1", "nope; extra == 'x'"]))
    assert has_finding(lines[:1], Severity.PROBLEM, "library click is ", " 0.1")
    assert has_finding(lines[1:2], Severity.PROBLEM, "no-such-library", "not installed")
    assert has_finding(lines[2:], Severity.OK, "1 library")


def test_a_failing_check_is_a_finding_and_the_others_run() -> None:
    def fails() -> Iterable[Finding]:
        raise RuntimeError("boom")

    found = run_checks("x", fails, lambda: check_keys(ScreenSettings()))
    assert has_finding(finding_lines(found.findings)[:1], Severity.PROBLEM, "(RuntimeError: boom)")
    assert len(found.findings) == 2


def test_a_long_list_of_names_is_shortened_and_counted() -> None:
    assert format_names(["a", "b"]) == "a, b"
    assert format_names(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "Note.md").write_text("A note.\n")
    return folder


def findings_of_vault(vault: Path, settings: Settings = Settings(), watches: int | None = None) -> list[str]:  # noqa: B008
    return [
        f"{finding.level}: {finding.what} {finding.todo}".strip()
        for finding in check_vault(vault, settings, watches).findings
    ]


def test_a_healthy_vault_is_reported_with_its_size_and_how_changes_are_found(vault: Path) -> None:
    notes, changes = findings_of_vault(vault)
    assert notes.startswith("ok: ")
    assert all(fact in notes for fact in ("1 note (0 kB)", "2 folders", str(vault)))
    assert changes.startswith("ok: ")
    assert "at once" in changes


def test_attachments_are_counted_beside_the_notes(vault: Path) -> None:
    for name in ("a.csv", "b.canvas"):
        (vault / name).write_text("{}\n")
    assert "1 note and 2 attachments" in findings_of_vault(vault)[0]


def test_a_missing_vault_is_a_problem(tmp_path: Path) -> None:
    (line,) = findings_of_vault(tmp_path / "gone")
    assert line.startswith("problem: ")
    assert str(tmp_path / "gone") in line


def test_a_vault_without_notes_is_reported_with_the_note_suffixes(tmp_path: Path) -> None:
    line = findings_of_vault(tmp_path)[0]
    assert line.startswith("warning: ")
    assert all(fact in line for fact in (str(tmp_path), ".md, .markdown", "vault.extensions"))


@pytest.mark.parametrize("by", [".gitignore", "settings"])
def test_rules_that_exclude_every_note_are_a_problem(vault: Path, by: str) -> None:
    settings = Settings()
    if by == "settings":
        settings = Settings(vault=VaultSettings(exclude=("*",)))
    else:
        (vault / by).write_text("*.md\n")
    line = findings_of_vault(vault, settings)[0]
    assert line.startswith("problem: ")
    assert all(fact in line for fact in (str(vault), "1 file", ".gitignore", "vault.exclude"))


def test_links_out_of_the_vault_are_named(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("x")
    (vault / "out.md").symlink_to(tmp_path / "outside.md")
    (line,) = (line for line in findings_of_vault(vault) if "out.md" in line)
    assert line.startswith("warning: ")
    assert "link" in line


def test_a_partly_used_ignore_file_is_named(vault: Path) -> None:
    (vault / ".gitignore").write_text("a" * 501)
    (line,) = (line for line in findings_of_vault(vault) if ".gitignore" in line)
    assert line.startswith("warning: ")
    assert all(fact in line for fact in (".gitignore", "in part", "500 letters"))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_not_utf8_is_named(vault: Path) -> None:
    Path(os.fsdecode(os.fsencode(vault) + b"/caf\xe9.md")).write_text("x")
    (line,) = (line for line in findings_of_vault(vault) if "caf\N{REPLACEMENT CHARACTER}.md" in line)
    assert line.startswith("warning: ")
    assert "UTF-8" in line


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="there they are one file")
def test_names_that_differ_only_in_case_are_named_together(vault: Path) -> None:
    (vault / "tea.md").write_text("x")
    (vault / "Tea.md").write_text("x")
    (line,) = (line for line in findings_of_vault(vault) if "Tea.md and tea.md" in line)
    assert line.startswith("warning: ")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the limit")
def test_more_folders_than_can_be_watched_are_a_warning_with_the_limit_to_set(vault: Path) -> None:
    line = findings_of_vault(vault, watches=2)[-1]
    assert line.startswith("warning: ")
    assert all(fact in line for fact in ("2 folders", "2 watches", "fs.inotify.max_user_watches=4"))
    line = findings_of_vault(vault, watches=100)[-1]
    assert line.startswith("ok: ")
    assert "2 of 100" in line


def test_a_vault_on_a_network_drive_is_reported_as_polled(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vaults, "lacks_change_events", lambda _: True)
    line = findings_of_vault(vault)[-1]
    assert line.startswith("warning: ")
    assert "drive" in line
