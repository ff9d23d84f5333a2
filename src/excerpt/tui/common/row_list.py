"""The base class of lists drawn line by line, with a cursor and the mouse, and functions to draw names of fragments."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, runtime_checkable

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from excerpt.base.locations import format_location
from excerpt.text.display import headings_below, line_range, visible_line
from excerpt.tui.common.line_view import LineView
from excerpt.tui.common.strips import StyledPart, fit, parts_with_matches, remove_unstable_characters, text_cells
from excerpt.vault.known_vaults import VaultFolders

if TYPE_CHECKING:
    from excerpt.base.model import Hit, Span


_MAX_VAULT_CELLS = 12
"""Maximum cells for the name of a vault in a row, so that the title keeps its room."""


def distinguishing_folders(titles: Mapping[str, str]) -> Mapping[str, str]:
    """Return, by path of a note, a name that distinguishes the note from others of the same title.

    `titles` has the titles of the listed notes by their paths. The name is the note's folder, or its file name if
    another of these notes is in the same folder, without what all these names begin with. Notes whose title is unique
    are left out.
    """
    folders_by_title: dict[str, dict[str, str]] = {}
    for path, title in titles.items():
        folders_by_title.setdefault(title.casefold(), {})[path] = path.rpartition("/")[0]
    names: dict[str, str] = {}
    for folders in folders_by_title.values():
        if len(folders) > 1:
            every = list(folders.values())
            own = [path.rpartition("/")[2] if every.count(folder) > 1 else folder for path, folder in folders.items()]
            names.update(zip(folders, _drop_common_start(own), strict=True))
    return names


def _drop_common_start(names: Sequence[str]) -> list[str]:
    """Return paths or file names with "…" for the folders, or the parts before a dot, that all of them begin with."""
    separator = "/" if any("/" in name for name in names) else "."
    parts = [name.split(separator) for name in names]
    levels = zip(*(each[:-1] for each in parts), strict=False)
    common = sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, levels))
    return [f"…{separator.join(each[common:])}" if common else name for name, each in zip(names, parts, strict=True)]


@runtime_checkable
class HasVaults(Protocol):
    """A screen that shows open vaults."""

    vaults: VaultFolders


class RowList(LineView):
    """A list of rows of equal height, which a subclass provides and draws.

    Only visible rows are drawn, so that a new list costs the same whatever its length.
    """

    ROW_HEIGHT: ClassVar[int] = 2
    """Lines of a row. A list in which this changes overrides `row_height`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"row--cursor", "row--bar", "row--faint", "row--match"}

    DEFAULT_CSS = """
    RowList {
        & > .row--cursor { background: $surface-active; }
        & > .row--bar { color: $accent; }
        & > .row--faint { color: $text-faint; }
        & > .row--match { color: $accent; text-style: bold; }
    }
    """

    cursor: reactive[int] = reactive(0, init=False)
    """Index of the selected row; 0 in an empty list."""

    class Moved(Message):
        """Sent when the cursor has moved to another row: `rows` is the list, `row` the index of the row."""

        def __init__(self, rows: RowList, row: int) -> None:
            super().__init__()
            self.rows = rows
            self.row = row

        @property
        def control(self) -> RowList:
            return self.rows

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._styles_of: dict[str, Style] = {}
        self._drawn: dict[tuple[int, bool], Sequence[Strip]] = {}
        self._last_size = Size(0, 0)

    @property
    def row_count(self) -> int:
        """Number of rows. Overridden by subclasses."""
        return 0

    @property
    def row_height(self) -> int:
        """Lines of a row now."""
        return self.ROW_HEIGHT

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:  # noqa: ARG002 - the subclass's
        """Return the lines of a row, each `width` cells wide, on the style `base`. Overridden by subclasses."""
        return (Strip.blank(width, base),) * self.row_height

    def first_line_of(self, row: int) -> int:
        """Return the index of a row's first line in the list; for the row after the last, the number of lines."""
        return row * self.row_height

    def row_at_line(self, line: int) -> int:
        """Return the index of the row that contains a line of the list; `row_count` or more after the last row."""
        return line // self.row_height

    def cursor_bar(self, selected: bool) -> StyledPart:
        """Return the bar at the left end of a row, blank unless the row is selected."""
        return ("▌" if selected else " "), self.style_of("row--bar")

    def vault_part(self, path: str) -> StyledPart:
        """Return the name of the vault that a path begins with; empty if a single vault is open or none is named."""
        vaults = self.screen.vaults.by_name if isinstance(self.screen, HasVaults) else {}
        name, slash, _ = path.partition("/")
        text = f"{fit(visible_line(name), _MAX_VAULT_CELLS)}/ " if slash and name in vaults else ""
        return text, self.style_of("row--faint")

    def format_folder(self, path: str, folder: str, cells: int) -> str:
        """Return ` in folder` for a note that has a distinguishing folder, without its vault's name; "" for others."""
        if not folder:
            return ""
        place = folder.removeprefix(path.partition("/")[0]).removeprefix("/") if self.vault_part(path)[0] else folder
        return f" in {fit(visible_line(place), cells)}" if place else ""

    def style_of(self, name: str) -> Style:
        """Return the style of component class `name`, to add to a row's style; cached, as a frame needs some 400."""
        style = self._styles_of.get(name)
        if style is None:
            style = self._styles_of[name] = self.get_component_rich_style(name, partial=True)
        return style

    def redraw_rows(self, cursor: int = 0, unchanged: Container[int] = ()) -> None:
        """Redraw the list with the cursor on row `cursor`. A subclass calls this when its rows have changed.

        The rows in `unchanged` look the same as before, and are not drawn again.
        """
        self._drawn = {at: drawn for at, drawn in self._drawn.items() if at[0] in unchanged}
        self.set_reactive(RowList.cursor, max(0, min(cursor, self.row_count - 1)))
        self.set_line_count(self.first_line_of(self.row_count))
        self._show_cursor()

    def redraw_row(self, row: int) -> None:
        """Redraw one row, because its content has changed."""
        self._drawn.pop((row, True), None)
        self._drawn.pop((row, False), None)
        self._refresh_row(row)

    def _refresh_row(self, row: int) -> None:
        top = self.first_line_of(row)
        self.refresh_lines(top, self.first_line_of(row + 1) - top)

    def move(self, rows: int) -> None:
        """Move the cursor down by `rows`, up if negative, as far as there are rows."""
        if self.row_count:
            self.cursor = max(0, min(self.cursor + rows, self.row_count - 1))

    def action_down(self) -> None:
        self.move(1)

    def action_up(self) -> None:
        self.move(-1)

    def action_first(self) -> None:
        self.move(-self.row_count)

    def action_last(self) -> None:
        self.move(self.row_count)

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, self.row_count - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        for row in (old, new):
            self._refresh_row(row)
        self._show_cursor()
        if old != new:
            self.post_message(self.Moved(self, new))

    def _show_cursor(self) -> None:
        if not self.size.height:
            return  # any row would become the top one; `on_resize` follows
        top = self.first_line_of(self.cursor)
        region = Region(0, top, 1, self.first_line_of(self.cursor + 1) - top)
        self.scroll_to_region(region, animate=False, force=True, x_axis=False)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        line = y + self.scroll_offset.y
        row = self.row_at_line(line)
        if row >= self.row_count:
            return Strip.blank(width, self.base_style)
        selected = row == self.cursor
        drawn = self._drawn.get((row, selected))
        if drawn is None:
            base = self.get_component_rich_style("row--cursor") if selected else self.base_style
            drawn = self._drawn[row, selected] = self.draw_row(row, width, selected, base)
        return drawn[line - self.first_line_of(row)]

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles_of.clear()
        self._drawn.clear()

    def on_resize(self) -> None:
        """Keep the cursor visible after a change of size; keep the scroll position if the size is the same.

        A tab that is shown again reports a resize without a change.
        """
        before, self._last_size = self._last_size, self.size
        if self.size == before:
            return
        self._drawn.clear()
        self.set_line_count(self.first_line_of(self.row_count))
        self._show_cursor()

    def on_click(self, event: events.Click) -> None:
        row = self.row_at_line(event.y + self.scroll_offset.y)
        if row < self.row_count:
            self.cursor = row


