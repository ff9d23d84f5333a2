"""`excerpt pack`: print the passages that answer a query as text for a prompt."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from excerpt.base.kinds import Fill, Format, Scope, StopReason, Strategy
from excerpt.base.model import TOO_LARGE, PackResult
from excerpt.base.settings import MAX_PACKED, MAX_TOKENS, user_paths
from excerpt.cli.memories import print_answering_memories
from excerpt.cli.printing import escape_for_stdout, print_line, print_message, resolve_output_file, save_output
from excerpt.cli.vaults import (
    add_vaults,
    load_vault,
    refresh_option,
    reject_folder_as_query,
    require_reranker,
    rerank_option,
    vaults_option,
)
from excerpt.text.display import format_confidence, format_count, format_percent, line_range, name_locations
from excerpt.text.tokens import parse_token_count
from excerpt.vault.known_vaults import find_vault_of_file


class TokenCountParameter(click.IntRange):
    """The command-line type of a number of tokens, written as 4000, 4k or 1.5k."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a number of tokens; raises a usage error if the text is not a number or out of range."""
        tokens = parse_token_count(value) if isinstance(value, str) else None
        return super().convert(value if tokens is None else tokens, param, ctx)


@click.command()
@click.argument("queries", nargs=-1, metavar="[QUERY]...")
@vaults_option
@click.option(
    "--budget",
    type=TokenCountParameter(0, MAX_TOKENS),
    help="The maximum number of tokens, such as 2000 or 2k, with headers and separators.",
)
@click.option(
    "--fill",
    type=click.Choice([f.value for f in Fill]),
    help="Pack until the answer is probably in the pack (enough), or as many hits as fit (budget).",
)
@click.option(
    "--expand",
    "scope",
    type=click.Choice([s.value for s in Scope]),
    help="How far each hit is extended: not at all, to its neighbors, its section or its note.",
)
@click.option(
    "--neighbors",
    type=click.IntRange(0, MAX_PACKED),
    help="The number of fragments on each side of a hit, for --expand neighbors.",
)
@click.option(
    "--rank",
    type=click.Choice(["score", "none"]),
    default="score",
    show_default=True,
    help="The order of the passages: by score, best first, or as in the vault, without scores.",
)
@click.option("--strategy", type=click.Choice([s.value for s in Strategy]), help="How hits are scored.")
@click.option(
    "--format", "format_name", type=click.Choice([f.value for f in Format]), help="How the passages are written."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, the same as --format json.")
@click.option(
    "--template",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Render the pack with this Jinja2 file; implies --format template.",
)
@click.option(
    "--tokenizer",
    metavar="NAME|FILE",
    help="The tokenizer that counts tokens: o200k, llama3 ..., chars/4, or a tokenizer.json.",
)
@click.option("--question/--no-question", default=None, help="Add the query below the passages.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write the pack to FILE instead of stdout."
)
@click.option("--from-marks", is_flag=True, help="Pack the fragments marked in the app.")
@click.option(
    "--id", "ids", multiple=True, metavar="FRAGMENT_ID", help="Pack this fragment; may be given several times."
)
@rerank_option
@refresh_option
def pack_command(
    *,
    queries: tuple[str, ...],
    vaults: tuple[Path, ...],
    rank: str,
    format_name: str | None,
    as_json: bool,
    template: Path | None,
    output: Path | None,
    from_marks: bool,
    ids: tuple[str, ...],
    rerank: bool | None,
    no_refresh: bool,
    **options: Any,
) -> int:
    """Pack the passages that answer QUERY for an LLM prompt. Options default to the settings.

    Several QUERYs are wordings of one question. A passage has the score for the one that it answers best.

    With --id, packs the given fragments in the given order; with --from-marks, the fragments marked in the app in the
    order of marking.
    """
    if not (queries or ids or from_marks):
        raise click.UsageError("Give a QUERY, an --id, or --from-marks.")
    reject_folder_as_query(queries)
    chosen_format = _choose_format(format_name, as_json=as_json, with_template=template is not None)
    with load_vault(vaults, refresh=not no_refresh) as opened_vault:
        require_reranker(opened_vault.settings, rerank=rerank)
        target = None
        if output is not None and str(output) != "-":
            folders = opened_vault.folders.by_name.values()
            target = resolve_output_file(
                output, lambda file: find_vault_of_file(file, folders, user_paths(), os.environ)
            )
        packed = opened_vault.pack(
            *queries,
            format=chosen_format,
            template=template,
            ranked=rank == "score",
            ids=ids,
            marks=from_marks,
            rerank=rerank,
            **options,
        )
        if packed.format is not Format.JSON:
            opened_vault.count_saved(packed)
        print_answering_memories(opened_vault, queries)
    text = packed.text
    if packed.format is Format.JSON:
        text = json.dumps(add_vaults(opened_vault, packed.to_dict()), ensure_ascii=False, indent=2) + "\n"
    if target is None:
        print_line(escape_for_stdout(text), end="")
    elif text:
        size = save_output(target, text)
        print_message(f"Wrote the pack to {target}, {format_count(size, 'byte')}.")
    for unknown in _find_unknown_ids(ids, packed):
        print_message(f"No fragment has the id {unknown or repr(unknown)}. `excerpt search --json` prints the ids.")
    if packed.passages and packed.over_budget and (ids or from_marks):
        locations = [(left.path, left.line_start, left.line_end) for left in packed.over_budget]
        print_message(f"Left out, over the budget: {name_locations(locations)}.")
    if packed.notice:
        print_message(packed.notice)
    print_message(_summarize_pack(packed))
    if not packed.passages:
        print_message(_explain_empty_pack(packed))
    return 0 if packed.passages else 1


def _choose_format(format_name: str | None, *, as_json: bool, with_template: bool) -> str | None:
    """Return the format that the options request; None for the format of the settings.

    Raises a usage error if the options ask for different formats.
    """
    implied = {"--json": Format.JSON if as_json else None, "--template": Format.TEMPLATE if with_template else None}
    requested = {f"--format {format_name}": format_name, **implied} if format_name else implied
    chosen = {name: option for option, name in requested.items() if name is not None}
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen.values())} ask for different formats. Use only one.")
    return next(iter(chosen), None)


