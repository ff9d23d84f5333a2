"""The row queries over notes, in PostgreSQL's SQL, over the areas (folders with rights) that a reader may read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Any, TypeVar

from msgspec import Struct

from excerpt.base.model import CommentLine, FileProblem, Fragment, FragmentInfo, Section
from excerpt.corpus.names import NameTerms
from excerpt.corpus.queries import LABEL_SEPARATOR, REPLACED_BY, REPLACES, TARGET_SEPARATOR, NoteRow
from excerpt.corpus.tables import FIELDS
from excerpt.index.catalog_rows import decompress_text
from excerpt.index.queries import fragment_from_row, section_from_row
from excerpt.text.folding import fold
from excerpt_postgres import schema
from excerpt_postgres.connection import Row, Statement, StoreConnection, array_literal, replace_unstorable

NO_MAX_NOTE = (1 << 63) - 1
"""A number above that of every note: no limit."""

_SELECT_FRAGMENT = (
    "SELECT f.key, f.id, n.path, n.title, s.heading_path, f.ordinal, f.section, f.line_start, f.line_end, f.text,"
    " f.tokens, f.digest, n.kind, s.place FROM fragments f JOIN notes n ON n.id = f.note"
    " JOIN sections s ON s.note = f.note AND s.ordinal = f.section"
)
_SELECT_PARTS = (
    "SELECT w.place, f.key, f.id, f.ordinal, f.section, s.level, s.heading, f.line_start, f.line_end, f.tokens,"
    " f.digest FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) WITH ORDINALITY AS w (path, first, last, place)"
    " JOIN notes n ON n.path = w.path JOIN fragments f ON f.note = n.id AND f.ordinal BETWEEN w.first AND w.last"
    " JOIN sections s ON s.note = f.note AND s.ordinal = f.section ORDER BY w.place, f.ordinal"
)
_SELECT_TARGETS = (
    "SELECT note, string_agg(CASE WHEN kind = 'wikilink' AND position(' ' in text) = 0"
    f" THEN target || '{LABEL_SEPARATOR}' || text ELSE target END, '{TARGET_SEPARATOR}') FROM links WHERE target <> ''"
)
_SELECT_NOTES = "SELECT path, id, title, language, size, mtime_ns, tokens, kind FROM notes WHERE path = ANY(%s)"
_SELECT_NAME_TERMS = "SELECT note, own, lengths, terms, files, targets FROM name_terms WHERE note = ANY(%s)"
_SELECT_LABELS = "SELECT note, kind, name, value FROM labels WHERE note = ANY(%s) ORDER BY note, rowid"
_SELECT_NAMED_NOTES = (
    "SELECT name, path, notes.id, (SELECT count(*) FROM fragments WHERE fragments.note = notes.id)"
    " FROM names JOIN notes ON notes.id = note WHERE name = ANY(%s)"
)
_YEAR_HEADINGS_SQL = "SELECT note, heading, line_start, line_end FROM sections WHERE heading ~ '[12][0-9]{3}'"
_MAX_ORDINAL = 1 << 30


_FROM_COMPLETIONS = "FROM terms WHERE term >= %s AND term < %s ORDER BY length(term), term LIMIT %s"
_MAX_CACHED_KEYS = 2_000
"""Maximum number of keys of which the rows of a statement are cached; a search reads up to 500.

With 5,000 a further reader of cpp-docs takes 83 instead of 64 MB, and searches as much CPU time.
"""
_MAX_CACHED_STATEMENTS = 256
Key = TypeVar("Key", int, str)

_TABLE_IN_SQL = re.compile(r"\b(?:FROM|JOIN) ([a-z_]+)")

_CATALOG_TABLES = {
    "notes": ("notes", "id", f"id, {schema.catalog_column_names('notes')}"),
    "note_texts": ("notes", "id", "id AS note, text"),
    "name_terms": ("notes", "id", "id AS note, own, lengths, terms, files, targets"),
    "sections": ("sections", "note", f"note, {schema.catalog_column_names('sections')}"),
    "links": ("links", "note", f"rowid, note, {schema.catalog_column_names('links')}"),
    "labels": ("labels", "note", f"rowid, note, {schema.catalog_column_names('labels')}"),
    "names": ("names", "note", f"{schema.catalog_column_names('names')}, note"),
    "fragments": (
        "fragments",
        "note",
        f"key, note, {schema.catalog_column_names('fragments')}, attached, words, lengths, places, vector",
    ),
    "terms": ("terms", "", "token, term, fragments, attached, notes, fields"),
    "postings": ("postings", "", "token, block, data"),
}
"""How the tables of an index's catalog are read from the tables of an area, by name.

