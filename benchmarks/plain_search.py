"""Plain search in SQLite FTS5, in four forms, which excerpt's packs are measured beside.

A vault is cut into passages of whole lines, the words of a question are joined by OR, BM25 ranks, and a pack has the
passages that fit, best first, each below a line with its source. The forms differ in the size of passages, and in
whether the question keeps its stop words; none is the best on every set.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.judgements import Place
from benchmarks.memory_sets import split_words

_STOP_WORDS_BY_KIND = {
    "determiners": "a an the this that these those all also any some such one more most no not just so too very than",
    "pronouns": "i me my mine you your yours he him his she her hers it its we us our ours they them their theirs",
    "questions": "how what when where which while who whom whose why",
    "prepositions": "about and as at because but by for from here if in into like of on or out over then there to up "
    "with",
    "verbs": "am is are was were be been being do does did doing done have has had having can could may might must "
    "shall should will would get give let tell",
    "contractions": "ll m re s t ve",
}
STOP_WORDS = frozenset(word for words in _STOP_WORDS_BY_KIND.values() for word in words.split())


class PlainForm(NamedTuple):
    """A form of plain search: the most words of a passage, and whether a question keeps its stop words."""

    max_words: int
    keeps_stop_words: bool


FORMS: Mapping[str, PlainForm] = {
    "fts5": PlainForm(250, keeps_stop_words=True),
    "fts5-stop": PlainForm(250, keeps_stop_words=False),
    "fts5-60": PlainForm(60, keeps_stop_words=True),
    "fts5-stop-60": PlainForm(60, keeps_stop_words=False),
}
CUT = 0.5
"""The share of the first score below which a cut pack takes no passage."""
CUT_FORM, CUT_SUFFIX = "fts5-stop", "-half"


@dataclass(frozen=True, slots=True)
class PlainHit:
    """A passage with its score."""

    place: Place
    score: float
    text: str

    @property
    def source_text(self) -> str:
        """The passage as a pack has it."""
        return f"{self.place.path}:{self.place.line_start}-{self.place.line_end}\n{self.text}\n\n"


def cut_passages(text: str, max_words: int) -> Iterator[tuple[int, int, str]]:
    """Yield the first line, the last line and the text of each passage; a longer line is a passage of its own."""
    lines = text.split("\n")
    first, words = 0, 0
    for number, line in enumerate(lines):
        count = len(line.split())
        if words and words + count > max_words:
            yield first + 1, number, "\n".join(lines[first:number])
            first, words = number, 0
        words += count
    if words:
        yield first + 1, len(lines), "\n".join(lines[first:])


class PlainIndex:
    """The passages of one vault in memory."""

    def __init__(self, vault: Path, max_words: int, count_tokens: Callable[[str], int]) -> None:
        self._count_tokens = cache(count_tokens)
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            "CREATE VIRTUAL TABLE passages USING fts5"
            "(text, path UNINDEXED, first UNINDEXED, last UNINDEXED, tokenize = 'porter unicode61')"
        )
        self._database.executemany(
            "INSERT INTO passages VALUES (?, ?, ?, ?)",
            (
                (text, note.relative_to(vault).as_posix(), first, last)
                for note in sorted(vault.rglob("*.md"))
                for first, last, text in cut_passages(note.read_text(encoding="utf-8"), max_words)
            ),
        )

    def search(self, question: str, limit: int, *, keeps_stop_words: bool) -> list[PlainHit]:
        """Return the best passages; a question of stop words alone keeps them."""
        words = split_words(question)
        asked = words if keeps_stop_words else [word for word in words if word not in STOP_WORDS] or words
        if not asked:
            return []
        rows = self._database.execute(
            "SELECT path, first, last, bm25(passages) AS cost, text FROM passages WHERE passages MATCH ?"
            " ORDER BY cost, rowid LIMIT ?",
            (" OR ".join(f'"{word}"' for word in asked), limit),
        )
        return [PlainHit(Place(path, first, last), -cost, text) for path, first, last, cost, text in rows]

    def pack(self, hits: Sequence[PlainHit], budget: int, *, cut: float = 0.0) -> tuple[int, list[PlainHit]]:
        """Return the tokens and the passages of a pack; hits below the share `cut` of the first score are left out."""
        used, packed = 0, []
        for hit in hits:
            if hit.score < cut * hits[0].score:
                break
            tokens = self._count_tokens(hit.source_text)
            if used + tokens <= budget:
                used += tokens
                packed.append(hit)
        return used, packed