def _find_unknown_ids(ids: Sequence[str], packed: PackResult) -> list[str]:
    """Return the fragment ids in `ids` that are not in the index."""
    missing = {left.path for left in packed.left_out if not left.line_start}
    return [each for each in ids if each in missing]


def _explain_empty_pack(packed: PackResult) -> str:
    """Return a sentence that says why the pack is empty, by the reason of the best passage that was left out."""
    if not packed.left_out:
        return "The pack is empty: nothing was found."
    if packed.stopped is StopReason.NO_ANSWER:
        nearest = ", ".join(f"{left.path}:{line_range(left.line_start, left.line_end)}" for left in packed.left_out)
        return f"The pack is empty: nothing answers the query. Nearest: {nearest}. Pack them with --fill budget."
    best = next((left for left in packed.left_out if left.reason == TOO_LARGE), packed.left_out[0])
    location_text = f"{best.path}:{line_range(best.line_start, best.line_end)}" if best.line_start else best.path
    if best.reason != TOO_LARGE:
        return f"The pack is empty: {location_text} is {best.reason}."
    needs = f"{location_text} has {format_count(best.tokens, 'token')}, and its source line needs tokens too"
    budget = format_count(packed.budget, "token")
    return f"The pack is empty: nothing fits into {budget} ({needs}). Give a larger --budget."


def _summarize_pack(packed: PackResult) -> str:
    """Return a one-line summary: confidence, numbers of passages and tokens, and the share of tokens saved."""
    sure = f"{format_confidence(packed.confidence)} · " if packed.confidence is not None else ""
    count = len(packed.passages)
    out = f", {len(packed.left_out)} left out" if packed.left_out else ""
    if packed.left_out_comments:
        out += f", {format_count(packed.left_out_comments, 'comment')} left out"
    about = ", as Markdown" if packed.format is Format.JSON else ""
    saved = f" · saves {format_percent(packed.saved, '')} of {packed.source_tokens:,}" if count else ""
    return (
        f"{sure}{format_count(count, 'passage')}{out} · {packed.tokens:,} of {format_count(packed.budget, 'token')} "
        f"({packed.tokenizer}{about}){saved}"
    )
