"""`excerpt peek`: what a note holds, in brief."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from excerpt.cli.hits import paint
from excerpt.cli.opening import snapshot_of
from excerpt.cli.printing import print_json, put
from excerpt.cli.vaults import chosen_vault, refresh_option, vault_option
from excerpt.settings import MOST, places, settings_of
from excerpt.text.counted import counted
from excerpt.text.line_range import line_range
from excerpt.text.visible import visible, visible_line

if TYPE_CHECKING:
    from excerpt.insight.reading import Peek


@click.command()
@click.argument("note")
@vault_option
@click.option("--lines", type=click.IntRange(1, MOST), default=8, help="How many first lines to show.  [default: 8]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refresh_option
def command(*, note: str, vault: Path | None, lines: int, as_json: bool, no_refresh: bool) -> int:
    """Show what NOTE holds without reading it: size in tokens, tags, links, first lines and outline.

    NOTE is a path, the end of one, a file name, a title or an alias.
    """
    where = places()
    folder = chosen_vault(vault)
    settings = settings_of(folder, where)
    with snapshot_of(folder, settings, where, refresh=not no_refresh) as snapshot:
        from excerpt.insight.reading import peek

        found = peek(snapshot, note, lines)
    if as_json:
        print_json(peek_as_json(found))
    else:
        for line in _lines(found):
            put(line)
    return 0


def peek_as_json(found: Peek) -> dict[str, Any]:
    """The form that the guide's note on JSON forms describes."""
    properties: dict[str, list[str]] = {}
    for name, value in found.properties:
        properties.setdefault(name, []).append(value)
    return {**asdict(found), "properties": properties}


def _lines(found: Peek) -> Iterator[str]:
    yield paint(visible_line(found.title), bold=True)
    yield paint(visible_line(found.path), fg="green")
    changed = f" · changed {found.modified}" if found.modified else ""
    yield f"{found.tokens:,} tokens · {found.lines:,} lines · {found.size:,} bytes{changed}"
    nowhere = f" · {found.links_nowhere:,} lead nowhere" if found.links_nowhere else ""
    yield f"links to {counted(found.links_to, 'note')} · linked from {counted(found.linked_from, 'note')}{nowhere}"
    for name, values in (("also", found.aliases), ("tags", found.tags)):
        if values:
            yield f"{name}: {visible_line(', '.join(values))}"
    for name, value in found.properties:
        yield visible_line(f"{name}: {value}")
    if found.beginning:
        yield ""
        yield from (f"  {visible(line)}" for line in found.beginning.split("\n"))
    if found.outline:
        yield ""
        yield paint(f"{'lines':>11} {'tokens':>7}  outline", dim=True)
    for entry in found.outline:
        heading = visible_line(entry.heading) if entry.level else "(before the first heading)"
        lines = line_range(entry.line_start, entry.line_end)
        yield f"{lines:>11} {entry.tokens:>7,}  {'  ' * max(entry.level - 1, 0)}{heading}"
