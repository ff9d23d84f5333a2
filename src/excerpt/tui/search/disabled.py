"""Reasons why an action of the Search tab is disabled, from the state of its list, preview and panels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from excerpt.tui.keys import ABOUT_HIT

if TYPE_CHECKING:
    from excerpt.tui.pack.panel import PanelSelection


class SelectedRow(Enum):
    """Kind of the row selected in the list of hits."""

    NOTHING = "nothing"
    FRAGMENT = "fragment"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class SearchState:
    """The state of the Search tab that decides which actions are enabled.

    `typed`: the query is not empty. `answered`: a result is shown. `context`: the side panel is visible. `on_name`: it
    has the focus, on the name of a note and not on a passage. `packed`: there is a pack to copy, or one is being built.
    `decided` and `taken_back`: there is something to undo, or to redo. `earlier`: marks exist that are not in the list.
    `in_panel`: the pack panel has the focus, and has rows.
    """

    typed: bool = False
    answered: bool = False
    context: bool = False
    on_name: bool = False
    row: SelectedRow = SelectedRow.NOTHING
    marked: bool = False
    packed: bool = False
    decided: bool = False
    taken_back: bool = False
    earlier: bool = False
    in_panel: bool = False
    selection: PanelSelection | None = None
    """The selected row of the pack panel."""
    meant: bool = False
    """Whether a corrected query is suggested."""
    has_files: bool = True
    """Whether the notes are files on this computer, and not in a store."""


NO_FILES = "The notes are in a store: there is no file to open."
_PANEL_ACTIONS = frozenset({"mark", "edit"})


def search_disabled(action: str, state: SearchState, parameters: tuple[object, ...] = ()) -> str:
    """Return why the Search tab cannot do an action now; "" if it can."""
    if state.on_name and action in ABOUT_HIT:
        return "" if action == "edit" else "That is a name, not a passage."
    applies_elsewhere = (state.in_panel and action in _PANEL_ACTIONS) or (state.meant and action == "edit")
    needs_row = action in ABOUT_HIT or parameters == ("why",)
    if needs_row and state.row is SelectedRow.NOTHING and not applies_elsewhere:
        return "This query finds nothing." if state.typed else "Nothing is listed yet: type a query first."
    if action in ("edit", "obsidian") and not (state.has_files or applies_elsewhere or state.row is SelectedRow.MEMORY):
        return NO_FILES
    if action == "obsidian" and state.row is SelectedRow.MEMORY:
        return "A memory is not a note of the vault."
    on_passage = state.selection is not None and state.selection.is_passage
    is_enabled, reason = {
        "scroll_view": (state.context, "There is nothing to scroll."),
        "compare": (state.answered, "Type a query first, to compare strategies by their hits."),
        "why_not": (state.answered, "Type a query first, to compare a note with its hits."),
        "copy_pack": (state.packed, "Nothing to copy: the pack is empty."),
        "save_pack": (state.packed, "Nothing to write: the pack is empty."),
        "remember_pack": (state.packed, "Nothing to remember: the pack is empty."),
        "clear_marks": (state.marked, "Nothing is marked."),
        "undo": (state.decided, "Nothing to undo."),
        "redo": (state.taken_back, "Nothing to redo."),
        "show_earlier": (state.earlier, "No earlier marks are outside the list."),
        "drop_earlier": (state.earlier, "No earlier marks are outside the list."),
        "remember": (on_passage or not state.in_panel, "Only a passage that is in the pack can be remembered here."),
    }.get(action, (True, ""))
    return "" if is_enabled else reason
