"""Tests of the editor's command line: the file and the line in each editor's syntax."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from excerpt.errors import ExcerptError, SettingsError
from excerpt.tui.programs import editor_command, viewer_command

FILE = Path("/vault/a note.md")


def everything(name: str) -> str | None:
    """Find every program, but not a command line with options."""
    return f"/usr/bin/{name}" if " " not in name else None


def nothing(name: str) -> str | None:
    return None


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("vi", ["vi", "+12", "/vault/a note.md"]),
        ("/opt/bin/nvim -u NONE", ["/opt/bin/nvim", "-u", "NONE", "+12", "/vault/a note.md"]),
        ("nano", ["nano", "+12", "/vault/a note.md"]),
        ("emacsclient -t", ["emacsclient", "-t", "+12", "/vault/a note.md"]),
        ("micro", ["micro", "+12", "/vault/a note.md"]),
        ("hx", ["hx", "/vault/a note.md:12"]),
        ("code -w", ["code", "-w", "--goto", "/vault/a note.md:12"]),
        ("subl", ["subl", "/vault/a note.md:12"]),
        ("zed", ["zed", "/vault/a note.md:12"]),
        ("kate", ["kate", "--line", "12", "/vault/a note.md"]),
        ("C:/Programs/Code.EXE", ["C:/Programs/Code.EXE", "--goto", "/vault/a note.md:12"]),
        ("pycharm64", ["pycharm64", "--line", "12", "/vault/a note.md"]),
        ("notepad++", ["notepad++", "-n12", "/vault/a note.md"]),
        ("jed", ["jed", "/vault/a note.md", "-g", "12"]),
        ("my-editor", ["my-editor", "/vault/a note.md"]),
    ],
)
def test_each_editor_gets_the_line_in_its_own_way(command: str, argv: list[str]) -> None:
    assert list(editor_command(command, {}, everything, FILE, 12).argv) == argv


def test_the_setting_comes_before_visual_and_visual_before_editor() -> None:
    environment = {"VISUAL": "nvim", "EDITOR": "ed"}
    assert editor_command("hx", environment, everything, FILE, 1).argv[0] == "hx"
    assert editor_command("", environment, everything, FILE, 1).argv[0] == "nvim"
    assert editor_command("", {"EDITOR": "nano"}, everything, FILE, 1).argv[0] == "nano"


def test_without_any_an_installed_one_is_taken() -> None:
    assert editor_command("", {}, lambda name: name if name == "vi" else None, FILE, 3).argv == ("vi", "+3", str(FILE))


def test_editors_with_a_window_of_their_own_leave_the_terminal_alone() -> None:
    assert editor_command("code", {}, everything, FILE, 1).has_window
    assert not editor_command("vim", {}, everything, FILE, 1).has_window


def test_a_program_whose_path_has_spaces_needs_no_quotation_marks() -> None:
    def which(name: str) -> str | None:
        return name if name == "/opt/My Editors/vim" else None

    assert editor_command("/opt/My Editors/vim", {}, which, FILE, 3).argv == ("/opt/My Editors/vim", "+3", str(FILE))


def test_a_path_of_windows_keeps_its_backslashes() -> None:
    def which(name: str) -> str | None:
        return None if " -n" in name else name

    command = editor_command('"C:\\Program Files\\vim.exe" -n', {}, which, FILE, 3, platform="win32")
    assert command.argv == ("C:\\Program Files\\vim.exe", "-n", "+3", str(FILE))


def test_xed_is_another_program_on_a_mac() -> None:
    assert editor_command("xed", {}, everything, FILE, 3, platform="linux").argv == ("xed", "+3", str(FILE))
    assert editor_command("xed", {}, everything, FILE, 3, platform="darwin").argv == ("xed", "--line", "3", str(FILE))


def test_without_an_editor_one_sentence_says_what_to_set() -> None:
    with pytest.raises(ExcerptError, match="No editor is set"):
        editor_command("", {}, nothing, FILE, 1)


def test_an_editor_that_is_not_installed_is_named() -> None:
    with pytest.raises(ExcerptError, match="editor vimm is not installed"):
        editor_command("vimm", {}, nothing, FILE, 1)


def test_an_unreadable_command_line_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match="cannot be parsed"):
        editor_command('vim "', {}, everything, FILE, 1)


# --- attachments ------------------------------------------------------------------------------------------------------

PAPER = Path("/vault/a paper.pdf")
SEEN = {"DISPLAY": ":0"}


def view(setting: str = "", kind: str = "pdf", place: str = "page=12", **options: object) -> tuple[str, ...] | None:
    options = {"environment": SEEN, "which": everything, "platform": "linux", **options}
    return viewer_command(setting, kind, PAPER, place, **options)  # type: ignore[arg-type]


def test_a_pdf_is_opened_at_its_page_by_a_viewer_that_is_there() -> None:
    assert view() == ("zathura", "-P", "12", str(PAPER))
    assert view(which=lambda name: name if name in ("mupdf", "xdg-open") else None) == ("mupdf", str(PAPER), "12")


def test_what_no_viewer_is_known_for_is_opened_as_the_system_does() -> None:
    assert view(kind="slides", place="slide=3") == ("xdg-open", str(PAPER))
    assert view(platform="darwin", which=lambda name: name if name == "open" else None) == ("open", str(PAPER))


def test_a_command_of_the_settings_comes_first_and_gets_file_page_and_place() -> None:
    assert view("show --page={page} {file} {place}") == ("show", "--page=12", str(PAPER), "page=12")
    assert view("show") == ("show", str(PAPER))


@pytest.mark.parametrize(
    "setting",
    [
        "sh -c 'zathura {file}'",
        "sh -c {file}",
        "/bin/bash -lc 'zathura -P {page} \"{file}\"'",
        "env A=1 zsh -c 'open {place}'",
        "fish -c 'zathura {file}' {file}",
        "cmd /c start {file}",
        "cmd.exe /c start",
        "powershell -Command Invoke-Item {file}",
        "pwsh -c Invoke-Item",
        "ssh desk zathura {file}",
        "ssh -f desk zathura {file}",
        "bash -ce {file}",
        "xterm -e 'less {file}'",
        "tmux new-window 'less {file}'",
        "emacsclient --eval '(find-file\"{file}\")'",
        "python3 -c 'open(\"{file}\")'",
    ],
)
def test_a_viewer_that_would_run_a_part_of_a_name_is_refused(setting: str) -> None:
    with pytest.raises(SettingsError, match=r"screen\.viewers\.pdf puts a file name into a shell command") as error:
        view(setting)
    assert "sh {file}" in error.value.hint


@pytest.mark.parametrize(
    "setting",
    [
        'sh -c \'zathura -P "$2" "$1"\' sh {file} {page}',
        "sh -c 'zathura -P {page} \"$0\"'",
        "show.sh --open={file}#{place}",
        "open file://{file}",
        "powershell -File show.ps1 {file}",
    ],
)
def test_a_viewer_that_gets_the_name_as_a_word_is_started(setting: str) -> None:
    argv = view(setting)
    assert argv is not None
    assert str(PAPER) in " ".join(argv)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell of POSIX")
def test_a_name_that_is_a_command_is_one_argument_of_a_shell(tmp_path: Path) -> None:
    file = tmp_path / "$(touch ran).pdf"
    argv = viewer_command(
        "sh -c 'printf %s \"$1\"' sh {file}", "pdf", file, "", environment=SEEN, which=everything, platform="linux"
    )
    assert argv is not None
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, list(tmp_path.iterdir())) == (str(file), [])


def test_a_name_in_braces_in_a_file_s_own_name_stands_for_nothing() -> None:
    file = Path("/vault/{page}.pdf")
    argv = viewer_command("show {file}", "pdf", file, "page=2", environment=SEEN, which=everything, platform="linux")
    assert argv == ("show", "/vault/{page}.pdf")


def test_over_ssh_nothing_is_opened() -> None:
    assert view(environment={**SEEN, "SSH_TTY": "/dev/pts/1"}) is None


def test_a_viewer_that_is_not_there_is_named_with_its_setting() -> None:
    with pytest.raises(ExcerptError, match="The program show is not installed"):
        view("show {file}", which=nothing)
