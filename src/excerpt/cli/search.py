"""`excerpt search`: run one query, or a file of queries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from excerpt.base.kinds import Confidence, Strategy
from excerpt.base.model import Result
from excerpt.base.settings import MAX_HITS
from excerpt.cli.completing import complete_notes
from excerpt.cli.hits import print_hit_lines, print_hits
from excerpt.cli.memories import print_answering_memories
from excerpt.cli.printing import print_json, print_message, read_input
from excerpt.cli.vaults import (
    add_vaults,
    folders_of_files,
    load_vault,
    refresh_option,
    reject_folder_as_query,
    require_reranker,
    rerank_option,
    vaults_option,
)
from excerpt.text.display import format_confidence, format_count, visible_line
from excerpt.vault.known_vaults import VaultFolders

if TYPE_CHECKING:
    from excerpt import Explanation, Vault

_DEFAULT_HITS = 10
NO_ANSWER = "No note answers the query. The most similar passages are below."
"""Printed above hits of which none is likely to answer the query."""


@click.command()
@click.argument("queries", nargs=-1, metavar="[QUERY]...")
@vaults_option
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_HITS),
    help="The maximum number of hits.  [default: 10; with --json, the setting search.limit]",
)
@click.option(
    "--strategy",
    type=click.Choice([s.value for s in Strategy]),
    help="How hits are scored.  [default: the setting search.strategy]",
)
@click.option(
    "--batch",
    type=click.Path(path_type=Path),
    help="Run every query of this file, which has one JSON object per line (- is stdin).",
)
@click.option("--explain", is_flag=True, help="Show the parts of each score, by signal and by word.")
@click.option(
    "--why",
    "note",
    metavar="NOTE",
    shell_complete=complete_notes,
    help="Show why NOTE (a path, title or alias) is not ranked higher, or not found.",
)
@click.option(
    "--lines", "as_lines", is_flag=True, help="Print one line for each hit, PATH:LINE:TEXT, for fzf and editors."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: one object, or one per line of the batch.")
@rerank_option
@refresh_option
def search_command(
    *,
    queries: tuple[str, ...],
    vaults: tuple[Path, ...],
    limit: int | None,
    strategy: str | None,
    batch: Path | None,
    explain: bool,
    note: str | None,
    as_lines: bool,
    as_json: bool,
    rerank: bool | None,
    no_refresh: bool,
) -> int:
    """Find the fragments that answer QUERY, best first.

    Several QUERYs are wordings of one question. A fragment has the score for the one that it answers best.

    A batch has one JSON object per line, {"id": ..., "query": ...} or {"_id": ..., "text": ...}. For each query, prints
    one line, in the same order. In it, elapsed_ms is the time of the search alone, with warm caches.

    With --why, prints instead of the hits NOTE's rank and score under every strategy, and the signals in which the hits
    above NOTE score more. Exits with 1 if NOTE was not found.

    With more than one --vault, ranks the hits of all vaults together. Each path begins with the name of its vault.
    """
    if bool(queries) == (batch is not None):
        raise click.UsageError("Give either a QUERY or --batch FILE.")
    if batch is not None and not as_json:
        raise click.UsageError("--batch prints JSON only. Add --json.")
    if (explain or note is not None) and len(queries) != 1:
        raise click.UsageError("Use --explain and --why with one QUERY.")
    if as_lines and (explain or note is not None or as_json):
        raise click.UsageError("Use --lines without --explain, --why and --json.")
    reject_folder_as_query(queries)
    batch_queries = None if batch is None else read_batch_queries(batch)
    with load_vault(vaults, refresh=not no_refresh) as opened_vault:
        require_reranker(opened_vault.settings, rerank=rerank)
        chosen = Strategy(strategy) if strategy else opened_vault.settings.search.strategy
        hit_limit = limit or (opened_vault.settings.search.limit if as_json else _DEFAULT_HITS)
        if batch_queries is not None:
            # A single search reads of the index only what it needs: a third of the CPU time at 40,000 notes.
            opened_vault.load()
            return _print_batch_results(opened_vault, batch_queries, chosen, hit_limit, rerank=rerank)
        if note is not None:
            return _print_why_not(opened_vault, queries[0], note, chosen, as_json=as_json, rerank=rerank)
        result = opened_vault.search(*queries, strategy=chosen, limit=hit_limit, spans=not as_json, rerank=rerank)
        explanations = opened_vault.explain(result) if explain else ()
        print_answering_memories(opened_vault, queries)
    for message in (*(hint.message for hint in result.hints), *result.warnings):
        print_message(message)
    if as_lines:
        print_hit_lines(result.hits, folders_of_files(opened_vault))
    elif as_json:
        print_json(add_vaults(opened_vault, result_to_json(result, explanations)))
    else:
        _print_result(result, explanations, folders_of_files(opened_vault))
    return 0 if result.hits else 1


def _print_why_not(
    vault: Vault, query: str, note: str, strategy: Strategy, *, as_json: bool, rerank: bool | None
) -> int:
    """Print why a note is not ranked higher, and return the exit code."""
    from excerpt.cli.explained import print_note_explanation

    explanation = vault.why_not(query, note, strategy=strategy, rerank=rerank)
    if as_json:
        print_json(add_vaults(vault, explanation.to_dict()))
    else:
        print_note_explanation(explanation, folders_of_files(vault), _DEFAULT_HITS)
    return 0 if explanation.explanation is not None else 1


def _print_result(result: Result, explanations: Sequence[Explanation], folders: VaultFolders | None) -> None:
    if result.hits and result.confidence is Confidence.NOTHING:
        print_message(NO_ANSWER)
    elif result.notice:
        print_message(result.notice)
    explain = None
    if explanations:
        from excerpt.cli.explained import print_explanation

        def explain(at: int) -> None:
            print_explanation(explanations[at])

    print_hits(result.hits, folders, explain)
    print_message(_summarize_result(result, in_store=folders is None))


def read_batch_queries(file: Path) -> list[tuple[str, str]]:
    """Return the (id, query) pairs of a batch file. Raises a usage error that names the first invalid line."""
    queries = []
    for number, line in enumerate(read_input(file, "batch").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            name, query = row.get("id", row.get("_id")), row.get("query", row.get("text"))
        except (ValueError, RecursionError, AttributeError):  # number too long, nesting too deep, or not an object
            name = query = None
        if not isinstance(name, str | int) or not isinstance(query, str):
            raise click.UsageError(f'{file}, line {number}: expected a JSON object with "id" and "query".')
        queries.append((str(name), query))
    return queries


def _print_batch_results(
    vault: Vault, queries: list[tuple[str, str]], strategy: Strategy, limit: int, *, rerank: bool | None
) -> int:
    """Run the queries (pairs of id and query), print each result as a JSON line, and return the exit code."""
    has_hits = False
    for name, query in queries:
        result = vault.search(query, strategy=strategy, limit=limit, spans=False, rerank=rerank)
        has_hits = has_hits or bool(result.hits)
        answer = result.to_dict()
        del answer["matched"], answer["generation"]
        print_json({"id": name, **answer})
    return 0 if has_hits else 1


def result_to_json(result: Result, explanations: Sequence[Explanation] = ()) -> dict[str, Any]:
    """Return a result as JSON data; `explanations` of its hits, in the same order, are added to the hits."""
    answer = result.to_dict()
    for hit, explanation in zip(answer["hits"], explanations, strict=False):
        hit["explanation"] = explanation.to_dict()
    return answer


def _summarize_result(result: Result, *, in_store: bool) -> str:
    """Return a one-line summary of a result.

    If the vault is `in_store`, the number of matches is a lower bound: a store counts only the fragments it examined.
    """
    if not result.hits:
        return f"Nothing was found for {result.query!r}."
    count = (
        f"{len(result.hits)} of {'at least ' if in_store else ''}{format_count(result.matched, 'matching fragment')}"
    )
    if len(result.hits) > result.matched:  # under a filter
        count = f"{format_count(len(result.hits), 'fragment')}, {result.matched:,} matching and the nearest in meaning"
    order = {"": "", "date": "oldest first", "-date": "newest first"}[result.sort]
    if result.confidence is None:  # the query has only filters
        return f"{count} · {order or 'newest first'} · {result.elapsed_ms:.1f} ms"
    is_fallback = result.requested_strategy not in (Strategy.AUTO, result.strategy)
    label = f"strategy: {result.strategy.value}" + (
        f", because {result.requested_strategy.value} found nothing" if is_fallback else ""
    )
    label = "by words and meaning" if result.is_joined else label
    time = ", ".join(visible_line(f"{period.text} ({period.filter})") for period in result.periods)
    facts = (
        *(count, label, f"confidence: {format_confidence(result.confidence)}", f"time: {time}" if time else "", order),
        f"{result.elapsed_ms:.1f} ms",
    )
    return " · ".join(filter(None, facts))
