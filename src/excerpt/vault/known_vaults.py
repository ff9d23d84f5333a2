"""The list of known vaults, and the transfer of the data of a vault that has moved to another folder."""

from __future__ import annotations

import filecmp
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from excerpt.base.errors import ExcerptError, VaultError
from excerpt.base.installation import quote_command
from excerpt.base.settings import Paths, contains_home, vault_slug
from excerpt.base.state_files import make_folder, read_value, write_value
from excerpt.text.display import format_count

# --- known vaults -----------------------------------------------------------------------------------------------------
# The vaults that the user can choose from a list: recently opened ones, those in Obsidian's own list, and the demo.
#
# Each vault that was opened has a file of its own in the state folder, so that several apps can open vaults at once and
# a damaged file costs only one entry:
#
#     {"path": "/home/ada/notes", "opened": 1767225600.0}
#
# Obsidian keeps its vaults in `obsidian.json` in its "system folder"; where that is on each platform is in its help,
# "How Obsidian stores data". Flatpak and Snap put their own folder around it.

FileType = TypeVar("FileType")

DEMO = Path(__file__).resolve().parents[1] / "demo"
"""The vault that ships with excerpt and is also its guide."""

_MAX_RECENT_VAULTS = 50
"""Maximum number of recent vaults; the oldest are removed first."""

_MAX_LIST_BYTES = 1_000_000
"""Largest size of a list of vaults in bytes; larger files are ignored."""


class RecentVault(Struct, frozen=True):
    """A vault that was opened; `opened` is in seconds since the epoch."""

    path: str
    opened: float


class _ObsidianVault(Struct, frozen=True):
    """An entry of Obsidian's list of vaults; `ts` is the time of the last use, in milliseconds since the epoch."""

    path: str
    ts: float = 0.0


class _ObsidianList(Struct, frozen=True):
    """The content of `obsidian.json`: vaults by Obsidian's id."""

    vaults: dict[str, _ObsidianVault]


def find_last_vault(paths: Paths, environment: Mapping[str, str]) -> Path:
    """Return the vault in $EXCERPT_VAULT, or else the vault that the app opened last: a folder or a store's address.

    Raises VaultError if there is none.
    """
    if path := environment.get("EXCERPT_VAULT", "").strip():
        return Path(path)
    recent = recent_vaults(paths)
    if not recent:
        raise VaultError(
            "No vault was given, and no vault has been opened before.",
            "Open a vault with `excerpt ~/notes`, or look around with `excerpt demo`.",
        )
    return Path(recent[0].path)


def recent_vaults(paths: Paths) -> tuple[RecentVault, ...]:
    """Return the vaults that were opened in the app, most recent first; some may not exist any more."""
    try:
        files = list(_recent_folder(paths).glob("*.json"))
    except OSError:
        return ()
    read = (_read_json(file, RecentVault) for file in files)
    valid = [recent for recent in read if recent is not None and recent.path]
    return tuple(sorted(valid, key=lambda recent: recent.opened, reverse=True))


def add_recent_vault(paths: Paths, vault: Path) -> None:
    """Put `vault` on top of the list of recent vaults. Does nothing if the state folder cannot be written."""
    with suppress(OSError):
        write_value(_recent_file(paths, vault), RecentVault(str(vault), time.time()))
        for recent in recent_vaults(paths)[_MAX_RECENT_VAULTS:]:
            remove_recent_vault(paths, Path(recent.path))


def remove_recent_vault(paths: Paths, vault: Path) -> None:
    """Remove a vault from the list of recent vaults; its index and the user's data stay."""
    with suppress(OSError):
        _recent_file(paths, vault).unlink()


def unique_names(vaults: Iterable[Path]) -> dict[Path, str]:
    """Return a unique name for each vault: its folder's name, preceded by parent folders if two names are equal."""
    each = list(dict.fromkeys(vaults))
    ends = {vault: [Path(*vault.parts[at:]).as_posix() for at in reversed(range(len(vault.parts)))] for vault in each}
    counts = Counter(end.casefold() for path_ends in ends.values() for end in path_ends)
    return {vault: next((end for end in ends[vault] if counts[end.casefold()] == 1), str(vault)) for vault in each}


