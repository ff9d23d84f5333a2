"""`excerpt map`: where in the vault a query's matches are."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from excerpt.cli.hits import bar, columns_of, cut, paint
from excerpt.cli.opening import snapshot_of
from excerpt.cli.printing import narrate, print_json, put
from excerpt.cli.vaults import chosen_vault, refresh_option, vault_option
from excerpt.settings import MOST, places, settings_of
from excerpt.text.counted import counted
from excerpt.text.visible import visible_line

if TYPE_CHECKING:
    from excerpt.insight.map import Branch, VaultMap

_KINDS = ("folders", "tags", "properties", "modified", "created")
_WIDEST = 120
_LABEL, _BAR = 34, 16  # columns; of a narrow terminal two thirds
_NARROW = 110
_LEAST_NAMES = 4
_LEAST = 8  # columns for a filter; of less none is of use


@click.command()
@click.argument("query", required=False)
@vault_option
@click.option(
    "--depth", type=click.IntRange(1, MOST), default=2, help="How many levels of each tree to show.  [default: 2]"
)
@click.option(
    "--top", type=click.IntRange(1, MOST), default=8, help="How many branches to show below each one.  [default: 8]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the whole tree, whatever --depth and --top.")
@refresh_option
def command(*, query: str | None, vault: Path | None, depth: int, top: int, as_json: bool, no_refresh: bool) -> int:
    """Show where the matches of QUERY are: in which folders, under which tags, properties and months.

    Each line has a count of fragments, one of notes, and the filter that leads there: put in front of QUERY, it finds
    exactly as many. Without a QUERY, everything is counted.
    """
    where = places()
    folder = chosen_vault(vault)
    settings = settings_of(folder, where)
    with snapshot_of(folder, settings, where, refresh=not no_refresh) as snapshot:
        from excerpt.insight.map import EVERYTHING, VALUES, matches_map
        from excerpt.search.engine import Engine

        found = matches_map(Engine(snapshot, settings), query or EVERYTHING, None if as_json else max(VALUES, top))
    if as_json:
        print_json(map_as_json(found))
    elif found.fragments:
        for line in map_lines(found, depth, top):
            put(line)
    narrate(_summary(found) if found.fragments else f"Nothing was found for {found.query!r}.")
    return 0 if found.fragments else 1


def _summary(found: VaultMap) -> str:
    return f"{counted(found.fragments, 'matching fragment')} in {counted(found.notes, 'note')}"


def map_lines(found: VaultMap, depth: int, top: int) -> Iterator[str]:
    """The trees for a reader, one below the other, with bars beside the longest of each."""
    width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST) if sys.stdout.isatty() else None
    label, bars = (_LABEL, _BAR) if width is None or width >= _NARROW else (_LABEL * 2 // 3, _BAR * 2 // 3)
    is_first = True
    for kind in _KINDS:
        branches: Sequence[Branch] = getattr(found, kind)
        if not branches:
            continue
        if not is_first:
            yield ""
        is_first = False
        yield paint(f"{kind:<{label}} {'fragments':>9} {'notes':>6}", bold=True)
        is_dated = kind in ("modified", "created")
        most = max(branch.fragments for branch in branches)
        shown = _Shown(most, depth, len(branches) if is_dated else top, width, label, bars, kind == "properties")
        yield from shown.lines(branches)


@dataclass(frozen=True, slots=True)
class _Shown:
    """One tree as lines: labels and bars so many columns wide, the longest bar for `most` fragments; in all at most
    `width` columns, None where there is no end to them, as in a file."""

    most: int
    depth: int
    top: int
    width: int | None
    label: int
    bars: int
    is_of_values: bool = False

    def lines(self, branches: Sequence[Branch], level: int = 0, unlisted: int = 0) -> Iterator[str]:
        indent = "  " * (level + 1)
        for branch in branches[: self.top]:
            yield self._line(branch, indent)
            if self.is_of_values and _tells_nothing(branch):
                count = len(branch.branches) + branch.unlisted
                yield paint(f"{indent}  … {count:,} values, each of one note", dim=True)
            elif level + 1 < self.depth:
                yield from self.lines(branch.branches, level + 1, branch.unlisted)
        if rest := len(branches[self.top :]) + unlisted:
            yield paint(f"{indent}… {rest:,} more", dim=True)

    def _line(self, branch: Branch, indent: str) -> str:
        room = self.label - len(indent)
        label = cut(visible_line(branch.label), room)
        drawn = paint(f"{bar(branch.fragments, self.most, self.bars):<{self.bars}}", fg="cyan")
        start = f"{indent}{label}{' ' * (room - columns_of(label))} {branch.fragments:>9,} {branch.notes:>6,}  {drawn}"
        asked = visible_line(branch.filter)
        if self.width is not None:
            left = self.width - self.label - self.bars - 22
            asked = cut(asked, left) if left >= _LEAST else ""
        return f"{start}  {paint(asked, dim=True)}".rstrip()


def _tells_nothing(branch: Branch) -> bool:
    """Whether a property's values are names of their notes (addresses, descriptions), which divide nothing."""
    return len(branch.branches) >= _LEAST_NAMES and all(value.notes == 1 for value in branch.branches)


def map_as_json(found: VaultMap) -> dict[str, Any]:
    """The form that the guide's note on JSON forms describes."""
    return asdict(found)
