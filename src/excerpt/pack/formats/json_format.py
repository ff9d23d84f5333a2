"""Packs as JSON: data for programs, whose budget is that of their Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import msgspec

from excerpt.model import PackResult
from excerpt.pack.formats.markdown_format import MarkdownRenderer
from excerpt.pack.formats.pack_format import PackFile, PackFormat, PackSource, PackUnreadableError
from excerpt.pack.formats.source_label import Links

# --- written ----------------------------------------------------------------------------------------------------------


def as_json(result: PackResult, links: Links | None = None) -> str:
    """Return the packs as JSON; `tokens` are those of the text in Markdown, `value` is what the choice maximised."""
    rendered = result if links is None else links.with_link(result)
    return json.dumps(rendered.to_dict(), ensure_ascii=False, indent=2) + "\n"


# --- read -------------------------------------------------------------------------------------------------------------

_Positive = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True)
class _JsonPack:
    path: str
    line_start: _Positive
    line_end: _Positive
    text: str
    title: str = ""
    heading_path: tuple[str, ...] = ()
    digest: str = ""
    cut_above: bool = False
    cut_below: bool = False


@dataclass(frozen=True, slots=True)
class _JsonFile:
    packs: tuple[_JsonPack, ...]
    query: str = ""


def read(text: str) -> PackFile:
    try:
        file = msgspec.convert(json.loads(text), _JsonFile)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise PackUnreadableError(f"The pack looks like JSON but is not a pack: {error}.") from error
    sources = (
        PackSource(
            number=number,
            path=pack.path,
            heading=" › ".join(pack.heading_path if pack.heading_path[:1] == (pack.title,) else _titles(pack)),
            line_start=pack.line_start,
            line_end=pack.line_end,
            text=pack.text,
            digest=pack.digest,
            cut_above=pack.cut_above,
            cut_below=pack.cut_below,
        )
        for number, pack in enumerate(file.packs, 1)
    )
    return PackFile(tuple(sources), file.query)


def _titles(pack: _JsonPack) -> Iterator[str]:
    return filter(None, (pack.title, *pack.heading_path))


FORMAT = PackFormat(MarkdownRenderer, read, beginning="{", data=as_json)
