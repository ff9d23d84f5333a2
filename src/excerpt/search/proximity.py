"""How close to each other a query's words are in a fragment, and which fragments have a quoted phrase.

A row is the position of a fragment in the arrays of a snapshot, which is one state of a vault's index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.interface import Corpus, TermReader
from excerpt.search.bm25 import FIELD_WEIGHTS, FIELDS_BY_NUMBER, NO_ROWS, Rows, merge_rows
from excerpt.text.folding import fold
from excerpt.text.words import QueryWord

# --- proximity --------------------------------------------------------------------------------------------------------
# How close a query's words are in a fragment, in its text, headings or names.
#
# The measure is the proximity of words that are neighbours in the query, in its order: the ordered pairs of the
# sequential dependence model (Metzler and Croft, 2005), by distance as in Tao and Zhai (2007). The smallest span that
# has all words was measured too and did not improve it (docs/design/quality.md).
#
# All candidates are computed at once: the positions of a word in all candidates are one sorted array of numbers.

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Distances = npt.NDArray[np.float64]

ROW_STRIDE = 1 << 20
"""Offset between two candidates in an array of positions; larger than any position within a fragment."""

_NO_POSITIONS = np.zeros(0, np.int64)

FIELD_STARTS: Mapping[str, int] = {"title": 0, "alias": 1 << 12, "above": 2 << 12, "heading": 3 << 12, "text": 4 << 12}
"""Fields in which proximity counts, with the offset of the positions in each field.

The offsets are so large that words in different fields are never near each other.
"""


def flatten_positions(reader: TermReader, fields: Mapping[str, int], terms: Sequence[str], rows: Rows) -> Ints:
    """Return the positions of `terms` in all `rows` (ascending) as one ascending array of numbers.

    A number is the index of the row in `rows` times ROW_STRIDE, plus the offset of the field by `fields`, plus the
    position in the field. Fields that are not in `fields` are left out.
    """
    begins = np.array([fields.get(field, -1) for field in FIELDS_BY_NUMBER], np.int64)
    positions_by_word = [_NO_POSITIONS]
    for term in terms:
        occurrences = reader.occurrences(term, rows)
        if not len(occurrences.row_indices):
            continue
        begin = begins[occurrences.fields]
        # A position in a very long field that would reach the next candidate is moved back to the end of its own.
        line = occurrences.row_indices * ROW_STRIDE + np.minimum(occurrences.positions + begin, ROW_STRIDE - 1)
        positions_by_word.append(line if len(fields) == len(FIELDS_BY_NUMBER) else line[begin >= 0])
    # The positions of one term in one field ascend, and mostly there is only one of each.
    return np.sort(np.concatenate(positions_by_word), kind="stable")


def score_closeness(
    positions_by_word: Iterable[Ints], rarity: Sequence[float], query_positions: Sequence[int], candidate_count: int
) -> Floats:
    """Return how close to each other the query words are in each of `candidate_count` candidates, 0 to 1.

    `positions_by_word` has the positions of each query word (see `flatten_positions`), `rarity` the idf of each word,
    and `query_positions` the position of each word in the query. The positions of two words at a time are held.

    The result is the mean over neighbouring query words of 1 / (1 + the difference between their distance here and in
    the query), half of that in the wrong order; each pair is weighted by its less rare word (`rarity`).
    `query_positions` is each word's position in the query.
    """
    total, weights = np.zeros(candidate_count), 0.0
    for number, (left, right) in enumerate(pairwise(positions_by_word)):
        query_distance = query_positions[number + 1] - query_positions[number]
        weight = min(rarity[number], rarity[number + 1])
        weights += weight
        if not len(left) or not len(right):
            continue
        scores = np.zeros(candidate_count)
        forward, backward = _distances_between(left, right)
        at = left // ROW_STRIDE
        np.maximum.at(scores, at, 1.0 / (1.0 + np.abs(forward - query_distance)))
        np.maximum.at(scores, at, 0.5 / np.maximum(backward, 1))
        total += weight * scores
    return (total / max(weights, 1e-9)).astype(np.float32)


def _distances_between(left: Ints, right: Ints) -> tuple[Distances, Distances]:
    """Return the distances of each position in `left` to the next and the previous one in `right`.

    Only positions in the same candidate count; the distance is infinite if there is none.
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

