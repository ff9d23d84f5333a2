"""Parsing of an LLM's answer: its citations, quotations and sentences, each with its line.

markdown-it finds code and blockquotes. The content of a paragraph is parsed by `text.paragraphs`, because markdown-it's
inline parser keeps no offsets, and takes citations for links if the answer ends with a list of sources.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from html import unescape
from itertools import chain

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import EnvType
from mdit_py_plugins.footnote.index import footnote_def
from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.patterns import lazy_pattern
from excerpt.text.fragments import count_words
from excerpt.text.markdown import normalise_newlines
from excerpt.text.paragraphs import (
    Paragraph,
    QuotationMark,
    QuotedSpan,
    enclosing_index,
    indexes_within,
    unique_numbers,
    without_code,
)


class QuoteKind(StrEnum):
    """The way in which an LLM's answer marks a quotation: quotation marks, a blockquote, or a code span."""

    MARKS = "marks"
    BLOCK = "block"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation such as `[1, 3-5]`.

    `text` is the citation as written; `ranges` are the source numbers that it names. If it is inside a quotation,
    `quotation` is the index of that quotation in the answer: the citation may then be part of the quoted note.
    """

    line: int
    text: str
    ranges: tuple[range, ...]
    quotation: int | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The source numbers that the citation names, each once."""
        return unique_numbers(self.ranges)


@dataclass(frozen=True, slots=True)
class Quotation:
    """A quotation in an answer.

    `readings` are possible texts of the quotation: as written, then without parts that the answer may have added
    (citations, the line that names the source). `cited` are the numbers of the sources that are cited for it, () for no
    citation; `beside` are the numbers cited outside of the quotation. A number inside may be part of the quoted note.
    """

    line: int
    kind: QuoteKind
    readings: tuple[str, ...]
    cited: tuple[int, ...] = ()
    beside: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The quoted text without parts that the answer may have added, such as citations."""
        return self.readings[-1]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, table row or list item of an answer, without its citations.

    `cited` are the source numbers that it cites, `unquoted` is its text without what is in quotation marks.
    """

    line: int
    text: str
    cited: tuple[int, ...]
    unquoted: str

    @property
    def quotes(self) -> bool:
        """Whether a part of the sentence is in quotation marks."""
        return self.unquoted != self.text


@dataclass(frozen=True, slots=True)
class UnpairedQuotationMark:
    """A text that may be a quotation, or is a quotation above the limit, and the `reason` why it is not checked."""

    line: int
    text: str
    reason: str


class CitedAnswer(Struct, frozen=True):
    """The parts of an LLM's answer that are checked, each in the order of lines."""

    citations: tuple[Citation, ...]
    quotations: tuple[Quotation, ...]
    sentences: tuple[Sentence, ...]
    unchecked: tuple[UnpairedQuotationMark, ...] = ()


_MIN_CODE = 3  # least words of a code span that is checked as a quotation; fewer are a name or a command


def parse_answer(text: str) -> CitedAnswer:
    """Parse an LLM's answer as Markdown, and return its citations, quotations and sentences.

    Never raises an error.
    """
    blocks, own, unchecked = _parse_blocks(normalise_newlines(text))
    parts = [_AnswerBlock(block, Paragraph(block.text, own)) for block in blocks]
    _join_split_quotations(parts)
    citations: list[Citation] = []
    quotations: list[Quotation] = []
    sentences: list[Sentence] = []
    for number, part in enumerate(parts):
        before = parts[number - 1] if number else None
        after = parts[number + 1] if number + 1 < len(parts) else None
        block_quotations = list(
            _find_block_quotation(part, before, after) if part.block.quoted else _find_quotations(part)
        )
        citations += _find_citations(part, block_quotations, len(quotations))
        quotations += (placed.quotation for placed in block_quotations)
        if not part.block.quoted:
            sentences += _split_sentences(part)
            unchecked += _find_unpaired_marks(part)
    unchecked.sort(key=lambda each: each.line)
    return CitedAnswer(tuple(citations), tuple(quotations), tuple(sentences), tuple(unchecked))


