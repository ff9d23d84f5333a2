"""Collect the candidates of every question once: after that, any weighting of their signals is arithmetic.

The engine generates the same candidates whatever the weights, so one pass over the questions is enough to rank them by
any variant. The part of the engine that is repeated here, from signals to a list, is compared with the engine's own
lists by tests and `make quality`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from benchmarks.judgements import Place, QualityError, QuerySet, Question, Summary, summary, worth
from excerpt.base.kinds import Strategy
from excerpt.base.settings import SearchSettings, Settings
from excerpt.corpus.interface import Corpus
from excerpt.corpus.names import DIGEST_DTYPE, LENGTH_DTYPE, NameTerms
from excerpt.index import names
from excerpt.index.catalog_rows import ReadRows
from excerpt.index.snapshot import Snapshot
from excerpt.search import evidence, ranking
from excerpt.search.bm25 import Rows
from excerpt.search.candidates import CandidateGenerator, OtherNoteNames
from excerpt.search.engine import Engine
from excerpt.search.evidence import Evidence
from excerpt.search.list_order import IndexArray, limit_hits_per_note
from excerpt.search.query import Query
from excerpt.search.ranking import SIGNALS, Floats, ScoredFragments, SignalWeights

LIMIT = 50
"""Hits that are evaluated, as many as the scorer requests."""
LINKS = ranking.BOOST_WEIGHTS["links"]
PER_NOTE = SearchSettings().per_note
_ANCHOR = SIGNALS.index("anchor")


@dataclass(frozen=True, slots=True)
class Case:
    """One question with its candidates and everything needed to rank them.

    `rows` are the candidates' rows in the index, `signals` is rows x SIGNALS, `named` marks those of notes that the
    query names, and `tied` is the order of rows with equal scores. `notes` are numbered from 0 among the candidates'
    notes and those they link to; `links` are pairs of these numbers, `note_count` is how many there are. `fair_called`
    is the signal `called`, and `fair_links` are the links, without those in notes that the query's words were taken
    from.
    """

    question: Question
    rows: Rows
    signals: Floats
    named: npt.NDArray[np.bool_]
    notes: Rows
    tied: IndexArray
    links: tuple[Rows, Rows]
    fair_anchor: Floats
    fair_links: tuple[Rows, Rows]
    note_count: int
    word_count: int

    def leader(self, wanted: Strategy) -> Strategy:
        """Return the strategy that answers if `wanted` is requested."""
        return ranking.active_strategy(
            ranking.primary_strategy(self.word_count) if wanted is Strategy.AUTO else wanted,
            words_found=bool(self.signals[:, SIGNALS.index("words")].any()),
            meaning_found=bool(self.signals[:, SIGNALS.index("meaning")].any()),
        )


@dataclass(frozen=True, slots=True)
class Cases:
    """The questions of a set with their candidates; `places` are the locations of all rows of the index."""

    query_set: QuerySet
    places: Sequence[Place]
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Variant:
    """A way to rank candidates.

    `weights` are by the strategy that answers, None for reciprocal rank fusion. Unless `origins`, the links of notes
    that a query's words were taken from are ignored: the query may be the anchor text of one.
    """

    name: str
    wanted: Strategy
    weights: Mapping[Strategy, SignalWeights] | None
    links: float = LINKS
    per_note: int = PER_NOTE
    listed: int = 2 * PER_NOTE
    names_first: bool = True
    origins: bool = False


def auto() -> Variant:
    """Return the shipped ranking."""
    return Variant("auto", Strategy.AUTO, {leader: ranking.weights_for(leader) for leader in Strategy})


def summaries(every: Sequence[Cases], variant: Variant) -> dict[str, Summary]:
    """Return the results of a variant on each set, by the set's name."""
    found = {}
    for cases in every:
        judged = cases.query_set.collection is not None
        answers = ((case.question, ranked(cases, case, variant)) for case in cases.cases)
        found[cases.query_set.name] = summary([worth(question, hits, judged=judged) for question, hits in answers])
    return found


def ranked(cases: Cases, case: Case, variant: Variant) -> list[Place]:
    """Return the locations of a question's first LIMIT hits under a variant."""
    return listed(cases, case, score(case, variant), variant)


def listed(cases: Cases, case: Case, scored: ScoredFragments, variant: Variant) -> list[Place]:
    """Return the locations of the first LIMIT of a question's scored candidates, as the engine lists them."""
    scores = scored.scores
    places = np.searchsorted(case.rows, scored.rows)
    order = np.lexsort((case.tied[places], -scores))
    order = limit_hits_per_note(order[scores[order] > 0], case.notes[places], variant.per_note, variant.listed)
    return [cases.places[row] for row in scored.rows[order[:LIMIT]].tolist()]


