"""The row queries over notes that each kind of corpus writes in its own SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from excerpt.corpus.names import NameTerms
from excerpt.model import Fragment, FragmentInfo, Section

TARGET_SEPARATOR = "\x1f"
"""Between the targets of a note's links, which are read as one string: a tenth of the rows to carry over."""


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note's row: its number, and facts of the file when it was read."""

    number: int
    title: str
    language: str
    size: int
    mtime_ns: int
    tokens: int
    kind: str


class NoteQueries(Protocol):
    """Queries over the notes of one state of a vault.

    A note is identified by its path or by its number in the rows, and `notes` are such numbers. Rows come in no order
    unless one is named.
    """

    # --- notes and fragments ------------------------------------------------------------------------------------------

    def fragments(self, keys: Sequence[int]) -> list[Fragment]:
        """Return the fragments with these keys that there are."""
        ...

    def fragments_with_id(self, fragment_id: str) -> list[Fragment]:
        """Return the fragments with this id, by key."""
        ...

    def note_fragments(self, path: str, first: int, last: int | None) -> list[Fragment]:
        """Return a note's fragments of the ordinals `first` to `last` (inclusive; None: to the end), in order."""
        ...

    def parts(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[FragmentInfo]]:
        """Return the fragments of each note between two ordinals, without their texts."""
        ...

    def sections(self, path: str) -> list[Section]:
        """Return a note's sections in order, without their blocks."""
        ...

    def note(self, path: str) -> NoteRow | None:
        """Return a note's row, None for an unknown note."""
        ...

    def note_text(self, path: str) -> str | None:
        """Return a note's text, None for an unknown note."""
        ...

    def note_paths(self) -> list[str]:
        """Return every note's path, sorted."""
        ...

    def notes_named(self, folded_name: str) -> list[str]:
        """Return the paths of the notes with this name, as `fold_name` folds it."""
        ...

    def name_terms(self, notes: Sequence[int]) -> dict[int, NameTerms]:
        """Return the names of some notes by number."""
        ...

    def current_path(self, path: str) -> str | None:
        """Return today's path of the note that once had this one; None where a note has it again."""
        ...

    def texts_like(self, parts: Sequence[str], keys: Sequence[int] | None) -> list[tuple[int, str]]:
        """Return key and text of the fragments, all or among `keys`, that have all of `parts`, ignoring ASCII case."""
        ...

    def texts_with(self, part: str, keys: Sequence[int] | None) -> list[tuple[int, str]]:
        """Return key and text of the fragments, all or among `keys`, that have `part` exactly."""
        ...

    # --- facets -------------------------------------------------------------------------------------------------------

    def modified(self, notes: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """Return number and time of change (ns since 1970) of all notes, or of some."""
        ...

    def kinds(self) -> list[tuple[int, str]]:
        """Return number and kind of every note; "" is no attachment."""
        ...

    def fragment_places(self) -> list[tuple[int, str]]:
        """Return key and place of every fragment that has one."""
        ...

    def names(self) -> list[tuple[str, int]]:
        """Return every name with its note."""
        ...

    def link_targets(self, notes: Sequence[int] | None = None) -> list[tuple[int, str]]:
        """Return the targets of each note's links, joined by TARGET_SEPARATOR, of all notes or of some."""
        ...

    def links(self, notes: Sequence[int]) -> list[tuple[int, int, str, str | None]]:
        """Return note, line, target and text of the links of some notes, by note and place."""
        ...

    def labels(self, notes: Sequence[int]) -> list[tuple[int, str, str, str]]:
        """Return note, kind ("tag" or "property"), name and value of the labels of some notes, by note and place."""
        ...

    def aliases_and_tags(self, note: int) -> list[tuple[str, str]]:
        """Return kind and value of a note's labels, in order."""
        ...

    def tags(self) -> list[tuple[str, int]]:
        """Return every tag with its note."""
        ...

    def properties(self) -> list[tuple[str, str, int]]:
        """Return name, value and note of every property."""
        ...

    def property_names(self) -> list[str]:
        """Return each property's name once."""
        ...

    def property_values(self, name: str) -> list[tuple[str, int]]:
        """Return each value of the properties spelled `name`, with its note."""
        ...

    def property_counts(self) -> list[tuple[str, int]]:
        """Return each property's name, and how many notes have it."""
        ...

    def titles(self) -> list[tuple[str, int]]:
        """Return every title and alias with its note."""
        ...

    def heading_counts(self) -> list[tuple[str, int]]:
        """Return every heading, and how many sections have it."""
        ...
