"""Suggestions for a query: narrower and wider queries, each with its number of matches.

The words and filters are the vault's own: folders, tags and values that are distinctive among the matches, and words
that some of the best fragments have. Matches are those that a search counts, so the number is the one that the search
shows for the suggested query. At cpp-docs size this takes 110 to 210 ms of CPU.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log

import numpy as np

from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.interface import Corpus
from excerpt.insight.facet_map import MATCH_ALL_QUERY
from excerpt.insight.filter_trees import Counts, FilterTree, load_branches
from excerpt.insight.phrases import Phrases, extract_phrases
from excerpt.insight.results import Direction, Suggestion
from excerpt.insight.significant import log_likelihood
from excerpt.insight.topic import Topic, find_topic
from excerpt.search.engine import Engine
from excerpt.search.query import find_conditions
from excerpt.text.dates import parse_date
from excerpt.text.languages import select_stop_words

MAX_NARROWER, MAX_WIDER = 6, 4
"""The most narrower, and the most wider queries that are suggested."""
MAX_WORD_SUGGESTIONS = 4
"""The most narrower queries that add a word; there may be more if filters do not fill the rest."""
FRAGMENTS_READ_FOR_WORDS = 40
"""The number of best fragments whose words are suggested."""
MAX_MATCH_SHARE = 0.6
"""The largest share of the original query's matches that a narrower query may keep."""
MIN_MATCHES = 2
"""The fewest matching fragments of a narrower query."""
MAX_TESTED_BRANCHES = 200
"""The number of folders, tags or values, those with the most matches, that are tested for distinctiveness."""
MAX_LABEL_CHARS = 40
"""The most characters of a value or word that is suggested."""
MIN_HEADING_CHARS, MAX_HEADING_CHARS = 8, 60
"""The fewest and the most characters of a heading that is suggested as a query."""
_MIN_HEADING_WORDS = 3
"""The fewest words of a heading in letters with blanks between words."""
_QUESTION = lazy_pattern(r"[?？؟]$|^how to ", re.I)
_NOT_PLAIN = lazy_pattern(r"""[^\w\s?？؟.,'’()-]|\d|(?:^|\s)-|_""")
"""What a plain heading does not have: signs of the query language or of code, and numbers."""


def suggest_queries(engine: Engine, query: str) -> tuple[Suggestion, ...]:
    """Return queries that are narrower than `query`, the most distinctive first, then wider queries.

    For an empty query, return filters for distinctive folders, tags and values of the vault.
    """
    base = query if query.strip() else MATCH_ALL_QUERY
    matching = engine.count_matches_by_note(base)
    hits = int(matching.sum())
    topic = find_topic(engine, query) if query.strip() and hits else None
    words = list(_find_distinctive_words(topic)) if topic is not None else []
    narrower = [*_narrow_by_filter(engine, query, matching), *_narrow_by_words(engine, query, words, hits)]
    wider = [*_widen_by_removal(engine, query, hits), *_widen_by_words(engine, query, words, hits)]
    return (*_mix_filters_and_words(narrower), *_drop_duplicate_queries(wider)[:MAX_WIDER])


def suggest_first_queries(corpus: Corpus, limit: int) -> tuple[str, ...]:
    """Return at most `limit` headings of the vault as queries: questions if it has so many, else other headings.

    Headings come first whose words are in most other headings, without those that share such a word with one before.
    """
    headings = [text for text, count in corpus.facets.headings_as_written() if count == 1 and _is_plain(text)]
    questions = [text for text in headings if _QUESTION.search(text)]
    words = {text: _subject_words(text) for text in headings}
    counts = Counter(word for subject in words.values() for word in subject)

    def rank(text: str) -> tuple[float, int, str]:
        subject = words[text]
        return -sum(log(counts[word]) for word in subject) / max(1, len(subject)), len(text), text

    chosen: list[str] = []
    used: set[str] = set()
    for text in sorted(questions if len(questions) >= limit else headings, key=rank):
        if len(chosen) < limit and used.isdisjoint(words[text]):
            chosen.append(text)
            used |= words[text]
    return tuple(chosen)


def _is_plain(heading: str) -> bool:
    has_length = MIN_HEADING_CHARS <= len(heading) <= MAX_HEADING_CHARS
    has_words = not heading.isascii() or len(heading.split()) >= _MIN_HEADING_WORDS
    return has_length and has_words and not _NOT_PLAIN.search(heading)


def _subject_words(heading: str) -> set[str]:
    words = set(re.findall(r"\w+", heading.casefold()))
    return words - select_stop_words(words, ("en",))


def _mix_filters_and_words(narrower: Sequence[Suggestion]) -> list[Suggestion]:
    """Return at most MAX_NARROWER of `narrower`: queries with an added filter first, then those with an added word."""
    every = _drop_duplicate_queries(narrower)
    words = [suggestion for suggestion in every if suggestion.label.startswith('"')]
    filters = [suggestion for suggestion in every if not suggestion.label.startswith('"')]
    room = max(MAX_NARROWER - len(words), MAX_NARROWER - MAX_WORD_SUGGESTIONS)
    return [*filters[:room], *words[: MAX_NARROWER - min(len(filters), room)]]


