"""Packs as Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from excerpt.pack.formats.numbered_sources import NumberedSources, read
from excerpt.pack.formats.pack_format import PackFormat
from excerpt.text.display import extend_fence

_FENCE = "```"


@dataclass(frozen=True, slots=True)
class MarkdownRenderer(NumberedSources):
    """Renders each source under a heading, its text in a fence.

    CommonMark closes a fence only by a run of backticks at least as long as the opening one.
    """

    mark = "## "
    border = _FENCE
    gap = "\n"


def fence_of(text: str) -> str:
    """Return a fence that nothing in the text closes."""
    return extend_fence(_FENCE, text)


FORMAT = PackFormat(MarkdownRenderer, read)
