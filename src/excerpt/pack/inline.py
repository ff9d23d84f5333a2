"""What stands in one paragraph of an answer: citations, passages in quotation marks, code spans, sentences.

Places are offsets into the paragraph, `end` exclusive. Everything is looked for in a copy of the text in which what
cannot hold it (code, the targets of links, HTML tags) is blotted out.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Protocol

from excerpt.text.languages import WIDE_CHARACTERS


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation, and the numbers of the sources that it names, each once."""

    start: int
    end: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Quoted:
    """A passage in quotation marks, or a code span: the whole with its marks, and the text between them."""

    start: int
    end: int
    inner_start: int
    inner_end: int
    code: bool = False


_BLOT = "\ufffc"  # neither space, nor letter, nor a mark of anything
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)", re.DOTALL)
_NO_PROSE = re.compile(r"(?<=\]\()[^()\n]+(?=\))|</?[A-Za-z][^<>]*>|<https?://[^<>\s]*>")

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


def _numbers(listed: str) -> tuple[int, ...]:
    """The numbers that a citation names; none if it is no citation. Sources are numbered from 1, so what has a 0 is an
    index or an interval."""
    found: list[int] = []
    for part in _NUMBERS.findall(listed):
        first, *rest = (int(number) for number in re.findall(r"\d+", part))
        last = rest[0] if rest else first
        if not 1 <= first <= last:
            return ()
        found += range(first, last + 1)
    return tuple(dict.fromkeys(found))


def _citations(text: str, own: Container[str]) -> Iterator[Cited]:
    """`own` are the labels that the answer itself defines: footnotes (^n) and links to the web (n)."""
    end = -1
    for bracketed in _BRACKETED.finditer(text):
        start = bracketed.start()
        inside = next(group for group in bracketed.groups() if group is not None)
        listed = _LISTED.fullmatch(inside)
        numbers = _numbers(listed[1]) if listed else ()
        if not numbers or inside.strip() in own:
            continue
        if text[start - 1 : start] == "]" and start != end:
            continue  # [text][1]: a link by reference
        if text[bracketed.end() : bracketed.end() + 1] == ":" and not text[:start].rpartition("\n")[2].strip():
            continue  # [1]: the target of such a link
        end = bracketed.end()
        double = text[start - 1 : start] == "[" and text[end : end + 1] == "]"
        yield Cited(start - double, end + double, numbers)


# --- quotation marks --------------------------------------------------------------------------------------------------

# English and Chinese, German and Polish, French, Danish, Swedish, Japanese; single ones only where they cannot be
# apostrophes. A straight mark may close a curly one.
_TYPOGRAPHIC = re.compile(
    r"“([^“”]+)”|“([^“”\"]+)\"|„([^„“”\"]+)[“”\"]|«([^«»]+)»|»([^«»]+)«|”([^“”]+)”|「([^「」]+)」|『([^『』]+)』"
    r"|〝([^〝〞]+)[〞〟]|＂([^＂]+)＂|‹([^‹›]+)›|(?<!\w)‘([^‘]+?)’(?!\w)"
)
_WIDE = re.compile(f"[{WIDE_CHARACTERS}]")


def _quotations(text: str) -> list[Quoted]:
    """The outermost passages in quotation marks."""
    found = [*_straight(text), *_typographic(text)]
    outermost: list[Quoted] = []
    for quoted in sorted(found, key=lambda quoted: (quoted.start, -quoted.end)):
        if not outermost or quoted.start >= outermost[-1].end:
            outermost.append(quoted)
    return outermost


def _typographic(text: str) -> Iterator[Quoted]:
    for match in _TYPOGRAPHIC.finditer(text):
        assert match.lastindex
        yield Quoted(match.start(), match.end(), match.start(match.lastindex), match.end(match.lastindex))


def _straight(text: str) -> Iterator[Quoted]:
    """Passages in "…". Which mark opens is told by what stands around it: one after a letter or a digit (5") does not,
    and one after a space, before a letter, opens anew."""
    opened = None
    for mark in re.finditer('"', text):
        at = mark.start()
        before, after = text[at - 1 : at] or " ", text[at + 1 : at + 2] or " "
        may_open = not after.isspace() and not (before.isalnum() and not _WIDE.match(before))
        if opened is None or (may_open and (before.isspace() or before in "([{")):
            opened = at if may_open else None
        else:
            if opened + 1 < at:
                yield Quoted(opened, at + 1, opened + 1, at)
            opened = None


