"""The view of the selected memory: reason, source and text. If its source has changed, both texts are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from textual.reactive import reactive
from textual.strip import Strip

from excerpt.base.locations import format_location
from excerpt.base.model import FileProblem, Memory, Source, Span
from excerpt.text.display import local_day, local_time, visible, visible_line
from excerpt.tui.common.line_drawing import StyledRun, TextStyle, wrap
from excerpt.tui.common.line_view import LineView
from excerpt.tui.common.strips import StyledPart, line
from excerpt.tui.keymap import key_sign

if TYPE_CHECKING:
    from excerpt.memory.results import DiffRow, SourceCheck

_NAME_CELLS = 9
"""Width in cells of the column with the names of fields."""
_MIN_SIDE_BY_SIDE_CELLS = 56
"""Minimum width in cells to show two texts side by side."""


class MemoryContent(Struct, frozen=True):
    """What the view shows: a memory, or a file that cannot be read as one.

    `spans` are the matches of the filter in its text. `source_check` is the state of its source, None until it is
    known.
    """

    memory: Memory | FileProblem
    spans: tuple[Span, ...] = ()
    source_check: SourceCheck | None = None


class MemoryView(LineView, can_focus=False):
    """The view of one memory, as lines wrapped to the available width."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "view--name",
        "view--warning",
        "view--match",
        "view--before",
        "view--after",
        "view--faint",
    }

    DEFAULT_CSS = """
    MemoryView {
        padding: 0 1;
        & > .view--name { color: $text-soft; }
        & > .view--warning { color: $warning; }
        & > .view--match { color: $match-foreground; background: $match-background; text-style: bold; }
        & > .view--before { color: $error; text-style: strike; }
        & > .view--after { color: $success; text-style: bold; }
        & > .view--faint { color: $text-faint; }
    }
    """

    content: reactive[MemoryContent | None] = reactive(None, init=False)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._lines: list[Sequence[StyledPart]] = []

    def watch_content(self, old: MemoryContent | None, new: MemoryContent | None) -> None:
        self._layout_lines()
        if old is None or new is None or _content_id(old) != _content_id(new):
            self.scroll_home(animate=False)

    def on_resize(self) -> None:
        self._layout_lines()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._layout_lines()

    def scroll_pages(self, pages: int) -> None:
        self.scroll_relative(y=pages * max(1, self.scrollable_content_region.height - 1), animate=False)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        row = y + self.scroll_offset.y
        parts = self._lines[row] if row < len(self._lines) else ()
        return line(parts, (), width, self.base_style)

    def _layout_lines(self) -> None:
        width = self.scrollable_content_region.width
        self._lines = (
            list(self._draw_content(self.content, width)) if self.content is not None and width > _NAME_CELLS else []
        )
        self.set_line_count(len(self._lines))

    def _view_style(self, name: str) -> Style:
        return self.get_component_rich_style(f"view--{name}", partial=True)

    def _draw_content(self, content: MemoryContent, width: int) -> Iterator[Sequence[StyledPart]]:
        memory = content.memory
        if isinstance(memory, FileProblem):
            yield from self._draw_field("file", memory.path, width)
            yield from self._draw_field("reason", memory.reason, width, self._view_style("warning"))
            yield from self._draw_field(
                "", f"excerpt does not change it. {key_sign('memory-edit')} opens it in your editor.", width
            )
            return
        check = content.source_check
        if check is not None and (sentence := format_source_state(check)):
            yield from self._draw_field("", sentence, width, self._view_style("warning"), indent=0)
            yield ()
        changed = check is not None and check.kind == "changed"
        if check is not None and changed:
            yield from self._draw_differences(memory, check, width)
            yield ()
        yield from self._draw_details(memory, width)
        if not changed:
            yield ()
            yield from self._draw_text(memory.text, content.spans, width)

    def _draw_details(self, memory: Memory, width: int) -> Iterator[Sequence[StyledPart]]:
        if memory.is_shared:
            yield from self._draw_field("author", memory.author, width)
        if memory.why:
            yield from self._draw_field("why", memory.why, width)
        if memory.tags:
            yield from self._draw_field("tags", " ".join(f"#{tag}" for tag in memory.tags), width)
        if memory.source is not None:
            yield from self._draw_field("source", format_source(memory.source), width)
            if memory.source.heading_path:
                yield from self._draw_field("", " › ".join(memory.source.heading_path), width, self._view_style("name"))
        if memory.query:
            yield from self._draw_field("query", memory.query, width)
        if memory.replaced_by:
            day = f"on {local_day(memory.replaced_at)} " if memory.replaced_at else ""
            yield from self._draw_field("replaced", f"{day}by {memory.replaced_by}", width, self._view_style("warning"))
        later = "" if memory.updated == memory.created else f", changed {local_time(memory.updated)}"
        yield from self._draw_field("kept", local_time(memory.created) + later, width)

    def _draw_differences(self, memory: Memory, check: SourceCheck, width: int) -> Iterator[Sequence[StyledPart]]:
        from excerpt.memory.results import side_by_side

        rows = side_by_side(memory.text.strip("\n"), check.now.strip("\n"))
        if width < _MIN_SIDE_BY_SIDE_CELLS:
            yield [("- as remembered, + as it is now", self._view_style("name"))]
            yield from (self._to_parts(runs) for runs in draw_stacked(rows, width))
            return
        half = (width - 3) // 2
        yield [(f"{'as remembered':<{half}}", self._view_style("name")), (" │ as it is now", self._view_style("name"))]
        for left, right in draw_side_by_side(rows, half):
            parts = self._to_parts(left)
            used = sum(cell_len(text) for text, _ in parts)
            yield [*parts, (" " * (half - used) + " │ ", self._view_style("faint")), *self._to_parts(right)]

    def _draw_text(self, text: str, spans: Sequence[Span], width: int) -> Iterator[Sequence[StyledPart]]:
        offset = 0
        for text_line in text.rstrip().split("\n"):
            inside = [
                Span(max(span.start - offset, 0), min(span.end - offset, len(text_line)))
                for span in spans
                if span.start < offset + len(text_line) and span.end > offset
            ]
            rows = wrap_line(text_line, inside, TextStyle.MATCH, width)
            yield from (self._to_parts(runs) for runs in rows)
            offset += len(text_line) + 1

    def _draw_field(
        self, name: str, value: str, width: int, style: Style | None = None, indent: int = _NAME_CELLS
    ) -> Iterator[Sequence[StyledPart]]:
        for row, runs in enumerate(wrap_line(visible_line(value), (), TextStyle.PLAIN, width - indent)):
            left: StyledPart = (f"{name if row == 0 else '':<{indent}}", self._view_style("name"))
            yield [left, *((run.text, style or Style.null()) for run in runs)]

    def _to_parts(self, runs: Sequence[StyledRun]) -> list[StyledPart]:
        return [(run.text, self._style_of_run(run.text_style)) for run in runs]

    def _style_of_run(self, text_style: TextStyle) -> Style:
        names = {
            TextStyle.MATCH: "match",
            TextStyle.STRIKE: "before",
            TextStyle.HIGHLIGHT: "after",
            TextStyle.FAINT: "faint",
        }
        return self._view_style(names[text_style]) if text_style in names else Style.null()


