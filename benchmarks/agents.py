"""Measure what an agent spends: `python -m benchmarks.agents`.

Measures how many tokens are in an agent's context once the answering passage is, and how often it is there at all, for
four ways of searching. The result page (`_METHOD`) explains the ways and when a passage counts as present.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import excerpt
from benchmarks.asked import list_vaults, read_topics
from benchmarks.grep import USUAL, WAYS, Files, files_of, found_by
from benchmarks.judgements import Outside, Place, QuerySet, Question, open_outside, overlaps, vault_of
from benchmarks.measure import result, table, write_option
from benchmarks.memory_sets import to_place
from benchmarks.packs import SETS, TOKENIZER, Found, default_pack, inside, questions_with_hits
from benchmarks.targets import verdict
from excerpt.base.settings import Settings, user_paths
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.servers.mcp import answers

BUDGETS = (500, 1_000, 2_000, 4_000)
TIMES = 10
"""How many times the tokens of a pack way (a) gets in the checked promise."""
PROMISED = 1_000
LARGE = tuple(TIMES * budget for budget in BUDGETS)
PLOTTED = (250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 40_000)
PACKED = PLOTTED[:6]
"""Token budgets of packs; the last is the largest that the server allows."""
MAX = LARGE[-1]
LISTED, SNIPPET = 10, 200
"""Hits that `search` lists by default, and characters of each."""
AROUND = 100
"""Tokens of the first and the last line of an answer of the MCP server; 95 of 100 answers have fewer."""
PLOT = Path("screenshots/agents.svg")

GREP, BEST, NOTES, READ, PACK = (
    "(a) rg, whole files",
    f"(a) at its best of {len(WAYS)}",
    "(b) whole notes",
    "(c) search, read",
    "(d) pack",
)

_METHOD = f"""\
The share of questions whose answering passage is in an agent's context, by the o200k tokens spent until then.

- (a) finds the files that have any of the question's {USUAL.words} rarest words (`rg -iw`, stop words left out) and
  reads them whole: those with the most of the words first, then with the most matches, then the shortest. ripgrep is
  not run: the words are looked for in the same files from Python. "At its best" is, for each vault and budget by
  itself, the best of {len(WAYS)} such ways: 1, 2, 3 or 5 words, whole or inside longer ones, with and without the
  number of matches.
- (b) reads whole notes in the order of our search.
- (c) reads the hits that `search` of the MCP server lists, one after the other; both answers are counted as it writes
  them.
- (d) is one pack as it is by default, {AROUND} tokens smaller than the budget: 95 of 100 answers of the server have
  fewer in their first and last line.

