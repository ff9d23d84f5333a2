"""Measure packs: `python -m benchmarks.packs`.

Measures how many of the targets are inside a pack, for one that is chosen by value, for fragments by first-fit and for
whole notes in the order of the ranking; how many tokens are saved against whole notes; how long it takes; and whether
the promised properties of every pack hold on real notes.

A target is inside a pack if the pack has a line of the section that is the target, or, if the target is a whole note or
an unknown part of it, any line of that note.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from benchmarks.judgements import Outside, Place, QuerySet, Question, open_outside
from benchmarks.measure import percentile, result, table, write_option
from benchmarks.pack_promises import broken_promises, changed_by_rebuilding
from benchmarks.targets import verdict
from excerpt.base.kinds import Confidence, Fill, Scope, Strategy
from excerpt.base.model import Hit, PackResult, QuestionWord
from excerpt.base.settings import PackSettings, Settings, user_paths
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.pack import token_costs as counting
from excerpt.pack.build import UNSURE_TOKENS, build_pack
from excerpt.pack.expand import expand_fragment
from excerpt.pack.formats.markdown_format import MarkdownRenderer
from excerpt.pack.source import get_note_cache
from excerpt.search.engine import Engine
from excerpt.text.tokens import open_tokenizer

SETS = ("obsidian-help-en.dev", "dendron-site.dev", "powershell-docs-one.dev", "cpp-docs.dev")
BUDGETS = (500, 1000, 2000, 4000)
TOP = 50
"""Hits from which a pack may be chosen."""
SCOPES = tuple(Scope)
TOKENIZER = open_tokenizer("o200k")

MIN_HELD = 0.85
"""The required share of the targets among the hits in a pack of 1,000 tokens, on the first of SETS."""
MIN_SAVED = 0.9
"""The required median share of tokens that a pack saves against whole notes, on the last of SETS."""
MIN_WIDENED = 0.5
"""The required share of widened hits among those that can be widened, at 4,000 tokens."""
MAX_BEHIND = 2
"""How many targets fewer a scope may hold than scope none, for one set and budget."""
FILLED_HITS = 8
"""Hits of the filled packs, whole notes as far as there is room, with which packs by default are compared."""
MIN_OF_FILLED, MAX_OF_FILLED = 0.985, 0.45
"""What packs by default hold at least of the answers in packs that fill 4,000 tokens, and their share of the tokens."""
MAX_MS = 15.0
"""The most milliseconds for a pack of 4,000 tokens from TOP hits, on the last of SETS."""


@dataclass(frozen=True, slots=True)
class Found:
    """A question and its first hits, without the notes that its words were taken from.

    `words` are the content words of the question, `confidence` is that of the search, with those notes.
    """

    question: Question
    strategy: Strategy
    hits: tuple[Hit, ...]
    words: tuple[QuestionWord, ...] = ()
    confidence: Confidence | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """A way to fill a budget, in the order of the table; `lines` returns which lines of which notes go in."""

    name: str
    lines: Callable[[Snapshot, Found, int], list[Place]]


def inside(question: Question, lines: Place) -> bool:
    """Return whether the target has one of these lines."""
    if lines.path not in question.grades:
        return False
    targets = [target for target in question.targets if target.path == lines.path]
    return not targets or any(
        lines.line_start <= target.line_end and lines.line_end >= target.line_start for target in targets
    )


# --- ways to fill a budget --------------------------------------------------------------------------------------------


def packed(snapshot: Snapshot, found: Found, budget: int, scope: Scope) -> PackResult:
    return build_pack(
        snapshot,
        found.hits[:TOP],
        query=found.question.text,
        strategy=found.strategy,
        settings=PackSettings(budget=budget, scope=scope, fill=Fill.BUDGET),
        tokenizer=TOKENIZER,
    )


def default_pack(snapshot: Snapshot, found: Found, budget: int) -> PackResult:
    """Return the pack that the program builds by itself: it ends where the question is covered."""
    return build_pack(
        snapshot,
        found.hits,
        query=found.question.text,
        strategy=found.strategy,
        settings=PackSettings(budget=budget),
        tokenizer=TOKENIZER,
        words=found.words,
        confidence=found.confidence,
    )


def _by_value(scope: Scope) -> Way:
    def lines(snapshot: Snapshot, found: Found, budget: int) -> list[Place]:
        packs = packed(snapshot, found, budget, scope).passages
        return [Place(pack.path, pack.line_start, pack.line_end) for pack in packs]

    return Way(scope.value, lines)


def _first_fit(snapshot: Snapshot, found: Found, budget: int) -> list[Place]:
    """Return fragments by rank, each rendered as its own Markdown source; those that do not fit are skipped.

    Packs of scope none would be the same if they were neither merged nor chosen.
    """
    return _fitting(budget, ((_tokens_alone(snapshot, hit), _place(hit)) for hit in found.hits))


def _whole_notes(snapshot: Snapshot, found: Found, budget: int) -> list[Place]:
    """Return whole notes by rank, without source lines; those that do not fit are skipped."""
    paths = dict.fromkeys(hit.fragment.path for hit in found.hits)
    return _fitting(budget, ((snapshot.note_tokens(path), Place(path, 1, 1 << 30)) for path in paths))


def _fitting(budget: int, costs: Iterator[tuple[int, Place]]) -> list[Place]:
    taken = []
    for tokens, place in costs:
        if tokens <= budget:
            budget -= tokens
            taken.append(place)
    return taken


_alone: dict[str, int] = {}


def _tokens_alone(snapshot: Snapshot, hit: Hit) -> int:
    """Return the tokens of a fragment rendered as its own source."""
    if hit.fragment.id not in _alone:
        settings = PackSettings(budget=1 << 20, scope=Scope.NONE, fill=Fill.BUDGET)
        result = build_pack(snapshot, [hit], query="", strategy=Strategy.AUTO, settings=settings, tokenizer=TOKENIZER)
        _alone[hit.fragment.id] = TOKENIZER.count(MarkdownRenderer().render(result.passages) + "\n")
    return _alone[hit.fragment.id]


def _place(hit: Hit) -> Place:
    return Place(hit.fragment.path, hit.fragment.line_start, hit.fragment.line_end)


FIRST_FIT = Way("first-fit", _first_fit)
WAYS = (Way("whole notes", _whole_notes), FIRST_FIT, *(_by_value(scope) for scope in SCOPES))


# --- what they hold ---------------------------------------------------------------------------------------------------


def questions_with_hits(query_set: QuerySet, snapshot: Snapshot) -> list[Found]:
    engine = Engine(snapshot, Settings())
    engine.warm()
    found = []
    for question in query_set.questions():
        result = engine.search(question.text, limit=2 * TOP)
        hits = tuple(hit for hit in result.hits if hit.fragment.path not in question.struck)[:TOP]
        found.append(Found(question, result.strategy, hits, tuple(result.words), result.confidence))
    return found


def shares(snapshot: Snapshot, found: Sequence[Found], way: Way) -> list[float]:
    """Return for each budget the share of questions whose target is inside."""
    return [
        statistics.fmean(
            any(inside(each.question, lines) for lines in way.lines(snapshot, each, budget)) for each in found
        )
        for budget in BUDGETS
    ]


def share_in_hits(found: Sequence[Found]) -> float:
    """Return the share of questions whose target is among the hits: the limit for any choice without neighbours."""
    return statistics.fmean(any(inside(each.question, _place(hit)) for hit in each.hits) for each in found)


@dataclass(frozen=True, slots=True)
class Both:
    """Two questions asked as one, and the hits."""

    questions: tuple[Question, Question]
    found: Found


def two_as_one(query_set: QuerySet, snapshot: Snapshot) -> list[Both]:
    """Return each question of the first half of a set combined with one of the second half.

    The answer of one does not answer the other, so that a pack should hold both.
    """
    engine = Engine(snapshot, Settings())
    questions = query_set.questions()
    half = len(questions) // 2
    both = []
    for one, other in zip(questions[:half], questions[half:], strict=False):
        text = f"{one.text} {other.text}"
        struck = (one.struck | other.struck).difference(one.grades, other.grades)
        result = engine.search(text, limit=2 * TOP)
        hits = tuple(hit for hit in result.hits if hit.fragment.path not in struck)[:TOP]
        both.append(Both((one, other), Found(replace(one, text=text), result.strategy, hits)))
    return both


def shares_of_both(snapshot: Snapshot, both: Sequence[Both], way: Way) -> list[float]:
    """Return for each budget the share of pairs of questions with both targets inside."""
    shares_by_budget = []
    for budget in BUDGETS:
        held = []
        for each in both:
            lines = way.lines(snapshot, each.found, budget)
            held.append(all(any(inside(question, one) for one in lines) for question in each.questions))
        shares_by_budget.append(statistics.fmean(held))
    return shares_by_budget


def share_widened(snapshot: Snapshot, found: Sequence[Found], budget: int, scope: Scope) -> float:
    """Return the share of hits in packs that were widened within their scope, of those that can be."""
    could = did = 0
    notes = get_note_cache(snapshot)
    for each in found:
        inside_pack = {one for pack in packed(snapshot, each, budget, scope).passages for one in pack.fragment_ids}
        hits = {hit.fragment.id for hit in each.hits}
        for fragment in (hit.fragment for hit in each.hits if hit.fragment.id in inside_pack):
            note = notes[fragment.path]
            stretch = expand_fragment(fragment, note, scope, 1)
            beside = {part.id for part in note.fragment_infos(stretch.first_ordinal, stretch.last_ordinal)} - hits
            could += bool(beside)
            did += not beside.isdisjoint(inside_pack)
    return did / could if could else 1.0


# --- what they save, and how long they take ---------------------------------------------------------------------------


def median_saved(snapshot: Snapshot, found: Sequence[Found], budget: int, scope: Scope) -> tuple[float, float]:
    """Return two median shares of tokens that a pack saves.

    The first is against the whole notes that its passages are from, the second against those of all its candidate hits.
    """
    of_packs, of_hits = [], []
    for each in found:
        result = packed(snapshot, each, budget, scope)
        of_packs.append(result.saved)
        notes = sum(map(snapshot.note_tokens, {hit.fragment.path for hit in each.hits}))
        of_hits.append(1 - result.tokens / notes if notes else 0.0)
    return statistics.median(of_packs), statistics.median(of_hits)


class DefaultPack(NamedTuple):
    """What matters of the pack that the program builds by itself.

    `holds_first`: the first hit is in it, whole. `fits_first`: it fits into the budget with its source line, or into
    what a pack of an unsure result may have.
    """

    tokens: int
    has_answer: bool
    holds_first: bool
    fits_first: bool


def default_packs(snapshot: Snapshot, found: Sequence[Found], budget: int) -> list[DefaultPack]:
    """Return the pack of each question."""
    packs = []
    for each in found:
        packed_default = default_pack(snapshot, each, budget)
        places = [Place(pack.path, pack.line_start, pack.line_end) for pack in packed_default.passages]
        first = each.hits[0].fragment if packed_default.passages else None
        whole = first is None or any(
            place.path == first.path and place.line_start <= first.line_start and first.line_end <= place.line_end
            for place in places
        )
        room = min(budget, UNSURE_TOKENS) if each.confidence is Confidence.UNSURE else budget
        packs.append(
            DefaultPack(
                packed_default.tokens,
                any(inside(each.question, place) for place in places),
                whole,
                first is not None and _tokens_alone(snapshot, each.hits[0]) <= room,
            )
        )
    return packs


def _report_default_packs(snapshot: Snapshot, found: Sequence[Found]) -> None:
    """Print what packs hold that end where the question is covered, and the promises that concern their budget."""
    by_budget = {budget: default_packs(snapshot, found, budget) for budget in (*BUDGETS, 2 * BUDGETS[-1])}
    filled = [packed(snapshot, replace(each, hits=each.hits[:FILLED_HITS]), BUDGETS[-1], Scope.NOTE) for each in found]
    held = sum(
        any(inside(each.question, Place(pack.path, pack.line_start, pack.line_end)) for pack in result.passages)
        for each, result in zip(found, filled, strict=True)
    )
    print()
    head = ("packs by default", *(f"{budget:,}" for budget in by_budget))
    answers = {budget: sum(pack.has_answer for pack in packs) for budget, packs in by_budget.items()}
    tokens = {budget: statistics.median(pack.tokens for pack in packs) for budget, packs in by_budget.items()}
    table(
        head,
        [
            ("share with the target inside", *(f"{count / len(found):.3f}" for count in answers.values())),
            ("tokens, median", *(f"{median:,.0f}" for median in tokens.values())),
        ],
    )
    print()
    largest = BUDGETS[-1]
    share, part = answers[largest] / max(held, 1), tokens[largest] / statistics.median(each.tokens for each in filled)
    print(
        verdict(share >= MIN_OF_FILLED, f"{largest:,} tokens hold {answers[largest]} of {held} answers of filled packs")
    )
    print(verdict(part <= MAX_OF_FILLED, f"with {part:.2f} of their tokens"))
    every = [pack for packs in by_budget.values() for pack in packs]
    fitting = [pack for pack in every if pack.fits_first]
    broken = sum(not pack.holds_first for pack in fitting)
    print(verdict(not broken, f"{broken} of {len(fitting):,} packs have less than the first hit, which fits"))
    over = sum(pack.tokens > budget for budget, packs in by_budget.items() for pack in packs)
    print(verdict(not over, f"{over} of {len(every):,} packs are over their budget"))
    lost = sum(
        small.has_answer and not large.has_answer
        for less, more in pairwise(by_budget)
        for small, large in zip(by_budget[less], by_budget[more], strict=True)
    )
    print(verdict(not lost, f"{lost} packs of twice the budget lack the answer that the smaller one has"))


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of CPU time per pack.

    `first` and `again` are medians, with cold and warm caches, `again_p95` the 95th percentile; `fitting` is first-fit
    with the same fragments, read, rendered and counted.
    """

    first: float
    again: float
    again_p95: float
    fitting: float


