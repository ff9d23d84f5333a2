"""The table of all key bindings of the app, used for Textual's bindings, the help, the palette and the user's keymap.

This module does not import Textual. The id of a binding is its name in `[screen.keys]` of the settings; `keymap.py`
replaces the keys of this table by the user's. A binding without a key can only be run from the palette. A context is a
widget that can have the focus, or a container or screen around it; the keys of all these work together. ctrl+h, ctrl+i,
ctrl+j and ctrl+m are never used: a terminal sends them as backspace, tab and enter. No key has alt: terminals and
Textual garble it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace


class KeyBinding(Struct, frozen=True):
    """A binding of keys to an action. `keys` are Textual's names of the keys, separated by commas.

    `action` is in Textual's syntax, `label` is the text in the footer, and `what` is the description in the help.
    `footer_place`: place in the footer, from 1 at the left to 6, and 7 for the right end; 0 if the footer never shows
    this binding. `has_priority`: the action runs even if a field has the focus, except for keys that type a character.
    `is_movement`: the action moves the cursor or the focus, or scrolls; the palette leaves it out. `acts_on_hit`: the
    action needs the selected hit; if its key is pressed directly after the last letter of a query, it waits for the
    answer. `opens_dialog`: the action opens a dialog or a menu, which receives the keys pressed directly after.
    """

    id: str
    keys: str
    action: str
    label: str
    what: str
    footer_place: int = 0
    has_priority: bool = False
    is_movement: bool = False
    acts_on_hit: bool = False
    opens_dialog: bool = False


def with_priority(*rows: KeyBinding) -> Sequence[KeyBinding]:
    """Return the bindings with priority over a focused field, except those whose key types a character."""
    return tuple(replace(row, has_priority=True) for row in rows)


def list_movement_keys(prefix: str, noun: str, *, arrows: bool = False) -> Sequence[KeyBinding]:
    """Return the vi-like bindings that move the cursor of a focused list.

    `prefix` begins their ids, `noun` names a row in their descriptions. `arrows` adds the arrow keys, for lists around
    which no other context binds them.
    """
    down, up = ("down,j", "up,k") if arrows else ("j", "k")
    return (
        KeyBinding(f"{prefix}-down", down, "down", "next", f"Next {noun}", is_movement=True),
        KeyBinding(f"{prefix}-up", up, "up", "previous", f"Previous {noun}", is_movement=True),
        KeyBinding(f"{prefix}-first", "g,home", "first", "first", f"First {noun}", is_movement=True),
        KeyBinding(f"{prefix}-last", "G,end", "last", "last", f"Last {noun}", is_movement=True),
    )


DIALOG_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("dialog-leave", "escape", "leave", "close", "Close without changes"),
    KeyBinding("dialog-next", "tab", "app.focus_next", "next field", "Go to the next field", is_movement=True),
    KeyBinding(
        "dialog-previous",
        "shift+tab",
        "app.focus_previous",
        "previous field",
        "Go to the previous field",
        is_movement=True,
    ),
)

HELP_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("help-down", "down,ctrl+n", "scroll(0.1)", "down", "A row down", is_movement=True),
    KeyBinding("help-up", "up,ctrl+p", "scroll(-0.1)", "up", "A row up", is_movement=True),
    KeyBinding("help-page-down", "pagedown", "scroll(1)", "scroll", "A page down", is_movement=True),
    KeyBinding("help-page-up", "pageup", "scroll(-1)", "scroll", "A page up", is_movement=True),
)

CONFIRM_KEYS: Sequence[KeyBinding] = (
    KeyBinding("confirm-yes", "y", "answer(True)", "yes", "Yes"),
    KeyBinding("confirm-no", "n", "answer(False)", "no", "No"),
)

MEMORY_FORM_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("remember-keep", "ctrl+s", "keep", "keep", "Keep the memory"),
    KeyBinding("remember-share", "ctrl+t", "share", "share", "Share the memory in the vault's store, or do not"),
    KeyBinding("remember-merge", "", "merge", "merge", "Merge the text into the memory selected below"),
)

MEMORY_TEXT_KEYS: Sequence[KeyBinding] = (
    KeyBinding("text-undo", "ctrl+underscore", "undo", "undo", "Undo typing", is_movement=True),
    KeyBinding("text-redo", "ctrl+y", "redo", "redo", "Redo typing", is_movement=True),
    KeyBinding("text-right", "ctrl+f", "cursor_right", "right", "A letter to the right", is_movement=True),
    KeyBinding("text-left", "ctrl+b", "cursor_left", "left", "A letter to the left", is_movement=True),
)
"""Keys of the memory's text area as in a shell. Textual's own differ: there ctrl+f deletes and ctrl+z undoes."""

MERGE_OFFER_KEYS: Sequence[KeyBinding] = (
    KeyBinding("offers-down", "down", "down", "next", "Next memory", is_movement=True),
    KeyBinding("offers-up", "up", "up", "previous", "Previous memory", is_movement=True),
    KeyBinding("offers-choose", "enter", "choose", "merge", "Merge into the selected memory"),
    KeyBinding("offers-replace", "ctrl+r", "replace", "replace", "Replace the selected memory, which is kept apart"),
)

VAULT_CHOOSER_KEYS: Sequence[KeyBinding] = (
    *with_priority(
        KeyBinding("vault-open", "enter", "open", "open", "Open the selected vault"),
        KeyBinding("vault-complete", "tab", "complete", "complete", "Put the selected folder into the field"),
        KeyBinding("vault-pane", "shift+tab", "pane", "list", "Switch between the field and the list"),
        KeyBinding("vault-down", "down,ctrl+n", "move(1)", "next", "Next vault", is_movement=True),
        KeyBinding("vault-up", "up,ctrl+p", "move(-1)", "previous", "Previous vault", is_movement=True),
        KeyBinding("vault-leave", "escape", "leave", "close", "Close without changes"),
    ),
    # Without priority: in the field it deletes a letter.
    KeyBinding("vault-forget", "delete", "forget", "forget", "Remove the vault from the list; its files stay"),
)

THEME_LIST_KEYS: Sequence[KeyBinding] = (
    KeyBinding("themes-keep", "enter", "screen.choose", "keep", "Use the theme"),
    *list_movement_keys("themes", "theme", arrows=True),
)

SCOPE_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("scopes-use", "enter", "choose", "use", "Use the selected scope"),
    KeyBinding("scopes-next", "s", "next_scope", "next", "Next scope, after the last one the first"),
    KeyBinding("scopes-down", "down,j", "move(1)", "next", "Next scope", is_movement=True),
    KeyBinding("scopes-up", "up,k", "move(-1)", "previous", "Previous scope", is_movement=True),
)

BUDGET_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("budget-take", "enter", "take(False)", "take", "Set the budget"),
    KeyBinding("budget-copy", "ctrl+y", "take(True)", "copy pack", "Set the budget and copy the pack"),
)

LINK_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("links-copy", "enter", "choose", "copy", "Copy the selected link"),
    KeyBinding("links-next", "Y", "next_form", "next", "Next form of link, after the last one the first"),
    KeyBinding("links-down", "down,j", "move(1)", "next", "Next form", is_movement=True),
    KeyBinding("links-up", "up,k", "move(-1)", "previous", "Previous form", is_movement=True),
)

STRATEGY_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("strategies-use", "enter", "choose", "use", "Use the strategy that ranks the passage highest"),
    KeyBinding("strategies-down", "down,j", "move(1)", "next", "Next passage", is_movement=True),
    KeyBinding("strategies-up", "up,k", "move(-1)", "previous", "Previous passage", is_movement=True),
)

APP_KEYS: Sequence[KeyBinding] = (
    KeyBinding(
        "help",
        "f1",
        "app.help",
        "more",
        "List the keys that work here",
        has_priority=True,
        opens_dialog=True,
        footer_place=7,
    ),
    KeyBinding(
        "palette",
        "ctrl+g",
        "app.command_palette",
        "commands",
        "Find any command by name",
        has_priority=True,
        opens_dialog=True,
    ),
    KeyBinding("suspend", "ctrl+z", "app.suspend_process", "suspend", "Suspend: back to the shell", has_priority=True),
    KeyBinding("redraw", "ctrl+l", "app.redraw", "redraw", "Redraw the screen", has_priority=True),
    KeyBinding("quit", "ctrl+q", "app.quit", "quit", "Quit excerpt", has_priority=True),
)

MAIN_SCREEN_KEYS: Sequence[KeyBinding] = (
    KeyBinding("show-search", "f2", "show_tab('search')", "search", "Go to the Search tab", has_priority=True),
    KeyBinding("show-overview", "f3", "show_tab('overview')", "overview", "Go to the Overview tab", has_priority=True),
    KeyBinding("show-memory", "f4", "show_tab('memory')", "memory", "Go to the Memory tab", has_priority=True),
    KeyBinding(
        "index", "", "open_index", "index", "The index: progress, and why files were skipped", opens_dialog=True
    ),
    KeyBinding(
        "smaller-list", "less_than_sign", "move_border(-1)", "smaller list", "Make the list smaller, the panel larger"
    ),
    KeyBinding(
        "larger-list", "greater_than_sign", "move_border(1)", "larger list", "Make the list larger, the panel smaller"
    ),
    KeyBinding("settings", "", "settings", "settings", "Settings (model, theme, budget …): open the file"),
    KeyBinding("help-sign", "question_mark", "app.help", "help", "List the keys that work here", opens_dialog=True),
    KeyBinding("update", "", "update_index", "update", "Update the index: check all files now"),
    KeyBinding("change-theme", "", "app.change_theme", "theme", "Change the theme", opens_dialog=True),
    KeyBinding("vault-settings", "", "settings(True)", "settings", "Settings of this vault: open the file"),
    KeyBinding(
        "switch-vault", "", "app.switch_vault", "vault", "Open another vault", has_priority=True, opens_dialog=True
    ),
)

_FORGET_USES = "Forget this: past uses that raise ranks"

HIT_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("mark", "space,tab", "mark", "mark", "Mark the passage, and move on", acts_on_hit=True, footer_place=1),
    KeyBinding(
        "mark-nearest",
        "p",
        "mark_nearest",
        "pack 3 nearest",
        "If no hit answers: mark the 3 nearest hits",
        footer_place=2,
    ),
    KeyBinding("copy-pack", "ctrl+y", "copy_pack", "copy", "Copy the pack", footer_place=2),
    KeyBinding("down", "down,ctrl+n", "move(1)", "next", "Next passage", is_movement=True),
    KeyBinding("up", "up,ctrl+p", "move(-1)", "previous", "Previous passage", is_movement=True),
    KeyBinding("edit", "enter", "edit", "open", "Open the note in your editor", acts_on_hit=True, footer_place=3),
    KeyBinding("copy-fragment", "y", "copy_fragment", "copy one", "Copy only the passage", acts_on_hit=True),
    KeyBinding(
        "copy-link",
        "Y",
        "copy_link",
        "copy link",
        "Copy a link to the passage",
        acts_on_hit=True,
        opens_dialog=True,
    ),
    KeyBinding("strategy", "ctrl+s", "strategy", "strategy", "Next strategy"),
    KeyBinding(
        "remember", "m,ctrl+r", "remember", "remember", "Remember the passage", opens_dialog=True, footer_place=6
    ),
    KeyBinding("obsidian", "O", "obsidian", "Obsidian", "Open the note in Obsidian", acts_on_hit=True),
    KeyBinding("view", "v", "next_view", "view", "Next view: passage, reasons, related notes, map"),
    KeyBinding(
        "link", "l", "enter_side", "link", "Go into the panel; in a passage, go to the next link", is_movement=True
    ),
    KeyBinding(
        "why",
        "ctrl+t",
        "show_view('why')",
        "why",
        "Show why the passage has its rank, or show its text",
        footer_place=4,
    ),
    KeyBinding(
        "why-not",
        "",
        "why_not",
        "why not",
        "Why not this note: why a note is not found or not higher",
        opens_dialog=True,
    ),
    KeyBinding("forget-uses", "", "forget_uses", "forget this", _FORGET_USES),
    KeyBinding("use-order", "", "use_order", "new order", "Show the hits in the reranker's order"),
    KeyBinding(
        "compare", "", "compare", "compare", "Compare strategies: differences for this query", opens_dialog=True
    ),
    KeyBinding("memories", "", "memories", "memories", "Memories: among the hits, before them, or hidden"),
)

QUERY_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("complete", "ctrl+space,ctrl+@", "complete", "complete", "Complete the word"),
    KeyBinding("sort", "d", "sort", "by date", "Sort by date: newest, oldest or best first"),
    KeyBinding("filter-time", "", "filter_time", "time", "Time: only notes from the time named in the query (date:…)"),
    KeyBinding(
        "ignore-time", "", "ignore_time", "no time", "Time: search for the words that name a time like other words"
    ),
    KeyBinding(
        "suggest",
        "",
        "suggest",
        "narrower",
        "Suggest narrower and wider queries, with what they find",
        opens_dialog=True,
    ),
    KeyBinding("saved", "", "saved", "saved", "Saved queries: run or delete one", opens_dialog=True),
    KeyBinding("save-query", "", "save_query", "save", "Save the query"),
    KeyBinding("history", "", "history", "history", "History: earlier queries", opens_dialog=True),
)

QUERY_MENU_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("menu-take", "tab,enter", "menu_take", "take", "Use the selected row", footer_place=1),
    KeyBinding(
        "menu-forget",
        "delete",
        "menu_forget",
        "forget",
        "Delete the query from the history or saved queries",
        footer_place=3,
    ),
    KeyBinding("menu-close", "escape", "menu_leave", "close", "Close the menu", footer_place=2),
    KeyBinding("menu-down", "down,ctrl+n", "menu_move(1)", "next", "Next row", is_movement=True),
    KeyBinding("menu-up", "up,ctrl+p", "menu_move(-1)", "previous", "Previous row", is_movement=True),
)

PACK_OPTION_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("scope", "s", "scope", "scope", "Scope: how far hits are extended", opens_dialog=True),
    KeyBinding("format", "f", "format", "format", "Next format of the pack"),
    KeyBinding("budget", "b", "type_budget", "budget", "Type the token budget", opens_dialog=True),
    KeyBinding("budget-up", "", "budget(1)", "budget +", "A larger token budget"),
    KeyBinding("budget-down", "", "budget(-1)", "budget -", "A smaller token budget"),
    KeyBinding("fill", "", "fill", "fill", "Pack: fill the budget, or stop at a probable answer"),
    KeyBinding("undo", "u", "undo", "undo", "Undo the last decision about the pack"),
    KeyBinding("redo", "U", "redo", "redo", "Redo the last decision about the pack"),
    KeyBinding("show-earlier", "o", "show_earlier", "add marks", "Add earlier marks"),
    KeyBinding("drop-earlier", "x", "drop_earlier", "clear marks", "Clear earlier marks"),
    KeyBinding("panel", "ctrl+o", "panel", "pack", "Show what is in the pack, or close it", footer_place=5),
    KeyBinding("order", "", "order", "order", "Order of the pack: by score, or as in the vault"),
    KeyBinding("clear-marks", "", "clear_marks", "unmark all", "Unmark all: remove all marks"),
    KeyBinding(
        "remember-pack",
        "",
        "remember_pack",
        "remember all",
        "Remember all: keep the pack as a memory",
        opens_dialog=True,
    ),
    KeyBinding("save-pack", "", "save_pack", "to a file", "Write the pack to a file"),
)

PANE_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("related", "", "show_view('related')", "related", "Related notes of the passage"),
    KeyBinding("map", "", "show_view('map')", "map", "The map: folders and tags that have matches"),
    KeyBinding("preview-down", "pagedown", "scroll_view(1)", "scroll", "Scroll the panel down", is_movement=True),
    KeyBinding("preview-up", "pageup", "scroll_view(-1)", "scroll", "Scroll the panel up", is_movement=True),
    KeyBinding("pane", "shift+tab", "pane", "pane", "Next pane: query, list, panel, pack", is_movement=True),
    KeyBinding("query", "slash", "focus_query", "query", "Go to the query", is_movement=True),
    KeyBinding("back", "escape", "back", "back", "Close what is open, then go to the list", is_movement=True),
)

SEARCH_KEYS: Sequence[KeyBinding] = (*HIT_KEYS, *PACK_OPTION_KEYS, *QUERY_KEYS, *PANE_KEYS)
"""All keys of the Search tab: those for hits, pack options, the query and the panes."""

PICK_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding(
        "accept", "enter", "accept", "print", "Print the selected hit, and leave", acts_on_hit=True, footer_place=3
    ),
    KeyBinding("cancel", "ctrl+c", "cancel", "cancel", "Leave the app, and print nothing"),
)
"""Keys of the Search tab while the app is to print what the user picks."""

HIT_ACTIONS = frozenset(key.action for key in (*SEARCH_KEYS, *PICK_KEYS) if key.acts_on_hit)
"""Actions of the Search tab that need the selected hit."""

HIT_LIST_KEYS: Sequence[KeyBinding] = (
    *list_movement_keys("list", "passage"),
    KeyBinding("list-unfold", "right", "unfold(True)", "unfold", "List all hits of the note", is_movement=True),
    KeyBinding("list-fold", "left", "unfold(False)", "fold", "Fold the further hits of the note", is_movement=True),
)

START_LIST_KEYS: Sequence[KeyBinding] = list_movement_keys("start", "row")

PASSAGE_KEYS: Sequence[KeyBinding] = (
    KeyBinding(
        "context-link",
        "l",
        "next_link",
        "link",
        "Go to the next link; enter follows it",
        footer_place=4,
        is_movement=True,
    ),
    KeyBinding("context-return", "backspace", "come_back", "back", "Go back from a link", footer_place=6),
    KeyBinding("context-match", "n", "match(1)", "match", "Next match", footer_place=5, is_movement=True),
    KeyBinding("context-match-before", "", "match(-1)", "previous match", "Go to the previous match"),
    KeyBinding("context-heading", "", "heading(1)", "heading", "Go to the next heading"),
    KeyBinding("context-heading-before", "", "heading(-1)", "heading", "Go to the previous heading"),
    KeyBinding("whole-note", "", "read_whole", "whole note", "Show the whole note, or the passage"),
    KeyBinding("context-pick", "shift+down", "pick(1)", "pick", "Extend the picked lines"),
    KeyBinding("context-pick-less", "shift+up", "pick(-1)", "pick", "Shorten the picked lines"),
    KeyBinding("context-down", "j", "down", "down", "A line down", is_movement=True),
    KeyBinding("context-up", "k", "up", "up", "A line up", is_movement=True),
    KeyBinding("context-first", "g,home", "first", "first", "Go to the start of the note", is_movement=True),
    KeyBinding("context-last", "G,end", "last", "last", "Go to the end of the note", is_movement=True),
)

WHY_KEYS: Sequence[KeyBinding] = (KeyBinding("why-forget", "x", "forget", "forget this", _FORGET_USES, footer_place=5),)

PACK_PANEL_KEYS: Sequence[KeyBinding] = (
    KeyBinding("pack-drop", "x", "drop", "drop", "Drop the passage, or put it back", footer_place=4),
    KeyBinding("pack-later", "shift+down", "shift(1)", "later", "Move the passage down", footer_place=6),
    KeyBinding("pack-earlier", "shift+up", "shift(-1)", "earlier", "Move the passage up", footer_place=6),
    KeyBinding(
        "pack-scope",
        "s",
        "own_scope",
        "its scope",
        "Scope of this passage only",
        footer_place=5,
        opens_dialog=True,
    ),
    *list_movement_keys("pack", "line"),
)

RELATED_NOTES_KEYS: Sequence[KeyBinding] = (
    KeyBinding("related-follow", "l", "follow", "follow", "Show notes related to the selected passage", footer_place=4),
    KeyBinding("related-return", "backspace", "follow_back", "return", "Go back to the previous note", footer_place=6),
    KeyBinding("related-next", "right", "reason(1)", "reason", "Next reason", footer_place=5),
    KeyBinding("related-previous", "left", "reason(-1)", "previous reason", "Previous reason"),
    KeyBinding(
        "related-note",
        "",
        "whole_note",
        "whole note",
        "Whole note: notes related to the whole note, or to the passage",
    ),
    KeyBinding("related-unlinked", "x", "toggle_linked", "not linked", "Hide linked notes, or show them"),
    *list_movement_keys("related", "note"),
)

MAP_KEYS: Sequence[KeyBinding] = (
    KeyBinding(
        "map-filter",
        "space",
        "put_filter",
        "filter",
        "Add the branch's filter to the query, or remove it",
        footer_place=4,
    ),
    KeyBinding("map-unfilter", "backspace", "take_filter", "unfilter", "Remove the last filter", footer_place=5),
    KeyBinding(
        "map-open",
        "right",
        "open_branch",
        "unfold",
        "Unfold the branch, or go into it",
        footer_place=6,
    ),
    KeyBinding("map-shut", "left", "close_branch", "fold", "Fold the branch, or go to the branch above"),
    *list_movement_keys("map", "line"),
)

OVERVIEW_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("overview-down", "down,ctrl+n", "move(1)", "next", "Next line", is_movement=True),
    KeyBinding("overview-up", "up,ctrl+p", "move(-1)", "previous", "Previous line", is_movement=True),
    KeyBinding("overview-part", "tab", "part", "next part", "Go to the next part", footer_place=1, is_movement=True),
    KeyBinding("overview-edit", "enter", "edit", "open", "Open the note in your editor at this place", footer_place=3),
    KeyBinding("overview-search", "", "search", "search", "Search for the item of the selected line"),
    KeyBinding("overview-copy", "ctrl+y", "copy", "copy", "Copy the overview as Markdown", footer_place=2),
    KeyBinding("overview-passage", "v", "passage", "passage", "Show the passage, or hide it", footer_place=5),
    KeyBinding("overview-copy-passage", "y", "copy_passage", "copy one", "Copy only the passage"),
    KeyBinding(
        "overview-remember",
        "m,ctrl+r",
        "remember",
        "remember",
        "Remember the passage",
        opens_dialog=True,
        footer_place=4,
    ),
    KeyBinding("overview-all", "", "every_line", "all lines", "Show all lines, or as many as fit"),
    KeyBinding(
        "overview-page-down", "pagedown", "scroll_passage(1)", "scroll", "Scroll the passage down", is_movement=True
    ),
    KeyBinding("overview-page-up", "pageup", "scroll_passage(-1)", "scroll", "Scroll the passage up", is_movement=True),
    KeyBinding("overview-pane", "shift+tab", "pane", "pane", "Next pane: topic, lines, passage", is_movement=True),
    KeyBinding("overview-topic", "slash", "focus_topic", "topic", "Go to the topic", is_movement=True),
    KeyBinding(
        "overview-back",
        "escape",
        "back",
        "back",
        "Close the passage that is open, then go to the lines",
        is_movement=True,
    ),
)

OVERVIEW_LINE_KEYS: Sequence[KeyBinding] = (
    KeyBinding("overview-line-unfold", "right", "unfold", "unfold", "Show all lines of the part", footer_place=6),
    KeyBinding("overview-line-fold", "left", "fold", "fold", "Show as many lines of the part as fit"),
    *list_movement_keys("overview-line", "line"),
)

MEMORY_KEYS: Sequence[KeyBinding] = with_priority(
    KeyBinding("memory-down", "down,ctrl+n", "move(1)", "next", "Next memory", is_movement=True),
    KeyBinding("memory-up", "up,ctrl+p", "move(-1)", "previous", "Previous memory", is_movement=True),
    KeyBinding("memory-follow", "l", "follow", "follow", "Update the link to a source that has moved", footer_place=4),
    KeyBinding("memory-keep", "a", "keep", "keep", "Keep the memory as it is", footer_place=5),
    KeyBinding("memory-update", "t", "update", "take new", "Take the source's new text", footer_place=6),
    KeyBinding("memory-edit", "enter", "edit", "open", "Open the memory's source in your editor", footer_place=3),
    KeyBinding(
        "memory-change",
        "e",
        "change",
        "change",
        "Change the memory's text, tags or reason",
        opens_dialog=True,
        footer_place=4,
    ),
    KeyBinding("memory-copy", "y,ctrl+y", "copy", "copy", "Copy the memory", footer_place=2),
    KeyBinding("memory-forget", "x", "forget", "forget", "Forget the memory", footer_place=5),
    KeyBinding("memory-undo", "u", "undo", "undo", "Undo the last decision about memories", footer_place=6),
    KeyBinding("memory-redo", "U", "redo", "redo", "Redo the last decision about memories"),
    KeyBinding("memory-new", "m,ctrl+r", "remember", "new", "Write a new memory", opens_dialog=True, footer_place=1),
    KeyBinding("memory-stale", "", "stale", "stale", "Switch between stale memories (source changed or gone) and all"),
    KeyBinding("memory-page-down", "pagedown", "scroll_view(1)", "scroll", "Scroll the memory down", is_movement=True),
    KeyBinding("memory-page-up", "pageup", "scroll_view(-1)", "scroll", "Scroll the memory up", is_movement=True),
    KeyBinding("memory-pane", "shift+tab", "pane", "pane", "Switch between the filter and the list", is_movement=True),
    KeyBinding("memory-filter", "slash", "focus_filter", "filter", "Go to the filter", is_movement=True),
    KeyBinding("memory-back", "escape", "back", "back", "Go to the list", is_movement=True),
)

MEMORY_LIST_KEYS: Sequence[KeyBinding] = list_movement_keys("memory-list", "memory")

FIELD_KEYS: Sequence[KeyBinding] = (
    KeyBinding(
        "field-word",
        "ctrl+w",
        "delete_left_word",
        "word",
        "Delete the word, or filter, before the cursor",
        is_movement=True,
    ),
    KeyBinding(
        "field-back",
        "backspace",
        "delete_left",
        "back",
        "Delete a letter",
        is_movement=True,
    ),
    KeyBinding(
        "field-clear", "ctrl+u", "delete_left_all", "clear", "Delete everything before the cursor", is_movement=True
    ),
    KeyBinding(
        "field-rest", "ctrl+k", "delete_right_all", "rest", "Delete everything after the cursor", is_movement=True
    ),
    KeyBinding(
        "field-delete",
        "delete,ctrl+d",
        "delete_right",
        "delete",
        "Delete the letter after the cursor",
        is_movement=True,
    ),
    KeyBinding("field-letter-left", "ctrl+b", "cursor_left", "left", "A letter to the left", is_movement=True),
    KeyBinding("field-letter-right", "ctrl+f", "cursor_right", "right", "A letter to the right", is_movement=True),
    KeyBinding("field-left", "ctrl+left", "cursor_left_word", "left", "A word to the left", is_movement=True),
    KeyBinding("field-right", "ctrl+right", "cursor_right_word", "right", "A word to the right", is_movement=True),
    KeyBinding("field-first", "home,ctrl+a", "home", "first", "To the beginning", is_movement=True),
    KeyBinding("field-last", "end,ctrl+e", "end", "last", "To the end", is_movement=True),
)
"""Keys of a one-line field: some of those that Textual binds.

