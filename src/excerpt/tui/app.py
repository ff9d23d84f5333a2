"""The Textual app: the open vault, settings, themes, keymap and palette. `MainScreen` shows the vault."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, cast

from msgspec import structs
from rich.console import RenderableType
from textual import constants, events, on
from textual._compositor import ChopsUpdate, InlineUpdate, LayoutUpdate
from textual.actions import ActionParseResult
from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import CommandPalette, Provider
from textual.dom import DOMNode, NoScreen
from textual.driver import Driver
from textual.filter import LineFilter
from textual.messages import ExitApp
from textual.notifications import SeverityLevel
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Button, Input

from excerpt.base.errors import ExcerptError, SettingsError
from excerpt.base.settings import Paths, Settings
from excerpt.service.stores import StoreAddress
from excerpt.tui.active_keys import (
    DefersActions,
    HasParts,
    OpensDialogs,
    action_target,
    active_contexts,
    bindings,
    disabled_reason,
    disabled_reasons,
    row_id,
    to_textual_keymap,
)
from excerpt.tui.common.background_work import start_work
from excerpt.tui.common.line_filters import AsciiFilter, ControlCharacterFilter
from excerpt.tui.common.tab_bar import TabBar
from excerpt.tui.key_table import DIALOG_BINDING_IDS
from excerpt.tui.keymap import key_sign, use_keymap, validate_keymap
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.messages import Picked
from excerpt.tui.picking import Height, PickOptions, runs_in_browser
from excerpt.tui.session import NEW_SESSION, load_session
from excerpt.tui.settings.themes import (
    DARK_DEFAULTS,
    DARK_THEME,
    LIGHT_DEFAULTS,
    LIGHT_THEME,
    TEXTUAL_CSS,
    ThemeController,
    save_theme,
)
from excerpt.tui.terminal_driver import TerminalClosed, TerminalDriver
from excerpt.tui.textual_patches import (
    BACKGROUND_QUESTION,
    BackgroundReported,
    ChangedCellsUpdate,
    TerminalContent,
    expect_background_report,
    patch_parser,
)
from excerpt.vault.known_vaults import DEMO, VaultFolders, add_recent_vault, unique_name_among_recent

if TYPE_CHECKING:
    from excerpt.tui.vault_chooser import PreparedVault

_WIDTH_CLASSES: list[tuple[int, str]] | None = [(0, "-narrow"), (100, "-wide")]
"""CSS classes of a screen by its minimum width in cells."""
_HEIGHT_CLASSES: list[tuple[int, str]] | None = [(0, "-short"), (16, "-tall")]
"""CSS classes of a screen by its minimum height in lines."""
_RETRY_SECONDS = 0.02
"""Seconds between attempts to run an action whose target does not exist yet."""
_KEY_WAIT_SECONDS = 0.5
"""Maximum seconds that a key waits until earlier keys are handled."""
_MAX_HOLD_SECONDS = 3.0
"""Maximum seconds that keys are held after a key that opens a dialog."""
_SETTLED_ROUNDS = 3
"""Number of rounds without a change of screen or focus after which a key is taken to have opened no dialog.

