"""Citations, quotations, code spans and sentences of one paragraph.

Offsets count characters of the paragraph, `end` exclusive. Everything is searched in a copy of the text in which code,
link targets and HTML tags are blanked.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from itertools import chain
from typing import Protocol

from excerpt.text.fragments import words_in
from excerpt.text.words import WIDE_CHARACTERS


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation with the numbers of the sources it names, as disjoint ranges: [1-999] is one."""

    start: int
    end: int
    ranges: tuple[range, ...]


@dataclass(frozen=True, slots=True)
class Quoted:
    """A passage in quotation marks, or a code span: the range with its marks, and the range between them."""

    start: int
    end: int
    inner_start: int
    inner_end: int
    code: bool = False


_BLOT = "\ufffc"  # no space, letter or mark
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)", re.DOTALL)
_NO_PROSE = re.compile(r"(?<=\]\()[^()\n]+(?=\))|</?(?![qQ]\b)[A-Za-z][^<>]*>|<https?://[^<>\s]*>")

# --- citations --------------------------------------------------------------------------------------------------------

# [1], \[1\], [Source 1, 3-5], [^1]; what browsing models write, 【1†L3-L5】 and 【1:0†name】; full-width brackets. Not
# the text of a link: [1](url), [[1]](url).
_BRACKETED = re.compile(r"\\?\[([^\[\]\n\\]{1,80})\\?\](?!\]?\()|【([^【】\n]{1,120})】|［([^［］\n]{1,80})］")
_LABEL = (
    r"(?:(?:sources?|src|documents?|docs?|references?|refs?|passages?|citations?|quellen?|fuentes?|fontes?|fonti|"
    r"источники?|来源|出典|資料|출처)\b[.:]?\s*)?[#^]?\s*"
)
_NUMBER = r"\d{1,3}(?:\s*[-\u2010-\u2014]\s*\d{1,3})?"
_PLACE = r"(?:\s*†.*|:\d+†.*|,?\s*(?:lines?|ll?\.?|zeilen?|z\.|pp?\.|§)\s*\d.*)?"
_LISTED = re.compile(
    rf"\s*({_LABEL}{_NUMBER}(?:\s*(?:[,;、，]|&|and|und|et|y)\s*{_LABEL}{_NUMBER})*){_PLACE}\s*", re.IGNORECASE
)
_NUMBERS = re.compile(_NUMBER)


def numbers_in(ranges: Iterable[range]) -> tuple[int, ...]:
    """Return the numbers of `ranges`, each once."""
    return tuple(dict.fromkeys(chain.from_iterable(dict.fromkeys(ranges))))


