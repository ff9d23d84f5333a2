"""Detection of citations, quotations, code spans and sentences in a paragraph of an LLM's answer.

Offsets count characters of the paragraph; `end` is exclusive. All are searched for in a copy of the text in which code,
link targets and HTML tags are blanked out.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property
from html import unescape
from itertools import chain
from typing import Protocol

from msgspec import Struct

from excerpt.base.patterns import lazy_pattern
from excerpt.text.fragments import count_words
from excerpt.text.languages import WIDE_CHARACTERS


class CitationSpan(Struct, frozen=True):
    """The span of a citation such as `[1, 3-5]`, with the numbers of the cited sources.

    `ranges` are disjoint ranges of these numbers; `[1-999]` is one range.
    """

    start: int
    end: int
    ranges: tuple[range, ...]


class QuotedSpan(Struct, frozen=True):
    """The span of a passage in quotation marks, or (`code`) of a code span.

    `start` to `end` includes the marks; `inner_start` to `inner_end` is the text between the marks.
    """

    start: int
    end: int
    inner_start: int
    inner_end: int
    code: bool = False


_BLANK = "\ufffc"  # no space, letter or mark
_CODE = lazy_pattern(r"(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)", re.DOTALL)
_LINK_TARGET_OR_HTML = lazy_pattern(r"(?<=\]\()[^()\n]+(?=\))|</?(?![qQ]\b)[A-Za-z][^<>]*>|<https?://[^<>\s]*>")

# --- citations --------------------------------------------------------------------------------------------------------

# [1], \[1\], [Source 1, 3-5], [^1]; what browsing models write, 【1†L3-L5】 and 【1:0†name】; full-width brackets. Not
# the text of a link: [1](url), [[1]](url).
_BRACKETED = lazy_pattern(r"\\?\[([^\[\]\n\\]{1,80})\\?\](?!\]?\()|【([^【】\n]{1,120})】|［([^［］\n]{1,80})］")
_LABEL = (
    r"(?:(?:sources?|src|documents?|docs?|references?|refs?|passages?|citations?|quellen?|fuentes?|fontes?|fonti|"
    r"источники?|来源|出典|資料|출처)\b[.:]?\s*)?[#^]?\s*"
)
_NUMBER = r"\d{1,3}(?:\s*[-\u2010-\u2014]\s*\d{1,3})?"
_PLACE = r"(?:\s*†.*|:\d+†.*|,?\s*(?:lines?|ll?\.?|zeilen?|z\.|pp?\.|§)\s*\d.*)?"
_CITATION_LIST = lazy_pattern(
    rf"\s*({_LABEL}{_NUMBER}(?:\s*(?:[,;、，]|&|and|und|et|y)\s*{_LABEL}{_NUMBER})*){_PLACE}\s*", re.IGNORECASE
)
_NUMBERS = lazy_pattern(_NUMBER)


def unique_numbers(ranges: Iterable[range]) -> tuple[int, ...]:
    """Return the numbers in `ranges`, each once, in order of first occurrence."""
    return tuple(dict.fromkeys(chain.from_iterable(dict.fromkeys(ranges))))


def _cited_ranges(listed: str) -> tuple[range, ...]:
    """Return the ranges of source numbers in `listed`, the text in the brackets of a possible citation.

    Returns () if it cannot be a citation: sources are numbered from 1, so a list with a 0 is an index or an interval.
    """
    ranges: list[range] = []
    for part in _NUMBERS.findall(listed):
        first, *rest = (int(number) for number in re.findall(r"\d+", part))
        last = rest[0] if rest else first
        if not 1 <= first <= last:
            return ()
        ranges.append(range(first, last + 1))
    if len(ranges) < 2:
        return tuple(ranges)
    return tuple(range(number, number + 1) for number in unique_numbers(ranges))


def _find_citations(text: str, own_labels: Container[str]) -> Iterator[CitationSpan]:
    """Yield the citations in `text`.

    `own_labels` are labels in brackets that the answer itself defines, and that are no citations: footnotes (`^1`) and
    links by reference (`1`).
    """
    end = -1
    for bracketed in _BRACKETED.finditer(text):
        start = bracketed.start()
        inside = next(group for group in bracketed.groups() if group is not None)
        listed = _CITATION_LIST.fullmatch(inside)
        ranges = _cited_ranges(listed[1]) if listed else ()
        if not ranges or inside.strip() in own_labels:
            continue
        if text[start - 1 : start] == "]" and start != end:
            continue  # [text][1]: a link by reference
        if text[bracketed.end() : bracketed.end() + 1] == ":" and not text[:start].rpartition("\n")[2].strip():
            continue  # [1]: the target of such a link
        end = bracketed.end()
        double = text[start - 1 : start] == "[" and text[end : end + 1] == "]"
        yield CitationSpan(start - double, end + double, ranges)


# --- quotation marks --------------------------------------------------------------------------------------------------

# Closing marks for each opening mark: English, German and Polish, Swedish, French, Danish, Chinese and Japanese.
# Straight and curly ones may close each other.
_CLOSERS: dict[str, Container[str]] = {
    '"': '"”', "“": '”"“', "„": '“”"', "‟": "”", "”": "”", "«": "»", "»": "«»", "‹": "›", "›": "‹›", "「": "」",
    "『": "』", "｢": "｣", "﹁": "﹂", "﹃": "﹄", "〝": "〞〟", "＂": "＂", "'": "'’", "‘": "’'", "‛": "’", "‚": "‘’'",
    "’": "’", "＇": "＇", "''": ("''",), "<q>": ("</q>",),
}  # fmt: skip
_ONLY_OPEN = frozenset(("„", "‟", "「", "『", "｢", "﹁", "﹃", "〝", "‚", "‛", "<q>"))
_MOSTLY_CLOSE = frozenset("”»›’")  # opening only in Swedish and German, after a space
_SINGLE = frozenset("'‘’")  # each of them may be an apostrophe
_MARK = lazy_pattern(
    r"\\?\"|''|[“”„‟«»‹›「」『』｢｣﹁﹂﹃﹄〝〞〟＂'‘’‛‚＇]|&(?:#\d{2,5}|#[xX][\dA-Fa-f]{2,4}|[A-Za-z]{4,6});|<(/?)[qQ]\b[^<>]*>"
)
_WIDE = lazy_pattern(f"[{WIDE_CHARACTERS}]")
_WORD_JOINED = lazy_pattern(rf"[*_~]*[^\W{WIDE_CHARACTERS}]")
_WORD_FOLLOWS = lazy_pattern(r"\s+[\w*_~\ufffc]")
_CLAUSE_ENDS = lazy_pattern(r"\s|$|[)\]},;:!?]|\.(?![\w.])")
# Text after an apostrophe: '90s, 'tis, rock 'n' roll; after code or a link, 's.
_ELIDED = lazy_pattern(
    r"(?:\d|(?:s|t|d|m|k|ll|re|ve|n|ne|nen|em|im|er|e|til|till|tis|twas|twere|twould|twill|cause|cuz|coz|bout|round"
    r"|neath|gainst|cept|nother|ere|ello|ave|ow)(?!\w))",
    re.IGNORECASE,
)
# Text before an apostrophe: the users' notes, rockin' chairs, 5' 6".
_SHORTENED = lazy_pattern(r"(?:[sxz\d\ufffc]|\win|\b(?:o|n|ol|an|th|mo|lil|wi))[*_~]*$", re.IGNORECASE)
_LONGEST_SHORTENED = 8
_MIN_ELIDED = 2  # minimum words between marks if the first one may be an apostrophe
_LONGEST_ELIDED = 100  # characters in which these words are counted
_MAX_NESTED = 8


class QuotationMark(Struct, frozen=True):
    """A quotation mark in a text, at `start` to `end`.

    `sign` is the mark as one character (`"` for `&quot;` and `&#34;`). `opens` and `closes` say whether the mark may
    open or close a quotation where it is. A `weak` mark may instead be an apostrophe or a sign for feet or inches.
    """

    start: int
    end: int
    sign: str
    opens: bool
    closes: bool
    weak: bool = False

    @property
    def single(self) -> bool:
        """Whether the mark is a single quotation mark, which may be an apostrophe."""
        return self.sign in _SINGLE

    def pairs_with(self, other: QuotationMark) -> bool:
        """Return whether `other` may close the quotation that this mark opens."""
        return other.closes and other.sign in _CLOSERS[self.sign]


class QuotationMarks(Struct, frozen=True):
    """The quotation marks of a text, without apostrophes.

    `quoted` are the outermost passages in quotation marks; `opened` are opening marks without a closing mark, `closed`
    closing marks without an opening mark.
    """

    quoted: list[QuotedSpan]
    opened: list[QuotationMark]
    closed: list[QuotationMark]


def _find_marks(text: str) -> Iterator[QuotationMark]:
    for match in _MARK.finditer(text):
        written = match[0]
        if written[0] == "<":
            yield QuotationMark(match.start(), match.end(), f"<{match[1]}q>", opens=not match[1], closes=bool(match[1]))
            continue
        sign = unescape(written) if written[0] == "&" else written.removeprefix("\\")
        if _MARK.fullmatch(sign) and (mark := _classify_mark(text, match.start(), match.end(), sign)):
            yield mark


def _classify_mark(text: str, start: int, end: int, sign: str) -> QuotationMark | None:
    """Classify a mark by the characters around it; return None if it is no quotation mark.

    `sign` is the mark as one character. A mark within a word or with spaces around it is no quotation mark.
    """
    before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
    if sign in _ONLY_OPEN:
        return QuotationMark(start, end, sign, opens=True, closes=False)
    if sign not in _CLOSERS:
        return QuotationMark(start, end, sign, opens=False, closes=True)
    behind_word = before.isalnum() and not _WIDE.match(before)
    single = sign in _SINGLE
    if behind_word and after.isalnum() and not _WIDE.match(after):
        return None
    opens = not behind_word and not _CLAUSE_ENDS.match(text, end)
    begins = opens and (before.isspace() or before in "([{")
    if sign in _MOSTLY_CLOSE:
        opens = opens and (before.isspace() or before in "([{*_~-–—")
    if not single:
        weak = sign == '"' and before.isdigit() and bool(_WORD_FOLLOWS.match(text, end))
        opens = opens or (sign in "“«‹" and (before.isspace() or sign != "“"))
        return QuotationMark(start, end, sign, opens=opens, closes=not begins, weak=weak)
    closes = not begins and not before.isspace() and not _WORD_JOINED.match(text, end)
    if not closes:
        return QuotationMark(start, end, sign, True, False, bool(_ELIDED.match(text, end))) if opens else None
    weak = not opens and _follows_shortened_word(text, start) and bool(_WORD_FOLLOWS.match(text, end))
    return QuotationMark(start, end, sign, opens, closes, weak)


def _follows_shortened_word(text: str, offset: int) -> bool:
    """Return whether a mark at `offset` may be the apostrophe after a shortened word, or the sign for feet."""
    return bool(_SHORTENED.search(text, max(offset - _LONGEST_SHORTENED, 0), offset))


def _may_be_apostrophe_or_unit(text: str, mark: QuotationMark) -> bool:
    """Return whether a closing mark may be an apostrophe, or the sign for feet or inches."""
    if mark.single:
        return _follows_shortened_word(text, mark.start)
    return mark.sign == '"' and text[mark.start - 1 : mark.start].isdigit()


def _pair_marks(text: str) -> QuotationMarks:
    marks = list(_find_marks(text))
    later = _flag_closed_later(text, marks)
    pairs: list[QuotedSpan] = []
    lost: list[QuotationMark] = []
    closed: list[QuotationMark] = []
    stack: list[QuotationMark] = []
    for mark, is_inner in zip(marks, later, strict=True):
        depth = next((at for at in reversed(range(len(stack))) if _is_pair(text, stack[at], mark)), None)
        if depth is not None:
            if mark.weak and (is_inner or depth < len(stack) - 1):
                continue
            opened = stack[depth]
            del stack[depth:]
            if opened.end < mark.start:
                pairs.append(QuotedSpan(opened.start, mark.end, opened.end, mark.start))
        elif mark.opens:
            stack.append(mark)
            if len(stack) > _MAX_NESTED:
                lost.append(stack.pop(0))
        elif text[max(mark.start - 1, 0) : mark.start].strip() and not _may_be_apostrophe_or_unit(text, mark):
            closed.append(mark)
    quoted = _select_outermost(pairs)
    opened_alone = sorted((m for m in [*lost, *stack] if not m.weak and m.sign != "’"), key=_span_start)
    return QuotationMarks(
        quoted,
        [mark for mark in opened_alone if enclosing_index(quoted, mark.start) is None],
        [mark for mark in closed if enclosing_index(quoted, mark.start) is None],
    )


def _is_pair(text: str, opened: QuotationMark, mark: QuotationMark) -> bool:
    """Return whether `mark` closes the quotation that `opened` opens; not if both marks may be apostrophes."""
    if not opened.pairs_with(mark):
        return False
    if not opened.weak:
        return True
    inner = text[opened.end : min(mark.start, opened.end + _LONGEST_ELIDED)]
    return not mark.weak and not _may_be_apostrophe_or_unit(text, mark) and count_words(inner) >= _MIN_ELIDED


def _flag_closed_later(text: str, marks: Sequence[QuotationMark]) -> list[bool]:
    """Return, for each mark, whether it is weak (maybe an apostrophe) and a later, clear mark closes the quotation."""
    later: list[bool] = []
    sure: dict[str, bool] = {}
    for mark in reversed(marks):
        family = "'" if mark.sign in _SINGLE else mark.sign
        later.append(mark.weak and not mark.opens and sure.get(family, False))
        if not mark.weak:
            sure[family] = mark.closes and not mark.opens and not text[mark.start - 1].isdigit()
    return later[::-1]


def _select_outermost(pairs: Iterable[QuotedSpan]) -> list[QuotedSpan]:
    outermost: list[QuotedSpan] = []
    for quoted in sorted(pairs, key=lambda quoted: (quoted.start, -quoted.end)):
        if not outermost or quoted.start >= outermost[-1].end:
            outermost.append(quoted)
    return outermost


class _Span(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def indexes_within(spans: Sequence[_Span], start: int, end: int) -> tuple[int, int]:
    """Return the index range (first, end) of the spans that begin within `start` to `end`; `spans` are sorted."""
    first = bisect_left(spans, start, key=_span_start)
    return first, max(bisect_left(spans, end, key=_span_start), first)


def enclosing_index(spans: Sequence[_Span], offset: int) -> int | None:
    """Return the index of the span around the character at `offset`, or None; `spans` are sorted and disjoint."""
    before = bisect_right(spans, offset, key=_span_start) - 1
    return before if before >= 0 and offset < spans[before].end else None


def _span_start(span: _Span) -> int:
    return span.start


# --- sentences --------------------------------------------------------------------------------------------------------

_STOP = lazy_pattern(r"[.!?…]+|[。！？]+")
_AFTER_STOP = lazy_pattern(r"(?:[\"'”“»«›」』’)\]*_~]|&(?:quot|#34|#39|apos|[lr][sd]quo|[lr]s?aquo);|</[qQ]>)*")
_BEFORE_STOP = lazy_pattern(r"(?:^|[\s(\[\"“„«])([\w.]+)$")
_SIGNS = lazy_pattern(r"[\s.,;:!?…*_~—–\-。，、；：！？（(]*")
_LISTING = lazy_pattern(r"[\s,;，；、]*")
_LINE_BEGINS = lazy_pattern(r"^[^\S\n]*", re.MULTILINE)
_ONE_STOP = lazy_pattern(r"[.。]?")
_SPACE = lazy_pattern(r"\s*")
_ABBREVIATED = frozenset(
    ("e.g", "i.e", "eg", "ie", "cf", "vs", "dr", "mr", "mrs", "ms", "prof", "st", "fig", "approx", "resp", "vgl", "bzw")
)


def without_code(text: str) -> str:
    """Return `text` with its code spans replaced by blanking characters."""
    return _blank_spans(text, [match.span() for match in _CODE.finditer(text)])


class Paragraph:
    """A paragraph with its citations, quotations and code spans.

    `own_labels` are labels in brackets that the answer itself defines (footnotes, links); they are no citations.
    """

    def __init__(self, text: str, own_labels: Container[str] = frozenset()) -> None:
        self.text = text
        self._codes = [
            QuotedSpan(match.start(), match.end(), match.start(2), match.end(2), code=True)
            for match in _CODE.finditer(text)
        ]
        blotted = _blank_spans(text, [(code.start, code.end) for code in self._codes])
        self._prose = _blank_spans(blotted, [match.span() for match in _LINK_TARGET_OR_HTML.finditer(blotted)])
        self.cited = list(_find_citations(self._prose, own_labels))

    @cached_property
    def quotation_marks(self) -> QuotationMarks:
        """The quotation marks of the paragraph."""
        return _pair_marks(self._prose)

    def is_at_start(self, offset: int) -> bool:
        """Return whether the paragraph has only Markdown marks before `offset`."""
        return not self._prose[:offset].strip(" \t\n*_~>-")

    def starts_with_mark(self, mark_text: str, span: QuotedSpan | QuotationMark) -> bool:
        """Return whether the text of `span` begins with `mark_text`."""
        return self._prose.startswith(mark_text, span.start)

    def add_quotation(self, start: int, end: int, inner_start: int, inner_end: int) -> QuotedSpan:
        """Add a quotation whose quotation marks are in other paragraphs, and return its span."""
        quoted = QuotedSpan(start, end, inner_start, inner_end)
        marked = self.quotation_marks
        self.quotation_marks = QuotationMarks(
            _select_outermost([*marked.quoted, quoted]),
            [mark for mark in marked.opened if not start <= mark.start < end],
            [mark for mark in marked.closed if not start <= mark.start < end],
        )
        self.__dict__.pop("quoted", None)
        return quoted

    @cached_property
    def quoted(self) -> list[QuotedSpan]:
        """The passages in quotation marks, and the code spans outside these passages, by position."""
        marked = self.quotation_marks.quoted
        codes = [code for code in self._codes if enclosing_index(marked, code.start) is None]
        return sorted([*marked, *codes], key=_span_start)

    def citations_in(self, start: int, end: int) -> list[CitationSpan]:
        """Return the citations that begin within `start` to `end`."""
        return self.cited[slice(*indexes_within(self.cited, start, end))]

    def without_citations(self, start: int, end: int) -> str:
        """Return the text from `start` to `end` without citations."""
        pieces, at = [], start
        for cited in self.citations_in(start, end):
            pieces.append(self.text[at : cited.start].rstrip(" \t"))
            at = cited.end
        return "".join((*pieces, self.text[at:end])).strip()

    def numbers_cited_after(self, end: int) -> tuple[int, ...]:
        """Return the source numbers of the citations directly after offset `end`."""
        ranges: list[range] = []
        between = _SIGNS
        for number in range(indexes_within(self.cited, end, end)[0], len(self.cited)):
            cited = self.cited[number]
            if not between.fullmatch(self._prose, end, cited.start):
                break
            ranges += cited.ranges
            end, between = cited.end, _LISTING
        return unique_numbers(ranges)

    def sentences(self) -> list[tuple[int, int]]:
        """Return (start, end) of each sentence. A citation after a full stop belongs to the sentence before."""
        spans, start = [], 0
        for end in sorted(
            {*self._source_list_starts(), *map(self._sentence_end, _STOP.finditer(self._prose)), len(self.text)}
        ):
            sentence = self.text[start:end]
            if sentence.strip():
                spans.append((start + len(sentence) - len(sentence.lstrip()), end))
                start = end
        return spans

    def _source_list_starts(self) -> list[int]:
        """Return where lines begin in a list of sources without bullets: two or more lines that begin with `[n]`."""
        lines = {match.end() for match in _LINE_BEGINS.finditer(self._prose)}
        begins = [cited.start for cited in self.cited if cited.start in lines]
        return begins if len(begins) > 1 else []

    def _sentence_end(self, stop: re.Match[str]) -> int:
        """Return the offset where the sentence with this full stop ends; 0 if the sentence continues."""
        wide = stop[0][0] in "。！？"
        at = stop.end()
        enclosing = enclosing_index(self.quoted, stop.start())
        if enclosing is not None:
            if self._prose[at : self.quoted[enclosing].inner_end].strip():
                return 0
            at = self.quoted[enclosing].end
        at = self._match(_AFTER_STOP, at)
        before = at
        at = self._after_citations(at)
        if wide:
            return at
        if not self._prose[at : at + 1].isspace() and at < len(self._prose):
            return 0
        if self._prose[(begin := self._match(_SPACE, at)) : begin + 1].islower():
            # "... meet. [2] says that ...": if a sentence begins here, it begins with the citation.
            return before if at > before and self._prose[before : before + 1].isspace() else 0
        word = _BEFORE_STOP.search(self._prose, max(stop.start() - 12, 0), stop.start())
        short = word and (len(word[1]) == 1 or word[1].lower() in _ABBREVIATED)
        return 0 if short and stop[0] == "." and at == before else at

    def _after_citations(self, offset: int) -> int:
        for number in range(indexes_within(self.cited, offset, offset)[0], len(self.cited)):
            cited = self.cited[number]
            if self._prose[offset : cited.start].strip(" \t"):
                break
            offset = self._match(_ONE_STOP, cited.end)
        return offset

    def _match(self, pattern: re.Pattern[str], offset: int) -> int:
        match = pattern.match(self._prose, offset)
        return match.end() if match else offset


def _blank_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], _BLANK * (end - start)]
        at = end
    return "".join((*parts, text[at:]))
