"""Draw a window of a note for the preview: the lines around a fragment, or the whole note.

Properties, tables and code span several lines; each is still drawn line by line, so that a drawn line is one line of
the note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, structs

from excerpt.base.locations import first_page_of
from excerpt.base.model import Fragment, Section, Span
from excerpt.base.patterns import lazy_pattern
from excerpt.service.note_questions import DEFAULT_OPTIONS, ShownNote, WindowOptions, view_range
from excerpt.text.line_context import PLAIN, TABLE_RULE, Context, LineContext, contexts_of
from excerpt.tui.common.line_drawing import (
    MAX_LINE_CHARS,
    Columns,
    DrawnLine,
    StyledLine,
    TextStyle,
    append_omitted_count,
    apply_highlights,
    draw_line,
    style_and_indent_line,
)
from excerpt.tui.note.code import MAX_CODE_CHARS, StyledRange, highlight_code
from excerpt.tui.note.properties import draw_properties
from excerpt.tui.note.table import align_table

_MARKDOWN_KINDS = ("", "canvas", "drawing", "notebook")
"""Values of `Fragment.kind` whose text is Markdown; "" is a note."""
_WRAPPED_CHARS = range(60, 101)
"""Widths at which lines count as wrapped: shorter ones are lists, longer ones a sentence or a paragraph each."""
_NO_PARAGRAPH = lazy_pattern(r"\s*(?:$|#{1,6}\s|[>|<]|```|~~~|%%|\$\$|\[\^|\[[^\]]+\]:|[-=*_]{3,}\s*$)")
"""The beginning of a line that is neither in a paragraph nor in an item of a list."""
_ENDS_PARAGRAPH = lazy_pattern(rf"{_NO_PARAGRAPH.pattern}|\s*(?:[-*+]\s|\d+[.)]\s|!\[|=+\s*$|-+\s*$)")
"""The beginning of a line that does not continue the paragraph above it."""


class NoteWindow(Struct, frozen=True):
    """A window of a note: a range of its lines, drawn, around a fragment.

    `lines` are the drawn lines, `source_lines` the text of the same lines in the note, and `line_count` the number of
    lines of the whole note. `headings` are the sections of the note, and `whole` says that the whole note was
    requested. `line` is the requested line; None for the fragment's first line.
    """

    fragment: Fragment
    lines: tuple[DrawnLine, ...]
    line_count: int
    source_lines: tuple[str, ...] = ()
    headings: tuple[Section, ...] = ()
    whole: bool = False
    line: int | None = None

    @property
    def above(self) -> int:
        """Number of lines of the note before the window."""
        return self.lines[0].number - 1 if self.lines else 0

    @property
    def below(self) -> int:
        """Number of lines of the note after the window."""
        return self.line_count - self.lines[-1].number if self.lines else 0

    def margin_label(self, number: int) -> str:
        """Return the label of line `number` in the margin.

        In a note this is the number. In an attachment it is the number of the page, slide or chapter that begins on the
        line, or "" if none begins there.
        """
        if not self.fragment.kind:
            return str(number)
        section = next((each for each in self.headings if each.place and each.line_start == number), None)
        return str(first_page_of(section.place) or "") if section is not None else ""

    def contains(self, number: int) -> bool:
        return self.above < number <= self.line_count - self.below

    def text(self, first: int, last: int) -> str:
        """Return the note's text of lines `first` to `last` (inclusive), as far as they are in the window."""
        return "\n".join(self.source_lines[max(first - self.above - 1, 0) : last - self.above])


