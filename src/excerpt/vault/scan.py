"""The files of a vault that are notes, without reading any of them.

Left out: names that begin with a dot, what `.gitignore` and `.excerptignore` files rule out for their folder and those
below it (the nearest and last rule wins, and `.excerptignore` over `.gitignore`), what the settings exclude, and, where
they include anything, all that they do not include.
Symbolic links are never followed: what they point to inside the vault is found in its own place, what lies outside is
not the vault's.

Ignore files are the vault's and may be anything: how many patterns hold, and how long each is, has a limit, and what is
over it is told among what is skipped.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from excerpt.errors import SettingsError, VaultError
from excerpt.model import Skipped
from excerpt.settings import VaultSettings
from excerpt.vault.readers.registry import suffixes_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

IGNORE_FILES = (".gitignore", ".excerptignore")

# The longest collections of patterns that are passed around have some hundreds, of up to a hundred letters. A thousand
# patterns take half a millisecond for each file and folder; twenty thousand take two seconds to be read.
_MAX_IGNORE_BYTES = 1024 * 1024
_LONGEST_PATTERN = 500
_MOST_IN_FOLDER = 1_000
_MOST_IN_VAULT = 20_000

_TELLS_CHANGES = sys.platform != "win32"  # there st_ctime is when the file was made

# As they stand in the regular expressions that pathspec makes: a star (or some, side by side), a `**` between two names
# of a path, and one in front of the first.
_STARS = re.compile(r"(?:\[\^/\]\*)+")
_DEEPER = "(?:/.+)?"
_ANYWHERE = "^(?:.+/)?"


@dataclass(frozen=True, slots=True)
class FileState:
    """A note's file as the file system describes it; `path` is relative to the vault, with "/". `ctime_ns` is when
    anything of it was last changed, its name and its times too, which no program sets back; 0 where the system does not
    say."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True)
