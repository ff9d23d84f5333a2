"""`excerpt recall`: find memories."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from excerpt.base.settings import MAX_HITS
from excerpt.cli.completing import complete_notes, complete_tags
from excerpt.cli.memories import format_memory, print_unreadable_files
from excerpt.cli.printing import print_json, print_line, print_message
from excerpt.cli.vaults import add_vaults, load_vault, refresh_option, vaults_option
from excerpt.text.dates import parse_period

_NO_ANSWER = "No memory answers the query. The memories below share a word with the query."
"""Printed above memories of which none is likely to answer the query."""


def _validate_since(_ctx: click.Context, _param: click.Parameter, since: str) -> str:
    """Return the value of --since; raises a usage error if it is not a date or an age."""
    if since and parse_period(f">={since}", date.today()) is None:
        raise click.BadParameter(
            f"{since!r} is not a date. Give a day or month, such as 2025-03-01 or 2025-03, or an age, such as 7d or 2w."
        )
    return since


@click.command()
@click.argument("words", nargs=-1)
@vaults_option
@click.option(
    "--tag",
    "tags",
    multiple=True,
    shell_complete=complete_tags,
    help="List only memories with this tag; given several times, with all these tags.",
)
@click.option(
    "--source",
    default="",
    metavar="PATH",
    shell_complete=complete_notes,
    help="List only memories from this note or folder.",
)
@click.option(
    "--since",
    default="",
    metavar="DATE",
    callback=_validate_since,
    help="List only memories made since DATE: a day, a month or an age, such as 2025-03-01, 2025-03, 7d or 2w.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_HITS),
    help="The maximum number of memories.  [default: the setting search.limit; without WORDS, all]",
)
@click.option("--sources", is_flag=True, help="Check whether the sources of the memories are still in the vault.")
@click.option("--stale", is_flag=True, help="List only memories whose source has changed or is gone.")
@click.option("--replaced", is_flag=True, help="List the memories that others replace, in place of the current ones.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refresh_option
def recall_command(
    *,
    words: tuple[str, ...],
    vaults: tuple[Path, ...],
    tags: tuple[str, ...],
    source: str,
    since: str,
    limit: int | None,
    sources: bool,
    stale: bool,
    replaced: bool,
    as_json: bool,
    no_refresh: bool,
) -> int:
    """Find memories by words, meaning, tags, source and date.

    WORDS are a query as for `excerpt search`. Lists the memories that answer it, best first. Without WORDS, lists all
    memories, newest first. Memories that others replace are listed only with --replaced or the filter is:replaced.
    """
    with load_vault(vaults, refresh=not no_refresh, suggest_moves=True) as notes:
        print_unreadable_files(notes)
        recalled = notes.memories.recall(
            " ".join(words),
            tags=tags,
            source=source,
            since=since,
            limit=limit,
            check_sources=sources,
            stale=True if stale else None,
            replaced=replaced,
        )
    if as_json:
        print_json(add_vaults(notes, {"memories": [each.to_dict() for each in recalled]}))
    elif recalled:
        if not any(each.answers for each in recalled):
            print_message(_NO_ANSWER)
        print_line("\n\n".join(format_memory(each.memory, each.source_check, each.vault) for each in recalled))
    else:
        has_query = bool(words or tags or source or since)
        print_message(_explain_no_memories(has_query=has_query, stale=stale, replaced=replaced))
    return 0 if recalled else 1


def _explain_no_memories(*, has_query: bool, stale: bool, replaced: bool) -> str:
    """Return why no memory is listed: `has_query` for words or filters, `stale` and `replaced` for these options."""
    if stale:
        return "There is no memory whose source has changed or is gone."
    if replaced and not has_query:
        return "No memory is replaced."
    return "No memory matches." if has_query else "This vault has no memories yet."
