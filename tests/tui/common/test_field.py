"""Tests of text fields: they behave the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual import events
from textual._xterm_parser import XTermParser

from excerpt import tui
from excerpt.tui.common.field import Field
from tests.tui.driver import ScriptedApp, drawn_text, hit_list_of, post_keys, screen_of, until

pytestmark = pytest.mark.programs


async def test_every_field_accepts_pasted_lines_and_shows_every_character(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        for opening in ("f1", "unbound-switch-vault", "f4"):
            await pilot.press(opening)
            await until(pilot, lambda: isinstance(scripted.focused, Field), f"a field after {opening}")
            scripted.screen.post_message(events.Paste("~/My  \x1bNotes\r\n\n  of old\n"))
            await until(pilot, lambda: "␛Notes of old" in drawn_text(scripted), "what was pasted")
            assert isinstance(scripted.focused, Field)
            assert scripted.focused.value == "~/My  \x1bNotes of old"
            assert scripted.focused._cursor_offset == len("~/My  ␛Notes of old") + 1
            await pilot.press("ctrl+u", "escape")


def test_every_text_input_of_the_app_is_a_field() -> None:
    sources = [file.read_text(encoding="utf-8") for folder in tui.__path__ for file in Path(folder).rglob("*.py")]
    assert re.findall(r"\w*(?<!class Field\()\bInput\(", "\n".join(sources)) == []


async def test_text_typed_after_a_key_that_moves_the_focus_goes_to_the_new_field(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"sync")
        rows = hit_list_of(scripted)
        await until(pilot, lambda: rows.row_count > 1, "the hits")
        post_keys(scripted, "escape", "j")
        await until(pilot, lambda: rows.cursor == 1, "the next row")
        post_keys(scripted, "f4", "m", "e")
        await until(pilot, lambda: screen_of(scripted).query_one("#filter", Field).value == "me", "what was typed")
        assert screen_of(scripted).query_one("#query", Field).value == "sync"


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


async def test_readline_keys_edit_each_field_and_nothing_else(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        for opening in ("", "f4", "f1"):
            if opening:
                await pilot.press(opening)
            await until(
                pilot, lambda: isinstance(scripted.focused, Field) and not scripted.focused.value, f"field of {opening}"
            )
            field, screen = scripted.focused, scripted.screen
            assert isinstance(field, Field)
            for keys, *edited in EDITED:
                field.value, field.cursor_position = LINE, len(LINE)
                post_keys(scripted, *keys)

                def is_edited(field: Field = field, edited: list[object] = edited) -> bool:
                    return [field.value, field.cursor_position] == edited

                await until(pilot, is_edited, f"{keys} in the field of {opening}")
                assert scripted.focused is field
                assert scripted.screen is screen
                field.value = ""


async def test_ctrl_c_copies_the_selection_or_says_how_to_quit(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"one", "ctrl+c")
        await until(pilot, lambda: any("quit" in one.message for one in scripted._notifications), "how to quit")
        assert scripted.clipboard == ""
        await pilot.press("shift+home", "ctrl+c")
        await until(pilot, lambda: scripted.clipboard == "one", "the copy")


async def test_a_letter_with_an_unbound_alt_types_nothing(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press("a")
        for key in XTermParser().feed("\x1bx\x1b[C\x1bq"):
            scripted.post_message(key)
        await pilot.press("b")
        field = screen_of(scripted).query_one("#query", Field)
        await until(pilot, lambda: "b" in field.value, "the letter behind it")
        assert field.value == "ab"