A round waits until all message queues are empty. In the first round the key reaches its binding, in the second the
action's message reaches the screen, and in the third its handler runs.
"""
_REASON_SECONDS = 3.0
"""Seconds for which the reason for a disabled action is shown; meanwhile the same reason is not shown again."""
_REPORT_SECONDS = 2.0
"""Seconds after which a terminal that has not reported its background is taken to be unable to."""
_ERROR_SECONDS = 20.0
"""Seconds for which an error is shown: longer than a notice that comes over it."""
_THEME_POLL_SECONDS = 1.0
"""Seconds between checks whether the file of the current theme has changed."""


def _load_palette_provider() -> type[Provider]:
    from excerpt.tui.palette import KeyCommandProvider

    return KeyCommandProvider


class ExcerptApp(App[None], inherit_bindings=False):
    """The excerpt app, with a vault open, or several that are searched as one, or none.

    Each opened vault is a Textual mode of its own, so that removing the mode of the previous vault removes all its
    screens.
    """

    TITLE = "excerpt"
    INLINE_PADDING = 0
    DEFAULT_MODE = "vault-0"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("Always"),
        Binding("ctrl+c", "help_quit", show=False, system=True),
    ]
    NOTIFICATION_TIMEOUT = 6
    HORIZONTAL_BREAKPOINTS = _WIDTH_CLASSES
    VERTICAL_BREAKPOINTS = _HEIGHT_CLASSES

    CSS = TEXTUAL_CSS
    COMMANDS = {_load_palette_provider}  # noqa: RUF012 - Textual types it
    DEFAULT_CSS = """
    VerticalScroll { scrollbar-size-vertical: 1; }
    Input>.input--placeholder { color: $text-faint; }
    """

    plain: var[bool] = var(False, init=False)
    """Whether plain mode is on: ASCII replaces lines and blocks, and nothing is animated."""

    def __init__(
        self,
        vault: Path | None,
        settings: Settings,
        user_paths: Paths,
        environment: Mapping[str, str] | None = None,
        message: str = "",
        *,
        store: StoreAddress | None = None,
        others: Sequence[Path] = (),
        pick: PickOptions | None = None,
    ) -> None:
        """Prepare the app; without a `vault` it asks the user for one. Vaults in `others` are searched with `vault`.

        `message` is shown at the start: why the user must choose a vault, or a notice about the vault. If the vault is
        in a `store`, its path is no folder. `environment` is given to editors and clipboard tools; by default it is
        that of this process. With `pick`, the user picks what is printed at the end.
        """
        # Copied before `super().__init__`, where Textual removes NO_COLOR from the environment.
        shell = dict(os.environ if environment is None else environment)
        super().__init__(driver_class=None if constants.DRIVER else TerminalDriver)
        self._vaults = VaultFolders.of([vault, *others]) if vault is not None else None
        self._store = store
        self._settings = settings
        self._user_paths = user_paths
        self._shell_environment = shell
        self._message = message
        self._pick = pick
        self.picked_text: str | None = None
        """The text to print when the app has ended; None if the user has picked nothing."""
        self._opened_count = 0
        key = self._vaults.key if self._vaults is not None else None
        self._session = NEW_SESSION if key is None else load_session(key, settings, user_paths)
        if pick is not None:
            self._session = structs.replace(self._session, tab="search", query=pick.query, place=None)
        keymap, self._settings_problems = validate_keymap(settings.screen.keys)
        self.set_keymap(to_textual_keymap(keymap))
        use_keymap(keymap)
        self._themes = ThemeController(user_paths.config / "themes")
        self._background_theme = DARK_THEME
        """The theme that fits the terminal's background, which is used if none is set."""
        self._show_first_theme(settings.screen.theme or self._background_theme)
        patch_parser()
        self._terminal_content = TerminalContent()
        self._ascii_filter = AsciiFilter()
        self._control_filter = ControlCharacterFilter()
        self._last_reason_notice = ("", 0.0)  # the reason shown last, and the monotonic time until it is not repeated
        self._held_keys: deque[events.Key | events.Paste] = deque()
        self._is_holding_keys = False
        self._late_action_count = 0
        self._is_opening_vault = False
        self._default_animation_level = self.animation_level
        self.set_reactive(ExcerptApp.plain, settings.screen.plain)
        self.watch_plain()

    def get_default_screen(self) -> Screen[None]:
        if self._vaults is None:
            return Screen()
        return MainScreen(
            self._vaults,
            self._settings,
            self._user_paths,
            self._shell_environment,
            self._session,
            use_settings=self.use_settings,
            store=self._store,
            pick=self._pick,
        )

    def on_mount(self) -> None:
        # Not earlier: Textual starts the screen of a known mode before it is on the stack, and with eager tasks (Python
        # 3.12 and later) its widgets then ask for the current screen.
        self.add_mode(self.DEFAULT_MODE, self.get_default_screen)

    def on_ready(self) -> None:
        """Show the vault chooser or the start messages, and load the other themes, after the first frame.

        The terminal is asked for its background first, so that its theme is shown soon.
        Problems in the settings are shown when the themes are loaded, in one notice.
        """
        gc.enable()  # `configure_interpreter` disabled it
        self._query_terminal_background()
        self._show_start_messages()
        start_work(self, self._load_themes, group="themes")

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Show a notice as Textual does, with the title before the message on the same line."""
        if timeout is None and severity == "error":
            timeout = _ERROR_SECONDS
        heading = f"{title}." if title and title[-1].isalnum() else title
        text = " ".join(f"{heading} {message}".split())
        super().notify(text, severity=severity, timeout=timeout, markup=markup)

    async def action_quit(self) -> None:
        """Quit; a dialog with typed text asks before, so that the text is not lost."""
        from excerpt.tui.common.dialog import Dialog

        dialog = next((screen for screen in reversed(self.screen_stack) if isinstance(screen, Dialog)), None)
        if dialog is not None:
            dialog.confirm_leaving(self.exit)
        else:
            self.exit()

    def action_help_quit(self) -> None:
        """Say which key quits, as ctrl+c, which quits other programs, does not."""
        self.notify(f"{key_sign('quit')} quits excerpt.", markup=False)

    def _show_start_messages(self) -> None:
        """Open the vault chooser if no vault is open; otherwise show the messages about the open one."""
        if self._vaults is None:
            self.action_switch_vault()
            return
        if self._message:
            self.notify(self._message, timeout=20, markup=False)
        if self._store is None and not self._vaults.is_joined:
            start_work(self, partial(self._disambiguate_name, self._vaults.first), group="name")

    async def _disambiguate_name(self, vault: Path) -> None:
        """Add parent folders to the vault's name in the tab bar if a recent vault has the same name."""
        name = await asyncio.to_thread(unique_name_among_recent, self._user_paths, vault)
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen) and screen.vault == vault:
                for bar in screen.query(TabBar):  # none if the app is being left
                    bar.vault = name

    def action_switch_vault(self) -> None:
        from excerpt.tui.vault_chooser import VaultChooser

        if isinstance(self.screen, VaultChooser):
            return
        chooser = VaultChooser(
            self._user_paths, self._shell_environment, current=self._listed_path, message=self._message
        )
        self.push_screen(chooser, self._handle_vault_choice)

    @property
    def _listed_path(self) -> Path | None:
        """Path under which the open vault, or the first of several, appears in the list of vaults."""
        if self._store is not None:
            return Path(self._store.text)
        return self._vaults.first if self._vaults is not None else None

    def _handle_vault_choice(self, prepared_vault: PreparedVault | None) -> None:
        # A worker of the app, because the screen that asked is removed meanwhile, and awaits its own workers.
        if prepared_vault is not None:
            self._is_opening_vault = True
            start_work(self, partial(self._open_vault, prepared_vault), group="vault", exclusive=True)

    async def _open_vault(self, prepared_vault: PreparedVault) -> None:
        """Save the state of the current vault, and open another vault in its place."""
        before = self.screen
        if isinstance(before, MainScreen):
            await before.save_state()
        if prepared_vault.vault != DEMO:
            listed = prepared_vault.vault if prepared_vault.store is None else Path(prepared_vault.store.text)
            await asyncio.to_thread(add_recent_vault, self._user_paths, listed)
        # Plain mode, once on, stays on in other vaults.
        screen = replace(
            prepared_vault.settings.screen, plain=prepared_vault.settings.screen.plain or self._settings.screen.plain
        )
        settings = replace(prepared_vault.settings, screen=screen)
        self._vaults = VaultFolders.of([prepared_vault.vault])
        self._message, self._session = prepared_vault.message, prepared_vault.session
        self._store = prepared_vault.store
        self.use_settings(settings)
        if self._is_leaving():
            return
        mode = self.current_mode
        self._opened_count += 1
        self.add_mode(f"vault-{self._opened_count}", self.get_default_screen)
        await self.switch_mode(f"vault-{self._opened_count}")
        if self._is_leaving():
            return
        await self.remove_mode(mode)
        self._is_opening_vault = False
        self._show_start_messages()
        # Unfreeze the objects of the first engine; the next one freezes its own (`EngineWorker`).
        gc.unfreeze()

    def _is_leaving(self) -> bool:
        """Return whether the app is being closed: its screens must not change meanwhile."""
        return self._exit

    @on(Picked)
    def _handle_pick(self, message: Picked) -> None:
        self.picked_text = message.text
        self.exit()

    @on(TerminalClosed)
    def _leave_closed_terminal(self) -> None:
        self.exit()

    def watch_app_focus(self, has_focus: bool) -> None:
        """Focus the first field of a screen that was opened before the tab of the browser had the focus."""
        if has_focus:
            self.screen._update_auto_focus()

    @on(ExitApp)
    def _leave_closed_tab(self) -> None:
        """Save the sessions if Textual's server asks the app to end, because the tab of the browser was closed."""
        if not self._exit:
            self.exit()

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Save the sessions and leave the app; after leaving, the widgets that hold a session's values are gone."""
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.save_session()
        super().exit(result, return_code, message)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DARK_DEFAULTS if self.current_theme.dark else LIGHT_DEFAULTS

    def _show_first_theme(self, name: str) -> None:
        """Load and set the theme that the first frame needs."""
        theme, problems = self._themes.load_first(name, self.available_themes)
        self._settings_problems += problems
        self.register_theme(theme)
        # Without the watcher, which would parse again all CSS parsed before the first frame.
        self.set_reactive(App.theme, theme.name)
        classes = {f"-theme-{theme.name}": True, "-dark-mode": theme.dark, "-light-mode": not theme.dark}
        self.update_classes(classes, update=False)
        self.stylesheet.set_variables(self.get_css_variables())

    def _query_terminal_background(self) -> None:
        """Ask the terminal for its background colour if no theme is set; `_handle_background` uses the answer.

        A terminal may never answer. Terminals on Windows are not asked, nor is the Linux console, which would take the
        question for a colour.
        """
        driver = self._driver
        if self._settings.screen.theme or driver is None or driver.is_headless:
            return
        if sys.platform != "win32" and self._shell_environment.get("TERM") != "linux":
            expect_background_report(is_expected=True)
            self.set_timer(_REPORT_SECONDS, partial(expect_background_report, is_expected=False))
            driver.write(BACKGROUND_QUESTION)

    @on(BackgroundReported)
    def _handle_background(self, message: BackgroundReported) -> None:
        """Use the light or the dark default theme, as the terminal's background is, unless a theme is set."""
        self._background_theme = DARK_THEME if message.colour.brightness < 0.5 else LIGHT_THEME
        if not self._settings.screen.theme and self.theme != self._background_theme:
            if self._background_theme not in self.available_themes:
                theme, _ = self._themes.load_first(self._background_theme, self.available_themes)
                self.register_theme(theme)
            self.theme = self._background_theme

    async def _load_themes(self) -> None:
        """Load all other themes, show the problems in one notice, and begin to watch the current theme's file."""
        themes, problems = await asyncio.to_thread(self._themes.load_others, frozenset(self.available_themes))
        for theme in themes:
            self.register_theme(theme)
        self._settings_problems += [problem for problem in problems if problem not in self._settings_problems]
        self._show_problems()
        self.set_interval(_THEME_POLL_SECONDS, self.reload_changed_theme)

    def _show_problems(self) -> None:
        if self._settings_problems:
            self.notify(
                " ".join(self._settings_problems), title="Settings", severity="warning", timeout=12, markup=False
            )
        self._settings_problems = []

    def reload_changed_theme(self) -> None:
        """Show the user's own theme again if its file has changed, so that its author sees each saved change."""
        try:
            theme = self._themes.load_if_changed(self.theme)
        except SettingsError as error:
            self.notify(str(error), title="Theme", severity="warning", markup=False)
            return
        if theme is not None:
            self.register_theme(theme)
            self.mutate_reactive(App.theme)

    def action_change_theme(self) -> None:
        from excerpt.tui.settings.theme_picker import ThemePicker

        if not isinstance(self.screen, ThemePicker):
            names, own = self._themes.list_theme_names(self.available_themes, self.theme)
            self.push_screen(ThemePicker(names, own), self._handle_theme_choice)

    def _handle_theme_choice(self, name: str | None) -> None:
        if name is not None:
            start_work(self, partial(self._save_theme, name), group="theme")

    async def _save_theme(self, name: str) -> None:
        try:
            vault = self._vaults.first if self._vaults is not None else None
            file = await asyncio.to_thread(save_theme, self._user_paths, vault, name)
        except SettingsError as error:
            self.notify(
                f"{error} The theme {name} is used until you quit.", title=error.title, severity="error", markup=False
            )
            return
        self.notify(f"The theme is now {name}, saved in {file}.", markup=False)

    def watch_plain(self) -> None:
        self.animation_level = "none" if self.is_animation_off else self._default_animation_level
        self._ascii_filter.switch(on=self.plain)
        if self.is_running:
            self.refresh_css(animate=False)

    @property
    def is_animation_off(self) -> bool:
        """Whether all animation is off, by plain mode or by the setting `screen.motion`."""
        return self.plain or not self._settings.screen.motion

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = [*super().get_line_filters(), self._control_filter]
        return [*filters, self._ascii_filter] if self.plain else filters

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if not self.is_animation_off:
            return
        from textual.widgets import TextArea  # imports eight modules that the first frame does not need

        if isinstance(event.widget, Input | TextArea):
            event.widget.cursor_blink = False

    @property
    def fatal_exception(self) -> Exception | None:
        """The unexpected exception that ended the app; None if there was none."""
        return self._exception

    async def _shutdown(self) -> None:
        # Textual's test harness shuts down without exiting, where `_handle_exception` would report a half-mounted tab.
        self._exit = True
        await super()._shutdown()

    def _handle_exception(self, error: Exception) -> None:
        # Leaving while tabs are being mounted removes widgets that they still use.
        if not self._exit:
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        # Textual would print a long traceback with the values of variables.
        self.bell()
        self._close_messages_no_wait()

    def use_settings(self, settings: Settings) -> None:
        """Apply other settings: theme, keys, plain mode and motion."""
        old, new = self._settings.screen, settings.screen
        self._settings = settings
        if old.keys != new.keys:
            keymap, problems = validate_keymap(new.keys)
            self.set_keymap(to_textual_keymap(keymap))
            use_keymap(keymap)
            self._settings_problems += problems
            self._show_problems()
        theme = new.theme or self._background_theme
        if old.theme != new.theme and theme in self.available_themes:
            self.theme = theme
            self._query_terminal_background()
        elif old.theme != new.theme:
            self.notify(
                f"There is no theme called {new.theme}. The theme stays {self.theme}.",
                title="Settings",
                severity="warning",
                markup=False,
            )
        self.plain = new.plain
        if old.motion != new.motion:
            self.watch_plain()

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action as Textual does; if the action is disabled, show the reason.

        An action that is requested before the first tab is complete waits until it is. An action of a screen that was
        closed meanwhile does nothing.
        """
        if not self._is_on_open_screen(default_namespace):
            return True
        if isinstance(action, str) and self._check_action_state(action, default_namespace or self) is False:
            return False
        is_early = isinstance(self.screen, MainScreen) and not self.screen.is_populated
        if is_early and not isinstance(default_namespace, Input):  # editing must keep its order among typed letters
            self._late_action_count += 1
            self.set_timer(_RETRY_SECONDS, partial(self._run_late_action, action, default_namespace, namespaces))
            return True
        namespace = default_namespace
        if isinstance(action, str):
            target, name, parameters = action_target(default_namespace or self, action)
            if isinstance(target, DefersActions) and target.check_action(name, parameters) and target.has_to_wait(name):
                target.run_when_answered(partial(self.run_action, action, default_namespace, namespaces))
                return True
            if isinstance(target, HasParts):
                namespace = target.part_for(name)
        reason = disabled_reason(default_namespace or self, action) if isinstance(action, str) else ""
        if not reason:
            return await super().run_action(action, namespace, namespaces)
        last_reason, until = self._last_reason_notice
        if last_reason != reason or monotonic() > until:
            self._last_reason_notice = reason, monotonic() + _REASON_SECONDS
            self.notify(reason, timeout=_REASON_SECONDS, markup=False)
        return True

    async def _run_late_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None,
        namespaces: Mapping[str, DOMNode] | None,
    ) -> None:
        """Run an action that has waited for its target; it waits again if the target still does not exist."""
        self._late_action_count -= 1
        await self.run_action(action, default_namespace, namespaces)

    def _is_on_open_screen(self, node: DOMNode | None) -> bool:
        try:
            return node is None or node is self or node.screen in self.screen_stack
        except NoScreen:
            return False

    async def on_event(self, event: events.Event) -> None:
        """Handle an event as Textual does; after a key that opens a dialog, hold later keys for that dialog."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if self._is_holding_keys:
                self._held_keys.append(event)
                return
            if isinstance(event, events.Paste):
                await self._wait_for_earlier_keys()
            elif self._may_open_dialog(event):
                await self._wait_for_earlier_keys(event.key)
                if self._may_open_dialog(event):
                    self._is_holding_keys = True
                    start_work(self, self._release_held_keys, group="held")
        await super().on_event(event)

    def _may_open_dialog(self, event: events.Key) -> bool:
        """Return whether a key may open a dialog where the focus is now."""
        from excerpt.tui.common.dialog import OverlayScreen

        screen, focused = self.screen, self.focused
        is_typed = focused is not None and focused.check_consume_key(event.key, event.character)
        if isinstance(screen, OverlayScreen) and (event.key == "enter" or isinstance(focused, Button)):
            return True
        key_bindings = (
            binding
            for _, bindings_map in screen._binding_chain
            for binding in bindings_map.key_to_bindings.get(event.key, ())
        )
        return any(
            row_id(binding) in DIALOG_BINDING_IDS and (binding.priority or not is_typed) for binding in key_bindings
        )

    async def _release_held_keys(self) -> None:
        """Wait until the dialog has the focus or is known not to open, then handle the held keys."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_MAX_HOLD_SECONDS):
                settled_rounds = 0
                while settled_rounds < _SETTLED_ROUNDS:
                    before = (*self.screen_stack, self.focused)
                    await self._wait_for_empty_queues()
                    if self._is_dialog_pending:
                        await asyncio.sleep(_RETRY_SECONDS)
                        settled_rounds = 0
                    else:
                        settled_rounds = settled_rounds + 1 if before == (*self.screen_stack, self.focused) else 0
        self.call_later(self._replay_held_keys)

    @property
    def _is_dialog_pending(self) -> bool:
        screen = self.screen
        return (
            self._late_action_count > 0
            or self._is_opening_vault
            or (isinstance(screen, OpensDialogs) and screen.is_opening)
        )

    async def _wait_for_empty_queues(self) -> None:
        """Wait until the focused widget and the nodes around it have read all messages in their queues."""
        screen = self.screen
        for node in (self.focused or screen).ancestors_with_self:
            done = asyncio.Event()
            if not node.call_later(done.set):
                continue
            while not done.is_set() and node.is_running and node.is_attached:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_RETRY_SECONDS):
                        await done.wait()

    async def _replay_held_keys(self) -> None:
        """Handle the held keys in order; if one of them opens another dialog, hold the rest again."""
        self._is_holding_keys = False
        while self._held_keys and not self._is_holding_keys:
            await self.on_event(self._held_keys.popleft())

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        if priority:
            await self._wait_for_earlier_keys(key)
        return await super()._check_bindings(key, priority)

    async def _wait_for_earlier_keys(self, key: str = "") -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_KEY_WAIT_SECONDS):
                while not await self._wait_for_key_queues(key):
                    pass

    async def _wait_for_key_queues(self, key: str) -> bool:
        """Wait until the keys before `key` are handled, and return whether the screen in front is still the same.

        Without this, Textual would look up the binding of a key before the focused widget has read the previous key.
        """
        screen = self.screen
        for node in self._nodes_to_wait_for(key):
            done = asyncio.Event()
            if node.call_later(done.set):
                await done.wait()
        return self.screen is screen

    def _nodes_to_wait_for(self, key: str) -> Sequence[DOMNode]:
        """Return the nodes that must have read all earlier keys before `key` is handled."""
        from excerpt.tui.common.dialog import OverlayScreen

        screen, focused = self.screen, self.focused
        ancestors = [node for node in (focused or screen).ancestors_with_self if not isinstance(node, App)]
        if not isinstance(screen, MainScreen):
            return ancestors if isinstance(screen, OverlayScreen) else ()
        if focused is None:
            return ()
        has_priority = any(
            binding.priority
            for _, bindings_map in screen._binding_chain
            for binding in bindings_map.key_to_bindings.get(key, ())
        )
        if not has_priority:
            # A field reads letters in their order; in a list an earlier key may move the focus.
            return () if isinstance(focused, Input) else (focused,)
        # The focused node comes twice: a field that reads a letter first posts a message to itself.
        return (focused, *(ancestors if screen.is_populated else ancestors[:-1]))

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if isinstance(renderable, ChopsUpdate | LayoutUpdate | InlineUpdate):
            renderable = cast("RenderableType", ChangedCellsUpdate(renderable, self._terminal_content))
        super()._display(screen, renderable)

    def action_redraw(self) -> None:
        """Redraw the whole screen, for example after another program has written over it."""
        self._terminal_content = TerminalContent()
        self.refresh(layout=True)
        self.screen._compositor._dirty_regions.add(self.screen.region)

    @on(events.Resize)
    def _redraw_resized_rows(self) -> None:
        if self.is_inline:  # `InlineDriver` has cleared them
            self.action_redraw()

    @on(Driver.SignalResume)
    def _redraw_after_resume(self) -> None:
        # Textual resumes on an empty terminal and draws only what changes.
        self.action_redraw()

    def action_command_palette(self) -> None:
        from excerpt.tui.palette import Palette

        if not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette())  # without an id, because the previous one may still be closing

    def action_help(self) -> None:
        from excerpt.tui.common.help import HelpDialog

        if isinstance(self.screen, HelpDialog):
            self.screen.dismiss()
        else:
            screen = self.screen
            notices = [notice.message for notice in self._notifications]
            self.push_screen(HelpDialog(active_contexts(screen), disabled_reasons(screen), notices))


def check_terminal(environment: Mapping[str, str]) -> None:
    """Raise ExcerptError if the app cannot be drawn on this terminal. A driver of Textual's server needs none."""
    if runs_in_browser(environment):
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise ExcerptError(
            "The app needs a terminal for its input and output.",
            "In a pipe or a script, use `excerpt search` or `excerpt pack`.",
        )
    if environment.get("TERM") == "dumb":
        raise ExcerptError(
            "The app cannot be drawn on a terminal of the type “dumb”.", "Use `excerpt search` or `excerpt pack` there."
        )


