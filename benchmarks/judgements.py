"""The evaluation sets: queries, the notes and lines that answer them, and the measures of a list of hits.

The data and its scorer are not part of this repository. The measures here are those of the scorer (`eval/score.py`),
implemented again so that a thousand rankings can be scored without a process for each; `make quality` compares the two.
"""

from __future__ import annotations

import csv
import json
import math
import os
import shlex
import statistics
import subprocess
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

FIRST = 10
"""How many notes, and how many hits for sections, the measures consider."""

LANGUAGES = frozenset({"ar", "de", "ja", "ko", "ru", "th", "zh"})
"""Languages at the end of a set's name; a set without one is English."""


class QualityError(Exception):
    """The measurement cannot be made; the message is one sentence for the user."""


class Place(NamedTuple):
    """Location of a fragment or a target; lines from 1, inclusive."""

    path: str
    line_start: int
    line_end: int


@dataclass(frozen=True, slots=True)
class Question:
    """One query, and what answers it.

    `grades` are the answering notes with their relevance (known items: 1). `targets` are answers below note level.
    `struck` notes are removed from a ranking before it is scored, because the query's words were taken from them. A
    `gap` query has a word that its target does not have, and an `of_link` query is the anchor text of a link to its
    target.
    """

    text: str
    grades: Mapping[str, int]
    targets: tuple[Place, ...] = ()
    struck: frozenset[str] = frozenset()
    gap: bool = False
    of_link: bool = False


@dataclass(frozen=True, slots=True)
class Worth:
    """The measures of one list of hits.

    `value` is nDCG@10 if the set is judged, else MRR@10. `recall` is the share of the answering notes, of at most ten,
    that is among the first ten (known items: whether any is). `section` is whether a target's lines are among the first
    hits, None if there is no target below note level.
    """

    value: float
    section: float | None
    gap: bool
    recall: float
    of_link: bool = False


@dataclass(frozen=True)
class QuerySet:
    """One set of queries.

    `vault` is the folder of its notes; for a judged collection they are written there. Only such a set has a
    `collection`, with judgements of all answering notes; other sets know one item.
    """

    name: str
    vault: Path
    queries: Path
    collection: Path | None

    @property
    def measure(self) -> str:
        """The measure by which its rankings are compared."""
        return "nDCG@10" if self.collection else "MRR@10"

    @property
    def language(self) -> str:
        """ISO 639-1 code of the language of its notes."""
        last = self.name.split(".")[0].rpartition("-")[2]
        return last if last in LANGUAGES else "en"

    @property
    def family(self) -> str:
        """The name without language and part: sets of one family are translations, or parts, of each other."""
        name = self.name.split(".")[0]
        before, _, last = name.rpartition("-")
        return before if before and last in (*LANGUAGES, "en") else name

    def questions(self) -> list[Question]:
        """Return its queries in file order, without judged ones that lack a judgement, as the scorer does."""
        return list(_judged(self.collection) if self.collection else _known(self.queries))


@dataclass(frozen=True)
class Outside:
    """The programs and data under --data; vaults of judged collections are written under `work`."""

    data: Path
    work: Path = Path("build/quality")

    @property
    def score(self) -> Path:
        return self.data / "eval" / "score.py"

    @property
    def baseline(self) -> Path:
        return self.data / "eval" / "baseline_fts5.py"

    @property
    def asked(self) -> Path:
        """The program that asks and judges `questions`."""
        return self.data / "eval" / "asked.py"

    @property
    def questions(self) -> Path:
        """The folder of questions in other people's words."""
        return self.data / "data" / "queries" / "asked"

    def check(self) -> None:
        """Raise QualityError if a program or folder is missing."""
        for needed in (self.score, self.baseline, self.asked, self.questions, self.data / "data" / "collections"):
            if not needed.exists():
                raise QualityError(
                    f"The evaluation data is not at {self.data}: {needed} is missing; name it by --data."
                )

    def sets(self) -> list[QuerySet]:
        """Return the sets, small vaults first so that a mistake shows early."""
        data = self.data / "data"
        known = [
            QuerySet(file.name.removesuffix(".jsonl"), data / "vaults" / vault_of(file.name), file, None)
            for file in sorted((data / "queries").glob("*.jsonl"))
        ]
        judged = [
            QuerySet(folder.name, self.work / "vaults" / folder.name, folder / "queries.jsonl", folder)
            for folder in sorted((data / "collections").iterdir())
            if (folder / "qrels.tsv").exists()
        ]
        return sorted(judged + known, key=lambda s: (s.name.startswith("cpp-docs"), s.collection is None, s.name))


