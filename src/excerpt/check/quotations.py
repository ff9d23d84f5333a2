"""Where a quotation is found in a text: literally, nearly, or in something similar.

Nearly means the same words in the same order. The differences are reported: white space; signs (kinds of quotation
marks, dashes and dots, accents composed or not); Markdown markup; capitals; the full stop or comma at the end, which
belongs to the surrounding sentence; and what an ellipsis leaves out. A quotation begins and ends at word boundaries:
"able to merge" is not in "unable to merge".
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from rapidfuzz import fuzz

from excerpt.text.fragments import count_words
from excerpt.text.words import WIDE_CHARACTERS, detect_language, negating_words, restricting_words


class Difference(StrEnum):
    """A difference between a true quotation and the text."""

    SPACE = "white space"
    SIGNS = "signs"
    MARKUP = "markup"
    CASE = "capitals"
    END = "sign at the end"
    ELLIPSIS = "words left out"


@dataclass(frozen=True, slots=True)
class QuotedSpan:
    """A range of characters in a text, `end` exclusive, that holds a quotation (`find`) or is most like one.

    `similarity` is 0 to 100. `turned_by` are the words that an ellipsis leaves out and that turn the meaning.
    """

    start: int
    end: int
    differences: tuple[Difference, ...] = ()
    turned_by: tuple[str, ...] = ()
    similarity: float = 100.0


_LADDER = (Difference.SPACE, Difference.SIGNS, Difference.MARKUP, Difference.CASE)
_ELLIPSIS = re.compile(r"\s*(?:[\[(]\s*(?:…|\.{3})\s*[\])]|…|\.{3,}|⋯+)\s*")
_ENDS = ".,;:!?。，、；：！？"
_MIN_PART = 2
"""The fewest words on each side of an ellipsis: single words in some order are in any text."""
_MAX_PARTS = 12
_MAX_TRIED = 8  # places of a quotation with ellipses, until one leaves out nothing that turns its meaning
_SENTENCE_ENDS = re.compile(r"[.!?]\s|[。！？]|\n\s*\n")
_MAX_CACHED = 256  # texts, each of some fragments at most


def find(quotation: str, text: str) -> QuotedSpan | None:
    """Return where `quotation` is in `text`, with as few differences as possible; None if it is not."""
    if span := _find_exact(quotation, text):
        return span
    without_end = quotation.rstrip(_ENDS + " \t\n")
    if without_end != quotation.rstrip() and (span := _find_exact(without_end, text)):
        return replace(span, differences=(*span.differences, Difference.END))
    return _find_parts(quotation, text)


def longest_part(quotation: str) -> str:
    """Return what to look for first: of a quotation with ellipses, the longest part between them."""
    return max(_ELLIPSIS.split(quotation), key=len)


def best_alignment(quotation: str, text: str) -> QuotedSpan | None:
    """Return the range of `text` most similar to `quotation`, ignoring markup and case; None if either is empty."""
    needle, _ = _comparable(quotation, frozenset(_LADDER))
    haystack, offsets = _comparable(text, frozenset(_LADDER))
    if not needle or not haystack:
        return None
    if len(needle) > len(haystack):
        return QuotedSpan(offsets[0], offsets[-1] + 1, similarity=fuzz.ratio(needle, haystack))
    alignment = fuzz.partial_ratio_alignment(needle, haystack)
    assert alignment is not None
    start, end = _whole_words(haystack, alignment.dest_start, max(alignment.dest_end, alignment.dest_start + 1))
    return QuotedSpan(offsets[start], offsets[end - 1] + 1, similarity=alignment.score)


def _find_exact(needle: str, text: str) -> QuotedSpan | None:
    for number in range(len(_LADDER) + 1):
        ignored = _LADDER[:number]
        if offsets := _find_ignoring(needle, text, ignored):
            needed = [each for each in ignored if not _find_ignoring(needle, text, [o for o in ignored if o != each])]
            return QuotedSpan(*offsets, tuple(needed) or ignored[-1:])
    return None


def _find_ignoring(needle: str, text: str, ignored: Sequence[Difference]) -> tuple[int, int] | None:
    pattern, _ = _comparable(needle, frozenset(ignored))
    haystack, offsets = _comparable(text, frozenset(ignored))
    at = haystack.find(pattern) if pattern.strip() else -1
    while at >= 0:
        last = at + len(pattern)
        start, end = offsets[at], offsets[last - 1] + 1
        if not (
            _cuts(haystack, at) or _cuts(haystack, last) or _cuts_compound(text, start) or _cuts_compound(text, end)
        ):
            return start, end
        at = haystack.find(pattern, at + 1)
    return None


def _find_parts(quotation: str, text: str) -> QuotedSpan | None:
    """Return where the parts of a quotation with ellipses are, one after the other."""
    parts = [part for part in _ELLIPSIS.split(quotation) if part.strip(_ENDS + " \t\n")]
    if len(parts) == 1 and parts[0] != quotation:
        return find(parts[0], text)  # dots at an end: the text goes on there, which is no difference
    if not 2 <= len(parts) <= _MAX_PARTS or any(count_words(part) < _MIN_PART for part in parts):
        return None
    first: QuotedSpan | None = None
    begin = 0
    for _ in range(_MAX_TRIED):
        spans: list[QuotedSpan] = []
        for part in parts:
            after = spans[-1].end if spans else begin
            span = find(part, text[after:])
            if not span:
                return first
            spans.append(QuotedSpan(after + span.start, after + span.end, span.differences))
        passage = _join_spans(spans, text)
        if not passage.turned_by:
            return passage
        first = first or passage
        begin = spans[0].end
    return first


def _join_spans(spans: Sequence[QuotedSpan], text: str) -> QuotedSpan:
    """Return the passage that has `spans` and what an ellipsis leaves out between them."""
    differences = {each for span in spans for each in span.differences}
    left_out = [_MARKUP.sub("", text[before.end : after.start]) for before, after in pairwise(spans)]
    languages = {detect_language(text), detect_language(text[spans[0].start : spans[-1].end])} - {""}
    return QuotedSpan(
        spans[0].start,
        spans[-1].end,
        (*(each for each in Difference if each in differences), Difference.ELLIPSIS),
        tuple(dict.fromkeys(word for gap in left_out for word in _reversing_words(gap, languages))),
    )


def _reversing_words(left_out: str, languages: Collection[str]) -> list[str]:
    """Return the words left out that turn a meaning: negations, and within a sentence such as "unless" and "only"."""
    words = negating_words(left_out, languages)
    return words if _SENTENCE_ENDS.search(left_out) else [*words, *restricting_words(left_out, languages)]


# --- where words end --------------------------------------------------------------------------------------------------

_WORD = re.compile(rf"[^\W{WIDE_CHARACTERS}]")
_COMPOUND = re.compile(rf"[^\W{WIDE_CHARACTERS}]['’\-‐‑][^\W{WIDE_CHARACTERS}]|\d[.,]\d")


def _cuts(text: str, offset: int) -> bool:
    """Return whether `offset` is inside a word. Scripts without spaces may be cut anywhere."""
    return 0 < offset < len(text) and bool(_WORD.match(text[offset - 1]) and _WORD.match(text[offset]))


def _cuts_compound(text: str, offset: int) -> bool:
    """Return whether the characters around `offset` are joined: can|'t, non-|empty, 1.|5."""
    return any(joint >= 1 and _COMPOUND.fullmatch(text, joint - 1, joint + 2) for joint in (offset - 1, offset))


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    while _cuts(text, start):
        start -= 1
    while _cuts(text, end):
        end += 1
    while start < end - 1 and text[start] == " ":
        start += 1
    while end > start + 1 and text[end - 1] == " ":
        end -= 1
    return start, end


