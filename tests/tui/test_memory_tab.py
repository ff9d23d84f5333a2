"""The Memory tab on real files: remember, filter, open, forget, take back."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input, TextArea

from excerpt.memory.store import MemoryStore
from excerpt.model import Source
from excerpt.settings import Places
from excerpt.tui.app import ExcerptApp
from excerpt.tui.memory_filter import MemoryFilter, read_filter, toggling_stale
from excerpt.tui.screens.remember import Remember, split_tags
from excerpt.tui.widgets.hit_list import HitList
from excerpt.tui.widgets.memory_list import MemoryList
from tests.tui.conftest import screen_of, search, until


@pytest.fixture
def store(vault: Path, places: Places) -> MemoryStore:
    """The user's memories, as files."""
    store = MemoryStore(places.memory_folder(vault))
    store.remember("Soup keeps for three days.", tags=["kitchen"], why="shopping")
    store.remember("Merge by hand.", tags=["sync"], why="it loses nothing")
    return store


async def test_the_selected_fragment_is_remembered_with_tags_and_a_reason(
    app: ExcerptApp, vault: Path, places: Places
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, app, "sync conflict")
        hit = screen_of(app).query_one(HitList).selected
        assert hit is not None
        await pilot.press("ctrl+r")
        assert isinstance(app.screen, Remember)
        await pilot.press(*"sync", "tab", *"why", "enter")
        folder = places.memory_folder(vault)
        await until(pilot, lambda: bool(MemoryStore(folder).all().memories), "the memory")
        (memory,) = MemoryStore(folder).all().memories
        assert memory.text.strip() == hit.fragment.text.strip()
        assert (memory.tags, memory.why, memory.query) == (("sync",), "why", "sync conflict")
        assert memory.source is not None
        assert (memory.source.path, memory.source.line_start) == (hit.fragment.path, hit.fragment.line_start)


async def test_control_characters_of_a_fragment_are_kept_though_shown_as_pictures(
    app: ExcerptApp, vault: Path, places: Places
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, app, "hostile")
        await pilot.press("ctrl+r")
        assert "␛[31m" in app.screen.query_one(TextArea).text
        await pilot.press("enter")
        folder = places.memory_folder(vault)
        await until(pilot, lambda: bool(MemoryStore(folder).all().memories), "the memory")
        assert "\x1b[31m" in MemoryStore(folder).all().memories[0].text


async def test_escape_remembers_nothing(app: ExcerptApp, vault: Path, places: Places) -> None:
    async with app.run_test() as pilot:
        await search(pilot, app, "sync conflict")
        await pilot.press("ctrl+r", "escape")
        await pilot.pause()
        assert app.screen is screen_of(app)
        assert not MemoryStore(places.memory_folder(vault)).all().memories


async def test_words_and_tags_filter_the_list(app: ExcerptApp, store: MemoryStore) -> None:
    async with app.run_test() as pilot:
        await pilot.press("f4")
        rows = screen_of(app).query_one(MemoryList)
        await until(pilot, lambda: len(rows.memories) == 2, "both memories")
        await pilot.press(*"#kitchen")
        await until(pilot, lambda: [m.tags for m in rows.memories] == [("kitchen",)], "the one with the tag")
        await pilot.press("escape", *"merge")
        await until(pilot, lambda: [m.tags for m in rows.memories] == [("sync",)], "the one with the word")


async def test_a_forgotten_memory_can_be_taken_back(app: ExcerptApp, store: MemoryStore) -> None:
    async with app.run_test() as pilot:
        await pilot.press("f4")
        rows = screen_of(app).query_one(MemoryList)
        await until(pilot, lambda: len(rows.memories) == 2, "both memories")
        await pilot.press("ctrl+d")
        await until(pilot, lambda: len(rows.memories) == 1, "one memory less")
        assert len(store.all().memories) == 1
        await pilot.press("ctrl+u")
        await until(pilot, lambda: len(rows.memories) == 2, "the memory again")
        assert len(store.all().memories) == 2


async def test_a_memory_opens_its_source_in_the_editor(opened: Path, app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await search(pilot, app, "sync conflict")
        await pilot.press("ctrl+r", "enter", "f4")
        rows = screen_of(app).query_one(MemoryList)
        await until(pilot, lambda: len(rows.memories) == 1, "the memory")
        await pilot.press("enter")
        await until(pilot, opened.exists, "the editor")
        source = rows.memories[0].source
        assert source is not None
        assert opened.read_text().splitlines() == ["--goto", f"{vault / source.path}:{source.line_start}"]


async def test_a_memory_whose_source_lies_outside_the_vault_is_not_opened(
    opened: Path, app: ExcerptApp, vault: Path, store: MemoryStore
) -> None:
    (vault.parent / "secret.md").write_text("not in the vault")
    store.remember("A trap.", source=Source("../secret.md", 1, 1, ""))
    async with app.run_test() as pilot:
        await pilot.press("f4")
        rows = screen_of(app).query_one(MemoryList)
        await until(pilot, lambda: len(rows.memories) == 3, "the memories")
        await pilot.press("enter")
        await until(pilot, lambda: bool(app._notifications), "the toast")
        assert "not in the vault" in next(iter(app._notifications)).message
        assert not opened.exists()


async def test_a_thought_without_a_source_is_written_in_the_tab(app: ExcerptApp, vault: Path, places: Places) -> None:
    async with app.run_test() as pilot:
        await pilot.press("f4", "ctrl+r")
        assert isinstance(app.focused, TextArea)
        await pilot.press(*"idea", "ctrl+s")
        folder = places.memory_folder(vault)
        await until(pilot, lambda: bool(MemoryStore(folder).all().memories), "the memory")
        assert MemoryStore(folder).all().memories[0].source is None


async def test_escape_clears_the_filter_and_then_goes_back_to_the_search(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press("f4", "x", "escape")
        assert screen_of(app).query_one("#filter", Input).value == ""
        await pilot.press("escape")
        assert screen_of(app).query_one("#query", Input).has_focus


def test_a_filter_is_a_query_with_tags_a_source_and_a_day() -> None:
    wanted = MemoryFilter("merge by hand", ("sync", "note"), "Guides/Sync.md", "7d")
    assert read_filter("merge #sync by #note source:Guides/Sync.md since:7d hand") == wanted
    assert read_filter(" # ") == MemoryFilter()


def test_the_filter_for_what_is_to_be_looked_at_is_put_in_and_taken_off() -> None:
    assert toggling_stale("soup") == "soup is:stale"
    assert toggling_stale("soup is:stale") == "soup"
    assert read_filter("is:stale") == MemoryFilter(stale=True)


def test_tags_may_be_written_with_commas_spaces_or_hashes() -> None:
    assert split_tags("sync, #decision  sync") == ("sync", "decision")