_SEQUENCE_STARTS: Mapping[str, int] = {
    field: number << 17 for number, field in enumerate(sorted(FIELDS_BY_NUMBER, key=lambda field: field == "text"))
}
"""The offset of the positions in each field, so large that no phrase runs from one field into the next."""

AnalyzeWords = Callable[[str], Sequence[QueryWord]]
"""A function that splits a text into words with their stems in the languages of the vault."""

MAX_LITERAL_FRAGMENTS = 500
"""Maximum number of fragments whose texts are searched for a literal phrase (about 10 ms).

If more fragments have the words of the phrase, a literal search makes no visible difference.
"""

_LITERAL_FIELDS = ("text", "heading", "above", "title")
# Markdown markup, and characters that join the parts of a word: "new-line" is also "newline", as indexed.
_MARKUP = lazy_pattern(r"[*_`~#|>\[\]\\\-‐‑]")


_MAX_CACHED_PHRASES = 64
_phrase_cache: WeakKeyDictionary[Corpus, dict[str, Rows]] = WeakKeyDictionary()


def find_phrase_rows(snapshot: Corpus, phrase: str, analyze_words: AnalyzeWords) -> Rows:
    """Return the rows, ascending, that have `phrase`.

    `analyze_words` splits it into words with their stems. The rows of recent phrases are cached by snapshot, because
    the query after a phrase is typed letter by letter.
    """
    known = _phrase_cache.setdefault(snapshot, {})
    if phrase not in known:
        if len(known) >= _MAX_CACHED_PHRASES:
            known.clear()
        known[phrase] = _search_phrase_rows(snapshot, phrase, analyze_words)
    return known[phrase]


def _search_phrase_rows(snapshot: Corpus, phrase: str, analyze_words: AnalyzeWords) -> Rows:
    words = analyze_words(phrase)
    rows = find_word_sequence(snapshot.lexical, words) if words else NO_ROWS
    if not len(rows):
        rows = _find_readable_rows(snapshot, phrase, words)
        return rows if len(rows) else _find_literal_rows(snapshot, phrase)
    return _keep_literal_rows(snapshot, phrase, words, rows) if len(rows) <= MAX_LITERAL_FRAGMENTS else rows


