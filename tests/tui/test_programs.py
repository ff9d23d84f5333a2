"""Tests of programs that the app starts: editors, viewers, Obsidian."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import SuspendNotSupported

from excerpt.base.errors import ExcerptError, SettingsError
from excerpt.base.settings import Paths, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.messages import EditRequested
from excerpt.tui.programs import ProgramLauncher, editor_command, find_link_opener, open_link, viewer_command
from excerpt.vault.known_vaults import VaultFolders
from excerpt.vault.obsidian import find_obsidian_vault, make_obsidian_link
from tests.conftest import programs_finder
from tests.tui.driver import notices_of, pane_of, screen_of, search, until


class Case:
    """Programs on a vault with one note. `told` are the notices, `done` what happened to terminal and file."""

    def __init__(self, folder: Path) -> None:
        self.vault = folder / "vault"
        self.note = self.vault / "Note.md"
        self.vault.mkdir()
        self.note.write_text("# Note\n")
        self.told: list[str] = []
        self.done: list[str] = []
        self.gives_way = True
        self.programs = ProgramLauncher(
            VaultFolders.of([self.vault]),
            {"PATH": str(folder)},
            notify=lambda text, **_: self.told.append(text),
            suspend=self._suspend,
        )

    @contextmanager
    def _suspend(self) -> Iterator[None]:
        if not self.gives_way:
            raise SuspendNotSupported
        self.done.append("given")
        yield
        self.done.append("taken back")

    def edit(self, setting: str) -> bool:
        edited = self.done.append
        return self.programs.edit(
            setting, self.note, 3, save_hint="It is found at once.", on_exit=lambda: edited("edited")
        )


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def editor(folder: Path, name: str, code: int = 0) -> str:
    """Write an editor of that name that exits with that code, and return its path."""
    file = folder / name
    file.write_text(f"#!/bin/sh\nexit {code}\n")
    file.chmod(0o755)
    return str(file)


def test_an_editor_has_the_terminal_until_it_ends_and_the_edit_is_then_indexed(case: Case, tmp_path: Path) -> None:
    assert case.edit(editor(tmp_path, "vi"))
    assert case.done == ["given", "taken back", "edited"]
    assert case.told == []


def test_a_failing_editor_is_reported_by_its_code_and_the_edit_is_still_indexed(case: Case, tmp_path: Path) -> None:
    assert case.edit(editor(tmp_path, "vi", 3))
    assert case.told == ["The editor ended with code 3."]
    assert case.done[-1] == "edited"


def test_an_editor_with_its_own_window_leaves_the_terminal_alone(case: Case, tmp_path: Path) -> None:
    assert case.edit(editor(tmp_path, "code"))
    assert case.done == []
    assert case.told == ["Opened with code. It is found at once."]


def test_a_terminal_that_cannot_be_suspended_is_reported_and_nothing_indexed(case: Case, tmp_path: Path) -> None:
    case.gives_way = False
    case.edit(editor(tmp_path, "vi"))
    assert case.told == ["No editor can run in this terminal. Set an editor with its own window."]
    assert case.done == []


def test_a_missing_editor_is_reported(case: Case) -> None:
    assert not case.edit("no-such-editor")
    assert "no-such-editor" in case.told[0]


async def test_without_a_link_opener_the_link_is_copied(case: Case) -> None:
    (case.vault / ".obsidian").mkdir()
    copied: list[str] = []
    assert not await case.programs.open_in_obsidian(case.note, ("Note",), copied.append)
    assert copied == ["obsidian://open?vault=vault&file=Note%23Note"]


async def test_a_folder_unknown_to_obsidian_is_reported_and_nothing_copied(case: Case) -> None:
    copied: list[str] = []
    assert not await case.programs.open_in_obsidian(case.note, (), copied.append)
    assert "is not an Obsidian vault" in case.told[0]
    assert copied == []


async def test_an_attachment_without_a_viewer_is_reported_by_its_path_without_copying(
    vault: Path, user_paths: Paths
) -> None:
    (vault / "paper.pdf").write_bytes(b"%PDF-1.4\n")
    app = ExcerptApp(vault, Settings(), user_paths, {"SSH_TTY": "/dev/pts/1"})
    async with app.run_test() as pilot:
        await until(pilot, lambda: pane_of(app).is_mounted, "the screen")
        screen_of(app).post_message(EditRequested("paper.pdf", 1, "page=3"))
        await until(pilot, lambda: bool(viewer_notices(app)), "the message")
        await pilot.pause()
        await app.workers.wait_for_complete([worker for worker in app.workers if worker.group == "copy"])
        (notice,) = viewer_notices(app)
        assert notice.endswith(f" Address: {vault / 'paper.pdf'}#page=3")
    assert list(user_paths.copies_folder().glob("*")) == []


async def test_a_note_that_does_not_exist_is_reported(vault: Path, user_paths: Paths) -> None:
    app = ExcerptApp(vault, Settings(), user_paths, {})
    async with app.run_test() as pilot:
        await until(pilot, lambda: pane_of(app).is_mounted, "the screen")
        screen_of(app).post_message(EditRequested("Gone.md", 1))
        await until(
            pilot, lambda: any("Gone.md is not in the vault." in each for each in notices_of(app)), "the notice"
        )


def viewer_notices(app: ExcerptApp) -> list[str]:
    return [notice for notice in notices_of(app) if notice.startswith("No program can open the attachment.")]


FILE = Path("/vault/a note.md")


def find_any_program(name: str) -> str | None:
    """Find every program, but not a command line with options."""
    return f"/usr/bin/{name}" if " " not in name else None


def find_no_program(name: str) -> str | None:
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
def test_each_editor_gets_the_line_in_its_own_syntax(command: str, argv: list[str]) -> None:
    assert list(editor_command(command, {}, find_any_program, FILE, 12).argv) == argv


def test_the_setting_takes_precedence_over_visual_and_visual_over_editor() -> None:
    environment = {"VISUAL": "nvim", "EDITOR": "ed"}
    assert editor_command("hx", environment, find_any_program, FILE, 1).argv[0] == "hx"
    assert editor_command("", environment, find_any_program, FILE, 1).argv[0] == "nvim"
    assert editor_command("", {"EDITOR": "nano"}, find_any_program, FILE, 1).argv[0] == "nano"


def test_without_a_setting_an_installed_editor_is_used() -> None:
    assert editor_command("", {}, lambda name: name if name == "vi" else None, FILE, 3).argv == ("vi", "+3", str(FILE))


def test_editors_with_their_own_window_leave_the_terminal_alone() -> None:
    assert editor_command("code", {}, find_any_program, FILE, 1).has_window
    assert not editor_command("vim", {}, find_any_program, FILE, 1).has_window


def test_a_program_path_with_spaces_needs_no_quotation_marks() -> None:
    def which(name: str) -> str | None:
        return name if name == "/opt/My Editors/vim" else None

    assert editor_command("/opt/My Editors/vim", {}, which, FILE, 3).argv == ("/opt/My Editors/vim", "+3", str(FILE))


def test_a_windows_path_keeps_its_backslashes() -> None:
    def which(name: str) -> str | None:
        return None if " -n" in name else name

    command = editor_command('"C:\\Program Files\\vim.exe" -n', {}, which, FILE, 3, platform="win32")
    assert command.argv == ("C:\\Program Files\\vim.exe", "-n", "+3", str(FILE))


def test_xed_is_another_program_on_a_mac() -> None:
    assert editor_command("xed", {}, find_any_program, FILE, 3, platform="linux").argv == ("xed", "+3", str(FILE))
    assert editor_command("xed", {}, find_any_program, FILE, 3, platform="darwin").argv == (
        "xed",
        "--line",
        "3",
        str(FILE),
    )


def test_without_an_editor_one_sentence_says_what_to_set() -> None:
    with pytest.raises(ExcerptError, match="No editor is set"):
        editor_command("", {}, find_no_program, FILE, 1)


def test_a_missing_editor_of_the_settings_is_named() -> None:
    with pytest.raises(ExcerptError, match="editor vimm is not installed"):
        editor_command("vimm", {}, find_no_program, FILE, 1)


def test_an_invalid_command_line_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match="cannot be parsed"):
        editor_command('vim "', {}, find_any_program, FILE, 1)


# --- attachments ------------------------------------------------------------------------------------------------------

PAPER = Path("/vault/a paper.pdf")
SEEN = {"DISPLAY": ":0"}


def viewer_command_for(
    setting: str = "", kind: str = "pdf", place: str = "page=12", **options: object
) -> tuple[str, ...] | None:
    options = {"environment": SEEN, "which": find_any_program, "platform": "linux", **options}
    return viewer_command(setting, kind, PAPER, place, **options)  # type: ignore[arg-type]


def test_a_pdf_is_opened_at_its_page_by_an_installed_viewer() -> None:
    assert viewer_command_for() == ("zathura", "-P", "12", str(PAPER))
    assert viewer_command_for(which=lambda name: name if name in ("mupdf", "xdg-open") else None) == (
        "mupdf",
        str(PAPER),
        "12",
    )


def test_a_file_without_a_known_viewer_is_opened_by_the_system() -> None:
    assert viewer_command_for(kind="slides", place="slide=3") == ("xdg-open", str(PAPER))
    assert viewer_command_for(platform="darwin", which=lambda name: name if name == "open" else None) == (
        "open",
        str(PAPER),
    )


def test_a_command_of_the_settings_takes_precedence_and_gets_file_page_and_location() -> None:
    assert viewer_command_for("show --page={page} {file} {place}") == ("show", "--page=12", str(PAPER), "page=12")
    assert viewer_command_for("show") == ("show", str(PAPER))


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
def test_a_viewer_that_would_execute_a_part_of_a_name_is_refused(setting: str) -> None:
    with pytest.raises(SettingsError, match=r"screen\.viewers\.pdf puts a file name into a shell command") as error:
        viewer_command_for(setting)
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
def test_a_viewer_that_gets_the_name_as_one_argument_is_started(setting: str) -> None:
    argv = viewer_command_for(setting)
    assert argv is not None
    assert str(PAPER) in " ".join(argv)


@pytest.mark.skipif(os.name != "posix", reason="needs a shell of POSIX")
def test_a_name_with_shell_syntax_is_one_argument_of_a_shell(tmp_path: Path) -> None:
    file = tmp_path / "$(touch ran).pdf"
    argv = viewer_command(
        "sh -c 'printf %s \"$1\"' sh {file}",
        "pdf",
        file,
        "",
        environment=SEEN,
        which=find_any_program,
        platform="linux",
    )
    assert argv is not None
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, list(tmp_path.iterdir())) == (str(file), [])


def test_braces_in_a_file_name_are_not_replaced() -> None:
    file = Path("/vault/{page}.pdf")
    argv = viewer_command(
        "show {file}", "pdf", file, "page=2", environment=SEEN, which=find_any_program, platform="linux"
    )
    assert argv == ("show", "/vault/{page}.pdf")


def test_over_ssh_no_program_with_a_window_is_opened() -> None:
    assert viewer_command_for(environment={**SEEN, "SSH_TTY": "/dev/pts/1"}) is None


def test_a_missing_viewer_is_named_with_its_setting() -> None:
    with pytest.raises(ExcerptError, match="The program show is not installed"):
        viewer_command_for("show {file}", which=find_no_program)


ROOT = Path("/home/ada/My vault")


@pytest.mark.parametrize(
    ("note", "headings", "link"),
    [
        ("Sync.md", (), "obsidian://open?vault=My%20vault&file=Sync"),
        ("R&D/a?b=c#d.md", (), "obsidian://open?vault=My%20vault&file=R%26D%2Fa%3Fb%3Dc%23d"),
        (
            "Sync.md",
            ("How to", "C#: [[x]] 100%"),
            "obsidian://open?vault=My%20vault&file=Sync%23How%20to%23C%20x%20100",
        ),
        ("同步.markdown", (), "obsidian://open?vault=My%20vault&file=%E5%90%8C%E6%AD%A5.markdown"),
        ("caf\udce9.md", (), "obsidian://open?vault=My%20vault&file=caf%E9"),
    ],
)
def test_an_obsidian_link_has_vault_and_note_and_heading_fully_encoded(
    note: str, headings: tuple[str, ...], link: str
) -> None:
    assert make_obsidian_link(ROOT, ROOT / note, headings) == link


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(lambda name: "/" not in name))
def test_any_note_name_is_decoded_unchanged_from_its_obsidian_link(name: str) -> None:
    if name in (".", ".."):
        return
    query = urlsplit(make_obsidian_link(ROOT, ROOT / f"{name}.md", ())).query
    assert parse_qs(query, keep_blank_values=True) == {"vault": ["My vault"], "file": [name]}


def test_the_obsidian_vault_may_be_a_parent_folder(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    inner = tmp_path / "Projects"
    inner.mkdir()
    assert find_obsidian_vault(inner) == tmp_path
    (inner / ".obsidian").mkdir()
    assert find_obsidian_vault(inner) == inner


def test_a_folder_that_obsidian_does_not_know_has_no_vault(tmp_path: Path) -> None:
    assert find_obsidian_vault(tmp_path) is None


@pytest.mark.parametrize(
    ("environment", "programs", "platform", "expected"),
    [
        ({}, ["open"], "darwin", ("open",)),
        ({"DISPLAY": ":0"}, ["xdg-open"], "linux", ("xdg-open",)),
        ({"WAYLAND_DISPLAY": "wayland-0"}, ["xdg-open"], "linux", ("xdg-open",)),
        ({}, ["rundll32.exe"], "win32", ("rundll32.exe", "url.dll,FileProtocolHandler")),
        ({"WSL_DISTRO_NAME": "Debian"}, ["wslview", "rundll32.exe"], "linux", ("wslview",)),
        ({"WSL_DISTRO_NAME": "Debian"}, ["rundll32.exe"], "linux", ("rundll32.exe", "url.dll,FileProtocolHandler")),
        ({}, ["xdg-open"], "linux", None),
        ({"DISPLAY": ":0"}, [], "linux", None),
        ({"DISPLAY": ":10", "SSH_CONNECTION": "a b"}, ["xdg-open"], "linux", None),
    ],
)
def test_each_system_opens_links_in_its_own_way(
    environment: dict[str, str], programs: list[str], platform: str, expected: tuple[str, ...] | None
) -> None:
    assert find_link_opener(environment, programs_finder(*programs), platform) == expected


def test_the_program_that_opens_a_link_gets_it_as_one_argument_and_its_exit_code_counts(tmp_path: Path) -> None:
    link = "obsidian://open?vault=a&file=b%20c"
    taken = tmp_path / "taken"
    assert open_link(("sh", "-c", f'printf "%s" "$1" > "{taken}"', "sh", link), {"PATH": "/usr/bin:/bin"})
    assert taken.read_text() == link
    assert not open_link(("false",), {"PATH": "/usr/bin:/bin"})
    assert not open_link((str(tmp_path / "none"),), {})


@pytest.mark.programs
@pytest.mark.skipif(os.name != "posix", reason="the stand-in is a shell script")
async def test_the_visible_fragment_is_opened_at_its_heading_or_its_link_copied_without_a_desktop(
    vault: Path, user_paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{tmp_path}/opened"\n')
    opener.chmod(0o755)
    monkeypatch.setenv("PATH", f"{opener.parent}:{os.environ['PATH']}")
    (vault / ".obsidian").mkdir()
    link = f"obsidian://open?vault={vault.name}&file=Sync%23Conflicts"
    app = ExcerptApp(vault, Settings(), user_paths, {"DISPLAY": ":0", "PATH": os.environ["PATH"]})
    async with app.run_test() as pilot:
        await search(pilot, "two devices change one note")
        await app.run_action("obsidian", pane_of(app))
        opened = tmp_path / "opened"
        await until(pilot, lambda: opened.exists() and opened.read_text() == link, "Obsidian")
        screen_of(app)._environment.clear()
        await pilot.press("shift+tab", "O")
        copies = user_paths.copies_folder()
        await until(pilot, lambda: bool(list(copies.glob("copy-*"))), "the copy of the link")
        assert [file.read_text() for file in copies.glob("copy-*")] == [link]
