"""The ranked list of hits, with memories among them: best first, or the three best before days in order of date."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive, var
from textual.strip import Strip

from excerpt.text.display import format_days, visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.row_list import (
    NAME_SEPARATOR,
    RowList,
    format_place,
    list_names,
    name_parts,
    shorten_headings,
    shorten_names,
)
from excerpt.tui.common.split import MIN_COLUMNS_BESIDE
from excerpt.tui.common.strips import StyledPart, fit, horizontal_bar, line, parts_with_matches, total_cells
from excerpt.tui.memory.controller import is_memory

if TYPE_CHECKING:
    from excerpt.base.model import Fragment, Hit, Result, Span

_INDENT = 6
"""Cells before the title: the bar of the selected row, the rank and a sign."""
_SAME_NOTE_INDENT = 2
"""Extra indent, in cells, of the headings of a row that leaves out the title of its note."""
_MIN_CELLS_FOR_FACTS = 56
"""Minimum width in cells of a row that shows the folder and age of its note, and the tokens of its fragment."""
_BEST_COUNT = 3
"""Number of hits that stand above those in order of date."""


class HitRow(Struct, frozen=True):
    """A row of the list: a hit with its rank, from 1; a memory has rank 0.

    `repeats_note`: the row above is of the same note. `folder` distinguishes the note from other listed notes of the
    same title, `lines` the hit from other listed hits of the same section; "" if there are none. `heading` is the line
    above the row, such as its day; "" for none.
    """

    hit: Hit
    rank: int
    repeats_note: bool = False
    folder: str = ""
    heading: str = ""
    lines: str = ""


def arrange_hits(result: Result) -> tuple[Hit, ...]:
    """Return the hits of a result in the order of the list: with `sort:` the three best come first, then the others."""
    best = [hit for hit in result.best_first[:_BEST_COUNT] if hit.confidence is not None] if result.sort else []
    best_ids = {hit.fragment.id for hit in best}
    return (*best, *(hit for hit in result.hits if hit.fragment.id not in best_ids))


def make_rows(hits: Sequence[Hit], best_first: Sequence[Hit] | None = None) -> tuple[HitRow, ...]:
    """Return hits and memories as rows, in their order, with the ranks of the hits.

    For a list in order of date, `best_first` are its hits in order of rank; their rows have the days as headings. None
    if the hits are in order of rank.
    """
    folders = distinguishing_folders(hits)
    by_rank = [hit for hit in hits if not is_memory(hit)] if best_first is None else best_first
    ranks = {hit.fragment.id: rank for rank, hit in enumerate(by_rank, 1)}
    sections = Counter((hit.fragment.path, hit.fragment.heading_path) for hit in hits)
    rows: list[HitRow] = []
    path_above = heading_above = ""
    for hit in hits:
        fragment, path, rank = hit.fragment, hit.fragment.path, ranks.get(hit.fragment.id, 0)
        heading = _format_heading(hit, rank) if best_first is not None and rank else heading_above
        starts_group = heading != heading_above
        repeats_note = path == path_above and not starts_group
        is_only_one = sections[path, fragment.heading_path] == 1
        lines = "" if is_only_one else format_place(fragment.place, fragment.line_start, fragment.line_end)
        rows.append(HitRow(hit, rank, repeats_note, folders.get(path, ""), heading if starts_group else "", lines))
        path_above, heading_above = path, heading
    return tuple(rows)


def _format_heading(hit: Hit, rank: int) -> str:
    """Return the heading of a hit in a list by date: its day, or "best" for one of the best hits."""
    if rank <= _BEST_COUNT and hit.confidence is not None:
        return "best"
    return f"{hit.date} {date.fromisoformat(hit.date):%A}" if hit.date else "no date"


def distinguishing_folders(hits: Sequence[Hit]) -> Mapping[str, str]:
    """Return, by path of a note, a name that distinguishes the note from other listed notes of the same title.

    The name is the note's folder, or its file name if another of these notes is in the same folder, without what all
    these names begin with. Notes whose title is unique are left out.
    """
    folders_by_title: dict[str, dict[str, str]] = {}
    for hit in hits:
        if not is_memory(hit):
            path = hit.fragment.path
            folders_by_title.setdefault(hit.fragment.title.casefold(), {})[path] = path.rpartition("/")[0]
    names: dict[str, str] = {}
    for folders in folders_by_title.values():
        if len(folders) > 1:
            every = list(folders.values())
            own = [path.rpartition("/")[2] if every.count(folder) > 1 else folder for path, folder in folders.items()]
            names.update(zip(folders, _drop_common_start(own), strict=True))
    return names


def _drop_common_start(names: Sequence[str]) -> list[str]:
    """Return paths or file names with "…" for the folders, or the parts before a dot, that all of them begin with."""
    separator = "/" if any("/" in name for name in names) else "."
    parts = [name.split(separator) for name in names]
    levels = zip(*(each[:-1] for each in parts), strict=False)
    common = sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, levels))
    return [f"…{separator.join(each[common:])}" if common else name for name, each in zip(names, parts, strict=True)]


def matched_stop_words(query: str, hits: Sequence[Hit]) -> frozenset[str]:
    """Return the stop words (such as "the") among the words of `query` and the matched words of `hits`, ignoring case.

    Returns an empty set if all of these are stop words, so that they are highlighted then.
    """
    if not hits:
        return frozenset()
    from excerpt.text.languages import detect_language, select_unmarked_words  # takes 20 ms: not before the first frame

    words = set(re.findall(r"\w+", query.casefold()))
    for hit in hits:
        fragment = hit.fragment
        words.update(fragment.text[span.start : span.end].casefold() for span in hit.spans)
        for name, spans in zip((fragment.title, *fragment.heading_path), hit.named, strict=False):
            words.update(name[span.start : span.end].casefold() for span in spans)
    languages = ("en", detect_language(hits[0].fragment.text))
    return select_unmarked_words(words, languages)


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
    """The list of hits, best first or by day, with memories among the hits."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Search tab, focus on the list")

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "hit--title",
        "hit--mark",
        "hit--packed",
        "hit--rank",
        "hit--heading",
        "hit--score",
        "hit--memory",
        "hit--day",
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
        & > .hit--day { color: $text-soft; text-style: bold; }
    }
    """

    marked_ids: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the marked fragments."""
    packed_ids: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the fragments in the pack, marked or not."""
    remembered_ids: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the fragments that are the source of a memory."""
    has_snippets: var[bool] = var(False, init=False)
    """Whether a row has a second line, with the best sentence of its fragment."""

    class MarkClicked(Message):
        """Sent when the mark of a row is clicked."""

    class EndReached(Message):
        """Sent when the cursor reaches the last row."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self.hits: tuple[Hit, ...] = ()
        self.rows: tuple[HitRow, ...] = ()
        self._headings_before: tuple[int, ...] = (0,)
        """Number of headings above each row; the last is that of all headings."""
        self._top_score = 0.0
        """Score of the best hit; 0 if nothing is ranked, as for a query of filters alone."""
        self._has_dates = False
        """Whether a note of the hits has a date of creation."""
        self._stop_words: frozenset[str] = frozenset()
        self.has_user_moved = False
        """Whether the user has moved in the list. Until then the best hit is selected, also when it changes."""

    @property
    def row_count(self) -> int:
        return len(self.rows)

    @property
    def row_height(self) -> int:
        return 2 if self.has_snippets else 1

    def first_line_of(self, row: int) -> int:
        return row * self.row_height + self._headings_before[min(row, self.row_count)]

    def row_at_line(self, line: int) -> int:
        return bisect_right(range(1, self.row_count + 1), line, key=self.first_line_of)

    @property
    def selected(self) -> Hit | None:
        return self.rows[self.cursor].hit if self.rows else None

    # --- rows ---------------------------------------------------------------------------------------------------------

    def show(
        self, hits: tuple[Hit, ...], query: str, *, is_repeat: bool, best_first: Sequence[Hit] | None = None
    ) -> None:
        """List the hits of `query`. `is_repeat` says that the hits shown before answered the same query.

        `best_first` are the hits in order of rank for a list in order of date, as in `make_rows`.
        If so, a hit that the user selected stays selected, at the same place on the screen. If that hit is gone, the
        nearest fragment of its note is selected, else the same row. In all other cases the best hit is selected.
        """
        self.has_user_moved = self.has_user_moved and is_repeat
        self._stop_words = matched_stop_words(query, hits)
        selected = self.selected
        self.hits, rows = hits, make_rows(hits, best_first)
        if selected is not None and self.has_user_moved:
            successor = find_successor(selected, hits)
            self._list_rows(rows, next((at for at, hit in enumerate(hits) if hit is successor), self.cursor))
            return
        self._list_rows(rows, next((index for index, row in enumerate(rows) if row.rank), 0))
        self.scroll_to(y=0, animate=False, force=True)

    def _list_rows(self, rows: tuple[HitRow, ...], cursor: int) -> None:
        in_view = self.first_line_of(self.cursor) - self.scroll_offset.y
        ranked = [row.hit for row in rows if row.rank and row.hit.confidence is not None]
        top_score = max((hit.score for hit in ranked), default=0.0)
        has_dates = any(row.hit.created is not None for row in rows)
        unchanged = 0
        if (top_score, has_dates) == (self._top_score, self._has_dates):
            unchanged = sum(
                1 for _ in takewhile(lambda pair: _is_drawn_alike(*pair), zip(self.rows, rows, strict=False))
            )
        self.rows, self._top_score, self._has_dates = rows, top_score, has_dates
        self._headings_before = tuple(accumulate((bool(row.heading) for row in rows), initial=0))
        self.redraw_rows(cursor, unchanged)
        if self.has_user_moved and self.first_line_of(self.cursor) - self.scroll_offset.y != in_view:
            self.scroll_to(y=self.first_line_of(self.cursor) - in_view, animate=False, force=True)

    def watch_has_snippets(self) -> None:
        self.redraw_rows(self.cursor)

    def watch_cursor(self, old: int, new: int) -> None:
        self.has_user_moved = True
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
        """Select a fragment; do nothing if the fragment is not among the hits."""
        self.cursor = next((at for at, hit in enumerate(self.hits) if hit.fragment.id == fragment_id), self.cursor)

    def on_click(self, event: events.Click) -> None:
        """Select the clicked row. A click on the mark also toggles the mark, a double click opens the editor."""
        clicked = event.y + self.scroll_offset.y
        row = self.row_at_line(clicked)
        if row < self.row_count and self.rows[row].heading and clicked == self.first_line_of(row):
            event.prevent_default()  # Textual calls the method of the base class too
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
        right = self._draw_figures(hit_row, width)
        left = [bar, *self._draw_rank(hit_row)]
        room = width - total_cells(left) - total_cells(right) - 1
        left += self._draw_names(hit_row, room, has_facts=width >= _MIN_CELLS_FOR_FACTS)
        lines = [line(left, right, width, base)]
        if hit_row.heading:
            lines.insert(0, line([(f" {hit_row.heading}", self.style_of("hit--day"))], (), width, self.base_style))
        if not self.has_snippets:
            return lines
        text, matches = _cut_snippet(hit, self._spans_to_highlight(hit.fragment.text, hit.spans), width - _INDENT)
        second: list[StyledPart] = [bar, (" " * (_INDENT - 1), Style.null())]
        second.extend(parts_with_matches(text, matches, self.style_of("hit--heading"), self.style_of("row--match")))
        return [*lines, line(second, (), width, base)]

    def _draw_rank(self, row: HitRow) -> list[StyledPart]:
        """Return the rank, or the sign of a memory, and then a sign: marked, in the pack, or source of a memory."""
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

    def _draw_names(self, row: HitRow, cells: int, *, has_facts: bool) -> list[StyledPart]:
        """Return the title and headings of a hit, for an attachment after its kind; for a memory, title and source.

        Rows of one section differ by their lines, or by their snippets. `has_facts` adds folder and past uses.
        """
        hit = row.hit
        title, soft, match = self.style_of("hit--title"), self.style_of("hit--heading"), self.style_of("row--match")
        if is_memory(hit):
            source = hit.fragment.heading_path[0] if hit.fragment.heading_path else ""
            return [
                self.vault_part(source),
                (visible_line(hit.fragment.title), title),
                (_format_memory_source(hit.fragment), soft),
            ]
        suffix = [
            (f" · {row.lines}" if row.lines and not self.has_snippets else "", soft),
            (_format_past_uses(hit) if has_facts else "", self.style_of("hit--memory")),
        ]
        cells -= total_cells(suffix)
        names = [(text, self._spans_to_highlight(text, spans)) for text, spans in list_names(hit)]
        if row.repeats_note and len(names) > 1:
            headings = shorten_headings(names[1:], cells - _SAME_NOTE_INDENT)
            return [(" " * _SAME_NOTE_INDENT, soft), *name_parts(headings, soft, soft, match), *suffix]
        kind = f"{visible_line(hit.fragment.kind)} " if hit.fragment.kind else ""
        vault, path = self.vault_part(hit.fragment.path), hit.fragment.path
        place = row.folder.removeprefix(path.partition("/")[0]).removeprefix("/") if vault[0] else row.folder
        folder = f" in {fit(visible_line(place), cells // 3)}" if place and has_facts else ""
        before = [vault, (kind, self.style_of("hit--memory"))]
        after = (folder, soft)
        first, *others = shorten_names(names, cells - total_cells([*before, after]))
        parts = [*before, *name_parts([first], title, soft, match), after]
        if others:
            parts += [(NAME_SEPARATOR, soft), *name_parts(others, soft, soft, match)]
        return [*parts, *suffix]

    def _draw_figures(self, row: HitRow, width: int) -> list[StyledPart]:
        """Return the score as a number and as a bar from 0 to the best score, the token count, and the note's age.

        If no hit has a score, or no note a date, that column is left out. A narrow row has only the score.
        """
        hit, faint = row.hit, self.style_of("row--faint")
        figures: list[StyledPart] = []
        if self._top_score > 0:
            cells = 4 if self.app.size.width >= MIN_COLUMNS_BESIDE else 3
            is_ranked = row.rank and hit.confidence is not None
            figures.append((f"{hit.score:.2f} " if is_ranked else " " * 5, faint))
            bar = horizontal_bar(hit.score / self._top_score if is_ranked else 0.0, cells)
            figures.append((bar, self.style_of("hit--score")))
        figures.append((" ", faint))
        if width >= _MIN_CELLS_FOR_FACTS:
            age = f"{_format_age(hit.created):>4} " if self._has_dates else ""
            figures.append((f"{hit.fragment.tokens:>4,}t {age}", faint))
        return figures

    def _spans_to_highlight(self, text: str, spans: Sequence[Span]) -> list[Span]:
        """Return the spans of `text` to highlight: matched words except stop words."""
        return [span for span in spans if text[span.start : span.end].casefold() not in self._stop_words]


def _is_drawn_alike(old: HitRow, new: HitRow) -> bool:
    """Return whether two rows look the same; hits are compared by identity, because their texts are long."""
    return old.hit is new.hit and old == new


def _format_age(created: date | None) -> str:
    """Return the age of a note, such as `3d`; "" for a note without a date, or with one that is still to come."""
    age = (date.today() - created).days if created is not None else -1
    return format_days(age) if age >= 0 else ""


def _format_past_uses(hit: Hit) -> str:
    """Return a phrase on the user's past uses of the hit, after a separator; "" if it was never used."""
    if not hit.past_uses:
        return ""
    from excerpt.search.rank_reasons import count_past_uses

    return f" · {count_past_uses(hit)}"


def _format_memory_source(fragment: Fragment) -> str:
    """Return the file name of a memory's source, and the reason why the memory was kept; "" if it has neither."""
    if not fragment.heading_path:
        return ""
    source, *reasons = fragment.heading_path
    return NAME_SEPARATOR + " · ".join((source.rpartition("/")[2], *reasons))


def _cut_snippet(hit: Hit, spans: Sequence[Span], cells: int) -> tuple[str, list[tuple[int, int]]]:
    from excerpt.text.snippet import snippet  # imports the Markdown reader, which an empty list does not need

    return snippet(hit.fragment.text, spans, cells)