@dataclass(frozen=True, slots=True)
class VaultFolders:
    """The folders of one or several open vaults, by name.

    A single vault has the name "". With several, the path of a note begins with the name of its vault, as if the vaults
    were folders of one: so no name has a slash.
    """

    named: tuple[tuple[str, Path], ...]

    @classmethod
    def of(cls, vaults: Iterable[Path]) -> VaultFolders:
        """Name the vaults by their folders; parent folders are added in front where two names would be equal."""
        each = unique_names(vaults)
        if len(each) == 1:
            return cls((("", next(iter(each))),))
        named: list[tuple[str, Path]] = []
        taken: set[str] = set()
        for vault, unique in each.items():
            text = os.fsencode(unique).decode("utf-8", "replace").replace("\\", "/").strip("/").replace("/", "-") or "-"
            numbered = (f"{text} {number}" for number in count(2))
            name = next(name for name in chain((text,), numbered) if name.casefold() not in taken)
            named.append((name, vault))
            taken.add(name.casefold())
        return cls(tuple(named))

    @property
    def by_name(self) -> Mapping[str, Path]:
        """The folder of each vault, by name."""
        return dict(self.named)

    @property
    def first(self) -> Path:
        """The vault whose settings are used, and that gets memories without a source."""
        return self.named[0][1]

    @property
    def is_joined(self) -> bool:
        """Whether the path of a note begins with the name of its vault."""
        return bool(self.named[0][0])

    @property
    def key(self) -> Path:
        """Path from which the data files of the open vaults are named: for a single vault, its folder.

        For several vaults, it is a path that no folder has, the same in whatever order they were opened.
        """
        return (
            Path(f"/vaults:{':'.join(sorted(str(folder) for _, folder in self.named))}")
            if self.is_joined
            else self.first
        )

    @property
    def title(self) -> str:
        """The names of the vaults, such as `notes + work`."""
        return " + ".join(name for name, _ in self.named) if self.is_joined else self.first.name

    def name_of(self, path: str) -> str:
        """Return the name of the vault that the path of a note begins with; "" for a single vault."""
        return path.partition("/")[0] if self.is_joined else ""

    def path_of(self, *files: Path) -> str:
        """Return the path in its vault of the first of `files` that is in one of these vaults; "" if no file is."""
        for file in files:
            for name, folder in self.named:
                if file.is_relative_to(folder):
                    return "/".join(filter(None, (name, file.relative_to(folder).as_posix())))
        return ""

    def locate(self, path: str) -> tuple[Path, str]:
        """Return the folder of the vault that has the note at `path`, and the path in that folder.

        Raises KeyError if no vault has that name.
        """
        name = self.name_of(path)
        return self.by_name[name], path[len(name) + 1 :] if name else path


def unique_name_among_recent(paths: Paths, vault: Path) -> str:
    """Return a name of `vault` that no recent vault has: its folder's name, with parent folders if needed."""
    return unique_names([vault, *(Path(recent.path) for recent in recent_vaults(paths))])[vault]


def describe_broad_folder(paths: Paths, vault: Path, home: Path) -> str:
    """Describe a folder that is too broad for a vault, such as "your home folder"; return "" for any other folder.

    The user has to confirm such a folder, as it holds much besides notes. A folder that was opened or indexed before
    counts as confirmed. `vault` and `home`, the user's home folder, are resolved paths.
    """
    if vault == home:
        description = "your home folder"
    elif vault.parent == vault:
        description = "the root of a disk"
    elif vault in home.parents:
        description = "a folder around your home folder"
    else:
        return ""
    try:
        return "" if _recent_file(paths, vault).exists() or paths.index_folder(vault).exists() else description
    except OSError:  # an unreadable folder counts as broad
        return description


