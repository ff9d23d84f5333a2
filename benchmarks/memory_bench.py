"""Measure search and packs on published sets: `make memory-bench`, or `python -m benchmarks.memory_bench`.

The sets are not part of this repository (docs/design/published.md says what each asks, and what it cannot show). Every
question is asked of excerpt, literally and with default settings, and of the forms of plain search. The answers are
written to build/memory-bench/SET.SYSTEM.jsonl, one question a line, in the form of `eval/memory.py`, which can score
them too; tables go to stdout, progress to stderr. With --check that program asks and scores everything again, and the
figures must agree. With --before FOLDER, excerpt is compared with its own answers of an earlier version.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import excerpt
from benchmarks.judgements import QualityError, mean_of, run_program
from benchmarks.measure import result, table, write_option
from benchmarks.memory_sets import (
    HIT_FIGURES,
    LOWER_IS_BETTER,
    PACK_FIGURES,
    EvidenceReader,
    Figures,
    MemoryAnswer,
    MemoryPack,
    MemoryQuestion,
    hit_figures,
    pack_figures,
    read_questions,
    to_place,
)
from benchmarks.plain_search import CUT, CUT_FORM, CUT_SUFFIX, FORMS, PlainIndex
from benchmarks.targets import verdict
from excerpt.text.tokens import open_tokenizer

SETS = ("precision", "precision-superseded", "hops", "hops-linked", "beam", "locomo")
WORK = Path("build/memory-bench")
BUDGETS = (1_000, 2_000)
LIMIT = 50
"""Hits of a search; plain packs are made of as many."""
EXCERPT, BEFORE = "excerpt", "before"
RESAMPLES = 2_000
"""Samples of the questions, with replacement, that an interval is made of."""
ROUNDED = 0.00051
"""The largest difference between a figure and the same figure rounded to three digits."""

SCORED_NAMES = {
    "notes in 5 hits": "R@5",
    "notes in 10 hits": "R@10",
    "evidence in 5 hits": "evidence in the first 5 hits",
    "evidence": "evidence in the pack",
    "all of the evidence": "all evidence in the pack (strict)",
    "tokens": "tokens",
    "precision of notes": "precision of the pack's notes",
    "recall of notes": "recall of the pack's notes",
    "exactly the notes": "pack has exactly the notes",
    "false-empty": "false-empty: no pack, evidence in the first 5 hits",
    "outdated note": "an outdated note in the pack",
    "current value": "current value in the pack",
    "old value alone": "only the old value in the pack",
}
"""Names of figures in the tables of `eval/memory.py`."""

Rows = Iterator[dict[str, Any]]
Answers = Mapping[str, Mapping[str, MemoryAnswer]]
"""The answers by question, by system."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.memory_bench")
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/memory and eval/")
    parser.add_argument("--sets", nargs="*", default=[], metavar="NAME", help="only these sets")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="ask one question in N")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="compare with the answers in another folder")
    parser.add_argument("--check", action="store_true", help="compare all figures with those of eval/memory.py")
    write_option(parser, "memory-bench")
    args = parser.parse_args(argv)
    if args.write and (args.sets or args.every > 1 or args.before):
        parser.error("--write is for all sets and questions")
    if args.check and args.every > 1:
        parser.error("--check is for all questions")
    try:
        with result("memory-bench", "Published sets", write=args.write):
            return measure(args.data.resolve(), args.sets or SETS, args.every, args.before, check=args.check)
    except QualityError as error:
        print(f"memory-bench: {error}", file=sys.stderr)
        return 3


def measure(data: Path, sets: Sequence[str], every: int, before: Path | None, *, check: bool) -> int:
    """Ask the questions of the sets and print the tables. Returns 0, or 1 if --check fails."""
    WORK.mkdir(parents=True, exist_ok=True)
    os.environ["EXCERPT_HOME"] = str((WORK / "home").resolve())
    print(f"{EXCERPT} and plain search; intervals are of {RESAMPLES:,} samples of the questions, at 95 %.\n")
    agreements: list[Agreement] = []
    for name in sets:
        folder = data / "data" / "memory" / name
        questions = read_questions(folder)[::every]
        files = [WORK / f"{name}.{system}.jsonl" for system in (EXCERPT, "plain")]
        _write_rows(files[0], _ask_excerpt(folder, questions))
        _write_rows(files[1], _ask_plain(folder, questions))
        answers = read_answers(files)
        if before:
            answers = {**answers, BEFORE: read_answers([before / files[0].name])[EXCERPT]}
        for part, asked in _group(questions, lambda question: question.part):
            report_part(part, asked, answers)
        if check:
            agreements += check_agreement(data / "eval" / "memory.py", folder, questions, answers)
    return report_agreement(agreements) if check else 0