class _Span(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def within(spans: Sequence[_Span], start: int, end: int) -> tuple[int, int]:
    """Of spans in order, the first that begins from `start` on, and behind the last that begins before `end`."""
    first = bisect_left(spans, start, key=_start)
    return first, max(bisect_left(spans, end, key=_start), first)


def around(spans: Sequence[_Span], at: int) -> int | None:
    """Which of spans in order, none in another, holds the character at `at`."""
    before = bisect_right(spans, at, key=_start) - 1
    return before if before >= 0 and at < spans[before].end else None


def _start(span: _Span) -> int:
    return span.start


# --- sentences --------------------------------------------------------------------------------------------------------

_STOP = re.compile(r"[.!?…]+|[。！？]+")
_AFTER_STOP = re.compile(r"[\"”“»«」』’)\]*_~]*")
_BEFORE_STOP = re.compile(r"(?:^|[\s(\[\"“„«])([\w.]+)$")
_SIGNS = re.compile(r"[\s.,;:!?…*_~—–\-。，、；：！？（(]*")
_LISTING = re.compile(r"[\s,;，；、]*")
_ONE_STOP = re.compile(r"[.。]?")
_SPACE = re.compile(r"\s*")
_ABBREVIATED = frozenset(
    ("e.g", "i.e", "eg", "ie", "cf", "vs", "dr", "mr", "mrs", "ms", "prof", "st", "fig", "approx", "resp", "vgl", "bzw")
)


class Paragraph:
    """A paragraph's text with what stands in it."""

    def __init__(self, text: str, own: Container[str] = frozenset()) -> None:
        self.text = text
        self._codes = [
            Quoted(match.start(), match.end(), match.start(2), match.end(2), code=True)
            for match in _CODE.finditer(text)
        ]
        blotted = _blotted(text, [(code.start, code.end) for code in self._codes])
        self._prose = _blotted(blotted, [match.span() for match in _NO_PROSE.finditer(blotted)])
        self.cited = list(_citations(self._prose, own))

    @cached_property
    def quoted(self) -> list[Quoted]:
        """Passages in quotation marks, and the code spans that are in none of them."""
        marked = _quotations(self._prose)
        codes = [code for code in self._codes if around(marked, code.start) is None]
        return sorted([*marked, *codes], key=lambda quoted: quoted.start)

    def cited_from(self, start: int, end: int) -> list[Cited]:
        """The citations from `start` to `end`."""
        return self.cited[slice(*within(self.cited, start, end))]

    def without_citations(self, start: int, end: int) -> str:
        """The text from `start` to `end` without the citations in it."""
        kept, at = [], start
        for cited in self.cited_from(start, end):
            kept.append(self.text[at : cited.start].rstrip(" \t"))
            at = cited.end
        return "".join((*kept, self.text[at:end])).strip()

    def following(self, end: int) -> tuple[int, ...]:
        """The numbers of the citations that stand directly behind `end`."""
        numbers: list[int] = []
        between = _SIGNS
        for cited in islice(self.cited, within(self.cited, end, end)[0], None):
            if not between.fullmatch(self._prose, end, cited.start):
                break
            numbers += cited.numbers
            end, between = cited.end, _LISTING
        return tuple(dict.fromkeys(numbers))

    def sentences(self) -> list[tuple[int, int]]:
        """Where each sentence begins and ends. A citation behind the full stop is the sentence's before it."""
        spans, start = [], 0
        for end in sorted({*self._items(), *map(self._end, _STOP.finditer(self._prose)), len(self.text)}):
            said = self.text[start:end]
            if said.strip():
                spans.append((start + len(said) - len(said.lstrip()), end))
                start = end
        return spans

    def _items(self) -> list[int]:
        """Where lines begin in a list of sources without bullets: two or more that begin with a citation."""
        begins = [cited.start for cited in self.cited if not self._prose[: cited.start].rpartition("\n")[2].strip()]
        return begins if len(begins) > 1 else []

    def _end(self, stop: re.Match[str]) -> int:
        """Where the sentence with this stop ends; 0 if it goes on."""
        wide = stop[0][0] in "。！？"
        at = stop.end()
        holding = around(self.quoted, stop.start())
        if holding is not None:
            if self._prose[at : self.quoted[holding].inner_end].strip():
                return 0
            at = self.quoted[holding].end
        at = self._match(_AFTER_STOP, at)
        before = at
        at = self._after_citations(at)
        if wide:
            return at
        if not self._prose[at : at + 1].isspace() and at < len(self._prose):
            return 0
        if self._prose[(begin := self._match(_SPACE, at)) : begin + 1].islower():
            # "... meet. [2] says that ...": the citation begins the next sentence, if anything does.
            return before if at > before and self._prose[before : before + 1].isspace() else 0
        word = _BEFORE_STOP.search(self._prose, max(stop.start() - 12, 0), stop.start())
        short = word and (len(word[1]) == 1 or word[1].lower() in _ABBREVIATED)
        return 0 if short and stop[0] == "." and at == before else at

    def _after_citations(self, at: int) -> int:
        for cited in islice(self.cited, within(self.cited, at, at)[0], None):
            if self._prose[at : cited.start].strip(" \t"):
                break
            at = self._match(_ONE_STOP, cited.end)
        return at

    def _match(self, pattern: re.Pattern[str], at: int) -> int:
        found = pattern.match(self._prose, at)
        return found.end() if found else at


def _blotted(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], _BLOT * (end - start)]
        at = end
    return "".join((*parts, text[at:]))
