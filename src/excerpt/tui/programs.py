"""Starting of other programs: the user's editor at a line, viewers of attachments, and Obsidian at a heading."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from msgspec import Struct

from excerpt.base.errors import ExcerptError, SettingsError
from excerpt.base.locations import first_page_of
from excerpt.base.patterns import lazy_pattern
from excerpt.base.processes import find_program, program_command
from excerpt.base.state_files import users_umask
from excerpt.vault.known_vaults import VaultFolders
from excerpt.vault.obsidian import find_obsidian_vault, make_obsidian_link

_PLUS_EDITORS = (
    "vi vim nvim vis vile elvis view ex nano pico emacs emacsclient micro kak joe ne mg jove mcedit dte "
    "gvim mvim gedit xed pluma bbedit"
)
"""Editors that take +12 before the file."""
_COLON_EDITORS = "hx helix subl sublime_text zed zeditor zedit atom pulsar"
"""Editors that take file:line. They split it at the last colon, so the colon of a Windows drive is no problem."""
_GOTO_EDITORS = "code code-insiders code-oss codium vscodium cursor windsurf positron kiro trae"
"""VS Code and its derivatives, which take --goto file:line."""
_JETBRAINS_PROGRAMS = (
    "idea pycharm charm phpstorm webstorm rubymine goland clion rustrover rider datagrip appcode studio"
)
_LINE_OPTION_EDITORS = f"kate kwrite mate rmate geany {_JETBRAINS_PROGRAMS}"
"""Editors that take --line 12 before the file."""
_WINDOWED_EDITORS = (  # editors that open their own window
    "gvim mvim gedit xed pluma bbedit subl sublime_text zed zeditor zedit atom pulsar notepad++ "
    f"{_GOTO_EDITORS} {_LINE_OPTION_EDITORS}"
)
_FALLBACK_EDITORS = ("nano", "vim", "vi", "micro", "emacs")
"""Editors to look for, in this order, if the user has set none."""


_OPEN_SECONDS = 3.0
"""Seconds to wait for the exit code of a link opener. Some run until the window they open is closed."""


class ProgramLauncher:
    """Starts editor, viewers and Obsidian on files of the open vaults, and shows notices about the result.

    `environment` is that of the user's shell. `notify` is the method of a Textual screen. `suspend` is the method of
    the Textual app that gives the terminal to another program.
    """

    def __init__(
        self,
        vaults: VaultFolders,
        environment: Mapping[str, str],
        *,
        notify: Callable[..., object],
        suspend: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._vaults = vaults
        self._environment = environment
        self._notify = notify
        self._suspend = suspend

    def edit(self, setting: str, file: Path, line: int, *, save_hint: str, on_exit: Callable[[], object]) -> bool:
        """Open a file at a line in the user's editor, and return whether the editor was started.

        `setting` is the editor command of the settings, "" for the default. `save_hint` is shown for an editor with its
        own window; it says what happens to saved changes. `on_exit` is called when an editor in the terminal has ended.
        """
        try:
            command = editor_command(setting, self._environment, find_program, file, line)
            if command.has_window:
                self._start_in_background(command.argv)
                self._notify(f"Opened with {Path(command.argv[0]).name}. {save_hint}", markup=False)
            elif self._run_in_terminal(command.argv):
                on_exit()
        except ExcerptError as error:
            self._notify(str(error), title=error.title, severity="error", markup=False)
            return False
        except OSError as error:
            self._notify(str(error), title="The editor cannot be started", severity="error", markup=False)
            return False
        return True

    def _start_in_background(self, argv: Sequence[str]) -> None:
        subprocess.Popen(
            program_command(argv),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            umask=users_umask(),
        )

    def _run_in_terminal(self, argv: Sequence[str]) -> bool:
        """Run an editor in the terminal until it ends; return False if this terminal does not allow that."""
        from textual.app import SuspendNotSupported  # here, because commands use this module without Textual

        try:
            with self._suspend():
                result = subprocess.run(program_command(argv), env=self._environment, check=False, umask=users_umask())
        except SuspendNotSupported:
            self._notify("No editor can run in this terminal. Set an editor with its own window.", severity="error")
            return False
        if result.returncode:
            self._notify(f"The editor ended with code {result.returncode}.", severity="warning")
        return True

    def view(self, setting: str, kind: str, file: Path, place: str) -> str | None:
        """Open an attachment in a viewer; return None, or the reason why it cannot be opened.

        `setting` is the viewer command of the settings, "" for the default. `kind` is the kind of attachment, such as
        "pdf". `place` is the location in it, such as a page.
        """
        try:
            argv = viewer_command(setting, kind, file, place, environment=self._environment, which=find_program)
            if argv is None:
                return f"Set a command that opens the file: viewers.{kind} in the table [screen] of the settings."
            self._start_in_background(argv)
        except (ExcerptError, OSError) as error:
            return str(error)
        self._notify(f"Opened with {Path(argv[0]).name}.", markup=False)
        return None

    async def open_in_obsidian(self, file: Path, headings: Sequence[str], copy: Callable[[str], object]) -> bool:
        """Open a note in Obsidian at the section under `headings`; return whether a program accepted the link.

        If no program opens links, `copy` is called with the link. Over ssh the user can then open it on their own
        machine.
        """
        vault = next(folder for folder in self._vaults.by_name.values() if file.is_relative_to(folder))
        root = find_obsidian_vault(vault)
        if root is None:
            reason = f"{vault.name} is not an Obsidian vault: it has no .obsidian folder."
            hint = "Open the folder in Obsidian once; Obsidian creates it."
            self._notify(
                f"{reason} {hint}", title="The note cannot be opened in Obsidian", severity="warning", markup=False
            )
            return False
        link = make_obsidian_link(root, file, headings)
        argv = find_link_opener(self._environment, find_program, sys.platform)
        if argv is not None and await asyncio.to_thread(open_link, (*argv, link), self._environment):
            self._notify(f"Obsidian opens {file.name}.", markup=False)
            return True
        copy(link)
        return False


class EditorCommand(Struct, frozen=True):
    """The command that starts an editor. `has_window`: the editor has its own window and does not use the terminal."""

    argv: tuple[str, ...]
    has_window: bool


def editor_command(
    setting: str,
    environment: Mapping[str, str],
    which: Callable[[str], str | None],
    file: Path,
    line: int,
    *,
    platform: str = sys.platform,
) -> EditorCommand:
    """Return the command that opens `file` at `line` in the editor of the setting, $VISUAL or $EDITOR.

    If none is set, an installed editor is used. `which` returns the path of an installed program, None for others.
    Raises SettingsError for a command line that cannot be parsed, ExcerptError if there is no editor.
    """
    words = _editor_words(setting, environment, which, platform)
    name = _program_name(words[0])
    return EditorCommand(
        (*words, *_location_arguments(name, str(file), line, platform)), name in _WINDOWED_EDITORS.split()
    )


def _program_name(program: str) -> str:
    """Return the lower-case name of a program without folder, Windows suffix, and the 64 of JetBrains' programs."""
    name = re.sub(r"\.(exe|cmd|bat|sh)$", "", re.split(r"[/\\]", program)[-1].lower())
    return name.removesuffix("64") if name.removesuffix("64") in _JETBRAINS_PROGRAMS.split() else name