Each has the name of the area's table, its column with the note's number ("" for none), and the columns to select.
"""


class ReadableAreas(Struct, frozen=True):
    """The `areas` (folders with rights) of a `vault` that a reader may read; both are given by number.

    The areas are read as if they were one set of tables, with the table names of an index's catalog.
    """

    vault: int
    areas: tuple[int, ...]

    def with_tables(self, sql: str, max_note: int = NO_MAX_NOTE) -> str:
        """Return a statement preceded by definitions (WITH) of its tables, with notes numbered up to `max_note`."""
        return _with_tables(self, sql, max_note)

    def select_table(self, name: str, max_note: int) -> str:
        if name in _FUNCTION_TABLES:
            return _FUNCTION_TABLES[name].format(vault=self.vault)
        table, number, columns = _CATALOG_TABLES[name]
        until = f" WHERE {number} <= {max_note}" if number and max_note < NO_MAX_NOTE else ""
        union = " UNION ALL ".join(
            f"SELECT {columns} FROM {schema.table_name(table, area)}{until}" for area in self.areas
        )
        return _SUM_OF_TERMS.format(union) if name == "terms" else union


@lru_cache(_MAX_CACHED_STATEMENTS)
def _with_tables(areas: ReadableAreas, sql: str, max_note: int) -> str:
    names = [
        name
        for name in dict.fromkeys(_TABLE_IN_SQL.findall(sql))
        if name in _CATALOG_TABLES or name in _FUNCTION_TABLES
    ]
    known = ", ".join(f"{name} AS NOT MATERIALIZED ({areas.select_table(name, max_note)})" for name in names)
    return f"WITH {known} {sql}" if known else sql


_FUNCTION_TABLES = {
    "remarks": "SELECT path, skipped, reason FROM excerpt_vault.remarks({vault})",
    "moves": "SELECT path, became FROM excerpt_vault.moves({vault})",
}
"""The tables of an index's catalog that are read by a function of the store, by name."""
_SUM_OF_TERMS = (
    "SELECT term, sum(fragments) AS fragments, sum(attached) AS attached, sum(notes) AS notes,"
    " bit_or(fields) AS fields, array_agg(token) AS tokens FROM ({}) AS counted GROUP BY term HAVING sum(fragments) > 0"
)


