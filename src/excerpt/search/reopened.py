"""The signal `reopened`: notes that the user opened, marked or copied for a query with similar words.

It is what this user found before, not what the query says: it only reorders the candidates of a search, never above a
note that has the query as its name, and changes no confidence. How it was chosen: docs/design/ranking.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from excerpt.corpus.interface import Corpus
from excerpt.corpus.tables import FragmentTable
from excerpt.search.evidence import MAX_LANGUAGES
from excerpt.search.query import Query, parse_alternatives
from excerpt.search.ranking import ScoredFragments
from excerpt.search.usage import UseEvent, UseLog, update_paths
from excerpt.text.folding import fold
from excerpt.text.languages import select_stop_words
from excerpt.text.words import query_terms

Floats = npt.NDArray[np.float64]
Words = frozenset[str]

REOPENED_WEIGHT = 0.3
"""Weight of the signal: the highest with which notes that were never opened lose nothing (`make learning`)."""
MIN_SIMILARITY = 0.5
"""Share of common words, among the different words of two queries, from which they are similar."""
HALF_LIFE_DAYS = 90.0
"""Days after which a use counts half, before the newest use: a pause erases nothing."""
HALF_VALUE_USES = 1.0
"""Number of uses for the same words that give half of the highest value; each further use adds less."""
SKIP_SHARE = 1.0
"""Share of a use that is subtracted from a note which the user passed over for one below it."""

_DAY_SECONDS = 86_400.0
_NAME_MARGIN = 0.001  # so that rounding does not make a score equal to that of a note with the query as its name


class PastUses(Struct, frozen=True):
    """What the user did with one note for similar words: the value of the signal, 0 to 1, and the events, in order."""

    value: float
    events: tuple[UseEvent, ...]


class LearnedUses:
    """The uses of notes, by the words of the queries that led to them."""

    def __init__(self, events: Sequence[UseEvent], words_of: Callable[[str], Words]) -> None:
        """Index `events`, oldest first. `words_of` returns the words of a query by which it is compared."""
        self._events = events
        words = [words_of(event.query) for event in events]
        self._sizes = np.array([len(of_event) for of_event in words], np.float64)
        numbers: dict[str, list[int]] = {}
        for number, of_event in enumerate(words):
            for word in of_event:
                numbers.setdefault(word, []).append(number)
        self._numbers = {word: np.array(of_word, np.intp) for word, of_word in numbers.items()}
        times = np.array([event.time for event in events], np.float64)
        age = (times.max(initial=0.0) - times) / (HALF_LIFE_DAYS * _DAY_SECONDS)
        self._counts = np.exp2(-age) * np.array([event.share for event in events], np.float64)

    def find(self, words: Words) -> dict[str, PastUses]:
        """Return the uses of each note for queries with words similar to `words`, by path.

        The similarity of two queries is the share of common words among their different words (Jaccard). An event adds
        its similarity, less for older ones, to the note that was used, and subtracts from the notes above it. The sum s
        becomes s / (s + HALF_VALUE_USES). Notes with a sum of 0 or less are left out.
        """
        similarities = self._similarities(words)
        sums: dict[str, float] = {}
        used: dict[str, list[UseEvent]] = {}
        for number in np.flatnonzero(similarities >= MIN_SIMILARITY).tolist():
            event, count = self._events[number], float(similarities[number] * self._counts[number])
            sums[event.path] = sums.get(event.path, 0.0) + count
            used.setdefault(event.path, []).append(event)
            for path in event.above:
                if path in sums:
                    sums[path] = max(sums[path] - SKIP_SHARE * count, 0.0)
        return {
            path: PastUses(total / (total + HALF_VALUE_USES), tuple(used[path]))
            for path, total in sums.items()
            if total > 0
        }

    def _similarities(self, words: Words) -> Floats:
        """Return the similarity of `words` with the query of each event."""
        common = np.zeros(len(self._events))
        for word in words:
            if (numbers := self._numbers.get(word)) is not None:
                common[numbers] += 1
        similarities: Floats = common / np.maximum(self._sizes + len(words) - common, 1)
        return similarities


def select_words(text: str, languages: Sequence[str]) -> Words:
    """Return the words by which two queries are compared: stems, without words such as "how" if there are others.

    `text` are the words of a query, without filters; `languages` are the vault's, the commonest first.
    """
    words = query_terms(text, languages)
    stop_words = select_stop_words([fold(word.surface) for word in words], languages)
    return frozenset(word.terms[0] for word in words if fold(word.surface) not in stop_words)


def add_reopened_signal(scored: ScoredFragments, past_uses: Mapping[int, PastUses]) -> ScoredFragments:
    """Add the signal `reopened` to the fragments at the positions `past_uses` of `scored`.

    A fragment of a note that has the query as its name gets none, and no other is raised above such a fragment.
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
    """What the user opened, marked or copied in a vault, by query, for the notes and words of one snapshot."""

    def __init__(self, snapshot: Corpus, log: UseLog) -> None:
        self._snapshot = snapshot
        self._log = log
        self._events: tuple[UseEvent, ...] = ()
        self._uses: LearnedUses | None = None
        self._words: dict[str, Words] = {}
        self._keys: dict[str, int] = {}

    def use_query(self, query: str) -> None:
        """Use the events up to the moment when the query text `query` was first asked; see `UseLog`."""
        self._set_events(self._log.events_at_query(query))

    def load(self) -> None:
        """Read the log and analyze its queries, which the first query would otherwise have to do."""
        self._set_events(self._log.events_at_last_query())

    def find(self, query: Query, scored: ScoredFragments, table: FragmentTable) -> dict[int, PastUses]:
        """Return the past uses for similar words that raise fragments, by their position in `scored`.

        The fragment of a note that was used last is raised, or the best one if that is no candidate any more. `table`
        has the rows of `scored`.
        """
        if self._uses is None:
            self.load()
        words = select_words(query.words, self._languages)
        if self._uses is None or not words or not (used := self._uses.find(words)):
            return {}
        notes, keys, scores = table.notes[scored.rows], table.keys[scored.rows], scored.scores
        past_uses: dict[int, PastUses] = {}
        for path, uses in used.items():
            number = self._snapshot.facets.numbers.get(path)
            positions = np.flatnonzero(notes == number) if number is not None else ()
            if len(positions):
                last_used = positions[keys[positions] == self._find_key(uses.events[-1].fragment)]
                at = last_used[0] if len(last_used) else positions[np.argmax(scores[positions])]
                past_uses[int(at)] = uses
        return past_uses

    @property
    def _languages(self) -> tuple[str, ...]:
        return self._snapshot.languages[:MAX_LANGUAGES]

    def _set_events(self, events: tuple[UseEvent, ...]) -> None:
        if self._uses is None or events is not self._events:
            self._events = events
            snapshot = self._snapshot
            current_events = update_paths(events, frozenset(snapshot.table.paths), snapshot.current_path)
            self._uses = LearnedUses(current_events, self._words_of)

    def _words_of(self, text: str) -> Words:
        """Return the words of a query text, of all its alternatives together."""
        if text not in self._words:
            facets = self._snapshot.facets
            queries = parse_alternatives(text, facets.properties, facets.tags)
            self._words[text] = frozenset().union(*(select_words(query.words, self._languages) for query in queries))
        return self._words[text]

    def _find_key(self, fragment_id: str) -> int:
        """Return the key of a fragment; 0 if it has changed or gone."""
        if fragment_id not in self._keys:
            fragment = self._snapshot.fragment(fragment_id)
            self._keys[fragment_id] = fragment.key if fragment is not None else 0
        return self._keys[fragment_id]