def times(snapshot: Snapshot, found: Sequence[Found], scope: Scope) -> Times:
    """Return how long a pack of 4,000 tokens takes with cold caches, and after one with another budget."""
    first, again, fitting = [], [], []
    for each in found:
        _forget(snapshot)
        first.append(_milliseconds(lambda each=each: packed(snapshot, each, 4000, scope)))  # type: ignore[misc]
        packed(snapshot, each, 3900, scope)
        again.append(_milliseconds(lambda each=each: packed(snapshot, each, 4000, scope)))  # type: ignore[misc]
        fitting.append(_milliseconds(lambda each=each: _rendered_by_first_fit(snapshot, each)))  # type: ignore[misc]
    return Times(
        statistics.median(first), statistics.median(again), percentile(again, 0.95), statistics.median(fitting)
    )


def _forget(snapshot: Snapshot) -> None:
    """Clear the caches of notes and texts from earlier packs."""
    get_note_cache(snapshot).clear()
    for remembered in vars(counting).values():
        if hasattr(remembered, "cache_clear"):
            remembered.cache_clear()


def _milliseconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return (time.process_time() - begun) * 1000


def _rendered_by_first_fit(snapshot: Snapshot, found: Found) -> str:
    """Return a plain first-fit pack: read each fragment, put a line above it, count it, take it if it fits."""
    text, budget = "", 4000
    for fragment in snapshot.fragments([hit.fragment.key for hit in found.hits]):
        source = f"## {fragment.path}, lines {fragment.line_start}-{fragment.line_end}\n\n{fragment.text}\n\n"
        tokens = TOKENIZER.count(source)
        if tokens <= budget:
            text, budget = text + source, budget - tokens
    return text