Name: TypeAlias = "tuple[str, Sequence[Span]]"
"""A title or heading, and the spans of its text that match the query."""

NAME_SEPARATOR = " › "
_LEFT_OUT: Name = ("…", ())


def list_names(hit: Hit) -> list[Name]:
    """Return the title of a hit, then its headings; a first heading that repeats the title is left out."""
    fragment = hit.fragment
    headings = headings_below(fragment.title, fragment.heading_path)
    spans = hit.named or ((),) * (1 + len(fragment.heading_path))
    texts = (fragment.title, *headings), (spans[0], *spans[len(spans) - len(headings) :])
    return [(visible_line(text), matched) for text, matched in zip(*texts, strict=True)]


def join_headings(title: str, heading_path: Sequence[str]) -> str:
    """Return the headings joined on one line; a first heading that repeats the title is left out."""
    return NAME_SEPARATOR.join(visible_line(heading) for heading in headings_below(title, heading_path))


def format_place(place: str, first: int, last: int) -> str:
    """Return the line numbers of a passage, such as `8–10`, or its place in an attachment, such as a page."""
    return visible_line(format_location(place, first, last, "–")) if place else line_range(first, last, "–")


def shorten_names(names: Sequence[Name], cells: int) -> list[Name]:
    """Return `names`, a title and headings, shortened to `cells` cells if possible.

    The title loses its end only as far as the last heading needs the room, and has at least 60 % of it.
    """
    if _width(names) <= cells:
        return list(names)
    last = len(NAME_SEPARATOR) + _width(names[-1:]) if len(names) > 1 else 0
    title = fit_name(names[0], max(cells * 3 // 5, cells - last))
    room = cells - _width([title]) - len(NAME_SEPARATOR)
    return [title, *shorten_headings(names[1:], room)] if len(names) > 1 else [title]


def shorten_headings(headings: Sequence[Name], cells: int) -> list[Name]:
    """Return `headings` shortened to `cells` cells: without the first ones or, if needed, only the cut last one.

    The last heading is kept, because it says most about where a fragment is.
    """
    for dropped in range(len(headings)):
        kept = [*([_LEFT_OUT] if dropped else []), *headings[dropped:]]
        if _width(kept) <= cells:
            return kept
    return [fit_name(headings[-1], cells)]


def fit_name(name: Name, cells: int) -> Name:
    """Return a name, truncated with an ellipsis if it is wider than `cells` cells."""
    from excerpt.base.model import Span

    stable = remove_unstable_characters(name[0])
    if text_cells(stable) <= cells:
        return name
    text = fit(stable, cells)
    end = len(text) - 1
    spans = name[1] if len(stable) == len(name[0]) else ()
    return text, [Span(span.start, min(span.end, end)) for span in spans if span.start < end]


def _width(names: Sequence[Name]) -> int:
    return sum(text_cells(remove_unstable_characters(text)) for text, _ in names) + len(NAME_SEPARATOR) * (
        len(names) - 1
    )


def name_parts(names: Sequence[Name], first: Style, others: Style, match: Style) -> list[StyledPart]:
    """Return `names` as styled parts of a line.

    `first`, `others` and `match` are the styles of the first name, of the others, and of the matches in all of them.
    """
    parts: list[StyledPart] = []
    for index, (text, spans) in enumerate(names):
        if index:
            parts.append((NAME_SEPARATOR, others))
        matches = [(span.start, span.end) for span in spans]
        parts.extend(parts_with_matches(text, matches, others if index else first, match))
    return parts
