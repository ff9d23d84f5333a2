"""Signals -> one score, and which strategy leads.

The score is a sum of signals, each between 0 and 1, times the weights below (a linear combination of normalised
scores; Bruch, Gai and Ingber, 2023, found it better than reciprocal rank fusion, as was measured here). All
candidates are scored by all signals, whichever list brought them up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace

import numpy as np
import numpy.typing as npt

from excerpt.model import Strategy

Floats = npt.NDArray[np.float32]

SIGNALS = ("words", "coverage", "title", "heading", "proximity", "meaning")
"""The signals by name, in the order of their columns."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each signal counts.

    `words` is BM25 as a share of the best fragment's; `coverage` the share of the query's words that the fragment,
    its headings, title and tags have; `title` and `heading` the share of the query they cover times the share of them
    that the query covers; `proximity` how close the words stand; `meaning` the cosine above the vault's mean.
    """

    words: float
    coverage: float
    title: float
    heading: float
    proximity: float
    meaning: float

    @property
    def array(self) -> Floats:
        return np.array(astuple(self), np.float32)


WEIGHTS: Mapping[Strategy, Weights] = {
    Strategy.ADAPTIVE: Weights(words=0.5, coverage=0.1, title=0.6, heading=0.2, proximity=0.0, meaning=0.0),
    Strategy.PROXIMITY: Weights(words=0.4, coverage=0.1, title=0.6, heading=0.2, proximity=0.3, meaning=0.0),
    Strategy.SEMANTIC: Weights(words=0.0, coverage=0.0, title=0.2, heading=0.1, proximity=0.0, meaning=0.7),
    Strategy.HYBRID: Weights(words=0.5, coverage=0.1, title=0.6, heading=0.2, proximity=0.08, meaning=0.22),
}

LEAD = 0.1
"""How much more the leading strategy's own signal counts under auto than in hybrid. All signals are heard: more lead
was worse on most sets, and hearing the leader alone ruinous (docs/design/quality.md)."""

_OWN = {Strategy.ADAPTIVE: "words", Strategy.PROXIMITY: "proximity", Strategy.SEMANTIC: "meaning"}

_NEXT = {
    Strategy.ADAPTIVE: (Strategy.ADAPTIVE, Strategy.PROXIMITY, Strategy.SEMANTIC),
    Strategy.PROXIMITY: (Strategy.PROXIMITY, Strategy.ADAPTIVE, Strategy.SEMANTIC),
    Strategy.SEMANTIC: (Strategy.SEMANTIC, Strategy.PROXIMITY, Strategy.ADAPTIVE),
    Strategy.HYBRID: (Strategy.HYBRID,),
}
_BY_WORDS = frozenset({Strategy.ADAPTIVE, Strategy.PROXIMITY})


def lead(word_count: int) -> Strategy:
    """Who leads under auto: one or two words are looked up, three to five belong together, more are a question."""
    if word_count <= 2:
        return Strategy.ADAPTIVE
    return Strategy.PROXIMITY if word_count <= 5 else Strategy.SEMANTIC


def answering(strategy: Strategy, *, words_found: bool, meaning_found: bool) -> Strategy:
    """The strategy that answers: the one asked for, or, if it has nothing, the next that has."""
    for candidate in _NEXT[strategy]:
        if candidate in _BY_WORDS and not words_found:
            continue
        if candidate is Strategy.SEMANTIC and not meaning_found:
            continue
        return candidate
    return strategy


def led_by(leader: Strategy) -> Weights:
    """Auto's weights when `leader` leads."""
    hybrid = WEIGHTS[Strategy.HYBRID]
    own = _OWN.get(leader)
    return hybrid if own is None else replace(hybrid, **{own: getattr(hybrid, own) * (1 + LEAD)})
