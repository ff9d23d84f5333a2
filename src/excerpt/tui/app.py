"""The app: vaults, settings, themes, keymap, palette. What is on screen is `MainScreen`'s."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, cast

from rich.console import RenderableType
from textual import events, on
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.actions import ActionParseResult
from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import CommandPalette, Provider
from textual.dom import DOMNode, NoScreen
from textual.driver import Driver
from textual.filter import LineFilter
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Button, Input

from excerpt.errors import ExcerptError, SettingsError
from excerpt.known_vaults import DEMO, name_among_recent, remember_vault
from excerpt.settings import Places, Settings
from excerpt.store.address import Address
from excerpt.tui.bindings import (
    OpensDialogs,
    Waiting,
    action_target,
    bindings,
    disabled_reason,
    places_here,
    reasons_here,
    row_id,
    textual_keymap,
)
from excerpt.tui.common.bars import TabBar
from excerpt.tui.common.line_filters import Harmless, Plain
from excerpt.tui.keymap import usable, use_keys
from excerpt.tui.keys import OPENING
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.session import NEW, session_of
from excerpt.tui.settings.themes import CSS_OF_TEXTUAL, DARK_DEFAULTS, LIGHT_DEFAULTS, ThemeController, keep_theme
from excerpt.tui.textual_patches import ChangedCells, SentParts, keep_alt_keys

if TYPE_CHECKING:
    from excerpt.tui.vault_chooser import Opening

_WIDTHS: list[tuple[int, str]] | None = [(0, "-narrow"), (100, "-wide")]
_HEIGHTS: list[tuple[int, str]] | None = [(0, "-short"), (16, "-tall")]
_SOON = 0.02
"""Seconds until what came too early is tried again."""
_CATCHING_UP = 0.5
"""Seconds that a key waits for those before it."""
_MOST_HELD = 3.0
"""Seconds that keys are held at most behind one that opens a dialog."""
_SETTLED = 3
"""Times that all queues are emptied without another screen or focus until no dialog is expected any more: a key comes
up to what acts on it, its message goes to the screen, and what that calls is done."""
_REASON_SECONDS = 3.0
"""How long it is said why something cannot be done now, and not said once more."""
_LOOK_AT_THEME = 1.0
"""Seconds between looks whether the file of the theme in use was changed."""


def _key_commands() -> type[Provider]:
    from excerpt.tui.palette import KeyCommands

    return KeyCommands


class ExcerptApp(App[None], inherit_bindings=False):
    """excerpt on one vault at a time, if any.

    Each vault that is opened is a mode of its own, so that the one before goes with all its screens.
    """

    TITLE = "excerpt"
    DEFAULT_MODE = "vault-0"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("Always"),
        Binding("ctrl+c", "help_quit", show=False, system=True),
    ]
    NOTIFICATION_TIMEOUT = 6
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS

    CSS = CSS_OF_TEXTUAL
    COMMANDS = {_key_commands}  # noqa: RUF012 - Textual types it
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
        *,
        store: Address | None = None,
    ) -> None:
        """Without a vault one is asked for; `said` is why, or what is to be told of the vault. A vault in a `store` has
        no folder at its path. `environment` is what editors and clipboard tools get; by default that of this
        process."""
        # Taken first: Textual removes NO_COLOR from the environment when it has read it.
        shell = dict(os.environ if environment is None else environment)
        super().__init__()
        self._vault = vault
        self._store = store
        self._settings = settings
        self._places = places
        self._shell = shell
        self._said = said
        self._opened = 0
        self._session = NEW if vault is None else session_of(vault, settings, places)
        keymap, self._problems = usable(settings.screen.keys)
        self.set_keymap(textual_keymap(keymap))
        use_keys(keymap)
        self._themes = ThemeController(places.config / "themes")
        self._show_first_theme(settings.screen.theme)
        keep_alt_keys()
        self._sent = SentParts()
        self._plain = Plain()
        self._harmless = Harmless()
        self._reason_said = ("", 0.0)
        self._held: deque[events.Key | events.Paste] = deque()
        self._is_holding = False
        self._late_actions = 0
        self._opens_vault = False
        self._animates = self.animation_level
        self.set_reactive(ExcerptApp.plain, settings.screen.plain)
        self.watch_plain()

    def get_default_screen(self) -> Screen[None]:
        if self._vault is None:
            return Screen()
        return MainScreen(
            self._vault,
            self._settings,
            self._places,
            self._shell,
            self._session,
            use_settings=self.use_settings,
            store=self._store,
        )

    def on_mount(self) -> None:
        # Not before its screen stands: Textual starts the screen of a mode that it knows before that is on the stack,
        # and where tasks run at once (Python 3.12 and later) its widgets ask for the screen that is.
        self.add_mode(self.DEFAULT_MODE, self.get_default_screen)

    def on_ready(self) -> None:
        """After the first frame: a vault, if there is none, the other themes, and what is wrong with the settings, in
        one toast."""
        self._begin()
        self.run_worker(self._load_other_themes(), group="themes")

    # --- the vault ----------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """After a vault's first frame: ask for one where none is open."""
        if self._vault is None:
            self.action_switch_vault()
            return
        if self._said:
            self.notify(self._said, title="Vault", timeout=20, markup=False)
        if self._store is None:
            self.run_worker(self._name_apart(self._vault), group="name")

    async def _name_apart(self, vault: Path) -> None:
        """Tell the vault from others of its name that were opened lately."""
        name = await asyncio.to_thread(name_among_recent, self._places, vault)
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen) and screen.vault == vault:
                for bar in screen.query(TabBar):  # none where excerpt is being left already
                    bar.vault = name

    def action_switch_vault(self) -> None:
        from excerpt.tui.vault_chooser import VaultChooser

        if isinstance(self.screen, VaultChooser):
            return
        chooser = VaultChooser(self._places, self._shell, current=self._listed, said=self._said)
        self.push_screen(chooser, self._chosen)

    @property
    def _listed(self) -> Path | None:
        """What the vault that is open is called in the list of vaults."""
        return self._vault if self._store is None else Path(self._store.text)

    def _chosen(self, opening: Opening | None) -> None:
        # A worker of the app: the screen that asked goes away meanwhile, and is waited for.
        if opening is not None:
            self._opens_vault = True
            self.run_worker(self._open(opening), group="vault", exclusive=True)

    async def _open(self, opening: Opening) -> None:
        """Put a vault in the place of the one that is open, of which everything is written first."""
        before = self.screen
        if isinstance(before, MainScreen):
            await before.keep_all()
        if opening.vault != DEMO:
            listed = opening.vault if opening.store is None else Path(opening.store.text)
            await asyncio.to_thread(remember_vault, self._places, listed)
        # Who began plainly goes on so.
        screen = replace(opening.settings.screen, plain=opening.settings.screen.plain or self._settings.screen.plain)
        settings = replace(opening.settings, screen=screen)
        self._vault, self._said, self._session = opening.vault, opening.said, opening.session
        self._store = opening.store
        self.use_settings(settings)
        mode = self.current_mode
        self._opened += 1
        self.add_mode(f"vault-{self._opened}", self.get_default_screen)
        await self.switch_mode(f"vault-{self._opened}")
        await self.remove_mode(mode)
        self._opens_vault = False
        self._begin()
        # What the first engine froze is let go of; the next one freezes anew (`EngineWorker`).
        gc.unfreeze()

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Leave; where the user is on each screen is kept first, as its widgets go before it does."""
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.keep_session()
        super().exit(result, return_code, message)

    # --- themes -------------------------------------------------------------------------------------------------------

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DARK_DEFAULTS if self.current_theme.dark else LIGHT_DEFAULTS

    def _show_first_theme(self, name: str) -> None:
        """Load the one theme that the first frame needs."""
        theme, problems = self._themes.first(name, self.available_themes)
        self._problems += problems
        self.register_theme(theme)
        # By the watcher, all that is parsed until the first frame would be parsed once more.
        self.set_reactive(App.theme, theme.name)
        classes = {f"-theme-{theme.name}": True, "-dark-mode": theme.dark, "-light-mode": not theme.dark}
        self.update_classes(classes, update=False)
        self.stylesheet.set_variables(self.get_css_variables())

    async def _load_other_themes(self) -> None:
        """After the first frame; what is wrong is told in one toast, with what else is."""
        themes, problems = await asyncio.to_thread(self._themes.others, frozenset(self.available_themes))
        for theme in themes:
            self.register_theme(theme)
        self._problems += [problem for problem in problems if problem not in self._problems]
        self._tell_problems()
        self.set_interval(_LOOK_AT_THEME, self.look_at_theme)

    def _tell_problems(self) -> None:
        if self._problems:
            self.notify("\n".join(self._problems), title="Settings", severity="warning", timeout=12, markup=False)
        self._problems = []

    def look_at_theme(self) -> None:
        """Show the user's own theme as its file is now: who makes one sees each change when it is saved."""
        try:
            theme = self._themes.changed(self.theme)
        except SettingsError as error:
            self.notify(str(error), title="Theme", severity="warning", markup=False)
            return
        if theme is not None:
            self.register_theme(theme)
            self.mutate_reactive(App.theme)

    def action_change_theme(self) -> None:
        from excerpt.tui.settings.theme_picker import ThemePicker

        if not isinstance(self.screen, ThemePicker):
            names, own = self._themes.to_choose(self.available_themes, self.theme)
            self.push_screen(ThemePicker(names, own), self._theme_chosen)

    def _theme_chosen(self, name: str | None) -> None:
        if name is not None:
            self.run_worker(self._keep_theme(name), group="theme")

    async def _keep_theme(self, name: str) -> None:
        try:
            file = await asyncio.to_thread(keep_theme, self._places, self._vault, name)
        except SettingsError as error:
            self.notify(f"{error} {name} is shown until you leave.", title=error.title, severity="error", markup=False)
            return
        self.notify(f"{name} is the theme from now on, by {file}.", markup=False)

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
            self.set_keymap(textual_keymap(keymap))
            use_keys(keymap)
            self._problems += problems
            self._tell_problems()
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
        complete waits for what it may be about; what is pressed behind the end of a dialog does nothing in it."""
        if not self._is_open(default_namespace):
            return True
        early = isinstance(self.screen, MainScreen) and not self.screen.is_furnished
        if early and not isinstance(default_namespace, Input):  # editing keeps its order among the letters
            self._late_actions += 1
            self.set_timer(_SOON, partial(self._run_late, action, default_namespace, namespaces))
            return True
        if isinstance(action, str):
            target, name, parameters = action_target(default_namespace or self, action)
            if isinstance(target, Waiting) and target.check_action(name, parameters) and target.is_early(name):
                target.wait_with(partial(self.run_action, action, default_namespace, namespaces))
                return True
        reason = disabled_reason(default_namespace or self, action) if isinstance(action, str) else ""
        if not reason:
            return await super().run_action(action, default_namespace, namespaces)
        said, until = self._reason_said
        if said != reason or monotonic() > until:
            self._reason_said = reason, monotonic() + _REASON_SECONDS
            self.notify(reason, timeout=_REASON_SECONDS, markup=False)
        return True

    async def _run_late(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None,
        namespaces: Mapping[str, DOMNode] | None,
    ) -> None:
        self._late_actions -= 1
        await self.run_action(action, default_namespace, namespaces)

    def _is_open(self, node: DOMNode | None) -> bool:
        try:
            return node is None or node is self or node.screen in self.screen_stack
        except NoScreen:
            return False

    # --- keys in their order ------------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """As Textual does; keys behind one that opens a dialog are held until it has the focus."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if self._is_holding:
                self._held.append(event)
                return
            if isinstance(event, events.Paste):
                await self._catch_up()
            elif self._opens_dialog(event):
                await self._catch_up(event.key)
                if self._opens_dialog(event):
                    self._is_holding = True
                    self.run_worker(self._release_held(), group="held")
        await super().on_event(event)

    def _opens_dialog(self, event: events.Key) -> bool:
        """Return whether a key may open a dialog where the focus is now."""
        from excerpt.tui.common.dialog import Leaving

        screen, focused = self.screen, self.focused
        is_typed = focused is not None and focused.check_consume_key(event.key, event.character)
        if isinstance(screen, Leaving) and (event.key == "enter" or isinstance(focused, Button)):
            return True
        found = (one for _, each in screen._binding_chain for one in each.key_to_bindings.get(event.key, ()))
        return any(row_id(one) in OPENING and (one.priority or not is_typed) for one in found)

    async def _release_held(self) -> None:
        """Wait until the dialog has the focus, or none comes, then let go of the keys that are held."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_MOST_HELD):
                settled = 0
                while settled < _SETTLED:
                    before = (*self.screen_stack, self.focused)
                    await self._empty_queues()
                    if self._is_opening:
                        await asyncio.sleep(_SOON)
                        settled = 0
                    else:
                        settled = settled + 1 if before == (*self.screen_stack, self.focused) else 0
        self.call_later(self._replay_held)

    @property
    def _is_opening(self) -> bool:
        screen = self.screen
        return self._late_actions > 0 or self._opens_vault or (isinstance(screen, OpensDialogs) and screen.is_opening)

    async def _empty_queues(self) -> None:
        """Wait until all that has the focus, what is around it, and the app have read what has come in."""
        screen = self.screen
        for node in (self.focused or screen).ancestors_with_self:
            done = asyncio.Event()
            if not node.call_later(done.set):
                continue
            while not done.is_set() and node.is_running and node.is_attached:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_SOON):
                        await done.wait()

    async def _replay_held(self) -> None:
        """Handle the held keys in their order; behind one that opens another dialog the rest is held again."""
        self._is_holding = False
        while self._held and not self._is_holding:
            await self.on_event(self._held.popleft())

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        if priority:
            await self._catch_up(key)
        return await super()._check_bindings(key, priority)

    async def _catch_up(self, key: str = "") -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_CATCHING_UP):
                while not await self._has_caught_up(key):
                    pass

    async def _has_caught_up(self, key: str) -> bool:
        """Wait until the keys before this one have done what they do, and return whether the same screen is in front.
        Textual hands keys to what has the focus, and looks for what the next one does, and where it goes, before they
        are read there."""
        screen = self.screen
        for node in self._read_before(key):
            done = asyncio.Event()
            if node.call_later(done.set):
                await done.wait()
        return self.screen is screen

    def _read_before(self, key: str) -> Sequence[DOMNode]:
        """Return what the keys before this one may still be read by, and has to be done with them."""
        from excerpt.tui.common.dialog import Leaving

        screen, focused = self.screen, self.focused
        around = [node for node in (focused or screen).ancestors_with_self if not isinstance(node, App)]
        if not isinstance(screen, MainScreen):
            return around if isinstance(screen, Leaving) else ()
        if focused is None:
            return ()
        first = any(one.priority for _, each in screen._binding_chain for one in each.key_to_bindings.get(key, ()))
        if not first:
            # A letter is read by the field after those before it; in a list one of those may move the focus.
            return () if isinstance(focused, Input) else (focused,)
        # Once more at its head: of a letter that is read, a field tells itself first.
        return (focused, *(around if screen.is_furnished else around[:-1]))

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if isinstance(renderable, ChopsUpdate | LayoutUpdate):
            renderable = cast("RenderableType", ChangedCells(renderable, self._sent))
        super()._display(screen, renderable)

    def action_redraw(self) -> None:
        """Draw all of the screen: another program may have written over it."""
        self.refresh(layout=True)
        self.screen._compositor._dirty_regions.add(self.screen.region)

    @on(Driver.SignalResume)
    def _resumed(self) -> None:
        # Textual comes back to an empty screen, and draws what changes on it.
        self.action_redraw()

    def action_command_palette(self) -> None:
        from excerpt.tui.palette import Palette

        if not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette())  # without an id: the one before may still be going

    def action_help(self) -> None:
        from excerpt.tui.common.help import Help

        if isinstance(self.screen, Help):
            self.screen.dismiss()
        else:
            screen = self.screen
            self.push_screen(Help(places_here(screen), reasons_here(screen)))


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


def run_app(
    vault: Path | None, settings: Settings, places: Places, said: str = "", store: Address | None = None
) -> None:
    """Open the app on a vault, which may be in a `store`, until the user leaves; without one it asks for one. `said` is
    why, or what is to be told of the vault. Raises ExcerptError where it cannot be drawn, and whatever a defect of ours
    raised while it was open."""
    check_terminal(os.environ)
    app = ExcerptApp(vault, settings, places, said=said, store=store)
    app.run()
    if app.defect is not None:
        raise app.defect
