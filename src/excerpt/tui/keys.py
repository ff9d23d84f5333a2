"""Every key of the app, in one table: what the widgets bind, what F1 lists, what a keymap may change.

Textual is not needed to read it, so that a command can look a keymap over. A binding's id is what `[screen.keys]` in
the settings names. ctrl+h, ctrl+i, ctrl+j and ctrl+m are never used: a terminal sends them as backspace, tab and enter.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

UNSAFE = frozenset({"ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "alt+b", "alt+f"})
"""Keys that a terminal cannot tell from others: from backspace, tab and enter, and from ctrl+left and ctrl+right, as
Textual reads what some terminals send for these."""


@dataclass(frozen=True, slots=True)
class Key:
    """One binding: its keys in Textual's names, with commas between. `label` is for the footer, `what` for the help;
    `shown` puts it into the footer, `first` goes before the focused field's own."""

    id: str
    keys: str
    action: str
    label: str
    what: str
    shown: bool = False
    first: bool = False


EVERYWHERE: Sequence[Key] = [
    Key("help", "f1,question_mark", "help", "help", "List the keys that work here", shown=True),
    Key("show-search", "f2,alt+1", "show_tab('search')", "search", "Go to the Search tab"),
    Key("show-overview", "f3,alt+2", "show_tab('overview')", "overview", "Go to the Overview tab"),
    Key("show-memory", "f4,alt+3", "show_tab('memory')", "memory", "Go to the Memory tab"),
    Key("show-index", "f5,alt+4", "show_tab('index')", "index", "Go to the Index tab"),
    Key("update", "f12", "update_index", "update", "Bring the index up to date with the vault"),
    Key("palette", "ctrl+backslash,f10", "app.command_palette", "commands", "Find any command by name"),
    Key("quit", "ctrl+q", "app.quit", "quit", "Leave excerpt", shown=True, first=True),
]

SEARCH: Sequence[Key] = [
    Key("down", "down,ctrl+n", "move(1)", "next", "Next fragment", first=True),
    Key("up", "up,ctrl+p", "move(-1)", "previous", "Previous fragment", first=True),
    Key("mark", "tab", "mark", "mark", "Mark the fragment for the pack, and move on", shown=True, first=True),
    Key("copy-pack", "ctrl+y", "copy_pack", "copy pack", "Copy the pack", shown=True, first=True),
    Key("edit", "enter", "edit", "open", "Open the note in your editor at this line", shown=True, first=True),
    Key("strategy", "ctrl+s", "strategy", "strategy", "Next strategy", shown=True, first=True),
    Key(
        "scope",
        "ctrl+e",
        "scope",
        "scope",
        "Next scope: how far the pack grows around hits",
        shown=True,
        first=True,
    ),
    Key("remember", "ctrl+r", "remember", "remember", "Keep the fragment in memory", shown=True, first=True),
    Key("memories", "alt+k", "memories", "memories", "Memories: among the hits, before them, or not", first=True),
    Key("budget-up", "ctrl+up,f8", "budget(1)", "budget +", "A larger token budget", first=True),
    Key("budget-down", "ctrl+down,f7", "budget(-1)", "budget -", "A smaller token budget", first=True),
    Key(
        "panel",
        "ctrl+o,f9",
        "panel",
        "the pack",
        "Show what is in the pack and what is not; once more: close",
        first=True,
    ),
    Key("format", "alt+t", "format", "format", "Next format: how the pack is written", first=True),
    Key("order", "alt+o", "order", "order", "Order of the pack: by score, or as in the vault", first=True),
    Key("undo", "ctrl+z", "undo", "undo", "Take back the last decision about the pack", first=True),
    Key("save-pack", "alt+w", "save_pack", "to a file", "Write the pack to a file", first=True),
    Key("copy-fragment", "ctrl+f,alt+y", "copy_fragment", "copy fragment", "Copy the fragment alone", first=True),
    Key("why", "ctrl+t", "why", "why", "Why the fragment stands where it stands", first=True),
    Key("related", "alt+r", "related", "related", "Show what is related to the fragment; once more: close", first=True),
    Key("map", "alt+m", "map", "map", "Show where the matches are; once more: close", first=True),
    Key("clear-marks", "ctrl+l", "clear_marks", "unmark all", "Take all marks away", first=True),
    Key("preview-down", "pagedown", "scroll_preview(1)", "scroll", "Scroll the context down", first=True),
    Key("preview-up", "pageup", "scroll_preview(-1)", "scroll", "Scroll the context up", first=True),
    Key("pane", "shift+tab,f6", "pane", "pane", "Next pane: query, list, context, pack", first=True),
    Key("back", "escape", "back", "back", "Back: leave a pane, close a panel, then clear the query", first=True),
]

