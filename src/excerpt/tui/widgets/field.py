"""A field for text whose keys do what they do in the order in which they are pressed."""

from __future__ import annotations

from textual import events
from textual.widgets import Input


class Field(Input):
    """Textual's field hands backspace, ctrl+u and all other keys that are no characters up to the app. That does them
    only when what was typed right behind them is already there, and then deletes that instead."""

    async def _on_key(self, event: events.Key) -> None:
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if not binding.priority and await self.app.run_action(binding.action, self):
                event.stop()
                return
