"""The queries for notes, fragments and labels on the catalog of an index, in SQL."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from excerpt.base.model import CommentLine, Fragment, FragmentInfo, Section
from excerpt.corpus.names import NameTerms
from excerpt.corpus.queries import LABEL_SEPARATOR, REPLACED_BY, REPLACES, TARGET_SEPARATOR, NoteRow
from excerpt.index import names, renames
from excerpt.index.catalog_rows import MAX_SQL_VALUES, DamagedRowError, decompress_text, heading_path_from_row
from excerpt.index.checksums import FRAGMENT_CHECKSUM_COLUMNS, FRAGMENT_TABLES_SQL, checksum, read_checked_notes
from excerpt.text.folding import fold
from excerpt.text.fragments import digest_of_text

_FRAGMENT_SQL = f"SELECT {FRAGMENT_CHECKSUM_COLUMNS}, f.crc, f.text FROM {FRAGMENT_TABLES_SQL}"
_PARTS_SQL = (
    f"SELECT w.place, {FRAGMENT_CHECKSUM_COLUMNS}, f.crc FROM wanted w CROSS JOIN notes n ON n.path = w.path"
    " CROSS JOIN fragments f ON f.note = n.id AND f.ordinal BETWEEN w.first AND w.last"
    " CROSS JOIN sections s ON s.note = f.note AND s.ordinal = f.section ORDER BY w.place, f.ordinal"
)
_TARGETS_SQL = (
    "SELECT note, group_concat(CASE WHEN kind = 'wikilink' AND instr(text, ' ') = 0"
    f" THEN target || '{LABEL_SEPARATOR}' || text ELSE target END, '{TARGET_SEPARATOR}') FROM links WHERE target <> ''"
)
_YEAR_HEADINGS_SQL = (
    "SELECT note, heading, line_start, line_end FROM sections WHERE heading GLOB '*[12][0-9][0-9][0-9]*'"
)
_NO_END = 1 << 62
_FIRST_BEYOND_ASCII, _LAST_LETTER = "\x80", "\U0010ffff"


class CheckedRows(Protocol):
    """Runs SQL on a catalog when called, and compares tables of the catalog with their checksums."""

    def __call__(self, sql: str, /, *values: object) -> list[tuple[Any, ...]]: ...

    def check(self, table: str, notes: Sequence[int] | None = None, /) -> None:
        """Compare the rows of `notes` (row ids; None: all) in a table with their checksums; raise if one differs."""
        ...


class CatalogQueries:
    """Implements the queries of `NoteQueries` on the SQLite catalog of an index.

    Rows that users see are compared with their checksums; link targets of single notes and dates in headings, which
    only influence scores, are not. Raises DamagedRowError.
    """

    def __init__(self, rows: CheckedRows) -> None:
        self._rows = rows

    # --- notes and fragments ------------------------------------------------------------------------------------------

    def fragments(self, keys: Sequence[int]) -> list[Fragment]:
        fragment_rows = self._select_in_batches(keys, lambda marks: f"{_FRAGMENT_SQL} WHERE f.key IN ({marks})")
        return [_parse_checked_fragment(row) for row in fragment_rows]

    def fragments_with_id(self, fragment_id: str) -> list[Fragment]:
        fragment_rows = self._rows(f"{_FRAGMENT_SQL} WHERE f.id = ? ORDER BY f.key", fragment_id)
        return [_parse_checked_fragment(row) for row in fragment_rows]

    def keys_of_texts(self, digests: Collection[str]) -> dict[str, int]:
        sql = "SELECT digest, min(key) FROM fragments WHERE digest IN ({}) GROUP BY digest"
        return dict(self._select_in_batches(list(digests), sql.format))

    def note_fragments(self, path: str, first: int, last: int | None) -> list[Fragment]:
        sql = f"{_FRAGMENT_SQL} WHERE n.path = ? AND f.ordinal BETWEEN ? AND ? ORDER BY f.ordinal"
        rows = self._rows(sql, path, first, _NO_END if last is None else last)
        fragments = [_parse_checked_fragment(row) for row in rows]
        _check_ordinals([fragment.ordinal for fragment in fragments])
        return fragments

    def fragment_infos(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[FragmentInfo]]:
        parts_by_range: list[list[FragmentInfo]] = [[] for _ in ranges]
        for at in range(0, len(ranges), MAX_SQL_VALUES):
            batch = ranges[at : at + MAX_SQL_VALUES]
            values = [
                value
                for number, (path, first, last) in enumerate(batch, at)
                for value in (number, path, first, _NO_END if last is None else last)
            ]
            placeholders = ",".join(["(?,?,?,?)"] * len(batch))
            for number, *row in self._rows(
                f"WITH wanted(place, path, first, last) AS (VALUES {placeholders}) {_PARTS_SQL}", *values
            ):
                parts_by_range[number].append(_parse_checked_part(row))
        for parts in parts_by_range:
            _check_ordinals([part.ordinal for part in parts])
        return parts_by_range

    def sections(self, path: str) -> list[Section]:
        note = self.notes([path]).get(path)
        if note is None:
            return []
        self._rows.check("sections", [note.number])
        sql = (
            "SELECT ordinal, level, heading, heading_path, s.line_start, s.line_end, place FROM sections s"
            " JOIN notes ON notes.id = s.note WHERE path = ? ORDER BY ordinal"
        )
        return [section_from_row(row) for row in self._rows(sql, path)]

    def notes(self, paths: Sequence[str]) -> dict[str, NoteRow]:
        rows: dict[str, NoteRow] = {}
        for at in range(0, len(paths), MAX_SQL_VALUES):
            part = paths[at : at + MAX_SQL_VALUES]
            checked = read_checked_notes(self._rows, f"path IN ({','.join('?' * len(part))})", *part)
            for number, path, title, language, tokens, kind, _, size, mtime_ns in checked:
                rows[path] = NoteRow(number, title, language, size, mtime_ns, tokens, kind)
        return rows

    def note_text(self, path: str) -> str | None:
        text_rows = self._rows("SELECT text FROM notes JOIN note_texts ON note = notes.id WHERE path = ?", path)
        return decompress_text(text_rows[0][0]) if text_rows else None

    def comments(self, path: str) -> list[CommentLine]:
        note = self.notes([path]).get(path)
        if note is None:
            return []
        self._rows.check("comments", [note.number])
        comment_rows = self._rows(
            "SELECT line, at, begins, text FROM comments WHERE note = ? ORDER BY number", note.number
        )
        return [CommentLine(line, at, bool(begins), text) for line, at, begins, text in comment_rows]

    def note_paths(self) -> list[str]:
        return [path for (path,) in self._rows("SELECT path FROM notes ORDER BY path")]

    def notes_named(self, folded_name: str) -> list[str]:
        rows = self._rows("SELECT path, note FROM names JOIN notes ON notes.id = note WHERE name = ?", folded_name)
        # Only these: the first search does not wait for the names of all notes.
        self._rows.check("names", [note for _, note in rows])
        return [path for path, _ in rows]

    def name_terms(self, notes: Sequence[int]) -> dict[int, NameTerms]:
        return names.read_names(self._rows, notes)

    def current_path(self, path: str) -> str | None:
        return renames.current_path(self._rows, path)

    def find_texts_ignoring_case(self, parts: Sequence[str], keys: Sequence[int] | None) -> list[tuple[int, str]]:
        return self._select_texts(["text LIKE ?"] * len(parts), [f"%{part}%" for part in parts], keys)

    def find_texts_with(self, part: str, keys: Sequence[int] | None) -> list[tuple[int, str]]:
        return self._select_texts(["instr(text, ?) > 0"], [part], keys)

    def _select_texts(
        self, conditions: Sequence[str], values: Sequence[str], keys: Sequence[int] | None
    ) -> list[tuple[int, str]]:
        terms = list(conditions)
        if keys is not None:
            terms.append(f"key IN ({','.join(map(str, keys)) or 'NULL'})")
        text_rows = self._rows(f"SELECT key, text FROM fragments WHERE {' AND '.join(terms)}", *values)
        return [(key, text) for key, text in text_rows]

    # --- facets -------------------------------------------------------------------------------------------------------

    def modified(self) -> list[tuple[int, int]]:
        return [(note, mtime_ns) for note, mtime_ns in self._rows("SELECT id, mtime_ns FROM notes")]

    def kinds(self) -> list[tuple[int, str]]:
        self._rows.check("notes")
        return [(note, kind) for note, kind in self._rows("SELECT id, kind FROM notes")]

    def fragment_places(self) -> list[tuple[int, str]]:
        self._rows.check("sections")
        place_rows = self._rows(
            "SELECT f.key, s.place FROM sections s JOIN fragments f ON f.note = s.note AND f.section = s.ordinal"
            " WHERE s.place <> ''"
        )
        return [(key, place) for key, place in place_rows]

    def year_headings(self, notes: Sequence[int] | None = None) -> list[tuple[int, str, int, int]]:
        if notes is None:
            heading_rows = self._rows(f"{_YEAR_HEADINGS_SQL} ORDER BY note, ordinal")
        else:
            heading_rows = self._select_in_batches(
                notes, lambda marks: f"{_YEAR_HEADINGS_SQL} AND note IN ({marks}) ORDER BY note, ordinal"
            )
        return [(note, heading, line_start, line_end) for note, heading, line_start, line_end in heading_rows]

    def names(self, folded: Collection[str] | None = None) -> list[tuple[str, int]]:
        if folded is None:
            self._rows.check("names")
            return [(name, note) for name, note in self._rows("SELECT name, note FROM names")]
        # A letter of ASCII is not changed by folding, so only names with the same first one are read, and those with
        # another.
        sql = "SELECT name, note FROM names WHERE name >= ? AND name < ?"
        initials = sorted({name[0] for name in folded if name and name[0].isascii()})
        ranges = [*((letter, chr(ord(letter) + 1)) for letter in initials), (_FIRST_BEYOND_ASCII, _LAST_LETTER)]
        names = [row for limits in ranges for row in self._rows(sql, *limits) if fold(row[0]) in folded]
        self._rows.check("names", [note for _, note in names])
        return [(name, note) for name, note in names]

    def link_targets(self, notes: Sequence[int] | None = None) -> list[tuple[int, str]]:
        if notes is None:
            self._rows.check("links")
            target_rows = self._rows(f"{_TARGETS_SQL} GROUP BY note")
        else:
            target_rows = self._select_in_batches(
                notes, lambda marks: f"{_TARGETS_SQL} AND note IN ({marks}) GROUP BY note"
            )
        return [(note, targets) for note, targets in target_rows]

    def links(self, notes: Sequence[int]) -> list[tuple[int, int, str, str | None]]:
        self._rows.check("links", notes)
        sql = "SELECT note, line, target, text FROM links WHERE target <> '' AND note IN ({}) ORDER BY note, rowid"
        return [(note, line, target, text) for note, line, target, text in self._select_in_batches(notes, sql.format)]

    def labels(self, notes: Sequence[int]) -> list[tuple[int, str, str, str]]:
        self._rows.check("labels", notes)
        sql = "SELECT note, kind, name, value FROM labels WHERE note IN ({}) ORDER BY note, rowid"
        return [(note, kind, name, value) for note, kind, name, value in self._select_in_batches(notes, sql.format)]

    def tags(self) -> list[tuple[str, int]]:
        self._rows.check("labels")
        return [(value, note) for value, note in self._rows("SELECT value, note FROM labels WHERE kind = 'tag'")]

    def properties(self) -> list[tuple[str, str, int]]:
        self._rows.check("labels")
        label_rows = self._rows("SELECT name, value, note FROM labels WHERE kind = 'property'")
        return [(name, value, note) for name, value, note in label_rows]

    def property_names(self) -> list[str]:
        self._rows.check("labels")
        return [name for (name,) in self._rows("SELECT DISTINCT name FROM labels WHERE kind = 'property'")]

    def property_values(self, name: str) -> list[tuple[str, int]]:
        self._rows.check("labels")
        label_rows = self._rows("SELECT value, note FROM labels WHERE kind = 'property' AND name = ?", name)
        return [(value, note) for value, note in label_rows]

    def property_counts(self) -> list[tuple[str, int]]:
        self._rows.check("labels")
        sql = "SELECT name, count(DISTINCT note) FROM labels WHERE kind = 'property' GROUP BY name"
        return [(name, count) for name, count in self._rows(sql)]

    def replacements(self) -> list[tuple[str, str, str, int]]:
        sql = "SELECT kind, name, value, note FROM labels WHERE kind IN (?, ?) ORDER BY note, rowid"
        rows = self._rows(sql, REPLACED_BY, REPLACES)
        # Only these: the first search of a command does not wait for all labels.
        self._rows.check("labels", list(dict.fromkeys(row[3] for row in rows)))
        return [(kind, words, value, note) for kind, words, value, note in rows]

    def titles(self) -> list[tuple[str, int]]:
        self._rows.check("notes")
        self._rows.check("labels")
        sql = "SELECT title, id FROM notes UNION ALL SELECT value, note FROM labels WHERE kind = 'alias'"
        return [(title, note) for title, note in self._rows(sql)]

    def heading_counts(self) -> list[tuple[str, int]]:
        self._rows.check("sections")
        sql = "SELECT heading, count(*) FROM sections WHERE heading <> '' GROUP BY heading"
        return [(heading, count) for heading, count in self._rows(sql)]

    def _select_in_batches(self, values: Sequence[object], sql: Callable[[str], str]) -> list[tuple[Any, ...]]:
        """Run a query on some values in batches of 500 and return all rows; `sql` gets the placeholders "?,?,…"."""
        result: list[tuple[Any, ...]] = []
        for at in range(0, len(values), MAX_SQL_VALUES):
            part = values[at : at + MAX_SQL_VALUES]
            result += self._rows(sql(",".join("?" * len(part))), *part)
        return result


def _parse_checked_fragment(row: Sequence[Any]) -> Fragment:
    """Return the fragment in a row of `_FRAGMENT_SQL`. Raises DamagedRowError if the checksum differs."""
    *sealed, crc, text = row
    key, fragment_id, path, title, kind, ordinal, section, _, _, heading_path, place, start, end, tokens, digest = (
        sealed
    )
    if checksum(*sealed) != crc or digest_of_text(text) != digest:
        raise DamagedRowError("a fragment")
    return fragment_from_row(
        (key, fragment_id, path, title, heading_path, ordinal, section, start, end, text, tokens, digest, kind, place)
    )


def _parse_checked_part(row: Sequence[Any]) -> FragmentInfo:
    *sealed, crc = row
    if checksum(*sealed) != crc:
        raise DamagedRowError("a fragment")
    key, fragment_id, _, _, _, ordinal, section, level, heading, _, _, start, end, tokens, digest = sealed
    return FragmentInfo(key, fragment_id, ordinal, section, level, heading, start, end, tokens, digest)


def _check_ordinals(ordinals: Sequence[int]) -> None:
    """Raise DamagedRowError if `ordinals`, the ascending numbers of fragments of a note, have a gap."""
    if ordinals and len(ordinals) != ordinals[-1] - ordinals[0] + 1:
        raise DamagedRowError("a fragment that is lost")


def fragment_from_row(row: Sequence[Any]) -> Fragment:
    """Return the fragment in a database row; the first statement of this function names the columns."""
    key, fragment_id, path, title, heading_path, ordinal, section, start, end, text, tokens, digest, kind, place = row
    return Fragment(
        id=fragment_id,
        path=path,
        title=title,
        heading_path=heading_path_from_row(heading_path),
        ordinal=ordinal,
        section=section,
        line_start=start,
        line_end=end,
        text=text,
        tokens=tokens,
        digest=digest,
        key=key,
        kind=kind,
        place=place,
    )


def section_from_row(row: Sequence[Any]) -> Section:
    """Return the section in a database row, without its blocks; the first statement here names the columns."""
    ordinal, level, heading, heading_path, line_start, line_end, place = row
    return Section(ordinal, level, heading, heading_path_from_row(heading_path), line_start, line_end, (), place)
