"""The command palette: every action of the key table except movements, those of the focused place first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import cast

from msgspec import Struct
from textual import on, work
from textual.command import Command, CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.css.query import NoMatches
from textual.css.styles import RulesMap
from textual.markup import escape
from textual.screen import Screen
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import WorkerCancelled, WorkerFailed

from excerpt.tui.active_keys import action_target, disabled_reason, row_id, working_bindings, working_keys
from excerpt.tui.common.dialog import OverlayScreen
from excerpt.tui.key_table import CONTEXTS, KeyBinding
from excerpt.tui.keymap import current_keys, format_keys
from excerpt.tui.main_screen import MainScreen

_TAB_IDS = {"Search": "search", "Overview": "overview", "Memory": "memory"}  # ids of the tabs by context

_CONTEXT_WIDGETS = {
    "Search tab, focus on the list": "#hits",
    "Search tab, focus on the passage": "#preview",
    "Search tab, focus on the pack": "#packed",
    "Search tab, focus on the related notes": "#related-notes",
    "Search tab, focus on the map": "#map",
    "Overview tab, focus on the lines": "#overview-lines",
    "Memory tab, focus on the list": "#memories",
}
"""CSS selector of the widget that has the focus in each of these contexts."""

_FIRST_COMMAND = next(row.what for row in CONTEXTS["Always"] if row.id == "help")
"""Description of the command listed first. It is help, because some terminals take F1 for themselves."""
_WORD_BONUS = 1000.0
"""Added to the match score of a command in which each typed word begins a word, and of one that begins with the text.

It is more than any score.
"""
_INACTIVE_FACTOR = 0.8
"""Factor for the match score of a command that does not work where the focus is."""


class PaletteCommand(Struct, frozen=True):
    """A command of the palette: the description that is searched, and its keys as written on the screen.

    `is_active`: the command belongs to where the focus is. `is_enabled`: it can be run now; otherwise running it shows
    the reason.
    """

    what: str
    keys: str
    is_active: bool
    is_enabled: bool
    run: Callable[[], object]


def list_commands(screen: Screen[object]) -> list[PaletteCommand]:
    """Return the commands of a screen, each action once, without movements and the editing of a field.

    Their order is: help, enabled actions of the focused widget and those around it, disabled ones, then actions of
    other widgets.
    """
    rows = {binding.id: binding for keys in CONTEXTS.values() for binding in keys if not binding.is_movement}
    commands: dict[object, PaletteCommand] = {}
    keys = working_keys(screen)
    for each in working_bindings(screen):
        binding = rows.get(row_id(each.binding))
        if binding is not None:
            commands.setdefault(
                action_target(each.node, binding.action),
                PaletteCommand(
                    binding.what,
                    format_keys(keys[binding.id]),
                    is_active=True,
                    is_enabled=not disabled_reason(each.node, binding.action),
                    run=partial(screen.app.run_action, binding.action, each.node),
                ),
            )
    descriptions = {command.what for command in commands.values()}
    for binding, run in _commands_elsewhere(screen) if isinstance(screen, MainScreen) else ():
        if binding.id in rows and binding.id != "palette" and binding.what not in descriptions:
            descriptions.add(binding.what)
            signs = format_keys(current_keys(binding.id))
            commands[binding.id] = PaletteCommand(binding.what, signs, is_active=False, is_enabled=True, run=run)
    return sorted(
        commands.values(), key=lambda each: (each.what != _FIRST_COMMAND, not each.is_active, not each.is_enabled)
    )


def _commands_elsewhere(screen: MainScreen) -> Iterator[tuple[KeyBinding, Callable[[], object]]]:
    """Yield each binding of every context that the palette can open, and the function that runs its action."""
    for context, keys in CONTEXTS.items():
        tab = _TAB_IDS.get(context.partition(",")[0].removesuffix(" tab"))
        for binding in keys:
            if any(not _is_possible(pane, binding.action) for pane in screen.query(f"#{tab}") if tab):
                continue
            if context in ("Always", "Everywhere") or context in _TAB_IDS:
                yield binding, screen.palette_callback(tab, binding.action)
            elif context in _CONTEXT_WIDGETS:
                yield binding, partial(_run_in_context, screen, context, binding)


def _is_possible(pane: Widget, action: str) -> bool:
    """Return whether a pane accepts an action now, which may belong to another state of the pane."""
    target, name, parameters = action_target(pane, action)
    return target.check_action(name, parameters) is not False


async def _run_in_context(screen: MainScreen, context: str, binding: KeyBinding) -> None:
    """Focus the widget of a context and run the action of a binding in it; show a notice if it is not visible."""
    widget = screen.query_one(_CONTEXT_WIDGETS[context], Widget)
    if not widget.region:
        screen.notify(f"The command does not work now: its place, “{context}”, is not visible.", markup=False)
    else:
        widget.focus()
        await screen.app.run_action(binding.action, widget)


_MIN_SCORE = 0.01
"""Score of a command that has the typed words, but in another order."""


class CommandRow(Visual):
    """A command on one line: its description, shortened if there is no room for it, and its keys at the right end."""

    def __init__(self, what: Content, keys: Content) -> None:
        self._what = what
        self._keys = keys

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:  # noqa: ARG002 - Textual's names
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:  # noqa: ARG002 - Textual's names
        return 1

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        room = width - self._keys.cell_length - 2
        row = Content.assemble(self._what.truncate(room, ellipsis=True, pad=True), "  ", self._keys)
        return row.render_strips(width, height, style, options)


class Palette(CommandPalette, OverlayScreen[None]):
    """Textual's palette with one line a command.

    Repeated keys close it only once, and keys before its list is drawn are no error.
    """

    _is_choosing = False

    def _refresh_command_list(self, command_list: CommandList, commands: list[Command], clear_current: bool) -> None:
        rows = [Command(_command_row(each), each.hit, id=each.id) for each in commands]
        super()._refresh_command_list(command_list, rows, clear_current)

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


def _command_row(command: Command) -> CommandRow:
    """Return the row of a command of Textual's palette, whose prompt has its description and its keys in two lines."""
    what, *keys = cast("Content", command.prompt).split("\n")
    return CommandRow(what, Content("").join(keys))


class KeyCommandProvider(Provider):
    """The commands of the key table for Textual's palette. The help text of each is its keys.

    If no command has all typed words, those with their letters in this order are found. First are those that begin with
    what is typed, then those in which each typed word begins a word, of equal ones that with the shorter name.
    """

    async def discover(self) -> Hits:
        for command in list_commands(self.screen):
            yield DiscoveryHit(_dim_disabled(command, Content(command.what)), command.run, help=escape(command.keys))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        words = query.casefold().split()
        commands = list_commands(self.screen)
        with_words = [command for command in commands if all(word in command.what.casefold() for word in words)]
        for command in with_words or commands:
            if score := matcher.match(command.what) or bool(with_words) * _MIN_SCORE:
                weighted = score * (1.0 if command.is_active else _INACTIVE_FACTOR)
                name = command.what.casefold()
                begins = all(f" {word}" in f" {name}" for word in words)
                weighted += (begins + name.startswith(query.casefold())) * _WORD_BONUS + len(query) / len(name)
                what = _dim_disabled(command, matcher.highlight(command.what))
                yield Hit(weighted, what, command.run, help=escape(command.keys))


def _dim_disabled(command: PaletteCommand, what: Content) -> Content:
    """Return the description `what` of a command in the style that shows whether it can be run now."""
    return what if command.is_enabled else what.stylize_before("not bold $text-soft")
