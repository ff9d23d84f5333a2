"""Measure how reliable the confidence words are: `python -m benchmarks.confidence`, a part of `make quality`.

Every vault is asked its own questions, the same without the notes that answer them, and those of other sets in its
language, which nothing in it answers. Printed are how often each label is given for each of these, and how often it is
right; how many packs are empty, and would be by other thresholds; for each kind of query, the predicted and the actual
share of first hits that are right; whether the lists of all queries have their properties; with --fit also the logistic
regression that gives the weights in search/confidence.py, and its calibration on vaults that it was not fitted to.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.judgements import Outside, QuerySet, Question
from benchmarks.list_promises import CheckedList, check_lists, list_verdicts
from benchmarks.targets import verdict
from excerpt.base.kinds import Confidence, Strategy
from excerpt.base.model import Hit
from excerpt.base.settings import PackSettings, Paths, Settings
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.pack.build import build_pack
from excerpt.search.confidence import (
    FEATURES,
    JUDGED_HITS,
    LIKELY_LIKELIHOOD,
    MIN_WEAK_COVERAGE,
    STRONG_LIKELIHOOD,
    WEAK_LIKELIHOOD,
    compute_features,
    judge_confidence,
)
from excerpt.search.engine import Engine
from excerpt.search.ranking import primary_strategy
from excerpt.text.tokens import open_tokenizer

WORK = Path("build/quality")
OWN, FOREIGN = 300, 150
"""The most questions from a vault's own set, and from each other set, taken at even distances."""
MAX_REMOVED = 5
"""The most answering notes that are left out of a vault by filters."""
MAX_FALSE_EMPTY, MIN_EMPTY, MAX_SURE = 0.02, 0.45, 0.05
"""The most packs without a passage where the answer is among the first five hits of a vault; the fewest where the vault
has no answer, and the most results of these that are called strong or likely.
"""
TOKENIZER = open_tokenizer("o200k")
THRESHOLDS = (0.02, WEAK_LIKELIHOOD, 0.055, 0.08, 0.2, 0.3)
SAMPLES = 1000
FIRST = 10
EXACT = "exact words or phrases, found whole"
LED = {
    Strategy.ADAPTIVE: "one or two words",
    Strategy.PROXIMITY: "three to five",
    Strategy.SEMANTIC: "more",
}
KINDS = (EXACT, *LED.values())
BEGIN = (0.0, WEAK_LIKELIHOOD, LIKELY_LIKELIHOOD, STRONG_LIKELIHOOD, 2.0)
"""The lower bounds of the confidence words, and an upper bound: the bins of likelihood."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class First:
    """The first hit of a query: its kind, the features of its likelihood, and the likelihood.

    `weights_for` has 1 for the primary strategy of the query and 0 for the others in `LED`. `is_named` says that the
    query is the name of its note, which is certain and therefore not fitted.
    """

    kind: str
    weights_for: tuple[float, ...]
    features: tuple[float, ...]
    likely: float
    is_named: bool


class Answer(StrEnum):
    """Whether a vault can answer a question: it does, its answering notes are left out, or it is about other notes."""

    OWN = "own"
    REMOVED = "removed"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question asked of one vault.

    `right` says that an answering note is among the first ten, `in_five` among the first five, `first_right` that it is
    the first; `first` is the first hit, None if there is none. `best` is the highest likelihood of the first
    JUDGED_HITS, 1 if one has all words. `passages` and `tokens` count those of the pack. `is_judged` says that the
    vault is a judged collection.
    """

    vault: str
    answer: Answer
    confidence: Confidence
    right: bool
    in_five: bool
    first_right: bool
    first: First | None
    best: float
    passages: int
    tokens: int
    is_judged: bool

    @property
    def own(self) -> bool:
        """Whether the vault may answer it."""
        return self.answer is Answer.OWN


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.confidence")
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    parser.add_argument("--fit", action="store_true", help="fit the weights anew as well")
    args = parser.parse_args(argv)
    outside = Outside(args.data.resolve(), WORK)
    outside.check()
    report(outside.sets(), fit=args.fit)
    return 0


