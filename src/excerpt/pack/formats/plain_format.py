"""Packs as plain text."""

from __future__ import annotations

from dataclasses import dataclass

from excerpt.pack.formats.numbered_sources import NumberedSources, read
from excerpt.pack.formats.pack_format import PackFormat


@dataclass(frozen=True, slots=True)
class PlainRenderer(NumberedSources):
    """Sources without markup, the text between two equal lines of `=`."""

    mark = ""
    border = "====="
    gap = ""


FORMAT = PackFormat(PlainRenderer, read)
