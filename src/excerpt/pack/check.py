"""What an answer cites and quotes, held against the pack it was given and the vault as it is now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from typing import Any, Protocol, TypeVar

from excerpt.json_forms import as_data, picked
from excerpt.pack.citations import Citation, CitedAnswer, Quotation, Sentence, Unchecked
from excerpt.pack.formats.pack_format import PackFile, PackSource
from excerpt.pack.lookup import Lookup
from excerpt.pack.quotations import Difference, QuotedSpan, find, longest_part, most_like
from excerpt.places import holds, place_to_dict
from excerpt.text.fragments import words_in
from excerpt.text.relocate import in_place_of, place_of, same_lines

# --- where a source stands --------------------------------------------------------------------------------------------
# Whether the lines of a pack's source still stand in the vault: there, elsewhere, changed, or not at all.


class State(StrEnum):
    """What became of a source since it was packed."""

    STANDS = "stands"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SourceStanding:
    """Where a source's text is now: the same text (stands, moved), or what is there in its place (changed), with that
    text. A source that is gone has no path. `place` is that of an attachment."""

    state: State
    path: str = ""
    line_start: int = 0
    line_end: int = 0
    text: str = ""
    place: str = ""


_LEAST_MOVED = 3
"""Words of a text from which the same one in another note is taken for it."""


def standing_of(source: PackSource, lookup: Lookup) -> SourceStanding:
    """What stands in the vault now of `source`. Only notes of the index are looked at."""
    found = _standing_of(source, lookup)
    if not found.path or not (place := lookup.place(found.path, found.line_start, found.line_end)):
        return found
    # A page of an attachment is where it was, whatever lines were read from the pages before it.
    same = found.state is State.MOVED and found.path == lookup.path(source.path) and holds(place, source.place)
    return replace(found, place=place, state=State.STANDS if same else found.state)


def _standing_of(source: PackSource, lookup: Lookup) -> SourceStanding:
    lines = source.text.split("\n")
    cut = source.cut_above, source.cut_below
    path = lookup.path(source.path)
    note: Sequence[str] = ()
    if path is not None:
        note = lookup.text(path).split("\n")
        if at := place_of(lines, note, source.line_start, cut):
            state = State.STANDS if at == source.line_start else State.MOVED
            return SourceStanding(state, path, at, at + len(lines) - 1, source.text)
    if words_in(source.text) >= _LEAST_MOVED:
        for other in lookup.notes_with_line(max(lines, key=len)):
            if at := place_of(lines, lookup.text(other).split("\n"), source.line_start, cut):
                return SourceStanding(State.MOVED, other, at, at + len(lines) - 1, source.text)
    if path is None:
        return SourceStanding(State.GONE)
    first, last = in_place_of(lines, note, source.line_start) or same_lines(len(lines), note, source.line_start)
    return SourceStanding(State.CHANGED, path, first, last, "\n".join(note[first - 1 : last]))


# --- check ------------------------------------------------------------------------------------------------------------


class Verdict(StrEnum):
    """What is said of a quotation.

    TRUE: it stands in what it cites, or, without a citation, anywhere in pack or vault. CHANGED: it stood there when
    the pack was made, and stands nowhere in the vault now. MISATTRIBUTED: it stands in another place than the cited.
    ALTERED: something very like it stands there, or an ellipsis leaves out what turns its meaning. INVENTED: nothing
    does. SHORT: nothing does either, but so few words may be the answer's own, set off by marks.
    """

    TRUE = "true"
    CHANGED = "changed"
    MISATTRIBUTED = "misattributed"
    ALTERED = "altered"
    INVENTED = "invented"
    SHORT = "short"


@dataclass(frozen=True, slots=True)
class SourceLines:
    """Lines of a note, and what stands there. `source` is the number of the pack's source that it was found in, None
    for what was found in the vault alone. A place in the pack has the path and lines that the pack says."""

    path: str
    line_start: int
    line_end: int
    passage: str
    source: int | None = None
    place: str = ""


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """One number of one citation; `standing` is None where the pack has no such source. A number that does not hold
    comes once, with the citation that is its first, and is cited so many `times` in all."""

    citation: Citation
    number: int
    standing: SourceStanding | None
    times: int = 1

    @property
    def state(self) -> State:
        return State.UNKNOWN if self.standing is None else self.standing.state

    @property
    def holds(self) -> bool:
        """Whether the cited text is in the pack and still stands in the vault."""
        return self.state in (State.STANDS, State.MOVED)


@dataclass(frozen=True, slots=True)
class CheckedQuotation:
    """A quotation with its verdict.

    `similarity` (0 to 1) is that to the passage at `place`, which is where it stands, or what is most like it.
    `differences` are what a true one differs in. `now` is where it stands in the vault, if it does. `turned_by` are
    the words that an ellipsis leaves out there and that turn its meaning.
    """

    quotation: Quotation
    verdict: Verdict
    place: SourceLines | None = None
    differences: tuple[Difference, ...] = ()
    similarity: float = 1.0
    now: SourceLines | None = None
    turned_by: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.verdict in (Verdict.TRUE, Verdict.SHORT)


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """Of the telling words of a sentence that cites but does not quote, how many the cited sources have. No claim
    that it is true: a sentence may have all of its words there and say the opposite."""

    sentence: Sentence
    cited: tuple[int, ...]
    words: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def found(self) -> int:
        return len(self.words) - len(self.missing)


@dataclass(frozen=True, slots=True)
class Check:
    """What was found of an answer. `standings` are those of the pack's sources, in their order; `cited` says how often
    each number is cited, also by the citations that are too many to be among `citations`; `uncited` are the sentences
    without a citation or quotation; `unchecked` is what may be a quotation, but could not be told to be one."""

    pack: PackFile
    standings: tuple[SourceStanding, ...]
    citations: tuple[CheckedCitation, ...]
    quotations: tuple[CheckedQuotation, ...]
    sentences: tuple[CheckedSentence, ...]
    uncited: tuple[Sentence, ...]
    unchecked: tuple[Unchecked, ...] = ()
    cited: Counter[int] = field(default_factory=Counter)

    @property
    def holds(self) -> bool:
        """Whether every source cited is there and stands, and every quotation is true."""
        return all(each.holds for each in self.citations) and all(each.holds for each in self.quotations)

    def to_dict(self) -> dict[str, Any]:
        """What `excerpt check --json` prints: a pack's sources have their standing beside them, and of many of a kind
        only MOST_TOLD come."""
        citations, quotations = most_told(self.citations), most_told(self.quotations)
        sentences, uncited = self.sentences[:MOST_TOLD], self.uncited[:MOST_TOLD]
        unchecked = self.unchecked[:MOST_TOLD]
        return {
            "true": self.holds,
            "sources": [
                _source(source, standing, self.cited.get(source.number, 0))
                for source, standing in zip(self.pack.sources, self.standings, strict=True)
            ],
            "citations": [
                {**picked(each.citation, "line", "text"), **picked(each, "number", "state", "times")}
                for each in citations
            ],
            "quotations": [_quotation(each) for each in quotations],
            "sentences": [
                {
                    **picked(each.sentence, "line", "text"),
                    **picked(each, "cited"),
                    "words": len(each.words),
                    **picked(each, "found", "missing"),
                }
                for each in sentences
            ],
            "uncited": [picked(each, "line", "text") for each in uncited],
            "unchecked": as_data(unchecked),
            "more": {
                "citations": self.cited.total() - sum(each.times for each in citations),
                "quotations": len(self.quotations) - len(quotations),
                "sentences": len(self.sentences) - len(sentences),
                "uncited": len(self.uncited) - len(uncited),
                "unchecked": len(self.unchecked) - len(unchecked),
            },
        }


MOST_TOLD = 1_000
"""Findings of each kind that are told: any answer that is read has fewer."""
_MOST_CITED = 20  # numbers of a quotation


class _Holding(Protocol):
    @property
    def holds(self) -> bool: ...


Told = TypeVar("Told", bound=_Holding)


def most_told(found: Sequence[Told]) -> Sequence[Told]:
    """As many as are told, in their order: of more than that, what does not hold before the others."""
    if len(found) <= MOST_TOLD:
        return found
    first = sorted(range(len(found)), key=lambda number: found[number].holds)[:MOST_TOLD]
    return [found[number] for number in sorted(first)]


def _source(source: PackSource, standing: SourceStanding, cited: int) -> dict[str, Any]:
    gone = standing.state is State.GONE
    return {
        **picked(source, "number", "path", "line_start", "line_end"),
        **({"place": place_to_dict(source.place)} if source.place else {}),
        "cited": cited,
        "state": standing.state,
        "intact": source.intact,
        "now": None if gone else picked(standing, "path", "line_start", "line_end", "text"),
    }


def _quotation(checked: CheckedQuotation) -> dict[str, Any]:
    quotation = checked.quotation
    return {
        **picked(quotation, "line", "kind", "text"),
        "cited": quotation.cited[:_MOST_CITED],
        **picked(checked, "verdict", "differences"),
        "similarity": round(checked.similarity, 3),
        **picked(checked, "place", "now", "turned_by"),
    }


ALTERED = 0.8
"""Similarity from which a quotation is an altered passage rather than an invention (docs/design/citations.md)."""
MOST_CITATIONS = 10_000
"""Citations that hold which are kept each by itself: 2,000 × [1-999] are two millions."""
LEAST_CITED, LEAST_ALONE = 2, 3
"""Words from which what stands nowhere is called invented, with a citation and without one: marks around fewer often
set off a word, and quote nothing."""
_LEAST_SENTENCE = 3


def check_answer(answer: CitedAnswer, pack: PackFile, lookup: Lookup) -> Check:
    """Check `answer` against the pack it was given and the vault behind `lookup`. The same three give the same."""
    pack = replace(pack, sources=tuple(_with_lines(source, lookup) for source in pack.sources))
    checker = _Checker(pack, lookup)
    quotations = [checker.quotation(quotation) for quotation in answer.quotations]
    own = [citation for citation in answer.citations if not _is_quoted(citation, quotations)]
    cited = _times_cited(own)
    sentences = [found for each in answer.sentences if (found := checker.sentence(each))]
    uncited = [
        each
        for each in answer.sentences
        if not each.cited and not each.quotes and words_in(each.text) >= _LEAST_SENTENCE
    ]
    return Check(
        pack,
        tuple(checker.standings.values()),
        tuple(checker.citations(own, cited)),
        tuple(quotations),
        tuple(sentences),
        tuple(uncited),
        answer.unchecked,
        cited,
    )


def _with_lines(source: PackSource, lookup: Lookup) -> PackSource:
    """A source that the pack names by a place of an attachment, with the lines where that place is now."""
    if source.line_start:
        return source
    path = lookup.path(source.path)
    first = lookup.line_at(path, source.place) if path is not None else 1
    return replace(source, line_start=first, line_end=first + source.text.count("\n"))


def _times_cited(citations: Iterable[Citation]) -> Counter[int]:
    """How often each number is cited."""
    steps: Counter[int] = Counter()
    for named, times in Counter(each for citation in citations for each in citation.ranges).items():
        steps[named.start] += times
        steps[named.stop] -= times
    running = accumulate(steps[number] for number in range(max(steps, default=0)))
    return Counter({number: times for number, times in enumerate(running) if times})


def _is_quoted(citation: Citation, quotations: Sequence[CheckedQuotation]) -> bool:
    """Whether what looks like a citation is the quoted note's own."""
    if citation.quotation is None:
        return False
    quoted = quotations[citation.quotation]
    return quoted.verdict is Verdict.TRUE and quoted.place is not None and citation.text in quoted.place.passage


