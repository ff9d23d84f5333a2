"""View of the selected memory: reason, source and text. If its source changed, both texts are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.style import Style
from textual.reactive import reactive
from textual.strip import Strip

from excerpt.locations import format_location
from excerpt.model import FileProblem, Memory, Source, Span
from excerpt.text.display import local_time, visible, visible_line
from excerpt.tui.common.line_drawing import StyledRun, TextStyle, wrap
from excerpt.tui.common.line_view import LineView
from excerpt.tui.common.strips import StyledPart, line
from excerpt.tui.keymap import key_sign

if TYPE_CHECKING:
    from excerpt.memory.stale import DiffRow, SourceCheck

_NAME = 9
"""Width in cells of the column with the names of fields."""
_MIN_SIDE_BY_SIDE = 56
"""Minimum width in cells to show two texts side by side."""


@dataclass(frozen=True, slots=True)
class MemoryContent:
    """What the view shows: a memory with its matches and the state of its source, or an unreadable file.

    `source_check` is None until it is known.
    """

    memory: Memory | FileProblem
    spans: tuple[Span, ...] = ()
    source_check: SourceCheck | None = None


class MemoryView(LineView, can_focus=False):
    """View of one memory, wrapped to the available width."""

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

    shown: reactive[MemoryContent | None] = reactive(None, init=False)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._lines: list[Sequence[StyledPart]] = []

    def watch_shown(self, old: MemoryContent | None, new: MemoryContent | None) -> None:
        self._build()
        if old is None or new is None or _name(old) != _name(new):
            self.scroll_home(animate=False)

    def on_resize(self) -> None:
        self._build()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._build()

    def scroll_pages(self, pages: int) -> None:
        self.scroll_relative(y=pages * max(1, self.scrollable_content_region.height - 1), animate=False)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        row = y + self.scroll_offset.y
        parts = self._lines[row] if row < len(self._lines) else ()
        return line(parts, (), width, self.base_style)

    def _build(self) -> None:
        width = self.scrollable_content_region.width
        self._lines = list(self._drawn(self.shown, width)) if self.shown is not None and width > _NAME else []
        self.set_line_count(len(self._lines))

    def _view_style(self, name: str) -> Style:
        return self.get_component_rich_style(f"view--{name}", partial=True)

    def _drawn(self, shown: MemoryContent, width: int) -> Iterator[Sequence[StyledPart]]:
        memory = shown.memory
        if isinstance(memory, FileProblem):
            yield from self._field_lines("file", memory.path, width)
            yield from self._field_lines("reason", memory.reason, width, self._view_style("warning"))
            yield from self._field_lines(
                "", f"excerpt does not change it. {key_sign('memory-edit')} opens it in your editor.", width
            )
            return
        check = shown.source_check
        if check is not None and (sentence := source_sentence(check)):
            yield from self._field_lines("", sentence, width, self._view_style("warning"), indent=0)
            yield ()
        changed = check is not None and check.kind == "changed"
        if check is not None and changed:
            yield from self._differences(memory, check, width)
            yield ()
        yield from self._details(memory, width)
        if not changed:
            yield ()
            yield from self._text(memory.text, shown.spans, width)

    def _details(self, memory: Memory, width: int) -> Iterator[Sequence[StyledPart]]:
        if memory.why:
            yield from self._field_lines("why", memory.why, width)
        if memory.tags:
            yield from self._field_lines("tags", " ".join(f"#{tag}" for tag in memory.tags), width)
        if memory.source is not None:
            yield from self._field_lines("source", format_source(memory.source), width)
            if memory.source.heading_path:
                yield from self._field_lines(
                    "", " › ".join(memory.source.heading_path), width, self._view_style("name")
                )
        if memory.query:
            yield from self._field_lines("query", memory.query, width)
        later = "" if memory.updated == memory.created else f", changed {local_time(memory.updated)}"
        yield from self._field_lines("kept", local_time(memory.created) + later, width)

    def _differences(self, memory: Memory, check: SourceCheck, width: int) -> Iterator[Sequence[StyledPart]]:
        from excerpt.memory.stale import side_by_side

        rows = side_by_side(memory.text.strip("\n"), check.now.strip("\n"))
        if width < _MIN_SIDE_BY_SIDE:
            yield [("- as remembered, + as it is now", self._view_style("name"))]
            yield from (self._parts(runs) for runs in stacked_rows(rows, width))
            return
        half = (width - 3) // 2
        yield [(f"{'as remembered':<{half}}", self._view_style("name")), (" │ as it is now", self._view_style("name"))]
        for left, right in side_by_side_rows(rows, half):
            parts = self._parts(left)
            used = sum(cell_len(text) for text, _ in parts)
            yield [*parts, (" " * (half - used) + " │ ", self._view_style("faint")), *self._parts(right)]

    def _text(self, text: str, spans: Sequence[Span], width: int) -> Iterator[Sequence[StyledPart]]:
        offset = 0
        for text_line in text.rstrip().split("\n"):
            inside = [
                Span(max(span.start - offset, 0), min(span.end - offset, len(text_line)))
                for span in spans
                if span.start < offset + len(text_line) and span.end > offset
            ]
            rows = runs_of(text_line, inside, TextStyle.MATCH, width)
            yield from (self._parts(runs) for runs in rows)
            offset += len(text_line) + 1

    def _field_lines(
        self, name: str, value: str, width: int, style: Style | None = None, indent: int = _NAME
    ) -> Iterator[Sequence[StyledPart]]:
        for row, runs in enumerate(runs_of(visible_line(value), (), TextStyle.PLAIN, width - indent)):
            left: StyledPart = (f"{name if row == 0 else '':<{indent}}", self._view_style("name"))
            yield [left, *((run.text, style or Style.null()) for run in runs)]

    def _parts(self, runs: Sequence[StyledRun]) -> list[StyledPart]:
        return [(run.text, self._style(run.text_style)) for run in runs]

    def _style(self, text_style: TextStyle) -> Style:
        names = {
            TextStyle.MATCH: "match",
            TextStyle.STRIKE: "before",
            TextStyle.HIGHLIGHT: "after",
            TextStyle.FAINT: "faint",
        }
        return self._view_style(names[text_style]) if text_style in names else Style.null()


def format_source(source: Source) -> str:
    """Return the location of a source, such as `Sync.md, lines 8–12`; the path alone if the lines are not known."""
    if not source.line_start:
        return source.path
    return f"{source.path}, {format_location(source.place, source.line_start, source.line_end, '–')}"


def source_sentence(check: SourceCheck) -> str:
    """Return a sentence about the state of a memory's source; "" if nothing has changed."""
    keep, forget = key_sign("memory-keep"), key_sign("memory-forget")
    if check.kind == "moved" and check.source is not None:
        follow = key_sign("memory-follow")
        return f"Its source has moved to {format_source(check.source)}. In the list, {follow} updates the link."
    if check.kind == "changed":
        new = key_sign("memory-update")
        choices = f"{keep} keeps the memory, {new} takes the new text, {forget} forgets it"
        return f"Its source has changed. In the list, {choices}."
    if check.kind == "gone":
        if check.is_seen:
            return "Its source is gone; you decided to keep the memory."
        return f"Its source is gone; the memory keeps the text. In the list, {keep} keeps it, {forget} forgets it."
    return ""


