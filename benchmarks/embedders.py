"""Compare a transformer with the shipped static model: `make embedders`, or `python -m benchmarks.embedders`.

The transformer is all-MiniLM-L6-v2 (`benchmarks.minilm`), or a folder with an ONNX file (`--model`). Its vectors of all
fragments are saved under build/embedders; the first run takes half an hour. Queries are ranked by the engine, with the
vectors stored as an index stores them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks import minilm
from benchmarks.judgements import Outside, Place, QuerySet, Question, open_outside, worth
from benchmarks.measure import result, table, write_option
from benchmarks.quality import prepare
from benchmarks.targets import verdict
from benchmarks.vector_cache import embed_passages
from excerpt.base.model import Hit, Result
from excerpt.base.settings import RerankSettings, Settings, user_paths
from excerpt.corpus.interface import QueryEmbedder, Vectors
from excerpt.encoders.interface import Floats, PassageEmbedder, Reranker
from excerpt.encoders.onnx_folder import CosineReranker, open_onnx_embedder
from excerpt.index.postings import embedded_text
from excerpt.index.snapshot import Snapshot
from excerpt.index.vectors import MatrixSource, MatrixWriter, VectorMatrix, quantise
from excerpt.search import ranking
from excerpt.search.engine import Engine
from excerpt.search.rerank import ResultReranker, build_rerank_request
from excerpt.search.results import RerankScores, apply_scores

JUDGED = ("scifact", "cranfield", "cacm", "npl", "xquad-en")
VAULTS = ("obsidian-help-en.dev", "dendron-site.dev", "powershell-docs-one.dev")
CACHE = Path("build/embedders")
LIMIT = 50
"""Hits that are evaluated."""
FACTORS = (0.7, 1.0, 1.3, 1.6, 2.0, 2.5, 3.0)
"""Factors of the weights of meaning that are tried."""
RERANK_WEIGHTS = (0.3, 0.5, 0.7)
RERANKED = 300
"""Queries of each set that are reranked, evenly spaced."""
TIMED_TEXTS = 256
"""Fragments of each set that are embedded to measure the time, evenly spaced."""
RESAMPLES = 10_000
"""Bootstrap samples of an interval, with the seed 1."""

JUDGED_GAIN = 0.02
"""Required mean gain in nDCG@10 on the judged sets."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, with the bounds of its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+z.3f} ({self.low:+z.3f} to {self.high:+z.3f})"


def bootstrap_interval(differences: Sequence[float]) -> Interval:
    """Return the mean of the differences, one for each query, with the interval from resampled queries."""
    values = np.asarray(differences)
    picked = np.random.default_rng(1).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.quantile(values[picked].mean(axis=1), (0.025, 0.975))
    return Interval(float(values.mean()), float(low), float(high))


def differences(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    """Return how much higher `ours` are than `theirs`, values of the same queries."""
    return bootstrap_interval([one - other for one, other in zip(ours, theirs, strict=True)])


# --- a corpus with other vectors --------------------------------------------------------------------------------------


class FloatVectors:
    """Vectors that are not quantised, with the methods of `Vectors`."""

    def __init__(self, vectors: Floats) -> None:
        self._vectors = vectors
        self.mean: Floats = vectors.mean(axis=0)

    def rows(self, numbers: NDArray[np.integer]) -> Floats:
        return np.asarray(self._vectors[numbers])

    def similarities(self, query: Floats) -> Floats:
        cosines: Floats = self._vectors @ query
        return cosines

    def similarities_at(self, query: Floats, numbers: NDArray[np.integer]) -> Floats:
        return np.asarray(self.similarities(query)[numbers])

    def approximate_similarities(self, query: Floats) -> tuple[Floats, float]:
        return self.similarities(query), 0.0

    def mean_similarity(self, query: Floats) -> float:
        return float(self.mean @ query)


class CachedQueries:
    """An embedder that keeps the vectors of queries, and the milliseconds that each took."""

    def __init__(self, embedder: QueryEmbedder) -> None:
        self.languages = embedder.languages
        self.milliseconds: list[float] = []
        self._embedder = embedder
        self._vectors: dict[str, Floats] = {}

    def embed_query(self, text: str) -> Floats:
        if text not in self._vectors:
            start = time.perf_counter()
            self._vectors[text] = self._embedder.embed_query(text)
            self.milliseconds.append((time.perf_counter() - start) * 1e3)
        return self._vectors[text]


class ChosenCorpus:
    """A snapshot with other vectors for searches, as if the settings named `query_embedder`."""

    def __init__(self, snapshot: Snapshot, search_vectors: Vectors, query_embedder: CachedQueries) -> None:
        self.search_vectors = search_vectors
        self.query_embedder = query_embedder
        self._snapshot = snapshot

    def prefetch(self, _requests: object) -> ChosenCorpus:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshot, name)


