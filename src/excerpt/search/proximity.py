"""How close a query's words are in a fragment, and which fragments have a quoted phrase."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from excerpt.corpus.interface import Corpus, TermReader
from excerpt.search.bm25 import FIELDS, NO_ROWS, NUMBERED, Rows
from excerpt.text.words import QueryWord, fold

# --- proximity --------------------------------------------------------------------------------------------------------
# How close a query's words are in a fragment, in its text, headings or names.
#
# The measure is the proximity of words that are neighbours in the query, in its order: the ordered pairs of the
# sequential dependence model (Metzler and Croft, 2005), by distance as in Tao and Zhai (2007). The smallest span that
# has all words was measured too and did not improve it (docs/design/quality.md).
#
# All candidates are computed at once: the positions of a word, in all of them, are one sorted array of numbers.

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Distances = npt.NDArray[np.float64]

ROW_STRIDE = 1 << 20
"""Distance of two candidates on the number line, larger than any distance within one fragment."""

_NOWHERE = np.zeros(0, np.int64)

FIELD_STARTS: Mapping[str, int] = {"title": 0, "alias": 1 << 12, "above": 2 << 12, "heading": 3 << 12, "text": 4 << 12}
"""Fields in which proximity counts, with offsets so large that no two words in different fields are near."""


def flatten_positions(reader: TermReader, fields: Mapping[str, int], terms: Sequence[str], rows: Rows) -> Ints:
    """Return the positions of `terms` in the ascending `rows` on one number line, ascending.

    A value is the index of the row in `rows` times FAR plus the position; `fields` are the offsets of the fields.
    """
    begins = np.array([fields.get(field, -1) for field in NUMBERED], np.int64)
    lines = [_NOWHERE]
    for term in terms:
        occurrences = reader.occurrences(term, rows)
        if not len(occurrences.row_indices):
            continue
        begin = begins[occurrences.fields]
        # A position so far into a very long line that it would reach the next candidate counts as its end.
        line = occurrences.row_indices * ROW_STRIDE + np.minimum(occurrences.positions + begin, ROW_STRIDE - 1)
        lines.append(line if len(fields) == len(NUMBERED) else line[begin >= 0])
    # The positions of one term in one field ascend, and mostly there is only one of each.
    return np.sort(np.concatenate(lines), kind="stable")


def closeness(lines: Sequence[Ints], rarity: Sequence[float], query: Sequence[int], count: int) -> Floats:
    """Return how close the words at `lines` (see `flatten_positions`) are in each of `count` candidates, 0 to 1.

    It is the mean over neighbouring query words of 1 / (1 + the difference between their distance here and in the
    query), half of that in the wrong order; each pair is weighted by its less rare word (`rarity`). `query` is each
    word's position in the query.
    """
    total, weights = np.zeros(count), 0.0
    for left in range(len(lines) - 1):
        right = left + 1
        query_distance = query[right] - query[left]
        weight = min(rarity[left], rarity[right])
        weights += weight
        if not len(lines[left]) or not len(lines[right]):
            continue
        scores = np.zeros(count)
        forward, backward = _distances(lines[left], lines[right])
        at = lines[left] // ROW_STRIDE
        np.maximum.at(scores, at, 1.0 / (1.0 + np.abs(forward - query_distance)))
        np.maximum.at(scores, at, 0.5 / np.maximum(backward, 1))
        total += weight * scores
    return (total / max(weights, 1e-9)).astype(np.float32)


def _distances(left: Ints, right: Ints) -> tuple[Distances, Distances]:
    """Return the distance from each position of `left` to the next and to the previous one of `right`.

    Both are in the same candidate; infinite if there is none.
    """
    after = np.searchsorted(right, left, side="right")
    following = right[np.minimum(after, len(right) - 1)]
    preceding = right[np.maximum(after - 1, 0)]
    forward = np.where((following > left) & (following // ROW_STRIDE == left // ROW_STRIDE), following - left, np.inf)
    backward = np.where((after > 0) & (preceding // ROW_STRIDE == left // ROW_STRIDE), left - preceding, np.inf)
    return forward, backward


# --- phrases ----------------------------------------------------------------------------------------------------------
# The rows that have a quoted phrase: by its words as indexed, or literally.
#
# Inflected words match: "settling conflicts" finds "settled conflict", unless some fragments have the phrase literally;
# then only those match. A phrase that no fragment has as whole words (a part of a word, symbols alone) is searched in
# the texts, so that any text copied from a note and quoted is found.

ParseWords = Callable[[str], Sequence[QueryWord]]
"""A function that analyzes a text in the languages of the vault."""

MAX_READ = 500
"""Number of fragments whose texts are searched for a literal phrase (about 10 ms).

