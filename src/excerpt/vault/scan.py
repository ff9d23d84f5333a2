"""Listing the notes and attachments of a vault, without reading them.

Not listed are names that begin with a dot; what `.gitignore` and `.excerptignore` files exclude in their folder and
below it (the nearest file and its last pattern win, and `.excerptignore` over `.gitignore`); what the settings exclude;
and, if the settings have include patterns, what matches none of these. Symbolic links are never followed: a target
inside the vault is listed at its own path, and one outside is not part of the vault.

Since ignore files may be of any size, the number and length of their patterns are limited; other patterns are reported
as skipped.
"""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.errors import FileOpenError, SettingsError, VaultError
from excerpt.base.model import FileProblem
from excerpt.base.patterns import lazy_pattern
from excerpt.base.settings import VaultSettings
from excerpt.base.vault_files import OpenFolder, open_folder
from excerpt.vault.dialect import UNREAD_LOGSEQ_FOLDERS, is_logseq
from excerpt.vault.ignore import IgnorePatterns, parse_pattern, pattern_lines
from excerpt.vault.readers.registry import read_suffixes

IGNORE_FILES = (".gitignore", ".excerptignore")

# The longest published collections have some hundreds of patterns of up to a hundred letters. A thousand patterns take
# half a millisecond for each file and folder; twenty thousand take two seconds to parse.
_MAX_IGNORE_BYTES = 1024 * 1024
_LONGEST_PATTERN = 500
_MAX_IN_FOLDER = 1_000
_MAX_IN_VAULT = 20_000

_SUFFIX = lazy_pattern(r"(?<=[^.])\.[a-z0-9_+~-]{1,12}$")
_MAX_UNREAD_SUFFIXES = 200  # that are counted apart: file names are anybody's
_OTHER_SUFFIXES = ".…"

MAX_FILE_TIME_SECONDS = 9_000_000_000
"""Limit of a file's time, in seconds after 1970 (2255) or before (1684); other times become the limit.

File systems can store times beyond it, which in nanoseconds exceed the 64 bits that the index uses.
"""

_HAS_CHANGE_TIME = sys.platform != "win32"  # there st_ctime is when the file was made