def store_vectors(keys: NDArray[np.int64], vectors: Floats, folder: Path) -> VectorMatrix:
    """Write the vectors of the fragments `keys` to a file in `folder`, as an index does, and read it."""
    dimensions = vectors.shape[1]
    file = MatrixWriter(folder, None, dimensions).commit(1, keys, keys, quantise(vectors))
    source = MatrixSource(folder, file)
    try:
        return VectorMatrix.read(source, keys, dimensions)
    finally:
        source.close()


# --- one set ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranked:
    """The values of all queries of a set (nDCG@10 or MRR@10) under one model, and the milliseconds of each search."""

    values: list[float]
    milliseconds: list[float]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)


@dataclass(frozen=True)
class RerankedSet:
    """The values of the reranked queries of a set: without a reranker (weight 0), and by its weight.

    `milliseconds` has the time of each query that the reranker read.
    """

    values: Mapping[float, list[float]]
    milliseconds: list[float]


@dataclass(frozen=True)
class MeasuredSet:
    """The results of a set.

    `static_with_factor` is the shipped model with the factor of a transformer. `factors` are the transformer's results
    by the factor of the weights of meaning, `floats` those with vectors that are not quantised, and `cosines` compare
    the two kinds of vectors.
    """

    query_set: QuerySet
    fragments: int
    texts_per_second: float
    static: Ranked
    static_with_factor: Ranked
    floats: Ranked
    factors: Mapping[float, Ranked]
    cosines: NDArray[np.float32]
    query_milliseconds: list[float]
    reranked: RerankedSet

    @property
    def chosen(self) -> Ranked:
        """The results with the factor that ships."""
        return self.factors[ranking.CHOSEN_MEANING_FACTOR]

    @property
    def minutes(self) -> float:
        """Minutes to embed all fragments."""
        return self.fragments / self.texts_per_second / 60


def measure_set(query_set: QuerySet, snapshot: Snapshot, embedder: PassageEmbedder) -> MeasuredSet:
    """Rank the queries of a set with the shipped model and with `embedder`, and rerank them with `embedder`."""
    keys = snapshot.table.keys
    texts = [embedded_text(f.title, f.heading_path, f.text) for f in snapshot.fragments(keys.tolist())]
    vectors = embed_passages(embedder, texts, CACHE)
    queries, static_queries = CachedQueries(embedder), CachedQueries(snapshot.embedder)
    with tempfile.TemporaryDirectory() as folder:
        stored = store_vectors(keys, vectors, Path(folder))
    static = rank_queries(query_set, Engine(snapshot, Settings()))
    chosen = _engine(ChosenCorpus(snapshot, stored, queries))
    factors = {}
    for factor in sorted({*FACTORS, ranking.CHOSEN_MEANING_FACTOR}):
        with patch.object(ranking, "CHOSEN_MEANING_FACTOR", factor):
            factors[factor] = rank_queries(query_set, chosen)
    return MeasuredSet(
        query_set,
        len(keys),
        time_embedding(embedder, texts),
        static,
        rank_queries(
            query_set, _engine(ChosenCorpus(snapshot, FloatVectors(snapshot.vectors.vectors), static_queries))
        ),
        rank_queries(query_set, _engine(ChosenCorpus(snapshot, FloatVectors(vectors), queries))),
        factors,
        compute_cosines(vectors, quantise(vectors).floats),
        queries.milliseconds,
        rerank_queries(query_set, Engine(snapshot, Settings()), CosineReranker(embedder)),
    )


