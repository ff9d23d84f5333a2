"""A quoted phrase -> the rows that have it: by its words as they are indexed, and where that tells, as it stands.

Forms of a word are that word: "settling conflicts" finds "settled conflict", unless somewhere it stands literally; then
only those fragments do. What no fragment has by whole words (half a word, signs alone) is looked for in the texts, so
that whatever is copied from a note and quoted is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from weakref import WeakKeyDictionary

import numpy as np

from excerpt.index.snapshot import Snapshot
from excerpt.search.lexical import FIELDS, NO_ROWS, Rows
from excerpt.search.proximity import FAR, PositionReader, line_of
from excerpt.text.folding import fold
from excerpt.text.words import QueryWord

Asked = Callable[[str], Sequence[QueryWord]]
"""What a text asks for, in the languages of the vault."""

MOST_READ = 500
"""Fragments whose texts are looked at for how a phrase stands in them (about 10 ms): of a phrase that more have by its
words, literal or not makes no difference that a reader could see."""

_FOUND_LITERALLY = ("text", "heading", "above", "title")
# Marks of Markdown, and what joins the parts of a word: "new-line" is also "newline", as it is indexed.
_MARKUP = re.compile(r"[*_`~#|>\[\]\\\-‐‑]")


_KEPT_PHRASES = 64
_kept: WeakKeyDictionary[Snapshot, dict[str, Rows]] = WeakKeyDictionary()


def rows_of(snapshot: Snapshot, phrase: str, asked: Asked) -> Rows:
    """Rows, ascending, of the fragments that have `phrase`. `asked` reads it in the languages of the vault. Those of
    the last phrases are kept with the snapshot, as a query goes on letter by letter behind one."""
    known = _kept.setdefault(snapshot, {})
    if phrase not in known:
        if len(known) >= _KEPT_PHRASES:
            known.clear()
        known[phrase] = _rows_of(snapshot, phrase, asked)
    return known[phrase]


def _rows_of(snapshot: Snapshot, phrase: str, asked: Asked) -> Rows:
    words = asked(phrase)
    rows = rows_with(snapshot.lexical, words) if words else NO_ROWS
    if not len(rows):
        return _literal_rows(snapshot, phrase)
    return _literal_of(snapshot, phrase, words, rows) if len(rows) <= MOST_READ else rows


def rows_with(reader: PositionReader, asked: Sequence[QueryWord], fields: Sequence[str] = tuple(FIELDS)) -> Rows:
    """Rows, ascending, in which a field has the words of one phrase in order and without a gap."""
    words = [word for word in asked if not word.whole] or list(asked)
    return reduce(np.union1d, (_in_field(reader, field, words) for field in fields)).astype(np.int32)


def _in_field(reader: PositionReader, field: str, words: Sequence[QueryWord]) -> Rows:
    have = [
        reduce(np.union1d, (reader.postings(field, term).rows for term in word.terms)).astype(np.int32)
        for word in words
    ]
    rows = reduce(np.intersect1d, sorted(have, key=len))
    if not len(rows) or len(words) == 1:
        return rows
    first = words[0].position
    starts = (line_of(reader, {field: 0}, word.terms, rows) - (word.position - first) for word in words)
    return rows[np.unique(reduce(np.intersect1d, starts) // FAR)]


# --- as it stands -----------------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """`text` as it is compared: without case, accents, marks of Markdown and runs of white space."""
    return " ".join(_MARKUP.sub("", fold(text)).split())


def _literal_of(snapshot: Snapshot, phrase: str, words: Sequence[QueryWord], rows: Rows) -> Rows:
    """Those of `rows` that have the phrase literally, or in a name or property; if none has it literally, all."""
    wanted = plain(phrase)
    keys = snapshot.table.keys[rows].tolist()
    literal = np.array(
        [
            any(wanted in plain(part) for part in (fragment.text, fragment.title, *fragment.heading_path))
            for fragment in snapshot.fragments(keys)
        ],
        np.bool_,
    )
    if not literal.any():
        return rows
    named = rows_with(snapshot.lexical, words, [field for field in FIELDS if field not in _FOUND_LITERALLY])
    return rows[literal | np.isin(rows, named)]


_SURE = re.compile(r"[A-Za-z0-9]+")
_MOST_SURE = 3


def _literal_rows(snapshot: Snapshot, phrase: str) -> Rows:
    """Rows, ascending, whose text has the phrase as it stands, be it half words or signs."""
    wanted = plain(phrase)
    # Parts that every text with the phrase has too, whatever is folded; the longest say the most.
    sure = sorted(set(_SURE.findall(phrase)), key=lambda run: (-len(run), run))[:_MOST_SURE]
    if sure:
        texts = snapshot.facets.texts_like(sure)
        found = [key for key, text in texts if phrase in text or (wanted and wanted in plain(text))]
    else:
        found = [key for key, text in snapshot.facets.texts_with(phrase) if phrase in text]
    return np.searchsorted(snapshot.table.keys, np.sort(np.array(found, np.int64))).astype(np.int32)
