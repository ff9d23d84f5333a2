"""Every key of the app, in one table: what the widgets bind, what F1 and the palette list, what a keymap may change.

Textual is not needed to read it. A binding's id is what `[screen.keys]` in the settings names; `keymap.py` puts a
user's keys over these. A place is what has the focus, or what is around that; its keys work with those around it.
ctrl+h, ctrl+i, ctrl+j and ctrl+m are never used: a terminal sends them as backspace, tab and enter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from excerpt.tui.dialog_keys import (
    CHOOSING,
    DIALOG,
    HELP,
    OFFERS,
    OUTLINE,
    QUESTION,
    REMEMBER,
    SAVED,
    SETTINGS,
    STRATEGIES,
    THEMES,
    TOUR,
    WHY,
)
from excerpt.tui.key_rows import Key, moving, too, while_typing

ALWAYS: Sequence[Key] = (
    Key("help", "f1", "app.help", "help", "List the keys that work here", shown=True, first=True),
    Key("jump", "alt+j", "app.jump", "jump", "Jump to a row, pane, field or tab by its letter", first=True),
    Key("palette", "ctrl+backslash,f10", "app.command_palette", "commands", "Find any command by name", first=True),
    Key("suspend", "ctrl+z", "app.suspend_process", "suspend", "Back to the shell; fg comes here again", first=True),
    Key("redraw", "ctrl+l", "app.redraw", "redraw", "Draw the whole screen anew", first=True),
    Key("quit", "ctrl+q", "app.quit", "quit", "Leave excerpt", shown=True, first=True),
)

ROOM: Sequence[Key] = while_typing(
    Key("zoom", "alt+z", "zoom_pane", "zoom", "All the room for one pane, the one with the focus; once more: for all"),
    Key("placing", "alt+l", "place_context", "place", "The context beside the list, below it, or as the width allows"),
    Key("narrower", "alt+shift+left", "widen_list(-1)", "narrower", "A narrower list"),
    Key("wider", "alt+shift+right", "widen_list(1)", "wider", "A wider list"),
    Key("density", "alt+d", "density", "density", "Rows of two lines, or of one"),
)
"""How the panes of any tab share the window."""


def _room_too(prefix: str, pane: str) -> Sequence[Key]:
    """The same where letters are keys, and half pages."""
    return (
        Key(f"{prefix}-zoom", "z", "screen.zoom_pane", "zoom", f"All the room for the {pane}; once more: for all"),
        Key(f"{prefix}-narrower", "less_than_sign", "screen.widen_list(-1)", "narrower", "A narrower list"),
        Key(f"{prefix}-wider", "greater_than_sign", "screen.widen_list(1)", "wider", "A wider list"),
        Key(f"{prefix}-half-down", "ctrl+d", "half_page(1)", "half a page", "Half a page down", moves=True),
        Key(f"{prefix}-half-up", "ctrl+u", "half_page(-1)", "half a page", "Half a page up", moves=True),
    )


EVERYWHERE: Sequence[Key] = (
    Key("show-search", "f2", "show_tab('search')", "search", "Go to the Search tab", first=True),
    Key("show-overview", "f3", "show_tab('overview')", "overview", "Go to the Overview tab", first=True),
    Key("show-memory", "f4", "show_tab('memory')", "memory", "Go to the Memory tab", first=True),
    Key("show-index", "f5", "show_tab('index')", "index", "Go to the Index tab", first=True),
    Key("settings", "alt+p", "settings", "settings", "Change the settings", first=True),
    Key("help-sign", "question_mark", "app.help", "help", "List the keys that work here, where nothing is typed"),
    Key("update", "f12", "update_index", "update", "Bring the index up to date with the vault"),
    Key("switch-vault", "alt+v", "app.switch_vault", "vault", "Open another vault", first=True),
    *ROOM,
)

FINDING: Sequence[Key] = while_typing(
    Key("down", "down,ctrl+n", "move(1)", "next", "Next fragment", moves=True),
    Key("up", "up,ctrl+p", "move(-1)", "previous", "Previous fragment", moves=True),
    Key("edit", "enter", "edit", "open", "Open the note in your editor at this line", shown=True),
    Key("obsidian", "alt+x", "obsidian", "Obsidian", "Open the note in Obsidian, at this heading"),
    Key("copy-fragment", "ctrl+f,alt+y", "copy_fragment", "copy one", "Copy the fragment alone", shown=True),
    Key("strategy", "ctrl+s", "strategy", "strategy", "Next strategy", shown=True),
    Key("remember", "ctrl+r", "remember", "remember", "Keep the fragment in memory", shown=True),
    Key("why", "ctrl+t", "why", "why", "Why the fragment stands where it stands"),
    Key("compare", "alt+c", "compare", "compare", "What each strategy finds, side by side"),
    Key("memories", "alt+k", "memories", "memories", "Memories: among the hits, before them, or not"),
)

ASKING: Sequence[Key] = while_typing(
    Key("complete", "ctrl+space,ctrl+@", "complete", "complete", "Complete the word by what the vault has"),
    Key("suggest", "alt+q", "suggest", "narrower", "Narrower and wider queries, with what they find"),
    Key("saved", "alt+s", "saved", "saved", "Saved queries: run, save, rename, delete"),
    Key("history", "alt+h", "history", "history", "Queries asked before; with the bar empty, up brings the last back"),
)

MENU: Sequence[Key] = while_typing(
    Key("menu-take", "tab,enter", "menu_take", "take", "Take the selected row", shown=True),
    Key("menu-forget", "delete", "menu_forget", "forget", "Forget a query asked before", shown=True),
    Key("menu-close", "escape", "menu_leave", "close", "Close the menu", shown=True),
    Key("menu-down", "down,ctrl+n", "menu_move(1)", "next", "Next row", moves=True),
    Key("menu-up", "up,ctrl+p", "menu_move(-1)", "previous", "Previous row", moves=True),
)

PACKING: Sequence[Key] = while_typing(
    Key("mark", "tab", "mark", "mark", "Mark the fragment for the pack, and move on", shown=True),
    Key("copy-pack", "ctrl+y", "copy_pack", "copy pack", "Copy the pack", shown=True),
    Key("scope", "ctrl+e", "scope", "scope", "Next scope: how far the pack grows around hits", shown=True),
    Key("panel", "ctrl+o,f9", "panel", "the pack", "Show what is in the pack and what is not; once more: close"),
    Key("budget-up", "ctrl+up,f8", "budget(1)", "budget +", "A larger token budget"),
    Key("budget-down", "ctrl+down,f7", "budget(-1)", "budget -", "A smaller token budget"),
    Key("format", "alt+t", "format", "format", "Next format: how the pack is written"),
    Key("order", "alt+o", "order", "order", "Order of the pack: by score, or as in the vault"),
    Key("undo", "ctrl+underscore", "undo", "undo", "Take back the last decision about the pack"),
    Key("clear-marks", "alt+a", "clear_marks", "unmark all", "Take all marks away"),
    Key("save-pack", "alt+w", "save_pack", "to a file", "Write the pack to a file"),
)

PANES: Sequence[Key] = while_typing(
    Key("related", "alt+r", "related", "related", "Show what is related to the fragment; once more: close"),
    Key("map", "alt+m", "map", "map", "Show where the matches are; once more: close"),
    Key("preview-down", "pagedown", "scroll_preview(1)", "scroll", "Scroll the context down", moves=True),
    Key("preview-up", "pageup", "scroll_preview(-1)", "scroll", "Scroll the context up", moves=True),
    Key("pane", "shift+tab,f6", "pane", "pane", "Next pane: query, list, context, pack"),
    Key("back", "escape", "back", "back", "Back: leave a pane or panel, come back from a link, then clear the query"),
)

READING: Sequence[Key] = while_typing(
    Key("whole-note", "alt+n", "read_whole", "whole note", "The whole note in the context; once more: as before"),
    Key("outline", "alt+u", "outline", "outline", "Outline: the note's headings, to go to one"),
    Key("links", "alt+g", "links", "links", "Follow a link of the context: type the letters on it"),
    Key("visited-back", "alt+left", "visited(-1)", "visited", "Back to the fragment looked at before"),
    Key("visited-forward", "alt+right", "visited(1)", "visited", "Forward again to the fragment looked at after"),
)

SEARCH: Sequence[Key] = (*PACKING, *FINDING, *ASKING, *PANES, *READING)
"""One place in five parts, as it has many keys."""

LIST: Sequence[Key] = (
    too(SEARCH, "mark", "list-mark", "space"),
    too(SEARCH, "copy-fragment", "list-copy", "y"),
    too(SEARCH, "remember", "list-remember", "m"),
    too(SEARCH, "why", "list-why", "e"),
    too(SEARCH, "compare", "list-compare", "c"),
    too(SEARCH, "obsidian", "list-obsidian", "O"),
    too(SEARCH, "related", "list-related", "r"),
    too(SEARCH, "map", "list-map", "M"),
    too(SEARCH, "undo", "list-undo", "u"),
    too(SEARCH, "budget-up", "list-budget-up", "plus"),
    too(SEARCH, "budget-down", "list-budget-down", "minus"),
    Key("list-query", "slash", "pane('focus_query')", "query", "Back to the query"),
    *moving("list", "fragment"),
    *_room_too("list", "list"),
)

CONTEXT: Sequence[Key] = (
    Key("context-match", "n", "match(1)", "next match", "Next match", shown=True),
    Key("context-match-before", "N", "match(-1)", "match before", "The match before"),
    Key("context-heading", "right_square_bracket", "heading(1)", "heading", "Next heading", shown=True),
    Key("context-heading-before", "left_square_bracket", "heading(-1)", "heading", "The heading before"),
    too(SEARCH, "links", "context-links", "f", shown=True),
    too(SEARCH, "visited-back", "context-back", "H", shown=True),
    too(SEARCH, "visited-forward", "context-forward", "L"),
    too(SEARCH, "whole-note", "context-whole", "w", shown=True),
    too(SEARCH, "outline", "context-outline", "o", shown=True),
    Key("context-pick", "v", "pick", "pick lines", "Pick lines, to copy or to keep them; once more: stop", shown=True),
    Key("context-copy", "y", "pane('copy_lines')", "copy", "Copy the lines picked, or the fragment"),
    Key("context-remember", "m", "pane('remember_lines')", "remember", "Keep the lines picked, or the fragment"),
    Key("context-down", "j", "down", "down", "A line down", moves=True),
    Key("context-up", "k", "up", "up", "A line up", moves=True),
    Key("context-first", "g,home", "first", "first", "To the note's beginning", moves=True),
    Key("context-last", "G,end", "last", "last", "To the note's end", moves=True),
    Key("context-query", "slash", "pane('focus_query')", "query", "Back to the query"),
    *_room_too("context", "context"),
)

PACK: Sequence[Key] = (
    too(SEARCH, "copy-pack", "pack-copy", "y", shown=True),
    Key("pack-drop", "d,delete", "pane('drop')", "drop", "Drop what is selected, or bring it back", shown=True),
    Key("pack-later", "J,shift+down", "pane('shift(1)')", "later", "Move the passage down", shown=True),
    Key("pack-earlier", "K,shift+up", "pane('shift(-1)')", "earlier", "Move the passage up", shown=True),
    Key("pack-scope", "s", "pane('own_scope')", "its scope", "Next scope for this passage alone", shown=True),
    too(SEARCH, "remember", "pack-remember", "m", "Keep the passage in memory"),
    Key("pack-remember-all", "R", "pane('remember_pack')", "remember all", "Keep the whole pack in memory"),
    too(SEARCH, "undo", "pack-undo", "u", shown=True),
    Key("pack-show", "space", "pane('edit')", "context", "Show it in the context, as enter does", shown=True),
    too(SEARCH, "format", "pack-format", "f"),
    too(SEARCH, "order", "pack-order", "o"),
    too(SEARCH, "save-pack", "pack-save", "w"),
    too(SEARCH, "budget-up", "pack-budget-up", "plus"),
    too(SEARCH, "budget-down", "pack-budget-down", "minus"),
    Key("pack-query", "slash", "pane('focus_query')", "query", "To the query; the panel stays open"),
    *moving("pack", "line"),
)

RELATED: Sequence[Key] = (
    Key("related-follow", "f", "pane('follow')", "follow", "Go on from the selected passage", shown=True),
    Key("related-return", "backspace", "pane('follow_back')", "return", "Back to what was followed from", shown=True),
    Key("related-next", "right,l", "pane('reason(1)')", "next reason", "Next reason: name, link, passage", shown=True),
    Key("related-previous", "left,h", "pane('reason(-1)')", "reason before", "The reason before"),
    Key("related-show", "space", "pane('show_passage')", "context", "Show the passage in the context", shown=True),
    Key("related-note", "n", "pane('whole_note')", "whole note", "Related to all of the note, or not", shown=True),
    too(SEARCH, "related", "related-close", "r", "Close the panel"),
    too(SEARCH, "map", "related-map", "M", "Show where the matches are"),
    Key("related-query", "slash", "pane('focus_query')", "query", "To the query; the panel stays open"),
    *moving("related", "note"),
)

MAP: Sequence[Key] = (
    Key("map-filter", "f,space", "pane('put_filter')", "filter", "Put its filter into the query, or off", shown=True),
    Key("map-unfilter", "backspace", "pane('take_filter')", "filter off", "Take the last filter off", shown=True),
    Key("map-open", "right,l", "open_branch", "unfold", "Unfold the branch, then go into it", shown=True),
    Key("map-shut", "left,h", "close_branch", "fold", "Fold the branch, then leave it", shown=True),
    too(SEARCH, "map", "map-close", "M", "Close the panel"),
    too(SEARCH, "related", "map-related", "r", "Show what is related to the fragment"),
    Key("map-query", "slash", "pane('focus_query')", "query", "To the query; the panel stays open"),
    *moving("map", "line"),
)

OVERVIEW: Sequence[Key] = while_typing(
    Key("overview-down", "down,ctrl+n", "move(1)", "next", "Next line", moves=True),
    Key("overview-up", "up,ctrl+p", "move(-1)", "previous", "Previous line", moves=True),
    Key("overview-part", "tab", "part(1)", "next part", "To the next part", shown=True),
    Key("overview-edit", "enter", "edit", "open", "Open the note in your editor at this place", shown=True),
    Key("overview-search", "ctrl+s", "search", "search", "Search for what is selected", shown=True),
    Key("overview-copy", "ctrl+y", "copy", "copy", "Copy the overview as Markdown", shown=True),
    Key("overview-passage", "ctrl+o,f9", "passage", "passage", "Show the passage, or hide it", shown=True),
    Key("overview-remember", "ctrl+r", "remember", "remember", "Keep the passage in memory", shown=True),
    Key("overview-all", "ctrl+e", "every_line", "all lines", "All lines, or as many as fit", shown=True),
    Key("overview-page-down", "pagedown", "scroll_passage(1)", "scroll", "Scroll the passage down", moves=True),
    Key("overview-page-up", "pageup", "scroll_passage(-1)", "scroll", "Scroll the passage up", moves=True),
    Key("overview-pane", "shift+tab,f6", "pane", "pane", "Next pane: topic, lines, passage"),
    Key("overview-back", "escape", "back", "back", "Back: to the topic, clear it, then go to the search"),
)

OVERVIEW_LINES: Sequence[Key] = (
    too(OVERVIEW, "overview-part", "overview-line-part", "right_square_bracket,right"),
    Key("overview-line-part-up", "left_square_bracket,left", "pane('part(-1)')", "part before", "To the part before"),
    too(OVERVIEW, "overview-passage", "overview-line-passage", "space"),
    too(OVERVIEW, "overview-search", "overview-line-search", "s"),
    too(OVERVIEW, "overview-all", "overview-line-all", "a"),
    too(OVERVIEW, "overview-copy", "overview-line-copy", "y"),
    too(OVERVIEW, "overview-remember", "overview-line-remember", "m"),
    Key("overview-line-topic", "slash", "pane('focus_topic')", "topic", "Back to the topic"),
    *moving("overview-line", "line"),
)

MEMORY: Sequence[Key] = while_typing(
    Key("memory-down", "down,ctrl+n", "move(1)", "next", "Next memory", moves=True),
    Key("memory-up", "up,ctrl+p", "move(-1)", "previous", "Previous memory", moves=True),
    Key("memory-follow", "ctrl+f", "follow", "follow", "Let its link follow a source that has moved", shown=True),
    Key("memory-keep", "alt+k", "keep", "keep", "Keep it as it is, though its source changed", shown=True),
    Key("memory-update", "alt+t", "update", "take new", "Take the source's new text", shown=True),
    Key("memory-edit", "enter", "edit", "open source", "Open its source in your editor", shown=True),
    Key("memory-copy", "ctrl+y", "copy", "copy", "Copy the memory", shown=True),
    Key("memory-change", "ctrl+e", "change", "change", "Change its text, tags or reason", shown=True),
    Key("memory-new", "ctrl+r", "remember", "new", "Write down a new memory", shown=True),
    Key("memory-forget", "alt+x", "forget", "forget", "Forget the memory", shown=True),
    Key("memory-undo", "ctrl+underscore", "undo", "undo", "Take back the last decision", shown=True),
    Key("memory-stale", "ctrl+g", "stale", "to look at", "Only those whose source changed, or all"),
    Key("memory-page-down", "pagedown", "scroll_view(1)", "scroll", "Scroll the memory down", moves=True),
    Key("memory-page-up", "pageup", "scroll_view(-1)", "scroll", "Scroll the memory up", moves=True),
    Key("memory-pane", "shift+tab,f6", "pane", "pane", "From the filter to the list, and back"),
    Key("memory-back", "escape", "back", "back", "Back: leave the list, clear the filter, then search"),
)

MEMORY_LIST: Sequence[Key] = (
    too(MEMORY, "memory-change", "memory-list-change", "e"),
    too(MEMORY, "memory-copy", "memory-list-copy", "y"),
    too(MEMORY, "memory-forget", "memory-list-forget", "d,delete"),
    too(MEMORY, "memory-undo", "memory-list-undo", "u"),
    too(MEMORY, "memory-new", "memory-list-new", "m"),
    Key("memory-list-filter", "slash", "pane('focus_filter')", "filter", "Back to the filter"),
    *moving("memory-list", "memory"),
)

INDEX: Sequence[Key] = (
    Key("index-update", "u", "update", "update", "Bring the index up to date with the vault", shown=True),
    Key("index-rebuild", "r", "rebuild", "rebuild", "Make the index anew, after asking", shown=True),
    Key("index-pause", "p", "pause", "pause", "Pause: nothing is read until it goes on; changes are kept", shown=True),
    Key("index-resume", "p", "resume", "go on", "Go on after a pause", shown=True),
    Key("index-cancel", "c", "cancel", "cancel", "Cancel the build at hand; what was read stays", shown=True),
    Key("index-edit", "enter", "edit", "open", "Open the selected file in your editor", shown=True),
    Key("index-back", "escape", "back", "back", "Back to the search", shown=True),
)

FIELD: Sequence[Key] = (
    Key(
        "field-word",
        "ctrl+w",
        "delete_left_word",
        "word",
        "Delete the word before the cursor; in the query a filter as a whole",
        moves=True,
    ),
    Key(
        "field-back",
        "backspace",
        "delete_left",
        "back",
        "Delete a letter; at the very beginning of the query its last filter",
        moves=True,
    ),
    Key("field-clear", "ctrl+u", "delete_left_all", "clear", "Delete all before the cursor", moves=True),
    Key("field-rest", "ctrl+k", "delete_right_all", "rest", "Delete all behind the cursor", moves=True),
    Key("field-left", "ctrl+left", "cursor_left_word", "left", "A word to the left", moves=True),
    Key("field-right", "ctrl+right", "cursor_right_word", "right", "A word to the right", moves=True),
    Key("field-first", "home,ctrl+a", "home", "first", "To the beginning", moves=True),
    Key("field-last", "end", "end", "last", "To the end", moves=True),
)
"""Of the keys that Textual's field has, those that matter. It gives way to all places around it, so none is one."""

