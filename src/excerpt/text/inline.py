"""The parser of inline Markdown: CommonMark with maths, wikilinks, tags, highlights and comments.

The parser is markdown-it with additional inline rules for wikilinks, tags and others, so that none is found in code,
maths, HTML or a link. Tokens of markdown-it have no positions in the text; so some rules are wrapped to record, in the
token's `meta["place"]`, where they began and ended.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from enum import Enum, auto
from functools import cache
from itertools import repeat
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.parser_inline import RuleFuncInlineType
from markdown_it.ruler import Ruler
from markdown_it.rules_inline import StateInline, image, link
from markdown_it.rules_inline.state_inline import Delimiter
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

from excerpt.base.patterns import lazy_pattern
from excerpt.text.display import visible, visible_line
from excerpt.text.line_context import FENCES, PROSE, Context, contexts_of_passage

# --- spans ------------------------------------------------------------------------------------------------------------


class SpanKind(Enum):
    """The kind of a span of inline Markdown."""

    CODE = auto()
    MATH = auto()
    EMPHASIS = auto()
    STRONG = auto()
    STRIKE = auto()
    HIGHLIGHT = auto()
    LINK = auto()
    IMAGE = auto()
    WIKILINK = auto()
    EMBED = auto()
    URL = auto()
    TAG = auto()
    COMMENT = auto()
    HTML = auto()
    BLOCK_ID = auto()
    ESCAPE = auto()
    ENTITY = auto()


class InlineSpan(NamedTuple):
    """A span of inline Markdown (a link, emphasis, code) in a text. Two spans are disjoint or nested.

    `start` to `end` (exclusive) is the span with its marks. `text_start` to `text_end` is its readable text: what the
    marks enclose, or the label of a link, which may be empty; comments, HTML and block ids have none. `value` is the
    address of a link, the name of a tag, or the character that an escape or entity stands for. `value_start` to
    `value_end` is the address of a link as written. All offsets count characters of the text.
    """

    kind: SpanKind
    start: int
    end: int
    text_start: int
    text_end: int
    value: str = ""
    value_start: int = 0
    value_end: int = 0


def inline_spans(text: str) -> list[InlineSpan]:
    """Return the spans of a line or paragraph by ascending start, an outer span before the spans inside it.

    Links by reference (`[text][id]`) are not resolved: their definitions are elsewhere in the note.
    """
    parser = _span_parser()
    spans = list(_spans_of_tokens(parser.inline.parse(text, parser, {}, []), text, 0))
    spans.sort(key=_by_start)
    return spans


INLINE_MARKS = lazy_pattern(r"[*_`\[<>#=~%^|\\&]|https?:")
"""The characters that begin inline Markdown; a line without a match has no spans."""

_EMBED_KINDS = (SpanKind.IMAGE, SpanKind.EMBED)
_LINK_KINDS = (SpanKind.LINK, SpanKind.WIKILINK, SpanKind.URL, *_EMBED_KINDS)
_MARKED_KINDS = (SpanKind.CODE, SpanKind.EMPHASIS, SpanKind.STRONG, SpanKind.STRIKE, SpanKind.HIGHLIGHT)
_IMAGE_SIZE = lazy_pattern(r"(?:^|\|)\s*\d+(?:x\d+)?\s*$")
_FILE = lazy_pattern(r"[^/]\.[A-Za-z][A-Za-z0-9]{1,4}$")


def display_replacements(text: str, spans: Iterable[InlineSpan]) -> Iterator[tuple[int, int, str]]:
    """Yield the replacements of marks for display, each as (start, end, replacement).

    Marks are replaced by "", the mark before an embed by the sign "▣ ", and escapes by the character that they mean.
    """
    for span in spans:
        if span.kind in _LINK_KINDS:
            start, end = _visible_range(text, span)
            yield span.start, start, "▣ " if span.kind in _EMBED_KINDS else ""
            yield end, span.end, ""
        elif span.kind in _MARKED_KINDS:
            yield span.start, span.text_start, ""
            yield span.text_end, span.end, ""
        elif span.kind in (SpanKind.ESCAPE, SpanKind.ENTITY):
            yield span.start, span.end, visible_line(span.value)


def _visible_range(text: str, span: InlineSpan) -> tuple[int, int]:
    """Return the range of a link that is displayed: its label, or its target if it has no label.

    For an embed, neither the image size in the label nor the folders (or website) of the target are displayed.
    """
    is_embed = span.kind in _EMBED_KINDS
    start, end = span.text_start, span.text_end
    size = _IMAGE_SIZE.search(text[start:end]) if is_embed else None
    if size is not None:
        end = start + size.start()
    if start < end:
        return start, end
    start, end = span.value_start, span.value_end
    address = text[start:end]
    return start + (address.rfind("/") + 1 if is_embed and _FILE.search(address) else 0), end


def visible_characters(text: str, matches: Sequence[tuple[int, int]] = ()) -> list[str]:
    """Return, for each character of a line of prose, the text that is displayed: itself, a replacement, or "".

    Marks of Markdown, footnotes and block ids are hidden (""), and so is a comment that begins in this line. If a
    comment has one of `matches`, the ranges (start, end) that a query found, only its marks are hidden.
    """
    clean = visible(text)
    if not INLINE_MARKS.search(text):
        return list(clean)
    shown = list(clean)
    spans = inline_spans(text)
    hidden = [(span.start, span.end) for span in spans if span.kind is SpanKind.BLOCK_ID]
    hidden += (each for span in spans if span.kind is SpanKind.COMMENT for each in _hidden(text, span, matches))
    if "[^" in text:
        hidden += _footnote_marks(text, spans)
    for start, end, replacement in (*display_replacements(text, spans), *((*each, "") for each in hidden)):
        if start < end:
            shown[start:end] = [replacement, *[""] * (end - start - 1)]
    return shown


# A label of letters after a blank may be a set of a regular expression: `use [^abc]`, `[^a-z]+`.
_FOOTNOTE_MARK = lazy_pattern(
    r"^(?:[>\s]|[-*+] )*(?P<definition>\[\^[^\[\]\s]+\]:[ \t]*)|\[\^\d+\]|(?<=\S)\[\^[^\[\]\s]+\]"
)


def _footnote_marks(text: str, spans: Iterable[InlineSpan]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the marks of footnotes in a line, outside of code, maths and escapes."""
    verbatim = [span for span in spans if span.kind in (SpanKind.CODE, SpanKind.MATH, SpanKind.ESCAPE)]
    starts = [span.start for span in verbatim]
    for mark in _FOOTNOTE_MARK.finditer(text):
        start, end = mark.span(mark.lastgroup or 0)
        before = bisect_right(starts, start) - 1
        if before < 0 or verbatim[before].end <= start:
            yield start, end


