"""Numbered sources of Markdown and plain text: `[1]` with headings and location, and the text between two borders.

No text can contain the second border. Vault text (titles, headings, paths) comes after fixed words, so it never begins
a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from excerpt.model import Pack
from excerpt.pack.formats.pack_format import PackFile, PackSource, PackUnreadableError
from excerpt.pack.formats.source_label import digest_of_bytes, headings_of, location_of_pack, on_one_line
from excerpt.text.display import extend_fence

_CUT = "[…]"
"""The mark in place of text that was cut to fit the budget."""
_QUESTION = "Question: "


# --- written ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NumberedSources:
    """Renders packs as numbered sources.

    `mark` begins a source, `border` is the shortest border, `gap` separates a text from what is around it.
    """

    mark: ClassVar[str]
    border: ClassVar[str]
    gap: ClassVar[str]

    questions: tuple[str, ...] = ()

    def render(self, packs: Sequence[Pack]) -> str:
        sources = []
        for number, pack in enumerate(packs, start=1):
            above, below = self._enclosing_text(number, pack)
            sources.append(f"{above}{pack.text}\n{below}")
        return "\n".join(sources) + self._questions_text() if packs else ""

    def frame(self, number: int, pack: Pack) -> Sequence[str]:
        return (*self._enclosing_text(number, pack), self._questions_text() if number == 1 else "")

    def escape(self, text: str) -> str:
        return text

    def _enclosing_text(self, number: int, pack: Pack) -> tuple[str, str]:
        border, gap = extend_fence(self.border, pack.text), self.gap
        above = f"{self.mark}[{number}] {headings_of(pack)}\n{_location_line(pack)}\n{gap}"
        cut_above = f"{_CUT}\n{gap}" if pack.cut_above else ""
        cut_below = f"{gap}{_CUT}\n" if pack.cut_below else ""
        return f"{above}{cut_above}{border}\n", f"{border}\n{cut_below}"

    def _questions_text(self) -> str:
        """Return the questions below the sources, where models pay most attention, each after a fixed word."""
        return "".join(f"\n{_QUESTION}{on_one_line(question)}\n" for question in self.questions)


def _location_line(pack: Pack) -> str:
    """Return the location of the text, on a line that a path cannot turn into a heading, a fence or HTML.

    What follows the path is fixed, so the line can be parsed from its end.
    """
    modified = f", modified {pack.modified}" if pack.modified else ""
    return f"From {location_of_pack(pack)}{modified}, digest {digest_of_bytes(pack)}"


# --- read -------------------------------------------------------------------------------------------------------------

_HEAD = re.compile(r"(?:## )?\[(\d{1,6})\] (.*)")
# A path may look like any of these lines, but the text after it does not: the longest match is the path.
_LOCATION = re.compile(
    r"From (?P<path>.*)(?::(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?|#(?P<place>[^#]+))"
    r"(?(place) \([^()]*\)|(?: \([^()]*\))?)(?:, modified [\d-]{1,10})?, digest (?P<digest>[0-9a-f]{1,16})"
)
_BORDER = re.compile(r"(?:`{3,}|={5,})")
_LINES_BETWEEN = 4  # at most, from the location to the border: blank ones, and the mark of a cut


def read(text: str) -> PackFile:
    """Parse the sources between their borders, of Markdown and plain text alike, because a prompt may have both.

    Everything between two borders is text, whatever it looks like.
    """
    lines = text.split("\n")
    sources: list[PackSource] = []
    questions: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        head = _HEAD.fullmatch(line)
        location = _LOCATION.fullmatch(lines[at + 1]) if head and at + 1 < len(lines) else None
        at += 1
        if head and location:
            number, heading = int(head[1]), head[2]
            above = at + 1
            first, last, at = _text_lines(lines, above, number)
            begin = int(location["first"] or 0)
            end = int(location["last"] or begin)
            inner = "\n".join(lines[first:last])
            cut = _CUT in lines[above:first], _CUT in lines[at : at + 2]
            path, digest, at_place = location["path"], location["digest"], location["place"] or ""
            sources.append(PackSource(number, path, heading, begin, end, inner, digest, *cut, at_place))
        elif line.startswith(_QUESTION):
            questions.append(line.removeprefix(_QUESTION))
    return PackFile(tuple(sources), "\n".join(questions))


def _text_lines(lines: Sequence[str], at: int, number: int) -> tuple[int, int, int]:
    """Return the first and end line of a source's text, and the line after its closing border."""
    for opened in range(at, min(at + _LINES_BETWEEN, len(lines))):
        if _BORDER.fullmatch(lines[opened]):
            for closed in range(opened + 1, len(lines)):
                if lines[closed] == lines[opened]:
                    return opened + 1, closed, closed + 1
            raise PackUnreadableError(f"The text of source [{number}] does not end: the pack is cut off.")
    raise PackUnreadableError(f"The text of source [{number}] is missing.")
