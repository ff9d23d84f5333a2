"""Interpretation of a query text: which parts are filters or exclusions, and which have no effect.

Every text is a valid query, so nothing here is an error. The warnings, and the words that were not found, explain an
unexpected list of hits.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date

import numpy as np

from excerpt.base.kinds import FilterKind
from excerpt.base.model import QuestionWord
from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.interface import Corpus
from excerpt.search.bm25 import ExpandedWord, WordMatches
from excerpt.search.evidence import MAX_LANGUAGES, Evidence, Flags, analyze_text
from excerpt.search.filters import flag_allowed_rows
from excerpt.search.query import (
    DATE_KINDS,
    FILTER_KINDS,
    MAX_ALTERNATIVES,
    STRATEGY_PREFIXES,
    KnownNames,
    Query,
    blank_conditions,
    find_conditions,
    find_unpaired_quotation_mark,
    suggest_filters,
)
from excerpt.search.rank_reasons import MAX_QUESTION_CELLS
from excerpt.search.results import QueryCondition, QueryInterpretation, QueryWarning
from excerpt.search.time_signal import find_notes_in_periods, has_dates
from excerpt.search.usage import normalize_query
from excerpt.text.columns import truncate
from excerpt.text.display import visible_line
from excerpt.text.folding import fold
from excerpt.text.languages import is_courtesy, select_stop_words
from excerpt.text.periods import find_periods


def interpret_query(snapshot: Corpus, text: str, today: date) -> QueryInterpretation:
    """Return how the search interprets a query text, after trying each filter; relative dates count from `today`."""
    facets = snapshot.facets
    query_conditions = find_conditions(text, facets.properties, facets.tags)
    periods = find_periods(blank_conditions(text, facets.properties, facets.tags), today)
    warnings = (
        *_sign_warnings(snapshot, text),
        *_word_warnings(snapshot, text, query_conditions),
        *_filter_warnings(snapshot, text, query_conditions, today),
        *(
            QueryWarning(period.start, period.end, "no note has a date in this time")
            for period in periods
            if not len(find_notes_in_periods(snapshot, [period]))
        ),
    )
    by_place = tuple(sorted(warnings, key=lambda warning: warning.start))
    return QueryInterpretation(query_conditions, by_place, periods, has_dates(snapshot))


_STRATEGY_PREFIX = lazy_pattern(r"\s*(![a-z])(?=\s)", re.IGNORECASE)
_BAR = lazy_pattern(r"(?<=\s)\|(?=\s)")


def _sign_warnings(snapshot: Corpus, text: str) -> Iterator[QueryWarning]:
    """Yield a warning for an unclosed quotation mark, an unknown strategy prefix, and too many bars."""
    at = find_unpaired_quotation_mark(text, snapshot.facets.properties)
    if at >= 0 and (at == 0 or text[at - 1].isspace() or text[at - 1] in ":-"):
        yield QueryWarning(at, at + 1, "a quotation mark is not closed")
    forcing = _STRATEGY_PREFIX.match(text)
    if forcing and forcing[1].lower() not in STRATEGY_PREFIXES:
        yield QueryWarning(*forcing.span(1), f"{forcing[1]} is not a strategy: {' '.join(STRATEGY_PREFIXES)}")
    bars = [bar.start() for bar in _BAR.finditer(text)]
    if len(bars) >= MAX_ALTERNATIVES:
        at = bars[MAX_ALTERNATIVES - 1]
        yield QueryWarning(at, len(text), f"at most {MAX_ALTERNATIVES} queries run at once")


_FILTER_LIKE = lazy_pattern(r'(?<!\S)-?([^\W\d][\w.-]*):(?![/:\\])("[^"]*"?|\S*)')
_MISSING_VALUE = {
    FilterKind.TAG: "needs a tag",
    **dict.fromkeys(DATE_KINDS, "needs a time: 7d, 2025-03"),
}


def _word_warnings(snapshot: Corpus, text: str, query_conditions: tuple[QueryCondition, ...]) -> Iterator[QueryWarning]:
    """Yield a warning for each part of the query text that looks like a filter but is searched as a word."""
    for match in _FILTER_LIKE.finditer(text):
        if any(condition.start <= match.start() < condition.end for condition in query_conditions) or _is_quoted(
            text, match.start()
        ):
            continue
        key, value = fold(match[1]), match[2].strip('"')
        if kind := FILTER_KINDS.get(key):
            if not value.strip():
                message = f"{match[1]}: {_MISSING_VALUE.get(kind, 'needs a name')}"
            elif kind in DATE_KINDS:
                message = f"“{value}” is not a time: 7d, 2025-03"
            else:
                message = f"“{value}” is not a valid value"
            yield QueryWarning(*match.span(), message)
        elif key in snapshot.facets.properties:
            yield QueryWarning(*match.span(), f"{match[1]}: needs a value")
    for hint in suggest_filters(text, KnownNames(snapshot.facets.properties, snapshot.facets.tags, FILTER_KINDS)):
        yield QueryWarning(hint.start, hint.end, hint.message)


def _is_quoted(text: str, at: int) -> bool:
    return text.count('"', 0, at) % 2 == 1


_NO_MATCH = {
    FilterKind.TAG: "no note is tagged {}",
    FilterKind.PATH: "no path contains {}",
    FilterKind.FOLDER: "no folder with notes is named {}",
    FilterKind.FILE: "no file name contains {}",
    FilterKind.TITLE: "no title contains {}",
    FilterKind.HEADING: "no heading contains {}",
    FilterKind.MODIFIED: "no note was changed in {}",
    FilterKind.CREATED: "no note was created in {}",
    FilterKind.LINK: "no note links to {}",
    FilterKind.KIND: "no file is of the kind {}",
    FilterKind.PAGE: "no passage is on a page {}",
    FilterKind.FROM: "no note is linked from {}",
    FilterKind.IS: "no note is {}",
}


def _filter_warnings(
    snapshot: Corpus, text: str, query_conditions: tuple[QueryCondition, ...], today: date
) -> Iterator[QueryWarning]:
    """Yield a warning for each filter, not negated, that no fragment of the vault passes."""
    for condition in query_conditions:
        if condition.filter is None or condition.filter.negated:
            continue
        rows = flag_allowed_rows(
            Query("", filters=(condition.filter,)), snapshot, lambda words: analyze_text(words, snapshot), today
        )
        if rows is not None and not rows.any():
            value = condition.filter.value.lstrip("#")
            if condition.filter.kind is FilterKind.MODIFIED and snapshot.facets.is_copied.any():
                message = "the files have one time, as after a copy, and no note has a date of its own in {}"
                yield QueryWarning(condition.start, condition.end, message.format(f"“{value}”"))
                continue
            message = _NO_MATCH.get(condition.filter.kind, f"no note has {text[condition.start : condition.end]}")
            yield QueryWarning(condition.start, condition.end, message.format(f"“{value}”"))


_NO_SURE_PASSAGE = "No passage is sure to answer"
_MAX_NAMED = 3
_MAX_NAME_COLUMNS = 30


def format_unsure_notice(lack: str = _NO_SURE_PASSAGE, *, is_by_meaning: bool = False) -> str:
    """Return the sentence on an unsure result; `lack` is the clause on what its passages lack, if that is known."""
    return f"{lack}; these are nearest{' in meaning' if is_by_meaning else ''}."


def add_past_question(lack: str, past_question: str, queries: Sequence[str]) -> str:
    """Return the clause `lack` and that the user once used a passage for `past_question`, as one of `queries` asks."""
    if normalize_query(past_question) in map(normalize_query, queries):
        return f"{lack}, but you once used one for this"
    return f"{lack}, but you once asked this as “{truncate(visible_line(past_question), MAX_QUESTION_CELLS)}”"


def describe_missing_words(evidences: Sequence[Evidence], languages: Sequence[str]) -> str:
    """Return a clause that names the words which no passage has, or which no passage has together.

    `evidences` are the evidence of the query's alternatives. Words such as "how", and words that name a time, are not
    named.
    """
    words = weigh_words(evidences, languages)
    if missing := {word.text: word.weight for word in words if not word.is_found}:
        return f"No passage has {_name_words(missing)}"
    if words and not any(
        _are_found_together([match for _, match in _select_content_words(evidence, languages).values()], evidence)
        for evidence in evidences
    ):
        return f"No passage has {_name_words({word.text: word.weight for word in words})} together"
    return _NO_SURE_PASSAGE


def weigh_words(evidences: Sequence[Evidence], languages: Sequence[str]) -> tuple[QuestionWord, ...]:
    """Return the content words of a query with their weights; `evidences` are the evidence of its alternatives."""
    words: dict[str, QuestionWord] = {}
    for evidence in evidences:
        for text, (word, match) in _select_content_words(evidence, languages).items():
            is_found = (text in words and words[text].is_found) or _is_found(match, evidence.is_allowed)
            words[text] = QuestionWord(text, match.idf, frozenset(word.terms), is_found)
    return tuple(words.values())


MIN_PART_SHARE = 0.73
"""The share of its words' weight that a passage must have, or a part of a question is not found.

