"""The ranked list of hits, best first, in which the fragments of a note are grouped, with memories among the hits."""

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

from excerpt.text.display import format_age, visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.row_list import NAME_SEPARATOR, RowList, elide_middle, list_names, name_parts
from excerpt.tui.common.strips import StyledPart, line, parts_with_matches, total_cells, vertical_bar
from excerpt.tui.memory.controller import is_memory

if TYPE_CHECKING:
    from excerpt.model import Fragment, Hit, Span

MAX_ROWS_BELOW_BEST = 2
"""Maximum fragments of a note listed below its best fragment; the others are folded."""

_INDENT = 6
"""Cells before the title: the bar of the selected row, the rank and a sign."""
_BELOW_BEST_INDENT = 2
"""Extra indent, in cells, of a fragment below the best one of its note."""
_MIN_CELLS_FOR_AGES = 40
"""Minimum width in cells of a row that shows the age of its note."""


@dataclass(frozen=True, slots=True)
class HitRow:
    """A row of the list: a hit with its rank, from 1; a memory has rank 0.

    `is_below_best`: the hit is listed below the best fragment of its note. `folded_count`: number of fragments of the
    note that are folded (not listed) after this row. `folder` distinguishes the note from other listed notes of the
    same title; "" if there are none.
    """

    hit: Hit
    rank: int
    is_below_best: bool = False
    folded_count: int = 0
    folder: str = ""


def group_hits(hits: Sequence[Hit], unfolded_paths: Collection[str] = ()) -> tuple[HitRow, ...]:
    """Return hits and memories as rows, with the fragments of a note grouped under its best fragment.

    At most `MAX_ROWS_BELOW_BEST` fragments are listed under the best one, or all if the path of the note is in
    `unfolded_paths`. Notes are in the order of their best hits.
    """
    groups: dict[str, list[tuple[Hit, int]]] = {}
    rank = 0
    for hit in hits:
        memory = is_memory(hit)
        rank += not memory
        groups.setdefault(hit.fragment.id if memory else hit.fragment.path, []).append((hit, 0 if memory else rank))
    folders = distinguishing_folders(hits)
    rows: list[HitRow] = []
    for path, group in groups.items():
        listed = group if path in unfolded_paths else group[: 1 + MAX_ROWS_BELOW_BEST]
        for position, (hit, hit_rank) in enumerate(listed, start=1):
            folded = len(group) - position if position == len(listed) else 0
            rows.append(HitRow(hit, hit_rank, position > 1, folded, folders.get(path, "")))
    return tuple(rows)


def distinguishing_folders(hits: Sequence[Hit]) -> Mapping[str, str]:
    """Return, by path of a note, a name that distinguishes the note from other listed notes of the same title.

    The name is the note's folder, or its path if another of these notes is in the same folder. Notes whose title is
    unique are left out.
    """
    folders_by_title: dict[str, dict[str, str]] = {}
    for hit in hits:
        if not is_memory(hit):
            path = hit.fragment.path
            folders_by_title.setdefault(hit.fragment.title.casefold(), {})[path] = path.rpartition("/")[0]
    names: dict[str, str] = {}
    for folders in folders_by_title.values():
        if len(folders) > 1:
            folder_names = list(folders.values())
            names.update((path, path if folder_names.count(folder) > 1 else folder) for path, folder in folders.items())
    return names


def matched_stop_words(hits: Sequence[Hit]) -> frozenset[str]:
    """Return the stop words (such as "the") among the matched words of `hits`, ignoring case.

    Returns an empty set if all matched words are stop words, so that these are highlighted then.
    """
    if not hits:
        return frozenset()
    from excerpt.text.words import detect_language, select_stop_words  # takes 20 ms: not before the first frame

    matched: set[str] = set()
    for hit in hits:
        fragment = hit.fragment
        matched.update(fragment.text[span.start : span.end].casefold() for span in hit.spans)
        for name, spans in zip((fragment.title, *fragment.heading_path), hit.named, strict=False):
            matched.update(name[span.start : span.end].casefold() for span in spans)
    languages = ("en", detect_language(hits[0].fragment.text))
    return select_stop_words(matched, languages)