LIST: Sequence[Key] = [
    Key("list-down", "j", "down", "next", "Next fragment"),
    Key("list-up", "k", "up", "previous", "Previous fragment"),
    Key("list-first", "g,home", "first", "first", "First fragment"),
    Key("list-last", "G,end", "last", "last", "Last fragment"),
    Key("list-mark", "space", "pane('mark')", "mark", "Mark the fragment, and move on"),
    Key("list-copy", "y", "pane('copy_fragment')", "copy", "Copy the fragment alone"),
    Key("list-remember", "m", "pane('remember')", "remember", "Keep the fragment in memory"),
    Key("list-why", "e", "pane('why')", "why", "Why the fragment stands where it stands"),
    Key("list-related", "r", "pane('related')", "related", "Show what is related to the fragment"),
    Key("list-map", "M", "pane('map')", "map", "Show where the matches are"),
    Key("list-budget-up", "plus", "pane('budget(1)')", "budget +", "A larger token budget"),
    Key("list-budget-down", "minus", "pane('budget(-1)')", "budget -", "A smaller token budget"),
    Key("list-query", "slash", "pane('focus_query')", "query", "Back to the query"),
]

PACK: Sequence[Key] = [
    Key("pack-drop", "d,delete", "pane('drop')", "drop", "Drop what is selected, or bring it back", shown=True),
    Key("pack-later", "J,shift+down", "pane('shift(1)')", "later", "Move the passage down", shown=True),
    Key("pack-earlier", "K,shift+up", "pane('shift(-1)')", "earlier", "Move the passage up", shown=True),
    Key("pack-scope", "s", "pane('own_scope')", "its scope", "Next scope for this passage alone", shown=True),
    Key("pack-remember", "m", "pane('remember')", "remember", "Keep the passage in memory"),
    Key("pack-remember-all", "R", "pane('remember_pack')", "remember all", "Keep the whole pack in memory"),
    Key("pack-undo", "u", "pane('undo')", "undo", "Take back the last decision", shown=True),
    Key("pack-show", "space", "pane('edit')", "context", "Show it in the context, as enter does", shown=True),
    Key("pack-format", "f", "pane('format')", "format", "Next format"),
    Key("pack-order", "o", "pane('order')", "order", "By score, or as in the vault"),
    Key("pack-save", "w", "pane('save_pack')", "to a file", "Write the pack to a file"),
    Key("pack-budget-up", "plus", "pane('budget(1)')", "budget +", "A larger budget"),
    Key("pack-budget-down", "minus", "pane('budget(-1)')", "budget -", "A smaller budget"),
    Key("pack-down", "j", "down", "next", "Next line"),
    Key("pack-up", "k", "up", "previous", "Previous line"),
    Key("pack-first", "g,home", "first", "first", "First line"),
    Key("pack-last", "G,end", "last", "last", "Last line"),
    Key("pack-query", "slash", "pane('focus_query')", "query", "To the query; the panel stays open"),
]

RELATED: Sequence[Key] = [
    Key("related-follow", "f", "pane('follow')", "follow", "Go on from the selected passage", shown=True),
    Key("related-return", "backspace", "pane('follow_back')", "return", "Back to what was followed from", shown=True),
    Key("related-next", "right,l", "pane('reason(1)')", "next reason", "Next reason: name, link, passage", shown=True),
    Key("related-previous", "left,h", "pane('reason(-1)')", "reason before", "The reason before"),
    Key("related-show", "space", "pane('show_passage')", "context", "Show the passage in the context", shown=True),
    Key(
        "related-note",
        "n",
        "pane('whole_note')",
        "whole note",
        "Related to all of the note, or the fragment",
        shown=True,
    ),
    Key("related-close", "r", "pane('related')", "close", "Close the panel"),
    Key("related-map", "M", "pane('map')", "map", "Show where the matches are"),
    Key("related-down", "j", "down", "next", "Next note"),
    Key("related-up", "k", "up", "previous", "Previous note"),
    Key("related-first", "g,home", "first", "first", "First note"),
    Key("related-last", "G,end", "last", "last", "Last note"),
    Key("related-query", "slash", "pane('focus_query')", "query", "To the query; the panel stays open"),
]

