"""The published memory and multi-hop sets: their questions, their evidence, and what an answer to one is worth.

The sets are not part of this repository; `eval/memory.py` beside them asks and scores them too. The measures are those
of that program, implemented again; `python -m benchmarks.memory_bench --check` compares the two.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.judgements import Place, QualityError, overlaps

RUN = 6
"""Length, in words, of the runs by which a span of evidence is recognised in a text."""
WORD = re.compile(r"\w+")

HIT_FIGURES = ("notes in 5 hits", "notes in 10 hits", "evidence in 5 hits")
PACK_FIGURES = (
    "evidence",
    "all of the evidence",
    "tokens",
    "precision of notes",
    "recall of notes",
    "exactly the notes",
    "empty, answerable",
    "empty, unanswerable",
    "false-empty",
    "outdated note",
    "current value",
    "old value alone",
)
LOWER_IS_BETTER = frozenset(("tokens", "empty, answerable", "false-empty", "outdated note", "old value alone"))


@dataclass(frozen=True, slots=True)
class Evidence:
    """A span of evidence: lines of a note, of which only the first `max_words` words count, all where it is None."""

    place: Place
    max_words: int | None
    role: str


@dataclass(frozen=True, slots=True)
class MemoryQuestion:
    """A question of a set.

    `is_adversarial` questions have evidence, but an empty pack is right as well. `ignored` notes count neither for nor
    against an answer; `outdated` ones are no longer true, None where the set has none of them.
    """

    id: str
    vault: str
    part: str
    text: str
    category: str
    is_answerable: bool
    is_adversarial: bool
    evidence: tuple[Evidence, ...]
    ignored: frozenset[str]
    outdated: frozenset[str] | None

    @property
    def notes(self) -> frozenset[str]:
        """Paths of the notes with evidence."""
        return frozenset(each.place.path for each in self.evidence)


@dataclass(frozen=True, slots=True)
class MemoryPack:
    """A pack: its tokens, the paths of its passages, and for each span of evidence whether its text holds it."""

    tokens: int
    paths: tuple[str, ...]
    delivered: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """What one system answered: its hits, best first, and its packs by their budget."""

    hits: tuple[Place, ...]
    packs: Mapping[str, MemoryPack]


def read_questions(folder: Path) -> list[MemoryQuestion]:
    """Return the questions of a set in file order. Raises QualityError if there are none."""
    try:
        lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise QualityError(f"{folder} is no set: it has no questions.jsonl.") from error
    return [_parse_question(folder.name, json.loads(line)) for line in lines if line.strip()]


def _parse_question(set_name: str, row: Mapping[str, Any]) -> MemoryQuestion:
    return MemoryQuestion(
        id=row["id"],
        vault=row["vault"],
        part=" ".join((set_name, row.get("variant", ""))).strip(),
        text=row["query"],
        category=row["category"],
        is_answerable=row["answerable"],
        is_adversarial=row.get("note") == "adversarial",
        evidence=tuple(Evidence(to_place(span), span.get("words"), span.get("role", "")) for span in row["evidence"]),
        ignored=frozenset(row.get("ignore", ())),
        outdated=frozenset(row["outdated"]) if "outdated" in row else None,
    )


def to_place(row: Mapping[str, Any]) -> Place:
    """Return the lines of a note that a span, hit or source names."""
    return Place(row["path"], row["line_start"], row["line_end"])


# --- evidence in a text -----------------------------------------------------------------------------------------------


def split_words(text: str) -> list[str]:
    """Return the words of `text` in lower case."""
    return [word.lower() for word in WORD.findall(text)]


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1)}


class EvidenceReader:
    """Reads the evidence in the notes of one vault, each note once."""

    def __init__(self, vault: Path) -> None:
        self._vault = vault
        self._lines: dict[str, list[str]] = {}

    def find_delivered(self, evidence: Sequence[Evidence], text: str) -> tuple[bool, ...]:
        """Return for each span whether `text` holds it: half of its runs of words, or all of a shorter span."""
        words = split_words(text)
        runs, joined = _runs(words), f" {' '.join(words)} "
        return tuple(self._is_delivered(each, runs, joined) for each in evidence)

    def _is_delivered(self, evidence: Evidence, runs: set[tuple[str, ...]], joined: str) -> bool:
        words = self._read_words(evidence)
        if len(words) < RUN:
            return f" {' '.join(words)} " in joined
        expected = _runs(words)
        return len(expected & runs) * 2 >= len(expected)

    def _read_words(self, evidence: Evidence) -> list[str]:
        path, first, last = evidence.place
        if path not in self._lines:
            self._lines[path] = (self._vault / path).read_text(encoding="utf-8").split("\n")
        return split_words("\n".join(self._lines[path][first - 1 : last]))[: evidence.max_words]


# --- what an answer is worth ------------------------------------------------------------------------------------------

Figures = Mapping[str, float | None]
"""Values by the name of the figure; None where it has no meaning for a question."""


def hit_figures(question: MemoryQuestion, answer: MemoryAnswer) -> Figures:
    """Return the value of each of HIT_FIGURES: shares of the notes with evidence, and of the spans of evidence."""
    if not question.evidence:
        return {}
    notes, expected = _list_notes((hit.path for hit in answer.hits), question.ignored), question.notes
    in_hits = [overlaps(answer.hits[:5], [each.place]) for each in question.evidence]
    return {
        "notes in 5 hits": len(expected.intersection(notes[:5])) / len(expected),
        "notes in 10 hits": len(expected.intersection(notes[:10])) / len(expected),
        "evidence in 5 hits": statistics.fmean(in_hits),
    }


def _list_notes(paths: Any, ignored: frozenset[str]) -> list[str]:
    return [path for path in dict.fromkeys(paths) if path not in ignored]


def pack_figures(question: MemoryQuestion, answer: MemoryAnswer, budget: str) -> Figures:
    """Return the value of each of PACK_FIGURES for the pack of a budget."""
    pack = answer.packs[budget]
    notes, expected = frozenset(_list_notes(pack.paths, question.ignored)), question.notes
    figures: dict[str, float | None] = {}
    if question.evidence:
        right = len(expected & notes)
        figures["evidence"] = statistics.fmean(pack.delivered)
        figures["all of the evidence"] = float(all(pack.delivered))
        figures["tokens"] = float(pack.tokens)
        figures["precision of notes"] = right / len(notes) if notes else 0.0
        figures["recall of notes"] = right / len(expected)
        figures["exactly the notes"] = float(notes == expected)
    if not question.is_answerable:
        figures["empty, unanswerable"] = float(not notes)
    elif not question.is_adversarial:
        figures["empty, answerable"] = float(not notes)
        if overlaps(answer.hits[:5], [each.place for each in question.evidence]):
            figures["false-empty"] = float(not notes)
    if question.outdated is not None:
        figures["outdated note"] = float(not question.outdated.isdisjoint(pack.paths))
    current, old = (
        [held for each, held in zip(question.evidence, pack.delivered, strict=True) if each.role == role]
        for role in ("updated_info", "original_info")
    )
    if current and old:
        figures["current value"] = float(any(current))
        figures["old value alone"] = float(any(old) and not any(current))
    return figures
