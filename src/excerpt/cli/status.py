"""`excerpt status`: what the index of a vault holds, and what its packs have saved."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.cli.opening import snapshot_of
from excerpt.cli.printing import print_json, put
from excerpt.cli.vaults import chosen_vault, refresh_option, vault_option
from excerpt.errors import ExcerptError
from excerpt.model import Status
from excerpt.settings import places, settings_of
from excerpt.text.counted import percent
from excerpt.text.visible import visible_line
from excerpt.vault.watched import is_watched

if TYPE_CHECKING:
    from excerpt.pack.savings import Savings, SavingsFile


@click.command()
@vault_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--clear-savings", is_flag=True, help="Begin the count of what packs saved again.")
@refresh_option
def command(vault: Path | None, as_json: bool, clear_savings: bool, no_refresh: bool) -> int:
    """Show what is indexed, and what packs have saved.

    The vault, its notes and fragments, with what they are indexed, whether it is watched, and every file that was
    skipped and why. Saved is what packs had less than the whole notes that their passages are from.
    """
    from excerpt.pack.savings import SavingsFile

    where = places()
    chosen = chosen_vault(vault)
    settings = settings_of(chosen, where)
    file = SavingsFile(where.savings_file(chosen))
    if clear_savings:
        _clear(file)
    with snapshot_of(chosen, settings, where, refresh=not no_refresh) as snapshot:
        status = snapshot.status()
    savings = file.read()
    watched = is_watched(where.watch_folder(chosen))
    if as_json:
        print_json({**asdict(status), "watched": watched, "savings": _savings_as_json(savings)})
    else:
        _print_status(status, where.index_folder(chosen), watched, savings)
    return 0


def _clear(file: SavingsFile) -> None:
    try:
        file.clear()
    except OSError as error:
        raise ExcerptError(
            f"{file.file} cannot be removed: {error.strerror or error}.", "Check the permissions of its folder."
        ) from error


def _savings_as_json(savings: Savings | None) -> dict[str, object] | None:
    if savings is None:
        return None
    counts = {"packs": savings.packs, "tokens": savings.tokens, "source_tokens": savings.source_tokens}
    return {**counts, "since": savings.since}


def _savings_line(savings: Savings | None) -> str:
    if savings is None:
        return "nothing yet"
    packs = "1 pack" if savings.packs == 1 else f"{savings.packs:,} packs"
    of = f"{savings.tokens:,} tokens in place of {savings.source_tokens:,}"
    return f"{percent(savings.saved, '')} · {packs} of {of}, since {savings.since}"


def _print_status(status: Status, folder: Path, watched: bool, savings: Savings | None) -> None:
    rows = (
        ("vault", status.vault),
        ("index", f"{folder} (generation {status.generation}, updated {status.updated})"),
        (
            "watched",
            "yes: changes are taken in as they happen" if watched else "no: changes are seen by the next command",
        ),
        ("notes", f"{status.notes:,}"),
        ("fragments", f"{status.fragments:,}"),
        ("model", status.model),
        ("tokenizer", status.tokenizer),
        ("saved", _savings_line(savings)),
    )
    for name, value in rows:
        put(visible_line(f"{name:<10} {value}"))
    for said, found in (("skipped", status.skipped), ("warnings", status.warnings)):
        put(f"{said:<10} {len(found):,}")
        for one in found:
            put(visible_line(f"  {one.path}: {one.reason}"))  # one line each, through a pager too
