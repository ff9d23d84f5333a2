"""The table of all keys of the app, used for bindings, help, palette and the user's keymap.

Does not import Textual. The id of a binding is its name in `[screen.keys]` of the settings; `keymap.py` applies a
user's keys over these. A binding without a key is only in the palette. A context is what has the focus, or something
around that; its keys work together with those around it. ctrl+h, ctrl+i, ctrl+j and ctrl+m are never used: a terminal
sends them as backspace, tab and enter. No key has alt: terminals and Textual garble it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Key:
    """A binding: its keys in Textual's names, separated by commas. `label` is for the footer, `what` for the help.

    `shown` puts it into the footer before others. `moves`: it moves the cursor or scrolls, and is not in the footer.
    `first` gives it priority over the focused field, except for keys that type a character. `about_hit`: it acts on the
    selected hit; pressed directly after the last letter of a query, it waits for the answer. `opens`: it opens a dialog
    or a menu, which gets the keys pressed directly after it.
    """

    id: str
    keys: str
    action: str
    label: str
    what: str
    shown: bool = False
    first: bool = False
    moves: bool = False
    about_hit: bool = False
    opens: bool = False


def with_priority(*rows: Key) -> Sequence[Key]:
    """Return the keys of a context with a field, with priority over the field for those that type no character."""
    return tuple(replace(row, first=True) for row in rows)


def list_keys(prefix: str, noun: str, *, arrows: bool = False) -> Sequence[Key]:
    """Return the keys that move in a focused list, as in vi; `arrows` adds the arrow keys.

    The arrows are for lists where no context around the list uses them.
    """
    down, up = ("down,j", "up,k") if arrows else ("j", "k")
    return (
        Key(f"{prefix}-down", down, "down", "next", f"Next {noun}", moves=True),
        Key(f"{prefix}-up", up, "up", "previous", f"Previous {noun}", moves=True),
        Key(f"{prefix}-first", "g,home", "first", "first", f"First {noun}", moves=True),
        Key(f"{prefix}-last", "G,end", "last", "last", f"Last {noun}", moves=True),
    )


DIALOG: Sequence[Key] = with_priority(
    Key("dialog-leave", "escape", "leave", "close", "Close without changes", shown=True),
    Key("dialog-next", "tab", "app.focus_next", "next field", "To the next field", moves=True),
    Key("dialog-previous", "shift+tab", "app.focus_previous", "previous field", "To the previous field", moves=True),
)

HELP: Sequence[Key] = with_priority(
    Key("help-down", "down,ctrl+n", "scroll(0.1)", "scroll", "A line down", moves=True),
    Key("help-up", "up,ctrl+p", "scroll(-0.1)", "scroll", "A line up", moves=True),
    Key("help-page-down", "pagedown", "scroll(1)", "scroll", "A page down", moves=True),
    Key("help-page-up", "pageup", "scroll(-1)", "scroll", "A page up", moves=True),
)

QUESTION: Sequence[Key] = (
    Key("confirm-yes", "y", "answer(True)", "yes", "Yes", shown=True),
    Key("confirm-no", "n", "answer(False)", "no", "No", shown=True),
)

REMEMBER: Sequence[Key] = with_priority(
    Key("remember-keep", "ctrl+s", "keep", "keep", "Keep it", shown=True),
    Key("remember-merge", "", "merge", "merge", "Merge it into the memory selected below", shown=True),
)

TEXT: Sequence[Key] = (
    Key("text-undo", "ctrl+underscore", "undo", "undo", "Undo typing", moves=True),
    Key("text-redo", "ctrl+y", "redo", "redo", "Redo typing", moves=True),
    Key("text-right", "ctrl+f", "cursor_right", "right", "A letter to the right", moves=True),
    Key("text-left", "ctrl+b", "cursor_left", "left", "A letter to the left", moves=True),
)
"""Shell-like keys of Textual's text area, which has others: its ctrl+f deletes, and ctrl+z suspends."""

OFFERS: Sequence[Key] = (
    Key("offers-down", "down", "down", "next", "Next memory", moves=True),
    Key("offers-up", "up", "up", "previous", "Previous memory", moves=True),
    Key("offers-choose", "enter", "choose", "merge", "Merge into the selected memory"),
)

