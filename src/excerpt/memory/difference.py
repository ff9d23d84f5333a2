"""Two texts side by side, with what differs in each line: how a changed source is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from excerpt.model import Span

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_WORDS = 1_000
"""Words of two lines that are compared one by one: it takes time by their product."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line on either side, None where that side has none; the spans are of what the other side does not have."""

    before: str | None
    after: str | None
    before_spans: tuple[Span, ...] = ()
    after_spans: tuple[Span, ...] = ()

    @property
    def is_same(self) -> bool:
        return self.before == self.after


def side_by_side(before: str, after: str) -> tuple[Row, ...]:
    """The lines of two texts, those that belong together beside each other."""
    old, new = before.split("\n"), after.split("\n")
    rows: list[Row] = []
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            rows += [Row(line, line) for line in old[i:j]]
        else:
            rows += _changed(old[i:j], new[k:m])
    return tuple(rows)


def _changed(old: Sequence[str], new: Sequence[str]) -> Iterator[Row]:
    common = min(len(old), len(new))
    for before, after in zip(old[:common], new[:common], strict=True):
        yield Row(before, after, *_spans(before, after))
    for line in old[common:]:
        yield Row(line, None, _whole(line), ())
    for line in new[common:]:
        yield Row(None, line, (), _whole(line))


def _spans(before: str, after: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    old, new = list(_WORDS.finditer(before)), list(_WORDS.finditer(after))
    if max(len(old), len(new)) > _MOST_WORDS:
        return _whole(before), _whole(after)
    matcher = SequenceMatcher(None, [word[0] for word in old], [word[0] for word in new], autojunk=False)
    left, right = [], []
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind != "equal":
            left += [Span(old[i].start(), old[j - 1].end())] if j > i else []
            right += [Span(new[k].start(), new[m - 1].end())] if m > k else []
    return tuple(left), tuple(right)


def _whole(line: str) -> tuple[Span, ...]:
    return (Span(0, len(line)),) if line else ()
