"""`excerpt gold`: keep questions with the places that answer them, and measure how well a search finds these."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.base.kinds import Strategy
from excerpt.cli.printing import print_json, print_line, print_message, read_input
from excerpt.cli.vaults import load_vault, refresh_option, vault_option
from excerpt.text.display import format_count, local_time, visible_line

if TYPE_CHECKING:
    from excerpt import GoldChange, GoldComparison, GoldQuestion, GoldReport, GoldSet


@click.group()
def gold_command() -> None:
    """Measure the search with questions of your own.

    A gold set has questions, each with the notes or sections that answer it. `excerpt gold run` asks them all and
    says which are found better or worse than the last time.
    """


@gold_command.command("add")
@click.argument("query")
@click.argument("targets", metavar="NOTE#HEADING...", nargs=-1, required=True)
@vault_option
@click.option("--json", "as_json", is_flag=True, help="Print the question as JSON.")
@refresh_option
def add_command(query: str, *, targets: tuple[str, ...], vault: Path | None, as_json: bool, no_refresh: bool) -> None:
    """Add a question with the places that answer it.

    A place is a note (NOTE), a section (NOTE#HEADING), or the section at a line (NOTE:12). Any one of several places
    is a right answer. A question that is there already gets the further places.
    """
    if not query.strip():
        raise click.UsageError("The question is empty.")
    with load_vault(vault, refresh=not no_refresh) as opened_vault:
        question = opened_vault.gold.add(query, *targets)
    if as_json:
        print_json(question.to_dict())
    else:
        _print_question(question)


@gold_command.command("list")
@vault_option
@click.option("--json", "as_json", is_flag=True, help="Print the questions as JSON.")
def list_command(vault: Path | None, *, as_json: bool) -> int:
    """List the questions. Exits with 1 if there are none."""
    with load_vault(vault) as opened_vault:
        gold = opened_vault.gold.all()
    _print_unreadable_lines(gold)
    if as_json:
        print_json({"questions": [question.to_dict() for question in gold.questions]})
    elif gold.questions:
        for question in gold.questions:
            _print_question(question)
    else:
        print_message(_NO_QUESTIONS)
    return 0 if gold.questions else 1


_NO_QUESTIONS = "The gold set has no questions. Add one: excerpt gold add QUERY NOTE#HEADING"


@gold_command.command("remove")
@click.argument("question", metavar="QUERY|ID")
@click.argument("target", metavar="[NOTE#HEADING]", required=False, default="")
@vault_option
@click.option("--json", "as_json", is_flag=True, help="Print the removed question as JSON.")
def remove_command(question: str, *, target: str, vault: Path | None, as_json: bool) -> None:
    """Remove a question, or only one of its places, written as `excerpt gold list` shows it."""
    with load_vault(vault) as opened_vault:
        removed = opened_vault.gold.remove(question, target)
    if as_json:
        print_json(removed.to_dict())
    else:
        print_line(visible_line(f"Removed {f'{target} from ' if target else ''}{removed.query!r}."))


@gold_command.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@vault_option
@refresh_option
def import_command(file: Path, *, vault: Path | None, no_refresh: bool) -> int:
    """Add the questions in FILE (- is stdin), which has one JSON object per line.

    Reads {"query": ..., "relevant": [{"path": ..., "heading": ...}]}. A `line_start` tells sections with the same
    heading apart, `exclude` lists notes whose hits are not counted. Exits with 1 if there is no question.
    """
    text = read_input(file, "gold set")
    with load_vault(vault, refresh=not no_refresh) as opened_vault:
        read = opened_vault.gold.add_lines(text)
    _print_unreadable_lines(read, str(file))
    print_line(f"Imported {format_count(len(read.questions), 'question')}.")
    return 0 if read.questions else 1


@gold_command.command("export")
@vault_option
def export_command(vault: Path | None) -> int:
    """Print the questions, one JSON object per line. `excerpt search --batch` reads this form too."""
    with load_vault(vault) as opened_vault:
        gold = opened_vault.gold.all()
    _print_unreadable_lines(gold)
    for question in gold.questions:
        print_json(question.to_dict())
    return 0 if gold.questions else 1


@gold_command.command("run")
@vault_option
@click.option(
    "--strategy",
    type=click.Choice([s.value for s in Strategy]),
    help="Compare the ranks by this strategy with those by your settings.",
)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Set KEY, such as search.boosts.links=false, and compare the ranks; may be given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refresh_option
def run_command(
    *, vault: Path | None, strategy: str | None, settings: tuple[str, ...], as_json: bool, no_refresh: bool
) -> int:
    """Ask all questions, and compare the ranks of the right answers with the last run.

    Prints MRR (the mean of 1 / rank), hit@5 (the share of questions answered among the first five hits), and each
    question whose rank changed, with the signal that moved it. With --strategy or --set, compares these settings with
    yours instead. Only the first 50 hits count. Exits with 1 if MRR fell or a place is not in the vault.
    """
    changes = dict(_parse_settings(settings))
    with load_vault(vault, refresh=not no_refresh) as opened_vault:
        gold = opened_vault.gold.all()
        _print_unreadable_lines(gold)
        report = opened_vault.run_gold(strategy=strategy, settings=changes)
    missing = [(rank, target) for rank in report.run.ranks for target in rank.missing]
    if as_json:
        print_json(report.to_dict())
    elif gold.questions:
        print_report(report)
    if not gold.questions:
        print_message(_NO_QUESTIONS)
        return 1
    for rank, target in missing:
        print_message(f"{target} is not in the vault. It is a target of {rank.query!r} ({rank.id}).")
    has_fallen = report.comparison is not None and report.comparison.has_fallen
    return 1 if missing or has_fallen else 0


def _parse_settings(assignments: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    """Yield the keys and values of `KEY=VALUE` texts; a value is TOML, or a string without quotation marks."""
    for text in assignments:
        key, separator, value = text.partition("=")
        if not (separator and key.strip()):
            raise click.UsageError(f"--set {text}: expected KEY=VALUE, such as search.boosts.links=false.")
        try:
            yield key.strip(), tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            yield key.strip(), value.strip()


def _print_unreadable_lines(gold: GoldSet, name: str = "the gold set") -> None:
    for line in gold.unreadable:
        print_message(f"Line {line.number} of {name} is not used: {line.reason}.")


def _print_question(question: GoldQuestion) -> None:
    print_line(visible_line(f"{question.id}  {question.query}"))
    for target in question.targets:
        print_line(visible_line(f"  {target}"))


def print_report(report: GoldReport) -> None:
    """Print the figures of a run beside those of the compared run, then the questions whose rank changed."""
    comparison = report.comparison
    name = ", ".join((f"strategy {report.strategy}", *report.setting_texts))
    if comparison is None:
        _print_figures(name, report.run.mrr, report.run.hit_at_5)
        print_line(f"{format_count(len(report.run.ranks), 'question')}. The next run is compared with this one.")
        return
    before = "your settings" if report.is_variant else f"last run, {local_time(comparison.time)}"
    _print_figures(before, comparison.mrr, comparison.hit_at_5)
    _print_figures(name if report.is_variant else "now", comparison.mrr_now, comparison.hit_at_5_now)
    for change in comparison.changes:
        print_line(_format_change(change))
    print_line(_summarize_changes(comparison))
    if new := len(report.run.ranks) - comparison.questions:
        print_line(f"Not compared, because new or changed since the last run: {format_count(new, 'question')}.")
        _print_figures(f"all {format_count(len(report.run.ranks), 'question')}", report.run.mrr, report.run.hit_at_5)


def _print_figures(name: str, mrr: float, hit_at_5: float) -> None:
    print_line(f"MRR {mrr:.3f}  hit@5 {hit_at_5:.3f}  {visible_line(name)}")


def _format_change(change: GoldChange) -> str:
    """Return how the rank of a question changed, and the signal that moved it."""
    ranks = " → ".join("-" if rank is None else str(rank) for rank in (change.before, change.after))
    label = "better" if change.is_better else "worse"
    signal = f"  ({change.signal})" if change.signal else ""
    return visible_line(f"{label:<6}  {ranks:<7}  {change.query}{signal}")


def _summarize_changes(comparison: GoldComparison) -> str:
    """Return how many questions changed, and whether that is more than chance."""
    changed = len(comparison.changes)
    if not changed:
        return f"No rank changed in {format_count(comparison.questions, 'question')}."
    counts = (
        f"{changed} of {format_count(comparison.questions, 'question')} changed: "
        f"{comparison.better} better, {comparison.worse} worse."
    )
    if comparison.needed_majority is None:
        least = comparison.min_changed
        return f"{counts} This may be chance: at least {least} must change, all the same way (sign test, p < .05)."
    verdict = "This is more than chance" if comparison.is_significant else "This may be chance"
    needed = f"of {changed} changed, {comparison.needed_majority} must go the same way"
    return f"{counts} {verdict}: {needed} (sign test, p = {comparison.p_value:.3f}, must be < .05)."
