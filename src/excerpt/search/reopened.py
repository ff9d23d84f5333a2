"""What the user opened, marked or copied for similar questions: the signal `reopened`, and the past answer.

It is what this user found before, not what the query says: no hit is called surer for it, and only a list with nothing
near becomes unsure by a past answer. Notes used for a question with similar words are raised among the candidates,
never above a note that has the query as its name. Where the words of a query find nothing sure, the passage that
answered the question most similar in words or meaning gets place 2, whatever its own words. How it was chosen:
docs/design/ranking.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from excerpt.base.settings import EmbeddingSettings
from excerpt.corpus.interface import Corpus
from excerpt.corpus.tables import FragmentTable
from excerpt.search.evidence import MAX_LANGUAGES, compute_meaning_factor, static_languages
from excerpt.search.query import Query, parse_alternatives
from excerpt.search.ranking import ScoredFragments
from excerpt.search.usage import UseEvent, UseLog, update_paths
from excerpt.text.folding import fold
from excerpt.text.languages import select_stop_words
from excerpt.text.words import query_terms

Floats = npt.NDArray[np.float32]
Words = frozenset[str]

REOPENED_WEIGHT = 0.3
"""Weight of the signal: the highest with which notes that were never opened lose nothing (`make learning`)."""
MIN_COMMON_WORDS = 0.5
"""Share of common words, among the different words of two questions, from which they are similar."""
MIN_COSINE = 0.48
"""Cosine of two questions from which they are similar in meaning (docs/design/quality.md)."""
MIN_REWORDING = 0.2
"""Similarity below which an earlier question is no rewording: it was given up for another one."""
HALF_LIFE_DAYS = 90.0
"""Days after which a use counts half, before the newest use: a pause erases nothing."""
HALF_VALUE_USES = 1.0
"""Number of uses for the same words that give half of the highest value; each further use adds less."""
SKIP_SHARE = 1.0
"""Share of a use that is subtracted from a note which the user passed over for one below it."""

_DAY_SECONDS = 86_400.0
_NAME_MARGIN = 0.001  # so that rounding does not make a score equal to that of a note with the query as its name


class ComparedQuestion(Struct, frozen=True):
    """The data by which two questions are compared: their words, and their vectors."""

    words: Words
    vector: Floats


class SimilarUse(Struct, frozen=True):
    """A use for a similar question: the most similar of the event's questions, and how similar that is, 0 to 1."""

    event: UseEvent
    question: str
    similarity: float


class PastUses(Struct, frozen=True):
    """The past uses of one note for similar questions, in order.

    `value` is the value of the signal `reopened`, 0 to 1: 0 if all questions are similar in meaning alone.
    """

    value: float
    uses: tuple[SimilarUse, ...]

    @property
    def most_similar(self) -> SimilarUse:
        """The use for the most similar question, the last of equals."""
        return max(reversed(self.uses), key=lambda use: use.similarity)


class PastAnswer(Struct, frozen=True):
    """The row of the passage that the user used for the most similar question, and the past uses of its note."""

    row: int
    uses: PastUses


