"""`excerpt embedding`: show the embedding model and what it costs, embed the vault, or try another model."""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

from excerpt.cli.printing import ProgressLine, print_json, print_line, print_message
from excerpt.cli.vaults import build_index, resolve_vault, vault_option
from excerpt.encoders.model_names import is_server, is_static_model, model_label, remote_notice
from excerpt.errors import ModelError
from excerpt.json_forms import attributes_to_json, to_json_value
from excerpt.settings import Paths, Settings, load_vault_settings, user_paths
from excerpt.text.display import format_count, format_duration, format_percent, visible_line

if TYPE_CHECKING:
    from excerpt.gold.trial import TrialReport
    from excerpt.index.embedding_run import EmbeddingRun
    from excerpt.model import EmbeddingProgress

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
"""Seconds without an answer of a server after which excerpt says what it waits for; doubled after each sentence."""


@dataclass(frozen=True, slots=True)
class _Figures:
    """A model's figures on this machine. Speeds are measured with passages of the vault."""

    model: str
    id: str
    languages: tuple[str, ...]
    dimensions: int
    passages_per_second: float
    query_ms: float


@click.command()
@vault_option
@click.option("--run", "runs", is_flag=True, help="Embed the vault now, until it is done or Ctrl+C.")
@click.option(
    "--try", "tried", metavar="MODEL", help="Show what another model costs and would change, without using it."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def embedding_command(vault: Path | None, *, runs: bool, tried: str | None, as_json: bool) -> int:
    """Show the embedding model, its speed here, and how much of the vault it has embedded.

    A transformer or a server embeds the vault in the background while the app or a server of excerpt is open, or
    with --run. Until it is done, searches use the previous vectors.

    With --try, the model embeds the passages that your gold set and your last queries may find, and excerpt shows what
    would change. MODEL is a value of embedding.model.
    """
    if runs and tried is not None:
        raise click.UsageError("--run and --try exclude each other.")
    chosen, paths = resolve_vault(vault), user_paths()
    settings = load_vault_settings(chosen, paths)
    build_index(chosen, settings, paths)
    index = paths.index_folder(chosen)
    if tried is not None:
        with _WaitReporter(tried) as reporter:
            return _try(chosen, settings, paths, tried, reporter, as_json=as_json)
    if is_static_model(settings.embedding.model):
        return _show_static(index, settings, as_json=as_json, runs=runs)
    with _WaitReporter(settings.embedding.model) as reporter:
        if runs:
            return _run(chosen, index, settings, reporter, as_json=as_json)
        return _show(index, settings, as_json=as_json)


def _show(index: Path, settings: Settings, *, as_json: bool) -> int:
    """Print the model's figures, and what it costs to embed the rest of the vault."""
    from excerpt.index.embedding_run import EmbeddingRun, count_embedded
    from excerpt.index.snapshot import Snapshot

    run = EmbeddingRun(index, settings, _ignore)
    embedder = run.open_embedder()
    figures = _measure(model_label(settings.embedding.model), run, index)
    done, total = count_embedded(index, embedder)
    with closing(Snapshot.open(index, settings)) as snapshot:
        model = snapshot.status().model
    seconds = (total - done) / figures.passages_per_second
    if as_json:
        print_json({
            **to_json_value(figures),
            "embedded": done,
            "passages": total,
            "seconds_left": seconds,
            "in_use": model,
        })  # fmt: skip
        return 0
    _print_figures(figures)
    left = f", {format_duration(seconds)} left" if done < total else ""
    rows = [
        ("embedded", f"{done:,} of {format_count(total, 'passage')} ({format_percent(done / max(total, 1))}){left}")
    ]
    rows.append(("in use", model))
    if notice := remote_notice(settings):
        rows.append(("sent", notice))
    _print_rows(rows)
    if done < total:
        print_message("The app embeds them while it is open; `excerpt embedding --run` does it now.")
    return 0


def _show_static(index: Path, settings: Settings, *, as_json: bool, runs: bool) -> int:
    """Print the figures of a static model, whose vectors are made with the index."""
    from excerpt.index.embed import open_embedder
    from excerpt.index.snapshot import Snapshot

    embedder = open_embedder(settings.embedding.model)
    label = settings.embedding.model or "the one that ships with excerpt"
    speed, query_ms = _time(embedder.embed, embedder.embed_query, index)
    languages = settings.embedding.languages or embedder.languages
    figures = _Figures(label, embedder.id, languages, embedder.dimensions, speed, query_ms)
    if as_json:
        with closing(Snapshot.open(index, settings)) as snapshot:
            passages = snapshot.status().fragments
        counts = {"embedded": passages, "passages": passages, "seconds_left": 0.0}
        print_json({**to_json_value(figures), **counts, "in_use": label})
        return 0
    _print_figures(figures)
    _print_rows([("embedded", "with the index")])
    if runs:
        print_message("There is nothing to run: the vectors of this model are made with the index.")
    return 0


def _run(vault: Path, index: Path, settings: Settings, reporter: _WaitReporter, *, as_json: bool) -> int:
    """Embed the vault, with progress on stderr, and let searches use the vectors."""
    from excerpt.index.build import Updater
    from excerpt.index.embedding_run import EmbeddingRun

    began = time.monotonic()
    record = EmbeddingRun(index, settings, reporter.show_embedding).run()
    reporter.stop()
    assert record is not None, "nothing ends this run"
    updater = Updater(vault, index, settings)
    try:
        generation, _ = updater.use_search_vectors(record)
    finally:
        updater.close()
    seconds = time.monotonic() - began
    if as_json:
        print_json({"model": model_label(record.model), "generation": generation, "seconds": seconds})
    else:
        print_line(visible_line(f"All notes are embedded, searches use {model_label(record.model)} · {seconds:.1f} s"))
    return 0


def _try(
    vault: Path,
    settings: Settings,
    paths: Paths,
    model: str,
    reporter: _WaitReporter,
    *,
    as_json: bool,
) -> int:
    """Print what an embedder costs, and what it would change for the gold set and the last queries."""
    from excerpt.gold.questions import read_gold
    from excerpt.gold.trial import compare_engines, find_candidate_keys
    from excerpt.index.embedding_run import EmbeddingRun, count_embedded
    from excerpt.index.snapshot import Snapshot
    from excerpt.search.engine import Engine

    index = paths.index_folder(vault)
    if is_static_model(model):
        raise ModelError(
            f"{model or 'The shipped model'} is a static model, which embeds a vault in seconds.",
            "Set embedding.model to it, and run `excerpt gold run` before and after.",
        )
    trial_settings = replace(settings, embedding=replace(settings.embedding, model=model))
    run = EmbeddingRun(index, trial_settings, reporter.show_embedding)
    embedder = run.open_embedder()
    figures = _measure(model_label(model), run, index)
    done, total = count_embedded(index, embedder)
    questions, queries = read_gold(paths.gold_file(vault)).questions, _last_queries(paths.use_file(vault))
    with closing(Snapshot.open(index, settings)) as snapshot:
        engine = Engine(snapshot, settings)
        keys = find_candidate_keys(engine, (*(question.query for question in questions), *queries))
        record = run.embed_some(keys)
        assert record is not None, "nothing ends this run"
        with closing(Snapshot.open(index, trial_settings, trial=record)) as trial_snapshot:
            trial_snapshot.query_embedder.embed_query("a")  # loads the model, so that no query is late
            trial, strategy = Engine(trial_snapshot, trial_settings), settings.search.strategy
            report = compare_engines(engine, trial, model, strategy=strategy, questions=questions, queries=queries)
    reporter.stop()
    seconds = (total - done) / figures.passages_per_second
    if as_json:
        print_json({
            **to_json_value(figures),
            "passages": total,
            "seconds_left": seconds,
            "gold": None if report.gold is None else report.gold.to_dict(),
            "queries": [attributes_to_json(each, "query", "before", "after", "common") for each in report.queries],
        })  # fmt: skip
        return 0
    _print_figures(figures)
    _print_rows([("cost", f"{format_count(total, 'passage')}, {format_duration(seconds)}")])
    _print_trial(report, len(keys))
    return 0


def _print_trial(report: TrialReport, embedded: int) -> None:
    from excerpt.cli.gold import print_report
    from excerpt.gold.trial import COMPARED_HITS

    if report.gold is not None:
        print_report(report.gold)
    else:
        print_message("The gold set has no questions to compare with. Add one: excerpt gold add QUERY NOTE#HEADING")
    for each in report.queries:
        change = each.before if each.before == each.after else f"{each.before or '-'} → {each.after or '-'}"
        print_line(visible_line(f"{each.common:>2} of {COMPARED_HITS}  {each.query}: {change}"))
    if report.queries:
        print_message(f"Hits that stay among the first {COMPARED_HITS}, and the first hit, of your last queries.")
    print_message(f"Ranked among the {format_count(embedded, 'passage')} that may be found for them.")


def _last_queries(file: Path) -> list[str]:
    """Return the last queries whose hits the user opened, marked or copied in the app, the newest first."""
    from excerpt.search.usage import UseLog

    queries = dict.fromkeys(event.query for event in reversed(UseLog(file).events()) if event.query)
    return list(queries)[:_TRIED_QUERIES]


def _measure(label: str, run: EmbeddingRun, index: Path) -> _Figures:
    """Measure an embedder with passages of the vault."""
    embedder = run.open_embedder()
    speed, query_ms = _time(embedder.embed_passages, embedder.embed_query, index)
    return _Figures(label, embedder.id, tuple(embedder.languages), embedder.dimensions, speed, query_ms)


def _time(
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


class _WaitReporter:
    """Shows the progress of embedding, and says on stderr what excerpt waits for if a server does not answer."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._line = ProgressLine(sys.stderr)
        self._is_done = not is_server(model)
        self._has_answered = threading.Event()
        self._thread = threading.Thread(target=self._report_silence, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def show_embedding(self, progress: EmbeddingProgress) -> None:
        """Show how many passages the server has embedded: it does answer."""
        self._has_answered.set()
        self._line.show_embedding(progress)

    def stop(self) -> None:
        """Print nothing more."""
        self._is_done = True
        self._has_answered.set()
        self._thread.join()
        ProgressLine.clear()

    def _report_silence(self) -> None:
        from excerpt.encoders.model_server import PASSAGES_SECONDS

        seconds = _SILENT_SECONDS
        while not self._is_done:
            if self._has_answered.wait(seconds):
                self._has_answered.clear()
                continue
            print_message(
                f"Waiting for {model_label(self._model)}. It may be loading the model; excerpt waits up to"
                f" {PASSAGES_SECONDS:.0f} s for an answer."
            )
            seconds *= 2


def _print_figures(figures: _Figures) -> None:
    languages = "all" if "*" in figures.languages else ", ".join(figures.languages)
    speed = f"{format_count(round(figures.passages_per_second), 'passage')} a second"
    _print_rows([
        ("model", f"{figures.model} (id {figures.id})"),
        ("languages", languages),
        ("dimensions", f"{figures.dimensions:,}"),
        ("speed here", f"{speed}, {figures.query_ms:.2g} ms a query"),
    ])  # fmt: skip


def _print_rows(rows: Sequence[tuple[str, str]]) -> None:
    for name, value in rows:
        print_line(visible_line(f"{name:<10} {value}"))


def _ignore(_: EmbeddingProgress) -> None:
    """Ignore progress."""
