"""A reranker that prefers passages in which the query's words stand close together."""

from collections.abc import Sequence


class TogetherReranker:
    id = "together-1"

    def score(self, query: str, passages: Sequence[str], seconds: float) -> Sequence[float]:
        wanted = set(query.lower().split())
        return [closeness(wanted, passage.lower().split()) for passage in passages]


def closeness(wanted: set[str], words: Sequence[str]) -> float:
    """Return the most words of the query among ten words in a row."""
    return max((len(wanted.intersection(words[start : start + 10])) for start in range(len(words))), default=0)
