"""`excerpt recall`: find what was remembered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from excerpt.cli.hits import confidence_as_json
from excerpt.cli.memories import memory_as_json, recaller_of, shown, standing_as_json
from excerpt.cli.opening import snapshot_of
from excerpt.cli.printing import narrate, print_json, put
from excerpt.cli.vaults import chosen_vault, refresh_option, vault_option
from excerpt.settings import MOST, places, settings_of
from excerpt.text.dates import period_of

if TYPE_CHECKING:
    from excerpt.memory.recalling import Recalled
    from excerpt.memory.stale import Standing

Found = tuple["Recalled", "Standing | None"]


def _checked_since(_ctx: click.Context, _param: click.Parameter, since: str) -> str:
    if since and period_of(f">={since}", date.today()) is None:
        raise click.BadParameter(
            f"{since!r} is no date: give a day as 2025-03-01 or 2025-03, or how long ago as 7d, 2w."
        )
    return since


@click.command()
@click.argument("words", nargs=-1)
@vault_option
@click.option("--tag", "tags", multiple=True, help="Only memories with this tag; several must all be there.")
@click.option("--source", default="", metavar="PATH", help="Only those from this note or folder.")
@click.option(
    "--since",
    default="",
    metavar="DATE",
    callback=_checked_since,
    help="Only those remembered since: 2025-03-01, 2025-03, 7d, 2w.",
)
@click.option(
    "--limit", type=click.IntRange(1, MOST), help="The most memories.  [default: search.limit; without WORDS, all]"
)
@click.option("--sources", is_flag=True, help="Look in the vault whether what they are from still stands there.")
@click.option("--stale", is_flag=True, help="Only those whose source has changed or gone.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refresh_option
def command(
    *,
    words: tuple[str, ...],
    vault: Path | None,
    tags: tuple[str, ...],
    source: str,
    since: str,
    limit: int | None,
    sources: bool,
    stale: bool,
    as_json: bool,
    no_refresh: bool,
) -> int:
    """Find memories by words, meaning, tags, source and date.

    WORDS are a query as for `excerpt search`: the memories that answer it, best first. Without WORDS, all of them,
    newest first.
    """
    where, chosen = places(), chosen_vault(vault, offer=True)
    settings = settings_of(chosen, where)
    with recaller_of(chosen, settings, where) as recaller:
        from excerpt.memory.recall import standing_asked

        query, wanted = standing_asked(" ".join(words))
        wanted = True if stale else wanted
        recalled = recaller.recall(query, tags, source, since, limit if wanted is None else None)
        for hint in recaller.hints:
            narrate(hint.said)
    found: Sequence[Found] = [(each, None) for each in recalled]
    if (sources or wanted is not None) and recalled:
        from excerpt.memory.stale import standing

        with snapshot_of(chosen, settings, where, refresh=not no_refresh) as snapshot:
            found = [(each, standing(each.memory, snapshot)) for each in recalled]
    if wanted is not None:
        found = [(each, stands) for each, stands in found if (stands is not None and stands.is_stale) is wanted][:limit]
    if as_json:
        print_json({"memories": [_as_json(*each) for each in found]})
    elif found:
        if not any(each.answers for each, _ in found):
            narrate(NO_ANSWER)
        put("\n\n".join(shown(each.memory, stands) for each, stands in found))
    else:
        narrate(_nothing(asked=bool(words or tags or source or since), stale=bool(wanted)))
    return 0 if found else 1


NO_ANSWER = "no memory answers this; those that share a word with it are below."


def _as_json(recalled: Recalled, standing: Standing | None) -> dict[str, Any]:
    told = {} if standing is None else {"standing": standing_as_json(standing)}
    return {
        **memory_as_json(recalled.memory),
        "score": round(recalled.score, 6),
        "confidence": confidence_as_json(recalled.confidence),
        "answers": recalled.answers,
        **told,
    }


def _nothing(*, asked: bool, stale: bool) -> str:
    if stale:
        return "no memory's source has changed or gone."
    return "no memory matches." if asked else "nothing has been remembered in this vault yet."
