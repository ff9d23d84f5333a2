"""`excerpt search`: one query, or a file of them."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from excerpt.cli.hits import hit_as_json, print_hits
from excerpt.cli.opening import snapshot_of
from excerpt.cli.printing import narrate, print_json
from excerpt.cli.vaults import chosen_vault, refresh_option, vault_option
from excerpt.model import Result, Strategy
from excerpt.settings import load_settings, places

if TYPE_CHECKING:
    from excerpt.search.engine import Engine

_SHOWN_TO_READERS = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """One line of a batch."""

    id: str
    query: str


@click.command()
@click.argument("query", required=False)
@vault_option
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="The most hits.  [default: 10; with --json, search.limit of the settings]",
)
@click.option(
    "--strategy", type=click.Choice([s.value for s in Strategy]), help="How to score.  [default: the settings']"
)
@click.option(
    "--batch", type=click.Path(path_type=Path), help="Answer every query of this file of JSON lines (- is stdin)."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: one object, or one a line of the batch.")
@refresh_option
def command(
    *,
    query: str | None,
    vault: Path | None,
    limit: int | None,
    strategy: str | None,
    batch: Path | None,
    as_json: bool,
    no_refresh: bool,
) -> int:
    """Find the fragments that answer QUERY, best first.

    A batch holds one JSON object a line, {"id": ..., "query": ...}; {"_id": ..., "text": ...} will do. One line is
    printed for each, in order; elapsed_ms is the search alone, with warm caches.
    """
    if (query is None) == (batch is None):
        raise click.UsageError("Give either a QUERY or --batch FILE.")
    if batch is not None and not as_json:
        raise click.UsageError("--batch prints JSON: say so with --json.")
    asked = None if batch is None else read_batch(batch)
    where = places()
    settings = load_settings(where.settings_file)
    chosen = Strategy(strategy) if strategy else settings.search.strategy
    most = limit or (settings.search.limit if as_json else _SHOWN_TO_READERS)
    with snapshot_of(chosen_vault(vault), settings, where, refresh=not no_refresh) as snapshot:
        from excerpt.search.engine import Engine

        engine = Engine(snapshot, settings)
        if asked is not None:
            return _answer_batch(engine, asked, chosen, most)
        assert query is not None
        engine.warm()  # so that elapsed_ms is the search alone here too
        result = engine.search(query, chosen, most)
    if as_json:
        print_json(result_as_json(result))
    else:
        print_hits(result)
        narrate(_summary(result))
    return 0 if result.hits else 1


def read_batch(file: Path) -> list[Asked]:
    """The queries of a batch file. Raises a usage error that names the line of the first one that is wrong."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"The batch {file} cannot be read: {error}.") from error
    asked = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            one = json.loads(line)
            name, query = one.get("id", one.get("_id")), one.get("query", one.get("text"))
        except (json.JSONDecodeError, AttributeError):
            name = query = None
        if not isinstance(name, str | int) or not isinstance(query, str):
            raise click.UsageError(f'{file}, line {number}: not a JSON object with "id" and "query".')
        asked.append(Asked(str(name), query))
    return asked


def _answer_batch(engine: Engine, asked: list[Asked], strategy: Strategy, limit: int) -> int:
    engine.warm()
    found = False
    for one in asked:
        result = engine.search(one.query, strategy, limit)
        found = found or bool(result.hits)
        print_json({"id": one.id, **_answer(result)})
    return 0 if found else 1


def _answer(result: Result) -> dict[str, Any]:
    return {
        "query": result.query,
        "strategy": result.strategy.value,
        "elapsed_ms": round(result.elapsed_ms, 3),
        "hits": [hit_as_json(hit) for hit in result.hits],
    }


def result_as_json(result: Result) -> dict[str, Any]:
    """The answer to one query: a batch's line with how many fragments matched and the index's generation."""
    answer = _answer(result)
    hits = answer.pop("hits")
    return {**answer, "matched": result.matched, "generation": result.generation, "hits": hits}


def _summary(result: Result) -> str:
    if not result.hits:
        return f"Nothing was found for {result.query!r}."
    shown = f"{len(result.hits)} of {result.matched:,} matching fragments"
    return f"{shown} · {result.strategy.value} leads · {result.elapsed_ms:.1f} ms"
