"""`excerpt status`: show what a vault's index holds, and how many tokens its packs have saved."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.base.errors import ExcerptError
from excerpt.base.json_forms import attributes_to_json, to_json_value
from excerpt.base.kinds import Dialect
from excerpt.base.model import Status
from excerpt.base.settings import Paths, Settings, user_paths
from excerpt.cli.printing import print_json, print_line, print_message
from excerpt.cli.vaults import load_vault, refresh_option, vault_parameter
from excerpt.encoders.model_names import remote_notice
from excerpt.text.display import format_count, format_percent, local_time, visible_line
from excerpt.vault.watched import is_watched

if TYPE_CHECKING:
    from excerpt.pack.savings import SavingsFile, TokenSavings


@click.command()
@vault_parameter
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--clear-savings", is_flag=True, help="Reset the count of tokens that packs saved.")
@refresh_option
def status_command(vault: Path | None, as_json: bool, clear_savings: bool, no_refresh: bool) -> int:
    """Show what is indexed, and how many tokens packs have saved.

    Shows the vault, the numbers of its notes and fragments, the model and tokenizer, whether the vault is watched, and
    every file that was skipped, with the reason. Packs save the tokens of the whole notes that they have passages of.
    """
    from excerpt.pack.savings import SavingsFile

    paths = user_paths()
    with load_vault(vault, refresh=not no_refresh) as opened_vault:
        chosen, file = opened_vault.folder, SavingsFile(paths.token_savings_file(opened_vault.folder))
        if clear_savings:
            _clear_savings(file)
        status, store = opened_vault.status(), opened_vault.address
        settings = opened_vault.settings
    savings, remote = file.read(), remote_notice(settings)
    watched = is_watched(paths.watch_folder(chosen))
    if as_json:
        saved = None if savings is None else attributes_to_json(savings, "packs", "tokens", "source_tokens", "since")
        print_json({**to_json_value(status), "watched": watched, "savings": saved})
    else:
        place = store or str(paths.index_folder(chosen))
        _print_status(status, place, watched, savings, remote, in_store=bool(store))
        if not store and sys.stderr.isatty():  # a program would use up what is said once
            _print_model_offer(chosen, settings, paths)
    return 0


def _print_model_offer(vault: Path, settings: Settings, paths: Paths) -> None:
    """Print on stderr, only once for a vault, what a better embedding model would cost."""
    from excerpt.service.model_offer import offer_minilm_for_index

    if offer := offer_minilm_for_index(paths.index_folder(vault), settings, paths):
        print_message(offer)


def _clear_savings(file: SavingsFile) -> None:
    """Reset the count of saved tokens. Raises ExcerptError if the file cannot be removed."""
    try:
        file.clear()
    except OSError as error:
        raise ExcerptError(
            f"{file.file} cannot be removed: {error.strerror or error}.", "Check the permissions of the file's folder."
        ) from error


def _format_savings(savings: TokenSavings | None) -> str:
    """Return the tokens that packs saved, as one line; None means that no pack was made yet."""
    if savings is None:
        return "nothing yet"
    packs = format_count(savings.packs, "pack")
    size = f"{format_count(savings.tokens, 'token')} instead of {savings.source_tokens:,}"
    return f"{format_percent(savings.saved_share, '')} · {packs} with {size}, since {savings.since}"


def _print_status(
    status: Status, place: str, watched: bool, savings: TokenSavings | None, remote: str, *, in_store: bool
) -> None:
    """Print the status of a vault; `place` is the folder of its index, or the address of its store."""
    of_index = (
        ("index", f"{place} (generation {status.generation}, updated {local_time(status.updated)})"),
        (
            "watched",
            "yes: changes are indexed at once" if watched else "no: changes are indexed by the next command",
        ),
    )
    pushed = f"pushed {local_time(status.updated)}" if status.updated else "its first push has not ended"
    rows = (
        ("vault", status.vault),
        *([("store", f"{place} (revision {status.generation}, {pushed})")] if in_store else of_index),
        ("notes", f"{status.notes:,}"),
        *([("dialect", status.dialect)] if status.dialect is not Dialect.MARKDOWN else ()),
        *([("attached", _format_counts_by_kind(status.attachments))] if status.attachments else ()),
        ("fragments", f"{status.fragments:,}"),
        ("model", status.model),
        *([("sent", remote)] if remote else ()),
        ("tokenizer", status.tokenizer),
        ("saved", _format_savings(savings)),
    )
    for name, value in rows:
        print_line(visible_line(f"{name:<10} {value}"))
    for title, entries in (("skipped", status.skipped), ("warnings", status.warnings)):
        print_line(f"{title:<10} {len(entries):,}")
        for entry in entries:
            print_line(visible_line(f"  {entry.path}: {entry.reason}"))  # one line each, through a pager too
    for unread in status.unread:
        advice = f"`{unread.action}`" if unread.action else unread.advice
        print_line(visible_line(f"{'not read':<10} {format_count(unread.files, 'file')}, {unread.what} ({advice})"))


def _format_counts_by_kind(counts: Mapping[str, int]) -> str:
    """Return counts by kind of file as text, such as "3 pdf, 1 image"."""
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
