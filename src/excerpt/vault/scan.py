"""The files of a vault that are notes, found without reading them.

Left out: names that begin with a dot, what `.gitignore` and `.excerptignore` files exclude for their folder and those
below it (the nearest and last rule wins, and `.excerptignore` over `.gitignore`), what the settings exclude, and, where
they include anything, all that they do not include. Symbolic links are never followed: a target inside the vault is
found at its own path, and one outside is not part of the vault.

Ignore files may hold anything, so the number and length of their patterns are limited; the rest is reported as skipped.
"""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from excerpt.errors import FileOpenError, SettingsError, VaultError
from excerpt.model import FileProblem
from excerpt.settings import VaultSettings
from excerpt.vault.ignore import Patterns, lines_of, parse
from excerpt.vault.readers.registry import suffixes_of
from excerpt.vault_files import OpenFolder, open_folder

IGNORE_FILES = (".gitignore", ".excerptignore")

# The longest collections of patterns that are passed around have some hundreds, of up to a hundred letters. A thousand
# patterns take half a millisecond for each file and folder; twenty thousand take two seconds to be read.
_MAX_IGNORE_BYTES = 1024 * 1024
_LONGEST_PATTERN = 500
_MAX_IN_FOLDER = 1_000
_MAX_IN_VAULT = 20_000

LAST_SECOND = 9_000_000_000
"""A file's time is taken for at most so many seconds after 1970, or before: 2255 and 1684. File systems keep later
ones, which in nanoseconds are more than 64 bits hold, with which the index counts."""

_TELLS_CHANGES = sys.platform != "win32"  # there st_ctime is when the file was made


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of a note's file in the file system; `path` is relative to the vault, with "/".

    Times are within LAST_SECOND of 1970. `ctime_ns` is when anything of it, its name and times included, was last
    changed, which no program can set back; 0 if unknown.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True)
class Scan:
    """The content of a vault by path, what cannot be a note, and the listed folders.

    The folder "" is the vault itself, others end in "/". `unread` counts, by suffix, files that would be read if
    something were installed or enabled; only in a scan of the whole vault.
    """

    files: tuple[FileState, ...]
    skipped: tuple[FileProblem, ...]
    folders: tuple[str, ...] = ()
    unread: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules of one ignore file or of the settings, relative to the folder `base` ("" or ending in "/")."""

    base: str
    patterns: Patterns


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    """Relative to the vault, "" or ending in "/"."""
    rules: tuple[_Rules, ...]
    """Those that hold in it, strongest first."""
    patterns: int
    """How many they are made of."""
    whole: bool
    """Whether all that it holds is looked at, or only what was asked for."""


def scan(root: Path, settings: VaultSettings, only: Collection[str] | None = None) -> Scan:
    """Return the notes under `root`; with `only`, those files and folders (relative, with "/") and their content.

    Raises VaultError if `root` cannot be listed, SettingsError for an invalid pattern in the settings.
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
    """A scan under way: what was found so far, and the folders that are still to be listed."""

    def __init__(self, vault: Path, settings: VaultSettings, only: Collection[str] | None) -> None:
        self._vault = vault
        self._suffixes = suffixes_of(settings)
        included, excluded = patterns_of(settings)
        self._included = included if settings.include else None
        self._excluded = (_Rules("", excluded),) if settings.exclude else ()
        self._only = frozenset(only or ())
        self._above = {path[:at] for path in self._only for at, letter in enumerate(path) if letter == "/"}
        self._patterns_left = _MAX_IN_VAULT
        self._pending = [_Folder("", (), 0, only is None)]
        self.files: list[FileState] = []
        self.skipped: list[FileProblem] = []
        self.folders: list[str] = []
        self.unread: Counter[str] = Counter()

    def run(self) -> None:
        """List every folder. Raises VaultError if the vault itself cannot be listed."""
        while self._pending:
            folder = self._pending.pop()
            try:
                # Open until its entries were looked at: they are looked up in it, whatever is in its place by then.
                with open_folder(self._vault, folder.path.removesuffix("/")) as opened:
                    self._visit_folder(opened, folder)
            except OSError as error:
                if not folder.path:
                    reason = f"{self._vault} cannot be read: {error.strerror}."
                    raise VaultError(reason, "Check its permissions.") from error
                self.skipped.append(_skip(folder.path, f"The folder cannot be listed: {error.strerror}."))

    def _visit_folder(self, opened: OpenFolder, folder: _Folder) -> None:
        entries = [each for each in opened.entries() if not each.name.startswith(".") or each.name in IGNORE_FILES]
        self.folders.append(folder.path)
        room = min(self._patterns_left, _MAX_IN_FOLDER - folder.patterns)
        own, pattern_count, remarks = _rules_of(opened, folder.path, entries, room)
        self._patterns_left -= pattern_count
        self.skipped += remarks
        inside = replace(folder, rules=(*own, *folder.rules), patterns=folder.patterns + pattern_count)
        for entry in entries:
            self._visit_entry(entry, inside)

    def _visit_entry(self, entry: os.DirEntry[str], folder: _Folder) -> None:
        path = folder.path + entry.name
        whole = folder.whole or path in self._only
        if not whole and path not in self._above:
            return
        is_folder = entry.is_dir(follow_symlinks=False)
        is_link = entry.is_symlink()
        name = entry.name.lower()
        is_wanted = is_folder or is_link or name.endswith(self._suffixes.read)
        if not (is_wanted or name.endswith(self._suffixes.unread)) or entry.name in IGNORE_FILES:
            return
        leads_to_folder = is_link and (self._vault / path).is_dir()
        if _is_ignored(path, is_folder or leads_to_folder, (*self._excluded, *folder.rules)):
            return
        if is_folder:
            self._pending.append(replace(folder, path=f"{path}/", whole=whole))
        elif not whole or (self._included is not None and not self._included.has(path)):
            return
        elif not is_wanted:
            self.unread[name[name.rfind(".") :]] += 1
        else:
            state = _link_reason(self._vault, path, self._suffixes.read) if is_link else _state(entry, path)
            if isinstance(state, FileState):
                self.files.append(state)
            elif state:
                self.skipped.append(_skip(path, state))