A passage is in the context when a line of the section that is judged to answer is, or, where a whole note is judged,
any line of that note: the rule of `make packs`. A file that does not fit is read as far as it goes. In favour of (a),
what rg prints is not counted and it knows which words are rare. Notes that a question's words were taken from are left
out of all. The median is over all questions, "never" where fewer than half are answered; of packs it is of the
smallest that holds the passage, from {PACKED[0]} tokens up. All dev questions of the four sets were asked."""


# --- tokens until the passage is there --------------------------------------------------------------------------------


def until_read(files: Files, question: Question, paths: Sequence[str]) -> float:
    """Return the tokens of whole files up to the first line of a target; infinite if that exceeds MOST."""
    spent = 0
    for path in paths:
        if path in question.grades:
            first = min((target.line_start for target in question.targets if target.path == path), default=1)
            before = "\n".join(files.texts[path].split("\n")[:first])
            spent += TOKENIZER.count(f"{path}\n{before}")
            return spent if spent <= MAX else math.inf
        spent += files.tokens(path)
        if spent > MAX:
            break
    return math.inf


def until_found(found: Found) -> float:
    """Return the tokens of `search` and of the hits read until one is in the target."""
    listed = [answers.format_hit(number, hit, SNIPPET) for number, hit in enumerate(found.hits[:LISTED], 1)]
    spent = AROUND + TOKENIZER.count("\n\n".join(listed))
    for hit in found.hits[:LISTED]:
        fragment = hit.fragment
        spent += AROUND + TOKENIZER.count(answers.format_fragment(fragment, MAX))
        if inside(found.question, Place(fragment.path, fragment.line_start, fragment.line_end)):
            return spent
    return math.inf


def in_packs(snapshot: Snapshot, found: Found) -> dict[int, int]:
    """Return the tokens of those packs that contain the target, by budget."""
    held = {}
    for budget in PACKED:
        packed = default_pack(snapshot, found, budget - AROUND)
        if any(inside(found.question, Place(pack.path, pack.line_start, pack.line_end)) for pack in packed.passages):
            held[budget] = AROUND + packed.tokens
    return held


def in_packs_of_plain_questions(outside: Outside) -> list[float]:
    """Return for each budget of PACKED how often a pack has a line of the answer to a layman's question.

    The mean of the vaults; [] if there are no such questions.
    """
    shares = []
    for name in list_vaults(outside):
        with excerpt.open(outside.data / "data" / "vaults" / vault_of(name), settings=Settings()) as vault:
            topics = read_topics(outside, name)
            found = [[_is_packed(vault, topic["plain"], budget) for budget in PACKED] for topic in topics]
        shares.append([statistics.fmean(column) for column in zip(*found, strict=True)])
    return [statistics.fmean(column) for column in zip(*shares, strict=True)]


def _is_packed(vault: excerpt.Vault, row: Mapping[str, Any], budget: int) -> bool:
    packed = vault.pack(row["query"], budget=budget - AROUND)
    places = [Place(each.path, each.line_start, each.line_end) for each in packed.passages]
    return overlaps(places, [to_place(each) for each in row["relevant"]])


# --- what a set comes to ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of a set: for each question, the tokens until its passage is in the context.

    `greps` has them for each variant of way (a), `notes` and `reads` for (b) and (c), `packs` for (d) by budget.
    `judged` says which questions have a judged section, not only a judged note.
    """

    name: str
    judged: tuple[bool, ...]
    greps: tuple[tuple[float, ...], ...]
    notes: tuple[float, ...]
    reads: tuple[float, ...]
    packs: tuple[Mapping[int, int], ...]

    def held(self, way: str, budget: int, *, sections: bool = False) -> int:
        """Return how many questions have their passage within a budget; with `sections`, only of the judged ones."""
        if way == BEST:
            return max(self._within(spent, budget, sections=sections) for spent in self.greps)
        if way == PACK:
            return self._within([0 if budget in each else math.inf for each in self.packs], budget, sections=sections)
        return self._within(self._spent(way), budget, sections=sections)

    def share(self, way: str, budget: int) -> float:
        return self.held(way, budget) / len(self.judged)

    def median(self, way: str) -> str:
        """Return the tokens within which half of the questions are answered."""
        if way == BEST:
            half = min(map(statistics.median, self.greps))
        elif way == PACK:
            half = statistics.median(min(each.values(), default=math.inf) for each in self.packs)
        else:
            half = statistics.median(self._spent(way))
        return f"{half:,.0f}" if half < math.inf else "never"

    def _spent(self, way: str) -> Sequence[float]:
        return {GREP: self.greps[WAYS.index(USUAL)], NOTES: self.notes, READ: self.reads}[way]

    def _within(self, spent: Sequence[float], budget: int, *, sections: bool) -> int:
        return sum(each <= budget for each, judged in zip(spent, self.judged, strict=True) if judged or not sections)


def measured(query_set: QuerySet) -> Measured:
    folder = user_paths().index_folder(query_set.vault.resolve())
    build(query_set.vault, folder, Settings())
    snapshot = Snapshot.open(folder, Settings())
    try:
        found = questions_with_hits(query_set, snapshot)
        files = files_of(snapshot)
        return Measured(
            query_set.name,
            tuple(bool(each.question.targets) for each in found),
            tuple(
                tuple(until_read(files, each.question, found_by(way, files, each.question)) for each in found)
                for way in WAYS
            ),
            tuple(until_read(files, each.question, _notes(each)) for each in found),
            tuple(until_found(each) for each in found),
            tuple(in_packs(snapshot, each) for each in found),
        )
    finally:
        snapshot.close()


