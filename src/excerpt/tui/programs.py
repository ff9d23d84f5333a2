"""Programs started on notes and files: the user's editor, at a line, and Obsidian, by a link to a heading.

https://obsidian.md/help/uri says what such a link is made of.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from excerpt.errors import ExcerptError, SettingsError
from excerpt.places import number_of
from excerpt.processes import find_program, program_command
from excerpt.state_files import users_umask

_PLUS = (
    "vi vim nvim vis vile elvis view ex nano pico emacs emacsclient micro kak joe ne mg jove mcedit dte "
    "gvim mvim gedit xed pluma bbedit"
)
"""+12 before the file."""
_COLON = "hx helix subl sublime_text zed zeditor zedit atom pulsar"
"""The file, a colon and the line. After the colon of a Windows drive that is still the last one."""
_GOTO = "code code-insiders code-oss codium vscodium cursor windsurf positron kiro trae"
"""VS Code and what is made of it: --goto before that."""
_JETBRAINS = "idea pycharm charm phpstorm webstorm rubymine goland clion rustrover rider datagrip appcode studio"
_DASH_LINE = f"kate kwrite mate rmate geany {_JETBRAINS}"
"""--line 12 before the file."""
_WINDOWED = (
    f"gvim mvim gedit xed pluma bbedit subl sublime_text zed zeditor zedit atom pulsar notepad++ {_GOTO} {_DASH_LINE}"
)
_FALLBACKS = ("nano", "vim", "vi", "micro", "emacs")


_PATIENCE = 3.0
"""Seconds in which a link that nothing can open is reported; some programs stay as long as what they opened."""

_NOT_IN_A_HEADING = re.compile(r"[#^|:%\[\]\\]+")
"""What Obsidian puts a space for when it makes a link to a heading."""


class Programs:
    """Start programs on the files of one vault, with the environment of the user's shell, and say what came of it.

    `notify` is a screen's, `suspend` the app's: the terminal is another program's within it.
    """

    def __init__(
        self,
        vault: Path,
        environment: Mapping[str, str],
        *,
        notify: Callable[..., object],
        suspend: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._vault = vault
        self._environment = environment
        self._notify = notify
        self._suspend = suspend

    def note_file(self, path: str) -> Path | None:
        """Return the file of a note; None, and say so, where it is not there or leads out of the vault."""
        file = self._vault / path
        if file.is_file() and file.resolve().is_relative_to(self._vault.resolve()):
            return file
        self._notify(f"{path} is not in the vault.", title="Cannot be opened", severity="error", markup=False)
        return None

    def edit(self, setting: str, file: Path, line: int, *, seen: str, edited: Callable[[], object]) -> bool:
        """Open a file in the editor of that setting, and return whether it could be started.

        `seen` says what becomes of changes that are saved in a window of the editor's own; `edited` is called when one
        that had the terminal has given it back.
        """
        try:
            command = editor_command(setting, self._environment, find_program, file, line)
            if command.windowed:
                self._start(command.argv)
                self._notify(f"Opened with {Path(command.argv[0]).name}. {seen}", markup=False)
            elif self._run_here(command.argv):
                edited()
        except ExcerptError as error:
            self._notify(str(error), title=error.title, severity="error", markup=False)
            return False
        except OSError as error:
            self._notify(str(error), title="The editor cannot be started", severity="error", markup=False)
            return False
        return True

    def _start(self, argv: Sequence[str]) -> None:
        subprocess.Popen(
            program_command(argv),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            umask=users_umask(),
        )

    def _run_here(self, argv: Sequence[str]) -> bool:
        """Give the terminal to the editor, and take it back; return whether it could be given."""
        from textual.app import SuspendNotSupported  # commands know editors too, and no Textual

        try:
            with self._suspend():
                done = subprocess.run(program_command(argv), env=self._environment, check=False, umask=users_umask())
        except SuspendNotSupported:
            self._notify("This terminal cannot be handed to an editor.", severity="error")
            return False
        if done.returncode:
            self._notify(f"The editor ended with code {done.returncode}.", severity="warning")
        return True

    def view(self, setting: str, kind: str, file: Path, place: str) -> str | None:
        """Open an attachment at a place in a program that shows it; return why not where there is none."""
        try:
            argv = viewer_command(setting, kind, file, place, environment=self._environment, which=find_program)
            if argv is None:
                return f"Set a command for it: viewers.{kind} in the table [screen] of the settings."
            self._start(argv)
        except (ExcerptError, OSError) as error:
            return str(error)
        self._notify(f"Opened with {Path(argv[0]).name}.", markup=False)
        return None

    async def open_in_obsidian(self, file: Path, headings: Sequence[str], copy: Callable[[str], object]) -> bool:
        """Open a note at a section, and return whether a program took its link.

        Where nothing opens links, `copy` is called with it: over ssh it is of use at the user's end.
        """
        try:
            link = note_link(obsidian_vault(self._vault), file, headings)
        except ExcerptError as error:
            self._notify(str(error), title="Cannot be opened in Obsidian", severity="warning", markup=False)
            return False
        argv = link_opener(self._environment, find_program, sys.platform)
        if argv is not None and await asyncio.to_thread(open_link, (*argv, link), self._environment):
            self._notify(f"{file.name} is opened in Obsidian.", markup=False)
            return True
        self._notify("Nothing here opens its links: the link is copied.", title="Obsidian", severity="warning")
        copy(link)
        return False


@dataclass(frozen=True, slots=True)
class EditorCommand:
    """What to run. `windowed` editors have their own window and leave the terminal alone."""

    argv: tuple[str, ...]
    windowed: bool


def editor_command(
    setting: str,
    environment: Mapping[str, str],
    which: Callable[[str], str | None],
    file: Path,
    line: int,
    *,
    platform: str = sys.platform,
) -> EditorCommand:
    """The command that opens `file` at `line`: the setting, else $VISUAL, else $EDITOR, else one that is installed.

    Raises SettingsError for a command line that cannot be read, ExcerptError where there is no editor.
    """
    words = _chosen(setting, environment, which, platform)
    name = _name(words[0])
    return EditorCommand((*words, *_place(name, str(file), line, platform)), name in _WINDOWED.split())


def _name(program: str) -> str:
    """What a program is called, without its folder, the ending that Windows gives it, and the 64 that JetBrains do."""
    name = re.sub(r"\.(exe|cmd|bat|sh)$", "", re.split(r"[/\\]", program)[-1].lower())
    return name.removesuffix("64") if name.removesuffix("64") in _JETBRAINS.split() else name


def _chosen(
    setting: str, environment: Mapping[str, str], which: Callable[[str], str | None], platform: str
) -> list[str]:
    command = setting or environment.get("VISUAL", "") or environment.get("EDITOR", "")
    words = [command] if command and which(command) is not None else _words(command, platform)
    if words:
        if which(words[0]) is None:
            raise ExcerptError(f"There is no program {words[0]} to edit with.", "Set $EDITOR, or screen.editor.")
        return words
    for fallback in _FALLBACKS:
        if which(fallback):
            return [fallback]
    raise ExcerptError("No editor is set.", "Set $EDITOR, or screen.editor in the settings.")


def _words(command: str, platform: str) -> list[str]:
    """A command line's words. On Windows a backslash is part of a path."""
    try:
        if platform != "win32":
            return shlex.split(command)
        return [word.strip('"') for word in shlex.split(command, posix=False)]
    except ValueError as error:
        raise SettingsError(f"The editor command {command!r} cannot be read: {error}.") from error


