"""Check what an answer cites and quotes against the pack it was given and the current vault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

from excerpt.check.answer import Citation, CitedAnswer, Quotation, Sentence
from excerpt.check.lookup import Lookup
from excerpt.check.quotations import QuotedSpan, best_alignment, find, longest_part
from excerpt.check.source_state import SourceComparison, State, compare_source
from excerpt.check.verdicts import Check, CheckedCitation, CheckedQuotation, CheckedSentence, SourceLines, Verdict
from excerpt.pack.formats.pack_format import PackFile, PackSource
from excerpt.text.fragments import count_words

ALTERED = 0.8
"""Least similarity at which a quotation counts as altered instead of invented (docs/design/citations.md)."""
MAX_CITATIONS = 10_000
"""Maximum number of valid citations that are listed one by one: 2,000 × [1-999] would be two million."""
MIN_CITED, MIN_ALONE = 2, 3
"""Least number of words of an unknown quotation that is called invented, with and without a citation.

Quotation marks around fewer words often set off a word and quote nothing.
"""
_MIN_SENTENCE = 3


def check_answer(answer: CitedAnswer, pack: PackFile, lookup: Lookup) -> Check:
    """Check `answer` against `pack` and the vault behind `lookup`. The result is deterministic."""
    pack = replace(pack, sources=tuple(_with_lines(source, lookup) for source in pack.sources))
    checker = _Checker(pack, lookup)
    quotations = [checker.quotation(quotation) for quotation in answer.quotations]
    own = [citation for citation in answer.citations if not _is_quoted(citation, quotations)]
    cited = _count_citations(own)
    sentences = [checked_sentence for each in answer.sentences if (checked_sentence := checker.sentence(each))]
    uncited = [
        each
        for each in answer.sentences
        if not each.cited and not each.quotes and count_words(each.text) >= _MIN_SENTENCE
    ]
    return Check(
        pack,
        tuple(checker.comparisons.values()),
        tuple(checker.citations(own, cited)),
        tuple(quotations),
        tuple(sentences),
        tuple(uncited),
        answer.unchecked,
        cited,
    )


def _with_lines(source: PackSource, lookup: Lookup) -> PackSource:
    """Return a source that the pack names by a location in an attachment, with the lines that are there now."""
    if source.line_start:
        return source
    path = lookup.path(source.path)
    first = lookup.line_at(path, source.place) if path is not None else 1
    return replace(source, line_start=first, line_end=first + source.text.count("\n"))


def _count_citations(citations: Iterable[Citation]) -> Counter[int]:
    """Return how often each number is cited."""
    steps: Counter[int] = Counter()
    for named, times in Counter(each for citation in citations for each in citation.ranges).items():
        steps[named.start] += times
        steps[named.stop] -= times
    running = accumulate(steps[number] for number in range(max(steps, default=0)))
    return Counter({number: times for number, times in enumerate(running) if times})


def _is_quoted(citation: Citation, quotations: Sequence[CheckedQuotation]) -> bool:
    """Return whether an apparent citation is part of the quoted note."""
    if citation.quotation is None:
        return False
    quoted = quotations[citation.quotation]
    return quoted.verdict is Verdict.TRUE and quoted.place is not None and citation.text in quoted.place.passage


@dataclass
class _Checker:
    pack: PackFile
    lookup: Lookup
    _terms_by_text: dict[str, frozenset[str]] = field(default_factory=dict)
    _judgements: dict[Quotation, CheckedQuotation] = field(default_factory=dict)
    _reversed: CheckedQuotation | None = None  # where the quotation at hand stands but for what turns its meaning

    @cached_property
    def comparisons(self) -> dict[int, SourceComparison]:
        return {source.number: compare_source(source, self.lookup) for source in self.pack.sources}

    # --- citations ----------------------------------------------------------------------------------------------------

    def citations(self, citations: Iterable[Citation], cited: Mapping[int, int]) -> Iterator[CheckedCitation]:
        """Yield the numbers of `citations` in order: valid ones up to a limit, the others once each."""
        unseen = set(cited)
        room = MAX_CITATIONS
        for citation in citations:
            for number in citation.numbers:
                if number not in unseen and (room <= 0 or number not in self.comparisons):
                    continue
                checked = CheckedCitation(citation, number, self.comparisons.get(number))
                if checked.holds:
                    room -= 1
                    yield checked
                elif number in unseen:
                    yield replace(checked, times=cited[number])
                unseen.discard(number)

    # --- quotations ---------------------------------------------------------------------------------------------------

    def quotation(self, quotation: Quotation) -> CheckedQuotation:
        """Return the verdict on `quotation`, computed once for equal text and citations."""
        unnumbered = replace(quotation, line=0)
        if unnumbered not in self._judgements:
            self._judgements[unnumbered] = self._with_locations(self._check_cited(unnumbered))
        return replace(self._judgements[unnumbered], quotation=quotation)

    def _with_locations(self, checked: CheckedQuotation) -> CheckedQuotation:
        """Return the quotation with the locations in attachments besides the line numbers."""

        def with_location(lines: SourceLines | None) -> SourceLines | None:
            path = self.lookup.path(lines.path) if lines is not None else None
            if lines is None or path is None:
                return lines
            return replace(lines, place=self.lookup.location(path, lines.line_start, lines.line_end))

        return replace(checked, place=with_location(checked.place), now=with_location(checked.now))

    def _check_cited(self, quotation: Quotation) -> CheckedQuotation:
        if quotation.cited != quotation.beside:
            whole = self._judge(replace(quotation, readings=quotation.readings[:1], cited=quotation.beside))
            if whole.verdict is Verdict.TRUE:
                return whole
        return self._judge(quotation)

    def _judge(self, quotation: Quotation) -> CheckedQuotation:
        cited = [source for number in quotation.cited if (source := self.pack.source(number))]
        others = [source for source in self.pack.sources if source not in cited]
        self._reversed = None
        return (
            self._in_sources(quotation, cited, Verdict.TRUE)
            or self._in_sources(quotation, others, Verdict.MISATTRIBUTED if quotation.cited else Verdict.TRUE)
            or self._in_question(quotation)
            or self._in_vault(quotation, Verdict.MISATTRIBUTED if quotation.cited else Verdict.TRUE)
            or self._reversed
            or self._not_found(quotation, [*cited, *others])
        )

    def _in_sources(
        self, quotation: Quotation, sources: Iterable[PackSource], verdict: Verdict
    ) -> CheckedQuotation | None:
        for reading in quotation.readings:
            for source in sources:
                if passage := find(reading, source.text):
                    lines = _source_lines(source.text, passage, source.path, source.line_start, source.number)
                    if passage.turned_by:
                        self._store_reversed(quotation, lines, passage)
                        continue
                    now = self._present_lines(reading, source, lines)
                    if verdict is Verdict.TRUE and now is None:
                        verdict = Verdict.CHANGED
                    return CheckedQuotation(quotation, verdict, lines, passage.differences, now=now)
                for named in (source.heading, source.path):
                    if passage := find(reading, named):
                        lines = SourceLines(source.path, source.line_start, source.line_start, named, source.number)
                        return CheckedQuotation(quotation, verdict, lines, passage.differences)
        return None

    def _present_lines(self, reading: str, source: PackSource, lines: SourceLines) -> SourceLines | None:
        """Return where a passage found in a source is in the current vault."""
        comparison = self.comparisons[source.number]
        if comparison.state in (State.STANDS, State.MOVED):
            moved = comparison.line_start - source.line_start
            return SourceLines(comparison.path, lines.line_start + moved, lines.line_end + moved, lines.passage)
        if comparison.state is State.CHANGED and (passage := find(reading, comparison.text)):
            return (
                None
                if passage.turned_by
                else _source_lines(comparison.text, passage, comparison.path, comparison.line_start)
            )
        in_vault = self._search_vault(reading, comparison.path)
        return in_vault[0] if in_vault and not in_vault[1].turned_by else None

    def _store_reversed(self, quotation: Quotation, lines: SourceLines, passage: QuotedSpan) -> None:
        like = best_alignment(quotation.text, lines.passage)
        self._reversed = self._reversed or CheckedQuotation(
            quotation,
            Verdict.ALTERED,
            lines,
            passage.differences,
            like.similarity / 100 if like else 0.0,
            turned_by=passage.turned_by,
        )

    def _in_question(self, quotation: Quotation) -> CheckedQuotation | None:
        """Return the verdict on a quotation from the question, None for any other."""
        if quotation.cited or not self.pack.question:
            return None
        passage = find(quotation.text, self.pack.question)
        return CheckedQuotation(quotation, Verdict.TRUE) if passage and not passage.turned_by else None

    def _in_vault(self, quotation: Quotation, verdict: Verdict) -> CheckedQuotation | None:
        if count_words(quotation.text) < MIN_CITED:
            return None  # a single word occurs in any vault, and proves nothing
        for reading in quotation.readings:
            if match := self._search_vault(reading):
                lines, passage = match
                if passage.turned_by:
                    self._store_reversed(quotation, lines, passage)
                    continue
                return CheckedQuotation(quotation, verdict, lines, passage.differences, now=lines)
        return None

    def _search_vault(self, reading: str, first: str = "") -> tuple[SourceLines, QuotedSpan] | None:
        """Return where `reading` is in the vault, preferably in the note `first`.

        A passage where an ellipsis leaves out words that reverse the meaning counts only if there is no other.
        """
        reversed_passage: tuple[SourceLines, QuotedSpan] | None = None
        for lines in sorted(self.lookup.lines_with(longest_part(reading)), key=lambda lines: lines.path != first):
            if passage := find(reading, lines.text):
                match = _source_lines(lines.text, passage, lines.path, lines.line_start), passage
                if not passage.turned_by:
                    return match
                reversed_passage = reversed_passage or match
        return reversed_passage

    def _not_found(self, quotation: Quotation, sources: Sequence[PackSource]) -> CheckedQuotation:
        if count_words(quotation.text) < (MIN_CITED if quotation.cited else MIN_ALONE):
            return CheckedQuotation(quotation, Verdict.SHORT, similarity=0.0)
        best: tuple[float, SourceLines | None] = (0.0, None)
        for text, path, line, number in self._candidates(quotation, sources):
            like = best_alignment(quotation.text, text)
            if like and like.similarity / 100 > best[0]:
                lines = _source_lines(text, like, path, line, number)
                best = (like.similarity / 100, lines)
        similarity, nearest = best
        verdict = Verdict.ALTERED if similarity >= ALTERED else Verdict.INVENTED
        return CheckedQuotation(quotation, verdict, nearest, similarity=similarity)

    def _candidates(
        self, quotation: Quotation, sources: Sequence[PackSource]
    ) -> Iterator[tuple[str, str, int, int | None]]:
        """Yield the texts that may be the original of an altered quotation, most likely first.

        Each has its path, its first line and, in the pack, the number of its source.
        """
        yield from ((source.text, source.path, source.line_start, source.number) for source in sources)
        for each in self.lookup.lines_like(quotation.text):
            yield each.text, each.path, each.line_start, None

    # --- sentences ----------------------------------------------------------------------------------------------------

    def sentence(self, sentence: Sentence) -> CheckedSentence | None:
        cited = [source for number in sentence.cited if (source := self.pack.source(number))]
        if not cited or sentence.quotes:
            return None
        words = self.lookup.important_words(sentence.text)
        has = frozenset().union(*(self._terms(source) for source in cited))
        missing = [word.surface for word in words if has.isdisjoint(word.terms)]
        numbers = tuple(source.number for source in cited)
        return CheckedSentence(sentence, numbers, tuple(word.surface for word in words), tuple(missing))

    def _terms(self, source: PackSource) -> frozenset[str]:
        source_text = f"{source.heading}\n{source.path}, lines {source.line_start}-{source.line_end}\n\n{source.text}"
        if source_text not in self._terms_by_text:
            self._terms_by_text[source_text] = self.lookup.terms(source_text)
        return self._terms_by_text[source_text]


def _source_lines(text: str, passage: QuotedSpan, path: str, first_line: int, source: int | None = None) -> SourceLines:
    """Return the location of a passage of `text`, which begins at line `first_line` of the note."""
    quoted_text = text[passage.start : passage.end]
    start = first_line + text.count("\n", 0, passage.start)
    return SourceLines(path, start, start + quoted_text.count("\n"), quoted_text, source)
