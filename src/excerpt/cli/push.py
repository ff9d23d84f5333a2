"""`excerpt push`: write a vault to a store, for a team."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from excerpt.cli.printing import ProgressLine, print_json, put
from excerpt.cli.vaults import VaultFolder, build_index, chosen_vault
from excerpt.model import Progress
from excerpt.settings import places, settings_of
from excerpt.text.display import counted


@click.command()
@click.argument("vault", required=False, type=VaultFolder())
@click.option(
    "--to", "address", required=True, metavar="ADDRESS", help="postgresql://user@host/database?vault=NAME, no password."
)
@click.option("--roles", is_flag=True, help="Make the roles excerpt_writer and excerpt_reader, for this store.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def push_command(vault: Path | None, *, address: str, roles: bool, as_json: bool) -> int:
    """Write VAULT to a PostgreSQL store, or bring what is there up to date.

    The index is brought up to date first. What changed is written note by note, what is gone is deleted; a push that
    was interrupted goes on with the next one. Readers name the same ADDRESS as their vault.
    """
    from excerpt.index.snapshot import Snapshot
    from excerpt.store.address import read_address
    from excerpt.store.push import push

    to = read_address(address)
    where = places()
    chosen = chosen_vault(vault)
    settings = settings_of(chosen, where)
    build_index(chosen, settings, where)
    snapshot = Snapshot.open(where.index_folder(chosen), settings)
    line, begun = ProgressLine(sys.stderr), time.monotonic()
    try:
        report = push(
            snapshot,
            to,
            lambda written, of: line(
                Progress("pushing", written, of, 0, 0, "", snapshot.generation, 0, time.monotonic() - begun)
            ),
            roles=roles,
        )
    finally:
        snapshot.close()
    if as_json:
        print_json(report)
    else:
        put(
            f"{counted(report.added + report.changed + report.unchanged, 'note')},"
            f" {counted(report.fragments, 'fragment')} in {to.shown}: {report.added:,} added,"
            f" {report.changed:,} changed, {report.removed:,} removed in {report.seconds:.1f} s"
        )
    return 0
