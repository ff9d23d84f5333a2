"""Known vaults that need no name, and detection of vaults that have moved."""

from __future__ import annotations

import heapq
import os
import shlex
import shutil
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from excerpt.errors import ExcerptError, FileOpenError, VaultError
from excerpt.settings import Paths, contains_home, vault_slug
from excerpt.state_files import make_folder, read_value, write_value
from excerpt.text.display import format_count

# --- known vaults -----------------------------------------------------------------------------------------------------
# Known vaults that need no name: those opened lately, those in Obsidian's own list, and the demo.
#
# Each vault that was opened has a file of its own in the state folder, so that several apps can open vaults at once and
# a damaged file costs only one entry:
#
#     {"path": "/home/ada/notes", "opened": 1767225600.0}
#
# Obsidian keeps its vaults in `obsidian.json` in its "system folder"; where that is on each platform is in its help,
# "How Obsidian stores data". Flatpak and Snap put their own folder around it.

Shape = TypeVar("Shape")

DEMO = Path(__file__).resolve().parent / "demo"
"""The vault that ships with excerpt and is also its guide."""

_MAX = 50
"""Maximum number of recent vaults; the oldest are removed first."""

_LARGEST = 1_000_000
"""Largest size of a list of vaults in bytes; larger files are ignored."""


@dataclass(frozen=True, slots=True)
class Recent:
    """A vault that was opened; `opened` is in seconds since the epoch."""

    path: str
    opened: float


@dataclass(frozen=True, slots=True)
class _ObsidianVault:
    path: str
    ts: float = 0.0


@dataclass(frozen=True, slots=True)
class _ObsidianList:
    vaults: dict[str, _ObsidianVault]


def recent_vaults(paths: Paths) -> tuple[Recent, ...]:
    """Return the vaults opened in the app, most recent first, without checking that they still exist."""
    try:
        files = list(_folder(paths).glob("*.json"))
    except OSError:
        return ()
    read = (_read(file, Recent) for file in files)
    valid = [recent for recent in read if recent is not None and recent.path]
    return tuple(sorted(valid, key=lambda recent: recent.opened, reverse=True))


def remember_vault(paths: Paths, vault: Path) -> None:
    """Make `vault` the most recent one. A state folder that cannot be written is ignored."""
    with suppress(OSError):
        write_value(_file(paths, vault), Recent(str(vault), time.time()))
        for recent in recent_vaults(paths)[_MAX:]:
            forget_vault(paths, Path(recent.path))


def forget_vault(paths: Paths, vault: Path) -> None:
    """Remove a vault from the list of recent vaults; nothing else is changed."""
    with suppress(OSError):
        _file(paths, vault).unlink()


def unique_names(vaults: Iterable[Path]) -> dict[Path, str]:
    """Return a name for each vault: its folder's name, with parent folders if two names would be equal."""
    each = list(dict.fromkeys(vaults))
    ends = {vault: [Path(*vault.parts[at:]).as_posix() for at in reversed(range(len(vault.parts)))] for vault in each}
    counts = Counter(end.casefold() for path_ends in ends.values() for end in path_ends)
    return {vault: next((end for end in ends[vault] if counts[end.casefold()] == 1), str(vault)) for vault in each}


def name_among_recent(paths: Paths, vault: Path) -> str:
    """Return the name of a vault that is unique among the recent ones."""
    return unique_names([vault, *(Path(recent.path) for recent in recent_vaults(paths))])[vault]


def too_broad(paths: Paths, vault: Path, home: Path) -> str:
    """Return a description of a folder that holds much besides notes, so that the user must confirm it; else "".

    A folder that was opened or indexed before is not asked about again. Both paths are resolved.
    """
    if vault == home:
        named = "your home folder"
    elif vault.parent == vault:
        named = "the root of a disk"
    elif vault in home.parents:
        named = "a folder around your home folder"
    else:
        return ""
    try:
        return "" if _file(paths, vault).exists() or paths.index_folder(vault).exists() else named
    except OSError:  # an unreadable folder counts as broad
        return named


