"""The one door of the engine: Engine.search turns what was typed into hits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from excerpt.index.snapshot import Snapshot
from excerpt.model import Hit, Result, Signal, Strategy
from excerpt.search import fusion, phrases, semantic
from excerpt.search.fusion import SIGNALS, Weights
from excerpt.search.lexical import Match, Rows, Tier, Word, WordIndex, total
from excerpt.search.proximity import PLACES, closeness, line_of
from excerpt.search.query import Query, parse
from excerpt.search.spans import SpanFinder
from excerpt.settings import Settings
from excerpt.text.words import QueryWord, query_terms, terms_of

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]

POOL = 200
"""Fragments that each of the two lists, words and meaning, puts forward; all are scored by all signals."""
MAX_PER_NOTE = 3
FIRST = 10
"""Among the first FIRST hits at most MAX_PER_NOTE are of one note, unless nothing else matched."""
COMMON = float(np.log(2))
"""The idf of a word that half of all fragments have: where it stands tells nothing, and there is much to read."""
FILLING = 0.1
"""In a question, words that more than this share of the fragments have are not marked beside rarer ones: the marks
would be of "the" and "do"."""
NAMED = 2.0
"""What the best fragment of a note gains whose title, file name or alias is the query: more than all signals can."""
MAX_LANGUAGES = 4
"""Languages whose stems a query is asked in: those that most of the vault's notes are in."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for each row of the index: the words it has and their BM25 score; its cosine, beside the mean.

    `unasked` are terms that the query holds when read like a note, and that are not asked for: single characters
    beside pairs, parts of what only the whole can mean. A title that has them is no longer than the query for it.
    `allowed` are the rows that have every required phrase.
    """

    words: tuple[Word, ...]
    unasked: tuple[Word, ...]
    matches: tuple[Match, ...]
    scores: Floats
    similarities: Floats
    mean: float
    allowed: Flags


@dataclass(frozen=True, slots=True)
class Candidates:
    """The fragments put forward, as rows, ascending, with their signals (rows x SIGNALS).

    `matched` counts all that have a word or stand out in meaning; `named` marks those of notes that the query names.
    `terms` are what the words stand for, `telling` those of them to mark first.
    """

    rows: Rows
    signals: Floats
    named: Flags
    matched: int
    terms: frozenset[str]
    telling: frozenset[str]
    word_count: int


class Engine:
    """Searches one snapshot. Usable from one thread at a time."""

    def __init__(self, snapshot: Snapshot, settings: Settings) -> None:
        self._snapshot = snapshot
        self._settings = settings.search
        self._words = WordIndex(snapshot.lexical)
        self._telling = SpanFinder()
        self._spans = SpanFinder()

    def warm(self) -> None:
        """Load what the first queries would have to wait for; may run in the background, before any of them."""
        self._words.warm()
        self.search("a")

    def search(self, query: str, strategy: Strategy | None = None, limit: int | None = None) -> Result:
        """The fragments that answer `query`, best first, ties by path and line.

        `strategy` and `limit` default to the settings'; a strategy forced in the query goes before both. No query is
        invalid; one without a word finds nothing.
        """
        begun = time.perf_counter()
        parsed = parse(query)
        wanted = parsed.strategy or strategy or self._settings.strategy
        limit = self._settings.limit if limit is None else limit
        found = self.candidates(parsed, max(POOL, limit))
        leader, weights = self._lead(wanted, found)
        parts = found.signals * weights.array
        scores = parts.sum(axis=1)
        scores[_best_named(found, scores, self._snapshot.table.notes)] += NAMED
        order = self._order(found, scores)[:limit]
        hits = self._hits(found, parts, scores, order)
        elapsed = (time.perf_counter() - begun) * 1e3
        return Result(query, leader, hits, found.matched, elapsed, self._snapshot.generation)

    # --- from the query to signals ------------------------------------------------------------------------------------

    def candidates(self, query: Query, pool: int) -> Candidates:
        """The fragments that words or meaning put forward, `pool` by each, with every signal."""
        snapshot = self._snapshot
        asked = self._asked(query.words)
        word_count = count_words(asked)
        evidence = self._evidence(query, asked)
        scores, similarities, mean = evidence.scores, evidence.similarities, evidence.mean
        named = self._named_rows(query.words) if asked else _NONE
        named = named[evidence.allowed[named]]
        rows = np.union1d(_top(scores, pool, 0.0), _top(similarities, pool, mean))
        rows = np.union1d(rows, named).astype(np.int32)
        signals = self._signals(evidence, rows)
        signals[:, _MEANING] *= semantic.trust(query.words, snapshot.languages)
        return Candidates(
            rows=rows,
            # Rounded, so that fragments of the same words are of one score and their order is that of path and line.
            signals=np.round(signals, 6),
            named=np.isin(rows, named),
            matched=int(np.count_nonzero(scores) + np.count_nonzero(scores[rows] == 0)),
            terms=_terms(evidence.words),
            telling=_telling(evidence, word_count),
            word_count=word_count,
        )

    def _asked(self, text: str) -> list[QueryWord]:
        return query_terms(text, self._snapshot.languages[:MAX_LANGUAGES])

    def _evidence(self, query: Query, asked: Sequence[QueryWord]) -> Evidence:
        words = self._words.expand(asked, open_word=query.open_word, fuzzy_threshold=self._settings.fuzzy_threshold)
        matches = tuple(self._words.match(word) for word in words)
        scores = total(matches, self._snapshot.lexical.doc_count)
        similarities, mean = self._similarities(query.words if asked else "")
        allowed = np.ones(len(scores), np.bool_)
        if query.phrases:
            having = phrases.rows_with_all(self._snapshot.lexical, [self._asked(p) for p in query.phrases])
            allowed[:] = False
            allowed[having] = True
            scores[~allowed] = 0.0
            similarities[~allowed] = mean
        unasked = self._unasked(query.words, words)
        return Evidence(words, unasked, matches, scores, similarities, mean, allowed)

    def _unasked(self, text: str, words: Sequence[Word]) -> tuple[Word, ...]:
        asked = {term for word in words for term in word.terms}
        found = {
            term
            for language in (*self._snapshot.languages[:MAX_LANGUAGES], "")
            for term in terms_of(text, language)[0]
            if term not in asked
        }
        return tuple(Word(term, (Tier((term,), 1.0),), 0) for term in sorted(found))

    def _similarities(self, text: str) -> tuple[Floats, float]:
        """Each row's cosine to `text`, and their mean; all alike for a text without meaning to the model."""
        vectors = self._snapshot.vectors
        if not text.strip():
            return np.zeros(self._snapshot.lexical.doc_count, np.float32), 0.0
        vector = self._snapshot.embedder.embed([text])[0]
        return vectors.similarities(vector), float(vectors.mean @ vector)

    def _named_rows(self, text: str) -> Rows:
        notes = self._snapshot.notes_named(text)
        return np.flatnonzero(np.isin(self._snapshot.table.notes, notes)).astype(np.int32) if notes else _NONE

    def _signals(self, evidence: Evidence, rows: Rows) -> Floats:
        words, scores, mean = evidence.words, evidence.scores, evidence.mean
        similarities = evidence.similarities
        rarity = np.array([match.idf for match in evidence.matches], np.float32)
        weight = rarity / max(float(rarity.sum()), 1e-9)
        signals = {
            "words": scores[rows] / max(float(scores.max(initial=0.0)), 1e-9),
            "coverage": weight @ self._words.presence(words, rows, None),
            "title": self._named_share(evidence, weight, rows, "title"),
            "heading": self._named_share(evidence, weight, rows, "heading"),
            "proximity": self._proximity(words, rarity, rows),
            "meaning": semantic.above_mean(similarities, rows, mean, float(similarities.max(initial=mean))),
        }
        return np.stack([signals[name] for name in SIGNALS], axis=1).astype(np.float32)

    def _named_share(self, evidence: Evidence, weight: Floats, rows: Rows, field: str) -> Floats:
        """The share of the query that a short field covers, times the share of the field that the query covers."""
        present = self._words.presence(evidence.words, rows, field)
        terms = present.sum(axis=0) + self._words.presence(evidence.unasked, rows, field).sum(axis=0)
        precision = np.minimum(terms / np.maximum(self._snapshot.lexical.lengths(field)[rows], 1), 1)
        covered: Floats = (weight @ present) * precision
        return covered

    def _proximity(self, words: Sequence[Word], rarity: Floats, rows: Rows) -> Floats:
        plain = [(word, float(idf)) for word, idf in zip(words, rarity, strict=True) if not word.whole]
        telling = [(word, idf) for word, idf in plain if idf > COMMON]
        plain = telling if len(telling) > 1 else plain
        if len(plain) < 2:
            return np.zeros(len(rows), np.float32)
        lines = [line_of(self._snapshot.lexical, PLACES, self._words.best_terms(word), rows) for word, _ in plain]
        return closeness(lines, [idf for _, idf in plain], [word.position for word, _ in plain], len(rows))

    # --- from signals to hits -----------------------------------------------------------------------------------------

    def _lead(self, wanted: Strategy, found: Candidates) -> tuple[Strategy, Weights]:
        words_found = bool(found.signals[:, _WORDS].any())
        meaning_found = bool(found.signals[:, _MEANING].any())
        chosen = fusion.lead(found.word_count) if wanted is Strategy.AUTO else wanted
        leader = fusion.answering(chosen, words_found=words_found, meaning_found=meaning_found)
        return leader, fusion.led_by(leader) if wanted is Strategy.AUTO else fusion.WEIGHTS[leader]

    def _order(self, found: Candidates, scores: Floats) -> npt.NDArray[np.intp]:
        table = self._snapshot.table
        order = np.lexsort((table.lines[found.rows], table.notes[found.rows], -scores))
        order = order[scores[order] > 0]
        return _spread(order, table.notes[found.rows])

    def _hits(self, found: Candidates, parts: Floats, scores: Floats, order: npt.NDArray[np.intp]) -> tuple[Hit, ...]:
        table = self._snapshot.table
        fragments = self._snapshot.fragments(table.keys[found.rows[order]].tolist())
        hits: list[Hit] = []
        for at, fragment in zip(order.tolist(), fragments, strict=True):
            score = float(scores[at])
            # What the score holds beyond the signals' parts is the note's name.
            named = NAMED if score - float(parts[at].sum()) > NAMED / 2 else 0.0
            signals = tuple(
                Signal(name, float(value), float(part) + (named if name == "title" else 0.0))
                for name, value, part in zip(SIGNALS, found.signals[at], parts[at], strict=True)
            )
            language = table.languages[table.notes[found.rows[at]]]
            spans = self._telling.find(fragment.text, found.telling, language)
            if not spans and found.terms != found.telling:
                spans = self._spans.find(fragment.text, found.terms, language)
            hits.append(Hit(fragment, score, signals, spans))
        return tuple(hits)


