"""The least a Textual app can be, in the shape of ours: what first_paint compares with."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Static


class BareApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("painted")


if __name__ == "__main__":
    BareApp().run()
