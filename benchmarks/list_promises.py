"""Check on real queries the properties of every list of hits; `python -m benchmarks.confidence` prints how many hold.

The score falls down the list, but for hits that are folded as more of a note. The confidence of a result is the same
whatever its limit. While a query is typed letter by letter, a change of its order (every second place by meaning, or
none) stays for some further letters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from benchmarks.targets import verdict
from excerpt.search.engine import MIN_DESCRIBING_WORDS, Engine

LIMITS = (1, 3, 5, 10, 50)
STEADY_LETTERS = 3
"""For how many further letters an order stays."""
MIN_STEADY = 0.95
"""The required share of queries of MIN_DESCRIBING_WORDS words and more whose order never changes back sooner."""
TYPED = 40
"""The most queries of each set that are typed letter by letter, evenly spaced."""


@dataclass(frozen=True, slots=True)
class CheckedList:
    """Which properties hold for the list of a query; `is_steady` is None for a query that was not typed."""

    query: str
    falls: bool
    is_same_confidence: bool
    is_steady: bool | None = None


def check_lists(engine: Engine, queries: Sequence[str]) -> Iterator[CheckedList]:
    """Yield which properties the lists of `queries` have; at most TYPED of those that may be ordered by meaning too."""
    long = [query for query in queries if count_query_words(engine, query) >= MIN_DESCRIBING_WORDS]
    typed = set(long[:: max(1, -(-len(long) // TYPED))])
    for query in queries:
        hits = engine.search(query, limit=LIMITS[-1]).hits
        labels = {engine.search(query, limit=limit).confidence for limit in LIMITS}
        yield CheckedList(
            query,
            falls([hit.score for hit in hits if not hit.more_of_note]),
            len(labels) == 1,
            is_steady(type_letters(engine, query)) if query in typed else None,
        )


def count_query_words(engine: Engine, query: str) -> int:
    return engine.find_candidates(engine.parse(query)[0])[0].word_count


def falls(scores: Sequence[float]) -> bool:
    """Return whether no score is higher than the one before it."""
    return all(above >= below for above, below in pairwise(scores))


def type_letters(engine: Engine, query: str) -> list[bool]:
    """Return for each letter of a query whether the list, once it is typed, has every second hit by meaning."""
    return [engine.search(query[:end], limit=LIMITS[1]).is_joined for end in range(1, len(query) + 1)]


def is_steady(states: Sequence[bool]) -> bool:
    """Return whether each state that is reached stays for STEADY_LETTERS further letters, or to the end."""
    lengths = [len(list(letters)) for _, letters in groupby(states)]
    return all(length > STEADY_LETTERS for length in lengths[1:-1])


def list_verdicts(checked: Sequence[CheckedList]) -> list[str]:
    """Return a sentence for each property: for how many lists it holds, and the first query for which it does not."""
    typed = [one for one in checked if one.is_steady is not None]
    return [
        _verdict("scores fall down the list", [(one.query, one.falls) for one in checked], 1.0),
        _verdict(
            "confidence is the same at every limit", [(one.query, one.is_same_confidence) for one in checked], 1.0
        ),
        _verdict(
            f"typed by letters, the order stays for {STEADY_LETTERS} more",
            [(one.query, bool(one.is_steady)) for one in typed],
            MIN_STEADY,
        ),
    ]


def _verdict(said: str, holding: Sequence[tuple[str, bool]], least: float) -> str:
    broken = [query for query, holds in holding if not holds]
    share = 1 - len(broken) / max(1, len(holding))
    example = f"; not for {broken[0]!r}" if broken else ""
    return verdict(share >= least, f"{said}: {share:.3f} of {len(holding):,} queries, to be {least:g}{example}")
