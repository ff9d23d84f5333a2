"""The messages that answer questions of the Overview tab: known before the first frame, as screens say what they listen
to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from excerpt.insight.overview_parts import Overview
    from excerpt.search.marks import Marks
    from excerpt.tui.note_window import NoteWindow


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
