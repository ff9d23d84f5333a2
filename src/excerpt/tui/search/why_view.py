"""Explain the rank of a hit, or why a note is not ranked higher: a sentence first, then tables of numbers.

The explanation is computed on the engine's thread. Vault text in it is never read as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Input, Static

from excerpt.base.kinds import Confidence
from excerpt.base.locations import format_location
from excerpt.base.model import Hit, Result, Signal
from excerpt.search.rank_reasons import format_rank
from excerpt.service.questions import AskWhy
from excerpt.text.columns import GAIN_CHARACTER, LOSS_CHARACTER
from excerpt.text.display import format_count, format_percent, visible, visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.dialog import Dialog, DialogBox
from excerpt.tui.common.field import Field
from excerpt.tui.common.notice import EmptyState
from excerpt.tui.common.strips import click_style
from excerpt.tui.keymap import format_key, key_sign

if TYPE_CHECKING:
    from excerpt.search.rank_reasons import NoteExplanation, StrategyRank
    from excerpt.search.results import WordContribution

Colours = Mapping[str, str]
"""The colours of the theme, by the name of their variable."""

SIGNAL_LEGEND: Mapping[str, str] = {
    "words": "it has your words, above all rare ones",
    "intro_words": "your words are at the start of its note",
    "proximity": "your words are close together in it",
    "meaning": "it is about what your query is about",
    "title": "your words match a name of its note",
    "anchor": "links to its note have your words",
    "heading": "your words match its own heading",
    "outline": "your words are in the headings above it",
    "note": "your words are in the rest of its note too",
    "coverage": "it has many of your different words",
    "intro_meaning": "the start of its note is about what your query is about",
    "attachment": "it is in an attachment, which counts less",
    "accents": "it has your words with other accents, which counts less",
    "coherence": "the text next to it is about what your query is about",
    "links": "many of the matching notes link to its note",
    "recency": "its note was changed recently",
    "reopened": "you opened, marked or copied it for similar words",
    "time": "its date is in or near the time that you named",
    "rerank": "the reranker prefers it to other first hits; below 0 if it prefers others",
    "place": "it has the score of its place: meaning, a link or a note that it replaces puts it higher, or hits of its "
    "note are above",
    "name": "your query is its note's title, file name or alias",
    "listed": "it passes the filters; the newest come first",
}
"""For each signal (a number that adds to the score), a phrase that says when it is high."""
MAX_STRONGEST_SIGNALS = 6
"""Number of signals in the first table, those that change the score most. The others are summed in one row there."""
_SIGNAL_CELLS = max(map(len, SIGNAL_LEGEND))
_MAX_BAR_CELLS = 40
"""Maximum width in cells of a bar in a table: a longer bar is no easier to read."""


SendWhyRequest = Callable[[AskWhy, "Callable[[NoteExplanation], object]"], object]
"""Sends a request to the engine, and calls the function given second with the answer."""


class WhyView(VerticalScroll):
    """A view that explains a rank: the signals of a hit at once, the full explanation when the engine has answered."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Search tab, focus on the reasons")

    DEFAULT_CSS = "WhyView { padding: 0 1; & > Static { height: auto; } }"

    @dataclass
    class Answered(Message):
        """Sent when the engine has answered and the explanation is shown."""

        answer: NoteExplanation

    @dataclass
    class ForgetRequested(Message):
        """Sent when the user wants to forget the past uses that raise a hit."""

        hit: Hit

    def __init__(self, send_request: SendWhyRequest, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(Static(), id=id, classes=classes)
        self._send_request = send_request
        self._hit_or_name: Hit | str = ""
        self._result: Result | None = None
        self._draw_content: Callable[[Colours], RenderableType] = lambda _: ""

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self._draw())
        self._draw()

    def show_text(self, text: EmptyState) -> None:
        """Show a text in place of an explanation, because there is nothing to explain."""
        self._set_subject("")
        lines = Text("\n\n".join(visible(line) for line in (text.title, text.sentence, text.hint) if line))
        self._show(lambda _: lines)

    def explain(self, result: Result, hit_or_name: Hit | str) -> None:
        """Explain the rank of a hit of `result`, or of the note with a name."""
        is_repeat = hit_or_name == self._hit_or_name
        self._set_subject(hit_or_name)
        self._result = result
        if isinstance(hit_or_name, Hit) and not is_repeat:
            rank, top = result.best_first.index(hit_or_name) + 1, result.best_first[0].score
            heading = Text(f"{format_rank(rank, _find_note_rank(result, hit_or_name.fragment.path))}.\n", "bold")
            self._show(
                lambda colours: Group(
                    heading, *render_hit(hit_or_name, hit_or_name.score / top if top > 0 else 0.0, colours)
                )
            )
        request = AskWhy(result.query, result.requested_strategy, hit_or_name, result.reranked_hits)
        self._send_request(request, self._handle_answer)

    def _set_subject(self, hit_or_name: Hit | str) -> None:
        self._hit_or_name = hit_or_name
        self.refresh_bindings()

    def _handle_answer(self, answer: NoteExplanation) -> None:
        if self.is_attached and self._hit_or_name:
            can_forget = self._reopened_hit is not None
            note_rank = _find_note_rank(self._result, answer.path)
            self._show(lambda colours: render_explanation(answer, colours, can_forget=can_forget, note_rank=note_rank))
            self.post_message(self.Answered(answer))

    def _show(self, draw_content: Callable[[Colours], RenderableType]) -> None:
        self._draw_content = draw_content
        if self.is_mounted:
            self._draw()
            self.scroll_home(animate=False)

    def _draw(self) -> None:
        self.query_one(Static).update(self._draw_content(self.app.theme_variables))

    @property
    def _reopened_hit(self) -> Hit | None:
        """The explained hit, if past uses raise it."""
        hit = self._hit_or_name
        return hit if isinstance(hit, Hit) and hit.past_uses else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return False for forgetting while there is nothing to forget, so that its key has another use."""
        return self._reopened_hit is not None if action == "forget" else super().check_action(action, parameters)

    def action_forget(self) -> None:
        if (hit := self._reopened_hit) is not None:
            self.post_message(self.ForgetRequested(hit))


# --- tables and texts -------------------------------------------------------------------------------------------------


def _find_note_rank(result: Result | None, path: str | None) -> int:
    """Return the rank of a note, which is that of its row in the list of hits; 0 if none of its hits is listed."""
    notes = list(dict.fromkeys(hit.fragment.path for hit in result.best_first)) if result is not None else []
    return notes.index(path) + 1 if path in notes else 0


def render_explanation(
    answer: NoteExplanation, colours: Colours, *, can_forget: bool = False, note_rank: int = 0
) -> RenderableType:
    """Return the explanation of a rank for the terminal: a sentence, then the tables of numbers behind it.

    `can_forget` adds a line to click that forgets the past uses, which the sentence names. `note_rank` is the rank of
    the note in the list; 0 if it is not listed.
    """
    explanation = answer.explanation
    parts: list[RenderableType] = [Text(visible_line(answer.describe(note_rank)), "bold")]
    if can_forget:
        # A click gives the view the focus before it runs the action.
        style = Style.parse(f"underline {colours['accent']}") + click_style("focused.forget")
        parts.append(Text.assemble(("Forget this", style)))
    parts.append(Text())
    if explanation is not None:
        parts += render_hit(explanation.hit, explanation.share, colours)
        if explanation.words:
            parts += [Text(), _word_table(explanation.words, colours)]
    if answer.signal_gaps:
        parts += [Text(), _gap_table(answer, colours)]
    if any(strategy_rank.rank is not None for strategy_rank in answer.ranks):
        parts += [Text(), _ranks_table(answer.ranks, colours)]
    if explanation is not None:
        if weaker := split_signals(explanation.hit.signals)[1]:
            parts += [Text(f"\nThe {len(weaker)} weaker signals:"), _signal_table(weaker, colours)]
        parts += [Text(), _legend_table(explanation.hit.signals, colours)]
    return Group(*parts)


def split_signals(signals: Sequence[Signal]) -> tuple[list[Signal], list[Signal]]:
    """Return the signals that change the score most, then the weaker ones, each group with the strongest first.

    A single weaker signal is returned in the first group, because it takes as much room as a sum.
    """
    used = sorted((signal for signal in signals if signal.part), key=lambda signal: -abs(signal.part))
    count = len(used) if len(used) == MAX_STRONGEST_SIGNALS + 1 else MAX_STRONGEST_SIGNALS
    return used[:count], used[count:]


def _signal_table(signals: Sequence[Signal], colours: Colours, weaker: Sequence[Signal] = ()) -> Table:
    """Return a table of signals with their points, and a row with the sum of the `weaker` ones."""
    table = _make_table(("signal", _SIGNAL_CELLS), ("value", -5), ("×", -5), ("= points", -8), ("", 0), colours=colours)
    rest = sum(signal.part for signal in weaker)
    points = [*(signal.part for signal in signals), *([rest] if weaker else [])]
    bars = waterfall_bars(points, (colours["primary"], colours["warning"]))
    for signal, bar in zip(signals, bars, strict=False):
        table.add_row(signal.name, f"{signal.value:.2f}", f"{signal.weight:.2f}", f"{signal.part:.3f}", bar)
    if weaker:
        table.add_row(Text(f"{len(weaker)} weaker", colours["text-soft"]), "", "", f"{rest:.3f}", bars[-1])
    return table


def render_hit(hit: Hit, share: float, colours: Colours) -> Iterator[RenderableType]:
    """Yield the path and lines of a hit, and a table of its signals, whose points add up to its score.

    `share` is the hit's score relative to the first hit's, 0 to 1.
    """
    fragment, soft = hit.fragment, colours["text-soft"]
    lines = format_location(fragment.place, fragment.line_start, fragment.line_end, "–")
    yield Text(f"{visible_line(fragment.path)}, {lines}\n", soft)
    strongest, weaker = split_signals(hit.signals)
    table = _signal_table(strongest, colours, weaker)
    strong = f"bold {colours['foreground']}"
    table.add_row(
        Text("score", strong), "", "", Text(f"{hit.score:.3f}", strong), WaterfallBar(0.0, 1.0, colours["accent"])
    )
    yield table
    # That nothing answers is said of the whole list, where it may be unsure.
    is_sure = hit.confidence not in (None, Confidence.NOTHING)
    confidence = f"; {hit.confidence}" if is_sure else ""
    unused = [signal.name for signal in hit.signals if signal.weight and not signal.part]
    unused_note = f"; no points for {', '.join(unused)}" if unused else ""
    yield Text(f"{format_percent(share)} of the first hit's score{confidence}{unused_note}", soft)


def _word_table(words: Sequence[WordContribution], colours: Colours) -> Table:
    soft = colours["text-soft"]
    table = _make_table(("word", 12), ("adds", -5), ("where", 0), colours=colours)
    for word in words:
        where = Text(", ".join(word.where), soft if word.is_missing else "")
        if word.fragments:
            rarity = f"; in {format_count(word.fragments, 'passage')}, rarity {word.idf * word.term_weight:.2f}"
            where.append("\n".join((rarity, *map(visible_line, word.remarks))), soft)
        table.add_row(Text(visible_line(word.word), no_wrap=True, overflow="ellipsis"), f"{word.part:.3f}", where)
    return table


def _gap_table(answer: NoteExplanation, colours: Colours) -> RenderableType:
    reference = "the hit above it" if answer.compared == 1 else f"the {answer.compared} best hits above it (their mean)"
    table = _make_table(("signal", _SIGNAL_CELLS), ("here", -5), ("above", -5), ("costs", -6), ("", 0), colours=colours)
    gaps = [gap for gap in answer.signal_gaps if round(gap.cost, 3)]
    bar_colours = (colours["warning"], colours["success"])
    for gap, bar in zip(gaps, waterfall_bars([gap.cost for gap in gaps], bar_colours, is_cost=True), strict=True):
        table.add_row(gap.signal, f"{gap.value:.2f}", f"{gap.above:.2f}", f"{gap.cost:+.3f}", bar)
    strong = f"bold {colours['foreground']}"
    table.add_row(Text("behind by", strong), "", "", Text(f"{sum(gap.cost for gap in gaps):.3f}", strong))
    return Group(Text(f"Why it ranks below {reference}:"), table)


def _ranks_table(ranks: Sequence[StrategyRank], colours: Colours) -> Text:
    text = Text("Rank by strategy: ", colours["text-soft"])
    for number, strategy_rank in enumerate(ranks):
        text.append(" · " if number else "")
        text.append(f"{strategy_rank.strategy} ")
        text.append("–" if strategy_rank.rank is None else f"{strategy_rank.rank:,}", colours["foreground"])
    return text


def _legend_table(signals: Sequence[Signal], colours: Colours) -> Table:
    table = _make_table(("signal", _SIGNAL_CELLS), ("high when", 0), colours=colours)
    for signal in sorted(signals, key=lambda signal: -signal.part):
        if signal.weight:
            table.add_row(signal.name, Text(SIGNAL_LEGEND.get(signal.name, ""), colours["text-soft"]))
    return table


def _make_table(*columns: tuple[str, int], colours: Colours) -> Table:
    """Return a table with columns of (heading, width in cells): negative aligns right, 0 takes the remaining room."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style=f"not bold {colours['text-soft']}")
    for heading, width in columns:
        if width:
            table.add_column(heading, width=abs(width), justify="right" if width < 0 else "left", no_wrap=True)
        else:
            table.add_column(heading)
    return table


