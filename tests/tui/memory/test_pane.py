"""Tests of the Memory tab on real files: remember, filter, open, forget, undo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input, Static, TextArea

from excerpt.base.model import Source
from excerpt.base.settings import Paths, Settings
from excerpt.index.build import build
from excerpt.memory.memory_file import make_memory
from excerpt.memory.store import FolderMemoryStore
from excerpt.service.memory_decisions import MemoryDraft, make_edit_decision
from excerpt.service.memory_worker import MemoryWorker
from excerpt.service.query_texts import MemoryFilter, parse_memory_filter
from excerpt.text.fragments import digest_of_text
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.dialog import ConfirmDialog
from excerpt.tui.common.field import Field
from excerpt.tui.common.notice import Notice
from excerpt.tui.memory.form import OfferList, RememberDialog, complete_tag, split_tags
from excerpt.tui.memory.pane import MemoryActionState, MemoryList, MemoryPane, memory_disabled_reason, toggle_stale
from excerpt.tui.memory.view import MemoryView
from excerpt.vault.known_vaults import VaultFolders
from tests.service.manual_loop import ManualLoop
from tests.tui.driver import (
    AppPilot,
    ScriptedApp,
    drawn_lines,
    hit_list_of,
    post_keys,
    screen_of,
    search,
    show_results,
    until,
    until_index,
    until_screen,
)

pytestmark = pytest.mark.programs


@pytest.fixture
def store(vault: Path, user_paths: Paths) -> FolderMemoryStore:
    """Write two memories of the user."""
    store = FolderMemoryStore(user_paths.memory_folder(vault))
    store.remember(make_memory("Soup keeps for three days.", tags=["kitchen"], why="shopping"))
    store.remember(make_memory("Merge by hand.", tags=["sync"], why="it loses nothing"))
    return store


async def test_the_selected_fragment_is_remembered_with_tags_and_a_reason(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        hit = hit_list_of(app).selected
        assert hit is not None
        await pilot.press("ctrl+r")
        assert isinstance(app.screen, RememberDialog)
        await pilot.press(*"sync", "tab", *"why", "enter")
        folder = user_paths.memory_folder(vault)
        await until(pilot, lambda: bool(FolderMemoryStore(folder).all().memories), "the memory")
        (memory,) = FolderMemoryStore(folder).all().memories
        assert memory.text.strip() == hit.fragment.text.strip()
        assert (memory.tags, memory.why, memory.query) == (("sync",), "why", "sync conflict")
        assert memory.source is not None
        assert (memory.source.path, memory.source.line_start) == (hit.fragment.path, hit.fragment.line_start)


async def test_control_characters_of_a_fragment_are_saved_although_shown_as_symbols(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "hostile")
        await pilot.press("ctrl+r")
        assert "␛[31m" in app.screen.query_one(TextArea).text
        await pilot.press("enter")
        folder = user_paths.memory_folder(vault)
        await until(pilot, lambda: bool(FolderMemoryStore(folder).all().memories), "the memory")
        assert "\x1b[31m" in FolderMemoryStore(folder).all().memories[0].text


async def test_escape_closes_the_form_without_saving_a_memory(app: ExcerptApp, vault: Path, user_paths: Paths) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        await pilot.press("ctrl+r", "escape")
        await pilot.pause()
        assert app.screen is screen_of(app)
        assert not FolderMemoryStore(user_paths.memory_folder(vault)).all().memories


@pytest.mark.parametrize("key", ["escape", "ctrl+q"])
async def test_typed_text_is_discarded_only_after_a_question(scripted: ScriptedApp, key: str) -> None:
    async with scripted.run_test() as pilot:
        await show_results(pilot)
        await pilot.press("ctrl+r")
        form = await until_screen(pilot, RememberDialog)
        await pilot.press(*"plan", key)
        await until_screen(pilot, ConfirmDialog)
        await pilot.press("escape")
        assert scripted.screen is form
        assert form.query_one("#tags", Field).value == "plan"
        await pilot.press(key)
        await until_screen(pilot, ConfirmDialog)
        await pilot.press("shift+tab", "enter")
        await until(pilot, lambda: form not in scripted.screen_stack or not scripted.is_running, "the end of the form")


async def test_a_form_that_is_being_opened_or_closed_is_left_without_a_question(scripted: ScriptedApp) -> None:
    async with scripted.run_test() as pilot:
        await show_results(pilot)
        form = RememberDialog("text", "")
        left: list[bool] = []
        scripted.push_screen(form)
        form.confirm_leaving(lambda: left.append(True))
        await until_screen(pilot, RememberDialog)
        await pilot.press(*"plan")
        form.dismiss(None)
        form.confirm_leaving(lambda: left.append(True))
        assert left == [True, True]


async def test_words_and_tags_filter_the_list(app: ExcerptApp, store: FolderMemoryStore) -> None:
    async with app.run_test() as pilot:
        await pilot.press("f4")
        rows = screen_of(app).query_one(MemoryList)
        await until(pilot, lambda: len(rows.memories) == 2, "both memories")
        await pilot.press(*"#kitchen")
        await until(pilot, lambda: [m.tags for m in rows.memories] == [("kitchen",)], "the one with the tag")
        await pilot.press("ctrl+u", *"merge")
        await until(pilot, lambda: [m.tags for m in rows.memories] == [("sync",)], "the one with the word")


@pytest.mark.programs
async def test_ctrl_r_replaces_a_memory_which_a_filter_lists(app: ExcerptApp, store: FolderMemoryStore) -> None:
    async with app.run_test() as pilot:
        rows = await open_memory_tab(pilot, 2)
        old = rows.memories[0]
        await pilot.press("ctrl+r")
        form = app.screen
        form.query_one(TextArea).text = f"{old.text} Really."
        await until(pilot, lambda: bool(form.query_one(OfferList).offers), "the offer")
        form.query_one(OfferList).focus()
        await pilot.press("ctrl+r")
        await until(pilot, lambda: [m.id for m in store.all().replaced] == [old.id], "the replaced memory")
        screen_of(app).query_one("#filter", Input).value = "is:replaced"
        await until(pilot, lambda: [m.id for m in rows.memories] == [old.id], "only the replaced one")


async def test_the_best_memory_is_selected_when_another_query_is_typed(
    app: ExcerptApp, store: FolderMemoryStore
) -> None:
    store.remember(make_memory("Soup is eaten by hand, and merge conflicts by machines."))
    async with app.run_test() as pilot:
        await pilot.press("f4")
        rows = screen_of(app).query_one(MemoryList)
        await until(pilot, lambda: len(rows.memories) == 3, "all memories")
        screen_of(app).query_one("#filter", Input).value = "merge by hand"
        await until(pilot, lambda: [m.tags for m in rows.memories] == [("sync",), ()], "the best of two first")
        assert rows.cursor == 0
        await pilot.press("down")
        store.remember(make_memory("Whoever edits by hand has to merge."))
        screen_of(app).query_one(MemoryPane).reload()
        await until(pilot, lambda: len(rows.memories) == 3, "what came in meanwhile")
        assert rows.selected is not None
        assert rows.selected.text.startswith("Soup is eaten")


async def test_a_forgotten_memory_can_be_restored(app: ExcerptApp, store: FolderMemoryStore) -> None:
    async with app.run_test() as pilot:
        await pilot.press("f4")
        rows = screen_of(app).query_one(MemoryList)
        await until(pilot, lambda: len(rows.memories) == 2, "both memories")
        await pilot.press("escape", "x")
        await until(pilot, lambda: len(rows.memories) == 1, "one memory less")
        assert len(store.all().memories) == 1
        await pilot.press("u")
        await until(pilot, lambda: len(rows.memories) == 2, "the memory again")
        assert len(store.all().memories) == 2
        await pilot.press("U")
        await until(pilot, lambda: len(rows.memories) == 1, "one memory less, once more")
        await pilot.press("u", "u")
        await until(pilot, lambda: len(store.all().memories) == 2, "the memory again")


async def test_the_last_forgotten_memory_can_be_restored_in_the_empty_list(
    app: ExcerptApp, store: FolderMemoryStore
) -> None:
    async with app.run_test() as pilot:
        rows = await open_memory_tab(pilot, 2)
        await pilot.press("escape", "x")
        await until(pilot, lambda: len(rows.memories) == 1, "one memory less")
        await pilot.press("x")
        await until(pilot, lambda: not rows.memories, "no memory")
        notice = screen_of(app).query_one("#memory-notice", Notice)
        assert notice.empty_state.title == "No memories yet"
        assert notice.region.y == screen_of(app).query_one("#memory-found").content_region.y
        await pilot.press("u")
        await until(pilot, lambda: len(rows.memories) == 1, "the last one again")


def test_two_changes_of_a_memory_are_undone_one_after_the_other(
    vault: Path, user_paths: Paths, store: FolderMemoryStore
) -> None:
    worker = MemoryWorker(VaultFolders.of([vault]), user_paths, Settings(), ManualLoop())
    shown = store.all().memories[0]
    for text in ("Once.", "Twice."):
        worker.queue_decision(make_edit_decision(shown, MemoryDraft(text, shown.tags, shown.why)))
    for _ in range(2):
        worker.undo()
    worker.close()
    assert store.get(shown.id).text == shown.text


async def test_a_memory_opens_its_source_in_the_editor(editor_arguments: Path, app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        await pilot.press("ctrl+r", "enter", "f4")
        rows = screen_of(app).query_one(MemoryList)
        await until(pilot, lambda: len(rows.memories) == 1, "the memory")
        await pilot.press("enter")
        await until(pilot, editor_arguments.exists, "the editor")
        source = rows.memories[0].source
        assert source is not None
        assert editor_arguments.read_text().splitlines() == ["--goto", f"{vault / source.path}:{source.line_start}"]


async def test_a_source_outside_the_vault_is_not_opened(
    editor_arguments: Path, app: ExcerptApp, vault: Path, store: FolderMemoryStore
) -> None:
    (vault.parent / "secret.md").write_text("not in the vault")
    store.remember(make_memory("A trap.", source=Source("../secret.md", 1, 1, "")))
    async with app.run_test() as pilot:
        await pilot.press("f4")
        rows = screen_of(app).query_one(MemoryList)
        await until(pilot, lambda: len(rows.memories) == 3 and rows.region.area > 0, "the memories")
        await pilot.press("enter")
        await until(pilot, lambda: bool(app._notifications), "the toast")
        assert "not in the vault" in next(iter(app._notifications)).message
        assert not editor_arguments.exists()


async def test_a_memory_without_a_source_is_written_in_the_tab(app: ExcerptApp, vault: Path, user_paths: Paths) -> None:
    async with app.run_test() as pilot:
        await pilot.press("f4", "ctrl+r")
        assert isinstance(app.focused, TextArea)
        await pilot.press(*"idea", "ctrl+s")
        folder = user_paths.memory_folder(vault)
        await until(pilot, lambda: bool(FolderMemoryStore(folder).all().memories), "the memory")
        assert FolderMemoryStore(folder).all().memories[0].source is None


async def test_the_text_field_has_its_own_undo_and_readline_keys(app: ExcerptApp, store: FolderMemoryStore) -> None:
    async with app.run_test() as pilot:
        await open_memory_tab(pilot, 2)
        await pilot.press("ctrl+r")
        text = app.screen.query_one(TextArea)
        await pilot.press(*"idea", "ctrl+u")
        assert text.text == ""
        await pilot.press("ctrl+underscore")
        assert text.text == "idea"
        await pilot.press("ctrl+y")
        assert text.text == ""
        await pilot.press("ctrl+underscore", "ctrl+a", "ctrl+f", "ctrl+d", "ctrl+e", "ctrl+b", "ctrl+k")
        assert text.text == "ie"
    assert len(store.all().memories) == 2


async def test_a_new_memory_is_selected(app: ExcerptApp, store: FolderMemoryStore) -> None:
    async with app.run_test() as pilot:
        await pilot.press("f4")
        rows = screen_of(app).query_one(MemoryList)
        await until(pilot, lambda: len(rows.memories) == 2, "both memories")
        await pilot.press("down", "ctrl+r", *"Tea", "ctrl+s")
        await until(pilot, lambda: len(rows.memories) == 3, "the thought")
        assert rows.selected is not None
        assert rows.selected.text == "Tea"


async def test_escape_moves_to_the_list_and_keeps_the_filter(app: ExcerptApp, store: FolderMemoryStore) -> None:
    async with app.run_test() as pilot:
        rows = await open_memory_tab(pilot, 2)
        await pilot.press(*"merge")
        await until(pilot, lambda: len(rows.memories) == 1, "the one with the word")
        post_keys(app, "escape", "y", "escape")
        await until(pilot, lambda: rows.has_focus, "the list")
        assert screen_of(app).query_one("#filter", Input).value == "merge"
        post_keys(app, "slash", "d")
        await until(pilot, lambda: screen_of(app).query_one("#filter", Input).value == "merged", "the filter again")


async def test_editing_keys_in_the_filter_do_nothing_to_a_memory(app: ExcerptApp, store: FolderMemoryStore) -> None:
    before = store.all().memories
    async with app.run_test() as pilot:
        rows = await open_memory_tab(pilot, 2)
        await pilot.press("escape", "x")
        await until(pilot, lambda: len(rows.memories) == 1, "one memory less")
        await pilot.press("slash", *"xuta", "ctrl+a", "ctrl+k", "ctrl+w", "ctrl+u", "ctrl+e", "ctrl+f", "ctrl+d")
        assert app.screen is screen_of(app)
        await until(pilot, lambda: len(rows.memories) == 1, "the same memory")
    assert store.all().memories == before[1:]


async def test_a_misspelt_filter_is_reported_with_the_intended_one(app: ExcerptApp, store: FolderMemoryStore) -> None:
    async with app.run_test() as pilot:
        await open_memory_tab(pilot, 2)
        hint = screen_of(app).query_one("#filter-hint", Static)
        await pilot.press(*"tga:sync")
        await until(pilot, lambda: "tag:" in str(hint.content), "the hint")
        await pilot.press("ctrl+u", *"std::vector 12:30")
        await until(pilot, lambda: not str(hint.content), "no hint")


def test_the_filter_of_the_memory_tab_accepts_the_query_language() -> None:
    written = 'merge #sync source:"Guides/Sync.md" since:7d by "is:stale" hand '
    assert parse_memory_filter(written) == MemoryFilter(written)


@pytest.mark.parametrize("begun", ["#", "-#", "since:7", "is:sta", "folder:/"])
def test_an_incomplete_filter_requests_nothing(begun: str) -> None:
    assert parse_memory_filter(begun) == MemoryFilter()
    assert parse_memory_filter(f"merge {begun}") == MemoryFilter("merge")


def test_the_filter_for_stale_memories_is_inserted_and_removed() -> None:
    assert toggle_stale("soup") == "soup is:stale"
    assert toggle_stale("soup is:stale") == "soup"
    assert parse_memory_filter("is:stale") == MemoryFilter(stale=True)
    assert parse_memory_filter("merge is:replaced") == MemoryFilter("merge", replaced=True)
    assert parse_memory_filter("merge -is:stale #sync") == MemoryFilter("merge #sync", stale=False)


def test_tags_may_be_separated_by_commas_spaces_or_hashes() -> None:
    assert split_tags("sync, #decision  sync") == ("sync", "decision")


def test_a_typed_tag_is_completed_by_the_most_used_one_not_yet_given() -> None:
    tags = ("sync", "synonym", "soup")
    assert complete_tag("sy", tags) == "sync"
    assert complete_tag("sync, sy", tags) == "sync, synonym"
    assert complete_tag("decision #So", tags) == "decision #Soup"
    assert complete_tag("sync", ("sync",)) is None
    assert complete_tag("decision ", tags) is None


def test_only_text_after_a_hash_is_completed_in_a_filter() -> None:
    assert complete_tag("merge #sy", ("sync",), with_hash=True) == "merge #sync"
    assert complete_tag("sy", ("sync",), with_hash=True) is None


# --- changing a memory ------------------------------------------------------------------------------------------------


async def open_memory_tab(pilot: AppPilot, count: int) -> MemoryList:
    """Open the tab, wait for that many memories and the status of their sources, and return the list."""
    await until_index(pilot)
    await pilot.press("f4")
    pane, rows = screen_of(pilot.app).query_one(MemoryPane), screen_of(pilot.app).query_one(MemoryList)
    await until(pilot, lambda: len(rows.memories) == count and pane.is_complete, f"{count} memories")
    return rows


async def test_text_tags_and_reason_of_a_memory_are_edited_in_the_form(
    app: ExcerptApp, store: FolderMemoryStore
) -> None:
    before = store.all().memories[0]
    async with app.run_test() as pilot:
        rows = await open_memory_tab(pilot, 2)
        await pilot.press("escape", "e")
        form = app.screen
        assert isinstance(form, RememberDialog)
        assert form.query_one(TextArea).text == before.text
        await pilot.press("end", *", new", "tab", "end", *"!", "enter")
        await until(pilot, lambda: rows.memories[0] != before, "the changed memory")
    after = store.get(before.id)
    assert (after.tags, after.why) == ((*before.tags, "new"), f"{before.why}!")
    assert (after.text, after.created, after.source) == (before.text, before.created, before.source)


async def test_the_edit_of_a_memory_can_be_undone(app: ExcerptApp, store: FolderMemoryStore) -> None:
    before = store.all().memories[0]
    async with app.run_test() as pilot:
        rows = await open_memory_tab(pilot, 2)
        await pilot.press("escape", "e", "end", *" new", "enter")
        await until(pilot, lambda: rows.memories[0].tags == (*before.tags, "new"), "the changed memory")
        await pilot.press("u")
        await until(pilot, lambda: rows.memories[0].tags == before.tags, "the memory as it was")


async def test_a_memory_changed_elsewhere_is_not_undone(app: ExcerptApp, store: FolderMemoryStore) -> None:
    async with app.run_test() as pilot:
        rows = await open_memory_tab(pilot, 2)
        await pilot.press("escape", "e", "end", *" new", "enter")
        await until(pilot, lambda: "new" in rows.memories[0].tags, "the changed memory")
        changed = rows.memories[0]
        elsewhere = FolderMemoryStore(store.folder).change(changed.id, lambda memory: replace(memory, why="by hand"))
        await pilot.press("u")
        await until(pilot, lambda: any("elsewhere" in each.message for each in app._notifications), "the toast")
    assert store.get(changed.id) == elsewhere


async def test_tags_in_use_are_named_and_completed_in_the_form(app: ExcerptApp, store: FolderMemoryStore) -> None:
    async with app.run_test() as pilot:
        await open_memory_tab(pilot, 2)
        await pilot.press("ctrl+r", *"A thought.", "shift+tab", "shift+tab")
        form = app.screen
        assert isinstance(form, RememberDialog)
        field = form.query_one("#tags", Input)
        await until(pilot, lambda: bool(form._suggester.tags), "the tags in use")
        await pilot.press(*"kit")
        await until(pilot, lambda: field._suggestion == "kitchen", "the completed tag")
        await pilot.press("right", "enter")
        await until(pilot, lambda: len(store.all().memories) == 3, "the memory")
    assert store.all().memories[0].tags == ("kitchen",)


# --- filters ----------------------------------------------------------------------------------------------------------


async def test_the_best_answer_is_first_not_the_newest(app: ExcerptApp, store: FolderMemoryStore) -> None:
    store.remember(make_memory("Lentil soup simmers with cumin until the lentils are soft.", tags=["kitchen"]))
    store.remember(make_memory("The shopping list names soup plates, of which there are three too few for guests."))
    async with app.run_test() as pilot:
        rows = await open_memory_tab(pilot, 4)
        await pilot.press(*"lentil soup")
        await until(pilot, lambda: rows.row_count > 0 and rows.memories[0].text.startswith("Lentil"), "the best one")
        assert rows.spans


async def test_an_unreadable_file_is_listed_with_its_reason_and_can_be_opened(
    editor_arguments: Path, app: ExcerptApp, store: FolderMemoryStore
) -> None:
    (store.folder / "broken.md").write_text("---\ntags: [open\n---\ntext\n")
    async with app.run_test() as pilot:
        rows = await open_memory_tab(pilot, 2)
        await pilot.press("down", "down")
        assert rows.selected_problem is not None
        assert rows.selected_problem.path == "broken.md"
        assert "YAML" in "\n".join(drawn_lines(screen_of(app).query_one(MemoryView)))
        await pilot.press("enter")
        await until(pilot, editor_arguments.exists, "the editor")
        assert editor_arguments.read_text().splitlines()[-1] == f"{store.folder / 'broken.md'}:1"


# --- status of the source ---------------------------------------------------------------------------------------------

SOUP = "Simmer red lentils with cumin until they are soft."


def store_with_soup(vault: Path, user_paths: Paths, note: str) -> FolderMemoryStore:
    """Remember a line about soup whose note then changes to `note`."""
    store = FolderMemoryStore(user_paths.memory_folder(vault))
    store.remember(make_memory(SOUP, source=Source("Cooking/Lentil soup.md", 3, 3, digest_of_text(SOUP))))
    (vault / "Cooking/Lentil soup.md").write_text(note)
    build(vault, user_paths.index_folder(vault), Settings())
    return store


async def test_a_memory_with_a_moved_source_says_so_and_follows_it(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    store = store_with_soup(vault, user_paths, f"# Lentil soup\n\nFor four.\n\n{SOUP}\n")
    async with app.run_test() as pilot:
        rows = await open_memory_tab(pilot, 1)
        assert "moved to Cooking/Lentil soup.md, line 5" in "\n".join(drawn_lines(screen_of(app).query_one(MemoryView)))
        await pilot.press("escape", "l")
        await until(pilot, lambda: rows.memories[0].source != store_source(3), "the link that followed")
    source = store.all().memories[0].source
    assert source is not None
    assert (source.line_start, source.line_end) == (5, 5)


def store_source(line: int) -> Source:
    return Source("Cooking/Lentil soup.md", line, line, digest_of_text(SOUP))


async def test_a_changed_source_is_shown_beside_the_memory(app: ExcerptApp, vault: Path, user_paths: Paths) -> None:
    store_with_soup(vault, user_paths, "# Lentil soup\n\nSimmer green lentils with cumin until they are soft.\n")
    async with app.run_test(size=(140, 45)) as pilot:
        rows = await open_memory_tab(pilot, 1)
        assert rows.source_checks[rows.memories[0].id].kind == "changed"
        sides = [
            line.split("│")
            for line in "\n".join(drawn_lines(screen_of(app).query_one(MemoryView))).splitlines()
            if "│" in line
        ]
        assert [side.strip() for side in sides[0]] == ["as remembered", "as it is now"]
        assert "red" in sides[1][0]
        assert "green" in sides[1][1]


async def test_the_new_text_of_a_source_can_be_saved(app: ExcerptApp, vault: Path, user_paths: Paths) -> None:
    new = "Simmer green lentils with cumin until they are soft."
    store = store_with_soup(vault, user_paths, f"# Lentil soup\n\n{new}\n")
    async with app.run_test() as pilot:
        rows = await open_memory_tab(pilot, 1)
        await pilot.press("escape", "t")
        await until(pilot, lambda: rows.memories[0].text == new, "the new text")

        def agrees() -> bool:  # the check of the new text may still be coming
            check = rows.source_checks.get(rows.memories[0].id)
            return check is not None and check.kind == "fresh"

        await until(pilot, agrees, "a source that agrees")
        await pilot.press("u")
        await until(pilot, lambda: rows.memories[0].text == SOUP, "the text as it was")
    assert store.all().memories[0].source == store_source(3)


async def test_the_new_text_can_be_saved_while_a_newer_index_is_checked(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    new = "Simmer green lentils with cumin until they are soft."
    store = store_with_soup(vault, user_paths, f"# Lentil soup\n\n{new}\n")
    async with app.run_test() as pilot:
        await open_memory_tab(pilot, 1)
        pane = screen_of(app).query_one(MemoryPane)
        pane.check_sources_again()
        pane.action_update()
        await until(pilot, lambda: store.all().memories[0].text == new, "the new text")


async def test_a_confirmed_memory_is_no_longer_stale(app: ExcerptApp, vault: Path, user_paths: Paths) -> None:
    store = store_with_soup(
        vault, user_paths, "# Lentil soup\n\nSimmer green lentils with cumin until they are soft.\n"
    )
    store.remember(make_memory("A thought."))
    async with app.run_test() as pilot:
        rows = await open_memory_tab(pilot, 2)
        await pilot.press("unbound-memory-stale")
        await until(pilot, lambda: [memory.text for memory in rows.memories] == [SOUP], "only what is to be looked at")
        await pilot.press("escape", "a")
        await until(pilot, lambda: not rows.memories, "nothing to look at")
        await pilot.press("unbound-memory-stale")
        await until(pilot, lambda: len(rows.memories) == 2, "all of them")
    assert store.all().memories[1].text == SOUP


async def test_the_footer_offers_no_key_that_has_no_effect_on_the_selected_memory(
    app: ExcerptApp, store: FolderMemoryStore
) -> None:
    async with app.run_test() as pilot:
        await open_memory_tab(pilot, 2)
        pane = screen_of(app).query_one(MemoryPane)
        assert all(pane.disabled_reason(each, ()) for each in ("follow", "update", "keep"))
        assert not pane.disabled_reason("forget", ())


# --- remembering again ------------------------------------------------------------------------------------------------


async def test_a_memory_of_the_same_lines_is_offered_and_merged(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    store = FolderMemoryStore(user_paths.memory_folder(vault))
    kept = store.remember(make_memory("Lentils want time.", tags=["kitchen"], source=store_source(3)))
    async with app.run_test() as pilot:
        await search(pilot, "red lentils")
        await pilot.press("ctrl+r")
        form = app.screen
        assert isinstance(form, RememberDialog)
        offered = form.query_one(OfferList)
        await until(pilot, lambda: offered.selected == kept, "the offer")
        assert offered.offers[0].is_same_source
        await pilot.press(*"soup", "shift+tab", "enter")
        await until(pilot, lambda: store.get(kept.id) != kept, "the merged memory")
    (merged,) = store.all().memories
    assert merged.tags == ("kitchen", "soup")
    assert kept.text in merged.text
    assert SOUP in merged.text


async def test_enter_keeps_both_memories(app: ExcerptApp, vault: Path, user_paths: Paths) -> None:
    store = FolderMemoryStore(user_paths.memory_folder(vault))
    store.remember(make_memory("Lentils want time.", source=store_source(3)))
    async with app.run_test() as pilot:
        await search(pilot, "red lentils")
        await pilot.press("ctrl+r")
        form = app.screen
        await until(pilot, lambda: form.query_one(OfferList).selected is not None, "the offer")
        await pilot.press("enter")
        await until(pilot, lambda: len(store.all().memories) == 2, "both")


def test_disabled_actions_on_memories_give_their_reason() -> None:
    assert memory_disabled_reason("copy", MemoryActionState()) == "No memories yet."
    assert memory_disabled_reason("copy", MemoryActionState(total=3)) == "No memory is selected."
    kept = MemoryActionState(total=1, has_selection=True, source_kind="fresh")
    assert memory_disabled_reason("copy", kept) == ""
    assert memory_disabled_reason("follow", kept) == "The source of this memory has not moved."
    assert memory_disabled_reason("update", kept) == "The source of this memory has no new text."
    assert memory_disabled_reason("follow", MemoryActionState(total=1, has_selection=True, source_kind="moved")) == ""
    own = MemoryActionState(total=1, has_selection=True, is_own_thought=True)
    assert memory_disabled_reason("edit", own) == "This memory is your own thought: it has no source to open."
    assert memory_disabled_reason("undo", kept) == "Nothing to undo."
    assert memory_disabled_reason("undo", MemoryActionState(can_undo=True)) == ""
    assert memory_disabled_reason("redo", kept) == "Nothing to redo."
    assert memory_disabled_reason("stale", MemoryActionState()) == "No memories yet."
    assert memory_disabled_reason("stale", kept) == "No memory is stale."
    assert memory_disabled_reason("stale", MemoryActionState(total=1, needs_review=True)) == ""
