"""Where in a fragment's text the words matched, for highlighting."""

from __future__ import annotations

from collections import OrderedDict

from excerpt.model import Fragment, Span
from excerpt.text.words import Analysis, analyze


class SpanFinder:
    """Marks matched words. Keeps the analysis of the last fragments, since they stay on screen while a query grows."""

    KEPT = 400

    def __init__(self) -> None:
        self._analyses: OrderedDict[int, Analysis] = OrderedDict()

    def find(self, fragment: Fragment, terms: frozenset[str], language: str) -> tuple[Span, ...]:
        """The stretches of the fragment's text that `terms` stand in, ascending, none touching another's inside."""
        analysis = self._analyses.get(fragment.key)
        if analysis is None:
            analysis = analyze(fragment.text, language)
            self._analyses[fragment.key] = analysis
            if len(self._analyses) > self.KEPT:
                self._analyses.popitem(last=False)
        return merged(
            [
                (start, end)
                for term, start, end in zip(analysis.terms, analysis.starts, analysis.ends, strict=True)
                if term in terms
            ]
        )


def merged(stretches: list[tuple[int, int]]) -> tuple[Span, ...]:
    """Stretches, overlapping ones made one: compounds and their parts, and neighbouring characters."""
    spans: list[Span] = []
    for start, end in sorted(stretches):
        if spans and start < spans[-1].end:
            spans[-1] = Span(spans[-1].start, max(end, spans[-1].end))
        else:
            spans.append(Span(start, end))
    return tuple(spans)
