"""Why an action of the Search tab cannot be done now, from the view state of its list, preview and panels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from excerpt.tui.keys import ABOUT_HIT

if TYPE_CHECKING:
    from excerpt.tui.pack.panel import PanelSelection


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
    selection: PanelSelection | None = None
    """What is selected in the pack panel."""
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
    on_passage = state.selection is not None and state.selection.is_passage
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
        "remember": (on_passage or not state.in_panel, "Only a passage that is in the pack can be remembered here."),
    }.get(action, (True, ""))
    return "" if holds else told