# --- blocks -----------------------------------------------------------------------------------------------------------


class _Block(Struct, frozen=True):
    """A paragraph, heading, table row or the like of an answer, with its first line.

    `quoted` is true in a blockquote, `heading` for a heading or the head of a table.
    """

    text: str
    line: int
    quoted: bool = False
    heading: bool = False


@cache
def _parser() -> MarkdownIt:
    """Return a parser of CommonMark with tables and footnotes that leaves inline content as text.

    Indented code is disabled, because models indent prose.
    """
    parser = MarkdownIt("commonmark").enable("table").disable("code")
    parser.block.ruler.before("reference", "footnote_def", footnote_def, {"alt": ["paragraph", "reference"]})
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _parse_blocks(text: str) -> tuple[list[_Block], frozenset[str], list[UnpairedQuotationMark]]:
    """Return the blocks of an answer, the labels that it defines itself, and its unclosed `<blockquote>` tags.

    The labels are those of footnotes and of links to the web; `[1]` is not a citation if the answer defines `1`.
    """
    env: EnvType = {}
    try:
        tokens = _parser().parse(text, env)
    except Exception:  # a defect of the parser must not break the check
        return _make_plain_blocks(text), frozenset(), []
    links = {label for label, to in env.get("references", {}).items() if re.match(r"https?://", to["href"])}
    notes = {label.replace(":", "^", 1) for label in env.get("footnotes", {}).get("refs", {})}
    blocks, unchecked = _split_at_tags(list(_iterate_text_blocks(tokens)))
    return blocks, frozenset(links | notes), unchecked


