"""Every key of the app, in one table: what the widgets bind, what F1 lists, what a keymap may change.

A binding's id is what `[screen.keys]` in the settings names. ctrl+h, ctrl+i, ctrl+j and ctrl+m are never used: a
terminal sends them as backspace, tab and enter.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from textual.binding import Binding, BindingType

UNSAFE = frozenset({"ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m"})
"""Keys that a terminal cannot tell from backspace, tab and enter."""


def _key(
    id_: str, keys: str, action: str, label: str, what: str, *, shown: bool = False, first: bool = False
) -> Binding:
    """One binding. `label` is for the footer, `what` for the help; `first` goes before the focused field's own."""
    return Binding(keys, action, label, show=shown, priority=first, tooltip=what, id=id_)


EVERYWHERE: list[BindingType] = [
    _key("help", "f1,question_mark", "help", "help", "List the keys that work here", shown=True),
    _key("show-search", "f2,alt+1", "show_tab('search')", "search", "Go to the Search tab"),
    _key("show-memory", "f3,alt+2", "show_tab('memory')", "memory", "Go to the Memory tab"),
    _key("show-index", "f4,alt+3", "show_tab('index')", "index", "Go to the Index tab"),
    _key("update", "f5", "update_index", "update", "Bring the index up to date with the vault"),
    _key("palette", "ctrl+backslash,f10", "app.command_palette", "commands", "Find any command by name"),
    _key("quit", "ctrl+q", "app.quit", "quit", "Leave excerpt", shown=True, first=True),
]

SEARCH: list[BindingType] = [
    _key("down", "down,ctrl+n", "move(1)", "next", "Next fragment", first=True),
    _key("up", "up,ctrl+p", "move(-1)", "previous", "Previous fragment", first=True),
    _key("mark", "tab", "mark", "mark", "Mark the fragment for the pack, and move on", shown=True, first=True),
    _key("copy-pack", "ctrl+y", "copy_pack", "copy pack", "Copy the pack", shown=True, first=True),
    _key("edit", "enter", "edit", "open", "Open the note in your editor at this line", shown=True, first=True),
    _key("strategy", "ctrl+s", "strategy", "strategy", "Next strategy", shown=True, first=True),
    _key(
        "scope",
        "ctrl+e",
        "scope",
        "scope",
        "Next scope: how far the pack grows around hits",
        shown=True,
        first=True,
    ),
    _key("remember", "ctrl+r", "remember", "remember", "Keep the fragment in memory", shown=True, first=True),
    _key("budget-up", "ctrl+up,f8", "budget(1)", "budget +", "A larger token budget", first=True),
    _key("budget-down", "ctrl+down,f7", "budget(-1)", "budget -", "A smaller token budget", first=True),
    _key(
        "panel",
        "ctrl+o,f9",
        "panel",
        "the pack",
        "Show what is in the pack and what is not; once more: close",
        first=True,
    ),
    _key("format", "alt+f", "format", "format", "Next format: how the pack is written", first=True),
    _key("order", "alt+o", "order", "order", "Order of the pack: by score, or as in the vault", first=True),
    _key("undo", "ctrl+z", "undo", "undo", "Take back the last decision about the pack", first=True),
    _key("save-pack", "alt+w", "save_pack", "to a file", "Write the pack to a file", first=True),
    _key("copy-fragment", "ctrl+f,alt+y", "copy_fragment", "copy fragment", "Copy the fragment alone", first=True),
    _key("why", "ctrl+t", "why", "why", "Why the fragment stands where it stands", first=True),
    _key("clear-marks", "ctrl+l", "clear_marks", "unmark all", "Take all marks away", first=True),
    _key("preview-down", "pagedown", "scroll_preview(1)", "scroll", "Scroll the context down", first=True),
    _key("preview-up", "pageup", "scroll_preview(-1)", "scroll", "Scroll the context up", first=True),
    _key("pane", "shift+tab,f6", "pane", "pane", "Next pane: query, list, context, pack", first=True),
    _key("back", "escape", "back", "back", "Back: leave a pane, close the pack, then clear the query", first=True),
]

LIST: list[BindingType] = [
    _key("list-down", "j", "down", "next", "Next fragment"),
    _key("list-up", "k", "up", "previous", "Previous fragment"),
    _key("list-first", "g,home", "first", "first", "First fragment"),
    _key("list-last", "G,end", "last", "last", "Last fragment"),
    _key("list-mark", "space", "pane('mark')", "mark", "Mark the fragment, and move on"),
    _key("list-copy", "y", "pane('copy_fragment')", "copy", "Copy the fragment alone"),
    _key("list-remember", "m", "pane('remember')", "remember", "Keep the fragment in memory"),
    _key("list-why", "e", "pane('why')", "why", "Why the fragment stands where it stands"),
    _key("list-budget-up", "plus", "pane('budget(1)')", "budget +", "A larger token budget"),
    _key("list-budget-down", "minus", "pane('budget(-1)')", "budget -", "A smaller token budget"),
    _key("list-query", "slash", "pane('focus_query')", "query", "Back to the query"),
]