MAP: Sequence[Key] = [
    Key("map-filter", "f,space", "pane('put_filter')", "filter", "Put its filter into the query, or off", shown=True),
    Key("map-unfilter", "backspace", "pane('take_filter')", "filter off", "Take the last filter off", shown=True),
    Key("map-open", "right,l", "open_branch", "open", "Open the branch, then go into it", shown=True),
    Key("map-shut", "left,h", "close_branch", "shut", "Shut the branch, then leave it", shown=True),
    Key("map-close", "M", "pane('map')", "close", "Close the panel"),
    Key("map-related", "r", "pane('related')", "related", "Show what is related to the fragment"),
    Key("map-down", "j", "down", "next", "Next line"),
    Key("map-up", "k", "up", "previous", "Previous line"),
    Key("map-first", "g,home", "first", "first", "First line"),
    Key("map-last", "G,end", "last", "last", "Last line"),
    Key("map-query", "slash", "pane('focus_query')", "query", "To the query; the panel stays open"),
]

OVERVIEW: Sequence[Key] = [
    Key("overview-down", "down,ctrl+n", "move(1)", "next", "Next line", first=True),
    Key("overview-up", "up,ctrl+p", "move(-1)", "previous", "Previous line", first=True),
    Key("overview-part", "tab", "part(1)", "next part", "To the next part", shown=True, first=True),
    Key("overview-edit", "enter", "edit", "open", "Open the note in your editor at this place", shown=True, first=True),
    Key("overview-search", "ctrl+s", "search", "search", "Search for what is selected", shown=True, first=True),
    Key("overview-copy", "ctrl+y", "copy", "copy", "Copy the overview as Markdown", shown=True, first=True),
    Key("overview-passage", "ctrl+o,f9", "passage", "passage", "Show the passage, or hide it", shown=True, first=True),
    Key("overview-remember", "ctrl+r", "remember", "remember", "Keep the passage in memory", shown=True, first=True),
    Key("overview-all", "ctrl+e", "every_line", "all lines", "All lines, or as many as fit", shown=True, first=True),
    Key("overview-page-down", "pagedown", "scroll_passage(1)", "scroll", "Scroll the passage down", first=True),
    Key("overview-page-up", "pageup", "scroll_passage(-1)", "scroll", "Scroll the passage up", first=True),
    Key("overview-pane", "shift+tab,f6", "pane", "pane", "Next pane: topic, lines, passage", first=True),
    Key("overview-back", "escape", "back", "back", "Back: to the topic, clear it, then go to the search", first=True),
]

OVERVIEW_LINES: Sequence[Key] = [
    Key("overview-line-down", "j", "down", "next", "Next line"),
    Key("overview-line-up", "k", "up", "previous", "Previous line"),
    Key("overview-line-first", "g,home", "first", "first", "First line"),
    Key("overview-line-last", "G,end", "last", "last", "Last line"),
    Key("overview-line-part", "right_square_bracket,right", "pane('part(1)')", "next part", "To the next part"),
    Key("overview-line-part-up", "left_square_bracket,left", "pane('part(-1)')", "part before", "To the part before"),
    Key("overview-line-passage", "space", "pane('passage')", "passage", "Show the passage, or hide it"),
    Key("overview-line-search", "s", "pane('search')", "search", "Search for what is selected"),
    Key("overview-line-all", "a", "pane('every_line')", "all lines", "All lines, or as many as fit"),
    Key("overview-line-copy", "y", "pane('copy')", "copy", "Copy the overview as Markdown"),
    Key("overview-line-remember", "m", "pane('remember')", "remember", "Keep the passage in memory"),
    Key("overview-line-topic", "slash", "pane('focus_topic')", "topic", "Back to the topic"),
]