def refuse_broad_folder(vault: Path, paths: Paths) -> None:
    """Raise VaultError if `vault` is a home folder or a disk that was never opened or indexed."""
    try:
        home = Path.home().resolve()
    except RuntimeError:  # there is no home folder
        return
    if description := describe_broad_folder(paths, vault, home):
        raise VaultError(
            f"{vault} is {description}: every note below it would be indexed.",
            "Name the folder of your notes. To index this folder anyway, use `excerpt index --accept-all`.",
        )


def known_vaults(paths: Paths, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the resolved folders of all known vaults: the demo, and those opened, indexed, or listed by Obsidian.

    `environment` holds the environment variables. Home folders and disks are left out: they hold much besides notes.
    """
    opened = (Path(entry.path) for entry in recent_vaults(paths))
    recent = (path for path in opened if path.is_absolute())  # the address of a store is not absolute
    read = (_read_json(file, _KnownPath) for file in _list_entries(paths.data / "vaults"))
    noted = (Path(entry.path) for entry in read if entry is not None)
    indexed = (path for path in noted if path.is_absolute() and paths.index_folder(path).exists())
    every = dict.fromkeys(vault.resolve() for vault in (DEMO, *recent, *indexed, *obsidian_vaults(environment)))
    return tuple(vault for vault in every if not contains_home(vault))


def find_vault_of_file(file: Path, vaults: Iterable[Path], paths: Paths, environment: Mapping[str, str]) -> Path | None:
    """Return the folder of the vault that contains `file`, a resolved path; None if no known vault contains it.

    `vaults` and all known vaults are considered. Paths that differ only in case may name one folder, so folders are
    compared by inode.
    """
    candidates = (*vaults, *known_vaults(paths, environment))
    for folder in file.parents:
        if any(_is_same_folder(folder, each) for each in candidates):
            return folder
        if paths.index_folder(folder).exists() and not contains_home(folder):
            return folder
    return None


def _is_same_folder(folder: Path, other: Path) -> bool:
    try:
        return folder == other or folder.samefile(other)
    except (OSError, ValueError):
        return False


def obsidian_vaults(environment: Mapping[str, str], platform: str = sys.platform) -> tuple[Path, ...]:
    """Return the vaults in Obsidian's own lists, most recent first; some may not exist any more."""
    lists = (_read_json(file, _ObsidianList) for file in _obsidian_lists(environment, platform))
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


def _recent_folder(paths: Paths) -> Path:
    return paths.state / "vaults"


def _recent_file(paths: Paths, vault: Path) -> Path:
    return _recent_folder(paths) / f"{vault_slug(vault)}.json"


def _read_json(file: Path, file_type: type[FileType]) -> FileType | None:
    """Return the content of a JSON file as a `file_type`; None if it is too large or does not have that type."""
    try:
        return None if file.stat().st_size > _MAX_LIST_BYTES else read_value(file, file_type, None)
    except OSError:
        return None


# --- moved vaults -----------------------------------------------------------------------------------------------------
# Memories and settings are stored by the path of their vault, so a vault that has moved has none. The data folder has
# the path of each vault that was opened, so that data without a vault can be named, and adopted:
#
#     {"path": "/home/ada/notes"}


class _KnownPath(Struct, frozen=True):
    """The file that holds the path of a vault, or the address of a store."""

    path: str


class FormerVault(Struct, frozen=True):
    """A vault that is gone, and for which excerpt still has data.

    `slug` names its data files; `path` is its last known path, "" if unknown. `user_data` names the user's data about
    it, such as "2 memories".
    """

    slug: str
    path: str
    user_data: str


def suggest_adoption(paths: Paths, vault: Path, *, suggest_moves: bool = False) -> tuple[str, ...]:
    """Return a sentence about memories of missing vaults, because `vault` may be one of them at a new path.

    Returns () if `vault` has memories. Also returns () if it was opened before, unless `suggest_moves` is true.
    """
    if paths.memory_folder(vault).exists() or (paths.known_path_file(vault).exists() and not suggest_moves):
        return ()
    # The address of a store is not absolute.
    formers = [former for former in orphaned_vaults(paths, vault) if Path(former.path).is_absolute()]
    if len(formers) > 1:
        count = format_count(len(formers), "vault")
        return (f"excerpt has memories of {count} that are gone. `excerpt doctor` names them.",)
    return tuple(
        f"{former.path} is gone, and has data: {former.user_data}. If it is this vault now, transfer the data with:"
        f" {adopt_command(former, vault)}"
        for former in formers
    )


def save_vault_path(paths: Paths, vault: Path) -> None:
    """Save the path of `vault`, so that messages can name its data after the vault has moved.

    Does nothing for a home folder that the user has not confirmed, or if the data folder cannot be written.
    """
    with suppress(RuntimeError):  # there is no home folder
        if not describe_broad_folder(paths, vault, Path.home().resolve()):
            _save_known_path(paths, vault, str(vault))


def save_store_address(paths: Paths, folder: Path, address: str) -> None:
    """Save that the data of `folder`, which does not exist, belongs to the vault at the `address` of a store.

    Does nothing if the data folder cannot be written.
    """
    _save_known_path(paths, folder, address)


def _save_known_path(paths: Paths, folder: Path, path: str) -> None:
    file, known = paths.known_path_file(folder), _KnownPath(path)
    if read_value(file, _KnownPath, None) != known:
        with suppress(OSError):
            write_value(file, known)


def orphaned_vaults(paths: Paths, vault: Path | None) -> Iterator[FormerVault]:
    """Yield each vault other than `vault` that has memories and whose folder is missing or unknown."""
    own = "" if vault is None else vault_slug(vault)
    for folder in _list_entries(paths.data / "memories"):
        memory_count = _count_memories(folder)
        if folder.name == own or not memory_count:
            continue
        path = _last_known_path(paths, folder.name)
        if not path or not _is_other_folder(path, vault):
            yield FormerVault(folder.name, path, _memory_count_text(memory_count))


def adopt_vault_data(paths: Paths, vault: Path, source: str) -> str:
    """Transfer the data of another vault to `vault`; return a sentence that says what was transferred.

    `source` is the other vault's path, or the name of its folder of memories. The data is moved if the other vault is
    missing, else copied. Raises ExcerptError if there is no data, or it cannot be transferred.
    """
    slug = source
    if Path(source).name != source or not (paths.data / "memories" / source).is_dir():
        slug = vault_slug(Path(source).expanduser())
    if slug == vault_slug(vault):
        raise ExcerptError(f"{source} is this vault itself.", "Name the folder where it was before.")
    path = _last_known_path(paths, slug) or source
    try:
        moved, not_moved = _move_data(paths, vault, slug, copy=_is_other_folder(path, vault))
    except OSError as error:
        raise ExcerptError(f"The data of {path} could not be transferred: {error}. Nothing is lost.") from error
    if not moved and not not_moved:
        raise ExcerptError(
            f"There is no data of a vault at {source}.", "Run `excerpt doctor`: it names memories without a vault."
        )
    remainder = f" Not transferred, as this vault has its own: {not_moved}." if not_moved else ""
    return f"Transferred from {path}: {moved or 'nothing'}.{remainder}"


def adopt_command(former: FormerVault, vault: Path | None) -> str:
    """Return the shell command that transfers the data of a former vault to `vault`; None gives a placeholder."""
    argv = ("excerpt", "doctor", "--vault", str(vault or "ITS-FOLDER-NOW"), "--adopt", former.path or former.slug)
    return quote_command(argv)


def _is_other_folder(path: str, vault: Path | None) -> bool:
    """Return whether `path` is a folder other than `vault`. An unreadable path counts as one."""
    try:
        Path(path).stat()
        return vault is None or not vault.exists() or not Path(path).samefile(vault)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True


def _last_known_path(paths: Paths, slug: str) -> str:
    """Return the last known path of the vault whose data files are named by `slug`; "" if unknown."""
    stored = read_value(paths.data / "vaults" / f"{slug}.json", _KnownPath, None)
    if stored is not None:
        return stored.path
    return next((recent.path for recent in recent_vaults(paths) if vault_slug(Path(recent.path)) == slug), "")


def _list_entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


# --- transfer of data -------------------------------------------------------------------------------------------------


def _user_files(paths: Paths, vault: Path) -> dict[str, Path]:
    """Return the files of the user's data about a vault, except memories, by the names that sentences use for them."""
    return {
        "settings": paths.vault_settings_file(vault),
        "saved queries": paths.saved_queries_file(vault),
        "gold set": paths.gold_file(vault),
        "last run of the gold set": paths.gold_run_file(vault),
        "seen hits": paths.seen_hits_file(vault),
        "marks": paths.marks_file(vault),
        "query history": paths.history_file(vault),
        "log of opened notes": paths.use_file(vault),
        "last session": paths.session_file(vault),
        "savings by packs": paths.token_savings_file(vault),
    }


def _corresponding_path(slug: str, own: Path, vault: Path) -> Path:
    """Return the path that has the role of `own`, a data file of `vault`, for the vault whose files `slug` names."""
    return own.with_name(slug + own.name.removeprefix(vault_slug(vault)))


def _memory_count_text(memories: int) -> str:
    return format_count(memories, "memory", "memories")


def _count_memories(folder: Path) -> int:
    """Return the number of memories in a folder of memories, without those in the trash."""
    names = (file.relative_to(folder).parts for file in folder.rglob("*.md"))
    return sum(parts[0] != "trash" and not any(part.startswith(".") for part in parts) for parts in names)


def _move_data(paths: Paths, vault: Path, slug: str, *, copy: bool) -> tuple[str, str]:
    """Move the data files that are named by `slug` to the names for the vault `vault`; with `copy`, copy them.

    Returns the names of the moved kinds of data, and of the kinds that stayed because `vault` has its own. Raises
    OSError; after an error, a second call continues where this one failed.
    """
    moved: list[str] = []
    not_moved: list[str] = []
    memories = paths.memory_folder(vault)
    former = _corresponding_path(slug, memories, vault)
    if former.is_dir():
        number = _count_memories(former)
        _move_folder(former, memories, copy=copy)
        moved += [_memory_count_text(number)] if number else []
    for name, own in _user_files(paths, vault).items():
        file = _corresponding_path(slug, own, vault)
        if not file.is_file():
            continue
        if own.exists():
            not_moved.append(name)
            continue
        _move_file(file, own, copy=copy)
        moved.append(name)
    if not copy:
        _move_caches(paths, vault, slug)
    return ", ".join(moved), ", ".join(not_moved)


def _move_caches(paths: Paths, vault: Path, slug: str) -> None:
    """Move the recent-vaults entry to `vault`, and the indexes unless `vault` has its own; forget the old path."""
    path = _last_known_path(paths, slug)
    for own in (paths.index_folder(vault), paths.memory_index_folder(vault)):
        former = _corresponding_path(slug, own, vault)
        with suppress(OSError):
            if own.exists():
                shutil.rmtree(former)
            else:
                former.rename(own)
    if any(recent.path == path for recent in recent_vaults(paths)):
        add_recent_vault(paths, vault)
        remove_recent_vault(paths, Path(path))
    with suppress(OSError):
        _corresponding_path(slug, paths.known_path_file(vault), vault).unlink()


def _move_folder(former: Path, folder: Path, *, copy: bool) -> None:
    """Move or copy the files of `former` into `folder`; a file with a taken name gets another name."""
    if not copy and not folder.exists():
        make_folder(folder)
        former.rename(folder)
        return
    for file in sorted(former.rglob("*")):
        if not file.is_file() or file.is_symlink() or file.name == ".lock":
            continue
        target, number = folder / file.relative_to(former), 2
        while target.exists() and not filecmp.cmp(target, file, shallow=False):
            target, number = (folder / file.relative_to(former)).with_stem(f"{file.stem}~{number}"), number + 1
        if not target.exists() or not copy:
            _move_file(file, target, copy=copy)


def _move_file(file: Path, target: Path, *, copy: bool) -> None:
    """Move `file` to `target` atomically, or copy it with `copy`; its modification time stays the same."""
    make_folder(target)
    if copy:
        fresh = target.with_name(f".{target.name}.{os.getpid()}")
        file = Path(shutil.copy2(file, fresh))
    file.replace(target)
