"""Base classes of dialogs: a box over the screen that escape closes, after which the focus is restored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Button, Static

from excerpt.tui.active_keys import bindings
from excerpt.tui.keymap import key_sign

Answer = TypeVar("Answer")

_EDGE_CELLS = 6
"""Cells of a box's lower border that its hints cannot use."""


def fit_hints(hints: Sequence[str], cells: int) -> str:
    """Return the first hints that fit into `cells`, joined, and always the last one, which says how to close."""
    *others, last = hints
    while others and cell_len(" · ".join([*others, last])) > cells:
        others.pop()
    return " · ".join([*others, last])


class DialogBox(Vertical):
    """The box of a dialog, with hints in its lower border that say what keys do."""

    def __init__(self) -> None:
        super().__init__(classes="box")
        self._hints: Sequence[str] = ("",)

    def set_hints(self, *hints: str) -> None:
        """Show hints, the most important first; the last one is shown even if there is little room."""
        self._hints = hints
        self._show_hints()

    def on_resize(self) -> None:
        self._show_hints()

    def _show_hints(self) -> None:
        cells = self.outer_size.width - _EDGE_CELLS
        self.border_subtitle = Content(fit_hints(self._hints, cells) if cells > 0 else "")


class OverlayScreen(Screen[Answer]):
    """A screen over other screens, which closes once even if several keys request it."""

    def dismiss(self, result: Answer | None = None) -> AwaitComplete:
        """Close this screen and the screens over it; do nothing at a second call.

        At a second call, Textual would close whatever screen is in front, and raise if that screen is the only one.
        """
        if self not in self.app.screen_stack:
            return AwaitComplete()
        while (front := self.app.screen) is not self:
            front.dismiss()
        return super().dismiss(result)

    async def _on_key(self, event: events.Key) -> None:
        # Textual passes the key up to the app, which by then has given the next key to this screen.
        if await self.app._check_bindings(event.key):
            event.stop()


class Dialog(ModalScreen[Answer], OverlayScreen[Answer]):
    """A dialog, which escape closes with the result None."""

    # With priority over the field's own, so that keys typed right after a tab do not go to the field before it.
    BINDINGS: ClassVar[list[BindingType]] = bindings("Any dialog")

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        background: $background 60%;
        & > .box {
            width: 90%;
            max-width: 84;
            height: auto;
            max-height: 90%;
            padding: 1 2;
            background: $surface;
            border: round $border;
            border-title-color: $accent;
            border-title-style: bold;
            border-subtitle-color: $text-soft;
        }
    }
    """

    def confirm_leaving(self, leave: Callable[[], object]) -> None:
        """Call `leave`, which closes this dialog or the app; a dialog with typed text asks before."""
        leave()

    def action_leave(self) -> None:
        self.confirm_leaving(self.dismiss)


class ConfirmDialog(Dialog[bool]):
    """A yes-or-no question; its result is True only if the user chooses yes."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("A question")
    AUTO_FOCUS = "#no"

    DEFAULT_CSS = """
    ConfirmDialog {
        Horizontal { height: auto; margin-top: 1; }
        Button { min-width: 6; margin-right: 2; }
        &.-short > .box { padding: 0 2; max-height: 100%; }
    }
    """

    def __init__(self, title: str, question: str, yes: str, no: str = "No", *, accepts_letters: bool = True) -> None:
        """Prepare the question; `yes` and `no` are the labels of the buttons.

        With `accepts_letters`, a letter answers too. Without, only the buttons answer: use that for a question that may
        interrupt typing.
        """
        super().__init__()
        self._title = title
        self._question = question
        self._yes = f"{yes} ({key_sign('confirm-yes')})" if accepts_letters else yes
        self._no = f"{no} ({key_sign('confirm-no')})" if accepts_letters else no
        self._accepts_letters = accepts_letters

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = Content(self._title)
            yield Static(Content(self._question))
            with Horizontal():
                yield Button(Content(self._yes), id="yes", variant="warning", compact=True)
                yield Button(Content(self._no), id="no", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's name
        return action != "answer" or self._accepts_letters

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)
