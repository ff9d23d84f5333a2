"""The checks of `excerpt doctor` besides the index: versions, settings, folders, vault, terminal and tools."""

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
from typing import TYPE_CHECKING

from excerpt import __version__, known_vaults
from excerpt.errors import ExcerptError, ModelError, SettingsError, VaultError
from excerpt.index.catalog import CATALOG_FILE
from excerpt.processes import program_command
from excerpt.settings import Paths, ScreenSettings, Settings, load_settings, open_vault, vault_slug
from excerpt.state_files import find_shared_paths
from excerpt.store.address import is_address, parse_address
from excerpt.text.display import format_count
from excerpt.tui.clipboard import OSC_LIMIT, plan_copy
from excerpt.tui.keymap import find_unreliable_keys, validate_keymap
from excerpt.tui.programs import editor_command
from excerpt.vault.mounts import lacks_change_events
from excerpt.vault.readers.registry import describe_unread_files, kind_of_file
from excerpt.vault.scan import IGNORE_FILES, Scan, scan

if TYPE_CHECKING:
    from excerpt.encoders.interface import PassageEmbedder

# --- findings ---------------------------------------------------------------------------------------------------------
# A finding says what a check has found, how severe it is, and what to do about it.


class Severity(StrEnum):
    """Severity of a finding."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: `what` is a sentence about what was found, `todo` what to do about it ("" for nothing)."""

    level: Severity
    what: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """The findings about one subject, such as the vault, its index or the terminal."""

    name: str
    findings: tuple[Finding, ...]

    @property
    def has_problem(self) -> bool:
        return any(finding.level is Severity.PROBLEM for finding in self.findings)


