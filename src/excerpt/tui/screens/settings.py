"""The settings that people change, each written to its file as it is changed, and in effect at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any, ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input, Static

from excerpt.errors import ExcerptError
from excerpt.settings import Places
from excerpt.settings_edit import Value, begin_with, change_setting, parsed
from excerpt.settings_schema import MEANINGS
from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.editor import editor_command
from excerpt.tui.keymap import bindable, key_sign, shown_key
from excerpt.tui.screens.dialog import Box, Dialog
from excerpt.tui.setting_rows import Kind, Origin, Row, Setting, fields_of, rows_of, stepped, typed
from excerpt.tui.widgets.field import Field
from excerpt.tui.widgets.row_list import RowList
from excerpt.tui.widgets.setting_list import SettingList


@dataclass(frozen=True, slots=True)
class Files:
    """The two settings files of a vault, and what stands in them."""

    for_all: Path
    for_one: Path
    all_say: Mapping[str, Any]
    one_says: Mapping[str, Any]


class SettingsScreen(Dialog[None]):
    """State: which file is changed, what both say. `changed` is awaited after each change of a file, and has it read
    again; `open_file` opens one in the user's editor."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Settings")

    DEFAULT_CSS = """
    SettingsScreen {
        #side { height: 1; color: $text-soft; margin-bottom: 1; }
        .box { height: 25; }
        SettingList { height: 1fr; }
        #meaning { height: 2; margin-top: 1; color: $text-soft; }
        #meaning.-trouble { color: $error; }
        #typed { display: none; background: $background; }
        &.-typing #typed { display: block; }
        &.-short .box { padding: 0 2; max-height: 100%; }
        &.-short #side, &.-short #meaning { margin: 0; }
    }
    """

    def __init__(
        self,
        vault: Path,
        places: Places,
        environment: Mapping[str, str],
        themes: tuple[str, ...],
        *,
        changed: Callable[[], Awaitable[None]],
        open_file: Callable[[Path], object],
    ) -> None:
        """`environment` is that of the user's shell, in which an editor is looked for."""
        super().__init__()
        self._vault = vault
        self._places = places
        self._environment = environment
        self._themes = themes
        self._changed = changed
        self._open_file = open_file
        self._one = False
        self._files = Files(places.settings_file, places.vault_settings_file(vault), {}, {})
        self._fields: tuple[Setting, ...] = ()
        self._turn = asyncio.Lock()

    def compose(self) -> ComposeResult:
        with Box() as box:
            box.border_title = "Settings"
            yield Static("", id="side", markup=False)
            yield SettingList(id="settings")
            yield Field(compact=True, select_on_focus=True, id="typed")
            yield Static("", id="meaning", markup=False)

    async def on_mount(self) -> None:
        self.query_one(SettingList).focus()
        self._fields = await asyncio.to_thread(_fields, self._themes)
        await self.read()

    async def read(self) -> None:
        """Show what the files say now; nothing, where one cannot be read."""
        try:
            self._files = await asyncio.to_thread(_read, self._files)
        except ExcerptError as error:
            if not self._is_open:
                return
            self.query_one(SettingList).rows = ()
            self._explain()
            self._say(str(error))
            return
        if self._is_open:
            self._show()

    @property
    def _is_open(self) -> bool:
        """False once the user has left, while what was changed is still being written."""
        return self in self.app.screen_stack

    def _show(self) -> None:
        self.query_one(SettingList).rows = self._rows(self._one)
        side = Text("Changes hold at once for ", end="")
        for one, name in ((False, "all vaults"), (True, f"this vault ({visible_line(self._vault.name)})")):
            side.append(f" {name} ", "bold reverse" if one is self._one else "")
        self.query_one("#side", Static).update(side)
        self._explain()

    def _rows(self, one: bool) -> tuple[Row, ...]:
        return tuple(rows_of(self._fields, self._files.all_say, self._files.one_says, one=one))

    def _explain(self) -> None:
        row = self.query_one(SettingList).selected
        if row is not None:
            self._say(MEANINGS[row.field.key], trouble=False)
        if not self.has_class("-typing"):
            self.query_one(Box).hint(*_hints(row, Origin.ONE if self._one else Origin.ALL))

    def _say(self, text: str, *, trouble: bool = True) -> None:
        meaning = self.query_one("#meaning", Static)
        meaning.set_class(trouble, "-trouble")
        meaning.update(Text(text))

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        event.stop()
        self._explain()

    # --- changing -----------------------------------------------------------------------------------------------------

    def _put(self, row: Row, value: Callable[[Row], Value | None]) -> None:
        """Write what becomes of the setting, whatever it is when its turn comes. A worker of the app, as one of the
        screen would end with it, before all is written."""
        self.app.run_worker(self._write(row.field, self._one, value), group="settings")

    async def _write(self, field: Setting, one: bool, value: Callable[[Row], Value | None]) -> None:
        """One after the other, so that every key counts and the last one stands."""
        async with self._turn:
            file = self._files.for_one if one else self._files.for_all
            try:
                self._files = await asyncio.to_thread(_read, self._files)
                row = next(row for row in self._rows(one) if row.field == field)
                vault = self._vault if one else None
                await asyncio.to_thread(_change, file, field, value(row), self._places, vault)
            except ExcerptError as error:
                if self._is_open:
                    self._say(str(error))
                else:
                    self.app.notify(str(error), title=error.title, severity="error", markup=False)
                return
            await self._changed()

    @on(SettingList.Stepped)
    def _arrow_clicked(self, event: SettingList.Stepped) -> None:
        event.stop()
        self.action_step(event.steps)

    def action_step(self, steps: int) -> None:
        """The next value of the selected setting, or the one before; one that has to be typed is typed."""
        row = self.query_one(SettingList).selected
        if row is None:
            return
        if stepped(row, steps) is None:
            self.action_type()
        else:
            self._put(row, lambda now: stepped(now, steps))

    def action_type(self) -> None:
        row = self.query_one(SettingList).selected
        if row is None:
            return
        if row.field.kind in (Kind.SWITCH, Kind.CHOICE):
            self.action_step(1)
            return
        self.add_class("-typing")
        self.query_one(Box).hint(f"{shown_key('enter')} keep", f"{key_sign('dialog-leave')} as it was")
        field = self.query_one("#typed", Field)
        field.value = str(row.value)
        field.placeholder = row.field.label
        field.focus()

    @on(Input.Submitted, "#typed")
    def _typed(self, event: Input.Submitted) -> None:
        event.stop()
        row = self.query_one(SettingList).selected
        if row is None:
            return
        try:
            value = typed(row.field, event.value)
            if row.field.key == "screen.editor" and value:
                editor_command(str(value), self._environment, which, Path("note.md"), 1)
        except ExcerptError as error:
            self._say(str(error))
            return
        self._stop_typing()
        self._put(row, lambda _: value)

    @on(events.DescendantFocus, "SettingList")
    def _field_left(self) -> None:
        """What was typed is for the setting that was selected then: it is not kept, as with escape."""
        if self.has_class("-typing"):
            self._stop_typing()

    def _stop_typing(self) -> None:
        self.remove_class("-typing")
        self.query_one(SettingList).focus()
        self._explain()

    def action_default(self) -> None:
        """Take the selected setting out of the file: what stands behind it holds again."""
        row = self.query_one(SettingList).selected
        if row is not None:
            self._put(row, lambda _: None)

    async def action_side(self) -> None:
        """Change them for this vault alone, or for all."""
        self._one = not self._one
        await self.read()

    def action_file(self) -> None:
        """Everything else is changed in the file."""
        self._open_file(self._files.for_one if self._one else self._files.for_all)

    def action_leave(self) -> None:
        if self.has_class("-typing"):
            self._stop_typing()
        else:
            self.dismiss(None)


