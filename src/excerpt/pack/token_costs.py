"""Token counts of passages in a pack's format, cached."""

from __future__ import annotations

from functools import lru_cache

from excerpt.base.model import Fragment, Pack
from excerpt.pack.formats.pack_format import Renderer
from excerpt.text.tokens import Tokenizer

_MAX_CACHED_COUNTS = 8192

_ESCAPE_SAMPLE = "Qa Éb\nc\n\n    d <&>\"'`\\{}[]*#=\t.\n" + "A long line of words. " * 50 + "\nThe End."
"""A text with everything that a pack format may rewrite: both cases, an indent, special characters, a long line.

A format that leaves this text unchanged is assumed to leave the text of every note unchanged.
"""


class TokenCosts:
    """Counts the tokens of rendered packs.

    The tokens of a fragment are taken from the index, whose tokenizer is `index_tokenizer`, if packs use the same one.
    Counts of parts do not add up exactly, so a rendered pack is counted as a whole before it is used.
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

    def count_rendered(self, text: str) -> int:
        """Return the tokens of a note's text as the renderer writes it, for example escaped."""
        return self.count(text) if self._keeps_text else _count_escaped_tokens(self.tokenizer, self.renderer, text)


@lru_cache(maxsize=_MAX_CACHED_COUNTS)
def _count_tokens(tokenizer: Tokenizer, text: str) -> int:
    return tokenizer.count(text)


@lru_cache(maxsize=_MAX_CACHED_COUNTS)
def _count_escaped_tokens(tokenizer: Tokenizer, renderer: Renderer, text: str) -> int:
    return tokenizer.count(renderer.escape(text))