def _editor_words(
    setting: str, environment: Mapping[str, str], which: Callable[[str], str | None], platform: str
) -> list[str]:
    command = setting or environment.get("VISUAL", "") or environment.get("EDITOR", "")
    words = [command] if command and which(command) is not None else _split_command(command, platform)
    if words:
        if which(words[0]) is None:
            raise ExcerptError(
                f"The editor {words[0]} is not installed.", "Set $EDITOR, or screen.editor in the settings."
            )
        return words
    for fallback in _FALLBACK_EDITORS:
        if which(fallback):
            return [fallback]
    raise ExcerptError("No editor is set.", "Set $EDITOR, or screen.editor in the settings.")


def _split_command(command: str, platform: str) -> list[str]:
    """Split a command line into words. On Windows a backslash is part of a path."""
    try:
        if platform != "win32":
            return shlex.split(command)
        return [word.strip('"') for word in shlex.split(command, posix=False)]
    except ValueError as error:
        raise SettingsError(f"The command {command!r} cannot be parsed: {error}.") from error


def _location_arguments(name: str, file: str, line: int, platform: str) -> tuple[str, ...]:
    """Return the arguments that make the editor `name` open `file` at `line`; only the file for an unknown editor."""
    if name == "xed" and platform == "darwin":
        return ("--line", str(line), file)  # Xcode's xed, unrelated to the editor on Linux
    if name in _PLUS_EDITORS.split():
        return (f"+{line}", file)
    if name in _COLON_EDITORS.split():
        return (f"{file}:{line}",)
    if name in _GOTO_EDITORS.split():
        return ("--goto", f"{file}:{line}")
    if name in _LINE_OPTION_EDITORS.split():
        return ("--line", str(line), file)
    return {"jed": (file, "-g", str(line)), "notepad++": (f"-n{line}", file)}.get(name, (file,))


TEXT_KINDS = ("text", "canvas", "drawing", "notebook")
"""Kinds of attachments that are text and are opened in the editor."""
_PAGE_ARGUMENTS = {
    "zathura": ("-P", "{page}", "{file}"),
    "okular": ("-p", "{page}", "{file}"),
    "evince": ("-i", "{page}", "{file}"),
    "atril": ("-i", "{page}", "{file}"),
    "xreader": ("-i", "{page}", "{file}"),
    "sioyek": ("--page", "{page}", "{file}"),
    "mupdf": ("{file}", "{page}"),
}
"""Arguments of the viewers that can open a PDF at a page. The system's opener (such as xdg-open) cannot."""


