"""The panel with the map of matches: a tree of folders, tags, properties and months, with counts and bars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from rich.style import Style
from textual.binding import BindingType
from textual.reactive import reactive
from textual.strip import Strip

from excerpt.text.display import format_count, visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.strips import StyledPart, fit, horizontal_bar, line, sparkline
from excerpt.tui.insight.controller import InsightController, has_filter

if TYPE_CHECKING:
    from excerpt.insight.results import Branch, VaultMap

_MIN_CELLS_FOR_NOTES = 58
"""Minimum width in cells to show the column with the number of notes."""
_MIN_CELLS_FOR_FILTER = 84
"""Minimum width in cells to show the column with the filters, which takes a third of the width."""


class MapPanel(RowList):
    """The panel of the map. Its state is the map that is shown, and which of its branches are open."""

    ROW_HEIGHT = 1
    BINDINGS: ClassVar[list[BindingType]] = bindings("Search tab, focus on the map")

    COMPONENT_CLASSES: ClassVar[set[str]] = {"map--kind", "map--soft", "map--bar", "map--count", "map--put"}

    DEFAULT_CSS = """
    MapPanel {
        & > .map--kind { text-style: bold; color: $primary; }
        & > .map--soft { color: $text-faint; }
        & > .map--bar { color: $primary; }
        & > .map--count { color: $text-soft; }
        & > .map--put { color: $secondary; text-style: bold; }
    }
    """

    vault_map: reactive[VaultMap | None] = reactive(None, init=False)
    message: reactive[str] = reactive("Counting…")
    """Message shown while there is no map."""

    def __init__(self, insight: InsightController, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._insight = insight
        self._rows: tuple[MapRow, ...] = ()
        self._open_keys: set[str] = set(INITIALLY_OPEN)

    def on_mount(self) -> None:
        self.border_title = self._panel_title()

    @property
    def row_count(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> tuple[MapRow, ...]:
        return self._rows

    @property
    def selected(self) -> Branch | None:
        """The branch of the selected row; None if that row has no branch."""
        return self._rows[self.cursor].branch if self._rows else None

    def watch_vault_map(self) -> None:
        self._update_rows()

    def watch_message(self) -> None:
        self.refresh()

    def action_open_branch(self) -> None:
        """Open the selected branch; if it is open, go to its first child."""
        if self._rows:
            row = self._rows[self.cursor]
            if row.is_open is False:
                self.toggle_branch()
            elif row.is_open:
                self.move(1)

    def action_close_branch(self) -> None:
        """Close the selected branch; if it is closed, go to its parent."""
        if self._rows:
            row = self._rows[self.cursor]
            if row.is_open:
                self.toggle_branch()
            elif row.parent:
                self.cursor = next(at for at, each in enumerate(self._rows) if each.key == row.parent)

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - `HasDisabledReason`'s name
        """Return why an action is disabled; "" if it is enabled."""
        if action == "take_filter" and not self._insight.has_map_filter:
            return "The query has no filter from the map."
        if action == "put_filter" and (self.selected is None or not self.selected.filter):
            return "No filter finds this branch." if self.selected else "This line has no filter. Select a branch."
        return ""

    def action_put_filter(self) -> None:
        """Add the filter of the selected branch to the query, or remove the filter if the query contains it."""
        if self.selected is not None and self.selected.filter:
            self._insight.toggle_filter(self.selected.filter)

    def action_take_filter(self) -> None:
        """Remove the most recently added filter that the query still contains."""
        self._insight.pop_filter()

    def toggle_branch(self) -> None:
        """Open or close the selected branch."""
        if self._rows and self._rows[self.cursor].is_open is not None:
            self._open_keys ^= {self._rows[self.cursor].key}
            self._update_rows()

    def _update_rows(self) -> None:
        """Compute the visible rows, and keep the cursor on its branch or, if that is gone, on its parent or row."""
        old = self._rows[self.cursor] if self._rows else None
        self._rows = make_map_rows(self.vault_map, self._open_keys) if self.vault_map is not None else ()
        at = {row.key: number for number, row in enumerate(self._rows)}
        cursor = at.get(old.key, at.get(old.parent, self.cursor)) if old is not None else 0
        self.redraw_rows(cursor)
        self.border_title = self._panel_title()
        self.refresh_bindings()

    def on_resize(self) -> None:
        super().on_resize()
        self.border_title = self._panel_title()

    def _panel_title(self) -> str:
        """Return the border title, with brackets escaped, because Textual reads it as markup."""
        shown = self.vault_map
        if shown is None:
            return "map"
        query = visible_line(shown.query.strip()) or "the whole vault"
        counts = f"{format_count(shown.fragments, 'passage')} in {format_count(shown.notes, 'note')}"
        room = max(8, self.size.width - len(counts) - 13)
        return f"map of {fit(query, room)} · {counts}".replace("[", r"\[")

    def render_line(self, y: int) -> Strip:
        if y or self.row_count:
            return super().render_line(y)
        message = self.message if self.vault_map is None else "Nothing matches."
        return line([(f"  {message}", self.style_of("map--count"))], (), self.size.width - 1, self.base_style)

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        shown = self._rows[row]
        sign = "  " if shown.is_open is None else "▾ " if shown.is_open else "▸ "
        left: list[StyledPart] = [
            self.cursor_bar(selected),
            ("  " * shown.depth + sign, self.style_of("map--soft")),
        ]
        if shown.unlisted:
            left.append((f"{shown.unlisted:,} more", self.style_of("map--soft")))
        elif shown.branch is None:
            left.append((f"{shown.label:<11}", self.style_of("map--kind")))
        else:
            is_set = self.vault_map is not None and has_filter(self.vault_map.query, shown.branch.filter)
            left.append(("● " if is_set else "", self.style_of("map--put")))
            left.append((visible_line(shown.label), self.style_of("map--put") if is_set else Style.null()))
        summary = f"  {visible_line(shown.summary)}" if shown.summary else ""
        left.append((summary, self.style_of("map--soft")))
        return (line(left, self._draw_counts(shown, width), width, base),)

    def _draw_counts(self, row: MapRow, width: int) -> list[StyledPart]:
        if row.branch is None:
            return []
        bar = 16 if width >= _MIN_CELLS_FOR_NOTES else 8
        right: list[StyledPart] = [
            (horizontal_bar(row.share, bar), self.style_of("map--bar")),
            (f" {row.branch.fragments:>6,} ", self.style_of("map--count")),
        ]
        if width >= _MIN_CELLS_FOR_NOTES:
            right.append((f"{format_count(row.branch.notes, 'note'):>11} ", self.style_of("row--faint")))
        if width >= _MIN_CELLS_FOR_FILTER:
            room = width // 3
            right.append((f" {fit(visible_line(row.branch.filter), room):<{room}}", self.style_of("map--soft")))
        return right


INITIALLY_OPEN = frozenset({"folders"})
"""Keys of the branches that are open at first."""

_MAX_NAMES_IN_SUMMARY = 8
"""Maximum number of child branches that a closed row names."""


class MapRow(Struct, frozen=True):
    """A row of the map's tree. `key` identifies the row, also in a newer map; `parent` is the key of its parent row.

    `depth` is its level in the tree, from 0. `branch` is None for the top rows, one for each kind (such as
    "tags"), and for a row that only counts the `unlisted` branches. `is_open` is None if the row has no children.
    `share` is the number of its fragments relative to the largest branch of the kind, 0 to 1. `summary` describes the
    children of a closed row.
    """

    key: str
    parent: str
    depth: int
    label: str
    branch: Branch | None = None
    is_open: bool | None = None
    share: float = 0.0
    summary: str = ""
    unlisted: int = 0


def make_map_rows(vault_map: VaultMap, open_keys: Set[str]) -> tuple[MapRow, ...]:
    """Return the visible rows of a map in which the branches with `open_keys` are open; leave out empty kinds."""
    kinds = {
        "folders": vault_map.folders,
        "tags": vault_map.tags,
        "properties": vault_map.properties,
        "modified": vault_map.modified,
        "created": vault_map.created,
    }
    return tuple(
        row for name, branches in kinds.items() if branches for row in _FacetTree(name, branches, open_keys).rows()
    )


class _FacetTree:
    """The tree of one kind of branches, such as folders or tags."""

    def __init__(self, name: str, branches: tuple[Branch, ...], open_keys: Set[str]) -> None:
        self._name = name
        self._branches = branches
        self._open_keys = open_keys
        self._is_time = name in ("modified", "created")
        self._largest = max(branch.fragments for branch in branches)

    def rows(self) -> Iterator[MapRow]:
        is_open = self._name in self._open_keys
        summary = "" if is_open else _summarize_branches(self._branches, is_time=self._is_time)
        yield MapRow(self._name, "", 0, self._name, is_open=is_open, summary=summary)
        if is_open:
            yield from self._rows_below(self._name, self._branches, 1)

    def _rows_below(self, parent: str, branches: Iterable[Branch], depth: int) -> Iterator[MapRow]:
        for branch in branches:
            key = f"{parent}\n{branch.label}"
            is_open = key in self._open_keys if branch.branches else None
            summary = _summarize_branches(branch.branches, is_time=self._is_time) if is_open is False else ""
            share = branch.fragments / self._largest if self._largest else 0.0
            yield MapRow(key, parent, depth, branch.label, branch, is_open, share, summary)
            if is_open:
                yield from self._rows_below(key, branch.branches, depth + 1)
                if branch.unlisted:
                    yield MapRow(f"{key}\n", key, depth + 1, "", unlisted=branch.unlisted)


def _summarize_branches(branches: tuple[Branch, ...], *, is_time: bool) -> str:
    """Return the names of the first branches; for years and months, a sparkline (small chart) of their counts."""
    if not is_time:
        return ", ".join(branch.label for branch in branches[:_MAX_NAMES_IN_SUMMARY])
    by_label = {branch.label: branch.fragments for branch in branches}
    return sparkline([by_label.get(label, 0) for label in _period_labels(branches)])


def _period_labels(branches: tuple[Branch, ...]) -> list[str]:
    """Return the labels of all years from the first to the last, or of the twelve months of a year."""
    years = [int(branch.label) for branch in branches if branch.label.isdigit()]
    if years:
        return [str(year) for year in range(min(years), max(years) + 1)]
    return [f"{branches[0].label[:-2]}{month:02}" for month in range(1, 13)] if branches else []