@dataclass
class _Checker:
    pack: PackFile
    lookup: Lookup
    _told: dict[str, frozenset[str]] = field(default_factory=dict)
    _judgements: dict[Quotation, CheckedQuotation] = field(default_factory=dict)
    _turned: CheckedQuotation | None = None  # where the quotation at hand stands but for what turns its meaning

    @cached_property
    def standings(self) -> dict[int, SourceStanding]:
        return {source.number: standing_of(source, self.lookup) for source in self.pack.sources}

    # --- citations ----------------------------------------------------------------------------------------------------

    def citations(self, citations: Iterable[Citation], cited: Mapping[int, int]) -> Iterator[CheckedCitation]:
        """The numbers of `citations` in their order: those that hold up to a bound, the others once each."""
        unseen = set(cited)
        room = MOST_CITATIONS
        for citation in citations:
            for number in citation.numbers:
                if number not in unseen and (room <= 0 or number not in self.standings):
                    continue
                checked = CheckedCitation(citation, number, self.standings.get(number))
                if checked.holds:
                    room -= 1
                    yield checked
                elif number in unseen:
                    yield replace(checked, times=cited[number])
                unseen.discard(number)

    # --- quotations ---------------------------------------------------------------------------------------------------

    def quotation(self, quotation: Quotation) -> CheckedQuotation:
        """The verdict on `quotation`, looked up once for all that say and cite the same."""
        said = replace(quotation, line=0)
        if said not in self._judgements:
            self._judgements[said] = self._with_places(self._as_cited(said))
        return replace(self._judgements[said], quotation=quotation)

    def _with_places(self, checked: CheckedQuotation) -> CheckedQuotation:
        """The same with the places of attachments beside the lines of what was read of them."""

        def placed(lines: SourceLines | None) -> SourceLines | None:
            path = self.lookup.path(lines.path) if lines is not None else None
            if lines is None or path is None:
                return lines
            return replace(lines, place=self.lookup.place(path, lines.line_start, lines.line_end))

        return replace(checked, place=placed(checked.place), now=placed(checked.now))

    def _as_cited(self, quotation: Quotation) -> CheckedQuotation:
        if quotation.cited != quotation.beside:
            whole = self._judged(replace(quotation, readings=quotation.readings[:1], cited=quotation.beside))
            if whole.verdict is Verdict.TRUE:
                return whole
        return self._judged(quotation)

    def _judged(self, quotation: Quotation) -> CheckedQuotation:
        cited = [source for number in quotation.cited if (source := self.pack.source(number))]
        others = [source for source in self.pack.sources if source not in cited]
        self._turned = None
        return (
            self._in_sources(quotation, cited, Verdict.TRUE)
            or self._in_sources(quotation, others, Verdict.MISATTRIBUTED if quotation.cited else Verdict.TRUE)
            or self._in_question(quotation)
            or self._in_vault(quotation, Verdict.MISATTRIBUTED if quotation.cited else Verdict.TRUE)
            or self._turned
            or self._nowhere(quotation, [*cited, *others])
        )

    def _in_sources(
        self, quotation: Quotation, sources: Iterable[PackSource], verdict: Verdict
    ) -> CheckedQuotation | None:
        for reading in quotation.readings:
            for source in sources:
                if passage := find(reading, source.text):
                    place = _place_in(source.text, passage, source.path, source.line_start, source.number)
                    if passage.turned_by:
                        self._keep_turned(quotation, place, passage)
                        continue
                    now = self._now(reading, source, place)
                    if verdict is Verdict.TRUE and now is None:
                        verdict = Verdict.CHANGED
                    return CheckedQuotation(quotation, verdict, place, passage.differences, now=now)
                for named in (source.heading, source.path):
                    if passage := find(reading, named):
                        place = SourceLines(source.path, source.line_start, source.line_start, named, source.number)
                        return CheckedQuotation(quotation, verdict, place, passage.differences)
        return None

    def _now(self, reading: str, source: PackSource, place: SourceLines) -> SourceLines | None:
        """Where what was found in a source stands in the vault now."""
        standing = self.standings[source.number]
        if standing.state in (State.STANDS, State.MOVED):
            moved = standing.line_start - source.line_start
            return SourceLines(standing.path, place.line_start + moved, place.line_end + moved, place.passage)
        if standing.state is State.CHANGED and (passage := find(reading, standing.text)):
            return None if passage.turned_by else _place_in(standing.text, passage, standing.path, standing.line_start)
        found = self._found_in_vault(reading, standing.path)
        return found[0] if found and not found[1].turned_by else None

    def _keep_turned(self, quotation: Quotation, place: SourceLines, passage: QuotedSpan) -> None:
        like = most_like(quotation.text, place.passage)
        self._turned = self._turned or CheckedQuotation(
            quotation,
            Verdict.ALTERED,
            place,
            passage.differences,
            like.similarity / 100 if like else 0.0,
            turned_by=passage.turned_by,
        )

    def _in_question(self, quotation: Quotation) -> CheckedQuotation | None:
        """The answer may repeat what it was asked."""
        if quotation.cited or not self.pack.question:
            return None
        found = find(quotation.text, self.pack.question)
        return CheckedQuotation(quotation, Verdict.TRUE) if found and not found.turned_by else None

    def _in_vault(self, quotation: Quotation, verdict: Verdict) -> CheckedQuotation | None:
        if words_in(quotation.text) < LEAST_CITED:
            return None  # a single word stands somewhere in any vault, and that says nothing
        for reading in quotation.readings:
            if found := self._found_in_vault(reading):
                place, passage = found
                if passage.turned_by:
                    self._keep_turned(quotation, place, passage)
                    continue
                return CheckedQuotation(quotation, verdict, place, passage.differences, now=place)
        return None

    def _found_in_vault(self, reading: str, first: str = "") -> tuple[SourceLines, QuotedSpan] | None:
        """Where `reading` stands in the vault, in the note `first` if it stands there; with what turns its meaning left
        out only if it stands nowhere else."""
        turned: tuple[SourceLines, QuotedSpan] | None = None
        for lines in sorted(self.lookup.lines_with(longest_part(reading)), key=lambda lines: lines.path != first):
            if passage := find(reading, lines.text):
                found = _place_in(lines.text, passage, lines.path, lines.line_start), passage
                if not passage.turned_by:
                    return found
                turned = turned or found
        return turned

    def _nowhere(self, quotation: Quotation, sources: Sequence[PackSource]) -> CheckedQuotation:
        if words_in(quotation.text) < (LEAST_CITED if quotation.cited else LEAST_ALONE):
            return CheckedQuotation(quotation, Verdict.SHORT, similarity=0.0)
        best: tuple[float, SourceLines | None] = (0.0, None)
        for text, path, line, number in self._candidates(quotation, sources):
            like = most_like(quotation.text, text)
            if like and like.similarity / 100 > best[0]:
                place = _place_in(text, like, path, line, number)
                best = (like.similarity / 100, place)
        similarity, nearest = best
        verdict = Verdict.ALTERED if similarity >= ALTERED else Verdict.INVENTED
        return CheckedQuotation(quotation, verdict, nearest, similarity=similarity)

    def _candidates(
        self, quotation: Quotation, sources: Sequence[PackSource]
    ) -> Iterator[tuple[str, str, int, int | None]]:
        """Texts that may hold what was altered, the likeliest first: text, path, first line, source."""
        yield from ((source.text, source.path, source.line_start, source.number) for source in sources)
        for each in self.lookup.lines_like(quotation.text):
            yield each.text, each.path, each.line_start, None

    # --- sentences ----------------------------------------------------------------------------------------------------

    def sentence(self, sentence: Sentence) -> CheckedSentence | None:
        cited = [source for number in sentence.cited if (source := self.pack.source(number))]
        if not cited or sentence.quotes:
            return None
        words = self.lookup.telling(sentence.text)
        has = frozenset().union(*(self._terms(source) for source in cited))
        missing = [word.surface for word in words if has.isdisjoint(word.terms)]
        numbers = tuple(source.number for source in cited)
        return CheckedSentence(sentence, numbers, tuple(word.surface for word in words), tuple(missing))

    def _terms(self, source: PackSource) -> frozenset[str]:
        given = f"{source.heading}\n{source.path}, lines {source.line_start}-{source.line_end}\n\n{source.text}"
        if given not in self._told:
            self._told[given] = self.lookup.terms(given)
        return self._told[given]


def _place_in(text: str, passage: QuotedSpan, path: str, first_line: int, source: int | None = None) -> SourceLines:
    """The place of a passage of `text`, whose first line is `first_line` of the note."""
    shown = text[passage.start : passage.end]
    start = first_line + text.count("\n", 0, passage.start)
    return SourceLines(path, start, start + shown.count("\n"), shown, source)
