"""Why an action of the Search tab cannot be done now, from the view state of its list, preview and panels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from excerpt.tui.keymap import key_sign


class Row(Enum):
    """What is selected in the list of hits."""

    NOTHING = "nothing"
    FRAGMENT = "fragment"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class SearchState:
    """What the Search tab's actions need. `typed`: there is a query; `answered`: something is shown
    of one; `context`: there is something in the context. `packed`: there is a pack to take along, or one
    on its way. `in_panel`: a panel with rows has the focus, where marking and opening are about its own rows."""

    typed: bool = False
    answered: bool = False
    context: bool = False
    row: Row = Row.NOTHING
    marked: bool = False
    packed: bool = False
    decided: bool = False
    in_panel: bool = False
    pack_row: bool = False
    """Something is selected in the pack panel; `on_pack`: a passage that is in the pack; `alone`: the only one."""
    on_pack: bool = False
    alone: bool = False
    meant: bool = False
    """There is another query that may have been meant."""


_OF_PANEL = frozenset({"mark", "edit"})
_NEED_ROW = frozenset({"mark", "edit", "obsidian", "copy_fragment", "why"})
_NO_CONTEXT = "Nothing is in the context."


def search_disabled(action: str, state: SearchState) -> str:
    """Return why the Search tab would not do that; "" where it can be done."""
    takes = (state.in_panel and action in _OF_PANEL) or (state.meant and action == "edit")
    if action in _NEED_ROW and state.row is Row.NOTHING and not takes:
        return "Nothing is found for this query." if state.typed else "Nothing is listed yet: type a query first."
    if action == "why" and state.row is Row.MEMORY:
        return "A memory is found by itself, and is no part of the ranking."
    if action == "obsidian" and state.row is Row.MEMORY:
        return "A memory is no note of the vault."
    if action == "shift" and state.on_pack and state.alone:
        return "A pack of one passage has no other order."
    holds, told = {
        "scroll_preview": (state.context, _NO_CONTEXT),
        "read_whole": (state.context, _NO_CONTEXT),
        "outline": (state.context, _NO_CONTEXT),
        "links": (state.context, _NO_CONTEXT),
        "compare": (state.answered, "Type a query first: strategies are compared by what they find."),
        "why_not": (state.answered, "Type a query first: a note is asked about beside what is found."),
        "copy_pack": (state.packed, "There is nothing to copy yet: the pack is empty."),
        "save_pack": (state.packed, "There is nothing to write yet: the pack is empty."),
        "remember_pack": (state.packed, "There is nothing to keep yet: the pack is empty."),
        "clear_marks": (state.marked, "Nothing is marked."),
        "undo": (state.decided, "There is nothing to take back."),
        "drop": (state.pack_row, "The pack is empty."),
        "shift": (state.on_pack, "Only a passage that is in the pack can be moved."),
        "own_scope": (state.on_pack, "Only a passage that is in the pack has a scope of its own."),
    }.get(action, (True, ""))
    return "" if holds else told


@dataclass(frozen=True, slots=True)
class PanelState:
    """What the actions of related notes and map need. `listed`: a related note is selected; `on_name`: at a reason that
    is a name, not a passage; `filter`: what the branch selected in the map puts into the query, None without one."""

    in_related: bool = False
    listed: bool = False
    on_name: bool = False
    followed: bool = False
    filter: str | None = None
    filtered: bool = False


OF_PANELS = frozenset({"follow", "reason", "show_passage", "mark", "follow_back", "put_filter", "take_filter"})
"""Actions about which the panels may have something to say."""


def panel_disabled(action: str, state: PanelState) -> str:
    """Return why the panel that is open would not do that; "" where it can be done."""
    if action in ("follow", "reason", "show_passage") and not state.listed:
        return "No related note is listed."
    if action == "show_passage" and state.on_name:
        return f"That is a name, not a passage. {key_sign('edit')} opens its note there."
    if action == "mark" and state.in_related and state.on_name:
        return "That is a name, not a passage: there is nothing to mark."
    if action == "follow_back" and not state.followed:
        return "This is where you came from."
    if action == "put_filter" and not state.filter:
        return "No filter leads there." if state.filter is not None else "Choose a branch: this line has no filter."
    return "No filter of the map is in the query." if action == "take_filter" and not state.filtered else ""
