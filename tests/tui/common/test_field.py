"""Tests of text fields: they behave the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path

from textual import events
from textual._xterm_parser import XTermParser

from excerpt import tui
from excerpt.settings import Settings
from excerpt.tui.common.field import Field
from excerpt.tui.search.hit_list import HitList
from tests.tui.conftest import at_once, until
from tests.tui.still import StillApp


async def test_every_field_takes_all_lines_that_are_pasted_and_shows_every_character(
    tmp_path: Path,
) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(80, 24)) as pilot:
        for opening in ("f1", "unbound-switch-vault", "f4"):
            await pilot.press(opening)
            await until(pilot, lambda: isinstance(app.focused, Field), f"a field after {opening}")
            app.screen.post_message(events.Paste("~/My  \x1bNotes\r\n\n  of old\n"))
            await until(pilot, lambda: "␛Notes of old" in drawn_text(app), "what was pasted")
            assert isinstance(app.focused, Field)
            assert app.focused.value == "~/My  \x1bNotes of old"
            assert app.focused._cursor_offset == len("~/My  ␛Notes of old") + 1
            await pilot.press("ctrl+u", "escape")


def test_no_field_is_one_of_another_kind() -> None:
    sources = [file.read_text(encoding="utf-8") for folder in tui.__path__ for file in Path(folder).rglob("*.py")]
    assert re.findall(r"\w*(?<!class Field\()\bInput\(", "\n".join(sources)) == []


def drawn_text(app: StillApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def test_what_is_typed_right_behind_a_key_that_moves_the_focus_goes_where_it_moved(
    tmp_path: Path, home: Path
) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"sync")
        rows = app.still.query_one(HitList)
        await until(pilot, lambda: rows.row_count > 1, "the hits")
        at_once(app, "escape", "j")
        await until(pilot, lambda: rows.cursor == 1, "the next row")
        at_once(app, "f4", "m", "e")
        await until(pilot, lambda: app.still.query_one("#filter", Field).value == "me", "what was typed")
        assert app.still.query_one("#query", Field).value == "sync"


LINE = "one two three"


EDITED = (
    (("ctrl+a",), LINE, 0),
    (("ctrl+a", "ctrl+e"), LINE, len(LINE)),
    (("ctrl+a", "ctrl+f"), LINE, 1),
    (("ctrl+b",), LINE, len(LINE) - 1),
    (("ctrl+a", "ctrl+d"), "ne two three", 0),
    (("ctrl+b", "ctrl+k"), "one two thre", len(LINE) - 1),
    (("ctrl+b", "ctrl+u"), "e", 0),
    (("ctrl+w",), "one two ", 8),
    (("alt+backspace",), "one two ", 8),
)
"""Keys pressed at the end of the line, with the resulting line and cursor position."""


async def test_the_keys_of_readline_edit_each_field_and_nothing_else(tmp_path: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(80, 24)) as pilot:
        for opening in ("", "f4", "f1"):
            if opening:
                await pilot.press(opening)
            await until(pilot, lambda: isinstance(app.focused, Field) and not app.focused.value, f"field of {opening}")
            field, screen = app.focused, app.screen
            assert isinstance(field, Field)
            for keys, *edited in EDITED:
                at_once(app, *LINE, *keys)

                def is_edited(field: Field = field, edited: list[object] = edited) -> bool:
                    return [field.value, field.cursor_position] == edited

                await until(pilot, is_edited, f"{keys} in the field of {opening}")
                assert app.focused is field
                assert app.screen is screen
                field.value = ""


async def test_ctrl_c_copies_what_is_selected_and_says_how_to_quit_where_nothing_is(tmp_path: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"one", "ctrl+c")
        await until(pilot, lambda: any("quit" in one.message for one in app._notifications), "how to quit")
        assert app.clipboard == ""
        await pilot.press("shift+home", "ctrl+c")
        await until(pilot, lambda: app.clipboard == "one", "the copy")


async def test_a_letter_with_alt_that_nothing_is_bound_to_types_nothing(tmp_path: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("a")
        for key in XTermParser().feed("\x1bx\x1b[C\x1bq"):
            app.post_message(key)
        await pilot.press("b")
        field = app.still.query_one("#query", Field)
        await until(pilot, lambda: "b" in field.value, "the letter behind it")
        assert field.value == "ab"
