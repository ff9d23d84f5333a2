"""Reading of notes and fragments by SQL, in the part that an index and a store have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from excerpt.base.locations import location_of_lines
from excerpt.base.model import CommentLine, Fragment, FragmentInfo, NoteInfo, Replaced, Section, day_of_ns
from excerpt.corpus.facets import EPOCH_ORDINAL, UNKNOWN_DAY, Facets
from excerpt.corpus.interface import PartialCorpus, QueryOutline
from excerpt.corpus.names import NO_NAMES, NameTerms, fold_name
from excerpt.corpus.queries import NoteQueries, NoteRow
from excerpt.corpus.tables import FragmentTable

Answer = TypeVar("Answer")


class NoteReader:
    """Reads notes and fragments of one state of a vault: the base class of the snapshots of an index and of a store.

    Implements `Notes` of `corpus.interface`.
    """

    is_unfinished = False
    """Whether the index build that committed this state still had files to read."""
    _note_queries: NoteQueries

    @property
    def partial(self) -> PartialCorpus | None:
        return None

    @property
    def is_complete(self) -> bool:
        return self.partial is None

    @property
    def table(self) -> FragmentTable:
        raise NotImplementedError

    @property
    def facets(self) -> Facets:
        raise NotImplementedError

    @cached_property
    def is_note_row(self) -> NDArray[np.bool_] | None:
        attached = self.table.is_attachment
        return ~attached[self.table.notes] if attached.any() and not attached.all() else None

    def prefetch_outlines(self, _outlines: Sequence[QueryOutline]) -> None:
        """Do nothing: an index has all fragments loaded."""

    def read_transaction(self, answer: Callable[[], Answer]) -> Answer:
        """Return the result of `answer()`, all of whose reads see one state of the vault."""
        return answer()

    def _convert_errors(self) -> AbstractContextManager[None]:
        """Return a context that converts database errors into excerpt's own errors."""
        return nullcontext()

    def _check_missing(self, keys: Sequence[int]) -> None:
        """Raise an error if the corpus should have a row for one of `keys`, for which no rows were found."""

    def fragments(self, keys: Sequence[int]) -> list[Fragment]:
        wanted_keys = [int(key) for key in keys]
        with self._convert_errors():
            by_key = {fragment.key: fragment for fragment in self._note_queries.fragments(wanted_keys)}
        self._check_missing([key for key in wanted_keys if key not in by_key])
        return [by_key[key] for key in wanted_keys]

    def fragment(self, fragment_id: str) -> Fragment | None:
        with self._convert_errors():
            matches = self._note_queries.fragments_with_id(fragment_id)
        return matches[0] if matches else None

    def keys_of_texts(self, digests: Collection[str]) -> dict[str, int]:
        with self._convert_errors():
            return self._note_queries.keys_of_texts(digests)

    def note_fragments(self, path: str, first: int = 0, last: int | None = None) -> list[Fragment]:
        with self._convert_errors():
            return self._note_queries.note_fragments(path, first, last)

    def fragment_infos(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[FragmentInfo]]:
        """Return the fragments in each of `ranges`, without their texts, one list for each range.

        A range is (path of the note, number of its first fragment, number of its last; None: to the end). Up to 500
        ranges are read with one query.
        """
        with self._convert_errors():
            return self._note_queries.fragment_infos(ranges)

    def sections(self, path: str) -> list[Section]:
        with self._convert_errors():
            return self._note_queries.sections(path)

    def place(self, path: str, line_start: int, line_end: int) -> str:
        return location_of_lines(self.sections(path), line_start, line_end)

    def note_text(self, path: str) -> str:
        with self._convert_errors():
            text = self._note_queries.note_text(path)
        if text is None:
            raise KeyError(path)
        return text

    def comments(self, path: str) -> list[CommentLine]:
        """Return the lines of comments that are left out of the text of a note, in order; [] for an unknown note."""
        with self._convert_errors():
            return self._note_queries.comments(path)

    def note_tokens(self, path: str) -> int:
        return self._read_note_row(path).tokens

    def note_modified(self, path: str) -> str:
        """Return the day when the note was last changed, as YYYY-MM-DD; "" if it is unknown.

        The day is the note's own date (`Facets.change_day`), else the day of its file when it was indexed, in UTC. A
        file time that nearly all files share does not count. Raises KeyError for an unknown note.
        """
        row = self._read_note_row(path)
        number = self.facets.numbers[path]
        own_day = self.facets.change_day(number)
        if own_day != UNKNOWN_DAY:
            return date.fromordinal(own_day + EPOCH_ORDINAL).isoformat()
        return "" if self.facets.is_copied[number] else day_of_ns(row.mtime_ns)

    def note_replaced(self, path: str) -> Replaced | None:
        """Return what replaces a note, None if it is not replaced. Raises KeyError for an unknown note.

        The day is that which the words name, else that when the other note was created.
        """
        found = self.facets.replaced.get(self.facets.numbers[path])
        if found is None:
            return None
        if not found.successors:
            return Replaced(None, None, found.day or None, found.words)
        other = found.successors[0]
        created = self.facets.creation_dates([other])[0]
        by = self.table.paths[other]
        day = found.day or (created.isoformat() if created else None)
        return Replaced(by, self._read_note_row(by).title, day, found.words)

    def note_info(self, path: str) -> NoteInfo:
        return self.note_infos([path])[0]

    def note_infos(self, paths: Sequence[str]) -> list[NoteInfo]:
        with self._convert_errors():
            known = self._note_queries.notes(paths)
        rows = [known[path] if path in known else self._read_note_row(path) for path in paths]
        labels: dict[int, list[tuple[str, str, str]]] = {row.number: [] for row in rows}
        with self._convert_errors():
            for note, *label in self._note_queries.labels(list(labels)):
                labels[note].append((label[0], label[1], label[2]))
        return [_join_labels(path, row, labels[row.number]) for path, row in zip(paths, rows, strict=True)]

    def _read_note_row(self, path: str) -> NoteRow:
        with self._convert_errors():
            rows = self._note_queries.notes([path])
        return rows[path]

    def note_paths(self) -> tuple[str, ...]:
        return tuple(self._note_queries.note_paths())

    def current_path(self, path: str) -> str | None:
        return self._note_queries.current_path(path)

    def notes_named(self, name: str) -> tuple[int, ...]:
        named_paths = set(self._note_queries.notes_named(fold_name(name)))
        return (
            tuple(number for number, path in enumerate(self.table.paths) if path in named_paths) if named_paths else ()
        )

    def name_terms(self, positions: Sequence[int]) -> list[NameTerms]:
        numbers = self.table.numbers[np.array(positions, np.int64)].tolist()
        by_number = self._note_queries.name_terms(numbers)
        return [by_number.get(number, NO_NAMES) for number in numbers]


def _join_labels(path: str, row: NoteRow, labels: Sequence[tuple[str, str, str]]) -> NoteInfo:
    """Return the data of the note at `path`; `labels` are (kind, name, value), as `NoteQueries.labels` returns them."""
    properties: dict[str, tuple[str, ...]] = {}
    for kind, name, value in labels:
        if kind == "property":
            properties[name] = (*properties.get(name, ()), value)
    return NoteInfo(
        path=path,
        title=row.title,
        aliases=tuple(value for kind, _, value in labels if kind == "alias"),
        tags=tuple(value for kind, _, value in labels if kind == "tag"),
        properties=properties,
        language=row.language,
        size=row.size,
        mtime_ns=row.mtime_ns,
        tokens=row.tokens,
        kind=row.kind,
    )
