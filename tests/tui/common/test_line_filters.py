"""Tests of filters of drawn lines: nothing that a terminal obeys, and only symbols that a screen reader can read."""

from __future__ import annotations

import ast
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

import excerpt.tui
from excerpt.base.settings import ScreenSettings, Settings
from excerpt.service.event_loop import IndexOpened
from excerpt.text.display import visible_line
from excerpt.tui.common.line_filters import ASCII_SIGNS, ControlCharacterFilter, ascii_sign, to_ascii
from tests.tui.driver import ScriptedApp, drawn_text, report_events
from tests.tui.examples import STATUS

SOURCES = sorted(Path(excerpt.tui.__file__).parent.rglob("*.py"))
PLAIN = replace(Settings(), screen=ScreenSettings(plain=True))


def literals(file: Path) -> Iterator[str]:
    """Yield the strings of a module that may be drawn: all except docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


def is_letter(sign: str) -> bool:
    """Return whether a character needs no plain form; pictographs from U+2B00 on occur only in notes."""
    return sign >= "\u2b00" or sign.isascii() or unicodedata.category(sign)[0] in "LMNZC"


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.stem)
def test_every_symbol_of_a_widget_has_an_ascii_replacement(file: Path) -> None:
    drawn = {sign for text in literals(file) for sign in text if not is_letter(sign)}
    assert {sign for sign in drawn if not ascii_sign(sign).isascii()} == set()


def test_each_symbol_and_its_ascii_replacement_take_one_cell() -> None:
    assert [sign for sign, plain in ASCII_SIGNS.items() if not (cell_len(sign) == cell_len(plain) == 1)] == []
    assert all(plain.isascii() for plain in ASCII_SIGNS.values())


@given(st.text())
def test_text_shown_in_ascii_keeps_its_width_and_letters(text: str) -> None:
    plain = to_ascii(text)
    assert cell_len(plain) == cell_len(text)
    assert [b for a, b in zip(text, plain, strict=True) if is_letter(a)] == [a for a in text if is_letter(a)]


def test_punctuation_is_drawn_in_ascii() -> None:
    assert to_ascii("lines 8–10, “why”, it’s …") == 'lines 8-10, "why", it\'s ~'


def test_a_tree_in_a_note_is_drawn_in_ascii() -> None:
    assert to_ascii("├── notes\n│   └── 笔记.md") == "+-- notes\n|   +-- 笔记.md"


@pytest.mark.programs
async def test_in_plain_mode_the_screen_has_no_line_block_or_arrow_symbols(tmp_path: Path) -> None:
    app = ScriptedApp(tmp_path, PLAIN)
    async with app.run_test(size=(100, 30)) as pilot:
        await report_events(pilot, IndexOpened(STATUS))
        await pilot.press(*"sync conflict", "tab", "unbound-map")
        await pilot.pause(0.3)
        shown = drawn_text(app)
        await pilot.press("ctrl+t")
        await pilot.pause(0.3)
        shown += drawn_text(app)
    assert "tab mark" in shown
    assert "Conflicts" in shown
    assert "*" in shown
    assert {sign for sign in shown if ascii_sign(sign) != sign} == set()
    assert app.animation_level == "none"


@pytest.mark.programs
async def test_the_plain_mode_can_be_switched_while_the_app_runs(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"sync")
        await pilot.pause(0.2)
        fancy = drawn_text(scripted)
        scripted.plain = True
        await pilot.pause(0.2)
        plain = drawn_text(scripted)
        scripted.plain = False
        await pilot.pause(0.2)
        assert drawn_text(scripted) == fancy
    assert "❯" in fancy
    assert "❯" not in plain


@cache
def control_characters() -> list[str]:
    """Return all characters that are shown as something else."""
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    return [c for c, shown in zip(every, visible_line(every), strict=True) if shown != c]


def filtered_text(text: str) -> str:
    return "".join(segment.text for segment in ControlCharacterFilter().apply([Segment(text)], Color(0, 0, 0)))


def test_control_sequences_are_removed() -> None:
    assert filtered_text("a\x1b[31mb\u202ec\u2066d\x9b2Je\rf\x00g") == "a[31mbcd2Jefg"


@pytest.mark.programs
def test_every_character_with_a_visible_form_is_replaced() -> None:
    assert [c for c in control_characters() if filtered_text(f"a{c}b") == f"a{c}b"] == []


def test_letters_of_any_script_and_joined_emoji_are_kept() -> None:
    text = "naïve 笔记 किताब می‌خواهم 👩‍👩‍👧"
    assert filtered_text(text) == text


JOINED = "a क笔👩❤\u0301\u094d\u200c\u200d\ufe0f\u00ad"


@given(
    st.text()
    | st.lists(st.sampled_from(JOINED) | st.deferred(lambda: st.sampled_from(control_characters()))).map("".join)
)
@example("\U000e0000")
@example("a\u200d\u200bb")
def test_a_line_keeps_its_width_and_has_no_control_character(text: str) -> None:
    drawn = filtered_text(text)
    assert cell_len(drawn) == cell_len(text)
    assert drawn == visible_line(drawn)