If more fragments have its words, a literal search makes no visible difference.
"""

_LITERAL_FIELDS = ("text", "heading", "above", "title")
# Markdown markup, and characters that join the parts of a word: "new-line" is also "newline", as indexed.
_MARKUP = re.compile(r"[*_`~#|>\[\]\\\-‐‑]")


_MAX_CACHED_PHRASES = 64
_phrase_cache: WeakKeyDictionary[Corpus, dict[str, Rows]] = WeakKeyDictionary()


def phrase_rows(snapshot: Corpus, phrase: str, parse_words: ParseWords) -> Rows:
    """Return the rows, ascending, that have `phrase`; `parse_words` analyzes it in the languages of the vault.

    The last phrases are cached with the snapshot, because a query continues letter by letter after one.
    """
    known = _phrase_cache.setdefault(snapshot, {})
    if phrase not in known:
        if len(known) >= _MAX_CACHED_PHRASES:
            known.clear()
        known[phrase] = _find_phrase_rows(snapshot, phrase, parse_words)
    return known[phrase]


def _find_phrase_rows(snapshot: Corpus, phrase: str, parse_words: ParseWords) -> Rows:
    words = parse_words(phrase)
    rows = rows_with_words(snapshot.lexical, words) if words else NO_ROWS
    if not len(rows):
        return _literal_rows(snapshot, phrase)
    return _filter_literal(snapshot, phrase, words, rows) if len(rows) <= MAX_READ else rows


def rows_with_words(
    reader: TermReader, query_words: Sequence[QueryWord], fields: Sequence[str] = tuple(FIELDS)
) -> Rows:
    """Return the rows, ascending, in which a field has the words of one phrase in order and without a gap."""
    words = [word for word in query_words if not word.is_compound] or list(query_words)
    return np.unique(np.concatenate([_in_field(reader, field, words) for field in fields]))


def _in_field(reader: TermReader, field: str, words: Sequence[QueryWord]) -> Rows:
    term_rows = [[reader.postings(field, term).rows for term in word.terms] for word in words]
    # Rarest word first, so that of a common one only the rows of the others are read.
    rarest, *others = sorted(term_rows, key=lambda word_rows: sum(map(len, word_rows)))
    rows = np.unique(np.concatenate(rarest))
    for word_rows in others:
        rows = rows[np.logical_or.reduce([_is_in(rows, rows_of_term) for rows_of_term in word_rows])]
    if not len(rows) or len(words) == 1:
        return rows
    first = words[0].position
    starts = (flatten_positions(reader, {field: 0}, word.terms, rows) - (word.position - first) for word in words)
    return rows[np.unique(reduce(np.intersect1d, starts) // ROW_STRIDE)]


def _is_in(rows: Rows, others: Rows) -> npt.NDArray[np.bool_]:
    """Return flags of those of `rows` that are in `others`; both are ascending."""
    if not len(others):
        return np.zeros(len(rows), np.bool_)
    is_in: npt.NDArray[np.bool_] = others[np.minimum(np.searchsorted(others, rows), len(others) - 1)] == rows
    return is_in


# --- as it stands -----------------------------------------------------------------------------------------------------


def normalize(text: str) -> str:
    """Return `text` for comparison: without case, accents, Markdown markup and repeated white space."""
    return " ".join(_MARKUP.sub("", fold(text)).split())


def _filter_literal(snapshot: Corpus, phrase: str, words: Sequence[QueryWord], rows: Rows) -> Rows:
    """Return those of `rows` that have the phrase literally, or in a name or property; all if none has it literally."""
    plain_phrase = normalize(phrase)
    keys = snapshot.table.keys[rows].tolist()
    literal = np.array(
        [
            any(plain_phrase in normalize(part) for part in (fragment.text, fragment.title, *fragment.heading_path))
            for fragment in snapshot.fragments(keys)
        ],
        np.bool_,
    )
    if not literal.any():
        return rows
    named = rows_with_words(snapshot.lexical, words, [field for field in FIELDS if field not in _LITERAL_FIELDS])
    return rows[literal | np.isin(rows, named)]


_ASCII_RUN = re.compile(r"[A-Za-z0-9]+")
_MAX_RUNS = 3


def _literal_rows(snapshot: Corpus, phrase: str) -> Rows:
    """Return the rows, ascending, whose text has the phrase literally, even as parts of words or symbols."""
    plain_phrase = normalize(phrase)
    # Parts that every text with the phrase contains as well, despite folding; the longest are the rarest.
    runs = sorted(set(_ASCII_RUN.findall(phrase)), key=lambda run: (-len(run), run))[:_MAX_RUNS]
    keys = snapshot.table.keys
    allowed_keys = keys.tolist() if not snapshot.is_complete else None
    if runs:
        texts = snapshot.facets.texts_like(runs, allowed_keys)
        matching_keys = [
            key for key, text in texts if phrase in text or (plain_phrase and plain_phrase in normalize(text))
        ]
    else:
        matching_keys = [key for key, text in snapshot.facets.texts_with(phrase, allowed_keys) if phrase in text]
    return np.flatnonzero(np.isin(keys, np.array(matching_keys, np.int64))).astype(np.int32)
