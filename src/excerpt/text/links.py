"""Inline content of a note: links, embeds, tags, and the plain text of headings.

Two parsers share our own inline rules for wikilinks and tags, so that none is found inside code, maths, HTML or a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.parser_inline import RuleFuncInlineType
from markdown_it.ruler import Ruler
from markdown_it.rules_inline import StateInline, image, link
from markdown_it.token import Token
from markdown_it.utils import EnvType
from mdit_py_plugins.dollarmath import dollarmath_plugin

from excerpt.kinds import LinkKind
from excerpt.model import Link

MAX_INLINE = 50_000
"""Characters of one paragraph or heading that are read for links; the parser takes up to 25 us for each."""

_WIKILINK = re.compile(r"(!?)\[\[([^\[\]\n]+)\]\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
# Obsidian's: no space and no punctuation but "-", "_" and "/"; and not digits alone. We add the full-width and CJK
# marks, which end a tag for any reader.
_TAG = re.compile(
    r"#([^\s\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\]+)"
)
_ATTENTION = re.compile(r"\[|(?<!\S)#[^\s#]")
_BLOCK_ID = re.compile(r"(?:^|[ \t\n])\^([A-Za-z0-9-]+)[ \t]*$")
_MARKUP = re.compile(r"[\\&*`\[<~$]|==|(?<!\w)_|_(?!\w)")
# The tags a heading is dressed with; any other, as in `std::vector<T>`, is meant to be read.
_HTML = re.compile(
    r"</?(a|abbr|b|br|code|del|em|font|i|img|ins|kbd|mark|s|small|span|strong|sub|sup|u)[\s/>]|<!--", re.IGNORECASE
)
# Bounded, as every mark that nothing closes would be held against all that follows.
_HIGHLIGHT = re.compile(r"==(?=\S)(.{1,500}?)(?<=\S)==")


@dataclass(frozen=True, slots=True)
class Inline:
    """The links and tags of one piece of text."""

    links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()


class _Parser(MarkdownIt):
    """Keeps addresses as they were written: they are paths here, not HTML attributes."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - the library's name
        return url

    def validateLink(self, url: str) -> bool:  # noqa: N802, ARG002 - the library's name and arguments
        return True


def block_id(text: str) -> str | None:
    """Obsidian's `^id` at the end of a block's text, without the caret."""
    found = _BLOCK_ID.search(text) if "^" in text else None
    return found[1] if found else None


def may_hold_links(text: str) -> bool:
    """Return False only if `text` certainly holds no links or tags; a fast test before parsing."""
    return _ATTENTION.search(text) is not None


def read_inline(text: str, line: int, env: EnvType) -> Inline:
    """Links and tags of a paragraph's or cell's `text`, which begins on `line` of its note.

    `env` is the block parser's: it holds the note's link reference definitions.
    """
    if len(text) > MAX_INLINE:
        return Inline()
    parser = _link_parser()
    links: list[Link] = []
    tags: list[str] = []
    tokens = parser.inline.parse(text, parser, env, [])
    for i, token in enumerate(tokens):
        if token.type == "tag":
            tags.append(token.content)
        elif token.type == "wikilink":
            links.append(_wikilink(token, line + text.count("\n", 0, token.meta["at"])))
        elif token.type in ("link_open", "image"):
            found = _markdown_link(token, _label(tokens, i), line + text.count("\n", 0, token.meta.get("at", 0)))
            if found:
                links.append(found)
            if token.children:
                links += [_wikilink(t, line) for t in token.children if t.type == "wikilink"]
    return Inline(tuple(links), tuple(tags))


def plain_text(text: str, env: EnvType) -> str:
    """`text` of a heading as a reader sees it: without markup, and without a block id."""
    if "^" in text:
        text = _BLOCK_ID.sub("", text)
    if len(text) > MAX_INLINE or not _MARKUP.search(text):
        return " ".join(text.split())
    parser = _text_parser()
    seen = "".join(_visible(parser.inline.parse(text, parser, env, [])))
    return " ".join(_HIGHLIGHT.sub(r"\1", seen).split())


