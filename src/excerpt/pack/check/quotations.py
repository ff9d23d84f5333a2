"""Search for a quotation in a text: literally, with small differences, or by similarity.

With small differences means the same words in the same order. The differences are reported: white space; signs (kinds
of quotation marks, dashes and dots, accents composed or not); Markdown markup; capitals; the full stop or comma at the
end, which may belong to the sentence around the quotation; and words that an ellipsis leaves out. A quotation begins
and ends at word boundaries: "able to merge" is not in "unable to merge".
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace
from rapidfuzz import fuzz

from excerpt.base.patterns import lazy_pattern
from excerpt.text.fragments import count_words
from excerpt.text.languages import WIDE_CHARACTERS, detect_language, negating_words, restricting_words


class QuotationDifference(StrEnum):
    """A kind of difference that a quotation may have from the text it quotes, and still be true."""

    SPACE = "white space"
    SIGNS = "signs"
    MARKUP = "markup"
    CASE = "capitals"
    END = "sign at the end"
    ELLIPSIS = "words left out"


class MatchedSpan(Struct, frozen=True):
    """The range of characters in a text, `end` exclusive, that has a quotation or is most similar to it.

    `differences` are the differences of the quotation from the text. `turned_by` are words that an ellipsis in the
    quotation leaves out and that reverse its meaning, such as "not". `similarity` is 0 to 100.
    """

    start: int
    end: int
    differences: tuple[QuotationDifference, ...] = ()
    turned_by: tuple[str, ...] = ()
    similarity: float = 100.0


_IGNORABLE_DIFFERENCES = (
    QuotationDifference.SPACE,
    QuotationDifference.SIGNS,
    QuotationDifference.MARKUP,
    QuotationDifference.CASE,
)
_ELLIPSIS = lazy_pattern(r"\s*(?:[\[(]\s*(?:…|\.{3})\s*[\])]|…|\.{3,}|⋯+)\s*")
_END_SIGNS = ".,;:!?。，、；：！？"
_MIN_PART_WORDS = 2
"""Least number of words of each part between ellipses: single words in some order are in any text."""
_MAX_PARTS = 12
_MAX_ATTEMPTS = 8  # places tried for a quotation with ellipses, until no left-out word reverses its meaning
_SENTENCE_ENDS = lazy_pattern(r"[.!?]\s|[。！？]|\n\s*\n")
_MAX_CACHED_TEXTS = 256  # texts, each of some fragments at most


def find_quotation(quotation: str, text: str) -> MatchedSpan | None:
    """Return the range of `text` that has `quotation`, with as few differences as possible.

    Return None if no range has it.
    """
    if span := _find_exact(quotation, text):
        return span
    without_end = quotation.rstrip(_END_SIGNS + " \t\n")
    if without_end != quotation.rstrip() and (span := _find_exact(without_end, text)):
        return replace(span, differences=(*span.differences, QuotationDifference.END))
    return _find_parts(quotation, text)


def select_longest_part(quotation: str) -> str:
    """Return the longest part between the ellipses of a quotation.

    Without an ellipsis, the whole quotation.
    """
    return max(_ELLIPSIS.split(quotation), key=len)


def find_most_similar(quotation: str, text: str) -> MatchedSpan | None:
    """Return the range of `text` most similar to `quotation`, ignoring markup and case.

    Return None if either is empty.
    """
    needle, _ = _normalize(quotation, frozenset(_IGNORABLE_DIFFERENCES))
    haystack, offsets = _normalize(text, frozenset(_IGNORABLE_DIFFERENCES))
    if not needle or not haystack:
        return None
    if len(needle) > len(haystack):
        return MatchedSpan(offsets[0], offsets[-1] + 1, similarity=fuzz.ratio(needle, haystack))
    alignment = fuzz.partial_ratio_alignment(needle, haystack)
    assert alignment is not None
    start, end = _extend_to_words(haystack, alignment.dest_start, max(alignment.dest_end, alignment.dest_start + 1))
    return MatchedSpan(offsets[start], offsets[end - 1] + 1, similarity=alignment.score)


def _find_exact(needle: str, text: str) -> MatchedSpan | None:
    if offsets := _find_ignoring(needle, text, ()):
        return MatchedSpan(*offsets)
    if not _find_ignoring(needle, text, _IGNORABLE_DIFFERENCES):
        return None
    for number in range(1, len(_IGNORABLE_DIFFERENCES) + 1):
        ignored = _IGNORABLE_DIFFERENCES[:number]
        if offsets := _find_ignoring(needle, text, ignored):
            needed = [each for each in ignored if not _find_ignoring(needle, text, [o for o in ignored if o != each])]
            return MatchedSpan(*offsets, tuple(needed) or ignored[-1:])
    return None


def _find_ignoring(needle: str, text: str, ignored: Sequence[QuotationDifference]) -> tuple[int, int] | None:
    pattern, _ = _normalize(needle, frozenset(ignored))
    haystack, offsets = _normalize(text, frozenset(ignored))
    at = haystack.find(pattern) if pattern.strip() else -1
    while at >= 0:
        last = at + len(pattern)
        start, end = offsets[at], offsets[last - 1] + 1
        if not (
            _is_inside_word(haystack, at)
            or _is_inside_word(haystack, last)
            or _is_inside_compound(text, start)
            or _is_inside_compound(text, end)
        ):
            return start, end
        at = haystack.find(pattern, at + 1)
    return None


def _find_parts(quotation: str, text: str) -> MatchedSpan | None:
    """Return the range of `text` that has the parts between a quotation's ellipses in order.

    Return None if no range has it. A range in which left-out words reverse the meaning is only returned if there is no
    other.
    """
    parts = [part for part in _ELLIPSIS.split(quotation) if part.strip(_END_SIGNS + " \t\n")]
    if len(parts) == 1 and parts[0] != quotation:
        return find_quotation(parts[0], text)  # dots at an end: that the text continues there is not a difference
    if not 2 <= len(parts) <= _MAX_PARTS or any(count_words(part) < _MIN_PART_WORDS for part in parts):
        return None
    first: MatchedSpan | None = None
    begin = 0
    for _ in range(_MAX_ATTEMPTS):
        spans: list[MatchedSpan] = []
        for part in parts:
            after = spans[-1].end if spans else begin
            span = find_quotation(part, text[after:])
            if not span:
                return first
            spans.append(MatchedSpan(after + span.start, after + span.end, span.differences))
        passage = _merge_parts(spans, text)
        if not passage.turned_by:
            return passage
        first = first or passage
        begin = spans[0].end
    return first


def _merge_parts(spans: Sequence[MatchedSpan], text: str) -> MatchedSpan:
    """Return the range from the first to the last of `spans`, with the text that ellipses between them omit."""
    differences = {each for span in spans for each in span.differences}
    left_out = [_MARKUP.sub("", text[before.end : after.start]) for before, after in pairwise(spans)]
    languages = {detect_language(text), detect_language(text[spans[0].start : spans[-1].end])} - {""}
    return MatchedSpan(
        spans[0].start,
        spans[-1].end,
        (*(each for each in QuotationDifference if each in differences), QuotationDifference.ELLIPSIS),
        tuple(dict.fromkeys(word for gap in left_out for word in _reversing_words(gap, languages))),
    )


def _reversing_words(left_out: str, languages: Collection[str]) -> list[str]:
    """Return the words of a left-out text that reverse a meaning: negations such as "not".

    Within one sentence, restricting words such as "unless" and "only" count as well. `languages` are language codes.
    """
    words = negating_words(left_out, languages)
    return words if _SENTENCE_ENDS.search(left_out) else [*words, *restricting_words(left_out, languages)]


# --- word boundaries --------------------------------------------------------------------------------------------------

_WORD = lazy_pattern(rf"[^\W{WIDE_CHARACTERS}]")
_COMPOUND = lazy_pattern(rf"[^\W{WIDE_CHARACTERS}]['’\-‐‑][^\W{WIDE_CHARACTERS}]|\d[.,]\d")


def _is_inside_word(text: str, offset: int) -> bool:
    """Return whether `offset` is inside a word; in a script without spaces it never is."""
    return 0 < offset < len(text) and bool(_WORD.match(text[offset - 1]) and _WORD.match(text[offset]))


def _is_inside_compound(text: str, offset: int) -> bool:
    """Return whether `offset` is inside a contraction, compound or number, as in can|'t, non-|empty, 1.|5."""
    return any(joint >= 1 and _COMPOUND.fullmatch(text, joint - 1, joint + 2) for joint in (offset - 1, offset))


