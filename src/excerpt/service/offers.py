"""Which actions may help with a result: a narrower query, or the comparison of strategies."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from excerpt.base.kinds import Confidence

if TYPE_CHECKING:
    from excerpt.base.model import Result

_MAX_COMPARED_HITS = 50
"""Maximum number of hits in which the first hit of each strategy is looked for: 0.3 ms."""
_MAX_FOLDER_SHARE = 0.6
"""Maximum share of the hits, 0 to 1, in a folder whose filter makes the query narrower (as in `insight.suggest`)."""


def list_offers(result: Result) -> tuple[str, ...]:
    """Return the names of the actions that may help with a result: "suggest" (a narrower query) and "compare".

    No action is offered if the first hits answer the query (`Confidence.STRONG`) or no hit does. The choice uses only
    what the search has already found, so it costs no search.
    """
    if result.confidence not in (Confidence.LIKELY, Confidence.WEAK, Confidence.UNSURE) or not result.hits:
        return ()
    offers = {"suggest": _can_narrow(result), "compare": _has_other_first_note(result)}
    return tuple(name for name, helps in offers.items() if helps)


def _can_narrow(result: Result) -> bool:
    """Return whether more fragments match than are listed, and one folder has several hits, but not most."""
    count = len(result.hits)
    folders = Counter(hit.fragment.path.rpartition("/")[0] for hit in result.hits)
    return result.matched > count and any(1 < hits <= _MAX_FOLDER_SHARE * count for hits in folders.values())


def _has_other_first_note(result: Result) -> bool:
    """Return whether the strategies rank different notes first, computed from the signals of the listed hits.

    This was right for 95 % of 300 queries; it is wrong if another strategy ranks a note first that is not listed.
    """
    from excerpt.search.ranking import STRATEGY_WEIGHTS

    hits = result.hits[:_MAX_COMPARED_HITS]
    first_notes: set[str] = set()
    for weights in map(asdict, STRATEGY_WEIGHTS.values()):
        # Boosts and names, which the weights do not have, count the same under every strategy.
        scores = [sum(weights.get(each.name, each.weight) * each.value for each in hit.signals) for hit in hits]
        first_notes.add(hits[scores.index(max(scores))].fragment.path)
    return len(first_notes) > 1