class Scan:
    """What a vault holds, by path, what would be a note but cannot be one, and the folders that were listed: "" is the
    vault itself, the others end in "/". `unread` counts, by its ending, what would be read if something were installed
    or switched on; in a scan of the whole vault alone."""

    files: tuple[FileState, ...]
    skipped: tuple[Skipped, ...]
    folders: tuple[str, ...] = ()
    unread: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules of one ignore file or of the settings, relative to the folder `base` ("" or ending in "/")."""

    base: str
    spec: GitIgnoreSpec


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
    """The notes under `root`; of those, if `only` names files and folders (relative, with "/"), these and what they
    hold, by the same rules. Raises VaultError if `root` itself cannot be listed, SettingsError for a pattern of the
    settings that is none."""
    vault = root.resolve()
    wanted = frozenset(only or ())
    known = suffixes_of(settings)
    suffixes, others = known.read, known.unread
    unread: Counter[str] = Counter()
    # Without patterns pathspec is not imported, which takes .01 s.
    included = _spec_of("include", settings.include) if settings.include else None
    excluded = (_Rules("", _spec_of("exclude", settings.exclude)),) if settings.exclude else ()
    files: list[FileState] = []
    skipped: list[Skipped] = []
    folders: list[str] = []
    above = {path[:at] for path in wanted for at, letter in enumerate(path) if letter == "/"}
    left = _MOST_IN_VAULT
    pending = [_Folder("", (), 0, only is None)]
    while pending:
        folder = pending.pop()
        entries = _entries(vault, folder.path)
        if isinstance(entries, str):
            skipped.append(_skip(folder.path, entries))
            continue
        folders.append(folder.path)
        own, taken, remarks = _rules_of(folder.path, entries, min(left, _MOST_IN_FOLDER - folder.patterns))
        rules, patterns = (*own, *folder.rules), folder.patterns + taken
        left -= taken
        skipped += remarks
        for entry in entries:
            path = folder.path + entry.name
            whole = folder.whole or path in wanted
            if not whole and path not in above:
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            is_link = entry.is_symlink()
            name = entry.name.lower()
            is_wanted = is_folder or is_link or name.endswith(suffixes)
            if not (is_wanted or name.endswith(others)) or entry.name in IGNORE_FILES:
                continue
            if _is_ignored(path, is_folder or (is_link and Path(entry.path).is_dir()), (*excluded, *rules)):
                continue
            if is_folder:
                pending.append(_Folder(f"{path}/", rules, patterns, whole))
                continue
            if not whole or (included is not None and not included.match_file(path)):
                continue
            if not is_wanted:
                unread[name[name.rfind(".") :]] += 1
                continue
            state = _link_reason(entry, vault, suffixes) if is_link else _state(entry, path)
            if isinstance(state, FileState):
                files.append(state)
            elif state:
                skipped.append(_skip(path, state))
    return Scan(
        tuple(sorted(files, key=lambda file: file.path)),
        tuple(sorted(skipped, key=lambda skip: (skip.path, skip.reason))),
        tuple(folders),
        tuple(sorted(unread.items())) if only is None else (),
    )


def _entries(vault: Path, folder: str) -> list[os.DirEntry[str]] | str:
    """What a folder holds, or why it cannot be listed. Raises VaultError if it is the vault itself."""
    try:
        with os.scandir(vault / folder) as found:
            return [entry for entry in found if not entry.name.startswith(".") or entry.name in IGNORE_FILES]
    except OSError as error:
        if not folder:
            raise VaultError(f"{vault} cannot be read: {error.strerror}.", "Check its permissions.") from error
        return f"The folder cannot be listed: {error.strerror}."


def _state(entry: os.DirEntry[str], path: str) -> FileState | str:
    """The file's state, or why it cannot be a note."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return "Its name is not valid UTF-8."
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError as error:
        return f"It cannot be looked at: {error.strerror}."
    if not stat.S_ISREG(found.st_mode):
        return "It is not a file but a device, pipe or socket."
    return FileState(path, found.st_size, found.st_mtime_ns, found.st_ctime_ns if _TELLS_CHANGES else 0)


def _link_reason(entry: os.DirEntry[str], vault: Path, suffixes: tuple[str, ...]) -> str:
    """Why a symbolic link is not followed, "" if nobody would expect a note of it."""
    target = Path(os.path.realpath(entry.path))
    if not entry.name.lower().endswith(suffixes) and not target.is_dir():
        return ""
    if target != vault and vault not in target.parents:
        return "It is a link out of the vault."
    if not target.exists():
        return "It is a link to nothing."
    return "It is a link within the vault; what it points to stands in its own place."


def _skip(path: str, reason: str) -> Skipped:
    return Skipped(path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), reason)


# --- ignore rules -----------------------------------------------------------------------------------------------------


def _is_ignored(path: str, is_folder: bool, rules: Iterable[_Rules]) -> bool:
    """What the strongest rule that speaks of `path` says; a folder left out takes with it all that it holds."""
    for each in rules:
        relative = path[len(each.base) :]
        verdict = each.spec.check_file(f"{relative}/" if is_folder else relative).include
        if verdict is not None:
            return verdict
    return False


