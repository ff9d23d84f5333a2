"""How close a query's words are in a fragment, and which fragments have a quoted phrase."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from excerpt.corpus.interface import Corpus, TermReader
from excerpt.search.lexical import FIELDS, NO_ROWS, NUMBERED, Rows
from excerpt.text.words import QueryWord, fold

# --- proximity --------------------------------------------------------------------------------------------------------
# How close a query's words stand to each other in a fragment, in its text, headings or names.
#
# What counts is the nearness of words that are neighbours in the query, in its order: the ordered pairs of the
# sequential dependence model (Metzler and Croft, 2005), by distance as in Tao and Zhai (2007). The smallest stretch
# that holds all words was measured too and added nothing to it (docs/design/quality.md).
#
# All candidates are worked out at once: the places of a word, in all of them, are one sorted array of numbers.

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Distances = npt.NDArray[np.float64]

FAR = 1 << 20
"""Farther than two places in one fragment can be: candidates are this far apart on one number line."""

_NOWHERE = np.zeros(0, np.int64)

PLACES: Mapping[str, int] = {"title": 0, "alias": 1 << 12, "above": 2 << 12, "heading": 3 << 12, "text": 4 << 12}
"""Fields in which closeness counts, and where each begins: far enough apart that nothing is close across two."""


def line_of(reader: TermReader, fields: Mapping[str, int], terms: Sequence[str], rows: Rows) -> Ints:
    """Return the positions of `terms` in the ascending `rows` on one number line, ascending.

    A value is the number of the row in `rows` times FAR plus the position; `fields` are the first positions of the
    fields.
    """
    begins = np.array([fields.get(field, -1) for field in NUMBERED], np.int64)
    found = [_NOWHERE]
    for term in terms:
        places = reader.occurrences(term, rows)
        if not len(places.row_indices):
            continue
        begin = begins[places.fields]
        # A place so far into one endless line that it would reach into the next candidate counts as its end.
        line = places.row_indices * FAR + np.minimum(places.positions + begin, FAR - 1)
        found.append(line if len(fields) == len(NUMBERED) else line[begin >= 0])
    # One term's places in one field ascend, and mostly there is only one of each.
    return np.sort(np.concatenate(found), kind="stable")


def closeness(lines: Sequence[Ints], rarity: Sequence[float], query: Sequence[int], count: int) -> Floats:
    """Return how close the words at `lines` (see `line_of`) are in each of `count` candidates, 0 to 1.

    It is the mean over neighbouring query words of 1 / (1 + the difference between their distance here and in the
    query), half of that in the wrong order; each pair is weighted by its less rare word (`rarity`). `query` is each
    word's position in the query.
    """
    total, weights = np.zeros(count), 0.0
    for left in range(len(lines) - 1):
        right = left + 1
        apart = query[right] - query[left]
        weight = min(rarity[left], rarity[right])
        weights += weight
        if not len(lines[left]) or not len(lines[right]):
            continue
        near = np.zeros(count)
        ahead, behind = _distances(lines[left], lines[right])
        at = lines[left] // FAR
        np.maximum.at(near, at, 1.0 / (1.0 + np.abs(ahead - apart)))
        np.maximum.at(near, at, 0.5 / np.maximum(behind, 1))
        total += weight * near
    return (total / max(weights, 1e-9)).astype(np.float32)


def _distances(left: Ints, right: Ints) -> tuple[Distances, Distances]:
    """Return the distance from each position of `left` to the next and to the previous one of `right`.

    Both are in the same candidate; infinite if there is none.
    """
    after = np.searchsorted(right, left, side="right")
    next_one = right[np.minimum(after, len(right) - 1)]
    one_before = right[np.maximum(after - 1, 0)]
    ahead = np.where((next_one > left) & (next_one // FAR == left // FAR), next_one - left, np.inf)
    behind = np.where((after > 0) & (one_before // FAR == left // FAR), left - one_before, np.inf)
    return ahead, behind


# --- phrases ----------------------------------------------------------------------------------------------------------
# A quoted phrase -> the rows that have it: by its words as they are indexed, and where that tells, as it stands.
#
# Forms of a word are that word: "settling conflicts" finds "settled conflict", unless somewhere it stands literally;
# then only those fragments do. What no fragment has by whole words (half a word, signs alone) is looked for in the
# texts, so that whatever is copied from a note and quoted is found.

Asked = Callable[[str], Sequence[QueryWord]]
"""What a text asks for, in the languages of the vault."""

MAX_READ = 500
"""Fragments whose texts are searched for a literal phrase (about 10 ms).

