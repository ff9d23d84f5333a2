"""Rendering and parsing of packs as numbered sources, which Markdown and plain text have in common.

A source is `[1]` with headings, a line with its location, and the text between two equal borders, which the text cannot
contain. Titles, headings and paths come after fixed words, so that they never begin a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct

from excerpt.base.model import CUT_MARK, Pack, TableHeader
from excerpt.base.patterns import lazy_pattern
from excerpt.pack.formats.pack_format import PackFile, PackSource, UnreadablePackError
from excerpt.pack.formats.source_label import (
    UNKNOWN_DATE,
    format_headings,
    format_mark,
    format_pack_location,
    join_lines,
    shorten_digest,
)
from excerpt.text.display import extend_fence, line_range

_QUESTION_PREFIX = "Question: "
_MARK_PREFIX = "Status: "
"""Begins the line of a replaced note, so that a path in it cannot turn it into a heading, a fence or HTML."""


# --- written ----------------------------------------------------------------------------------------------------------


class NumberedSourcesRenderer(Struct, frozen=True):
    """Renders packs as numbered sources; subclasses set the characters around them.

    `heading_prefix` begins the heading line of a source. `min_border` is the line above and below its text, which is
    lengthened if the text has the same line. `border_gap` comes between the borders and the lines around them,
    `source_separator` between two sources.
    `questions` are added at the end, and `notice` is the first line.
    """

    heading_prefix: ClassVar[str]
    min_border: ClassVar[str]
    border_gap: ClassVar[str]
    source_separator: ClassVar[str]

    questions: tuple[str, ...] = ()
    notice: str = ""

    def render(self, packs: Sequence[Pack]) -> str:
        sources = []
        for number, pack in enumerate(packs, start=1):
            above, below = self._render_borders(number, pack)
            sources.append(f"{above}{pack.text}\n{below}")
        text = self.source_separator.join(sources)
        return f"{self._render_notice()}{text}{self._render_questions()}" if packs else ""

    def render_frame(self, number: int, pack: Pack) -> Sequence[str]:
        once = (self._render_notice(), self._render_questions()) if number == 1 else ("", "")
        return (*self._render_borders(number, pack), *once)

    def escape(self, text: str) -> str:
        return text

    def _render_borders(self, number: int, pack: Pack) -> tuple[str, str]:
        border, gap = extend_fence(self.min_border, pack.rendered_text), self.border_gap
        mark = f"{_MARK_PREFIX}{format_mark(pack)}\n" if pack.replaced else ""
        above = f"{self.heading_prefix}[{number}] {format_headings(pack)}\n{_format_location_line(pack)}\n{mark}{gap}"
        cut_above = f"{CUT_MARK}\n{gap}" if pack.cut_above else ""
        cut_below = f"{gap}{CUT_MARK}\n" if pack.cut_below else ""
        return f"{above}{cut_above}{border}\n{pack.rendered_header}", f"{border}\n{cut_below}"

    def _render_notice(self) -> str:
        return f"{self.notice}\n\n" if self.notice else ""

    def _render_questions(self) -> str:
        """Return the lines with the questions, for the end of the pack, where models pay most attention."""
        return "".join(f"\n{_QUESTION_PREFIX}{join_lines(question)}\n" for question in self.questions)


def _format_location_line(pack: Pack) -> str:
    """Return the line with a pack's location, date and digest.

    The line begins with a fixed word, so that a path cannot turn it into a heading, a fence or HTML. The parts after
    the path have a fixed form, so that the line can be parsed from its end.
    """
    modified = pack.modified or UNKNOWN_DATE
    header = pack.table_header
    header_lines = f", table header {line_range(header.line_start, header.line_end)}" if header is not None else ""
    return f"From {format_pack_location(pack)}{header_lines}, modified {modified}, digest {shorten_digest(pack)}"


# --- read -------------------------------------------------------------------------------------------------------------

_HEADING_LINE = lazy_pattern(r"(?:## )?\[(\d{1,6})\] (.*)")
# A path may look like any of these lines, but the text after it does not: the longest match is the path.
_LOCATION_LINE = lazy_pattern(
    r"From (?P<path>.*)(?::(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?|#(?P<place>[^#]+))"
    r"(?(place) \([^()]*\)|(?: \([^()]*\))?)(?:, table header (?P<header>\d{1,9}-\d{1,9}))?"
    r"(?:, modified (?:[\d-]{1,10}|unknown))?, digest (?P<digest>[0-9a-f]{1,16})"
)
_BORDER_LINE = lazy_pattern(r"(?:`{3,}|={5,})")
_MAX_LINES_ABOVE_BORDER = 5  # between location and border: the status, blank lines, and the mark of a cut


def read(text: str) -> PackFile:
    """Parse a pack file in Markdown or plain text, or both. Raises UnreadablePackError.

    Everything between two equal borders is the text of a source, whatever it looks like.
    """
    lines = text.split("\n")
    sources: list[PackSource] = []
    questions: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        head = _HEADING_LINE.fullmatch(line)
        location = _LOCATION_LINE.fullmatch(lines[at + 1]) if head and at + 1 < len(lines) else None
        at += 1
        if head and location:
            number, heading = int(head[1]), head[2]
            above = at + 1
            opened, last, at = _find_text_lines(lines, above, number)
            begin = int(location["first"] or 0)
            header, above_text = _read_table_header(location["header"], begin, lines[opened:last])
            inner = "\n".join(lines[opened + above_text : last])
            end = int(location["last"] or begin)
            cut = CUT_MARK in lines[above:opened], CUT_MARK in lines[at : at + 2]
            path, digest, at_place = location["path"], location["digest"], location["place"] or ""
            sources.append(PackSource(number, path, heading, begin, end, inner, digest, *cut, at_place, header))
        elif line.startswith(_QUESTION_PREFIX):
            questions.append(line.removeprefix(_QUESTION_PREFIX))
    return PackFile(tuple(sources), "\n".join(questions))


def _read_table_header(header_lines: str | None, begin: int, lines: Sequence[str]) -> tuple[TableHeader | None, int]:
    """Return the header of the table that a source has above its text, and the number of lines above the text.

    `header_lines` are the header's line numbers in the note as text, None if there is no header. The source's text
    begins at line `begin` of the note. `lines` are the lines between the borders.
    """
    if header_lines is None:
        return None, 0
    first, last = map(int, header_lines.split("-"))
    count = last - first + 1
    if not 0 < count < len(lines):
        return None, 0
    return TableHeader(first, last, "\n".join(lines[:count])), count + (begin != last + 1 and lines[count] == CUT_MARK)


def _find_text_lines(lines: Sequence[str], at: int, number: int) -> tuple[int, int, int]:
    """Find the text of source `number`, whose opening border is at or a few lines after the index `at`.

    Returns three indexes of `lines`: the first line of the text, its closing border, and the line after the border.
    Raises UnreadablePackError if there is no opening or no closing border.
    """
    for opened in range(at, min(at + _MAX_LINES_ABOVE_BORDER, len(lines))):
        if _BORDER_LINE.fullmatch(lines[opened]):
            for closed in range(opened + 1, len(lines)):
                if lines[closed] == lines[opened]:
                    return opened + 1, closed, closed + 1
            raise UnreadablePackError(f"The text of source [{number}] does not end: the pack is cut off.")
    raise UnreadablePackError(f"The text of source [{number}] is missing.")
