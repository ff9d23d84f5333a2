"""Which notes are replaced by which, resolved from what notes say (`excerpt.text.replacements`)."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from excerpt.base.patterns import lazy_pattern
from excerpt.text.folding import fold


class ReplacementRow(NamedTuple):
    """A statement as it is stored: `target` replaces the note number `note`, or the note replaces it (`is_newer`)."""

    note: int
    target: str
    words: str
    day: str
    is_newer: bool


class ReplacedNote(Struct, frozen=True):
    """What replaces a note: the numbers of its successors, the words that say so, and the day that they name.

    The first successor is shown. Without one, the note only says that it is out of date, or its link leads nowhere.
    `day` is ISO 8601, "" if none is named.
    """

    successors: tuple[int, ...]
    words: str
    day: str = ""


def resolve_replacements(
    rows: Iterable[ReplacementRow], find_note: Callable[[str, int], int]
) -> Mapping[int, ReplacedNote]:
    """Return the replaced notes by number. Notes that replace each other in a circle are not replaced.

    `find_note` returns the number of the note that a target means in a note, -1 if none does.
    """
    replaced: dict[int, ReplacedNote] = {}
    # A note's own words come before those of its successor, and words with a target before those without.
    for row in sorted(rows, key=lambda row: (row.is_newer, not row.target)):
        other = find_note(row.target, row.note) if row.target else -1
        if other == row.note or (row.is_newer and other < 0):
            continue
        older, newer = (other, row.note) if row.is_newer else (row.note, other)
        known = replaced.get(older)
        if known is None:
            replaced[older] = ReplacedNote(() if newer < 0 else (newer,), row.words, row.day)
        else:
            successors = known.successors if newer < 0 else dict.fromkeys((*known.successors, newer))
            replaced[older] = ReplacedNote(tuple(successors), known.words, known.day or row.day)
    return {note: found for note, found in replaced.items() if note not in find_successors(note, replaced)}


def find_successors(note: int, replaced: Mapping[int, ReplacedNote]) -> tuple[int, ...]:
    """Return all notes that replace a note, directly or by others in between, the nearest first."""
    found: dict[int, None] = {}
    reached = [note]
    while reached:
        following = [after for each in reached if each in replaced for after in replaced[each].successors]
        reached = [after for after in dict.fromkeys(following) if after not in found]
        found.update(dict.fromkeys(reached))
    return tuple(found)


_NUMBERED = lazy_pattern(r"([^\W\d_]*)[-_. ]*0*(\d{1,6})(?!\d)")


def find_numbered_note(target: str, path: str, paths: Sequence[str]) -> int:
    """Return the number of the note of a series that a text such as "12", "ADR-0012" or "RFC 2616" means, else -1.

    The note is in the folder of the note at `path`, and its file name begins with the number: `0012-queue.md`,
    `rfc2616.txt`.
    """
    match = _NUMBERED.fullmatch(fold(target).strip())
    if match is None:
        return -1
    folder = posixpath.dirname(path)
    own = _NUMBERED.match(fold(posixpath.basename(path)))
    prefixes = {match[1]} if match[1] else {own[1] if own else ""}
    found = [
        number
        for number, name in _names_in_folder(folder, paths)
        if (parts := _NUMBERED.match(name)) and parts[2] == match[2] and parts[1] in {"", *prefixes}
    ]
    return found[0] if len(found) == 1 else -1


def _names_in_folder(folder: str, paths: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the number and the folded name of each file in a folder."""
    for number, path in enumerate(paths):
        if posixpath.dirname(path) == folder:
            yield number, fold(posixpath.basename(path))
