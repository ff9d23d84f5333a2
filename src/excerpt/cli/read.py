"""`excerpt read`: a note, or lines of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from excerpt.cli.opening import snapshot_of
from excerpt.cli.printing import for_stdout, narrate, print_json, put
from excerpt.cli.vaults import chosen_vault, refresh_option, vault_option
from excerpt.settings import places, settings_of
from excerpt.text.line_range import line_range


@click.command()
@click.argument("note", metavar="NOTE[:A-B]")
@vault_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the text with its place and size.")
@refresh_option
def command(*, note: str, vault: Path | None, as_json: bool, no_refresh: bool) -> int:
    """Print a note of the vault: all of it, lines A to B of it, or the section under a heading (NOTE#Heading).

    NOTE is a path, the end of one, a file name, a title or an alias. Lines are counted from 1; NOTE:A is one line,
    NOTE:A- goes to the end.
    """
    where = places()
    folder = chosen_vault(vault)
    settings = settings_of(folder, where)
    with snapshot_of(folder, settings, where, refresh=not no_refresh) as snapshot:
        from excerpt.insight.reading import read

        found = read(snapshot, note)
    if as_json:
        print_json(asdict(found))
    else:
        put(for_stdout(found.text))
        lines = line_range(found.line_start, found.line_end)
        narrate(f"{found.path}:{lines} of {found.lines:,} lines · {found.tokens:,} tokens")
    return 0
