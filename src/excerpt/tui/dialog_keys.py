"""The keys of dialogs: what they bind beside what all do."""

from __future__ import annotations

from collections.abc import Sequence

from excerpt.tui.key_rows import Key, moving, while_typing

DIALOG: Sequence[Key] = while_typing(
    Key("dialog-leave", "escape", "leave", "close", "Close it; nothing is changed", shown=True),
    Key("dialog-next", "tab", "app.focus_next", "next field", "To the next field", moves=True),
    Key("dialog-previous", "shift+tab", "app.focus_previous", "field before", "To the field before", moves=True),
)

HELP: Sequence[Key] = while_typing(
    Key("help-down", "down,ctrl+n", "scroll(0.1)", "scroll", "A line down", moves=True),
    Key("help-up", "up,ctrl+p", "scroll(-0.1)", "scroll", "A line up", moves=True),
    Key("help-page-down", "pagedown", "scroll(1)", "scroll", "A page down", moves=True),
    Key("help-page-up", "pageup", "scroll(-1)", "scroll", "A page up", moves=True),
)

QUESTION: Sequence[Key] = (
    Key("confirm-yes", "y", "answer(True)", "yes", "Yes", shown=True),
    Key("confirm-no", "n", "answer(False)", "no", "No", shown=True),
)

REMEMBER: Sequence[Key] = while_typing(
    Key("remember-keep", "ctrl+s,ctrl+r", "keep", "keep", "Keep it", shown=True),
    Key("remember-merge", "ctrl+g", "merge", "merge", "Merge it into the memory that is selected below", shown=True),
)

OFFERS: Sequence[Key] = (
    Key("offers-down", "down", "down", "next", "Next memory", moves=True),
    Key("offers-up", "up", "up", "previous", "Previous memory", moves=True),
    Key("offers-choose", "enter", "choose", "merge", "Merge into the selected memory"),
)

SETTINGS: Sequence[Key] = (
    Key("settings-next", "right", "screen.step(1)", "next value", "Next value", shown=True),
    Key("settings-previous", "left", "screen.step(-1)", "value before", "The value before"),
    Key("settings-type", "enter,space", "screen.type", "type it", "Type another value, or go to the next", shown=True),
    Key("settings-default", "backspace,delete", "screen.default", "default", "Take it out of the file", shown=True),
    Key("settings-side", "v", "screen.side", "for whom", "For all vaults, or for this one alone", shown=True),
    Key("settings-file", "o", "screen.file", "the file", "Open the file in your editor, for all else", shown=True),
    *moving("settings", "setting", arrows=True),
)

CHOOSING: Sequence[Key] = while_typing(
    Key("vault-open", "enter", "open", "open", "Open the selected vault", shown=True),
    Key("vault-complete", "tab", "complete", "complete", "Take the selected folder into the field", shown=True),
    Key("vault-forget", "alt+x", "forget", "forget", "Take the vault out of the list; nothing of it is touched"),
    Key("vault-down", "down,ctrl+n", "move(1)", "next", "Next vault", moves=True),
    Key("vault-up", "up,ctrl+p", "move(-1)", "previous", "Previous vault", moves=True),
    Key("vault-leave", "escape,alt+v", "leave", "close", "Clear the field, then close; nothing is changed", shown=True),
)

THEMES: Sequence[Key] = (
    Key("themes-keep", "enter", "screen.choose", "keep", "Keep the theme", shown=True),
    *moving("themes", "theme", arrows=True),
)

OUTLINE: Sequence[Key] = (
    Key("outline-choose", "enter", "screen.choose", "stay", "Stay at this heading", shown=True),
    *moving("outline", "heading", arrows=True),
)

STRATEGIES: Sequence[Key] = (
    Key("strategies-use", "enter", "choose", "use it", "Go on with the selected strategy and fragment", shown=True),
    Key("strategies-next", "right,l", "step(1)", "next", "Next strategy", shown=True),
    Key("strategies-previous", "left,h", "step(-1)", "before", "The strategy before"),
    Key("strategies-down", "down,j", "move(1)", "next", "Next fragment", moves=True),
    Key("strategies-up", "up,k", "move(-1)", "previous", "Previous fragment", moves=True),
    Key("strategies-close", "c,alt+c,q", "leave", "close", "Close it"),
)

SAVED: Sequence[Key] = (
    Key("saved-run", "enter", "screen.run", "run", "Run the selected query", shown=True),
    Key("saved-save", "s", "screen.save", "save", "Save the query at hand under a name", shown=True),
    Key("saved-rename", "r", "screen.rename", "rename", "Give it another name", shown=True),
    Key("saved-delete", "d,delete", "screen.delete", "delete", "Delete it", shown=True),
    Key("saved-undo", "u", "screen.undo", "undo", "Bring back what was deleted last", shown=True),
    Key("saved-next", "down", "down", "next", "Next query", moves=True),
    Key("saved-previous", "up", "up", "previous", "Previous query", moves=True),
    *moving("saved", "query"),
)

TOUR: Sequence[Key] = (
    Key("tour-next", "enter,space,right", "turn(1)", "next", "To the next page; after the last, close", shown=True),
    Key("tour-previous", "left,backspace", "turn(-1)", "back", "To the page before"),
)

WHY: Sequence[Key] = (Key("why-close", "e,ctrl+t,q", "leave", "close", "Close it"),)