def score(case: Case, variant: Variant) -> ScoredFragments:
    """Return a question's candidates with their scores under a variant, as the engine scores them."""
    if variant.weights is None:
        return ranking.add_name_signal(ranking.fuse_reciprocal_ranks(case.rows, case.signals), case.named, case.notes)
    signals, links = case.signals, case.links
    if not variant.origins:
        signals, links = signals.copy(), case.fair_links
        signals[:, _ANCHOR] = case.fair_anchor
    scored = ranking.sum_weighted_signals(case.rows, signals, variant.weights[case.leader(variant.wanted)], case.notes)
    matching = np.flatnonzero(scored.scores > 0)
    scored, notes = scored.select(matching), case.notes[matching]
    if variant.links:
        linked = ranking.score_backlinks(*links, notes, scored.scores, case.note_count)
        scored = scored.with_signal("links", np.round(linked[notes], 6), variant.links)
    return ranking.add_name_signal(scored, case.named[matching], notes) if variant.names_first else scored


# --- asking the engine ------------------------------------------------------------------------------------------------


def collect(query_set: QuerySet, folder: Path) -> Cases:
    """Collect the candidates of all questions of a set whose vault is indexed in `folder`."""
    snapshot = Snapshot.open(folder, Settings())
    try:
        engine = Engine(snapshot, Settings())
        engine.warm()
        cases = tuple(case_of(engine, question) for question in query_set.questions())
        return Cases(query_set, places_of(snapshot), cases)
    finally:
        snapshot.close()


@contextmanager
def every_word_telling() -> Iterator[None]:
    """Weight words by their rarity in the vault alone inside this context, without general language statistics."""
    with patch.object(evidence, "compute_language_shares", lambda words, _snapshot: [1.0] * len(words)):
        yield


def case_of(engine: Engine, question: Question) -> Case:
    """Return one question with its candidates."""
    query = _only(engine, question)
    table = engine.snapshot.table
    said, found = engine.find_candidates(query)
    notes = table.notes[found.rows]
    among, links = _links_among(engine.snapshot, np.unique(notes))
    struck = [number for number, note in enumerate(among.tolist()) if table.paths[note] in question.struck]
    fair = ~np.isin(links[0], struck)
    return Case(
        question=question,
        rows=found.rows,
        signals=found.signals,
        named=found.is_named,
        notes=np.searchsorted(among, notes).astype(np.int32),
        tied=np.argsort(np.lexsort((table.lines[found.rows], notes))),
        links=links,
        fair_anchor=_fair_anchor(engine, said, question.struck) if struck else found.signals[:, _ANCHOR],
        fair_links=(links[0][fair], links[1][fair]),
        note_count=len(among),
        word_count=said.word_count,
    )


@contextmanager
def first_headings_unread() -> Iterator[None]:
    """Ignore the first heading as a name of its note inside this context."""
    with (
        patch.object(names, "first_heading", lambda _sections: ""),
        patch.object(names, "read_names", names.rebuild_names),
    ):
        yield


def _fair_anchor(engine: Engine, said: Evidence, struck: Collection[str]) -> Floats:
    read, paths = names.read_names, engine.snapshot.table.paths
    silent = {
        number for number, path in zip(engine.snapshot.table.numbers.tolist(), paths, strict=True) if path in struck
    }

    def others(rows: ReadRows, numbers: Sequence[int]) -> dict[int, NameTerms]:
        found = read(rows, numbers)
        return {number: _own_alone(of_note) if number in silent else of_note for number, of_note in found.items()}

    with patch.object(names, "read_names", others):
        return (
            CandidateGenerator(engine.snapshot, engine.index, OtherNoteNames(engine.snapshot))
            .generate(said)
            .signals[:, _ANCHOR]
        )


def _own_alone(of_note: NameTerms) -> NameTerms:
    """Return a note's name terms without the anchor texts of its links."""
    lengths = of_note.lengths[: of_note.own * LENGTH_DTYPE.itemsize]
    count = int(np.frombuffer(lengths, LENGTH_DTYPE).sum())
    size = DIGEST_DTYPE.itemsize
    return NameTerms(of_note.own, lengths, of_note.terms[: count * size], of_note.files[:size], "[]")


def places_of(snapshot: Snapshot) -> list[Place]:
    """Return the location of each row of the index."""
    return [Place(f.path, f.line_start, f.line_end) for f in snapshot.fragments(snapshot.table.keys.tolist())]


def _only(engine: Engine, question: Question) -> Query:
    queries = engine.parse(question.text)
    if len(queries) > 1 or queries[0].strategy:
        raise QualityError(f"A query of alternatives, or with a strategy of its own, is not compared: {question.text}.")
    return queries[0]


def _links_among(snapshot: Corpus, voters: Rows) -> tuple[Rows, tuple[Rows, Rows]]:
    """Return `voters` and all notes they link to, ascending, and their links as indices into that array."""
    sources, targets = snapshot.facets.links
    theirs = np.isin(sources, voters)
    sources, targets = sources[theirs], targets[theirs]
    among = np.union1d(voters, targets).astype(np.int32)
    places = (np.searchsorted(among, ends).astype(np.int32) for ends in (sources, targets))
    return among, (next(places), next(places))
