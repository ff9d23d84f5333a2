"""Tests of the Overview tab: a topic, what the vault holds about it, and the actions on each line."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from pathlib import Path

import pytest
from textual.app import App
from textual.widgets import Input, TextArea

from excerpt.base.settings import Paths, Settings
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.insight.overview import build_overview
from excerpt.insight.overview_parts import DistinctiveLabel, Overview, SourceLocation
from excerpt.search.engine import Engine
from excerpt.service.event_loop import Failure
from excerpt.service.note_questions import AskPassage
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.line_drawing import TextStyle
from excerpt.tui.common.notice import Notice
from excerpt.tui.common.tab_bar import TabBar
from excerpt.tui.insight.overview_list import OverviewList
from excerpt.tui.insight.overview_pane import OverviewPane, TopicStatus, overview_disabled_reason
from excerpt.tui.memory.form import RememberDialog
from excerpt.tui.note.window import draw_note
from excerpt.tui.search.preview import Preview
from tests.tui.driver import (
    AppPilot,
    places_under,
    post_keys,
    screen_of,
    search,
    top_screen,
    until,
    until_index,
)

pytestmark = pytest.mark.programs

HIVE = (
    "---\ntags: [bees]\ncreated: 2025-0{month}-11\n---\n# {title}\n\n"
    "Bees {does}. See [[Queen]] and [[Ada Lovelace]].\n\n## In winter\n\nThe bees stay in the hive, {winter}.\n"
)
DOES = {
    "Queen": ("follow their queen when they swarm", "close around her"),
    "Honey": ("make honey out of nectar", "and live on honey"),
    "Smoke": ("grow calm when there is smoke", "no smoke is needed"),
    "Swarm": ("swarm in May, half of them with the old queen", "no swarm is seen"),
    "Frames": ("build combs into wooden frames", "the frames are left to them"),
}
OTHERS = (
    "Bread",
    "Ferry",
    "Harp",
    "Ladder",
    "Mirror",
    "Onion",
    "Piano",
    "River",
    "Soap",
    "Tunnel",
    "Umbrella",
    "Violin",
)


def bee_notes() -> dict[str, str]:
    notes = {
        f"Bees/{title}.md": HIVE.format(title=title, month=month, does=does, winter=winter)
        for month, (title, (does, winter)) in enumerate(DOES.items(), 1)
    }
    return notes | {f"{name}.md": f"# {name}\n\nWhat is known of one {name.lower()}.\n" for name in OTHERS}


@pytest.fixture(scope="module")
def bee_vault(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Paths]:
    """Build a vault of which a third is about bees, with its index."""
    root = tmp_path_factory.mktemp("bees")
    vault, user_paths = root / "vault", places_under(root / "home")
    for path, text in bee_notes().items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text, encoding="utf-8")
    build(vault, user_paths.index_folder(vault), Settings())
    return vault, user_paths


@pytest.fixture
def vault(tmp_path: Path, bee_vault: tuple[Path, Paths], user_paths: Paths) -> Path:
    original, kept = bee_vault
    folder = tmp_path / "vault"
    shutil.copytree(original, folder)
    shutil.copytree(kept.index_folder(original), user_paths.index_folder(folder))
    return folder


def overview_pane_of(app: App[None]) -> OverviewPane:
    return screen_of(app).query_one(OverviewPane)


def overview_rows_of(app: App[None]) -> OverviewList:
    return overview_pane_of(app).query_one(OverviewList)


def topic_of(app: App[None]) -> Input:
    return overview_pane_of(app).query_one("#topic", Input)


def query_of(app: App[None]) -> str:
    return screen_of(app).query_one("#query", Input).value


def parts_shown_whole(app: App[None]) -> list[str]:
    return [row.part for row in overview_rows_of(app).rows if row.is_first]


async def until_overview(pilot: AppPilot, topic: str) -> Overview:
    """Wait for the overview of that topic and the passage of the selected line."""

    def there() -> bool:
        shown = overview_pane_of(pilot.app).overview
        return shown is not None and shown.topic.strip() == topic and overview_pane_of(pilot.app).is_answered

    await until(pilot, there, f"the overview of {topic}")
    shown = overview_pane_of(pilot.app).overview
    assert shown is not None
    return shown


async def open_overview(pilot: AppPilot, topic: str) -> Overview:
    """Open the tab and type a topic."""
    await until_index(pilot)
    await pilot.press("f3")
    await until(pilot, lambda: topic_of(pilot.app).has_focus, "the tab")
    post_keys(pilot.app, *topic)
    return await until_overview(pilot, topic)


async def select_part(pilot: AppPilot, part: str) -> None:
    """Move the cursor to the first line of a part of the overview."""
    overview_rows_of(pilot.app).cursor = next(
        at for at, row in enumerate(overview_rows_of(pilot.app).rows) if row.part == part
    )
    await pilot.pause()
    await until(pilot, lambda: overview_pane_of(pilot.app).is_answered, "the passage")


# --- the topic --------------------------------------------------------------------------------------------------------


async def test_without_a_topic_the_tab_says_what_to_do(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await until_index(pilot)
        await pilot.press("f3")
        await pilot.pause()
        notice = overview_pane_of(app).query_one("#overview-notice", Notice)
        assert notice.display
        assert "Type a topic" in notice.empty_state.hint
        assert not overview_rows_of(app).display


async def test_the_query_of_the_search_becomes_the_topic(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "bees")
        await pilot.press("f3")
        shown = await until_overview(pilot, "bees")
        assert shown.main_notes[0].place.path.startswith("Bees/")
        assert topic_of(app).value == "bees"


async def test_another_query_replaces_a_topic_taken_from_the_search(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "bees")
        await pilot.press("f3")
        await until_overview(pilot, "bees")
        await pilot.press("f2", "ctrl+u", *"honey", "f3")
        await until_overview(pilot, "honey")


async def test_a_typed_topic_is_kept_whatever_is_searched(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await open_overview(pilot, "honey")
        await pilot.press("f2")
        await search(pilot, "bees")
        await pilot.press("f3")
        await pilot.pause()
        assert topic_of(app).value == "honey"


async def test_the_tab_shows_the_rows_of_the_engines_overview(app: ExcerptApp, bee_vault: tuple[Path, Paths]) -> None:
    async with app.run_test() as pilot:
        shown = await open_overview(pilot, "bees")
    vault, user_paths = bee_vault
    snapshot = Snapshot.open(user_paths.index_folder(vault), Settings())
    assert shown == build_overview(Engine(snapshot, Settings()), "bees")
    snapshot.close()


async def test_the_overview_follows_the_topic_while_it_is_typed(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await open_overview(pilot, "honey")
        await pilot.press("space", *"smoke")
        shown = await until_overview(pilot, "honey smoke")
        assert {note.place.title for note in shown.main_notes} >= {"Honey", "Smoke"}


async def test_a_topic_without_matches_is_reported(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await open_overview(pilot, "xyzzy")
        notice = overview_pane_of(app).query_one("#overview-notice", Notice)
        assert notice.display
        assert notice.empty_state.title == "No note is about xyzzy"
        await pilot.press("enter", "ctrl+y", "escape", "tab", "down")
        assert screen_of(app).query_one(TabBar).active == "overview"


async def test_a_failure_is_shown_in_place_of_the_rows(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await open_overview(pilot, "bees")
        # Check this first: a newer index would repeat the query and show its overview.
        overview_pane_of(app)._handle_overview_failure(
            Failure("overview", "The index cannot be used", "It is damaged.", "Wait.")
        )
        notice = overview_pane_of(app).query_one("#overview-notice", Notice)
        assert (notice.display, notice.empty_state.title, notice.empty_state.is_error) == (
            True,
            "The index cannot be used",
            True,
        )


async def test_a_changed_vault_updates_the_overview_and_keeps_the_selected_row(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    async with app.run_test() as pilot:
        before = await open_overview(pilot, "bees")
        await pilot.press("down")
        row = overview_rows_of(app).selected
        assert row is not None
        (vault / "Bees" / "Wax.md").write_text("# Wax\n\nBees make wax for their combs.\n", encoding="utf-8")
        await asyncio.to_thread(build, vault, user_paths.index_folder(vault), Settings())

        def newer() -> bool:
            shown = overview_pane_of(app).overview
            return shown is not None and shown.notes == before.notes + 1

        await until(pilot, newer, "the newer overview")
        selected = overview_rows_of(app).selected
        assert selected is not None
        assert selected.place.path == row.place.path


# --- the lines --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_every_part_fits_on_one_screen(app: ExcerptApp, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        shown = await open_overview(pilot, "bees")
        expected = ["main notes", "sections", "passages", "themes", "stands out", "names", "when"]
        present = [part for part in expected if part != "themes" or shown.themes]
        assert [part for part in parts_shown_whole(app) if part != "related"] == present
        assert overview_rows_of(app).row_count <= overview_rows_of(app).size.height
        told = overview_pane_of(app).query_one(TopicStatus).text
        assert told == f"{shown.fragments} passages in {shown.notes} of 17 notes"


async def test_a_key_shows_all_rows_and_keeps_the_cursor(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_overview(pilot, "bees")
        lines = overview_rows_of(app)
        await select_part(pilot, "when")
        shown, hidden_count, selected = lines.row_count, lines.hidden_count, lines.selected
        assert hidden_count
        await pilot.press("unbound-overview-all")
        assert (lines.row_count, lines.hidden_count) == (shown + hidden_count, 0)
        assert lines.selected is not None
        assert selected is not None
        assert lines.selected.item == selected.item
        await pilot.press("unbound-overview-all")
        assert lines.hidden_count == hidden_count


async def test_all_rows_of_one_part_can_be_shown(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_overview(pilot, "bees")
        lines = overview_rows_of(app)
        await select_part(pilot, "when")
        counts = Counter(row.part for row in lines.rows)
        hidden_count = next(row.hidden_count for row in reversed(lines.rows) if row.part == "when")
        assert hidden_count
        await pilot.press("escape", "right")
        assert Counter(row.part for row in lines.rows) == counts + Counter(when=hidden_count)
        await pilot.press("left")
        assert Counter(row.part for row in lines.rows) == counts


async def test_tab_cycles_through_the_parts(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_overview(pilot, "bees")
        seen = []
        for _ in range(len(parts_shown_whole(app)) + 1):
            row = overview_rows_of(app).selected
            assert row is not None
            seen.append(row.part)
            await pilot.press("tab")
        assert seen == [*parts_shown_whole(app), "main notes"]


async def test_a_smaller_window_shows_fewer_rows_of_each_part(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await open_overview(pilot, "bees")
        before = parts_shown_whole(app), overview_rows_of(app).row_count
        await pilot.resize_terminal(140, 25)
        await until(pilot, lambda: overview_rows_of(app).row_count < before[1], "the smaller list")
        assert parts_shown_whole(app) == before[0]


# --- the passage ------------------------------------------------------------------------------------------------------


async def test_the_passage_of_the_selected_row_is_beside_it_with_the_topic_highlighted(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await open_overview(pilot, "bees")
        preview = overview_pane_of(app).query_one(Preview)
        assert preview.display
        for part in ("main notes", "sections", "names"):
            await select_part(pilot, part)
            row, window = overview_rows_of(app).selected, preview.window
            assert row is not None
            assert window is not None
            assert window.fragment.path == row.place.path
            assert (window.fragment.line_start, window.fragment.line_end) == (row.place.line_start, row.place.line_end)
        await select_part(pilot, "main notes")
        window = preview.window
        assert window is not None
        marked = [run.text for line in window.lines for run in line.runs if "MATCH" in str(run.text_style)]
        assert {text.casefold() for text in marked} == {"bees"}


async def test_in_a_narrow_window_a_key_shows_the_passage_below(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_overview(pilot, "bees")
        preview, rows = overview_pane_of(app).query_one(Preview), overview_rows_of(app).rows
        assert not preview.size.height
        await pilot.press("escape", "v")
        await pilot.pause()
        assert overview_rows_of(app).rows == rows
        assert preview.size.height > 5
        assert overview_rows_of(app).size.height > 5
        await pilot.press("escape")
        await pilot.pause()
        assert not preview.size.height


async def test_in_a_very_short_window_the_passage_replaces_the_rows(app: ExcerptApp) -> None:
    async with app.run_test(size=(60, 15)) as pilot:
        await open_overview(pilot, "bees")
        await pilot.press("escape", "v")
        await pilot.pause()
        assert overview_pane_of(app).query_one(Preview).size.height > 5
        assert not overview_rows_of(app).size.height


async def test_a_topic_a_dialog_key_and_its_tags_can_arrive_in_one_read(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_overview(pilot, "honey")
        post_keys(app, "ctrl+u", *"smoke", "ctrl+r", *"calm")
        await until(pilot, lambda: isinstance(app.screen, RememberDialog), "the form")
        form = app.screen
        await until(pilot, lambda: form.query_one("#tags", Input).value == "calm", "the tags")
        assert overview_pane_of(app).topic == "smoke"
        assert "smoke" in form.query_one(TextArea).text


async def test_stop_words_of_a_topic_are_not_highlighted_in_passages(bee_vault: tuple[Path, Paths]) -> None:
    vault, user_paths = bee_vault
    snapshot = Snapshot.open(user_paths.index_folder(vault), Settings())
    engine = Engine(snapshot, Settings())
    topic = "the queen in the hive"
    window = AskPassage(draw_note, SourceLocation("Bees/Queen.md", "Queen", 7, 11), topic).answer(engine)
    assert window is not None
    marked = {run.text.casefold() for line in window.lines for run in line.runs if TextStyle.MATCH in run.text_style}
    assert marked == {"queen", "hive"}
    snapshot.close()


async def test_a_location_in_a_deleted_note_has_no_passage(bee_vault: tuple[Path, Paths]) -> None:
    vault, user_paths = bee_vault
    snapshot = Snapshot.open(user_paths.index_folder(vault), Settings())
    question = AskPassage(draw_note, SourceLocation("Bees/Gone.md", "Gone", 1, 2), "bees")
    assert question.answer(Engine(snapshot, Settings())) is None
    snapshot.close()


# --- the keys ---------------------------------------------------------------------------------------------------------


async def test_enter_opens_the_note_at_the_line(editor_arguments: Path, app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_overview(pilot, "bees")
        await select_part(pilot, "sections")
        row = overview_rows_of(app).selected
        assert row is not None
        await pilot.press("enter")
        await until(pilot, editor_arguments.exists, "the editor")
        assert editor_arguments.read_text(encoding="utf-8").strip().endswith(f"{row.place.path}:{row.place.line_start}")


async def test_searching_a_tag_inserts_its_filter_into_the_query(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        shown = await open_overview(pilot, "bees")
        await select_part(pilot, "stands out")
        row = overview_rows_of(app).selected
        assert row is not None
        assert isinstance(row.item, DistinctiveLabel)
        await pilot.press("unbound-overview-search")
        await until(pilot, lambda: screen_of(app).query_one(TabBar).active == "search", "the search")
        assert query_of(app).split() == sorted(("bees", row.item.filter), key=query_of(app).find)
        assert shown.standouts[0] == row.item


async def test_themes_and_notes_can_be_searched_too(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        shown = await open_overview(pilot, "bees")
        await pilot.press("unbound-overview-search")
        await until(pilot, lambda: screen_of(app).query_one(TabBar).active == "search", "the search")
        assert f'path:"/{shown.main_notes[0].place.path}"' in query_of(app)


async def test_an_overview_is_copied_as_markdown_with_its_token_count(
    app: ExcerptApp, user_paths: Paths, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        shown = await open_overview(pilot, "bees")
        await pilot.press("ctrl+y")
        await until(pilot, lambda: bool(list(user_paths.copies_folder().glob("*.md"))), "the copy")
        (file,) = user_paths.copies_folder().glob("*.md")
        assert file.read_text(encoding="utf-8") == shown.text
        await until(pilot, lambda: any("tokens" in toast.message for toast in app._notifications), "the toast")


async def test_copying_right_after_typing_uses_the_typed_topic(
    app: ExcerptApp, user_paths: Paths, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await open_overview(pilot, "bees")
        topic_of(app).value = "honey"
        await pilot.press("ctrl+y")
        await until(pilot, lambda: bool(list(user_paths.copies_folder().glob("*.md"))), "the copy")
        (file,) = user_paths.copies_folder().glob("*.md")
        assert file.read_text(encoding="utf-8").startswith("# Overview: honey\n")


async def test_the_passage_of_the_selected_row_can_be_copied_alone(
    app: ExcerptApp, user_paths: Paths, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await open_overview(pilot, "bees")
        await pilot.press("escape", "y")
        await until(pilot, lambda: bool(list(user_paths.copies_folder().glob("*.md"))), "the copy")
        (file,) = user_paths.copies_folder().glob("*.md")
        window = overview_pane_of(app).query_one(Preview).window
        assert window is not None
        assert file.read_text(encoding="utf-8") == window.fragment.text


async def test_the_passage_of_the_selected_row_can_be_remembered(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await open_overview(pilot, "bees")
        row = overview_rows_of(app).selected
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(top_screen(app), RememberDialog), "the form")
        assert row is not None
        note = bee_notes()[row.place.path].split("\n")
        kept = top_screen(app).query_one("#text", TextArea).text
        assert kept == "\n".join(note[row.place.line_start - 1 : row.place.line_end])


async def test_a_letter_typed_right_after_the_rows_got_the_focus_is_handled_by_them(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await open_overview(pilot, "bees")
        post_keys(app, "escape", "j")
        await until(pilot, lambda: overview_rows_of(app).cursor == 1, "the next line")
        assert topic_of(app).value == "bees"


async def test_escape_moves_to_the_rows_and_keeps_the_topic(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await open_overview(pilot, "bees")
        await pilot.press("escape", "escape")
        assert overview_rows_of(app).has_focus
        assert topic_of(app).value == "bees"
        await pilot.press("slash")
        assert topic_of(app).has_focus


def test_disabled_actions_of_the_overview_give_their_reason() -> None:
    assert (
        overview_disabled_reason("copy", topic=False, shown=False, is_waiting=False)
        == "No overview is shown. Type a topic first."
    )
    assert overview_disabled_reason("copy", topic=True, shown=False, is_waiting=True) == ""
