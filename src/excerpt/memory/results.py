"""Values that answers about memories are made of: recalled and similar ones, and what became of a source.

They import nothing that searches or stores memories. A memory itself is in `excerpt.base.model`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any

from excerpt.base.json_forms import attributes_to_json
from excerpt.base.kinds import Confidence
from excerpt.base.model import Memory, Source, Span
from excerpt.base.patterns import lazy_pattern

_WORDS = lazy_pattern(r"\w+|\s+|[^\w\s]")


_MAX_COMPARED_WORDS = 1_000
"""The most words of a line that is compared word by word: the time grows with the product of the two numbers."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row of two texts side by side: the line `before` and the line `after`, None if that text has no such line.

    The spans are the character ranges of each line that the other line does not have.
    """

    before: str | None
    after: str | None
    before_spans: tuple[Span, ...] = ()
    after_spans: tuple[Span, ...] = ()

    @property
    def is_same(self) -> bool:
        return self.before == self.after


def side_by_side(before: str, after: str) -> tuple[DiffRow, ...]:
    """Return the lines of two texts as rows, with matching lines side by side."""
    old, new = before.split("\n"), after.split("\n")
    rows: list[DiffRow] = []
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            rows += [DiffRow(line, line) for line in old[i:j]]
        else:
            rows += _diff_rows(old[i:j], new[k:m])
    return tuple(rows)


def _diff_rows(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffRow]:
    common = min(len(old), len(new))
    for before, after in zip(old[:common], new[:common], strict=True):
        yield DiffRow(before, after, *_changed_spans(before, after))
    for line in old[common:]:
        yield DiffRow(line, None, _whole_span(line), ())
    for line in new[common:]:
        yield DiffRow(None, line, (), _whole_span(line))


def _changed_spans(before: str, after: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    old, new = list(_WORDS.finditer(before)), list(_WORDS.finditer(after))
    if max(len(old), len(new)) > _MAX_COMPARED_WORDS:
        return _whole_span(before), _whole_span(after)
    matcher = SequenceMatcher(None, [word[0] for word in old], [word[0] for word in new], autojunk=False)
    left, right = [], []
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind != "equal":
            left += [Span(old[i].start(), old[j - 1].end())] if j > i else []
            right += [Span(new[k].start(), new[m - 1].end())] if m > k else []
    return tuple(left), tuple(right)


def _whole_span(line: str) -> tuple[Span, ...]:
    return (Span(0, len(line)),) if line else ()


class SourceStatus(StrEnum):
    """Whether a memory's source is unchanged (FRESH), moved, changed or gone; NONE for a memory without a source."""

    FRESH = "fresh"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SourceCheck:
    """The state of the source of `memory`: the status `kind`, and where the source is now.

    `source` is the present location of the source's text (status fresh or moved) or of the text that replaced it
    (changed); None if the source is gone or the memory has none. `now` is the present text of these lines. `is_seen` is
    true if the user has confirmed that the source is gone.
    """

    kind: SourceStatus
    memory: Memory
    source: Source | None = None
    now: str = ""
    is_seen: bool = False

    @property
    def is_stale(self) -> bool:
        """Whether the user has to decide about the source."""
        return self.kind in (SourceStatus.CHANGED, SourceStatus.GONE) and not self.is_seen

    @property
    def changed_lines(self) -> tuple[DiffRow, ...]:
        """The lines in which the memory and the current source differ."""
        return tuple(row for row in side_by_side(self.memory.text, self.now) if not row.is_same)

    def to_dict(self) -> dict[str, Any]:
        """Return this check of a source as JSON, as in `excerpt recall --sources`."""
        return {"kind": self.kind, "stale": self.is_stale, **attributes_to_json(self, "source", "now")}


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """A memory found by a query.

    `spans` are the character ranges of the matches in the memory's text. `confidence` is None for a query without
    words, and if memories were searched by words only. `answers` is false if no memory answers the query and this
    memory only has a word of it. `source_check` is set if sources were checked. `vault` is the name of its vault, "" if
    only one is open.
    """

    memory: Memory
    score: float = 0.0
    confidence: Confidence | None = None
    spans: tuple[Span, ...] = ()
    answers: bool = True
    source_check: SourceCheck | None = None
    vault: str = ""

    @property
    def text(self) -> str:
        """Text of the memory."""
        return self.memory.text

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt recall`: the fields of the memory and of the match."""
        return {
            **({"vault": self.vault} if self.vault else {}),
            **self.memory.to_dict(),
            "score": round(self.score, 6),
            **attributes_to_json(self, "confidence", "answers"),
            **({} if self.source_check is None else {"source_check": self.source_check.to_dict()}),
        }


class MemoryRelation(StrEnum):
    """What a new memory has in common with another: lines, heading, why and tags, or the meaning of its text."""

    LINES = "lines"
    HEADING = "heading"
    WHY = "why"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class SimilarMemory:
    """A memory that a new memory may replace, or that it can be merged with.

    `relation` is what both have in common. `likeness` is the cosine of the two texts, 0 if it is below MIN_MERGE_COSINE
    or unknown.
    """

    memory: Memory
    relation: MemoryRelation
    likeness: float

    @property
    def is_same_source(self) -> bool:
        """Whether both memories are about the same lines of a note."""
        return self.relation is MemoryRelation.LINES

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt remember`, with only the id and text of the memory."""
        return {
            **attributes_to_json(self.memory, "id", "text"),
            "relation": self.relation,
            "same_source": self.is_same_source,
            "likeness": round(self.likeness, 3),
        }


@dataclass(frozen=True, slots=True)
class SavedMemory:
    """A memory that was just saved, the similar memories, and the memories that it `replaces`.

    It could replace a similar memory, or be merged with it.
    """

    memory: Memory
    similar: tuple[SimilarMemory, ...] = ()
    replaces: tuple[Memory, ...] = ()

    @property
    def text(self) -> str:
        """Text of the memory."""
        return self.memory.text

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt remember`."""
        return {
            **self.memory.to_dict(),
            "similar": [offer.to_dict() for offer in self.similar],
            "replaces": [attributes_to_json(memory, "id", "text") for memory in self.replaces],
        }