def _run_below_cursor(app: ExcerptApp, height: Height) -> None:
    from excerpt.tui.terminal_driver import InlineDriver  # there is none on Windows

    app.driver_class = InlineDriver
    columns, rows = shutil.get_terminal_size()
    app.run(size=(columns, height.rows(rows)))


def run_app(
    vault: Path | None,
    settings: Settings,
    user_paths: Paths,
    message: str = "",
    *,
    store: StoreAddress | None = None,
    others: Sequence[Path] = (),
    pick: PickOptions | None = None,
) -> str | None:
    """Run the app on a vault until the user leaves; without a `vault` the app asks for one.

    With `pick`, return the text that the user has picked, None for nothing. Vaults in `others` are searched with
    `vault`. `store` is the address of a vault in a store. `message` is shown at the start: why the user must choose a
    vault, or a notice about the vault. Raises ExcerptError if the terminal cannot show the app, and any unexpected
    exception that ended the app.
    """
    check_terminal(os.environ)
    app = ExcerptApp(vault, settings, user_paths, message=message, store=store, others=others, pick=pick)
    if pick is None or pick.height is None:
        app.run()
    else:
        _run_below_cursor(app, pick.height)
    if app.fatal_exception is not None:
        raise app.fatal_exception
    return app.picked_text