def find_word_sequence(
    reader: TermReader, query_words: Sequence[QueryWord], fields: Sequence[str] = tuple(FIELD_WEIGHTS)
) -> Rows:
    """Return the rows, ascending, in which a field has the words of a phrase in order without a gap.

    Stems are compared, not spelling.
    """
    words = [word for word in query_words if not word.is_compound] or list(query_words)
    term_rows = [[_find_term_rows(reader, term, fields) for term in word.terms] for word in words]
    # Rarest word first, so that common words are only looked up in rows that have the rarer ones.
    rarest, *others = sorted(term_rows, key=lambda word_rows: sum(map(len, word_rows)))
    rows = merge_rows(*rarest)
    for word_rows in others:
        rows = rows[np.logical_or.reduce([_flag_common_rows(rows, rows_of_term) for rows_of_term in word_rows])]
    if not len(rows) or len(words) == 1:
        return rows
    first, starts = words[0].position, {field: _SEQUENCE_STARTS[field] for field in fields}
    lines = (flatten_positions(reader, starts, word.terms, rows) - (word.position - first) for word in words)
    return rows[merge_rows((reduce(_intersect, lines) // ROW_STRIDE).astype(np.int32))]


def _find_term_rows(reader: TermReader, term: str, fields: Sequence[str]) -> Rows:
    """Return the rows that have a term in one of `fields`, ascending, a row once for each of its postings."""
    entries = reader.entries(term)
    if len(fields) == len(FIELDS_BY_NUMBER):
        return entries.rows
    return entries.rows[np.isin(entries.fields, [FIELDS_BY_NUMBER.index(field) for field in fields])]


_Numbers = TypeVar("_Numbers", Rows, Ints)


def _intersect(values: _Numbers, others: _Numbers) -> _Numbers:
    """Return those of `values` that are in `others`. Both arrays are ascending."""
    common: _Numbers = values[_flag_common_rows(values, others)]
    return common


def _flag_common_rows(rows: npt.NDArray[np.integer], others: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """Return a flag for each of `rows`: whether it is in `others`. Both arrays are ascending."""
    if not len(others):
        return np.zeros(len(rows), np.bool_)
    is_in: npt.NDArray[np.bool_] = others[np.minimum(np.searchsorted(others, rows), len(others) - 1)] == rows
    return is_in


# --- literal text -----------------------------------------------------------------------------------------------------


def normalize_for_comparison(text: str) -> str:
    """Return `text` without case, accents, Markdown markup and repeated white space."""
    return " ".join(_MARKUP.sub("", fold(text)).split())


def _keep_literal_rows(snapshot: Corpus, phrase: str, words: Sequence[QueryWord], rows: Rows) -> Rows:
    """Return the rows that have a phrase literally; all `rows` if no row has it literally.

    A row that has the phrase in an alias, tag or property is kept too. `words` are the words of the phrase.
    """
    plain_phrase = normalize_for_comparison(phrase)
    keys = snapshot.table.keys[rows].tolist()
    literal = np.array(
        [
            any(
                plain_phrase in normalize_for_comparison(part)
                for part in (fragment.text, fragment.title, *fragment.heading_path)
            )
            for fragment in snapshot.fragments(keys)
        ],
        np.bool_,
    )
    if not literal.any():
        return rows
    named = find_word_sequence(
        snapshot.lexical, words, [field for field in FIELD_WEIGHTS if field not in _LITERAL_FIELDS]
    )
    return rows[literal | np.isin(rows, named)]


def _find_readable_rows(snapshot: Corpus, phrase: str, words: Sequence[QueryWord]) -> Rows:
    """Return the rows whose displayed text (without link addresses, footnote marks and block ids) has `phrase`.

    `words` are the words of the phrase; fragments are compared only if few have all of them.
    """
    rows = [find_word_sequence(snapshot.lexical, [word], ("text",)) for word in words if not word.is_compound]
    common = reduce(_intersect, rows) if len(rows) > 1 else NO_ROWS
    if not 0 < len(common) <= MAX_LITERAL_FRAGMENTS:
        return NO_ROWS
    from excerpt.text.inline import readable_text  # needs markdown-it, which a search without phrases does not

    plain_phrase = normalize_for_comparison(phrase)
    has_phrase = [
        plain_phrase in normalize_for_comparison(readable_text(fragment.text))
        for fragment in snapshot.fragments(snapshot.table.keys[common].tolist())
    ]
    found: Rows = common[np.array(has_phrase, np.bool_)]
    return found


_ASCII_RUN = lazy_pattern(r"[A-Za-z0-9]+")
_MAX_RUNS = 3


def _find_literal_rows(snapshot: Corpus, phrase: str) -> Rows:
    """Return the rows, ascending, whose text contains `phrase` literally, even as a part of a word."""
    plain_phrase = normalize_for_comparison(phrase)
    # Runs of letters that every text with the phrase contains, despite folding; the longest runs are the rarest.
    runs = sorted(set(_ASCII_RUN.findall(phrase)), key=lambda run: (-len(run), run))[:_MAX_RUNS]
    keys = snapshot.table.keys
    allowed_keys = keys.tolist() if not snapshot.is_complete else None
    if runs:
        texts = snapshot.facets.find_texts_ignoring_case(runs, allowed_keys)
        matching_keys = [
            key
            for key, text in texts
            if phrase in text or (plain_phrase and plain_phrase in normalize_for_comparison(text))
        ]
    else:
        matching_keys = [key for key, text in snapshot.facets.find_texts_with(phrase, allowed_keys) if phrase in text]
    return np.flatnonzero(np.isin(keys, np.array(matching_keys, np.int64))).astype(np.int32)
