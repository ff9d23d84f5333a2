"""A line of a note as runs of text in inks, and the canvas on which one is drawn. No terminal, no colours here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto
from functools import cache

from excerpt.kinds import LinkKind
from excerpt.text.visible import visible

_TAB = "    "


class Ink(Flag):
    """What a run of text is; several at once."""

    PLAIN = 0
    NEAR = auto()
    BOLD = auto()
    ITALIC = auto()
    STRIKE = auto()
    CODE = auto()
    KEYWORD = auto()
    STRING = auto()
    NUMBER = auto()
    NAME = auto()
    COMMENT = auto()
    LINK = auto()
    TAG = auto()
    HEADING = auto()
    FAINT = auto()
    HIGHLIGHT = auto()
    CALLOUT = auto()
    TIP = auto()
    WARNING = auto()
    DANGER = auto()
    QUOTE = auto()
    DONE = auto()
    PROPERTY = auto()
    MATCH = auto()


@dataclass(frozen=True, slots=True)
class LinkTo:
    """Where a link leads, as it is written: a note with its anchor, or an address."""

    kind: LinkKind
    address: str


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of a drawn line in one ink, and where it leads if it is a link."""

    text: str
    ink: Ink
    to: LinkTo | None = None


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """One line of the note. `hang` is the indent, in characters, of its continuation when it is wrapped. `aligned` is
    the line with its columns under those of its neighbours, for a width that holds it; none if it has no columns."""

    number: int
    runs: tuple[Run, ...]
    hang: int = 0
    aligned: tuple[Run, ...] = ()


class InkedLine:
    """A line being drawn: for each character its ink, and what it is shown as (None: itself, "": nothing)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.inks = [Ink.PLAIN] * len(text)
        self.shown: list[str | None] = [None] * len(text)
        self.links: dict[int, tuple[int, LinkTo]] = {}
        self._as_it_stands = True

    def ink(self, start: int, end: int, ink: Ink) -> None:
        self._as_it_stands = False
        inks = self.inks
        before, both = Ink.PLAIN, _both(Ink.PLAIN, ink)
        for at in range(start, min(end, len(inks))):
            if inks[at] is not before:
                before, both = inks[at], _both(inks[at], ink)
            inks[at] = both

    def replace(self, start: int, end: int, shown: str) -> None:
        """Show `shown` where start..end stands."""
        if start < end:
            self._as_it_stands = False
            self.shown[start] = shown
            self.shown[start + 1 : end] = [""] * (end - start - 1)

    def hide(self, start: int, end: int) -> None:
        self.replace(start, end, "")

    def link(self, start: int, end: int, to: LinkTo) -> None:
        """Ink a link, and keep where it leads."""
        self.ink(start, end, Ink.LINK)
        self.links[start] = (end, to)

    def drawn(self, start: int = 0, end: int | None = None) -> str:
        """What is shown of start..end."""
        clean = visible(self.text)
        return "".join(_piece(clean[at], self.shown[at]) for at in range(start, len(clean) if end is None else end))

    def runs(self) -> tuple[Run, ...]:
        if self._as_it_stands:
            return (Run(visible(self.text).replace("\t", _TAB), Ink.PLAIN),) if self.text else ()
        runs: list[Run] = []
        text, current, leads = "", Ink.PLAIN, None
        to: LinkTo | None = None
        ends = -1
        for at, character in enumerate(visible(self.text)):
            if at in self.links:
                ends, to = self.links[at]
            elif at >= ends:
                to = None
            piece = _piece(character, self.shown[at])
            if not piece:
                continue
            ink = self.inks[at]
            if text and (ink is not current or to is not leads):
                runs.append(Run(text, current, leads))
                text = ""
            current, leads = ink, to
            text += piece
        if text:
            runs.append(Run(text, current, leads))
        return tuple(runs)


def _piece(character: str, shown: str | None) -> str:
    if shown is not None:
        return shown
    return _TAB if character == "\t" else character


@cache
def _both(one: Ink, other: Ink) -> Ink:
    """Flags are combined through their enum's constructor each time, which takes most of drawing a line."""
    return one | other
