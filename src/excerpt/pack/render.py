"""Packs as text for a prompt, and as data. The same packs give the same bytes.

Whatever a note holds, its text cannot end its place, nor pose as another source: a fence or a line of `=` is longer
than any in the text, XML is escaped. What else is the vault's (titles, headings, paths) is kept to its line, behind
words of ours, so that it never begins a line that means something.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from excerpt.kinds import Format
from excerpt.model import Pack, PackResult
from excerpt.pack.memory_fragment import memory_id_of
from excerpt.text.display import line_range, visible_line

CUT = "[…]"
"""Stands where lines were left out to fit the budget."""

_VALUE_DIGITS = 6
"""Of what the choice maximised; what context adds to it is beyond them."""
_DIGEST_SHOWN = 6  # of 16 characters: enough for a reader's check


class Renderer(Protocol):
    """How packs become text. What is rendered for the same packs is always the same, by equal renderers too."""

    def __hash__(self) -> int: ...

    def render(self, packs: Sequence[Pack]) -> str:
        """The whole text: what is pasted, and what the budget is checked on. Empty for no packs."""
        ...

    def frame(self, number: int, pack: Pack) -> Sequence[str]:
        """What stands around the text of source `number`: strings whose tokens together are its cost.

        What stands around all of them, such as the question, is the first one's.
        """
        ...

    def written(self, text: str) -> str:
        """Lines of a note as they are rendered, such as with escapes."""
        ...


@dataclass(frozen=True, slots=True)
class Links:
    """The ways back into a vault, whose folder is `folder` (absolute)."""

    folder: Path

    def obsidian(self, pack: Pack) -> str:
        """The address that opens the note in Obsidian, which knows a vault by its folder's name; "" for a memory."""
        if memory_id_of(pack.path) is not None:
            return ""
        return f"obsidian://open?vault={_encoded(self.folder.name)}&file={_encoded(pack.path)}"

    def file(self, pack: Pack) -> str:
        """`file:line`, as editors and terminals know it; a memory by its name in packs."""
        if memory_id_of(pack.path) is not None:
            return pack.path
        return f"{self.folder / pack.path}:{pack.line_start}"


def _encoded(text: str) -> str:
    return quote(text.encode("utf-8", "surrogateescape"), safe="")


# --- what a source says of itself -------------------------------------------------------------------------------------


def headings_of(pack: Pack) -> str:
    """The title and the heading path on one line, without the title twice where a note's first heading repeats it."""
    repeated = pack.heading_path[:1] == (pack.title,)
    return visible_line(" › ".join(pack.heading_path if repeated else (pack.title, *pack.heading_path)))


def lines_of(pack: Pack) -> str:
    """`12-14`, or `12` where it is one line."""
    return line_range(pack.line_start, pack.line_end)


def digest_of(pack: Pack) -> str:
    return pack.digest[:_DIGEST_SHOWN]


def _place(pack: Pack) -> str:
    """Where the text is from, on a line that a path cannot turn into a heading, a fence or HTML, as it would at its
    beginning. What follows the path is ours, so the line can be read from its end."""
    modified = f", modified {pack.modified}" if pack.modified else ""
    return f"From {visible_line(pack.path)}:{lines_of(pack)}{modified}, digest {digest_of(pack)}"


def _asked(questions: Sequence[str]) -> str:
    """The questions below the sources, where models heed them most; behind a word of ours, each on its line."""
    return "".join(f"\nQuestion: {_one_line(question)}\n" for question in questions)


def _one_line(question: str) -> str:
    return visible_line(" ".join(question.split()))


def _longer(sign: str, least: int, text: str) -> str:
    """A run of `sign` that is longer than any in the text."""
    border = sign * least
    if border not in text:
        return border
    return sign * max(len(run) + 1 for run in re.findall(f"{border}+", text))


# --- formats ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MarkdownRenderer:
    """Numbered sources, each note's text in a fence. CommonMark closes a fence only by a run of backticks at least as
    long as the opening one."""

    questions: tuple[str, ...] = ()

    def render(self, packs: Sequence[Pack]) -> str:
        return as_markdown(packs) + _asked(self.questions) if packs else ""

    def frame(self, number: int, pack: Pack) -> Sequence[str]:
        return (*_markdown_frame(number, pack), _asked(self.questions) if number == 1 else "")

    def written(self, text: str) -> str:
        return text


