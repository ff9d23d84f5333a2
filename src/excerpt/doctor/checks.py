"""The doctor's checks apart from the index: versions, settings, folders, vault, terminal and tools."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path, PurePosixPath

from excerpt import __version__, known_vaults
from excerpt.errors import ExcerptError, ModelError, SettingsError, VaultError
from excerpt.processes import program_command
from excerpt.settings import Paths, ScreenSettings, Settings, load_settings, open_vault
from excerpt.state_files import open_to_others
from excerpt.text.display import format_count
from excerpt.tui.clipboard import OSC_LIMIT, plan_copy
from excerpt.tui.keymap import find_unreliable_keys, validate_keymap
from excerpt.tui.programs import editor_command
from excerpt.vault.mounts import is_silent
from excerpt.vault.scan import IGNORE_FILES, Scan, scan

# --- findings ---------------------------------------------------------------------------------------------------------
# A finding: what was checked, how it is, and what to do about it.


class Level(StrEnum):
    """Severity of a finding."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding: `what` is a sentence on what was found and where, `todo` what to do, "" for nothing."""

    level: Level
    what: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """The findings about one subject, such as the vault, its index or the terminal."""

    name: str
    findings: tuple[Finding, ...]

    @property
    def has_problem(self) -> bool:
        return any(finding.level is Level.PROBLEM for finding in self.findings)


def ok(text: str) -> Finding:
    return Finding(Level.OK, text)


def warning(text: str, todo: str = "") -> Finding:
    return Finding(Level.WARNING, text, todo)


def problem(text: str, todo: str = "") -> Finding:
    return Finding(Level.PROBLEM, text, todo)


def format_names(names: Sequence[str], limit: int = 3) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more:,} more" if more > 0 else "")


def megabytes(size: int) -> str:
    """Format a size in bytes: `229 MB`, `0.5 MB`, `2 kB`."""
    if size < 100_000:
        return f"{size / 1e3:,.0f} kB"
    return f"{size / 1e6:,.1f} MB" if size < 10e6 else f"{size / 1e6:,.0f} MB"


# --- versions ---------------------------------------------------------------------------------------------------------
# The versions of the program and of its libraries, pinned and installed.

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)\s*(?:\[[^\]]*\])?\s*\(?(?P<range>[^;)]*)\)?\s*(?P<marker>;.*)?")
_REINSTALL = "Install excerpt again to get the libraries that it needs."


def versions() -> Iterator[Finding]:
    system = f"{platform.system()} {platform.release()} ({platform.machine()})"
    python = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    yield ok(f"excerpt {__version__}, {python}, {system}")
    if not (3, 11) <= sys.version_info[:2] < (3, 15):
        yield problem("excerpt needs Python 3.11 to 3.14.", "Install it with one of these.")
    try:
        required = metadata.requires("excerpt") or []
    except metadata.PackageNotFoundError:
        required = []
    yield from libraries(required)


def libraries(required: Iterable[str]) -> Iterator[Finding]:
    """Check `required` packages, given as in a package's metadata: `textual==8.2.8`, `numpy>=2.0`."""
    satisfied = 0
    pinned: list[str] = []
    for line in required:
        match = _REQUIREMENT.fullmatch(line.strip())
        if match is None or match["marker"]:
            continue
        name, required_range = match["name"], match["range"].strip()
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield problem(f"The library {name} is not installed.", _REINSTALL)
            continue
        if required_range.startswith("==") and version != required_range[2:].strip():
            yield problem(f"The library {name} is {version}; excerpt needs {required_range[2:].strip()}.", _REINSTALL)
            continue
        satisfied += 1
        pinned += [f"{name} {version}"] if required_range.startswith("==") else []
    if satisfied:
        yield ok(
            f"{format_count(satisfied, 'library', 'libraries')} installed; pinned ones: {', '.join(pinned) or 'none'}"
        )


# --- settings, model and tokenizer ------------------------------------------------------------------------------------
# The settings files, the embedding model and the tokenizer.


def read_settings(paths: Paths, vault: Path | None) -> tuple[Settings, tuple[Finding, ...]]:
    """Return the settings, as far as their files are readable, and findings about each file."""
    files = [("for all vaults", paths.settings_file)]
    if vault is not None:
        files.append(("of this vault", paths.vault_settings_file(vault)))
    valid_files: list[Path] = []
    findings: list[Finding] = []
    for owner, file in files:
        try:
            _look_at(file)
        except SettingsError as error:
            findings.append(problem(error.message, error.hint or "Correct it: `excerpt config --edit`."))
        else:
            valid_files.append(file)
            state = "is valid" if file.exists() else "does not exist: every setting has its default"
            findings.append(ok(f"The settings file {owner} {state}: {file}"))
    return load_settings(*valid_files), tuple(findings)