# --- the report -------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packs")
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    parser.add_argument("--sets", nargs="*", default=list(SETS), metavar="NAME", help="only these sets")
    parser.add_argument("--checked", type=int, default=30, help="queries of each set to look for broken promises with")
    write_option(parser, "packs")
    args = parser.parse_args()
    if args.write and set(args.sets) != set(SETS):
        parser.error("--write keeps the tables of all sets")
    outside = open_outside(args.data)
    with result("packs", "Packs", write=args.write):
        _report_all(outside, args.sets, args.checked)


def _report_all(outside: Outside, names: Sequence[str], checked: int) -> None:
    whole: Counter[str] = Counter()
    for query_set in outside.sets():
        if query_set.name in names:
            whole.update(_report(query_set, checked))
    print()
    for scope in SCOPES:
        told = f"scope {scope} holds {whole[scope]:,} targets on all sets and budgets, none {whole[Scope.NONE]:,}"
        print(verdict(whole[scope] >= whole[Scope.NONE], told))


def _report(query_set: QuerySet, checked: int) -> dict[str, int]:
    """Print the tables of one set and return how many targets each scope holds over all budgets, also of pairs."""
    folder = user_paths().index_folder(query_set.vault.resolve())
    build(query_set.vault, folder, Settings())
    snapshot = Snapshot.open(folder, Settings())
    found = questions_with_hits(query_set, snapshot)
    top = share_in_hits(found)
    print(f"\n## {query_set.name}\n\n{len(found)} questions, target among the first {TOP} hits: {top:.3f}\n")
    head = ("share with the target inside", *(f"{budget:,}" for budget in BUDGETS))
    held = {way.name: shares(snapshot, found, way) for way in WAYS}
    table(head, [(name, *(f"{share:.3f}" for share in row)) for name, row in held.items()])
    print()
    both = two_as_one(query_set, snapshot)
    joined = {way.name: shares_of_both(snapshot, both, way) for way in WAYS[1:]}
    head = (f"two questions as one ({len(both)}), both inside", *head[1:])
    table(head, [(name, *(f"{share:.3f}" for share in row)) for name, row in joined.items()])
    print()
    counts = {
        scope.value: [
            *(round(share * len(found)) for share in held[scope.value]),
            *(round(share * len(both)) for share in joined[scope.value]),
        ]
        for scope in SCOPES
    }
    for scope, row in counts.items():
        behind = max(plain - ours for ours, plain in zip(row, counts[Scope.NONE.value], strict=True))
        print(verdict(behind <= MAX_BEHIND, f"scope {scope} is at most {behind} questions behind none"))
    for grown in SCOPES[1:]:
        share = share_widened(snapshot, found, BUDGETS[-1], grown)
        print(verdict(share >= MIN_WIDENED, f"scope {grown} widens {share:.2f} of the hits that can be"))
    print()
    head = ("milliseconds", "first", "again", "p95", "first-fit", "again / first-fit")
    taken = {scope: times(snapshot, found[:60], scope) for scope in Scope}
    table(
        head,
        [
            (
                scope.value,
                *(f"{value:.1f}" for value in (of.first, of.again, of.again_p95, of.fitting)),
                f"{of.again / of.fitting:.1f}",
            )
            for scope, of in taken.items()
        ],
    )
    print()
    ours, plain = held[Scope.NEIGHBORS.value], held[FIRST_FIT.name]
    for budget, our, their in zip(BUDGETS, ours, plain, strict=True):
        print(verdict(our > their or our >= top, f"{budget:,} tokens hold {our:.3f}, first-fit {their:.3f}"))
    if query_set.name == SETS[0]:
        share = ours[1] / top
        print(verdict(share >= MIN_HELD, f"1,000 tokens hold {share:.3f} of the targets among the hits"))
    saved = {scope: [median_saved(snapshot, found, budget, scope) for budget in BUDGETS] for scope in SCOPES}
    print()
    head = ("median share of tokens saved", *(f"{budget:,}" for budget in BUDGETS))
    rows = []
    for scope, by_budget in saved.items():
        for number, against in enumerate(("the notes it is from", "the notes of all hits")):
            rows.append((f"{scope.value}, against {against}", *(f"{each[number]:.3f}" for each in by_budget)))
    table(head, rows)
    print()
    for budget, (share, _) in zip(BUDGETS, saved[Scope.NEIGHBORS], strict=True):
        enough = share >= MIN_SAVED or query_set.name != SETS[-1]
        print(verdict(enough, f"{budget:,} tokens save {share:.3f} (median)"))
    _report_default_packs(snapshot, found)
    slowest = taken[Scope.NEIGHBORS].first
    print(verdict(slowest < MAX_MS, f"{slowest:.1f} ms for a first pack of 4,000 tokens of {TOP} hits"))
    asked = [(each.question.text, each.hits) for each in found[:: max(len(found) // checked, 1)]] if checked else []
    broken = list(broken_promises(snapshot, asked))
    if query_set.name in SETS[:2]:
        broken += changed_by_rebuilding(query_set.vault, snapshot, asked)
    print(verdict(not broken, f"{len(asked)} questions: {'; '.join(broken[:5]) or 'no promise broken'}"), flush=True)
    snapshot.close()
    return {scope: sum(row) for scope, row in counts.items()}


if __name__ == "__main__":
    main()