def open_outside(folder: Path) -> Outside:
    """Return the data in `folder`, with EXCERPT_HOME under its work folder; end the program if a part is missing."""
    outside = Outside(folder.resolve())
    try:
        outside.check()
    except QualityError as error:
        raise SystemExit(str(error)) from error
    os.environ.setdefault("EXCERPT_HOME", str((outside.work / "home").resolve()))
    return outside


def run_program(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Run a command to its end and return its stdout. Raises QualityError if it fails."""
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise QualityError(f"`{shlex.join(command)}` ended with {done.returncode}; what it said stands above.")
    return done.stdout


def vault_of(file_name: str) -> str:
    """Return the folder, under `vaults`, of the vault that a file of queries is for."""
    name = file_name.removesuffix(".jsonl").removesuffix(".dev").removesuffix(".held")
    return name.replace("obsidian-help-", "obsidian-help/")


# --- what a list is worth ---------------------------------------------------------------------------------------------


def worth(question: Question, hits: Sequence[Place], *, judged: bool) -> Worth:
    """Return the measures of `hits`, best first, as an answer to `question`."""
    hits = [hit for hit in hits if hit.path not in question.struck]
    notes = list(dict.fromkeys(hit.path for hit in hits))[:FIRST]
    value = ndcg(notes, question.grades) if judged else reciprocal_rank(notes, question.grades)
    active_strategy = sum(note in question.grades for note in notes)
    recall = active_strategy / min(FIRST, len(question.grades)) if judged else float(active_strategy > 0)
    section = None
    if question.targets:
        section = float(overlaps(hits[:FIRST], question.targets))
    return Worth(value, section, question.gap, recall, question.of_link)


def reciprocal_rank(notes: Iterable[str], grades: Mapping[str, int]) -> float:
    """Return one divided by the rank of the first answering note, 0 if there is none."""
    return next((1 / rank for rank, note in enumerate(notes, 1) if note in grades), 0.0)


def ndcg(notes: Iterable[str], grades: Mapping[str, int]) -> float:
    """Return the normalised discounted cumulative gain, with gains 2^grade - 1, over the first ten."""
    ideal = _discounted(sorted(grades.values(), reverse=True)[:FIRST])
    return _discounted([grades.get(note, 0) for note in notes]) / ideal


def _discounted(grades: Sequence[int]) -> float:
    return float(sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades)))


def overlaps(some: Sequence[Place], others: Sequence[Place]) -> bool:
    """Return whether any place of `some` shares a line with any of `others`."""
    return any(
        one.path == other.path and one.line_start <= other.line_end and one.line_end >= other.line_start
        for one in some
        for other in others
    )


@dataclass(frozen=True, slots=True)
class Summary:
    """Means over a set's questions.

    `value` is nDCG@10 or MRR@10; `section` is section@10 and `gap` MRR@10 of the gap rows, None without such;
    `of_links` and `others` are MRR@10 of the queries that are anchor texts and of the others, if there are any of the
    former.
    """

    value: float
    section: float | None
    gap: float | None
    recall: float
    of_links: float | None = None
    others: float | None = None


def summary(compute_hit_values: Sequence[Worth]) -> Summary:
    """Return the means of the measures of a set's questions."""
    of_links = mean_of(one.value if one.of_link else None for one in compute_hit_values)
    return Summary(
        statistics.fmean(one.value for one in compute_hit_values),
        mean_of(one.section for one in compute_hit_values),
        mean_of(one.value if one.gap else None for one in compute_hit_values),
        statistics.fmean(one.recall for one in compute_hit_values),
        of_links,
        None if of_links is None else mean_of(None if one.of_link else one.value for one in compute_hit_values),
    )


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None, None if there are none."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


# --- reading ----------------------------------------------------------------------------------------------------------


def _known(file: Path) -> Iterator[Question]:
    for row in _lines(file):
        relevant = row["relevant"]
        yield Question(
            text=row["query"],
            grades={one["path"]: 1 for one in relevant},
            targets=tuple(
                Place(one["path"], one["line_start"], one["line_end"]) for one in relevant if one.get("heading")
            ),
            struck=frozenset(row.get("exclude") or ()) - {one["path"] for one in relevant},
            gap=row.get("difficulty") == "gap",
            of_link=row.get("kind", "").startswith("link-text"),
        )


def _judged(collection: Path) -> Iterator[Question]:
    grades: dict[str, dict[str, int]] = {}
    with (collection / "qrels.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if (grade := int(float(row["score"]))) > 0:
                # The name that the scorer gives a document's note.
                grades.setdefault(row["query-id"], {})[urllib.parse.quote(row["corpus-id"], safe="") + ".md"] = grade
    for row in _lines(collection / "queries.jsonl"):
        if row["_id"] in grades:
            yield Question(text=row["text"], grades=grades[row["_id"]])


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())