def _make_plain_blocks(text: str) -> list[_Block]:
    """Return each line that is not blank as a block."""
    return [_Block(line, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _iterate_text_blocks(tokens: Sequence[Token]) -> Iterator[_Block]:
    """Yield the blocks with text from markdown-it's tokens, in order.

    Callouts do not count as blockquotes.
    """
    depth = 0  # depth of nested blockquotes
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
            yield _Block(" | ".join(cell.content for cell in row), _first_line(row[0]), depth > 0, head)
            row = None
        elif kind == "inline" and row is not None:
            row.append(token)
        elif kind in ("inline", "html_block") and token.content.strip():
            callout = callout or (depth > 0 and token.content.startswith("[!"))
            yield _Block(token.content, _first_line(token), depth > 0 and not callout, head)


def _first_line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 1


_BLOCKQUOTE = lazy_pattern(r"<(/?)blockquote\b[^<>]*>", re.IGNORECASE)
_TAG = lazy_pattern(r"</?[A-Za-z][^<>]*>")


def _split_at_tags(blocks: Sequence[_Block]) -> tuple[list[_Block], list[UnpairedQuotationMark]]:
    """Return the blocks, with the content of `<blockquote>` separate, and the tags that are not closed."""
    tags = {number: found for number, block in enumerate(blocks) if (found := _find_blockquote_tags(block))}
    paired: set[tuple[int, int]] = set()
    opened: list[tuple[int, int]] = []
    for number, found in tags.items():
        for tag in found:
            if not tag[1]:
                opened.append((number, tag.start()))
            elif opened:
                paired |= {opened.pop(), (number, tag.start())}
    split: list[_Block] = []
    depth = 0
    for number, block in enumerate(blocks):
        at = 0
        for tag in (each for each in tags.get(number, ()) if (number, each.start()) in paired):
            split += _split_block(block, at, tag.start(), depth > 0)
            depth += -1 if tag[1] else 1
            at = tag.end()
        split += _split_block(block, at, len(block.text), depth > 0)
    return split, [
        UnpairedQuotationMark(
            blocks[number].line + blocks[number].text.count("\n", 0, at),
            blocks[number].text[at : at + MAX_UNCHECKED_TEXT],
            "nothing closes this tag",
        )
        for number, at in opened
    ]


def _find_blockquote_tags(block: _Block) -> list[re.Match[str]]:
    """Return the opening and closing `<blockquote>` tags in a block, outside of code spans."""
    if "<" not in block.text:
        return []
    return list(_BLOCKQUOTE.finditer(without_code(block.text)))


def _split_block(block: _Block, start: int, end: int, quoted: bool) -> Iterator[_Block]:
    """Yield the characters `start` to `end` of a block as a block of its own, `quoted` if that is true.

    Yields nothing if these characters have no text.
    """
    if (start, end) == (0, len(block.text)):
        yield replace(block, quoted=block.quoted or quoted)
        return
    text = block.text[start:end]
    if _TAG.sub("", text).strip():
        begin = start + len(text) - len(text.lstrip())
        yield _Block(text.strip(), block.line + block.text.count("\n", 0, begin), block.quoted or quoted, block.heading)


# --- content of a block -----------------------------------------------------------------------------------------------

_LETTER = lazy_pattern(r"\w")
_ATTRIBUTION = lazy_pattern(
    r"(?:^|\n)[ \t]*(?:—|–|--?|―)[ \t]*\S[^\n]*\s*$|\s*<(footer|cite)\b[^<>]*>(?:(?!</\1>).)*</\1>\s*$", re.DOTALL
)
_ENTITY = lazy_pattern(r"&(?:#\d{1,7}|#[xX][\dA-Fa-f]{1,6}|[A-Za-z]\w{1,30});")
MAX_UNCHECKED_TEXT = 200
"""Maximum number of characters shown of a text that could not be checked."""


class _PlacedQuotation(Struct, frozen=True):
    """A quotation with its range of characters in its block; `end` is exclusive."""

    start: int
    end: int
    quotation: Quotation


@dataclass(frozen=True)
class _AnswerBlock:
    """A block of an answer with its parsed content.

    `beside` is for quotations that extend over several blocks: the source numbers cited for the quotation, by the
    position in this block at which its part begins.
    """

    block: _Block
    paragraph: Paragraph
    beside: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def _newlines(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.block.text)]

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """The start and end of each sentence."""
        return self.paragraph.sentences()

    @cached_property
    def _cited_by_sentence(self) -> dict[tuple[int, int], tuple[int, ...]]:
        return {}

    def line_at(self, offset: int) -> int:
        """Return the line of the answer that has the character at `offset` of the block."""
        return self.block.line + bisect_left(self._newlines, offset)

    def numbers_cited_in(self, start: int, end: int) -> tuple[int, ...]:
        """Return the source numbers in the citations from `start` to `end` of the block."""
        return unique_numbers(chain.from_iterable(cited.ranges for cited in self.paragraph.citations_in(start, end)))

    def sentence_range_at(self, offset: int) -> tuple[int, int]:
        """Return the start and end of the sentence that has the character at `offset`."""
        return self.sentences[bisect_right(self.sentences, (offset, len(self.block.text))) - 1]

    def numbers_cited_beside(self, quoted: QuotedSpan, inside: bool) -> tuple[int, ...]:
        """Return the source numbers cited directly after a quotation, else in its sentence.

        If there are citations `inside` the quotation, those of the sentence do not count.
        """
        if numbers_cited_after := self.paragraph.numbers_cited_after(quoted.end):
            return numbers_cited_after
        if inside:
            return ()
        sentence = self.sentence_range_at(quoted.start)
        if sentence not in self._cited_by_sentence:
            self._cited_by_sentence[sentence] = self.numbers_cited_in(*sentence)
        return self._cited_by_sentence[sentence]


def _join_split_quotations(parts: Sequence[_AnswerBlock]) -> None:
    """Join quotations that extend over several blocks, and set their `beside` in `parts`.

    Each further block of a quotation begins with the opening mark again, or the last block has the closing mark.
    """
    groups: list[list[tuple[_AnswerBlock, QuotedSpan]]] = []
    waiting: list[
        _AnswerBlock
    ] = []  # the block with the mark `opened`, and further blocks that may belong to its quotation
    opened: QuotationMark | None = None
    for part in parts:
        if part.block.quoted:
            continue
        if opened:
            continues = None if part.block.heading else _find_continuation(part.paragraph, opened, waiting[0].paragraph)
            if continues is None or isinstance(continues, QuotationMark | QuotedSpan):
                if continues:
                    groups[-1] += _quote_rest_of_blocks(waiting, opened)
                if isinstance(continues, QuotedSpan):
                    groups[-1].append((part, continues))
                opened = continues if isinstance(continues, QuotationMark) else None
                waiting = [part]
            else:
                waiting.append(part)
        if not opened and (alone := part.paragraph.quotation_marks.opened):
            opened, waiting = alone[0], [part]
            groups.append([])
    for passage in groups:
        named = [
            part.numbers_cited_in(each.start, each.end) or part.numbers_cited_beside(each, inside=False)
            for part, each in passage
        ]
        beside = next(filter(None, reversed(named)), ())
        for part, each in passage:
            part.beside[each.start] = beside


def _find_continuation(
    paragraph: Paragraph, opened: QuotationMark, before: Paragraph
) -> QuotedSpan | QuotationMark | bool | None:
    """Return how a paragraph continues a quotation that the mark `opened` begins in the paragraph `before`.

    Return the last passage of the quotation if the quotation ends here, the mark that opens it again, True if the whole
    paragraph may belong to it, or None if no part of the paragraph does.
    """
    written = before.text[opened.start : opened.end]
    every: list[QuotedSpan | QuotationMark] = [*paragraph.quotation_marks.quoted, *paragraph.quotation_marks.opened]
    repeats = [each for each in every if paragraph.starts_with_mark(written, each)]
    for each in repeats:
        if paragraph.is_at_start(each.start):
            return each
    close = next((mark for mark in paragraph.quotation_marks.closed if opened.pairs_with(mark)), None)
    if close and not any(each.start < close.start for each in repeats):
        return paragraph.add_quotation(0, close.end, 0, close.start)
    return None if repeats else True


def _quote_rest_of_blocks(
    waiting: Sequence[_AnswerBlock], opened: QuotationMark
) -> Iterator[tuple[_AnswerBlock, QuotedSpan]]:
    """Yield the quoted part of each waiting block: the first from the quotation mark `opened` on, others whole."""
    for number, part in enumerate(waiting):
        start, inner = (0, 0) if number else (opened.start, opened.end)
        end = len(part.block.text)
        yield part, part.paragraph.add_quotation(start, end, inner, end)


def _find_unpaired_marks(part: _AnswerBlock) -> Iterator[UnpairedQuotationMark]:
    """Yield the quotation marks of a block without a counterpart.

    Marks that may be apostrophes are left out.
    """
    text, marks = part.block.text, part.paragraph.quotation_marks
    for mark in marks.opened:
        shown = text[mark.start : mark.start + MAX_UNCHECKED_TEXT]
        yield UnpairedQuotationMark(part.line_at(mark.start), shown, "nothing closes this quotation mark")
    for mark in marks.closed:
        if not mark.single:
            begin = max(part.sentence_range_at(mark.start)[0], mark.end - MAX_UNCHECKED_TEXT)
            yield UnpairedQuotationMark(
                part.line_at(mark.start), text[begin : mark.end], "nothing opens this quotation mark"
            )


def _find_citations(part: _AnswerBlock, quotations: Sequence[_PlacedQuotation], first: int) -> Iterator[Citation]:
    """Yield the citations in a block.

    `first` is the index, in the answer, of the first of the block's `quotations`.
    """
    for each in part.paragraph.cited:
        enclosing = enclosing_index(quotations, each.start)
        quotation = None if enclosing is None else first + enclosing
        yield Citation(part.line_at(each.start), part.block.text[each.start : each.end], each.ranges, quotation)


def _find_quotations(part: _AnswerBlock) -> Iterator[_PlacedQuotation]:
    """Yield the quotations of a block that is not a blockquote, with the source numbers cited for them.

    These are cited directly after or inside the quotation, else in its sentence.
    """
    for quoted in part.paragraph.quoted:
        text = part.block.text[quoted.inner_start : quoted.inner_end]
        bare = part.paragraph.without_citations(quoted.inner_start, quoted.inner_end)
        if not _LETTER.search(bare) or (quoted.code and count_words(bare) < _MIN_CODE):
            continue
        inside = part.numbers_cited_in(quoted.start, quoted.end)
        beside = part.numbers_cited_beside(quoted, bool(inside)) or (
            () if inside else part.beside.get(quoted.start, ())
        )
        kind = QuoteKind.CODE if quoted.code else QuoteKind.MARKS
        readings = tuple(dict.fromkeys((text.strip(), bare, bare if quoted.code else _decode_entities(bare))))
        cited = tuple(dict.fromkeys((*inside, *beside)))
        quotation = Quotation(part.line_at(quoted.start), kind, readings, cited, beside)
        yield _PlacedQuotation(quoted.start, quoted.end, quotation)


def _find_block_quotation(
    part: _AnswerBlock, before: _AnswerBlock | None, after: _AnswerBlock | None
) -> Iterator[_PlacedQuotation]:
    """Yield a paragraph of a blockquote as a quotation, with the source numbers cited for it.

    These are cited in the paragraph, else at the end of the block `before` or in or at the beginning of the block
    `after`. An attribution, a line that only names the source, is no quotation.
    """
    text = part.block.text.strip()
    bare = part.paragraph.without_citations(0, len(part.block.text))
    if _ATTRIBUTION.match(text) or not _LETTER.search(bare):
        return
    plain = _decode_entities(_strip_quotation_marks(_ATTRIBUTION.sub("", bare).strip()))
    readings = tuple(dict.fromkeys((text, bare, plain) if _LETTER.search(plain) else (text, bare)))
    inside = part.numbers_cited_in(0, len(part.block.text))
    beside = () if inside else _find_citations_beside(before, after)
    quotation = Quotation(part.block.line, QuoteKind.BLOCK, readings, inside or beside, beside)
    yield _PlacedQuotation(0, len(part.block.text), quotation)


def _find_citations_beside(before: _AnswerBlock | None, after: _AnswerBlock | None) -> tuple[int, ...]:
    """Return the source numbers cited for a blockquote in the block before, else in the block after."""
    if before and not before.block.quoted and before.block.text.rstrip(" *_").endswith((":", "：")):
        cited = before.numbers_cited_in(*before.sentences[-1])
        if cited:
            return cited
    if not after:
        return ()
    named = after.block.quoted and _ATTRIBUTION.match(after.block.text.strip())
    return after.numbers_cited_in(0, len(after.block.text)) if named else after.paragraph.numbers_cited_after(0)


def _strip_quotation_marks(text: str) -> str:
    """Return `text` without the quotation marks around it.

    A quotation over several blocks may have one at one end.
    """
    marks = Paragraph(text).quotation_marks
    match marks.quoted:
        case [QuotedSpan(start=0) as whole] if whole.end == len(text):
            return text[whole.inner_start : whole.inner_end].strip()
    start = next((mark.end for mark in marks.opened if mark.start == 0), 0)
    end = next((mark.start for mark in marks.closed if mark.end == len(text)), len(text))
    return text[start:end].strip()


def _decode_entities(text: str) -> str:
    """Return `text` with HTML entities replaced by their characters."""
    return _ENTITY.sub(lambda match: unescape(match[0]), text)


def _split_sentences(part: _AnswerBlock) -> Iterator[Sentence]:
    """Yield the sentences of a block with the source numbers they cite."""
    for start, end in part.sentences:
        cited = part.numbers_cited_in(start, end)
        if part.block.heading and not cited:
            continue  # a title makes no claim
        text = part.paragraph.without_citations(start, end)
        first, last = indexes_within(part.paragraph.quoted, start, end)
        quoted = [span for span in part.paragraph.quoted[first:last] if not span.code]
        starts = [start, *(min(span.end, end) for span in quoted)]
        ends = [*(span.start for span in quoted), end]
        unquoted = " — ".join(map(part.paragraph.without_citations, starts, ends))
        yield Sentence(part.line_at(start), text, cited, unquoted)