class RowCache:
    """The rows of a statement by the key in their first column, each key read once: those of a revision stay the same.

    The statement has one parameter, an array of keys.
    """

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._rows: dict[object, list[Row]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def clear(self) -> None:
        """Forget all rows."""
        self._rows.clear()

    def missing(self, keys: Iterable[Key]) -> list[Key]:
        """Return those of `keys` that have not been read, each once."""
        return [key for key in dict.fromkeys(keys) if key not in self._rows]

    def add(self, keys: Iterable[object], rows: Iterable[Row]) -> None:
        """Add the rows that were read for `keys`."""
        self._rows.update((key, []) for key in keys)
        for row in rows:
            self._rows.setdefault(row[0], []).append(row)

    def get(self, keys: Iterable[object]) -> list[Row]:
        """Return the rows of `keys`, which have all been read."""
        return [row for key in keys for row in self._rows[key]]


class StoreQueries:
    """`NoteQueries` for a store, over notes numbered up to `max_note`; also queries for terms, files and remarks."""

    def __init__(self, connection: StoreConnection, tables: ReadableAreas) -> None:
        self._connection = connection
        self.tables = tables
        self.max_note = NO_MAX_NOTE
        self.texts = RowCache(f"{_SELECT_FRAGMENT} WHERE f.key = ANY(%s)")
        self.note_rows = RowCache(_SELECT_NOTES)
        self.note_names = RowCache(_SELECT_NAME_TERMS)
        self.note_labels = RowCache(_SELECT_LABELS)
        self.note_targets = RowCache(f"{_SELECT_TARGETS} AND note = ANY(%s) GROUP BY note")
        self.named_notes = RowCache(_SELECT_NAMED_NOTES)
        self.note_sizes = RowCache("SELECT note, count(*) FROM fragments WHERE note = ANY(%s) GROUP BY note")

    def prefetch(self, keys: Mapping[RowCache, Iterable[Any]], statements: Sequence[Statement] = ()) -> list[list[Row]]:
        """Read the rows of some keys in one round trip, and return the rows of other `statements` in it.

        The statements are over the tables of a catalog.
        """
        missing = {cache: cache.missing(wanted) for cache, wanted in keys.items()}
        missing = {cache: wanted for cache, wanted in missing.items() if wanted}
        for cache, wanted in missing.items():
            if len(cache) + len(wanted) > _MAX_CACHED_KEYS:
                cache.clear()
                missing[cache] = list(dict.fromkeys(keys[cache]))
        reads = [(cache.sql, (_array(wanted),)) for cache, wanted in missing.items()]
        sent = [(self.tables.with_tables(sql, self.max_note), values) for sql, values in (*statements, *reads)]
        answers = self._connection.execute_all(sent) if sent else []
        for (cache, wanted), rows in zip(missing.items(), answers[len(statements) :], strict=True):
            cache.add(wanted, rows)
        return answers[: len(statements)]

    def _cached(self, cache: RowCache, keys: Sequence[Key]) -> list[Row]:
        self.prefetch({cache: keys})
        return cache.get(dict.fromkeys(keys))

    def up_to(self, max_note: int) -> StoreQueries:
        """Return the same queries, with the rows read so far, over notes numbered up to `max_note`."""
        queries = copy(self)
        queries.max_note = max_note
        return queries

    def rows(self, sql: str, *values: object) -> list[Row]:
        """Execute SQL over the tables of a catalog; return the rows of areas (folders with rights) that may be read."""
        return self._connection.rows(self.tables.with_tables(sql, self.max_note), *map(replace_unstorable, values))

    # --- notes and fragments ------------------------------------------------------------------------------------------

    def fragments(self, keys: Sequence[int]) -> list[Fragment]:
        return [fragment_from_row(row) for row in self._cached(self.texts, keys)]

    def fragments_with_id(self, fragment_id: str) -> list[Fragment]:
        fragment_rows = self.rows(f"{_SELECT_FRAGMENT} WHERE f.id = %s ORDER BY f.key", fragment_id)
        return [fragment_from_row(row) for row in fragment_rows]

    def keys_of_texts(self, digests: Collection[str]) -> dict[str, int]:
        sql = "SELECT digest, min(key) FROM fragments WHERE digest = ANY(%s) GROUP BY digest"
        return dict(self.rows(sql, list(digests)))

    def note_fragments(self, path: str, first: int, last: int | None) -> list[Fragment]:
        sql = f"{_SELECT_FRAGMENT} WHERE n.path = %s AND f.ordinal BETWEEN %s AND %s ORDER BY f.ordinal"
        return [fragment_from_row(row) for row in self.rows(sql, path, first, _MAX_ORDINAL if last is None else last)]

    def fragment_infos(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[FragmentInfo]]:
        parts_by_range: list[list[FragmentInfo]] = [[] for _ in ranges]
        lasts = [_MAX_ORDINAL if last is None else min(last, _MAX_ORDINAL) for _, _, last in ranges]
        columns = [replace_unstorable(path) for path, _, _ in ranges], [first for _, first, _ in ranges], lasts
        for number, *row in self.rows(_SELECT_PARTS, *columns):
            parts_by_range[number - 1].append(FragmentInfo(*row))
        return parts_by_range

    def sections(self, path: str) -> list[Section]:
        sql = (
            "SELECT ordinal, level, heading, heading_path, s.line_start, s.line_end, place FROM sections s"
            " JOIN notes ON notes.id = s.note WHERE path = %s ORDER BY ordinal"
        )
        return [section_from_row(row) for row in self.rows(sql, path)]

    def notes(self, paths: Sequence[str]) -> dict[str, NoteRow]:
        return {path: NoteRow(*row) for path, *row in self._cached(self.note_rows, paths)}

    def note_text(self, path: str) -> str | None:
        text_rows = self.rows("SELECT text FROM notes JOIN note_texts ON note = notes.id WHERE path = %s", path)
        return decompress_text(text_rows[0][0]) if text_rows else None

    def comments(self, path: str) -> list[CommentLine]:  # noqa: ARG002 - none is pushed
        return []

    def note_paths(self) -> list[str]:
        return [path for (path,) in self.rows("SELECT path FROM notes ORDER BY path")]

    def notes_named(self, folded_name: str) -> list[str]:
        return [path for _, path, _, _ in self._cached(self.named_notes, [folded_name])]

    def note_numbers_named(self, folded_name: str) -> list[int]:
        """Return the numbers of the notes with a name; `fragment_counts` then knows their sizes."""
        named = self._cached(self.named_notes, [folded_name])
        for _, _, note, size in named:
            self.note_sizes.add([note], [(note, size)])
        return [note for _, _, note, _ in named]

    def fragment_counts(self, notes: Sequence[int]) -> list[int]:
        """Return the number of fragments of each note."""
        sizes: dict[int, int] = dict(self._cached(self.note_sizes, notes))
        return [sizes.get(note, 0) for note in notes]

    def name_terms(self, notes: Sequence[int]) -> dict[int, NameTerms]:
        return {row[0]: NameTerms(*row[1:]) for row in self._cached(self.note_names, notes)}

    def current_path(self, path: str) -> str | None:
        path_rows = self.rows(
            "SELECT became FROM moves JOIN notes ON notes.path = became WHERE moves.path = %s"
            " AND NOT EXISTS (SELECT 1 FROM notes WHERE notes.path = %s)",
            *(path, path),
        )
        return path_rows[0][0] if path_rows else None

    def find_texts_ignoring_case(self, parts: Sequence[str], keys: Sequence[int] | None) -> list[tuple[int, str]]:
        return self._select_texts(["text ILIKE %s"] * len(parts), [f"%{part}%" for part in parts], keys)

    def find_texts_with(self, part: str, keys: Sequence[int] | None) -> list[tuple[int, str]]:
        return self._select_texts(["strpos(text, %s) > 0"], [part], keys)

    def _select_texts(
        self, conditions: Sequence[str], parts: Sequence[str], keys: Sequence[int] | None
    ) -> list[tuple[int, str]]:
        terms, values = list(conditions), list(parts)
        if keys is not None:
            terms.append("key = ANY(%s)")
            values.append(array_literal(keys))
        text_rows = self.rows(f"SELECT key, text FROM fragments WHERE {' AND '.join(terms)}", *values)
        return [(key, text) for key, text in text_rows]

    # --- facets -------------------------------------------------------------------------------------------------------

    def modified(self) -> list[tuple[int, int]]:
        return [(note, mtime_ns) for note, mtime_ns in self.rows("SELECT id, mtime_ns FROM notes")]

    def kinds(self) -> list[tuple[int, str]]:
        return [(note, kind) for note, kind in self.rows("SELECT id, kind FROM notes")]

    def fragment_places(self) -> list[tuple[int, str]]:
        place_rows = self.rows(
            "SELECT f.key, s.place FROM sections s JOIN fragments f ON f.note = s.note AND f.section = s.ordinal"
            " WHERE s.place <> ''"
        )
        return [(key, place) for key, place in place_rows]

    def year_headings(self, notes: Sequence[int] | None = None) -> list[tuple[int, str, int, int]]:
        if notes is None:
            heading_rows = self.rows(f"{_YEAR_HEADINGS_SQL} ORDER BY note, ordinal")
        else:
            sql = f"{_YEAR_HEADINGS_SQL} AND note = ANY(%s) ORDER BY note, ordinal"
            heading_rows = self.rows(sql, array_literal(notes))
        return [(note, heading, line_start, line_end) for note, heading, line_start, line_end in heading_rows]

    def names(self, folded: Collection[str] | None = None) -> list[tuple[str, int]]:
        names = self.rows("SELECT name, note FROM names")
        return [(name, note) for name, note in names if folded is None or fold(name) in folded]

    def link_targets(self, notes: Sequence[int] | None = None) -> list[tuple[int, str]]:
        if notes is None:
            target_rows = self.rows(f"{_SELECT_TARGETS} GROUP BY note")
        else:
            target_rows = self._cached(self.note_targets, notes)
        return [(note, targets) for note, targets in target_rows]

    def links(self, notes: Sequence[int]) -> list[tuple[int, int, str, str | None]]:
        sql = "SELECT note, line, target, text FROM links WHERE target <> '' AND note = ANY(%s) ORDER BY note, rowid"
        return [(note, line, target, text) for note, line, target, text in self.rows(sql, array_literal(notes))]

    def labels(self, notes: Sequence[int]) -> list[tuple[int, str, str, str]]:
        label_rows = self._cached(self.note_labels, notes)
        return [(note, kind, name, value) for note, kind, name, value in label_rows]

    def tags(self) -> list[tuple[str, int]]:
        return [(value, note) for value, note in self.rows("SELECT value, note FROM labels WHERE kind = 'tag'")]

    def properties(self) -> list[tuple[str, str, int]]:
        label_rows = self.rows("SELECT name, value, note FROM labels WHERE kind = 'property'")
        return [(name, value, note) for name, value, note in label_rows]

    def property_names(self) -> list[str]:
        return [name for (name,) in self.rows("SELECT DISTINCT name FROM labels WHERE kind = 'property'")]

    def property_values(self, name: str) -> list[tuple[str, int]]:
        label_rows = self.rows("SELECT value, note FROM labels WHERE kind = 'property' AND name = %s", name)
        return [(value, note) for value, note in label_rows]

    def property_counts(self) -> list[tuple[str, int]]:
        sql = "SELECT name, count(DISTINCT note) FROM labels WHERE kind = 'property' GROUP BY name"
        return [(name, count) for name, count in self.rows(sql)]

    def replacements(self) -> list[tuple[str, str, str, int]]:
        sql = "SELECT kind, name, value, note FROM labels WHERE kind IN (%s, %s) ORDER BY note, rowid"
        return [(kind, words, value, note) for kind, words, value, note in self.rows(sql, REPLACED_BY, REPLACES)]

    def titles(self) -> list[tuple[str, int]]:
        sql = "SELECT title, id FROM notes UNION ALL SELECT value, note FROM labels WHERE kind = 'alias'"
        return [(title, note) for title, note in self.rows(sql)]

    def heading_counts(self) -> list[tuple[str, int]]:
        sql = "SELECT heading, count(*) FROM sections WHERE heading <> '' GROUP BY heading"
        return [(heading, count) for heading, count in self.rows(sql)]

    # --- queries that only a store has --------------------------------------------------------------------------------

    def note_table(self) -> list[tuple[str, str, int, str]]:
        """Return path, language, number and kind ("" for Markdown) of every note, in the order of the paths."""
        note_rows = self.rows("SELECT path, language, id, kind FROM notes ORDER BY path")
        return [(path, language, note, kind) for path, language, note, kind in note_rows]

    def attachment_counts(self) -> dict[str, int]:
        """Return how many attachments there are of each kind."""
        return dict(self.rows("SELECT kind, count(*) FROM notes WHERE kind <> '' GROUP BY kind ORDER BY kind"))

    def remarks(self, *, skipped: bool) -> tuple[FileProblem, ...]:
        """Return the files that were skipped; without `skipped`, the notes that were read with a warning."""
        remark_rows = self.rows("SELECT path, reason FROM remarks WHERE skipped = %s ORDER BY path, reason", skipped)
        return tuple(FileProblem(path, reason) for path, reason in remark_rows)

    def term_counts(self, terms: Sequence[str]) -> list[tuple[str, int, int, int]]:
        """Return each known term with how many fragments, fragments of attachments, and notes have it."""
        sql, values = counts_statement(terms)
        count_rows = self.rows(sql, *values)
        return [(term, fragments, attached, notes) for term, fragments, attached, notes in count_rows]

    def completions(self, beginning: str, limit: int) -> list[str]:
        """Return at most `limit` terms that start with `beginning`, shortest first, then in alphabetical order."""
        sql = f"SELECT term {_FROM_COMPLETIONS}"
        return [term for (term,) in self.rows(sql, beginning, _prefix_end(beginning), limit)]

    def terms_with_prefix(self, field: str, prefix: str) -> list[str]:
        """Return the terms of a field that start with `prefix`, sorted."""
        sql = "SELECT term FROM terms WHERE term >= %s AND term < %s AND fields & %s > 0 ORDER BY term"
        return [term for (term,) in self.rows(sql, prefix, _prefix_end(prefix), 1 << FIELDS.index(field))]


def counts_statement(terms: Sequence[str]) -> Statement:
    """Return a statement for each known term with how many fragments, fragments of attachments, and notes have it."""
    sql = "SELECT term, fragments, attached, notes FROM terms WHERE term = ANY(%s::text[])"
    return sql, ([replace_unstorable(term) for term in terms],)


def postings_statement(tokens: Sequence[str]) -> Statement:
    """Return a statement for the blocks of the postings of some tokens: token, number and data of each."""
    return "SELECT token, block, data FROM postings WHERE token = ANY(%s)", (array_literal(tokens),)


def completions_statement(beginning: str, limit: int) -> Statement:
    """Return a statement for terms as `StoreQueries.completions` returns them, with their counts and postings.

    A row has a term, its counts as in `counts_statement`, and the token, number and data of a block of its postings.
    """
    sql = (
        f"SELECT term, fragments, attached, notes, token, block, data FROM (SELECT * {_FROM_COMPLETIONS}) AS found,"
        " unnest(tokens) AS own (own_token) JOIN postings ON token = own_token ORDER BY length(term), term"
    )
    beginning = str(replace_unstorable(beginning))
    return sql, (beginning, _prefix_end(beginning), limit)


def _array(keys: Sequence[Any]) -> object:
    """Return keys as a parameter for an array."""
    is_text = isinstance(keys[0], str)
    return [replace_unstorable(key) for key in keys] if is_text else array_literal(keys)


def _prefix_end(prefix: str) -> str:
    """Return the upper end of the range of texts that start with `prefix`, in sort order."""
    return prefix + "\U0010ffff"
