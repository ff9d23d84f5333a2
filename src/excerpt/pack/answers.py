"""What an LLM's answer cites and what it quotes, each with its line.

markdown-it says what is code and what is a blockquote. What stands inside a paragraph is read here: the inline parser
keeps no places, and takes citations for links as soon as the answer ends with a list of them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import EnvType
from mdit_py_plugins.footnote.index import footnote_def

from excerpt.pack.inline import Paragraph, Quoted, around, within
from excerpt.text.fragments import words_in
from excerpt.text.markdown import normalise_newlines


class QuoteKind(StrEnum):
    """By what an answer shows that words are not its own."""

    MARKS = "marks"
    BLOCK = "block"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Citation:
    """`[n]`, as written in `text`, with every number it names. `quotation` is the place among the answer's quotations
    of the one it stands in: there it may be the quoted note's own."""

    line: int
    text: str
    numbers: tuple[int, ...]
    quotation: int | None = None


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words given as another's. `readings` are the text as written, then without what may be the answer's own in it
    (citations, the line that names the source). `cited` are the sources that it may stand in, none if it is alone;
    `beside` are those cited outside of it: numbers inside may be the quoted note's own."""

    line: int
    kind: QuoteKind
    readings: tuple[str, ...]
    cited: tuple[int, ...] = ()
    beside: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """What is quoted, without citations."""
        return self.readings[-1]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, a cell's row or an item, without its citations; `quotes` says that some of it is a quotation."""

    line: int
    text: str
    cited: tuple[int, ...]
    quotes: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it is checked, each part in the order of its lines."""

    citations: tuple[Citation, ...]
    quotations: tuple[Quotation, ...]
    sentences: tuple[Sentence, ...]


_LEAST_CODE = 3  # words from which a code span is a passage, not a name or a command


def read_answer(text: str) -> Answer:
    """What `text`, read as Markdown, cites and quotes. Never raises, whatever `text` holds."""
    blocks, own = _blocks(normalise_newlines(text))
    parts = [_Part(block, Paragraph(block.text, own)) for block in blocks]
    citations: list[Citation] = []
    quotations: list[Quotation] = []
    sentences: list[Sentence] = []
    for number, part in enumerate(parts):
        before = parts[number - 1] if number else None
        after = parts[number + 1] if number + 1 < len(parts) else None
        found = list(_block_quotation(part, before, after) if part.block.quoted else _quotations(part))
        citations += _citations(part, found, len(quotations))
        quotations += (placed.quotation for placed in found)
        if not part.block.quoted:
            sentences += _sentences(part)
    return Answer(tuple(citations), tuple(quotations), tuple(sentences))


# --- blocks -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Block:
    """The text of a paragraph, heading, table row or the like, and the line it begins on."""

    text: str
    line: int
    quoted: bool = False
    heading: bool = False


@cache
def _parser() -> MarkdownIt:
    """CommonMark with tables and footnotes, without indented code (models indent prose); inlines are left as text."""
    parser = MarkdownIt("commonmark").enable("table").disable("code")
    parser.block.ruler.before("reference", "footnote_def", footnote_def, {"alt": ["paragraph", "reference"]})
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _blocks(text: str) -> tuple[list[_Block], frozenset[str]]:
    """The blocks with running text, and the labels of the answer's own: footnotes, and numbers of links to the web."""
    env: EnvType = {}
    try:
        tokens = _parser().parse(text, env)
    except Exception:  # a defect of the parser must not cost the check
        return _plain_blocks(text), frozenset()
    links = {label for label, to in env.get("references", {}).items() if re.match(r"https?://", to["href"])}
    notes = {label.replace(":", "^", 1) for label in env.get("footnotes", {}).get("refs", {})}
    return list(_texts(tokens)), frozenset(links | notes)


