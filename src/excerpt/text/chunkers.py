"""Division of a note's lines into units, the smallest passages of a pack: paragraphs, list items, rows, messages.

Other packages can provide chunkers by the entry-point group `excerpt.chunkers`: the object of an entry point is a
Chunker without arguments. Theirs are asked before ours, in the order of their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Protocol

from excerpt.base.entry_points import find_entry_points, load_entry_point
from excerpt.base.errors import SettingsError
from excerpt.base.patterns import lazy_pattern
from excerpt.text.fragments import DEFAULT_LIMITS, count_words
from excerpt.text.line_context import FENCES
from excerpt.text.transcripts import find_messages, find_speakers

ENTRY_POINT_GROUP = "excerpt.chunkers"


class Chunker(Protocol):
    """What cuts notes of one shape into units."""

    def recognises(self, lines: Sequence[str], /) -> bool:
        """Return whether a note with these lines has the shape."""
        ...

    def unit_starts(self, lines: Sequence[str], /) -> Sequence[int]:
        """Return the indexes of the first lines of the units of a passage, ascending; `lines` are those of it alone."""
        ...


_ITEM = lazy_pattern(r"(\s*)(?:[-*+]|\d{1,9}[.)])\s")
_HEADING = lazy_pattern(r"#{1,6}\s")
_ROW = lazy_pattern(r"\s*(?:>\s?)*\|")


class MarkdownChunker:
    """Cuts into paragraphs, items of lists with those below them, rows of tables, and whole blocks of code."""

    def recognises(self, lines: Sequence[str], /) -> bool:
        del lines
        return True

    def unit_starts(self, lines: Sequence[str], /) -> Sequence[int]:
        return list(_iterate_block_starts(lines))


class TranscriptChunker:
    """Cuts into messages; a long message, into its blocks."""

    def recognises(self, lines: Sequence[str], /) -> bool:
        return bool(find_messages(lines))

    def unit_starts(self, lines: Sequence[str], /) -> Sequence[int]:
        messages = sorted({0, *(number - 1 for number in find_speakers(lines))})
        starts = []
        for first, after in zip(messages, [*messages[1:], len(lines)], strict=True):
            message = lines[first:after]
            is_long = count_words("\n".join(message)) > DEFAULT_LIMITS.target
            blocks = _iterate_block_starts(message) if is_long else ()
            starts += sorted({first, *(first + start for start in blocks)})
        return starts


def _iterate_block_starts(lines: Sequence[str]) -> Iterator[int]:
    """Yield the index of the first line of each block, list item and table row; a heading goes with what is below."""
    fence, indent, rows = "", -1, 0
    is_open = is_heading = False  # what the lines so far end with: an open block, a heading
    for number, line in enumerate(lines):
        text = line.lstrip("> \t")
        if fence:
            fence = "" if text.startswith(fence) else fence
            continue
        if not text.strip():
            is_open = is_heading
            continue
        item = _ITEM.match(line)
        rows = rows + 1 if _ROW.match(line) else 0
        is_item = item is not None and (indent < 0 or len(item[1]) <= indent)
        is_below_item = not is_item and 0 <= indent < len(line) - len(line.lstrip())
        begins_heading = _HEADING.match(line) is not None
        is_new = begins_heading or is_item or rows > _HEADER_ROWS or not (is_open or is_below_item)
        if is_new and not is_heading:
            yield number
        if is_new:
            indent = len(item[1]) if item else -1
        is_open, is_heading = True, begins_heading
        fence = text[: len(text) - len(text.lstrip(text[0]))] if text.startswith(FENCES) else ""


_HEADER_ROWS = 3  # the header of a table, the line below it and the first row are one unit


OURS: Sequence[Chunker] = (TranscriptChunker(), MarkdownChunker())


def choose_chunker(lines: Sequence[str]) -> Chunker:
    """Return the first chunker that recognises a note. Raises SettingsError for one of another package that fails."""
    return next(each for each in (*_plugin_chunkers(), *OURS) if each.recognises(lines))


class _PluginChunker:
    """A chunker in another package, whose failure is an error with its name."""

    def __init__(self, name: str, target: str) -> None:
        self._source = f"The chunker {name}, {target},"
        with self._naming_failures():
            self._chunker: Chunker = load_entry_point(target)

    def recognises(self, lines: Sequence[str], /) -> bool:
        with self._naming_failures():
            return bool(self._chunker.recognises(lines))

    def unit_starts(self, lines: Sequence[str], /) -> Sequence[int]:
        with self._naming_failures():
            return sorted({int(start) for start in self._chunker.unit_starts(lines) if 0 <= start < len(lines)})

    @contextmanager
    def _naming_failures(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # another's code
            told = f"{self._source} failed ({type(error).__name__}: {error})."
            raise SettingsError(told, "Update or uninstall its package.") from error


@cache
def _plugin_chunkers() -> Sequence[Chunker]:
    return [_PluginChunker(*each) for each in sorted(find_entry_points(ENTRY_POINT_GROUP).items())]
