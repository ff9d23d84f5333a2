"""`excerpt index`, `status` and `learned`: build the index and show what is stored about a vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.cli.printing import narrate, print_json, print_line
from excerpt.cli.vaults import build_index, chosen_vault, load_vault, refresh_option, vault_option
from excerpt.errors import ExcerptError
from excerpt.json_forms import as_data, select_fields
from excerpt.known_vaults import check_breadth
from excerpt.model import BuildReport, Progress, Status
from excerpt.settings import Ocr, Paths, Settings, settings_of, user_paths
from excerpt.text.display import format_count, percent, visible_line
from excerpt.vault.watched import is_watched

if TYPE_CHECKING:
    from excerpt.pack.savings import Savings, SavingsFile
    from excerpt.search.usage import Event, UseLog


# --- index ------------------------------------------------------------------------------------------------------------
# `excerpt index`: update or rebuild a vault's index.

_NAMED = 10


@click.command()
@vault_option
@click.option("--rebuild", is_flag=True, help="Rebuild the index from the vault.")
@click.option("--accept-empty", is_flag=True, help="Index a vault that has no notes any more as empty.")
@click.option("--accept-all", is_flag=True, help="Index all of a home folder or a whole disk.")
@click.option("--ocr", is_flag=True, help="Read images and scanned pages too, now and in future.")
@click.option("--progress", is_flag=True, help="Print progress as JSON lines, the last one being done or error.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def index_command(
    vault: Path | None, *, rebuild: bool, accept_empty: bool, accept_all: bool, ocr: bool, progress: bool, as_json: bool
) -> int:
    """Bring the index up to date.

    Reads new and changed notes and drops deleted ones. If no note is left in the vault, drops nothing without your
    consent: its disk may only be unmounted.

    With --ocr, tesseract or rapidocr recognises the text in images. This is saved as a setting of the vault, so images
    that are added later are read too.
    """
    if progress:
        return _index_with_progress(vault, rebuild, accept_empty, accept_all, ocr)
    paths = user_paths()
    chosen = chosen_vault(vault)
    settings = _with_ocr(chosen, paths) if ocr else settings_of(chosen, paths)
    report = build_index(chosen, settings, paths, rebuild=rebuild, accept_empty=accept_empty, accept_all=accept_all)
    if as_json:
        print_json(report)
    else:
        _print_report(report)
    return 0


def _with_ocr(vault: Path, paths: Paths) -> Settings:
    """Turn on OCR in the vault's settings, print the file that was changed, and return the settings."""
    from excerpt.tui.keymap import bindable_actions
    from excerpt.vault.readers.ocr import switch_on

    if file := switch_on(vault, paths, bindable_actions()):
        narrate(f'OCR is on for this vault: vault.attachments.ocr = "{Ocr.AUTO}" in {file}')
    return settings_of(vault, paths)


def _index_with_progress(vault: Path | None, rebuild: bool, accept_empty: bool, accept_all: bool, ocr: bool) -> int:
    """Index for a program that reads stdout: progress and every outcome are JSON lines. Returns the exit code."""
    try:
        from excerpt.index.build import build

        paths = user_paths()
        chosen = chosen_vault(vault)
        if not accept_all:
            check_breadth(chosen, paths)
        settings = _with_ocr(chosen, paths) if ocr else settings_of(chosen, paths)
        folder = paths.index_folder(chosen)
        report = build(chosen, folder, settings, _report, rebuild=rebuild, accept_empty=accept_empty)
    except ExcerptError as error:
        print_json({"event": "error", "title": error.title, "message": error.message, "hint": error.hint})
        return error.exit_code
    print_json({"event": "done", **as_data(report)})
    return 0


def _report(progress: Progress) -> None:
    print_json({"event": "progress", **as_data(progress)})


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
        for entry in entries[:_NAMED]:
            print_line(visible_line(f"  {entry.path}: {entry.reason}"))  # one line each, through a pager too
        if len(entries) > _NAMED:
            print_line(f"  and {len(entries) - _NAMED:,} more; `excerpt status` lists them all")


@click.command()
@vault_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--clear-savings", is_flag=True, help="Reset the count of tokens that packs saved.")
@refresh_option
def status_command(vault: Path | None, as_json: bool, clear_savings: bool, no_refresh: bool) -> int:
    """Show what is indexed, and what packs have saved.

    The vault, its notes and fragments, the model and tokenizer, whether it is watched, and every file that was skipped
    and why. Saved: how many fewer tokens packs had than the whole notes of their passages.
    """
    from excerpt.pack.savings import SavingsFile

    paths = user_paths()
    with load_vault(vault, refresh=not no_refresh) as opened_vault:
        chosen, file = opened_vault.folder, SavingsFile(paths.savings_file(opened_vault.folder))
        if clear_savings:
            _clear(file)
        status, store = opened_vault.status(), opened_vault.address
    savings = file.read()
    watched = is_watched(paths.watch_folder(chosen))
    if as_json:
        saved = None if savings is None else select_fields(savings, "packs", "tokens", "source_tokens", "since")
        print_json({**as_data(status), "watched": watched, "savings": saved})
    else:
        _print_status(status, store or str(paths.index_folder(chosen)), watched, savings)
    return 0


