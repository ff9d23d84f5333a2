"""`excerpt pack`: the passages that answer a query, ready for a prompt."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from excerpt.cli.printing import check_output, for_stdout, narrate, print_line, save
from excerpt.cli.vaults import load_vault, refresh_option, vault_option
from excerpt.kinds import Format, Scope, Strategy
from excerpt.known_vaults import vault_of_file
from excerpt.model import TOO_LARGE, PackResult
from excerpt.settings import MAX, user_paths
from excerpt.text.display import format_count, format_percent, line_range


@click.command()
@click.argument("queries", nargs=-1, metavar="[QUERY]...")
@vault_option
@click.option("--budget", type=click.IntRange(0, MAX), help="The most tokens, headers and separators included.")
@click.option("--limit", type=click.IntRange(1, MAX), help="The number of best hits to pack.")
@click.option("--expand", "scope", type=click.Choice([s.value for s in Scope]), help="How far each hit is grown.")
@click.option("--neighbors", type=click.IntRange(0, MAX), help="How many fragments on each side, for neighbors.")
@click.option(
    "--rank",
    type=click.Choice(["score", "none"]),
    default="score",
    show_default=True,
    help="Order: best first, or as in the vault, without scores.",
)
@click.option("--strategy", type=click.Choice([s.value for s in Strategy]), help="How to score.")
@click.option("--format", "form", type=click.Choice([f.value for f in Format]), help="How the passages are written.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json: the packs as data.")
@click.option(
    "--template",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The Jinja2 file for the format template; implies that format.",
)
@click.option("--tokenizer", metavar="NAME|FILE", help="Whose tokens: o200k, llama3 ..., chars/4, or a tokenizer.json.")
@click.option("--question/--no-question", default=None, help="Put the query below the passages.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE instead of stdout."
)
@click.option("--from-marks", is_flag=True, help="Pack the fragments marked in the app.")
@click.option(
    "--id", "ids", multiple=True, metavar="FRAGMENT_ID", help="Pack this fragment; may be given more than once."
)
@refresh_option
def pack_command(
    *,
    queries: tuple[str, ...],
    vault: Path | None,
    rank: str,
    form: str | None,
    as_json: bool,
    template: Path | None,
    output: Path | None,
    from_marks: bool,
    ids: tuple[str, ...],
    no_refresh: bool,
    **options: Any,
) -> int:
    """Pack the passages that answer QUERY for an LLM prompt. Options default to the settings.

    With several queries, each passage gets its best score. With --id or --from-marks, packs those fragments, in that
    order, instead of the hits.
    """
    if not (queries or ids or from_marks):
        raise click.UsageError("Give a QUERY, an --id, or --from-marks.")
    form = _choose_format(form, as_json=as_json, with_template=template is not None)
    with load_vault(vault, refresh=not no_refresh) as opened_vault:
        target = None
        if output is not None and str(output) != "-":
            target = check_output(
                output, lambda file: vault_of_file(file, opened_vault.folder, user_paths(), os.environ)
            )
        packed = opened_vault.pack(
            *queries, format=form, template=template, ranked=rank == "score", ids=ids, marks=from_marks, **options
        )
        if packed.format is not Format.JSON:
            opened_vault.count_saved(packed)
    text = packed.text
    if packed.format is Format.JSON:
        text = json.dumps(packed.to_dict(), ensure_ascii=False, indent=2) + "\n"
    if target is None:
        print_line(for_stdout(text), end="")
    elif text:
        size = save(target, text)
        narrate(f"Wrote the pack to {target}, {format_count(size, 'byte')}.")
    for unknown in _unknown_ids(ids, packed):
        narrate(f"no fragment has the id {unknown or repr(unknown)}; ids are those of `excerpt search --json`.")
    narrate(_summary(packed))
    if not packed.packs:
        narrate(_why_empty(packed))
    return 0 if packed.packs else 1


def _choose_format(form: str | None, *, as_json: bool, with_template: bool) -> str | None:
    """Return the requested format. Raises a usage error if options ask for different ones."""
    named = {"--json": Format.JSON if as_json else None, "--template": Format.TEMPLATE if with_template else None}
    forms = {f"--format {form}": form, **named} if form else named
    chosen = {choice: name for name, choice in forms.items() if choice is not None}
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen.values())} are different formats: give one of them.")
    return next(iter(chosen), None)


def _unknown_ids(ids: Sequence[str], packed: PackResult) -> list[str]:
    """Return those of `ids` that are not in the index."""
    missing = {left.path for left in packed.left_out if not left.line_start}
    return [each for each in ids if each in missing]


def _why_empty(packed: PackResult) -> str:
    """Return why the pack is empty, by the best of the passages left out."""
    if not packed.left_out:
        return "the pack is empty: nothing was found."
    best = next((left for left in packed.left_out if left.reason == TOO_LARGE), packed.left_out[0])
    location_text = f"{best.path}:{line_range(best.line_start, best.line_end)}" if best.line_start else best.path
    if best.reason != TOO_LARGE:
        return f"the pack is empty: {location_text} is {best.reason}."
    needs = f"{location_text} has {format_count(best.tokens, 'token')}, and its source line needs room too"
    budget = format_count(packed.budget, "token")
    return f"the pack is empty: nothing fits into {budget} ({needs}). Give a larger --budget."


def _summary(packed: PackResult) -> str:
    count = len(packed.packs)
    out = f", {len(packed.left_out)} left out" if packed.left_out else ""
    about = ", as Markdown" if packed.format is Format.JSON else ""
    return (
        f"{format_count(count, 'pack')}{out} · {packed.tokens:,} of {format_count(packed.budget, 'token')} "
        f"({packed.tokenizer}{about}) · saves {format_percent(packed.saved, '')} of {packed.source_tokens:,}"
    )