def _look_at(file: Path) -> None:
    from excerpt.vault.scan import patterns_of

    settings = load_settings(file)
    try:
        patterns_of(settings.vault)
    except SettingsError as error:
        raise SettingsError(f"{file}: {error.message}", error.hint) from error


def tokenizer(name: str, of_index: str) -> Finding:
    from excerpt.text.tokens import open_tokenizer

    try:
        count = open_tokenizer(name).count("one two three")
    except SettingsError as error:
        return problem(error.message, error.hint)
    if of_index and of_index != name:
        return warning(
            f"The tokenizer is {name}; the index counts by {of_index}.",
            "The next `excerpt index` counts the tokens again.",
        )
    return ok(f"The tokenizer is {name}, and it counts" if count else f"The tokenizer is {name}")


def model(name: str, of_index: str) -> Iterator[Finding]:
    """Check the configured embedding model, loaded without network access, against the model of the index."""
    # Loading a model would download missing files; the doctor only checks local ones.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from excerpt.index.embed import open_embedder
    from excerpt.index.postings import EMBEDDED_TEXT_VERSION

    label = name or "the one that ships with excerpt"
    try:
        embedder = open_embedder(name)
    except ModelError as error:
        yield problem(error.message, error.hint)
        return
    yield ok(f"The embedding model is {label}: {embedder.dimensions} dimensions, id {embedder.id}")
    if of_index and of_index != f"{embedder.id}/{EMBEDDED_TEXT_VERSION}":
        yield warning(
            "The index has the vectors of another model.", "The next `excerpt index` rebuilds them from the catalog."
        )


# --- folders and room -------------------------------------------------------------------------------------------------
# Whether excerpt's folders are writable and have enough space.

_ELSEWHERE = "Give permission there, or set EXCERPT_HOME to a folder of yours."
_MIN_FREE = 16_000_000
_ENOUGH_FREE = 100_000_000


def folders(paths: Paths, index: Path | None, index_size: int) -> Iterator[Finding]:
    """Check the folders of settings, index, memories and state; `index_size` is in bytes."""
    for name, folder in (
        ("Settings", paths.config),
        ("Indexes", paths.cache),
        ("Memories", paths.data),
        ("History and copies", paths.state),
    ):
        yield _writable(name, folder)
    yield from _private(paths)
    yield from _free(paths.cache, index_size)
    if index is not None and _on_network(index):
        yield warning(
            f"The index is on a network drive or a file system in user space: {index}",
            "Its locks may fail there, and a power cut may damage it. Set EXCERPT_HOME (or XDG_CACHE_HOME) to a "
            "folder of a local disk.",
        )


def _writable(name: str, folder: Path) -> Finding:
    if not folder.is_absolute():
        relative_hint = f"{name}: {folder} is relative to the current folder, as no home folder is known."
        return warning(relative_hint, "Set HOME, or set EXCERPT_HOME to an absolute path.")
    existing = _nearest(folder)
    try:
        if not stat.S_ISDIR(existing.stat().st_mode):
            return problem(f"{name}: {existing} is a file, not a folder.", _ELSEWHERE)
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        return problem(f"{name}: {existing} cannot be written: {error.strerror or error}.", _ELSEWHERE)
    return ok(f"{name}: {folder}" + ("" if existing == folder else " (does not exist yet; excerpt can create it)"))


def _private(paths: Paths) -> Iterator[Finding]:
    """Check whether other users may read the folders; not on Windows."""
    open_paths = [str(path) for folder in paths.folders for path in open_to_others(folder)]
    if open_paths:
        files = format_count(len(open_paths), "file or folder", "files and folders")
        yield warning(
            f"Other users may read {files}: {format_names(open_paths)}.",
            "`excerpt doctor --fix` closes them if it can.",
        )
    elif os.name == "posix" and any(folder.exists() for folder in paths.folders):
        yield ok("No other user can read them")


