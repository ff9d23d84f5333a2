"""The ranked list: for each hit its rank and how far it moved, mark, title, headings, signals, tokens, snippet, age."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from excerpt.text.times import age
from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.row_names import name_parts, names_of
from excerpt.tui.common.strips import Part, cells_of, fit_parts, line, parts_with_matches
from excerpt.tui.memory_rows import is_memory
from excerpt.tui.moves import Ranking, move_sign

if TYPE_CHECKING:
    from excerpt.model import Fragment, Hit

BARS = (
    ("words", "coverage"),
    ("note",),
    ("proximity",),
    ("meaning", "coherence"),
    ("title", "name"),
    ("heading", "outline"),
    ("links", "recency", "use"),
)
"""What each bar stands for, in their order: signals of one kind are one bar."""

MOST_ROWS = 50
"""Rows shown at most: more is scrolled past, never read."""

BADGE = "◆"
"""Stands for a memory: before one, and at a fragment that one is about."""

_BARS = " ▁▂▃▄▅▆▇█"
_INDENT = 6
"""Cells before the title: cursor, rank, mark."""
_BARS_ABOVE_FROM = 64
"""Cells of a row from which on the first line has room for bars; below, they stand in the second."""
_BARS_BELOW_FROM = 36
"""Cells from which on the second line has room for them."""
_BARS_FROM = 56
"""Cells of a row of one line from which on there is room for bars."""
_MOVES_FROM = 60
"""Cells from which on a row of one line has a column for moves; below, a sign beside the rank tells the direction."""
_AGES_FROM = 72
"""Cells from which on a row of one line has a column for ages."""
_NAMES = 0.55
"""The part of a row of one line that its names have at most, where the rest is enough for the text."""
_LEAST_TEXT = 24
"""Cells of text in a row of one line; with less, the names have all of it."""


class HitList(RowList):
    """Hits, best first, and the memories among them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Search, with the list focused")

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "hit--up",
        "hit--down",
        "hit--new",
        "hit--title",
        "hit--mark",
        "hit--rank",
        "hit--heading",
        "hit--bars",
        "hit--memory",
    }

    DEFAULT_CSS = """
    HitList {
        & > .hit--title { text-style: bold; }
        & > .hit--heading { color: $text-soft; }
        & > .hit--rank { color: $text-faint; }
        & > .hit--up { color: $success; }
        & > .hit--down { color: $warning; }
        & > .hit--new { color: $accent; }
        & > .hit--mark { color: $secondary; text-style: bold; }
        & > .hit--bars { color: $primary; }
        & > .hit--memory { color: $accent; }
    }
    """

    hits: reactive[tuple[Hit, ...]] = reactive((), init=False)
    marked: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the marked fragments."""
    badges: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the fragments that a memory is about."""

    clock: Callable[[], float] = staticmethod(time.monotonic)
    """Tells how long a list was looked at, in seconds."""

    _highest: float | None = None
    """The highest part of a score in the list, once a row has asked for it."""

    _ranking = Ranking()
    _moves: Mapping[str, int | None] = {}

    _chosen = False
    """Whether the user has moved since the query is this one; until then the best hit is selected, whatever it is."""

    class MarkClicked(Message):
        """The mark of a row was clicked."""

    @property
    def row_count(self) -> int:
        return min(len(self.hits), MOST_ROWS)

    @property
    def selected(self) -> Hit | None:
        return self.hits[self.cursor] if self.row_count else None

    def rank(self, hits: Sequence[Hit] | None, *, again: bool) -> None:
        """Take the order of these, for how far each has moved since the query was refined; `again` says that they
        answer the same question as those before. None for no question."""
        if hits is None:
            self._ranking = Ranking()
        else:
            ids = [hit.fragment.id for hit in hits[:MOST_ROWS]]
            self._ranking = self._ranking.again(ids) if again else self._ranking.refined(ids, self.clock())
        self._moves = self._ranking.moves()

    def watch_hits(self) -> None:
        self.rows_changed()

    def rows_changed(self, cursor: int = 0, kept: int = 0) -> None:
        before, self._highest = self._highest, None
        # Bars are drawn beside the highest.
        super().rows_changed(cursor, kept if kept and self._highest_part() == before else 0)

    def show(self, hits: tuple[Hit, ...], *, again: bool) -> None:
        """Take these hits; `again` says that they answer the same query as those before, so that what is selected stays
        selected: the fragment, else what stands in its place. The best hit, which nobody had to choose, is left for a
        better one."""
        first = next((row for row, hit in enumerate(hits) if not is_memory(hit)), 0)
        self._chosen = self._chosen and again
        cursor = place_of(self.selected, self.cursor, hits[:MOST_ROWS]) if self._chosen else first
        kept = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(self.hits, hits, strict=False)))
        self.set_reactive(HitList.hits, hits)
        self.rows_changed(cursor, kept)
        if self.cursor == first:
            self.scroll_to(y=0, animate=False, force=True)

    def watch_cursor(self, old: int, new: int) -> None:
        self._chosen = True
        super().watch_cursor(old, new)

    def watch_marked(self, old: frozenset[str], new: frozenset[str]) -> None:
        changed = old ^ new
        for row, hit in enumerate(self.hits[:MOST_ROWS]):
            if hit.fragment.id in changed:
                self.redraw_row(row)

    def watch_badges(self, old: frozenset[str], new: frozenset[str]) -> None:
        self.watch_marked(old, new)

    def go_to(self, fragment_id: str) -> None:
        """Select that fragment, if it is in the list."""
        ids = [hit.fragment.id for hit in self.hits[:MOST_ROWS]]
        if fragment_id in ids:
            self.cursor = ids.index(fragment_id)

    async def action_pane(self, action: str) -> None:
        """Do what the pane around does by that name."""
        await self.app.run_action(action, self.query_ancestor("SearchPane"))

    def on_click(self, event: events.Click) -> None:
        """Select; at the mark, mark; twice, open in the editor."""
        super().on_click(event)
        if event.x < _INDENT and self.row_count:
            self.post_message(self.MarkClicked())
        elif event.chain == 2 and self.row_count:
            self.call_next(self.action_pane, "edit")

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        hit = self.hits[row]
        bar: Part = ("▌" if selected else " ", self.style_of("row--bar"))
        above = width >= _BARS_ABOVE_FROM
        right = [*self._badge(hit), *(self._bars(hit) if above else ()), self._tokens(hit)]
        left = [bar, *self._rank(row, hit)]
        left += self._names(hit, width - _INDENT - cells_of(right) - 1)
        told = [*(self._bars(hit) if width >= _BARS_BELOW_FROM and not above else ()), *self._age(hit)]
        sign, style = self._move(hit)
        text, matches = _snippet(hit, width - _INDENT - cells_of(told) - (1 if told else 0))
        second: list[Part] = [bar, (f"{sign:>3}  ", style)]
        second.extend(parts_with_matches(text, matches, self.style_of("hit--heading"), self.style_of("row--match")))
        return line(left, right, width, base), line(second, told, width, base)

    def _in_one_line(self, row: int, hit: Hit, bar: Part, width: int, base: Style) -> Strip:
        bars, ages = width >= _BARS_FROM, width >= _AGES_FROM
        right = [*self._badge(hit), *(self._bars(hit) if bars else ()), self._tokens(hit)]
        right += (self._age(hit) or [("     ", Style.null())]) if ages else ()
        left = [bar, *self._rank(row, hit, with_move=width < _MOVES_FROM)]
        if width >= _MOVES_FROM:
            sign, style = self._move(hit)
            left.insert(2, (f"{sign:<4}", style))
        room = width - cells_of(left) - cells_of(right) - 1
        names = fit_parts(self._names(hit, room), room)
        rest = room - cells_of(names) - 2
        least = max(_LEAST_TEXT, int(room * (1 - _NAMES)))
        if rest < least and room - least - 2 >= _LEAST_TEXT:
            names = fit_parts(self._names(hit, room - least - 2), room - least - 2)
            rest = room - cells_of(names) - 2
        left += names
        if rest >= _LEAST_TEXT // 2:
            text, matches = _snippet(hit, rest)
            left.append(("  ", Style.null()))
            left += parts_with_matches(text, matches, self.style_of("hit--heading"), self.style_of("row--match"))
        return line(left, right, width, base)

    def _rank(self, row: int, hit: Hit, *, with_move: bool = False) -> list[Part]:
        """The rank, which memories have none of, and the mark."""
        rank = "" if is_memory(hit) else str(row + 1 - sum(map(is_memory, self.hits[:row])))
        sign, style = self._move(hit) if with_move else ("", Style.null())
        mark = "●" if hit.fragment.id in self.marked else " "
        return [
            (f"{rank:>2}", self.style_of("hit--rank")),
            ({"": " ", "new": "+"}.get(sign, sign[:1]), style),
            (f"{mark} ", self.style_of("hit--mark")),
        ]

    def _move(self, hit: Hit) -> tuple[str, Style]:
        """How far the hit moved, as a sign and its style; "" where it did not."""
        by = self._moves.get(hit.fragment.id, 0)
        if by == 0:
            return "", Style.null()
        return move_sign(by), self.style_of("hit--new" if by is None else "hit--up" if by > 0 else "hit--down")

    def _names(self, hit: Hit, cells: int) -> list[Part]:
        title, heading = self.style_of("hit--title"), self.style_of("hit--heading")
        if not is_memory(hit):
            return name_parts(names_of(hit), cells, title, heading, self.style_of("row--match"))
        fragment = hit.fragment
        parts: list[Part] = [(f"{BADGE} ", self.style_of("hit--memory")), (visible_line(fragment.title), title)]
        return [*parts, (f" › {_of_memory(fragment)}", heading)] if fragment.heading_path else parts

    def _badge(self, hit: Hit) -> list[Part]:
        return [(f" {BADGE}", self.style_of("hit--memory"))] if hit.fragment.id in self.badges else []

    def _bars(self, hit: Hit) -> list[Part]:
        if is_memory(hit):
            return []
        return [(f" {signal_bars(hit, self._highest_part())}", self.style_of("hit--bars"))]

    def _tokens(self, hit: Hit) -> Part:
        return f"{hit.fragment.tokens:>4,}t ", self.style_of("row--faint")

    def _age(self, hit: Hit) -> list[Part]:
        return [(f"{age(hit.modified, time.time()):>4} ", self.style_of("row--faint"))] if hit.modified else []

    def _highest_part(self) -> float:
        # A note that the query names has far more by that than by all else: beside it nothing could be told apart.
        if self._highest is None:
            self._highest = max((s.part for hit in self.hits for s in hit.signals if s.name != "name"), default=0.0)
        return self._highest


