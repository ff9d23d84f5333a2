"""Fields for text: alike wherever one types."""

from __future__ import annotations

import re
from pathlib import Path

from textual import events

from excerpt import tui
from excerpt.settings import Settings
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.widgets.field import Field
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
        at_once(app, "shift+tab", "j")
        await until(pilot, lambda: rows.cursor == 1, "the next row")
        at_once(app, "f4", "m", "e")
        await until(pilot, lambda: app.still.query_one("#filter", Field).value == "me", "what was typed")
        assert app.still.query_one("#query", Field).value == "sync"
