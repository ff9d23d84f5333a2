"""Detection of renamed notes: a removed note, and a new one of the same or nearly the same text.

Marks, uses and memories of the user refer to notes by path. A move is recorded once it is certain enough, in the build
that sees both ends of it or in a later one: for that, removed notes are remembered by their digest and a sketch of
their words. Nothing is recorded if two notes could be meant.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import PurePosixPath

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from excerpt.index.catalog import Catalog
from excerpt.index.catalog_rows import decompress_text

MAX_RECORDS = 20_000
"""The newest moves and removed notes that are remembered; each takes some 150 bytes."""
MAX_COMPARED = 2_000
"""The newest removed and new notes that are compared by their words.

As many are sketched when they are removed, which takes 0.05 s per MB of text; of further ones only the digests are
kept.
"""

# Measured on five vaults with a word changed in 1 to 30 % of the lines: the sketch finds .94 to 1.0 of the notes at .5,
# where shares of equal fragments found .06 to .97. Of two notes of one vault that are not the same, .003 to .17 (a
# reference of like commands) have another above .5, which is why the best must stand alone.
_MIN_SIMILARITY = 0.5
_MARGIN = 0.1
_WORDS_PER_RUN = 3
_HASHES_PER_SKETCH = 64
_MAX_TAIL_PARTS = 4
# "# To do" and an empty file are in every vault: below this limit, the file's name must be the same too.
_MIN_TOKENS = 10
_MAX_SHARED = 5_000_000

Sketch = NDArray[np.uint32]


class NoteTrace(Struct, frozen=True):
    """The data by which a removed note is compared with a new one: path, digest, tokens, and sketch of its words."""

    path: str
    digest: str
    tokens: int
    sketch: bytes = b""


def record_removed(catalog: Catalog, paths: Sequence[str]) -> None:
    """Store the traces of notes that are about to be removed, in the open transaction, for later comparison."""
    sketched = frozenset(paths[-MAX_COMPARED:])
    for path in paths:
        known = catalog.rows("SELECT id, digest, tokens FROM notes WHERE path = ?", path)
        for number, digest, tokens in known:
            text = sketch_text(_read_text(catalog, number)).tobytes() if path in sketched else b""
            catalog.rows(
                "INSERT OR REPLACE INTO gone (path, digest, tokens, sketch, fresh) VALUES (?, ?, ?, ?, 1)",
                *(path, digest, tokens, text),
            )


def record_inserted(catalog: Catalog, paths: Iterable[str]) -> None:
    """Record these paths as new notes, and delete recorded renames of earlier notes that had these paths."""
    has_missing = bool(catalog.rows("SELECT 1 FROM gone LIMIT 1"))
    known = has_missing or bool(catalog.rows("SELECT 1 FROM moves LIMIT 1"))
    for path in paths if known else ():
        catalog.rows("DELETE FROM moves WHERE path = ?", path)
        was_missing = catalog.rows("DELETE FROM gone WHERE path = ? RETURNING path", path)
        if has_missing and not was_missing:
            catalog.rows("INSERT OR IGNORE INTO arrived VALUES (?)", path)


def record_moves(catalog: Catalog) -> None:
    """Match removed notes with new ones, and store the renames in the open transaction."""
    fresh = _read_traces(catalog, "SELECT path, digest, tokens, sketch FROM gone WHERE fresh ORDER BY number")
    arrived = _read_traces(
        catalog, "SELECT path, digest, tokens, x'' FROM arrived JOIN notes USING (path) ORDER BY path"
    )
    if not fresh and not arrived:
        return
    old = {trace.path: trace for trace in (*fresh, *_read_removed_like_inserted(catalog))}
    moves = match_by_digest(list(old.values()), arrived)
    missing = [trace for trace in fresh if trace.path not in moves]
    if missing:
        # A note may be copied first and the original removed later: equal notes may have existed for a while.
        moves |= match_by_digest(missing, _read_added_copies(catalog, set(moves.values())))
    new = [trace for trace in arrived if trace.path not in set(moves.values())][-MAX_COMPARED:]
    if new:
        moves |= match_by_sketch(
            _read_unmatched_removed(catalog, moves), [_add_sketch(catalog, trace) for trace in new]
        )
    for path, new_path in sorted(moves.items()):
        _record_move(catalog, path, new_path)
    catalog.rows("DELETE FROM arrived")
    catalog.rows("UPDATE gone SET fresh = 0 WHERE fresh")
    for table in ("gone", "moves"):
        newest = f"SELECT rowid FROM {table} ORDER BY rowid DESC LIMIT 1 OFFSET ?"
        catalog.rows(f"DELETE FROM {table} WHERE rowid <= ({newest})", MAX_RECORDS)


def has_no_pending_moves(catalog: Catalog) -> bool:
    """Return whether no note was removed or inserted since the last `record_moves`, which would have nothing to do."""
    return not catalog.rows("SELECT 1 FROM gone WHERE fresh UNION ALL SELECT 1 FROM arrived LIMIT 1")


def last_move_number(rows: Callable[..., list[tuple[int]]]) -> int:
    """Return a number that grows with every recorded rename; `rows` runs SQL on the catalog."""
    return rows("SELECT coalesce(max(rowid), 0) FROM moves")[0][0]


def current_path(rows: Callable[..., list[tuple[str]]], path: str) -> str | None:
    """Return the present path of a renamed note that once was at `path`; `rows` runs SQL on the catalog.

    Returns None if no rename is known, or if another note is at `path` now.
    """
    path_rows = rows(
        "SELECT became FROM moves JOIN notes ON notes.path = became WHERE moves.path = ?1"
        " AND NOT EXISTS (SELECT 1 FROM notes WHERE notes.path = ?1)",
        path,
    )
    return path_rows[0][0] if path_rows else None


class MoveHistory(Struct, frozen=True):
    """The data about renames that a rebuilt index takes over from the previous index.

    `moves` are (old path, present path). `notes` are (path, digest, tokens) of the notes in the previous index and of
    the removed notes that it remembers, the newest last.
    """

    moves: list[tuple[str, str]]
    notes: list[tuple[str, str, int]]


def read_history(catalog: Catalog) -> MoveHistory:
    notes = catalog.rows(
        "SELECT path, digest, tokens FROM (SELECT path, digest, tokens, number FROM gone"
        " UNION ALL SELECT path, digest, tokens, 1e18 FROM notes) ORDER BY number DESC, path LIMIT ?",
        MAX_RECORDS,
    )
    moves = catalog.rows("SELECT path, became FROM moves ORDER BY rowid")
    return MoveHistory([(path, new_path) for path, new_path in moves], [(*note,) for note in reversed(notes)])


def restore_history(catalog: Catalog, history: MoveHistory) -> None:
    """Store the history of renames in an empty catalog; every note counts as removed until it is inserted again."""
    with catalog.transaction():
        for path, new_path in history.moves:
            catalog.rows("INSERT OR REPLACE INTO moves VALUES (?, ?)", path, new_path)
        for note in history.notes:
            sql = "INSERT OR REPLACE INTO gone (path, digest, tokens, sketch, fresh) VALUES (?, ?, ?, x'', 1)"
            catalog.rows(sql, *note)


# --- which became which -----------------------------------------------------------------------------------------------


def match_by_digest(old: Sequence[NoteTrace], new: Sequence[NoteTrace]) -> dict[str, str]:
    """Match removed notes with new ones of equal content; return {old path: new path}, without uncertain pairs.

    Among several equal notes, the pair whose paths have the longest common end is chosen, or else a pair in the same
    folder.
    """
    moves: dict[str, str] = {}
    keys: list[Callable[[NoteTrace], tuple[str, ...] | None]] = [
        _make_folder_tail_key(depth) for depth in range(_MAX_TAIL_PARTS, 0, -1)
    ]
    keys += [lambda trace: _get_digest_key(trace, str(PurePosixPath(trace.path).parent)), _get_digest_key]
    for key in keys:
        matched = set(moves.values())
        old_groups = _group_by([trace for trace in old if trace.path not in moves], key)
        new_groups = _group_by([trace for trace in new if trace.path not in matched], key)
        pairs = ((old_groups[value], new_groups[value]) for value in old_groups.keys() & new_groups.keys())
        moves |= {trace[0].path: new_notes[0].path for trace, new_notes in pairs if len(trace) == len(new_notes) == 1}
    return moves


def match_by_sketch(old: Sequence[NoteTrace], new: Sequence[NoteTrace]) -> dict[str, str]:
    """Match removed notes with new ones that share most of their words; return {old path: new path}.

    Each note of a pair is clearly more similar to the other than to any third note.
    """
    old, new = ([old_note for old_note in notes if old_note.tokens >= _MIN_TOKENS] for notes in (old, new))
    similarities = _sketch_similarities(
        [_unpack_sketch(old_note) for old_note in old], [_unpack_sketch(old_note) for old_note in new]
    )
    candidates_of_old: dict[int, list[tuple[float, int]]] = defaultdict(list)
    candidates_of_new: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for (old_note, new_note), score in similarities.items():
        if score > _MIN_SIMILARITY:
            candidates_of_old[old_note].append((score, new_note))
            candidates_of_new[new_note].append((score, old_note))
    best_new = {
        old_note: _select_clear_best(candidates, PurePosixPath(old[old_note].path).name, new)
        for old_note, candidates in candidates_of_old.items()
    }
    best_old = {
        new_note: _select_clear_best(candidates, PurePosixPath(new[new_note].path).name, old)
        for new_note, candidates in candidates_of_new.items()
    }
    pairs = (
        (old_note, new_note)
        for old_note, new_note in best_new.items()
        if new_note is not None and best_old[new_note] == old_note
    )
    return {old[old_note].path: new[new_note].path for old_note, new_note in pairs}


def sketch_text(text: str) -> Sketch:
    """Return the 64 smallest hashes of all runs of three words in the text, ascending.

    The share of hashes that two sketches have in common estimates the share of runs that their texts have in common
    (A. Broder, On the resemblance and containment of documents, 1997).
    """
    words = text.split()
    runs = (
        {" ".join(words[at : at + _WORDS_PER_RUN]) for at in range(max(1, len(words) - _WORDS_PER_RUN + 1))}
        if words
        else set()
    )
    return np.array(
        sorted({zlib.crc32(run.encode("utf-8", "replace")) for run in runs})[:_HASHES_PER_SKETCH], np.uint32
    )


def _select_clear_best(candidates: Sequence[tuple[float, int]], name: str, notes: Sequence[NoteTrace]) -> int | None:
    top = max(score for score, _ in candidates)
    close = [note for score, note in candidates if score > top - _MARGIN]
    named = [note for note in close if PurePosixPath(notes[note].path).name == name]
    if len(close) == 1:
        return close[0]
    return named[0] if len(named) == 1 else None


def _sketch_similarities(old: Sequence[Sketch], new: Sequence[Sketch]) -> dict[tuple[int, int], float]:
    """Return {(number in `old`, number in `new`): share of common hashes} for all sketches with a common hash."""
    holders: dict[int, list[int]] = defaultdict(list)
    for number, sketch in enumerate(new):
        for value in sketch.tolist():
            holders[value].append(number)
    values = np.concatenate([*old, np.zeros(0, np.uint32)])
    owners = np.repeat(np.arange(len(old)), [len(sketch) for sketch in old])
    hits = np.isin(values, np.fromiter(holders, np.uint32, len(holders)))
    shared: dict[tuple[int, int], int] = defaultdict(int)
    compared = 0
    for owner, value in zip(owners[hits].tolist(), values[hits].tolist(), strict=True):
        compared += len(holders[value])
        if compared > _MAX_SHARED:  # thousands of notes from one mould
            return {}
        for other in holders[value]:
            shared[owner, other] += 1
    return {
        (old_note, new_note): count / (len(old[old_note]) + len(new[new_note]) - count)
        for (old_note, new_note), count in shared.items()
    }


def _group_by(
    notes: Iterable[NoteTrace], key: Callable[[NoteTrace], tuple[str, ...] | None]
) -> dict[tuple[str, ...], list[NoteTrace]]:
    groups: dict[tuple[str, ...], list[NoteTrace]] = defaultdict(list)
    for note in notes:
        if (value := key(note)) is not None:
            groups[value].append(note)
    return groups


def _make_folder_tail_key(depth: int) -> Callable[[NoteTrace], tuple[str, ...] | None]:
    def key(note: NoteTrace) -> tuple[str, ...] | None:
        parts = PurePosixPath(note.path).parts
        return (note.digest, *parts[-depth:]) if len(parts) >= depth else None

    return key


def _get_digest_key(note: NoteTrace, *more: str) -> tuple[str, ...] | None:
    return (note.digest, *more) if note.tokens >= _MIN_TOKENS else None


# --- in the catalog ---------------------------------------------------------------------------------------------------


def _record_move(catalog: Catalog, path: str, new_path: str) -> None:
    catalog.rows("UPDATE moves SET became = ? WHERE became = ?", new_path, path)
    catalog.rows("INSERT OR REPLACE INTO moves VALUES (?, ?)", path, new_path)
    catalog.rows("DELETE FROM gone WHERE path = ?", path)


def _read_traces(catalog: Catalog, sql: str, *values: object) -> list[NoteTrace]:
    return [NoteTrace(*row) for row in catalog.rows(sql, *values)]


def _read_removed_like_inserted(catalog: Catalog) -> list[NoteTrace]:
    return _read_traces(
        catalog,
        "SELECT DISTINCT g.path, g.digest, g.tokens, g.sketch FROM arrived JOIN notes USING (path)"
        " JOIN gone g ON g.digest = notes.digest",
    )


def _read_added_copies(catalog: Catalog, matched: Collection[str]) -> list[NoteTrace]:
    """Return the present notes with the content of a newly removed note, without those whose path is in `matched`."""
    traces = _read_traces(
        catalog,
        "SELECT DISTINCT n.path, n.digest, n.tokens, x'' FROM gone g JOIN notes n ON n.digest = g.digest WHERE g.fresh",
    )
    return [trace for trace in traces if trace.path not in matched]


def _read_unmatched_removed(catalog: Catalog, matched: Collection[str]) -> list[NoteTrace]:
    """Return the newest 2,000 removed notes that have a sketch, without those whose path is in `matched`."""
    sql = "SELECT path, digest, tokens, sketch FROM gone WHERE sketch <> x'' ORDER BY number DESC LIMIT ?"
    return [trace for trace in _read_traces(catalog, sql, MAX_COMPARED) if trace.path not in matched]


def _add_sketch(catalog: Catalog, trace: NoteTrace) -> NoteTrace:
    ((number,),) = catalog.rows("SELECT id FROM notes WHERE path = ?", trace.path)
    return NoteTrace(trace.path, trace.digest, trace.tokens, sketch_text(_read_text(catalog, number)).tobytes())


def _read_text(catalog: Catalog, note: int) -> str:
    ((text,),) = catalog.rows("SELECT text FROM note_texts WHERE note = ?", note)
    return decompress_text(text)


def _unpack_sketch(trace: NoteTrace) -> Sketch:
    return np.frombuffer(trace.sketch, np.uint32)
