"""Which words of a question a passage covers, and the order in which units of the hits cover them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from msgspec import Struct

from excerpt.base.model import Hit, QuestionWord
from excerpt.pack.source import CachedNote
from excerpt.text.folding import fold, stem

_MAX_CACHED_WORDS = 8192
_MIN_SHARED_LETTERS = 4
"""The fewest letters of a term that name its word in a text where the stem alone does not."""


MIN_GAIN = 0.05
"""The least share of a question's weight, times the hit's share of the first score, that a unit must add to be packed.

The constants are tuned on development questions of four published sets and three vaults (docs/design/packs.md).
"""
RIVAL_SHARE = 0.7
"""The share of the first score from which a hit may be the answer instead of the first."""
SECOND_SHARE = 0.3
"""The share of the first score from which the second hit is packed: where a query names one thing, it may answer."""
FURTHER_SHARE = 0.4
"""The share of the first score from which a hit is packed while a part of the question is not covered."""
MIN_UNCOVERED, MIN_WORDS = 0.1, 4
"""The least share of a question's weight that a part of it has, and the fewest words of a question of several parts."""
MAX_FURTHER = 8
"""The most hits that are packed without a new word of the question."""


_ROUNDING = 1 - 1e-9
"""Weights added in another order may differ in the last digits."""


class Unit(Struct, frozen=True):
    """A unit of a hit, by its lines, with the words of the question that it has."""

    hit_index: int
    line_start: int
    line_end: int
    words: frozenset[str]


def make_whole_unit(hit_index: int, hit: Hit, words: tuple[QuestionWord, ...]) -> Unit:
    """Return a hit as one unit."""
    fragment = hit.fragment
    return Unit(hit_index, fragment.line_start, fragment.line_end, cover_text(hit, 0, len(fragment.text), words))


def cut_hit(whole: Unit, hit: Hit, note: CachedNote, words: tuple[QuestionWord, ...]) -> list[Unit]:
    """Return the units of a hit; a hit that has no word of the question in its text is one unit, `whole`."""
    fragment = hit.fragment
    ranges = note.units(fragment.line_start, fragment.line_end) if whole.words else ()
    if len(ranges) < 2:
        return [whole]
    offsets = [0]
    for line in fragment.text.split("\n"):
        offsets.append(offsets[-1] + len(line) + 1)
    return [
        Unit(
            whole.hit_index,
            first,
            last,
            cover_text(hit, offsets[first - fragment.line_start], offsets[last - fragment.line_start + 1], words),
        )
        for first, last in ranges
    ]


def find_best_unit(hit: Hit, note: CachedNote) -> tuple[int, int]:
    """Return the first and last line of the unit of a hit in which most matches begin, the first of several."""
    fragment = hit.fragment
    lines = [fragment.line_start + fragment.text.count("\n", 0, span.start) for span in hit.spans]
    ranges = note.units(fragment.line_start, fragment.line_end) or ((fragment.line_start, fragment.line_end),)
    return max(ranges, key=lambda unit: sum(unit[0] <= line <= unit[1] for line in lines))


def order_units(
    hits: Sequence[Hit], whole: Sequence[Unit], words: Sequence[QuestionWord], cut: Callable[[int], Sequence[Unit]]
) -> list[Unit]:
    """Return the units to pack after the first hit, in the order of their worth.

    First those that add to what is covered, times how likely their hit answers; then one of each hit that may answer
    instead, or while a part of the question is not covered. Of a replaced note only the former are packed beside what
    replaces it. `whole` are the hits as one unit each, and `cut` returns the units of one, by its index: it reads the
    note, so only hits that may add something are cut.
    """
    weights = {word.text: word.weight for word in words if word.is_found}
    total = sum(weights.values())
    shares = [hit.score / hits[0].score if hits[0].score > 0 else 0.0 for hit in hits]
    covered = set(whole[0].words)
    ordered: list[Unit] = []

    def gain(unit: Unit) -> float:
        return shares[unit.hit_index] * sum(weights.get(word, 0.0) for word in unit.words - covered)

    adding = (hit for hit in whole[1:] if gain(hit) > 0 and gain(hit) >= MIN_GAIN * total * _ROUNDING)
    candidates = [unit for hit in adding for unit in cut(hit.hit_index) if unit.words]
    while candidates:
        best = max(candidates, key=gain)
        if gain(best) < MIN_GAIN * total or not gain(best):
            break
        ordered.append(best)
        covered |= best.words
        candidates.remove(best)
    uncovered = total - sum(weights.get(word, 0.0) for word in covered)
    has_parts_left = len(weights) >= MIN_WORDS and uncovered >= MIN_UNCOVERED * total
    taken = {unit.hit_index for unit in ordered}
    current = {hits[index].path for index in (0, *taken)}
    further = 0
    for index in range(len(whole)):
        if index == 0 or index in taken or further == MAX_FURTHER:
            continue
        replaced = hits[index].replaced
        if replaced is not None and replaced.by in current:
            current.add(hits[index].path)  # a note that it replaces is not needed either
            continue
        needed = SECOND_SHARE if index == 1 else FURTHER_SHARE if has_parts_left else RIVAL_SHARE
        if shares[index] >= needed:
            ordered.append(max(cut(index), key=lambda unit: sum(weights.get(word, 0.0) for word in unit.words)))
            current.add(hits[index].path)
            further += 1
    return ordered


def cover_text(hit: Hit, start: int, end: int, words: tuple[QuestionWord, ...]) -> frozenset[str]:
    """Return the words that a hit has in the characters `start` to `end` of its text."""
    inside = {hit.fragment.text[span.start : span.end] for span in hit.spans if start <= span.start < end}
    return frozenset[str]().union(*(_attribute(text, words) for text in inside))


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def _attribute(matched: str, words: tuple[QuestionWord, ...]) -> frozenset[str]:
    """Return the words of a question that a highlighted text is a form of: by its stem, or by its beginning."""
    own = stem(matched, "")
    if by_stem := frozenset(word.text for word in words if own in word.terms):
        return by_stem
    folded = fold(matched)
    return frozenset(word.text for word in words if any(_may_be_form(folded, term) for term in word.terms))


def _may_be_form(folded: str, term: str) -> bool:
    """Return whether a text may be a form of a term; in a script without spaces, it has the term."""
    if len(term) < _MIN_SHARED_LETTERS:
        return term in folded if not term.isascii() else folded == term
    return folded.startswith(term[:-1]) or term in folded