def ok(text: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(Severity.OK, text)


def warning(text: str, todo: str = "") -> Finding:
    """Return a finding that restricts what works; `todo` says what to do."""
    return Finding(Severity.WARNING, text, todo)


def problem(text: str, todo: str = "") -> Finding:
    """Return a finding about something that does not work; `todo` says what to do."""
    return Finding(Severity.PROBLEM, text, todo)


def format_names(names: Sequence[str], limit: int = 3) -> str:
    """Return the first `limit` names and how many more there are: "a, b, c and 2 more"."""
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
_REINSTALL_HINT = "Install excerpt again to get the libraries that it needs."


def check_versions() -> Iterator[Finding]:
    """Check the versions of excerpt, Python and the libraries, and name those of SQLite and the system."""
    system = f"{platform.system()} {platform.release()} ({platform.machine()})"
    python = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    yield ok(f"excerpt {__version__}, {python}, {system}")
    if not (3, 11) <= sys.version_info[:2] < (3, 15):
        yield problem("excerpt needs Python 3.11 to 3.14.", "Install excerpt with one of these versions of Python.")
    try:
        required = metadata.requires("excerpt") or []
    except metadata.PackageNotFoundError:
        required = []
    yield from check_libraries(required)


def check_libraries(required: Iterable[str]) -> Iterator[Finding]:
    """Check that the `required` packages are installed, each given as in metadata: `textual==8.2.8`, `numpy>=2.0`."""
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
            yield problem(f"The library {name} is not installed.", _REINSTALL_HINT)
            continue
        if required_range.startswith("==") and version != required_range[2:].strip():
            yield problem(
                f"The library {name} is {version}; excerpt needs {required_range[2:].strip()}.", _REINSTALL_HINT
            )
            continue
        satisfied += 1
        pinned += [f"{name} {version}"] if required_range.startswith("==") else []
    if satisfied:
        yield ok(
            f"{format_count(satisfied, 'library is', 'libraries are')} installed; pinned versions:"
            f" {', '.join(pinned) or 'none'}"
        )


# --- settings, model and tokenizer ------------------------------------------------------------------------------------
# The settings files, the embedding model and the tokenizer.


def check_settings_files(paths: Paths, vault: Path | None) -> tuple[Settings, tuple[Finding, ...]]:
    """Load the settings files, leaving out invalid ones; return the settings, and a finding about each file."""
    files = [("for all vaults", paths.settings_file)]
    if vault is not None:
        files.append(("of this vault", paths.vault_settings_file(vault)))
    valid_files: list[Path] = []
    findings: list[Finding] = []
    for owner, file in files:
        try:
            _check_settings_file(file)
        except SettingsError as error:
            findings.append(problem(error.message, error.hint or "Correct it: `excerpt config --edit`."))
        else:
            valid_files.append(file)
            state = "is valid" if file.exists() else "does not exist: every setting has its default"
            findings.append(ok(f"The settings file {owner} {state}: {file}"))
    return load_settings(*valid_files), tuple(findings)


def _check_settings_file(file: Path) -> None:
    """Raise SettingsError if a settings file is not valid, also if it has an invalid pattern for files."""
    from excerpt.vault.scan import parse_settings_patterns

    settings = load_settings(file)
    try:
        parse_settings_patterns(settings.vault)
    except SettingsError as error:
        raise SettingsError(f"{file}: {error.message}", error.hint) from error


def check_tokenizer(name: str, index_tokenizer: str) -> Finding:
    """Check the tokenizer of the settings, and whether the index uses the same one ("" if there is no index)."""
    from excerpt.text.tokens import open_tokenizer

    try:
        count = open_tokenizer(name).count("one two three")
    except SettingsError as error:
        return problem(error.message, error.hint)
    if index_tokenizer and index_tokenizer != name:
        return warning(
            f"The tokenizer is {name}, but the index counts tokens by {index_tokenizer}.",
            "The next `excerpt index` counts the tokens again.",
        )
    return ok(f"The tokenizer is {name}, and it works" if count else f"The tokenizer is {name}")


def check_embedder(settings: Settings, paths: Paths, index: Path | None) -> Iterator[Finding]:
    """Open the embedder and the reranker of the settings, if there are any, and count what is embedded.

    A server that is named there is asked for one vector. `index` is the folder of the vault's index, None if no vault
    is known.
    """
    from excerpt.encoders.choice import open_embedder, open_reranker
    from excerpt.encoders.model_names import is_static_model, model_label

    try:
        if not is_static_model(settings.embedding.model):
            embedder = open_embedder(settings, paths=paths)
            label = model_label(settings.embedding.model)
            yield ok(f"The embedding model is {label}: {embedder.dimensions:,} dimensions, id {embedder.id}")
            if index is not None and (index / CATALOG_FILE).exists():
                yield _check_embedded(index, embedder)
        if open_reranker(settings, paths=paths) is not None:
            yield ok(f"The reranker is {model_label(settings.rerank.model)}")
    except ExcerptError as error:
        yield problem(error.message, error.hint)


def _check_embedded(index: Path, embedder: PassageEmbedder) -> Finding:
    from excerpt.index.embedding_run import count_embedded

    done, total = count_embedded(index, embedder)
    text = f"It has embedded {done:,} of {format_count(total, 'passage')}"
    if done == total:
        return ok(text)
    return warning(f"{text}; the others are found by their words.", "Open the app, or run `excerpt embedding --run`.")


def check_model(name: str, index_model: str) -> Iterator[Finding]:
    """Load the static embedding model `name` without network access, and compare it with the index's.

    `index_model` identifies the model that made the vectors of the index, "" if there is no index.
    """
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
    if index_model and index_model != f"{embedder.id}/{EMBEDDED_TEXT_VERSION}":
        yield warning(
            "The index has the vectors of another model.", "The next `excerpt index` rebuilds them from the catalog."
        )


# --- folders and room -------------------------------------------------------------------------------------------------
# Whether excerpt's folders are writable and have enough space.

_FOLDER_HINT = "Permit writing in this folder, or set EXCERPT_HOME to a folder of yours."
_MIN_FREE_BYTES = 16_000_000
_ENOUGH_FREE_BYTES = 100_000_000


def check_folders(paths: Paths, index: Path | None, index_size: int) -> Iterator[Finding]:
    """Check the folders that excerpt writes to: permissions, free space, and whether they are on a local disk.

    `index` is the folder of the vault's index, None if no vault is known; `index_size` is in bytes.
    """
    for name, folder in (
        ("Settings", paths.config),
        ("Indexes", paths.cache),
        ("Memories", paths.data),
        ("History and copies", paths.state),
    ):
        yield _check_writable(name, folder)
    yield from _check_private(paths)
    yield from _check_free_space(paths.cache, index_size)
    if index is not None and _is_on_network(index):
        yield warning(
            f"The index is on a network drive or a file system in user space ({index}): locks of its files may fail"
            " there, and a power cut may damage it.",
            "Set EXCERPT_HOME (or XDG_CACHE_HOME) to a folder of a local disk.",
        )


def _check_writable(name: str, folder: Path) -> Finding:
    """Check that `folder`, or the parent in which it will be created, can be written; `name` says what it is for."""
    if not folder.is_absolute():
        relative_hint = f"{name}: the path {folder} is relative to the current folder, as no home folder is known."
        return warning(relative_hint, "Set HOME, or set EXCERPT_HOME to an absolute path.")
    existing = _nearest_existing(folder)
    try:
        if not stat.S_ISDIR(existing.stat().st_mode):
            return problem(
                f"{name}: {existing} is a file, not a folder.",
                "Move the file, or set EXCERPT_HOME to a folder of yours.",
            )
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        return problem(f"{name}: {existing} cannot be written: {error.strerror or error}.", _FOLDER_HINT)
    return ok(f"{name}: {folder}" + ("" if existing == folder else " (does not exist yet; excerpt can create it)"))


def _check_private(paths: Paths) -> Iterator[Finding]:
    """Check whether other user may read the folders; not on Windows."""
    readable_paths = [str(path) for folder in paths.folders for path in find_shared_paths(folder)]
    if readable_paths:
        files = format_count(len(readable_paths), "file or folder", "files and folders")
        yield warning(
            f"Other users may read {files}: {format_names(readable_paths)}.",
            "Run `excerpt doctor --fix`: it takes this right from other users, if possible.",
        )
    elif os.name == "posix" and any(folder.exists() for folder in paths.folders):
        yield ok("No other user can read these folders")


def _nearest_existing(folder: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    return next((path for path in (folder, *folder.parents) if os.path.lexists(path)), Path())


def _check_free_space(cache: Path, index_size: int) -> Iterator[Finding]:
    """Check that the disk of the index has enough free space to rebuild it; `index_size` is in bytes."""
    try:
        free = shutil.disk_usage(_nearest_existing(cache)).free
    except OSError:
        return
    message = f"The index has {megabytes(index_size)}, and {megabytes(free)} are free on its disk"
    todo = "Free some space on that disk, or set EXCERPT_HOME to a folder of another disk."
    if free < _MIN_FREE_BYTES:
        yield problem(f"{message}: this is too little to write anything.", todo)
    elif free < max(_ENOUGH_FREE_BYTES, index_size):
        yield warning(f"{message}: this is too little to rebuild the index beside the old one.", todo)
    else:
        yield ok(message)


def _is_on_network(folder: Path) -> bool:
    try:
        return lacks_change_events(_nearest_existing(folder).resolve())
    except (OSError, RuntimeError):
        return False


# --- vault ------------------------------------------------------------------------------------------------------------
# The vault: whether it is readable, which files are left out, problematic names, how changes are detected.

_WATCH_LIMIT_FILE = Path("/proc/sys/fs/inotify/max_user_watches")
_MAX_WALKED_FILES = 100_000


@dataclass(frozen=True, slots=True)
class VaultCheck:
    """The findings about a vault, with its resolved folder and the result of scanning it.

    `vault` and `scan` are None if the vault cannot be read.
    """

    findings: tuple[Finding, ...]
    vault: Path | None = None
    scan: Scan | None = None


def check_vault(folder: Path, settings: Settings, watches: int | None) -> VaultCheck:
    """Scan the vault at `folder` and check its files; `watches` is the result of `watch_limit`."""
    try:
        vault = open_vault(folder)
        scan_result = scan(vault, settings.vault)
    except (VaultError, SettingsError) as error:
        return VaultCheck((problem(error.message, error.hint),))
    findings = [
        _check_notes(vault, scan_result, settings),
        *_check_skipped_files(scan_result),
        *_check_unread_files(scan_result),
        *_check_similar_names([file.path for file in scan_result.files]),
        _check_watching(vault, len(scan_result.folders), watches),
    ]
    return VaultCheck(tuple(findings), vault, scan_result)


def orphaned_vaults(paths: Paths, vault: Path | None) -> Iterator[Finding]:
    """Yield a finding about each missing folder of notes that has memories, with the command that transfers them.

    `vault` is the vault that is checked, to which the memories may belong.
    """
    recent = (each.path for each in known_vaults.recent_vaults(paths))
    in_stores = {vault_slug(parse_address(path).folder) for path in recent if is_address(path)}
    for former in known_vaults.orphaned_vaults(paths, vault):
        if former.slug in in_stores or is_address(former.path):
            continue
        command = known_vaults.adopt_command(former, vault if former.has_similar_names else None)
        if former.has_similar_names:
            yield warning(
                f"excerpt has data of {former.path}, which is probably this vault before it moved: {former.user_data}.",
                f"To transfer this data, run: {command}",
            )
        elif former.path:
            yield warning(
                f"excerpt has data of the vault {former.path}, which no longer exists: {former.user_data}.",
                f"If that vault has moved, run: {command}",
            )
        else:
            text = f"excerpt has data of an unknown vault, in the folder {former.slug}: {former.user_data}."
            yield warning(text, f"If you know where that vault is now, run: {command}")


def watch_limit() -> int | None:
    """Return how many folders Linux watches for one user; None if unknown, or on another system."""
    try:
        return int(_WATCH_LIMIT_FILE.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _check_notes(vault: Path, scan_result: Scan, settings: Settings) -> Finding:
    if scan_result.files:
        size = megabytes(sum(file.size for file in scan_result.files))
        folders = format_count(len(scan_result.folders), "folder")
        attachments = sum(bool(kind_of_file(file.path, settings.vault)) for file in scan_result.files)
        counts = format_count(len(scan_result.files) - attachments, "note")
        if attachments:
            counts += f" and {format_count(attachments, 'attachment')}"
        return ok(f"{counts} ({size}) in {folders}: {vault}")
    suffixes = tuple(extension.lower() for extension in settings.vault.extensions)
    left_out = sum(1 for _ in _find_note_files(vault, suffixes))
    if not left_out:
        kinds = ", ".join(settings.vault.extensions)
        return warning(
            f"There is no note in {vault}: no file name ends in {kinds}.",
            "If notes have another ending, set vault.extensions.",
        )
    rules = ", ".join((*IGNORE_FILES, "and vault.include and vault.exclude in the settings"))
    return problem(
        f"All notes of {vault} are excluded by patterns: {format_count(left_out, 'file')}.", f"Check {rules}."
    )


def _find_note_files(vault: Path, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield the names of files with one of `suffixes`, also of ignored ones; stop after about `_MAX_WALKED_FILES`."""
    entry_count = 0
    for _, folders, files in os.walk(vault):
        folders[:] = [name for name in folders if not name.startswith(".")]
        entry_count += len(files)
        yield from (name for name in files if name.lower().endswith(suffixes) and not name.startswith("."))
        if entry_count > _MAX_WALKED_FILES:
            return


def _check_skipped_files(scan_result: Scan) -> Iterator[Finding]:
    """Yield a finding for each reason for which files were skipped that would otherwise be notes."""
    by_reason: dict[str, list[str]] = {}
    for skipped in scan_result.skipped:
        by_reason.setdefault(skipped.reason, []).append(skipped.path)
    for reason, paths in sorted(by_reason.items()):
        text = f"Skipped: {format_names(paths)}. {reason}"
        if "out of the vault" in reason:
            yield warning(
                text, "Links out of a vault are never followed. To read the target, open its folder as a vault."
            )
        elif "not valid UTF-8" in reason:
            yield warning(text, "To have it read, rename the file with a tool such as convmv.")
        elif "within the vault" in reason:
            yield ok(text)
        elif all(PurePosixPath(path).name in IGNORE_FILES for path in paths):
            yield warning(
                f"Used in part: {format_names(paths)}. {reason}", "The other patterns are used. Shorten the long ones."
            )
        elif "link to nothing" in reason:
            yield warning(text, "Correct the link, or remove it.")
        else:
            yield warning(text, "Check its permissions.")


def _check_unread_files(scan_result: Scan) -> Iterator[Finding]:
    """Yield a finding about the files that no reader knows, by kind."""
    for unread in describe_unread_files(scan_result.unread, (0, 0)):
        if not unread.action:
            files = format_count(unread.files, "file is", "files are")
            yield ok(f"{files} not read, as no reader knows them: {unread.what}; {unread.advice}.")


def _check_similar_names(paths: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding about paths that differ only in case or Unicode composition, so some systems merge them."""
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(unicodedata.normalize("NFC", path).casefold(), []).append(path)
    pairs = [" and ".join(same) for same in by_name.values() if len(same) > 1]
    if pairs:
        yield warning(
            f"Some file names differ only in case or accents: {format_names(pairs)}.",
            "Rename one of them: on Windows, macOS and many synchronised drives, one file replaces the other.",
        )


def _check_watching(vault: Path, folders: int, watches: int | None) -> Finding:
    """Check how changes in a vault are detected; `folders` is the number of its folders."""
    scanned = "so excerpt scans the vault every few seconds, or less often if a scan takes long"
    if lacks_change_events(vault):
        return warning(
            f"The vault's drive does not report changes, {scanned}.", "Changes are shown a little later than usual."
        )
    if sys.platform.startswith("linux") and watches is not None and folders >= watches:
        return warning(
            f"The vault has {format_count(folders, 'folder')}, but the system allows only {watches:,} watches per user,"
            f" {scanned}.",
            f"Raise the limit now: `sudo sysctl fs.inotify.max_user_watches={2 * folders}`. To keep it, put"
            f" `fs.inotify.max_user_watches={2 * folders}` into a file in /etc/sysctl.d/.",
        )
    return ok(
        "Changes in the vault are noticed at once"
        + (f"; this takes {folders:,} of {watches:,} watches" if watches is not None and folders else "")
    )


# --- terminal ---------------------------------------------------------------------------------------------------------
# What the terminal reports about itself, and what that means for the app.

RunProgram = Callable[[tuple[str, ...]], str]
"""Runs a command, given as its arguments, and returns its output, "" on failure."""

_MIN_COLUMNS, _MIN_LINES = 60, 12
_COMMANDS_HINT = "`excerpt search` and `excerpt pack` do not need a terminal."
_COMMAND_SECONDS = 2.0


def run_program_for_output(argv: tuple[str, ...]) -> str:
    """Run a command for at most `_COMMAND_SECONDS`, and return its output; "" on failure."""
    try:
        done = subprocess.run(program_command(argv), capture_output=True, timeout=_COMMAND_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""


def terminal_size() -> tuple[int, int] | None:
    """Return the columns and lines of the terminal, None if there is no terminal."""
    for stream in (sys.__stdout__, sys.__stderr__, sys.__stdin__):
        with suppress(OSError, ValueError, AttributeError):
            size = os.get_terminal_size(stream.fileno())  # type: ignore[union-attr]
            return size.columns, size.lines
    return None


def check_terminal(
    environment: Mapping[str, str], platform: str, size: tuple[int, int] | None, encoding: str, run_program: RunProgram
) -> Iterator[Finding]:
    """Check the terminal by its environment variables, its size, and the settings of tmux.

    `size` is columns and lines, None without a terminal; `encoding` is the encoding of the output; `run_program` runs a
    command and returns its output.
    """
    yield _check_terminal_type(environment, platform)
    yield _check_terminal_size(size)
    yield _check_colours(environment)
    yield _check_encoding(environment, platform, encoding)
    if environment.get("TMUX"):
        yield from _check_tmux(run_program)
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        yield ok("You are connected by ssh, so copies go through tmux or the terminal to your own clipboard")
    if environment.get("WT_SESSION"):
        yield ok("Windows Terminal accepts copies by OSC 52. It uses keys with ctrl+shift and alt+enter itself")


def _check_terminal_type(environment: Mapping[str, str], platform: str) -> Finding:
    term = environment.get("TERM", "")
    program = environment.get("TERM_PROGRAM", "")
    if term == "dumb":
        return warning(
            "The variable TERM is dumb: the app cannot be drawn here.", f"Use another terminal. {_COMMANDS_HINT}"
        )
    if not term and platform != "win32":
        return warning(
            "The variable TERM is not set: the app may be drawn wrongly.",
            f"Set TERM, for example to xterm. {_COMMANDS_HINT}",
        )
    return ok(f"TERM is {term or 'not set, as usual on Windows'}" + (f", in {program}" if program else ""))


def _check_terminal_size(size: tuple[int, int] | None) -> Finding:
    if size is None:
        return ok(f"The app needs a terminal, and there is none here. {_COMMANDS_HINT[:-1]}")
    columns, lines = size
    if not columns or not lines:
        return ok("The terminal does not report its size")
    if columns < _MIN_COLUMNS or lines < _MIN_LINES:
        return warning(
            f"The terminal is small: it has {columns} columns and {lines} lines.",
            f"To show everything, the app needs {_MIN_COLUMNS} columns and {_MIN_LINES} lines.",
        )
    position = "beside" if columns >= 100 else "below"
    return ok(f"The terminal has {columns} columns and {lines} lines: the side panel is {position} the list")


def _check_colours(environment: Mapping[str, str]) -> Finding:
    if environment.get("NO_COLOR"):
        return ok("NO_COLOR is set: the app is drawn without colours")
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit") or environment.get("WT_SESSION"):
        return ok("The terminal has 16 million colours: themes look as designed")
    term = environment.get("TERM", "")
    if "256color" in term or environment.get("TERM_PROGRAM") == "Apple_Terminal":
        return ok(
            "The terminal reports 256 colours: themes look almost as designed (set COLORTERM=truecolor if it has more)"
        )
    return ok("The terminal reports 16 colours: themes are coarse (set COLORTERM=truecolor if it has more)")


def _check_encoding(environment: Mapping[str, str], platform: str, encoding: str) -> Finding:
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""
    if platform == "win32" or "utf-8" in locale.lower() or "utf8" in locale.lower():
        return ok(f"The locale is {locale}: it supports every script" if locale else "Text is written as UTF-8")
    problem_text = f"The locale is {locale}, which is not UTF-8" if locale else "The locale is not set"
    return warning(
        f"{problem_text}: text is written as {encoding}, and symbols and other scripts may be garbled.",
        "Set LANG to a UTF-8 locale, for example C.UTF-8.",
    )


def _check_tmux(run_program: RunProgram) -> Iterator[Finding]:
    clipboard = run_program(("tmux", "show-options", "-sv", "set-clipboard")) or run_program(
        ("tmux", "show", "-gv", "set-clipboard")
    )
    passthrough = run_program(("tmux", "show-options", "-gv", "allow-passthrough"))
    options = f"set-clipboard {clipboard or 'unknown'}, allow-passthrough {passthrough or 'off'}"
    if clipboard == "off":
        yield warning(
            f"tmux keeps copies in its own buffer ({options}).", "Put `set -s set-clipboard on` into ~/.tmux.conf."
        )
    else:
        yield ok(f"tmux passes copies on to the terminal, if the terminal accepts them ({options})")


# --- clipboard, keys, editor ------------------------------------------------------------------------------------------
# The clipboard, the user's key bindings and the editor.

FindProgram = Callable[[str], str | None]

_CLIPBOARD_HINT = "Install a tool that fills the clipboard (wl-clipboard, xclip or xsel)"


def check_clipboard(
    environment: Mapping[str, str], find_program: FindProgram, platform: str, copies: Path
) -> Iterator[Finding]:
    """Check how copied text reaches the clipboard, and up to which size; it is also saved in the folder `copies`."""
    chosen = plan_copy(environment, find_program, platform, 0)
    remote = "SSH_CONNECTION" in environment or "SSH_TTY" in environment
    for tool in chosen.tools:
        if tool.name == "tmux":
            yield ok("Copies of any length go to tmux, which passes them on if its options and the terminal allow that")
        else:
            yield ok(f"Copies of any length go to the clipboard by {tool.name}")
    if chosen.osc and not chosen.tools:
        route = "the terminal by OSC 52" + (" through tmux" if chosen.osc == "tmux" else "")
        limit = f"with up to {OSC_LIMIT:,} bytes; excerpt cannot check whether the terminal accepts them"
        if remote:
            yield ok(f"Copies go to {route}, {limit}")
        else:
            yield warning(f"Copies go to {route}, {limit}.", f"{_CLIPBOARD_HINT}, if `ctrl+y` seems to do nothing.")
    yield ok(f"Every copy is also saved as a file in {copies}")


def check_keys(screen: ScreenSettings) -> Iterator[Finding]:
    """Check the key bindings of the settings."""
    keymap, problems = validate_keymap(screen.keys)
    todo = "Change the key under [screen.keys] in the settings: `excerpt config --edit`."
    for sentence in problems:
        yield problem(sentence, todo)
    for sentence in find_unreliable_keys(keymap):
        yield warning(sentence, todo)
    if not problems:
        changed = f"The settings change {format_count(len(keymap), 'key')}" if keymap else "All keys are the defaults"
        yield ok(f"{changed}; no keys conflict")


def check_editor(setting: str, environment: Mapping[str, str], find_program: FindProgram) -> Iterator[Finding]:
    """Check which editor opens a note, and whether excerpt can open it at a line; `setting` is `screen.editor`."""
    try:
        first, second = (editor_command(setting, environment, find_program, Path("note.md"), line) for line in (1, 2))
    except ExcerptError as error:
        yield problem(error.message, error.hint)
        return
    from_where = "screen.editor" if setting else "$VISUAL" if environment.get("VISUAL") else "$EDITOR"
    if not (setting or environment.get("VISUAL") or environment.get("EDITOR")):
        from_where = "no editor is set, and this one is installed"
    program = find_program(first.argv[0]) or first.argv[0]
    if first.argv == second.argv:
        todo = "To open notes at the line, choose an editor that the guide's page Open a note elsewhere lists."
        yield warning(
            f"The editor is {program} ({from_where}). It opens notes at the top: no line option is known for it.", todo
        )
    else:
        yield ok(f"The editor is {program} ({from_where}). It opens notes at the line of the hit")
