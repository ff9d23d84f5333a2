"""The ranked list: hits, best first, the fragments of a note grouped, with memories among them."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from excerpt.text.display import age, visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.common.row_list import BETWEEN, RowList, elide_middle, name_parts, names_of
from excerpt.tui.common.strips import Part, cells_of, height_bar, line, parts_with_matches
from excerpt.tui.memory.controller import is_memory

if TYPE_CHECKING:
    from excerpt.model import Fragment, Hit, Span

BELOW = 2
"""Fragments of a note listed below its best one; the others are folded."""

_INDENT = 6
"""Cells before the title: cursor, rank, sign."""
_BELOW_INDENT = 2
"""Extra indent, in cells, of a fragment below the best one of its note."""
_AGES_FROM = 40
"""Narrowest row, in cells, that shows ages."""


@dataclass(frozen=True, slots=True)
class HitRow:
    """A row of the list: a hit with its rank, 1-based; 0 for a memory.

    `below`: it is listed below the best fragment of its note. `more`: number of fragments folded behind it. `folder`
    distinguishes its note from others of the same title; "" if no other is listed.
    """

    hit: Hit
    rank: int
    below: bool = False
    more: int = 0
    folder: str = ""


def rows_of(hits: Sequence[Hit], opened: Collection[str] = ()) -> tuple[HitRow, ...]:
    """Return hits and memories as rows, with the fragments of a note grouped under its best one.

    At most `BELOW` fragments are listed under the best one, or all if the path of the note is in `opened`. Notes are in
    the order of their best hits.
    """
    groups: dict[str, list[tuple[Hit, int]]] = {}
    rank = 0
    for hit in hits:
        memory = is_memory(hit)
        rank += not memory
        groups.setdefault(hit.fragment.id if memory else hit.fragment.path, []).append((hit, 0 if memory else rank))
    folders = folders_of(hits)
    rows: list[HitRow] = []
    for path, group in groups.items():
        shown = group if path in opened else group[: 1 + BELOW]
        for at, (hit, number) in enumerate(shown, start=1):
            more = len(group) - at if at == len(shown) else 0
            rows.append(HitRow(hit, number, at > 1, more, folders.get(path, "")))
    return tuple(rows)


def folders_of(hits: Sequence[Hit]) -> Mapping[str, str]:
    """Return, by path, the names that distinguish listed notes of the same title.

    The name is the folder, or the path if two of them are in the same folder.
    """
    alike: dict[str, dict[str, str]] = {}
    for hit in hits:
        if not is_memory(hit):
            path = hit.fragment.path
            alike.setdefault(hit.fragment.title.casefold(), {})[path] = path.rpartition("/")[0]
    told: dict[str, str] = {}
    for folders in alike.values():
        if len(folders) > 1:
            every = list(folders.values())
            told.update((path, path if every.count(folder) > 1 else folder) for path, folder in folders.items())
    return told


def stop_words_of(hits: Sequence[Hit]) -> frozenset[str]:
    """Return the stop words among the matched words; none if only stop words matched."""
    if not hits:
        return frozenset()
    from excerpt.text.words import detect_language, stop_words_among  # takes 20 ms: not before the first frame

    matched: set[str] = set()
    for hit in hits:
        fragment = hit.fragment
        matched.update(fragment.text[span.start : span.end].casefold() for span in hit.spans)
        for name, spans in zip((fragment.title, *fragment.heading_path), hit.named, strict=False):
            matched.update(name[span.start : span.end].casefold() for span in spans)
    languages = ("en", detect_language(hits[0].fragment.text))
    return stop_words_among(matched, languages)


def trail_end(selected: Hit, hits: Sequence[Hit]) -> Hit | None:
    """Return the hit of the fragment that was selected, else the nearest one of its note, else None.

    An edited fragment has another id, so it is found by its line.
    """
    was = selected.fragment
    for hit in hits:
        if hit.fragment.id == was.id:
            return hit
    of_note = (hit for hit in hits if hit.fragment.path == was.path)
    return min(of_note, key=lambda hit: abs(hit.fragment.line_start - was.line_start), default=None)


class HitList(RowList):
    """The list of hits, best first, with memories among them.

    A row has two lines, and a third if other fragments are folded behind it.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("Search, with the list focused")

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "hit--title",
        "hit--mark",
        "hit--packed",
        "hit--rank",
        "hit--heading",
        "hit--score",
        "hit--memory",
    }

    DEFAULT_CSS = """
    HitList {
        & > .hit--title { text-style: bold; }
        & > .hit--heading { color: $text-soft; }
        & > .hit--rank { color: $text-faint; }
        & > .hit--mark { color: $secondary; text-style: bold; }
        & > .hit--packed { color: $secondary; }
        & > .hit--score { color: $primary; }
        & > .hit--memory { color: $accent; }
    }
    """

    marked: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the marked fragments."""
    packed: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the fragments in the pack, marked or not."""
    badges: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the fragments that a memory refers to."""

    class MarkClicked(Message):
        """Sent when the mark of a row is clicked."""

    class EndReached(Message):
        """Sent when the cursor reaches the last row."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self.hits: tuple[Hit, ...] = ()
        """All hits, folded or not, in the order of their ranks."""
        self.rows: tuple[HitRow, ...] = ()
        self._tops: list[int] = [0]
        self._top_score = 0.0
        self._stop_words: frozenset[str] = frozenset()
        self._opened: frozenset[str] = frozenset()
        # Until the user moves, the best hit is selected, also when it changes.
        self._chosen = False

    @property
    def row_count(self) -> int:
        return len(self.rows)

    def top_of(self, row: int) -> int:
        return self._tops[min(row, len(self.rows))]

    def row_at(self, line: int) -> int:
        return bisect_right(self._tops, line) - 1

    @property
    def selected(self) -> Hit | None:
        return self.rows[self.cursor].hit if self.rows else None

    # --- rows and folding ---------------------------------------------------------------------------------------------

    def show(self, hits: tuple[Hit, ...], *, again: bool) -> None:
        """Show these hits; `again` says that they answer the same query as the ones before.

        Then a hit that the user selected stays selected at the same place on the screen; if it is gone, the nearest
        fragment of its note is selected, else the same row. If the user has not moved, the new best hit is selected.
        """
        self._chosen = self._chosen and again
        self._opened = self._opened if again else frozenset()
        self.hits, self._stop_words = hits, stop_words_of(hits)
        selected = self.selected
        if selected is not None and self._chosen:
            hit = trail_end(selected, hits)
            if hit is not None:
                self._list(hit.fragment.id)
            else:
                self._list_rows(rows_of(hits, self._opened), self.cursor)
            return
        rows = rows_of(hits, self._opened)
        self._list_rows(rows, next((at for at, row in enumerate(rows) if row.rank), 0))
        self.scroll_to(y=0, animate=False, force=True)

    def _list(self, fragment_id: str) -> None:
        """List the rows with the current folding, and select a fragment.

        If the fragment is folded, its note is unfolded.
        """
        rows = rows_of(self.hits, self._opened)
        place = next((at for at, row in enumerate(rows) if row.hit.fragment.id == fragment_id), None)
        if place is None:
            self._opened |= {hit.fragment.path for hit in self.hits if hit.fragment.id == fragment_id}
            rows = rows_of(self.hits, self._opened)
            place = next(at for at, row in enumerate(rows) if row.hit.fragment.id == fragment_id)
        self._list_rows(rows, place)

    def _list_rows(self, rows: tuple[HitRow, ...], cursor: int) -> None:
        in_view = self.top_of(self.cursor) - self.scroll_offset.y
        top_score = max((row.hit.score for row in rows if row.rank), default=0.0)
        kept = 0
        if top_score == self._top_score:
            kept = sum(1 for _ in takewhile(lambda pair: _is_same(*pair), zip(self.rows, rows, strict=False)))
        self.rows, self._top_score = rows, top_score
        self._tops = list(accumulate((3 if row.more else 2 for row in rows), initial=0))
        self.rows_changed(cursor, kept)
        if self._chosen and self.top_of(self.cursor) - self.scroll_offset.y != in_view:
            self.scroll_to(y=self.top_of(self.cursor) - in_view, animate=False, force=True)

    def watch_cursor(self, old: int, new: int) -> None:
        self._chosen = True
        super().watch_cursor(old, new)
        if new == self.row_count - 1:
            self.post_message(self.EndReached())

    def watch_marked(self, old: frozenset[str], new: frozenset[str]) -> None:
        changed = old ^ new
        for at, row in enumerate(self.rows):
            if row.hit.fragment.id in changed:
                self.redraw_row(at)

    def watch_packed(self, old: frozenset[str], new: frozenset[str]) -> None:
        self.watch_marked(old, new)

    def watch_badges(self, old: frozenset[str], new: frozenset[str]) -> None:
        self.watch_marked(old, new)

    # --- selection, keys, mouse ---------------------------------------------------------------------------------------

    def go_to(self, fragment_id: str) -> None:
        """Select a fragment if it is in the list, folded or not."""
        at = next((at for at, row in enumerate(self.rows) if row.hit.fragment.id == fragment_id), None)
        if at is not None:
            self.cursor = at
        elif any(hit.fragment.id == fragment_id for hit in self.hits):
            self._list(fragment_id)
            self._select(self.cursor)

    def _select(self, row: int) -> None:
        """Post `Moved` for a selection after the rows have changed, when the row number may be the same as before."""
        self._chosen = True
        self.post_message(self.Moved(self, row))

    def action_unfold(self) -> None:
        """List all fragments of the selected note."""
        if self.rows:
            self._unfold(self.cursor)

    def _unfold(self, row: int) -> None:
        self._opened |= {self.rows[row].hit.fragment.path}
        self._list(self.rows[self.cursor].hit.fragment.id)

    def action_fold(self) -> None:
        """Fold the fragments of the selected note; if they are folded already, select its best one."""
        if not self.rows:
            return
        best, path = self.cursor, self.rows[self.cursor].hit.fragment.path
        while self.rows[best].below:
            best -= 1
        if path not in self._opened:
            self.cursor = best
            return
        self._opened -= {path}
        if self.cursor - best <= BELOW:
            self._list(self.rows[self.cursor].hit.fragment.id)
        else:
            self._list(self.rows[best].hit.fragment.id)
            self._select(best)

    def on_click(self, event: events.Click) -> None:
        """Select the row; on the mark toggle it, on a "more" line unfold, on a double click open the editor."""
        at = event.y + self.scroll_offset.y
        row = self.row_at(at)
        if row < self.row_count and at - self.top_of(row) == self.ROW_HEIGHT:
            self._unfold(row)
            return
        super().on_click(event)
        if event.x < _INDENT and self.row_count:
            self.post_message(self.MarkClicked())
        elif event.chain == 2 and self.row_count:
            self.call_next(self.app.run_action, "edit", self.query_ancestor("SearchPane"))

    # --- drawing ------------------------------------------------------------------------------------------------------

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        one = self.rows[row]
        hit = one.hit
        bar: Part = ("▌" if selected else " ", self.style_of("row--bar"))
        indent = _INDENT + (_BELOW_INDENT if one.below else 0)
        right = self._figures(one, width)
        left = [bar, *self._rank(one), (" " * (indent - _INDENT), Style.null())]
        left += self._names(one, width - cells_of(left) - cells_of(right) - 1)
        text, matches = _snippet(hit, self._lit(hit.fragment.text, hit.spans), width - indent)
        second: list[Part] = [bar, (" " * (indent - 1), Style.null())]
        second.extend(parts_with_matches(text, matches, self.style_of("hit--heading"), self.style_of("row--match")))
        lines = [line(left, right, width, base), line(second, (), width, base)]
        if one.more:
            folded = (f"{' ' * (_INDENT + _BELOW_INDENT)}▸ {one.more} more in this note", self.style_of("row--faint"))
            lines.append(line((folded,), (), width, self.base_style))
        return lines

    def _rank(self, row: HitRow) -> list[Part]:
        """Return the rank, or the sign of a memory, and the sign for marked, packed or remembered."""
        fragment_id = row.hit.fragment.id
        memory = ("◆", self.style_of("hit--memory"))
        sign = (" ", Style.null())
        if fragment_id in self.marked:
            sign = ("●", self.style_of("hit--mark"))
        elif fragment_id in self.packed:
            sign = ("○", self.style_of("hit--packed"))
        elif fragment_id in self.badges:
            sign = memory
        rank = (f"{row.rank:>2} ", self.style_of("hit--rank")) if row.rank else (f"{memory[0]:>2} ", memory[1])
        return [rank, sign, (" ", Style.null())]

    def _names(self, row: HitRow, cells: int) -> list[Part]:
        """Return the kind of an attachment and the names of the hit; for a memory its title and source."""
        hit = row.hit
        if is_memory(hit):
            parts = (visible_line(hit.fragment.title), "hit--title"), (_of_memory(hit.fragment), "hit--heading")
            return [(text, self.style_of(name)) for text, name in parts]
        names = [(text, self._lit(text, spans)) for text, spans in names_of(hit)]
        if hit.fragment.kind and not row.below:
            kind = (f"{visible_line(hit.fragment.kind)} ", self.style_of("hit--memory"))
            return [kind, *self._names_of(row, names, cells - cells_of([kind]))]
        return self._names_of(row, names, cells)

    def _names_of(self, row: HitRow, names: list[tuple[str, list[Span]]], cells: int) -> list[Part]:
        """Return the title, the folder if needed to distinguish the note, and the headings.

        A row below the best one of its note shows only the headings.
        """
        title, soft = self.style_of("hit--title"), self.style_of("hit--heading")
        match = self.style_of("row--match")
        if row.below and len(names) > 1:
            return name_parts(names[1:], cells, soft, soft, match)
        if row.below or not row.folder:
            return name_parts(names, cells, title, soft, match)
        folder = [(f" in {elide_middle((visible_line(row.folder), ()), cells // 3)[0]}", soft)]
        if len(names) == 1:
            return [*name_parts(names, cells - cells_of(folder), title, soft, match), *folder]
        named = [*name_parts(names[:1], (cells - cells_of(folder)) // 2, title, soft, match), *folder, (BETWEEN, soft)]
        return [*named, *name_parts(names[1:], cells - cells_of(named), soft, soft, match)]

    def _figures(self, row: HitRow, width: int) -> list[Part]:
        """Return the score as a bar relative to the top score, the token count and the age of the note."""
        hit, faint = row.hit, self.style_of("row--faint")
        # A query of filters alone ranks nothing, so no hit has a share.
        share = hit.score / self._top_score if row.rank and hit.confidence is not None and self._top_score else 0.0
        figures: list[Part] = [(f" {height_bar(share)}", self.style_of("hit--score"))]
        figures.append((f" {hit.fragment.tokens:>4,}t", faint))
        if width >= _AGES_FROM:
            figures.append((f" {age(hit.modified, time.time()) if hit.modified else '':>4} ", faint))
        return figures

    def _lit(self, text: str, spans: Sequence[Span]) -> list[Span]:
        """Return the matched spans to highlight: those that are not stop words."""
        return [span for span in spans if text[span.start : span.end].casefold() not in self._stop_words]


def _is_same(before: HitRow, now: HitRow) -> bool:
    """Return whether a row is drawn as before; hits are compared by identity, as their texts are long."""
    return before.hit is now.hit and (before.rank, before.below, before.more, before.folder) == (
        now.rank,
        now.below,
        now.more,
        now.folder,
    )


def _of_memory(fragment: Fragment) -> str:
    """Return the source of a memory, without folders, and why it was kept."""
    if not fragment.heading_path:
        return ""
    source, *why = fragment.heading_path
    return BETWEEN + " · ".join((source.rpartition("/")[2], *why))


def _snippet(hit: Hit, spans: Sequence[Span], cells: int) -> tuple[str, list[tuple[int, int]]]:
    from excerpt.text.snippet import snippet  # imports the Markdown reader, which an empty list does not need

    return snippet(hit.fragment.text, spans, cells)
