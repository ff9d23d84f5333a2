"""Packs as text: Markdown to paste into a prompt, JSON for programs. The same packs give the same bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Protocol

from excerpt.model import Pack, PackResult
from excerpt.text.visible import visible_line

CUT = "[…]"
"""Stands where lines were left out to fit the budget."""

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
)
_FENCES = re.compile("`{3,}")
_DIGEST_SHOWN = 8  # of 16 characters: enough for a reader's check


class Renderer(Protocol):
    """How packs become text. What is rendered for the same packs is always the same."""

    def render(self, packs: Sequence[Pack]) -> str:
        """The whole text: what is pasted, and what the budget is checked on. Empty for no packs."""
        ...

    def frame(self, number: int, pack: Pack) -> Sequence[str]:
        """What stands around the text of source `number`: strings whose tokens together are its cost."""
        ...

    def written(self, text: str) -> str:
        """Lines of a note as they are rendered, such as with escapes."""
        ...


class MarkdownRenderer:
    """The packs as numbered sources, each note's text in a fence."""

    def render(self, packs: Sequence[Pack]) -> str:
        return as_markdown(packs)

    def frame(self, number: int, pack: Pack) -> Sequence[str]:
        return frame(number, pack)

    def written(self, text: str) -> str:
        return text


def as_markdown(packs: Sequence[Pack]) -> str:
    """The packs as numbered sources, each note's text in a fence that nothing in the text can close."""
    return "\n".join(rendered(number, pack) for number, pack in enumerate(packs, start=1))


def rendered(number: int, pack: Pack) -> str:
    """One pack as source `[number]`."""
    above, below = frame(number, pack)
    return f"{above}{pack.text}\n{below}"


def frame(number: int, pack: Pack) -> tuple[str, str]:
    """What stands above and below a pack's text.

    CommonMark closes a fence only by a run of backticks at least as long as the opening one: ours is longer than any
    in the text. Title, headings and path are the vault's, so each is kept to its line.
    """
    fence = "`" * max((len(run) + 1 for run in _FENCES.findall(pack.text)), default=3)
    title = visible_line(" › ".join(_headings(pack)))
    lines = (
        f"line {pack.line_start}" if pack.line_start == pack.line_end else f"lines {pack.line_start}-{pack.line_end}"
    )
    above = f"## [{number}] {title}\n{visible_line(pack.path)}, {lines}, digest {pack.digest[:_DIGEST_SHOWN]}\n\n"
    cut_above = f"{CUT}\n\n" if pack.cut_above else ""
    cut_below = f"\n{CUT}\n" if pack.cut_below else ""
    return f"{above}{cut_above}{fence}markdown\n", f"{fence}\n{cut_below}"


def as_json(result: PackResult) -> str:
    """The packs as JSON. `tokens` are those of the rendered Markdown, `value` is what the choice maximised."""
    data = {
        "query": result.query,
        "strategy": result.strategy,
        "budget": result.budget,
        "tokenizer": result.tokenizer,
        "tokens": result.tokens,
        "value": result.value,
        "packs": [_pack_data(pack) for pack in result.packs],
        "left_out": [asdict(left) for left in result.left_out],
    }
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def _pack_data(pack: Pack) -> dict[str, object]:
    data = asdict(pack)
    return {key: data[key] for key in _PACK_KEYS}


def _headings(pack: Pack) -> tuple[str, ...]:
    """The title and the heading path, without the title twice where a note's first heading repeats it."""
    repeated = pack.heading_path[:1] == (pack.title,)
    return pack.heading_path if repeated else (pack.title, *pack.heading_path)