def check_breadth(vault: Path, paths: Paths) -> None:
    """Raise VaultError for a home folder or disk that was never opened or indexed."""
    try:
        home = Path.home().resolve()
    except RuntimeError:  # there is no home folder
        return
    if named := too_broad(paths, vault, home):
        raise VaultError(
            f"{vault} is {named}: every note below it would be indexed.",
            "Name the folder of your notes, or use `excerpt index --accept-all` with this one.",
        )


def known_vaults(paths: Paths, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the resolved folders of all known vaults: opened, indexed, or listed by Obsidian.

    Home folders and disks are left out: they hold much besides notes.
    """
    opened = (Path(entry.path) for entry in recent_vaults(paths))
    recent = (path for path in opened if path.is_absolute())  # the address of a store is not absolute
    read = (_read(file, _KnownVault) for file in _list_folder(paths.data / "vaults"))
    noted = (Path(entry.path) for entry in read if entry is not None)
    indexed = (path for path in noted if path.is_absolute() and paths.index_folder(path).exists())
    every = dict.fromkeys(vault.resolve() for vault in (DEMO, *recent, *indexed, *obsidian_vaults(environment)))
    return tuple(vault for vault in every if not contains_home(vault))


def vault_of_file(file: Path, vault: Path, paths: Paths, environment: Mapping[str, str]) -> Path | None:
    """Return the vault that contains a resolved `file`: `vault`, or another that was opened or indexed; None if none.

    Names that differ in case alone may be one folder, so folders are compared by the file system's identity.
    """
    candidates = known_vaults(paths, environment)
    for folder in file.parents:
        if any(_is_same(folder, each) for each in (vault, *candidates)):
            return folder
        if paths.index_folder(folder).exists() and not contains_home(folder):
            return folder
    return None


def _is_same(folder: Path, other: Path) -> bool:
    try:
        return folder == other or folder.samefile(other)
    except (OSError, ValueError):
        return False


def obsidian_vaults(environment: Mapping[str, str], platform: str = sys.platform) -> tuple[Path, ...]:
    """Return the vaults in Obsidian's own lists, most recent first, without checking that they still exist."""
    lists = (_read(file, _ObsidianList) for file in _obsidian_lists(environment, platform))
    every = [vault for each in lists if each is not None for vault in each.vaults.values()]
    by_use = sorted(every, key=lambda vault: vault.ts, reverse=True)
    paths = dict.fromkeys(Path(vault.path) for vault in by_use)
    return tuple(path for path in paths if path.is_absolute())


def _obsidian_lists(environment: Mapping[str, str], platform: str) -> list[Path]:
    home = Path(environment.get("HOME") or Path.home())
    if platform == "win32":
        folders = [Path(environment.get("APPDATA") or home / "AppData" / "Roaming")]
    elif platform == "darwin":
        folders = [home / "Library" / "Application Support"]
    else:
        folders = [
            Path(environment.get("XDG_CONFIG_HOME") or home / ".config"),
            home / ".var" / "app" / "md.obsidian.Obsidian" / "config",
            home / "snap" / "obsidian" / "current" / ".config",
        ]
    return [folder / "obsidian" / "obsidian.json" for folder in folders]


def _folder(paths: Paths) -> Path:
    return paths.state / "vaults"


def _file(paths: Paths, vault: Path) -> Path:
    return _folder(paths) / f"{vault_slug(vault)}.json"


def _read(file: Path, shape: type[Shape]) -> Shape | None:
    """Return the value in a JSON file, or None if it cannot be read as `shape`."""
    try:
        return None if file.stat().st_size > _LARGEST else read_value(file, shape, None)
    except OSError:
        return None


# --- moved vaults -----------------------------------------------------------------------------------------------------
# Detection of a vault that has moved, by its content, since memories and settings are stored by path.
#
# Digests of some notes of each vault are stored in the data folder:
#
#     {"path": "/home/ada/notes", "notes": {"Guides/Sync.md": "0c5d9a44e7f1b2a3"}}
#
# If another path has half of these notes, unchanged and at the same places, it is the same vault. Half allows for the
# edits of a day, or for one of two notes; names alone would confuse one folder of daily notes with another.

_ENDINGS = (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd", ".txt", ".text")
_SAMPLE = 64
_MAX_LISTED = 5_000
"""Maximum number of files and folders that the sample of notes is chosen from: some 10 ms in any vault."""
_MAX_READ = 1 << 16
_MAX_AGE = 86_400.0
"""Seconds after which the sample of notes is written again; that of a small vault is written each time."""


@dataclass(frozen=True, slots=True)
class _KnownVault:
    path: str
    notes: dict[str, str]


@dataclass(frozen=True, slots=True)
class FormerVault:
    """A vault that was known before; its `path` is "" if unknown.

    `user_data` names the user's data about it, "" if there is none. `is_same` is true if the present vault holds its
    notes, `is_like` if half of its note names exist there.
    """

    slug: str
    path: str
    user_data: str
    exists: bool
    is_same: bool
    is_like: bool


def detect_move(paths: Paths, vault: Path, *, offer: bool = False) -> tuple[str, ...]:
    """Move the data of a vault that has moved to `vault`; return sentences for the user.

    This happens if `vault` has no memories and exactly one missing vault had the same notes. If the other vault still
    exists or is uncertain, only a command is suggested: when a vault is opened for the first time, or with `offer`.
    """
    if paths.memory_folder(vault).exists():
        return ()
    offer = offer or not paths.known_notes_file(vault).exists()
    formers = list(_former_vaults(paths, vault, existing=offer))
    moved_from = [former for former in formers if former.is_same and not former.exists]
    moved_from = [former for former in moved_from if former.user_data] or moved_from
    if len(moved_from) == 1:
        try:
            moved, _ = _move_data(paths, vault, moved_from[0].slug, leave=False)
        except OSError as error:
            return (f"The data of {moved_from[0].path} could not be transferred: {error}. Nothing is lost.",)
        return (f"This vault was at {moved_from[0].path} before. Moved from there: {moved}.",) if moved else ()
    return tuple(_offer_text(former, vault) for former in formers if offer and former.user_data)


def save_fingerprint(paths: Paths, vault: Path) -> None:
    """Store a sample of the notes of `vault`, by which it is detected after a move.

    Done at most once a day, and never for a home folder that the user has not confirmed. A data folder that cannot be
    written is ignored.
    """
    file = paths.known_notes_file(vault)
    stored = read_value(file, _KnownVault, None)
    with suppress(OSError, RuntimeError):  # RuntimeError: there is no home folder
        if stored is not None and len(stored.notes) == _SAMPLE and time.time() - file.stat().st_mtime < _MAX_AGE:
            return
        if too_broad(paths, vault, Path.home().resolve()):
            return
        notes = _sample_notes(vault)
        if notes and (stored is None or stored.notes != notes or len(notes) == _SAMPLE):
            write_value(file, _KnownVault(str(vault), notes))


def orphaned_vaults(paths: Paths, vault: Path | None) -> Iterator[FormerVault]:
    """Yield the other vaults with memories that are missing or whose path is unknown."""
    own = "" if vault is None else vault_slug(vault)
    for folder in _list_folder(paths.data / "memories"):
        memory_count = _memories(folder)
        if folder.name == own or not memory_count:
            continue
        path, notes = _path_of(paths, folder.name), _notes_of(paths, folder.name)
        if not path or not _is_other_folder(path, vault):
            is_same, is_like = (False, False) if vault is None else _likeness(vault, notes)
            yield FormerVault(folder.name, path, _count_text(memory_count), False, is_same, is_like)


def adopt(paths: Paths, vault: Path, source: str) -> str:
    """Move the data of another vault to `vault`; return a sentence that says what was moved.

    `source` is a path or the name of a folder of memories. If that vault still exists, its data is copied. Raises
    ExcerptError.
    """
    slug = source
    if Path(source).name != source or not (paths.data / "memories" / source).is_dir():
        slug = vault_slug(Path(source).expanduser())
    if slug == vault_slug(vault):
        raise ExcerptError(f"{source} is this vault itself.", "Name the folder where it was before.")
    path = _path_of(paths, slug) or source
    try:
        moved, not_moved = _move_data(paths, vault, slug, leave=_is_other_folder(path, vault))
    except OSError as error:
        raise ExcerptError(f"The data of {path} could not be transferred: {error}. Nothing is lost.") from error
    if not moved and not not_moved:
        raise ExcerptError(
            f"There is no data of a vault at {source}.", "`excerpt doctor` names memories without a vault."
        )
    remainder = f" Not transferred, as this vault has its own: {not_moved}." if not_moved else ""
    return f"Transferred from {path}: {moved or 'nothing'}.{remainder}"


def command_for(former: FormerVault, vault: Path | None) -> str:
    """Return the command that moves the data of a former vault; with a placeholder if `vault` is None."""
    argv = ("excerpt", "doctor", "--vault", str(vault or "ITS-FOLDER-NOW"), "--adopt", former.path or former.slug)
    if os.name == "posix":
        return shlex.join(argv)
    import subprocess

    return subprocess.list2cmdline(argv)


# --- what is the same vault -------------------------------------------------------------------------------------------


def _former_vaults(paths: Paths, vault: Path, *, existing: bool) -> Iterator[FormerVault]:
    """Yield the other vaults with notes of `vault`: those that are missing and, with `existing`, existing ones."""
    own = paths.known_notes_file(vault)
    for file in _list_folder(own.parent):
        stored = read_value(file, _KnownVault, None) if file.suffix == ".json" and file != own else None
        if stored is None:
            continue
        is_there = _is_other_folder(stored.path, vault)
        if is_there and not existing:
            continue
        is_same, is_like = _likeness(vault, stored.notes)
        if is_same or (is_like and not is_there):
            yield FormerVault(file.stem, stored.path, _user_data(paths, vault, file.stem), is_there, is_same, is_like)


def _likeness(vault: Path, notes: dict[str, str]) -> tuple[bool, bool]:
    """Return whether at least half of the notes are unchanged in `vault`, and whether half of the names exist."""
    digests = {path: _digest(vault, path) for path in notes}
    same = sum(digests[path] == digest for path, digest in notes.items())
    existing = sum(bool(digest) for digest in digests.values())
    return 0 < len(notes) <= 2 * same, 0 < len(notes) <= 2 * existing


def _sample_notes(vault: Path) -> dict[str, str]:
    """Return digests of a sample of the notes, by path.

    The sample is the notes near the root with the smallest path hashes, so other notes can come and go without changing
    it.
    """
    paths: list[str] = []
    pending, listed = deque([""]), 0
    while pending and listed < _MAX_LISTED:
        folder = pending.popleft()
        with suppress(OSError), os.scandir(vault / folder) as entries:
            for entry in entries:
                listed += 1
                if listed > _MAX_LISTED:
                    break
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append(f"{folder}{entry.name}/")
                elif entry.name.lower().endswith(_ENDINGS):
                    paths.append(folder + entry.name)
    chosen = heapq.nsmallest(_SAMPLE, paths, key=lambda path: blake2b(os.fsencode(path), digest_size=8).digest())
    digests = ((path, _digest(vault, path)) for path in chosen)
    return {path: digest for path, digest in digests if digest}


def _digest(vault: Path, path: str) -> str:
    """Return the digest of a note's beginning; "" if it is empty, unreadable, or behind a symbolic link."""
    from excerpt.vault_files import open_file

    try:
        with open_file(vault, path) as opened:
            data = opened.read(_MAX_READ)
    except (OSError, FileOpenError):
        return ""
    return blake2b(data, digest_size=8).hexdigest() if data else ""


def _is_other_folder(path: str, vault: Path | None) -> bool:
    """Return whether `path` is a folder other than `vault`. An unreadable path counts as one."""
    try:
        Path(path).stat()
        return vault is None or not vault.exists() or not Path(path).samefile(vault)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True


def _path_of(paths: Paths, slug: str) -> str:
    """Return the last known path of a vault; "" if it is unknown."""
    stored = read_value(paths.data / "vaults" / f"{slug}.json", _KnownVault, None)
    if stored is not None:
        return stored.path
    return next((recent.path for recent in recent_vaults(paths) if vault_slug(Path(recent.path)) == slug), "")


def _notes_of(paths: Paths, slug: str) -> dict[str, str]:
    stored = read_value(paths.data / "vaults" / f"{slug}.json", _KnownVault, None)
    return {} if stored is None else stored.notes


def _list_folder(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


# --- what is kept of it -----------------------------------------------------------------------------------------------


def _user_files(paths: Paths, vault: Path) -> dict[str, Path]:
    """Return the files of the user's data about a vault, besides its memories, by their names in sentences."""
    return {
        "settings": paths.vault_settings_file(vault),
        "saved queries": paths.saved_queries_file(vault),
        "marks": paths.marks_file(vault),
        "queries asked": paths.history_file(vault),
        "notes opened": paths.use_file(vault),
        "where you were": paths.session_file(vault),
        "what packs saved": paths.savings_file(vault),
    }


def _corresponding_path(slug: str, own: Path, vault: Path) -> Path:
    """Return the file that corresponds to `own` for the vault with the slug `slug`."""
    return own.with_name(slug + own.name.removeprefix(vault_slug(vault)))


def _user_data(paths: Paths, vault: Path, slug: str) -> str:
    """Return the names of the user's data about a vault: memories, settings and saved queries.

    Marks and history are not named: a copy has no use for them.
    """
    memories = _memories(_corresponding_path(slug, paths.memory_folder(vault), vault))
    files = {"settings": paths.vault_settings_file(vault), "saved queries": paths.saved_queries_file(vault)}
    names = [name for name, own in files.items() if _corresponding_path(slug, own, vault).exists()]
    return ", ".join([_count_text(memories), *names] if memories else names)


def _count_text(memories: int) -> str:
    return format_count(memories, "memory", "memories")


def _memories(folder: Path) -> int:
    names = (file.relative_to(folder).parts for file in folder.rglob("*.md"))
    return sum(parts[0] != "trash" and not any(part.startswith(".") for part in parts) for parts in names)


def _offer_text(former: FormerVault, vault: Path) -> str:
    command = command_for(former, vault)
    if former.exists:
        return f"{former.path} has the same notes, and {former.user_data}. To copy these: {command}"
    guess = f"This may be the vault that was at {former.path}"
    return f"{guess}. Data kept of it: {former.user_data}. To transfer it: {command}"


def _move_data(paths: Paths, vault: Path, slug: str, *, leave: bool) -> tuple[str, str]:
    """Move, or with `leave` copy, the data of another vault to that of `vault`.

    Returns the names of what was moved, and of what was left because `vault` has its own. Raises OSError; a later call
    continues.
    """
    moved: list[str] = []
    not_moved: list[str] = []
    memories = paths.memory_folder(vault)
    former = _corresponding_path(slug, memories, vault)
    if former.is_dir():
        number = _memories(former)
        _move_folder(former, memories, leave=leave)
        moved += [_count_text(number)] if number else []
    for name, own in _user_files(paths, vault).items():
        file = _corresponding_path(slug, own, vault)
        if not file.is_file():
            continue
        if own.exists():
            not_moved.append(name)
            continue
        _move_file(file, own, leave=leave)
        moved.append(name)
    if not leave:
        _move_caches(paths, vault, slug)
    return ", ".join(moved), ", ".join(not_moved)


def _move_caches(paths: Paths, vault: Path, slug: str) -> None:
    """Move what can be rebuilt: indexes and the entry among recent vaults; delete the old sample of notes."""
    path = _path_of(paths, slug)
    for own in (paths.index_folder(vault), paths.memory_index_folder(vault)):
        with suppress(OSError):
            if not own.exists():
                _corresponding_path(slug, own, vault).rename(own)
    if any(recent.path == path for recent in recent_vaults(paths)):
        remember_vault(paths, vault)
        forget_vault(paths, Path(path))
    with suppress(OSError):
        _corresponding_path(slug, paths.known_notes_file(vault), vault).unlink()


def _move_folder(former: Path, folder: Path, *, leave: bool) -> None:
    if not leave and not folder.exists():
        make_folder(folder)
        former.rename(folder)
        return
    for file in sorted(former.rglob("*")):
        if not file.is_file() or file.is_symlink() or file.name == ".lock":
            continue
        to, number = folder / file.relative_to(former), 2
        while to.exists() and to.read_bytes() != file.read_bytes():
            to, number = (folder / file.relative_to(former)).with_stem(f"{file.stem}~{number}"), number + 1
        if not to.exists() or not leave:
            _move_file(file, to, leave=leave)


def _move_file(file: Path, to: Path, *, leave: bool) -> None:
    """Move or copy a file atomically, and keep its modification time."""
    make_folder(to)
    if leave:
        fresh = to.with_name(f".{to.name}.{os.getpid()}")
        file = Path(shutil.copy2(file, fresh))
    file.replace(to)