def report(sets: Sequence[QuerySet], *, fit: bool = False) -> None:
    """Ask everything and print the tables; the vaults of judged sets must exist."""
    asked = [one for query_set in sets for one in answers(query_set, sets)]
    print("\n".join((*table(asked), "", *packs(asked), "", *empties(asked), "", *reliability(asked))))
    checked = [one for query_set in sets if not query_set.collection for one in checked_lists(query_set)]
    print("\n".join(("", *list_verdicts(checked))))
    if fit:
        print("\n".join(fitted(asked)))


# --- asking -----------------------------------------------------------------------------------------------------------


def answers(query_set: QuerySet, sets: Sequence[QuerySet]) -> Iterator[Asked]:
    """Yield the answers of one set's vault to its own questions and to those that it cannot answer."""
    print(f"confidence: {query_set.name}", file=sys.stderr, flush=True)
    with open_engine(query_set) as engine:
        for other in sets:
            own = other.name == query_set.name
            if own or (other.language == query_set.language and other.family != query_set.family):
                for question in _evenly(other.questions(), OWN if own else FOREIGN):
                    yield _ask(engine, query_set, question, Answer.OWN if own else Answer.FOREIGN)
        for question in _evenly(query_set.questions(), FOREIGN):
            if len(question.grades) <= MAX_REMOVED:
                yield _ask(engine, query_set, question, Answer.REMOVED)


def checked_lists(query_set: QuerySet) -> Iterator[CheckedList]:
    """Yield which properties the lists of all queries of a set have."""
    print(f"lists: {query_set.name}", file=sys.stderr, flush=True)
    with open_engine(query_set) as engine:
        yield from check_lists(engine, [question.text for question in query_set.questions()])


@contextmanager
def open_engine(query_set: QuerySet) -> Iterator[Engine]:
    """Yield an engine for the vault of a set, whose index is brought up to date."""
    home = WORK.resolve() / "home"
    folder = Paths(home / "config", home / "cache", home / "data", home / "state").index_folder(query_set.vault)
    build(query_set.vault, folder, Settings())
    snapshot = Snapshot.open(folder, Settings())
    try:
        yield Engine(snapshot, Settings())
    finally:
        snapshot.close()


