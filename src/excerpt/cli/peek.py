"""`excerpt peek`: show a summary of a note without its text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.base.settings import MAX_HITS
from excerpt.cli.completing import complete_notes
from excerpt.cli.hits import style_path, style_text
from excerpt.cli.printing import print_json, print_line
from excerpt.cli.vaults import (
    add_vaults,
    folders_of_files,
    load_vault,
    note_in_vault,
    refresh_option,
    vaults_option,
)
from excerpt.text.display import format_count, line_range, visible, visible_line

if TYPE_CHECKING:
    from excerpt import Peek
    from excerpt.vault.known_vaults import VaultFolders


@click.command()
@click.argument("note", shell_complete=complete_notes)
@vaults_option
@click.option(
    "--lines", type=click.IntRange(1, MAX_HITS), default=8, help="How many first lines to show.  [default: 8]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refresh_option
def peek_command(*, note: str, vaults: tuple[Path, ...], lines: int, as_json: bool, no_refresh: bool) -> int:
    """Show a summary of NOTE without its text: size in tokens, tags, links, first lines and outline.

    NOTE is a path, the end of a path, a file name, a title or an alias.
    """
    with load_vault(vaults, refresh=not no_refresh) as notes:
        peek = notes.peek(note_in_vault(notes, note), first_lines=lines)
    if as_json:
        print_json(add_vaults(notes, peek.to_dict()))
    else:
        for line in _format_peek_lines(peek, folders_of_files(notes)):
            print_line(line)
    return 0


def _format_peek_lines(peek: Peek, folders: VaultFolders | None) -> Iterator[str]:
    yield style_text(visible_line(peek.title), bold=True)
    yield style_path(visible_line(peek.path), peek.path, folders)
    changed = f" · changed {peek.modified}" if peek.modified else " · day of change unknown"
    lines, size = format_count(peek.lines, "line"), format_count(peek.size, "byte")
    yield f"{format_count(peek.tokens, 'token')} · {lines} · {size}{changed}"
    nowhere = f" · {peek.links_nowhere:,} lead nowhere" if peek.links_nowhere else ""
    linked_from = format_count(peek.linked_from, "note")
    yield f"links to {format_count(peek.links_to, 'note')} · linked from {linked_from}{nowhere}"
    for name, values in (("also", peek.aliases), ("tags", peek.tags)):
        if values:
            yield f"{name}: {visible_line(', '.join(values))}"
    for name, value in peek.properties:
        yield visible_line(f"{name}: {value}")
    if peek.beginning:
        yield ""
        yield from (f"  {visible(line)}" for line in peek.beginning.split("\n"))
    if peek.outline:
        yield ""
        yield style_text(f"{'lines':>11} {'tokens':>7}  outline", dim=True)
    for entry in peek.outline:
        heading = visible_line(entry.heading) if entry.level else "(before the first heading)"
        lines = line_range(entry.line_start, entry.line_end)
        yield f"{lines:>11} {entry.tokens:>7,}  {'  ' * max(entry.level - 1, 0)}{heading}"