def _place(name: str, file: str, line: int, platform: str) -> tuple[str, ...]:
    """The arguments that name file and line; an unknown editor gets the file alone."""
    if name == "xed" and platform == "darwin":
        return ("--line", str(line), file)  # Xcode's, which is no kin of the one on Linux
    if name in _PLUS.split():
        return (f"+{line}", file)
    if name in _COLON.split():
        return (f"{file}:{line}",)
    if name in _GOTO.split():
        return ("--goto", f"{file}:{line}")
    if name in _DASH_LINE.split():
        return ("--line", str(line), file)
    return {"jed": (file, "-g", str(line)), "notepad++": (f"-n{line}", file)}.get(name, (file,))


AS_TEXT = ("text", "canvas", "drawing", "notebook")
"""Kinds of attachments that an editor shows."""
_AT_PAGE = {
    "zathura": ("-P", "{page}", "{file}"),
    "okular": ("-p", "{page}", "{file}"),
    "evince": ("-i", "{page}", "{file}"),
    "atril": ("-i", "{page}", "{file}"),
    "xreader": ("-i", "{page}", "{file}"),
    "sioyek": ("--page", "{page}", "{file}"),
    "mupdf": ("{file}", "{page}"),
}
"""What shows a PDF at a page, which the system's own way to open a file does not know of."""


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
    """The command that shows an attachment at a place: the setting, else a viewer that is installed, else the system's
    own; None where there is none, and over ssh.

    `{file}`, `{page}` (1 where the place has no number) and `{place}` stand for what is shown. Raises ExcerptError for
    a setting that cannot be read or run, SettingsError for one by which a part of a file's name would be run.
    """
    values = {"{file}": str(file), "{page}": str(number_of(place) or 1), "{place}": place}
    words = tuple(_words(setting, platform))
    if words:
        if _runs_names(words):
            raise SettingsError(
                f"screen.viewers.{kind} puts a file's name into a command line, which would run a part of it.",
                "Write {file} as a word of its own, for a shell so: sh -c 'zathura \"$1\"' sh {file}",
            )
        if which(words[0]) is None:
            raise ExcerptError(f"There is no program {words[0]}.", f"Set screen.viewers.{kind} to one that there is.")
        return tuple(_filled(word, values) for word in words) + (() if "{file}" in setting else (str(file),))
    opener = link_opener(environment, which, platform)
    if opener is None:
        return None
    for name, arguments in _AT_PAGE.items() if kind == "pdf" and platform != "win32" else ():
        if which(name):
            return (name, *(_filled(word, values) for word in arguments))
    return (*opener, str(file))


