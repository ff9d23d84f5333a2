"""Where in a fragment's text the words matched, for highlighting.

Fifty fragments are marked for every letter typed, so they are not analyzed anew: what a word of the text comes to is
kept, and characters of scripts without spaces are looked for as they stand.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from excerpt.model import Span
from excerpt.text.languages import WIDE_CHARACTERS
from excerpt.text.words import analyze

_WIDE = re.compile(f"[{WIDE_CHARACTERS}]")
# What stands between blanks and characters of scripts without spaces: no term reaches over either.
_TOKEN = re.compile(rf"[^\s{WIDE_CHARACTERS}]+")
# In plain text, between most punctuation as well. It matters for speed only.
_PLAIN = r"""[^\s!"$%()*,:;<=>?\[\]^`{|}~]"""
_EDGES = "-./\\@&'"  # no term begins or ends with these
# An English stem begins like its word, up to its last letter (using, use; try, tri), but for die, lie, tie (dying).
_KEEPS_BEGINNING = frozenset({"en", ""})
_BONDS = "-_.'&+"  # left out of some compounds' terms
_LONGEST_GROUP = 3  # characters of the longest term of a script without spaces
_KEPT = 50_000
_LONGEST_KEPT = 64

_NOTHING = re.compile(r"(?!)")

Piece = tuple[str, int, int]


class SpanFinder:
    """Marks matched words. Keeps what the words of the texts come to, and which of them the last terms are in."""

    def __init__(self) -> None:
        self._pieces: dict[tuple[str, str], tuple[Piece, ...]] = {}
        self._terms: frozenset[str] = frozenset()
        self._likely = _NOTHING
        self._stretches: dict[str, dict[str, list[tuple[int, int]]]] = {}

    def find(self, text: str, terms: frozenset[str], language: str) -> tuple[Span, ...]:
        """Where `terms` stand in `text`, which is in `language`; ascending, overlapping stretches as one."""
        if terms != self._terms:
            self._terms = terms
            self._likely = _tokens_like(terms)
            self._stretches = {}
        known = self._stretches.setdefault(language, {})
        found: list[tuple[int, int]] = []
        quick = language in _KEEPS_BEGINNING and text.isascii()
        for match in self._likely.finditer(text.lower()) if quick else _TOKEN.finditer(text):
            at, end = match.span()
            token = text[at:end].rstrip(_EDGES)
            stretches = known.get(token)
            if stretches is None:
                stretches = [(a, b) for term, a, b in self._take_apart(token, language) if term in terms]
                known[token] = stretches
            for start, stop in stretches:
                found.append((at + start, at + stop))
        if not text.isascii():
            found += _characters(text, frozenset(term for term in terms if _WIDE.search(term)), language)
        return merged(found)

    def _take_apart(self, token: str, language: str) -> tuple[Piece, ...]:
        pieces = self._pieces.get((language, token))
        if pieces is None:
            found = analyze(token, language)
            pieces = tuple(zip(found.terms, found.starts, found.ends, strict=True))
            if len(token) <= _LONGEST_KEPT:
                if len(self._pieces) >= _KEPT:
                    self._pieces.clear()
                self._pieces[language, token] = pieces
        return pieces


@lru_cache(maxsize=64)
def _tokens_like(terms: frozenset[str]) -> re.Pattern[str]:
    """Finds the tokens of plain lower-case English that could hold a term: most of a text is not looked at further."""
    beginnings = sorted({beginning for term in terms if (beginning := _beginning(term))})
    if not beginnings:
        return _NOTHING
    bonds = f"[{re.escape(_BONDS)}]*"
    spelled = "|".join(bonds.join(map(re.escape, beginning)) for beginning in beginnings)
    return re.compile(f"(?<!{_PLAIN}){_PLAIN}*?(?:{spelled}){_PLAIN}*")


def _beginning(term: str) -> str:
    bare = "".join(character for character in term if character not in _BONDS)
    if len(bare) > 3:
        return bare[:3]
    return bare[:1] if bare.endswith("ie") else bare[:2]


def _characters(text: str, terms: frozenset[str], language: str) -> list[tuple[int, int]]:
    """Where groups of characters of a script without spaces stand in a text."""
    if not terms:
        return []
    whole = unicodedata.normalize("NFKC", text)
    single = text if whole == text else list(map(_normal, text))
    if single is text or "".join(single) == whole:
        found: list[tuple[int, int]] = []
        for size in range(1, _LONGEST_GROUP + 1):
            groups = map("".join, zip(*(single[i:] for i in range(size)), strict=False))
            found += [(i, i + size) for i, group in enumerate(groups) if group in terms]
        return found
    # Half-width letters with their marks apart, and the like: rare, and left to the analyzer.
    analysis = analyze(text, language)
    pieces = zip(analysis.terms, analysis.starts, analysis.ends, strict=True)
    return [(start, end) for term, start, end in pieces if term in terms]


@lru_cache(maxsize=4096)
def _normal(character: str) -> str:
    return unicodedata.normalize("NFKC", character)


def merged(stretches: list[tuple[int, int]]) -> tuple[Span, ...]:
    """Stretches as spans, ascending, overlapping ones made one: compounds and their parts, neighbouring characters."""
    spans: list[Span] = []
    for start, end in sorted(stretches):
        if spans and start < spans[-1].end:
            spans[-1] = Span(spans[-1].start, max(end, spans[-1].end))
        else:
            spans.append(Span(start, end))
    return tuple(spans)
