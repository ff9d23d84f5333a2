"""`excerpt index`: update or rebuild the index of a vault."""

from __future__ import annotations

from pathlib import Path

import click

from excerpt.base.errors import ExcerptError
from excerpt.base.json_forms import to_json_value
from excerpt.base.model import BuildReport, Progress
from excerpt.base.settings import Ocr, Paths, Settings, load_vault_settings, user_paths
from excerpt.cli.printing import print_json, print_line, print_message
from excerpt.cli.vaults import build_index, resolve_vault, vault_parameter
from excerpt.encoders.model_names import model_label
from excerpt.text.display import format_count, visible_line
from excerpt.vault.known_vaults import refuse_broad_folder

_MAX_LISTED_FILES = 10  # skipped files, and files with a warning, in a report


@click.command()
@vault_parameter
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
    settings = _load_settings(chosen, paths, ocr=ocr, accept_all=accept_all)
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


def _load_settings(vault: Path, paths: Paths, *, ocr: bool, accept_all: bool) -> Settings:
    """Return the settings of a vault. With `ocr`, turn on OCR in its settings file first, and print the file's path.

    No file is written for a vault that cannot be indexed: raises VaultError for a new vault that is a home folder or a
    whole disk, unless `accept_all`.
    """
    if ocr:
        from excerpt.service.index_update import enable_ocr
        from excerpt.tui.keymap import bindable_actions

        if not accept_all:
            refuse_broad_folder(vault, paths)
        if file := enable_ocr(vault, paths, bindable_actions()):
            print_message(f'OCR is now on for this vault: vault.attachments.ocr = "{Ocr.AUTO}" in {file}.')
    return load_vault_settings(vault, paths)


def _index_with_progress(vault: Path | None, rebuild: bool, accept_empty: bool, accept_all: bool, ocr: bool) -> int:
    """Update the index, print progress and the outcome as JSON lines, and return the exit code."""
    try:
        from excerpt.service.index_update import update_index

        paths = user_paths()
        chosen = resolve_vault(vault)
        settings = _load_settings(chosen, paths, ocr=ocr, accept_all=accept_all)
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