Any context around the field may bind the same keys to other actions, so `PARENT_CONTEXTS` has no entry for a field.
"""

CONTEXTS: Mapping[str, Sequence[KeyBinding]] = {  # bindings by the name of their context
    "Always": APP_KEYS,
    "Everywhere": MAIN_SCREEN_KEYS,
    "Search": SEARCH_KEYS,
    "Picking": PICK_KEYS,
    "The query's menu": QUERY_MENU_KEYS,
    "Search tab, focus on the list": HIT_LIST_KEYS,
    "Search tab, focus on the start list": START_LIST_KEYS,
    "Search tab, focus on the passage": PASSAGE_KEYS,
    "Search tab, focus on the reasons": WHY_KEYS,
    "Search tab, focus on the pack": PACK_PANEL_KEYS,
    "Search tab, focus on the related notes": RELATED_NOTES_KEYS,
    "Search tab, focus on the map": MAP_KEYS,
    "Overview": OVERVIEW_KEYS,
    "Overview tab, focus on the lines": OVERVIEW_LINE_KEYS,
    "Memory": MEMORY_KEYS,
    "Memory tab, focus on the list": MEMORY_LIST_KEYS,
    "Any field": FIELD_KEYS,
    "Any dialog": DIALOG_KEYS,
    "The keys": HELP_KEYS,
    "A question": CONFIRM_KEYS,
    "Remember": MEMORY_FORM_KEYS,
    "The text of a memory": MEMORY_TEXT_KEYS,
    "Remember, focus on the similar memories": MERGE_OFFER_KEYS,
    "The scope": SCOPE_KEYS,
    "The budget": BUDGET_KEYS,
    "The link": LINK_KEYS,
    "Strategies": STRATEGY_KEYS,
    "Themes": (),
    "Themes, focus on the list": THEME_LIST_KEYS,
    "Opening a vault": VAULT_CHOOSER_KEYS,
}

DIALOG_BINDING_IDS = frozenset(key.id for keys in CONTEXTS.values() for key in keys if key.opens_dialog)
"""Ids of the bindings that open a dialog or the query's menu."""

HELP_PARTS: Mapping[str, Mapping[str, Sequence[KeyBinding]]] = {
    "Search": {
        "Search": HIT_KEYS,
        "Search: the query": QUERY_KEYS,
        "Search: the pack": PACK_OPTION_KEYS,
        "Search: panes": PANE_KEYS,
    },
}
"""Groups by title in which the help lists the keys of a context, if these are too many for one group."""

PARENT_CONTEXTS: Mapping[str, str] = {
    "Everywhere": "Always",
    "Search": "Everywhere",
    "Overview": "Everywhere",
    "Memory": "Everywhere",
    "Picking": "Everywhere",
    "The query's menu": "Everywhere",
    "Any dialog": "Always",
    "The text of a memory": "Remember",
    "Opening a vault": "Always",
    **dict.fromkeys(
        ("A question", "The keys", "Remember", "The scope", "The budget", "The link", "Strategies", "Themes"),
        "Any dialog",
    ),
    **{context: context.partition(",")[0].removesuffix(" tab") for context in CONTEXTS if ", focus on" in context},
}
"""The context around each context. Its keys work in the inner context too, unless the inner context binds them."""
