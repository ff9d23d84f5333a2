"""The ranked list: for each hit its rank, mark, title, heading, signals, tokens, and a snippet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from excerpt.model import Fragment, Hit
from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.memory_rows import is_memory
from excerpt.tui.snippet import snippet
from excerpt.tui.strips import Part, line, parts_with_matches
from excerpt.tui.widgets.row_list import RowList

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


class HitList(RowList):
    """Hits, best first, and the memories among them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Search, with the list focused")

    COMPONENT_CLASSES: ClassVar[set[str]] = {
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

    _first = 0
    """The row of the best hit, which is selected where the user has selected nothing; memories may stand before it."""

    class MarkClicked(Message):
        """The mark of a row was clicked."""

    @property
    def row_count(self) -> int:
        return min(len(self.hits), MOST_ROWS)

    @property
    def selected(self) -> Hit | None:
        return self.hits[self.cursor] if self.row_count else None

    def watch_hits(self) -> None:
        self.rows_changed()

    def show(self, hits: tuple[Hit, ...], *, again: bool) -> None:
        """Take these hits; `again` says that they answer the same query as those before, so that what is selected stays
        selected: the fragment, else what stands in its place. The best hit, which nobody had to choose, is left for a
        better one when it would be out of sight."""
        first = next((row for row, hit in enumerate(hits) if not is_memory(hit)), 0)
        unchosen = self.cursor == self._first
        cursor = place_of(self.selected, self.cursor, hits[:MOST_ROWS]) if again else first
        out_of_sight = cursor >= self.scrollable_content_region.height // self.ROW_HEIGHT
        self._first = first
        self.set_reactive(HitList.hits, hits)
        self.rows_changed(first if unchosen and out_of_sight else cursor)
        if self.cursor == first:
            self.scroll_to(y=0, animate=False, force=True)

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
        super().on_click(event)
        if event.x < _INDENT and self.row_count:
            self.post_message(self.MarkClicked())

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        hit = self.hits[row]
        fragment = hit.fragment
        bar: Part = ("▌" if selected else " ", self.style_of("row--bar"))
        mark: Part = ("●" if fragment.id in self.marked else " ", self.style_of("hit--mark"))
        rank = "   " if is_memory(hit) else f"{row + 1 - sum(map(is_memory, self.hits[:row])):>2} "
        left: list[Part] = [bar, (rank, self.style_of("hit--rank")), mark, (" ", Style.null())]
        if is_memory(hit):
            left.append((f"{BADGE} ", self.style_of("hit--memory")))
        left.append((visible_line(fragment.title), self.style_of("hit--title")))
        if is_memory(hit):
            left.append((f" › {_of_memory(fragment)}" if fragment.heading_path else "", self.style_of("hit--heading")))
        elif fragment.heading_path:
            path = " › ".join(visible_line(part) for part in fragment.heading_path if part != fragment.title)
            left.append((f" › {path}" if path else "", self.style_of("hit--heading")))
        right: list[Part] = [
            (f"{BADGE} " if fragment.id in self.badges else "", self.style_of("hit--memory")),
            ("" if is_memory(hit) else signal_bars(hit, self._highest_part()), self.style_of("hit--bars")),
            (f" {fragment.tokens:>4}t ", self.style_of("row--faint")),
        ]
        text, matches = snippet(fragment.text, hit.spans, width - _INDENT)
        second: list[Part] = [bar, (" " * (_INDENT - 1), Style.null())]
        second.extend(parts_with_matches(text, matches, self.style_of("hit--heading"), self.style_of("row--match")))
        return line(left, right, width, base), line(second, (), width, base)

    def _highest_part(self) -> float:
        # A note that the query names has far more by that than by all else: beside it nothing could be told apart.
        return max((s.part for hit in self.hits for s in hit.signals if s.name != "name"), default=0.0)


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
