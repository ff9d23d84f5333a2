"""An input field for one line of text: a query, a name, a path or a filter."""

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
from excerpt.tui.active_keys import bindings


class Field(Input):
    """An input field of one line that handles keys in the order in which they are pressed.

    The field joins the lines of pasted text, and shows control characters as visible signs without changing its value.
    When the text grows, only the field is drawn: Textual's field lays out and draws the whole screen at each key.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("Any field")

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the field at once.

        Textual's focus waits behind queued messages, so that letters typed directly after the key that moved the focus
        would go to the previously focused widget.
        """
        self.screen.set_focus(self, scroll_visible)
        return self

    @property
    def _value(self) -> Text:
        # Textual draws the value from this property.
        return Text(visible_line(self.value), no_wrap=True, overflow="ignore", end="")

    def _position_to_cell(self, position: int) -> int:
        return cell_len(visible_line(self.value[:position]))

    def on_resize(self) -> None:
        """Scroll to the cursor. Textual's field does this only when the cursor moves, and not for the initial value."""
        self.scroll_to_region(Region(self._cursor_offset, 0, 1, 1), force=True, animate=False)

    async def _on_key(self, event: events.Key) -> None:
        # Textual passes backspace, ctrl+u and other keys that type nothing up to the app, which handles them after
        # letters typed directly after them, and so deletes those instead.
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if not binding.priority and await self.app.run_action(binding.action, self):
                event.stop()
                return

    def action_delete_right_word(self) -> None:
        # Bound to alt+backspace and ctrl+backspace, which delete to the left in other programs.
        self.action_delete_left_word()

    def _on_paste(self, event: events.Paste) -> None:
        # Textual's field takes only the first line.
        event.stop()
        event.prevent_default()
        self.replace(event.text, *self.selection)

    def replace(self, text: str, start: int, end: int) -> None:
        """Replace the characters `start` to `end` (exclusive) by `text`, whose lines are joined into one."""
        lines = text.splitlines()
        joined = text if lines == [text] else " ".join(line.strip() for line in lines if line.strip())
        super().replace(joined, start, end)
