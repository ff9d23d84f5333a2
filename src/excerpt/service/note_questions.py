"""Questions about a note that is shown: the lines around a fragment, a passage, and the target of a link.

Each is answered in the engine's thread, which also draws the lines: `draw` makes what the view shows of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from msgspec import Struct, structs

from excerpt.base.errors import ModelError
from excerpt.base.kinds import LinkKind
from excerpt.service.request_queue import Priority

if TYPE_CHECKING:
    from excerpt.base.model import Fragment, Hit, Link, Section, Span
    from excerpt.corpus.interface import Corpus
    from excerpt.insight.overview_parts import SourceLocation
    from excerpt.search.engine import Engine

Drawn = TypeVar("Drawn")

LINES_AROUND = 80
"""Number of lines shown before the fragment and after it: some four screens, drawn in a few ms."""
LINES_AROUND_WHOLE = 2_500
"""Number of lines shown before the fragment and after it if the whole note is asked for.

5,000 lines take 0.1 s of the engine's thread and 8 ms of the screen's.
"""


class Location(Struct, frozen=True):
    """The location of a fragment that a view shows. If the id is gone after an edit, path and line locate it.

    `line` is the first line of the fragment. `spans` are matches in it. `by_meaning`: the search found it by meaning
    too. `top` is the first visible line of the view, None if it was not scrolled.
    """

    fragment_id: str
    path: str
    line: int
    spans: tuple[Span, ...] = ()
    by_meaning: bool = False
    top: int | None = None

    @staticmethod
    def from_hit(hit: Hit) -> Location:
        """Return the location of a hit."""
        by_meaning = any(signal.name == "meaning" and signal.part > 0 for signal in hit.signals)
        return Location(hit.fragment.id, hit.fragment.path, hit.fragment.line_start, hit.spans, by_meaning)


class WindowOptions(Struct, frozen=True):
    """Options of a window (the lines of a note that are shown).

    `near` are spans of the fragment's text to mark as near in meaning to the query. `whole` asks for the whole note.
    `line` asks for the lines around this line number instead of around the fragment.
    """

    near: tuple[Span, ...] = ()
    whole: bool = False
    line: int | None = None


DEFAULT_OPTIONS = WindowOptions()


class ResolvedLink(Struct, frozen=True):
    """The target of a link: a location in the vault, or an address outside of the vault, such as a URL.

    `message` is shown to the user: why there is no target, or that the target note lacks the heading or block. It is ""
    if the target was found.
    """

    location: Location | None = None
    address: str = ""
    message: str = ""


class MatchedLines(Struct, frozen=True):
    """Lines of a note from number `first` on, their text, and the matches of the query in it."""

    first: int
    text: str
    spans: Sequence[Span]


class ShownNote(Struct, frozen=True):
    """A note with the fragment to show in it, before it is drawn.

    `spans` are the matches in the fragment. `view` says which lines are shown. `headings` are the sections of the note.
    `outside_matches` are those in the lines shown before and after the fragment.
    """

    text: str
    fragment: Fragment
    spans: Sequence[Span]
    view: WindowOptions = DEFAULT_OPTIONS
    headings: Sequence[Section] = ()
    outside_matches: Sequence[MatchedLines] = ()


class AskWindow(Struct, Generic[Drawn], frozen=True):
    """Question for the lines around a location, or for its whole note.

    The answer is None if the note is no longer in the index. `query` is the query that found the location: its words
    are highlighted in the surrounding lines too. If the fragment was found by its meaning, its sentences that are
    nearest in meaning to the query are marked as well. `view` says which lines of the note are shown.
    """

    kind: ClassVar[str] = "window"
    priority: ClassVar[Priority] = Priority.PASSAGE
    draw: Callable[[ShownNote], Drawn]
    location: Location
    query: str = ""
    view: WindowOptions = DEFAULT_OPTIONS

    def answer(self, engine: Engine) -> Drawn | None:
        snapshot = engine.snapshot
        fragment = snapshot.fragment(self.location.fragment_id)
        if fragment is None:
            fragment = _find_fragment_at(snapshot, self.location.path, self.location.line)
        if fragment is None:
            return None
        view = structs.replace(self.view, near=self._find_nearest_spans(engine, fragment))
        text, language = snapshot.note_text(fragment.path), snapshot.note_info(fragment.path).language
        matches = self.location.spans
        if not matches and self.query:
            matches = engine.find_spans(fragment.text, self.query, language)
        spans = drop_stop_words(fragment.text, matches, self.query, language)
        outside_matches = _find_outside_matches(engine, self.query, text, fragment, view) if self.query else ()
        headings = snapshot.sections(fragment.path)
        return self.draw(ShownNote(text, fragment, spans, view, headings, tuple(outside_matches)))

    def _find_nearest_spans(self, engine: Engine, fragment: Fragment) -> tuple[Span, ...]:
        from excerpt.search.nearest_sentences import find_nearest_sentences

        if not self.location.by_meaning or not self.query:
            return ()
        try:
            return find_nearest_sentences(engine, self.query, fragment.text)
        except ModelError:
            return ()


def drop_stop_words(text: str, spans: Iterable[Span], query: str, language: str) -> list[Span]:
    """Return the `spans` of `text` that are no stop words (such as "the"); all `spans` if they are only stop words.

    The words of the query count too. `language` is the language of the text, such as "de"; English stop words count in
    every language.
    """
    from excerpt.text.languages import select_unmarked_words

    matched_words = {span: text[span.start : span.end].casefold() for span in spans}
    stop_words = select_unmarked_words(
        {*re.findall(r"\w+", query.casefold()), *matched_words.values()}, ("en", language)
    )
    return [span for span, word in matched_words.items() if word not in stop_words]


def _find_fragment_at(snapshot: Corpus, path: str, line: int) -> Fragment | None:
    """Return the first fragment of a note that ends at or after line `line`, else the last fragment of the note.

    Returns None if the note has no fragments.
    """
    fragments = snapshot.note_fragments(path)
    return next((fragment for fragment in fragments if line <= fragment.line_end), fragments[-1] if fragments else None)


def _find_outside_matches(
    engine: Engine, query: str, text: str, fragment: Fragment, view: WindowOptions
) -> Iterator[MatchedLines]:
    """Yield the lines shown before the fragment and after it, with the matches of the query."""
    lines = text.split("\n")
    first, last = view_range(fragment, len(lines), view)
    if not engine.highlight_terms(query).terms:
        return
    language = engine.snapshot.note_info(fragment.path).language
    for begin, end in ((first, fragment.line_start - 1), (fragment.line_end + 1, last)):
        part = "\n".join(lines[begin - 1 : end])
        yield MatchedLines(
            begin, part, drop_stop_words(part, engine.find_spans(part, query, language), query, language)
        )


class AskPassage(Struct, Generic[Drawn], frozen=True):
    """Question for the passage at `place` (lines of a note), shown in its note; the answer is None if the note is gone.

    Words of `topic` are highlighted as in a search hit.
    """

    kind: ClassVar[str] = "passage"
    priority: ClassVar[Priority] = Priority.TAB
    draw: Callable[[ShownNote], Drawn]
    place: SourceLocation
    topic: str

    def answer(self, engine: Engine) -> Drawn | None:
        snapshot, place = engine.snapshot, self.place
        try:
            fragment = make_fragment_from_lines(snapshot, place)
            text, language = snapshot.note_text(place.path), snapshot.note_info(place.path).language
        except KeyError:
            return None
        spans = engine.find_spans(fragment.text, self.topic, language)
        return self.draw(ShownNote(text, fragment, drop_stop_words(fragment.text, spans, self.topic, language)))


class AskSharedFragment(Struct, frozen=True):
    """Question for a fragment or picked lines without the comments of the note's author, to be saved as a memory."""

    kind: ClassVar[str] = "shared-fragment"
    priority: ClassVar[Priority] = Priority.PANEL
    fragment: Fragment

    def answer(self, engine: Engine) -> Fragment:
        from excerpt.text.fragments import digest_of_text

        own, shown, shared = self.fragment, engine.snapshot, engine.without_comments.snapshot
        if shared is shown or own.kind:
            return own
        if own.id and shown.fragment(own.id) == own:
            return shared.fragment(own.id) or own
        try:
            lines = shared.note_text(own.path).split("\n")[own.line_start - 1 : own.line_end]
        except KeyError:
            return own
        written = [number for number, line in enumerate(lines) if line.strip()] or [0]
        text = "\n".join(lines[written[0] : written[-1] + 1])
        first, last = own.line_start + written[0], own.line_start + written[-1]
        return replace(own, text=text, line_start=first, line_end=last, digest=digest_of_text(text))


