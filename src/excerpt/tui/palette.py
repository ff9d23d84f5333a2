"""The command palette: every action of the key table, those that work now first, with the reasons for disabled ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from textual import on, work
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.css.query import NoMatches
from textual.markup import escape
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import WorkerCancelled, WorkerFailed

from excerpt.tui.active_keys import action_target, disabled_reason, row_id, working_bindings, working_keys
from excerpt.tui.common.dialog import OverlayScreen
from excerpt.tui.key_table import CONTEXTS, FIELD_KEYS, KeyBinding
from excerpt.tui.keymap import current_keys, format_keys
from excerpt.tui.main_screen import MainScreen

_TAB_IDS = {"Search": "search", "Overview": "overview", "Memory": "memory"}  # ids of the tabs by context

_CONTEXT_WIDGETS = {
    "Search, with the list focused": "#hits",
    "Search, with the passage focused": "#preview",
    "Search, with the pack focused": "#packed",
    "Search, with related notes focused": "#related-notes",
    "Search, with the map focused": "#map",
    "Overview, with the lines focused": "#overview-lines",
    "Memory, with the list focused": "#memories",
}
"""CSS selector of the widget that has the focus in each of these contexts."""

_FIRST_COMMAND = next(row.what for row in CONTEXTS["Always"] if row.id == "help")
"""Description of the command listed first. It is help, because some terminals take F1 for themselves."""
_INACTIVE_FACTOR = 0.8
"""Factor for the match score of a command that does not work where the focus is."""


@dataclass(frozen=True, slots=True)
class PaletteCommand:
    """A command of the palette. `detail` shows its context and its keys, or the reason why it cannot be run now.

    `what` is the description that is searched. `is_active`: the command belongs to where the focus is.
    """

    what: str
    detail: str
    is_active: bool
    run: Callable[[], object]


def list_commands(screen: Screen[object]) -> list[PaletteCommand]:
    """Return the commands of a screen, each action once.

    Their order is: help, actions that can be run now, disabled ones, those of other contexts, then movements. Actions
    that edit a field are left out.
    """
    rows = {binding.id: binding for keys in CONTEXTS.values() for binding in keys}
    moves = frozenset(id_ for id_, row in rows.items() if row.is_movement)
    available: dict[object, PaletteCommand] = {}
    disabled: dict[object, PaletteCommand] = {}
    movements: dict[object, PaletteCommand] = {}
    keys = working_keys(screen)
    for each in working_bindings(screen):
        binding = rows[row_id(each.binding)]
        if binding in FIELD_KEYS:
            continue
        run = partial(screen.app.run_action, binding.action, each.node)
        reason = disabled_reason(each.node, binding.action)
        detail = f"not now: {reason}" if reason else " · ".join(filter(None, ("here", format_keys(keys[binding.id]))))
        into = movements if binding.id in moves else disabled if reason else available
        into.setdefault(action_target(each.node, binding.action), PaletteCommand(binding.what, detail, True, run))
    descriptions = {command.what for command in (*available.values(), *disabled.values(), *movements.values())}
    available |= disabled
    if isinstance(screen, MainScreen):
        for id_, command in _commands_elsewhere(screen):
            if command.what not in descriptions and id_ != "palette":
                descriptions.add(command.what)
                (movements if id_ in moves else available)[id_] = command
    ordered = [*available.values(), *movements.values()]
    return sorted(ordered, key=lambda command: command.what != _FIRST_COMMAND)


def _commands_elsewhere(screen: MainScreen) -> Iterator[tuple[str, PaletteCommand]]:
    """Yield the id and the command of each action of every context that the palette can open."""
    for context, keys in CONTEXTS.items():
        tab = _TAB_IDS.get(context.partition(", with")[0])
        for binding in keys:
            detail = " · ".join(filter(None, (context, format_keys(current_keys(binding.id)))))
            if context in ("Always", "Everywhere") or context in _TAB_IDS:
                run = screen.palette_callback(tab, binding.action)
                yield binding.id, PaletteCommand(binding.what, detail, False, run)
            elif context in _CONTEXT_WIDGETS:
                yield (
                    binding.id,
                    PaletteCommand(binding.what, detail, False, partial(_run_in_context, screen, context, binding)),
                )


async def _run_in_context(screen: MainScreen, context: str, binding: KeyBinding) -> None:
    """Focus the widget of a context and run the action of a binding in it; show a notice if it is not visible."""
    widget = screen.query_one(_CONTEXT_WIDGETS[context], Widget)
    if not widget.region:
        screen.notify(f"That works only in the {context[:1].lower()}{context[1:]}.", markup=False)
    else:
        widget.focus()
        await screen.app.run_action(binding.action, widget)


class Palette(CommandPalette, OverlayScreen[None]):
    """Textual's palette, but repeated keys close it only once, and keys before its list is drawn are no error."""

    _is_choosing = False

    def _action_command_list(self, action: str) -> None:
        with suppress(LookupError):  # a list that is not drawn yet has no page to scroll by
            super()._action_command_list(action)

    @property
    def is_opening(self) -> bool:
        """Whether a command was chosen that has not been run yet."""
        return self._is_choosing

    @on(Input.Submitted)
    async def _run_selected(self, event: Input.Submitted) -> None:
        """Run the selected command, after the search for the whole typed text is complete."""
        event.stop()
        event.prevent_default()
        self._is_choosing = True
        for worker in [one for one in self.workers if one.group == CommandPalette._GATHER_COMMANDS_GROUP]:
            with suppress(WorkerFailed, WorkerCancelled):
                await worker.wait()
        self._is_choosing = self._list_visible and self.query_one(CommandList).highlighted is not None
        self._select_or_command()

    @work(exclusive=True, group=CommandPalette._GATHER_COMMANDS_GROUP)
    async def _gather_commands(self, search_value: str) -> None:
        with suppress(NoMatches):  # the palette may be closed before this starts
            await CommandPalette._gather_commands.__wrapped__(self, search_value)  # type: ignore[attr-defined]


class KeyCommandProvider(Provider):
    """The commands of the key table for Textual's palette."""

    async def discover(self) -> Hits:
        for command in list_commands(self.screen):
            yield DiscoveryHit(command.what, command.run, help=escape(command.detail))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in list_commands(self.screen):
            if score := matcher.match(command.what):
                weighted = score * (1.0 if command.is_active else _INACTIVE_FACTOR)
                yield Hit(weighted, matcher.highlight(command.what), command.run, help=escape(command.detail))
