"""A minimal Textual app with the structure of excerpt's, for comparison in `first_paint`."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Static


class BareApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("painted")


if __name__ == "__main__":
    BareApp().run()
