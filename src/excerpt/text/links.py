"""Parsing of links, embeds, tags and headings of a note, with the inline parsers of `excerpt.text.inline`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from markdown_it.token import Token
from markdown_it.utils import EnvType
from msgspec import Struct

from excerpt.base.kinds import LinkKind
from excerpt.base.model import Link
from excerpt.base.patterns import lazy_pattern
from excerpt.text.inline import link_parser, text_parser

MAX_INLINE = 50_000
"""Maximum number of characters of a paragraph or heading that is parsed for links.

The parser takes up to 25 us per character.
"""

_DENDRON_VAULT = lazy_pattern(r"\s*dendron://[^/#|]*/", re.IGNORECASE)
_JOPLIN_ADDRESS = lazy_pattern(r"^\s*:/(?=[0-9a-f]{32}\s*(?:#|\Z))")
SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_TAG_START = lazy_pattern(r"#(?<!\S#)[^\s#]")
_BLOCK_ID = lazy_pattern(r"(?:^|[ \t\n])\^([A-Za-z0-9-]+)[ \t]*$")
_MARKUP = lazy_pattern(r"[\\&*`\[<~$]|==|(?<!\w)_|_(?!\w)")
# HTML tags that format a heading; any other, as in `std::vector<T>`, is text.
_HTML = lazy_pattern(
    r"</?(a|abbr|b|br|code|del|em|font|i|img|ins|kbd|mark|s|small|span|strong|sub|sup|u)[\s/>]|<!--", re.IGNORECASE
)


class LinksAndTags(Struct, frozen=True):
    """The links and tags of one piece of text."""

    links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()


def find_block_id(text: str) -> str | None:
    """Return the block id (Obsidian's `^id`, without the caret) at the end of a block's text, or None."""
    match = _BLOCK_ID.search(text) if "^" in text else None
    return match[1] if match else None


def may_have_links(text: str) -> bool:
    """Return whether `text` may have links or tags: a fast test before parsing, which may be wrongly True."""
    return "[" in text or _TAG_START.search(text) is not None


def parse_links_and_tags(text: str, line: int, env: EnvType) -> LinksAndTags:
    """Parse the links and tags in `text`, a paragraph or table cell that begins on `line` of its note.

    `env` is the environment of markdown-it's block parser, with the link reference definitions of the note; {} if none.
    Returns no links and tags for a text longer than MAX_INLINE.
    """
    if len(text) > MAX_INLINE:
        return LinksAndTags()
    parser = link_parser()
    links: list[Link] = []
    tags: list[str] = []
    tokens = parser.inline.parse(text, parser, env, [])
    for i, token in enumerate(tokens):
        if token.type == "tag":
            tags.append(token.content)
        elif token.type == "wikilink":
            links.append(_link_of_wikilink(token, line + text.count("\n", 0, token.meta["place"][0])))
        elif token.type in ("link_open", "image"):
            link = _link_of_markdown(token, _link_label(tokens, i), line + text.count("\n", 0, token.meta["place"][0]))
            if link:
                links.append(link)
            if token.children:
                links += [_link_of_wikilink(t, line) for t in token.children if t.type == "wikilink"]
    return LinksAndTags(tuple(links), tuple(tags))


def plain_heading(text: str, env: EnvType) -> str:
    """Return the `text` of a heading without markup and block id, as a reader sees it.

    `env` is the environment of markdown-it's block parser, with the link reference definitions of the note.
    """
    if "^" in text:
        text = _BLOCK_ID.sub("", text)
    if len(text) > MAX_INLINE or not _MARKUP.search(text):
        return " ".join(text.split())
    parser = text_parser()
    return " ".join("".join(_visible_texts(parser.inline.parse(text, parser, env, []))).split())


def _visible_texts(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "wikilink":
            target, _, label = token.content.partition("|")
            yield label or target.replace("#", " > ").strip(" >")
        elif token.type == "tag":
            yield "#" + token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type == "image":
            yield from _visible_texts(token.children or [])
        elif token.type != "html_inline" or not _HTML.match(token.content):
            yield token.content


def _link_label(tokens: list[Token], index: int) -> str:
    """Return the label of the link or image whose first token is `tokens[index]`."""
    if tokens[index].type == "image":
        return "".join(_visible_texts(tokens[index].children or []))
    end = next((i for i in range(index, len(tokens)) if tokens[i].type == "link_close"), len(tokens))
    return "".join(_visible_texts(tokens[index + 1 : end]))


def _link_of_wikilink(token: Token, line: int) -> Link:
    target, _, label = token.content.partition("|")
    if label.strip().lower().startswith("dendron://"):
        target, label = label, target  # Dendron writes the label first
    kind = LinkKind.EMBED if token.markup == "!" else LinkKind.WIKILINK
    return _make_link(kind, target, line, label.strip() or None)


def _link_of_markdown(token: Token, label: str, line: int) -> Link | None:
    address = str(token.attrs.get("href") or token.attrs.get("src") or "")
    if not address or SCHEME.match(address):
        return None
    kind = LinkKind.EMBED if token.type == "image" else LinkKind.MARKDOWN
    return _make_link(kind, address, line, " ".join(label.split()) or None, encoded=True)


def _make_link(kind: LinkKind, address: str, line: int, label: str | None, encoded: bool = False) -> Link:
    if ":/" in address:
        address = _JOPLIN_ADDRESS.sub("", _DENDRON_VAULT.sub("", address, count=1))
    target, _, anchor = address.partition("#")
    if encoded:
        target, anchor = unquote(target), unquote(anchor)
    target, anchor = target.strip(), anchor.strip()
    if anchor.startswith("^"):
        return Link(kind, target, line, block_id=anchor[1:], text=label)
    return Link(kind, target, line, heading=anchor or None, text=label)


def parse_link_address(kind: LinkKind, address: str) -> Link | None:
    """Parse the `address` (target and "#" part) of a link; return None if it leads out of the vault.

    `kind` decides the syntax: an address in a Markdown link is percent-encoded, in a wikilink it is not.
    """
    if kind is LinkKind.WIKILINK:
        return _make_link(kind, address, 0, None)
    return None if SCHEME.match(address) else _make_link(kind, address, 0, None, encoded=True)


def property_links(text: str, line: int) -> tuple[Link, ...]:
    """Return the wikilinks in a line of frontmatter.

    The line is read as it is written, since YAML reads `up: [[Ada]]` without quotation marks as a list in a list.
    """
    return parse_links_and_tags(text, line, {}).links if "[[" in text and not text.lstrip().startswith("#") else ()
