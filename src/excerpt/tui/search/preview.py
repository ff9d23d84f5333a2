"""The preview: numbered lines of a note around a fragment, which is marked in the margin, with links to follow."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct, structs
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.style import Style as ContentStyle

from excerpt.base.locations import format_location
from excerpt.base.model import Section
from excerpt.pack.memory_fragment import memory_id_of
from excerpt.text.display import format_count, format_lines, visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.line_drawing import (
    STYLE_CLASSES,
    TEXT_STYLE_CSS,
    DrawnLine,
    StyledRun,
    TextStyle,
    WrittenLink,
    wrap,
)
from excerpt.tui.common.line_view import LineView
from excerpt.tui.common.strips import fit, fit_path
from excerpt.tui.keymap import key_sign
from excerpt.tui.note.window import NoteWindow

PASSAGE_SIGN, PACKED_SIGN, NEAR_SIGN = "▎", "┃", "≈"
"""Signs in the margin: a line of the passage, a line in the pack, a sentence near to the query in meaning."""
_CONTEXT_LINES = 2
"""Lines of context above the fragment when it is scrolled into view."""


def _fragment_location(window: NoteWindow | None) -> tuple[str, int] | None:
    """Return the path and first line of the window's fragment. An edit of its text keeps both but changes its id."""
    return (window.fragment.path, window.fragment.line_start) if window is not None else None


@runtime_checkable
class LinksFiles(Protocol):
    """A screen that knows the files of notes."""

    def link_address(self, path: str) -> str:
        """Return the address of the note's file for a link; "" if the terminal is to get none."""


