"""What the chooser of vaults lists: those known, and the folders that a path as it is typed may become."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path

from excerpt.known_vaults import DEMO, Recent, names_apart
from excerpt.text.times import age

_MOST_FOLDERS = 50
"""Folders listed at most: more is typed on for, never scrolled to."""

_MOST_SEEN = 20_000
"""Entries of a folder that are looked at, at most."""


class Kind(StrEnum):
    """Why a vault is in the list, as the row says it."""

    RECENT = "lately"
    OBSIDIAN = "Obsidian"
    GUIDE = "guide"
    TYPED = "this one"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class VaultRow:
    """`name` is the folder's, with those above it where others have the same; `told` stands at the right: when it was
    opened, or what it is."""

    kind: Kind
    path: Path
    name: str
    told: str = ""

    def above(self, home: Path) -> str:
        """Where it is, in short: what its name does not say."""
        if self.kind is Kind.GUIDE:
            return "to look around"
        around = self.path
        for _ in Path(self.name).parts:
            around = around.parent
        return short_path(around, home)


def known_rows(
    recent: Sequence[Recent], obsidian: Sequence[Path], now: float, current: Path | None
) -> tuple[VaultRow, ...]:
    """Each vault once: those opened lately, the last one first, then Obsidian's, then the demo. `now` is in seconds
    since the epoch, `current` the vault that is open."""
    opened = [Path(one.path) for one in recent]
    names = names_apart([*opened, *obsidian, *([] if current is None else [current])])
    rows = [
        VaultRow(Kind.RECENT, path, names[path], age(one.opened, now)) for path, one in zip(opened, recent, strict=True)
    ]
    rows += [VaultRow(Kind.OBSIDIAN, path, names[path]) for path in obsidian]
    rows += [VaultRow(Kind.GUIDE, DEMO, "The guide")]
    if current is not None and current not in (row.path for row in rows):
        rows.insert(0, VaultRow(Kind.RECENT, current, names[current]))
    each: dict[Path, VaultRow] = {}
    for row in rows:
        each.setdefault(row.path, replace(row, told="open now") if row.path == current else row)
    return tuple(each.values())


def matching(rows: Iterable[VaultRow], typed: str) -> tuple[VaultRow, ...]:
    """Those whose path or name has every word that is typed."""
    words = typed.casefold().split()
    return tuple(row for row in rows if all(word in f"{row.path} {row.name}".casefold() for word in words))


def is_path(typed: str) -> bool:
    """Whether a path is being typed, and not a word to look for."""
    return typed.startswith(("~", ".")) or any(sep in typed for sep in (os.sep, os.altsep or os.sep))


def expanded(typed: str, home: Path) -> Path:
    """The path as it is meant, with the home folder in the place of ~. Raises RuntimeError for the ~ of a user there
    is not."""
    if typed == "~" or typed.startswith(("~/", f"~{os.sep}")):
        return home / typed[2:]
    return Path(typed).expanduser()


def folder_rows(typed: str, here: Path, home: Path) -> tuple[VaultRow, ...]:
    """The folder that is typed, if it is one, and those it may become: in the folder named so far, the ones whose
    names begin with the rest, then those that have it in them. Relative to `here`. Reads the disk: for a thread."""
    try:
        whole = here / expanded(typed, home)
        ended = typed.endswith((os.sep, "/")) or typed in ("~", ".", "..")
        itself = [VaultRow(Kind.TYPED, whole, _name(whole), _sort(whole))] if whole.is_dir() else []
        folder, begun = (whole, "") if ended else (whole.parent, whole.name)
        found = list(_folders(folder, begun))
    except (OSError, ValueError, RuntimeError):  # ValueError: a NUL; RuntimeError: the ~ of a user there is not
        return ()
    first = [path for path in found if path.name.casefold().startswith(begun.casefold())]
    among = [path for path in found if path not in set(first)]
    ordered = [*sorted(first, key=_by_name), *sorted(among, key=_by_name)]
    more = [path for path in ordered if path != whole][:_MOST_FOLDERS]
    return (*itself, *(VaultRow(Kind.FOLDER, path, _name(path), _sort(path)) for path in more))


def _folders(folder: Path, begun: str) -> Iterator[Path]:
    """The folders in `folder` that have what is begun in their names; hidden ones only if it begins with a dot."""
    wanted = begun.casefold()
    with os.scandir(folder) as entries:
        for entry in islice(entries, _MOST_SEEN):
            hidden = entry.name.startswith(".") and not begun.startswith(".")
            if not hidden and wanted in entry.name.casefold() and _is_folder(entry):
                yield Path(folder, entry.name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def missing(rows: Iterable[VaultRow]) -> frozenset[Path]:
    """Those that are not there, or cannot be looked at. Reads the disk: for a thread."""
    return frozenset(row.path for row in rows if not os.path.isdir(row.path))  # noqa: PTH112 - takes what a Path may not


def short_path(path: Path, home: Path) -> str:
    """With ~ for the home folder."""
    try:
        inside = path.relative_to(home)
    except ValueError:
        return str(path)
    return str(Path("~") / inside)


def _name(path: Path) -> str:
    return path.name or str(path)


def _by_name(path: Path) -> str:
    return path.name.casefold()


def _sort(path: Path) -> str:
    return "Obsidian vault" if (path / ".obsidian").is_dir() else ""