def _ranges(listed: str) -> tuple[range, ...]:
    """Return the numbers that a citation names; nothing if it is no citation.

    Sources are numbered from 1, so a list with a 0 is an index or an interval.
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
    return tuple(range(number, number + 1) for number in numbers_in(ranges))


def _cited_in(text: str, own: Container[str]) -> Iterator[Cited]:
    """Yield the citations of a text.

    `own` are the labels that the answer itself defines: footnotes (^n) and links to the web (n).
    """
    end = -1
    for bracketed in _BRACKETED.finditer(text):
        start = bracketed.start()
        inside = next(group for group in bracketed.groups() if group is not None)
        listed = _LISTED.fullmatch(inside)
        ranges = _ranges(listed[1]) if listed else ()
        if not ranges or inside.strip() in own:
            continue
        if text[start - 1 : start] == "]" and start != end:
            continue  # [text][1]: a link by reference
        if text[bracketed.end() : bracketed.end() + 1] == ":" and not text[:start].rpartition("\n")[2].strip():
            continue  # [1]: the target of such a link
        end = bracketed.end()
        double = text[start - 1 : start] == "[" and text[end : end + 1] == "]"
        yield Cited(start - double, end + double, ranges)


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
_MARK = re.compile(
    r"\\?\"|''|[“”„‟«»‹›「」『』｢｣﹁﹂﹃﹄〝〞〟＂'‘’‛‚＇]|&(?:#\d{2,5}|#[xX][\dA-Fa-f]{2,4}|[A-Za-z]{4,6});|<(/?)[qQ]\b[^<>]*>"
)
_WIDE = re.compile(f"[{WIDE_CHARACTERS}]")
_WORD_JOINED = re.compile(rf"[*_~]*[^\W{WIDE_CHARACTERS}]")
_WORD_FOLLOWS = re.compile(r"\s+[\w*_~\ufffc]")
_CLAUSE_ENDS = re.compile(r"\s|$|[)\]},;:!?]|\.(?![\w.])")
# Text after an apostrophe: '90s, 'tis, rock 'n' roll; after code or a link, 's.
_ELIDED = re.compile(
    r"(?:\d|(?:s|t|d|m|k|ll|re|ve|n|ne|nen|em|im|er|e|til|till|tis|twas|twere|twould|twill|cause|cuz|coz|bout|round"
    r"|neath|gainst|cept|nother|ere|ello|ave|ow)(?!\w))",
    re.IGNORECASE,
)
# Text before an apostrophe: the users' notes, rockin' chairs, 5' 6".
_SHORTENED = re.compile(r"(?:[sxz\d\ufffc]|\win|\b(?:o|n|ol|an|th|mo|lil|wi))[*_~]*$", re.IGNORECASE)
_LONGEST_SHORTENED = 8
_MIN_ELIDED = 2  # minimum words between marks if the first one may be an apostrophe
_LONGEST_ELIDED = 100  # characters in which these words are counted
_MAX_NESTED = 8


@dataclass(frozen=True, slots=True)
class QuoteSign:
    """A quotation mark with its normalised `sign` (for ", &quot; or &#34;), and whether it may open or close there.

    A `weak` one may be an apostrophe or a sign of measure.
    """

    start: int
    end: int
    sign: str
    opens: bool
    closes: bool
    weak: bool = False

    @property
    def single(self) -> bool:
        """Whether it may be an apostrophe."""
        return self.sign in _SINGLE

    def pairs_with(self, other: QuoteSign) -> bool:
        """Return whether what this mark opens may be closed by `other`."""
        return other.closes and other.sign in _CLOSERS[self.sign]


@dataclass(frozen=True, slots=True)
class Marked:
    """The quotation marks of a text: `quoted` are the outermost passages, `opened` and `closed` the unpaired marks.

    Apostrophes are not included.
    """

    quoted: list[Quoted]
    opened: list[QuoteSign]
    closed: list[QuoteSign]


def _marks(text: str) -> Iterator[QuoteSign]:
    for match in _MARK.finditer(text):
        written = match[0]
        if written[0] == "<":
            yield QuoteSign(match.start(), match.end(), f"<{match[1]}q>", opens=not match[1], closes=bool(match[1]))
            continue
        sign = unescape(written) if written[0] == "&" else written.removeprefix("\\")
        if _MARK.fullmatch(sign) and (mark := _quote_sign(text, match.start(), match.end(), sign)):
            yield mark


def _quote_sign(text: str, start: int, end: int, sign: str) -> QuoteSign | None:
    """Return the mark as its neighbours determine it; None if it is within a word or isolated."""
    before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
    if sign in _ONLY_OPEN:
        return QuoteSign(start, end, sign, opens=True, closes=False)
    if sign not in _CLOSERS:
        return QuoteSign(start, end, sign, opens=False, closes=True)
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
        return QuoteSign(start, end, sign, opens=opens, closes=not begins, weak=weak)
    closes = not begins and not before.isspace() and not _WORD_JOINED.match(text, end)
    if not closes:
        return QuoteSign(start, end, sign, True, False, bool(_ELIDED.match(text, end))) if opens else None
    weak = not opens and _is_shortened(text, start) and bool(_WORD_FOLLOWS.match(text, end))
    return QuoteSign(start, end, sign, opens, closes, weak)


def _is_shortened(text: str, offset: int) -> bool:
    """Return whether an apostrophe at `offset` may mark the end of a word, or feet."""
    return bool(_SHORTENED.search(text, max(offset - _LONGEST_SHORTENED, 0), offset))


def _is_measure(text: str, mark: QuoteSign) -> bool:
    """Return whether a closing mark may mean inches or be an apostrophe."""
    if mark.single:
        return _is_shortened(text, mark.start)
    return mark.sign == '"' and text[mark.start - 1 : mark.start].isdigit()


def _pair_signs(text: str) -> Marked:
    marks = list(_marks(text))
    later = _closed_later(text, marks)
    pairs: list[Quoted] = []
    lost: list[QuoteSign] = []
    closed: list[QuoteSign] = []
    stack: list[QuoteSign] = []
    for mark, is_inner in zip(marks, later, strict=True):
        depth = next((at for at in reversed(range(len(stack))) if _pairs(text, stack[at], mark)), None)
        if depth is not None:
            if mark.weak and (is_inner or depth < len(stack) - 1):
                continue
            opened = stack[depth]
            del stack[depth:]
            if opened.end < mark.start:
                pairs.append(Quoted(opened.start, mark.end, opened.end, mark.start))
        elif mark.opens:
            stack.append(mark)
            if len(stack) > _MAX_NESTED:
                lost.append(stack.pop(0))
        elif text[max(mark.start - 1, 0) : mark.start].strip() and not _is_measure(text, mark):
            closed.append(mark)
    quoted = _outermost(pairs)
    opened_alone = sorted((m for m in [*lost, *stack] if not m.weak and m.sign != "’"), key=_start)
    return Marked(
        quoted,
        [mark for mark in opened_alone if enclosing_index(quoted, mark.start) is None],
        [mark for mark in closed if enclosing_index(quoted, mark.start) is None],
    )


def _pairs(text: str, opened: QuoteSign, mark: QuoteSign) -> bool:
    """Return whether `mark` closes `opened`. If both may be apostrophes, they enclose no quotation."""
    if not opened.pairs_with(mark):
        return False
    if not opened.weak:
        return True
    inner = text[opened.end : min(mark.start, opened.end + _LONGEST_ELIDED)]
    return not mark.weak and not _is_measure(text, mark) and words_in(inner) >= _MIN_ELIDED


def _closed_later(text: str, marks: Sequence[QuoteSign]) -> list[bool]:
    """Return for each weak mark whether a later mark that is not weak closes what it could close."""
    later: list[bool] = []
    sure: dict[str, bool] = {}
    for mark in reversed(marks):
        family = "'" if mark.sign in _SINGLE else mark.sign
        later.append(mark.weak and not mark.opens and sure.get(family, False))
        if not mark.weak:
            sure[family] = mark.closes and not mark.opens and not text[mark.start - 1].isdigit()
    return later[::-1]


def _outermost(pairs: Iterable[Quoted]) -> list[Quoted]:
    outermost: list[Quoted] = []
    for quoted in sorted(pairs, key=lambda quoted: (quoted.start, -quoted.end)):
        if not outermost or quoted.start >= outermost[-1].end:
            outermost.append(quoted)
    return outermost


class _Span(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def within(spans: Sequence[_Span], start: int, end: int) -> tuple[int, int]:
    """Return the first of the sorted spans that begins at or after `start`, and the first at or after `end`."""
    first = bisect_left(spans, start, key=_start)
    return first, max(bisect_left(spans, end, key=_start), first)


def enclosing_index(spans: Sequence[_Span], offset: int) -> int | None:
    """Return the index of the one of sorted, disjoint spans that holds the character at `offset`; None without one."""
    before = bisect_right(spans, offset, key=_start) - 1
    return before if before >= 0 and offset < spans[before].end else None


def _start(span: _Span) -> int:
    return span.start


# --- sentences --------------------------------------------------------------------------------------------------------

_STOP = re.compile(r"[.!?…]+|[。！？]+")
_AFTER_STOP = re.compile(r"(?:[\"'”“»«›」』’)\]*_~]|&(?:quot|#34|#39|apos|[lr][sd]quo|[lr]s?aquo);|</[qQ]>)*")
_BEFORE_STOP = re.compile(r"(?:^|[\s(\[\"“„«])([\w.]+)$")
_SIGNS = re.compile(r"[\s.,;:!?…*_~—–\-。，、；：！？（(]*")
_LISTING = re.compile(r"[\s,;，；、]*")
_LINE_BEGINS = re.compile(r"^[^\S\n]*", re.MULTILINE)
_ONE_STOP = re.compile(r"[.。]?")
_SPACE = re.compile(r"\s*")
_ABBREVIATED = frozenset(
    ("e.g", "i.e", "eg", "ie", "cf", "vs", "dr", "mr", "mrs", "ms", "prof", "st", "fig", "approx", "resp", "vgl", "bzw")
)


def without_code(text: str) -> str:
    """Return `text` with its code spans blanked."""
    return _blank_out(text, [match.span() for match in _CODE.finditer(text)])


class Paragraph:
    """A paragraph with its citations, quotations and code spans."""

    def __init__(self, text: str, own: Container[str] = frozenset()) -> None:
        self.text = text
        self._codes = [
            Quoted(match.start(), match.end(), match.start(2), match.end(2), code=True)
            for match in _CODE.finditer(text)
        ]
        blotted = _blank_out(text, [(code.start, code.end) for code in self._codes])
        self._prose = _blank_out(blotted, [match.span() for match in _NO_PROSE.finditer(blotted)])
        self.cited = list(_cited_in(self._prose, own))

    @cached_property
    def marked(self) -> Marked:
        return _pair_signs(self._prose)

    def begins(self, offset: int) -> bool:
        """Return whether only Markdown markers are before `offset`."""
        return not self._prose[:offset].strip(" \t\n*_~>-")

    def has(self, written: str, each: Quoted | QuoteSign) -> bool:
        """Return whether `each` begins with a mark that is written as `written`."""
        return self._prose.startswith(written, each.start)

    def quote(self, start: int, end: int, inner_start: int, inner_end: int) -> Quoted:
        """Mark this range as quoted; its quotation marks are in other paragraphs."""
        quoted = Quoted(start, end, inner_start, inner_end)
        marked = self.marked
        self.marked = Marked(
            _outermost([*marked.quoted, quoted]),
            [mark for mark in marked.opened if not start <= mark.start < end],
            [mark for mark in marked.closed if not start <= mark.start < end],
        )
        self.__dict__.pop("quoted", None)
        return quoted

    @cached_property
    def quoted(self) -> list[Quoted]:
        """Passages in quotation marks, and the code spans outside of them."""
        marked = self.marked.quoted
        codes = [code for code in self._codes if enclosing_index(marked, code.start) is None]
        return sorted([*marked, *codes], key=_start)

    def cited_from(self, start: int, end: int) -> list[Cited]:
        """Return the citations from `start` to `end`."""
        return self.cited[slice(*within(self.cited, start, end))]

    def without_citations(self, start: int, end: int) -> str:
        """Return the text from `start` to `end` without the citations in it."""
        pieces, at = [], start
        for cited in self.cited_from(start, end):
            pieces.append(self.text[at : cited.start].rstrip(" \t"))
            at = cited.end
        return "".join((*pieces, self.text[at:end])).strip()

    def following(self, end: int) -> tuple[int, ...]:
        """Return the numbers of the citations directly after `end`."""
        ranges: list[range] = []
        between = _SIGNS
        for number in range(within(self.cited, end, end)[0], len(self.cited)):
            cited = self.cited[number]
            if not between.fullmatch(self._prose, end, cited.start):
                break
            ranges += cited.ranges
            end, between = cited.end, _LISTING
        return numbers_in(ranges)

    def sentences(self) -> list[tuple[int, int]]:
        """Return the range of each sentence. A citation after the full stop belongs to the sentence before it."""
        spans, start = [], 0
        for end in sorted({*self._items(), *map(self._end, _STOP.finditer(self._prose)), len(self.text)}):
            sentence = self.text[start:end]
            if sentence.strip():
                spans.append((start + len(sentence) - len(sentence.lstrip()), end))
                start = end
        return spans

    def _items(self) -> list[int]:
        """Return where lines begin in a list of sources without bullets: two or more that begin with a citation."""
        lines = {match.end() for match in _LINE_BEGINS.finditer(self._prose)}
        begins = [cited.start for cited in self.cited if cited.start in lines]
        return begins if len(begins) > 1 else []

    def _end(self, stop: re.Match[str]) -> int:
        """Return where the sentence with this stop ends; 0 if it continues."""
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
        for number in range(within(self.cited, offset, offset)[0], len(self.cited)):
            cited = self.cited[number]
            if self._prose[offset : cited.start].strip(" \t"):
                break
            offset = self._match(_ONE_STOP, cited.end)
        return offset

    def _match(self, pattern: re.Pattern[str], offset: int) -> int:
        match = pattern.match(self._prose, offset)
        return match.end() if match else offset


def _blank_out(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], _BLOT * (end - start)]
        at = end
    return "".join((*parts, text[at:]))
