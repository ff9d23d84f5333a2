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

from excerpt.tui.bindings import action_target, active, disabled_reason, row_id, working_keys
from excerpt.tui.common.dialog import Leaving
from excerpt.tui.keymap import keys_now, shown_keys
from excerpt.tui.keys import FIELD, PLACES, Key
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
"""Selectors of the focused widget in these places."""

_FIRST = next(row.what for row in PLACES["Always"] if row.id == "help")
"""Description of the first row: help, because some terminals take F1 for themselves."""
_ELSEWHERE = 0.8
"""Factor for the score of a command that does not work where the focus is."""


@dataclass(frozen=True, slots=True)
class Command:
    """A line of the palette. `where` is its place with its keys, or why it cannot be run now."""

    what: str
    where: str
    here: bool
    run: Callable[[], object]


def commands(screen: Screen[object]) -> list[Command]:
    """Return the commands of a screen, each action once.

    In this order: help, what can be run here, what is disabled now, what works elsewhere, then movement. Editing of a
    field is left out.
    """
    rows = {binding.id: binding for place in PLACES.values() for binding in place}
    moves = frozenset(id_ for id_, row in rows.items() if row.moves)
    found: dict[object, Command] = {}
    not_now: dict[object, Command] = {}
    late: dict[object, Command] = {}
    keys = working_keys(screen)
    for each in active(screen):
        binding = rows[row_id(each.binding)]
        if binding in FIELD:
            continue
        run = partial(screen.app.run_action, binding.action, each.node)
        reason = disabled_reason(each.node, binding.action)
        where = f"not now: {reason}" if reason else " · ".join(filter(None, ("here", shown_keys(keys[binding.id]))))
        into = late if binding.id in moves else not_now if reason else found
        into.setdefault(action_target(each.node, binding.action), Command(binding.what, where, True, run))
    said = {command.what for command in (*found.values(), *not_now.values(), *late.values())}
    found |= not_now
    if isinstance(screen, MainScreen):
        for id_, command in _elsewhere(screen):
            if command.what not in said and id_ != "palette":
                said.add(command.what)
                (late if id_ in moves else found)[id_] = command
    every = [*found.values(), *late.values()]
    return sorted(every, key=lambda command: command.what != _FIRST)


def _elsewhere(screen: MainScreen) -> Iterator[tuple[str, Command]]:
    for place, keys in PLACES.items():
        tab = _TABS.get(place.partition(", with")[0])
        for binding in keys:
            where = " · ".join(filter(None, (place, shown_keys(keys_now(binding.id)))))
            if place in ("Always", "Everywhere") or place in _TABS:
                run = screen.command_callback(tab, binding.action)
                yield binding.id, Command(binding.what, where, False, run)
            elif place in _WIDGETS:
                yield binding.id, Command(binding.what, where, False, partial(_run_in, screen, place, binding))


async def _run_in(screen: MainScreen, place: str, binding: Key) -> None:
    """Run the action of a binding in the widget of a place, if the widget is visible."""
    widget = screen.query_one(_WIDGETS[place], Widget)
    if not widget.region:
        screen.notify(f"That works only in the {place[:1].lower()}{place[1:]}.", markup=False)
    else:
        widget.focus()
        await screen.app.run_action(binding.action, widget)


class Palette(CommandPalette, Leaving[None]):
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
                worth = score * (1.0 if command.here else _ELSEWHERE)
                yield Hit(worth, matcher.highlight(command.what), command.run, help=escape(command.where))