def _plain_blocks(text: str) -> list[_Block]:
    return [_Block(line, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _texts(tokens: Sequence[Token]) -> Iterator[_Block]:
    depth = 0  # in blockquotes
    callout = False
    row: list[Token] | None = None
    head = False
    for token in tokens:
        kind = token.type
        if kind in ("blockquote_open", "blockquote_close"):
            depth += token.nesting
            callout = callout and depth > 0
        elif kind in ("thead_open", "thead_close", "heading_open", "heading_close"):
            head = token.nesting > 0
        elif kind == "tr_open":
            row = []
        elif kind == "tr_close" and row:
            yield _Block(" | ".join(cell.content for cell in row), _line(row[0]), depth > 0, head)
            row = None
        elif kind == "inline" and row is not None:
            row.append(token)
        elif kind in ("inline", "html_block") and token.content.strip():
            callout = callout or (depth > 0 and token.content.startswith("[!"))
            yield _Block(token.content, _line(token), depth > 0 and not callout, head)


def _line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 1


# --- what is in a block -----------------------------------------------------------------------------------------------

_LETTER = re.compile(r"\w")
_ATTRIBUTION = re.compile(r"(?:^|\n)[ \t]*(?:—|–|--?|―)[ \t]*\S[^\n]*\s*$")


@dataclass(frozen=True, slots=True)
class _Placed:
    """A quotation and where it stands in its block."""

    start: int
    end: int
    quotation: Quotation


@dataclass(frozen=True, slots=True)
class _Part:
    block: _Block
    paragraph: Paragraph

    def line(self, offset: int) -> int:
        return self.block.line + self.block.text.count("\n", 0, offset)

    def cited(self, start: int, end: int) -> tuple[int, ...]:
        """The numbers that are cited from `start` to `end`."""
        inside = self.paragraph.cited_from(start, end)
        return tuple(dict.fromkeys(number for cited in inside for number in cited.numbers))


def _citations(part: _Part, found: Sequence[_Placed], first: int) -> Iterator[Citation]:
    """The citations of a block; `first` is the place of the first quotation `found` in it among the answer's."""
    for each in part.paragraph.cited:
        holding = around(found, each.start)
        quotation = None if holding is None else first + holding
        yield Citation(part.line(each.start), part.block.text[each.start : each.end], each.numbers, quotation)


def _quotations(part: _Part) -> Iterator[_Placed]:
    """What a paragraph quotes: from what is cited directly behind or inside, else from what its sentence cites."""
    sentences = part.paragraph.sentences()
    for quoted in part.paragraph.quoted:
        text = part.block.text[quoted.inner_start : quoted.inner_end]
        bare = part.paragraph.without_citations(quoted.inner_start, quoted.inner_end)
        if not _LETTER.search(bare) or (quoted.code and words_in(bare) < _LEAST_CODE):
            continue
        sentence = sentences[bisect_right(sentences, (quoted.start, len(part.block.text))) - 1]
        inside = part.cited(quoted.start, quoted.end)
        beside = part.paragraph.following(quoted.end) or (() if inside else part.cited(*sentence))
        kind = QuoteKind.CODE if quoted.code else QuoteKind.MARKS
        readings = tuple(dict.fromkeys((text.strip(), bare)))
        cited = tuple(dict.fromkeys((*inside, *beside)))
        quotation = Quotation(part.line(quoted.start), kind, readings, cited, beside)
        yield _Placed(quoted.start, quoted.end, quotation)


def _block_quotation(part: _Part, before: _Part | None, after: _Part | None) -> Iterator[_Placed]:
    """A blockquote's paragraph: from what is cited in it, in the words that lead to it, or in those that name it."""
    text = part.block.text.strip()
    bare = part.paragraph.without_citations(0, len(part.block.text))
    if _ATTRIBUTION.match(text) or not _LETTER.search(bare):
        return
    plain = _unquoted(_ATTRIBUTION.sub("", bare).strip())
    readings = tuple(dict.fromkeys((text, bare, plain) if _LETTER.search(plain) else (text, bare)))
    inside = part.cited(0, len(part.block.text))
    beside = () if inside else _cited_around(before, after)
    quotation = Quotation(part.block.line, QuoteKind.BLOCK, readings, inside or beside, beside)
    yield _Placed(0, len(part.block.text), quotation)


def _cited_around(before: _Part | None, after: _Part | None) -> tuple[int, ...]:
    if before and not before.block.quoted and before.block.text.rstrip(" *_").endswith((":", "：")):
        cited = before.cited(*before.paragraph.sentences()[-1])
        if cited:
            return cited
    if not after:
        return ()
    named = after.block.quoted and _ATTRIBUTION.match(after.block.text.strip())
    return after.cited(0, len(after.block.text)) if named else after.paragraph.following(0)


def _unquoted(text: str) -> str:
    """`text` without the quotation marks around all of it."""
    match Paragraph(text).quoted:
        case [Quoted(start=0, code=False) as whole] if whole.end == len(text):
            return text[whole.inner_start : whole.inner_end].strip()
    return text


def _sentences(part: _Part) -> Iterator[Sentence]:
    for start, end in part.paragraph.sentences():
        cited = part.cited(start, end)
        if part.block.heading and not cited:
            continue  # a title claims nothing
        text = part.paragraph.without_citations(start, end)
        first, last = within(part.paragraph.quoted, start, end)
        quotes = any(not one.code for one in part.paragraph.quoted[first:last])
        yield Sentence(part.line(start), text, cited, quotes)
