"""What a question to the engine is, and the messages that answer those of `insights`: known before the first frame, as
panes and screens say what they listen to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from textual.message import Message

if TYPE_CHECKING:
    from excerpt.insight.map import VaultMap
    from excerpt.insight.overview_parts import Overview
    from excerpt.insight.related import Related
    from excerpt.search.engine import Engine
    from excerpt.search.marks import Marks
    from excerpt.tui.note_window import NoteWindow


class Question(Protocol):
    """`kind` names its slot, `answer` is called in the engine's thread with the engine in use."""

    kind: ClassVar[str]

    def answer(self, engine: Engine) -> Message: ...


KINDS = (
    "complete",
    "reading",
    "suggest",
    "link",
    "related",
    "map",
    "narrow",
    "overview",
    "passage",
    "markdown",
    "drill",
    "strategies",
    "badges",
    "standings",
)
"""In the order in which they are answered."""


@dataclass
class RelatedFound(Message):
    """The answer to `AskRelated` of that number; None for a note that the index does not have any more."""

    number: int
    related: Related | None


@dataclass
class Mapped(Message):
    """The answer to `AskMap` of that number."""

    number: int
    vault_map: VaultMap


@dataclass
class Narrowed(Message):
    """The answer to `AskNarrowed`: `query` with the filter in it is `narrowed`."""

    query: str
    filter: str
    narrowed: str


@dataclass
class OverviewReady(Message):
    """The answer to `AskOverview` of that number, and what is marked of its topic in a note."""

    number: int
    overview: Overview
    marks: Marks | None


@dataclass
class PassageReady(Message):
    """The answer to `AskPassage` of that number; None where the note is gone."""

    number: int
    window: NoteWindow | None


@dataclass
class OverviewWritten(Message):
    """The answer to `AskMarkdown`: the text, and its tokens."""

    overview: Overview
    text: str
    tokens: int