def _notes(found: Found) -> list[str]:
    return list(dict.fromkeys(hit.fragment.path for hit in found.hits))


# --- the report -------------------------------------------------------------------------------------------------------


def promise(of: Measured, way: str, *, sections: bool = False) -> str:
    """Return whether a pack of PROMISED tokens holds the passage at least as often as `way` with TIMES as many."""
    ours = of.held(PACK, PROMISED, sections=sections)
    theirs = of.held(way, TIMES * PROMISED, sections=sections)
    asked = f"{sum(of.judged)} with a judged section" if sections else f"{len(of.judged)}"
    said = f"a pack of {PROMISED:,} tokens answers {ours} of {asked}, {way} with {TIMES * PROMISED:,} {theirs}"
    return verdict(ours >= theirs, f"{of.name}: {said}")


def _report(of: Measured) -> None:
    print(f"\n## {of.name}, {len(of.judged)} questions, {sum(of.judged)} with a judged section\n")
    head = ["share answered within", *(f"{budget:,}" for budget in (*BUDGETS, *LARGE)), "median"]
    rows = []
    for way in (GREP, BEST, NOTES, READ, PACK):
        large = ["" if way == PACK else f"{of.share(way, budget):.3f}" for budget in LARGE]
        rows.append([way, *(f"{of.share(way, budget):.3f}" for budget in BUDGETS), *large, of.median(way)])
    table(head, rows)


def plot(every: Sequence[Measured], plain: Sequence[float], file: Path) -> None:
    """Draw the means over the sets: the share of questions by tokens, for each way and for plain questions."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    mpl.rcParams.update({"svg.hashsalt": "excerpt", "svg.fonttype": "path", "font.size": 13})
    figure, axes = pyplot.subplots(figsize=(11, 4.2), layout="constrained")
    figure.patch.set_facecolor("white")
    lines = (
        (PACK, "one pack", "#1b7f5c", 3.5, PACKED),
        (READ, "search, then read", "#4f7cac", 2.0, PLOTTED),
        (NOTES, "whole notes, in our order", "#c98b2b", 2.0, PLOTTED),
        (BEST, f"rg, whole files (best of {len(WAYS)} ways)", "#b0413e", 2.0, PLOTTED),
    )
    for way, label, colour, width, budgets in lines:
        means = [statistics.fmean(of.share(way, budget) for of in every) for budget in budgets]
        axes.plot(budgets, means, color=colour, linewidth=width, marker="o", markersize=4, label=label)
    label = "one pack, asked in a layman's words"
    axes.plot(PACKED, plain, color="#1b7f5c", linewidth=2.0, linestyle=":", marker="o", markersize=4, label=label)
    axes.set_xscale("log")
    axes.set_xticks(PLOTTED, [f"{budget:,}" for budget in PLOTTED])
    axes.minorticks_off()
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel("tokens in the agent's context")
    axes.set_title("questions whose answering passage is there, mean of four vaults", fontsize=13, loc="left")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), fontsize=11)
    figure.savefig(file, metadata={"Date": None, "Creator": None})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agents")
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    parser.add_argument("--sets", nargs="*", default=list(SETS), metavar="NAME", help="only these sets")
    write_option(parser, "agents")
    args = parser.parse_args()
    if args.write and set(args.sets) != set(SETS):
        parser.error("--write keeps the tables of all sets")
    outside = open_outside(args.data)
    with result("agents", "What an agent spends", write=args.write):
        print(_METHOD)
        every = []
        for query_set in outside.sets():
            if query_set.name in args.sets:
                every.append(measured(query_set))
                _report(every[-1])
        if plain := in_packs_of_plain_questions(outside):
            print(
                "\n## Asked in a layman's words\n\nThe `plain` questions of docs/design/quality.md, means of vaults.\n"
            )
            table(["share answered within", *map(str, PACKED)], [[PACK, *(f"{share:.3f}" for share in plain)]])
        print("\n## The promise\n")
        for sections in (False, True):
            for of in every:
                print("\n".join(promise(of, way, sections=sections) for way in (GREP, BEST)))
    if args.write:
        plot(every, plain, PLOT)


if __name__ == "__main__":
    main()
