"""What texts cost in tokens, as far as possible without reading them."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from excerpt.model import Fragment, Pack, Part
from excerpt.pack.expand import Stretch
from excerpt.pack.render import Renderer
from excerpt.pack.source import OpenNote
from excerpt.text.tokens import Tokenizer

_REMEMBERED = 8192
_SAMPLE = "Qa Éb\nc\n\n    d <&>\"'`\\{}[]*#=\t.\n" + "A long line of words. " * 50 + "\nThe End."
"""What a format may write in another way: letters of both cases, lines, an indent, signs, a long line. One that leaves
these alone is taken to leave a note's text alone."""


class Costs:
    """Tokens of what a renderer makes of packs.

    A stretch costs the sum of its fragments, which the index has counted, and of what stands between them. Where the
    index counts with another tokenizer, or the renderer changes the text, fragments are read and counted. The sum
    differs from the count of the whole by little: line ends that tokenizers join with what is before them are counted
    for themselves. The rendered whole is counted before it is used.
    """

    def __init__(self, tokenizer: Tokenizer, renderer: Renderer, indexed_by: str) -> None:
        self.tokenizer = tokenizer
        self.renderer = renderer
        self._counted = indexed_by == tokenizer.name
        self._verbatim = renderer.written(_SAMPLE) == _SAMPLE

    def count(self, text: str) -> int:
        return _tokens(self.tokenizer, text)

    def own(self, fragment: Fragment) -> int:
        """Tokens of a fragment's own text, as it stands in the note."""
        return fragment.tokens if self._counted else self.count(fragment.text)

    def frame(self, number: int, pack: Pack) -> int:
        return sum(map(self.count, self.renderer.frame(number, pack)))

    def fragments(self, first: int, last: int, note: OpenNote) -> int:
        """Tokens of whole fragments, by their ordinals, and of the line ends and headings between them."""
        parts = note.parts(first, last)
        return sum(self._part(part, note) for part in parts) + sum(
            self._between(before, after) for before, after in pairwise(parts)
        )

    def between(self, before: int, after: int, note: OpenNote) -> int:
        """Tokens of the line ends and headings between two fragments that follow each other."""
        return self._between(*note.parts(before, after))

    def above(self, stretch: Stretch, note: OpenNote) -> int:
        """Tokens of the heading that a section or a note begins with."""
        first = note.parts(stretch.first, stretch.first)[0]
        return self._headings(first, 1) if stretch.line_start < first.line_start else 0

    def written(self, text: str) -> int:
        """Tokens of a text as a source's."""
        return self.count(text) if self._verbatim else _written_tokens(self.tokenizer, self.renderer, text)

    def lines(self, line_start: int, line_end: int, note: OpenNote) -> int:
        """Tokens of lines that are read."""
        return self.written(note.text(line_start, line_end) + "\n")

    def _part(self, part: Part, note: OpenNote) -> int:
        if self._counted and self._verbatim:
            return part.tokens
        return self.written(note.text(part.line_start, part.line_end))

    def _between(self, before: Part, after: Part) -> int:
        return 1 + self._headings(after, after.section - before.section)

    def _headings(self, part: Part, sections: int) -> int:
        """Tokens of the heading above a fragment; where sections without text are on the way, of as many."""
        if not part.level or sections < 1:
            return 0
        return sections * self.count(f"{'#' * part.level} {part.heading}\n\n")


@lru_cache(maxsize=_REMEMBERED)
def _tokens(tokenizer: Tokenizer, text: str) -> int:
    return tokenizer.count(text)


@lru_cache(maxsize=_REMEMBERED)
def _written_tokens(tokenizer: Tokenizer, renderer: Renderer, text: str) -> int:
    return tokenizer.count(renderer.written(text))
