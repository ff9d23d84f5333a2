"""`excerpt map`: show where in the vault the matches of a query are."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from excerpt.base.settings import MAX_COUNT, MAX_HITS
from excerpt.cli.hits import format_bar, style_text
from excerpt.cli.printing import output_columns, print_json, print_line, print_message
from excerpt.cli.vaults import add_vaults, load_vault, refresh_option, vaults_option
from excerpt.text.columns import count_columns, truncate
from excerpt.text.display import format_count, visible_line

if TYPE_CHECKING:
    from excerpt import Branch, VaultMap

_MAP_TREE_FIELDS = ("folders", "tags", "properties", "modified", "created")
_LABEL_COLUMNS, _BAR_COLUMNS = 34, 16  # two thirds of these on a terminal below _MIN_WIDE_COLUMNS
_MIN_WIDE_COLUMNS = 110
_MIN_UNIQUE_VALUES = 4  # see `_has_only_unique_values`
_MIN_LOADED_VALUES = 50  # loaded of each property, even if --top is smaller
_MIN_FILTER_COLUMNS = 8  # a filter that would get fewer columns is not shown


@click.command()
@click.argument("query", required=False)
@vaults_option
@click.option(
    "--depth",
    type=click.IntRange(1, MAX_COUNT),
    default=2,
    help="The number of levels to show of each tree (folders, tags, and so on).  [default: 2]",
)
@click.option(
    "--top",
    type=click.IntRange(1, MAX_HITS),
    default=8,
    help="How many branches to show below each branch.  [default: 8]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the whole tree, ignoring --depth and --top.")
@refresh_option
def map_command(
    *, query: str | None, vaults: tuple[Path, ...], depth: int, top: int, as_json: bool, no_refresh: bool
) -> int:
    """Show where the matches of QUERY are: in which folders, under which tags, properties and months.

    Each line has the number of matching fragments, the number of their notes, and a filter. Put the filter in front of
    QUERY to find exactly these fragments. Without a QUERY, counts all fragments.
    """
    with load_vault(vaults, refresh=not no_refresh) as notes:
        vault_map = notes.map(query or "", limit=None if as_json else max(_MIN_LOADED_VALUES, top))
    if as_json:
        print_json(add_vaults(notes, vault_map.to_dict()))
    elif vault_map.fragments:
        for line in format_map_lines(vault_map, depth, top):
            print_line(line)
    print_message(_summarize_map(vault_map) if vault_map.fragments else f"Nothing was found for {vault_map.query!r}.")
    return 0 if vault_map.fragments else 1


def _summarize_map(vault_map: VaultMap) -> str:
    return f"{format_count(vault_map.fragments, 'matching fragment')} in {format_count(vault_map.notes, 'note')}"


def format_map_lines(vault_map: VaultMap, depth: int, top: int) -> Iterator[str]:
    """Yield the printed lines of all trees of a map: folders, tags, properties and months.

    `depth` is the number of levels and `top` the number of branches below a branch to print. Bars are relative to the
    largest branch of each tree.
    """
    width = output_columns() if sys.stdout.isatty() else None
    label, bars = (
        (_LABEL_COLUMNS, _BAR_COLUMNS)
        if width is None or width >= _MIN_WIDE_COLUMNS
        else (_LABEL_COLUMNS * 2 // 3, _BAR_COLUMNS * 2 // 3)
    )
    is_first = True
    for kind in _MAP_TREE_FIELDS:
        branches: Sequence[Branch] = getattr(vault_map, kind)
        if not branches:
            continue
        if not is_first:
            yield ""
        is_first = False
        yield style_text(f"{kind:<{label}} {'fragments':>9} {'notes':>6}", bold=True)
        is_dated = kind in ("modified", "created")
        max_fragments = max(branch.fragments for branch in branches)
        tree = _TreePrinter(
            max_fragments, depth, len(branches) if is_dated else top, width, label, bars, kind == "properties"
        )
        yield from tree.format_lines(branches)


class _TreePrinter(Struct, frozen=True):
    """Formats one tree of a map as lines, with a bar for each branch.

    A bar of `bar_columns` columns stands for `max_fragments` fragments. At most `max_depth` levels are printed, and
    `max_branches` branches below each branch. `max_columns` limits a line, None if there is no terminal.
    """

    max_fragments: int
    max_depth: int
    max_branches: int
    max_columns: int | None
    label_columns: int
    bar_columns: int
    is_property_tree: bool = False

    def format_lines(self, branches: Sequence[Branch], level: int = 0, unlisted: int = 0) -> Iterator[str]:
        """Yield the lines of `branches` and their sub-branches, and a line that counts `unlisted` branches."""
        indent = "  " * (level + 1)
        for branch in branches[: self.max_branches]:
            yield self._format_line(branch, indent)
            if self.is_property_tree and _has_only_unique_values(branch):
                count = len(branch.branches) + branch.unlisted
                yield style_text(f"{indent}  … {format_count(count, 'value')}, each of one note", dim=True)
            elif level + 1 < self.max_depth:
                yield from self.format_lines(branch.branches, level + 1, branch.unlisted)
        if hidden := len(branches[self.max_branches :]) + unlisted:
            yield style_text(f"{indent}… {hidden:,} more", dim=True)

    def _format_line(self, branch: Branch, indent: str) -> str:
        room = self.label_columns - len(indent)
        label = truncate(visible_line(branch.label), room)
        bar_text = style_text(
            f"{format_bar(branch.fragments, self.max_fragments, self.bar_columns):<{self.bar_columns}}", fg="cyan"
        )
        padding = " " * (room - count_columns(label))
        start = f"{indent}{label}{padding} {branch.fragments:>9,} {branch.notes:>6,}  {bar_text}"
        filter_text = visible_line(branch.filter)
        if self.max_columns is not None:
            left = self.max_columns - self.label_columns - self.bar_columns - 22
            filter_text = truncate(filter_text, left) if left >= _MIN_FILTER_COLUMNS else ""
        return f"{start}  {style_text(filter_text, dim=True)}".rstrip()


def _has_only_unique_values(branch: Branch) -> bool:
    """Return whether each value of a property is in one note only (as addresses are), so that it groups no notes."""
    return len(branch.branches) >= _MIN_UNIQUE_VALUES and all(value.notes == 1 for value in branch.branches)