def _hints(row: Row | None, side: Origin) -> list[str]:
    """What keys do with the selected setting, and with all; `side` is the file that is changed."""
    kind = row.field.kind if row is not None else Kind.TEXT
    told = [f"{key_sign('settings-previous', 'settings-next')} change"] if kind is not Kind.TEXT else []
    told += [f"{key_sign('settings-type')} type"] if kind in (Kind.TEXT, Kind.NUMBER, Kind.NAME) and row else []
    told += [f"{key_sign('settings-default')} default"] if row is not None and row.origin is side else []
    told += [f"{key_sign('settings-side')} for whom", f"{key_sign('settings-file')} the file"]
    return [*told, f"{key_sign('dialog-leave')} close"]


def _fields(themes: tuple[str, ...]) -> tuple[Setting, ...]:
    """For a thread: the tokenizers are known to a module that loads some."""
    from excerpt.text.tokens import TOKENIZERS

    return fields_of(themes, TOKENIZERS)


def _read(files: Files) -> Files:
    """For a thread. Raises ExcerptError for a file that is not valid."""
    said = []
    for file in (files.for_all, files.for_one):
        try:
            said.append(parsed(file.read_text(encoding="utf-8"), file))
        except FileNotFoundError:
            said.append({})
        except (OSError, UnicodeDecodeError) as error:
            raise ExcerptError(f"{file} cannot be read: {error}.") from error
    return Files(files.for_all, files.for_one, *said)


def _change(file: Path, field: Setting, value: Value | None, places: Places, vault: Path | None) -> None:
    """For a thread. Raises ExcerptError."""
    if field.kind is Kind.NAME and value is not None:
        from excerpt.text.tokens import open_tokenizer

        open_tokenizer(str(value))
    change_setting(file, field.key, value, begin_with(places, vault, bindable()) if not file.exists() else "")