If more fragments have its words, literal or not makes no visible difference.
"""

_FOUND_LITERALLY = ("text", "heading", "above", "title")
# Marks of Markdown, and what joins the parts of a word: "new-line" is also "newline", as it is indexed.
_MARKUP = re.compile(r"[*_`~#|>\[\]\\\-‐‑]")


_KEPT_PHRASES = 64
_kept: WeakKeyDictionary[Corpus, dict[str, Rows]] = WeakKeyDictionary()


def rows_of(snapshot: Corpus, phrase: str, asked: Asked) -> Rows:
    """Return the rows, ascending, that have `phrase`; `asked` parses it in the languages of the vault.

    The last phrases are cached with the snapshot, because a query continues letter by letter after one.
    """
    known = _kept.setdefault(snapshot, {})
    if phrase not in known:
        if len(known) >= _KEPT_PHRASES:
            known.clear()
        known[phrase] = _rows_of(snapshot, phrase, asked)
    return known[phrase]


def _rows_of(snapshot: Corpus, phrase: str, asked: Asked) -> Rows:
    words = asked(phrase)
    rows = rows_with(snapshot.lexical, words) if words else NO_ROWS
    if not len(rows):
        return _literal_rows(snapshot, phrase)
    return _literal_of(snapshot, phrase, words, rows) if len(rows) <= MAX_READ else rows


def rows_with(reader: TermReader, asked: Sequence[QueryWord], fields: Sequence[str] = tuple(FIELDS)) -> Rows:
    """Rows, ascending, in which a field has the words of one phrase in order and without a gap."""
    words = [word for word in asked if not word.whole] or list(asked)
    return np.unique(np.concatenate([_in_field(reader, field, words) for field in fields]))


def _in_field(reader: TermReader, field: str, words: Sequence[QueryWord]) -> Rows:
    having = [[reader.postings(field, term).rows for term in word.terms] for word in words]
    # From the rarest word on, so that of a common one nothing is looked at but what the others have too.
    rarest, *others = sorted(having, key=lambda of_terms: sum(map(len, of_terms)))
    rows = np.unique(np.concatenate(rarest))
    for of_terms in others:
        rows = rows[np.logical_or.reduce([_among(rows, found) for found in of_terms])]
    if not len(rows) or len(words) == 1:
        return rows
    first = words[0].position
    starts = (line_of(reader, {field: 0}, word.terms, rows) - (word.position - first) for word in words)
    return rows[np.unique(reduce(np.intersect1d, starts) // FAR)]


def _among(rows: Rows, others: Rows) -> npt.NDArray[np.bool_]:
    """Which of `rows` are among others, both ascending."""
    if not len(others):
        return np.zeros(len(rows), np.bool_)
    found: npt.NDArray[np.bool_] = others[np.minimum(np.searchsorted(others, rows), len(others) - 1)] == rows
    return found


# --- as it stands -----------------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """`text` as it is compared: without case, accents, marks of Markdown and runs of white space."""
    return " ".join(_MARKUP.sub("", fold(text)).split())


def _literal_of(snapshot: Corpus, phrase: str, words: Sequence[QueryWord], rows: Rows) -> Rows:
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
_MAX_SURE = 3


def _literal_rows(snapshot: Corpus, phrase: str) -> Rows:
    """Return the rows, ascending, whose text has the phrase literally, even as half words or signs."""
    wanted = plain(phrase)
    # Parts that every text with the phrase has too, whatever is folded; the longest say the most.
    sure = sorted(set(_SURE.findall(phrase)), key=lambda run: (-len(run), run))[:_MAX_SURE]
    keys = snapshot.table.keys
    among = keys.tolist() if not snapshot.is_complete else None
    if sure:
        texts = snapshot.facets.texts_like(sure, among)
        found = [key for key, text in texts if phrase in text or (wanted and wanted in plain(text))]
    else:
        found = [key for key, text in snapshot.facets.texts_with(phrase, among) if phrase in text]
    return np.flatnonzero(np.isin(keys, np.array(found, np.int64))).astype(np.int32)