_OF_NAMES = re.compile(r"\{(?:file|place)\}")
_OF_A_COMMAND_LINE = re.compile(r"[\s;&|<>$`()\"']")
"""What no word has that is a file's name and little else: it would be a command line of a shell or another program."""
_SHELLS = "sh bash dash ash zsh ksh mksh fish csh tcsh elvish nu xonsh su"
_JOINING = "cmd powershell pwsh ssh"
"""Programs that make a command line of all their words, for a shell."""


def _runs_names(words: Sequence[str]) -> bool:
    """Return whether the name of a file would be a part of a command line, where it could be a command itself."""
    for at, word in enumerate(words):
        name, behind = _name(word), words[at + 1 :]
        if name in _JOINING.split() and not any(option.lower().startswith("-fi") for option in behind):
            return True  # without {file}, the file is put behind
        if name in _SHELLS.split():
            script = next(
                (number for number, option in enumerate(behind, 1) if re.fullmatch(r"-\w*c\w*|--command", option)), None
            )
            if script is not None and _OF_NAMES.search("".join(behind[script : script + 1])):
                return True
        if _OF_NAMES.search(word) and _OF_A_COMMAND_LINE.search(_OF_NAMES.sub("", word)):
            return True
    return False


def _filled(word: str, values: Mapping[str, str]) -> str:
    """A word of a command with what its names stand for; what is filled in is not looked at again."""
    return re.sub(r"\{(?:file|page|place)\}", lambda found: values[found[0]], word)


def obsidian_vault(vault: Path) -> Path:
    """The vault of Obsidian that `vault` is, or is a folder of. Raises ExcerptError where there is none."""
    for folder in (vault, *vault.parents):
        if (folder / ".obsidian").is_dir():
            return folder
    raise ExcerptError(
        f"{vault.name} is no vault of Obsidian's: it has no .obsidian folder.", "Open the folder in Obsidian once."
    )


def note_link(root: Path, note: Path, headings: Sequence[str]) -> str:
    """The link to `note` in the Obsidian vault `root`, at the section that `headings` lead to."""
    file = note.relative_to(root).as_posix()
    if file.lower().endswith(".md"):
        file = file[:-3]
    named = (" ".join(_NOT_IN_A_HEADING.sub(" ", heading).split()) for heading in headings)
    place = "".join(f"#{heading}" for heading in named if heading)
    return f"obsidian://open?vault={_encoded(root.name)}&file={_encoded(file + place)}"


def _encoded(text: str) -> str:
    """Every reserved character too: a slash is %2F, a space %20. A name that is not UTF-8 goes as its bytes."""
    return quote(os.fsencode(text) if not _is_utf8(text) else text, safe="")


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def link_opener(
    environment: Mapping[str, str], which: Callable[[str], str | None], platform: str
) -> tuple[str, ...] | None:
    """The program that opens a link, on `platform` (as `sys.platform`); None where there is none, and over ssh, where
    it would open on the machine at the other end. None is a shell, since a link has an & in it."""
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
    """Whether the program took the link, as far as it says so within a moment. Waits, so it is for a thread."""
    try:
        opened = subprocess.Popen(
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
        return opened.wait(_PATIENCE) == 0
    return True