CHOOSING: Sequence[Key] = (
    *with_priority(
        Key("vault-open", "enter", "open", "open", "Open the selected vault", shown=True),
        Key("vault-complete", "tab", "complete", "complete", "Put the selected folder into the field", shown=True),
        Key("vault-pane", "shift+tab", "pane", "list", "Between the field and the list"),
        Key("vault-down", "down,ctrl+n", "move(1)", "next", "Next vault", moves=True),
        Key("vault-up", "up,ctrl+p", "move(-1)", "previous", "Previous vault", moves=True),
        Key("vault-leave", "escape", "leave", "close", "Close without changes", shown=True),
    ),
    # Without priority: in the field it deletes a letter.
    Key("vault-forget", "delete", "forget", "forget", "Remove the vault from the list; its files stay"),
)

THEMES: Sequence[Key] = (
    Key("themes-keep", "enter", "screen.choose", "keep", "Use the theme", shown=True),
    *list_keys("themes", "theme", arrows=True),
)

BUDGET: Sequence[Key] = with_priority(
    Key("budget-take", "enter", "take(False)", "take", "Set the budget", shown=True),
    Key("budget-copy", "ctrl+y", "take(True)", "copy pack", "Set the budget and copy the pack", shown=True),
)

STRATEGIES: Sequence[Key] = with_priority(
    Key("strategies-use", "enter", "choose", "use", "Use the strategy that ranks it highest", shown=True),
    Key("strategies-down", "down,j", "move(1)", "next", "Next fragment", moves=True),
    Key("strategies-up", "up,k", "move(-1)", "previous", "Previous fragment", moves=True),
)

ALWAYS: Sequence[Key] = (
    Key("help", "f1", "app.help", "help", "List the keys that work here", shown=True, first=True, opens=True),
    Key("palette", "ctrl+g", "app.command_palette", "commands", "Find any command by name", first=True, opens=True),
    Key("suspend", "ctrl+z", "app.suspend_process", "suspend", "Suspend: back to the shell", first=True),
    Key("redraw", "ctrl+l", "app.redraw", "redraw", "Redraw the screen", first=True),
    Key("quit", "ctrl+q", "app.quit", "quit", "Quit excerpt", shown=True, first=True),
)

EVERYWHERE: Sequence[Key] = (
    Key("show-search", "f2", "show_tab('search')", "search", "Go to the Search tab", first=True),
    Key("show-overview", "f3", "show_tab('overview')", "overview", "Go to the Overview tab", first=True),
    Key("show-memory", "f4", "show_tab('memory')", "memory", "Go to the Memory tab", first=True),
    Key("index", "", "open_index", "index", "The index: its progress, skipped files and why", opens=True),
    Key("settings", "", "settings", "settings", "Settings: open the file in your editor"),
    Key("help-sign", "question_mark", "app.help", "help", "List the keys that work here", opens=True),
    Key("update", "", "update_index", "update", "Update the index: check all files now"),
    Key("change-theme", "", "app.change_theme", "theme", "Change the theme", opens=True),
    Key("vault-settings", "", "settings(True)", "settings", "Settings of this vault: open the file"),
    Key("switch-vault", "", "app.switch_vault", "vault", "Open another vault", first=True, opens=True),
)

FINDING: Sequence[Key] = with_priority(
    Key("mark", "space,tab", "mark", "mark", "Mark the fragment, and move on", shown=True, about_hit=True),
    Key("copy-pack", "ctrl+y", "copy_pack", "copy pack", "Copy the pack", shown=True),
    Key("down", "down,ctrl+n", "move(1)", "next", "Next fragment", moves=True),
    Key("up", "up,ctrl+p", "move(-1)", "previous", "Previous fragment", moves=True),
    Key("edit", "enter", "edit", "open", "Open the note in your editor", shown=True, about_hit=True),
    Key("copy-fragment", "y", "copy_fragment", "copy one", "Copy only the fragment", shown=True, about_hit=True),
    Key("strategy", "ctrl+s", "strategy", "strategy", "Next strategy", shown=True),
    Key("remember", "m,ctrl+r", "remember", "remember", "Remember the fragment", shown=True, opens=True),
    Key("obsidian", "O", "obsidian", "Obsidian", "Open the note in Obsidian", about_hit=True),
    Key("view", "v", "next_view", "view", "Next view: passage, why, related, map", shown=True),
    Key("link", "l", "enter_side", "link", "Into the panel; in a passage, to its next link"),
    Key("why", "ctrl+t", "show_view('why')", "why", "Why the fragment has its rank, or back to the passage"),
    Key(
        "why-not",
        "",
        "why_not",
        "why not",
        "Why not this note: why it is missing or not higher",
        opens=True,
    ),
    Key("compare", "", "compare", "compare", "Compare strategies: differences for this query", opens=True),
    Key("memories", "", "memories", "memories", "Memories: among the hits, before them, or hidden"),
)

