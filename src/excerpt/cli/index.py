"""`excerpt index`: bring a vault's index up to date, or make it anew."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from excerpt.cli.opening import build_index
from excerpt.cli.printing import print_json, put
from excerpt.cli.vaults import check_breadth, chosen_vault, vault_option
from excerpt.errors import ExcerptError
from excerpt.model import BuildReport, Progress
from excerpt.settings import places, settings_of
from excerpt.text.visible import visible_line

_NAMED = 10


@click.command()
@vault_option
@click.option("--rebuild", is_flag=True, help="Make the index anew from the vault, whatever is there.")
@click.option("--accept-empty", is_flag=True, help="The vault has no notes on purpose: index it as empty.")
@click.option(
    "--accept-all", is_flag=True, help="The vault is a home folder or a whole disk on purpose: index all of it."
)
@click.option("--progress", is_flag=True, help="Print progress as JSON lines, the last one being done or error.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(
    vault: Path | None, *, rebuild: bool, accept_empty: bool, accept_all: bool, progress: bool, as_json: bool
) -> int:
    """Bring the index up to date.

    Reads new and changed notes, drops deleted ones, leaves the rest as it is. If no note is left in the vault, nothing
    is dropped before you agree: its disk may only be away.
    """
    if progress:
        return _index_telling(vault, rebuild, accept_empty, accept_all)
    where = places()
    chosen = chosen_vault(vault)
    settings = settings_of(chosen, where)
    report = build_index(chosen, settings, where, rebuild=rebuild, accept_empty=accept_empty, accept_all=accept_all)
    if as_json:
        print_json(asdict(report))
    else:
        _print_report(report)
    return 0


def _index_telling(vault: Path | None, rebuild: bool, accept_empty: bool, accept_all: bool) -> int:
    """Index for a program that reads stdout: every outcome is a JSON line."""
    try:
        from excerpt.index.build import build

        where = places()
        chosen = chosen_vault(vault)
        if not accept_all:
            check_breadth(chosen, where)
        settings = settings_of(chosen, where)
        folder = where.index_folder(chosen)
        report = build(chosen, folder, settings, _tell, rebuild=rebuild, accept_empty=accept_empty)
    except ExcerptError as error:
        print_json({"event": "error", "title": error.title, "message": error.message, "hint": error.hint})
        return error.exit_code
    print_json({"event": "done", **asdict(report)})
    return 0


def _tell(progress: Progress) -> None:
    print_json({"event": "progress", **asdict(progress)})


def _print_report(report: BuildReport) -> None:
    notes = report.added + report.changed + report.unchanged
    if report.rebuilt:
        put(visible_line(f"Made anew: {report.rebuilt}"))
    put(
        f"{notes:,} notes, {report.fragments:,} fragments · {report.added:,} added, {report.changed:,} changed, "
        f"{report.removed:,} removed · {report.seconds:.1f} s"
    )
    for said, found in (("skipped", report.skipped), ("indexed with a warning", report.warnings)):
        if found:
            put(f"{len(found):,} {said}:")
        for one in found[:_NAMED]:
            put(visible_line(f"  {one.path}: {one.reason}"))  # one line each, through a pager too
        if len(found) > _NAMED:
            put(f"  and {len(found) - _NAMED:,} more; `excerpt status` lists them all")