MEMORY: Sequence[Key] = [
    Key("memory-down", "down,ctrl+n", "move(1)", "next", "Next memory", first=True),
    Key("memory-up", "up,ctrl+p", "move(-1)", "previous", "Previous memory", first=True),
    Key("memory-follow", "ctrl+f", "follow", "follow", "Let its link follow the source", shown=True, first=True),
    Key("memory-keep", "ctrl+k", "keep", "keep", "Keep it, though its source changed", shown=True, first=True),
    Key("memory-update", "ctrl+t", "update", "take new", "Take the source's new text", shown=True, first=True),
    Key("memory-forget", "ctrl+d", "forget", "forget", "Forget the memory", shown=True, first=True),
    Key("memory-new", "ctrl+r", "remember", "new", "Write down a new memory", shown=True, first=True),
    Key("memory-edit", "enter", "edit", "open source", "Open its source in your editor", shown=True, first=True),
    Key("memory-change", "ctrl+e", "change", "change", "Change its text, tags or reason", shown=True, first=True),
    Key("memory-copy", "ctrl+y", "copy", "copy", "Copy the memory", shown=True, first=True),
    Key("memory-undo", "ctrl+u,ctrl+z", "undo", "undo", "Take back the last decision", shown=True, first=True),
    Key("memory-stale", "ctrl+g", "stale", "to look at", "Only those whose source changed, or all", first=True),
    Key("memory-pane", "shift+tab,f6", "pane", "pane", "From the filter to the list, and back", first=True),
    Key("memory-page-down", "pagedown", "scroll_view(1)", "scroll", "Scroll the memory down", first=True),
    Key("memory-page-up", "pageup", "scroll_view(-1)", "scroll", "Scroll the memory up", first=True),
    Key("memory-back", "escape", "back", "back", "Back: leave the list, clear the filter, then search", first=True),
]

MEMORY_LIST: Sequence[Key] = [
    Key("memory-list-down", "j", "down", "next", "Next memory"),
    Key("memory-list-up", "k", "up", "previous", "Previous memory"),
    Key("memory-list-first", "g,home", "first", "first", "First memory"),
    Key("memory-list-last", "G,end", "last", "last", "Last memory"),
    Key("memory-list-change", "e", "pane('change')", "change", "Change its text, tags or reason"),
    Key("memory-list-copy", "y", "pane('copy')", "copy", "Copy the memory"),
    Key("memory-list-forget", "d,delete", "pane('forget')", "forget", "Forget the memory"),
    Key("memory-list-undo", "u", "pane('undo')", "undo", "Take back the last decision"),
    Key("memory-list-new", "m", "pane('remember')", "new", "Write down a new memory"),
    Key("memory-list-filter", "slash", "pane('focus_filter')", "filter", "Back to the filter"),
]

INDEX: Sequence[Key] = [
    Key("index-update", "u", "update", "update", "Bring the index up to date with the vault", shown=True),
    Key("index-rebuild", "r", "rebuild", "rebuild", "Make the index anew, after asking", shown=True),
    Key("index-pause", "p", "pause", "pause", "Pause: nothing is read until it goes on; changes are kept", shown=True),
    Key("index-resume", "p", "resume", "go on", "Go on after a pause", shown=True),
    Key("index-cancel", "c", "cancel", "cancel", "Cancel the build at hand; what was read stays", shown=True),
    Key("index-edit", "enter", "edit", "open", "Open the selected file in your editor", shown=True),
    Key("index-back", "escape", "back", "back", "Back to the search", shown=True),
]

PLACES: dict[str, Sequence[Key]] = {
    "Everywhere": EVERYWHERE,
    "Search": SEARCH,
    "Search, with the list focused": LIST,
    "Search, with the pack focused": PACK,
    "Search, with related notes focused": RELATED,
    "Search, with the map focused": MAP,
    "Overview": OVERVIEW,
    "Overview, with the lines focused": OVERVIEW_LINES,
    "Memory": MEMORY,
    "Memory, with the list focused": MEMORY_LIST,
    "Index": INDEX,
}

_TOGETHER = (
    ("Everywhere", "Search"),
    ("Everywhere", "Search, with the list focused"),
    ("Everywhere", "Search, with the pack focused"),
    ("Everywhere", "Search, with related notes focused"),
    ("Everywhere", "Search, with the map focused"),
    ("Everywhere", "Overview"),
    ("Everywhere", "Overview, with the lines focused"),
    ("Overview", "Overview, with the lines focused"),
    ("Everywhere", "Memory"),
    ("Everywhere", "Memory, with the list focused"),
    ("Memory", "Memory, with the list focused"),
    ("Everywhere", "Index"),
    ("Search", "Search, with the list focused"),
    ("Search", "Search, with the pack focused"),
    ("Search", "Search, with related notes focused"),
    ("Search", "Search, with the map focused"),
)
"""Places whose keys work at the same time, so that a key may not stand in both."""