ASKING: Sequence[Key] = with_priority(
    Key("complete", "ctrl+space,ctrl+@", "complete", "complete", "Complete the word"),
    Key("suggest", "", "suggest", "narrower", "Narrower and wider queries, with what they find", opens=True),
    Key("saved", "", "saved", "saved", "Saved queries: run or delete one", opens=True),
    Key("save-query", "", "save_query", "save", "Save the query"),
    Key("history", "", "history", "history", "History: earlier queries", opens=True),
)

MENU: Sequence[Key] = with_priority(
    Key("menu-take", "tab,enter", "menu_take", "take", "Use the selected row", shown=True),
    Key(
        "menu-forget",
        "delete",
        "menu_forget",
        "forget",
        "Delete the query from the history or saved queries",
        shown=True,
    ),
    Key("menu-close", "escape", "menu_leave", "close", "Close the menu", shown=True),
    Key("menu-down", "down,ctrl+n", "menu_move(1)", "next", "Next row", moves=True),
    Key("menu-up", "up,ctrl+p", "menu_move(-1)", "previous", "Previous row", moves=True),
)

PACKING: Sequence[Key] = with_priority(
    Key("scope", "s", "scope", "scope", "Next scope: how far passages grow", shown=True),
    Key("format", "f", "format", "format", "Next format of the pack"),
    Key("budget", "b", "type_budget", "budget", "Type the token budget", opens=True),
    Key("budget-up", "", "budget(1)", "budget +", "A larger token budget"),
    Key("budget-down", "", "budget(-1)", "budget -", "A smaller token budget"),
    Key("undo", "u", "undo", "undo", "Undo the last decision about the pack"),
    Key("redo", "U", "redo", "redo", "Redo the last decision about the pack"),
    Key("show-earlier", "o", "show_earlier", "show marks", "Show earlier marks"),
    Key("drop-earlier", "x", "drop_earlier", "drop marks", "Drop earlier marks"),
    Key("panel", "ctrl+o", "panel", "the pack", "Show what is in the pack, or close it"),
    Key("order", "", "order", "order", "Order of the pack: by score, or as in the vault"),
    Key("clear-marks", "", "clear_marks", "unmark all", "Unmark all: remove all marks"),
    Key("remember-pack", "", "remember_pack", "remember all", "Remember all: keep the whole pack", opens=True),
    Key("save-pack", "", "save_pack", "to a file", "Write the pack to a file"),
)

PANES: Sequence[Key] = with_priority(
    Key("related", "", "show_view('related')", "related", "Related notes of the fragment"),
    Key("map", "", "show_view('map')", "map", "The map: where the matches are"),
    Key("preview-down", "pagedown", "scroll_view(1)", "scroll", "Scroll the panel down", moves=True),
    Key("preview-up", "pageup", "scroll_view(-1)", "scroll", "Scroll the panel up", moves=True),
    Key("pane", "shift+tab", "pane", "pane", "Next pane: query, list, panel, pack"),
    Key("query", "slash", "focus_query", "query", "To the query"),
    Key("back", "escape", "back", "back", "Close what is open, then to the list"),
)

SEARCH: Sequence[Key] = (*FINDING, *PACKING, *ASKING, *PANES)
"""The keys of the Search tab, in four parts."""

ABOUT_HIT = frozenset(key.action for key in SEARCH if key.about_hit)

LIST: Sequence[Key] = (
    Key("list-unfold", "right", "unfold", "unfold", "Unfold the note's fragments"),
    Key("list-fold", "left", "fold", "fold", "Fold the note's fragments"),
    *list_keys("list", "fragment"),
)

PASSAGE: Sequence[Key] = (
    Key("context-link", "l", "next_link", "link", "To the next link; enter follows it", shown=True),
    Key("context-return", "backspace", "come_back", "go back", "Go back from a link", shown=True),
    Key("context-match", "n", "match(1)", "next match", "Next match", shown=True),
    Key("context-match-before", "N", "match(-1)", "previous match", "Previous match"),
    Key("context-heading", "", "heading(1)", "heading", "To the next heading"),
    Key("context-heading-before", "", "heading(-1)", "heading", "To the previous heading"),
    Key("whole-note", "", "read_whole", "whole note", "The whole note in the passage view, or the passage"),
    Key("context-pick", "shift+down", "pick(1)", "pick", "Pick one line more, to copy or remember"),
    Key("context-pick-less", "shift+up", "pick(-1)", "pick", "Pick one line less"),
    Key("context-down", "j", "down", "down", "A line down", moves=True),
    Key("context-up", "k", "up", "up", "A line up", moves=True),
    Key("context-first", "g,home", "first", "first", "To the start of the note", moves=True),
    Key("context-last", "G,end", "last", "last", "To the end of the note", moves=True),
)