# --- status -----------------------------------------------------------------------------------------------------------
# `excerpt status`: show what a vault's index holds and what its packs have saved.


def _clear(file: SavingsFile) -> None:
    try:
        file.clear()
    except OSError as error:
        raise ExcerptError(
            f"{file.file} cannot be removed: {error.strerror or error}.", "Check the permissions of its folder."
        ) from error


def _savings_line(savings: Savings | None) -> str:
    if savings is None:
        return "nothing yet"
    packs = format_count(savings.packs, "pack")
    of = f"{format_count(savings.tokens, 'token')} instead of {savings.source_tokens:,}"
    return f"{percent(savings.saved, '')} · {packs} of {of}, since {savings.since}"


def _print_status(status: Status, index_location: str, watched: bool, savings: Savings | None) -> None:
    rows = (
        ("vault", status.vault),
        ("index", f"{index_location} (generation {status.generation}, updated {status.updated})"),
        (
            "watched",
            "yes: changes are indexed at once" if watched else "no: the next command looks for changes",
        ),
        ("notes", f"{status.notes:,}"),
        *([("attached", _by_kind(status.attachments))] if status.attachments else ()),
        ("fragments", f"{status.fragments:,}"),
        ("model", status.model),
        ("tokenizer", status.tokenizer),
        ("saved", _savings_line(savings)),
    )
    for name, value in rows:
        print_line(visible_line(f"{name:<10} {value}"))
    for title, entries in (("skipped", status.skipped), ("warnings", status.warnings)):
        print_line(f"{title:<10} {len(entries):,}")
        for entry in entries:
            print_line(visible_line(f"  {entry.path}: {entry.reason}"))  # one line each, through a pager too
    for unread in status.unread:
        print_line(
            visible_line(f"{'not read':<10} {format_count(unread.files, 'file')}, {unread.what} (`{unread.action}`)")
        )


def _by_kind(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items())


@click.command()
@vault_option
@click.option("--clear", is_flag=True, help="Delete this record.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def learned_command(*, vault: Path | None, clear: bool, as_json: bool) -> int:
    """Show the notes that you opened and copied in the app and their bonus in the score, the most used first.

    Keeps only times and paths, in one file in the state folder.
    """
    from excerpt.search.usage import UseLog, by_note, written_time

    chosen, paths = chosen_vault(vault), user_paths()
    log = UseLog(paths.use_file(chosen))
    if clear:
        return _forget(log, as_json)
    events = log.events()
    notes = by_note(_at_home(events, paths.index_folder(chosen)))
    if as_json:
        rows = [{**as_data(note), "last": written_time(note.last)} for note in notes]
        print_json({"vault": chosen, "file": log.file, "events": len(events), "notes": rows})
    for note in () if as_json else notes:
        uses = ", ".join(
            format_count(count, noun) for count, noun in ((note.opens, "open"), (note.packs, "pack")) if count
        )
        print_line(visible_line(f"{note.score:.2f}  {written_time(note.last)[:10]}  {uses:<18}  {note.path}"))
    narrate(
        f"{format_count(len(notes), 'note')}, kept in {log.file}."
        if notes
        else "nothing was learned in this vault yet."
    )
    return 0 if notes else 1


# --- learned ----------------------------------------------------------------------------------------------------------
# `excerpt learned`: show or clear what was learned from the user's opens and packs.


def _at_home(events: Sequence[Event], index: Path) -> Sequence[Event]:
    """Return the events with the current paths of renamed notes; unchanged if there is no readable index."""
    import sqlite3

    from excerpt.index import renames
    from excerpt.index.catalog import Catalog
    from excerpt.search.usage import update_paths

    try:
        with closing(Catalog.open_to_read(index)) as catalog:
            return update_paths(events, (), lambda path: renames.current_path(catalog.rows, path))
    except (sqlite3.DatabaseError, OSError):
        return events


def _forget(log: UseLog, as_json: bool) -> int:
    try:
        forgotten = log.clear()
    except OSError as error:
        raise ExcerptError(
            f"{log.file} cannot be removed: {error.strerror or error}.", "Check the permissions of its folder."
        ) from error
    if as_json:
        print_json({"forgotten": forgotten})
    else:
        print_line(f"Forgot {format_count(forgotten, 'event')}." if forgotten else "There was nothing to delete.")
    return 0
