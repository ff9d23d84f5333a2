"""Protocol of the queries for notes and their rows, which an index and each store implement."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from msgspec import Struct

from excerpt.base.model import CommentLine, Fragment, FragmentInfo, Section
from excerpt.corpus.names import NameTerms

TARGET_SEPARATOR = "\x1f"
"""Separator of the link targets of a note, which are read as one string: a tenth of the rows must be transferred."""
LABEL_SEPARATOR = "\x1e"
"""Separator of a wikilink's target and its label, if the label has no blank, and so may be a target in Dendron."""

REPLACED_BY = "replaced_by"
REPLACES = "replaces"
"""The kinds of a label whose name is the words of a `text.replacements.Replacement`, and whose value is its target and
its day, separated by LABEL_SEPARATOR."""


class NoteRow(Struct, frozen=True):
    """The database row of a note: its id (`number`), and its data when the file was indexed.

    `kind` is "" for a note and for example "pdf" for an attachment.
    """

    number: int
    title: str
    language: str
    size: int
    mtime_ns: int
    tokens: int
    kind: str


class FacetQueries(Protocol):
    """Queries for the data by which notes are filtered, and for the texts of fragments, in one state of a vault.

    A parameter `notes`, and a note in a result, is the note's row id in the database. Results are in no particular
    order unless the method names one.
    """

    def find_texts_ignoring_case(self, parts: Sequence[str], keys: Sequence[int] | None) -> list[tuple[int, str]]:
        """Return (key, text) of the fragments whose text contains every string of `parts`, ignoring ASCII case.

        Only fragments with one of `keys` are searched; None searches all.
        """
        ...

    def find_texts_with(self, part: str, keys: Sequence[int] | None) -> list[tuple[int, str]]:
        """Return (key, text) of the fragments whose text contains the string `part`, case included.

        Only fragments with one of `keys` are searched; None searches all.
        """
        ...

    def modified(self) -> list[tuple[int, int]]:
        """Return (note, modification time in ns since 1970) of every note."""
        ...

    def kinds(self) -> list[tuple[int, str]]:
        """Return (note, kind) of every note; the kind is "" for a note and for example "pdf" for an attachment."""
        ...

    def fragment_places(self) -> list[tuple[int, str]]:
        """Return (fragment key, location such as "Page 3") of every fragment that has a location."""
        ...

    def year_headings(self, notes: Sequence[int] | None = None) -> list[tuple[int, str, int, int]]:
        """Return (note, heading, first line, last line) of the sections whose heading may have a year, in order.

        They are those of `notes`; None means all notes.
        """
        ...

    def names(self, folded: Collection[str] | None = None) -> list[tuple[str, int]]:
        """Return (name as of `fold_name`, note) for every title, file name and alias.

        With `folded`, only the names of which `fold` makes one of these are returned.
        """
        ...

    def link_targets(self, notes: Sequence[int] | None = None) -> list[tuple[int, str]]:
        """Return (note, its link targets joined by TARGET_SEPARATOR) of the `notes`; None means all notes.

        A target may have a label after LABEL_SEPARATOR.
        """
        ...

    def links(self, notes: Sequence[int]) -> list[tuple[int, int, str, str | None]]:
        """Return (note, line, target, shown text) of the links in some notes, ordered by note and position."""
        ...

    def labels(self, notes: Sequence[int]) -> list[tuple[int, str, str, str]]:
        """Return (note, kind, name, value) of the labels of some notes.

        The kind is "alias", "tag", "property", REPLACED_BY or REPLACES. The result is ordered by note and position in
        the note; an alias and a tag have the name "".
        """
        ...

    def tags(self) -> list[tuple[str, int]]:
        """Return (tag, note) for every tag of every note."""
        ...

    def properties(self) -> list[tuple[str, str, int]]:
        """Return (name, value, note) for every property value of every note."""
        ...

    def property_names(self) -> list[str]:
        """Return the name of every property in the vault, each spelling once."""
        ...

    def property_values(self, name: str) -> list[tuple[str, int]]:
        """Return (value, note) for every value of the property spelled exactly `name`."""
        ...

    def property_counts(self) -> list[tuple[str, int]]:
        """Return (property name, number of notes that have the property), for each spelling of a name."""
        ...

    def replacements(self) -> list[tuple[str, str, str, int]]:
        """Return (kind, words, target and day, note) of the labels REPLACED_BY and REPLACES, in order of the notes."""
        ...

    def titles(self) -> list[tuple[str, int]]:
        """Return (name, note) for every title and alias."""
        ...

    def heading_counts(self) -> list[tuple[str, int]]:
        """Return (heading text, number of sections that have it)."""
        ...


class NoteQueries(FacetQueries, Protocol):
    """Queries for the notes of one state of a vault."""

    def fragments(self, keys: Sequence[int]) -> list[Fragment]:
        """Return the fragments with these keys, in no particular order; unknown keys are left out."""
        ...

    def fragments_with_id(self, fragment_id: str) -> list[Fragment]:
        """Return the fragments with this id, ordered by key."""
        ...

    def keys_of_texts(self, digests: Collection[str]) -> dict[str, int]:
        """Return, by digest, the lowest key of a fragment whose text has that digest. Reads every row."""
        ...

    def note_fragments(self, path: str, first: int, last: int | None) -> list[Fragment]:
        """Return the fragments number `first` to `last` (included; None: to the end) of a note, in order."""
        ...

    def fragment_infos(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[FragmentInfo]]:
        """Return the fragments in each range, without their texts, one list for each range.

        A range is (path of the note, number of its first fragment, number of its last; None: to the end).
        """
        ...

    def sections(self, path: str) -> list[Section]:
        """Return the sections of a note in order, each without the blocks (paragraphs, lists) of its text."""
        ...

    def notes(self, paths: Sequence[str]) -> dict[str, NoteRow]:
        """Return the rows of the notes at `paths`, by path; unknown notes are left out."""
        ...

    def note_text(self, path: str) -> str | None:
        """Return the text of the note at `path`, None for an unknown note."""
        ...

    def comments(self, path: str) -> list[CommentLine]:
        """Return the lines of comments that are left out of the text of the note at `path`, in order."""
        ...

    def note_paths(self) -> list[str]:
        """Return the paths of all notes, sorted."""
        ...

    def notes_named(self, folded_name: str) -> list[str]:
        """Return the paths of the notes with this title, file name or alias, given as `fold_name` returns it."""
        ...

    def name_terms(self, notes: Sequence[int]) -> dict[int, NameTerms]:
        """Return the tokenized names of some notes, by row id."""
        ...

    def current_path(self, path: str) -> str | None:
        """Return the present path of a renamed note that once was at `path`.

        Returns None if no rename is known, or if another note is at `path` now.
        """
        ...
