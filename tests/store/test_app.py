"""Tests of the app on a vault in a store: no folder, no local index, and a server that changes or disappears."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Button

import excerpt
from excerpt import Vault
from excerpt.base.settings import Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.index.dialog import IndexDialog
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.memory.form import RememberDialog
from excerpt.tui.search.hit_pane import NO_FILES
from excerpt.tui.vault_chooser import VaultChooser
from excerpt.vault.known_vaults import add_recent_vault, recent_vaults
from excerpt_postgres.address import parse_address
from excerpt_postgres.push import push
from excerpt_postgres.store import parse_store
from tests.store.conftest import closed_database, index_of, records_of
from tests.tui.driver import (
    drawn_text,
    listed_titles,
    pane_of,
    places_under,
    post_keys,
    preview_of,
    screen_of,
    search,
    status_of,
    until,
    until_screen,
)

pytestmark = pytest.mark.store


@pytest.fixture
def notes_folder(tmp_path: Path) -> Path:
    """Write a vault of two notes."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "Bees.md").write_text("# Bees\n\nA colony winters around its honey.\n", encoding="utf-8")
    (folder / "Frames.md").write_text("# Frames\n\nWax is drawn on frames, as in [[Bees]].\n", encoding="utf-8")
    return folder


@pytest.fixture
def notes(notes_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vault]:
    """Open and index that vault, as its pusher has it."""
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    with excerpt.open(notes_folder) as vault:
        vault.load()
        yield vault


@pytest.fixture
def address(notes: Vault, database: str) -> str:
    """Push that vault to a store and return its address there."""
    text = f"{database}?vault=notes"
    push(index_of(notes), parse_address(text), records_of(notes))
    return text


@pytest.fixture
def app(address: str, tmp_path: Path) -> ExcerptApp:
    store = parse_store(address)
    return ExcerptApp(store.folder, Settings(), places_under(tmp_path / "home"), store=store)


async def test_hits_and_text_come_from_the_store(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "honey")
        assert listed_titles(app)[0] == "Bees"
        preview = preview_of(app)
        await until(pilot, lambda: preview.window is not None, "the note")
        assert preview.window is not None
        assert preview.window.text(1, 3) == "# Bees\n\nA colony winters around its honey."


async def test_a_push_is_found_automatically(app: ExcerptApp, notes_folder: Path, notes: Vault, address: str) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "mead")
        (notes_folder / "Mead.md").write_text("# Mead\n\nHoney and water, fermented.\n", encoding="utf-8")
        notes.refresh()
        push(index_of(notes), parse_address(address), records_of(notes))
        await until(pilot, lambda: listed_titles(app)[:1] == ["Mead"], "the note that was pushed")
        assert (status := status_of(app)) is not None
        assert status.notes == 3


async def test_a_lost_server_is_reported_and_queries_are_answered_after_its_return(
    app: ExcerptApp, database: str
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "honey")
        index = screen_of(app).index
        with closed_database(database):
            await until(pilot, lambda: index.state.failure is not None, "the loss to be said")
            post_keys(app, "ctrl+u", *"frames")
        await until(pilot, lambda: index.state.failure is None, "the server")
        await until(pilot, lambda: listed_titles(app)[:1] == ["Frames"], "the answer")


async def test_actions_that_need_a_file_or_a_build_give_the_reason(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "honey")
        assert pane_of(app).disabled_reason("edit", ()) == NO_FILES
        screen_of(app).action_open_index()
        await until(
            pilot, lambda: isinstance(app.screen, IndexDialog) and bool(app.screen.query("#facts")), "the dialog"
        )
        await pilot.pause()
        assert not [button for button in app.screen.query(Button) if button.region.area]


async def test_a_vault_of_a_store_is_opened_from_the_list_and_stays_in_it(address: str, tmp_path: Path) -> None:
    places = places_under(tmp_path / "home")
    add_recent_vault(places, Path(address))
    app = ExcerptApp(None, Settings(), places, {"HOME": str(tmp_path)})
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, VaultChooser), "the list")
        post_keys(app, *"notes")
        await pilot.pause()
        post_keys(app, "enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the vault")
        await search(pilot, "honey")
        assert listed_titles(app)[0] == "Bees"
    assert [parse_address(one.path).vault for one in recent_vaults(places)] == ["notes"]


async def test_the_form_shares_a_memory_and_the_list_names_its_author(app: ExcerptApp, address: str) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "honey")
        await pilot.press("ctrl+r")
        form = await until_screen(pilot, RememberDialog)
        await pilot.press("ctrl+t")
        assert "share with its readers" in str(form.query_one(".box").border_subtitle)
        await pilot.press("enter")
        with excerpt.open(address) as stored:
            await until(pilot, lambda: bool(stored.memories.all().memories), "the memory in the store")
            (memory,) = stored.memories.all().memories
        assert memory.is_shared
        await pilot.press("f4")
        await until(pilot, lambda: f"{memory.author} ·" in drawn_text(app), "the memory's author in the list")


async def test_a_memory_is_kept_for_the_user_alone_unless_it_is_shared(app: ExcerptApp, address: str) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "honey")
        await pilot.press("ctrl+r")
        await until_screen(pilot, RememberDialog)
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, RememberDialog), "the end of the form")
    with excerpt.open(address) as stored:
        assert not [memory for memory in stored.memories.all().memories if memory.is_shared]
