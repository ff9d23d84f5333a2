"""A line of a note as runs of text in inks: the canvas it is drawn on, its wrapping, how inks look. No terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Flag, auto
from functools import cache

from rich.cells import cell_len

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


# --- wrapping ---------------------------------------------------------------------------------------------------------


def wrap(runs: Sequence[Run], width: int, hang: int) -> list[list[Run]]:
    """The rows that `runs` fill, `hang` cells indented after the first. At least one row."""
    text = "".join(run.text for run in runs)
    if len(text) <= width and text.isascii():
        return [list(runs)]
    hang = min(hang, width // 2)
    rows: list[list[Run]] = []
    for start, end in _cuts(text, width, hang):
        rows.append(_slice(runs, start, end))
    return rows or [[]]


def _cuts(text: str, width: int, hang: int) -> list[tuple[int, int]]:
    cuts: list[tuple[int, int]] = []
    start, room = 0, max(1, width)
    while start < len(text):
        end = _fitting(text, start, room)
        if end < len(text) and not text[end].isspace():
            space = text.rfind(" ", start, end)
            if space > start and text[end - 1].isascii() and not text[start:space].isspace():
                end = space + 1
        cuts.append((start, end))
        start = end
        while start < len(text) and text[start] == " ":
            start += 1
        room = max(1, width - hang)
    return cuts


def _fitting(text: str, start: int, room: int) -> int:
    """Where text from `start` stops fitting into `room` cells; at least one character fits."""
    piece = text[start : start + room]
    if piece.isascii():
        return start + len(piece)
    used = 0
    for at in range(start, len(text)):
        used += cell_len(text[at])
        if used > room:
            return max(at, start + 1)
    return len(text)


def _slice(runs: Sequence[Run], start: int, end: int) -> list[Run]:
    cut: list[Run] = []
    at = 0
    for run in runs:
        left, right = max(start - at, 0), min(end - at, len(run.text))
        if left < right:
            cut.append(Run(run.text[left:right], run.ink, run.to))
        at += len(run.text)
        if at >= end:
            break
    return cut


# --- how inks look ----------------------------------------------------------------------------------------------------

INKS = {
    Ink.NEAR: "ink--near",
    Ink.PROPERTY: "ink--property",
    Ink.QUOTE: "ink--quote",
    Ink.HEADING: "ink--heading",
    Ink.CALLOUT: "ink--callout",
    Ink.TIP: "ink--tip",
    Ink.WARNING: "ink--warning",
    Ink.DANGER: "ink--danger",
    Ink.CODE: "ink--code",
    Ink.KEYWORD: "ink--keyword",
    Ink.STRING: "ink--string",
    Ink.NUMBER: "ink--number",
    Ink.NAME: "ink--name",
    Ink.COMMENT: "ink--comment",
    Ink.LINK: "ink--link",
    Ink.TAG: "ink--tag",
    Ink.BOLD: "ink--bold",
    Ink.ITALIC: "ink--italic",
    Ink.STRIKE: "ink--strike",
    Ink.DONE: "ink--done",
    Ink.FAINT: "ink--faint",
    Ink.HIGHLIGHT: "ink--highlight",
    Ink.MATCH: "ink--match",
}
"""Each ink's component class; of several on one run, the later lies over the earlier."""

INK_CSS = """
Preview {
    & > .ink--near { background: $surface-active; }
    & > .ink--property { color: $primary; }
    & > .ink--quote { text-style: italic; }
    & > .ink--heading { color: $primary; text-style: bold; }
    & > .ink--callout { color: $secondary; }
    & > .ink--tip { color: $success; }
    & > .ink--warning { color: $warning; }
    & > .ink--danger { color: $error; }
    & > .ink--code { color: $ink-code; background: $surface; }
    & > .ink--keyword { color: $secondary; background: $surface; text-style: bold; }
    & > .ink--string { color: $success; background: $surface; }
    & > .ink--number { color: $warning; background: $surface; }
    & > .ink--name { color: $primary; background: $surface; }
    & > .ink--comment { color: $text-faint; background: $surface; text-style: italic; }
    & > .ink--link { color: $primary; text-style: underline; }
    & > .ink--tag { color: $secondary; }
    & > .ink--bold { text-style: bold; }
    & > .ink--italic { text-style: italic; }
    & > .ink--strike { text-style: strike; }
    & > .ink--done { color: $text-faint; text-style: strike; }
    & > .ink--faint { color: $text-faint; }
    & > .ink--highlight { background: $highlight-background; }
    & > .ink--match { color: $match-foreground; background: $match-background; text-style: bold; }
}
"""
"""Text-style tells apart what can be confused without colours; signs and words the rest."""
