"""The panel of related notes, best first, and below them the reasons why the selected note is related."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import reactive, var
from textual.strip import Strip

from excerpt.base.model import Fragment, Span
from excerpt.service.note_questions import Location
from excerpt.text.display import visible_line
from excerpt.text.snippet import snippet
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.line_drawing import StyledRun, TextStyle, wrap
from excerpt.tui.common.line_view import LineView
from excerpt.tui.common.notice import EmptyState, Notice
from excerpt.tui.common.row_list import RowList, format_place
from excerpt.tui.common.strips import StyledPart, fit, horizontal_bar, line
from excerpt.tui.insight.controller import InsightController
from excerpt.tui.keymap import key_sign

if TYPE_CHECKING:
    from excerpt.insight.results import MatchedFragment, PassageMatch, RelatedNote, RelatedNotes

_MIN_CELLS_FOR_FOLDER = 58
"""Minimum width in cells to show folders and badges."""
_BAR_CELLS = 8
_LINK_SIGNS = {"to": "→", "from": "←", "both": "↔"}


class RelatedList(RowList):
    """List of related notes, one row each: title, folder, links and score."""

    ROW_HEIGHT = 1
    BINDINGS: ClassVar[list[BindingType]] = bindings("Search tab, focus on the related notes", moves=True)

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "related--title",
        "related--soft",
        "related--badge",
        "related--bar",
        "related--mark",
    }

    DEFAULT_CSS = """
    RelatedList {
        height: auto;
        max-height: 40%;
        & > .related--title { text-style: bold; }
        & > .related--soft { color: $text-soft; }
        & > .related--badge { color: $warning; }
        & > .related--bar { color: $primary; }
        & > .related--mark { color: $secondary; text-style: bold; }
    }
    """

    notes: reactive[tuple[RelatedNote, ...]] = reactive((), init=False)
    marked: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the marked fragments."""

    @property
    def row_count(self) -> int:
        return len(self.notes)

    def watch_notes(self) -> None:
        self.styles.height = max(1, len(self.notes))
        self.redraw_rows()

    def watch_marked(self) -> None:
        self.redraw_rows(self.cursor)

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        note = self.notes[row]
        marked = any(match.related_passage.fragment.id in self.marked for match in note.matches)
        left: list[StyledPart] = [
            self.cursor_bar(selected),
            (f"{row + 1:>2} ", self.style_of("row--faint")),
            ("● " if marked else "  ", self.style_of("related--mark")),
            self.vault_part(note.path) if width < _MIN_CELLS_FOR_FOLDER else ("", Style.null()),
            (visible_line(note.title), self.style_of("related--title")),
        ]
        folder = note.path.rpartition("/")[0]
        right: list[StyledPart] = []
        if width >= _MIN_CELLS_FOR_FOLDER:
            left.append((f"  {visible_line(folder)}/" if folder else "", self.style_of("related--soft")))
            right.append(("no link yet " if note.missing_link else "", self.style_of("related--badge")))
        sign = "!" if note.missing_link else _LINK_SIGNS.get(note.linked, " ")
        right.append((f"{sign} ", self.style_of("related--badge" if note.missing_link else "related--soft")))
        maximum = max(each.score for each in self.notes)
        right.append(
            (horizontal_bar(note.score / maximum if maximum > 0 else 0.0, _BAR_CELLS), self.style_of("related--bar"))
        )
        right.append((f" {note.score:.2f} ", self.style_of("row--faint")))
        return (line(left, right, width, base),)