class LearnedUses:
    """The uses of notes, by the questions that led to them."""

    def __init__(
        self, events: Sequence[UseEvent], analyze: Callable[[Sequence[str]], Sequence[ComparedQuestion]]
    ) -> None:
        """Index `events`, oldest first. `analyze` returns the data by which questions are compared."""
        self._events = events
        self._texts = [text for event in events for text in (event.query, *event.earlier)]
        self._starts = np.cumsum([0, *(1 + len(event.earlier) for event in events)])
        questions = analyze(self._texts)
        self._sizes = np.array([len(question.words) for question in questions], np.float32)
        self._vectors = np.array([question.vector for question in questions], np.float32)
        numbers: dict[str, list[int]] = {}
        for number, question in enumerate(questions):
            for word in question.words:
                numbers.setdefault(word, []).append(number)
        self._numbers = {word: np.array(of_word, np.intp) for word, of_word in numbers.items()}
        self._is_rewording = np.ones(len(questions), np.bool_)
        for first, end in pairwise(self._starts.tolist()):
            if end > first + 1:
                similarities = np.maximum(*self._compare(questions[first]))[first:end]
                self._is_rewording[first + 1 : end] = similarities[1:] >= MIN_REWORDING
        times = np.array([event.time for event in events], np.float64)
        age = (times.max(initial=0.0) - times) / (HALF_LIFE_DAYS * _DAY_SECONDS)
        self._counts = np.exp2(-age) * np.array([event.share for event in events], np.float64)

    def find(self, question: ComparedQuestion) -> dict[str, PastUses]:
        """Return the uses of each note for questions similar to `question`, by path.

        An event adds its similarity (less if it is older) to the note that was used, and subtracts it from the notes
        above. Notes with a sum of 0 or less are left out. The sum s of similarities in words gives the value s / (s +
        HALF_VALUE_USES).
        """
        if not self._events:
            return {}
        shares, cosines = (values * self._is_rewording for values in self._compare(question))
        by_words = np.where(shares >= MIN_COMMON_WORDS, shares, 0)
        similarities = np.maximum(by_words, np.where(cosines >= MIN_COSINE, cosines, 0))
        highest = np.maximum.reduceat(np.stack((similarities, by_words), axis=1), self._starts[:-1])
        sums: dict[str, Floats] = {}
        used: dict[str, list[SimilarUse]] = {}
        for number in np.flatnonzero(highest[:, 0]).tolist():
            event, added = self._events[number], highest[number] * self._counts[number]
            first, end = self._starts[number : number + 2].tolist()
            nearest = first + int(np.argmax(similarities[first:end]))
            sums[event.path] = sums.get(event.path, 0) + added
            used.setdefault(event.path, []).append(
                SimilarUse(event, self._texts[nearest], float(similarities[nearest]))
            )
            for path in event.above:
                if path in sums:
                    sums[path] = np.maximum(sums[path] - SKIP_SHARE * added, 0)
        return {
            path: PastUses(float(by_word / (by_word + HALF_VALUE_USES)), tuple(used[path]))
            for path, (total, by_word) in sums.items()
            if total > 0
        }

    def _compare(self, question: ComparedQuestion) -> tuple[Floats, Floats]:
        """Return the share of common words (Jaccard) and the cosine of `question` and each question of the events."""
        common = np.zeros(len(self._texts), np.float32)
        for word in question.words:
            if (numbers := self._numbers.get(word)) is not None:
                common[numbers] += 1
        shares: Floats = common / np.maximum(self._sizes + len(question.words) - common, 1)
        cosines: Floats = self._vectors @ question.vector
        return shares, cosines


def select_words(text: str, languages: Sequence[str]) -> Words:
    """Return the words by which two queries are compared: stems, without words such as "how" if there are others.

    `text` are the words of a query, without filters; `languages` are the vault's, the commonest first.
    """
    words = query_terms(text, languages)
    stop_words = select_stop_words([fold(word.surface) for word in words], languages)
    return frozenset(word.terms[0] for word in words if fold(word.surface) not in stop_words)


def add_reopened_signal(scored: ScoredFragments, past_uses: Mapping[int, PastUses]) -> ScoredFragments:
    """Add the signal `reopened` to the fragments at the positions `past_uses` of `scored`.

    A fragment of a note that has the query as its name does not get the signal, and no other fragment is raised above
    it.
    """
    values = np.zeros(len(scored.rows))
    for position, uses in past_uses.items():
        values[position] = uses.value
    is_named = scored.values[:, scored.names.index("name")] > 0
    if is_named.any():
        scores = scored.scores.astype(np.float64)
        room = (scores[is_named].min() - scores) / REOPENED_WEIGHT - _NAME_MARGIN
        values = np.where(is_named, 0, np.minimum(values, np.maximum(room, 0)))
    return scored.with_signal("reopened", values.astype(np.float32), REOPENED_WEIGHT)