With any from .66, one in a hundred parts that are answered is named (docs/design/quality.md).
"""
MIN_PART_COSINE = 0.58
"""The cosine of the static model from which a passage may answer a part of a question in words of its own."""
MIN_NAMED_WEIGHT = 1.0
"""The weight of the word with which a part begins that is named: not "there" or "also"."""
MIN_PART_LETTERS = 3
"""The letters of a word that is named as a part of its own, if they are Latin ones: not "X"."""
MIN_WORDS_BESIDE_COURTESY = 3
"""The other words of a part with a courtesy that is named: not "thanks in advance"."""
_JOINING = "(?:and|or|und|oder|et|ou)"
_ABBREVIATION = r"\b(?:[^\W\d_](?:\.\s?[^\W\d_]\b)+\.?|(?:vs|eg|ie)\b\.?|(?:dr|mrs?|ms|prof|bzw|ca|ggf|incl|inkl)\.)"
_PART_SIGN = lazy_pattern(
    rf"(?P<abbreviation>{_ABBREVIATION})|[.?!;:,]+(?=\s|$)|[。？！；，、]|\b{_JOINING}(?:/{_JOINING})?\b", re.IGNORECASE
)


def find_missing_parts(
    text: str, evidence: Evidence, languages: Sequence[str], is_near: Callable[[str], bool]
) -> tuple[str, ...]:
    """Return the parts of a question that no passage covers, as typed; () if no other part is covered.

    A part ends at a sign of punctuation or at "and" or "or". A passage covers it if it has most of its words, by
    weight, or `is_near` says that it is near to it in meaning; courtesies and abbreviations such as "e.g." do not
    count. `text` is the question without filters.
    """
    signs = list(_PART_SIGN.finditer(text))
    starts = [0, *(sign.end() for sign in signs if sign["abbreviation"] is None)]
    if len(starts) == 1:
        return ()
    sign_starts, courteous = [sign.start() for sign in signs], set[int]()
    words: list[list[tuple[int, int, WordMatches]]] = [[] for _ in starts]
    at = 0
    for word, match in iterate_content_words(evidence, languages):
        found = text.find(word.surface, at)
        if found < 0 or not _is_loaded(match):
            return ()
        at = found + len(word.surface)
        number, sign = bisect_right(starts, found) - 1, bisect_right(sign_starts, found) - 1
        if is_courtesy(fold(word.surface)):
            courteous.add(number)
        elif sign < 0 or signs[sign].end() <= found:
            words[number].append((found, at, match))
    is_covered = [_is_covered([match for _, _, match in part], evidence) for part in words]
    if not any(is_covered[number] for number, part in enumerate(words) if part):
        return ()
    missing = [
        part
        for number, part in enumerate(words)
        if not is_covered[number]
        and len(part) >= (MIN_WORDS_BESIDE_COURTESY if number in courteous else 1)
        and (len(part) > 1 or _is_long(text[part[0][0] : part[0][1]]))
    ]
    firsts = [
        next((first for first, _, match in part if match.idf >= MIN_NAMED_WEIGHT), part[0][0]) for part in missing
    ]
    spans = zip(firsts, (part[-1][1] for part in missing), strict=True)
    named = (" ".join(text[first:last].split()) for first, last in spans)
    return tuple(part for part in named if not is_near(part))


def _is_long(word: str) -> bool:
    """Return whether a word alone is named as a part; the words of other scripts may have one letter."""
    return len(word) >= MIN_PART_LETTERS or not word.isascii()


def _is_covered(matches: Sequence[WordMatches], evidence: Evidence) -> bool:
    """Return whether a fragment that passes the filters has words of MIN_PART_SHARE of the weight of all."""
    weights = np.zeros(len(evidence.is_match), np.float32)
    for match in matches:
        flags = np.zeros(len(weights), np.bool_)
        if match.count:
            match.term_matches.mark(flags)
        weights += flags * np.float32(match.idf)
    if evidence.is_allowed is not None:
        weights = weights[evidence.is_allowed]
    return float(weights.max(initial=0)) >= MIN_PART_SHARE * sum(match.idf for match in matches)


def format_missing_parts(parts: Sequence[str]) -> str:
    """Return a sentence that names parts of a question; "" without any."""
    return f"Not found: {_format_names(parts[:_MAX_NAMED], len(parts))}." if parts else ""


def _select_content_words(evidence: Evidence, languages: Sequence[str]) -> dict[str, tuple[ExpandedWord, WordMatches]]:
    """Return the content words of a query with their terms and matches."""
    return {word.surface: (word, match) for word, match in iterate_content_words(evidence, languages)}


def iterate_content_words(evidence: Evidence, languages: Sequence[str]) -> Iterator[tuple[ExpandedWord, WordMatches]]:
    """Yield the content words of a query with their terms and matches, in the order of the query."""
    folded = [fold(word.surface) for word in evidence.words]
    stop_words = select_stop_words(set(folded), ("en", *languages[:MAX_LANGUAGES]))
    columns = zip(evidence.words, folded, evidence.matches, evidence.is_period_word.tolist(), strict=True)
    for word, surface, match, is_period_word in columns:
        if not (word.is_part or is_period_word or surface in stop_words):
            yield word, match


def _is_found(match: WordMatches, is_allowed: Flags | None) -> bool:
    """Return whether a fragment that passes the filters has a word."""
    if not match.count or is_allowed is None or not _is_loaded(match):
        return match.count > 0
    flags = np.zeros(len(is_allowed), np.bool_)
    match.term_matches.mark(flags)
    return bool((flags & is_allowed).any())


def _are_found_together(matches: Sequence[WordMatches], evidence: Evidence) -> bool:
    """Return whether a fragment that passes the filters has all of some words.

    They are looked up in the rows of the rarest word only: all rows of common words would take longer than a search.
    """
    rarest_first = sorted(filter(_is_loaded, matches), key=lambda match: match.count)
    if not rarest_first:
        return bool(matches)
    flags = np.zeros(len(evidence.is_match), np.bool_)
    rarest_first[0].term_matches.mark(flags)
    rows = np.flatnonzero(flags if evidence.is_allowed is None else flags & evidence.is_allowed).astype(np.int32)
    for match in rarest_first[1:]:
        if not len(rows):
            break
        _, fields = match.term_matches.scores_and_fields_at(rows)
        rows = rows[fields > 0]
    return len(rows) > 0


def _is_loaded(match: WordMatches) -> bool:
    """Return whether the rows of a word are known; in a store, it may be in fragments that are not loaded."""
    return not (match.count and match.term_matches.is_computed and not len(match.rows))


def _name_words(weights: Mapping[str, float]) -> str:
    """Return the words of the highest weights in quotation marks, in their order, and how many others there are."""
    heaviest = set(sorted(weights, key=lambda word: -weights[word])[:_MAX_NAMED])
    return _format_names([word for word in weights if word in heaviest], len(weights))


def _format_names(names: Sequence[str], count: int) -> str:
    """Return words or parts of a question in quotation marks, and how many others of `count` there are."""
    quoted = ", ".join(f"“{truncate(visible_line(name), _MAX_NAME_COLUMNS)}”" for name in names)
    others = count - len(names)
    return quoted + (f" and {others} more" if others else "")