PACK: Sequence[Key] = (
    Key("pack-drop", "x", "drop", "drop", "Drop the passage, or bring it back", shown=True),
    Key("pack-later", "shift+down", "shift(1)", "later", "Move the passage down", shown=True),
    Key("pack-earlier", "shift+up", "shift(-1)", "earlier", "Move the passage up", shown=True),
    Key("pack-scope", "s", "own_scope", "its scope", "Next scope for this passage only", shown=True),
    *list_keys("pack", "line"),
)

RELATED: Sequence[Key] = (
    Key("related-follow", "l", "follow", "follow", "Show notes related to the selected passage", shown=True),
    Key("related-return", "backspace", "follow_back", "return", "Back to the previous note", shown=True),
    Key("related-next", "right", "reason(1)", "next reason", "Next reason", shown=True),
    Key("related-previous", "left", "reason(-1)", "previous reason", "Previous reason"),
    Key("related-note", "", "whole_note", "whole note", "Whole note: related to all of it, or not"),
    *list_keys("related", "note"),
)

MAP: Sequence[Key] = (
    Key("map-filter", "space", "put_filter", "filter", "Add its filter to the query, or remove it", shown=True),
    Key("map-unfilter", "backspace", "take_filter", "filter off", "Remove the last filter", shown=True),
    Key("map-open", "right", "open_branch", "unfold", "Unfold the branch, then enter it", shown=True),
    Key("map-shut", "left", "close_branch", "fold", "Fold the branch, then leave it", shown=True),
    *list_keys("map", "line"),
)

OVERVIEW: Sequence[Key] = with_priority(
    Key("overview-down", "down,ctrl+n", "move(1)", "next", "Next line", moves=True),
    Key("overview-up", "up,ctrl+p", "move(-1)", "previous", "Previous line", moves=True),
    Key("overview-part", "tab", "part", "next part", "To the next part", shown=True),
    Key("overview-edit", "enter", "edit", "open", "Open the note in your editor at this place", shown=True),
    Key("overview-search", "", "search", "search", "Search for what is selected", shown=True),
    Key("overview-copy", "ctrl+y", "copy", "copy", "Copy the overview as Markdown", shown=True),
    Key("overview-passage", "v", "passage", "passage", "Show the passage, or hide it", shown=True),
    Key("overview-copy-passage", "y", "copy_passage", "copy one", "Copy only the passage"),
    Key("overview-remember", "m,ctrl+r", "remember", "remember", "Remember the passage", shown=True, opens=True),
    Key("overview-all", "", "every_line", "all lines", "All lines, or as many as fit", shown=True),
    Key("overview-page-down", "pagedown", "scroll_passage(1)", "scroll", "Scroll the passage down", moves=True),
    Key("overview-page-up", "pageup", "scroll_passage(-1)", "scroll", "Scroll the passage up", moves=True),
    Key("overview-pane", "shift+tab", "pane", "pane", "Next pane: topic, lines, passage"),
    Key("overview-topic", "slash", "focus_topic", "topic", "To the topic"),
    Key("overview-back", "escape", "back", "back", "Close the passage that is open, then go to the lines"),
)

OVERVIEW_LINES: Sequence[Key] = (
    Key("overview-line-unfold", "right", "unfold", "unfold", "All lines of the part"),
    Key("overview-line-fold", "left", "fold", "fold", "As many lines of the part as fit"),
    *list_keys("overview-line", "line"),
)

MEMORY: Sequence[Key] = with_priority(
    Key("memory-down", "down,ctrl+n", "move(1)", "next", "Next memory", moves=True),
    Key("memory-up", "up,ctrl+p", "move(-1)", "previous", "Previous memory", moves=True),
    Key("memory-follow", "l", "follow", "follow", "Update the link to a source that has moved", shown=True),
    Key("memory-keep", "a", "keep", "keep", "Keep it as it is", shown=True),
    Key("memory-update", "t", "update", "take new", "Take the source's new text", shown=True),
    Key("memory-edit", "enter", "edit", "open source", "Open its source in your editor", shown=True),
    Key("memory-change", "e", "change", "change", "Change its text, tags or reason", shown=True, opens=True),
    Key("memory-copy", "y,ctrl+y", "copy", "copy", "Copy the memory", shown=True),
    Key("memory-forget", "x", "forget", "forget", "Forget the memory", shown=True),
    Key("memory-undo", "u", "undo", "undo", "Undo the last decision about memories", shown=True),
    Key("memory-redo", "U", "redo", "redo", "Redo the last decision about memories"),
    Key("memory-new", "m,ctrl+r", "remember", "new", "Write a new memory", shown=True, opens=True),
    Key("memory-stale", "", "stale", "stale", "Stale: only memories whose source changed or is gone, or all"),
    Key("memory-page-down", "pagedown", "scroll_view(1)", "scroll", "Scroll the memory down", moves=True),
    Key("memory-page-up", "pageup", "scroll_view(-1)", "scroll", "Scroll the memory up", moves=True),
    Key("memory-pane", "shift+tab", "pane", "pane", "Between the filter and the list"),
    Key("memory-filter", "slash", "focus_filter", "filter", "To the filter"),
    Key("memory-back", "escape", "back", "back", "Go to the list"),
)

