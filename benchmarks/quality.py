"""Measure excerpt's ranking against the plain FTS5 baseline: `make quality`, or `python -m benchmarks.quality`.

The data, the scorer and the baseline are not part of this repository; they are run as the outside programs they are
(`eval/score.py`, `eval/baseline_fts5.py` under --data). excerpt is asked through its command line, so that what is
measured is what a user gets. Indexes and answers are kept under build/quality; the table goes to stdout, the way
there to stderr.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

WORK = Path("build/quality")
MEASURES = ("MRR@10", "recall@10", "section@10", "nDCG@10", "gap MRR", "gap recall")


class QualityError(Exception):
    """The measurement cannot be made; the message is one sentence for the reader."""


@dataclass(frozen=True)
class QuerySet:
    """One set of queries. `vault` is where its notes are, or are written to if it is a judged collection."""

    name: str
    vault: Path
    queries: Path
    collection: Path | None


@dataclass(frozen=True)
class Figures:
    """What one program reached on one set: a value per measure where the set has it, and its times in ms."""

    count: int
    values: dict[str, float]
    p50: float
    p95: float


@dataclass(frozen=True)
class Outside:
    """The programs and data under --data."""

    data: Path

    @property
    def score(self) -> Path:
        return self.data / "eval" / "score.py"

    @property
    def baseline(self) -> Path:
        return self.data / "eval" / "baseline_fts5.py"

    def check(self) -> None:
        for needed in (self.score, self.baseline, self.data / "data" / "queries", self.data / "data" / "collections"):
            if not needed.exists():
                raise QualityError(
                    f"The evaluation data is not at {self.data}: {needed} is missing; name it by --data."
                )

    def sets(self) -> list[QuerySet]:
        """Small vaults first, so that a mistake shows early."""
        data = self.data / "data"
        known = [
            QuerySet(file.name.removesuffix(".jsonl"), data / "vaults" / _vault_of(file.name), file, None)
            for file in sorted((data / "queries").glob("*.jsonl"))
        ]
        judged = [
            QuerySet(folder.name, WORK / "vaults" / folder.name, folder / "queries.jsonl", folder)
            for folder in sorted((data / "collections").iterdir())
            if (folder / "qrels.tsv").exists()
        ]
        return sorted(judged + known, key=lambda s: (s.name.startswith("cpp-docs"), s.collection is None, s.name))


def _vault_of(file_name: str) -> str:
    name = file_name.removesuffix(".jsonl").removesuffix(".dev").removesuffix(".held")
    return name.replace("obsidian-help-", "obsidian-help/")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.quality", description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    parser.add_argument("--sets", nargs="*", default=[], metavar="NAME", help="only these sets")
    args = parser.parse_args(argv)
    try:
        return measure(Outside(args.data.resolve()), args.sets)
    except QualityError as error:
        print(f"quality: {error}", file=sys.stderr)
        return 3


def measure(outside: Outside, only: Sequence[str]) -> int:
    """Measure the sets and print the table. Returns 0, or 1 if excerpt is below the baseline anywhere."""
    outside.check()
    sets = outside.sets()
    unknown = set(only) - {s.name for s in sets}
    if unknown:
        raise QualityError(f"There is no set {', '.join(sorted(unknown))}; known: {', '.join(s.name for s in sets)}.")
    rows: list[str] = []
    below: list[str] = []
    for chosen in sets:
        if only and chosen.name not in only:
            continue
        ours, plain = measure_set(outside, chosen)
        rows += table_rows(chosen.name, ours, plain)
        below += [
            f"{chosen.name} {measure} {ours.values[measure]:.3f} < {plain.values[measure]:.3f}"
            for measure in MEASURES
            if measure in plain.values and ours.values.get(measure, 0.0) < plain.values[measure]
        ]
    print("| set | n | | " + " | ".join(MEASURES) + " | p50 ms | p95 ms |")
    print("|---|---:|---|" + "---:|" * (len(MEASURES) + 2))
    print("\n".join(rows))
    print("\nBelow the baseline: " + ("; ".join(below) if below else "nothing") + ".")
    return 1 if below else 0


def measure_set(outside: Outside, chosen: QuerySet) -> tuple[Figures, Figures]:
    """excerpt's figures and the baseline's, one after the other on the same machine."""
    print(f"quality: {chosen.name}", file=sys.stderr, flush=True)
    if chosen.collection and not chosen.vault.exists():
        _run([sys.executable, str(outside.score), "vault", str(chosen.collection), str(chosen.vault)])
    if not chosen.vault.is_dir():
        raise QualityError(f"The vault of {chosen.name} is missing: {chosen.vault}.")
    excerpt = [sys.executable, "-m", "excerpt"]
    _run([*excerpt, "index", "--vault", str(chosen.vault)])
    return (
        _figures(outside, chosen, excerpt, WORK / "out" / f"{chosen.name}.excerpt.jsonl"),
        _figures(outside, chosen, [sys.executable, str(outside.baseline)], WORK / "out" / f"{chosen.name}.fts5.jsonl"),
    )


def _figures(outside: Outside, chosen: QuerySet, program: Sequence[str], out: Path) -> Figures:
    out.parent.mkdir(parents=True, exist_ok=True)
    score = [sys.executable, str(outside.score)]
    _run([*score, "run", shlex.join(program), str(chosen.vault), str(chosen.queries), str(out)])
    if chosen.collection:
        count, values = read_judged(_run([*score, "judged", str(chosen.collection), str(out)]))
    else:
        count, values = read_known(_run([*score, "known", str(chosen.queries), str(out)]))
    times = re.search(r"p50 ([\d.]+) ms\s+p95 ([\d.]+) ms", _run([*score, "latency", str(out)]))
    if not times:
        raise QualityError(f"score.py gave no times for {chosen.name}.")
    return Figures(count, values, float(times[1]), float(times[2]))


def read_judged(printed: str) -> tuple[int, dict[str, float]]:
    """`name: n 300  nDCG@10 .7  recall@10 .8  MRR@10 .6` -> (300, {...}).

    Only nDCG@10 is compared: with many right answers to a question, the other two say little.
    """
    found = dict(re.findall(r"(n|nDCG@10) ([\d.]+)", printed))
    if len(found) != 2:
        raise QualityError(f"score.py's answer is not understood: {printed.strip()!r}.")
    return int(found["n"]), {"nDCG@10": float(found["nDCG@10"])}


def read_known(printed: str) -> tuple[int, dict[str, float]]:
    """score.py's table of known items -> the count and values of all, and of those with a gap of words."""
    values: dict[str, float] = {}
    count = 0
    for row, number, mrr, recall, section in _known_rows(printed):
        if row == "all":
            count = number
            values |= {"MRR@10": mrr, "recall@10": recall}
            if section is not None:
                values["section@10"] = section
        elif row == "difficulty:gap":
            values |= {"gap MRR": mrr, "gap recall": recall}
    if not count:
        raise QualityError(f"score.py's answer is not understood: {printed.strip()[:200]!r}.")
    return count, values


