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
from excerpt.text.display import counted
from excerpt.tui.clipboard import OSC_LIMIT, plan
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


def ok(what: str) -> Finding:
    return Finding(Level.OK, what)


def warning(what: str, todo: str = "") -> Finding:
    return Finding(Level.WARNING, what, todo)


def problem(what: str, todo: str = "") -> Finding:
    return Finding(Level.PROBLEM, what, todo)


def named(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def megabytes(size: int) -> str:
    """Format a size in bytes: `229 MB`, `0.5 MB`, `2 kB`."""
    if size < 100_000:
        return f"{size / 1e3:,.0f} kB"
    return f"{size / 1e6:,.1f} MB" if size < 10e6 else f"{size / 1e6:,.0f} MB"


# --- versions ---------------------------------------------------------------------------------------------------------
# The versions of the program and of its libraries, pinned and installed.

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)\s*(?:\[[^\]]*\])?\s*\(?(?P<range>[^;)]*)\)?\s*(?P<marker>;.*)?")
_AGAIN = "Install excerpt again to get the libraries that it needs."


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
    fine = 0
    pinned: list[str] = []
    for line in required:
        found = _REQUIREMENT.fullmatch(line.strip())
        if found is None or found["marker"]:
            continue
        name, wanted = found["name"], found["range"].strip()
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield problem(f"The library {name} is not installed.", _AGAIN)
            continue
        if wanted.startswith("==") and version != wanted[2:].strip():
            yield problem(f"The library {name} is {version}; excerpt needs {wanted[2:].strip()}.", _AGAIN)
            continue
        fine += 1
        pinned += [f"{name} {version}"] if wanted.startswith("==") else []
    if fine:
        yield ok(f"{counted(fine, 'library', 'libraries')} installed; pinned ones: {', '.join(pinned) or 'none'}")


# --- settings, model and tokenizer ------------------------------------------------------------------------------------
# The settings files, the embedding model and the tokenizer.


def read_settings(where: Paths, vault: Path | None) -> tuple[Settings, tuple[Finding, ...]]:
    """Return the settings, as far as their files are readable, and findings about each file."""
    files = [("for all vaults", where.settings_file)]
    if vault is not None:
        files.append(("of this vault", where.vault_settings_file(vault)))
    good: list[Path] = []
    findings: list[Finding] = []
    for whose, file in files:
        try:
            _look_at(file)
        except SettingsError as error:
            findings.append(problem(error.message, error.hint or "Correct it: `excerpt config --edit`."))
        else:
            good.append(file)
            there = "is valid" if file.exists() else "does not exist: every setting has its default"
            findings.append(ok(f"The settings file {whose} {there}: {file}"))
    return load_settings(*good), tuple(findings)


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

    said = name or "the one that ships with excerpt"
    try:
        embedder = open_embedder(name)
    except ModelError as error:
        yield problem(error.message, error.hint)
        return
    yield ok(f"The embedding model is {said}: {embedder.dimensions} dimensions, id {embedder.id}")
    if of_index and of_index != f"{embedder.id}/{EMBEDDED_TEXT_VERSION}":
        yield warning(
            "The index has the vectors of another model.", "The next `excerpt index` rebuilds them from the catalog."
        )


# --- folders and room -------------------------------------------------------------------------------------------------
# Whether excerpt's folders are writable and have enough space.

_ELSEWHERE = "Give permission there, or set EXCERPT_HOME to a folder of yours."
_MIN_FREE = 16_000_000
_ENOUGH_FREE = 100_000_000


def folders(where: Paths, index: Path | None, index_size: int) -> Iterator[Finding]:
    """Check the folders of settings, index, memories and state; `index_size` is in bytes."""
    for name, folder in (
        ("Settings", where.config),
        ("Indexes", where.cache),
        ("Memories", where.data),
        ("History and copies", where.state),
    ):
        yield _writable(name, folder)
    yield from _private(where)
    yield from _free(where.cache, index_size)
    if index is not None and _on_network(index):
        yield warning(
            f"The index is on a network drive or a file system in user space: {index}",
            "Its locks may fail there, and a power cut may damage it. Set EXCERPT_HOME (or XDG_CACHE_HOME) to a "
            "folder of a local disk.",
        )


def _writable(name: str, folder: Path) -> Finding:
    if not folder.is_absolute():
        said = f"{name}: {folder} is relative to the current folder, as no home folder is known."
        return warning(said, "Set HOME, or set EXCERPT_HOME to an absolute path.")
    there = _nearest(folder)
    try:
        if not stat.S_ISDIR(there.stat().st_mode):
            return problem(f"{name}: {there} is a file, not a folder.", _ELSEWHERE)
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        return problem(f"{name}: {there} cannot be written: {error.strerror or error}.", _ELSEWHERE)
    return ok(f"{name}: {folder}" + ("" if there == folder else " (does not exist yet; excerpt can create it)"))


def _private(where: Paths) -> Iterator[Finding]:
    """Check whether other users may read the folders; not on Windows."""
    found = [str(path) for folder in where.folders for path in open_to_others(folder)]
    if found:
        files = counted(len(found), "file or folder", "files and folders")
        yield warning(f"Other users may read {files}: {named(found)}.", "`excerpt doctor --fix` closes them if it can.")
    elif os.name == "posix" and any(folder.exists() for folder in where.folders):
        yield ok("No other user can read them")