class WaterfallBar(Struct, frozen=True):
    """A bar of a waterfall chart, from `start` to `end`, which are shares (0 to 1) of the width available.

    A loss is drawn with a lighter block, so that it differs from a gain without colours too.
    """

    start: float
    end: float
    colour: str
    is_loss: bool = False

    def draw_bar(self, width: int) -> str:
        """Return the bar as text on a line of `width` cells; at least one cell is filled."""
        first = min(round(self.start * width), width - 1)
        return " " * first + (LOSS_CHARACTER if self.is_loss else GAIN_CHARACTER) * max(
            1, round(self.end * width) - first
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(
            self.draw_bar(max(1, min(options.max_width, _MAX_BAR_CELLS))), self.colour, no_wrap=True, overflow="crop"
        )

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, min(options.max_width, _MAX_BAR_CELLS))


def waterfall_bars(parts: Sequence[float], colours: tuple[str, str], *, is_cost: bool = False) -> list[WaterfallBar]:
    """Return the bars of a waterfall chart of `parts`, in which each bar begins where the previous bar ends.

    `colours` are the colours of positive and of negative parts. Negative parts are drawn as losses, or with `is_cost`
    the positive ones.
    """
    ends = list(accumulate(parts))
    low, high = min((0.0, *ends)), max((0.0, *ends))
    extent = high - low or 1.0
    positions = [(stop - low) / extent for stop in (0.0, *ends)]
    return [
        WaterfallBar(min(start, after), max(start, after), colours[part < 0], (part < 0) != is_cost)
        for part, start, after in zip(parts, positions, positions[1:], strict=False)
    ]


