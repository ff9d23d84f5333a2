"""Embedding models: what one costs on this machine, embedding of a vault at once, and the trial of another model."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec import Struct

from excerpt.base.errors import ModelError
from excerpt.base.settings import Paths, Settings
from excerpt.encoders.model_names import is_server, is_static_model, model_label

if TYPE_CHECKING:
    from excerpt.base.model import EmbeddingProgress
    from excerpt.index.embedding_run import EmbeddingRun
    from excerpt.service.gold.trial import TrialReport

_SAMPLE_TEXTS = 48
_SAMPLE_QUERIES = (
    "where are my notes",
    "how do I undo that",
    "meeting",
    "what did we decide about the budget",
    "links",
)
_TRIED_QUERIES = 10
_SILENT_SECONDS = 3.0
"""Seconds without an answer of a server after which that is reported; doubled after each report."""

OnEmbedded = Callable[["EmbeddingProgress"], None]
OnSilence = Callable[[str, float], None]
"""A callback for a server that does not answer: its label, and the most seconds that excerpt waits for an answer."""


class ModelFigures(Struct, frozen=True):
    """Speed and size of a model on this machine. Speeds are measured with passages of the vault."""

    model: str
    id: str
    languages: tuple[str, ...]
    dimensions: int
    passages_per_second: float
    query_ms: float


class ModelStatus(Struct, frozen=True):
    """Speed and size of a model, and how many of the vault's passages it has embedded.

    `in_use` names the model that searches use now.
    """

    figures: ModelFigures
    embedded: int
    passages: int
    in_use: str

    @property
    def seconds_left(self) -> float:
        """Seconds that the model needs to embed the passages that are not embedded yet."""
        return (self.passages - self.embedded) / self.figures.passages_per_second


class EmbeddedVault(Struct, frozen=True):
    """The result of embedding a vault: searches use `model` from `generation` on."""

    model: str
    generation: int
    seconds: float


class ModelTrial(Struct, frozen=True):
    """The result of trying another model: its speed, and how hits would change. It embedded `candidates` passages."""

    status: ModelStatus
    candidates: int
    report: TrialReport


def measure_model(index: Path, settings: Settings, on_silence: OnSilence) -> ModelStatus:
    """Measure the model of the settings, and count what it has embedded of the index. Raises ExcerptError."""
    from excerpt.index.embedding_run import EmbeddingRun
    from excerpt.index.snapshot import Snapshot

    if is_static_model(settings.embedding.model):
        return _measure_static(index, settings)
    with closing(Snapshot.open(index, settings)) as snapshot:
        in_use = snapshot.status().model
    with SilenceReporter(settings.embedding.model, on_silence):
        return _measure_embedder(EmbeddingRun(index, settings, _ignore), index, settings, in_use)


def _measure_static(index: Path, settings: Settings) -> ModelStatus:
    """Return the speed and size of a static model, whose vectors are made with the index."""
    from excerpt.encoders.static_model import open_embedder
    from excerpt.index.snapshot import Snapshot

    embedder = open_embedder(settings.embedding.model)
    label = settings.embedding.model or "the one that ships with excerpt"
    speed, query_ms = _measure_speed(embedder.embed, embedder.embed_query, index)
    languages = settings.embedding.languages or embedder.languages
    figures = ModelFigures(label, embedder.id, languages, embedder.dimensions, speed, query_ms)
    with closing(Snapshot.open(index, settings)) as snapshot:
        passages = snapshot.status().fragments
    return ModelStatus(figures, passages, passages, label)


def _measure_embedder(run: EmbeddingRun, index: Path, settings: Settings, in_use: str) -> ModelStatus:
    """Return speed, size and progress of the embedder that `run` opens; `in_use` is the model of searches now."""
    from excerpt.index.embedding_run import count_embedded

    embedder = run.open_embedder()
    speed, query_ms = _measure_speed(embedder.embed_passages, embedder.embed_query, index)
    label, languages = model_label(settings.embedding.model), tuple(embedder.languages)
    figures = ModelFigures(label, embedder.id, languages, embedder.dimensions, speed, query_ms)
    return ModelStatus(figures, *count_embedded(index, embedder), in_use)


def _measure_speed(
    embed: Callable[[Sequence[str]], object], embed_query: Callable[[str], object], index: Path
) -> tuple[float, float]:
    """Return how many passages of the vault a model embeds in a second, and the milliseconds for a query."""
    from excerpt.index.embedding_run import read_sample

    embed(["a"])
    texts = read_sample(index, _SAMPLE_TEXTS) or list(_SAMPLE_QUERIES)
    began = time.perf_counter()
    embed(texts)
    speed = len(texts) / max(time.perf_counter() - began, 1e-6)
    times = []
    for query in _SAMPLE_QUERIES:
        began = time.perf_counter()
        embed_query(query)
        times.append((time.perf_counter() - began) * 1000)
    return speed, statistics.median(times)


def _ignore(_: EmbeddingProgress) -> None:
    """Ignore progress."""


def embed_vault(
    vault: Path, index: Path, settings: Settings, *, on_progress: OnEmbedded, on_silence: OnSilence
) -> EmbeddedVault:
    """Embed the vault by the embedder of the settings, and let searches use the vectors.

    Raises ModelError, IndexUnusableError, and IndexBusyError if another process embeds the same vault.
    """
    from excerpt.index.build import Updater
    from excerpt.index.embedding_run import EmbeddingRun

    began = time.monotonic()
    with SilenceReporter(settings.embedding.model, on_silence) as reporter:
        record = EmbeddingRun(index, settings, reporter.observe(on_progress)).run()
    assert record is not None, "nothing ends this run"
    updater = Updater(vault, index, settings)
    try:
        generation, _ = updater.use_search_vectors(record)
    finally:
        updater.close()
    return EmbeddedVault(model_label(record.model), generation, time.monotonic() - began)


def try_model(
    vault: Path, settings: Settings, paths: Paths, model: str, *, on_progress: OnEmbedded, on_silence: OnSilence
) -> ModelTrial:
    """Measure an embedder, and compare its hits for the gold set and the vault's last queries with the present hits.

    Searches do not use the embedder afterwards. Raises ModelError, also for a static model.
    """
    from excerpt.index.embedding_run import EmbeddingRun
    from excerpt.index.snapshot import Snapshot
    from excerpt.search.engine import Engine
    from excerpt.service.gold.questions import read_gold
    from excerpt.service.gold.trial import compare_engines, find_candidate_keys

    if is_static_model(model):
        raise ModelError(
            f"{model or 'The shipped model'} is a static model, which embeds a vault in seconds.",
            "Set embedding.model to this model, and run `excerpt gold run` before and after.",
        )
    index = paths.index_folder(vault)
    trial_settings = replace(settings, embedding=replace(settings.embedding, model=model))
    questions, queries = read_gold(paths.gold_file(vault)).questions, _read_last_queries(paths.use_file(vault))
    with (
        SilenceReporter(model, on_silence) as reporter,
        closing(Snapshot.open(index, settings)) as snapshot,
    ):
        run = EmbeddingRun(index, trial_settings, reporter.observe(on_progress))
        status = _measure_embedder(run, index, trial_settings, snapshot.status().model)
        engine = Engine(snapshot, settings)
        keys = find_candidate_keys(engine, (*(question.query for question in questions), *queries))
        record = run.embed_some(keys)
        assert record is not None, "nothing ends this run"
        with closing(Snapshot.open(index, trial_settings, trial=record)) as trial_snapshot:
            trial_snapshot.query_embedder.embed_query("a")  # loads the model, so that no query is late
            trial, strategy = Engine(trial_snapshot, trial_settings), settings.search.strategy
            report = compare_engines(engine, trial, model, strategy=strategy, questions=questions, queries=queries)
    return ModelTrial(status, len(keys), report)


def _read_last_queries(file: Path) -> list[str]:
    """Return the last queries whose hits the user opened, marked or copied in the app, the newest first."""
    from excerpt.search.usage import UseLog

    queries = dict.fromkeys(event.query for event in reversed(UseLog(file).events()) if event.query)
    return list(queries)[:_TRIED_QUERIES]


class SilenceReporter:
    """Calls `on_silence` from a thread while a server does not answer; does nothing for a model on this machine."""

    def __init__(self, model: str, on_silence: OnSilence) -> None:
        self._model = model
        self._on_silence = on_silence
        self._is_done = not is_server(model)
        self._has_answered = threading.Event()
        self._thread = threading.Thread(target=self._report_silence, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_done = True
        self._has_answered.set()
        self._thread.join()

    def observe(self, on_progress: OnEmbedded) -> OnEmbedded:
        """Return a callback that calls `on_progress` and also counts each call as an answer of the server."""

        def handle_progress(progress: EmbeddingProgress) -> None:
            self._has_answered.set()
            on_progress(progress)

        return handle_progress

    def _report_silence(self) -> None:
        from excerpt.encoders.model_server import PASSAGES_SECONDS

        seconds = _SILENT_SECONDS
        while not self._is_done:
            if self._has_answered.wait(seconds):
                self._has_answered.clear()
                continue
            self._on_silence(model_label(self._model), PASSAGES_SECONDS)
            seconds *= 2
