"""Packs as JSON: data for programs, whose budget is that of their Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated

import msgspec

from excerpt.model import Pack, PackResult
from excerpt.pack.formats.markdown_format import MarkdownRenderer
from excerpt.pack.formats.pack_format import PackFile, PackFormat, PackSource, PackUnreadableError
from excerpt.pack.formats.source_label import Links

_VALUE_DIGITS = 6
"""Of what the choice maximised; what context adds to it is beyond them."""


# --- written ----------------------------------------------------------------------------------------------------------

_PACK_KEYS = (
    "id",
    "path",
    "heading_path",
    "line_start",
    "line_end",
    "scope",
    "entry",
    "fragment_ids",
    "tokens",
    "text",
    "title",
    "modified",
    "digest",
    "cut_above",
    "cut_below",
)


def as_json(result: PackResult, links: Links | None = None) -> str:
    """The packs as JSON. `tokens` are those of the text in Markdown, `value` is what the choice maximised."""
    data = {
        "query": result.query,
        "strategy": result.strategy,
        "budget": result.budget,
        "tokenizer": result.tokenizer,
        "tokens": result.tokens,
        "value": round(result.value, _VALUE_DIGITS),
        "packs": [_pack_data(number, pack, links) for number, pack in enumerate(result.packs, start=1)],
        "left_out": [asdict(left) for left in result.left_out],
        "source_tokens": result.source_tokens,
    }
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def _pack_data(number: int, pack: Pack, links: Links | None) -> dict[str, object]:
    data = asdict(pack)
    link = links.obsidian(pack) if links is not None else ""
    return {**{key: data[key] for key in _PACK_KEYS}, "number": number, **({"link": link} if link else {})}


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
        raise PackUnreadableError(f"The pack looks like JSON but is no pack: {error}.") from error
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
