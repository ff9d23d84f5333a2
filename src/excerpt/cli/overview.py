"""`excerpt overview`: what the vault holds about a topic, on one screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from excerpt.cli.hits import confidence_as_json
from excerpt.cli.opening import snapshot_of
from excerpt.cli.printing import for_stdout, narrate, print_json, put
from excerpt.cli.vaults import chosen_vault, refresh_option, vault_option
from excerpt.settings import MOST, places, settings_of

if TYPE_CHECKING:
    from excerpt.insight.overview_parts import Overview


@click.command()
@click.argument("topic", nargs=-1, required=True)
@vault_option
@click.option(
    "--budget", type=click.IntRange(1, MOST), help="The most tokens, of the tokenizer in the settings.  [default: 800]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all that was found whatever the budget.")
@refresh_option
def command(*, topic: tuple[str, ...], vault: Path | None, budget: int | None, as_json: bool, no_refresh: bool) -> int:
    """Show what the vault holds about TOPIC.

    Its main notes and sections, key passages, themes, what tags and folders stand out, related notes, when it was
    written about, and what else is named, as Markdown within a budget of tokens. TOPIC is read like a query of
    `excerpt search`, filters and all.
    """
    where = places()
    folder = chosen_vault(vault)
    settings = settings_of(folder, where)
    with snapshot_of(folder, settings, where, refresh=not no_refresh) as snapshot:
        from excerpt.insight.overview import BUDGET, overview
        from excerpt.insight.render import as_markdown
        from excerpt.search.engine import Engine
        from excerpt.search.use import UseLog

        engine = Engine(snapshot, settings, UseLog(where.use_file(folder)))
        found = overview(engine, " ".join(topic), BUDGET if budget is None else budget)
    if as_json:
        print_json(overview_as_json(found))
    elif found.found:
        text = as_markdown(found)
        put(for_stdout(text), end="")
        narrate(_summary(found, text))
    else:
        narrate(f"Nothing here is about {found.topic!r}.")
    return 0 if found.found else 1


def _summary(found: Overview, text: str) -> str:
    from excerpt.text.tokens import open_tokenizer

    if not text:
        return f"Not even its first lines fit into {found.budget:,} tokens."
    tokens = open_tokenizer(found.tokenizer).count(text)
    return f"{found.notes:,} notes about {found.topic!r} · {tokens:,} of {found.budget:,} tokens"


def overview_as_json(found: Overview) -> dict[str, Any]:
    """An overview in the form that the guide's note on JSON forms describes."""
    return {
        "topic": found.topic,
        "generation": found.generation,
        "confidence": confidence_as_json(found.confidence),
        "matched": found.matched,
        "fragments": found.fragments,
        "notes": found.notes,
        "vault_fragments": found.vault_fragments,
        "vault_notes": found.vault_notes,
        "main_notes": _all(found.main_notes),
        "sections": _all(found.sections),
        "passages": [
            {**_one(passage), "confidence": confidence_as_json(passage.confidence)} for passage in found.passages
        ],
        "themes": _all(found.themes),
        "standouts": _all(found.standouts),
        "related": _all(found.related),
        # `path` of a name is that of the note that is meant, not of where it is named.
        "names": [
            {"name": name.name, "note": name.path, "notes": name.notes, "overall": name.overall, **asdict(name.place)}
            for name in found.names
        ],
        "timeline": {
            "date": found.timeline.date,
            "undated": found.timeline.undated,
            "months": _all(found.timeline.months),
        },
    }


def _all(parts: Sequence[Any]) -> list[dict[str, Any]]:
    return [_one(part) for part in parts]


def _one(part: Any) -> dict[str, Any]:
    """A part of an overview with its place beside the rest."""
    values = asdict(part)
    place = values.pop("place")
    return {**place, **values}