def _rules_of(base: str, entries: Iterable[os.DirEntry[str]], room: int) -> tuple[list[_Rules], int, list[Skipped]]:
    """The rules of a folder's own ignore files, strongest first; how many patterns they have, at most `room`; and what
    of these files was left out."""
    found = {entry.name: entry for entry in entries if entry.name in IGNORE_FILES}
    rules: list[_Rules] = []
    taken = 0
    remarks: list[Skipped] = []
    for name in reversed(IGNORE_FILES):
        entry = found.get(name)
        if entry and entry.is_file(follow_symlinks=False):
            try:
                with Path(entry.path).open("rb") as file:
                    data = file.read(_MAX_IGNORE_BYTES + 1)
            except OSError:
                continue  # what cannot be read rules nothing out, as for git
            lines = data[:_MAX_IGNORE_BYTES].decode("utf-8-sig", "replace").splitlines()
            patterns = [line for line in lines if line.strip() and not line.startswith("#")]
            short = [line for line in patterns if len(line) <= _LONGEST_PATTERN]
            kept = short[: room - taken]
            taken += len(kept)
            rules.append(_Rules(base, _spec(kept)))
            if len(data) > _MAX_IGNORE_BYTES:
                remarks.append(_skip(base + name, f"Only its first {_MAX_IGNORE_BYTES // 1024 // 1024} MB is read."))
            if len(short) < len(patterns):
                over = len(patterns) - len(short)
                reason = f"It has patterns of more than {_LONGEST_PATTERN} letters: {over:,}, which are left out."
                remarks.append(_skip(base + name, reason))
            if len(kept) < len(short):
                most = f"{_MOST_IN_FOLDER:,} may hold in a folder and {_MOST_IN_VAULT:,} in a vault"
                reason = f"Of its {len(short):,} patterns the first {len(kept):,} hold, for {most}."
                remarks.append(_skip(base + name, reason))
    return rules, taken, remarks


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    """The patterns as git reads them; one that is no pattern is passed over, as git does."""
    from pathspec import GitIgnoreSpec

    patterns = []
    for line in lines:
        with suppress(ValueError, re.error):
            patterns.append(_pattern(line))
    # Named, as pathspec would take re2 where that is installed, which refuses many patterns at once.
    return GitIgnoreSpec(patterns, backend="simple")


def _pattern(line: str) -> GitIgnoreSpecPattern:
    """A pattern as git reads it. Raises ValueError or re.error for what is none."""
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    regex, include = GitIgnoreSpecPattern.pattern_to_regex(line)
    return GitIgnoreSpecPattern(None if regex is None else re.compile(_bounded(regex)), include)


def _bounded(regex: str) -> str:
    """What pathspec makes of a pattern, so that it takes no time that grows with a power of the path's length.

    What follows a star matches best where it first can: then the next star has the most to choose from. So of the stars
    in a name, and of the `**` in a path, only the last is tried at every place; each other is an atomic group with what
    follows it (fnmatch.translate does the same).
    """
    first, *deeper = (_with_one_star_tried(part) for part in regex.split(_DEEPER))
    if not deeper:
        return first
    if first.startswith(_ANYWHERE):
        first = f"^(?>(?:[^/]+/)*?{first.removeprefix(_ANYWHERE)}(?=/))"
    *between, last = deeper
    return "".join((first, *(f"(?>(?:/[^/]+)*?{part}(?=/))" for part in between), _DEEPER, last))


def _with_one_star_tried(regex: str) -> str:
    first, *rest = _STARS.split(regex)
    return first + "".join(
        f"[^/]*{after}" if at == len(rest) - 1 or "/" in after.replace("[^/]", "") else f"(?>[^/]*?{after})"
        for at, after in enumerate(rest)
    )


def patterns_of(settings: VaultSettings) -> tuple[GitIgnoreSpec, GitIgnoreSpec]:
    """What the settings include and exclude. Raises SettingsError, which names the key and the pattern that is none."""
    return _spec_of("include", settings.include), _spec_of("exclude", settings.exclude)


def _spec_of(setting: str, patterns: Sequence[str]) -> GitIgnoreSpec:
    """The patterns of a setting, where one that is no pattern is a mistake to be told."""
    for pattern in patterns:
        if not _is_pattern(pattern):
            raise SettingsError(
                f"vault.{setting} is not valid: {pattern!r} is no pattern as in .gitignore.",
                "`excerpt config --path` says where the settings are.",
            )
    return _spec(patterns)


def _is_pattern(line: str) -> bool:
    try:
        _pattern(line)
    except (ValueError, re.error):
        return False
    return True