class AskLink(Struct, frozen=True):
    """Question for the target of a link to `address`. `source` is the path of the note that contains the link.

    `label` is looked up if no note has the address; "" for none.
    """

    kind: ClassVar[str] = "link"
    priority: ClassVar[Priority] = Priority.PANEL
    source: str
    link_kind: LinkKind
    address: str
    label: str = ""

    def answer(self, engine: Engine) -> ResolvedLink:
        from excerpt.text.links import parse_link_address

        snapshot, targets = engine.snapshot, engine.snapshot.facets.targets
        link = parse_link_address(self.link_kind, self.address)
        if link is None:
            return ResolvedLink(address=self.address)
        path = targets.resolve(link.target, self.source)
        labelled = parse_link_address(self.link_kind, self.label) if path is None and self.label else None
        if labelled is not None and (path := targets.resolve(labelled.target, self.source)) is not None:
            link = labelled
        if path is None:
            return ResolvedLink(message=_describe_missing_target(link))
        line = target_line(snapshot.note_text(path), snapshot.sections(path), link)
        fragment = _find_fragment_at(snapshot, path, line or 1)
        if fragment is None:
            return ResolvedLink(message=f"{path} has no text to show.")
        missing = "" if line is not None else f"{path} has no heading or block called {link.heading or link.block_id}."
        return ResolvedLink(Location(fragment.id, path, line or fragment.line_start), message=missing)


