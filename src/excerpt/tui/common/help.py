"""The help (F1): a list of all keys, with those that work now first, and of all signs, with a filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.console import Group as Lines
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from excerpt.tui.active_keys import HelpGroup, HelpRow, bindings, build_help_groups, filter_help_groups
from excerpt.tui.common.dialog import Dialog
from excerpt.tui.common.field import Field
from excerpt.tui.keymap import key_sign

_MAX_KEYS = 18
"""Maximum width in cells of the column of keys; longer lists of keys are wrapped."""

_SIGNS = HelpGroup(
    "Signs",
    is_active=False,
    rows=tuple(
        HelpRow("", sign, what)
        for sign, what in (
            ("●", "Marked for the pack"),
            ("○", "In the pack without a mark"),
            ("◆", "A memory, or a passage with a memory"),
            ("▆", "Score relative to the best hit"),
            ("47t", "Number of tokens"),
            ("3d", "Age of its note, by its own date"),
            ("┃", "The part of the note in the pack"),
            ("▎", "The selected passage"),
            ("≈", "A sentence near the query in meaning"),
            ("hit 2 +1", "Hits of a passage in the pack: the second hit, and one more"),
            ("[…]", "The section continues, but the pack has no room for it"),
        )
    ),
)


class HelpDialog(Dialog[None]):
    """A dialog that lists all keys and signs, filtered by what the user types."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("The keys")

    DEFAULT_CSS = """
    HelpDialog {
        & > .box { height: 90%; padding: 0 1; }
        Field { background: $background; }
        VerticalScroll { height: 1fr; }
    }
    """

    def __init__(self, contexts: Sequence[str], reasons: Mapping[str, str], notices: Sequence[str] = ()) -> None:
        """Prepare the dialog.

        `contexts` are the titles of the groups of keys that work now. `reasons` says why a key is disabled, by its id.
        `notices` are the notices shown now, which may be longer than their line; the newest is listed first.
        """
        super().__init__()
        rows = tuple(HelpRow("", "!", notice) for notice in reversed(notices))
        groups = (HelpGroup("Notices", is_active=False, rows=rows), *build_help_groups(contexts, reasons), _SIGNS)
        self._groups = tuple(group for group in groups if group.rows)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = "Keys"
            yield Field(placeholder="A key or an action", compact=True, id="keys-filter")
            with VerticalScroll(can_focus=False):
                yield Static(id="keys")

    def on_mount(self) -> None:
        self._show("")

    @on(Input.Changed)
    def _handle_search_text(self, event: Input.Changed) -> None:
        event.stop()
        self._show(event.value)

    def _show(self, typed: str) -> None:
        matches = filter_help_groups(self._groups, typed)
        colours = self.app.theme_variables
        shows_ids = bool(typed.strip())
        hint = Text(_key_change_hint() if shows_ids else _key_names_hint(), colours["text-soft"])
        none = Text(f"No key matches. The palette ({key_sign('palette')}) finds commands without a key.")
        width = min(_MAX_KEYS, max((cell_len(row.keys) for group in matches for row in group.rows), default=0))
        tables: list[RenderableType] = [
            part for group in matches for part in _group_table(group, width, colours, shows_ids=shows_ids)
        ]
        self.query_one("#keys", Static).update(Lines(*tables, hint) if matches else none)
        self.query_one(".box").border_subtitle = Content(
            f"type to filter · {key_sign('help-up', 'help-down')} scroll · {key_sign('dialog-leave')} "
            f"{'clear' if typed else 'close'}"
        )
        self.query_one(VerticalScroll).scroll_to(y=0, animate=False)

    def action_scroll(self, pages: float) -> None:
        view = self.query_one(VerticalScroll)
        lines = 1 if abs(pages) < 1 else max(1, view.size.height - 1)
        view.scroll_relative(y=lines if pages > 0 else -lines, animate=False)

    def action_leave(self) -> None:
        """Clear the filter, or close the help if there is none."""
        field = self.query_one("#keys-filter", Field)
        if field.value:
            field.value = ""
        else:
            self.dismiss(None)


def _key_names_hint() -> str:
    palette = f"The palette ({key_sign('palette')}) has commands without a key."
    return f"You can change any key. Type above to see the names of the actions. {palette}"


def _key_change_hint() -> str:
    return (
        f"You can change any key, and give keys to commands without one: {key_sign('settings')} opens the settings, "
        'where [screen.keys] has lines such as copy-pack = "ctrl+k".'
    )


def _group_table(
    group: HelpGroup, width: int, colours: Mapping[str, str], *, shows_ids: bool
) -> tuple[RenderableType, ...]:
    title = Text.assemble((group.title, "bold"), (" · here" if group.is_active else "", colours["text-soft"]))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=width, style=f"bold {colours['accent']}")
    table.add_column(ratio=1, overflow="fold")
    shown_reasons: set[str] = set()
    for row in group.rows:
        what = Text(row.what)
        if shows_ids and row.id:
            what.append(f"  {row.id}", colours["text-soft"])
        if row.disabled_reason in shown_reasons:
            what.append(" · not now", colours["text-soft"])
        elif row.disabled_reason:
            shown_reasons.add(row.disabled_reason)
            what.append(f"\nnot now: {row.disabled_reason}", colours["text-soft"])
        table.add_row(Text(row.keys), what)
    return title, table, Text()
