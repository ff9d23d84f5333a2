"""Which words a fragment is found by: its own, and those of its note, in one field each."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

import numpy as np

from excerpt.index.postings import Ints, Inverted, invert
from excerpt.text.numbers import Occurrences, term_numbers

FIELDS = ("above", "alias", "heading", "properties", "tags", "text", "title")
"""`heading` is that of the fragment's section, `above` those over it; `alias` takes in the file's name where the title
differs from it; `properties` are the other frontmatter values and the names of the folders, on the first fragment of
a note only."""

FIELDS_VERSION = 2
"""Raised whenever a field is made of something else: an index made under another version is rebuilt."""

# Between two aliases, headings or values: farther apart than any phrase or cluster reaches.
_GAP = 50
_Terms = tuple[Ints, Ints]  # numbers of terms, and their positions
_NOTHING: _Terms = (np.zeros(0, np.int32), np.zeros(0, np.int32))

EMBEDDED_TEXT_VERSION = 2
"""Raised whenever `embedded_text` changes: all vectors are made anew."""


def embedded_text(title: str, heading_path: Sequence[str], text: str) -> str:
    """What a fragment's vector is made of: its note's title and the headings it stands under, and its text.

    With the title, meaning alone finds known items a tenth better than with the headings only (docs/design/quality.md).
    """
    return f"{' › '.join((title, *heading_path))}\n{text}"


def embedded_digest(text: str) -> bytes:
    """What a vector is kept under: the same text, wherever it stands, is embedded once."""
    return hashlib.blake2b(text.encode(), digest_size=12).digest()


class FieldCollector:
    """Gathers the terms of fragments, in order, note by note."""

    def __init__(self) -> None:
        self._numbers = term_numbers()
        self._texts: list[array[int]] = []
        self._of_notes: dict[str, list[_Terms]] = {field: [] for field in FIELDS if field != "text"}

    def add_note(
        self,
        path: str,
        title: str,
        language: str,
        *,
        aliases: Sequence[str],
        tags: Sequence[str],
        properties: Mapping[str, Sequence[str]],
        fragments: Iterable[tuple[Sequence[str], str]],
    ) -> None:
        """Add a note's fragments, given as (heading path, text)."""
        place = PurePosixPath(path)
        names = [*aliases, place.stem] if place.stem != title else aliases
        values = [value for found in properties.values() for value in found]
        of_note = {
            "title": self._spaced((title,), language),
            "alias": self._spaced(names, language),
            "tags": self._spaced(tags, language),
            "properties": self._spaced([*values, *place.parts[:-1]], language),
        }
        headings: dict[tuple[str, ...], _Terms] = {}
        for heading_path, text in fragments:
            above, own = tuple(heading_path[:-1]), tuple(heading_path[-1:])
            for part in (above, own):
                if part not in headings:
                    headings[part] = self._spaced(part, language)
            self._texts.append(self._numbers.codes(text, language))
            self._of_notes["above"].append(headings[above])
            self._of_notes["heading"].append(headings[own])
            for field, found in of_note.items():
                self._of_notes[field].append(found)
            of_note["properties"] = _NOTHING

    def inverted(self) -> dict[str, Inverted]:
        found = {field: _occurrences(documents) for field, documents in self._of_notes.items()}
        found["text"] = self._numbers.occurrences(self._texts)
        return {field: invert(found[field], self._numbers.lexicon.names) for field in FIELDS}

    def _spaced(self, parts: Sequence[str], language: str) -> _Terms:
        """The terms of several texts, each `_GAP` positions behind the one before."""
        known = self._numbers.short.get((language, *parts))
        if known is None:
            known = self._numbers.short[language, *parts] = self._take_apart(parts, language)
        return known

    def _take_apart(self, parts: Sequence[str], language: str) -> _Terms:
        terms: list[int] = []
        positions: list[int] = []
        for part in parts:
            found, places = self._numbers.terms_of(part, language)
            base = positions[-1] + _GAP if positions else 0
            terms += found
            positions += [base + place for place in places]
        return (np.array(terms, np.int32), np.array(positions, np.int32)) if terms else _NOTHING


def _occurrences(documents: Sequence[_Terms]) -> Occurrences:
    return Occurrences(
        terms=np.concatenate([_NOTHING[0], *(terms for terms, _ in documents)]),
        docs=np.repeat(np.arange(len(documents), dtype=np.int32), [len(terms) for terms, _ in documents]),
        positions=np.concatenate([_NOTHING[1], *(positions for _, positions in documents)]),
        doc_count=len(documents),
    )