def _of_memory(fragment: Fragment) -> str:
    """Where a memory is from, without the folders, and why it was kept."""
    source, *why = fragment.heading_path
    return " · ".join((source.rpartition("/")[2], *why))


def place_of(selected: Hit | None, row: int, hits: Sequence[Hit]) -> int:
    """The row of the fragment that was selected in `row`; if it is gone, of the nearest one of its note (an edited
    fragment is another one), else the same row."""
    if selected is None:
        return 0
    was = selected.fragment
    of_note = [
        (abs(hit.fragment.line_start - was.line_start), at)
        for at, hit in enumerate(hits)
        if hit.fragment.path == was.path
    ]
    same = next((at for at, hit in enumerate(hits) if hit.fragment.id == was.id), None)
    return same if same is not None else min(of_note)[1] if of_note else row


def signal_bars(hit: Hit, highest: float) -> str:
    """One bar a kind of signal, as high as what it adds to the score beside the highest in the list."""
    return "".join(_bar(part, highest) for part in _bar_parts(hit))


def _bar_parts(hit: Hit) -> Iterator[float]:
    parts = {signal.name: signal.part for signal in hit.signals}
    return (sum(parts.get(name, 0.0) for name in names) for names in BARS)


def _bar(part: float, highest: float) -> str:
    if part <= 0 or highest <= 0:
        return _BARS[0]
    return _BARS[max(1, min(8, round(part / highest * 8)))]


def _snippet(hit: Hit, cells: int) -> tuple[str, list[tuple[int, int]]]:
    from excerpt.tui.common.snippet import snippet  # with what reads Markdown, which a list without rows does not need

    return snippet(hit.fragment.text, hit.spans, cells)