def _nearest(folder: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    return next((path for path in (folder, *folder.parents) if os.path.lexists(path)), Path())


def _free(cache: Path, index_size: int) -> Iterator[Finding]:
    try:
        free = shutil.disk_usage(_nearest(cache)).free
    except OSError:
        return
    message = f"{megabytes(free)} are free for the index, which takes {megabytes(index_size)}"
    todo = "Make room on that disk, or set EXCERPT_HOME to a folder of another one."
    if free < _MIN_FREE:
        yield problem(f"{message}: too little to write anything.", todo)
    elif free < max(_ENOUGH_FREE, index_size):
        yield warning(f"{message}: too little to rebuild it beside the old one.", todo)
    else:
        yield ok(message)


def _on_network(folder: Path) -> bool:
    try:
        return is_silent(_nearest(folder).resolve())
    except (OSError, RuntimeError):
        return False


# --- vault ------------------------------------------------------------------------------------------------------------
# The vault: whether it is readable, which files are left out, problematic names, how changes are detected.

_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")
_MAX_ENTRIES = 100_000


@dataclass(frozen=True, slots=True)
class VaultCheck:
    """The result of a vault scan; `vault` and `scan` are None if the vault cannot be read."""

    findings: tuple[Finding, ...]
    vault: Path | None = None
    scan: Scan | None = None


def check_vault(folder: Path, settings: Settings, watches: int | None) -> VaultCheck:
    """Check the vault at `folder`; `watches` is how many folders the system watches per user, None without a limit."""
    try:
        vault = open_vault(folder)
        scan_result = scan(vault, settings.vault)
    except (VaultError, SettingsError) as error:
        return VaultCheck((problem(error.message, error.hint),))
    findings = [
        _notes(vault, scan_result, settings),
        *_skipped_files(scan_result),
        *_colliding([file.path for file in scan_result.files]),
        _changes(vault, len(scan_result.folders), watches),
    ]
    return VaultCheck(tuple(findings), vault, scan_result)


def orphaned_vaults(paths: Paths, vault: Path | None) -> Iterator[Finding]:
    """Yield findings about memories of vaults that no longer exist, with the command that takes them over."""
    for former in known_vaults.orphaned_vaults(paths, vault):
        command = known_vaults.command_for(former, vault if former.is_like else None)
        if former.is_like:
            yield warning(
                f"{former.user_data} of {former.path}, probably this vault before it moved.",
                f"To transfer them: {command}",
            )
        elif former.path:
            yield warning(
                f"{former.user_data} of {former.path}, which no longer exists.", f"If it has moved: {command}"
            )
        else:
            text = f"{former.user_data} of an unknown vault, in the folder {former.slug}."
            yield warning(text, f"If it has moved: {command}")


def watch_limit() -> int | None:
    """Return how many folders Linux watches for one user, None if unknown."""
    try:
        return int(_WATCHES.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _notes(vault: Path, scan_result: Scan, settings: Settings) -> Finding:
    if scan_result.files:
        size = megabytes(sum(file.size for file in scan_result.files))
        folders = format_count(len(scan_result.folders), "folder")
        return ok(f"{format_count(len(scan_result.files), 'note')} ({size}) in {folders}: {vault}")
    suffixes = tuple(extension.lower() for extension in settings.vault.extensions)
    left_out = sum(1 for _ in _walk_vault(vault, suffixes))
    if not left_out:
        kinds = ", ".join(settings.vault.extensions)
        return warning(f"There is no note in {vault}: no file ends in {kinds}.", "Other kinds: vault.extensions.")
    rules = " or ".join((*IGNORE_FILES, "vault.include and vault.exclude of the settings"))
    return problem(f"All notes of {vault} are left out: {format_count(left_out, 'file')}.", f"Check {rules}.")


def _walk_vault(vault: Path, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield the names of files with a note's suffix, whatever the ignore rules; stops after about `_MOST_WALKED`."""
    entry_count = 0
    for _, folders, files in os.walk(vault):
        folders[:] = [name for name in folders if not name.startswith(".")]
        entry_count += len(files)
        yield from (name for name in files if name.lower().endswith(suffixes) and not name.startswith("."))
        if entry_count > _MAX_ENTRIES:
            return


def _skipped_files(scan_result: Scan) -> Iterator[Finding]:
    """Yield findings about skipped files that would otherwise be notes, by reason."""
    by_reason: dict[str, list[str]] = {}
    for skipped in scan_result.skipped:
        by_reason.setdefault(skipped.reason, []).append(skipped.path)
    for reason, paths in sorted(by_reason.items()):
        text = f"Skipped: {format_names(paths)}. {reason}"
        if "out of the vault" in reason:
            yield warning(text, "Links out of a vault are never followed; to read what is there, open it as a vault.")
        elif "not valid UTF-8" in reason:
            yield warning(text, "Rename it, with a tool such as convmv, to have it read.")
        elif "within the vault" in reason:
            yield ok(text)
        elif all(PurePosixPath(path).name in IGNORE_FILES for path in paths):
            yield warning(f"Used in part: {format_names(paths)}. {reason}", "Its other patterns are used. Shorten it.")
        elif "link to nothing" in reason:
            yield warning(text, "Correct the link, or remove it.")
        else:
            yield warning(text, "Check its permissions.")


def _colliding(paths: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding about paths that differ only in case or Unicode composition, so that some systems merge them."""
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(unicodedata.normalize("NFC", path).casefold(), []).append(path)
    pairs = [" and ".join(same) for same in by_name.values() if len(same) > 1]
    if pairs:
        yield warning(
            f"Names that differ only in case or accents: {format_names(pairs)}.",
            "On Windows, macOS and many synchronised drives one of them replaces the other: rename it.",
        )


def _changes(vault: Path, folders: int, watches: int | None) -> Finding:
    every = "is checked every few seconds, or less often if that takes long"
    if is_silent(vault):
        return warning(
            f"The vault's drive does not report changes: it {every}.", "excerpt shows changes a little later."
        )
    if sys.platform.startswith("linux") and watches is not None and folders >= watches:
        return warning(
            f"It has {format_count(folders, 'folder')} and the system allows {watches:,} watches per user: it {every}.",
            f"Raise the limit, now and permanently: `sudo sysctl fs.inotify.max_user_watches={2 * folders}`, and the "
            "same line in /etc/sysctl.d/.",
        )
    return ok(
        "Changes are noticed at once"
        + (f": {folders:,} of {watches:,} watches" if watches is not None and folders else "")
    )


# --- terminal ---------------------------------------------------------------------------------------------------------
# What the terminal reports about itself, and what that means for the app.

RunCommand = Callable[[tuple[str, ...]], str]
"""Runs a program and returns its output, "" on failure."""

_NARROW, _SHORT = 60, 12
_IN_PIPES = "`excerpt search` and `excerpt pack` need no terminal."
_COMMAND_SECONDS = 2.0


def run_command(argv: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(program_command(argv), capture_output=True, timeout=_COMMAND_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""


def terminal_size() -> tuple[int, int] | None:
    """Return columns and lines of the terminal, None without one."""
    for stream in (sys.__stdout__, sys.__stderr__, sys.__stdin__):
        with suppress(OSError, ValueError, AttributeError):
            size = os.get_terminal_size(stream.fileno())  # type: ignore[union-attr]
            return size.columns, size.lines
    return None


def terminal(
    environment: Mapping[str, str], platform: str, size: tuple[int, int] | None, encoding: str, run: RunCommand
) -> Iterator[Finding]:
    """Check the terminal; `size` is None without one, `encoding` is that of the output."""
    yield _kind(environment, platform)
    yield _size(size)
    yield _colours(environment)
    yield _encoding(environment, platform, encoding)
    if environment.get("TMUX"):
        yield from _tmux(run)
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        yield ok("Over ssh: copies go through tmux or the terminal; tools would fill this machine's clipboard")
    if environment.get("WT_SESSION"):
        yield ok("Windows Terminal: it accepts copies by OSC 52; it uses ctrl+shift and alt+enter keys itself")


def _kind(environment: Mapping[str, str], platform: str) -> Finding:
    term = environment.get("TERM", "")
    program = environment.get("TERM_PROGRAM", "")
    if term == "dumb":
        return warning("TERM is dumb: the app cannot be drawn here.", f"Use another terminal; {_IN_PIPES}")
    if not term and platform != "win32":
        return warning("TERM is not set: the app may be drawn wrongly.", f"Set it, as in TERM=xterm; {_IN_PIPES}")
    return ok(f"TERM is {term or 'not set, as usual on Windows'}" + (f", in {program}" if program else ""))


def _size(size: tuple[int, int] | None) -> Finding:
    if size is None:
        return ok(f"There is no terminal here: the app needs one, {_IN_PIPES[:-1]}")
    columns, lines = size
    if not columns or not lines:
        return ok("The terminal does not report its size")
    if columns < _NARROW or lines < _SHORT:
        return warning(
            f"{columns} columns and {lines} lines are few.", f"excerpt needs {_NARROW} by {_SHORT} to show everything."
        )
    position = "beside" if columns >= 100 else "below"
    return ok(f"{columns} columns and {lines} lines: the side panel is {position} the list")


def _colours(environment: Mapping[str, str]) -> Finding:
    if environment.get("NO_COLOR"):
        return ok("NO_COLOR is set: the app is drawn without colours")
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit") or environment.get("WT_SESSION"):
        return ok("16 million colours: themes look as designed")
    term = environment.get("TERM", "")
    if "256color" in term or environment.get("TERM_PROGRAM") == "Apple_Terminal":
        return ok("256 colours: themes look almost as designed (set COLORTERM=truecolor if the terminal supports it)")
    return ok("16 colours reported: themes are coarse (set COLORTERM=truecolor if the terminal supports it)")


def _encoding(environment: Mapping[str, str], platform: str, encoding: str) -> Finding:
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""
    if platform == "win32" or "utf-8" in locale.lower() or "utf8" in locale.lower():
        return ok(f"The locale is {locale}: it supports every script" if locale else "Text is written as UTF-8")
    locale_text = f"The locale is {locale or 'not set'}, which is not UTF-8 (text is written as {encoding})"
    return warning(f"{locale_text}: symbols and other scripts may be garbled.", "Set LANG, as in LANG=C.UTF-8.")


def _tmux(run: RunCommand) -> Iterator[Finding]:
    clipboard = run(("tmux", "show-options", "-sv", "set-clipboard")) or run(("tmux", "show", "-gv", "set-clipboard"))
    passthrough = run(("tmux", "show-options", "-gv", "allow-passthrough"))
    state = f"tmux: set-clipboard {clipboard or 'unknown'}, allow-passthrough {passthrough or 'off'}"
    if clipboard == "off":
        yield warning(f"{state}: copies stay in tmux's own buffer.", "Put `set -s set-clipboard on` into ~/.tmux.conf.")
    else:
        yield ok(f"{state}: tmux passes copies on to the terminal, if it accepts them")


# --- clipboard, keys, editor ------------------------------------------------------------------------------------------
# The clipboard, the user's key bindings and the editor.

FindProgram = Callable[[str], str | None]

_TOOLS = "Install a tool that fills the clipboard (wl-clipboard, xclip or xsel)"


def clipboard(environment: Mapping[str, str], find: FindProgram, platform: str, copies: Path) -> Iterator[Finding]:
    """Check how copies reach the clipboard, up to which size, and where they are saved in any case."""
    chosen = plan_copy(environment, find, platform, 0)
    remote = "SSH_CONNECTION" in environment or "SSH_TTY" in environment
    for tool in chosen.tools:
        if tool.name == "tmux":
            yield ok("Copies of any length go to tmux, and on to the terminal if both allow it")
        else:
            yield ok(f"Copies of any length go to the clipboard by {tool.name}")
    if chosen.osc:
        route = "the terminal by OSC 52" + (" through tmux" if chosen.osc == "tmux" else "")
        limit = f"up to {OSC_LIMIT:,} bytes, unconfirmed"
        if remote:
            yield ok(f"Copies go to {route}: {limit}")
        else:
            yield warning(f"Copies go to {route}: {limit}.", f"{_TOOLS}, if `ctrl+y` seems to do nothing.")
    yield ok(f"Every copy is also saved as a file: {copies}")


def keys(screen: ScreenSettings) -> Iterator[Finding]:
    """Check the key bindings of the settings."""
    keymap, problems = validate_keymap(screen.keys)
    todo = "Change it under [screen.keys] in the settings; `excerpt config --path` prints their path."
    for sentence in problems:
        yield problem(sentence, todo)
    for sentence in find_unreliable_keys(keymap):
        yield warning(sentence, todo)
    if not problems:
        changed = f"{len(keymap)} changed by the settings" if keymap else "all defaults"
        yield ok(f"Keys: {changed}, no conflicts")


def editor(setting: str, environment: Mapping[str, str], find: FindProgram) -> Iterator[Finding]:
    """Check which command opens a note, and whether it is given the line."""
    try:
        first, second = (editor_command(setting, environment, find, Path("note.md"), line) for line in (1, 2))
    except ExcerptError as error:
        yield problem(error.message, error.hint)
        return
    from_where = "screen.editor" if setting else "$VISUAL" if environment.get("VISUAL") else "$EDITOR"
    if not (setting or environment.get("VISUAL") or environment.get("EDITOR")):
        from_where = "none is set, this one is installed"
    program = find(first.argv[0]) or first.argv[0]
    if first.argv == second.argv:
        todo = "To open notes at the line, choose an editor that the guide's page Open a note elsewhere lists."
        yield warning(f"The editor is {program} ({from_where}); how to give it a line is not known.", todo)
    else:
        yield ok(f"The editor is {program} ({from_where}), opened at the line")
