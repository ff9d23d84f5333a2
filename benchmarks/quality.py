"""Measure excerpt's ranking: `make quality`, or `python -m benchmarks.quality`.

Beside the plain FTS5 baseline (`table`), excerpt is run through its command line, so that the measurement is of what a
user gets. The scorers and the baseline are not part of this repository and run as external programs (`eval/score.py`,
`eval/asked.py` and `eval/baseline_fts5.py` under --data). The other pieces work in this process: the effect of signals,
weights and settings (`ablation`, `weights`, `settings`), how often each confidence word is right (`confidence`, which
asks every vault the questions of the others), and questions in other people's words (`asked`); the last two run on all
sets only. Indexes and answers are kept under build/quality; tables go to stdout, progress to stderr.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import asked, confidence
from benchmarks.ablation import progress, settings, strategies_and_signals
from benchmarks.cases import Cases, auto, collect, every_word_telling, first_headings_unread, summaries
from benchmarks.cross_validation import weights_between_sets
from benchmarks.judgements import Outside, QualityError, QuerySet, run_program
from benchmarks.measure import result, write_option
from benchmarks.targets import verdicts
from excerpt.base.settings import user_paths

PIECES = ("table", "ablation", "weights", "settings", "confidence", "asked")
EXCERPT = (sys.executable, "-m", "excerpt")
ROUNDED = 0.00051
"""The largest difference between a figure and the same figure rounded to three digits."""
MEASURES = ("MRR@10", "recall@10", "section@10", "nDCG@10", "gap MRR", "gap recall")


@dataclass(frozen=True)
class Figures:
    """The results of one program on one set: the number of questions, a value per measure, and times in ms."""

    count: int
    values: dict[str, float]
    p50: float
    p95: float


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.quality", description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    parser.add_argument("--sets", nargs="*", default=[], metavar="NAME", help="only these sets")
    parser.add_argument("--only", nargs="*", choices=PIECES, default=list(PIECES), help="only these pieces")
    write_option(parser, "quality")
    args = parser.parse_args(argv)
    if args.write and (args.sets or set(args.only) != set(PIECES)):
        parser.error("--write is for all sets and pieces")
    try:
        with result("quality", "Ranking quality", write=args.write):
            return measure(Outside(args.data.resolve()), args.sets, args.only)
    except QualityError as error:
        print(f"quality: {error}", file=sys.stderr)
        return 3


def measure(outside: Outside, names: Sequence[str], pieces: Collection[str]) -> int:
    """Measure the sets and print the tables. Returns 0, or 1 if excerpt is below the baseline on any of them."""
    outside.check()
    os.environ["EXCERPT_HOME"] = str((outside.work / "home").resolve())
    sets = outside.sets()
    unknown = set(names) - {s.name for s in sets}
    if unknown:
        raise QualityError(f"There is no set {', '.join(sorted(unknown))}; known: {', '.join(s.name for s in sets)}.")
    sets = [s for s in sets if s.name in names or not names]
    for one in sets:
        prepare(outside, one)
    ours: dict[QuerySet, Figures] = {}
    below: list[str] = []
    if "table" in pieces:
        ours, plain = beside_baseline(outside, sets)
        below = _below(ours, plain)
    if {"ablation", "weights", "settings"} & set(pieces):
        every = _collected(sets)
        check_agreement(ours, every)
        if "ablation" in pieces:
            strategies_and_signals(every)
        if "weights" in pieces:
            weights_between_sets(every)
        if "settings" in pieces:
            with every_word_telling():
                untold = _collected(sets)
            with first_headings_unread():
                unnamed = _collected(sets)
            settings(every, untold, unnamed)
    if "confidence" in pieces and not names:
        print("\n## Confidence\n")
        confidence.report(sets)
    if "asked" in pieces and not names:
        print("\n## Questions in other people's words\n")
        asked.report(outside)
    return 1 if below else 0


def prepare(outside: Outside, chosen: QuerySet) -> None:
    """Write the set's vault if it is missing, and bring its index up to date."""
    progress(f"index of {chosen.name}")
    if chosen.collection and not chosen.vault.exists():
        run_program([sys.executable, str(outside.score), "vault", str(chosen.collection), str(chosen.vault)])
    if not chosen.vault.is_dir():
        raise QualityError(f"The vault of {chosen.name} is missing: {chosen.vault}.")
    run_program([*EXCERPT, "index", "--vault", str(chosen.vault)])