def viewer_command(
    setting: str,
    kind: str,
    file: Path,
    place: str,
    *,
    environment: Mapping[str, str],
    which: Callable[[str], str | None],
    platform: str = sys.platform,
) -> tuple[str, ...] | None:
    """Return the command that shows an attachment; None if no program can, for example over ssh.

    The command is `setting`, else an installed viewer for this `kind`, else the system's opener. `place` is the
    location in the attachment, such as a page. In the setting, `{file}`, `{place}` and `{page}` (1 if the place has no
    number) are replaced. `which` returns the path of an installed program, None for others. Raises ExcerptError for a
    setting that cannot be parsed or run, SettingsError for one that would execute a part of a file name.
    """
    values = {"{file}": str(file), "{page}": str(first_page_of(place) or 1), "{place}": place}
    words = tuple(_split_command(setting, platform))
    if words:
        if _may_execute_file_name(words):
            raise SettingsError(
                f"screen.viewers.{kind} puts a file name into a shell command. The shell could run a part of the name.",
                "Write {file} as a separate word. For a shell: sh -c 'zathura \"$1\"' sh {file}",
            )
        if which(words[0]) is None:
            raise ExcerptError(
                f"The program {words[0]} is not installed.", f"Set screen.viewers.{kind} to an installed program."
            )
        return tuple(_fill_placeholders(word, values) for word in words) + (() if "{file}" in setting else (str(file),))
    opener = find_link_opener(environment, which, platform)
    if opener is None:
        return None
    for name, arguments in _PAGE_ARGUMENTS.items() if kind == "pdf" and platform != "win32" else ():
        if which(name):
            return (name, *(_fill_placeholders(word, values) for word in arguments))
    return (*opener, str(file))


_NAME_PLACEHOLDER = lazy_pattern(r"\{(?:file|place)\}")
_SHELL_SYNTAX = lazy_pattern(r"[\s;&|<>$`()\"']")
"""Characters which show that a word of a command is itself a command line, for a shell or another program."""
_SHELLS = "sh bash dash ash zsh ksh mksh fish csh tcsh elvish nu xonsh su"
_JOINING_PROGRAMS = "cmd powershell pwsh ssh"
"""Programs that join all their arguments into a command line for a shell."""


def _may_execute_file_name(words: Sequence[str]) -> bool:
    """Return whether the command `words` would put a file name into a shell command, which could execute it."""
    for index, word in enumerate(words):
        name, rest = _program_name(word), words[index + 1 :]
        if name in _JOINING_PROGRAMS.split() and not any(option.lower().startswith("-fi") for option in rest):
            return True  # even without {file}, as the file is appended
        if name in _SHELLS.split():
            script = next(
                (number for number, option in enumerate(rest, 1) if re.fullmatch(r"-\w*c\w*|--command", option)), None
            )
            if script is not None and _NAME_PLACEHOLDER.search("".join(rest[script : script + 1])):
                return True
        if _NAME_PLACEHOLDER.search(word) and _SHELL_SYNTAX.search(_NAME_PLACEHOLDER.sub("", word)):
            return True
    return False


def _fill_placeholders(word: str, values: Mapping[str, str]) -> str:
    """Return a word of a command with its placeholders replaced; inserted text is not scanned for placeholders."""
    return re.sub(r"\{(?:file|page|place)\}", lambda match: values[match[0]], word)


def find_link_opener(
    environment: Mapping[str, str], which: Callable[[str], str | None], platform: str
) -> tuple[str, ...] | None:
    """Return the command that opens a link on `platform` (a value of `sys.platform`); None if there is none.

    The result is None over ssh too, because the link would be opened on the remote machine. No shell is used, because a
    link contains an &. `which` returns the path of an installed program, None for others.
    """
    if "SSH_CONNECTION" in environment or "SSH_TTY" in environment:
        return None
    candidates: list[tuple[str, ...]] = []
    if platform == "darwin":
        candidates.append(("open",))
    if environment.get("WSL_DISTRO_NAME"):
        candidates.append(("wslview",))
    if platform == "win32" or environment.get("WSL_DISTRO_NAME"):
        candidates.append(("rundll32.exe", "url.dll,FileProtocolHandler"))
    elif platform != "darwin" and (environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")):
        candidates.append(("xdg-open",))
    return next((argv for argv in candidates if which(argv[0])), None)


def open_link(argv: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Run the link opener `argv`; return False if it cannot be started or fails within `_OPEN_SECONDS`.

    The call blocks until the opener has ended.
    """
    try:
        process = subprocess.Popen(
            program_command(argv),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            umask=users_umask(),
        )
    except OSError:
        return False
    with suppress(subprocess.TimeoutExpired):
        return process.wait(_OPEN_SECONDS) == 0
    return True
