"""`excerpt search`: one query, or a file of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from excerpt.cli.hits import print_hits
from excerpt.cli.printing import narrate, print_json, read_input
from excerpt.cli.vaults import opened, refresh_option, vault_option
from excerpt.kinds import Confidence, Strategy
from excerpt.model import Result
from excerpt.settings import MOST

if TYPE_CHECKING:
    from excerpt import Explanation, Vault

_SHOWN_TO_READERS = 10
NO_ANSWER = "Nothing here answers this; the nearest are below."
"""Said above hits of which none is likely to answer."""


@click.command()
@click.argument("query", required=False)
@vault_option
@click.option(
    "--limit",
    type=click.IntRange(1, MOST),
    help="The most hits.  [default: 10; with --json, search.limit of the settings]",
)
@click.option(
    "--strategy", type=click.Choice([s.value for s in Strategy]), help="How to score.  [default: the settings']"
)
@click.option(
    "--batch", type=click.Path(path_type=Path), help="Answer every query of this file of JSON lines (- is stdin)."
)
@click.option("--explain", is_flag=True, help="Say of each hit what its score is made of, by signal and by word.")
@click.option(
    "--why", "note", metavar="NOTE", help="Say why this note (path, title or alias) is not higher, or not there."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: one object, or one a line of the batch.")
@refresh_option
def search_command(
    *,
    query: str | None,
    vault: Path | None,
    limit: int | None,
    strategy: str | None,
    batch: Path | None,
    explain: bool,
    note: str | None,
    as_json: bool,
    no_refresh: bool,
) -> int:
    """Find the fragments that answer QUERY, best first.

    A batch holds one JSON object a line, {"id": ..., "query": ...}; {"_id": ..., "text": ...} will do. One line is
    printed for each, in order; elapsed_ms is the search alone, with warm caches.

    With --why, NOTE's rank and score under every strategy are printed instead of the hits, and what the hits above it
    have more; the exit code is 1 if it is not among what was found.
    """
    if (query is None) == (batch is None):
        raise click.UsageError("Give either a QUERY or --batch FILE.")
    if batch is not None and not as_json:
        raise click.UsageError("--batch prints JSON: say so with --json.")
    if (explain or note is not None) and batch is not None:
        raise click.UsageError("--explain and --why are of one QUERY, not of a --batch.")
    asked = None if batch is None else read_batch(batch)
    with opened(vault, refresh=not no_refresh) as found:
        chosen = Strategy(strategy) if strategy else found.settings.search.strategy
        most = limit or (found.settings.search.limit if as_json else _SHOWN_TO_READERS)
        found.warm()  # so that elapsed_ms is the search alone here too
        if asked is not None:
            return _answer_batch(found, asked, chosen, most)
        assert query is not None
        if note is not None:
            return _answer_why(found, query, note, chosen, as_json=as_json)
        result = found.search(query, strategy=chosen, limit=most, spans=not as_json)
        explanations = found.explain(result) if explain else ()
    for hint in result.hints:
        narrate(hint.said)
    if as_json:
        print_json(result_as_json(result, explanations))
    else:
        _print(result, explanations)
    return 0 if result.hits else 1


def _answer_why(vault: Vault, query: str, note: str, strategy: Strategy, *, as_json: bool) -> int:
    from excerpt.cli.explained import print_note

    told = vault.why_not(query, note, strategy=strategy)
    if as_json:
        print_json(told.to_dict())
    else:
        print_note(told, _SHOWN_TO_READERS)
    return 0 if told.explanation is not None else 1


def _print(result: Result, explanations: Sequence[Explanation]) -> None:
    if result.hits and result.confidence is Confidence.NOTHING:
        narrate(NO_ANSWER)
    explain = None
    if explanations:
        from excerpt.cli.explained import print_explanation

        def explain(at: int) -> None:
            print_explanation(explanations[at])

    print_hits(result, explain)
    narrate(_summary(result))


def read_batch(file: Path) -> list[tuple[str, str]]:
    """The ids and queries of a batch file. Raises a usage error that names the line of the first one that is wrong."""
    asked = []
    for number, line in enumerate(read_input(file, "batch").split("\n"), 1):
        if not line.strip():
            continue
        try:
            one = json.loads(line)
            name, query = one.get("id", one.get("_id")), one.get("query", one.get("text"))
        except (ValueError, RecursionError, AttributeError):  # a number too long, brackets too deep, no object
            name = query = None
        if not isinstance(name, str | int) or not isinstance(query, str):
            raise click.UsageError(f'{file}, line {number}: not a JSON object with "id" and "query".')
        asked.append((str(name), query))
    return asked


def _answer_batch(vault: Vault, asked: list[tuple[str, str]], strategy: Strategy, limit: int) -> int:
    found = False
    for name, query in asked:
        result = vault.search(query, strategy=strategy, limit=limit, spans=False)
        found = found or bool(result.hits)
        answer = result.to_dict()
        del answer["matched"], answer["generation"]
        print_json({"id": name, **answer})
    return 0 if found else 1


def result_as_json(result: Result, explanations: Sequence[Explanation] = ()) -> dict[str, Any]:
    """The answer to one query, each hit with its explanation where there is one."""
    answer = result.to_dict()
    for hit, told in zip(answer["hits"], explanations, strict=False):
        hit["explanation"] = told.to_dict()
    return answer


def _summary(result: Result) -> str:
    if not result.hits:
        return f"Nothing was found for {result.query!r}."
    shown = f"{len(result.hits)} of {result.matched:,} matching fragments"
    if len(result.hits) > result.matched:  # under a filter
        shown = f"{len(result.hits)} fragments, {result.matched:,} matching and the nearest in meaning"
    if result.confidence is None:  # nothing but filters was asked
        return f"{shown} · newest first · {result.elapsed_ms:.1f} ms"
    took_over = result.asked not in (Strategy.AUTO, result.strategy)
    led = f"{result.strategy.value} leads" + (f", for {result.asked.value} found nothing" if took_over else "")
    return f"{shown} · {led} · confidence: {result.confidence.value} · {result.elapsed_ms:.1f} ms"