def _evenly(questions: Sequence[Question], most: int) -> Sequence[Question]:
    return questions[:: max(1, -(-len(questions) // most))]


def _ask(engine: Engine, query_set: QuerySet, question: Question, answer: Answer) -> Asked:
    if answer is Answer.REMOVED:
        filters = "".join(f' -path:"{path}"' for path in question.grades)
        question = replace(question, text=question.text + filters, grades={})
    result = engine.search(question.text, Strategy.AUTO)
    hits = result.hits[:FIRST]
    right = [answer is Answer.OWN and hit.fragment.path in question.grades for hit in hits]
    packed = build_pack(
        engine.snapshot,
        result.hits,
        query=question.text,
        strategy=result.strategy,
        settings=PackSettings(),
        tokenizer=TOKENIZER,
        confidence=result.confidence,
    )
    return Asked(
        vault=query_set.name,
        answer=answer,
        confidence=result.confidence or Confidence.NOTHING,
        right=any(right),
        in_five=any(right[:JUDGED_HITS]),
        first_right=bool(right and right[0]),
        first=_first(engine, question, hits[0]) if hits else None,
        best=_best(engine, question, hits[:JUDGED_HITS]),
        passages=len(packed.passages),
        tokens=packed.tokens,
        is_judged=query_set.collection is not None,
    )


def _best(engine: Engine, question: Question, hits: Sequence[Hit]) -> float:
    """Return the highest likelihood of some hits; 1 if one of them has all words of the query."""
    if not hits:
        return 0.0
    evidence, found = engine.find_candidates(engine.parse(question.text)[0])
    table = engine.snapshot.table
    rows = np.searchsorted(table.keys, [hit.fragment.key for hit in hits]).astype(np.int32)
    judgement = judge_confidence(evidence, found, rows[np.isin(rows, found.rows)], table.notes[found.rows])
    if (judgement.coverage >= MIN_WEAK_COVERAGE).any():
        return 1.0
    return float(judgement.likelihoods.max(initial=0.0))


def _first(engine: Engine, question: Question, hit: Hit) -> First:
    query = engine.parse(question.text)[0]
    evidence, found = engine.find_candidates(query)
    row = np.searchsorted(engine.snapshot.table.keys, [hit.fragment.key]).astype(np.int32)
    notes = engine.snapshot.table.notes[found.rows]
    features = tuple(compute_features(evidence, found, row, notes)[0].tolist())
    leader = primary_strategy(evidence.word_count)
    kind = EXACT if evidence.has_exact_words is not None and evidence.has_exact_words[row[0]] else LED[leader]
    likely = float(judge_confidence(evidence, found, row, notes).likelihoods[0])
    return First(
        kind,
        tuple(float(one is leader) for one in LED),
        features,
        likely,
        bool(found.is_named[found.rows == row[0]].any()),
    )


# --- what the words are worth -----------------------------------------------------------------------------------------


def table(asked: Sequence[Asked]) -> list[str]:
    """Return a Markdown table with a row for each confidence word.

    A row shows for how many questions with and without an answer the word is given, and how often it is right.
    """
    own, foreign = [one for one in asked if one.own], [one for one in asked if one.answer is Answer.FOREIGN]
    rows = [
        f"{len(own):,} questions asked of their own vault, {len(foreign):,} of one that cannot answer them.",
        "",
        "| | own questions | of these, answered in the first ten | first | questions without an answer | worst vault |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for word in Confidence:
        said = [one for one in own if one.confidence is word]
        worst, where = max((_share(foreign, word, vault), vault) for vault in {one.vault for one in foreign})
        rows.append(
            f"| {word.value} | {len(said) / len(own):.3f} | {_mean(one.right for one in said)}"
            f" | {_mean(one.first_right for one in said)} | {_share(foreign, word):.4f} | {worst:.3f} {where} |"
        )
    return rows


def packs(asked: Sequence[Asked]) -> list[str]:
    """Return a Markdown table of the confidence of results and their packs, and whether they are within the limits."""
    found = [one for one in asked if one.own and one.in_five]
    vaults = [one for one in found if not one.is_judged]
    foreign = [one for one in asked if one.answer is Answer.FOREIGN]
    kinds = {
        "answered in the first five, vaults": vaults,
        "answered in the first five, judged": [one for one in found if one.is_judged],
        "of another vault": foreign,
        "answering notes left out": [one for one in asked if one.answer is Answer.REMOVED],
    }
    rows = [
        f"| packs of questions | {' | '.join(Confidence)} | empty | most tokens if unsure |",
        f"|---|{'---:|' * (len(Confidence) + 2)}",
    ]
    for kind, questions in kinds.items():
        shares = (f"{_share(questions, word):.3f}" for word in Confidence)
        most = max((one.tokens for one in questions if one.confidence is Confidence.UNSURE), default=0)
        rows.append(f"| {kind} ({len(questions):,}) | {' | '.join(shares)} | {_empty(questions):.3f} | {most} |")
    sure = _share(foreign, Confidence.STRONG) + _share(foreign, Confidence.LIKELY)
    return [
        *rows,
        "",
        verdict(
            _empty(vaults) <= MAX_FALSE_EMPTY, f"false-empty {_empty(vaults):.3f}, to be at most {MAX_FALSE_EMPTY}"
        ),
        verdict(
            _empty(foreign) >= MIN_EMPTY, f"of another vault, empty {_empty(foreign):.3f}, to be at least {MIN_EMPTY}"
        ),
        verdict(sure <= MAX_SURE, f"of another vault, strong or likely {sure:.3f}, to be at most {MAX_SURE}"),
    ]


def _empty(asked: Sequence[Asked]) -> float:
    return sum(not one.passages for one in asked) / max(1, len(asked))


def empties(asked: Sequence[Asked]) -> list[str]:
    """Return a Markdown table of the share of empty packs for each threshold; WEAK_LIKELIHOOD is the one in use.

    Questions of a vault's own are those with an answering note among the first ten.
    """
    kinds = {
        "answered by the vault": [one for one in asked if one.own and one.right],
        "of another vault": [one for one in asked if one.answer is Answer.FOREIGN],
        "answering notes left out": [one for one in asked if one.answer is Answer.REMOVED],
    }
    rows = [
        f"| empty packs of questions | {' | '.join(f'below {threshold:g}' for threshold in THRESHOLDS)} |",
        f"|---|{'---:|' * len(THRESHOLDS)}",
    ]
    for kind, questions in kinds.items():
        shares = (sum(one.best < threshold for one in questions) / len(questions) for threshold in THRESHOLDS)
        rows.append(f"| {kind} ({len(questions):,}) | {' | '.join(f'{share:.3f}' for share in shares)} |")
    return rows


def reliability(asked: Sequence[Asked]) -> list[str]:
    """Return a Markdown table with a row for each kind of query.

    A cell is one bin of likelihood: the number of first hits, their mean likelihood, and the share that is right.
    """
    rows = ["| | nothing | weak | likely | strong |", "|---|---:|---:|---:|---:|"]
    for kind in KINDS:
        cells = []
        for begin, end in pairwise(BEGIN):
            judged = [one for one in asked if one.answer is not Answer.REMOVED and one.first is not None]
            among = [(one.first.likely, one.first_right) for one in judged if one.first and one.first.kind == kind]
            within = [(likely, right) for likely, right in among if begin <= likely < end]
            cells.append(
                f"{len(within):,}: {_mean(likely for likely, _ in within)} / {_mean(right for _, right in within)}"
            )
        rows.append(f"| {kind} | {' | '.join(cells)} |")
    return rows


def _share(asked: Sequence[Asked], word: Confidence, vault: str = "") -> float:
    among = [one for one in asked if vault in ("", one.vault)]
    return sum(one.confidence is word for one in among) / max(1, len(among))


def _mean(values: Iterator[float]) -> str:
    known = list(values)
    return f"{sum(known) / len(known):.3f}" if known else ""


# --- the regression ---------------------------------------------------------------------------------------------------


def fitted(asked: Sequence[Asked]) -> list[str]:
    """Return the weights of a logistic regression on all vaults, weighted equally, with AUC and calibration error.

    Both are cross-validated: each vault is judged by weights that were fitted to the others. The interval of the
    calibration error is that of 95 in 100 samples of as many questions.
    """
    known = [
        one for one in asked if one.answer is not Answer.REMOVED and one.first is not None and not one.first.is_named
    ]
    features = np.array([(*one.first.features, *one.first.weights_for) for one in known if one.first is not None])
    right = np.array([one.first_right for one in known])
    vaults = np.array([one.vault for one in known])
    share = np.array([1 / np.count_nonzero(vaults == vault) for vault in vaults]) * 1000
    judged = np.zeros(len(known))
    for vault in set(vaults.tolist()):
        others = vaults != vault
        weights = regression(features[others], right[others], share[others])
        judged[~others] = features[~others] @ weights
    names = (*FEATURES, *LED)
    values = regression(features, right, share)
    weights_text = ", ".join(f"{name} {value:.2f}" for name, value in zip(names, values, strict=True))
    likely = 1 / (1 + np.exp(-judged))
    samples = np.random.default_rng(1).integers(0, len(known), (SAMPLES, len(known)))
    errors = [calibration_error(likely[sample], right[sample]) for sample in samples]
    low, high = np.quantile(errors, (0.025, 0.975))
    return [
        "",
        f"Fitted: {weights_text}; on vaults left out AUC {auc(judged, right):.3f}, calibration error"
        f" {calibration_error(likely, right):.3f} ({low:.3f} to {high:.3f}).",
    ]


def calibration_error(likely: Floats, right: npt.NDArray[np.bool_]) -> float:
    """Return the expected calibration error over ten bins of equal width (Naeini, Cooper and Hauskrecht, 2015)."""
    bins = np.minimum((likely * 10).astype(int), 9)
    within = [bins == number for number in range(10)]
    return float(sum(one.mean() * abs(likely[one].mean() - right[one].mean()) for one in within if one.any()))


def regression(features: Floats, right: npt.NDArray[np.bool_], share: Floats) -> Floats:
    """Return the weights of a logistic regression, fitted by Newton's method with slight damping."""
    weights = np.zeros(features.shape[1])
    for _ in range(30):
        likely = 1 / (1 + np.exp(-features @ weights))
        slope = features.T @ (share * (likely - right))
        bend = (features * (share * likely * (1 - likely))[:, None]).T @ features + 0.01 * np.eye(len(weights))
        weights = weights - np.linalg.solve(bend, slope)
    return weights


def auc(scores: Floats, right: npt.NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve: the share of pairs, one right and one wrong, in the right order."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores)] = np.arange(len(scores))
    rights = np.count_nonzero(right)
    wrongs = len(right) - rights
    return float((ranks[right].sum() - rights * (rights - 1) / 2) / (rights * wrongs)) if rights and wrongs else 0.5


if __name__ == "__main__":
    sys.exit(main())