def _group(
    questions: Sequence[MemoryQuestion], key: Callable[[MemoryQuestion], str]
) -> Iterator[tuple[str, list[MemoryQuestion]]]:
    for name in dict.fromkeys(map(key, questions)):
        yield name, [question for question in questions if key(question) == name]


# --- asking -----------------------------------------------------------------------------------------------------------


def _write_rows(file: Path, rows: Rows) -> None:
    with file.open("w", encoding="utf-8") as out:
        out.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _ask_excerpt(folder: Path, questions: Sequence[MemoryQuestion]) -> Rows:
    for name, asked in _group(questions, lambda question: question.vault):
        vault = folder / "vaults" / name
        evidence = EvidenceReader(vault)
        print(f"memory-bench: {folder.name}, {name}", file=sys.stderr, flush=True)
        with excerpt.open(vault, index=WORK / "index" / folder.name / name, settings=excerpt.Settings()) as notes:
            notes.load()
            for question in asked:
                start = time.perf_counter()
                hits = notes.search(question.text, limit=LIMIT, literal=True).hits
                milliseconds, packs = (time.perf_counter() - start) * 1000, {}
                for budget in BUDGETS:
                    start = time.perf_counter()
                    packed = notes.pack(question.text, budget=budget, literal=True)
                    packs[str(budget)] = {
                        **_pack_row(question, evidence, packed.tokens, packed.passages, packed.text),
                        "ms": (time.perf_counter() - start) * 1000,
                    }
                scored = [
                    {**_location(hit), "score": hit.score, "confidence": hit.confidence and hit.confidence.value}
                    for hit in hits
                ]
                yield _row(question, EXCERPT, milliseconds, scored, packs)


def _ask_plain(folder: Path, questions: Sequence[MemoryQuestion]) -> Rows:
    count_tokens = open_tokenizer(excerpt.Settings().pack.tokenizer).count
    for name, asked in _group(questions, lambda question: question.vault):
        vault = folder / "vaults" / name
        evidence = EvidenceReader(vault)
        indexes = {size: PlainIndex(vault, size, count_tokens) for size in {form.max_words for form in FORMS.values()}}
        for question in asked:
            for system, form in FORMS.items():
                index, start = indexes[form.max_words], time.perf_counter()
                hits = index.search(question.text, LIMIT, keeps_stop_words=form.keeps_stop_words)
                milliseconds, packs = (time.perf_counter() - start) * 1000, {}
                cuts = {"": 0.0, CUT_SUFFIX: CUT} if form.max_words == FORMS[CUT_FORM].max_words else {"": 0.0}
                for budget in BUDGETS:
                    for suffix, cut in cuts.items():
                        tokens, packed = index.pack(hits, budget, cut=cut)
                        text = "".join(hit.source_text for hit in packed)
                        places = [hit.place for hit in packed]
                        packs[f"{budget}{suffix}"] = _pack_row(question, evidence, tokens, places, text)
                scored = [{**_location(hit.place), "score": hit.score} for hit in hits]
                yield _row(question, system, milliseconds, scored, packs)


def _location(located: Any) -> dict[str, object]:
    return {"path": located.path, "line_start": located.line_start, "line_end": located.line_end}


def _pack_row(
    question: MemoryQuestion, evidence: EvidenceReader, tokens: int, passages: Iterable[object], text: str
) -> dict[str, object]:
    delivered = evidence.find_delivered(question.evidence, text)
    sources = [_location(passage) for passage in passages]
    return {"tokens": tokens, "sources": sources, "evidence": mean_of(delivered), "delivered": delivered}