_IN_TURN = (frozenset({"index-pause", "index-resume"}),)
"""Bindings of which only one works at a time, so that they may share a key."""


def keys_of(binding: Key, keymap: Mapping[str, str]) -> tuple[str, ...]:
    """The keys of a binding under the user's keymap."""
    keys = keymap.get(binding.id, binding.keys)
    return tuple(key.strip() for key in keys.split(",") if key.strip())


def usable(keymap: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The part of a keymap that can be used, and a sentence for each that cannot, or that takes another's key."""
    known = {binding.id for place in PLACES.values() for binding in place}
    good: dict[str, str] = {}
    problems: list[str] = []
    for id_, keys in keymap.items():
        if id_ not in known:
            near = difflib.get_close_matches(id_, known, n=1, cutoff=0.5)
            problems.append(f"There is no key called {id_}." + (f" Did you mean {near[0]}?" if near else ""))
        elif not keys.strip(" ,"):
            problems.append(f"{id_} names no key.")
        elif unsafe := sorted(UNSAFE.intersection(k.strip() for k in keys.split(","))):
            problems.append(f"{unsafe[0]} cannot be used for {id_}: terminals send another key for it.")
        else:
            good[id_] = ",".join(key.strip() for key in keys.split(",") if key.strip())
    return good, problems + clashes(good)


def clashes(keymap: Mapping[str, str]) -> list[str]:
    """A sentence for each key that two bindings would share in places that work together."""
    found: dict[str, None] = {}
    for one, other in (*((place, place) for place in PLACES), *_TOGETHER):
        taken: dict[str, Key] = {}
        for binding in PLACES[one]:
            for key in keys_of(binding, keymap):
                taken.setdefault(key, binding)
        for binding in PLACES[other]:
            for key in keys_of(binding, keymap):
                first = taken.get(key, binding)
                if first.id != binding.id and {first.id, binding.id} not in _IN_TURN:
                    found[f"{key} is both {first.id} and {binding.id}."] = None
    return list(found)


def doubtful(keymap: Mapping[str, str]) -> list[str]:
    """A sentence for each key that only some terminals can send: with super or hyper, or ctrl with shift, a figure,
    enter, tab or a sign that has no control character."""
    return [
        f"{key} (for {id_}) is sent by few terminals."
        for id_, keys in keymap.items()
        for key in (key.strip() for key in keys.split(","))
        if _is_doubtful(key)
    ]


def _is_doubtful(key: str) -> bool:
    *modifiers, last = key.split("+")
    if {"super", "hyper", "meta"}.intersection(modifiers):
        return True
    if last in _WITH_MODIFIERS or (last[:1] == "f" and last[1:].isdigit()):
        return False
    if "ctrl" in modifiers:
        return "shift" in modifiers or not ((last.isalpha() and len(last) == 1) or last in _CONTROL)
    return "shift" in modifiers and last != "tab"


_WITH_MODIFIERS = frozenset({"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete"})
_CONTROL = frozenset({"backslash", "right_square_bracket", "circumflex_accent", "underscore", "at", "space"})


_NAMES = {
    "escape": "esc",
    "enter": "⏎",
    "backspace": "⌫",
    "left": "←",
    "right": "→",
    "tab": "⇥",
    "shift+tab": "⇧⇥",
    "up": "↑",
    "down": "↓",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "question_mark": "?",
    "backslash": "\\",
    "slash": "/",
    "plus": "+",
    "minus": "-",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "delete": "del",
}


def shown_key(key: str) -> str:
    """How a key is written on screen: `^y` for ctrl+y, `⇥` for tab."""
    if key in _NAMES:
        return _NAMES[key]
    *modifiers, last = key.split("+")
    name = _NAMES.get(last, last.upper() if last[:1] == "f" and last[1:].isdigit() else last)
    return "".join({"ctrl": "^", "alt": "alt+", "shift": "⇧"}.get(m, f"{m}+") for m in modifiers) + name