def _name(shown: MemoryContent) -> str:
    return shown.memory.path if isinstance(shown.memory, FileProblem) else shown.memory.id


Pair = tuple[Sequence[StyledRun], Sequence[StyledRun]]
"""The left and the right side of one line on the screen."""


def side_by_side_rows(rows: Iterable[DiffRow], width: int) -> Iterator[Pair]:
    """Yield the lines of both texts side by side. Each side is at most `width` cells wide."""
    for row in rows:
        left = runs_of(row.before, row.before_spans, TextStyle.STRIKE, width)
        right = runs_of(row.after, row.after_spans, TextStyle.HIGHLIGHT, width)
        yield from zip_longest(left, right, fillvalue=())


def stacked_rows(rows: Iterable[DiffRow], width: int) -> Iterator[Sequence[StyledRun]]:
    """Yield the lines of both texts one below the other, with - for the old text and + for the new.

    Used where there is no room for two sides.
    """
    for row in rows:
        if row.is_same:
            yield from (
                (StyledRun("  ", TextStyle.PLAIN), *runs) for runs in runs_of(row.after, (), TextStyle.PLAIN, width - 2)
            )
            continue
        if row.before is not None:
            for runs in runs_of(row.before, row.before_spans, TextStyle.STRIKE, width - 2):
                yield (StyledRun("- ", TextStyle.FAINT), *runs)
        if row.after is not None:
            for runs in runs_of(row.after, row.after_spans, TextStyle.HIGHLIGHT, width - 2):
                yield (StyledRun("+ ", TextStyle.FAINT), *runs)


def runs_of(text: str | None, spans: Sequence[Span], text_style: TextStyle, width: int) -> list[list[StyledRun]]:
    """Return a line wrapped to `width` cells, with the spans in the style `text_style`; no rows if `text` is None."""
    if text is None:
        return []
    shown = visible(text).replace("\t", " ")
    runs: list[StyledRun] = []
    at = 0
    for span in sorted(spans, key=lambda span: span.start):
        start = max(span.start, at)
        runs += [StyledRun(shown[at:start], TextStyle.PLAIN), StyledRun(shown[start : span.end], text_style)]
        at = max(at, span.end)
    runs.append(StyledRun(shown[at:], TextStyle.PLAIN))
    return wrap([run for run in runs if run.text], max(1, width), 0)