_NONE = np.zeros(0, np.int32)
_WORDS = SIGNALS.index("words")
_MEANING = SIGNALS.index("meaning")


def count_words(asked: Sequence[QueryWord]) -> int:
    """How many words a reader would count: a compound is one, and of overlapping characters two make one."""
    count, end, whole_end = 0.0, 0, 0
    for word in asked:
        if word.start < whole_end:
            continue
        count += 0.5 if word.start < end else 1.0
        end = word.end
        if word.whole:
            whole_end = word.end
    return int(count + 0.5)


def _terms(words: Sequence[Word]) -> frozenset[str]:
    return frozenset(term for word in words for term in word.terms)


def _telling(evidence: Evidence, word_count: int) -> frozenset[str]:
    """The terms of the words that are marked first: of a question, those that are rare."""
    if fusion.lead(word_count) is not Strategy.SEMANTIC:
        return _terms(evidence.words)
    most = FILLING * len(evidence.scores)
    pairs = zip(evidence.words, evidence.matches, strict=True)
    return _terms([word for word, match in pairs if len(match.rows) <= most])


def _top(values: Floats, size: int, above: float) -> Rows:
    """Rows of the `size` highest values, of those above a floor."""
    rows = np.flatnonzero(values > np.float32(above)).astype(np.int32)
    if len(rows) > size:
        rows = rows[np.argpartition(values[rows], len(rows) - size)[len(rows) - size :]]
    return rows


def _best_named(found: Candidates, scores: Floats, notes: Rows) -> list[int]:
    """Of each note that the query names, the candidate with the highest score."""
    best: dict[int, int] = {}
    for at in np.flatnonzero(found.named).tolist():
        note = int(notes[found.rows[at]])
        if note not in best or scores[at] > scores[best[note]]:
            best[note] = at
    return list(best.values())


def _spread(order: npt.NDArray[np.intp], notes: Rows) -> npt.NDArray[np.intp]:
    """`order` with what would be more than MAX_PER_NOTE of one note among the first FIRST moved behind them."""
    first: list[int] = []
    held: list[int] = []
    taken: dict[int, int] = {}
    for number, at in enumerate(order.tolist()):
        if len(first) == FIRST:
            return np.concatenate([np.array(first + held, np.intp), order[number:]])
        note = int(notes[at])
        if taken.get(note, 0) < MAX_PER_NOTE:
            taken[note] = taken.get(note, 0) + 1
            first.append(at)
        else:
            held.append(at)
    return np.array(first + held, np.intp)
