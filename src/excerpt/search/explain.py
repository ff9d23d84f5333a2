"""Why a hit stands where it stands, and why a note is not higher, or not there at all."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import partial, reduce
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from rapidfuzz import process

from excerpt.corpus.interface import Corpus
from excerpt.corpus.tables import TermPostings
from excerpt.json_forms import picked
from excerpt.kinds import Strategy
from excerpt.model import Fragment, Hit, Result, Signal, Span
from excerpt.search.candidates import Candidates
from excerpt.search.engine import Answer, Engine, Ranking, count_matching
from excerpt.search.evidence import POOL, Evidence, asked_words
from excerpt.search.filters import allowed
from excerpt.search.lexical import FIELDS, PARTIAL, Match, Rows, Tier, Word, WordIndex
from excerpt.search.query import Filter, FilterKind, Query
from excerpt.search.ranking import Floats, add_name, reciprocal
from excerpt.text.words import WIDE_CHARACTERS, chunks_of

# --- nearest ----------------------------------------------------------------------------------------------------------
# The sentences of a fragment that say most nearly what was asked, where it was found by its meaning.

MOST = 3
NEAR_BEST = 0.8
"""Share of the best sentence's similarity above the vault's ordinary that another must have to be marked too. Of 105
fragments that 35 questions to the Obsidian help find, it marks 1.4 of 5.9 sentences."""
LEAST = 0.15
"""Cosine above the vault's ordinary below which a sentence says nothing of what was asked."""
_FEWEST_WORDS = 3
_FEWEST_WIDE = 5

_FENCE = re.compile(r"^\s*(?:>\s?)*(?:`{3,}|~{3,})")
_NO_PROSE = re.compile(r"^\s*(?:#{1,6}\s|\||[-*_=\s]*$|>\s*\[!)")
_START = re.compile(r"^\s*(?:(?:>|[-*+]|\d+[.)])\s+)*(?:\[.\]\s+)?")
_END = re.compile(r"[.!?…]+[\"'”’)*_\]]*(?=\s)|[。！？]+[」』”]?")
_WIDE = re.compile(f"[{WIDE_CHARACTERS}]")


def nearest_sentences(engine: Engine, query: str, text: str) -> tuple[Span, ...]:
    """At most three sentences of `text`, as spans of it, ascending; none where none stands out, nor where there is but
    one. Raises ModelError where the model cannot be loaded."""
    asked = [one.words for one in engine.parse(query) if one.words.strip()]
    spans = list(sentences(text))
    if not asked or len(spans) < 2:
        return ()
    told = [" ".join(text[span.start : span.end].split()) for span in spans]
    vectors = engine.snapshot.embedder.embed([*asked, *told])
    questions, answers = vectors[: len(asked)], vectors[len(asked) :]
    above = (questions @ answers.T - (questions @ engine.snapshot.vectors.mean)[:, None]).max(axis=0)
    best = float(above.max())
    if best < LEAST:
        return ()
    order = np.argsort(-above, kind="stable")[:MOST]
    return tuple(spans[at] for at in sorted(order.tolist()) if above[at] >= NEAR_BEST * best)


