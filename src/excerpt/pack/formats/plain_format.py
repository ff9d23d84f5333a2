"""Packs as plain text."""

from __future__ import annotations

from excerpt.pack.formats.numbered_sources import NumberedSourcesRenderer, read
from excerpt.pack.formats.pack_format import PackFormat


class PlainRenderer(NumberedSourcesRenderer, frozen=True):
    """Renders packs as plain text: the text of each source is between two equal lines of `=`."""

    heading_prefix = ""
    min_border = "====="
    border_gap = ""
    source_separator = "\n"


FORMAT = PackFormat(PlainRenderer, read)
