"""Which words a fragment is found by: its own, and those of its note, in one field each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from excerpt.index.postings import Inverted, invert
from excerpt.text.words import terms_of

FIELDS = ("above", "alias", "heading", "properties", "tags", "text", "title")
"""`heading` is that of the fragment's section, `above` those over it; `alias` takes in the file's name where the title
differs from it; `properties` are the other frontmatter values and the names of the folders, on the first fragment of
a note only."""

FIELDS_VERSION = 2
"""Raised whenever a field is made of something else: an index made under another version is rebuilt."""

# Between two aliases, headings or values: farther apart than any phrase or cluster reaches.
_GAP = 50
_NOTHING: tuple[list[str], list[int]] = ([], [])

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
        self._documents: dict[str, list[tuple[list[str], list[int]]]] = {field: [] for field in FIELDS}

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
            "title": terms_of(title, language),
            "alias": _spaced(names, language),
            "tags": _spaced(tags, language),
            "properties": _spaced([*values, *place.parts[:-1]], language),
        }
        headings: dict[tuple[str, ...], tuple[list[str], list[int]]] = {(): _NOTHING}
        for heading_path, text in fragments:
            above, own = tuple(heading_path[:-1]), tuple(heading_path[-1:])
            for part in (above, own):
                if part not in headings:
                    headings[part] = _spaced(part, language)
            self._documents["text"].append(terms_of(text, language))
            self._documents["above"].append(headings[above])
            self._documents["heading"].append(headings[own])
            for field, found in of_note.items():
                self._documents[field].append(found)
            of_note["properties"] = _NOTHING

    def inverted(self) -> dict[str, Inverted]:
        return {field: invert(documents) for field, documents in self._documents.items()}


def _spaced(parts: Sequence[str], language: str) -> tuple[list[str], list[int]]:
    """The terms of several texts, each `_GAP` positions behind the one before."""
    terms: list[str] = []
    positions: list[int] = []
    for part in parts:
        found, places = terms_of(part, language)
        base = positions[-1] + _GAP if positions else 0
        terms += found
        positions += [base + place for place in places]
    return terms, positions
