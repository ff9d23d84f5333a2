"""Measure what an agent spends: `python -m benchmarks.agents`.

How many tokens are in an agent's context when the answering passage is, and how often it is there at all, by four
ways to look for it:

- (a) ripgrep: the question's three rarest words are looked for, and whole files are read, those with the most of the
  words first, then with the most matches, then the shortest;
- (b) whole notes, in the order of our search;
- (c) `search`, whose answer lists ten hits, then `read` of these one after the other;
- (d) one `pack`.

A passage is in the context when a line of the section that is the target is, or, where a whole note is the target, any
line of that note: the rule of `make packs`. A file that does not fit is read as far as it goes. What ripgrep prints is
not counted, and its rarest words are known beforehand, both in its favour. Notes that a question's words were taken
from are left out of all four.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.judgements import Outside, Place, QualityError, QuerySet, Question
from benchmarks.measure import result, table, write_option
from benchmarks.packs import SETS, TOKENIZER, Found, inside, packed, questions_with_hits
from benchmarks.targets import verdict
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.kinds import Scope
from excerpt.mcp import answers
from excerpt.settings import Settings, places
from excerpt.text.words import stop_words_among

BUDGETS = (500, 1_000, 2_000, 4_000)
TIMES = 10
"""How many times as many tokens as a pack (a) is given in the promise that is looked at."""
PROMISED = 1_000
MOST = TIMES * BUDGETS[-1]
RAREST = 3
LISTED, SNIPPET = 10, 200
"""Hits that `search` lists, and characters of each, by default."""
AROUND = 70
"""Tokens of the first and the last line of an answer of the MCP server (median of what it sends)."""
PLOT = Path("screenshots/agents.svg")
WAYS = ("rg, whole files", "whole notes", "search, read", "pack")

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Files:
    """A vault as ripgrep sees it: the text of each file, and which files have a word how often."""

    texts: Mapping[str, str]
    having: Mapping[str, Mapping[str, int]]


def files_of(snapshot: Snapshot) -> Files:
    texts = {path: snapshot.note_text(path) for path in snapshot.table.paths}
    having: dict[str, dict[str, int]] = {}
    for path, text in texts.items():
        for word, count in Counter(_WORD.findall(text.lower())).items():
            having.setdefault(word, {})[path] = count
    return Files(texts, having)


def by_grep(files: Files, question: Question) -> list[str]:
    """The files that have any of the question's rarest words, best first."""
    asked = set(_WORD.findall(question.text.lower())) & files.having.keys()
    words = asked - stop_words_among(asked, ["en"])
    rarest = sorted(words, key=lambda word: (len(files.having[word]), word))[:RAREST]
    matched = {path for word in rarest for path in files.having[word]} - question.struck
    had = {path: [files.having[word].get(path, 0) for word in rarest] for path in matched}
    return sorted(matched, key=lambda path: (-sum(map(bool, had[path])), -sum(had[path]), len(files.texts[path]), path))


# --- tokens until the passage is there --------------------------------------------------------------------------------

_counted: dict[str, int] = {}


def until_read(files: Files, question: Question, paths: Sequence[str]) -> float:
    """Tokens that are read until the first line of a target is; infinite where that takes more than MOST."""
    spent = 0
    for path in paths:
        if path in question.grades:
            return spent + TOKENIZER.count(f"{path}\n{_before(files.texts[path], question, path)}")
        if path not in _counted:
            _counted[path] = TOKENIZER.count(f"{path}\n{files.texts[path]}")
        spent += _counted[path]
        if spent > MOST:
            break
    return math.inf


def _before(text: str, question: Question, path: str) -> str:
    """The text of a note to the first line of the target in it."""
    first = min((target.line_start for target in question.targets if target.path == path), default=1)
    return "\n".join(text.split("\n")[:first])


def until_found(found: Found) -> float:
    """Tokens of `search` and of as many hits as are read until one is of the target."""
    listed = [answers.hit_part(number, hit, SNIPPET) for number, hit in enumerate(found.hits[:LISTED], 1)]
    spent = AROUND + TOKENIZER.count("\n\n".join(listed))
    for hit in found.hits[:LISTED]:
        fragment = hit.fragment
        spent += AROUND + TOKENIZER.count(answers.fragment_part(fragment, MOST))
        if inside(found.question, Place(fragment.path, fragment.line_start, fragment.line_end)):
            return spent
    return math.inf


def is_packed(snapshot: Snapshot, found: Found, budget: int) -> bool:
    packs = packed(snapshot, found, budget - AROUND, Scope.NEIGHBORS).packs
    return any(inside(found.question, Place(pack.path, pack.line_start, pack.line_end)) for pack in packs)


# --- the report -------------------------------------------------------------------------------------------------------