def _row(question: MemoryQuestion, system: str, milliseconds: float, hits: object, packs: object) -> dict[str, Any]:
    return {
        "id": question.id,
        "vault": question.vault,
        "system": system,
        "ms": milliseconds,
        "packs": packs,
        "hits": hits,
    }


def read_answers(files: Iterable[Path]) -> Answers:
    """Return the answers in files of rows."""
    answers: dict[str, dict[str, MemoryAnswer]] = {}
    for file in files:
        with file.open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                packs = {budget: _parse_pack(pack) for budget, pack in row["packs"].items()}
                answer = MemoryAnswer(tuple(map(to_place, row["hits"])), packs)
                answers.setdefault(row["system"], {})[row["id"]] = answer
    return answers


def _parse_pack(row: Mapping[str, Any]) -> MemoryPack:
    return MemoryPack(row["tokens"], tuple(source["path"] for source in row["sources"]), tuple(row["delivered"]))


# --- the tables -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """The figures of one system, one for each question of a part."""

    name: str
    figures: Sequence[Figures]

    def mean(self, figure: str) -> float | None:
        """Return the mean over the questions that have the figure, None if there are none."""
        return mean_of(each.get(figure) for each in self.figures)


def hit_columns(questions: Sequence[MemoryQuestion], answers: Answers) -> list[Column]:
    """Return the figures of the hits of every system."""
    return [Column(name, [hit_figures(each, rows[each.id]) for each in questions]) for name, rows in answers.items()]


def pack_columns(questions: Sequence[MemoryQuestion], answers: Answers, budget: int) -> list[Column]:
    """Return the figures of the packs of every system, and of the cut packs of one form."""
    chosen = [(name, str(budget), name) for name in answers]
    chosen.append((CUT_FORM, f"{budget}{CUT_SUFFIX}", f"{CUT_FORM}{CUT_SUFFIX}"))
    return [
        Column(label, [pack_figures(each, answers[name][each.id], key) for each in questions])
        for name, key, label in chosen
    ]


def report_part(part: str, questions: Sequence[MemoryQuestion], answers: Answers) -> None:
    """Print the figures of all systems on one part of a set, and those of its categories."""
    with_evidence = sum(bool(each.evidence) for each in questions)
    print(f"## {part}\n\n{len(questions)} questions, {with_evidence} of them with evidence.\n")
    names = [*answers, f"{CUT_FORM}{CUT_SUFFIX}"]
    rows = list(table_rows(HIT_FIGURES, "", hit_columns(questions, answers)))
    for budget in BUDGETS:
        rows += table_rows(PACK_FIGURES, f", {budget:,}", pack_columns(questions, answers, budget))
    against = [name for name in (CUT_FORM, BEFORE) if name in answers]
    table(("", *names, *(f"to {name}" for name in against), "to the best form"), rows)
    print()
    _report_categories(questions, answers)


def table_rows(figures: Sequence[str], suffix: str, columns: Sequence[Column]) -> Iterator[list[str]]:
    """Yield the row of each figure that any question has: means, and differences of the first column to others."""
    by_name = {column.name: column for column in columns}
    for figure in figures:
        means = {name: column.mean(figure) for name, column in by_name.items()}
        if all(mean is None for mean in means.values()):
            continue
        forms = {name: mean for name in FORMS if (mean := means[name]) is not None}
        best = (min if figure in LOWER_IS_BETTER else max)(forms, key=partial(_get, forms))
        cells = [format_mean(means.get(name)) for name in (*by_name, *([] if suffix else [""]))]
        others = [name for name in (CUT_FORM, BEFORE) if name in by_name]
        differences = [_format_difference(columns[0], by_name[name], figure) for name in (*others, best)]
        yield [f"{figure}{suffix}", *cells, *differences[:-1], f"{best}: {differences[-1]}"]


def _get(values: Mapping[str, float], name: str) -> float:
    return values[name]


def format_mean(mean: float | None) -> str:
    """Return a mean as a cell: three digits, tokens whole."""
    if mean is None:
        return ""
    return f"{mean:.0f}" if mean > 10 else f"{mean:.3f}"