PLACES: Mapping[str, Sequence[Key]] = {
    "Always": ALWAYS,
    "Everywhere": EVERYWHERE,
    "Search": SEARCH,
    "The query's menu": MENU,
    "Search, with the list focused": LIST,
    "Search, with the context focused": CONTEXT,
    "Search, with the pack focused": PACK,
    "Search, with related notes focused": RELATED,
    "Search, with the map focused": MAP,
    "Overview": OVERVIEW,
    "Overview, with the lines focused": OVERVIEW_LINES,
    "Memory": MEMORY,
    "Memory, with the list focused": MEMORY_LIST,
    "Index": INDEX,
    "Any field": FIELD,
    "Any dialog": DIALOG,
    "The keys": HELP,
    "A question": QUESTION,
    "Remember": REMEMBER,
    "Remember, with what is offered focused": OFFERS,
    "Settings": (),
    "Settings, with the list focused": SETTINGS,
    "Strategies": STRATEGIES,
    "Themes": (),
    "Themes, with the list focused": THEMES,
    "Outline": (),
    "Outline, with the list focused": OUTLINE,
    "Saved queries": (),
    "Saved queries, with the list focused": SAVED,
    "Why": WHY,
    "Opening a vault": CHOOSING,
    "The tour": TOUR,
}

PARTS: Mapping[str, Mapping[str, Sequence[Key]]] = {
    "Search": {
        "Search": FINDING,
        "Search: the query": ASKING,
        "Search: the pack": PACKING,
        "Search: panes and panels": PANES,
        "Search: reading on": READING,
    },
}
"""How the keys of a place are listed that has too many for one list."""

AROUND: Mapping[str, str] = {
    "Everywhere": "Always",
    "Search": "Everywhere",
    "Overview": "Everywhere",
    "Memory": "Everywhere",
    "Index": "Everywhere",
    "The query's menu": "Everywhere",
    "Any dialog": "Always",
    "Opening a vault": "Always",
    "The tour": "Any dialog",
    **dict.fromkeys(
        ("A question", "The keys", "Outline", "Remember", "Saved queries", "Settings", "Strategies", "Themes", "Why"),
        "Any dialog",
    ),
    **{place: place.partition(", with")[0] for place in PLACES if ", with" in place},
}
"""The place around each, whose keys work there too: a key may not stand in both."""