def _state(entry: os.DirEntry[str], path: str) -> FileState | str:
    """Return the file's state, or why it cannot be a note."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return "Its name is not valid UTF-8."
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        return f"Its type cannot be read: {error.strerror}."
    if not stat.S_ISREG(status.st_mode):
        return "It is not a file but a device, pipe or socket."
    changed = _within_bounds(status.st_ctime_ns) if _TELLS_CHANGES else 0
    return FileState(path, status.st_size, _within_bounds(status.st_mtime_ns), changed)


def _within_bounds(time_ns: int) -> int:
    """Return a file's time, or the last one that the index can count with."""
    last = LAST_SECOND * 1_000_000_000
    return max(-last, min(time_ns, last))


def _link_reason(vault: Path, path: str, suffixes: tuple[str, ...]) -> str:
    """Return why a symbolic link is not followed, "" if nobody would expect a note of it."""
    target = Path(os.path.realpath(vault / path))
    if not path.lower().endswith(suffixes) and not target.is_dir():
        return ""
    if target != vault and vault not in target.parents:
        return "It is a link out of the vault."
    if not target.exists():
        return "It is a link to nothing."
    return "It is a link within the vault; its target is read under its own path."


def _skip(path: str, reason: str) -> FileProblem:
    return FileProblem(path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), reason)


# --- ignore rules -----------------------------------------------------------------------------------------------------


def _is_ignored(path: str, is_folder: bool, rules: Iterable[_Rules]) -> bool:
    """Return the verdict of the strongest rule that matches `path`; an excluded folder excludes its content."""
    for each in rules:
        relative = path[len(each.base) :]
        verdict = each.patterns.verdict(relative, is_folder)
        if verdict is not None:
            return verdict
    return False


def _rules_of(
    opened: OpenFolder, base: str, entries: Iterable[os.DirEntry[str]], room: int
) -> tuple[list[_Rules], int, list[FileProblem]]:
    """Return the rules of a folder's own ignore files, strongest first, their number of patterns, and remarks.

    At most `room` patterns are read; remarks name what was left out.
    """
    files = {entry.name: entry for entry in entries if entry.name in IGNORE_FILES}
    rules: list[_Rules] = []
    count = 0
    remarks: list[FileProblem] = []
    for name in reversed(IGNORE_FILES):
        entry = files.get(name)
        if entry and entry.is_file(follow_symlinks=False):
            try:
                with opened.open(name) as file:
                    data = file.read(_MAX_IGNORE_BYTES + 1)
            except (OSError, FileOpenError):
                continue  # what cannot be read rules nothing out, as for git
            patterns = lines_of(data[:_MAX_IGNORE_BYTES])
            short = [line for line in patterns if len(line) <= _LONGEST_PATTERN]
            accepted = short[: room - count]
            count += len(accepted)
            rules.append(_Rules(base, Patterns.read(accepted)))
            if len(data) > _MAX_IGNORE_BYTES:
                remarks.append(_skip(base + name, f"Only its first {_MAX_IGNORE_BYTES // 1024 // 1024} MB is read."))
            if len(short) < len(patterns):
                ignored = len(patterns) - len(short)
                reason = f"It has patterns of more than {_LONGEST_PATTERN} letters; ignored: {ignored:,}."
                remarks.append(_skip(base + name, reason))
            if len(accepted) < len(short):
                used = f"Only the first {len(accepted):,} of its {len(short):,} patterns are used"
                reason = f"{used}; the limits are {_MAX_IN_FOLDER:,} for a folder and {_MAX_IN_VAULT:,} for a vault."
                remarks.append(_skip(base + name, reason))
    return rules, count, remarks


def patterns_of(settings: VaultSettings) -> tuple[Patterns, Patterns]:
    """Return the include and exclude patterns of the settings.

    Raises SettingsError, which names the key and a pattern that can match nothing.
    """
    return _patterns_of("include", settings.include), _patterns_of("exclude", settings.exclude)


def _patterns_of(setting: str, patterns: Sequence[str]) -> Patterns:
    lines = [line for pattern in patterns for line in lines_of(pattern.encode("utf-8", "replace"))]
    for line in lines:
        if parse(line, strict=True) is None:
            raise SettingsError(
                f"vault.{setting} is not valid: {line.decode()!r} is not a .gitignore pattern.",
                "`excerpt config --path` prints the path of the settings.",
            )
    return Patterns.read(lines)