class Preview(LineView):
    """A widget that shows a window (a range of lines) of a note, wrapped to the width available.

    Its state are the match that the user jumped to, the picked lines, and the link under the cursor.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("Search tab, focus on the passage")

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "line--number",
        "line--margin",
        "line--packed",
        "line--neighbour",
        "line--picked",
        "line--link",
        *STYLE_CLASSES.values(),
    }

    DEFAULT_CSS = f"""
    Preview {{
        & > .line--number {{ color: $text-faint; }}
        & > .line--margin {{ color: $accent; }}
        & > .line--packed {{ color: $success; }}
        & > .line--neighbour {{ color: $text-soft; }}
        & > .line--picked {{ background: $surface-active; }}
        & > .line--link {{ color: $background; background: $accent; text-style: bold; }}
    }}
    {TEXT_STYLE_CSS}
    """

    window: reactive[NoteWindow | None] = reactive(None, init=False)
    packed_line_ranges: reactive[tuple[tuple[int, int], ...]] = reactive((), init=False)
    """Lines of this note that are in the pack: the first and last line of each passage."""
    picked_lines: reactive[PickedLineRange | None] = reactive(None, init=False)
    is_linked_passage: reactive[bool] = reactive(False, init=False)
    """Whether the passage shown was reached by a link and is not the selected hit."""
    cursor_link: reactive[LinkPosition | None] = reactive(None, init=False)
    """The link under the cursor; None if the cursor is on no link."""

    class LinkFollowed(Message):
        """Sent when the user clicks a link, or presses enter on the link under the cursor."""

        def __init__(self, link: WrittenLink) -> None:
            super().__init__()
            self.link = link

    class LineRequested(Message):
        """Sent to request a line of the note that is not in the window."""

        def __init__(self, line: int) -> None:
            super().__init__()
            self.line = line

    class ReturnRequested(Message):
        """Sent to return to the passage that was shown before a link was followed."""

    class WholeNoteRequested(Message):
        """Sent to switch between the whole note and the lines around the fragment."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._rows: list[WrappedRow] = []
        self._strips: dict[int, Strip] = {}
        self._current_match_row: int | None = None
        """Index in `_rows` of the match that the user jumped to."""
        self._scroll_pending = False
        self._last_height = 0
        self._lines_to_keep: tuple[int | None, int | None] = None, None
        """The line at the top and the line to keep visible before the widget was resized, as line numbers."""
        self._cached_style = lru_cache(maxsize=512)(self._combine_styles)

    def watch_window(self, old: NoteWindow | None, new: NoteWindow | None) -> None:
        self.border_title = self._format_border_title(new)
        top = self.line_at_top
        self._current_match_row = None
        self.set_reactive(Preview.picked_lines, None)
        self._wrap()
        self._scroll_pending = not self.scrollable_content_region.height
        if new is not None and new.line is not None:
            self._scroll_to_row(self._first_row_of_line(new.line))
        elif _fragment_location(old) != _fragment_location(new):
            self._scroll_to_row(self._first_row_of_fragment())
        elif old is not None and new is not None and old.above != new.above and top is not None:
            self._scroll_to_row(self._first_row_of_line(top))

    def watch_packed_line_ranges(self) -> None:
        self._redraw()

    def watch_picked_lines(self, old: PickedLineRange | None, new: PickedLineRange | None) -> None:
        self.border_title = self._format_border_title(self.window)
        top = self.line_at_top
        if (old is None) != (new is None) and top is not None:
            self._wrap()
            self._scroll_to_row(self._first_row_of_line(top))
        self._redraw()

    def watch_is_linked_passage(self) -> None:
        self.border_title = self._format_border_title(self.window)

    def watch_cursor_link(self) -> None:
        self._redraw()

    def _redraw(self) -> None:
        self._strips.clear()
        self.refresh()

    def on_resize(self) -> None:
        height = self.scrollable_content_region.height
        if self._last_height:
            # The rows are still wrapped to the old width. If the view has grown, Textual has scrolled already.
            self._lines_to_keep = self.line_at_top, self._line_to_keep_visible(max(height, self._last_height))
        self._last_height = height
        top_line, visible_line_number = self._lines_to_keep
        self._wrap()
        self.border_title = self._format_border_title(self.window)
        if self._scroll_pending and self.window is not None:
            # While hidden, the view could not be scrolled.
            self._scroll_pending = not self.scrollable_content_region.height
            line = self.window.line
            self._scroll_to_row(self._first_row_of_fragment() if line is None else self._first_row_of_line(line))
        elif self.window is not None and top_line is not None and height:
            top = self._first_row_of_line(top_line)
            row = self._match_row_of_line(visible_line_number) if visible_line_number is not None else top
            context = _CONTEXT_LINES if height > 6 else 0
            self._scroll_to_row(top if top <= row < top + height else max(0, row - context))

    def _line_to_keep_visible(self, height: int) -> int | None:
        """Return the number of the line to keep visible when the widget is resized; None if there is no such line.

        Of the `height` visible rows, that is the first row of the fragment with a match, else the first row of the
        fragment, else the first row with a match.
        """
        if self.window is None:
            return None
        fragment, top = self.window.fragment, max(0, self.scroll_offset.y - self._rows_above)
        visible = self._rows[top : top + height]
        inside = [row for row in visible if row.overlaps(fragment.line_start, fragment.line_end)]
        matched = [row for row in inside if row.has_match] or inside or [row for row in visible if row.has_match]
        return matched[0].line.number if matched else None

    def _match_row_of_line(self, number: int) -> int:
        """Return the row of line `number` that has its first match; the line's first row if it has no match."""
        rows = (row for row, each in enumerate(self._rows) if each.overlaps(number, number) and each.has_match)
        row = next(rows, None)
        return self._first_row_of_line(number) if row is None else row + self._rows_above

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._cached_style.cache_clear()
        self._strips.clear()

    def _format_border_title(self, window: NoteWindow | None) -> Content:
        """Return the border title; the path is a link to the file where the terminal knows links."""
        if window is None:
            return Content()
        fragment, picked_lines = window.fragment, self.picked_lines
        lines = format_location(fragment.place, fragment.line_start, fragment.line_end, "–")
        lines = visible_line(lines) if fragment.place else f"{lines} of {window.line_count:,}"
        if not window.line_count:
            lines = "empty"
        if picked_lines is not None:
            lines = f"{format_lines(picked_lines.first, picked_lines.last, '–')} picked"
        elif window.whole:
            lines = f"whole note, {format_count(window.line_count, 'line')}"
        if self.is_linked_passage and picked_lines is None:
            lines += f" · {key_sign('context-return')} back"
        if memory_id_of(fragment.id) is not None and picked_lines is None:
            path = " › ".join(("Memory", *fragment.heading_path))
            return Content(fit(visible_line(path), max(10, self.size.width - 5)))
        path = fit_path(visible_line(fragment.path), max(10, self.size.width - len(lines) - 8))
        address = self.screen.link_address(fragment.path) if isinstance(self.screen, LinksFiles) else ""
        return Content.assemble((path, ContentStyle(link=address or None)), f" · {lines}")

    def _wrap(self) -> None:
        window = self.window
        width = max(10, self.scrollable_content_region.width - self._gutter)
        # While lines are picked, each stands in rows of its own.
        reflows = self.picked_lines is None
        self._rows = wrap_lines(window.lines, width, reflows=reflows) if window is not None else []
        self._strips.clear()
        self._current_match_row = None
        self.set_reactive(Preview.cursor_link, None)
        self.set_line_count(len(self._rows) + self._rows_above + self._rows_below)

    @property
    def signs(self) -> str:
        """The signs in the margin of the lines of the window, in their order in the legend."""
        window = self.window
        if window is None:
            return ""
        first, last = window.above + 1, window.line_count - window.below
        is_packed = any(start <= last and first <= end for start, end in self.packed_line_ranges)
        is_near = any(TextStyle.NEAR in run.text_style for line in window.lines for run in line.runs)
        return f"{PASSAGE_SIGN}{PACKED_SIGN * is_packed}{NEAR_SIGN * is_near}"

    @property
    def _gutter(self) -> int:
        last = self.window.lines[-1].number if self.window and self.window.lines else 0
        return len(str(last)) + 4

    @property
    def _rows_above(self) -> int:
        return 1 if self.window is not None and self.window.above else 0

    @property
    def _rows_below(self) -> int:
        return 1 if self.window is not None and self.window.below else 0

    def _first_row_of_line(self, number: int) -> int:
        rows = (row for row, each in enumerate(self._rows) if each.last_number >= number)
        return next(rows, 0) + self._rows_above

    def _first_row_of_fragment(self) -> int:
        if self.window is None:
            return 0
        context = _CONTEXT_LINES if self.scrollable_content_region.height > 6 else 0
        return max(0, self._first_row_of_line(self.window.fragment.line_start) - context)

    @property
    def line_at_top(self) -> int | None:
        """The first visible line of the note."""
        row = max(0, self.scroll_offset.y - self._rows_above)
        return self._rows[row].line.number if row < len(self._rows) else None

    def scroll_pages(self, pages: float) -> None:
        """Scroll down by a number of pages, up if negative. A page is the height less one line, which stays visible."""
        step = max(1, self.scrollable_content_region.height - 1)
        self.move(round(pages * step))

    def _scroll_to_row(self, row: int) -> None:
        self.scroll_to(y=row, animate=False, force=True, immediate=True)

    def move(self, rows: int) -> None:
        self.scroll_relative(y=rows, animate=False)

    def action_down(self) -> None:
        self.move(1)

    def action_up(self) -> None:
        self.move(-1)

    def action_first(self) -> None:
        self.show_line(1)

    def action_last(self) -> None:
        if self.window is not None:
            self.show_line(self.window.line_count)

    def show_line(self, number: int) -> None:
        """Scroll to line `number` of the note; if the window does not contain the line, request that line."""
        if self.window is None:
            return
        if not self.window.contains(number):
            self.post_message(self.LineRequested(number))
        else:
            self._scroll_to_row(self._first_row_of_line(number) if number > 1 else 0)

    def action_heading(self, step: int) -> None:
        """Scroll to the next heading (`step` 1) or the previous one (-1)."""
        line = self.line_at_top
        if self.window is None or line is None:
            return
        heading = next_heading(self.window.headings, line, step)
        if heading is None:
            self.notify("There is no heading below." if step > 0 else "There is no heading above.")
        else:
            self.show_line(heading.line_start)

    def action_match(self, step: int) -> None:
        """Scroll to the next row with a match (`step` 1) or the previous one (-1), around the ends of the window."""
        matches = [row for row, each in enumerate(self._rows) if each.has_match]
        if not matches:
            self.notify("The lines shown contain no word of the query.")
            return
        top, height = self.scroll_offset.y - self._rows_above, self.scrollable_content_region.height
        row_before = self._current_match_row
        if row_before is None or not top <= row_before < top + height:
            row_before = top - 1 if step > 0 else top + height
        following = [row for row in matches if (row > row_before if step > 0 else row < row_before)]
        self._current_match_row = (
            (following[0] if step > 0 else following[-1]) if following else matches[0 if step > 0 else -1]
        )
        if not top <= self._current_match_row < top + height:
            self._scroll_to_row(max(0, self._current_match_row + self._rows_above - height // 3))
        self._redraw()

    def action_pick(self, step: int) -> None:
        """Pick a line; if lines are picked already, move the end of the picked lines down (`step` 1) or up (-1).

        The first line picked is the first one of the fragment if visible, else the first visible line.
        """
        if self.window is None or not self._rows:
            return
        if self.picked_lines is None:
            in_sight = [each.line.number for each in self._rows_in_sight]
            start = self.window.fragment.line_start
            line = start if start in in_sight else in_sight[0]
            self.picked_lines = PickedLineRange(line, line)
            return
        end = max(self.window.above + 1, min(self.picked_lines.end + step, self.window.line_count - self.window.below))
        self.picked_lines = self.picked_lines.with_end(end)
        row, height = self._first_row_of_line(end), self.scrollable_content_region.height
        if not self.scroll_offset.y <= row < self.scroll_offset.y + height:
            self._scroll_to_row(max(0, row - (0 if row < self.scroll_offset.y else height - 1)))

    @property
    def _rows_in_sight(self) -> list[WrappedRow]:
        top = max(0, self.scroll_offset.y - self._rows_above)
        return self._rows[top : top + self.scrollable_content_region.height]

    def action_next_link(self) -> None:
        """Put the cursor on the next visible link; after the last link, on the first one."""
        top = self.scroll_offset.y - self._rows_above
        spots = list(find_links(self._rows, top, top + self.scrollable_content_region.height))
        if not spots:
            self.notify("No link is visible.")
            return
        self.cursor_link = spots[(spots.index(self.cursor_link) + 1) % len(spots) if self.cursor_link in spots else 0]

    def follow_cursor_link(self) -> bool:
        """Send `LinkFollowed` for the link under the cursor; return False if the cursor is on no visible link."""
        top = self.scroll_offset.y - self._rows_above
        if self.cursor_link is None or not top <= self.cursor_link.row < top + self.scrollable_content_region.height:
            return False
        self.post_message(self.LinkFollowed(self.cursor_link.link))
        return True

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - `HasDisabledReason`'s name
        """Return why an action cannot be done now; "" if it can."""
        return (
            "There is no passage to return to: no link was followed."
            if action == "come_back" and not self.is_linked_passage
            else ""
        )

    def action_come_back(self) -> None:
        """Request the passage that was shown before a link was followed."""
        self.post_message(self.ReturnRequested())

    def action_read_whole(self) -> None:
        self.post_message(self.WholeNoteRequested())

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        row = (offset.y if offset is not None else -1) + self.scroll_offset.y - self._rows_above
        if offset is not None and 0 <= row < len(self._rows):
            link = link_at(self._rows[row], offset.x - self._gutter)
            if link is not None:
                self.post_message(self.LinkFollowed(link))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's name
        # Previews in other tabs do not follow links or show whole notes.
        return action not in ("come_back", "next_link", "read_whole") or self.id == "preview"

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        row = y + self.scroll_offset.y - self._rows_above
        window = self.window
        if window is None or row < -1 or row > len(self._rows):
            return Strip.blank(width, self.base_style)
        if row == -1:
            return self._draw_omission(f"⋯ {format_count(window.above, 'line')} above", width)
        if row == len(self._rows):
            return self._draw_omission(f"⋯ {format_count(window.below, 'line')} below" if window.below else "", width)
        strip = self._strips.get(row)
        if strip is None or strip.cell_length != width:
            strip = self._strips[row] = self._draw_row(window, row, width)
        return strip

    def _draw_row(self, window: NoteWindow, row: int, width: int) -> Strip:
        context_row = self._rows[row]
        number, picked = context_row.labelled, self.picked_lines
        is_inside = context_row.overlaps(window.fragment.line_start, window.fragment.line_end)
        is_picked = picked is not None and context_row.overlaps(picked.first, picked.last)
        is_near = any(TextStyle.NEAR in run.text_style for run in context_row.runs)
        label = window.margin_label(number) if number is not None else ""
        label = f"{label:>{self._gutter - 4}}"
        sign = "›" if row == self._current_match_row else NEAR_SIGN if is_near else " "
        bar = "▌" if is_picked else PASSAGE_SIGN if is_inside else " "
        is_packed = any(context_row.overlaps(first, last) for first, last in self.packed_line_ranges)
        segments = [
            Segment(label, self.get_component_rich_style("line--number")),
            Segment(sign, self.get_component_rich_style("line--margin")),
            Segment(PACKED_SIGN if is_packed else " ", self.get_component_rich_style("line--packed")),
            Segment(bar, self.get_component_rich_style("line--margin")),
            Segment(" " * (1 + context_row.indent), self._cached_style(TextStyle.PLAIN, is_inside, is_picked)),
        ]
        is_bright = is_inside or window.whole
        link = self.cursor_link.link if self.cursor_link is not None else None
        link_style = self.get_component_rich_style("line--link")
        for run in context_row.runs:
            is_under_cursor = link is not None and run.link is link
            segments.append(
                Segment(
                    run.text,
                    link_style if is_under_cursor else self._cached_style(run.text_style, is_bright, is_picked),
                )
            )
        strip = Strip(segments, sum(cell_len(segment.text) for segment in segments))
        return strip.adjust_cell_length(width, self._cached_style(TextStyle.PLAIN, is_inside, is_picked))

    def _draw_omission(self, text: str, width: int) -> Strip:
        style = self.get_component_rich_style("line--number")
        return Strip([Segment(" " * self._gutter + text, style)]).adjust_cell_length(width, self.base_style)

    def _combine_styles(self, text_style: TextStyle, is_bright: bool, is_picked: bool) -> Style:
        """Return the terminal style of a run of text.

        With `is_bright`, for text of the fragment or of a note shown whole, the run has colours. Other text has only
        attributes such as bold, and colours for matches alone. `is_picked` adds the background of picked lines.
        """
        style = self.base_style if is_bright else self.get_component_rich_style("line--neighbour")
        if is_picked:
            style += Style(bgcolor=self.get_component_rich_style("line--picked").bgcolor)
        for attribute, name in STYLE_CLASSES.items():
            if attribute in text_style:
                colours = self.get_component_rich_style(name, partial=True)
                style += colours if is_bright or attribute is TextStyle.MATCH else colours.without_color
        return style


class WrappedRow(NamedTuple):
    """One row of a wrapped line or of a re-flowed paragraph, which begins in `line`.

    `row_in_line` counts the rows of the line or paragraph from 0; `indent` is in cells. `last_number` is the number of
    the last line of the note in the row, `labelled` that of the first line that begins in it, None if none does.
    """

    line: DrawnLine
    row_in_line: int
    indent: int
    runs: Sequence[StyledRun]
    last_number: int
    labelled: int | None

    @property
    def has_match(self) -> bool:
        return any(TextStyle.MATCH in run.text_style for run in self.runs)

    def overlaps(self, first: int, last: int) -> bool:
        """Return whether the row has text of the lines `first` to `last` (inclusive)."""
        return first <= self.last_number and self.line.number <= last


MAX_JOINED_LINES = 24
"""Lines that are joined at most: the time of wrapping grows with the square of a text (2,000 lines joined: 15 s)."""


def wrap_lines(lines: Iterable[DrawnLine], width: int, *, reflows: bool = True) -> list[WrappedRow]:
    """Return the rows of `lines` wrapped to `width` cells. A table row that fits is shown with aligned columns.

    With `reflows`, the lines of a paragraph that was wrapped at a fixed width are joined before they are wrapped, up to
    MAX_JOINED_LINES at once.
    """
    rows: list[WrappedRow] = []
    paragraph: list[DrawnLine] = []
    for line in lines:
        if paragraph and not (line.is_continued and reflows and len(paragraph) < MAX_JOINED_LINES):
            rows += _wrap_paragraph(paragraph, width)
            paragraph = []
        paragraph.append(line)
    return [*rows, *_wrap_paragraph(paragraph, width)] if paragraph else rows


def _wrap_paragraph(lines: Sequence[DrawnLine], width: int) -> Iterator[WrappedRow]:
    """Yield the rows of one line, or of the joined lines of a paragraph."""
    line = lines[0]
    is_aligned = bool(line.aligned) and sum(cell_len(run.text) for run in line.aligned) <= width
    runs, starts = (line.aligned, [0]) if is_aligned else _join_lines(lines)
    hanging_indent = 0 if is_aligned else line.hanging_indent
    indent = min(hanging_indent, width // 2)
    bars = _quote_bars(runs, indent)
    text = "".join(run.text for run in runs)
    end = 0
    for row, row_runs in enumerate(wrap(runs, width, hanging_indent)):
        start = end + len(text[end:]) - len(text[end:].lstrip(" ")) if row else 0
        end = start + sum(len(run.text) for run in row_runs)
        first, last = bisect_right(starts, start) - 1, max(bisect_left(starts, end) - 1, 0)
        begun = bisect_left(starts, start)
        labelled = lines[begun].number if begun < len(starts) and (starts[begun] < end or not row) else None
        has_bars = bool(row and bars)
        yield WrappedRow(
            lines[first],
            row,
            0 if has_bars else indent * (row > 0),
            (*bars, *row_runs) if has_bars else row_runs,
            lines[last].number,
            labelled,
        )


def _join_lines(lines: Sequence[DrawnLine]) -> tuple[Sequence[StyledRun], list[int]]:
    """Return the runs of `lines` joined by spaces, and where each line starts in their text."""
    if len(lines) == 1:
        return lines[0].runs, [0]
    runs, starts, length = list(lines[0].runs), [0], sum(len(run.text) for run in lines[0].runs)
    for line in lines[1:]:
        starts.append(length + 1)
        first, *others = line.runs
        own = (StyledRun(" ", TextStyle.PLAIN), structs.replace(first, text=first.text.lstrip()), *others)
        runs += own
        length += sum(len(run.text) for run in own)
    return runs, starts


def _quote_bars(runs: Sequence[StyledRun], indent: int) -> tuple[StyledRun, ...]:
    """Return the bars that mark a quote at the start of a continuation row, `indent` cells wide; () for other lines."""
    if not runs or not runs[0].text.startswith("▎"):
        return ()
    indented = runs[0].text[:indent]
    prefix = "".join(character if character == "▎" else " " for character in indented)
    return (StyledRun(f"{prefix:<{indent}}", runs[0].text_style & ~TextStyle.MATCH),)


class LinkPosition(Struct, frozen=True):
    """The position of a drawn link: the row and cell where the link begins, without the gutter, and the link."""

    row: int
    column: int
    link: WrittenLink


def find_links(rows: Sequence[WrappedRow], first: int, last: int) -> Iterator[LinkPosition]:
    """Yield the positions of the links that begin on rows `first` to `last` (exclusive), in order."""
    line_links: list[WrittenLink] = []
    for number in range(max(first, 0), min(last, len(rows))):
        row = rows[number]
        if not row.row_in_line:
            line_links = []
        column = row.indent
        for run in row.runs:
            if run.link is not None and not any(run.link is link for link in line_links):
                line_links.append(run.link)
                yield LinkPosition(number, column, run.link)
            column += cell_len(run.text)


def link_at(row: WrappedRow, column: int) -> WrittenLink | None:
    """Return the link at cell `column` of a row, not counting the gutter; None if there is no link."""
    start = row.indent
    for run in row.runs:
        end = start + cell_len(run.text)
        if start <= column < end:
            return run.link
        start = end
    return None


def next_heading(headings: Sequence[Section], line: int, step: int) -> Section | None:
    """Return the next heading below `line`, or with a negative `step` the nearest one above; None if there is none."""
    sections = [section for section in headings if section.level]
    if step > 0:
        return next((section for section in sections if section.line_start > line), None)
    return next((section for section in reversed(sections) if section.line_start < line), None)


def heading_path_at(headings: Sequence[Section], line: int) -> tuple[str, ...]:
    """Return the headings of the section that contains line `line`, the outermost heading first."""
    return next((section.heading_path for section in reversed(headings) if section.line_start <= line), ())


class PickedLineRange(Struct, frozen=True):
    """The picked lines: from `anchor`, the line picked first, to `end` (inclusive), which may be above `anchor`."""

    anchor: int
    end: int

    @property
    def first(self) -> int:
        return min(self.anchor, self.end)

    @property
    def last(self) -> int:
        return max(self.anchor, self.end)

    def with_end(self, line: int) -> PickedLineRange:
        return structs.replace(self, end=line)
