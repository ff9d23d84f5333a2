"""`excerpt status`: what the index of a vault holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from excerpt.cli.opening import snapshot_of
from excerpt.cli.printing import line_for_stdout, print_json, put
from excerpt.cli.vaults import chosen_vault, refresh_option, vault_option
from excerpt.model import Status
from excerpt.settings import load_settings, places


@click.command()
@vault_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refresh_option
def command(vault: Path | None, as_json: bool, no_refresh: bool) -> int:
    """Show what is indexed.

    The vault, its notes and fragments, with what they are indexed, and every file that was skipped and why.
    """
    where = places()
    settings = load_settings(where.settings_file)
    chosen = chosen_vault(vault)
    with snapshot_of(chosen, settings, where, refresh=not no_refresh) as snapshot:
        status = snapshot.status()
    if as_json:
        print_json(asdict(status))
    else:
        _print_status(status, where.index_folder(chosen))
    return 0


def _print_status(status: Status, folder: Path) -> None:
    rows = (
        ("vault", status.vault),
        ("index", f"{folder} (generation {status.generation}, updated {status.updated})"),
        ("notes", f"{status.notes:,}"),
        ("fragments", f"{status.fragments:,}"),
        ("model", status.model),
        ("tokenizer", status.tokenizer),
    )
    for name, value in rows:
        put(line_for_stdout(f"{name:<10} {value}"))
    for said, found in (("skipped", status.skipped), ("warnings", status.warnings)):
        put(f"{said:<10} {len(found):,}")
        for one in found:
            put(line_for_stdout(f"  {one.path}: {one.reason}"))
