"""Why a fragment stands where it stands, and why any other note is not higher. The engine's thread works it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, Static

from excerpt.model import Hit, Result
from excerpt.search.standing import NoteExplanation
from excerpt.tui.bindings import bindings
from excerpt.tui.search.why_view import explained, hit_sum
from excerpt.tui.keymap import key_sign, shown_key
from excerpt.tui.screens.dialog import Box, Dialog
from excerpt.tui.widgets.field import Field

Ask = Callable[[Hit | str, Callable[[NoteExplanation], object]], object]


class Why(Dialog[None]):
    """Shows what the result says at once, and the rest when `hear` is told it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Why")

    DEFAULT_CSS = """
    Why {
        & > .box { height: 90%; max-height: 46; }
        #told { height: 1fr; }
        #note { margin-top: 1; background: $background; }
        &.-short > .box { padding: 0 2; height: 100%; max-height: 100%; }
        &.-short #note { margin-top: 0; }
        &.-brief > .box { height: 11; }
    }
    """

    def __init__(self, result: Result, rank: int | None, ask: Ask) -> None:
        """`rank` is that of the hit it is about, from 0; None asks for a note first. `ask` is asked why a hit, or the
        note of a name, stands where it stands, and calls what it is given with the answer."""
        super().__init__()
        self._result = result
        self._hit = None if rank is None else result.hits[rank]
        self._rank = rank or 0
        self._ask = ask
        self._about = "" if self._hit is None else self._hit.fragment.id

    def compose(self) -> ComposeResult:
        with Box() as box:
            box.border_title = "Why here" if self._hit is not None else "Why not this note"
            with VerticalScroll(id="told"):
                yield Static(self._sum(), id="text")
            another = "Another note: " if self._hit is not None else ""
            yield Field(placeholder=f"{another}path, title, file name or alias", compact=True, id="note")

    def on_mount(self) -> None:
        self.set_class(self._hit is None, "-brief")
        if self._hit is None:
            self.call_after_refresh(lambda: self.query_one(Field).focus())
        else:
            self.query_one(VerticalScroll).focus()
            self._ask(self._hit, self.hear)

    def _sum(self) -> RenderableType:
        hit = self._hit
        if hit is None:
            return Text("Name the note that you miss, or would have higher.")
        top = self._result.hits[0].score
        return hit_sum(hit, self._rank + 1, hit.score / top if top > 0 else 0.0, self.app.theme_variables)

    def on_descendant_focus(self) -> None:
        if not self.query_one(Field).has_focus:
            hints: tuple[str, ...] = ("↑↓ scroll", f"{key_sign('dialog-next')} another note")
        else:
            hints = (f"{shown_key('enter')} ask", f"{key_sign('dialog-next')} to the answer")[: 2 if self._about else 1]
        self.query_one(Box).hint(*hints, f"{key_sign('dialog-leave')} close")

    @on(Input.Submitted)
    def _note_named(self, event: Input.Submitted) -> None:
        event.stop()
        name = event.value.strip()
        if name:
            self._about = name
            self._ask(name, self.hear)
        elif self._hit is not None:
            self._about = self._hit.fragment.id
            self._ask(self._hit, self.hear)
        else:
            return

    def hear(self, told: NoteExplanation) -> None:
        """Show the explanation of what was asked for last, if the dialog is still open."""
        if not self.is_attached:
            return
        absent = told.explanation is None
        named = "Why not this note" if absent else "Why not higher"
        of_hit = self._hit is not None and self._about == self._hit.fragment.id
        self.query_one(Box).border_title = "Why here" if of_hit else named
        self.set_class(absent and not of_hit, "-brief")
        found = explained(told, self.app.theme_variables)
        if absent and of_hit:
            found = Group(self._sum(), Text(), found)
        self.query_one("#text", Static).update(found)
        self.query_one(VerticalScroll).scroll_home(animate=False)
        self.on_descendant_focus()
