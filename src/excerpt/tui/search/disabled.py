"""Why an action of the Search tab cannot be done now, from the view state of its list, preview and panels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from excerpt.tui.keys import ABOUT_HIT


class SelectedRow(Enum):
    """What is selected in the list of hits."""

    NOTHING = "nothing"
    FRAGMENT = "fragment"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class SearchState:
    """What the Search tab's actions need. `typed`: there is a query; `answered`: something is shown
    of one; `context`: the side panel is in sight; `on_name`: it has the focus, at a name and no passage. `packed`:
    there is a pack to take along, or one on its way. `in_panel`: the pack's panel has the focus, with rows."""

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
    pack_row: bool = False
    """Something is selected in the pack panel; `on_pack`: a passage that is in the pack; `alone`: the only one."""
    on_pack: bool = False
    alone: bool = False
    no_shifts: tuple[tuple[object, ...], ...] = ()
    """Parameters of `shift` by which the selected passage cannot be moved: it is the first, or the last."""
    meant: bool = False
    """There is another query that may have been meant."""
    has_files: bool = True
    """The notes are files here, and not in a store."""


NO_FILES = "The notes are in a store: there is no file to open here."
_OF_PANEL = frozenset({"mark", "edit"})


def search_disabled(action: str, state: SearchState, parameters: tuple[object, ...] = ()) -> str:
    """Return why the Search tab would not do that; "" where it can be done."""
    if state.on_name and action in ABOUT_HIT:
        return "" if action == "edit" else "That is a name, not a passage."
    takes = (state.in_panel and action in _OF_PANEL) or (state.meant and action == "edit")
    needs_row = action in ABOUT_HIT or parameters == ("why",)
    if needs_row and state.row is SelectedRow.NOTHING and not takes:
        return "Nothing is found for this query." if state.typed else "Nothing is listed yet: type a query first."
    if action in ("edit", "obsidian") and not (state.has_files or takes or state.row is SelectedRow.MEMORY):
        return NO_FILES
    if action == "obsidian" and state.row is SelectedRow.MEMORY:
        return "A memory is no note of the vault."
    holds, told = {
        "scroll_view": (state.context, "There is nothing to scroll."),
        "compare": (state.answered, "Type a query first: strategies are compared by what they find."),
        "why_not": (state.answered, "Type a query first: a note is asked about beside what is found."),
        "copy_pack": (state.packed, "There is nothing to copy yet: the pack is empty."),
        "save_pack": (state.packed, "There is nothing to write yet: the pack is empty."),
        "remember_pack": (state.packed, "There is nothing to keep yet: the pack is empty."),
        "clear_marks": (state.marked, "Nothing is marked."),
        "undo": (state.decided, "There is nothing to take back."),
        "redo": (state.taken_back, "There is nothing to do again."),
        "show_earlier": (state.earlier, "Nothing was marked before that is not in the list."),
        "drop_earlier": (state.earlier, "Nothing was marked before that is not in the list."),
        "drop": (state.pack_row, "The pack is empty."),
        "shift": (not (moved := _shift_disabled(state, parameters)), moved),
        "remember": (state.on_pack or not state.in_panel, "Only a passage that is in the pack can be remembered here."),
        "own_scope": (state.on_pack, "Only a passage that is in the pack has a scope of its own."),
    }.get(action, (True, ""))
    return "" if holds else told


def _shift_disabled(state: SearchState, parameters: tuple[object, ...]) -> str:
    """Return why the selected passage of the pack cannot be moved so; "" where it can."""
    if not state.on_pack:
        return "Only a passage that is in the pack can be moved."
    if state.alone:
        return "A pack of one passage has no other order."
    if parameters in state.no_shifts:
        return f"It is the {'last' if parameters == (1,) else 'first'} passage of the pack."
    return ""