class FileState(Struct, frozen=True):
    """The size and times of a note's file; `path` is relative to the vault, with "/".

    Times are in nanoseconds since 1970, within MAX_FILE_TIME_SECONDS of it. `mtime_ns` is when the content was last
    changed. `ctime_ns` is when the content, name or times were last changed; no program can set it back. `ctime_ns` is
    0 if unknown.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int


class Scan(Struct, frozen=True):
    """The result of listing a vault.

    `files` are the notes and attachments, `skipped` the files that cannot be read, with the reasons. `folders` are the
    listed folders: "" is the vault itself, other paths end in "/". `unread` holds pairs of a suffix (`.pdf`) and the
    number of such files that are not read, because a program is missing, an option is off, or no reader supports them;
    it is empty if only a part of the vault was listed.
    """

    files: tuple[FileState, ...]
    skipped: tuple[FileProblem, ...]
    folders: tuple[str, ...] = ()
    unread: tuple[tuple[str, int], ...] = ()


class _IgnoreRules(Struct, frozen=True):
    """The patterns of one ignore file or of the settings, relative to the folder `base` ("" or ending in "/")."""

    base: str
    patterns: IgnorePatterns


class _PendingFolder(Struct, frozen=True):
    """A folder that is still to be listed.

    `path` is relative to the vault, "" or ending in "/". `rules` are the ignore rules that apply in the folder,
    strongest first, and `pattern_count` is the number of their patterns. `is_whole` is false if only some of the
    folder's content was requested.
    """

    path: str
    rules: tuple[_IgnoreRules, ...]
    pattern_count: int
    is_whole: bool


def scan(root: Path, settings: VaultSettings, only: Collection[str] | None = None) -> Scan:
    """List the notes and attachments in the vault `root`, or only some of them.

    `only` are paths (relative, with "/") of files and of folders, whose content is listed too; None lists the whole
    vault. Raises VaultError if `root` cannot be listed, SettingsError for an invalid pattern in the settings.
    """
    walk = _Scanner(root.resolve(), settings, only)
    walk.run()
    return Scan(
        tuple(sorted(walk.files, key=lambda file: file.path)),
        tuple(sorted(walk.skipped, key=lambda skip: (skip.path, skip.reason))),
        tuple(walk.folders),
        tuple(sorted(walk.unread.items())) if only is None else (),
    )


class _Scanner:
    """The state of a scan: the files found so far, and the folders that are still to be listed."""

    def __init__(self, vault: Path, settings: VaultSettings, only: Collection[str] | None) -> None:
        self._vault = vault
        self._suffixes = read_suffixes(settings)
        self._counts_others = settings.attachments.read
        included, excluded = parse_settings_patterns(settings)
        self._included = included if settings.include else None
        self._excluded = (_IgnoreRules("", excluded),) if settings.exclude else ()
        if is_logseq(vault):
            copies = [pattern.encode() for pattern in UNREAD_LOGSEQ_FOLDERS]
            self._excluded = (*self._excluded, _IgnoreRules("", IgnorePatterns.read(copies)))
        self._only = frozenset(only or ())
        self._above = {path[:at] for path in self._only for at, letter in enumerate(path) if letter == "/"}
        self._patterns_left = _MAX_IN_VAULT
        self._pending = [_PendingFolder("", (), 0, only is None)]
        self.files: list[FileState] = []
        self.skipped: list[FileProblem] = []
        self.folders: list[str] = []
        self.unread: Counter[str] = Counter()

    def run(self) -> None:
        """List every folder. Raises VaultError if the vault itself cannot be listed."""
        while self._pending:
            folder = self._pending.pop()
            try:
                # The folder stays open while its entries are examined, even if another folder takes its place.
                with open_folder(self._vault, folder.path.removesuffix("/")) as opened:
                    self._visit_folder(opened, folder)
            except OSError as error:
                if not folder.path:
                    reason = f"{self._vault} cannot be read: {error.strerror}."
                    raise VaultError(reason, "Check its permissions.") from error
                self.skipped.append(_make_problem(folder.path, f"The folder cannot be listed: {error.strerror}."))

    def _visit_folder(self, opened: OpenFolder, folder: _PendingFolder) -> None:
        entries = [each for each in opened.entries() if not each.name.startswith(".") or each.name in IGNORE_FILES]
        self.folders.append(folder.path)
        max_patterns = min(self._patterns_left, _MAX_IN_FOLDER - folder.pattern_count)
        own, pattern_count, problems = _read_ignore_files(opened, folder.path, entries, max_patterns)
        self._patterns_left -= pattern_count
        self.skipped += problems
        inside = replace(folder, rules=(*own, *folder.rules), pattern_count=folder.pattern_count + pattern_count)
        for entry in entries:
            self._visit_entry(entry, inside)

    def _visit_entry(self, entry: os.DirEntry[str], folder: _PendingFolder) -> None:
        path = folder.path + entry.name
        is_whole = folder.is_whole or path in self._only
        if not is_whole and path not in self._above:
            return
        is_folder = entry.is_dir(follow_symlinks=False)
        is_link = entry.is_symlink()
        name = entry.name.lower()
        is_wanted = is_folder or is_link or name.endswith(self._suffixes)
        suffix = "" if is_wanted else self._unread_suffix(name)
        if not (is_wanted or suffix) or entry.name in IGNORE_FILES:
            return
        leads_to_folder = is_link and (self._vault / path).is_dir()
        if _is_ignored(path, is_folder or leads_to_folder, (*self._excluded, *folder.rules)):
            return
        if is_folder:
            self._pending.append(replace(folder, path=f"{path}/", is_whole=is_whole))
        elif not is_whole or (self._included is not None and not self._included.has(path)):
            return
        elif not is_wanted:
            self.unread[suffix] += 1
        else:
            state = (
                _explain_skipped_link(self._vault, path, self._suffixes) if is_link else _read_file_state(entry, path)
            )
            if isinstance(state, FileState):
                self.files.append(state)
            elif state:
                self.skipped.append(_make_problem(path, state))

    def _unread_suffix(self, name: str) -> str:
        """Return the suffix under which an unread file is counted; "" for one that is not counted."""
        match = _SUFFIX.search(name)
        if match is None or not self._counts_others:
            return ""
        return match[0] if match[0] in self.unread or len(self.unread) < _MAX_UNREAD_SUFFIXES else _OTHER_SUFFIXES


def _read_file_state(entry: os.DirEntry[str], path: str) -> FileState | str:
    """Return the state of the file, or the reason why it cannot be read, as a sentence."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return "The file name is not valid UTF-8."
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        return f"The type of the file cannot be read: {error.strerror}."
    if not stat.S_ISREG(status.st_mode):
        return "The path is not a file but a device, pipe or socket."
    changed = _limit_time(status.st_ctime_ns) if _HAS_CHANGE_TIME else 0
    return FileState(path, status.st_size, _limit_time(status.st_mtime_ns), changed)