def find_successor(selected: Hit, hits: Sequence[Hit]) -> Hit | None:
    """Return the hit in `hits` that replaces the selected one: the same fragment, else the nearest one of its note.

    An edited fragment has another id, so that fragment is found by its first line. Returns None if the note has no hit.
    """
    fragment = selected.fragment
    for hit in hits:
        if hit.fragment.id == fragment.id:
            return hit
    note_hits = (hit for hit in hits if hit.fragment.path == fragment.path)
    return min(note_hits, key=lambda hit: abs(hit.fragment.line_start - fragment.line_start), default=None)


class HitList(RowList):
    """The list of hits, best first, with memories among the hits.

    A row has two lines, and a third one if other fragments of the note are folded.
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

    marked_ids: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the marked fragments."""
    packed_ids: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the fragments in the pack, marked or not."""
    remembered_ids: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the fragments that are the source of a memory."""

    class MarkClicked(Message):
        """Sent when the mark of a row is clicked."""

    class EndReached(Message):
        """Sent when the cursor reaches the last row."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self.hits: tuple[Hit, ...] = ()
        """All hits, folded or not, in the order of their ranks."""
        self.rows: tuple[HitRow, ...] = ()
        self._first_lines: list[int] = [0]
        self._top_score = 0.0
        self._stop_words: frozenset[str] = frozenset()
        self._unfolded_paths: frozenset[str] = frozenset()
        # Until the user moves, the best hit is selected, also when it changes.
        self._has_user_moved = False

    @property
    def row_count(self) -> int:
        return len(self.rows)

    def first_line_of(self, row: int) -> int:
        return self._first_lines[min(row, len(self.rows))]

    def row_at_line(self, line: int) -> int:
        return bisect_right(self._first_lines, line) - 1

    @property
    def selected(self) -> Hit | None:
        return self.rows[self.cursor].hit if self.rows else None

    # --- rows and folding ---------------------------------------------------------------------------------------------

    def show(self, hits: tuple[Hit, ...], *, is_repeat: bool) -> None:
        """List the hits. `is_repeat` says that the hits shown before answered the same query.

        If so, a hit that the user selected stays selected, at the same place on the screen. If that hit is gone, the
        nearest fragment of its note is selected, else the same row. In all other cases the best hit is selected.
        """
        self._has_user_moved = self._has_user_moved and is_repeat
        self._unfolded_paths = self._unfolded_paths if is_repeat else frozenset()
        self.hits, self._stop_words = hits, matched_stop_words(hits)
        selected = self.selected
        if selected is not None and self._has_user_moved:
            hit = find_successor(selected, hits)
            if hit is not None:
                self._list_fragment(hit.fragment.id)
            else:
                self._list_rows(group_hits(hits, self._unfolded_paths), self.cursor)
            return
        rows = group_hits(hits, self._unfolded_paths)
        self._list_rows(rows, next((index for index, row in enumerate(rows) if row.rank), 0))
        self.scroll_to(y=0, animate=False, force=True)

    def _list_fragment(self, fragment_id: str) -> None:
        """List the rows with the current folding, and select a fragment, unfolding its note if necessary."""
        rows = group_hits(self.hits, self._unfolded_paths)
        index = next((number for number, row in enumerate(rows) if row.hit.fragment.id == fragment_id), None)
        if index is None:
            self._unfolded_paths |= {hit.fragment.path for hit in self.hits if hit.fragment.id == fragment_id}
            rows = group_hits(self.hits, self._unfolded_paths)
            index = next(number for number, row in enumerate(rows) if row.hit.fragment.id == fragment_id)
        self._list_rows(rows, index)

    def _list_rows(self, rows: tuple[HitRow, ...], cursor: int) -> None:
        in_view = self.first_line_of(self.cursor) - self.scroll_offset.y
        top_score = max((row.hit.score for row in rows if row.rank), default=0.0)
        unchanged = 0
        if top_score == self._top_score:
            unchanged = sum(
                1 for _ in takewhile(lambda pair: _is_drawn_alike(*pair), zip(self.rows, rows, strict=False))
            )
        self.rows, self._top_score = rows, top_score
        self._first_lines = list(accumulate((3 if row.folded_count else 2 for row in rows), initial=0))
        self.redraw_rows(cursor, unchanged)
        if self._has_user_moved and self.first_line_of(self.cursor) - self.scroll_offset.y != in_view:
            self.scroll_to(y=self.first_line_of(self.cursor) - in_view, animate=False, force=True)

    def watch_cursor(self, old: int, new: int) -> None:
        self._has_user_moved = True
        super().watch_cursor(old, new)
        if new == self.row_count - 1:
            self.post_message(self.EndReached())

    def watch_marked_ids(self, old: frozenset[str], new: frozenset[str]) -> None:
        changed = old ^ new
        for index, row in enumerate(self.rows):
            if row.hit.fragment.id in changed:
                self.redraw_row(index)

    def watch_packed_ids(self, old: frozenset[str], new: frozenset[str]) -> None:
        self.watch_marked_ids(old, new)

    def watch_remembered_ids(self, old: frozenset[str], new: frozenset[str]) -> None:
        self.watch_marked_ids(old, new)

    # --- selection, keys, mouse ---------------------------------------------------------------------------------------

    def select_fragment(self, fragment_id: str) -> None:
        """Select a fragment, unfolding its note if necessary; do nothing if the fragment is not among the hits."""
        index = next((index for index, row in enumerate(self.rows) if row.hit.fragment.id == fragment_id), None)
        if index is not None:
            self.cursor = index
        elif any(hit.fragment.id == fragment_id for hit in self.hits):
            self._list_fragment(fragment_id)
            self._post_moved(self.cursor)

    def _post_moved(self, row: int) -> None:
        """Post `Moved` after the rows have changed: the number of the selected row may be the same as before."""
        self._has_user_moved = True
        self.post_message(self.Moved(self, row))

    def action_unfold(self) -> None:
        """List all fragments of the selected note."""
        if self.rows:
            self._unfold(self.cursor)

    def _unfold(self, row: int) -> None:
        self._unfolded_paths |= {self.rows[row].hit.fragment.path}
        self._list_fragment(self.rows[self.cursor].hit.fragment.id)

    def action_fold(self) -> None:
        """Fold the fragments of the selected note; if the note is folded already, select its best fragment."""
        if not self.rows:
            return
        best, path = self.cursor, self.rows[self.cursor].hit.fragment.path
        while self.rows[best].is_below_best:
            best -= 1
        if path not in self._unfolded_paths:
            self.cursor = best
            return
        self._unfolded_paths -= {path}
        if self.cursor - best <= MAX_ROWS_BELOW_BEST:
            self._list_fragment(self.rows[self.cursor].hit.fragment.id)
        else:
            self._list_fragment(self.rows[best].hit.fragment.id)
            self._post_moved(best)

    def on_click(self, event: events.Click) -> None:
        """Select the clicked row. A click on the mark also toggles the mark, a double click opens the editor.

        A click on the line "▸ 3 more in this note" unfolds the note instead.
        """
        line_number = event.y + self.scroll_offset.y
        row = self.row_at_line(line_number)
        if row < self.row_count and line_number - self.first_line_of(row) == self.ROW_HEIGHT:
            self._unfold(row)
            return
        super().on_click(event)
        if event.x < _INDENT and self.row_count:
            self.post_message(self.MarkClicked())
        elif event.chain == 2 and self.row_count:
            self.call_next(self.app.run_action, "edit", self.query_ancestor("SearchPane"))

    # --- drawing ------------------------------------------------------------------------------------------------------

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        hit_row = self.rows[row]
        hit = hit_row.hit
        bar = self.cursor_bar(selected)
        indent = _INDENT + (_BELOW_BEST_INDENT if hit_row.is_below_best else 0)
        right = self._draw_figures(hit_row, width)
        left = [bar, *self._draw_rank(hit_row), (" " * (indent - _INDENT), Style.null())]
        left += self._draw_names(hit_row, width - total_cells(left) - total_cells(right) - 1)
        text, matches = _cut_snippet(hit, self._spans_to_highlight(hit.fragment.text, hit.spans), width - indent)
        second: list[StyledPart] = [bar, (" " * (indent - 1), Style.null())]
        second.extend(parts_with_matches(text, matches, self.style_of("hit--heading"), self.style_of("row--match")))
        lines = [line(left, right, width, base), line(second, (), width, base)]
        if hit_row.folded_count:
            folded = (
                f"{' ' * (_INDENT + _BELOW_BEST_INDENT)}▸ {hit_row.folded_count} more in this note",
                self.style_of("row--faint"),
            )
            lines.append(line((folded,), (), width, self.base_style))
        return lines

    def _draw_rank(self, row: HitRow) -> list[StyledPart]:
        """Return the rank (for a memory its sign), then the sign for marked, in the pack, or source of a memory."""
        fragment_id = row.hit.fragment.id
        memory = ("◆", self.style_of("hit--memory"))
        sign = (" ", Style.null())
        if fragment_id in self.marked_ids:
            sign = ("●", self.style_of("hit--mark"))
        elif fragment_id in self.packed_ids:
            sign = ("○", self.style_of("hit--packed"))
        elif fragment_id in self.remembered_ids:
            sign = memory
        rank = (f"{row.rank:>2} ", self.style_of("hit--rank")) if row.rank else (f"{memory[0]:>2} ", memory[1])
        return [rank, sign, (" ", Style.null())]

    def _draw_names(self, row: HitRow, cells: int) -> list[StyledPart]:
        """Return the title and headings of a hit, for an attachment after its kind; for a memory, title and source."""
        hit = row.hit
        if is_memory(hit):
            parts = (
                (visible_line(hit.fragment.title), "hit--title"),
                (_format_memory_source(hit.fragment), "hit--heading"),
            )
            return [(text, self.style_of(name)) for text, name in parts]
        names = [(text, self._spans_to_highlight(text, spans)) for text, spans in list_names(hit)]
        if hit.fragment.kind and not row.is_below_best:
            kind = (f"{visible_line(hit.fragment.kind)} ", self.style_of("hit--memory"))
            return [kind, *self._draw_note_names(row, names, cells - total_cells([kind]))]
        return self._draw_note_names(row, names, cells)

    def _draw_note_names(self, row: HitRow, names: list[tuple[str, list[Span]]], cells: int) -> list[StyledPart]:
        """Return the title, the folder if it distinguishes the note, and the headings, in at most `cells` cells.

        A row below the best fragment of its note shows only the headings.
        """
        title, soft = self.style_of("hit--title"), self.style_of("hit--heading")
        match = self.style_of("row--match")
        if row.is_below_best and len(names) > 1:
            return name_parts(names[1:], cells, soft, soft, match)
        if row.is_below_best or not row.folder:
            return name_parts(names, cells, title, soft, match)
        folder = [(f" in {elide_middle((visible_line(row.folder), ()), cells // 3)[0]}", soft)]
        if len(names) == 1:
            return [*name_parts(names, cells - total_cells(folder), title, soft, match), *folder]
        parts = [
            *name_parts(names[:1], (cells - total_cells(folder)) // 2, title, soft, match),
            *folder,
            (NAME_SEPARATOR, soft),
        ]
        return [*parts, *name_parts(names[1:], cells - total_cells(parts), soft, soft, match)]

    def _draw_figures(self, row: HitRow, width: int) -> list[StyledPart]:
        """Return a bar for the score relative to the best hit's, the token count, and the age of the note."""
        hit, faint = row.hit, self.style_of("row--faint")
        # A query of filters alone ranks nothing, so no hit has a share.
        share = hit.score / self._top_score if row.rank and hit.confidence is not None and self._top_score else 0.0
        figures: list[StyledPart] = [(f" {vertical_bar(share)}", self.style_of("hit--score"))]
        figures.append((f" {hit.fragment.tokens:>4,}t", faint))
        if width >= _MIN_CELLS_FOR_AGES:
            figures.append((f" {format_age(hit.modified, time.time()) if hit.modified else '':>4} ", faint))
        return figures

    def _spans_to_highlight(self, text: str, spans: Sequence[Span]) -> list[Span]:
        """Return the spans of `text` to highlight: matched words except stop words."""
        return [span for span in spans if text[span.start : span.end].casefold() not in self._stop_words]


def _is_drawn_alike(old: HitRow, new: HitRow) -> bool:
    """Return whether two rows look the same; hits are compared by identity, because their texts are long."""
    return old.hit is new.hit and (old.rank, old.is_below_best, old.folded_count, old.folder) == (
        new.rank,
        new.is_below_best,
        new.folded_count,
        new.folder,
    )


def _format_memory_source(fragment: Fragment) -> str:
    """Return the file name of a memory's source, and the reason why the memory was kept; "" if it has neither."""
    if not fragment.heading_path:
        return ""
    source, *reasons = fragment.heading_path
    return NAME_SEPARATOR + " · ".join((source.rpartition("/")[2], *reasons))


def _cut_snippet(hit: Hit, spans: Sequence[Span], cells: int) -> tuple[str, list[tuple[int, int]]]:
    from excerpt.text.snippet import snippet  # imports the Markdown reader, which an empty list does not need

    return snippet(hit.fragment.text, spans, cells)
