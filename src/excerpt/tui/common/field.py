"""A field for one line of text: what the query, names, paths and filters are typed into."""

from __future__ import annotations

from typing import ClassVar, Self

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.widgets import Input

from excerpt.text.display import visible_line
from excerpt.tui.bindings import bindings


class Field(Input):
    """Its keys do what they do in the order in which they are pressed, it takes all lines of what is pasted as one, and
    it shows every character while its value stays what it is.

    It draws itself alone as it grows: Textual's lays out and draws the whole screen at each key.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("Any field")

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)

    def focus(self, scroll_visible: bool = True) -> Self:
        """At once: Textual's waits behind what has come in already, so that letters typed right behind the key that
        moved the focus went to where it was before."""
        self.screen.set_focus(self, scroll_visible)
        return self

    @property
    def _value(self) -> Text:
        # Textual's own hook for how the value is drawn.
        return Text(visible_line(self.value), no_wrap=True, overflow="ignore", end="")

    def _position_to_cell(self, position: int) -> int:
        return cell_len(visible_line(self.value[:position]))

    def on_resize(self) -> None:
        """Textual's scrolls where the cursor moves alone, and not for the first value."""
        self.scroll_to_region(Region(self._cursor_offset, 0, 1, 1), force=True, animate=False)

    async def _on_key(self, event: events.Key) -> None:
        # Textual hands backspace, ctrl+u and all other keys that are no characters up to the app, which does them only
        # when what was typed right behind them is already there, and then deletes that instead.
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if not binding.priority and await self.app.run_action(binding.action, self):
                event.stop()
                return

    def action_delete_right_word(self) -> None:
        # Of alt+backspace and ctrl+backspace, which delete to the left elsewhere.
        self.action_delete_left_word()

    def _on_paste(self, event: events.Paste) -> None:
        # Textual's takes the first line alone.
        event.stop()
        event.prevent_default()
        self.replace(event.text, *self.selection)

    def replace(self, text: str, start: int, end: int) -> None:
        """Put `text` in the place of those characters: several lines as one."""
        lines = text.splitlines()
        one = text if lines == [text] else " ".join(line.strip() for line in lines if line.strip())
        super().replace(one, start, end)