def _nearest(folder: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    return next((path for path in (folder, *folder.parents) if os.path.lexists(path)), Path())


def _free(cache: Path, index_size: int) -> Iterator[Finding]:
    try:
        free = shutil.disk_usage(_nearest(cache)).free
    except OSError:
        return
    said = f"{megabytes(free)} are free for the index, which takes {megabytes(index_size)}"
    todo = "Make room on that disk, or set EXCERPT_HOME to a folder of another one."
    if free < _MIN_FREE:
        yield problem(f"{said}: too little to write anything.", todo)
    elif free < max(_ENOUGH_FREE, index_size):
        yield warning(f"{said}: too little to rebuild it beside the old one.", todo)
    else:
        yield ok(said)


def _on_network(folder: Path) -> bool:
    try:
        return is_silent(_nearest(folder).resolve())
    except (OSError, RuntimeError):
        return False


# --- vault ------------------------------------------------------------------------------------------------------------
# The vault: whether it is readable, which files are left out, problematic names, how changes are detected.

_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")
_MAX_WALKED = 100_000


@dataclass(frozen=True, slots=True)
class VaultCheck:
    """The result of a vault scan; `vault` and `scan` are None if the vault cannot be read."""

    findings: tuple[Finding, ...]
    vault: Path | None = None
    scan: Scan | None = None


def look_at_vault(given: Path, settings: Settings, watches: int | None) -> VaultCheck:
    """Check the vault at `given`; `watches` is how many folders the system watches per user, None without a limit."""
    try:
        vault = open_vault(given)
        found = scan(vault, settings.vault)
    except (VaultError, SettingsError) as error:
        return VaultCheck((problem(error.message, error.hint),))
    findings = [
        _notes(vault, found, settings),
        *_not_read(found),
        *_colliding([file.path for file in found.files]),
        _changes(vault, len(found.folders), watches),
    ]
    return VaultCheck(tuple(findings), vault, found)


def orphaned_vaults(where: Paths, vault: Path | None) -> Iterator[Finding]:
    """Yield findings about memories of vaults that no longer exist, with the command that takes them over."""
    for former in known_vaults.orphaned_vaults(where, vault):
        command = known_vaults.command_for(former, vault if former.is_like else None)
        if former.is_like:
            yield warning(
                f"{former.kept} of {former.path}, probably this vault before it moved.", f"To transfer them: {command}"
            )
        elif former.path:
            yield warning(f"{former.kept} of {former.path}, which no longer exists.", f"If it has moved: {command}")
        else:
            what = f"{former.kept} of an unknown vault, in the folder {former.slug}."
            yield warning(what, f"If it has moved: {command}")


def watch_limit() -> int | None:
    """Return how many folders Linux watches for one user, None if unknown."""
    try:
        return int(_WATCHES.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _notes(vault: Path, found: Scan, settings: Settings) -> Finding:
    if found.files:
        size = megabytes(sum(file.size for file in found.files))
        folders = counted(len(found.folders), "folder")
        return ok(f"{counted(len(found.files), 'note')} ({size}) in {folders}: {vault}")
    suffixes = tuple(extension.lower() for extension in settings.vault.extensions)
    left_out = sum(1 for _ in _walked(vault, suffixes))
    if not left_out:
        kinds = ", ".join(settings.vault.extensions)
        return warning(f"There is no note in {vault}: no file ends in {kinds}.", "Other kinds: vault.extensions.")
    rules = " or ".join((*IGNORE_FILES, "vault.include and vault.exclude of the settings"))
    return problem(f"All notes of {vault} are left out: {counted(left_out, 'file')}.", f"Check {rules}.")


def _walked(vault: Path, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield the names of files with a note's suffix, whatever the ignore rules; stops after about `_MOST_WALKED`."""
    seen = 0
    for _, folders, files in os.walk(vault):
        folders[:] = [name for name in folders if not name.startswith(".")]
        seen += len(files)
        yield from (name for name in files if name.lower().endswith(suffixes) and not name.startswith("."))
        if seen > _MAX_WALKED:
            return


def _not_read(found: Scan) -> Iterator[Finding]:
    """Yield findings about skipped files that would otherwise be notes, by reason."""
    by_reason: dict[str, list[str]] = {}
    for one in found.skipped:
        by_reason.setdefault(one.reason, []).append(one.path)
    for reason, paths in sorted(by_reason.items()):
        what = f"Skipped: {named(paths)}. {reason}"
        if "out of the vault" in reason:
            yield warning(what, "Links out of a vault are never followed; to read what is there, open it as a vault.")
        elif "not valid UTF-8" in reason:
            yield warning(what, "Rename it, with a tool such as convmv, to have it read.")
        elif "within the vault" in reason:
            yield ok(what)
        elif all(PurePosixPath(path).name in IGNORE_FILES for path in paths):
            yield warning(f"Used in part: {named(paths)}. {reason}", "Its other patterns are used. Shorten it.")
        elif "link to nothing" in reason:
            yield warning(what, "Correct the link, or remove it.")
        else:
            yield warning(what, "Check its permissions.")


def _colliding(paths: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding about paths that differ only in case or Unicode composition, so that some systems merge them."""
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(unicodedata.normalize("NFC", path).casefold(), []).append(path)
    pairs = [" and ".join(same) for same in by_name.values() if len(same) > 1]
    if pairs:
        yield warning(
            f"Names that differ only in case or accents: {named(pairs)}.",
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
            f"It has {counted(folders, 'folder')} and the system allows {watches:,} watches per user: it {every}.",
            f"Raise the limit, now and permanently: `sudo sysctl fs.inotify.max_user_watches={2 * folders}`, and the "
            "same line in /etc/sysctl.d/.",
        )
    return ok(
        "Changes are noticed at once"
        + (f": {folders:,} of {watches:,} watches" if watches is not None and folders else "")
    )


# --- terminal ---------------------------------------------------------------------------------------------------------
# What the terminal reports about itself, and what that means for the app.

Ask = Callable[[tuple[str, ...]], str]
"""Runs a program and returns its output, "" on failure."""

_NARROW, _SHORT = 60, 12
_IN_PIPES = "`excerpt search` and `excerpt pack` need no terminal."
_ASK_SECONDS = 2.0


def ask(argv: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(program_command(argv), capture_output=True, timeout=_ASK_SECONDS, check=False)
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
    environment: Mapping[str, str], platform: str, size: tuple[int, int] | None, encoding: str, ask: Ask
) -> Iterator[Finding]:
    """Check the terminal; `size` is None without one, `encoding` is that of the output."""
    yield _kind(environment, platform)
    yield _size(size)
    yield _colours(environment)
    yield _encoding(environment, platform, encoding)
    if environment.get("TMUX"):
        yield from _tmux(ask)
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
    beside = "beside" if columns >= 100 else "below"
    return ok(f"{columns} columns and {lines} lines: the side panel is {beside} the list")


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
    shown = f"The locale is {locale or 'not set'}, which is not UTF-8 (text is written as {encoding})"
    return warning(f"{shown}: symbols and other scripts may be garbled.", "Set LANG, as in LANG=C.UTF-8.")


def _tmux(ask: Ask) -> Iterator[Finding]:
    clipboard = ask(("tmux", "show-options", "-sv", "set-clipboard")) or ask(("tmux", "show", "-gv", "set-clipboard"))
    through = ask(("tmux", "show-options", "-gv", "allow-passthrough"))
    said = f"tmux: set-clipboard {clipboard or 'unknown'}, allow-passthrough {through or 'off'}"
    if clipboard == "off":
        yield warning(f"{said}: copies stay in tmux's own buffer.", "Put `set -s set-clipboard on` into ~/.tmux.conf.")
    else:
        yield ok(f"{said}: tmux passes copies on to the terminal, if it accepts them")


# --- clipboard, keys, editor ------------------------------------------------------------------------------------------
# The clipboard, the user's key bindings and the editor.

FindProgram = Callable[[str], str | None]

_TOOLS = "Install a tool that fills the clipboard (wl-clipboard, xclip or xsel)"


def clipboard(environment: Mapping[str, str], which: FindProgram, platform: str, copies: Path) -> Iterator[Finding]:
    """Check how copies reach the clipboard, up to which size, and where they are saved in any case."""
    chosen = plan(environment, which, platform, 0)
    remote = "SSH_CONNECTION" in environment or "SSH_TTY" in environment
    for tool in chosen.tools:
        if tool.name == "tmux":
            yield ok("Copies of any length go to tmux, and on to the terminal if both allow it")
        else:
            yield ok(f"Copies of any length go to the clipboard by {tool.name}")
    if chosen.osc:
        how = "the terminal by OSC 52" + (" through tmux" if chosen.osc == "tmux" else "")
        limit = f"up to {OSC_LIMIT:,} bytes, unconfirmed"
        if remote:
            yield ok(f"Copies go to {how}: {limit}")
        else:
            yield warning(f"Copies go to {how}: {limit}.", f"{_TOOLS}, if `ctrl+y` seems to do nothing.")
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


def editor(setting: str, environment: Mapping[str, str], which: FindProgram) -> Iterator[Finding]:
    """Check which command opens a note, and whether it is given the line."""
    try:
        first, second = (editor_command(setting, environment, which, Path("note.md"), line) for line in (1, 2))
    except ExcerptError as error:
        yield problem(error.message, error.hint)
        return
    from_where = "screen.editor" if setting else "$VISUAL" if environment.get("VISUAL") else "$EDITOR"
    if not (setting or environment.get("VISUAL") or environment.get("EDITOR")):
        from_where = "none is set, this one is installed"
    program = which(first.argv[0]) or first.argv[0]
    if first.argv == second.argv:
        todo = "To open notes at the line, choose an editor that the guide's page Open a note elsewhere lists."
        yield warning(f"The editor is {program} ({from_where}); how to give it a line is not known.", todo)
    else:
        yield ok(f"The editor is {program} ({from_where}), opened at the line")
