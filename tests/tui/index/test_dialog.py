"""Tests of the index dialog and of the indexing by a child process: progress, watching, repairs, messages."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from filelock import FileLock
from msgspec.structs import replace
from textual.app import App
from textual.widgets import Button, OptionList, Static

from excerpt.base.settings import EmbeddingSettings, Paths, Settings, load_settings
from excerpt.index.build import build
from excerpt.index.writer import LOCK_FILE
from excerpt.service.indexing_process import IndexingProcess
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.dialog import ConfirmDialog
from excerpt.tui.common.notice import EmptyState, Notice
from excerpt.tui.common.tab_bar import TabBar
from excerpt.tui.index.controller import ChangeDetection
from excerpt.tui.index.dialog import IndexDialog
from excerpt.tui.search.preview import Preview
from tests.encoders.server import embeddings, running_server
from tests.tui.driver import (
    AppPilot,
    ScriptedApp,
    drawn_lines,
    hit_list_of,
    listed_titles,
    notices_of,
    pane_of,
    places_under,
    post_keys,
    preview_of,
    screen_of,
    search,
    status_of,
    top_screen,
    until,
    until_screen,
)
from tests.tui.examples import write_notes
from tests.tui.index.test_controller import PROGRESS

pytestmark = pytest.mark.usefixtures("indexing_process")


def index_state(app: App[None]) -> str:
    """Return the state of the index in the tab bar."""
    return screen_of(app).query_one(TabBar).state


async def open_index_dialog(pilot: AppPilot) -> IndexDialog:
    """Open the dialog as the palette does, and return it."""
    await until(pilot, lambda: screen_of(pilot.app).is_populated, "the screen")
    await pilot.app.run_action("open_index", screen_of(pilot.app))
    return await until_screen(pilot, IndexDialog)


async def press_button(pilot: AppPilot, dialog: IndexDialog, button: str) -> None:
    """Press that button with keys."""
    there = dialog.query_one(f"#{button}", Button)
    await until(pilot, lambda: not there.has_class("-active"), "the press before: Textual drops one within .2 s of it")
    there.focus()
    await until(pilot, lambda: there.has_focus, f"{button} to have the focus")
    await pilot.press("enter")


def is_asking_about_lost_notes(app: App[None]) -> bool:
    screen = top_screen(app)
    return isinstance(screen, ConfirmDialog) and "The vault has no notes" in str(screen.query_one(".box").border_title)


def shown(preview: Preview) -> str:
    """Return the text in the context."""
    window = preview.window
    return "\n".join(run.text for line in window.lines for run in line.runs) if window is not None else ""


async def until_watched(pilot: AppPilot) -> None:
    """Wait until the vault was scanned and is being watched."""
    await until(pilot, lambda: index_state(pilot.app).endswith("up to date"), "the first look")


@pytest.mark.programs
async def test_a_vault_without_an_index_is_indexed_automatically(tmp_path: Path, home: Path) -> None:
    vault = tmp_path / "new"
    write_notes(vault)
    app = ExcerptApp(vault, Settings(), places_under(home))
    async with app.run_test() as pilot:
        await search(pilot, "lentils")
        assert listed_titles(app)[0] == "Lentil soup"


@pytest.mark.programs
async def test_a_note_changed_while_the_app_was_closed_is_found(app: ExcerptApp, vault: Path) -> None:
    (vault / "Walrus.md").write_text("The walrus swims in the cold sea.\n")
    async with app.run_test() as pilot:
        await search(pilot, "walrus")
        await until(pilot, lambda: listed_titles(app)[:1] == ["Walrus"], "the new note")


@pytest.mark.programs
async def test_a_change_in_the_vault_appears_in_the_list_automatically(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "walrus")
        await until_watched(pilot)
        (vault / "Walrus.md").write_text("The walrus swims in the cold sea.\n")
        await until(pilot, lambda: listed_titles(app)[:1] == ["Walrus"], "the new note")
        (vault / "Walrus.md").rename(vault / "Sea cow.md")
        await until(pilot, lambda: listed_titles(app)[:1] == ["Sea cow"], "its new name")


@pytest.mark.programs
async def test_the_selection_keeps_its_row_when_its_fragment_is_edited(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "conflict")
        await until_watched(pilot)
        rows, preview = hit_list_of(app), preview_of(app)
        await pilot.press("down")
        before = rows.selected
        assert before is not None
        note = vault / before.fragment.path
        note.write_text(note.read_text().replace("conflict", "conflict, marmalade"))
        await until(pilot, lambda: "marmalade" in (rows.selected or before).fragment.text, "the new text")
        assert rows.selected is not None
        assert rows.selected.fragment.path == before.fragment.path
        await until(pilot, lambda: "marmalade" in shown(preview), "the new text in the context")


@pytest.mark.programs
async def test_a_new_best_hit_is_in_view_if_the_user_selected_nothing(app: ExcerptApp, vault: Path) -> None:
    for number in range(20):
        (vault / f"Filler {number}.md").write_text(f"# Filler {number}\n\nA quag of sort {number}.\n")
    async with app.run_test() as pilot:
        await search(pilot, "quagga")
        await until_watched(pilot)
        (vault / "Quagga.md").write_text("# Quagga\n\nThe quagga is gone; a quagga was half a zebra.\n")
        await until(pilot, lambda: listed_titles(app)[:1] == ["Quagga"], "the new note")
        rows = hit_list_of(app)
        assert rows.scroll_offset.y <= rows.cursor * rows.ROW_HEIGHT
        assert rows.scroll_offset.y == 0


@pytest.mark.programs
async def test_a_commit_of_another_process_is_opened(app: ExcerptApp, vault: Path, user_paths: Paths) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "walrus")
        await until_watched(pilot)
        await press_button(pilot, await open_index_dialog(pilot), "pause")
        await until(pilot, lambda: index_state(app).endswith("paused"), "the pause")
        (vault / "Walrus.md").write_text("The walrus swims in the cold sea.\n")
        await asyncio.to_thread(build, vault, user_paths.index_folder(vault), Settings())
        await until(pilot, lambda: listed_titles(app)[:1] == ["Walrus"], "the new note")


@pytest.mark.programs
async def test_changes_of_the_vault_wait_while_indexing_is_paused(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "walrus")
        await until_watched(pilot)
        dialog = await open_index_dialog(pilot)
        await press_button(pilot, dialog, "pause")
        await until(pilot, lambda: index_state(app).endswith("paused"), "the pause")
        (vault / "Walrus.md").write_text("The walrus swims in the cold sea.\n")
        await press_button(pilot, dialog, "update")
        assert "Walrus" not in listed_titles(app)
        await press_button(pilot, dialog, "pause")
        await until(pilot, lambda: listed_titles(app)[:1] == ["Walrus"], "the new note")
        assert index_state(app).endswith("up to date")


@pytest.mark.programs
async def test_a_button_without_effect_is_disabled(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await until_watched(pilot)
        dialog = await open_index_dialog(pilot)
        pause = dialog.query_one("#pause", Button)
        assert dialog.query_one("#update", Button).has_focus
        assert dialog.query_one("#cancel", Button).disabled
        assert str(pause.label) == "Pause"
        await press_button(pilot, dialog, "pause")
        await until(pilot, lambda: str(pause.label) == "Continue", "the other name")


@pytest.mark.programs
async def test_the_state_in_the_tab_bar_opens_the_index_dialog_and_escape_closes_it(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await until_watched(pilot)
        await pilot.click(TabBar, offset=(75, 0))
        await until(pilot, lambda: isinstance(top_screen(app), IndexDialog), "the dialog")
        await pilot.press("escape")
        assert top_screen(app) is screen_of(app)
        await pilot.click(TabBar, offset=(30, 0))
        assert top_screen(app) is screen_of(app)


@pytest.mark.programs
async def test_all_buttons_are_visible_at_any_size(app: ExcerptApp, vault: Path) -> None:
    for number in range(30):
        (vault / f"Zeros {number}.md").write_bytes(b"\0" * 100)
    (vault / "screen.png").write_bytes(b"")
    async with app.run_test(size=(60, 15)) as pilot:
        await until(pilot, lambda: "30 skipped" in index_state(app), "the skipped files")
        dialog = await open_index_dialog(pilot)
        state = dialog.state
        failure = EmptyState(
            "The indexing process ended early", "It was killed.", "Update starts it again.", is_error=True
        )
        dialog.state = replace(state, failure=failure, progress=PROGRESS, is_unfinished=True)
        for size in ((60, 15), (80, 24), (140, 45)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            box = dialog.query_one(".box").content_region
            assert all(box.contains_region(button.region) and button.region.height for button in dialog.query(Button))
            assert dialog.query_one(OptionList).size.height >= 1


@pytest.mark.programs
async def test_a_requested_update_is_confirmed(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await until_watched(pilot)
        await app.run_action("update_index", screen_of(app))
        await until(pilot, lambda: "The index is up to date. No note has changed." in notices_of(app), "the answer")


@pytest.mark.programs
async def test_an_indexing_process_that_dies_is_reported_and_restarted(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "walrus")
        await until_watched(pilot)
        dialog = await open_index_dialog(pilot)
        indexing = screen_of(app).index.process
        assert isinstance(indexing, IndexingProcess)
        process = indexing._process
        assert process is not None
        process.kill()
        await until(pilot, lambda: dialog.state.change_detection is ChangeDetection.ENDED, "the end")
        assert "The indexing process ended early" in str(dialog.query_one("#trouble", Static).content)
        await pilot.press("escape")
        (vault / "Walrus.md").write_text("The walrus swims in the cold sea.\n")
        await app.run_action("update_index", screen_of(app))
        await until(pilot, lambda: listed_titles(app)[:1] == ["Walrus"], "the new note")
        await until_watched(pilot)


@pytest.mark.programs
async def test_a_vault_that_lost_its_notes_keeps_its_index_until_the_user_confirms(
    app: ExcerptApp, vault: Path
) -> None:
    async with app.run_test() as pilot:
        await until_watched(pilot)
        for note in vault.rglob("*.md"):
            note.unlink()
        await until(pilot, lambda: is_asking_about_lost_notes(app), "the question")
        await pilot.press("enter")
        assert top_screen(app) is screen_of(app)
        await search(pilot, "lentils")
        assert listed_titles(app)[0] == "Lentil soup"
        assert index_state(app) == "no notes found"
        await app.run_action("update_index", screen_of(app))
        await until(pilot, lambda: is_asking_about_lost_notes(app), "the question, asked for")
        await pilot.press("y", "n", "tab", "enter")
        await until(pilot, lambda: (status := status_of(app)) is not None and not status.notes, "the empty index")
        await until(pilot, lambda: listed_titles(app) == [], "the empty list")


@pytest.mark.programs
async def test_the_question_about_lost_notes_disappears_when_they_are_back(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await until_watched(pilot)
        notes = {note: note.read_text() for note in vault.rglob("*.md")}
        for note in notes:
            note.unlink()
        await until(pilot, lambda: is_asking_about_lost_notes(app), "the question")
        for note, text in notes.items():
            note.write_text(text)
        await until(pilot, lambda: top_screen(app) is screen_of(app), "the end of the question")
        await until(pilot, lambda: index_state(app) == "4 notes · up to date", "the state")


@pytest.mark.programs
async def test_the_question_about_lost_notes_waits_until_typing_stops(
    app: ExcerptApp, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("excerpt.tui.main_screen._TYPING_PAUSE_SECONDS", 0.2)
    async with app.run_test() as pilot:
        await until_watched(pilot)
        for note in vault.rglob("*.md"):
            note.unlink()
        await until(pilot, lambda: bool(screen_of(app).index.state.emptied), "the loss")
        post_keys(app, *"lentil")
        await until(pilot, lambda: is_asking_about_lost_notes(app), "the question")
        assert pane_of(app).query_text.startswith("lent")


@pytest.mark.programs
async def test_an_empty_vault_says_so(tmp_path: Path, home: Path) -> None:
    (tmp_path / "empty").mkdir()
    app = ExcerptApp(tmp_path / "empty", Settings(), places_under(home))
    async with app.run_test() as pilot:
        notice = screen_of(app).query_one("#notice", Notice)
        await until(pilot, lambda: notice.empty_state.title == "No notes found", "the sentence")
        assert notice.display


@pytest.mark.programs
async def test_skipped_files_are_listed_with_their_reason(vault: Path, user_paths: Paths) -> None:
    (vault / "Zeros.md").write_bytes(b"\0" * 100)
    app = ExcerptApp(vault, Settings(), user_paths)
    async with app.run_test() as pilot:
        files = (await open_index_dialog(pilot)).query_one(OptionList)
        await until(pilot, lambda: files.option_count == 1, "the skipped file")
        title, reason = str(files.get_option_at_index(0).prompt).splitlines()
        assert title == "skipped  Zeros.md"
        assert reason.strip()
        assert index_state(app) == "4 notes · 1 skipped · up to date"


@pytest.mark.programs
async def test_enter_opens_a_skipped_file_in_the_editor(vault: Path, user_paths: Paths, editor_arguments: Path) -> None:
    (vault / "Zeros.md").write_bytes(b"\0" * 100)
    app = ExcerptApp(vault, Settings(), user_paths)
    async with app.run_test() as pilot:
        files = (await open_index_dialog(pilot)).query_one(OptionList)
        await until(pilot, lambda: files.option_count == 1, "the skipped file")
        files.focus()
        await pilot.press("down", "enter")
        await until(pilot, editor_arguments.exists, "the editor")
        assert str(vault / "Zeros.md") in editor_arguments.read_text()


@pytest.mark.programs
async def test_a_damaged_index_is_repaired_and_the_search_works(vault: Path, user_paths: Paths) -> None:
    for file in user_paths.index_folder(vault).rglob("*"):
        if file.is_file():
            file.write_bytes(b"damaged")
    app = ExcerptApp(vault, Settings(), user_paths)
    async with app.run_test() as pilot:
        await search(pilot, "lentils")
        assert listed_titles(app)[0] == "Lentil soup"


@pytest.mark.programs
async def test_a_rebuild_is_confirmed_and_run(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await until(
            pilot, lambda: status_of(app) is not None and not screen_of(app).index.state.is_working, "the index"
        )
        before = status_of(app)
        dialog = await open_index_dialog(pilot)
        for answer in "ny":
            await press_button(pilot, dialog, "rebuild")
            await until(pilot, lambda: isinstance(top_screen(app), ConfirmDialog), "the question")
            await pilot.press(answer)
            await until(pilot, lambda: top_screen(app) is dialog, "the dialog again")
        await until(pilot, lambda: status_of(app) != before, "another index")
        await until(pilot, lambda: dialog.state.progress is None, "the end")
        assert dialog.state.failure is None


@pytest.mark.programs
async def test_a_vault_indexed_by_another_process_can_still_be_read(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    async with app.run_test() as pilot:
        with FileLock(user_paths.index_folder(vault) / LOCK_FILE):
            await search(pilot, "lentils")
            assert listed_titles(app)[0] == "Lentil soup"
            await until(pilot, lambda: index_state(app) == "indexed by another excerpt", "the state")
        await until(pilot, lambda: index_state(app) == "4 notes · up to date", "its own turn")


@pytest.mark.programs
async def test_a_vault_that_disappears_is_reported_without_ending_the_app(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "lentils")
        await until(pilot, lambda: not screen_of(app).index.state.is_working, "the first look")
        shutil.rmtree(vault)
        await app.run_action("update_index", screen_of(app))
        dialog = await open_index_dialog(pilot)
        await until(pilot, lambda: dialog.state.failure is not None, "the trouble")
        assert dialog.state.failure is not None
        assert dialog.state.failure.sentence
        assert pane_of(app).result is not None


@pytest.mark.programs
@pytest.mark.parametrize("begun", [False, True])
async def test_instructions_for_a_first_own_vault_are_shown_once(vault: Path, user_paths: Paths, begun: bool) -> None:
    if begun:
        async with ExcerptApp(vault, Settings(), user_paths).run_test() as pilot:
            await until(pilot, user_paths.first_hint_file.exists, "the first start")
    app = ExcerptApp(vault, Settings(), user_paths)
    async with app.run_test() as pilot:
        notice = screen_of(app).query_one("#notice", Notice)
        await until(pilot, lambda: notice.empty_state.title == "Search 4 notes", "the notice")
        assert notice.empty_state.sentence.startswith("Type a few words") is not begun


# --- the state in the title row ---------------------------------------------------------------------------------------


@pytest.mark.programs
async def test_a_click_on_the_index_state_opens_its_dialog_and_hovering_highlights_it(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        (drawn,) = drawn_lines(screen_of(scripted).query_one(TabBar))
        x = drawn.index("notes")
        before = scripted.screen.get_style_at(x, 0).bgcolor
        await pilot.hover(TabBar, offset=(x, 0))
        await pilot.pause()
        assert scripted.screen.get_style_at(x, 0).bgcolor != before
        await pilot.click(TabBar, offset=(x, 0))
        await until_screen(pilot, IndexDialog)


@pytest.mark.programs
async def test_an_embedder_is_used_after_embedding_the_notes_and_keys_typed_meanwhile_are_kept(
    vault: Path, user_paths: Paths
) -> None:
    with running_server(embeddings) as server:
        model = f"openai:{server.url}/v1#letters"
        user_paths.settings_file.parent.mkdir(parents=True, exist_ok=True)
        user_paths.settings_file.write_text(f'[embedding]\nmodel = "{model}"\n', encoding="utf-8")
        app = ExcerptApp(vault, load_settings(user_paths.settings_file), user_paths)
        async with app.run_test(notifications=True) as pilot:
            await search(pilot, "walrus")
            await until(pilot, lambda: "Searches use your embedding model now" in str(notices_of(app)), "the notice")
            await until(
                pilot,
                lambda: (status := status_of(app)) is not None and status.model.startswith("letters at"),
                "the model",
            )
            pane = pane_of(app)
            await until(pilot, lambda: pane.result is not None and not pane.result.is_without_meaning, "the order")
            assert listed_titles(app)


@pytest.mark.programs
async def test_a_failing_embedder_is_reported_once_and_the_search_works(vault: Path, user_paths: Paths) -> None:
    user_paths.settings_file.parent.mkdir(parents=True, exist_ok=True)
    user_paths.settings_file.write_text('[embedding]\nmodel = "openai:http://127.0.0.1:9/v1#letters"\n')
    app = ExcerptApp(vault, load_settings(user_paths.settings_file), user_paths)
    async with app.run_test(notifications=True) as pilot:
        await until(pilot, lambda: "cannot be reached" in str(notices_of(app)), "the notice")
        await search(pilot, "lentil")
        assert listed_titles(app)


@pytest.mark.programs
async def test_a_model_on_another_machine_is_reported_at_opening_and_in_the_dialog(
    vault: Path, user_paths: Paths
) -> None:
    settings = Settings(embedding=EmbeddingSettings("openai:https://192.0.2.7/v1#letters", remote=True))
    app = ExcerptApp(vault, settings, user_paths)
    async with app.run_test(notifications=True) as pilot:
        sentence = "The text of your notes and your queries are sent to https://192.0.2.7:443/v1."
        await until(pilot, lambda: sentence in str(notices_of(app)), "the notice")
        dialog = await open_index_dialog(pilot)
        assert "192.0.2.7" in str(dialog.query_one("#facts", Static).content)
