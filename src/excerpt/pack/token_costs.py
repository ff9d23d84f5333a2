"""Token counts of passages in a pack's format, cached."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from excerpt.base.model import Fragment, FragmentInfo, Pack
from excerpt.pack.expand import LineSpan
from excerpt.pack.formats.pack_format import Renderer
from excerpt.pack.source import CachedNote
from excerpt.text.tokens import Tokenizer

_MAX_CACHED_COUNTS = 8192

_ESCAPE_SAMPLE = "Qa Éb\nc\n\n    d <&>\"'`\\{}[]*#=\t.\n" + "A long line of words. " * 50 + "\nThe End."
"""A text with everything that a pack format may rewrite: both cases, an indent, special characters, a long line.

A format that leaves this text unchanged is assumed to leave the text of every note unchanged.
"""


class TokenCosts:
    """Counts the tokens of rendered packs.

    A range of fragments costs the sum of its fragments and of the lines between them. The tokens of fragments are taken
    from the index, whose tokenizer is `index_tokenizer`. If packs use another tokenizer, or the renderer changes the
    text, fragments are read and counted here. The sum differs little from the count of the whole range, because line
    ends that tokenizers join with the text before them are counted separately. The rendered pack is counted as a whole
    before it is used.
    """

    def __init__(self, tokenizer: Tokenizer, renderer: Renderer, index_tokenizer: str) -> None:
        self.tokenizer = tokenizer
        self.renderer = renderer
        self._has_indexed_counts = index_tokenizer == tokenizer.name
        self._keeps_text = renderer.escape(_ESCAPE_SAMPLE) == _ESCAPE_SAMPLE

    def count(self, text: str) -> int:
        """Return the tokens of a text, cached."""
        return _count_tokens(self.tokenizer, text)

    def count_fragment(self, fragment: Fragment) -> int:
        """Return the tokens of a fragment's text, unrendered."""
        return fragment.tokens if self._has_indexed_counts else self.count(fragment.text)

    def count_frame(self, source_number: int, pack: Pack) -> int:
        """Return the tokens that the renderer adds around the text of a source with this number."""
        return sum(map(self.count, self.renderer.render_frame(source_number, pack)))

    def count_range(self, first: int, last: int, note: CachedNote) -> int:
        """Return the tokens of the fragments with ordinals `first` to `last`, with the lines between them."""
        parts = note.fragment_infos(first, last)
        return sum(self._count_part(part, note) for part in parts) + sum(
            self._count_between(before, after) for before, after in pairwise(parts)
        )

    def count_between(self, before: int, after: int, note: CachedNote) -> int:
        """Return the tokens of the line ends and headings between two consecutive fragments, given by ordinal."""
        return self._count_between(*note.fragment_infos(before, after))

    def count_heading_tokens(self, line_span: LineSpan, note: CachedNote) -> int:
        """Return the tokens of the heading lines with which a span begins, 0 if it begins with a fragment."""
        first = note.fragment_infos(line_span.first_ordinal, line_span.first_ordinal)[0]
        return self._count_headings(first, 1) if line_span.line_start < first.line_start else 0

    def count_rendered(self, text: str) -> int:
        """Return the tokens of a note's text as the renderer writes it, for example escaped."""
        return self.count(text) if self._keeps_text else _count_escaped_tokens(self.tokenizer, self.renderer, text)

    def count_lines(self, line_start: int, line_end: int, note: CachedNote) -> int:
        """Return the tokens of a range of lines, which is read from the note."""
        return self.count_rendered(note.text(line_start, line_end) + "\n")

    def _count_part(self, part: FragmentInfo, note: CachedNote) -> int:
        if self._has_indexed_counts and self._keeps_text:
            return part.tokens
        return self.count_rendered(note.text(part.line_start, part.line_end))

    def _count_between(self, before: FragmentInfo, after: FragmentInfo) -> int:
        return 1 + self._count_headings(after, after.section - before.section)

    def _count_headings(self, part: FragmentInfo, sections: int) -> int:
        """Return the tokens of the heading above a fragment, times `sections`.

        `sections` is the number of headings since the previous fragment; all are assumed to be as long as this one.
        """
        if not part.level or sections < 1:
            return 0
        return sections * self.count(f"{'#' * part.level} {part.heading}\n\n")


@lru_cache(maxsize=_MAX_CACHED_COUNTS)
def _count_tokens(tokenizer: Tokenizer, text: str) -> int:
    return tokenizer.count(text)


@lru_cache(maxsize=_MAX_CACHED_COUNTS)
def _count_escaped_tokens(tokenizer: Tokenizer, renderer: Renderer, text: str) -> int:
    return tokenizer.count(renderer.escape(text))