def _visible(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "wikilink":
            target, _, shown = token.content.partition("|")
            yield shown or target.replace("#", " > ").strip(" >")
        elif token.type == "tag":
            yield "#" + token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type == "image":
            yield from _visible(token.children or [])
        elif token.type != "html_inline" or not _HTML.match(token.content):
            yield token.content


def _label(tokens: list[Token], at: int) -> str:
    """Return the text shown for the link or image that opens at `at`."""
    if tokens[at].type == "image":
        return "".join(_visible(tokens[at].children or []))
    end = next((i for i in range(at, len(tokens)) if tokens[i].type == "link_close"), len(tokens))
    return "".join(_visible(tokens[at + 1 : end]))


def _wikilink(token: Token, line: int) -> Link:
    target, _, shown = token.content.partition("|")
    kind = LinkKind.EMBED if token.markup == "!" else LinkKind.WIKILINK
    return _link(kind, target, line, shown.strip() or None)


def _markdown_link(token: Token, shown: str, line: int) -> Link | None:
    address = str(token.attrs.get("href") or token.attrs.get("src") or "")
    if not address or _SCHEME.match(address):
        return None
    kind = LinkKind.EMBED if token.type == "image" else LinkKind.MARKDOWN
    return _link(kind, address, line, " ".join(shown.split()) or None, encoded=True)


def _link(kind: LinkKind, address: str, line: int, shown: str | None, encoded: bool = False) -> Link:
    target, _, anchor = address.partition("#")
    if encoded:
        target, anchor = unquote(target), unquote(anchor)
    target, anchor = target.strip(), anchor.strip()
    if anchor.startswith("^"):
        return Link(kind, target, line, block_id=anchor[1:], text=shown)
    return Link(kind, target, line, heading=anchor or None, text=shown)


def read_address(kind: LinkKind, address: str) -> Link | None:
    """Parse an `address` (target with anchor) of a link of that kind; None if it leads out of the vault."""
    if kind is LinkKind.WIKILINK:
        return _link(kind, address, 0, None)
    return None if _SCHEME.match(address) else _link(kind, address, 0, None, encoded=True)


def property_links(text: str, line: int) -> tuple[Link, ...]:
    """Return the wikilinks in a frontmatter value."""
    return read_inline(text, line, {}).links if "[[" in text else ()


# --- the parsers and their rules --------------------------------------------------------------------------------------


@cache
def _link_parser() -> MarkdownIt:
    parser = _with_own_rules([], [])
    # What none of the enabled rules begins or ends with is passed over in one step.
    parser.inline.terminator_re = re.compile(r"[\n!#$<\[\\\]`]")
    return parser


@cache
def _text_parser() -> MarkdownIt:
    return _with_own_rules(
        ["emphasis", "strikethrough", "entity"], ["balance_pairs", "emphasis", "strikethrough", "fragments_join"]
    )


_RULES = (
    "text",
    "newline",
    "math_inline",
    "escape",
    "backticks",
    "wikilink",
    "tag",
    "link",
    "image",
    "autolink",
    "html_inline",
)


def _with_own_rules(rules: list[str], pairs: list[str]) -> MarkdownIt:
    parser = _Parser("commonmark").use(dollarmath_plugin, allow_space=False, allow_digits=False)
    parser.inline.ruler.before("link", "wikilink", _wikilink_rule)
    parser.inline.ruler.before("link", "tag", _tag_rule)
    parser.inline.ruler.at("link", _link_rule)
    parser.inline.ruler.at("image", _placed(image))
    parser.inline.ruler.enableOnly([*_RULES, *rules])
    parser.inline.ruler2.enableOnly(pairs)
    parser.inline.ruler = _InlineByFirstCharacter(parser.inline.ruler)
    return parser


_BEGIN_WITH = {
    "newline": "\n",
    "math_inline": "$",
    "escape": "\\",
    "backticks": "`",
    "wikilink": "![",
    "tag": "#",
    "link": "[",
    "image": "!",
    "autolink": "<",
    "html_inline": "<",
    "emphasis": "*_",
    "strikethrough": "~",
    "entity": "&",
}
"""The characters that rules take; each returns at once for any other. Plain text begins with none of them."""


class _InlineByFirstCharacter(Ruler[RuleFuncInlineType]):
    """The rules of another ruler as one rule that runs only those that can begin with the current character."""

    def __init__(self, ruler: Ruler[RuleFuncInlineType]) -> None:
        super().__init__()
        self.__rules__ = ruler.__rules__
        rules = [(rule.name, rule.fn) for rule in self.__rules__ if rule.enabled]
        plain = tuple(fn for name, fn in rules if name not in _BEGIN_WITH)
        by_character = {
            character: tuple(fn for name, fn in rules if character in _BEGIN_WITH.get(name, ""))
            for character in "".join(_BEGIN_WITH.values())
        }

        def rule(state: StateInline, silent: bool) -> bool:
            for one in by_character.get(state.src[state.pos], plain):  # noqa: SIM110 - a generator costs more
                if one(state, silent):
                    return True
            return False

        self._rules: list[RuleFuncInlineType] = [rule]

    def getRules(self, chainName: str = "") -> list[RuleFuncInlineType]:  # noqa: ARG002, N802, N803 - the library's
        return self._rules


def _wikilink_rule(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "![":
        return False
    found = _WIKILINK.match(state.src, state.pos, state.posMax)
    if not found:
        return False
    if not silent:
        token = state.push("wikilink", "", 0)
        token.markup = found[1]
        token.content = found[2].replace("\\|", "|")
        token.meta = {"at": state.pos}
    state.pos = found.end()
    return True


def _tag_rule(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "#" or (state.pos and not state.src[state.pos - 1].isspace()):
        return False
    found = _TAG.match(state.src, state.pos, state.posMax)
    if not found or not (name := found[1].strip("/")) or all(c.isdigit() for c in name):
        return False
    if not silent:
        state.push("tag", "", 0).content = name
    state.pos = found.end()
    return True


# A label without anything that could hide its end, but code; an address without escapes, entities or parentheses.
_PLAIN_LINK = re.compile(
    r"\[([^\[\]\n!#$<\\`]*(?:`[^`\[\]\n]+`(?!`)[^\[\]\n!#$<\\`]*)*)\]\(([^\s()<>\\&\x00-\x1f\x7f]+)\)"
)


def _link_rule(state: StateInline, silent: bool) -> bool:
    """Parse a link by the library's rule, with a fast path for links as nearly all are written."""
    found = _PLAIN_LINK.match(state.src, state.pos, state.posMax)
    if not found:
        return _library_link(state, silent)
    if not silent:
        end = state.posMax
        opener = state.push("link_open", "a", 1)
        opener.attrs = {"href": found[2]}
        opener.meta["at"] = state.pos
        state.pos, state.posMax = found.span(1)
        state.linkLevel += 1
        state.md.inline.tokenize(state)
        state.linkLevel -= 1
        state.push("link_close", "a", -1)
        state.posMax = end
    state.pos = found.end()
    return True


def _placed(rule: RuleFuncInlineType) -> RuleFuncInlineType:
    """`rule` for links or images, which notes in its token where the link began."""

    def placed(state: StateInline, silent: bool) -> bool:
        at, first = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        if not silent:
            opener = next(token for token in state.tokens[first:] if token.type in ("link_open", "image"))
            opener.meta["at"] = at
        return True

    return placed


_library_link = _placed(link)
