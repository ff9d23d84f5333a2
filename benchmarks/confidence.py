"""Measure how reliable the confidence words are: `python -m benchmarks.confidence`, a part of `make quality`.

Every vault is asked its own questions, and those of other sets in its language, which nothing in it answers. Printed
are how often each word is given for either kind, and how often it is right; for each kind of query, the predicted and
the actual share of first hits that are right; with --fit also the logistic regression that gives the weights in
search/confidence.py, and its quality on vaults that it was not fitted to.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.judgements import Outside, QuerySet, Question
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.kinds import Confidence, Strategy
from excerpt.model import Hit
from excerpt.search.confidence import (
    LIKELY_LIKELIHOOD,
    STRONG_LIKELIHOOD,
    WEAK_LIKELIHOOD,
    compute_features,
    judge_confidence,
)
from excerpt.search.engine import Engine
from excerpt.search.ranking import primary_strategy
from excerpt.settings import Paths, Settings

WORK = Path("build/quality")
OWN, FOREIGN = 300, 150
"""The most questions from a vault's own set, and from each other set, taken at even distances."""
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

    `led_by` has 1 for the primary strategy of the query and 0 for the others in `LED`.
    """

    kind: str
    weights_for: tuple[float, ...]
    features: tuple[float, ...]
    likely: float


@dataclass(frozen=True, slots=True)
class Asked:
    """One question asked of one vault.

    `own` says that the vault may answer it; `right` that an answering note is among the first ten, `first_right` that
    it is the first; `first` is the first hit, None if there is none.
    """

    vault: str
    own: bool
    confidence: Confidence
    right: bool
    first_right: bool
    first: First | None


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
    print("\n".join((*table(asked), "", *reliability(asked))))
    if fit:
        print("\n".join(fitted(asked)))


# --- asking -----------------------------------------------------------------------------------------------------------


def answers(query_set: QuerySet, sets: Sequence[QuerySet]) -> Iterator[Asked]:
    """Yield the answers of one set's vault to its own questions and to those that it cannot answer."""
    print(f"confidence: {query_set.name}", file=sys.stderr, flush=True)
    home = WORK.resolve() / "home"
    folder = Paths(home / "config", home / "cache", home / "data", home / "state").index_folder(query_set.vault)
    build(query_set.vault, folder, Settings())
    snapshot = Snapshot.open(folder, Settings())
    try:
        engine = Engine(snapshot, Settings())
        for other in sets:
            own = other.name == query_set.name
            if own or (other.language == query_set.language and other.family != query_set.family):
                for question in _evenly(other.questions(), OWN if own else FOREIGN):
                    yield _ask(engine, query_set.name, question, own=own)
    finally:
        snapshot.close()


def _evenly(questions: Sequence[Question], most: int) -> Sequence[Question]:
    return questions[:: max(1, -(-len(questions) // most))]


def _ask(engine: Engine, vault: str, question: Question, *, own: bool) -> Asked:
    hits = engine.search(question.text, Strategy.AUTO, FIRST).hits
    right = [own and hit.fragment.path in question.grades for hit in hits]
    words = [hit.confidence for hit in hits if hit.confidence is not None]
    return Asked(
        vault=vault,
        own=own,
        confidence=min(words, key=list(Confidence).index, default=Confidence.NOTHING),
        right=any(right),
        first_right=bool(right and right[0]),
        first=_first(engine, question, hits[0]) if hits else None,
    )


def _first(engine: Engine, question: Question, hit: Hit) -> First:
    query = engine.parse(question.text)[0]
    evidence, found = engine.find_candidates(query)
    row = np.searchsorted(engine.snapshot.table.keys, [hit.fragment.key]).astype(np.int32)
    features = tuple(float(value[0]) for value in compute_features(evidence, found, row))
    leader = primary_strategy(evidence.word_count)
    kind = EXACT if evidence.has_exact_words is not None and evidence.has_exact_words[row[0]] else LED[leader]
    return First(
        kind,
        tuple(float(one is leader) for one in LED),
        features,
        float(judge_confidence(evidence, found, row).likelihoods[0]),
    )


# --- what the words are worth -----------------------------------------------------------------------------------------


def table(asked: Sequence[Asked]) -> list[str]:
    """Return a Markdown table with a row for each confidence word.

    A row shows for how many questions with and without an answer the word is given, and how often it is right.
    """
    own, foreign = [one for one in asked if one.own], [one for one in asked if not one.own]
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


def reliability(asked: Sequence[Asked]) -> list[str]:
    """Return a Markdown table with a row for each kind of query.

    A cell is one bin of likelihood: the number of first hits, their mean likelihood, and the share that is right.
    """
    rows = ["| | nothing | weak | likely | strong |", "|---|---:|---:|---:|---:|"]
    for kind in KINDS:
        cells = []
        for begin, end in pairwise(BEGIN):
            among = [(one.first.likely, one.first_right) for one in asked if one.first and one.first.kind == kind]
            within = [(likely, right) for likely, right in among if begin <= likely < end]
            cells.append(
                f"{len(within):,}: {_mean(likely for likely, _ in within)} / {_mean(right for _, right in within)}"
            )
        rows.append(f"| {kind} | {' | '.join(cells)} |")
    return rows


def _share(asked: Sequence[Asked], word: Confidence, vault: str = "") -> float:
    among = [one for one in asked if vault in ("", one.vault)]
    return sum(one.confidence is word for one in among) / len(among)


def _mean(values: Iterator[float]) -> str:
    known = list(values)
    return f"{sum(known) / len(known):.3f}" if known else ""


# --- the regression ---------------------------------------------------------------------------------------------------


def fitted(asked: Sequence[Asked]) -> list[str]:
    """Return the weights of a logistic regression on all vaults, weighted equally, and its AUC.

    The AUC is cross-validated: each vault is judged by weights that were fitted to the others.
    """
    known = [one for one in asked if one.first is not None]
    features = np.array([(*one.first.features, *one.first.weights_for) for one in known if one.first is not None])
    right = np.array([one.first_right for one in known])
    vaults = np.array([one.vault for one in known])
    share = np.array([1 / np.count_nonzero(vaults == vault) for vault in vaults]) * 1000
    judged = np.zeros(len(known))
    for vault in set(vaults.tolist()):
        others = vaults != vault
        weights = regression(features[others], right[others], share[others])
        judged[~others] = features[~others] @ weights
    names = ("coverage", "said", "named", *LED)
    values = regression(features, right, share)
    weights_said = ", ".join(f"{name} {value:.2f}" for name, value in zip(names, values, strict=True))
    return ["", f"Fitted: {weights_said}; AUC on vaults left out {auc(judged, right):.3f}."]


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