def sentences(text: str) -> Iterator[Span]:
    """The sentences of a fragment, of some length: of its paragraphs and items, not of code, tables and headings."""
    for start, end in _stretches(text):
        at = start
        for found in [*(one.end() for one in _END.finditer(text, start, end)), end]:
            piece = text[at:found]
            begin, stop = at + len(piece) - len(piece.lstrip()), at + len(piece.rstrip())
            if _says_something(text[begin:stop]):
                yield Span(begin, stop)
            at = found


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs and items as stretches of the text; one that goes on over several lines is one."""
    begun: int | None = None
    at = end = 0
    fenced = False
    for line in text.split("\n"):
        edge = _FENCE.match(line) is not None
        prose = not (edge or fenced or _NO_PROSE.match(line))
        lead = _START.match(line)
        indent = lead.end() if lead else 0
        if begun is not None and (not prose or line[:indent].strip()):
            yield begun, end
            begun = None
        if prose:
            begun = at + indent if begun is None else begun
            end = at + len(line)
        fenced = fenced != edge
        at += len(line) + 1
    if begun is not None:
        yield begun, end


def _says_something(sentence: str) -> bool:
    return len(sentence.split()) >= _FEWEST_WORDS or len(_WIDE.findall(sentence)) >= _FEWEST_WIDE


# --- each strategy ----------------------------------------------------------------------------------------------------
# The answers of every strategy to one query, from one gathering of what speaks for the fragments.


def under_each(engine: Engine, text: str, limit: int) -> tuple[Result, ...]:
    """What `Engine.search` finds under each strategy, in their order, without spans; a strategy forced in the query
    does not count. The time of each is that of its own ranking."""
    pool = max(POOL, limit)
    found = [(query, *engine.candidates(query, pool)) for query in engine.parse(text)]
    results: list[Result] = []
    for strategy in Strategy:
        begun = time.perf_counter()
        answers = [engine.weigh(query, evidence, rows, strategy, pool) for query, evidence, rows in found]
        hits = engine.hits(engine.ranking(answers), 0, limit, marked=0)
        took = (time.perf_counter() - begun) * 1e3
        matched = count_matching(answers)
        results.append(Result(text, strategy, answers[0].strategy, hits, matched, took, engine.snapshot.generation))
    return tuple(results)


# --- explain ----------------------------------------------------------------------------------------------------------
# Why a hit stands where it stands: its signals, and what each word of the query gave it.
#
# All numbers are the engine's own, asked for once more: nothing is estimated, and the parts add up to the score.


class TermLikeness(StrEnum):
    """How a term of the vault is a word of the query."""

    EXACT = "exact"
    BEGINS = "begins like"
    SPELLED = "spelled like"


@dataclass(frozen=True, slots=True)
class StandIn:
    """Terms of the vault that a word stands for, and what they count beside the word itself, 0 to 1."""

    likeness: TermLikeness
    terms: tuple[str, ...]
    share: float


@dataclass(frozen=True, slots=True)
class FieldCount:
    """How often a word stands in one field of a fragment."""

    field: str
    count: int


@dataclass(frozen=True, slots=True)
class WordPart:
    """A word of the query, and what a fragment has of it; of a script without spaces, a stretch of characters that the
    fragment has or lacks together.

    `fragments` of the vault have it; `idf` is its rarity, of which it counts the share `telling`, 0 to 1. `here` are
    the terms by which this fragment has it, `part` is what they add to the score, of the signal `words`.
    """

    word: str
    stands_for: tuple[StandIn, ...]
    fragments: int
    idf: float
    telling: float
    here: tuple[str, ...]
    places: tuple[FieldCount, ...]
    part: float

    @property
    def is_missing(self) -> bool:
        return not self.here

    @property
    def where(self) -> tuple[str, ...]:
        """Where the fragment has it, each place in words."""
        if self.is_missing:
            return ("not here" if self.fragments else "nowhere in the vault",)
        return tuple(f"{place.field} {place.count}" for place in self.places)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be known of it beside its figures: what else it stands for, and that it counts less."""
        found: list[str] = []
        for like in self.stands_for:
            if like.likeness is not TermLikeness.EXACT:
                terms = [term for term in like.terms if term in self.here] or like.terms
                found.append(f"{like.likeness} {', '.join(terms)}: counts ×{like.share:.2f}")
        if self.fragments and self.telling < 0.995:
            found.append(f"says little by itself: its rarity counts ×{self.telling:.2f}")
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A hit taken apart. `rank` counts from 1; `share` is its score beside the first hit's, 0 to 1."""

    hit: Hit
    rank: int
    share: float
    words: tuple[WordPart, ...]

    @property
    def lacking(self) -> tuple[WordPart, ...]:
        """The words that the fragment does not have, the rarest first."""
        missing = (word for word in self.words if word.is_missing)
        return tuple(sorted(missing, key=lambda word: -word.idf * word.telling))

    def to_dict(self) -> dict[str, Any]:
        """What `excerpt search --explain --json` has beside the hit."""
        return picked(self, "rank", "share", "words")


def explain_hits(engine: Engine, result: Result, first: int = 0, last: int | None = None) -> tuple[Explanation, ...]:
    """The hits of a result from place `first` up to `last` (exclusive), taken apart; without words where the engine
    reads another generation than the result is of."""
    top = result.hits[0].score if result.hits else 0.0
    hits = result.hits[first:last]
    readers: dict[str, WordReader] = {}
    if hits and result.generation == engine.snapshot.generation:
        readers = _readers(engine, result)
    ranked = enumerate(hits, first + 1)
    return tuple(explained(readers.get(hit.fragment.id), hit, rank, top) for rank, hit in ranked)


