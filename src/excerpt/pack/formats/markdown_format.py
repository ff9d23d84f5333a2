"""Packs as Markdown."""

from __future__ import annotations

from excerpt.pack.formats.numbered_sources import NumberedSourcesRenderer, read
from excerpt.pack.formats.pack_format import PackFormat
from excerpt.text.display import extend_fence

_FENCE = "```"


class MarkdownRenderer(NumberedSourcesRenderer, frozen=True):
    """Renders packs as Markdown: each source has a heading, and its text is in a code fence.

    CommonMark closes a fence only with a run of backticks that is at least as long as the opening run.
    """

    heading_prefix = "## "
    min_border = _FENCE
    border_gap = "\n"
    source_separator = "\n"


def build_fence(text: str) -> str:
    """Return a run of backticks that encloses the text as a code fence, longer than any run in the text."""
    return extend_fence(_FENCE, text)


FORMAT = PackFormat(MarkdownRenderer, read)
