"""`excerpt embedding`: show the embedding model and what it costs, embed the vault, or try another model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.base.json_forms import attributes_to_json, to_json_value
from excerpt.base.settings import Paths, Settings, load_vault_settings, user_paths
from excerpt.cli.printing import ProgressLine, print_json, print_line, print_message
from excerpt.cli.vaults import build_index, resolve_vault, vault_parameter
from excerpt.encoders.model_names import is_static_model, remote_notice
from excerpt.text.display import format_count, format_duration, format_percent, visible_line

if TYPE_CHECKING:
    from excerpt.service.embedding_models import ModelFigures, ModelTrial


@click.command()
@vault_parameter
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
        return _try_model(chosen, settings, paths, tried, as_json=as_json)
    is_static = is_static_model(settings.embedding.model)
    if runs and not is_static:
        return _embed_vault(chosen, index, settings, as_json=as_json)
    _show_model(index, settings, as_json=as_json)
    if runs and not as_json:
        print_message("There is nothing to run: the vectors of this model are made with the index.")
    return 0


def _show_model(index: Path, settings: Settings, *, as_json: bool) -> None:
    """Print the model's figures, and what it costs to embed the rest of the vault."""
    from excerpt.service.embedding_models import measure_model

    status = measure_model(index, settings, _print_waiting_time)
    if as_json:
        counts = attributes_to_json(status, "embedded", "passages", "seconds_left", "in_use")
        print_json({**to_json_value(status.figures), **counts})
        return
    _print_model_figures(status.figures)
    if is_static_model(settings.embedding.model):
        _print_table([("embedded", "with the index")])
        return
    is_unfinished = status.embedded < status.passages
    share = format_percent(status.embedded / max(status.passages, 1))
    left = f", {format_duration(status.seconds_left)} left" if is_unfinished else ""
    rows = [
        ("embedded", f"{status.embedded:,} of {format_count(status.passages, 'passage')} ({share}){left}"),
        ("in use", status.in_use),
    ]
    if notice := remote_notice(settings):
        rows.append(("sent", notice))
    _print_table(rows)
    if is_unfinished:
        print_message("The app embeds them while it is open; `excerpt embedding --run` does it now.")


def _embed_vault(vault: Path, index: Path, settings: Settings, *, as_json: bool) -> int:
    """Embed the vault, with progress on stderr, and let searches use the vectors."""
    from excerpt.service.embedding_models import embed_vault

    embedded = embed_vault(
        vault, index, settings, on_progress=ProgressLine(sys.stderr).show_embedding, on_silence=_print_waiting_time
    )
    if as_json:
        print_json(embedded)
    else:
        print_line(visible_line(f"All notes are embedded, searches use {embedded.model} · {embedded.seconds:.1f} s"))
    return 0


def _try_model(vault: Path, settings: Settings, paths: Paths, model: str, *, as_json: bool) -> int:
    """Print what an embedder costs, and what it would change for the gold set and the last queries."""
    from excerpt.service.embedding_models import try_model

    on_progress = ProgressLine(sys.stderr).show_embedding
    trial = try_model(vault, settings, paths, model, on_progress=on_progress, on_silence=_print_waiting_time)
    status, report = trial.status, trial.report
    if as_json:
        print_json({
            **to_json_value(status.figures),
            **attributes_to_json(status, "passages", "seconds_left"),
            "gold": None if report.gold is None else report.gold.to_dict(),
            "queries": [attributes_to_json(each, "query", "before", "after", "common") for each in report.queries],
        })  # fmt: skip
        return 0
    _print_model_figures(status.figures)
    cost = f"{format_count(status.passages, 'passage')}, {format_duration(status.seconds_left)}"
    _print_table([("cost", cost)])
    _print_trial(trial)
    return 0


def _print_trial(trial: ModelTrial) -> None:
    from excerpt.cli.gold import print_report
    from excerpt.service.gold.trial import COMPARED_HITS

    report = trial.report
    if report.gold is not None:
        print_report(report.gold)
    else:
        print_message("The gold set has no questions to compare with. Add one: excerpt gold add QUERY NOTE#HEADING")
    for each in report.queries:
        change = each.before if each.before == each.after else f"{each.before or '-'} → {each.after or '-'}"
        print_line(visible_line(f"{each.common:>2} of {COMPARED_HITS}  {each.query}: {change}"))
    if report.queries:
        print_message(f"Hits that stay among the first {COMPARED_HITS}, and the first hit, of your last queries.")
    print_message(f"Ranked among the {format_count(trial.candidates, 'passage')} that may be found for them.")


def _print_waiting_time(label: str, seconds: float) -> None:
    """Print on stderr that excerpt waits for a server that does not answer."""
    print_message(
        f"Waiting for {label}. It may be loading the model; excerpt waits up to {seconds:.0f} s for an answer."
    )


def _print_model_figures(figures: ModelFigures) -> None:
    languages = "all" if "*" in figures.languages else ", ".join(figures.languages)
    speed = f"{format_count(round(figures.passages_per_second), 'passage')} a second"
    _print_table([
        ("model", f"{figures.model} (id {figures.id})"),
        ("languages", languages),
        ("dimensions", f"{figures.dimensions:,}"),
        ("speed here", f"{speed}, {figures.query_ms:.2g} ms a query"),
    ])  # fmt: skip


def _print_table(rows: Sequence[tuple[str, str]]) -> None:
    for name, value in rows:
        print_line(visible_line(f"{name:<10} {value}"))