def format_source(source: Source) -> str:
    """Return the location of a source, such as `Sync.md, lines 8–12`; only the path if the lines are not known."""
    if not source.line_start:
        return source.path
    return f"{source.path}, {format_location(source.place, source.line_start, source.line_end, '–')}"


def format_source_state(check: SourceCheck) -> str:
    """Return what has happened to a memory's source and what the user can do; "" if nothing has changed."""
    keep, forget = key_sign("memory-keep"), key_sign("memory-forget")
    if check.kind == "moved" and check.source is not None:
        follow = key_sign("memory-follow")
        return f"The source has moved to {format_source(check.source)}. In the list, {follow} updates the link."
    if check.kind == "changed":
        new = key_sign("memory-update")
        choices = f"{keep} keeps the memory, {new} takes the new text, {forget} forgets it"
        return f"The source of the memory has changed. In the list, {choices}."
    if check.kind == "gone":
        if check.is_seen:
            return "The source of the memory is gone. You decided to keep the memory."
        return (
            "The source of the memory is gone; the memory has its text. "
            f"In the list, {keep} keeps the memory, {forget} forgets it."
        )
    return ""


def _content_id(content: MemoryContent) -> str:
    return content.memory.path if isinstance(content.memory, FileProblem) else content.memory.id


SideBySideLine = tuple[Sequence[StyledRun], Sequence[StyledRun]]
"""The left and the right half of a line on the screen: the old and the new text, as styled runs."""


def draw_side_by_side(rows: Iterable[DiffRow], width: int) -> Iterator[SideBySideLine]:
    """Yield the old and the new text side by side, each at most `width` cells wide, with changes highlighted."""
    for row in rows:
        left = wrap_line(row.before, row.before_spans, TextStyle.STRIKE, width)
        right = wrap_line(row.after, row.after_spans, TextStyle.HIGHLIGHT, width)
        yield from zip_longest(left, right, fillvalue=())


def draw_stacked(rows: Iterable[DiffRow], width: int) -> Iterator[Sequence[StyledRun]]:
    """Yield the old and the new text in one column, changed lines with - for the old text and + for the new.

    This is used where two columns do not fit into the width.
    """
    for row in rows:
        if row.is_same:
            yield from (
                (StyledRun("  ", TextStyle.PLAIN), *runs)
                for runs in wrap_line(row.after, (), TextStyle.PLAIN, width - 2)
            )
            continue
        if row.before is not None:
            for runs in wrap_line(row.before, row.before_spans, TextStyle.STRIKE, width - 2):
                yield (StyledRun("- ", TextStyle.FAINT), *runs)
        if row.after is not None:
            for runs in wrap_line(row.after, row.after_spans, TextStyle.HIGHLIGHT, width - 2):
                yield (StyledRun("+ ", TextStyle.FAINT), *runs)


def wrap_line(text: str | None, spans: Sequence[Span], text_style: TextStyle, width: int) -> list[list[StyledRun]]:
    """Return a line of text wrapped to `width` cells, as rows of runs; no rows if `text` is None.

    The parts in `spans` have the style `text_style`.
    """
    if text is None:
        return []
    display_text = visible(text).replace("\t", " ")
    runs: list[StyledRun] = []
    at = 0
    for span in sorted(spans, key=lambda span: span.start):
        start = max(span.start, at)
        runs += [
            StyledRun(display_text[at:start], TextStyle.PLAIN),
            StyledRun(display_text[start : span.end], text_style),
        ]
        at = max(at, span.end)
    runs.append(StyledRun(display_text[at:], TextStyle.PLAIN))
    return wrap([run for run in runs if run.text], max(1, width), 0)