def readable_text(text: str) -> str:
    """Return a passage as it is displayed, line by line: prose without marks and hidden text, code unchanged."""
    lines = text.split("\n")
    contexts = contexts_of_passage(lines) if any(fence in text for fence in FENCES) else repeat(PROSE, len(lines))
    return "\n".join(
        "".join(visible_characters(line)) if context.context is Context.PROSE else line
        for line, context in zip(lines, contexts, strict=True)
    )


def _hidden(text: str, comment: InlineSpan, matches: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a comment that are not displayed."""
    if not any(start < comment.end and comment.start < end for start, end in matches):
        yield comment.start, comment.end
        return
    begin = comment.start + (2 if text.startswith("%%", comment.start) else len("<!--"))
    yield comment.start, begin
    for mark in ("%%", "-->"):
        if text.endswith(mark, begin, comment.end):
            yield comment.end - len(mark), comment.end


def _by_start(span: InlineSpan) -> tuple[int, int]:
    return span.start, -span.end


class _MarkPair(NamedTuple):
    """The sizes, in characters, of a pair of marks (`**`…`**`) around a span of this kind.

    The opening mark has `before` characters before the position of its token, and `opening` characters from there on:
    markdown-it puts the token on the second of two opening asterisks. The closing mark has `closing` characters.
    """

    kind: SpanKind
    before: int
    opening: int
    closing: int


_MARK_PAIRS = {
    "em": _MarkPair(SpanKind.EMPHASIS, 0, 1, 1),
    "strong": _MarkPair(SpanKind.STRONG, 1, 1, 2),
    "s": _MarkPair(SpanKind.STRIKE, 0, 2, 2),
    "mark": _MarkPair(SpanKind.HIGHLIGHT, 0, 2, 2),
}
_ADDRESS = lazy_pattern(r"\(\s*(?:<([^<>\n]*)>|([^\s<]\S*))")


def _spans_of_tokens(tokens: list[Token], text: str, offset: int) -> Iterator[InlineSpan]:
    """Yield the spans of `tokens`, which markdown-it made of `text`; `offset` is added to their positions."""
    marks: list[tuple[int, Token]] = []
    for token in tokens:
        position = token.meta.get("place")
        if position is None:
            continue
        if token.tag in _MARK_PAIRS:
            marks.append((position[0], token))
        elif (span := _span_of_token(token, text, *position)) is not None:
            yield _shift_span(span, offset) if offset else span
            if token.children:
                yield from _spans_of_tokens(token.children, token.content, offset + position[0] + 2)
    # By position, because markdown-it swaps the last of five closing tildes with those before it.
    marks.sort(key=lambda mark: mark[0])
    open_at: list[int] = []
    for at, token in marks:
        if token.nesting > 0:
            open_at.append(at + offset)
            continue
        kind, before, opening, closing = _MARK_PAIRS[token.tag]
        start, end = open_at.pop(), at + offset
        yield InlineSpan(kind, start - before, end + closing, start + opening, end)


def _shift_span(span: InlineSpan, offset: int) -> InlineSpan:
    return InlineSpan(
        span.kind,
        span.start + offset,
        span.end + offset,
        span.text_start + offset,
        span.text_end + offset,
        span.value,
        span.value_start + offset,
        span.value_end + offset,
    )


_SPAN_KINDS = {
    "code_inline": SpanKind.CODE,
    "math_inline": SpanKind.MATH,
    "url": SpanKind.URL,
    "tag": SpanKind.TAG,
    "escape": SpanKind.ESCAPE,
    "entity": SpanKind.ENTITY,
    "comment": SpanKind.COMMENT,
    "html_inline": SpanKind.HTML,
    "block_id": SpanKind.BLOCK_ID,
}
"""The kind of span by a token's `info`, or by the token's `type` if `info` is empty."""


def _span_of_token(token: Token, text: str, start: int, end: int) -> InlineSpan | None:
    """Return the span of a token that opens or closes nothing, such as code; None for plain text."""
    if token.type == "wikilink":
        return _wikilink_span(token, text, start, end)
    if token.type in ("link_open", "image"):
        return _link_span(token, text, start, end)
    kind = _SPAN_KINDS.get(token.info or token.type)
    if kind is None:
        return None
    text_start, text_end = start, end
    if kind in (SpanKind.CODE, SpanKind.MATH):
        marks = (end - start - len(token.content)) // 2  # for code including the optional space inside
        text_start, text_end = start + marks, end - marks
    elif kind in (SpanKind.COMMENT, SpanKind.HTML, SpanKind.BLOCK_ID):
        text_start = end
    return InlineSpan(kind, start, end, text_start, text_end, token.content)


def _wikilink_span(token: Token, text: str, start: int, end: int) -> InlineSpan:
    kind = SpanKind.EMBED if token.markup else SpanKind.WIKILINK
    begin, close = start + 2 + len(token.markup), end - 2
    bar = text.find("|", begin, close)
    if bar < 0:
        return InlineSpan(kind, start, end, close, close, text[begin:close], begin, close)
    target_end = bar - 1 if text[bar - 1] == "\\" and bar > begin else bar
    return InlineSpan(kind, start, end, bar + 1, close, text[begin:target_end], begin, target_end)


def _link_span(token: Token, text: str, start: int, end: int) -> InlineSpan:
    if token.info == "auto":
        return InlineSpan(SpanKind.URL, start, end, start + 1, end - 1, str(token.attrs["href"]))
    kind, begin = (SpanKind.IMAGE, start + 2) if token.type == "image" else (SpanKind.LINK, start + 1)
    value = str(token.attrs.get("href") or token.attrs.get("src") or "")
    label_end: int = token.meta["label_end"]
    destination = _ADDRESS.match(text, label_end + 1, end - 1)
    if destination is None:
        return InlineSpan(kind, start, end, begin, label_end, value, label_end + 1, label_end + 1)
    address = destination.span(1 if destination[1] is not None else 2)
    return InlineSpan(kind, start, end, begin, label_end, value, *address)


# --- the parsers and their rules --------------------------------------------------------------------------------------


class _Parser(MarkdownIt):
    """A markdown-it parser that keeps addresses of links as written, because they are paths of notes."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - the library's name
        return url

    def validateLink(self, url: str) -> bool:  # noqa: N802, ARG002 - the library's name and arguments
        return True


@cache
def link_parser() -> MarkdownIt:
    """Return the parser for links and tags, with only the rules that find or hide links and tags."""
    parser = _create_parser([], [], positioned_rules=("wikilink", "link", "image", "autolink"))
    # The text rule skips, in one step, characters that no enabled rule begins or ends with.
    parser.inline.terminator_re = re.compile(r"[\n!#$<\[\\\]`]")
    return parser


@cache
def text_parser() -> MarkdownIt:
    """Return the parser that separates the readable text of a heading from its marks."""
    return _create_parser([*_MARKS, "entity"], ["balance_pairs", *_MARKS, "fragments_join"])


@cache
def _span_parser() -> MarkdownIt:
    parser = _create_parser(
        [*_MARKS, "entity", "url", "comment", "block_id"],
        ["balance_pairs", *_MARKS],
        positioned_rules=_FIRST_CHARACTERS,
    )
    parser.inline.terminator_re = re.compile(r"[\n!#$%&*:<=\[\\\]^_`~]")
    return parser


_MARKS = ("emphasis", "strikethrough", "highlight")
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


def _create_parser(rules: list[str], pair_rules: list[str], positioned_rules: Container[str] = ()) -> MarkdownIt:
    """Return a parser with `_RULES`, the given inline rules and the rules that pair marks, by name.

    Rules named in `positioned_rules` record their range in their token.
    """
    parser = _Parser("commonmark").use(dollarmath_plugin, allow_space=False, allow_digits=False)
    inline = parser.inline
    for name, rule in _OWN_RULES.items():
        inline.ruler.before("link", name, rule)
    inline.ruler.at("link", _link_rule)
    inline.ruler.at("image", _image_rule)
    inline.ruler2.after("balance_pairs", "highlight", _pair_highlights)
    inline.ruler.enableOnly([*_RULES, *rules])
    inline.ruler2.enableOnly(pair_rules)
    inline.ruler = _InlineRuler(inline.ruler, positioned_rules)
    return parser


_FIRST_CHARACTERS = {
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
    "highlight": "=",
    "url": ":",
    "comment": "%<",
    "block_id": "^",
}
"""The first characters that each rule accepts, by the rule's name; plain text begins with none of them."""


class _InlineRuler(Ruler[RuleFuncInlineType]):
    """A ruler with one rule, which tries those enabled rules of `ruler` that accept the current character.

    Rules named in `positioned_rules` record their range in their token.
    """

    def __init__(self, ruler: Ruler[RuleFuncInlineType], positioned_rules: Container[str]) -> None:
        super().__init__()
        self.__rules__ = ruler.__rules__
        rules = [
            (rule.name, _recording_range(rule.name, rule.fn) if rule.name in positioned_rules else rule.fn)
            for rule in self.__rules__
            if rule.enabled
        ]
        plain = tuple(fn for name, fn in rules if name not in _FIRST_CHARACTERS)
        by_character = {
            character: tuple(fn for name, fn in rules if character in _FIRST_CHARACTERS.get(name, ""))
            for character in "".join(_FIRST_CHARACTERS.values())
        }

        def rule(state: StateInline, silent: bool) -> bool:
            for candidate in by_character.get(state.src[state.pos], plain):  # noqa: SIM110 - a generator costs more
                if candidate(state, silent):
                    return True
            return False

        self._rules: list[RuleFuncInlineType] = [rule]

    def getRules(self, chainName: str = "") -> list[RuleFuncInlineType]:  # noqa: ARG002, N802, N803 - the library's
        return self._rules


_WIKILINK = lazy_pattern(r"(!?)\[\[([^\[\]\n]+)\]\]")
# As in Obsidian: no space, no punctuation except "-", "_" and "/", and not only digits. In addition full-width and CJK
# punctuation ends a tag.
_TAG = lazy_pattern(
    r"#([^\s\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\]+)"
)


def _wikilink_rule(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "![":
        return False
    match = _WIKILINK.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        token = state.push("wikilink", "", 0)
        token.markup = match[1]
        token.content = match[2].replace("\\|", "|")
    state.pos = match.end()
    return True


def _tag_rule(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "#" or (state.pos and not state.src[state.pos - 1].isspace()):
        return False
    match = _TAG.match(state.src, state.pos, state.posMax)
    if not match or not (name := match[1].strip("/")) or all(c.isdigit() for c in name):
        return False
    if not silent:
        state.push("tag", "", 0).content = name
    state.pos = match.end()
    return True


# A label without anything that could hide its end, except code; an address without escapes, entities or parentheses.
_PLAIN_LINK = lazy_pattern(
    r"\[([^\[\]\n!#$<\\`]*(?:`[^`\[\]\n]+`(?!`)[^\[\]\n!#$<\\`]*)*)\]\(([^\s()<>\\&\x00-\x1f\x7f]+)\)"
)


def _link_rule(state: StateInline, silent: bool) -> bool:
    """Parse a link as markdown-it's rule does, with a fast path for links without special characters."""
    match = _PLAIN_LINK.match(state.src, state.pos, state.posMax)
    if not match:
        return _library_link(state, silent)
    if not silent:
        end = state.posMax
        opener = state.push("link_open", "a", 1)
        opener.attrs = {"href": match[2]}
        opener.meta["label_end"] = match.end(1)
        state.pos, state.posMax = match.span(1)
        state.linkLevel += 1
        state.md.inline.tokenize(state)
        state.linkLevel -= 1
        state.push("link_close", "a", -1)
        state.posMax = end
    state.pos = match.end()
    return True


def _library_link(state: StateInline, silent: bool) -> bool:
    at, first = state.pos, len(state.tokens)
    if not link(state, silent):
        return False
    if not silent:
        _first_token(state.tokens, first).meta["label_end"] = state.md.helpers.parseLinkLabel(state, at)
    return True


def _image_rule(state: StateInline, silent: bool) -> bool:
    at = state.pos
    if not image(state, silent):
        return False
    if not silent:
        state.tokens[-1].meta["label_end"] = at + 2 + len(state.tokens[-1].content)
    return True


def _highlight_rule(state: StateInline, silent: bool) -> bool:
    """Parse `==` as a mark that may open or close, as the library parses `~~`."""
    if silent or state.src[state.pos] != "=":
        return False
    scanned = state.scanDelims(state.pos, True)
    if scanned.length != 2:
        state.append_pending("=" * scanned.length)
    else:
        state.push("text", "", 0).content = "=="
        state.delimiters.append(
            Delimiter(
                marker=ord("="),
                length=0,
                token=len(state.tokens) - 1,
                end=-1,
                open=scanned.can_open,
                close=scanned.can_close,
            )
        )
    state.pos += scanned.length
    return True


def _pair_highlights(state: StateInline) -> None:
    inner = (meta["delimiters"] for meta in state.tokens_meta if meta and "delimiters" in meta)
    for delimiters in (state.delimiters, *inner):
        for opening in delimiters:
            if opening.marker == ord("=") and opening.end >= 0:
                for mark, nesting in ((opening, 1), (delimiters[opening.end], -1)):
                    token = state.tokens[mark.token]
                    token.type = "mark_open" if nesting > 0 else "mark_close"
                    token.tag, token.nesting, token.content = "mark", nesting, ""


_URL = lazy_pattern(r"://[^\s<>|\])]*[^\s<>|\]).,;:!?'\"*~`]")


def _url_rule(state: StateInline, silent: bool) -> bool:
    """Parse a bare address (`https://…`) from its "://" on; the `text` rule has already parsed the scheme."""
    if silent or state.linkLevel > 0 or not state.src.startswith("://", state.pos):
        return False
    scheme = next((name for name in ("https", "http") if state.pending.endswith(name)), "")
    match = _URL.match(state.src, state.pos, state.posMax) if scheme else None
    before = state.pending[: len(state.pending) - len(scheme)]
    if not match or before[-1:].isalnum():
        return False
    state.pending = before
    state.push("url", "", 0).content = scheme + match[0]
    state.pos = match.end()
    return True


_COMMENT = lazy_pattern(r"%%.*?%%|<!--(?:.*?-->|[^\n]*)", re.DOTALL)


def _comment_rule(state: StateInline, silent: bool) -> bool:
    """Parse a comment of Obsidian (`%%…%%`) or HTML; an HTML comment may end on another line."""
    match = _COMMENT.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        state.push("comment", "", 0).content = match[0]
    state.pos = match.end()
    return True


_BLOCK_ID = lazy_pattern(r"\^([A-Za-z0-9-]+)[ \t]*(?=\n|\Z)")


def _block_id_rule(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "^" or (state.pos and not state.src[state.pos - 1].isspace()):
        return False
    match = _BLOCK_ID.match(state.src, state.pos)
    if not match:
        return False
    if not silent:
        state.push("block_id", "", 0).content = match[1]
    state.pos = match.end()
    return True


def _recording_range(name: str, rule: RuleFuncInlineType) -> RuleFuncInlineType:
    """Return `rule`, extended to record the parsed range in the first token that it creates."""

    def with_position(state: StateInline, silent: bool) -> bool:
        at, first = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        if not silent and len(state.tokens) > first:
            if name in _MARKS:
                end = state.pos
                for token in reversed(state.tokens[first:]):
                    start = end - len(token.content)
                    if start < at:
                        break  # the text before the marks
                    token.meta["place"] = (start, end)
                    end = start
            else:
                token = _first_token(state.tokens, first)
                token.meta["place"] = (state.pos - len(token.content) if name == "url" else at, state.pos)
        return True

    return with_position


def _first_token(tokens: list[Token], first: int) -> Token:
    """Return the first token that a rule created: that at index `first`, or the next one if that is pending text."""
    return tokens[first] if tokens[first].type != "text" else tokens[first + 1]


_OWN_RULES: dict[str, RuleFuncInlineType] = {
    "wikilink": _wikilink_rule,
    "tag": _tag_rule,
    "highlight": _highlight_rule,
    "url": _url_rule,
    "comment": _comment_rule,
    "block_id": _block_id_rule,
}
