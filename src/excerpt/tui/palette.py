"""The command palette: every action of the table, those that work here first, with reasons for disabled ones."""

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
from excerpt.tui.key_table import CONTEXTS, FIELD, Key
from excerpt.tui.keymap import current_keys, format_keys
from excerpt.tui.main_screen import MainScreen

_TABS = {"Search": "search", "Overview": "overview", "Memory": "memory"}

_WIDGETS = {
    "Search, with the list focused": "#hits",
    "Search, with the passage focused": "#preview",
    "Search, with the pack focused": "#packed",
    "Search, with related notes focused": "#related-notes",
    "Search, with the map focused": "#map",
    "Overview, with the lines focused": "#overview-lines",
    "Memory, with the list focused": "#memories",
}
"""Selectors of the focused widget in these contexts."""

_FIRST_COMMAND = next(row.what for row in CONTEXTS["Always"] if row.id == "help")
"""Description of the first row: help, because some terminals take F1 for themselves."""
_INACTIVE_FACTOR = 0.8
"""Factor for the score of a command that does not work where the focus is."""


@dataclass(frozen=True, slots=True)
class Command:
    """A line of the palette. `where` is its context with its keys, or why it cannot be run now."""

    what: str
    where: str
    is_active: bool
    run: Callable[[], object]


def commands(screen: Screen[object]) -> list[Command]:
    """Return the commands of a screen, each action once.

    In this order: help, what can be run here, what is disabled now, what works elsewhere, then movement. Editing of a
    field is left out.
    """
    rows = {binding.id: binding for keys in CONTEXTS.values() for binding in keys}
    moves = frozenset(id_ for id_, row in rows.items() if row.moves)
    available: dict[object, Command] = {}
    disabled: dict[object, Command] = {}
    movements: dict[object, Command] = {}
    keys = working_keys(screen)
    for each in working_bindings(screen):
        binding = rows[row_id(each.binding)]
        if binding in FIELD:
            continue
        run = partial(screen.app.run_action, binding.action, each.node)
        reason = disabled_reason(each.node, binding.action)
        where = f"not now: {reason}" if reason else " · ".join(filter(None, ("here", format_keys(keys[binding.id]))))
        into = movements if binding.id in moves else disabled if reason else available
        into.setdefault(action_target(each.node, binding.action), Command(binding.what, where, True, run))
    descriptions = {command.what for command in (*available.values(), *disabled.values(), *movements.values())}
    available |= disabled
    if isinstance(screen, MainScreen):
        for id_, command in _other_commands(screen):
            if command.what not in descriptions and id_ != "palette":
                descriptions.add(command.what)
                (movements if id_ in moves else available)[id_] = command
    ordered = [*available.values(), *movements.values()]
    return sorted(ordered, key=lambda command: command.what != _FIRST_COMMAND)


def _other_commands(screen: MainScreen) -> Iterator[tuple[str, Command]]:
    for context, keys in CONTEXTS.items():
        tab = _TABS.get(context.partition(", with")[0])
        for binding in keys:
            where = " · ".join(filter(None, (context, format_keys(current_keys(binding.id)))))
            if context in ("Always", "Everywhere") or context in _TABS:
                run = screen.command_callback(tab, binding.action)
                yield binding.id, Command(binding.what, where, False, run)
            elif context in _WIDGETS:
                yield binding.id, Command(binding.what, where, False, partial(_run_in, screen, context, binding))


async def _run_in(screen: MainScreen, context: str, binding: Key) -> None:
    """Run the action of a binding in the widget of a context, if the widget is visible."""
    widget = screen.query_one(_WIDGETS[context], Widget)
    if not widget.region:
        screen.notify(f"That works only in the {context[:1].lower()}{context[1:]}.", markup=False)
    else:
        widget.focus()
        await screen.app.run_action(binding.action, widget)


class Palette(CommandPalette, OverlayScreen[None]):
    """Textual's palette, which closes once however many keys ask for it, and tolerates keys that come too early."""

    _is_choosing = False

    def _action_command_list(self, action: str) -> None:
        with suppress(LookupError):  # a list that is not drawn yet has no page to scroll by
            super()._action_command_list(action)

    @property
    def is_opening(self) -> bool:
        """Whether the chosen command is still to be run."""
        return self._is_choosing

    @on(Input.Submitted)
    async def _choose(self, event: Input.Submitted) -> None:
        """Run the selected command when the search for all that is typed is complete."""
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


class KeyCommands(Provider):
    async def discover(self) -> Hits:
        for command in commands(self.screen):
            yield DiscoveryHit(command.what, command.run, help=escape(command.where))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in commands(self.screen):
            if score := matcher.match(command.what):
                weighted = score * (1.0 if command.is_active else _INACTIVE_FACTOR)
                yield Hit(weighted, matcher.highlight(command.what), command.run, help=escape(command.where))
