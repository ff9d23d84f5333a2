"""Tests of the app with several vaults: one list, whose rows, files and memories belong to their vaults."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from excerpt.index.build import build
from excerpt.known_vaults import VaultFolders
from excerpt.memory.store import MemoryStore
from excerpt.settings import Paths, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.bars import TabBar
from excerpt.tui.index.dialog import IndexDialog
from excerpt.tui.memory.form import RememberDialog
from excerpt.tui.memory.pane import MemoryList
from tests.tui.driver import (
    AppPilot,
    drawn_lines,
    drawn_text,
    hit_list_of,
    notices_of,
    pane_of,
    press,
    preview_of,
    screen_of,
    search,
    settle,
    until,
    until_index,
    until_screen,
    until_tabs,
)

pytestmark = pytest.mark.programs

WORK = {
    "Plan.md": "---\ncreated: 2025-05-02\n---\n# Plan\n\nOn Friday the zeppelin is painted. See [[Colours]].\n",
    "Colours.md": "# Colours\n\nThe zeppelin of the office is blue.\n",
}
HOME = {
    "Colours.md": "# Colours\n\nThe zeppelin of the family is red.\n",
    "Garden.md": "---\ncreated: 2025-05-01\n---\n# Garden\n\nThe balloon lands between the beds.\n",
}


def write_vault(folder: Path, notes: dict[str, str]) -> Path:
    folder.mkdir()
    for path, text in notes.items():
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def index(vault: Path, user_paths: Paths) -> None:
    build(vault, user_paths.index_folder(vault), Settings())


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "work", WORK)


@pytest.fixture
def family(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "family", HOME)


@pytest.fixture
def both(work: Path, family: Path, user_paths: Paths) -> ExcerptApp:
    for vault in (work, family):
        index(vault, user_paths)
    return ExcerptApp(work, Settings(), user_paths, others=[family])


def paths_of(app: ExcerptApp) -> list[str]:
    return [hit.fragment.path for hit in hit_list_of(app).hits]


async def select(pilot: AppPilot, path: str) -> None:
    """Select the hit of the note at `path`, and wait for its passage."""
    rows = hit_list_of(pilot.app)
    hit = next(hit for hit in rows.hits if hit.fragment.path == path)
    rows.select_fragment(hit.fragment.id)
    await settle(pilot)


# --- the list ---------------------------------------------------------------------------------------------------------


async def test_hits_of_all_vaults_are_in_one_list(both: ExcerptApp) -> None:
    async with both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "zeppelin")
        assert set(paths_of(both)) == {"work/Plan.md", "work/Colours.md", "family/Colours.md"}


@pytest.mark.parametrize("width", [50, 80, 140])
async def test_each_row_names_its_vault(both: ExcerptApp, width: int) -> None:
    async with both.run_test(size=(width, 24)) as pilot:
        await search(pilot, "zeppelin")
        await settle(pilot)
        drawn = drawn_lines(hit_list_of(both))
        for path, line in zip(paths_of(both), drawn, strict=False):
            vault, _, name = path.removesuffix(".md").partition("/")
            assert f"{vault}/ {name}" in line


async def test_a_filter_names_a_vault_as_a_folder(both: ExcerptApp) -> None:
    async with both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "path:family/ zeppelin")
        assert paths_of(both) == ["family/Colours.md"]


async def test_the_tab_bar_names_all_vaults_and_counts_their_notes(both: ExcerptApp) -> None:
    async with both.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await until_index(pilot)
        bar = screen_of(both).query_one(TabBar)
        assert bar.vault == "work + family"
        assert bar.state.startswith("4 notes")


async def test_the_newest_notes_of_all_vaults_are_listed_without_a_query(both: ExcerptApp) -> None:
    async with both.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Garden" in drawn_text(both) and "Plan" in drawn_text(both), "the newest notes")


# --- one vault of several ---------------------------------------------------------------------------------------------


async def test_a_vault_without_an_index_does_not_keep_the_others_from_answering(
    work: Path, family: Path, user_paths: Paths
) -> None:
    index(work, user_paths)
    app = ExcerptApp(family, Settings(), user_paths, others=[work])
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "zeppelin")
        assert set(paths_of(app)) == {"work/Plan.md", "work/Colours.md"}
        await asyncio.to_thread(index, family, user_paths)
        await until(pilot, lambda: "family/Colours.md" in paths_of(app), "the vault that was indexed later")


async def test_a_newer_generation_of_one_vault_is_opened(both: ExcerptApp, family: Path, user_paths: Paths) -> None:
    async with both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "zeppelin")
        (family / "Trip.md").write_text("# Trip\n\nThe zeppelin leaves at noon.\n", encoding="utf-8")
        await asyncio.to_thread(index, family, user_paths)
        await until(pilot, lambda: "family/Trip.md" in paths_of(both), "the new note")


@pytest.mark.usefixtures("living")
async def test_all_vaults_are_watched(both: ExcerptApp, work: Path, family: Path) -> None:
    async with both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "zeppelin")
        bar = screen_of(both).query_one(TabBar)
        await until(pilot, lambda: bar.state.endswith("up to date"), "the watches")
        for vault in (work, family):
            (vault / "New.md").write_text("# New\n\nAnother zeppelin.\n", encoding="utf-8")
        await until(pilot, lambda: {"work/New.md", "family/New.md"} <= {*paths_of(both)}, "both notes")


@pytest.mark.usefixtures("living")
async def test_a_missing_vault_is_reported_in_the_index_dialog_and_the_others_are_searched(
    work: Path, tmp_path: Path, user_paths: Paths
) -> None:
    app = ExcerptApp(work, Settings(), user_paths, others=[tmp_path / "gone"])
    async with app.run_test(size=(140, 45)) as pilot:
        await until(pilot, lambda: screen_of(app).query_one(TabBar).state == "index error", "the error")
        await search(pilot, "zeppelin")
        assert set(paths_of(app)) == {"work/Plan.md", "work/Colours.md"}
        await press(pilot, "unbound-index")
        dialog = await until_screen(pilot, IndexDialog)
        assert dialog.state.failure is not None
        assert dialog.state.failure.sentence.startswith("gone: ")


# --- files, links and memories ----------------------------------------------------------------------------------------


async def test_enter_opens_the_file_of_the_vault(editor_arguments: Path, both: ExcerptApp, family: Path) -> None:
    async with both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "balloon")
        await pilot.press("enter")
        await until(pilot, editor_arguments.exists, "the editor")
        assert f"{family / 'Garden.md'}:" in editor_arguments.read_text()


async def test_a_link_leads_to_the_note_of_its_own_vault(both: ExcerptApp) -> None:
    async with both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "zeppelin painted friday")
        await select(pilot, "work/Plan.md")
        await press(pilot, "escape", "l", "l", "enter")
        preview = preview_of(both)
        await until(pilot, lambda: preview.window is not None and "office" in preview.window.fragment.text, "the note")
        assert preview.window is not None
        assert preview.window.fragment.path == "work/Colours.md"


async def test_a_memory_is_kept_in_the_vault_of_its_passage(
    both: ExcerptApp, work: Path, family: Path, user_paths: Paths
) -> None:
    async with both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "balloon")
        await settle(pilot)
        await press(pilot, "ctrl+r")
        await until_screen(pilot, RememberDialog)
        await press(pilot, "ctrl+s")
        store = MemoryStore(user_paths.memory_folder(family))
        await until(pilot, lambda: bool(store.all().memories), "the memory")
        (memory,) = store.all().memories
        assert memory.source is not None
        assert memory.source.path == "Garden.md"
        assert not user_paths.memory_folder(work).exists()
        await press(pilot, "f4")
        rows = screen_of(both).query_one(MemoryList)
        await until(pilot, lambda: bool(rows.recalled), "the list")
        assert " family · " in rows.render_line(0).text
        assert rows.memories[0].source is not None
        assert rows.memories[0].source.path == "family/Garden.md"


async def test_a_thought_without_a_source_is_kept_in_the_first_vault(
    both: ExcerptApp, work: Path, user_paths: Paths
) -> None:
    async with both.run_test(size=(80, 24)) as pilot:
        await until_index(pilot)
        await until_tabs(pilot)
        await press(pilot, "f4", "escape", "m")
        await until_screen(pilot, RememberDialog)
        await press(pilot, *"rope", "ctrl+s")
        store = MemoryStore(user_paths.memory_folder(work))
        await until(pilot, lambda: [each.text.strip() for each in store.all().memories] == ["rope"], "the memory")


async def test_memories_of_all_vaults_answer(both: ExcerptApp, work: Path, family: Path, user_paths: Paths) -> None:
    for vault, text in ((work, "The zeppelin needs varnish."), (family, "The zeppelin needs a flag.")):
        MemoryStore(user_paths.memory_folder(vault)).remember(text)
    async with both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "zeppelin needs")
        rows = hit_list_of(both)
        await until(pilot, lambda: len([hit for hit in rows.hits if "needs" in hit.fragment.text]) == 2, "the memories")


# --- what is saved ----------------------------------------------------------------------------------------------------


async def test_query_and_marks_are_those_of_the_set_in_whatever_order(
    both: ExcerptApp, work: Path, family: Path, user_paths: Paths
) -> None:
    async with both.run_test(size=(80, 24)) as pilot:
        await search(pilot, "balloon")
        await settle(pilot)
        await press(pilot, "tab")
        await screen_of(both).save_state()
    again = ExcerptApp(family, Settings(), user_paths, others=[work])
    async with again.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        assert pane_of(again).query_text == "balloon"
    alone = ExcerptApp(family, Settings(), user_paths)
    async with alone.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        assert pane_of(alone).query_text == ""
        assert not notices_of(alone)


async def test_two_copies_of_a_vault_are_told_apart(work: Path, tmp_path: Path, user_paths: Paths) -> None:
    copy = tmp_path / "old" / "work"
    shutil.copytree(work, copy)
    for vault in (work, copy):
        index(vault, user_paths)
    app = ExcerptApp(work, Settings(), user_paths, others=[copy])
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "office")
        await settle(pilot)
        names = list(VaultFolders.of([work, copy]).by_name)
        assert {path.partition("/")[0] for path in paths_of(app)} == set(names)
        await press(pilot, "tab")
        assert len(pane_of(app).pack.choices.marked_ids) == 1