def _describe_missing_target(link: Link) -> str:
    from excerpt.corpus.links import has_other_suffix

    if has_other_suffix(link.target):
        return f"{link.target} is not a note. Open this note in Obsidian to see it."
    if link.kind is LinkKind.MARKDOWN:
        return f"{link.target} is not in the vault, or is not a note."
    return f"There is no note called {link.target} in the vault yet."


def target_line(text: str, sections: Sequence[Section], link: Link) -> int | None:
    """Return the line, from 1, of the heading or block that a link names; None if the note lacks that heading or block.

    `text` and `sections` are those of the target note. A link without heading or block leads to line 1. A link may name
    a path of headings, or spell a heading as in a URL: only letters and digits are compared.
    """
    if link.block_id:
        block = re.compile(rf"(?:^|\s)\^{re.escape(link.block_id)}\s*$", re.IGNORECASE)
        return next((number for number, line in enumerate(text.split("\n"), 1) if block.search(line)), None)
    if not link.heading:
        return 1
    parts = [_letters_and_digits(part) for part in link.heading.split("#")]
    headings = [section for section in sections if section.level]
    for section in headings:
        path = [_letters_and_digits(title) for title in section.heading_path]
        if path and path[-1] == parts[-1] and _contains_in_order(path, parts):
            return section.line_start
    return next((section.line_start for section in headings if _letters_and_digits(section.heading) == parts[-1]), None)


def _letters_and_digits(title: str) -> str:
    return "".join(character for character in title.casefold() if character.isalnum())


def _contains_in_order(path: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether all items of `parts` occur in `path` in the same order; other items may come between."""
    remaining = iter(path)
    return all(part in remaining for part in parts)


def make_fragment_from_lines(snapshot: Corpus, place: SourceLocation) -> Fragment:
    """Return the fragment with exactly the lines of `place`, or make a fragment of these lines.

    Raises KeyError for an unknown note.
    """
    from excerpt.base.model import Fragment
    from excerpt.text.fragments import digest_of_text
    from excerpt.text.tokens import open_tokenizer

    fragment = snapshot.fragment(place.fragment_id) if place.fragment_id else None
    if fragment is not None and (fragment.line_start, fragment.line_end) == (place.line_start, place.line_end):
        return fragment
    lines = snapshot.note_text(place.path).split("\n")[place.line_start - 1 : place.line_end]
    text = "\n".join(lines)
    return Fragment(
        id=place.fragment_id,
        path=place.path,
        title=place.title,
        heading_path=place.heading_path,
        ordinal=0,
        section=0,
        line_start=place.line_start,
        line_end=place.line_start + max(len(lines) - 1, 0),
        text=text,
        tokens=open_tokenizer(snapshot.tokenizer).count(text),
        digest=digest_of_text(text),
    )


def view_range(fragment: Fragment, line_count: int, view: WindowOptions) -> tuple[int, int]:
    """Return the first and last line (from 1, inclusive) to show, for a note of `line_count` lines."""
    reach = LINES_AROUND_WHOLE if view.whole else LINES_AROUND
    middle = view.line
    if middle is None or (fragment.line_start - reach <= middle <= fragment.line_end + reach and not view.whole):
        return max(1, fragment.line_start - reach), min(line_count, fragment.line_end + reach)
    return max(1, middle - reach), min(line_count, middle + reach)
