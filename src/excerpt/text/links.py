"""Links, embeds and tags of a note, and the plain text of its headings. The rules are in `excerpt.text.inline`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from markdown_it.token import Token
from markdown_it.utils import EnvType

from excerpt.kinds import LinkKind
from excerpt.model import Link
from excerpt.text.inline import link_parser, text_parser

MAX_INLINE = 50_000
"""Maximum characters of a paragraph or heading that are parsed for links; the parser takes up to 25 us for each."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_ATTENTION = re.compile(r"\[|(?<!\S)#[^\s#]")
_BLOCK_ID = re.compile(r"(?:^|[ \t\n])\^([A-Za-z0-9-]+)[ \t]*$")
_MARKUP = re.compile(r"[\\&*`\[<~$]|==|(?<!\w)_|_(?!\w)")
# HTML tags that format a heading; any other, as in `std::vector<T>`, is text.
_HTML = re.compile(
    r"</?(a|abbr|b|br|code|del|em|font|i|img|ins|kbd|mark|s|small|span|strong|sub|sup|u)[\s/>]|<!--", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Inline:
    """The links and tags of one piece of text."""

    links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()


def block_id(text: str) -> str | None:
    """Return Obsidian's `^id` at the end of a block's text, without the caret; None without one."""
    match = _BLOCK_ID.search(text) if "^" in text else None
    return match[1] if match else None


def may_hold_links(text: str) -> bool:
    """Return False only if `text` certainly has no links or tags; a fast test before parsing."""
    return _ATTENTION.search(text) is not None


def read_inline(text: str, line: int, env: EnvType) -> Inline:
    """Return links and tags of a paragraph's or cell's `text`, which begins on `line` of its note.

    `env` is that of the block parser, with the link reference definitions of the note.
    """
    if len(text) > MAX_INLINE:
        return Inline()
    parser = link_parser()
    links: list[Link] = []
    tags: list[str] = []
    tokens = parser.inline.parse(text, parser, env, [])
    for i, token in enumerate(tokens):
        if token.type == "tag":
            tags.append(token.content)
        elif token.type == "wikilink":
            links.append(_wikilink(token, line + text.count("\n", 0, token.meta["place"][0])))
        elif token.type in ("link_open", "image"):
            link = _markdown_link(token, _label(tokens, i), line + text.count("\n", 0, token.meta["place"][0]))
            if link:
                links.append(link)
            if token.children:
                links += [_wikilink(t, line) for t in token.children if t.type == "wikilink"]
    return Inline(tuple(links), tuple(tags))


def plain_text(text: str, env: EnvType) -> str:
    """Return the `text` of a heading as a reader sees it: without markup and block id."""
    if "^" in text:
        text = _BLOCK_ID.sub("", text)
    if len(text) > MAX_INLINE or not _MARKUP.search(text):
        return " ".join(text.split())
    parser = text_parser()
    return " ".join("".join(_visible(parser.inline.parse(text, parser, env, []))).split())


def _visible(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "wikilink":
            target, _, label = token.content.partition("|")
            yield label or target.replace("#", " > ").strip(" >")
        elif token.type == "tag":
            yield "#" + token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type == "image":
            yield from _visible(token.children or [])
        elif token.type != "html_inline" or not _HTML.match(token.content):
            yield token.content


def _label(tokens: list[Token], index: int) -> str:
    """Return the text shown for the link or image that opens at `index`."""
    if tokens[index].type == "image":
        return "".join(_visible(tokens[index].children or []))
    end = next((i for i in range(index, len(tokens)) if tokens[i].type == "link_close"), len(tokens))
    return "".join(_visible(tokens[index + 1 : end]))


def _wikilink(token: Token, line: int) -> Link:
    target, _, label = token.content.partition("|")
    kind = LinkKind.EMBED if token.markup == "!" else LinkKind.WIKILINK
    return _link(kind, target, line, label.strip() or None)


def _markdown_link(token: Token, label: str, line: int) -> Link | None:
    address = str(token.attrs.get("href") or token.attrs.get("src") or "")
    if not address or _SCHEME.match(address):
        return None
    kind = LinkKind.EMBED if token.type == "image" else LinkKind.MARKDOWN
    return _link(kind, address, line, " ".join(label.split()) or None, encoded=True)


def _link(kind: LinkKind, address: str, line: int, label: str | None, encoded: bool = False) -> Link:
    target, _, anchor = address.partition("#")
    if encoded:
        target, anchor = unquote(target), unquote(anchor)
    target, anchor = target.strip(), anchor.strip()
    if anchor.startswith("^"):
        return Link(kind, target, line, block_id=anchor[1:], text=label)
    return Link(kind, target, line, heading=anchor or None, text=label)


def parse_address(kind: LinkKind, address: str) -> Link | None:
    """Parse the `address` (target with anchor) of a link of that kind; None if it leads out of the vault."""
    if kind is LinkKind.WIKILINK:
        return _link(kind, address, 0, None)
    return None if _SCHEME.match(address) else _link(kind, address, 0, None, encoded=True)


def property_links(text: str, line: int) -> tuple[Link, ...]:
    """Return the wikilinks in a frontmatter value."""
    return read_inline(text, line, {}).links if "[[" in text else ()
