"""A window of a note around a fragment, for the preview."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from excerpt.model import Fragment, Span
from excerpt.tui.line_drawing import Context, DrawnLine, draw_line

REACH = 80
"""Lines shown before and after the fragment: four screens, drawn in a few ms."""


@dataclass(frozen=True, slots=True)
class NoteWindow:
    """Lines `lines[0].number`..`lines[-1].number` of a note of `line_count` lines, around `fragment`."""

    fragment: Fragment
    lines: tuple[DrawnLine, ...]
    line_count: int

    @property
    def above(self) -> int:
        """Lines of the note before the window."""
        return self.lines[0].number - 1 if self.lines else 0

    @property
    def below(self) -> int:
        """Lines of the note after the window."""
        return self.line_count - self.lines[-1].number if self.lines else 0


def window_around(note_text: str, fragment: Fragment, spans: Iterable[Span]) -> NoteWindow:
    """The window of the note around the fragment, with the spans of the fragment's text marked as matches."""
    lines = note_text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    matches = spans_by_line(fragment, spans)
    first, last = max(1, fragment.line_start - REACH), min(len(lines), fragment.line_end + REACH)
    contexts = _contexts(lines[:last])
    drawn = tuple(
        draw_line(number, lines[number - 1], contexts[number - 1], matches.get(number, ()))
        for number in range(first, last + 1)
    )
    return NoteWindow(fragment, drawn, len(lines))


def spans_by_line(fragment: Fragment, spans: Iterable[Span]) -> dict[int, list[tuple[int, int]]]:
    """Spans into a fragment's text as columns of the note's lines; one over a line end is split."""
    found: dict[int, list[tuple[int, int]]] = {}
    starts = [0]
    for line in fragment.text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for span in spans:
        for row, start in enumerate(starts[:-1]):
            left, right = max(span.start, start), min(span.end, starts[row + 1] - 1)
            if left < right:
                found.setdefault(fragment.line_start + row, []).append((left - start, right - start))
    return found


_FENCE = re.compile(r"^(?:[ \t]|[-*+>]|\d+[.)])*(`{3,}|~{3,})")


def _contexts(lines: Sequence[str]) -> list[Context]:
    """For each line whether it is prose, frontmatter, or in a fence: what cannot be told from the line alone."""
    contexts: list[Context] = []
    fence, quoted = "", False
    properties = bool(lines) and lines[0].rstrip() == "---"
    for row, line in enumerate(lines):
        if properties:
            contexts.append(Context.PROPERTIES)
            properties = row == 0 or line.rstrip() not in ("---", "...")
            continue
        mark = _FENCE.match(line)
        if quoted and not line.lstrip().startswith(">"):
            fence, quoted = "", False
        if fence:
            closes = mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip()
            contexts.append(Context.CODE_EDGE if closes else Context.QUOTED_CODE if quoted else Context.CODE)
            fence, quoted = ("", False) if closes else (fence, quoted)
        elif mark:
            fence, quoted = mark[1], ">" in line[: mark.start(1)]
            contexts.append(Context.CODE_EDGE)
        else:
            contexts.append(Context.PROSE)
    return contexts
