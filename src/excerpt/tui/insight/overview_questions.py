"""What the Overview tab asks of the engine: values, answered in its thread, where what is heavy is imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from excerpt.insight.overview_parts import Overview, Place
from excerpt.model import Fragment
from excerpt.tui.search.note_window import window_around

if TYPE_CHECKING:
    from excerpt.index.snapshot import Snapshot
    from excerpt.search.engine import Engine
    from excerpt.search.marks import Marks
    from excerpt.tui.search.note_window import NoteWindow


@dataclass(frozen=True, slots=True)
class AskOverview:
    """What the vault holds about a topic, and what is marked of that in a note."""

    kind: ClassVar[str] = "overview"
    topic: str

    def answer(self, engine: Engine) -> tuple[Overview, Marks | None]:
        from excerpt.insight.overview import overview

        return overview(engine, self.topic), engine.marks(self.topic)


@dataclass(frozen=True, slots=True)
class AskPassage:
    """The lines of a place, in their note, with what `marks` names marked in them; None where the note is gone."""

    kind: ClassVar[str] = "passage"
    place: Place
    marks: Marks | None

    def answer(self, engine: Engine) -> NoteWindow | None:
        from excerpt.search.marks import Marker

        snapshot, place = engine.snapshot, self.place
        try:
            fragment = lines_as_fragment(snapshot, place)
            text, language = snapshot.note_text(place.path), snapshot.note_info(place.path).language
        except KeyError:
            return None
        spans = Marker().spans(fragment.text, self.marks, language) if self.marks is not None else ()
        return window_around(text, fragment, spans)


@dataclass(frozen=True, slots=True)
class AskMarkdown:
    """An overview as it is copied, and the tokens of that; "" where nothing fits into its budget."""

    kind: ClassVar[str] = "markdown"
    overview: Overview

    def answer(self, _engine: Engine) -> tuple[str, int]:
        from excerpt.insight.render import as_markdown
        from excerpt.text.tokens import open_tokenizer

        text = as_markdown(self.overview)
        return text, open_tokenizer(self.overview.tokenizer).count(text)


@dataclass(frozen=True, slots=True)
class AskDrill:
    """`query` with filters more, each as it is typed."""

    kind: ClassVar[str] = "drill"
    query: str
    filters: tuple[str, ...]

    def answer(self, engine: Engine) -> str:
        narrowed = self.query
        for each in self.filters:
            narrowed = engine.narrowed(narrowed, each)
        return narrowed


def lines_as_fragment(snapshot: Snapshot, place: Place) -> Fragment:
    """The fragment that stands at a place, or its lines as if they were one. Raises KeyError for an unknown note."""
    from excerpt.text.fragments import digest_of_text
    from excerpt.text.tokens import open_tokenizer

    found = snapshot.fragment(place.fragment_id) if place.fragment_id else None
    if found is not None and (found.line_start, found.line_end) == (place.line_start, place.line_end):
        return found
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
