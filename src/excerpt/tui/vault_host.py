"""The part of the app that knows which vault is open, and opens another in its place."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rich.console import RenderableType
from textual.app import App
from textual.screen import Screen

from excerpt.known_vaults import DEMO, name_among_recent, remember_vault
from excerpt.settings import Places, Settings
from excerpt.tui.opening import Opening, session_of
from excerpt.tui.screens.main import MainScreen
from excerpt.tui.session import NEW
from excerpt.tui.widgets.tab_bar import TabBar


class VaultHost(App[None], inherit_bindings=False):
    """Owns the vault that is open, if any, with its settings and where the user was in it.

    Each vault that is opened is a mode of its own, so that the one before goes with all its screens.
    """

    DEFAULT_MODE = "vault-0"

    def __init__(
        self, vault: Path | None, settings: Settings, places: Places, environment: Mapping[str, str], said: str = ""
    ) -> None:
        """Without a vault one is asked for; `said` is why, or what is to be told of the vault. `environment` is that
        of the user's shell."""
        super().__init__()
        self._vault = vault
        self._settings = settings
        self._places = places
        self._shell = dict(environment)
        self._said = said
        self._opened = 0
        self._session = NEW if vault is None else session_of(vault, settings, places)

    def use_settings(self, settings: Settings) -> None:
        """Other settings hold from now on."""
        raise NotImplementedError

    def get_default_screen(self) -> Screen[None]:
        if self._vault is None:
            return Screen()
        return MainScreen(self._vault, self._settings, self._places, self._shell, self._session)

    def on_mount(self) -> None:
        # Not before its screen stands: Textual starts the screen of a mode that it knows before that is on the stack,
        # and where tasks run at once (Python 3.12 and later) its widgets ask for the screen that is.
        self.add_mode(self.DEFAULT_MODE, self.get_default_screen)

    def begin(self) -> None:
        """After the first frame: ask for a vault where none is open; on the demo, offer the tour to who is new."""
        if self._vault is None:
            self.action_switch_vault()
            return
        if self._said:
            self.notify(self._said, title="Vault", timeout=20, markup=False)
        self.run_worker(self._name_apart(self._vault), group="name")
        if self._vault == DEMO:
            self.run_worker(self._offer_tour(), group="tour")

    async def _name_apart(self, vault: Path) -> None:
        """Tell the vault from others of its name that were opened lately."""
        name = await asyncio.to_thread(name_among_recent, self._places, vault)
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen) and screen.vault == vault:
                screen.query_one(TabBar).vault = name

    async def _offer_tour(self) -> None:
        """Once: the tour is offered no more when it was shown."""
        if not await asyncio.to_thread(self._places.tour_file.exists) and isinstance(self.screen, MainScreen):
            self.action_tour()

    def action_tour(self) -> None:
        from excerpt.tui.screens.tour import EXAMPLE, Tour

        screen = self.screen
        if isinstance(screen, MainScreen) and self._vault == DEMO:
            screen.propose(EXAMPLE)
        self.push_screen(Tour(self._keymap))
        self.run_worker(asyncio.to_thread(_touch, self._places.tour_file), group="tour")

    def action_switch_vault(self) -> None:
        from excerpt.tui.screens.vault_chooser import VaultChooser

        if isinstance(self.screen, VaultChooser):
            return
        chooser = VaultChooser(self._places, self._shell, current=self._vault, said=self._said)
        self.push_screen(chooser, self._chosen)

    def _chosen(self, opening: Opening | None) -> None:
        # A worker of the app: the screen that asked goes away meanwhile, and is waited for.
        if opening is not None:
            self.run_worker(self._open(opening), group="vault", exclusive=True)

    async def _open(self, opening: Opening) -> None:
        """Put a vault in the place of the one that is open, of which everything is written first."""
        before = self.screen
        if isinstance(before, MainScreen):
            await before.keep_all()
        if opening.vault != DEMO:
            await asyncio.to_thread(remember_vault, self._places, opening.vault)
        # Who began plainly goes on so.
        screen = replace(opening.settings.screen, plain=opening.settings.screen.plain or self._settings.screen.plain)
        settings = replace(opening.settings, screen=screen)
        self._vault, self._said, self._session = opening.vault, opening.said, opening.session
        self.use_settings(settings)
        mode = self.current_mode
        self._opened += 1
        self.add_mode(f"vault-{self._opened}", self.get_default_screen)
        await self.switch_mode(f"vault-{self._opened}")
        await self.remove_mode(mode)
        self.begin()
        # What the first engine froze is let go of; the next one freezes anew (`EngineWorker`).
        gc.unfreeze()

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Leave; where the user is on each screen is kept first, as its widgets go before it does."""
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen):
                screen.keep_session()
        super().exit(result, return_code, message)


def _touch(file: Path) -> None:
    with suppress(OSError):  # it is offered once more then
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch()
