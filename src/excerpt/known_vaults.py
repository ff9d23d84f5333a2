"""The vaults that are known without being named: those opened lately, those in Obsidian's own list, and the demo.

Each vault that was opened has a file of its own in the state folder, so that several apps can open vaults at once and
a damaged file costs one line of a list:

    {"path": "/home/ada/notes", "opened": 1767225600.0}

Obsidian keeps its vaults in `obsidian.json` in its "system folder"; where that is on each platform is in its help,
"How Obsidian stores data". Flatpak and Snap put their own folder around it.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from excerpt.settings import Places, is_around_home, vault_slug
from excerpt.state_files import replace_file

Shape = TypeVar("Shape")

DEMO = Path(__file__).resolve().parent / "demo"
"""The vault that ships with excerpt, which is also its guide."""

_MOST = 50
"""Vaults that are kept in the list: those opened longest ago go first."""

_LARGEST = 1_000_000
"""Bytes of a list of vaults beyond which it is no such list."""


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


def recent_vaults(where: Places) -> tuple[Recent, ...]:
    """The vaults opened by the app, the last one first; whether each is still there is not looked at."""
    try:
        files = list(_folder(where).glob("*.json"))
    except OSError:
        return ()
    read = (_read(file, Recent) for file in files)
    found = [recent for recent in read if recent is not None and recent.path]
    return tuple(sorted(found, key=lambda recent: recent.opened, reverse=True))


def remember_vault(where: Places, vault: Path) -> None:
    """Make `vault` the one that was opened last. A state folder that cannot be written is no reason to stop."""
    # A path that is not UTF-8 becomes escapes that JSON reads back.
    data = json.dumps({"path": str(vault), "opened": time.time()}).encode("ascii") + b"\n"
    with suppress(OSError):
        replace_file(_file(where, vault), data)
        for recent in recent_vaults(where)[_MOST:]:
            forget_vault(where, Path(recent.path))


def forget_vault(where: Places, vault: Path) -> None:
    """Take it out of the list; nothing else of it is touched."""
    with suppress(OSError):
        _file(where, vault).unlink()


def names_apart(vaults: Iterable[Path]) -> dict[Path, str]:
    """What each is called among the others: its folder's name, with as many of the folders above as tell it apart from
    those of the same name, whatever their case."""
    each = list(dict.fromkeys(vaults))
    ends = {vault: [Path(*vault.parts[at:]).as_posix() for at in reversed(range(len(vault.parts)))] for vault in each}
    told = Counter(end.casefold() for found in ends.values() for end in found)
    return {vault: next((end for end in ends[vault] if told[end.casefold()] == 1), str(vault)) for vault in each}


def name_among_recent(where: Places, vault: Path) -> str:
    """What a vault is called among those opened lately."""
    return names_apart([vault, *(Path(recent.path) for recent in recent_vaults(where))])[vault]


def too_broad(where: Places, vault: Path, home: Path) -> str:
    """What a folder is, if it holds much else than notes and is to be asked about before all of it is indexed; ""
    where nothing is to be asked, as where it was opened or indexed before. Both are resolved."""
    if vault == home:
        named = "your home folder"
    elif vault.parent == vault:
        named = "the root of a disk"
    elif vault in home.parents:
        named = "a folder around your home folder"
    else:
        return ""
    try:
        return "" if _file(where, vault).exists() or where.index_folder(vault).exists() else named
    except OSError:  # what may not be looked at does not speak for it
        return named


def known_vaults(where: Places, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The vaults that are known without being named, resolved; without home folders and disks, which hold much else."""
    recent = (Path(recent.path) for recent in recent_vaults(where))
    every = dict.fromkeys(vault.resolve() for vault in (DEMO, *recent, *obsidian_vaults(environment)))
    return tuple(vault for vault in every if not is_around_home(vault))


def obsidian_vaults(environment: Mapping[str, str], platform: str = sys.platform) -> tuple[Path, ...]:
    """The vaults of Obsidian's own lists, the one used last first; whether each is still there is not looked at."""
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


def _folder(where: Places) -> Path:
    return where.state / "vaults"


def _file(where: Places, vault: Path) -> Path:
    return _folder(where) / f"{vault_slug(vault)}.json"


def _read(file: Path, shape: type[Shape]) -> Shape | None:
    """What a file of JSON says, or None where it cannot be read as that."""
    try:
        if file.stat().st_size > _LARGEST:
            return None
        return msgspec.convert(json.loads(file.read_text(encoding="utf-8")), shape)
    except (OSError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None