def _known_rows(printed: str) -> Iterator[tuple[str, int, float, float, float | None]]:
    for line in printed.splitlines()[1:]:
        row, number, mrr, recall, section = line.split()
        yield row, int(number), float(mrr), float(recall), None if section == "-" else float(section)


def table_rows(name: str, ours: Figures, plain: Figures) -> list[str]:
    """Three rows of the Markdown table: excerpt, the baseline, and the difference."""

    def cells(figures: Figures) -> str:
        shown = [f"{figures.values[m]:.3f}" if m in figures.values else "" for m in MEASURES]
        return " | ".join([*shown, f"{figures.p50:.1f}", f"{figures.p95:.1f}"])

    gains = [f"{ours.values[m] - plain.values[m]:+.3f}" if m in plain.values else "" for m in MEASURES]
    ratios = [f"x{o / p:.2f}" if p else "" for o, p in ((ours.p50, plain.p50), (ours.p95, plain.p95))]
    return [
        f"| **{name}** | {ours.count} | excerpt | {cells(ours)} |",
        f"| | | FTS5 | {cells(plain)} |",
        f"| | | difference | {' | '.join([*gains, *ratios])} |",
    ]


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "EXCERPT_HOME": str((WORK / "home").resolve())},
    )
    if done.returncode != 0:
        raise QualityError(f"`{shlex.join(command)}` ended with {done.returncode}; what it said stands above.")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
