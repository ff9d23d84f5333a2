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
    Key("remember-keep", "ctrl+s", "keep", "keep", "Keep it", shown=True),
    Key("remember-merge", "", "merge", "merge", "Merge it into the memory that is selected below", shown=True),
)

OFFERS: Sequence[Key] = (
    Key("offers-down", "down", "down", "next", "Next memory", moves=True),
    Key("offers-up", "up", "up", "previous", "Previous memory", moves=True),
    Key("offers-choose", "enter", "choose", "merge", "Merge into the selected memory"),
)

CHOOSING: Sequence[Key] = while_typing(
    Key("vault-open", "enter", "open", "open", "Open the selected vault", shown=True),
    Key("vault-complete", "tab", "complete", "complete", "Take the selected folder into the field", shown=True),
    Key("vault-forget", "", "forget", "forget", "Take the vault out of the list; nothing of it is touched"),
    Key("vault-down", "down,ctrl+n", "move(1)", "next", "Next vault", moves=True),
    Key("vault-up", "up,ctrl+p", "move(-1)", "previous", "Previous vault", moves=True),
    Key("vault-leave", "escape", "leave", "close", "Clear the field, then close; nothing is changed", shown=True),
)

THEMES: Sequence[Key] = (
    Key("themes-keep", "enter", "screen.choose", "keep", "Keep the theme", shown=True),
    *moving("themes", "theme", arrows=True),
)

STRATEGIES: Sequence[Key] = (
    Key("strategies-use", "enter", "choose", "use it", "Go on with the selected strategy and fragment", shown=True),
    Key("strategies-next", "right,l", "step(1)", "next", "Next strategy", shown=True),
    Key("strategies-previous", "left,h", "step(-1)", "before", "The strategy before"),
    Key("strategies-down", "down,j", "move(1)", "next", "Next fragment", moves=True),
    Key("strategies-up", "up,k", "move(-1)", "previous", "Previous fragment", moves=True),
    Key("strategies-close", "q", "leave", "close", "Close it"),
)

WHY: Sequence[Key] = (Key("why-close", "w,ctrl+t,q", "leave", "close", "Close it"),)