def _collected(sets: Sequence[QuerySet]) -> list[Cases]:
    every = []
    for one in sets:
        progress(f"candidates of {one.name}")
        every.append(collect(one, user_paths().index_folder(one.vault)))
    return every


def check_agreement(ours: Mapping[QuerySet, Figures], every: Sequence[Cases]) -> None:
    """Raise QualityError unless the candidates weighted here give the results of the command line."""
    reached = summaries(every, replace(auto(), origins=True))
    for one, figures in ours.items():
        given, weighed = figures.values[one.measure], reached[one.name].value
        if abs(given - weighed) > ROUNDED:
            raise QualityError(f"{one.name}: the command line reached {given:.3f}, candidates weighed {weighed:.4f}.")


# --- beside the baseline ----------------------------------------------------------------------------------------------


def beside_baseline(
    outside: Outside, sets: Sequence[QuerySet]
) -> tuple[dict[QuerySet, Figures], dict[QuerySet, Figures]]:
    """Print a table of excerpt's and the baseline's figures on each set and the verdicts; return both figures."""
    ours: dict[QuerySet, Figures] = {}
    plain: dict[QuerySet, Figures] = {}
    rows: list[str] = []
    for one in sets:
        progress(f"answers to {one.name}")
        ours[one] = _figures(outside, one, EXCERPT, outside.work / "out" / f"{one.name}.excerpt.jsonl")
        baseline = [sys.executable, str(outside.baseline)]
        plain[one] = _figures(outside, one, baseline, outside.work / "out" / f"{one.name}.fts5.jsonl")
        rows += table_rows(one.name, ours[one], plain[one])
    print("## Beside FTS5\n")
    print("| set | n | | " + " | ".join(MEASURES) + " | p50 ms | p95 ms |")
    print("|---|---:|---|" + "---:|" * (len(MEASURES) + 2))
    print("\n".join(rows))
    print(
        "\nWhat a link says is a name of the note, and most queries of vaults were taken from links. Without the links"
        " in the notes they were taken from, excerpt reaches what is called auto below; so is all else measured there."
    )
    print("\nBelow the baseline: " + ("; ".join(_below(ours, plain)) or "nothing") + ".\n")
    print("\n".join(verdicts(*({s: f.values for s, f in who.items()} for who in (ours, plain)))), flush=True)
    return ours, plain


def _below(ours: Mapping[QuerySet, Figures], plain: Mapping[QuerySet, Figures]) -> list[str]:
    return [
        f"{one.name} {measure} {ours[one].values.get(measure, 0.0):.3f} < {least:.3f}"
        for one, figures in plain.items()
        for measure, least in figures.values.items()
        if ours[one].values.get(measure, 0.0) < least
    ]


def _figures(outside: Outside, chosen: QuerySet, program: Sequence[str], out: Path) -> Figures:
    out.parent.mkdir(parents=True, exist_ok=True)
    score = [sys.executable, str(outside.score)]
    run_program([*score, "run", shlex.join(program), str(chosen.vault), str(chosen.queries), str(out)])
    if chosen.collection:
        count, values = read_judged(run_program([*score, "judged", str(chosen.collection), str(out)]))
    else:
        count, values = read_known(run_program([*score, "known", str(chosen.queries), str(out)]))
    times = re.search(r"p50 ([\d.]+) ms\s+p95 ([\d.]+) ms", run_program([*score, "latency", str(out)]))
    if not times:
        raise QualityError(f"score.py gave no times for {chosen.name}.")
    return Figures(count, values, float(times[1]), float(times[2]))


def read_judged(printed: str) -> tuple[int, dict[str, float]]:
    """Parse `name: n 300 nDCG@10 .7 recall@10 .8 MRR@10 .6` as (300, {...}).

    Only nDCG@10 is compared: with many right answers to a question, the other two say little.
    """
    found = dict(re.findall(r"(n|nDCG@10) ([\d.]+)", printed))
    if len(found) != 2:
        raise QualityError(f"score.py's answer is not understood: {printed.strip()!r}.")
    return int(found["n"]), {"nDCG@10": float(found["nDCG@10"])}


def read_known(printed: str) -> tuple[int, dict[str, float]]:
    """Parse score.py's table of known items; return the count and the values of all rows and of the gap rows."""
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
    """Return three rows of the Markdown table: excerpt, the baseline, and the difference."""

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


if __name__ == "__main__":
    sys.exit(main())