def draw_window(
    note_text: str,
    fragment: Fragment,
    spans: Iterable[Span],
    view: WindowOptions = DEFAULT_OPTIONS,
    *,
    headings: Sequence[Section] = (),
    outside_matches: Iterable[tuple[int, Columns]] = (),
) -> NoteWindow:
    """Draw the window of a note that `view` asks for, with `spans` of the fragment's text marked as matches.

    `outside_matches` are matches outside of the fragment, as (line number, columns). `headings` are the sections of
    the note.
    """
    lines = note_text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    matches = spans_by_line(fragment, spans)
    for number, columns in outside_matches:
        if not fragment.line_start <= number <= fragment.line_end:
            matches.setdefault(number, []).append(columns)
    first, last = view_range(fragment, len(lines), view)
    contexts = contexts_of(lines[:last]) if fragment.kind in _MARKDOWN_KINDS else [PLAIN] * last
    window_lines = _WindowLines(lines, contexts, first, matches, spans_by_line(fragment, view.near))
    drawn_lines = tuple(_draw_lines(window_lines))
    return NoteWindow(
        fragment, drawn_lines, len(lines), tuple(lines[first - 1 : last]), tuple(headings), view.whole, view.line
    )


def draw_note(note: ShownNote) -> NoteWindow:
    """Draw the window of a note that a question has found."""
    outside_matches = (
        (part.first + row, each)
        for part in note.outside_matches
        for row, columns in columns_by_row(part.text, part.spans).items()
        for each in columns
    )
    return draw_window(
        note.text, note.fragment, note.spans, note.view, headings=note.headings, outside_matches=outside_matches
    )


def spans_by_line(fragment: Fragment, spans: Iterable[Span]) -> dict[int, list[Columns]]:
    """Return spans of a fragment's text as columns, by line number. A span over several lines is split."""
    return {fragment.line_start + row: columns for row, columns in columns_by_row(fragment.text, spans).items()}


def columns_by_row(text: str, spans: Iterable[Span]) -> dict[int, list[Columns]]:
    """Return spans of `text` as columns, by line of `text`, from 0. A span over several lines is split."""
    columns: dict[int, list[Columns]] = {}
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    row = 0
    for span in sorted(spans, key=lambda span: span.start):
        while row + 1 < len(starts) and starts[row + 1] <= span.start:
            row += 1
        for index in range(row, len(starts) - 1):
            if starts[index] >= span.end:
                break
            start, end = max(span.start, starts[index]), min(span.end, starts[index + 1] - 1)
            if start < end:
                columns.setdefault(index, []).append((start - starts[index], end - starts[index]))
    return columns


class _WindowLines(Struct, frozen=True):
    """The lines of a note, of which those from number `first` (from 1) are to be drawn.

    `contexts` says of each line, up to the last one to draw, whether it is prose, code or a property. `matches` and
    `near` (near in meaning to the query) are columns by line number.
    """

    lines: Sequence[str]
    contexts: Sequence[LineContext]
    first: int
    matches: Mapping[int, list[Columns]]
    near: Mapping[int, list[Columns]]

    def apply_highlights(self, line: StyledLine, number: int) -> None:
        apply_highlights(line, self.matches.get(number, ()), self.near.get(number, ()))


def _draw_lines(window_lines: _WindowLines) -> Iterator[DrawnLine]:
    continued = set(_find_continuation_rows(window_lines))
    aligned = dict(_align_tables(window_lines))
    properties = _draw_properties(window_lines)
    code = _highlight_code(window_lines)
    yield from properties
    for row in range(window_lines.first - 1 + len(properties), len(window_lines.contexts)):
        number = row + 1
        matches, near = window_lines.matches.get(number, ()), window_lines.near.get(number, ())
        line = draw_line(
            number, window_lines.lines[row], window_lines.contexts[row], matches, near=near, code=code.get(row, ())
        )
        columns = aligned.get(row)
        if columns is not None:
            yield DrawnLine(number, line.runs, line.hanging_indent, columns.build_runs())
        else:
            yield structs.replace(line, is_continued=True) if row in continued else line


def _find_continuation_rows(window_lines: _WindowLines) -> Iterator[int]:
    """Yield the index of each line that continues a paragraph whose lines were wrapped at a fixed width.

    Nothing says so but the lines: the first word of a continued line would not have fitted on the line before. A line
    that was ended earlier, as in a poem or an address, stays a line.
    """
    lines, paragraph = window_lines.lines, list[int]()
    for row in range(window_lines.first - 1, len(window_lines.contexts) + 1):
        is_end = row == len(window_lines.contexts) or not (paragraph and _can_continue(window_lines, row))
        if not is_end:
            paragraph.append(row)
            continue
        width = max((len(lines[each].rstrip()) for each in paragraph), default=0)
        if width in _WRAPPED_CHARS:
            for each in paragraph[1:]:
                word = lines[each].split(maxsplit=1)[0]
                if len(lines[each - 1].rstrip()) + 1 + len(word) > width:
                    yield each
        paragraph = [row]


