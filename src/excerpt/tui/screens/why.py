"""Why a fragment stands where it stands: its signals, and what each adds to the score."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from excerpt.model import Result
from excerpt.text.visible import visible_line
from excerpt.tui.screens.dialog import Dialog

_BAR = 24


class Why(Dialog[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("e,ctrl+t,q", "leave", "close", show=False)]

    def __init__(self, result: Result, rank: int) -> None:
        super().__init__()
        self._result = result
        self._rank = rank

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box") as box:
            box.border_title = "Why here"
            box.border_subtitle = "esc close"
            yield Static(explanation(self._result, self._rank, self.app.theme_variables))

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()


def explanation(result: Result, rank: int, colours: dict[str, str]) -> Text:
    """The signals of the hit at `rank` (from 0) as a table that adds up to its score."""
    hit = result.hits[rank]
    fragment = hit.fragment
    soft, bar, strong = colours["text-soft"], colours["primary"], f"bold {colours['foreground']}"
    text = Text()
    text.append(f"{rank + 1}. {visible_line(fragment.title)}\n", strong)
    path = " › ".join(visible_line(part) for part in fragment.heading_path)
    text.append(f"{path}\n" if path else "", soft)
    text.append(f"{visible_line(fragment.path)}, lines {fragment.line_start}–{fragment.line_end}\n\n", soft)
    text.append(f"{'signal':<12}{'value':>8}{'adds':>9}\n", soft)
    highest = max((abs(signal.part) for signal in hit.signals), default=0.0)
    for signal in sorted(hit.signals, key=lambda s: -s.part):
        text.append(f"{signal.name:<12}{signal.value:>8.3f}{signal.part:>+9.3f}  ")
        text.append("█" * (round(abs(signal.part) / highest * _BAR) if highest else 0) + "\n", bar)
    text.append(f"{'score':<12}{'':>8}{hit.score:>9.3f}", strong)
    if rank and result.hits[0].score > 0:
        text.append(f"   {hit.score / result.hits[0].score:.0%} of the first hit's".replace("%", " %"), soft)
    matched = f"{len(hit.spans):,} matched place{'' if len(hit.spans) == 1 else 's'}"
    text.append(f"\n\nLed by {result.strategy}; {matched} in the text.", soft)
    return text
