"""`excerpt index`, `status` and `learned`: build the index and show what is stored about a vault."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.cli.printing import print_json, print_line, print_message
from excerpt.cli.vaults import build_index, load_vault, refresh_option, resolve_vault, vault_option
from excerpt.encoders.model_names import model_label, remote_notice
from excerpt.errors import ExcerptError
from excerpt.json_forms import attributes_to_json, to_json_value
from excerpt.kinds import Dialect
from excerpt.known_vaults import refuse_broad_folder
from excerpt.model import BuildReport, Progress, Status
from excerpt.settings import Ocr, Paths, Settings, load_vault_settings, user_paths
from excerpt.text.display import format_count, format_percent, local_time, visible_line
from excerpt.vault.watched import is_watched

if TYPE_CHECKING:
    from excerpt.pack.savings import SavingsFile, TokenSavings
    from excerpt.search.usage import UseEvent, UseLog


# --- index ------------------------------------------------------------------------------------------------------------
# `excerpt index`: update or rebuild a vault's index.

_MAX_LISTED_FILES = 10  # skipped files, and files with a warning, in a report


@click.command()
@vault_option
@click.option("--rebuild", is_flag=True, help="Rebuild the index from the vault.")
@click.option("--accept-empty", is_flag=True, help="Accept that the vault has no notes any more, and empty its index.")
@click.option("--accept-all", is_flag=True, help="Allow a vault that is a home folder or a whole disk.")
@click.option("--ocr", is_flag=True, help="Recognise the text in images and scanned pages, now and in future.")
@click.option(
    "--progress", is_flag=True, help="Print progress as JSON lines; the last line has the event done or error."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def index_command(
    vault: Path | None, *, rebuild: bool, accept_empty: bool, accept_all: bool, ocr: bool, progress: bool, as_json: bool
) -> int:
    """Bring the index up to date.

    Reads new and changed notes, and removes deleted notes from the index. If the vault has no notes any more, the index
    is kept until you add --accept-empty, because the disk may only be unmounted.

    With --ocr, tesseract or rapidocr recognises the text in images. The choice is saved as a setting of the vault, so
    images that are added later are read too.
    """
    if progress:
        return _index_with_progress(vault, rebuild, accept_empty, accept_all, ocr)
    from excerpt.service.index_update import has_vectors_pending

    paths = user_paths()
    chosen = resolve_vault(vault)
    settings = _turn_on_ocr(chosen, paths) if ocr else load_vault_settings(chosen, paths)
    report = build_index(chosen, settings, paths, rebuild=rebuild, accept_empty=accept_empty, accept_all=accept_all)
    if as_json:
        print_json(report)
    else:
        _print_report(report)
        if has_vectors_pending(paths.index_folder(chosen), settings):
            print_message(
                f"{model_label(settings.embedding.model)} has not embedded the notes yet. The app does it while it is"
                " open, or run `excerpt embedding --run`; `excerpt embedding` shows what it costs."
            )
    return 0


def _turn_on_ocr(vault: Path, paths: Paths) -> Settings:
    """Turn on OCR in the vault's settings file, print the file's path, and return the new settings."""
    from excerpt.service.index_update import enable_ocr
    from excerpt.tui.keymap import bindable_actions

    if file := enable_ocr(vault, paths, bindable_actions()):
        print_message(f'OCR is now on for this vault: vault.attachments.ocr = "{Ocr.AUTO}" in {file}.')
    return load_vault_settings(vault, paths)


def _index_with_progress(vault: Path | None, rebuild: bool, accept_empty: bool, accept_all: bool, ocr: bool) -> int:
    """Update the index, print progress and the outcome as JSON lines, and return the exit code."""
    try:
        from excerpt.service.index_update import update_index

        paths = user_paths()
        chosen = resolve_vault(vault)
        if not accept_all:
            refuse_broad_folder(chosen, paths)
        settings = _turn_on_ocr(chosen, paths) if ocr else load_vault_settings(chosen, paths)
        report = update_index(
            chosen,
            settings,
            paths,
            _print_progress,
            rebuild=rebuild,
            accept_empty=accept_empty,
            accept_all=accept_all,
        )
    except ExcerptError as error:
        print_json({"event": "error", "title": error.title, "message": error.message, "hint": error.hint})
        return error.exit_code
    print_json({"event": "done", **to_json_value(report)})
    return 0


def _print_progress(progress: Progress) -> None:
    print_json({"event": "progress", **to_json_value(progress)})


def _print_report(report: BuildReport) -> None:
    notes = report.added + report.changed + report.unchanged - report.attachments
    attachments = f" and {format_count(report.attachments, 'attachment')}" if report.attachments else ""
    if report.rebuilt:
        print_line(visible_line(f"Rebuilt: {report.rebuilt}"))
    print_line(
        f"{format_count(notes, 'note')}{attachments}, {format_count(report.fragments, 'fragment')} · "
        f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed · {report.seconds:.1f} s"
    )
    for title, entries in (("skipped", report.skipped), ("indexed with a warning", report.warnings)):
        if entries:
            print_line(f"{len(entries):,} {title}:")
        for entry in entries[:_MAX_LISTED_FILES]:
            print_line(visible_line(f"  {entry.path}: {entry.reason}"))  # one line each, through a pager too
        if len(entries) > _MAX_LISTED_FILES:
            print_line(f"  and {len(entries) - _MAX_LISTED_FILES:,} more: `excerpt status` lists all files")


@click.command()
@vault_option
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
        remote = remote_notice(opened_vault.settings)
    savings = file.read()
    watched = is_watched(paths.watch_folder(chosen))
    if as_json:
        saved = None if savings is None else attributes_to_json(savings, "packs", "tokens", "source_tokens", "since")
        print_json({**to_json_value(status), "watched": watched, "savings": saved})
    else:
        _print_status(status, store or str(paths.index_folder(chosen)), watched, savings, remote)
    return 0


# --- status -----------------------------------------------------------------------------------------------------------
# `excerpt status`: show what a vault's index holds and what its packs have saved.


def _clear_savings(file: SavingsFile) -> None:
    """Reset the count of saved tokens. Raises ExcerptError if the file cannot be removed."""
    try:
        file.clear()
    except OSError as error:
        raise ExcerptError(
            f"{file.file} cannot be removed: {error.strerror or error}.", "Check the permissions of its folder."
        ) from error


def _format_savings(savings: TokenSavings | None) -> str:
    """Return the tokens that packs saved, as one line; None means that no pack was made yet."""
    if savings is None:
        return "nothing yet"
    packs = format_count(savings.packs, "pack")
    size = f"{format_count(savings.tokens, 'token')} instead of {savings.source_tokens:,}"
    return f"{format_percent(savings.saved_share, '')} · {packs} with {size}, since {savings.since}"


def _print_status(
    status: Status, index_location: str, watched: bool, savings: TokenSavings | None, remote: str
) -> None:
    rows = (
        ("vault", status.vault),
        ("index", f"{index_location} (generation {status.generation}, updated {local_time(status.updated)})"),
        (
            "watched",
            "yes: changes are indexed at once" if watched else "no: changes are indexed by the next command",
        ),
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


@click.command()
@vault_option
@click.argument("query", required=False)
@click.option("--clear", is_flag=True, help="Forget what was learned for QUERY, or with --all for every query.")
@click.option("--all", "clear_all", is_flag=True, help="With --clear: forget everything learned in this vault.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def learned_command(*, vault: Path | None, query: str | None, clear: bool, clear_all: bool, as_json: bool) -> int:
    """Show what you opened, marked or copied in the app, by query; for QUERY only, if given.

    The app raises these notes for similar words. The last used come first. excerpt records queries, paths and times in
    one file in its state folder.
    """
    from excerpt.search.usage import UseLog, format_time, normalize_query, summarize_by_query
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
        learned = [one for one in learned if normalize_query(one.query) == normalize_query(query)]
    if as_json:
        rows = [{**to_json_value(one), "last": format_time(one.last)} for one in learned]
        print_json({"vault": chosen, "file": log.file, "events": len(events), "learned": rows})
    for one in () if as_json else learned:
        uses = ", ".join(
            f"{kind} {count}×"
            for kind, count in (("opened", one.opened), ("marked", one.marked), ("copied", one.copied))
            if count
        )
        print_line(visible_line(f"{format_time(one.last)[:10]}  {uses:<12}  {one.query}  {one.path}"))
    if learned:
        print_message(f"{format_count(len(learned), 'pair')} of query and note, kept in {log.file}.")
    else:
        print_message(
            "Nothing was opened, marked or copied in the app for this query."
            if query is not None
            else "No note of this vault has been opened, marked or copied in the app for a query yet."
        )
    return 0 if learned else 1


# --- learned ----------------------------------------------------------------------------------------------------------
# `excerpt learned`: show or clear the record of what the user opened, marked or copied.


def _forget_uses(log: UseLog, query: str | None, as_json: bool) -> int:
    """Delete the record of uses, or those for `query`, print how many events it had, and return the exit code."""
    from excerpt.search.usage import normalize_query

    def is_forgotten(event: UseEvent) -> bool:
        return query is None or normalize_query(event.query) == normalize_query(query)

    try:
        forgotten = log.forget(is_forgotten)
    except OSError as error:
        raise ExcerptError(
            f"{log.file} cannot be changed: {error.strerror or error}.", "Check the permissions of its folder."
        ) from error
    if as_json:
        print_json({"forgotten": forgotten})
    else:
        print_line(f"Deleted {format_count(forgotten, 'event')}." if forgotten else "There was nothing to delete.")
    return 0
