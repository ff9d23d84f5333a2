"""Check the citations and quotations of an LLM's answer against its pack and the present vault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

from excerpt.pack.check.answer import (
    MAX_UNCHECKED_TEXT,
    Citation,
    CitedAnswer,
    Quotation,
    Sentence,
    UnpairedQuotationMark,
)
from excerpt.pack.check.lookup import VaultLookup
from excerpt.pack.check.quotations import MatchedSpan, find_most_similar, find_quotation, select_longest_part
from excerpt.pack.check.sentences import SourceWords, compare_sentence, read_source_words
from excerpt.pack.check.source_state import SourceComparison, SourceState, compare_source
from excerpt.pack.check.verdicts import (
    AnswerCheck,
    CheckedCitation,
    CheckedQuotation,
    CheckedSentence,
    SourceLines,
    Verdict,
)
from excerpt.pack.formats.pack_format import PackFile, PackSource
from excerpt.text.fragments import count_words

MIN_ALTERED_SIMILARITY = 0.8
"""Least similarity, 0 to 1, to some text with which a quotation counts as altered, not invented.

See docs/design/citations.md.
"""
MAX_CITATIONS = 10_000
"""Maximum number of valid citations in the result: an answer with 2,000 times [1-999] has two million."""
MIN_CITED_WORDS, MIN_UNCITED_WORDS = 2, 3
"""Least number of words of a quotation that is called invented, with and without a citation.

Quotation marks around fewer words often only emphasise them.
"""
_MIN_SENTENCE_WORDS = 3
MAX_COMPARED = 20_000_000
"""Maximum number of characters that all quotations are compared with.