def _format_difference(ours: Column, other: Column, figure: str) -> str:
    pairs = zip(ours.figures, other.figures, strict=True)
    differences = [a[figure] - b[figure] for a, b in pairs if a.get(figure) is not None and b.get(figure) is not None]  # type: ignore[operator]
    if not differences:
        return ""
    low, high = interval(differences)
    digits = 0 if max(abs(low), abs(high)) > 10 else 3
    return f"{np.mean(differences):+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of paired differences, by resampling the questions."""
    values, random = np.array(differences), np.random.default_rng(len(differences))
    means = [random.choice(values, len(values)).mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def _report_categories(questions: Sequence[MemoryQuestion], answers: Answers) -> None:
    rows = []
    for category in sorted({each.category for each in questions}):
        asked = [each for each in questions if each.category == category]
        shares = [column.mean("evidence") for column in pack_columns(asked, answers, BUDGETS[0])[:-1]]
        if any(share is not None for share in shares):
            rows.append((category, str(len(asked)), *map(format_mean, shares)))
    if len(rows) > 1:
        table((f"evidence in {BUDGETS[0]:,}", "n", *answers), rows)
        print(flush=True)


# --- agreement with the other program ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agreement:
    """A mean here, and as the other program prints it, which rounds it."""

    name: str
    mean: float
    printed: str

    @property
    def is_same(self) -> bool:
        """Whether the difference is no more than rounding makes."""
        return abs(self.mean - float(self.printed)) <= (0.5 if "." not in self.printed else ROUNDED)

    @property
    def text(self) -> str:
        """The figure and both values, for a message."""
        return f"{self.name} is {self.mean:.4f}, there {self.printed}"


def check_agreement(
    program: Path, folder: Path, questions: Sequence[MemoryQuestion], answers: Answers
) -> Iterator[Agreement]:
    """Ask and score a set by `eval/memory.py`, and yield its figures beside those here."""
    verbs = ("run", "baseline")
    files = [str(WORK / f"{folder.name}.checked.{verb}.jsonl") for verb in verbs]
    for verb, file in zip(verbs, files, strict=True):
        run_program([sys.executable, str(program), verb, str(folder), file])
    printed = run_program([sys.executable, str(program), "score", str(folder), *files])
    parts = _group(questions, lambda question: question.part)
    for (part, asked), scores in zip(parts, read_scores(printed), strict=True):
        of_packs = [(f", {budget}", PACK_FIGURES, pack_columns(asked, answers, budget)) for budget in BUDGETS]
        for suffix, figures, columns in [("", HIT_FIGURES, hit_columns(asked, answers)), *of_packs]:
            for figure in figures:
                row = scores.get(f"{SCORED_NAMES.get(figure)}{suffix}", {})
                for column in columns:
                    mean = column.mean(figure)
                    if column.name in row and mean is not None:
                        yield Agreement(f"{part}, {figure}{suffix} of {column.name}", mean, row[column.name])


def report_agreement(agreements: Sequence[Agreement]) -> int:
    """Print whether the figures agree. Returns 0, or 1 if one differs, or if there are none to compare."""
    differing = [each.text for each in agreements if not each.is_same]
    if agreements:
        message = "; ".join(differing[:9]) or f"all {len(agreements)} figures"
    else:
        message = "no figure has the same name in both"
    holds = bool(agreements) and not differing
    print(verdict(holds, f"eval/memory.py agrees: {message}"))
    return 0 if holds else 1


def read_scores(printed: str) -> list[dict[str, dict[str, str]]]:
    """Return for each part of a set the numbers of its tables, by row and column."""
    parts: list[dict[str, dict[str, str]]] = []
    head: list[str] = []
    for line in printed.splitlines():
        if line.startswith("## "):
            parts.append({})
        elif not line.startswith("|"):
            head = []
        elif not head:
            head = _cells(line)
        elif parts and not line.startswith("|---"):
            name, *cells = _cells(line)
            numbers = {column: cell for column, cell in zip(head[1:], cells, strict=False) if _NUMBER.fullmatch(cell)}
            parts[-1].setdefault(name, numbers)
    return parts


_NUMBER = re.compile(r"\d+(\.\d+)?")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


if __name__ == "__main__":
    sys.exit(main())
