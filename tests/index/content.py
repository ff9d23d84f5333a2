"""The content of an index independent of its keys and build order, to compare two indexes."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from excerpt.base.model import Fragment
from excerpt.base.settings import Settings
from excerpt.corpus.tables import FIELDS, Positions, TermPostings
from excerpt.index.catalog import Catalog
from excerpt.index.snapshot import Snapshot

_TABLES = {
    "notes": "SELECT path, size, mtime_ns, digest, cut, title, language, tokens, kind, unread FROM notes",
    "sections": "SELECT path, ordinal, level, heading, heading_path, line_start, line_end, place"
    " FROM sections JOIN notes ON notes.id = note",
    "links": "SELECT path, line, links.kind, target, heading, block_id, text FROM links JOIN notes ON notes.id = note",
    "labels": "SELECT path, labels.kind, name, value FROM labels JOIN notes ON notes.id = note",
    "names": "SELECT path, name FROM names JOIN notes ON notes.id = note",
    "name_terms": "SELECT path, own, lengths, terms, files, targets FROM name_terms JOIN notes ON notes.id = note",
    "comments": "SELECT path, number, line, at, begins, fragment, text FROM comments JOIN notes ON notes.id = note",
    "remarks": "SELECT path, skipped, reason FROM remarks",
}


def content(index: Path, settings: Settings) -> dict[str, object]:
    """Return fragments, postings with positions, vectors, texts, and the catalog's other data about notes."""
    with closing(Snapshot.open(index, settings)) as snapshot:
        _ = snapshot.vectors
        snapshot.check()
        rows = snapshot.table.notes.tolist()
        fragments: list[Fragment] = snapshot.fragments(snapshot.lexical.keys.tolist())
        words = {
            (field, term): places(
                fragments, snapshot.lexical.postings(field, term), snapshot.lexical.positions(field, term)
            )
            for field in FIELDS
            for term in snapshot.lexical.lexicon(field)
        }
        return {
            "paths": [snapshot.table.paths[row] for row in sorted(rows)],
            "fragments": sorted(repr(replace(one, key=0)) for one in fragments),
            "words": {name: found for name, found in words.items() if found},
            "vectors": {one.id: snapshot.vectors.vectors[row].tobytes() for row, one in enumerate(fragments)},
            "texts": {path: snapshot.note_text(path) for path in snapshot.note_paths()},
            "catalog": tables(index),
        }


def places(
    fragments: list[Fragment], postings: TermPostings, positions: Positions
) -> list[tuple[str, float, list[int]]]:
    """Return the fragments of a term by id, with its count and its positions in each."""
    offsets = positions.offsets.tolist()
    found = zip(postings.rows.tolist(), postings.tf.tolist(), offsets, offsets[1:], strict=False)
    return sorted((fragments[row].id, tf, positions.values[first:end].tolist()) for row, tf, first, end in found)


def tables(index: Path) -> dict[str, list[str]]:
    """Return the rows of the newest generation's catalog, without the ids of notes and fragments."""
    with closing(Catalog.open_to_read(index)) as catalog:
        return {name: sorted(map(repr, catalog.rows(sql))) for name, sql in _TABLES.items()}