def as_markdown(packs: Sequence[Pack]) -> str:
    """The packs as MarkdownRenderer renders them, without a question."""
    sources = []
    for number, pack in enumerate(packs, start=1):
        above, below = _markdown_frame(number, pack)
        sources.append(f"{above}{pack.text}\n{below}")
    return "\n".join(sources)


def fence_of(text: str) -> str:
    """A fence that nothing in the text closes."""
    return _longer("`", 3, text)


def _markdown_frame(number: int, pack: Pack) -> tuple[str, str]:
    fence = fence_of(pack.text)
    above = f"## [{number}] {headings_of(pack)}\n{_place(pack)}\n\n"
    cut_above = f"{CUT}\n\n" if pack.cut_above else ""
    cut_below = f"\n{CUT}\n" if pack.cut_below else ""
    return f"{above}{cut_above}{fence}\n", f"{fence}\n{cut_below}"


@dataclass(frozen=True, slots=True)
class PlainRenderer:
    """Numbered sources without markup. A text stands between two equal lines of `=`, longer than any run in it."""

    questions: tuple[str, ...] = ()

    def render(self, packs: Sequence[Pack]) -> str:
        sources = []
        for number, pack in enumerate(packs, start=1):
            above, below = _plain_frame(number, pack)
            sources.append(f"{above}{pack.text}\n{below}")
        return "\n".join(sources) + _asked(self.questions) if packs else ""

    def frame(self, number: int, pack: Pack) -> Sequence[str]:
        return (*_plain_frame(number, pack), _asked(self.questions) if number == 1 else "")

    def written(self, text: str) -> str:
        return text


def _plain_frame(number: int, pack: Pack) -> tuple[str, str]:
    border = _longer("=", 5, pack.text)
    above = f"[{number}] {headings_of(pack)}\n{_place(pack)}\n"
    cut_above = f"{CUT}\n" if pack.cut_above else ""
    cut_below = f"{CUT}\n" if pack.cut_below else ""
    return f"{above}{cut_above}{border}\n", f"{border}\n{cut_below}"


@dataclass(frozen=True, slots=True)
class XmlRenderer:
    """`<documents>`, the form that Anthropic's guides recommend. The content of a `document_content` is the note's
    text to the letter; a character that XML has no way to write stands as `<char code="1b"/>` (hexadecimal)."""

    questions: tuple[str, ...] = ()

    def render(self, packs: Sequence[Pack]) -> str:
        sources = []
        for number, pack in enumerate(packs, start=1):
            above, below = _xml_frame(number, pack)
            sources.append(f"{above}{xml_text(pack.text)}{below}")
        above, below = self._around()
        return f"{above}{''.join(sources)}{below}" if packs else ""

    def frame(self, number: int, pack: Pack) -> Sequence[str]:
        return (*_xml_frame(number, pack), *(self._around() if number == 1 else ()))

    def written(self, text: str) -> str:
        return xml_text(text)

    def _around(self) -> tuple[str, str]:
        asked = "".join(f"<question>{xml_text(_one_line(question))}</question>\n" for question in self.questions)
        return "<documents>\n", f"{asked}</documents>\n"


def _xml_frame(number: int, pack: Pack) -> tuple[str, str]:
    modified = f"<modified>{pack.modified}</modified>\n" if pack.modified else ""
    cut = " ".join(side for side, is_cut in (("above", pack.cut_above), ("below", pack.cut_below)) if is_cut)
    above = (
        f'<document index="{number}">\n'
        f"<source>{xml_text(visible_line(pack.path))}</source>\n"
        f"<heading_path>{xml_text(headings_of(pack))}</heading_path>\n"
        f"<lines>{lines_of(pack)}</lines>\n{modified}<digest>{digest_of(pack)}</digest>\n"
    )
    opening = f'<document_content cut="{cut}">' if cut else "<document_content>"
    return f"{above}{opening}", "</document_content>\n</document>\n"


_NOT_XML = re.compile("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """`text` as the content of an element, from which a parser gets it back to the letter."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;").replace("\r", "&#13;")
    return _NOT_XML.sub(lambda found: f'<char code="{ord(found[0]):x}"/>', escaped)


# --- data -------------------------------------------------------------------------------------------------------------

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


def as_output(result: PackResult, links: Links) -> str:
    """What is copied, printed or kept: the text, or the JSON about it where that is the format."""
    return as_json(result, links) if result.format is Format.JSON else result.text