def _extend_to_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a range extended to whole words, without spaces at its ends."""
    while _is_inside_word(text, start):
        start -= 1
    while _is_inside_word(text, end):
        end += 1
    while start < end - 1 and text[start] == " ":
        start += 1
    while end > start + 1 and text[end - 1] == " ":
        end -= 1
    return start, end


# --- normalisation ----------------------------------------------------------------------------------------------------

_EQUIVALENT_SIGNS = {
    **dict.fromkeys("“”„‟«»″〝〞〟＂「」『』", '"'),
    **dict.fromkeys("‘’‚‛‹›′＇", "'"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
    "…": "...",
}
# In this order: HTML tags; the marks of footnotes; the targets of links; the notes of wikilinks that show another text;
# the marks that lines begin with; block ids; escapes; emphasis at the border of a word; brackets, code and strikes.
_MARKUP = lazy_pattern(
    r"</?[A-Za-z][^<>\n]*>|\[\^[^\[\]\s]+\]:?|\]\((?:[^()\n]|\([^()\n]*\))*\)|!?\[\[[^\[\]|\n]*\|(?=[^\[\]|\n]+\]\])"
    r"|^[ \t]*(?:(?:>[ \t]?)+[ \t]*)?(?:#{1,6}[ \t]+|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,9}[.)][ \t]+)?(?=\S)"
    r"|[ \t]\^[A-Za-z0-9-]+[ \t]*$"
    r"|\\(?=[!-/:-@\[-`{-~])|(?<!\w)[*_]+|[*_]+(?!\w)|!?\[|\]|`+|~~|==",
    re.MULTILINE,
)


@lru_cache(_MAX_CACHED_TEXTS)
def _normalize(text: str, ignored: frozenset[QuotationDifference]) -> tuple[str, Sequence[int]]:
    """Return `text` without the differences in `ignored`, and the original position of each character."""
    if not ignored:
        return text, range(len(text))
    characters: list[str] = []
    offsets = array("L")  # a list would take seven times the room
    for character, offset in _normalized_characters(text, ignored):
        if QuotationDifference.SPACE in ignored and character.isspace():
            if not characters or characters[-1] == " ":
                continue
            character = " "  # noqa: PLW2901
        characters.append(character)
        offsets.append(offset)
    if QuotationDifference.SPACE in ignored and characters and characters[-1] == " ":
        characters.pop()
        offsets.pop()
    return "".join(characters), offsets


def _normalized_characters(text: str, ignored: frozenset[QuotationDifference]) -> Iterator[tuple[str, int]]:
    for start, end in _compared_ranges(text, ignored):
        composed = text[start:end]
        if QuotationDifference.SIGNS in ignored:
            composed = (
                unicodedata.normalize("NFC", composed)
                if len(composed) > 1
                else _EQUIVALENT_SIGNS.get(composed, composed)
            )
            if composed == "'" and not _is_apostrophe(text, start):
                composed = '"'  # a quotation in a quotation has single marks, whatever the original has
        if composed == "|" and QuotationDifference.MARKUP in ignored:
            composed = " "
        if QuotationDifference.CASE in ignored:
            composed = composed.casefold()
        for character in composed:
            yield character, start


def _is_apostrophe(text: str, offset: int) -> bool:
    """Return whether the single mark at `offset` is within a word, or follows a digit (feet)."""
    before, after = text[max(offset - 1, 0) : offset], text[offset + 1 : offset + 2]
    return before.isdigit() or (before.isalnum() and after.isalnum())


def _compared_ranges(text: str, ignored: frozenset[QuotationDifference]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of `text` that are compared as one character.

    If SIGNS are ignored, a range includes the accents of its character. If MARKUP is ignored, Markdown markup is
    skipped.
    """
    dropped = [m for m in _MARKUP.finditer(text) if m.group()] if QuotationDifference.MARKUP in ignored else []
    is_joining = QuotationDifference.SIGNS in ignored and not unicodedata.is_normalized("NFC", text)
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
