"""`excerpt pack`: the passages that answer a query, ready for a prompt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from excerpt.cli.opening import snapshot_of
from excerpt.cli.printing import for_stdout, narrate, put
from excerpt.cli.vaults import chosen_vault, refresh_option, vault_option
from excerpt.model import PackResult, Scope, Strategy
from excerpt.settings import load_settings, places


@click.command()
@click.argument("query")
@vault_option
@click.option("--budget", type=click.IntRange(min=0), help="The most tokens, headers and separators included.")
@click.option("--limit", type=click.IntRange(min=1), help="From how many of the best hits.")
@click.option("--expand", type=click.Choice([s.value for s in Scope]), help="What each hit is grown to.")
@click.option("--neighbors", type=click.IntRange(min=0), help="How many fragments on each side, for neighbors.")
@click.option("--tokenizer", help="Whose tokens: o200k, cl100k, llama3 ..., chars/4, or a path to a tokenizer.json.")
@click.option("--strategy", type=click.Choice([s.value for s in Strategy]), help="How to score.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    show_default=True,
    help="Text for a prompt, or the packs as data.",
)
@refresh_option
def command(
    *,
    query: str,
    vault: Path | None,
    budget: int | None,
    limit: int | None,
    expand: str | None,
    neighbors: int | None,
    tokenizer: str | None,
    strategy: str | None,
    form: str,
    no_refresh: bool,
) -> int:
    """Pack the passages that answer QUERY for an LLM prompt. What is not given is as in the settings."""
    where = places()
    settings = load_settings(where.settings_file)
    given: dict[str, Any] = {"budget": budget, "limit": limit, "neighbors": neighbors, "tokenizer": tokenizer}
    wanted = replace(settings.pack, **{name: value for name, value in given.items() if value is not None})
    if expand:
        wanted = replace(wanted, scope=Scope(expand))
    chosen = Strategy(strategy) if strategy else settings.search.strategy
    folder = chosen_vault(vault)
    with snapshot_of(folder, settings, where, refresh=not no_refresh) as snapshot:
        from excerpt.pack.pack import build_pack
        from excerpt.pack.render import as_json
        from excerpt.search.engine import Engine
        from excerpt.search.use import UseLog
        from excerpt.text.tokens import open_tokenizer

        engine = Engine(snapshot, settings, UseLog(where.use_file(folder)))
        result = engine.search(query, chosen, max(wanted.limit, settings.search.limit))
        packed = build_pack(
            snapshot,
            result.hits,
            query=query,
            strategy=result.strategy,
            settings=wanted,
            tokenizer=open_tokenizer(wanted.tokenizer),
        )
    put(as_json(packed) if form == "json" else for_stdout(packed.text), end="")
    narrate(_summary(packed))
    return 0 if packed.packs else 1


def _summary(packed: PackResult) -> str:
    out = f", {len(packed.left_out)} left out" if packed.left_out else ""
    return (
        f"{len(packed.packs)} packs{out} · {packed.tokens:,} of {packed.budget:,} tokens ({packed.tokenizer}) · "
        f"saves {packed.saved:.0%} of {packed.source_tokens:,}"
    )
