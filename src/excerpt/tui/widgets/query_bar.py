"""The query and, at its right, what became of it: strategy, how sure, hits, milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.geometry import Size
from textual.reactive import Reactive, reactive
from textual.widget import Widget
from textual.widgets import Input, Static

from excerpt.model import Confidence, Strategy


@dataclass(frozen=True, slots=True)
class Answer:
    """What the status says of the newest search shown. `led` is None for a list of filters alone, which nothing ranks.

    None leaves the time or how sure it is out.
    """

    led: Strategy | None
    matched: int
    elapsed_ms: float | None
    confidence: Confidence | None = None


_SURE = {
    Confidence.STRONG: "strong",
    Confidence.LIKELY: "likely",
    Confidence.WEAK: "weak",
    Confidence.NOTHING: "no answer",
}


class QueryStatus(Widget):
    """`auto ▸ proximity · strong · 41 hits · 6 ms`, at the right of a fixed width: it changes with every key."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"status--sure", "status--unsure"}

    DEFAULT_CSS = """
    QueryStatus {
        width: 48;
        max-width: 60%;
        height: 1;
        color: $text-soft;
        padding: 0 1;
        text-align: right;
        & > .status--sure { color: $success; }
        & > .status--unsure { color: $warning; }
    }
    """

    strategy: reactive[Strategy] = reactive(Strategy.AUTO)
    answer: reactive[Answer | None] = reactive(None)
    busy: reactive[str] = reactive("")
    """What is being waited for, once that has taken half a second."""

    def render(self) -> Text:
        parts = [Text(str(self.strategy))]
        answer = self.answer
        if answer is not None and answer.led is not self.strategy:
            parts[0] = Text(f"{self.strategy} ▸ {answer.led}" if answer.led else "newest first")
        if self.busy:
            parts.append(Text(self.busy))
        elif answer is not None:
            if answer.confidence is not None and answer.matched:
                parts.append(self._sure(answer.confidence))
            parts.append(Text(f"{answer.matched:,} hit{'' if answer.matched == 1 else 's'}"))
            if answer.elapsed_ms is not None:
                parts.append(Text(f"{answer.elapsed_ms:.0f} ms" if answer.elapsed_ms >= 1 else "<1 ms"))
        return self._fitting(parts)

    def _sure(self, confidence: Confidence) -> Text:
        styles = {Confidence.STRONG: "status--sure", Confidence.NOTHING: "status--unsure"}
        name = styles.get(confidence)
        style = self.get_component_rich_style(name, partial=True) if name else ""
        return Text(_SURE[confidence], style)

    def _fitting(self, parts: list[Text]) -> Text:
        """As many of the parts, the first ones, as there is room for."""
        for count in range(len(parts), 0, -1):
            text = Text(" · ", no_wrap=True, justify="right").join(parts[:count])
            if count == 1 or not self.size.width or text.cell_len <= self.content_size.width:
                break
        return text


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