class LearnedQueries:
    """The past uses of notes of a vault (opened, marked, copied), by question, compared with one snapshot."""

    def __init__(self, snapshot: Corpus, log: UseLog, embedding: EmbeddingSettings) -> None:
        """Read nothing yet."""
        self._snapshot = snapshot
        self._log = log
        self._embedding = embedding
        self._events: tuple[UseEvent, ...] = ()
        self._uses: LearnedUses | None = None
        self._found: dict[str, dict[str, PastUses]] = {}
        self._questions: dict[str, ComparedQuestion] = {}
        self._keys: dict[str, int] = {}

    def use_query(self, query: str) -> None:
        """Use the events up to the moment when the query text `query` was first asked; see `UseLog`."""
        self._set_events(self._log.events_at_query(query))

    def load(self) -> None:
        """Read the log and analyze its questions now, so that the first query need not do so."""
        self._set_events(self._log.events_at_last_query())

    def find(self, query: Query, scored: ScoredFragments, table: FragmentTable) -> dict[int, PastUses]:
        """Return the past uses for questions with similar words, which raise fragments, by position in `scored`.

        The fragment of a note that was used for the most similar question is raised, or the best one of the note if
        that has changed. `table` has the rows of `scored`.
        """
        past_uses: dict[int, PastUses] = {}
        notes, keys, scores = table.notes[scored.rows], table.keys[scored.rows], scored.scores
        for path, uses in self._find_uses(query).items():
            if not uses.value:
                continue
            at = np.flatnonzero(keys == (self._find_key(uses.most_similar.event) or -1))
            number = self._snapshot.facets.numbers.get(path)
            if not len(at) and number is not None and len(of_note := np.flatnonzero(notes == number)):
                at = of_note[np.argmax(scores[of_note])][None]
            if len(at):
                past_uses[int(at[0])] = uses
        return past_uses

    def find_answer(
        self, query: Query, table: FragmentTable, is_allowed: npt.NDArray[np.bool_] | None
    ) -> PastAnswer | None:
        """Return the passage that was used for the most similar question; None if no such passage is left.

        A passage is left if its text is unchanged, wherever it is now, and `is_allowed` flags its row (None: all).
        """
        by_similarity = sorted(self._find_uses(query).values(), key=lambda uses: -uses.most_similar.similarity)
        for uses in by_similarity:
            key = self._find_key(uses.most_similar.event)
            row = int(np.searchsorted(table.keys, key))
            if key and row < len(table.keys) and table.keys[row] == key and (is_allowed is None or is_allowed[row]):
                return PastAnswer(row, uses)
        return None

    def _find_uses(self, query: Query) -> dict[str, PastUses]:
        if self._uses is None:
            self.load()
        if self._uses is None or not self._events or not query.words.strip():
            return {}
        if query.words not in self._found:
            self._found[query.words] = self._uses.find(self._compare([query.words])[0])
        return self._found[query.words]

    def _set_events(self, events: tuple[UseEvent, ...]) -> None:
        self._found.clear()
        if self._uses is None or events is not self._events:
            self._events = events
            snapshot = self._snapshot
            current_events = update_paths(events, frozenset(snapshot.table.paths), snapshot.current_path)
            self._uses = LearnedUses(current_events, self._analyze)

    def _analyze(self, texts: Sequence[str]) -> list[ComparedQuestion]:
        """Return the data by which query texts are compared: for each text, the words of all its alternatives."""
        facets = self._snapshot.facets
        new = [text for text in dict.fromkeys(texts) if text not in self._questions]
        parsed = (parse_alternatives(text, facets.properties, facets.tags) for text in new)
        words = [" ".join(query.words for query in queries) for queries in parsed]
        self._questions.update(zip(new, self._compare(words), strict=True))
        return [self._questions[text] for text in texts]

    def _compare(self, texts: Sequence[str]) -> list[ComparedQuestion]:
        """Return the data by which questions are compared; `texts` are the questions' words, without filters."""
        languages = self._snapshot.languages
        # The static model, whatever embedder the user chose: it takes no time.
        trusted = static_languages(self._snapshot, self._embedding)
        factors = [compute_meaning_factor(text, languages, trusted) for text in texts]
        vectors = self._snapshot.embedder.embed(texts) * np.array(factors, np.float32)[:, None]
        words = (select_words(text, languages[:MAX_LANGUAGES]) for text in texts)
        return [ComparedQuestion(*pair) for pair in zip(words, vectors, strict=True)]

    def _find_key(self, event: UseEvent) -> int:
        """Return the key of the fragment that has the used text, in whatever note; 0 if no fragment has it now."""
        if event.fragment not in self._keys:
            fragment = self._snapshot.fragment(event.fragment)
            self._keys[event.fragment] = (
                fragment.key if fragment is not None else self._keys_by_digest.get(event.digest, 0)
            )
        return self._keys[event.fragment]

    @cached_property
    def _keys_by_digest(self) -> dict[str, int]:
        """The keys of the fragments that were used, by the digest of their texts; read with few queries."""
        return self._snapshot.keys_of_texts({event.digest for event in self._events} - {""})
