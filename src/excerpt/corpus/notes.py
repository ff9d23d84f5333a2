"""Notes and fragments, read by the row queries of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date, timedelta
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from excerpt.corpus.interface import PartialCorpus
from excerpt.corpus.names import NO_NAMES, NameTerms, fold_name
from excerpt.corpus.queries import NoteQueries, NoteRow
from excerpt.corpus.tables import FragmentTable, NoteInfo
from excerpt.locations import location_of_lines
from excerpt.model import Fragment, FragmentInfo, Section

_DAY_NS = 86_400 * 10**9

Answer = TypeVar("Answer")


class NoteReader:
    """Reads the notes of one state of a vault: the part of a corpus that all kinds share."""

    is_unfinished = False
    """Whether the build that committed this state had files left to read."""
    _queries: NoteQueries

    @property
    def partial(self) -> PartialCorpus | None:
        """The corpus itself where only some fragments are loaded, else None."""
        return None

    @property
    def is_complete(self) -> bool:
        """Whether all fragments are loaded."""
        return self.partial is None

    @property
    def table(self) -> FragmentTable:
        """Note and first line of each row."""
        raise NotImplementedError

    @cached_property
    def is_note_row(self) -> NDArray[np.bool_] | None:
        """Which rows are of notes; None where all are, or none."""
        attached = self.table.is_attachment
        return ~attached[self.table.notes] if attached.any() and not attached.all() else None

    def read_transaction(self, answer: Callable[[], Answer]) -> Answer:
        """Return `answer()`, all of it read from one state of the vault."""
        return answer()

    def _report_damage(self) -> AbstractContextManager[None]:
        """Return a context that turns errors of rows into ours."""
        return nullcontext()

    def _check_missing(self, keys: Sequence[int]) -> None:
        """Raise where one of these keys, which no row was found for, should have one."""

    def fragments(self, keys: Sequence[int]) -> list[Fragment]:
        """Return the fragments with these keys, in that order. Raises KeyError for a key that is not there."""
        wanted_keys = [int(key) for key in keys]
        with self._report_damage():
            by_key = {fragment.key: fragment for fragment in self._queries.fragments(wanted_keys)}
        self._check_missing([key for key in wanted_keys if key not in by_key])
        return [by_key[key] for key in wanted_keys]

    def fragment(self, fragment_id: str) -> Fragment | None:
        """Return the fragment with this id, None without one."""
        with self._report_damage():
            matches = self._queries.fragments_with_id(fragment_id)
        return matches[0] if matches else None

    def note_fragments(self, path: str, first: int = 0, last: int | None = None) -> list[Fragment]:
        """Return a note's fragments of the ordinals `first` to `last` (inclusive), in order.

        An unknown note has none.
        """
        with self._report_damage():
            return self._queries.note_fragments(path, first, last)

    def parts(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[FragmentInfo]]:
        """Return the fragments of each note between two ordinals (None: to the end), without their texts.

        Few queries are needed, and no long columns are read.
        """
        with self._report_damage():
            return self._queries.parts(ranges)

    def sections(self, path: str) -> list[Section]:
        """Return a note's sections in order, without their blocks."""
        with self._report_damage():
            return self._queries.sections(path)

    def place(self, path: str, line_start: int, line_end: int) -> str:
        """Return the place of lines of an attachment, over all its pages; "" in a file without places."""
        return location_of_lines(self.sections(path), line_start, line_end)

    def note_text(self, path: str) -> str:
        """Return the note as it was read, with LF line ends. Raises KeyError for an unknown note."""
        with self._report_damage():
            text = self._queries.note_text(path)
        if text is None:
            raise KeyError(path)
        return text

    def note_tokens(self, path: str) -> int:
        """Return the tokens of the whole file. Raises KeyError for an unknown note."""
        return self._note(path).tokens

    def note_modified(self, path: str) -> str:
        """Return the day of the file's last change when it was read, ISO 8601, UTC.

        Raises KeyError for an unknown note.
        """
        # Not by fromtimestamp, which on Windows knows no time before 1970.
        return (date(1970, 1, 1) + timedelta(self._note(path).mtime_ns // _DAY_NS)).isoformat()

    def note_info(self, path: str) -> NoteInfo:
        """Return what is known of a note besides its text. Raises KeyError for an unknown note."""
        note = self._note(path)
        labels = self._queries.aliases_and_tags(note.number)
        return NoteInfo(
            path=path,
            title=note.title,
            aliases=tuple(value for kind, value in labels if kind == "alias"),
            tags=tuple(value for kind, value in labels if kind == "tag"),
            language=note.language,
            size=note.size,
            mtime_ns=note.mtime_ns,
            tokens=note.tokens,
            kind=note.kind,
        )

    def _note(self, path: str) -> NoteRow:
        with self._report_damage():
            note = self._queries.note(path)
        if note is None:
            raise KeyError(path)
        return note

    def note_paths(self) -> tuple[str, ...]:
        """Return every note's path, sorted."""
        return tuple(self._queries.note_paths())

    def current_path(self, path: str) -> str | None:
        """Return today's path of the note that once had this one.

        None if it is not known to have moved, or if a note is at `path` again.
        """
        return self._queries.current_path(path)

    def notes_named(self, name: str) -> tuple[int, ...]:
        """Return the notes, as places in `table.paths`, whose title, file name or alias is `name` in any case."""
        named_paths = set(self._queries.notes_named(fold_name(name)))
        return (
            tuple(number for number, path in enumerate(self.table.paths) if path in named_paths) if named_paths else ()
        )

    def name_terms(self, positions: Sequence[int]) -> list[NameTerms]:
        """Return the names of notes besides their titles, and those that their links give others.

        Notes are given by their positions in `table.paths`.
        """
        numbers = self.table.numbers[np.array(positions, np.int64)].tolist()
        by_number = self._queries.name_terms(numbers)
        return [by_number.get(number, NO_NAMES) for number in numbers]