Shares = dict[str, dict[int, float]]
"""For each way, by budget, the share of questions whose passage is in the context."""
_PLOTTED = (250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 40_000)
_PACKED = (250, 500, 1_000, 2_000, 4_000, 8_000)
_READ = sorted({*_PLOTTED, *(TIMES * budget for budget in BUDGETS)})


def measured(query_set: QuerySet) -> tuple[Shares, dict[str, float]]:
    """The shares of a set, and the median tokens of the questions that were answered within MOST."""
    folder = places().index_folder(query_set.vault.resolve())
    build(query_set.vault, folder, Settings())
    snapshot = Snapshot.open(folder, Settings())
    try:
        found = questions_with_hits(query_set, snapshot)
        files = files_of(snapshot)
        _counted.clear()
        spent = {
            WAYS[0]: [until_read(files, each.question, by_grep(files, each.question)) for each in found],
            WAYS[1]: [until_read(files, each.question, _notes(each)) for each in found],
            WAYS[2]: [until_found(each) for each in found],
        }
        shares: Shares = {
            way: {
                budget: statistics.fmean(one <= budget for one in each) for budget in (*_PLOTTED, 5_000, 10_000, 20_000)
            }
            for way, each in spent.items()
        }
        shares[WAYS[3]] = {
            budget: statistics.fmean(is_packed(snapshot, each, budget) for each in found) for budget in _PACKED
        }
    finally:
        snapshot.close()
    medians = {way: statistics.median([one for one in each if one <= MOST]) for way, each in spent.items()}
    return shares, medians


def _notes(found: Found) -> list[str]:
    return list(dict.fromkeys(hit.fragment.path for hit in found.hits))


def _report(name: str, questions: int, shares: Shares, medians: Mapping[str, float]) -> str:
    print(f"\n## {name}, {questions} questions\n")
    large = [TIMES * budget for budget in BUDGETS]
    rows = [
        [
            f"({letter}) {way}",
            *(f"{shares[way][budget]:.3f}" for budget in BUDGETS),
            *(f"{shares[way][budget]:.3f}" if way != WAYS[3] else "" for budget in large),
            f"{medians[way]:,.0f}" if way in medians else "",
        ]
        for letter, way in zip("abcd", WAYS, strict=True)
    ]
    head = ["in the context within", *(f"{budget:,}" for budget in (*BUDGETS, *large)), "median"]
    table(head, rows)
    ours, theirs = shares[WAYS[3]][PROMISED], shares[WAYS[0]][TIMES * PROMISED]
    said = f"{name}: a pack of {PROMISED:,} tokens holds {ours:.3f}, (a) with {TIMES * PROMISED:,} {theirs:.3f}"
    return verdict(ours >= theirs, said)


def plot(means: Shares, file: Path) -> None:
    """Draw the means over the vaults: share of questions by tokens, a line for each way."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    mpl.rcParams.update({"svg.hashsalt": "excerpt", "svg.fonttype": "path", "font.size": 12})
    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    figure.patch.set_facecolor("white")
    for way, colour, width in zip(WAYS, ("#b0413e", "#c98b2b", "#4f7cac", "#1b7f5c"), (2, 2, 2, 3.5), strict=True):
        points = sorted((budget, share) for budget, share in means[way].items() if budget in _PLOTTED)
        axes.plot(*zip(*points, strict=True), color=colour, linewidth=width, marker="o", markersize=4, label=way)
    axes.set_xscale("log")
    axes.set_xticks(_PLOTTED, [f"{budget:,}" for budget in _PLOTTED])
    axes.minorticks_off()
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel("tokens in the agent's context")
    axes.set_title("questions whose answering passage is in it, mean of four vaults", fontsize=12, loc="left")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(file, metadata={"Date": None, "Creator": None})


def _sets(outside: Outside, names: Sequence[str]) -> Iterator[QuerySet]:
    return (query_set for query_set in outside.sets() if query_set.name in names)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agents")
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    parser.add_argument("--sets", nargs="*", default=list(SETS), metavar="NAME", help="only these sets")
    write_option(parser, "agents")
    args = parser.parse_args()
    if args.write and set(args.sets) != set(SETS):
        parser.error("--write keeps the tables of all sets")
    outside = Outside(args.data.resolve())
    try:
        outside.check()
    except QualityError as error:
        raise SystemExit(str(error)) from error
    os.environ.setdefault("EXCERPT_HOME", str((outside.work / "home").resolve()))
    with result("agents", "What an agent spends", write=args.write):
        said, every = [], []
        for query_set in _sets(outside, args.sets):
            shares, medians = measured(query_set)
            every.append(shares)
            said.append(_report(query_set.name, len(query_set.questions()), shares, medians))
        print("\n" + "\n".join(said))
    if args.write:
        means = {
            way: {budget: statistics.fmean(shares[way][budget] for shares in every) for budget in every[0][way]}
            for way in WAYS
        }
        plot(means, PLOT)


if __name__ == "__main__":
    main()
