"""The help (F1): first steps, then a list of all keys, those that work now first, and of all signs, with a filter."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.strip import Strip
from textual.widgets import Input, Static

from excerpt.tui.active_keys import HelpGroup, HelpRow, bindings, build_help_groups, filter_help_groups
from excerpt.tui.common.dialog import Dialog
from excerpt.tui.common.field import Field
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.strips import fit, line, text_cells
from excerpt.tui.keymap import key_sign

_MAX_KEYS = 18
"""Maximum width in cells of the column of keys; longer lists of keys are cut."""
_NOTICE_CELLS = 45
"""Cells in which a notice is wrapped, so that it fits a terminal of 80 columns."""

_FIRST_STEPS: Sequence[tuple[tuple[str, ...], str]] = (
    (("up", "down"), "Choose a passage in the list"),
    (("mark",), "Mark it, to pack only what you mark"),
    (("copy-pack",), "Copy the pack, to paste it into a chat"),
    (("panel",), "See the pack: the text that will be pasted"),
    (("edit",), "Open the note in your editor"),
    (("why",), "See why this passage is in the list"),
    (("remember",), "Keep the passage as a memory"),
    (("back",), "Go to the list; then letters are keys too"),
    (("palette",), "Find any other command by its name"),
)
"""The keys of the Search tab that a new user needs, by their ids, and what to do with them."""

_SIGNS = HelpGroup(
    "Signs",
    is_active=False,
    rows=tuple(
        HelpRow("", sign, what)
        for sign, what in (
            ("●", "Marked for the pack"),
            ("○", "In the pack, in a list by date"),
            ("+2, 1 packed", "Two further hits of the note, one of them in the pack"),
            ("–", "Above the rule, but not in the pack"),
            ("◆", "A memory, or a passage with a memory"),
            ("↺", "Used before for a similar query"),
            ("47t", "Number of tokens"),
            ("3d", "Age of its note, by its own date"),
            ("┃", "The part of the note in the pack"),
            ("▎", "The selected passage"),
            ("≈", "A sentence near the query in meaning"),
            ("hits 2, 5…", "In a passage of the pack: the second hit, the fifth, and others"),
            ("[…]", "The section continues, but the pack has no room for it"),
        )
    ),
)
_SCREEN_READERS = HelpGroup(
    "With a screen reader",
    is_active=False,
    rows=(HelpRow("", "excerpt search", "In a shell: prints the hits one after another"),),
)


class HelpRows(RowList, can_focus=False):
    """The rows of the help, one line each: titles of groups, and keys, dim if they cannot be used now."""

    ROW_HEIGHT = 1

    COMPONENT_CLASSES: ClassVar[set[str]] = {"help--title", "help--key", "help--id"}

    DEFAULT_CSS = """
    HelpRows {
        height: 1fr;
        background: $surface;
        & > .help--title { text-style: bold; }
        & > .help--key { color: $accent; text-style: bold; }
        & > .help--id { color: $text-soft; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[HelpGroup | HelpRow] = ()
        self._key_cells = 0
        self._shows_ids = False

    @property
    def row_count(self) -> int:
        return len(self._rows)

    @property
    def selected(self) -> HelpRow | None:
        """The row under the cursor; None on the title of a group, or without rows."""
        row = self._rows[self.cursor] if self._rows else None
        return row if isinstance(row, HelpRow) else None

    def show(self, groups: Sequence[HelpGroup], *, shows_ids: bool) -> None:
        """List `groups`, with the cursor on the first key; with `shows_ids`, the names of their actions too."""
        rows: list[HelpGroup | HelpRow] = []
        for group in groups:
            rows += (group, *group.rows)
        self._rows = rows
        self._key_cells = min(
            _MAX_KEYS, max((text_cells(row.keys) for group in groups for row in group.rows), default=0)
        )
        self._shows_ids = shows_ids
        self.redraw_rows(cursor=1)
        self.post_message(self.Moved(self, self.cursor))

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        content, bar = self._rows[row], self.cursor_bar(selected)
        if isinstance(content, HelpGroup):
            here = " · here" if content.is_active else ""
            title = (content.title, self.style_of("help--title"))
            return (line([bar, title, (here, self.style_of("help--id"))], (), width, base),)
        faint = self.style_of("row--faint") if content.disabled_reason else None
        keys = fit(content.keys, self._key_cells)
        pad = " " * (self._key_cells - text_cells(keys) + 2)
        parts = [
            bar,
            (keys + pad, faint or self.style_of("help--key")),
            (content.what, faint or Style.null()),
            (f"  {content.id}" if self._shows_ids else "", self.style_of("help--id")),
        ]
        return (line(parts, (), width, base),)


class HelpDialog(Dialog[None]):
    """A dialog that lists all keys and signs, filtered by what the user types."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("The keys")

    DEFAULT_CSS = """
    HelpDialog {
        & > .box { height: 90%; padding: 0 1; }
        Field { background: $background; }
        #about-key { height: auto; min-height: 2; max-height: 4; color: $text-soft; }
    }
    """

    def __init__(self, contexts: Sequence[str], reasons: Mapping[str, str], notices: Sequence[str] = ()) -> None:
        """Prepare the dialog.

        `contexts` are the titles of the groups of keys that work now. `reasons` says why a key is disabled, by its id.
        `notices` are the notices shown now, which may be longer than their line; the newest is listed first.
        """
        super().__init__()
        rows = tuple(
            HelpRow("", "" if number else "!", text)
            for notice in reversed(notices)
            for number, text in enumerate(textwrap.wrap(notice, _NOTICE_CELLS))
        )
        self._notices = HelpGroup("Notices", is_active=False, rows=rows)
        self._first_steps = _first_steps(reasons) if "Search" in contexts else ()
        self._groups = (*build_help_groups(contexts, reasons), _SIGNS, _SCREEN_READERS)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = "Keys"
            yield Field(placeholder="A key or an action", compact=True, id="keys-filter")
            yield HelpRows()
            yield Static(id="about-key", markup=False)

    def on_mount(self) -> None:
        self._show("")

    @on(Input.Changed)
    def _handle_search_text(self, event: Input.Changed) -> None:
        event.stop()
        self._show(event.value)

    def _show(self, typed: str) -> None:
        groups = filter_help_groups(self._groups, typed)
        notices = (self._notices,) if self._notices.rows else ()
        before = () if typed else (*notices, *self._first_steps)
        self.query_one(HelpRows).show((*before, *groups), shows_ids=bool(typed.strip()))
        self.query_one(".box").border_subtitle = Content(
            f"type to filter · {key_sign('help-up', 'help-down')} move · {key_sign('dialog-leave')} "
            f"{'clear' if typed else 'close'}"
        )

    @on(RowList.Moved)
    def _show_reason(self, event: RowList.Moved) -> None:
        """Show the whole row under the cursor, its action, and why it is disabled or how to change it."""
        event.stop()
        rows, has_filter = self.query_one(HelpRows), bool(self.query_one(Field).value.strip())
        selected = rows.selected
        if not rows.row_count:
            text = f"No key matches. The palette ({key_sign('palette')}) finds commands without a key."
        elif selected is not None and selected.disabled_reason:
            text = f"Not now: {selected.disabled_reason}"
        else:
            text = _key_change_hint() if has_filter else _key_names_hint()
        about = f"{selected.what}  {selected.id}".rstrip() if selected is not None and selected.id else ""
        self.query_one("#about-key", Static).update("\n".join(filter(None, (about, text))))

    def action_scroll(self, pages: float) -> None:
        """Move the cursor by `pages`, less than 1 for one row."""
        rows = self.query_one(HelpRows)
        step = 1 if abs(pages) < 1 else max(1, rows.size.height - 1)
        rows.move(step if pages > 0 else -step)

    def action_leave(self) -> None:
        """Clear the filter, or close the help if there is none."""
        field = self.query_one("#keys-filter", Field)
        if field.value:
            field.value = ""
        else:
            self.dismiss(None)


def _first_steps(reasons: Mapping[str, str]) -> tuple[HelpGroup, ...]:
    """Return the group of the first steps; `reasons` says why a key is disabled, by its id."""
    steps = (HelpRow(ids[0], key_sign(*ids), what, reasons.get(ids[0], "")) for ids, what in _FIRST_STEPS)
    typed = HelpRow("", "letters", "Type a question: the list follows each letter")
    return (HelpGroup("First steps", is_active=False, rows=(typed, *steps)),)


def _key_names_hint() -> str:
    return f"Type to see the names of the actions. The palette ({key_sign('palette')}) has commands without a key."


def _key_change_hint() -> str:
    return (
        f"You can change any key: {key_sign('settings')} opens the settings, where [screen.keys] has lines such as "
        'copy-pack = "ctrl+k".'
    )
