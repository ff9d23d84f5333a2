"""The app: settings, themes, keymap, palette. What is on screen is `MainScreen`'s."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import ClassVar

from textual import events
from textual.actions import ActionParseResult
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.dom import DOMNode
from textual.filter import LineFilter
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Input

from excerpt.errors import ExcerptError
from excerpt.settings import Places, Settings
from excerpt.tui.acting import why_not
from excerpt.tui.bindings import bindings, places_here, reasons_here
from excerpt.tui.harmless import Harmless
from excerpt.tui.keymap import usable, use_keys
from excerpt.tui.plain import Plain
from excerpt.tui.screens.main import MainScreen
from excerpt.tui.theme_keeping import ThemeKeeping
from excerpt.tui.themes import CSS_OF_TEXTUAL

_WIDTHS: list[tuple[int, str]] | None = [(0, "-narrow"), (100, "-wide")]
_HEIGHTS: list[tuple[int, str]] | None = [(0, "-short"), (16, "-tall")]
_SOON = 0.02
"""Seconds until what came too early is tried again."""
_REASON_SECONDS = 3.0
"""How long it is said why something cannot be done now, and not said once more."""


def _key_commands() -> type[Provider]:
    from excerpt.tui.palette import KeyCommands

    return KeyCommands


class ExcerptApp(ThemeKeeping, inherit_bindings=False):
    """excerpt on one vault at a time."""

    TITLE = "excerpt"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("Always"),
        Binding("ctrl+c", "help_quit", show=False, system=True),
    ]
    NOTIFICATION_TIMEOUT = 6
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS

    CSS = CSS_OF_TEXTUAL
    COMMANDS = App.COMMANDS | {_key_commands}
    DEFAULT_CSS = """
    VerticalScroll { scrollbar-size-vertical: 1; }
    Input>.input--placeholder { color: $text-faint; }
    """

    plain: var[bool] = var(False, init=False)
    """ASCII in the place of lines and blocks, and nothing moves."""

    def __init__(
        self,
        vault: Path | None,
        settings: Settings,
        places: Places,
        environment: Mapping[str, str] | None = None,
        said: str = "",
    ) -> None:
        """Without a vault one is asked for; `said` is why, or what is to be told of the vault. `environment`
        is what editors and clipboard tools get; by default that of this process."""
        # Taken first: Textual removes NO_COLOR from the environment when it has read it.
        shell = dict(os.environ if environment is None else environment)
        super().__init__(vault, settings, places, shell, said)
        keymap, self._problems = usable(settings.screen.keys)
        self.set_keymap(keymap)
        use_keys(keymap)
        self.use_theme(settings.screen.theme)
        self._plain = Plain()
        self._harmless = Harmless()
        self._reason_said = ("", 0.0)
        self._animates = self.animation_level
        self.set_reactive(ExcerptApp.plain, settings.screen.plain)
        self.watch_plain()

    def on_ready(self) -> None:
        """After the first frame: a vault, if there is none, the other themes, and what is wrong with the settings, in
        one toast."""
        self.begin()
        self.run_worker(self.load_other_themes(), group="themes")

    # --- plain and still ----------------------------------------------------------------------------------------------

    def watch_plain(self) -> None:
        self.animation_level = "none" if self.is_still else self._animates
        self._plain.switch(on=self.plain)
        if self.is_running:
            self.refresh_css(animate=False)

    @property
    def is_still(self) -> bool:
        """Whether nothing is to move by itself."""
        return self.plain or not self._settings.screen.motion

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = [*super().get_line_filters(), self._harmless]
        return [*filters, self._plain] if self.plain else filters

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if not self.is_still:
            return
        from textual.widgets import TextArea  # with eight modules of documents, which the first frame needs none of

        if isinstance(event.widget, Input | TextArea):
            event.widget.cursor_blink = False

    @property
    def defect(self) -> Exception | None:
        """What ended the app that nobody had foreseen."""
        return self._exception

    def _handle_exception(self, error: Exception) -> None:
        # Who leaves while tabs are still being mounted takes their parts away from under them.
        if not self._exit:
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        # Textual would print a page of traceback, with what the variables hold.
        self.bell()
        self._close_messages_no_wait()

    def use_settings(self, settings: Settings) -> None:
        """Other settings hold from now on: theme, keys, plain and motion."""
        before, now = self._settings.screen, settings.screen
        self._settings = settings
        if before.keys != now.keys:
            keymap, problems = usable(now.keys)
            self.set_keymap(keymap)
            use_keys(keymap)
            self._problems += problems
            self.tell_problems()
        if before.theme != now.theme and now.theme in self.available_themes:
            self.theme = now.theme
        elif before.theme != now.theme:
            self.notify(f"There is no theme called {now.theme}.", title="Settings", severity="warning", markup=False)
        self.plain = now.plain
        if before.motion != now.motion:
            self.watch_plain()

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """As Textual does; where the action cannot be done now, that is said. What is pressed before the first frame is
        complete waits for what it may be about."""
        early = isinstance(self.screen, MainScreen) and not self.screen.is_furnished
        if early and not isinstance(default_namespace, Input):  # editing keeps its order among the letters
            self.set_timer(_SOON, partial(self.run_action, action, default_namespace, namespaces))
            return True
        reason = why_not(default_namespace or self, action) if isinstance(action, str) else ""
        if not reason:
            return await super().run_action(action, default_namespace, namespaces)
        said, until = self._reason_said
        if said != reason or monotonic() > until:
            self._reason_said = reason, monotonic() + _REASON_SECONDS
            self.notify(reason, timeout=_REASON_SECONDS, markup=False)
        return True

    def action_jump(self) -> None:
        from excerpt.tui.screens.jump import Jump, spots_of

        if isinstance(self.screen, Jump):
            self.screen.dismiss()
        else:
            self.push_screen(Jump(spots_of(self.screen)), lambda spot: spot and spot.go())

    def action_help(self) -> None:
        from excerpt.tui.screens.help import Help

        if isinstance(self.screen, Help):
            self.screen.dismiss()
        else:
            screen = self.screen
            self.push_screen(Help(places_here(screen), self._keymap, reasons_here(screen)))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What has no key; `palette.py` has what a key does."""
        if isinstance(screen, MainScreen):
            why_not_note = screen.command_callback("search", "why_not")
            yield SystemCommand("Why not this note…", "Why a note is not higher, or not there", why_not_note)
        yield SystemCommand("Take the tour", "Two pages on how to begin", self.action_tour)
        yield SystemCommand("Change the theme", "Look at each while choosing", self.action_change_theme)


def check_terminal(environment: Mapping[str, str]) -> None:
    """Raises ExcerptError where the app cannot be drawn."""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise ExcerptError(
            "The app needs a terminal for its input and output.",
            "In a pipe or a script, use `excerpt search` or `excerpt pack`.",
        )
    if environment.get("TERM") == "dumb":
        raise ExcerptError(
            "The app cannot be drawn on a terminal of type dumb.", "Use `excerpt search` or `excerpt pack` there."
        )


def run_app(vault: Path | None, settings: Settings, places: Places, said: str = "") -> None:
    """Open the app on a vault, until the user leaves; without one it asks for one. `said` is why, or what is
    to be told of the vault. Raises ExcerptError where it cannot be drawn, and whatever a defect of ours raised while it
    was open."""
    check_terminal(os.environ)
    app = ExcerptApp(vault, settings, places, said=said)
    app.run()
    if app.defect is not None:
        raise app.defect