def _drop_duplicate_queries(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    return list({each.query: each for each in reversed(suggestions)}.values())[::-1]


def _count_matches(engine: Engine, query: str) -> int:
    return int(engine.count_matches_by_note(query).sum())


def _narrow_by_filter(engine: Engine, query: str, counts: Counts) -> Iterator[Suggestion]:
    """Yield `query` narrowed to each distinctive folder, tag or property value, the most distinctive first.

    `counts` holds the number of matching fragments of each note. The numbers of hits are those of the vault map.
    """
    snapshot = engine.snapshot
    branches = load_branches(snapshot)
    overall = snapshot.fragment_counts(np.arange(len(snapshot.table.paths)))
    distinctive = sorted(
        (-score, tree.build_filter(node), count)
        for tree in (branches.folders, branches.tags, branches.properties)
        for score, node, count in _score_branches(tree, counts, overall)
    )
    shown_counts: set[int] = set()
    for _, condition, count in distinctive:
        # That a note has a property at all is not specific. Branches with the same count mostly have the same notes:
        # nested folders, or tags that go with folders.
        if condition and not condition.endswith(":*") and condition not in query and count not in shown_counts:
            narrowed = engine.add_condition(query, condition) if query.strip() else f"{condition} "
            yield Suggestion(Direction.NARROWER, condition, narrowed, count)
            shown_counts.add(count)
        if len(shown_counts) == MAX_NARROWER:
            return


def _score_branches(tree: FilterTree, matches: Counts, overall: Counts) -> Iterator[tuple[float, int, int]]:
    """Yield the distinctiveness, position and number of matches of the branches of `tree` with the most matches.

    Distinctiveness is the log-likelihood ratio G² plus the branch's share of the matches. `matches` and `overall` hold
    the number of matching fragments, and of all fragments, of each note.
    """
    counts, notes = tree.count(matches)
    whole, _ = tree.count(overall)
    matched, overall_count = int(matches.sum()), int(overall.sum())
    eligible = np.flatnonzero((counts >= MIN_MATCHES) & (counts <= MAX_MATCH_SHARE * matched) & (notes >= MIN_MATCHES))
    for node in eligible[np.argsort(-counts[eligible], kind="stable")][:MAX_TESTED_BRANCHES].tolist():
        label = tree.labels[node]
        if len(label) <= MAX_LABEL_CHARS and parse_date(label) is None:
            score = (
                log_likelihood(int(counts[node]), matched, int(whole[node]), overall_count)
                if matched < overall_count
                else 0.0
            )
            yield round(score, 3) + counts[node] / max(matched, 1), node, int(counts[node])


def _find_distinctive_words(topic: Topic) -> Iterator[str]:
    """Yield words and pairs of words that some of the topic's best fragments have, the most distinctive first."""
    rows = topic.best[:FRAGMENTS_READ_FOR_WORDS]
    phrases = extract_phrases(topic, topic.fragments(rows.tolist()), topic.best_notes[: len(rows)].tolist())
    candidates = [
        key
        for key, count in phrases.counts.items()
        if MIN_MATCHES <= count <= max(MIN_MATCHES, MAX_MATCH_SHARE * len(rows))
    ]
    used: set[str] = set()
    for key in sorted(candidates, key=lambda key: (-_phrase_score(phrases, key), key)):
        if not used & set(key) and len(word := phrases.spelling(key)) <= MAX_LABEL_CHARS and '"' not in word:
            used |= set(key)
            yield word


def _phrase_score(phrases: Phrases, key: tuple[str, ...]) -> float:
    return round(phrases.counts[key] * phrases.weight(key), 6)


def _narrow_by_words(engine: Engine, query: str, words: Sequence[str], hits: int) -> Iterator[Suggestion]:
    """Yield the query as a phrase, and the query with each of `words` added; `hits` is its number of matches."""
    plain = query.split()
    if 1 < len(plain) <= 4 and all(map(str.isalnum, plain)):
        yield from _suggest_if_narrower(engine, f'"{" ".join(plain)}"', f'"{" ".join(plain)}"', hits)
    for word in words[: 2 * MAX_WORD_SUGGESTIONS]:
        yield from _suggest_if_narrower(engine, f'"{word}"', engine.add_condition(query, f'"{word}"'), hits)


def _suggest_if_narrower(engine: Engine, label: str, query: str, hits: int) -> Iterator[Suggestion]:
    count = _count_matches(engine, query)
    if MIN_MATCHES <= count < hits:
        yield Suggestion(Direction.NARROWER, label, query, count)


def _widen_by_removal(engine: Engine, query: str, hits: int) -> Iterator[Suggestion]:
    """Yield the query without each of its conditions, and the query with its phrases as single words.

    Only queries with more than `hits` matches are yielded.
    """
    facets = engine.snapshot.facets
    query_conditions = find_conditions(query, facets.properties, facets.tags)
    for each in query_conditions:
        left = " ".join(f"{query[: each.start].rstrip()} {query[each.end :].lstrip()}".split())
        if left:
            yield from _suggest_if_wider(engine, f"without {query[each.start : each.end]}", left, hits)
    outside = query
    for each in reversed(query_conditions):
        outside = f"{outside[: each.start]}{' ' * (each.end - each.start)}{outside[each.end :]}"
    if outside.count('"') >= MIN_MATCHES:
        loose = "".join(
            sign
            for at, sign in enumerate(query)
            if sign != '"' or any(each.start <= at < each.end for each in query_conditions)
        )
        yield from _suggest_if_wider(engine, "its phrase as words", loose, hits)


def _widen_by_words(engine: Engine, query: str, words: Sequence[str], hits: int) -> Iterator[Suggestion]:
    """Yield the query joined by "or" with each of the first two `words`, if more than `hits` fragments match."""
    for word in words[:2]:
        yield from _suggest_if_wider(engine, f"or {word}", f"{query.strip()} | {word}", hits)


def _suggest_if_wider(engine: Engine, label: str, query: str, hits: int) -> Iterator[Suggestion]:
    count = _count_matches(engine, query)
    if count > hits:
        yield Suggestion(Direction.WIDER, label, query, count)
