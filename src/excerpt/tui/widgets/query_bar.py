"""The query and, at its right, what became of it: strategy, hits, milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.geometry import Size
from textual.reactive import Reactive, reactive
from textual.widget import Widget
from textual.widgets import Input, Static

from excerpt.model import Strategy


@dataclass(frozen=True, slots=True)
class Answer:
    """What the status says of the newest search shown. `elapsed_ms` None leaves the time out."""

    led: Strategy
    matched: int
    elapsed_ms: float | None


class QueryStatus(Widget):
    """`auto ▸ proximity · 41 hits · 6 ms`, at the right of a fixed width: it changes with every key."""

    DEFAULT_CSS = """
    QueryStatus { width: 42; max-width: 60%; height: 1; color: $text-soft; padding: 0 1; text-align: right; }
    """

    strategy: reactive[Strategy] = reactive(Strategy.AUTO)
    answer: reactive[Answer | None] = reactive(None)
    busy: reactive[str] = reactive("")
    """What is being waited for, once that has taken half a second."""

    def render(self) -> Text:
        parts = [str(self.strategy)]
        answer = self.answer
        if answer is not None and answer.led is not self.strategy:
            parts[0] += f" ▸ {answer.led}"
        if self.busy:
            parts.append(self.busy)
        elif answer is not None:
            parts.append(f"{answer.matched:,} hit{'' if answer.matched == 1 else 's'}")
            if answer.elapsed_ms is not None:
                parts.append(f"{answer.elapsed_ms:.0f} ms" if answer.elapsed_ms >= 1 else "<1 ms")
        return Text(" · ".join(parts), no_wrap=True, justify="right")


class QueryInput(Input):
    """An Input that draws itself alone as it grows: Textual's lays out and draws the whole screen at each key."""

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)


class QueryBar(Horizontal):
    """One line: prompt, field, status."""

    DEFAULT_CSS = """
    QueryBar {
        height: 1;
        background: $surface;
        #prompt { width: 3; padding: 0 0 0 1; color: $text-faint; text-style: bold; }
        Input { width: 1fr; background: $surface; color: $foreground; &:focus { background-tint: $background 0%; } }
        &:focus-within #prompt { color: $accent; }
    }
    """

    def compose(self) -> ComposeResult:
        yield Static("❯", id="prompt")
        yield QueryInput(placeholder="Search your notes", compact=True, select_on_focus=False, id="query")
        yield QueryStatus(id="status")