def _readers(engine: Engine, result: Result) -> dict[str, WordReader]:
    """For each hit, under its fragment's id, who reads the words of the alternative that gives it most."""
    pool = max(POOL, len(result.hits))
    ranking = engine.ranking([engine.answer(query, result.asked, pool) for query in engine.parse(result.query)])
    readers = [WordReader(engine, answer.evidence) for answer in ranking.answers]
    which = dict(zip(ranking.rows.tolist(), ranking.which.tolist(), strict=True))
    rows = np.searchsorted(engine.snapshot.table.keys, [hit.fragment.key for hit in result.hits]).tolist()
    found = zip(result.hits, rows, strict=True)
    return {hit.fragment.id: readers[which[row]] for hit, row in found if row in which}


def explained(reader: WordReader | None, hit: Hit, rank: int, top: float) -> Explanation:
    """A hit of this rank, in a list that begins with the score `top`; without words where nobody reads them."""
    words = reader.parts(hit) if reader is not None else ()
    return Explanation(hit, rank, hit.score / top if top > 0 else 0.0, words)


@dataclass(frozen=True, slots=True)
class _AskedWord:
    """What is true of a word in all fragments: the rows that have it, its gains as the score has them (`match`), and
    where its terms stand."""

    told: WordPart
    rows: Rows
    match: Match
    postings: tuple[tuple[str, str, TermPostings], ...]


class WordReader:
    """Reads what fragments have of the words of one query."""

    def __init__(self, engine: Engine, evidence: Evidence) -> None:
        self._keys = engine.snapshot.table.keys
        pairs = zip(evidence.words, evidence.matches, strict=True)
        self._asked = [_asked(engine, word, match) for word, match in pairs]
        self._runs = _runs(evidence.words)

    def parts(self, hit: Hit) -> tuple[WordPart, ...]:
        """What each word gave a hit; together as much as the signal `words`."""
        row = int(np.searchsorted(self._keys, hit.fragment.key))
        gains = [_at(asked.match.rows, asked.match.gain, row) for asked in self._asked]
        total = sum(gains)
        part = next((signal.part for signal in hit.signals if signal.name == "words"), 0.0)
        parts: list[WordPart] = []
        for asked, gain in zip(self._asked, gains, strict=True):
            here, places = _places(asked.postings, row)
            given = part * gain / total if total else 0.0
            parts.append(replace(asked.told, here=here, places=places, part=given))
        return tuple(part for run in self._runs for part in self._joined(run, parts))

    def _joined(self, run: Sequence[int], parts: Sequence[WordPart]) -> Iterator[WordPart]:
        """The parts of a run as a reader has them: what the fragment has together is one word; what it lacks is told
        where none of its characters is in what it has."""
        size = _gram_size(parts[run[0]].word)
        having = {at for at in run if parts[at].here}
        told = [at for at in run if at in having or not having.intersection(range(at - size + 1, at + size))]
        for _, group in groupby(enumerate(told), lambda one: one[1] - one[0]):
            chain = [at for _, at in group]
            yield parts[chain[0]] if len(chain) == 1 else self._one_word(chain, [parts[at] for at in chain])

    def _one_word(self, chain: Sequence[int], parts: Sequence[WordPart]) -> WordPart:
        """Overlapping stretches of characters as the word that they make."""
        fragments = len(reduce(np.intersect1d, (self._asked[at].rows for at in chain)))
        terms = tuple(term for part in parts for like in part.stands_for for term in like.terms)
        counts = [{place.field: place.count for place in part.places} for part in parts]
        fewest = ((field, min(count.get(field, 0) for count in counts)) for field in FIELDS)
        return WordPart(
            word=reduce(_overlaid, (part.word for part in parts)),
            stands_for=(StandIn(TermLikeness.EXACT, terms, 1.0),) if fragments else (),
            fragments=fragments,
            idf=max(part.idf for part in parts),
            telling=max(part.telling for part in parts),
            here=tuple(term for part in parts for term in part.here),
            places=tuple(FieldCount(field, count) for field, count in fewest if count) or parts[0].places,
            part=sum(part.part for part in parts),
        )


