"""Which note became which: a note that is gone, and one of the same or nearly the same text that has come.

Paths are what the user's marks, uses and memories name notes by. A move is recorded once it is certain enough, in the
build that sees both ends of it or in a later one: notes that are gone are remembered for that, by their digest and a
sketch of their words. Nothing is recorded where two notes could be meant.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from excerpt.index.catalog import Catalog, text_from_row

MAX_KEPT = 20_000
"""Moves, and notes that are gone, that are remembered: the newest. Some 150 bytes each."""
MAX_COMPARED = 2_000
"""Notes that are gone, and notes that have come, that are compared by their words: the newest. As many are sketched
when they go, which takes 0.05 s a MB of text; of more at once only the digests are kept."""

# Measured on five vaults with a word changed in 1 to 30 % of the lines: the sketch finds .94 to 1.0 of the notes at .5,
# where shares of equal fragments found .06 to .97. Of two notes of one vault that are not the same, .003 to .17 (a
# reference of like commands) have another above .5, which is why the best must stand alone.
_LIKE = 0.5
_CLEARLY = 0.1
_RUN = 3
_SKETCH = 64
_DEEPEST = 4
# "# To do" and an empty file are in every vault: below this, the file's name must be the same too.
_MIN_TOKENS = 10
_MAX_SHARED = 5_000_000

Sketch = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class NoteTrace:
    """What identifies a note that may have become, or been, another one."""

    path: str
    digest: str
    tokens: int
    sketch: bytes = b""


def leave(catalog: Catalog, paths: Sequence[str]) -> None:
    """Remember notes that are about to be removed for good, in the open transaction."""
    sketched = frozenset(paths[-MAX_COMPARED:])
    for path in paths:
        known = catalog.rows("SELECT id, digest, tokens FROM notes WHERE path = ?", path)
        for number, digest, tokens in known:
            text = sketch_of(_text(catalog, number)).tobytes() if path in sketched else b""
            catalog.rows(
                "INSERT OR REPLACE INTO gone (path, digest, tokens, sketch, fresh) VALUES (?, ?, ?, ?, 1)",
                *(path, digest, tokens, text),
            )


def arrive(catalog: Catalog, paths: Iterable[str]) -> None:
    """Record that notes were inserted at these paths, whatever became of notes that had them before."""
    waits = bool(catalog.rows("SELECT 1 FROM gone LIMIT 1"))
    known = waits or bool(catalog.rows("SELECT 1 FROM moves LIMIT 1"))
    for path in paths if known else ():
        catalog.rows("DELETE FROM moves WHERE path = ?", path)
        back = catalog.rows("DELETE FROM gone WHERE path = ? RETURNING path", path)
        if waits and not back:
            catalog.rows("INSERT OR IGNORE INTO arrived VALUES (?)", path)


def settle(catalog: Catalog) -> None:
    """Record the moves that follow from removed and new notes, in the open transaction."""
    fresh = _told(catalog, "SELECT path, digest, tokens, sketch FROM gone WHERE fresh ORDER BY number")
    arrived = _told(catalog, "SELECT path, digest, tokens, x'' FROM arrived JOIN notes USING (path) ORDER BY path")
    if not fresh and not arrived:
        return
    old = {one.path: one for one in (*fresh, *_same_as_arrived(catalog))}
    found = same_notes(list(old.values()), arrived)
    missing = [one for one in fresh if one.path not in found]
    if missing:
        # Copied first and removed later: what is the same has been there for a while.
        found |= same_notes(missing, _same_as_fresh(catalog, set(found.values())))
    come = [one for one in arrived if one.path not in set(found.values())][-MAX_COMPARED:]
    if come:
        found |= like_notes(_compared(catalog, found), [_sketched(catalog, one) for one in come])
    for path, became in sorted(found.items()):
        _record(catalog, path, became)
    catalog.rows("DELETE FROM arrived")
    catalog.rows("UPDATE gone SET fresh = 0 WHERE fresh")
    for table in ("gone", "moves"):
        newest = f"SELECT rowid FROM {table} ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        catalog.rows(f"DELETE FROM {table} WHERE rowid <= ({newest})", MAX_KEPT)


def is_settled(catalog: Catalog) -> bool:
    """Whether `settle` has nothing to do: no note has gone or come since."""
    return not catalog.rows("SELECT 1 FROM gone WHERE fresh UNION ALL SELECT 1 FROM arrived LIMIT 1")


def last(rows: Callable[..., list[tuple[int]]]) -> int:
    """Return a number that grows with every recorded move. `rows` queries the catalog."""
    return rows("SELECT coalesce(max(rowid), 0) FROM moves")[0][0]


def current_path(rows: Callable[..., list[tuple[str]]], path: str) -> str | None:
    """Return today's path of the note that had `path`; None if no move is known, or a note is at `path` again.

    `rows` queries the catalog.
    """
    found = rows(
        "SELECT became FROM moves JOIN notes ON notes.path = became WHERE moves.path = ?1"
        " AND NOT EXISTS (SELECT 1 FROM notes WHERE notes.path = ?1)",
        path,
    )
    return found[0][0] if found else None


@dataclass(frozen=True, slots=True)
class Known:
    """What a rebuilt index takes over from the previous one.

    Its moves (path, today's path), and its notes and those that were gone (path, digest, tokens), the newest last.
    """

    moves: list[tuple[str, str]]
    notes: list[tuple[str, str, int]]


def read_known(catalog: Catalog) -> Known:
    notes = catalog.rows(
        "SELECT path, digest, tokens FROM (SELECT path, digest, tokens, number FROM gone"
        " UNION ALL SELECT path, digest, tokens, 1e18 FROM notes) ORDER BY number DESC, path LIMIT ?",
        MAX_KEPT,
    )
    known = catalog.rows("SELECT path, became FROM moves ORDER BY rowid")
    return Known([(path, became) for path, became in known], [(*note,) for note in reversed(notes)])


def restore(catalog: Catalog, known: Known) -> None:
    """Take up what `read_known` gave, in an empty catalog: every note is gone until it comes."""
    with catalog.transaction():
        for path, became in known.moves:
            catalog.rows("INSERT OR REPLACE INTO moves VALUES (?, ?)", path, became)
        for note in known.notes:
            sql = "INSERT OR REPLACE INTO gone (path, digest, tokens, sketch, fresh) VALUES (?, ?, ?, x'', 1)"
            catalog.rows(sql, *note)


# --- which became which -----------------------------------------------------------------------------------------------


def same_notes(old: Sequence[NoteTrace], new: Sequence[NoteTrace]) -> dict[str, str]:
    """Return pairs of notes with one digest, by path; uncertain ones are in no pair.

    Among several equal notes the longest common end of the path decides, else the folder.
    """
    found: dict[str, str] = {}
    keys: list[Callable[[NoteTrace], tuple[str, ...] | None]] = [_tail(depth) for depth in range(_DEEPEST, 0, -1)]
    keys += [lambda one: _long(one, str(PurePosixPath(one.path).parent)), _long]
    for key in keys:
        taken = set(found.values())
        there = _grouped([one for one in old if one.path not in found], key)
        come = _grouped([one for one in new if one.path not in taken], key)
        pairs = ((there[each], come[each]) for each in there.keys() & come.keys())
        found |= {one[0].path: two[0].path for one, two in pairs if len(one) == len(two) == 1}
    return found


def like_notes(old: Sequence[NoteTrace], new: Sequence[NoteTrace]) -> dict[str, str]:
    """Pairs of notes that have most of their words in common, each clearly more like the other than like any third."""
    old, new = ([one for one in notes if one.tokens >= _MIN_TOKENS] for notes in (old, new))
    likeness = _likeness([_numbers(one) for one in old], [_numbers(one) for one in new])
    of_old: dict[int, list[tuple[float, int]]] = defaultdict(list)
    of_new: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for (one, two), score in likeness.items():
        if score > _LIKE:
            of_old[one].append((score, two))
            of_new[two].append((score, one))
    best = {one: _best(found, PurePosixPath(old[one].path).name, new) for one, found in of_old.items()}
    back = {two: _best(found, PurePosixPath(new[two].path).name, old) for two, found in of_new.items()}
    pairs = ((one, two) for one, two in best.items() if two is not None and back[two] == one)
    return {old[one].path: new[two].path for one, two in pairs}


def sketch_of(text: str) -> Sketch:
    """Return the smallest hashes of the text's runs of words (A. Broder, 1997).

    Two texts share about as many of them as they share runs (On the resemblance and containment of documents).
    """
    words = text.split()
    runs = {" ".join(words[at : at + _RUN]) for at in range(max(1, len(words) - _RUN + 1))} if words else set()
    return np.array(sorted({zlib.crc32(run.encode("utf-8", "replace")) for run in runs})[:_SKETCH], np.uint32)


def _best(found: Sequence[tuple[float, int]], name: str, notes: Sequence[NoteTrace]) -> int | None:
    top = max(score for score, _ in found)
    near = [note for score, note in found if score > top - _CLEARLY]
    named = [note for note in near if PurePosixPath(notes[note].path).name == name]
    if len(near) == 1:
        return near[0]
    return named[0] if len(named) == 1 else None


def _likeness(old: Sequence[Sketch], new: Sequence[Sketch]) -> dict[tuple[int, int], float]:
    """Of each pair that shares a hash, the share that they have in common."""
    holders: dict[int, list[int]] = defaultdict(list)
    for place, sketch in enumerate(new):
        for value in sketch.tolist():
            holders[value].append(place)
    values = np.concatenate([*old, np.zeros(0, np.uint32)])
    owners = np.repeat(np.arange(len(old)), [len(sketch) for sketch in old])
    hits = np.isin(values, np.fromiter(holders, np.uint32, len(holders)))
    shared: dict[tuple[int, int], int] = defaultdict(int)
    looked = 0
    for owner, value in zip(owners[hits].tolist(), values[hits].tolist(), strict=True):
        looked += len(holders[value])
        if looked > _MAX_SHARED:  # thousands of notes from one mould
            return {}
        for other in holders[value]:
            shared[owner, other] += 1
    return {(one, two): count / (len(old[one]) + len(new[two]) - count) for (one, two), count in shared.items()}


def _grouped(
    notes: Iterable[NoteTrace], key: Callable[[NoteTrace], tuple[str, ...] | None]
) -> dict[tuple[str, ...], list[NoteTrace]]:
    groups: dict[tuple[str, ...], list[NoteTrace]] = defaultdict(list)
    for one in notes:
        if (value := key(one)) is not None:
            groups[value].append(one)
    return groups


def _tail(depth: int) -> Callable[[NoteTrace], tuple[str, ...] | None]:
    def key(one: NoteTrace) -> tuple[str, ...] | None:
        parts = PurePosixPath(one.path).parts
        return (one.digest, *parts[-depth:]) if len(parts) >= depth else None

    return key


def _long(one: NoteTrace, *more: str) -> tuple[str, ...] | None:
    return (one.digest, *more) if one.tokens >= _MIN_TOKENS else None


# --- in the catalog ---------------------------------------------------------------------------------------------------


def _record(catalog: Catalog, path: str, became: str) -> None:
    catalog.rows("UPDATE moves SET became = ? WHERE became = ?", became, path)
    catalog.rows("INSERT OR REPLACE INTO moves VALUES (?, ?)", path, became)
    catalog.rows("DELETE FROM gone WHERE path = ?", path)


def _told(catalog: Catalog, sql: str, *values: object) -> list[NoteTrace]:
    return [NoteTrace(*row) for row in catalog.rows(sql, *values)]


def _same_as_arrived(catalog: Catalog) -> list[NoteTrace]:
    return _told(
        catalog,
        "SELECT DISTINCT g.path, g.digest, g.tokens, g.sketch FROM arrived JOIN notes USING (path)"
        " JOIN gone g ON g.digest = notes.digest",
    )


def _same_as_fresh(catalog: Catalog, taken: Collection[str]) -> list[NoteTrace]:
    same = _told(
        catalog,
        "SELECT DISTINCT n.path, n.digest, n.tokens, x'' FROM gone g JOIN notes n ON n.digest = g.digest WHERE g.fresh",
    )
    return [one for one in same if one.path not in taken]


def _compared(catalog: Catalog, found: Collection[str]) -> list[NoteTrace]:
    """Return the newest of the notes that are gone and were not found."""
    sql = "SELECT path, digest, tokens, sketch FROM gone WHERE sketch <> x'' ORDER BY number DESC LIMIT ?"
    return [one for one in _told(catalog, sql, MAX_COMPARED) if one.path not in found]


def _sketched(catalog: Catalog, one: NoteTrace) -> NoteTrace:
    ((number,),) = catalog.rows("SELECT id FROM notes WHERE path = ?", one.path)
    return NoteTrace(one.path, one.digest, one.tokens, sketch_of(_text(catalog, number)).tobytes())


def _text(catalog: Catalog, note: int) -> str:
    ((text,),) = catalog.rows("SELECT text FROM note_texts WHERE note = ?", note)
    return text_from_row(text)


def _numbers(one: NoteTrace) -> Sketch:
    return np.frombuffer(one.sketch, np.uint32)