MEMORY_LIST: Sequence[Key] = list_keys("memory-list", "memory")

FIELD: Sequence[Key] = (
    Key(
        "field-word",
        "ctrl+w",
        "delete_left_word",
        "word",
        "Delete the word, or filter, before the cursor",
        moves=True,
    ),
    Key(
        "field-back",
        "backspace",
        "delete_left",
        "back",
        "Delete a letter",
        moves=True,
    ),
    Key("field-clear", "ctrl+u", "delete_left_all", "clear", "Delete everything before the cursor", moves=True),
    Key("field-rest", "ctrl+k", "delete_right_all", "rest", "Delete everything after the cursor", moves=True),
    Key("field-delete", "delete,ctrl+d", "delete_right", "delete", "Delete the letter after the cursor", moves=True),
    Key("field-letter-left", "ctrl+b", "cursor_left", "left", "A letter to the left", moves=True),
    Key("field-letter-right", "ctrl+f", "cursor_right", "right", "A letter to the right", moves=True),
    Key("field-left", "ctrl+left", "cursor_left_word", "left", "A word to the left", moves=True),
    Key("field-right", "ctrl+right", "cursor_right_word", "right", "A word to the right", moves=True),
    Key("field-first", "home,ctrl+a", "home", "first", "To the beginning", moves=True),
    Key("field-last", "end,ctrl+e", "end", "last", "To the end", moves=True),
)
"""Keys of a one-line field, a selection of Textual's.

Any surrounding context may override them, so `PARENT_CONTEXTS` has no entry for a field.
"""

CONTEXTS: Mapping[str, Sequence[Key]] = {
    "Always": ALWAYS,
    "Everywhere": EVERYWHERE,
    "Search": SEARCH,
    "The query's menu": MENU,
    "Search, with the list focused": LIST,
    "Search, with the passage focused": PASSAGE,
    "Search, with the pack focused": PACK,
    "Search, with related notes focused": RELATED,
    "Search, with the map focused": MAP,
    "Overview": OVERVIEW,
    "Overview, with the lines focused": OVERVIEW_LINES,
    "Memory": MEMORY,
    "Memory, with the list focused": MEMORY_LIST,
    "Any field": FIELD,
    "Any dialog": DIALOG,
    "The keys": HELP,
    "A question": QUESTION,
    "Remember": REMEMBER,
    "The text of a memory": TEXT,
    "Remember, with the similar memories focused": OFFERS,
    "The budget": BUDGET,
    "Strategies": STRATEGIES,
    "Themes": (),
    "Themes, with the list focused": THEMES,
    "Opening a vault": CHOOSING,
}

OPENING_IDS = frozenset(key.id for keys in CONTEXTS.values() for key in keys if key.opens)
"""Ids of the bindings that open a dialog or the query's menu."""

PARTS: Mapping[str, Mapping[str, Sequence[Key]]] = {
    "Search": {
        "Search": FINDING,
        "Search: the query": ASKING,
        "Search: the pack": PACKING,
        "Search: panes": PANES,
    },
}
"""Groups in which the keys of a context with too many for one list are listed."""

PARENT_CONTEXTS: Mapping[str, str] = {
    "Everywhere": "Always",
    "Search": "Everywhere",
    "Overview": "Everywhere",
    "Memory": "Everywhere",
    "The query's menu": "Everywhere",
    "Any dialog": "Always",
    "The text of a memory": "Remember",
    "Opening a vault": "Always",
    **dict.fromkeys(
        ("A question", "The keys", "Remember", "The budget", "Strategies", "Themes"),
        "Any dialog",
    ),
    **{context: context.partition(", with")[0] for context in CONTEXTS if ", with" in context},
}
"""The surrounding context of each context; its keys work there too, unless the inner context binds them."""
