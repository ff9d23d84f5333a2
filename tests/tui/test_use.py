"""Tests that notes opened and copied in the app are logged for ranking, and only there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Static

from excerpt.search.usage import UsedHit, UseEvent, UseLog
from excerpt.settings import Paths, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.messages import CopyRequested, EditRequested
from excerpt.tui.search.why_view import WhyView
from tests.tui.driver import AppPilot, drawn_lines, hit_list_of, screen_of, search, until, until_answered


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