def _can_continue(window_lines: _WindowLines, row: int) -> bool:
    """Return whether the line at index `row` may belong to the paragraph, or the item of a list, of the line before."""
    above, line = window_lines.lines[row - 1], window_lines.lines[row]
    contexts = window_lines.contexts[row - 1 : row + 1]
    return (
        all(each.context is Context.PROSE for each in contexts)
        and not _ENDS_PARAGRAPH.match(line)
        and not _NO_PARAGRAPH.match(above)
        and not above.endswith(("  ", "\\"))
        and max(len(above), len(line)) <= MAX_LINE_CHARS
    )


def _draw_properties(window_lines: _WindowLines) -> list[DrawnLine]:
    """Return the drawn lines of the frontmatter that are in the window, whose first lines they are."""
    contexts = window_lines.contexts
    end = next((row for row, each in enumerate(contexts) if each.context is not Context.PROPERTIES), len(contexts))
    if window_lines.first > end:
        return []
    drawn: list[DrawnLine] = []
    for row, (line, hanging_indent) in enumerate(
        draw_properties([text[:MAX_LINE_CHARS] for text in window_lines.lines[:end]])
    ):
        window_lines.apply_highlights(line, row + 1)
        drawn.append(
            DrawnLine(
                row + 1,
                append_omitted_count(line.build_runs(), len(window_lines.lines[row]) - MAX_LINE_CHARS),
                hanging_indent,
            )
        )
    return drawn[window_lines.first - 1 :]


def _highlight_code(window_lines: _WindowLines) -> dict[int, list[StyledRange]]:
    """Return the syntax highlighting of code in the window, by index of the line in the note.

    The highlighting stops before the block with which the code would exceed `MAX_CODE_CHARS` characters.
    """
    contexts = window_lines.contexts
    fences = Counter(
        each.block for each in contexts[window_lines.first - 1 :] if each.context is Context.CODE and each.language
    )
    ranges: dict[int, list[StyledRange]] = {}
    remaining = MAX_CODE_CHARS
    for block in fences:
        end = block + 1
        while end < len(contexts) and contexts[end] == contexts[block]._replace(context=Context.CODE):
            end += 1
        texts = [line[:MAX_LINE_CHARS] for line in window_lines.lines[block + 1 : end]]
        remaining -= sum(map(len, texts)) + len(texts)
        if remaining < 0:
            break
        ranges.update(enumerate(highlight_code(texts, contexts[block].language), block + 1))
    return ranges


def _align_tables(window_lines: _WindowLines) -> Iterator[tuple[int, StyledLine]]:
    """Yield (index of the line, line with aligned columns) for each line of the tables that begin in the window."""
    row = window_lines.first - 1
    while row + 1 < len(window_lines.contexts):
        if not (
            _is_table(window_lines, row)
            and TABLE_RULE.match(window_lines.lines[row + 1])
            and "|" in window_lines.lines[row + 1]
        ):
            row += 1
            continue
        first = row
        while row < len(window_lines.contexts) and _is_table(window_lines, row):
            row += 1
        table = [StyledLine(window_lines.lines[index][:MAX_LINE_CHARS]) for index in range(first, row)]
        for index, line in enumerate(table, first):
            style_and_indent_line(line, window_lines.contexts[index])
            window_lines.apply_highlights(line, index + 1)
        table[0].add_style(0, len(table[0].text), TextStyle.BOLD)
        if align_table(table, 1):
            yield from enumerate(table, first)


def _is_table(window_lines: _WindowLines, row: int) -> bool:
    return window_lines.contexts[row].context is Context.PROSE and "|" in window_lines.lines[row]