PACK: list[BindingType] = [
    _key("pack-drop", "d,delete", "pane('drop')", "drop", "Drop what is selected, or bring it back", shown=True),
    _key("pack-later", "J,shift+down", "pane('shift(1)')", "later", "Move the passage down", shown=True),
    _key("pack-earlier", "K,shift+up", "pane('shift(-1)')", "earlier", "Move the passage up", shown=True),
    _key("pack-scope", "s", "pane('own_scope')", "its scope", "Next scope for this passage alone", shown=True),
    _key("pack-undo", "u", "pane('undo')", "undo", "Take back the last decision", shown=True),
    _key("pack-show", "space", "pane('edit')", "context", "Show it in the context, as enter does", shown=True),
    _key("pack-format", "f", "pane('format')", "format", "Next format"),
    _key("pack-order", "o", "pane('order')", "order", "By score, or as in the vault"),
    _key("pack-save", "w", "pane('save_pack')", "to a file", "Write the pack to a file"),
    _key("pack-budget-up", "plus", "pane('budget(1)')", "budget +", "A larger budget"),
    _key("pack-budget-down", "minus", "pane('budget(-1)')", "budget -", "A smaller budget"),
    _key("pack-down", "j", "down", "next", "Next line"),
    _key("pack-up", "k", "up", "previous", "Previous line"),
    _key("pack-first", "g,home", "first", "first", "First line"),
    _key("pack-last", "G,end", "last", "last", "Last line"),
    _key("pack-query", "slash", "pane('focus_query')", "query", "To the query; the panel stays open"),
]

MEMORY: list[BindingType] = [
    _key("memory-down", "down,ctrl+n", "move(1)", "next", "Next memory", first=True),
    _key("memory-up", "up,ctrl+p", "move(-1)", "previous", "Previous memory", first=True),
    _key("memory-new", "ctrl+r", "remember", "new", "Write down a new memory", shown=True, first=True),
    _key("memory-edit", "enter", "edit", "open source", "Open its source in your editor", shown=True, first=True),
    _key("memory-copy", "ctrl+y", "copy", "copy", "Copy the memory", shown=True, first=True),
    _key("memory-forget", "ctrl+d", "forget", "forget", "Forget the memory", shown=True, first=True),
    _key("memory-undo", "ctrl+u", "undo", "undo", "Take back the last forgetting", shown=True, first=True),
    _key("memory-page-down", "pagedown", "scroll_view(1)", "scroll", "Scroll the memory down", first=True),
    _key("memory-page-up", "pageup", "scroll_view(-1)", "scroll", "Scroll the memory up", first=True),
    _key("memory-back", "escape", "back", "back", "Clear the filter, then go to the search", first=True),
]

INDEX: list[BindingType] = [
    _key("index-update", "u", "update", "update", "Bring the index up to date with the vault", shown=True),
    _key("index-rebuild", "r", "rebuild", "rebuild", "Make the index anew, after asking", shown=True),
    _key("index-edit", "enter", "edit", "open file", "Open the selected file in your editor", shown=True),
    _key("index-back", "escape", "back", "back", "Back to the search", shown=True),
]

PLACES: dict[str, list[BindingType]] = {
    "Everywhere": EVERYWHERE,
    "Search": SEARCH,
    "Search, with the list focused": LIST,
    "Search, with the pack focused": PACK,
    "Memory": MEMORY,
    "Index": INDEX,
}

_TOGETHER = (
    ("Everywhere", "Search"),
    ("Everywhere", "Search, with the list focused"),
    ("Everywhere", "Search, with the pack focused"),
    ("Everywhere", "Memory"),
    ("Everywhere", "Index"),
    ("Search", "Search, with the list focused"),
    ("Search", "Search, with the pack focused"),
)
"""Places whose keys work at the same time, so that a key may not stand in both."""


def bindings_of(place: str) -> Iterator[Binding]:
    """The bindings of one place of `PLACES`, as declared."""
    for binding in PLACES[place]:
        assert isinstance(binding, Binding)
        yield binding


def keys_of(binding: Binding, keymap: Mapping[str, str]) -> tuple[str, ...]:
    """The keys of a binding under the user's keymap, in Textual's names."""
    keys = keymap.get(binding.id or "", binding.key)
    return tuple(key.strip() for key in keys.split(",") if key.strip())


def usable(keymap: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The part of a keymap that can be used, and a sentence for each that cannot, or that takes another's key."""
    known = {binding.id or "": binding for place in PLACES for binding in bindings_of(place)}
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
        taken: dict[str, Binding] = {}
        for binding in bindings_of(one):
            for key in keys_of(binding, keymap):
                taken.setdefault(key, binding)
        for binding in bindings_of(other):
            for key in keys_of(binding, keymap):
                first = taken.get(key, binding)
                if first.id != binding.id:
                    found[f"{key} is both {first.id} and {binding.id}."] = None
    return list(found)


_NAMES = {
    "escape": "esc",
    "enter": "⏎",
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
    "delete": "del",
}


def shown_key(key: str) -> str:
    """How a key is written on screen: `^y` for ctrl+y, `⇥` for tab."""
    if key in _NAMES:
        return _NAMES[key]
    *modifiers, last = key.split("+")
    name = _NAMES.get(last, last.upper() if last[:1] == "f" and last[1:].isdigit() else last)
    return "".join({"ctrl": "^", "alt": "alt+", "shift": "⇧"}.get(m, f"{m}+") for m in modifiers) + name
