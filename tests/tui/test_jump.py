"""Letters to jump by, on every pane, row, field and tab in sight."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import Input, Static

from excerpt.settings import Settings
from excerpt.tui.jump import LETTERS, labels
from excerpt.tui.screens.jump import Jump
from excerpt.tui.widgets.hit_list import HitList
from excerpt.tui.widgets.tab_bar import TabBar
from tests.tui.conftest import until
from tests.tui.still import StillApp


@given(st.integers(0, len(LETTERS) ** 2))
def test_no_label_begins_another_and_none_is_there_twice(count: int) -> None:
    made = labels(count)
    assert len(set(made)) == count
    assert not [one for one in made if len(one) == 1 and any(each.startswith(one) for each in made if each != one)]


def test_few_places_have_a_letter_each_and_more_keep_as_many_as_they_can() -> None:
    assert labels(3) == ["a", "s", "d"]
    assert [len(label) for label in labels(27)] == [1] * 25 + [2] * 2


async def test_a_letter_goes_to_its_row_pane_or_tab_and_any_other_key_leaves(tmp_path: Path, home: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(140, 24)) as pilot:
        hits = app.still.query_one(HitList)
        await pilot.press(*"sync")
        await until(pilot, lambda: hits.row_count > 2, "hits")

        async def jump(*keys: str) -> None:
            await pilot.press("alt+j")
            await until(pilot, lambda: isinstance(app.screen, Jump), "the labels")
            await pilot.press(*keys)
            await until(pilot, lambda: not isinstance(app.screen, Jump), "the end of it")

        await jump("s")
        assert hits.cursor == 1
        assert isinstance(app.focused, Input), "who types goes on typing"
        await jump("escape")
        assert hits.cursor == 1
        assert app.still.query_one("#query", Input).value == "sync"
        await pilot.press("alt+j")
        await until(pilot, lambda: isinstance(app.screen, Jump), "the labels")
        drawn = {(label.region.x, label.region.y): label.name for label in app.screen.query(Static)}
        memory = drawn[len(" Search  Overview "), 0]
        assert memory is not None
        await pilot.press(*memory)
        await until(pilot, lambda: app.still.query_one(TabBar).active == "memory", "the tab")
