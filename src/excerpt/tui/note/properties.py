"""Draw the properties (frontmatter) of a note: names in one column, values without YAML syntax."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len

from excerpt.base.patterns import lazy_pattern
from excerpt.text.display import visible
from excerpt.text.inline import SpanKind, inline_spans
from excerpt.tui.common.line_drawing import StyledLine, TextStyle, style_link

_MAX_NAME_CELLS = 20
"""Maximum width in cells of the column of names; the value of a longer name follows that name directly."""
_RULE_LINE = "─" * 12

_NAME_LINE = lazy_pattern(r"^([\w][\w .-]*?)(:)(?:[ \t]+|$)")
_LIST_ITEM = lazy_pattern(r"^[ \t]*(-)(?:[ \t]+|$)")
_INLINE_LIST = lazy_pattern(r"^(\[)(.*)(\])\s*$")
_TAG_PROPERTIES = frozenset({"tags", "tag", "keywords"})
_CHECKBOXES = {"true": "☑", "false": "☐"}


def draw_properties(texts: Sequence[str]) -> list[tuple[StyledLine, int]]:
    """Return the drawn lines of a note's frontmatter, `---` included, each with its hanging indent.

    Only simple names, values and lists are redrawn; other YAML stays as written.
    """
    matches = [_NAME_LINE.match(text) for text in texts]
    widths = [cell_len(visible(match[1])) for match in matches if match]
    column = max((width for width in widths if width <= _MAX_NAME_CELLS), default=0) + 2
    lines: list[tuple[StyledLine, int]] = []
    name = ""
    for row, (text, match) in enumerate(zip(texts, matches, strict=True)):
        line = StyledLine(text)
        lines.append((line, column))
        if text.rstrip() in ("---", "...") and row in (0, len(texts) - 1):
            line.replace(0, len(text), f"{_RULE_LINE} properties" if row == 0 else _RULE_LINE)
            line.add_style(0, len(text), TextStyle.FAINT)
        elif match:
            name = match[1].casefold()
            line.add_style(0, match.end(1), TextStyle.PROPERTY)
            gap = " " * max(1, column - cell_len(visible(match[1])))
            line.replace(match.start(2), max(match.end(), match.end(2)), gap)
            _draw_value(line, match.end(), name)
        elif item := _LIST_ITEM.match(text):
            line.replace(0, item.end(), " " * column + "• ")
            _draw_value(line, item.end(), name)
    return lines


def _draw_value(line: StyledLine, start: int, name: str) -> None:
    """Draw the value of property `name`, which begins at character `start` of the line.

    Quotation marks and brackets are hidden; links and tags get their styles.
    """
    text = line.text
    value = text[start:].rstrip()
    if name in _TAG_PROPERTIES:
        line.add_style(start, len(text), TextStyle.TAG)
    if value in _CHECKBOXES:
        line.replace(start, start + len(value), _CHECKBOXES[value])
        return
    list_match = None if value.startswith("[[") and value.count("[[") == 1 else _INLINE_LIST.match(value)
    if list_match:
        line.hide(start, start + 1)
        line.hide(start + list_match.start(3), start + list_match.end(3))
    quotes = [(start + mark.start(), start + mark.end()) for mark in re.finditer(r"(?<![\w])[\"']|[\"'](?!\w)", value)]
    if len(quotes) % 2 == 0:
        for span in quotes:
            line.hide(*span)
    for link in inline_spans(text):
        if link.kind in (SpanKind.WIKILINK, SpanKind.URL) and link.start >= start:
            style_link(line, link)