50 quotations that are nowhere take as many. Further ones are listed as unchecked.
"""
_SEARCH_COST = 200_000  # characters that a search of the vault counts as
_TOO_MANY = "the answer has too many quotations; check a part of it"


def check_answer(answer: CitedAnswer, pack: PackFile, lookup: VaultLookup) -> AnswerCheck:
    """Check an answer against the pack that the LLM was given, and the vault that `lookup` searches.

    The result is deterministic.
    """
    pack = replace(pack, sources=tuple(_find_line_numbers(source, lookup) for source in pack.sources))
    checker = AnswerChecker(pack, lookup)
    quotations = [checker.check_quotation(quotation) for quotation in answer.quotations]
    own = [citation for citation in answer.citations if not _is_quoted(citation, quotations)]
    unchecked = [
        UnpairedQuotationMark(quotation.line, quotation.text[:MAX_UNCHECKED_TEXT], _TOO_MANY)
        for quotation, checked in zip(answer.quotations, quotations, strict=True)
        if checked is None
    ]
    cited = _count_citations(own)
    sentences = [checked_sentence for each in answer.sentences if (checked_sentence := checker.check_sentence(each))]
    uncited = [
        each
        for each in answer.sentences
        if not each.cited and not each.quotes and count_words(each.text) >= _MIN_SENTENCE_WORDS
    ]
    return AnswerCheck(
        pack,
        tuple(checker.comparisons.values()),
        tuple(checker.check_citations(own, cited)),
        tuple(checked for checked in quotations if checked is not None),
        tuple(sentences),
        tuple(uncited),
        (*answer.unchecked, *unchecked),
        cited,
    )


def _find_line_numbers(source: PackSource, lookup: VaultLookup) -> PackSource:
    """Return `source` with line numbers.

    If the pack names it only by a location in an attachment, its lines are those at the location now.
    """
    if source.line_start:
        return source
    path = lookup.find_path(source.path)
    first = lookup.find_line(path, source.place) if path is not None else 1
    return replace(source, line_start=first, line_end=first + source.text.count("\n"))


def _count_citations(citations: Iterable[Citation]) -> Counter[int]:
    """Return the number of citations of each source number."""
    steps: Counter[int] = Counter()
    for named, times in Counter(each for citation in citations for each in citation.ranges).items():
        steps[named.start] += times
        steps[named.stop] -= times
    running = accumulate(steps[number] for number in range(max(steps, default=0)))
    return Counter({number: times for number, times in enumerate(running) if times})


def _is_quoted(citation: Citation, quotations: Sequence[CheckedQuotation | None]) -> bool:
    """Return whether a citation inside a quotation is really part of the text of the quoted note."""
    if citation.quotation is None:
        return False
    quoted = quotations[citation.quotation]
    return (
        quoted is not None
        and quoted.verdict is Verdict.TRUE
        and quoted.place is not None
        and citation.text in quoted.place.passage
    )


@dataclass
class AnswerChecker:
    """Checker of the citations, quotations and sentences of one answer.

    `compared` is the number of characters that quotations were compared with, a search of the vault counting as many.
    """

    pack: PackFile
    lookup: VaultLookup
    _words_by_source: dict[int, SourceWords] = field(default_factory=dict)
    _judgements: dict[Quotation, CheckedQuotation] = field(default_factory=dict)
    compared: int = 0
    _reversed: CheckedQuotation | None = (
        None  # verdict if the present quotation is only found with its meaning reversed
    )

    @cached_property
    def comparisons(self) -> dict[int, SourceComparison]:
        """The comparison of each source in the pack with the vault, by source number."""
        return {source.number: compare_source(source, self.lookup) for source in self.pack.sources}

    @cached_property
    def _sources(self) -> dict[int, PackSource]:
        return {source.number: source for source in self.pack.sources}

    # --- citations ----------------------------------------------------------------------------------------------------

    def check_citations(self, citations: Iterable[Citation], cited: Mapping[int, int]) -> Iterator[CheckedCitation]:
        """Yield each source number in `citations`, in order.

        Valid numbers are yielded up to MAX_CITATIONS times in all, numbers that do not hold once each. `cited` has the
        number of citations by source number.
        """
        unseen = set(cited)
        room = MAX_CITATIONS
        for citation in citations:
            if room <= 0 and not unseen:
                return
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

    def check_quotation(self, quotation: Quotation) -> CheckedQuotation | None:
        """Return the verdict on a quotation; None if earlier quotations used up the limit of MAX_COMPARED characters.

        The verdict is computed only once for equal texts and citations.
        """
        unnumbered = replace(quotation, line=0)
        if unnumbered not in self._judgements:
            if self.compared > MAX_COMPARED:
                return None
            self._judgements[unnumbered] = self._with_locations(self._check_cited(unnumbered))
        return replace(self._judgements[unnumbered], quotation=quotation)

    def _with_locations(self, checked: CheckedQuotation) -> CheckedQuotation:
        """Return the checked quotation with locations, such as pages, for lines of attachments."""

        def with_location(lines: SourceLines | None) -> SourceLines | None:
            path = self.lookup.find_path(lines.path) if lines is not None else None
            if lines is None or path is None:
                return lines
            return replace(lines, place=self.lookup.find_location(path, lines.line_start, lines.line_end))

        return replace(checked, place=with_location(checked.place), now=with_location(checked.now))

    def _check_cited(self, quotation: Quotation) -> CheckedQuotation:
        if quotation.cited != quotation.beside:
            whole = self._check_readings(replace(quotation, readings=quotation.readings[:1], cited=quotation.beside))
            if whole.verdict is Verdict.TRUE:
                return whole
        return self._check_readings(quotation)

    def _check_readings(self, quotation: Quotation) -> CheckedQuotation:
        cited = [self._sources[number] for number in quotation.cited if number in self._sources]
        numbers = frozenset(quotation.cited)
        others = [source for source in self.pack.sources if source.number not in numbers]
        self._reversed = None
        return (
            self._find_in_sources(quotation, cited, Verdict.TRUE)
            or self._find_in_sources(quotation, others, Verdict.MISATTRIBUTED if quotation.cited else Verdict.TRUE)
            or self._find_in_question(quotation)
            or self._find_in_vault(quotation, Verdict.MISATTRIBUTED if quotation.cited else Verdict.TRUE)
            or self._reversed
            or self._judge_missing(quotation, [*cited, *others])
        )

    def _find_in_sources(
        self, quotation: Quotation, sources: Iterable[PackSource], verdict: Verdict
    ) -> CheckedQuotation | None:
        for reading in quotation.readings:
            for source in sources:
                self.compared += len(source.text)
                if passage := find_quotation(reading, source.text):
                    lines = _make_source_lines(source.text, passage, source.path, source.line_start, source.number)
                    if passage.turned_by:
                        self._store_reversed(quotation, lines, passage)
                        continue
                    now = self._find_present_lines(reading, source, lines)
                    if verdict is Verdict.TRUE and now is None:
                        verdict = Verdict.CHANGED
                    return CheckedQuotation(quotation, verdict, lines, passage.differences, now=now)
                header = source.table_header
                if header is not None and (passage := find_quotation(reading, header.text)):
                    lines = _make_source_lines(header.text, passage, source.path, header.line_start, source.number)
                    in_vault = self._search_vault(reading, source.path)
                    if verdict is Verdict.TRUE and in_vault is None:
                        verdict = Verdict.CHANGED
                    now = in_vault[0] if in_vault is not None else None
                    return CheckedQuotation(quotation, verdict, lines, passage.differences, now=now)
                for named in (source.heading, source.path):
                    if passage := find_quotation(reading, named):
                        lines = SourceLines(source.path, source.line_start, source.line_start, named, source.number)
                        return CheckedQuotation(quotation, verdict, lines, passage.differences)
        return None

    def _find_present_lines(self, reading: str, source: PackSource, lines: SourceLines) -> SourceLines | None:
        """Return the lines of the vault that have a quotation now; None if no lines have it.

        The pack has its text `reading` at `lines` of `source`.
        """
        comparison = self.comparisons[source.number]
        if comparison.state in (SourceState.STANDS, SourceState.MOVED):
            moved = comparison.line_start - source.line_start
            return SourceLines(comparison.path, lines.line_start + moved, lines.line_end + moved, lines.passage)
        if comparison.state is SourceState.CHANGED and (passage := find_quotation(reading, comparison.text)):
            return (
                None
                if passage.turned_by
                else _make_source_lines(comparison.text, passage, comparison.path, comparison.line_start)
            )
        in_vault = self._search_vault(reading, comparison.path)
        return in_vault[0] if in_vault and not in_vault[1].turned_by else None

    def _store_reversed(self, quotation: Quotation, lines: SourceLines, passage: MatchedSpan) -> None:
        like = find_most_similar(quotation.text, lines.passage)
        self._reversed = self._reversed or CheckedQuotation(
            quotation,
            Verdict.ALTERED,
            lines,
            passage.differences,
            like.similarity / 100 if like else 0.0,
            turned_by=passage.turned_by,
        )

    def _find_in_question(self, quotation: Quotation) -> CheckedQuotation | None:
        """Return the verdict TRUE if the user's question has the quotation and it cites nothing, else None."""
        if quotation.cited or not self.pack.question:
            return None
        passage = find_quotation(quotation.text, self.pack.question)
        return CheckedQuotation(quotation, Verdict.TRUE) if passage and not passage.turned_by else None

    def _find_in_vault(self, quotation: Quotation, verdict: Verdict) -> CheckedQuotation | None:
        if count_words(quotation.text) < MIN_CITED_WORDS:
            return None  # a single word may occur in any vault by chance
        for reading in quotation.readings:
            if match := self._search_vault(reading):
                lines, passage = match
                if passage.turned_by:
                    self._store_reversed(quotation, lines, passage)
                    continue
                return CheckedQuotation(quotation, verdict, lines, passage.differences, now=lines)
        return None

    def _search_vault(self, reading: str, first: str = "") -> tuple[SourceLines, MatchedSpan] | None:
        """Return a passage of the vault that has the text `reading`, preferably in the note at the path `first`.

        A passage in which an ellipsis leaves out words that reverse the meaning is only returned if there is no other.
        """
        reversed_passage: tuple[SourceLines, MatchedSpan] | None = None
        self.compared += _SEARCH_COST
        for lines in sorted(
            self.lookup.find_lines_with(select_longest_part(reading)), key=lambda lines: lines.path != first
        ):
            if passage := find_quotation(reading, lines.text):
                match = _make_source_lines(lines.text, passage, lines.path, lines.line_start), passage
                if not passage.turned_by:
                    return match
                reversed_passage = reversed_passage or match
        return reversed_passage

    def _judge_missing(self, quotation: Quotation, sources: Sequence[PackSource]) -> CheckedQuotation:
        if count_words(quotation.text) < (MIN_CITED_WORDS if quotation.cited else MIN_UNCITED_WORDS):
            return CheckedQuotation(quotation, Verdict.SHORT, similarity=0.0)
        best: tuple[float, SourceLines | None] = (0.0, None)
        self.compared += _SEARCH_COST
        for text, path, line, number in self._similar_texts(quotation, sources):
            self.compared += len(text)
            like = find_most_similar(quotation.text, text)
            if like and like.similarity / 100 > best[0]:
                lines = _make_source_lines(text, like, path, line, number)
                best = (like.similarity / 100, lines)
        similarity, nearest = best
        verdict = Verdict.ALTERED if similarity >= MIN_ALTERED_SIMILARITY else Verdict.INVENTED
        return CheckedQuotation(quotation, verdict, nearest, similarity=similarity)

    def _similar_texts(
        self, quotation: Quotation, sources: Sequence[PackSource]
    ) -> Iterator[tuple[str, str, int, int | None]]:
        """Yield texts that an altered quotation may be from, most likely first.

        Each is a tuple of the text, its path, its first line, and the number of its source (None: not in the pack).
        """
        yield from ((source.text, source.path, source.line_start, source.number) for source in sources)
        for each in self.lookup.find_similar_lines(quotation.text):
            yield each.text, each.path, each.line_start, None

    # --- sentences ----------------------------------------------------------------------------------------------------

    def check_sentence(self, sentence: Sentence) -> CheckedSentence | None:
        """Return a sentence with its missing words; None if it cites no source of the pack, or if it quotes and holds.

        A quotation has a verdict of its own, so only the words beside it are compared.
        """
        cited = [number for number in sentence.cited if number in self._sources]
        if not cited:
            return None
        compared = compare_sentence(sentence, [self._source_words(number) for number in cited], self.lookup)
        if sentence.quotes and compared.holds:
            return None
        return CheckedSentence(sentence, tuple(cited), compared.words, compared.missing, compared.holds)

    def _source_words(self, number: int) -> SourceWords:
        if number not in self._words_by_source:
            source = self._sources[number]
            heading = f"{source.heading}\n{source.path}, lines {source.line_start}-{source.line_end}"
            if source.table_header is not None:
                heading += f"\n{source.table_header.text}"
            self._words_by_source[number] = read_source_words(heading, source.text, self.lookup)
        return self._words_by_source[number]


def _make_source_lines(
    text: str, passage: MatchedSpan, path: str, first_line: int, source: int | None = None
) -> SourceLines:
    """Return the lines of a passage of `text`, which begins at line `first_line` of the note at `path`.

    `source` is the number of the source in the pack that has the text.
    """
    quoted_text = text[passage.start : passage.end]
    start = first_line + text.count("\n", 0, passage.start)
    return SourceLines(path, start, start + quoted_text.count("\n"), quoted_text, source)
