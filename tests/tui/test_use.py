"""Tests that notes opened and copied in the app are logged for ranking, and only there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Static

from excerpt.search.usage import UsedHit, UseEvent, UseLog
from excerpt.settings import Paths, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.bars import KeyBar
from excerpt.tui.messages import CopyRequested, EditRequested
from excerpt.tui.palette import list_commands
from excerpt.tui.search.why_view import WhyView
from tests.tui.driver import (
    AppPilot,
    drawn_lines,
    hit_list_of,
    pane_of,
    screen_of,
    search,
    search_and_wait,
    settle,
    side_of,
    until,
    until_answered,
)

pytestmark = pytest.mark.programs


@pytest.fixture
def log(vault: Path, user_paths: Paths) -> UseLog:
    return UseLog(user_paths.use_file(vault))


def acts(events: tuple[UseEvent, ...]) -> list[tuple[str, str, str]]:
    return [(event.kind.value, event.query, event.path) for event in events]


async def until_copied(pilot: AppPilot, user_paths: Paths, count: int) -> None:
    await until(pilot, lambda: len(list(user_paths.copies_folder().glob("*.md"))) == count, "the copy")


async def test_opening_a_hit_is_kept_with_its_query_and_the_notes_above(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await pilot.press("down", "down")
        hit, hits = hit_list_of(app).selected, hit_list_of(app).hits
        assert hit is not None
        await pilot.press("enter")
        await until(pilot, lambda: bool(log.events()), "the event")
    (event,) = log.events()
    assert acts((event,)) == [("opened", "conflict", hit.fragment.path)]
    assert (event.fragment, event.rank) == (hit.fragment.id, hits.index(hit) + 1)
    assert event.above == tuple(dict.fromkeys(one.fragment.path for one in hits))[:1]


async def test_copying_a_pack_of_the_best_hits_teaches_nothing(
    app: ExcerptApp, user_paths: Paths, log: UseLog, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await until_answered(pilot)
        await pilot.press("ctrl+y")
        await until_copied(pilot, user_paths, 1)
    assert log.events() == ()


async def test_copying_marked_hits_is_one_act_for_the_queries_of_their_marks(
    app: ExcerptApp, log: UseLog, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "lentil", "tab", "ctrl+u")
        await search(pilot, "conflict", "tab")
        await until_answered(pilot)
        assert log.events() == ()
        await pilot.press("ctrl+y")
        await until(pilot, lambda: bool(log.events()), "the events")
    events = log.events()
    assert [(event.kind.value, event.query) for event in events] == [("marked", "lentil"), ("marked", "conflict")]
    assert sum(event.share for event in events) == pytest.approx(1)


async def test_a_mark_that_was_removed_teaches_nothing(
    app: ExcerptApp, user_paths: Paths, log: UseLog, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "lentil")
        await pilot.press("tab", "up", "tab")
        await until_answered(pilot)
        await pilot.press("ctrl+y")
        await until_copied(pilot, user_paths, 1)
    assert log.events() == ()


async def test_copying_a_fragment_is_kept(app: ExcerptApp, log: UseLog, quiet_clipboard: None) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "lentil")
        await pilot.press("unbound-copy-fragment")
        await until(pilot, lambda: bool(log.events()), "the event")
    assert acts(log.events()) == [("copied", "lentil", "Cooking/Lentil soup.md")]


async def test_copying_a_memory_teaches_nothing(
    app: ExcerptApp, user_paths: Paths, log: UseLog, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        screen_of(app).post_message(CopyRequested("a thought", "Memory", None))
        await until_copied(pilot, user_paths, 1)
    assert log.events() == ()


async def test_opening_a_file_that_is_no_hit_teaches_nothing(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test() as pilot:
        screen_of(app).post_message(EditRequested("Sync.md", 1))
        await until(pilot, editor_arguments.exists, "the editor")
    assert log.events() == ()


async def test_a_note_that_cannot_be_opened_is_not_kept(app: ExcerptApp, log: UseLog) -> None:
    async with app.run_test() as pilot:
        screen_of(app).post_message(EditRequested("Gone.md", 1, used=UsedHit("gone", "Gone.md", "", 1)))
        await until(pilot, lambda: bool(app._notifications), "the toast")
    assert log.events() == ()


async def test_switched_off_nothing_is_kept(vault: Path, user_paths: Paths, log: UseLog, quiet_clipboard: None) -> None:
    settings = Settings()
    settings = replace(settings, search=replace(settings.search, learn=False))
    app = ExcerptApp(vault, settings, user_paths)
    async with app.run_test() as pilot:
        await search(pilot, "lentil")
        await pilot.press("unbound-copy-fragment")
        await until_copied(pilot, user_paths, 1)
    assert not log.file.parent.exists()


async def test_a_log_that_cannot_be_written_is_told_once_and_stops_nothing(
    app: ExcerptApp, user_paths: Paths, log: UseLog, quiet_clipboard: None
) -> None:
    log.file.mkdir(parents=True)
    async with app.run_test() as pilot:
        await search(pilot, "lentil")
        for count in (1, 2):
            await pilot.press("unbound-copy-fragment")
            await until_copied(pilot, user_paths, count)
        await until(pilot, lambda: any("cannot be saved" in toast.message for toast in app._notifications), "the toast")
        await pilot.pause()
        told = [toast for toast in app._notifications if "cannot be saved" in toast.message]
    assert len(told) == 1
    assert told[0].severity == "information"


async def test_forget_this_takes_back_what_the_selected_hit_gained(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        before = hit_list_of(app).hits
        await pilot.press("enter")
        await until(pilot, lambda: bool(log.events()), "the event")
        await pilot.press("ctrl+u")
        await search(pilot, "lentil", "ctrl+u")
        await search(pilot, "conflict")
        selected = hit_list_of(app).selected
        assert selected is not None
        assert [use.query for use in selected.past_uses] == ["conflict"]
        assert "opened for this once" in drawn_lines(hit_list_of(app))[0]
        await pilot.press("unbound-forget-uses")
        await until(pilot, lambda: hit_list_of(app).hits == before, "the list of before")
    assert log.events() == ()


async def test_a_click_in_why_forgets_too(editor_arguments: Path, app: ExcerptApp, log: UseLog) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await search(pilot, "conflict")
        await pilot.press("enter")
        await until(pilot, lambda: bool(log.events()), "the event")
        await pilot.press("ctrl+u")
        await search(pilot, "lentil", "ctrl+u")
        await search(pilot, "conflict", "ctrl+t")
        view = screen_of(app).query_one(WhyView).query_one(Static)
        await until(pilot, lambda: "Forget this" in "".join(drawn_lines(view)), "what can be forgotten")
        line = next(at for at, text in enumerate(drawn_lines(view)) if "Forget this" in text)
        await pilot.click(view, offset=(3, line))
        await until(pilot, lambda: log.events() == (), "nothing")


# --- finding again, from start to end ---------------------------------------------------------------------------------


async def open_selected(pilot: AppPilot, log: UseLog) -> str:
    """Open the selected hit in the editor, wait for the event, and return the id of its fragment."""
    hit, count = hit_list_of(pilot.app).selected, len(log.events())
    assert hit is not None
    await pilot.press("enter")
    await until(pilot, lambda: len(log.events()) > count, "the event")
    return hit.fragment.id


async def find_again(pilot: AppPilot, log: UseLog) -> str:
    """Open the second hit of a query, clear it, type it again, and return the id of that hit's fragment."""
    await search_and_wait(pilot, "keep")
    await pilot.press("down")
    fragment = await open_selected(pilot, log)
    await pilot.press("ctrl+u")
    await until(pilot, lambda: pane_of(pilot.app).result is None, "the empty query")
    await search(pilot, "keep")
    await settle(pilot)
    return fragment