# --- explaining a note by its name ------------------------------------------------------------------------------------


class WhyNot(Dialog[None]):
    """A dialog that explains the rank of a note, whose name the user types."""

    AUTO_FOCUS = "#note"

    DEFAULT_CSS = """
    WhyNot {
        & > .box { height: 90%; max-height: 46; }
        WhyView { height: 1fr; padding: 0; }
        #note { margin-top: 1; background: $background; }
        &.-short > .box { padding: 0 2; height: 100%; max-height: 100%; }
        &.-short #note { margin-top: 0; }
        &.-brief > .box { height: 11; }
    }
    """

    def __init__(self, result: Result, send_request: SendWhyRequest) -> None:
        super().__init__()
        self._result = result
        self._send_request = send_request
        self._closest_name = ""
        self._last_name = ""

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            box.border_title = "Why not this note"
            yield WhyView(self._send_request)
            yield Field(placeholder="path, title, file name or alias", compact=True, id="note")

    def on_mount(self) -> None:
        self.add_class("-brief")
        self.query_one(WhyView).show_text(EmptyState("Type the name of a note that is missing or should rank higher."))

    def on_descendant_focus(self) -> None:
        if not self.query_one(Field).has_focus:
            hints: tuple[str, ...] = ("↑↓ scroll", f"{key_sign('dialog-next')} another note")
        else:
            target = f" {visible_line(self._closest_name)}" if self._closest_name else ""
            hints = (f"{format_key('enter')} explain{target}", f"{key_sign('dialog-next')} go to the answer")
        self.query_one(DialogBox).set_hints(*hints, f"{key_sign('dialog-leave')} close")

    @on(Input.Submitted)
    def _ask_about_note(self, event: Input.Submitted) -> None:
        """Request the explanation for the note typed; if one name is submitted twice, for the closest existing name."""
        event.stop()
        name = event.value.strip()
        if name and name == self._last_name and self._closest_name:
            name = event.input.value = self._closest_name
        self._last_name = name
        if name:
            self.query_one(WhyView).explain(self._result, name)

    @on(WhyView.Answered)
    def _show_kind_in_title(self, event: WhyView.Answered) -> None:
        absence = event.answer.absence
        self.query_one(DialogBox).border_title = f"Why {'not higher' if absence is None else 'not found'}"
        self.set_class(absence is not None, "-brief")
        self._closest_name = absence.near[0] if absence is not None and absence.near else ""
        self.on_descendant_focus()
