"""Why an action of the Search tab is disabled, derived from the state of the tab's list, preview and panels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from excerpt.tui.key_table import HIT_ACTIONS
from excerpt.tui.keymap import key_sign

if TYPE_CHECKING:
    from excerpt.tui.pack.panel import PackPanelSelection


class SelectedRowKind(Enum):
    """Kind of the hit that keys of the Search tab apply to: none, a fragment or a memory."""

    NOTHING = "nothing"
    FRAGMENT = "fragment"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class SearchState:
    """The state of the Search tab that decides which actions are enabled.

    `has_query`: the query is not empty. `has_period`: the query names a period. `has_result`: a result is shown.
    `is_side_visible`: the side panel is visible. `is_on_name`: the side panel has the focus, and the name of a note is
    selected there instead of a passage. `row_kind`: kind of the hit that keys apply to. `has_marks`: a fragment is
    marked for the pack. `has_pack`: there is a pack to copy, or one is being built. `can_undo` and `can_redo`: a choice
    for the pack can be undone or redone. `has_earlier_marks`: there are marks of fragments that are not listed.
    `has_no_answer`: the pack is empty because no hit is likely to answer. `is_in_panel`: the pack panel has the focus
    and has rows. `is_on_start_row`: the start list has the focus.
    """

    has_query: bool = False
    has_period: bool = False
    has_result: bool = False
    is_side_visible: bool = False
    is_on_name: bool = False
    row_kind: SelectedRowKind = SelectedRowKind.NOTHING
    has_marks: bool = False
    has_pack: bool = False
    can_undo: bool = False
    can_redo: bool = False
    has_earlier_marks: bool = False
    has_no_answer: bool = False
    is_in_panel: bool = False
    is_on_start_row: bool = False
    selection: PackPanelSelection | None = None
    """The selected row of the pack panel."""
    has_offered_order: bool = False
    """Whether a model offers another order of the hits."""
    has_correction: bool = False
    """Whether a corrected spelling of the query is suggested."""
    has_files: bool = True
    """Whether the notes are files on this computer, and not in a store."""


NO_FILES = "The notes are in a store: there is no file to open."
_PANEL_ACTIONS = frozenset({"mark", "edit"})


def search_disabled_reason(action: str, state: SearchState, parameters: tuple[object, ...] = ()) -> str:
    """Return why an action of the Search tab is disabled, as a sentence; "" if the action is enabled.

    `parameters` are those of the action, as Textual passes them.
    """
    if state.is_on_name and action in HIT_ACTIONS:
        return "" if action == "edit" else "The name of a note is selected, not a passage."
    applies_elsewhere = (state.is_in_panel and action in _PANEL_ACTIONS) or (
        action in ("edit", "accept") and (state.has_correction or state.is_on_start_row)
    )
    applies_elsewhere = applies_elsewhere or (action in ("copy_link", "accept") and state.has_marks)
    needs_row = action in HIT_ACTIONS or parameters == ("why",)
    if needs_row and state.row_kind is SelectedRowKind.NOTHING and not applies_elsewhere:
        return "This query has no hits." if state.has_query else "Nothing is listed yet: type a query first."
    if action in ("edit", "obsidian") and not (
        state.has_files or applies_elsewhere or state.row_kind is SelectedRowKind.MEMORY
    ):
        return NO_FILES
    if action in ("obsidian", "add_to_gold") and state.row_kind is SelectedRowKind.MEMORY:
        return "A memory is not a note of the vault."
    absence = state.selection.absence_reason if state.is_in_panel and state.selection is not None else ""
    is_enabled, reason = {
        "scroll_view": (state.is_side_visible, "The side panel is hidden: there is nothing to scroll."),
        "use_order": (state.has_offered_order, "No model offers another order of these hits."),
        "compare": (state.has_result, "Type a query first, to compare strategies by their hits."),
        "filter_time": (state.has_period, "The query names no time, such as “last week”."),
        "ignore_time": (state.has_period, "The query names no time, such as “last week”."),
        "add_to_gold": (state.has_query, "Type a query first: the question that the passage answers."),
        "why_not": (state.has_result, "Type a query first, to compare a note with its hits."),
        "copy_pack": (state.has_pack, empty_pack_reason("copy", has_no_answer=state.has_no_answer)),
        "save_pack": (state.has_pack, empty_pack_reason("write", has_no_answer=state.has_no_answer)),
        "remember_pack": (state.has_pack, empty_pack_reason("remember", has_no_answer=state.has_no_answer)),
        "mark_nearest": (
            state.has_no_answer,
            "This is for a query that nothing answers.",
        ),
        "clear_marks": (state.has_marks, "Nothing is marked."),
        "undo": (state.can_undo, "Nothing to undo."),
        "redo": (state.can_redo, "Nothing to redo."),
        "show_earlier": (state.has_earlier_marks, "No passage is marked outside of the list."),
        "drop_earlier": (state.has_earlier_marks, "No passage is marked outside of the list."),
        "remember": (not absence, absence),
    }.get(action, (True, ""))
    return "" if is_enabled else reason


def empty_pack_reason(verb: str, *, has_no_answer: bool) -> str:
    """Return why the pack cannot be copied, written or remembered (`verb`), and what to do, as one line."""
    if has_no_answer:
        return f"Nothing to {verb}: no hit answers. Pack the nearest hits by {key_sign('mark-nearest')} in the list."
    return f"Nothing to {verb}: the pack is empty."