def _engine(corpus: ChosenCorpus) -> Engine:
    return Engine(corpus, Settings())


def time_embedding(embedder: PassageEmbedder, texts: Sequence[str]) -> float:
    """Return how many texts are embedded in a second."""
    sample = texts[:: max(1, -(-len(texts) // TIMED_TEXTS))]
    start = time.perf_counter()
    embedder.embed_passages(sample)
    return len(sample) / (time.perf_counter() - start)


def compute_cosines(some: Floats, others: Floats) -> NDArray[np.float32]:
    """Return the cosine of each row of `some` with the same row of `others`."""
    lengths = np.linalg.norm(some, axis=1) * np.linalg.norm(others, axis=1)
    return np.asarray((some * others).sum(axis=1) / np.maximum(lengths, 1e-12), np.float32)


def rank_queries(query_set: QuerySet, engine: Engine) -> Ranked:
    """Search for all queries of a set."""
    engine.warm()
    ranked = Ranked([], [])
    for question in query_set.questions():
        found = engine.search(question.text, limit=LIMIT, highlight_count=0)
        if found.warnings:
            raise SystemExit(f"{query_set.name}: {found.warnings[0]}")
        ranked.values.append(value_of(query_set, question, found.hits))
        ranked.milliseconds.append(found.elapsed_ms)
    return ranked


def value_of(query_set: QuerySet, question: Question, hits: Sequence[Hit]) -> float:
    """Return nDCG@10 or MRR@10 of the hits of a question."""
    places = [Place(hit.path, hit.fragment.line_start, hit.fragment.line_end) for hit in hits]
    return worth(question, places, judged=query_set.collection is not None).value


def rerank_queries(query_set: QuerySet, engine: Engine, model: Reranker) -> RerankedSet:
    """Rerank the hits of some queries of a set, with each of RERANK_WEIGHTS."""
    # The time limit of the user would drop queries on a busy machine.
    settings = Settings(rerank=RerankSettings(seconds=600.0))
    reranker = ResultReranker(settings, lambda _settings: model)
    values: dict[float, list[float]] = {weight: [] for weight in (0.0, *RERANK_WEIGHTS)}
    milliseconds = []
    questions = query_set.questions()
    for question in questions[:: max(1, -(-len(questions) // RERANKED))]:
        found = engine.search(question.text, limit=LIMIT, highlight_count=0)
        values[0.0].append(value_of(query_set, question, found.hits))
        start = time.perf_counter()
        scores = _score(reranker, engine, found)
        if scores.scores:
            milliseconds.append((time.perf_counter() - start) * 1e3)
        for weight in RERANK_WEIGHTS:
            weighted = replace(settings, rerank=replace(settings.rerank, weight=weight))
            hits = apply_scores(found, scores, weighted).hits
            values[weight].append(value_of(query_set, question, hits))
    return RerankedSet(values, milliseconds)


def _score(reranker: ResultReranker, engine: Engine, found: Result) -> RerankScores:
    request = build_rerank_request(engine, found)
    scores = reranker.score(request) if request is not None else RerankScores({})
    if scores.warning:
        raise SystemExit(scores.warning)
    return scores


def choose_factor(sets: Sequence[MeasuredSet], without: MeasuredSet) -> float:
    """Return the factor of the weights of meaning with the highest mean over all sets but one."""
    others = [each for each in sets if each is not without] or sets
    return max(without.factors, key=lambda factor: statistics.fmean(each.factors[factor].mean for each in others))


# --- the report -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """The results of all sets, those with judgements of all answers first."""

    sets: Sequence[MeasuredSet] = field(default_factory=tuple)

    @property
    def judged(self) -> list[MeasuredSet]:
        return [each for each in self.sets if each.query_set.collection is not None]

    @property
    def vaults(self) -> list[MeasuredSet]:
        return [each for each in self.sets if each.query_set.collection is None]

    @property
    def groups(self) -> Iterator[tuple[str, list[MeasuredSet]]]:
        """The groups of sets that have a mean."""
        for name, group in (("judged sets", self.judged), ("vaults", self.vaults)):
            if group:
                yield name, group

    def show(self) -> None:
        """Print all tables."""
        self._show_models()
        self._show_factors()
        self._show_quantising()
        self._show_times()
        self._show_reranker()

    def _show_models(self) -> None:
        print("\n## With the shipped model and with the transformer\n")
        rows = []
        for name, group in self.groups:
            for each in group:
                gain = differences(each.chosen.values, each.static.values)
                means = (f"{one.mean:.3f}" for one in (each.static, each.static_with_factor, each.chosen))
                count = f"{len(each.static.values):,}"
                rows.append((each.query_set.name, count, each.query_set.measure, *means, str(gain)))
            static, factored, chosen = (
                _mean(group, lambda each: each.static),
                _mean(group, lambda each: each.static_with_factor),
                _mean(group, lambda each: each.chosen),
            )
            means = (f"{mean:.3f}" for mean in (static, factored, chosen))
            rows.append((f"mean of {name}", "", "", *means, f"{chosen - static:+.3f}"))
        factor = f"shipped with factor {ranking.CHOSEN_MEANING_FACTOR:g}"
        table(("set", "queries", "", "shipped", factor, "transformer", "difference (95 % interval)"), rows)
        print()
        print("\n".join(self._verdicts()))

    def _verdicts(self) -> Iterator[str]:
        if self.judged:
            gain = _mean(self.judged, lambda each: each.chosen) - _mean(self.judged, lambda each: each.static)
            yield verdict(
                gain >= JUDGED_GAIN,
                f"nDCG@10 {gain:+z.3f} on average over the judged sets, to be {JUDGED_GAIN:+.2f}",
            )
        if self.vaults:
            gains = {each.query_set.name: differences(each.chosen.values, each.static.values) for each in self.vaults}
            worse = [name for name, gain in gains.items() if gain.high < 0]
            yield verdict(not worse, f"vaults whose interval is below 0: {', '.join(worse) or 'none'}")

    def _show_factors(self) -> None:
        print("\n## Factor of the weights of meaning\n\nDifference to the shipped model:\n")
        rows: list[tuple[str, ...]] = []
        for name, group in self.groups:
            rows += [(each.query_set.name, *(f"{gain:+z.3f}" for gain in _gains_by_factor(each))) for each in group]
            means = (statistics.fmean(gains) for gains in zip(*map(_gains_by_factor, group), strict=True))
            rows.append((f"mean of {name}", *(f"{mean:+z.4f}" for mean in means)))
        table(("set", *(f"{factor:g}" for factor in self.sets[0].factors)), rows)
        print()
        for name, group in self.groups:
            chosen = {each.query_set.name: choose_factor(self.sets, without=each) for each in group}
            gains = [each.factors[chosen[each.query_set.name]].mean - each.static.mean for each in group]
            factors = sorted(set(chosen.values()))
            print(
                f"- {name}: with the factor that is best on all other sets ({', '.join(f'{f:g}' for f in factors)})"
                f" {statistics.fmean(gains):+z.4f} on average"
            )

    def _show_quantising(self) -> None:
        print("\n## Error of int8\n\nCosine of a stored vector with the original, and what the error changes:\n")
        rows = [
            (
                each.query_set.name,
                f"{float(each.cosines.mean()):.5f}",
                f"{float(each.cosines.min()):.5f}",
                f"{each.floats.mean:.4f}",
                f"{each.chosen.mean:.4f}",
                str(differences(each.chosen.values, each.floats.values)),
            )
            for each in self.sets
        ]
        table(("set", "mean", "worst", "float", "int8", "difference (95 % interval)"), rows)

    def _show_times(self) -> None:
        print("\n## Times\n\nMilliseconds are medians. A search includes the vector of its query.\n")
        rows = [
            (
                each.query_set.name,
                f"{each.fragments:,}",
                f"{each.texts_per_second:.0f}",
                f"{each.minutes:.1f}",
                f"{statistics.median(each.query_milliseconds):.1f}",
                f"{statistics.median(each.static.milliseconds):.1f}",
                f"{statistics.median(each.factors[min(each.factors)].milliseconds):.1f}",
            )
            for each in self.sets
        ]
        head = ("set", "fragments", "texts/s", "minutes", "ms a query vector", "ms a search: shipped", "transformer")
        table(head, rows)

    def _show_reranker(self) -> None:
        print("\n## Reranking\n\nThe hits of the shipped model, reranked by the transformer's cosine, by weight:\n")
        rows = []
        for name, group in self.groups:
            for each in group:
                values = each.reranked.values
                gains = (str(differences(values[weight], values[0.0])) for weight in RERANK_WEIGHTS)
                times = each.reranked.milliseconds
                asked, count = len(values[0.0]), len(times)
                median = f"{statistics.median(times):.0f}" if times else ""
                rows.append(
                    (
                        each.query_set.name,
                        f"{asked}",
                        f"{count}",
                        f"{statistics.fmean(values[0.0]):.3f}",
                        *gains,
                        median,
                    )
                )
            none, *weighted = (
                statistics.fmean(statistics.fmean(each.reranked.values[weight]) for each in group)
                for weight in (0.0, *RERANK_WEIGHTS)
            )
            rows.append((f"mean of {name}", "", "", f"{none:.3f}", *(f"{mean - none:+.3f}" for mean in weighted), ""))
        head = ("set", "queries", "reranked", "none", *(f"{weight:g}" for weight in RERANK_WEIGHTS), "ms a query")
        table(head, rows)


def _gains_by_factor(measured: MeasuredSet) -> list[float]:
    return [ranked.mean - measured.static.mean for ranked in measured.factors.values()]


def _mean(group: Sequence[MeasuredSet], ranked: Callable[[MeasuredSet], Ranked]) -> float:
    return statistics.fmean(ranked(each).mean for each in group)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.embedders", description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    parser.add_argument("--sets", nargs="*", default=[*JUDGED, *VAULTS], metavar="NAME", help="only these sets")
    parser.add_argument("--model", type=Path, help="folder of another embedder")
    write_option(parser, "embedders")
    args = parser.parse_args(argv)
    if args.write and (set(args.sets) != {*JUDGED, *VAULTS} or args.model):
        parser.error("--write keeps the tables of all sets and of the usual model")
    outside = open_outside(args.data)
    with result("embedders", "A transformer instead of the shipped model", write=args.write):
        embedder = open_onnx_embedder(args.model or minilm.export(), 0)
        print(f"{(args.model or minilm.FOLDER).name}: {embedder.dimensions} dimensions")
        Report([_measure(outside, name, embedder) for name in args.sets]).show()
    return 0


def _measure(outside: Outside, name: str, embedder: PassageEmbedder) -> MeasuredSet:
    query_set = next((each for each in outside.sets() if each.name == name), None)
    if query_set is None:
        raise SystemExit(f"There is no set {name}.")
    prepare(outside, query_set)
    print(f"embedders: {name}", file=sys.stderr, flush=True)
    snapshot = Snapshot.open(user_paths().index_folder(query_set.vault.resolve()), Settings())
    try:
        return measure_set(query_set, snapshot, embedder)
    finally:
        snapshot.close()


if __name__ == "__main__":
    sys.exit(main())
