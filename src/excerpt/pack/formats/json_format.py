"""Packs as JSON, for programs. The token budget applies to the same packs rendered as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Struct

from excerpt.base.model import PackResult, TableHeader
from excerpt.pack.formats.markdown_format import MarkdownRenderer
from excerpt.pack.formats.pack_format import PackFile, PackFormat, PackSource, UnreadablePackError
from excerpt.pack.formats.source_label import PackLinks

# --- written ----------------------------------------------------------------------------------------------------------


def render_json(result: PackResult, links: PackLinks | None = None) -> str:
    """Return the packs as JSON, with links back to the vault if `links` is given.

    `tokens` counts the packs' Markdown; a larger budget never gives a smaller `value`.
    """
    rendered = result if links is None else links.add_links(result)
    return json.dumps(rendered.to_dict(), ensure_ascii=False, indent=2) + "\n"


# --- read -------------------------------------------------------------------------------------------------------------

_PositiveInt = Annotated[int, msgspec.Meta(ge=1)]


class _JsonPassage(Struct, frozen=True):
    path: str
    line_start: _PositiveInt
    line_end: _PositiveInt
    text: str
    title: str = ""
    heading_path: tuple[str, ...] = ()
    digest: str = ""
    cut_above: bool = False
    cut_below: bool = False
    table_header: TableHeader | None = None


class _JsonFile(Struct, frozen=True):
    passages: tuple[_JsonPassage, ...]
    query: str = ""


def read(text: str) -> PackFile:
    """Parse a pack file in JSON. Raises UnreadablePackError."""
    try:
        file = msgspec.convert(json.loads(text), _JsonFile)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise UnreadablePackError(f"The pack looks like JSON but is not a pack: {error}.") from error
    sources = (
        PackSource(
            number=number,
            path=pack.path,
            heading=" › ".join(
                pack.heading_path if pack.heading_path[:1] == (pack.title,) else _title_and_headings(pack)
            ),
            line_start=pack.line_start,
            line_end=pack.line_end,
            text=pack.text,
            digest=pack.digest,
            cut_above=pack.cut_above,
            cut_below=pack.cut_below,
            table_header=pack.table_header,
        )
        for number, pack in enumerate(file.passages, 1)
    )
    return PackFile(tuple(sources), file.query)


def _title_and_headings(pack: _JsonPassage) -> Iterator[str]:
    return filter(None, (pack.title, *pack.heading_path))


FORMAT = PackFormat(MarkdownRenderer, read, file_prefix="{", render_data=render_json)
