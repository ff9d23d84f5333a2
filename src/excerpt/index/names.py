"""Tokenized names of notes (aliases, file names, link texts), stored so that a search need not tokenize them.

`corpus.names` documents the format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from excerpt.corpus.links import target_file_name, target_in_label
from excerpt.corpus.names import DIGEST_DTYPE, LENGTH_DTYPE, NameTerms, digest_texts
from excerpt.index.catalog import SET_NAME_TERMS_CHECKSUMS
from excerpt.index.catalog_rows import MAX_SQL_VALUES, ReadRows
from excerpt.text.folding import UNACCENTED_MARK
from excerpt.text.words import terms_of

Row = Sequence[Any]

NAMES_VERSION = 2
"""Version of the stored names; a change makes the next build tokenize the names of all notes again."""


def tokenize_names(
    path: str, title: str, language: str, *, labels: Iterable[Row], sections: Iterable[Row], links: Iterable[Row]
) -> NameTerms:
    """Return the tokenized names in a note, given the rows of its labels, sections and links in the catalog.

    The names are the note's aliases; the file name and the first heading of level 1 if they differ from the title; and
    the texts of its links, each once per target. A link's text may be its target, as in Dendron's `[[label|target]]`.
    """
    own = [value for kind, _, value in labels if kind == "alias"]
    others = dict.fromkeys((PurePosixPath(path).stem, first_heading(sections)))
    own += [name for name in others if name not in ("", title)]
    own_terms = [terms for name in own for terms in _list_spelling_terms(name, language)]
    shown = dict.fromkeys((row[2], row[5]) for row in links if row[2] and row[5])
    shown |= dict.fromkeys(
        (other, target) for target, text in shown if "." in text and (other := target_in_label(text))
    )
    link_terms = [(target, terms) for target, text in shown for terms in _list_spelling_terms(text, language)]
    names = [*own_terms, *(terms for _, terms in link_terms)]
    return NameTerms(
        len(own_terms),
        np.array([len(terms) for terms in names], LENGTH_DTYPE).tobytes(),
        digest_texts(term for terms in names for term in terms).astype(DIGEST_DTYPE).tobytes(),
        digest_texts(map(target_file_name, (path, *(target for target, _ in link_terms))))
        .astype(DIGEST_DTYPE)
        .tobytes(),
        json.dumps([target for target, _ in link_terms]),
    )


def _list_spelling_terms(name: str, language: str) -> list[list[str]]:
    """Return the terms of a name and, if they differ, the terms of the name without accents; [] if it has no terms."""
    terms = terms_of(name, language)[0]
    own = [term for term in terms if not term.endswith(UNACCENTED_MARK)]
    if len(own) == len(terms):
        return [own] if own else []
    # The term without accents follows the one whose place it takes.
    plain: list[str] = []
    for term in terms:
        if term.endswith(UNACCENTED_MARK):
            plain.pop()
        plain.append(term)
    return [own, plain]


def first_heading(sections: Iterable[Row]) -> str:
    """Return the first heading of level 1 among the section rows of a note, "" if there is none.

    Sections that stand for a location in an attachment ("Page 1") are ignored.
    """
    return next((row[2] for row in sections if row[1] == 1 and not row[-1]), "")


def read_names(rows: ReadRows, numbers: Sequence[int]) -> dict[int, NameTerms]:
    """Return the stored tokenized names of some notes, by the notes' row ids; `rows` queries the catalog."""
    names_by_note: dict[int, NameTerms] = {}
    for at in range(0, len(numbers), MAX_SQL_VALUES):
        part = numbers[at : at + MAX_SQL_VALUES]
        marks = ",".join("?" * len(part))
        sql = f"SELECT note, own, lengths, terms, files, targets FROM name_terms WHERE note IN ({marks})"
        names_by_note.update((row[0], NameTerms(*row[1:])) for row in rows(sql, *part))
    return names_by_note


def rebuild_names(rows: ReadRows, numbers: Sequence[int]) -> dict[int, NameTerms]:
    """Return the tokenized names of some notes, computed again from their other rows, by the notes' row ids."""
    return {number: _rebuild_note(rows, number) for number in numbers}


def _rebuild_note(rows: ReadRows, number: int) -> NameTerms:
    ((path, title, language),) = rows("SELECT path, title, language FROM notes WHERE id = ?", number)
    return tokenize_names(
        *(path, title, language),
        labels=rows("SELECT kind, name, value FROM labels WHERE note = ? ORDER BY rowid", number),
        sections=rows("SELECT ordinal, level, heading, place FROM sections WHERE note = ? ORDER BY ordinal", number),
        links=rows(
            "SELECT line, kind, target, heading, block_id, text FROM links WHERE note = ? ORDER BY rowid", number
        ),
    )


def rebuild_all_names(rows: ReadRows) -> None:
    """Tokenize and store the names of all notes again; `rows` runs SQL on the catalog."""
    rows("DELETE FROM name_terms")
    for (number,) in rows("SELECT id FROM notes"):
        rows("INSERT INTO name_terms VALUES (?, ?, ?, ?, ?, ?)", number, *_rebuild_note(rows, number))
    rows(SET_NAME_TERMS_CHECKSUMS)