def words_asked(words: Sequence[Word]) -> tuple[str, ...]:
    """The words of a query as a reader has them."""
    return tuple(reduce(_overlaid, (words[at].surface for at in run)) for run in _runs(words))


def _runs(words: Sequence[Word]) -> list[list[int]]:
    """Words by their places, those together that overlap as stretches of a script without spaces do."""
    runs: list[list[int]] = []
    for at, word in enumerate(words):
        before = words[at - 1]
        follows = at and word.position == before.position + 1 and _gram_size(before.surface) and len(before.surface) > 1
        if follows and _overlap(before.surface, word.surface):
            runs[-1].append(at)
        else:
            runs.append([at])
    return runs


def _gram_size(surface: str) -> int:
    """How many characters are indexed together where a word has no spaces around it; 0 for one that has."""
    return next((size for _, size in chunks_of(surface)), 0)


def _overlap(before: str, after: str) -> int:
    return next((count for count in range(len(after) - 1, 0, -1) if before.endswith(after[:count])), 0)


def _overlaid(before: str, after: str) -> str:
    return before + after[_overlap(before, after) :]


def _asked(engine: Engine, word: Word, match: Match) -> _AskedWord:
    plain = engine.index.match(word)
    lexical = engine.snapshot.lexical
    told = WordPart(
        word=word.surface,
        stands_for=_stand_ins(word, engine.index),
        fragments=len(plain.rows),
        idf=plain.idf,
        telling=match.idf / plain.idf if plain.idf else 1.0,
        here=(),
        places=(),
        part=0.0,
    )
    postings = tuple((field, term, lexical.postings(field, term)) for term in word.terms for field in FIELDS)
    return _AskedWord(told, plain.rows, match, tuple(found for found in postings if len(found[2].rows)))


def _stand_ins(word: Word, index: WordIndex) -> tuple[StandIn, ...]:
    """What the word stands for, without what the vault does not have."""
    found: list[StandIn] = []
    for number, tier in enumerate(word.tiers):
        if len(index.match(Word(word.surface, (replace(tier, share=1.0),), word.position)).rows):
            found.append(StandIn(_likeness(number, tier), tier.terms, tier.share))
    return tuple(found)


def _likeness(number: int, tier: Tier) -> TermLikeness:
    if number == 0:
        return TermLikeness.EXACT
    return TermLikeness.BEGINS if tier.share == PARTIAL else TermLikeness.SPELLED


def _places(
    postings: Sequence[tuple[str, str, TermPostings]], row: int
) -> tuple[tuple[str, ...], tuple[FieldCount, ...]]:
    """The terms by which a row has a word, and how often in which fields."""
    here: dict[str, None] = {}
    counts: dict[str, int] = {}
    for field, term, found in postings:
        if count := int(_at(found.rows, found.tf, row)):
            here[term] = None
            counts[field] = counts.get(field, 0) + count
    return tuple(here), tuple(FieldCount(field, counts[field]) for field in FIELDS if field in counts)


def _at(rows: Rows, values: Floats, row: int) -> float:
    """The value that belongs to a row, 0 for one that is not in the ascending `rows`."""
    at = int(np.searchsorted(rows, row))
    return float(values[at]) if at < len(rows) and rows[at] == row else 0.0


# --- why a note is not higher -----------------------------------------------------------------------------------------
# Why a note is not higher, or not there at all: where it stands under each strategy, and what those above have more.
#
# All numbers are the engine's own, asked for once more: nothing is estimated.