class RelatedWhy(LineView, can_focus=False):
    """The reasons why the selected note is related. The selected reason is marked in the margin.

    `reason` is the number of the selected reason, from 0.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "why--label",
        "why--text",
        "why--soft",
        "why--match",
        "why--badge",
        "why--margin",
    }

    DEFAULT_CSS = """
    RelatedWhy {
        height: 1fr;
        border-top: solid $border-blurred;
        & > .why--label { color: $text-faint; }
        & > .why--soft { color: $text-soft; }
        & > .why--match { color: $accent; text-style: bold; }
        & > .why--badge { color: $warning; }
        & > .why--margin { color: $accent; }
    }
    """

    note: reactive[RelatedNote | None] = reactive(None, init=False)
    reason: reactive[int] = reactive(0, init=False)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._lines: list[WhyLine] = []

    def watch_note(self) -> None:
        self._lay_out()
        self.scroll_to(y=0, animate=False, force=True, immediate=True)

    def watch_reason(self) -> None:
        self.refresh()
        rows = [row for row, each in enumerate(self._lines) if each.reason == self.reason]
        height = self.scrollable_content_region.height
        if rows and not (self.scroll_offset.y <= rows[0] and rows[-1] < self.scroll_offset.y + height):
            self.scroll_to(y=rows[0], animate=False, force=True)

    def on_resize(self) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width - 2
        self._lines = draw_why_lines(self.note, width) if self.note is not None and width > 0 else []
        self.set_line_count(len(self._lines))

    def scroll_pages(self, pages: int) -> None:
        step = max(1, self.scrollable_content_region.height - 1)
        self.scroll_relative(y=pages * step, animate=False)

    def render_line(self, y: int) -> Strip:
        width, row = self.scrollable_content_region.width, y + self.scroll_offset.y
        if row >= len(self._lines):
            return Strip.blank(width, self.base_style)
        shown = self._lines[row]
        selected = shown.reason is not None and shown.reason == self.reason
        margin: StyledPart = ("▌" if selected else " ", self._style("margin"))
        return line([margin, *((text, self._style(name)) for text, name in shown.pieces)], (), width, self.base_style)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"why--{name}", partial=True)


class RelatedPanel(Vertical):
    """The panel with the list of related notes and the reasons for the selected one, or with a message instead."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Search tab, focus on the related notes", moves=False)

    related: var[RelatedNotes | None] = var(None, init=False)
    empty_state = EmptyState("Related notes")
    """Message shown in place of the list if no related notes are known."""

    def __init__(self, insight: InsightController, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._insight = insight
        self.rows = RelatedList(id="related-notes")
        self.why = RelatedWhy(id="related-why")

    def compose(self) -> ComposeResult:
        yield self.rows
        yield self.why
        yield Notice(id="related-notice")

    def on_mount(self) -> None:
        self.border_title = "related"
        self._show_list_or_message()

    @property
    def selected(self) -> RelatedNote | None:
        return self.rows.notes[self.rows.cursor] if self.rows.notes else None

    @property
    def reason(self) -> RelatedReason | None:
        """The selected reason of the selected note; None if no note is listed."""
        return list_reasons(self.selected)[self._reason_number] if self.selected is not None else None

    @property
    def _reason_number(self) -> int:
        """Number of the selected reason, from 0.

        For a note that was just selected this is the initial reason, even if the previous note is still drawn.
        """
        note = self.selected
        return self.why.reason if note is None or note is self.why.note else initial_reason_number(note)

    # --- actions ------------------------------------------------------------------------------------------------------

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - `HasDisabledReason`'s name
        """Return why an action is disabled; "" if it is enabled."""
        if action in ("follow", "reason") and self.reason is None:
            return "No related note is listed."
        return (
            "There is no way back: this is the passage that you started from."
            if action == "follow_back" and self._insight.trail_end is None
            else ""
        )

    def action_reason(self, steps: int) -> None:
        """Select the reason `steps` after the selected one (before it, if negative), in a circle."""
        if self.selected is not None:
            number = (self._reason_number + steps) % len(list_reasons(self.selected))
            self._show_why()
            self.why.reason = number
            self.refresh_bindings()

    def action_follow(self) -> None:
        """Show the notes related to the passage of the selected reason, or to the note if the reason is a name."""
        note, reason = self.selected, self.reason
        if note is None or reason is None:
            return
        fragment = reason.fragment
        self._insight.add_to_trail(
            Location("", note.path, note.line)
            if fragment is None
            else Location(fragment.id, fragment.path, fragment.line_start, reason.spans)
        )

    def action_follow_back(self) -> None:
        self._insight.go_back()

    def action_whole_note(self) -> None:
        """Toggle between notes related to the whole note and to the fragment alone."""
        self._insight.toggle_whole_note()

    def action_toggle_linked(self) -> None:
        """Hide notes that are linked already, or show them again."""
        self._insight.toggle_linked()

    def watch_related(self, old: RelatedNotes | None, new: RelatedNotes | None) -> None:
        """Show other related notes; if they are for the same note and line, keep the cursor on its note."""
        is_same_place = old is not None and new is not None and (old.path, old.line) == (new.path, new.line)
        before = self.selected.path if is_same_place and self.selected is not None else ""
        self.rows.notes = new.notes if new is not None else ()
        paths = [note.path for note in self.rows.notes]
        self.rows.cursor = paths.index(before) if before in paths else 0
        self._show_list_or_message()
        self.refresh_bindings()

    def show_message(self, empty_state: EmptyState) -> None:
        """Show a message in place of the list."""
        self.empty_state, self.related = empty_state, None
        self._show_list_or_message()

    def on_resize(self) -> None:
        self.border_title = self._panel_title()

    @on(RowList.Moved)
    def _handle_cursor_move(self) -> None:
        self._show_why()

    def _show_list_or_message(self) -> None:
        notice, shown = self.query_one("#related-notice", Notice), self.related is not None and bool(self.related.notes)
        if self.related is not None and self.related.hidden and not shown:
            notice.empty_state = EmptyState(
                "No related notes without a link",
                f"All {self.related.hidden} related notes are linked with this note. "
                f"{key_sign('related-unlinked')} shows them.",
            )
        elif self.related is not None and not shown:
            notice.empty_state = EmptyState(
                "No related notes", "No other note shares words, meaning or links with this one."
            )
        else:
            notice.empty_state = self.empty_state
        notice.display, self.why.display = not shown, shown
        self.border_title = self._panel_title()
        self._show_why()

    def _show_why(self) -> None:
        note = self.selected
        self.why.set_reactive(RelatedWhy.reason, initial_reason_number(note) if note is not None else 0)
        self.why.note = note

    def _panel_title(self) -> str:
        """Return the border title, with brackets escaped, because Textual reads it as markup."""
        related = self.related
        if related is None:
            return "related"
        fragment = related.fragment
        where = " · the whole note"
        if fragment is not None:
            heading = f" › {visible_line(fragment.heading_path[-1])}" if fragment.heading_path else ""
            where = f"{heading} · {format_place(fragment.place, fragment.line_start, fragment.line_end)}"
        hidden = f"not linked yet, {related.hidden} hidden · " if self._insight.hides_linked else ""
        name = f"{hidden}related to {visible_line(related.title)}{where}"
        return fit(name, max(10, self.size.width - 6)).replace("[", r"\[")


MIN_SIDE_BY_SIDE_CELLS = 64
"""Minimum width in cells to show two passages side by side. Below it, a column has about four words a line."""

_MAX_PASSAGE_ROWS = 6
"""Maximum lines of a passage in two columns; in one column, each passage has half as many."""
_MAX_MENTIONS_SHOWN = 3
"""Maximum number of mentions of the note's name that are shown one by one."""
_MIN_SHOWN_SCORE_PART = 0.005
"""Minimum part of a score that is shown; a smaller part would be rounded to 0.00."""
_MAX_WORDS_SHOWN = 8

StyledPiece = tuple[str, str]
"""A text and the name of its style: "label", "text", "soft", "match" or "badge"."""


class RelatedReason(Struct, frozen=True):
    """A reason why a note is related: a similar passage, or a line where one of the two notes names the other.

    `path` and `line` are where the user can go. For a passage, `fragment` is set, and `spans` are its matches.
    """

    path: str
    line: int
    fragment: Fragment | None = None
    spans: tuple[Span, ...] = ()


class WhyLine(Struct, frozen=True):
    """A line of the explanation why a note is related. `reason` is the number of its reason, None for other lines."""

    pieces: tuple[StyledPiece, ...]
    reason: int | None = None


def list_reasons(note: RelatedNote) -> tuple[RelatedReason, ...]:
    """Return the reasons why a note is related, as `draw_why_lines` orders them; there is always at least one."""
    named = [RelatedReason(mention.path, mention.line) for mention in note.mentions[:_MAX_MENTIONS_SHOWN]]
    passages = [
        RelatedReason(
            match.related_passage.fragment.path,
            match.related_passage.fragment.line_start,
            match.related_passage.fragment,
            match.related_passage.spans,
        )
        for match in note.matches
    ]
    return (*named, *passages) or (RelatedReason(note.path, note.line),)


def initial_reason_number(note: RelatedNote) -> int:
    """Return the number of the reason to select at first: the best passage, else the first reason."""
    return len(note.mentions[:_MAX_MENTIONS_SHOWN]) if note.matches else 0


def draw_why_lines(note: RelatedNote, width: int) -> list[WhyLine]:
    """Return the lines that explain why a note is related, the most important first.

    They are at most `width` cells wide, except for a long name or path.
    """
    lines = [*_wrap_pieces(_format_score(note), width)]
    if sentence := note.linked.sentence:
        lines.append(_make_labelled_line("links", (f"{sentence[0].upper()}{sentence[1:]}.", "text")))
    lines.extend(_draw_mentions(note))
    first = len(note.mentions[:_MAX_MENTIONS_SHOWN])
    passages = [_draw_passage_pair(match, first + index, width) for index, match in enumerate(note.matches)]
    rest = [*_draw_common_links(note, width), *_draw_words(note, width)]
    if note.tags:
        rest.append(_make_labelled_line("tags", (" ".join(f"#{visible_line(tag)}" for tag in note.tags), "text")))
    lines.extend(passages[0] if passages else ())
    for part in (rest, *passages[1:]):
        if part:
            lines.extend((WhyLine(()), *part))
    return lines


def _make_labelled_line(label: str, *pieces: StyledPiece, reason: int | None = None) -> WhyLine:
    return WhyLine((_label_piece(label), (" ", "label"), *pieces), reason)


def _label_piece(text: str) -> StyledPiece:
    return f"{text:<6}", "label"


def _draw_mentions(note: RelatedNote) -> Iterable[WhyLine]:
    for number, mention in enumerate(note.mentions[:_MAX_MENTIONS_SHOWN]):
        name = (f"“{visible_line(mention.text)}”", "match")
        badge = (" · no link yet" if note.missing_link else "", "badge")
        where = (f" in {visible_line(mention.path)}:{mention.line}", "text")
        yield _make_labelled_line("names", name, where, badge, reason=number)
    if more := len(note.mentions[_MAX_MENTIONS_SHOWN:]):
        yield _make_labelled_line("", (f"and {more} more", "soft"))


def _draw_common_links(note: RelatedNote, width: int) -> Iterable[WhyLine]:
    for label, to_both in (("both link to", False), ("link to both:", True)):
        titles = [visible_line(link.title) for link in note.common if link.links_to_both is to_both]
        if titles:
            named = [f"{title}," for title in titles[:-1]] + titles[-1:]
            yield from _wrap_pieces(
                [_label_piece("common"), (label, "soft"), *((title, "text") for title in named)], width
            )


def _draw_words(note: RelatedNote, width: int) -> Iterable[WhyLine]:
    shown = note.words[:_MAX_WORDS_SHOWN]
    words = [f"{visible_line(word.word)} ({word.notes})" for word in shown]
    if words:
        words[0] = f"{words[0][:-1]} note{'' if shown[0].notes == 1 else 's'})"
        yield from _wrap_pieces([_label_piece("words"), *((word, "text") for word in words)], width)


def _format_score(note: RelatedNote) -> list[StyledPiece]:
    """Return the score of a note and the parts whose sum it is, the largest part first."""
    shown = (signal for signal in note.signals if abs(signal.part) >= _MIN_SHOWN_SCORE_PART)
    parts = sorted(shown, key=lambda signal: -abs(signal.part))
    pieces: list[StyledPiece] = [(f"{note.score:.2f} =", "label")]
    for index, signal in enumerate(parts):
        sign = "" if index == 0 else "+ " if signal.part >= 0 else "− "
        pieces.append((f"{sign}{abs(signal.part):.2f} {signal.name}", "text"))
    return pieces


def _wrap_pieces(pieces: Sequence[StyledPiece], width: int) -> Iterable[WhyLine]:
    """Yield lines with as many pieces, separated by spaces, as fit into `width` cells.

    All lines but the first are indented by the width of the first piece.
    """
    line: list[StyledPiece] = [pieces[0]]
    used = cell_len(pieces[0][0])
    indent = (" " * used, "label")
    for text, style in pieces[1:]:
        if used + 1 + cell_len(text) > width and len(line) > 1:
            yield WhyLine(tuple(line))
            line, used = [indent], cell_len(indent[0])
        line.extend(((" ", "label"), (text, style)))
        used += 1 + cell_len(text)
    yield WhyLine(tuple(line))


# --- passages ---------------------------------------------------------------------------------------------------------


def _draw_passage_pair(match: PassageMatch, number: int, width: int) -> list[WhyLine]:
    """Return the lines of two similar passages, in two columns if there is room; `number` is that of the reason."""
    return [*(_draw_side_by_side if width >= MIN_SIDE_BY_SIDE_CELLS else _draw_stacked)(match, number, width)]


def _draw_side_by_side(match: PassageMatch, number: int, width: int) -> Iterable[WhyLine]:
    side = (width - 3) // 2
    left = [
        _format_passage_heading("here ", match.passage, None, side),
        *_wrap_passage(match.passage, side, _MAX_PASSAGE_ROWS),
    ]
    right = [
        _format_passage_heading("there", match.related_passage, match.similarity, side),
        *_wrap_passage(match.related_passage, side, _MAX_PASSAGE_ROWS),
    ]
    for row in range(max(len(left), len(right))):
        left_row, right_row = (rows[row] if row < len(rows) else () for rows in (left, right))
        yield WhyLine((*_pad_pieces(left_row, side), (" │ ", "soft"), *right_row), number)


def _draw_stacked(match: PassageMatch, number: int, width: int) -> Iterable[WhyLine]:
    for name, passage, alike in (("here ", match.passage, None), ("there", match.related_passage, match.similarity)):
        yield WhyLine(_format_passage_heading(name, passage, alike, width), number)
        yield from (WhyLine(row, number) for row in _wrap_passage(passage, width, _MAX_PASSAGE_ROWS // 2))


def _format_passage_heading(
    name: str, passage: MatchedFragment, similarity: float | None, width: int
) -> tuple[StyledPiece, ...]:
    """Return the heading of a passage, such as `there 8–10 · Heading · alike 0.83`, without an unknown similarity."""
    fragment = passage.fragment
    lines = format_place(fragment.place, fragment.line_start, fragment.line_end)
    alike = f" · alike {similarity:.2f}" if similarity is not None else ""
    heading = f" · {visible_line(fragment.heading_path[-1])}" if fragment.heading_path else ""
    room = width - cell_len(f"{name} {lines}{alike}")
    return ((f"{name} ", "label"), (lines, "label"), (fit(heading, room), "soft"), (alike, "label"))


def _wrap_passage(passage: MatchedFragment, width: int, max_rows: int) -> list[tuple[StyledPiece, ...]]:
    """Return the part of a passage around its matches, wrapped to at most `max_rows` lines of `width` cells."""
    text, matches = snippet(passage.fragment.text, passage.spans, width * max_rows)
    runs: list[StyledRun] = []
    at = 0
    for start, end in matches:
        first = max(start, at)
        runs += [StyledRun(text[at:first], TextStyle.PLAIN), StyledRun(text[first:end], TextStyle.MATCH)]
        at = max(at, end)
    rows = wrap([*runs, StyledRun(text[at:], TextStyle.PLAIN)], width, 0)
    shown = [
        tuple((run.text, "match" if run.text_style is TextStyle.MATCH else "text") for run in row if run.text)
        for row in rows[:max_rows]
    ]
    if len(rows) > max_rows and shown[-1]:
        *before, (last, style) = shown[-1]
        room = width - sum(cell_len(text) for text, _ in before)
        shown[-1] = (*before, (fit(f"{last.rstrip()} …", room), style))
    return shown


def _pad_pieces(pieces: tuple[StyledPiece, ...], width: int) -> tuple[StyledPiece, ...]:
    used = sum(cell_len(text) for text, _ in pieces)
    return (*pieces, (" " * max(0, width - used), "text"))
