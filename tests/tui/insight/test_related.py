"""Tests of related notes in the side panel: their reasons, and following them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from excerpt.insight.related import Related, RelatedNote
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.notice import Notice
from excerpt.tui.insight.related import RelatedList, RelatedPanel
from excerpt.tui.questions import AskRelated
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.preview import Preview
from tests.tui.asked import failing
from tests.tui.conftest import AppPilot, pane_of, screen_of, search, titles, until


def panel_of(app: ExcerptApp) -> RelatedPanel:
    return screen_of(app).query_one(RelatedPanel)


def related_of(app: ExcerptApp) -> Related:
    related = panel_of(app).related
    assert related is not None
    return related


def selected(app: ExcerptApp) -> RelatedNote:
    note = panel_of(app).selected
    assert note is not None
    return note


def why_of(app: ExcerptApp) -> list[str]:
    why = panel_of(app).why
    return [why.render_line(y).text for y in range(why.size.height)]


async def press(pilot: AppPilot, app: ExcerptApp, *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
    await until(pilot, lambda: pane_of(app).side.is_answered and pane_of(app).is_up_to_date, "the answers")
    await pilot.pause()


async def opened_on(pilot: AppPilot, app: ExcerptApp, query: str) -> None:
    await search(pilot, app, query)
    await press(pilot, app, "unbound-related")
    await until(pilot, lambda: panel_of(app).related is not None, "related notes")
    await pilot.pause()


async def test_it_lists_the_notes_near_to_the_selected_fragment_with_links_and_score(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await opened_on(pilot, app, "devices change conflict")
        hit = screen_of(app).query_one(HitList).selected
        assert hit is not None
        assert (related_of(app).path, related_of(app).line) == (hit.fragment.path, hit.fragment.line_start)
        rows = screen_of(app).query_one(RelatedList)
        assert rows.row_count == len(related_of(app).notes) > 0
        drawn = rows.render_line(0).text
        for shown in (" 1 ", selected(app).title, f"{selected(app).score:.2f}", "████████"):
            assert shown in drawn


async def test_below_stand_the_sum_and_the_passages_side_by_side_where_it_is_wide(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await opened_on(pilot, app, "devices change conflict")
        shown = why_of(app)
        assert shown[0].strip().startswith(f"{selected(app).score:.2f} =")
        assert any("here" in line and "│ there" in line for line in shown)


async def test_enter_opens_the_note_at_the_passage(opened: Path, vault: Path, app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened_on(pilot, app, "devices change conflict")
        note = selected(app)
        await pilot.press("enter")
        await until(pilot, opened.exists, "the editor")
        assert f"{vault / note.path}:{note.line}" in opened.read_text()


async def test_another_reason_is_looked_at_by_the_arrows_round_and_round(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await opened_on(pilot, app, "devices change conflict")
        why = panel_of(app).why
        seen = [why.reason]
        while len(seen) < 2 or seen[-1] != seen[0]:
            await press(pilot, app, "right")
            seen.append(why.reason)
        await press(pilot, app, "left")
        assert why.reason == seen[-2]


async def test_the_reason_is_of_the_selected_note_before_that_is_drawn(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened_on(pilot, app, "devices change conflict")
        panel, first = panel_of(app), selected(app)
        panel.why.note = replace(first, matches=first.matches * 2)
        panel.why.reason = 1
        panel.rows.notes = (panel.why.note, replace(first, path="Other.md", mentions=(), matches=()))
        panel.rows.rows_changed(1)
        assert panel.reason is not None
        assert panel.reason.path == "Other.md"
        panel.action_reason(1)
        assert panel.why.note is panel.rows.notes[1]


async def test_following_takes_the_passage_view_along_and_one_can_return(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await opened_on(pilot, app, "devices change conflict")
        begun, there = related_of(app).path, selected(app).matches[0].there.fragment
        preview = screen_of(app).query_one("#preview", Preview)
        await press(pilot, app, "l")
        assert related_of(app).path == there.path
        await until(pilot, lambda: preview.window is not None and preview.window.fragment.id == there.id, "the passage")
        await press(pilot, app, "backspace")
        assert related_of(app).path == begun
        await until(pilot, lambda: preview.window is not None and preview.window.fragment.path == begun, "the passage")
        await press(pilot, app, "backspace")
        assert [toast.message for toast in app._notifications] == ["This is where you came from."]


async def test_it_is_asked_of_the_whole_note_or_of_the_fragment(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened_on(pilot, app, "devices change conflict")
        await press(pilot, app, "unbound-related-note")
        assert related_of(app).line is None
        assert "the whole note" in str(panel_of(app).border_title)
        await press(pilot, app, "unbound-related-note")
        assert related_of(app).line is not None


async def test_tab_and_space_mark_the_passage_that_is_looked_at(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await opened_on(pilot, app, "devices change conflict")
        wanted = selected(app).matches[0].there.fragment.id
        await press(pilot, app, "tab")
        assert pane_of(app).pack.choices.marked == {wanted}
        assert "●" in screen_of(app).query_one(RelatedList).render_line(0).text
        await press(pilot, app, "g", "space")
        assert not pane_of(app).pack.choices.marked


async def test_it_follows_the_selection_of_the_list(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await opened_on(pilot, app, "conflict")
        rows = screen_of(app).query_one(HitList)
        before = rows.selected
        assert len(titles(app)) > 1
        await press(pilot, app, "slash", "down")
        assert rows.selected is not None
        assert rows.selected != before
        await until(
            pilot,
            lambda: related_of(app).fragment is not None and related_of(app).fragment == rows.selected.fragment,  # type: ignore[union-attr]
            "the other fragment's",
        )


async def test_without_a_fragment_it_says_what_it_is_for(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: screen_of(app).index.state.status is not None, "the index")
        await press(pilot, app, "unbound-related")
        assert panel_of(app).query_one(Notice).said.title == "Nothing is selected"
        await press(pilot, app, "l", "space", "right", "enter", "tab")
        assert panel_of(app).related is None


async def test_a_note_that_is_gone_and_what_goes_wrong_are_told(
    app: ExcerptApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened_on(pilot, app, "conflict")
        pane, notice = pane_of(app), panel_of(app).query_one(Notice)
        pane.side._related_loaded(None)
        await until(pilot, lambda: notice.said.title == "That note is not in the index any more", "the notice")
        monkeypatch.setattr(AskRelated, "answer", failing("[x] cannot be read."))
        pane.search()
        await until(pilot, lambda: notice.said.sentence == "[x] cannot be read.", "the trouble")
        assert notice.display


async def test_hostile_titles_are_drawn_as_they_are_written(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await opened_on(pilot, app, "markup hostile")
        assert related_of(app).path == "Hostile [bold]x.md"
        assert r"\[bold]x" in str(panel_of(app).border_title) or "[/red]" in str(panel_of(app).border_title)


async def test_it_breaks_nothing_in_a_window_of_sixty_by_fifteen(app: ExcerptApp) -> None:
    async with app.run_test(size=(60, 15)) as pilot:
        await opened_on(pilot, app, "conflict")
        assert panel_of(app).size.height > 4
        rows = panel_of(app).rows
        assert rows.render_line(0).cell_length == rows.size.width - 1