def _limit_time(time_ns: int) -> int:
    """Return a file's time in nanoseconds, limited to MAX_FILE_TIME_SECONDS before or after 1970."""
    last = MAX_FILE_TIME_SECONDS * 1_000_000_000
    return max(-last, min(time_ns, last))


def _explain_skipped_link(vault: Path, path: str, suffixes: tuple[str, ...]) -> str:
    """Return why a symbolic link is not followed, as a sentence; "" if its name is not one of a note."""
    target = Path(os.path.realpath(vault / path))
    if not path.lower().endswith(suffixes) and not target.is_dir():
        return ""
    if target != vault and vault not in target.parents:
        return "The file is a symbolic link out of the vault."
    if not target.exists():
        return "The file is a symbolic link to a missing file."
    return "The file is a symbolic link within the vault; its target is read under its own path."


def _make_problem(path: str, reason: str) -> FileProblem:
    return FileProblem(path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), reason)


# --- ignore rules -----------------------------------------------------------------------------------------------------


def _is_ignored(path: str, is_folder: bool, rules: Iterable[_IgnoreRules]) -> bool:
    """Return whether the first of `rules` (strongest first) with a match for `path` excludes it."""
    for each in rules:
        relative = path[len(each.base) :]
        verdict = each.patterns.verdict(relative, is_folder)
        if verdict is not None:
            return verdict
    return False


def _read_ignore_files(
    opened: OpenFolder, base: str, entries: Iterable[os.DirEntry[str]], max_patterns: int
) -> tuple[list[_IgnoreRules], int, list[FileProblem]]:
    """Read the ignore files in a folder; return their rules, the number of patterns, and problems.

    `base` is the path of the folder, `entries` its content. The rules are ordered strongest first. At most
    `max_patterns` patterns are read; the problems say what was not read.
    """
    files = {entry.name: entry for entry in entries if entry.name in IGNORE_FILES}
    rules: list[_IgnoreRules] = []
    count = 0
    problems: list[FileProblem] = []
    for name in reversed(IGNORE_FILES):
        entry = files.get(name)
        if entry and entry.is_file(follow_symlinks=False):
            try:
                with opened.open(name) as file:
                    data = file.read(_MAX_IGNORE_BYTES + 1)
            except (OSError, FileOpenError):
                continue  # an unreadable ignore file excludes nothing, as for git
            patterns = pattern_lines(data[:_MAX_IGNORE_BYTES])
            short = [line for line in patterns if len(line) <= _LONGEST_PATTERN]
            accepted = short[: max_patterns - count]
            count += len(accepted)
            rules.append(_IgnoreRules(base, IgnorePatterns.read(accepted)))
            if len(data) > _MAX_IGNORE_BYTES:
                problems.append(
                    _make_problem(base + name, f"Only its first {_MAX_IGNORE_BYTES // 1024 // 1024} MB is read.")
                )
            if len(short) < len(patterns):
                ignored = len(patterns) - len(short)
                reason = f"Patterns of more than {_LONGEST_PATTERN} letters are ignored: {ignored:,}."
                problems.append(_make_problem(base + name, reason))
            if len(accepted) < len(short):
                used = f"Only the first {len(accepted):,} of the file's {len(short):,} patterns are used"
                reason = f"{used}; the limits are {_MAX_IN_FOLDER:,} for a folder and {_MAX_IN_VAULT:,} for a vault."
                problems.append(_make_problem(base + name, reason))
    return rules, count, problems


def parse_settings_patterns(settings: VaultSettings) -> tuple[IgnorePatterns, IgnorePatterns]:
    """Parse the include and exclude patterns of the settings and return them, in this order.

    Raises SettingsError for a pattern that can match nothing.
    """
    return _parse_setting("include", settings.include), _parse_setting("exclude", settings.exclude)


def _parse_setting(setting: str, patterns: Sequence[str]) -> IgnorePatterns:
    lines = [line for pattern in patterns for line in pattern_lines(pattern.encode("utf-8", "replace"))]
    for line in lines:
        if parse_pattern(line, strict=True) is None:
            raise SettingsError(
                f"vault.{setting} is not valid: {line.decode()!r} is not a .gitignore pattern.",
                "`excerpt config --path` prints the path of the settings.",
            )
    return IgnorePatterns.read(lines)