# --- what is compared -------------------------------------------------------------------------------------------------

_SIGN = {
    **dict.fromkeys("“”„‟«»″〝〞〟＂「」『』", '"'),
    **dict.fromkeys("‘’‚‛‹›′＇", "'"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
    "…": "...",
}
# In this order: HTML tags; the targets of links; the notes of wikilinks that show another text; the marks that lines
# begin with; block ids; escapes; emphasis at the border of a word; brackets, code and strikes.
_MARKUP = re.compile(
    r"</?[A-Za-z][^<>\n]*>|\]\([^()\n]*\)|!?\[\[[^\[\]|\n]*\|(?=[^\[\]|\n]+\]\])"
    r"|^[ \t]*(?:(?:>[ \t]?)+[ \t]*)?(?:#{1,6}[ \t]+|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,9}[.)][ \t]+)?(?=\S)"
    r"|[ \t]\^[A-Za-z0-9-]+[ \t]*$"
    r"|\\(?=[!-/:-@\[-`{-~])|(?<!\w)[*_]+|[*_]+(?!\w)|!?\[|\]|`+|~~|==",
    re.MULTILINE,
)


@lru_cache(_MAX_CACHED)
def _comparable(text: str, ignored: frozenset[Difference]) -> tuple[str, Sequence[int]]:
    """Return `text` without ignored characters, and the original position of each character."""
    characters: list[str] = []
    offsets = array("L")  # a list would take seven times the room
    for character, offset in _characters(text, ignored):
        if Difference.SPACE in ignored and character.isspace():
            if not characters or characters[-1] == " ":
                continue
            character = " "  # noqa: PLW2901
        characters.append(character)
        offsets.append(offset)
    if Difference.SPACE in ignored and characters and characters[-1] == " ":
        characters.pop()
        offsets.pop()
    return "".join(characters), offsets


def _characters(text: str, ignored: frozenset[Difference]) -> Iterator[tuple[str, int]]:
    for start, end in _clusters(text, ignored):
        composed = text[start:end]
        if Difference.SIGNS in ignored:
            composed = unicodedata.normalize("NFC", composed) if len(composed) > 1 else _SIGN.get(composed, composed)
            if composed == "'" and not _is_apostrophe(text, start):
                composed = '"'  # marks within marks are single, whatever they were
        if composed == "|" and Difference.MARKUP in ignored:
            composed = " "
        if Difference.CASE in ignored:
            composed = composed.casefold()
        for character in composed:
            yield character, start


def _is_apostrophe(text: str, offset: int) -> bool:
    """Return whether the mark at `offset` is within a word, or means feet."""
    before, after = text[max(offset - 1, 0) : offset], text[offset + 1 : offset + 2]
    return before.isdigit() or (before.isalnum() and after.isalnum())


def _clusters(text: str, ignored: frozenset[Difference]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of `text` that are compared.

    With signs ignored a character includes its accents, and with markup ignored Markdown is left out.
    """
    dropped = [m for m in _MARKUP.finditer(text) if m.group()] if Difference.MARKUP in ignored else []
    is_joining = Difference.SIGNS in ignored and not unicodedata.is_normalized("NFC", text)
    at = 0
    for mark in [*dropped, None]:
        limit = mark.start() if mark else len(text)
        while at < limit:
            end = at + 1
            while is_joining and end < limit and unicodedata.combining(text[end]):
                end += 1
            yield at, end
            at = end
        if mark:
            at = mark.end()