COMPARED = 10
"""Hits above a note that it is compared with, the first ones: those a reader looks at."""
RRF = "rrf"
"""Reciprocal rank fusion, beside the strategies in `NoteExplanation.standings`."""
_NO_SIGNAL = Signal("", 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class StrategyRank:
    """Where a note stands under one strategy, by the fragment that stands highest, which begins at `line`.

    `led` is the strategy that answered. `rank`, `score` and `line` are None where no fragment of it is listed.
    """

    strategy: str
    led: str
    rank: int | None = None
    score: float | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """What a signal gives a fragment and, on average, the hits above it; `cost` is how much more it adds to theirs."""

    signal: str
    value: float
    above: float
    cost: float


class AbsenceKind(StrEnum):
    """Why a note is in no list."""

    UNKNOWN = "unknown"
    SKIPPED = "skipped"
    EMPTY = "empty"
    EXCLUDED = "excluded"
    UNMATCHED = "unmatched"


@dataclass(frozen=True, slots=True)
class Absence:
    """`reason` is a sentence; it may hold text of the vault. `near` are the paths of notes called nearly so, where none
    is called so, the nearest first."""

    kind: AbsenceKind
    reason: str
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoteExplanation:
    """Why a note stands where it stands under the strategy asked for, or why it does not.

    `explanation` is of its highest fragment, `gaps` are to the first `compared` hits above it, dearest signal first;
    they add up to how much the score is below theirs. `from_limit` is the least limit of a search that lists it.
    """

    query: str
    asked: Strategy
    note: str
    path: str | None = None
    absence: Absence | None = None
    standings: tuple[StrategyRank, ...] = ()
    explanation: Explanation | None = None
    gaps: tuple[Gap, ...] = ()
    compared: int = 0
    from_limit: int | None = None

    @property
    def verdict(self) -> str:
        """Why the note is where it is, or why it is not there; what it holds of the query, then what others have."""
        found = self.explanation
        if found is None:
            return self.absence.reason if self.absence is not None else ""
        said = f"{ordinal(found.rank)}: {_has(found)}"
        return f"{said}; {ahead}." if (ahead := _ahead(self, found)) else f"{said}."

    def to_dict(self) -> dict[str, Any]:
        """What `excerpt search --why --json` prints: the explanation stands in its hit, and the words that are lacking
        by themselves."""
        found = self.explanation
        return {
            "query": self.query,
            "strategy": self.asked,
            **picked(self, "note", "path", "absence", "from_limit", "standings", "compared", "gaps"),
            "lacking": [] if found is None else [word.word for word in found.lacking],
            "hit": None if found is None else {**found.hit.to_dict(), "explanation": found.to_dict()},
        }


def explain_note(engine: Engine, text: str, note: str, asked: Strategy) -> NoteExplanation:
    """Where `note` (a path, title, file name or alias) stands in the answer to the query `text`, and why not higher.

    Of several notes so called it is about the one that stands highest.
    """
    queries = engine.parse(text)
    told = NoteExplanation(text, queries[0].strategy or asked, note)
    numbers = _notes_called(engine.snapshot, note)
    if not numbers:
        return _unknown(engine.snapshot, told)
    paths = [engine.snapshot.table.paths[number] for number in numbers]
    told = replace(told, path=paths[0])
    engine.prefetch(queries, notes=paths)
    table = engine.snapshot.table
    rows = np.flatnonzero(np.isin(table.notes, numbers)).astype(np.int32)
    if not len(rows):
        return replace(told, absence=Absence(AbsenceKind.EMPTY, f"{told.path} has no text that could be found."))
    return _stands(engine, told, queries, rows)


def explain_fragment(engine: Engine, text: str, fragment: Fragment, asked: Strategy) -> NoteExplanation:
    """As `explain_note`, of one fragment alone; absent where the engine's generation does not have it."""
    queries = engine.parse(text)
    told = NoteExplanation(text, queries[0].strategy or asked, fragment.path, fragment.path)
    current = engine.snapshot.fragment(fragment.id)
    if current is None:
        return replace(told, absence=Absence(AbsenceKind.UNKNOWN, f"{fragment.path} has changed since."))
    engine.prefetch(queries, notes=[fragment.path])
    rows = np.searchsorted(engine.snapshot.table.keys, [current.key]).astype(np.int32)
    return _stands(engine, told, queries, rows)


def _stands(engine: Engine, told: NoteExplanation, queries: Sequence[Query], rows: Rows) -> NoteExplanation:
    found = [engine.candidates(query) for query in queries]
    pool = max(POOL, min(_pool_for(evidence, rows) for evidence, _ in found))
    if pool > POOL:
        found = [engine.candidates(query, pool) for query in queries]
    grounds = [_Ground(query, *one, pool) for query, one in zip(queries, found, strict=True)]
    ranking = _ranking(engine, grounds, told.asked)
    told = replace(told, standings=tuple(_standings(engine, grounds, rows)))
    places = np.flatnonzero(np.isin(ranking.rows, rows))
    if not len(places):
        return replace(told, absence=_absence(engine, queries, ranking.answers, told.path or "", rows))
    told = _placed(engine, told, ranking, int(places[0]))
    return replace(told, from_limit=max(int(places[0]) + 1, pool if pool > POOL else 1))


@dataclass(frozen=True, slots=True)
class _Ground:
    """One alternative of a query, and what was found for it, `pool` fragments by words and by meaning."""

    query: Query
    evidence: Evidence
    found: Candidates
    pool: int


def _ranking(engine: Engine, grounds: Sequence[_Ground], strategy: Strategy) -> Ranking:
    return engine.ranking([engine.weigh(g.query, g.evidence, g.found, strategy, g.pool) for g in grounds])


def _placed(engine: Engine, told: NoteExplanation, ranking: Ranking, place: int) -> NoteExplanation:
    (hit,) = engine.hits(ranking, place, place + 1)
    evidence = ranking.answers[ranking.which[place]].evidence
    above = engine.hits(ranking, 0, min(place, COMPARED))
    return replace(
        told,
        path=hit.fragment.path,
        explanation=explained(WordReader(engine, evidence), hit, place + 1, float(ranking.scores[0])),
        gaps=_gaps(hit, above),
        compared=len(above),
    )


def _pool_for(evidence: Evidence, rows: Rows) -> int:
    """How many fragments words or meaning must put forward until one of `rows` is among them; where neither does, how
    many are allowed at all."""
    needed = [
        int(np.count_nonzero(values >= values[rows].max()))
        for values, floor in ((evidence.scores.all, 0.0), (evidence.similarities.all, evidence.similarities.mean))
        if values[rows].max() > np.float32(floor)
    ]
    listed = 0 if evidence.allowed is None else int(np.count_nonzero(evidence.allowed))
    return min(needed, default=listed)


def _gaps(own: Hit, above: Sequence[Hit]) -> tuple[Gap, ...]:
    if not above:
        return ()
    have = {signal.name: signal for signal in own.signals}
    theirs = [{signal.name: signal for signal in hit.signals} for hit in above]
    gaps: list[Gap] = []
    for name in dict.fromkeys((*have, *(name for signals in theirs for name in signals))):
        mine, others = have.get(name, _NO_SIGNAL), [signals.get(name, _NO_SIGNAL) for signals in theirs]
        value, part = (sum(values) / len(above) for values in zip(*((s.value, s.part) for s in others), strict=True))
        gaps.append(Gap(name, mine.value, value, part - mine.part))
    return tuple(sorted(gaps, key=lambda gap: -gap.cost))


def _standings(engine: Engine, grounds: Sequence[_Ground], rows: Rows) -> Iterator[StrategyRank]:
    """Under every strategy, and as reciprocal rank fusion of the same lists would have it."""
    for strategy in Strategy:
        ranking = _ranking(engine, grounds, strategy)
        yield _standing(engine, strategy, ranking.answers[0].strategy, ranking, rows)
    yield _standing(engine, RRF, RRF, engine.ranking([_reciprocal(engine, ground) for ground in grounds]), rows)


def _reciprocal(engine: Engine, ground: _Ground) -> Answer:
    answer = engine.weigh(ground.query, ground.evidence, ground.found, Strategy.HYBRID, ground.pool)
    if answer.judgement is None:  # listed, not ranked
        return answer
    found = ground.found
    scored = reciprocal(found.rows, found.signals)
    return replace(answer, scored=add_name(scored, found.named, engine.snapshot.table.notes[found.rows]))


def _standing(engine: Engine, strategy: str, led: str, ranking: Ranking, rows: Rows) -> StrategyRank:
    places = np.flatnonzero(np.isin(ranking.rows, rows))
    if not len(places):
        return StrategyRank(str(strategy), str(led))
    at = int(places[0])
    line = int(engine.snapshot.table.lines[ranking.rows[at]])
    return StrategyRank(str(strategy), str(led), at + 1, float(ranking.scores[at]), line)


# --- a note that is not there -----------------------------------------------------------------------------------------


def _notes_called(snapshot: Corpus, note: str) -> list[int]:
    """The notes of that path, or else file name, or else title or alias, as places in `table.paths`."""
    path = snapshot.facets.targets.resolve(note, "") if note.strip() else None
    if path:
        return [snapshot.facets.numbers[path]]
    return list(snapshot.notes_named(note))


def _unknown(snapshot: Corpus, told: NoteExplanation) -> NoteExplanation:
    wanted = told.note.casefold()
    for skipped in snapshot.skipped:
        place = PurePosixPath(skipped.path)
        if wanted in (skipped.path.casefold(), place.name.casefold(), place.stem.casefold()):
            reason = f"{skipped.path} is not in the index: {skipped.reason}"
            return replace(told, path=skipped.path, absence=Absence(AbsenceKind.SKIPPED, reason))
    stems = {path: PurePosixPath(path).stem.casefold() for path in snapshot.table.paths}
    near = tuple(path for _, _, path in process.extract(PurePosixPath(wanted).stem, stems, score_cutoff=70, limit=3))
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return replace(
        told,
        absence=Absence(AbsenceKind.UNKNOWN, f"No note here is called {told.note or repr(told.note)}.{hint}", near),
    )


def _absence(engine: Engine, queries: Sequence[Query], answers: Sequence[Answer], path: str, rows: Rows) -> Absence:
    """Why none of a note's rows is in the answer, for every alternative of the query."""
    pairs = zip(queries, answers, strict=True)
    reasons = list(dict.fromkeys(_absence_from(engine, query, answer, path, rows) for query, answer in pairs))
    kind = next((absence.kind for absence in reasons if absence.kind is not AbsenceKind.EXCLUDED), reasons[0].kind)
    return Absence(kind, " ".join(absence.reason for absence in reasons))


def _absence_from(engine: Engine, query: Query, answer: Answer, path: str, rows: Rows) -> Absence:
    if excluded := _excluded_by(engine.snapshot, query, rows):
        return Absence(AbsenceKind.EXCLUDED, f"{path} is left out by {' and '.join(excluded)}.")
    evidence = answer.evidence
    if evidence.scores.all[rows].any():
        return Absence(AbsenceKind.UNMATCHED, f"{path} has words of the query, but {answer.strategy} counts no words.")
    near = bool((evidence.similarities.at(rows) > np.float32(evidence.similarities.mean)).any())
    of_meaning = f"what it means counts nothing under {answer.strategy}" if near else "none is near it in meaning"
    words = [f"“{word}”" for word in words_asked(evidence.words)]
    lacks = f"{words[0]} is in no passage" if len(words) == 1 else f"None of {', '.join(words)} is in a passage"
    return Absence(AbsenceKind.UNMATCHED, f"{lacks} of {path}, and {of_meaning}.")


def _excluded_by(snapshot: Corpus, query: Query, rows: Rows) -> list[str]:
    """The conditions that none of `rows` meets; if each is met by some, all, since none meets them at once."""
    asked = partial(asked_words, snapshot=snapshot)

    def leave(conditions: Query) -> bool:
        flags = allowed(conditions, snapshot, asked, date.today())
        return flags is None or bool(flags[rows].any())

    conditions = list(_conditions(query))
    failed = [label for label, condition in conditions if not leave(condition)]
    return failed or ([] if leave(query) else [label for label, _ in conditions])


def _conditions(query: Query) -> Iterator[tuple[str, Query]]:
    """Each condition by itself, as it may be typed."""
    for one in query.filters:
        yield _typed(one), Query("", filters=(one,))
    for phrase in query.phrases:
        yield f'"{phrase}"', Query("", phrases=(phrase,))
    for word in query.excluded:
        yield f"-{word}", Query("", excluded=(word,))
    for phrase in query.excluded_phrases:
        yield f'-"{phrase}"', Query("", excluded_phrases=(phrase,))


def _typed(one: Filter) -> str:
    name = one.name if one.kind is FilterKind.PROPERTY else str(one.kind)
    value = f'"{one.value}"' if " " in one.value else one.value
    return f"{'-' if one.negated else ''}{name}:{value}"


# --- verdict ----------------------------------------------------------------------------------------------------------
# One sentence on why a note or fragment stands where it stands, for a reader who wants no numbers.

FILLING = 0.5
"""What a word says by itself (`WordPart.telling`) below which it only fills a query: "how" .35, "undo" .94."""
_NOTHING = 0.0005
"""A difference of scores below which none is shown."""
_NAMED = 3
"""Words of either kind that are named; of more, their number is said."""
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_PLACES = {"its title": ("title", "alias"), "its heading": ("heading",), "the headings above it": ("above",)}

_AHEAD: Mapping[str, str] = {
    "words": "{who} {has} your words more often",
    "coverage": "{who} {has} more of your words",
    "title": "{who} {has} a title nearer to your words",
    "called": "links to {who} are worded nearer to your words",
    "heading": "{who} {has} a heading nearer to your words",
    "outline": "{who} {has} headings above {it} nearer to your words",
    "note": "{who} {has} more of your words in the rest of {its} note",
    "opening": "the note of {who} begins with more of your words",
    "proximity": "{who} {has} your words closer together",
    "meaning": "{who} {is_} nearer in meaning",
    "gist": "the note of {who} begins nearer in meaning",
    "attachment": "{who} is a note, or an attachment that loses less",
    "coherence": "what stands next to {who} is nearer in meaning",
    "links": "more of the matching notes link to {who}",
    "recency": "{who} {was} changed later",
    "listed": "{who} {was} changed later",
    "use": "you used {who} more",
    "name": "{who} {is_} called just what you typed",
}
"""By what signal the hits above are ahead."""
_THE_FIRST = {"who": "the first", "has": "has", "is_": "is", "was": "was", "it": "it", "its": "its"}
_THOSE_ABOVE = {"who": "those above", "has": "have", "is_": "are", "was": "were", "it": "them", "its": "their"}


def ordinal(number: int) -> str:
    """Return `1st`, `12th`, `1,023rd`."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def _has(found: Explanation) -> str:
    parts = {signal.name: signal.part for signal in found.hit.signals}
    if parts.get("name"):
        return "its note is called just what you typed"
    words = _telling(found.words)
    here = [word for word in words if not word.is_missing]
    missing = [word for word in words if word.is_missing]
    near = parts.get("meaning", 0) > 0
    if not words:
        return "nothing but filters was asked, and it passes them" if "listed" in parts else "it is near in meaning"
    if not here:
        lacks = f"{_named(missing, 'or')} is not in it" if len(missing) == 1 else "none of your words is in it"
        return f"{lacks}, but it is near in meaning" if near else lacks
    where = _where(here, all_asked=not missing)
    if not missing:
        count = "both" if len(here) == 2 else f"all {_number(len(here))}"
        return f"{_named(here) if len(here) == 1 else f'{count} words'}{where}"
    if len(here) > _NAMED or len(missing) > _NAMED:
        return f"{_number(len(here))} of your {_number(len(words))} words{where}, not {_named(missing, 'or')}"
    return f"{_named(here)}{where}, not {_named(missing, 'or')}"


def _telling(words: Sequence[WordPart]) -> list[WordPart]:
    """The words that say something, if any does; of a compound, itself or else its parts."""
    told = [word for word in words if word.telling >= FILLING] or list(words)
    compounds = [word for word in told if not word.word.isalnum() or word.word[1:].lower() != word.word[1:]]
    whole = [one.word for one in compounds if not one.is_missing]
    told = [one for one in told if not any(one.word in other and one.word != other for other in whole)]
    apart = [one for one in told if one.is_missing and one in compounds]
    return [one for one in told if one not in apart or not any(o.word in one.word for o in told if o is not one)]


def _where(here: Sequence[WordPart], *, all_asked: bool) -> str:
    """Where most of the words stand that are in a name of the fragment; of one word, where it stands."""
    counts = {
        place: sum(any(found.field in fields for found in word.places) for word in here)
        for place, fields in _PLACES.items()
    }
    place = max(counts, key=lambda name: counts[name])
    if not counts[place]:
        return ""
    if len(here) == 1:
        return f" in {place}"
    if counts[place] < len(here):
        return f", {_number(counts[place])} of them in {place}"
    return f", all in {place}" if all_asked and len(here) > 2 else f" in {place}"


def _named(words: Sequence[WordPart], last: str = "and") -> str:
    names = [f"“{word.word}”" for word in words]
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} {last} {_number(len(names) - _NAMED + 1)} more"
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def _ahead(told: NoteExplanation, found: Explanation) -> str:
    """In what those above are ahead most."""
    if not told.compared:
        return ""
    who = _THE_FIRST if told.compared == 1 else _THOSE_ABOVE
    behind = sum(gap.cost for gap in told.gaps)
    if abs(behind) < _NOTHING:
        return f"{who['who']} {who['has']} the same score, and a path or line before its own"
    if behind < 0:
        return "others of its note stand among the first already"
    signal = told.gaps[0].signal
    if signal == "words" and any(word.is_missing for word in _telling(found.words)):
        signal = "coverage"
    return _AHEAD.get(signal, "").format_map(who)
