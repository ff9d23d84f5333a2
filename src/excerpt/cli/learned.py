"""`excerpt learned`: show what the user opened, marked or copied in the app, or forget it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.base.errors import ExcerptError
from excerpt.base.json_forms import to_json_value
from excerpt.base.settings import user_paths
from excerpt.cli.printing import print_json, print_line, print_message
from excerpt.cli.vaults import resolve_vault, vault_option
from excerpt.text.display import format_count, visible_line

if TYPE_CHECKING:
    from excerpt.search.usage import UseLog


@click.command()
@vault_option
@click.argument("query", required=False)
@click.option("--clear", is_flag=True, help="Forget what was learned for QUERY, or with --all for every query.")
@click.option("--all", "clear_all", is_flag=True, help="With --clear: forget everything learned in this vault.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def learned_command(*, vault: Path | None, query: str | None, clear: bool, clear_all: bool, as_json: bool) -> int:
    """Show what you opened, marked or copied, by query; for QUERY only, if given.

    These notes come higher for similar questions, in the app and for agents. The last used come first. After ← stand
    the earlier questions that found nothing sure. excerpt records questions, paths, digests and times in one file in
    its state folder.
    """
    from excerpt.search.usage import UseLog, format_time, has_question, summarize_by_query
    from excerpt.service.index_update import update_use_paths

    if clear_all and not clear:
        raise click.UsageError("--all belongs to --clear.")
    if clear and clear_all == (query is not None):
        raise click.UsageError("Name the query to forget, or add --all to forget every query.")
    chosen, paths = resolve_vault(vault), user_paths()
    log = UseLog(paths.use_file(chosen))
    if clear:
        return _forget_uses(log, query, as_json)
    events = log.events()
    learned = summarize_by_query(update_use_paths(events, paths.index_folder(chosen)))
    if query is not None:
        learned = [one for one in learned if has_question(one, query)]
    if as_json:
        rows = [{**to_json_value(one), "last": format_time(one.last)} for one in learned]
        print_json({"vault": chosen, "file": log.file, "events": len(events), "learned": rows})
    for one in () if as_json else learned:
        uses = ", ".join(
            f"{kind} {count}×"
            for kind, count in (("opened", one.opened), ("marked", one.marked), ("copied", one.copied))
            if count
        )
        asked = " ← ".join((one.query, *reversed(one.earlier)))
        print_line(visible_line(f"{format_time(one.last)[:10]}  {uses:<12}  {asked}  {one.path}"))
    if learned:
        print_message(f"{format_count(len(learned), 'pair')} of query and note, kept in {log.file}.")
    else:
        print_message(
            "Nothing was opened, marked or copied in the app for this query."
            if query is not None
            else "No note of this vault has been opened, marked or copied in the app for a query yet."
        )
    return 0 if learned else 1


def _forget_uses(log: UseLog, query: str | None, as_json: bool) -> int:
    """Delete the record of uses, or `query` from it, print the number of events changed, and return the exit code."""
    try:
        forgotten = log.forget() if query is None else log.forget_query(query)
    except OSError as error:
        raise ExcerptError(
            f"{log.file} cannot be changed: {error.strerror or error}.", "Check the permissions of the file's folder."
        ) from error
    if as_json:
        print_json({"forgotten": forgotten})
    else:
        place = "" if query is None else "the question from "
        deleted = f"Deleted {place}{format_count(forgotten, 'event')}."
        print_line(deleted if forgotten else "There was nothing to delete.")
    return 0
