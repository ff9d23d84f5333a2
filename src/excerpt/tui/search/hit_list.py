"""The ranked list of hits, with memories among them: best first, or the three best before days in order of date.

A note has one row, that of its first hit; its further hits are folded under it. A rule shows where the pack ends.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from itertools import accumulate
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
    distinguishing_folders,
    format_place,
    list_names,
    name_parts,
    shorten_headings,
    shorten_names,
)
from excerpt.tui.common.strips import StyledPart, fit, line, parts_with_matches, total_cells
from excerpt.tui.keymap import key_sign
from excerpt.tui.memory.controller import is_memory

if TYPE_CHECKING:
    from excerpt.base.model import Fragment, Hit, Result, Span

_INDENT = 3
"""Cells before the title: the bar of the selected row, a sign and a space."""
_SAME_NOTE_INDENT = 2
"""Extra indent, in cells, of the headings of a row that leaves out the title of its note."""
_MIN_COLUMNS_FOR_AGE = 120
"""Minimum columns of the terminal for a row with the age of its note."""
_BEST_COUNT = 3
"""Number of hits that stand above those in order of date."""
_SNIPPETS_WITHOUT_PACK = 3
"""Number of rows with a snippet while no rule divides the list."""
_SCORE_STYLES = ("row--faint", "hit--heading", "hit--score-3", "hit--score-4", "hit--score-5")
"""Styles of the scores, from the fifth of the range to the best score that is farthest from the best."""


class HitRow(Struct, frozen=True):
    """A row of the list: a hit with its rank, from 1; a memory has rank 0.

    `repeats_note`: the row is a further hit of the note of the row above. `folded` are the ids of the further hits that
    are listed only when the user unfolds the note. `folder` distinguishes the note from other listed notes of the same
    title, `lines` the hit from other listed hits of the same section; "" if there are none. `heading` is the line above
    the row, such as its day; "" for none.
    """

    hit: Hit
    rank: int
    repeats_note: bool = False
    folded: tuple[str, ...] = ()
    folder: str = ""
    heading: str = ""
    lines: str = ""


def is_by_date(result: Result) -> bool:
    """Return whether the query orders its hits by date, and any of them has a date."""
    return bool(result.sort) and any(hit.date for hit in result.hits)


def arrange_hits(result: Result) -> tuple[Hit, ...]:
    """Return the hits of a result in the order of the list: by date the three best come first, then the others."""
    best = [hit for hit in result.best_first[:_BEST_COUNT] if hit.confidence is not None] if is_by_date(result) else []
    best_ids = {hit.fragment.id for hit in best}
    return (*best, *(hit for hit in result.hits if hit.fragment.id not in best_ids))


def make_rows(
    hits: Sequence[Hit], best_first: Sequence[Hit] | None = None, unfolded: Collection[str] = ()
) -> tuple[HitRow, ...]:
    """Return hits and memories as rows, in their order, with the ranks of the hits.

    A note has one row below each heading, with its further hits folded, or right below it if its path is in `unfolded`.
    For a list in order of date, `best_first` are its hits in order of rank; their rows have the days as headings. None
    if the hits are in order of rank.
    """
    folders = distinguishing_folders({hit.fragment.path: hit.fragment.title for hit in hits if not is_memory(hit)})
    by_rank = [hit for hit in hits if not is_memory(hit)] if best_first is None else best_first
    ranks = {hit.fragment.id: rank for rank, hit in enumerate(by_rank, 1)}
    groups: dict[tuple[str, str], list[Hit]] = {}
    heading = ""
    for hit in hits:
        rank = ranks.get(hit.fragment.id, 0)
        heading = _format_heading(hit, rank) if best_first is not None and rank else heading
        groups.setdefault((heading, hit.fragment.path), []).append(hit)
    listed = [
        (heading, hit, at, tuple(each.fragment.id for each in group[1:]) if path not in unfolded else ())
        for (heading, path), group in groups.items()
        for at, hit in enumerate(group if path in unfolded else group[:1])
    ]
    sections = Counter((hit.fragment.path, hit.fragment.heading_path) for _, hit, _, _ in listed)
    rows: list[HitRow] = []
    heading_above = ""
    for heading, hit, at, folded in listed:
        fragment = hit.fragment
        is_only_one = sections[fragment.path, fragment.heading_path] == 1
        lines = "" if is_only_one else format_place(fragment.place, fragment.line_start, fragment.line_end)
        new_heading, heading_above = heading if heading != heading_above else "", heading
        folder = folders.get(fragment.path, "")
        rows.append(HitRow(hit, ranks.get(fragment.id, 0), at > 0, folded, folder, new_heading, lines))
    return tuple(rows)


def _format_heading(hit: Hit, rank: int) -> str:
    """Return the heading of a hit in a list by date: its day, or "best" for one of the best hits."""
    if rank <= _BEST_COUNT and hit.confidence is not None:
        return "best"
    return f"{hit.date} {date.fromisoformat(hit.date):%A}" if hit.date else "no date"


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


def row_ids(row: HitRow) -> tuple[str, ...]:
    """Return the ids of the fragments that a row stands for: its own, and those of folded hits."""
    return row.hit.fragment.id, *row.folded


def _find_row(rows: Sequence[HitRow], hit: Hit | None, default: int) -> int:
    """Return the index of the row that lists a hit or folds it; `default` if none does."""
    ids = ((at, row) for at, row in enumerate(rows) if hit is not None and hit.fragment.id in row_ids(row))
    return next((at for at, _ in ids), default)


_UNFOLDS = Style.from_meta({"unfolds": True})
"""Style of a text that lists the further hits of a note when clicked."""


class HitList(RowList):
    """The list of hits, best first or by day, with memories among the hits, and a rule below those in the pack."""

    ROW_HEIGHT = 1
    BINDINGS: ClassVar[list[BindingType]] = bindings("Search tab, focus on the list")

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "hit--title",
        "hit--mark",
        "hit--heading",
        "hit--score-3",
        "hit--score-4",
        "hit--score-5",
        "hit--memory",
        "hit--stale",
        "hit--day",
        "hit--rule",
    }

    DEFAULT_CSS = """
    HitList {
        & > .hit--title { text-style: bold; }
        & > .hit--heading { color: $text-soft; }
        & > .hit--mark { color: $secondary; text-style: bold; }
        & > .hit--score-3 { color: $foreground; }
        & > .hit--score-4 { color: $primary; }
        & > .hit--score-5 { color: $primary; text-style: bold; }
        & > .hit--memory { color: $accent; }
        & > .hit--stale { color: $warning; }
        & > .hit--day { color: $text-soft; text-style: bold; }
        & > .hit--rule { color: $border; }
    }
    """

    marked_ids: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the marked fragments."""
    packed_ids: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the fragments in the pack, marked or not."""
    source_states: reactive[Mapping[str, str]] = reactive({}, init=False)
    """What became of the sources of memories, such as "changed", by fragment id, where the user has to decide."""
    remembered_ids: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the fragments that are the source of a memory."""
    has_snippets: var[bool] = var(False, init=False)
    """Whether the rows above the rule have a second line, with the best sentence of their fragment."""

    class MarkClicked(Message):
        """Sent when the mark of a row is clicked."""

    class EndReached(Message):
        """Sent when the cursor is moved to the last row, or down from it, or the list is scrolled to its end."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self.hits: tuple[Hit, ...] = ()
        self.rows: tuple[HitRow, ...] = ()
        self._best_first: Sequence[Hit] | None = None
        self._unfolded: frozenset[str] = frozenset()
        """Paths of the notes whose further hits are listed."""
        self._pack_end = 0
        """Number of rows above the rule; 0 if there is none."""
        self._rule = ""
        """Text of the rule; "" while the pack of these hits is not known."""
        self._first_lines: tuple[int, ...] = (0,)
        """Index of the first line of each row; the last is the number of lines."""
        self._top_score = 0.0
        """Score of the best hit; 0 if nothing is ranked, as for a query of filters alone."""
        self._has_dates = False
        """Whether a note of the hits has a date of creation."""
        self._stop_words: frozenset[str] = frozenset()
        self._has_moved_cursor = False

    @property
    def has_user_moved(self) -> bool:
        """Whether the user has moved in the list. Until then the best hit is selected, also when it changes."""
        return self._has_moved_cursor or self.scroll_offset.y > 0

    @property
    def row_count(self) -> int:
        return len(self.rows)

    def first_line_of(self, row: int) -> int:
        return self._first_lines[min(row, self.row_count)]

    def row_at_line(self, line: int) -> int:
        return bisect_right(self._first_lines, line) - 1

    @property
    def has_room(self) -> bool:
        """Whether more rows are in sight than the list has."""
        return self._first_lines[-1] < self.size.height

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
        keeps_place = self.has_user_moved and is_repeat
        self._has_moved_cursor = self._has_moved_cursor and is_repeat
        if not is_repeat:
            self._unfolded, self._rule = frozenset(), ""
        self._stop_words = matched_stop_words(query, hits)
        selected = self.selected
        self.hits, self._best_first = hits, best_first
        rows = make_rows(hits, best_first, self._unfolded)
        if selected is not None and keeps_place:
            self._list_rows(rows, _find_row(rows, find_successor(selected, hits), self.cursor))
            return
        self._list_rows(rows, next((index for index, row in enumerate(rows) if row.rank), 0))
        self.scroll_to(y=0, animate=False, force=True)

    def _list_rows(self, rows: tuple[HitRow, ...], cursor: int, *, has_pack_end: bool = True) -> None:
        """List `rows` with the cursor on one of them; without a pack end, without the rule.

        A scrolled list stays where it is: the selected row keeps its place on the screen, or the top row if the
        selected one is out of sight.
        """
        scrolled = self.scroll_offset.y
        top, bottom = self.row_at_line(scrolled), self.row_at_line(scrolled + self.size.height - 1)
        is_cursor_in_sight = not scrolled or top <= self.cursor <= bottom
        anchor = self.cursor if is_cursor_in_sight else min(top, max(0, self.row_count - 1))
        line_of_anchor = self.first_line_of(anchor) - scrolled
        was_top = self.rows[anchor].hit if self.rows else None
        new_anchor = cursor if is_cursor_in_sight else _find_row(rows, was_top, anchor)
        ranked = [row.hit for row in rows if row.rank and row.hit.confidence is not None]
        top_score = max((hit.score for hit in ranked), default=0.0)
        has_dates = any(row.hit.created is not None for row in rows)
        unchanged = set[int]()
        if (top_score, has_dates) == (self._top_score, self._has_dates):
            pairs = zip(self.rows, rows, strict=False)
            unchanged = {at for at, pair in enumerate(pairs) if _is_drawn_alike(*pair)}
        row_count = self.row_count
        self.rows, self._top_score, self._has_dates = rows, top_score, has_dates
        pack_end = self._find_pack_end() if self._rule else min(self._pack_end, len(rows)) * has_pack_end
        if (pack_end, len(rows)) != (self._pack_end, row_count):
            ends = [pack_end, self._pack_end]
            ends += [_SNIPPETS_WITHOUT_PACK] * (0 in ends)
            unchanged.difference_update(range(min(ends) - 1, max(ends) + 1))  # rule, snippets and signs may differ
        self._pack_end = pack_end
        self._first_lines = tuple(accumulate(map(self._row_lines, range(len(rows))), initial=0))
        self.redraw_rows(cursor, unchanged)
        if scrolled and self.first_line_of(new_anchor) - self.scroll_offset.y != line_of_anchor:
            self.scroll_to(y=self.first_line_of(new_anchor) - line_of_anchor, animate=False, force=True)

    def _row_lines(self, row: int) -> int:
        """Return the number of lines of a row: its names, and what is above and below them."""
        return 1 + self._lines_above(row) + self._has_snippet(row) + self._is_above_last_rule(row)

    def _lines_above(self, row: int) -> int:
        """Return the number of lines of a row above its names: the rule below the pack, and a heading."""
        return self._is_below_rule(row) + bool(self.rows[row].heading)

    def _is_below_rule(self, row: int) -> bool:
        return row == self._pack_end > 0

    def _is_on_hit(self, row: int, line: int) -> bool:
        """Return whether a line of a row, from 0, is about its hit, and not a rule or a heading."""
        return self._lines_above(row) <= line < self._row_lines(row) - self._is_above_last_rule(row)

    def _is_above_last_rule(self, row: int) -> bool:
        """Return whether the rule is below this row, because no other row follows."""
        return row + 1 == self._pack_end == self.row_count

    def _has_snippet(self, row: int) -> bool:
        return self.has_snippets and row < (self._pack_end or _SNIPPETS_WITHOUT_PACK)

    def show_pack_end(self, text: str | None) -> None:
        """Show the rule with `text` below the last row with a hit in the pack; "" for no rule.

        None: the pack is being built, so the rule stays where it is, without a text.
        """
        if text is None and not self._rule:
            return
        self._rule = text or ""
        self._list_rows(self.rows, self.cursor, has_pack_end=text != "")
        rule_row = min(self._pack_end, max(0, self.row_count - 1))
        for row in (*filter(self._is_left_out, range(self._pack_end)), rule_row):
            self.redraw_row(row)

    def _is_left_out(self, row: int) -> bool:
        """Return whether a row is above the rule, but has nothing in the pack."""
        return row < self._pack_end and self.packed_ids.isdisjoint(row_ids(self.rows[row]))

    def _find_pack_end(self) -> int:
        packed = (at for at, row in enumerate(self.rows, 1) if not self.packed_ids.isdisjoint(row_ids(row)))
        return max(packed, default=0)

    def watch_has_snippets(self) -> None:
        self._drawn.clear()
        self._list_rows(self.rows, self.cursor)

    def watch_cursor(self, old: int, new: int) -> None:
        self._has_moved_cursor = True
        super().watch_cursor(old, new)

    def move(self, rows: int) -> None:
        super().move(rows)
        if rows > 0 and self.cursor == self.row_count - 1:
            self.post_message(self.EndReached())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if old_value < new_value and new_value >= self.max_scroll_y:
            self.post_message(self.EndReached())

    def watch_marked_ids(self, old: frozenset[str], new: frozenset[str]) -> None:
        changed = old ^ new
        for index, row in enumerate(self.rows):
            if not changed.isdisjoint(row_ids(row)):
                self.redraw_row(index)

    def watch_packed_ids(self, old: frozenset[str], new: frozenset[str]) -> None:
        self.watch_marked_ids(old, new)

    def watch_source_states(self, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        self.watch_marked_ids(frozenset(old), frozenset(new))

    def watch_remembered_ids(self, old: frozenset[str], new: frozenset[str]) -> None:
        self.watch_marked_ids(old, new)

    # --- selection, keys, mouse ---------------------------------------------------------------------------------------

    def select_fragment(self, fragment_id: str) -> None:
        """Select a fragment, and unfold its note if needed; do nothing if the fragment is not among the hits."""
        hit = next((hit for hit in self.hits if hit.fragment.id == fragment_id), None)
        if hit is not None:
            if any(fragment_id in row.folded for row in self.rows):
                self._unfold(hit.fragment.path, unfolds=True)
            self.cursor = _find_row(self.rows, hit, self.cursor)

    def action_unfold(self, unfolds: bool) -> None:
        """List the further hits of the selected note below its first one, or fold them."""
        if self.selected is not None:
            self._has_moved_cursor = True
            self._unfold(self.selected.fragment.path, unfolds=unfolds)

    def _unfold(self, path: str, *, unfolds: bool) -> None:
        selected = self.selected
        unfolded = self._unfolded | {path} if unfolds else self._unfolded - {path}
        rows = make_rows(self.hits, self._best_first, unfolded)
        self._unfolded = unfolded
        if rows != self.rows:
            self._list_rows(rows, _find_row(rows, selected, self.cursor))
            if self.selected is not selected:
                self.post_message(self.Moved(self, self.cursor))

    def on_focus(self) -> None:
        self.redraw_row(self.cursor)

    def on_blur(self) -> None:
        self.redraw_row(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """Select the clicked row. A click on the mark also toggles the mark, a double click opens the editor.

        A click on the number of further hits lists them.
        """
        clicked = event.y + self.scroll_offset.y
        row = self.row_at_line(clicked)
        if row < self.row_count and not self._is_on_hit(row, clicked - self.first_line_of(row)):
            event.prevent_default()  # Textual calls the method of the base class too
            return
        super().on_click(event)
        if event.x < _INDENT and self.row_count:
            self.post_message(self.MarkClicked())
        elif event.style.meta.get("unfolds"):
            self.action_unfold(True)
        elif event.chain == 2 and self.row_count:
            self.call_next(self.app.run_action, "edit", self.query_ancestor("SearchPane"))

    # --- drawing ------------------------------------------------------------------------------------------------------

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        hit_row = self.rows[row]
        bar = self.cursor_bar(selected)
        right = self._draw_figures(hit_row)
        left = [bar, self._draw_sign(row), (" ", Style.null())]
        room = width - total_cells(left) - total_cells(right) - 1
        left += self._draw_names(hit_row, room, has_snippet=self._has_snippet(row), selected=selected)
        lines = [line(left, right, width, base)]
        if hit_row.heading:
            lines.insert(0, line([(f" {hit_row.heading}", self.style_of("hit--day"))], (), width, self.base_style))
        if self._is_below_rule(row):
            lines.insert(0, self._draw_rule(width))
        if self._has_snippet(row):
            hit = hit_row.hit
            text, matches = _cut_snippet(hit, self._spans_to_highlight(hit.fragment.text, hit.spans), width - _INDENT)
            second: list[StyledPart] = [bar, (" " * (_INDENT - 1), Style.null())]
            second.extend(parts_with_matches(text, matches, self.style_of("hit--heading"), self.style_of("row--match")))
            lines.append(line(second, (), width, base))
        if self._is_above_last_rule(row):
            lines.append(self._draw_rule(width))
        return lines

    def _draw_rule(self, width: int) -> Strip:
        rule = self.style_of("hit--rule")
        text: list[StyledPart] = [(f" {self._rule} ", self.style_of("hit--heading"))] if self._rule else []
        return line([("╌╌", rule), *text, ("╌" * width, rule)], (), width + 1, self.base_style).crop(0, width)

    def _draw_sign(self, row: int) -> StyledPart:
        """Return the sign of a row: marked, a memory or the source of one, used before, or above the rule only.

        In a list in order of date, which has no rule, the sign shows what is in the pack.
        """
        hit_row = self.rows[row]
        fragment_id = hit_row.hit.fragment.id
        if fragment_id in self.marked_ids:
            return "●", self.style_of("hit--mark")
        if not hit_row.rank or fragment_id in self.remembered_ids:
            return "◆", self.style_of("hit--memory")
        if hit_row.hit.past_uses:
            return "↺", self.style_of("hit--memory")
        if self._best_first is not None and fragment_id in self.packed_ids:
            return "○", self.style_of("hit--heading")
        return "–" if self._rule and self._is_left_out(row) else " ", self.style_of("row--faint")

    def _draw_names(self, row: HitRow, cells: int, *, has_snippet: bool, selected: bool) -> list[StyledPart]:
        """Return the title and headings of a hit, for an attachment after its kind; for a memory, title and source.

        Rows of one section differ by their lines, or by their snippets. A hit that is listed for a link says so. The
        number of the note's further hits follows.
        """
        hit = row.hit
        title, soft, match = self.style_of("hit--title"), self.style_of("hit--heading"), self.style_of("row--match")
        if is_memory(hit):
            source = hit.fragment.heading_path[0] if hit.fragment.heading_path else ""
            state = self.source_states.get(hit.fragment.id)
            return [
                self.vault_part(source),
                (visible_line(hit.fragment.title), title),
                (f" · source {state}" if state else "", self.style_of("hit--stale")),
                (_format_memory_source(hit.fragment), soft),
            ]
        folded, counts, number, key = self._draw_folded(row, selected=selected)
        short, mark = self._draw_mark(hit)
        detail = f" · {row.lines}" if row.lines and not has_snippet else ""
        if (link := hit.linked_from) is not None:
            detail = f" · {link.phrase} {fit(visible_line(link.title), cells // 3)}{detail}"
        lines = (detail, soft)
        suffix = [lines, short, number]
        names = [(text, self._spans_to_highlight(text, spans)) for text, spans in list_names(hit)]
        if row.repeats_note and len(names) > 1:
            headings = shorten_headings(names[1:], cells - _SAME_NOTE_INDENT - total_cells(suffix))
            return [(" " * _SAME_NOTE_INDENT, soft), *name_parts(headings, soft, soft, match), *suffix]
        kind = f"{visible_line(hit.fragment.kind)} " if hit.fragment.kind else ""
        vault, path = self.vault_part(hit.fragment.path), hit.fragment.path
        before = [vault, (kind, self.style_of("hit--memory"))]
        after = (self.format_folder(path, row.folder, cells // 3), soft)
        first, *others = shorten_names(names, cells - total_cells([*before, after, *suffix]))
        parts = [*before, *name_parts([first], title, soft, match), after]
        if others:
            parts += [(NAME_SEPARATOR, soft), *name_parts(others, soft, soft, match)]
        ends = ((mark, folded, key), (mark, folded), (short, folded, key), (short, folded), (short, counts))
        longest_first = ([*parts, lines, *end] for end in ends)
        return next((each for each in longest_first if total_cells(each) <= cells), [*parts, *suffix])

    def _draw_mark(self, hit: Hit) -> tuple[StyledPart, StyledPart]:
        """Return that the note of a hit is replaced, in one word and with what replaces it; empty if it is not."""
        if hit.replaced is None:
            return ("", Style.null()), ("", Style.null())
        style = self.style_of("hit--stale")
        return (f" · {hit.replaced.short_mark}", style), (f" · {visible_line(hit.replaced.mark)}", style)

    def _draw_folded(self, row: HitRow, *, selected: bool) -> Sequence[StyledPart]:
        """Return how many further hits of its note a row folds, and how many of them are marked or packed.

        This as a phrase, as numbers, and for a title that is cut as the first number, which a mark follows. The last
        part is the key that lists the hits, in the selected row.
        """
        count = len(row.folded)
        if not count:
            return (("", Style.null()),) * 4
        marked, packed = (sum(each in ids for each in row.folded) for ids in (self.marked_ids, self.packed_ids))
        state = f", {marked} marked" if marked else f", {packed} in the pack" if packed else ""
        key = f" {key_sign('list-unfold')}" if selected and self.has_focus else ""
        style = self.style_of("hit--mark" if marked else "hit--heading" if packed else "row--faint") + _UNFOLDS
        short = f", {marked} marked" if marked else f", {packed} packed" if packed else ""
        number = f" +{count}●" if marked else f" +{count}"
        return (f" +{count} in this note{state}", style), (f" +{count}{short}", style), (number, style), (key, style)

    def _draw_figures(self, row: HitRow) -> list[StyledPart]:
        """Return the score, tinted by its share of the best score, and in a wide terminal the note's age.

        If no hit has a score, or no note a date, that column is left out.
        """
        hit, faint = row.hit, self.style_of("row--faint")
        figures: list[StyledPart] = []
        if self._top_score > 0 and row.rank and hit.confidence is not None:
            step = min(int(hit.score / self._top_score * len(_SCORE_STYLES)), len(_SCORE_STYLES) - 1)
            figures.append((f"{hit.score:.2f}", self.style_of(_SCORE_STYLES[max(step, 0)])))
        if self._has_dates and self.app.size.width >= _MIN_COLUMNS_FOR_AGE:
            figures.append((f"{_format_age(hit.created):>5}", faint))
        return [*figures, (" ", faint)]

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


def _format_memory_source(fragment: Fragment) -> str:
    """Return the file name of a memory's source, and the reason why the memory was kept; "" if it has neither."""
    if not fragment.heading_path:
        return ""
    source, *reasons = fragment.heading_path
    return NAME_SEPARATOR + " · ".join((source.rpartition("/")[2], *reasons))


def _cut_snippet(hit: Hit, spans: Sequence[Span], cells: int) -> tuple[str, list[tuple[int, int]]]:
    from excerpt.text.snippet import snippet  # imports the Markdown reader, which an empty list does not need

    return snippet(hit.fragment.text, spans, cells)
