"""What a user names -> a note of the index, and lines of it. What is not indexed has no name: nothing leads outside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from rapidfuzz import process

from excerpt.errors import NotThereError
from excerpt.index.snapshot import Snapshot
from excerpt.model import Section
from excerpt.text.folding import fold

_LINES = re.compile(r"(?P<note>.+):(?P<first>\d{1,9})(?P<on>-(?P<last>\d{1,9})?)?", re.DOTALL)
_ALIKE = 70  # of 100; below, a name is another name
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a note as they were asked for: `last` None is the note's end, `heading` one whose section is meant."""

    path: str
    first: int = 1
    last: int | None = None
    heading: str = ""


def place_called(snapshot: Snapshot, name: str) -> Place:
    """The place that `NOTE`, `NOTE:LINE`, `NOTE:A-B`, `NOTE:A-` or `NOTE#Heading` names, see `note_called`.

    A note whose own name looks like one of these comes first. Raises NotThereError.
    """
    if path := _known(snapshot, name):
        return Place(path)
    if match := _LINES.fullmatch(name):
        first = int(match["first"])
        last = (int(match["last"]) if match["last"] else None) if match["on"] else first
        return Place(note_called(snapshot, match["note"]), first, last)
    note, _, heading = name.partition("#")
    return Place(note_called(snapshot, note if heading else name), heading=heading)


def note_called(snapshot: Snapshot, name: str) -> str:
    """The path of the note with this path, file name, end of a path, title or alias, the first that fits.

    Raises NotThereError if there is none, with what is called alike, or if several notes have that title or alias.
    """
    path = _known(snapshot, name)
    if path is None:
        raise NotThereError(f"No note here is called {name}.", _alike(snapshot, name))
    return path


def section_called(snapshot: Snapshot, path: str, heading: str) -> Section:
    """The first section of a note under this heading; `A#B` is B somewhere under A. Raises NotThereError."""
    wanted = [_folded(part) for part in heading.split("#") if part.strip()]
    for section in snapshot.sections(path):
        above = iter([_folded(part) for part in section.heading_path])
        if wanted and section.heading and _folded(section.heading) == wanted[-1] and all(p in above for p in wanted):
            return section
    raise NotThereError(f"{path} has no heading {heading}.", "`excerpt peek` shows those it has.")


def _folded(text: str) -> str:
    return " ".join(fold(text).split())


def _known(snapshot: Snapshot, name: str) -> str | None:
    if not name.strip():
        return None
    if name in snapshot.facets.numbers:
        return name
    path = snapshot.facets.targets.resolve(name, "")
    if path is not None:
        return path
    paths = [snapshot.table.paths[number] for number in snapshot.notes_named(name)]
    if len(paths) > 1:
        others = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
        listed = ", ".join(paths[:_MOST_NAMED])
        raise NotThereError(f"{len(paths)} notes are called {name}.", f"Name one by its path: {listed}{others}.")
    return paths[0] if paths else None


def _alike(snapshot: Snapshot, name: str) -> str:
    stems = {path: PurePosixPath(path).stem.casefold() for path in snapshot.table.paths}
    wanted = PurePosixPath(name.casefold()).stem
    near = process.extract(wanted, stems, score_cutoff=_ALIKE, limit=_MOST_NAMED)
    return f"Did you mean {' or '.join(path for _, _, path in near)}?" if near else ""