def first_fragment(app: ExcerptApp) -> str:
    return hit_list_of(app).hits[0].fragment.id


async def show_why(pilot: AppPilot) -> None:
    """Show why the selected hit has its rank, and focus that view."""
    await pilot.press("ctrl+t")
    await until_answered(pilot)
    side_of(pilot.app).why.focus()
    await pilot.pause()


async def test_a_list_keeps_its_order_and_its_cursor_after_a_hit_of_it_was_opened(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test() as pilot:
        await search_and_wait(pilot, "keep")
        await pilot.press("down")
        hits, cursor = hit_list_of(app).hits, hit_list_of(app).cursor
        await open_selected(pilot, log)
        assert (hit_list_of(app).hits, hit_list_of(app).cursor) == (hits, cursor)
        pane_of(app).repeat_requests()
        await settle(pilot)
        assert (hit_list_of(app).hits, hit_list_of(app).cursor) == (hits, cursor)


async def test_what_was_opened_is_first_when_its_query_is_typed_again_and_why_says_so(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test(size=(140, 36)) as pilot:
        opened = await find_again(pilot, log)
        assert first_fragment(app) == opened
        await show_why(pilot)
        assert "You opened it for “keep” on" in " ".join(drawn_lines(why_text(app)))


async def test_why_forgets_by_a_key_that_the_footer_names_and_shows_the_new_rank(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test(size=(140, 36)) as pilot:
        opened = await find_again(pilot, log)
        assert not names_forget(app)
        await show_why(pilot)
        assert names_forget(app)
        await pilot.press("x")
        await until(pilot, lambda: first_fragment(app) != opened, "the list without it")
        await until_answered(pilot)
        selected = hit_list_of(app).selected
        assert selected is not None
        assert selected.fragment.id == opened
        assert not names_forget(app)
        assert drawn_lines(why_text(app))[0].startswith("2nd:")
    assert log.events() == ()


async def test_a_click_on_forget_this_forgets(editor_arguments: Path, app: ExcerptApp, log: UseLog) -> None:
    async with app.run_test(size=(140, 36)) as pilot:
        opened = await find_again(pilot, log)
        await pilot.press("ctrl+t")
        await until_answered(pilot)
        why = why_text(app)
        lines = drawn_lines(why)
        row = next(number for number, line in enumerate(lines) if "Forget this" in line)
        await pilot.click(why, offset=(lines[row].index("Forget this") + 3, row))
        await until(pilot, lambda: first_fragment(app) != opened, "the list without it")
    assert log.events() == ()


async def test_why_of_a_hit_that_was_never_opened_offers_nothing_to_forget(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 36)) as pilot:
        await search_and_wait(pilot, "conflict")
        await show_why(pilot)
        assert not names_forget(app)
        assert "Forget this" not in " ".join(drawn_lines(why_text(app)))


async def test_the_palette_offers_forget_this_once_wherever_the_focus_is(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test(size=(140, 36)) as pilot:
        await find_again(pilot, log)
        for focus_why in (False, True):
            if focus_why:
                await show_why(pilot)
            offers = [each for each in list_commands(app.screen) if each.what.startswith("Forget this")]
            assert [(each.is_active, each.is_enabled) for each in offers] == [(True, True)]


def why_text(app: ExcerptApp) -> Static:
    return side_of(app).why.query_one(Static)


def names_forget(app: ExcerptApp) -> bool:
    return "why-forget" in {each.id for each in screen_of(app).query_one(KeyBar).footer_keys}
