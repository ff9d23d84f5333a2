"""Tests of related notes in the side panel: their reasons, and following them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from excerpt.base.model import Fragment, Signal
from excerpt.base.settings import Paths, Settings
from excerpt.insight.results import LinkDirection, RelatedNote, RelatedNotes
from excerpt.service.questions import AskRelated
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.notice import EmptyState, Notice
from excerpt.tui.insight.related import (
    MIN_SIDE_BY_SIDE_CELLS,
    RelatedList,
    RelatedPanel,
    WhyLine,
    draw_why_lines,
    initial_reason_number,
    list_reasons,
)
from tests.pack.vaults import Vault
from tests.tui.driver import (
    drawn_lines,
    failing_answer,
    hit_list_of,
    listed_titles,
    notices_of,
    pane_of,
    press,
    preview_of,
    screen_of,
    search,
    until,
    until_index,
)
from tests.tui.examples import make_related_note


def panel_of(app: ExcerptApp) -> RelatedPanel:
    return screen_of(app).query_one(RelatedPanel)


def related_of(app: ExcerptApp) -> RelatedNotes:
    related = panel_of(app).related
    assert related is not None
    return related


def selected_note(app: ExcerptApp) -> RelatedNote:
    note = panel_of(app).selected
    assert note is not None
    return note


@pytest.mark.programs
async def test_the_panel_lists_notes_related_to_the_selected_fragment_with_links_and_score(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "devices change conflict", "unbound-related")
        hit = hit_list_of(app).selected
        assert hit is not None
        assert (related_of(app).path, related_of(app).line) == (hit.fragment.path, hit.fragment.line_start)
        rows = screen_of(app).query_one(RelatedList)
        assert rows.row_count == len(related_of(app).notes) > 0
        drawn = rows.render_line(0).text
        for shown in (" 1 ", selected_note(app).title, f"{selected_note(app).score:.2f}", "████████"):
            assert shown in drawn


@pytest.mark.programs
async def test_the_score_and_both_passages_are_shown_below_the_list(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "devices change conflict", "unbound-related")
        shown = drawn_lines(panel_of(app).why)
        assert shown[0].strip().startswith(f"{selected_note(app).score:.2f} =")
        assert any("here" in line and "│ there" in line for line in shown)


@pytest.mark.programs
async def test_enter_opens_the_note_at_the_passage(editor_arguments: Path, vault: Path, app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "devices change conflict", "unbound-related")
        note = selected_note(app)
        await pilot.press("enter")
        await until(pilot, editor_arguments.exists, "the editor")
        assert f"{vault / note.path}:{note.line}" in editor_arguments.read_text()


@pytest.mark.programs
async def test_arrows_cycle_through_the_reasons(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "devices change conflict", "unbound-related")
        why = panel_of(app).why
        seen = [why.reason]
        while len(seen) < 2 or seen[-1] != seen[0]:
            await press(pilot, "right")
            seen.append(why.reason)
        await press(pilot, "left")
        assert why.reason == seen[-2]


@pytest.mark.programs
async def test_a_reason_belongs_to_the_selected_note_even_before_it_is_drawn(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "devices change conflict", "unbound-related")
        panel, first = panel_of(app), selected_note(app)
        panel.why.note = replace(first, matches=first.matches * 2)
        panel.why.reason = 1
        panel.rows.notes = (panel.why.note, replace(first, path="Other.md", mentions=(), matches=()))
        panel.rows.redraw_rows(1)
        assert panel.reason is not None
        assert panel.reason.path == "Other.md"
        panel.action_reason(1)
        assert panel.why.note is panel.rows.notes[1]


@pytest.mark.programs
async def test_following_a_related_note_shows_it_in_the_passage_view_and_returning_restores_the_view(
    app: ExcerptApp,
) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "devices change conflict", "unbound-related")
        begun, there = related_of(app).path, selected_note(app).matches[0].related_passage.fragment
        preview = preview_of(app)
        await press(pilot, "l")
        assert related_of(app).path == there.path
        await until(pilot, lambda: preview.window is not None and preview.window.fragment.id == there.id, "the passage")
        await press(pilot, "backspace")
        assert related_of(app).path == begun
        await until(pilot, lambda: preview.window is not None and preview.window.fragment.path == begun, "the passage")
        await press(pilot, "backspace")
        assert notices_of(app) == ["There is no way back: this is the passage that you started from."]


@pytest.mark.programs
async def test_the_panel_can_be_for_the_whole_note_or_the_fragment(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "devices change conflict", "unbound-related")
        await press(pilot, "unbound-related-note")
        assert related_of(app).line is None
        assert "the whole note" in str(panel_of(app).border_title)
        await press(pilot, "unbound-related-note")
        assert related_of(app).line is not None


@pytest.mark.programs
async def test_a_key_hides_linked_notes_and_the_title_counts_them(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "devices change conflict", "unbound-related")
        every = related_of(app).notes
        await press(pilot, "x")
        assert related_of(app).notes == tuple(note for note in every if note.linked is LinkDirection.NO)
        hidden = len(every) - len(related_of(app).notes)
        assert str(panel_of(app).border_title).startswith(f"not linked yet, {hidden} hidden")
        await press(pilot, "x")
        assert related_of(app).notes == every


@pytest.mark.programs
async def test_if_all_notes_are_linked_the_panel_says_how_to_show_them(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "devices change conflict", "unbound-related", "x")
        panel_of(app).related = replace(related_of(app), notes=(), hidden=3)
        assert panel_of(app).query_one(Notice).empty_state == EmptyState(
            "No related notes without a link", "All 3 related notes are linked with this note. x shows them."
        )


@pytest.mark.programs
async def test_hiding_linked_notes_is_remembered(app: ExcerptApp, vault: Path, user_paths: Paths) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "devices change conflict", "unbound-related", "x")
        await screen_of(app).save_state()
    again = ExcerptApp(vault, Settings(), user_paths)
    async with again.run_test(size=(80, 24)) as pilot:
        await until_index(pilot)
        assert pane_of(again).side.insight.hides_linked


@pytest.mark.programs
async def test_tab_and_space_mark_the_passage_of_the_reason(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "devices change conflict", "unbound-related")
        wanted = selected_note(app).matches[0].related_passage.fragment.id
        await press(pilot, "tab")
        assert pane_of(app).pack.choices.marked_ids == {wanted}
        assert "●" in screen_of(app).query_one(RelatedList).render_line(0).text
        await press(pilot, "g", "space")
        assert not pane_of(app).pack.choices.marked_ids


@pytest.mark.programs
async def test_the_panel_follows_the_selection_of_the_list(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "conflict", "unbound-related")
        rows = hit_list_of(app)
        before = rows.selected
        assert len(listed_titles(app)) > 1
        await press(pilot, "slash", "down")
        assert rows.selected is not None
        assert rows.selected != before
        await until(
            pilot,
            lambda: related_of(app).fragment is not None and related_of(app).fragment == rows.selected.fragment,  # type: ignore[union-attr]
            "the other fragment's",
        )


@pytest.mark.programs
async def test_if_no_fragment_is_selected_the_panel_says_what_to_do(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await until_index(pilot)
        await press(pilot, "unbound-related")
        assert panel_of(app).query_one(Notice).empty_state.title == "Nothing is selected"
        await press(pilot, "l", "space", "right", "enter", "tab")
        assert panel_of(app).related is None


@pytest.mark.programs
async def test_deleted_notes_and_failures_are_reported(app: ExcerptApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict", "unbound-related")
        pane, notice = pane_of(app), panel_of(app).query_one(Notice)
        pane.side._related_loaded(None)
        await until(pilot, lambda: notice.empty_state.title == "That note is no longer in the index", "the notice")
        monkeypatch.setattr(AskRelated, "answer", failing_answer("[x] cannot be read."))
        pane.search()
        await until(pilot, lambda: notice.empty_state.sentence == "[x] cannot be read.", "the trouble")
        assert notice.display


@pytest.mark.programs
async def test_hostile_titles_are_drawn_as_text(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "markup hostile", "unbound-related")
        assert related_of(app).path == "Hostile [bold]x.md"
        assert r"\[bold]x" in str(panel_of(app).border_title) or "[/red]" in str(panel_of(app).border_title)


@pytest.mark.programs
async def test_the_panel_works_in_a_window_of_sixty_by_fifteen(app: ExcerptApp) -> None:
    async with app.run_test(size=(60, 15)) as pilot:
        await search(pilot, "conflict", "unbound-related")
        assert panel_of(app).size.height > 4
        rows = panel_of(app).rows
        assert rows.render_line(0).cell_length == rows.size.width - 1


FRAGMENTS = Vault(
    {
        "Here.md": "# Here\n\nWhere merging ends, a **sync conflict** begins, and both are kept.\n",
        "There.md": "# There\n\nOf a conflict " + "much can be said, and more is said of sync. " * 30 + "\n",
        "中.md": "# 中\n\n" + "两台设备在同步之前修改了同一篇笔记" * 20 + " conflict\n",
    },
    "o200k",
).fragments
HERE, THERE, WIDE = (next(each for each in FRAGMENTS if each.path == path) for path in ("Here.md", "There.md", "中.md"))
MISSING = make_related_note(HERE, THERE, 0.6)


def texts(note: RelatedNote, width: int = 80) -> list[str]:
    return ["".join(text for text, _ in line.pieces) for line in draw_why_lines(note, width)]


def texts_of_style(line: WhyLine, style: str) -> list[str]:
    return [text for text, name in line.pieces if name == style]


def test_the_score_is_a_sum_with_the_largest_part_first() -> None:
    assert texts(MISSING)[0] == "0.60 = 0.30 words + 0.18 meaning + 0.11 common links + 0.01 tags"


def test_a_part_that_rounds_to_zero_is_omitted() -> None:
    note = RelatedNote("x.md", "x", 0.302, (Signal("words", 1, 0.3, 0.3), Signal("tags", 0.1, 0.02, 0.002)))
    assert texts(note) == ["0.30 = 0.30 words"]


def test_a_missing_link_is_highlighted_at_the_line_that_names_the_note() -> None:
    line = next(line for line in draw_why_lines(MISSING, 80) if texts_of_style(line, "badge"))
    assert "".join(text for text, _ in line.pieces) == "names  “merging” in Here.md:3 · no link yet"
    assert list_reasons(MISSING)[0].path == "Here.md"
    assert list_reasons(MISSING)[0].line == 3


def test_notes_that_link_each_other_have_no_missing_link() -> None:
    shown = texts(make_related_note(HERE, THERE, 0.6, LinkDirection.BOTH))
    assert "links  They link to each other." in shown
    assert not any("no link yet" in line for line in shown)


def test_common_links_and_shared_words_are_listed_with_their_kind() -> None:
    shown = texts(MISSING)
    assert "common both link to Kitchen" in shown
    assert "common link to both: Index [x]" in shown
    assert "words  conflict (3 notes) [/red] (5)" in shown
    assert "tags   #sync #howto" in shown


def test_the_initial_reason_is_the_best_passage() -> None:
    reason = list_reasons(MISSING)[initial_reason_number(MISSING)]
    assert (reason.path, reason.line, reason.fragment) == ("There.md", THERE.line_start, THERE)


def test_for_a_related_note_without_reasons_the_list_of_reasons_has_the_note_itself() -> None:
    bare = RelatedNote("x.md", "x", 0.1, ())
    assert [(reason.path, reason.line) for reason in list_reasons(bare)] == [("x.md", 1)]


def test_each_reason_for_a_related_note_states_its_lines() -> None:
    numbers = {line.reason for line in draw_why_lines(MISSING, 80)} - {None}
    assert numbers == set(range(len(list_reasons(MISSING))))


def test_passages_are_side_by_side_if_they_fit_and_stacked_otherwise() -> None:
    beside = [line for line in texts(MISSING, MIN_SIDE_BY_SIDE_CELLS) if line.startswith("here ")]
    below = [line for line in texts(MISSING, MIN_SIDE_BY_SIDE_CELLS - 1) if line.startswith(("here ", "there "))]
    assert ["│ there" in line for line in beside] == [True]
    assert [line.split()[0] for line in below] == ["here", "there"]


def test_shared_words_are_highlighted_in_both_passages() -> None:
    marked = {text.casefold() for line in draw_why_lines(MISSING, 100)[2:] for text in texts_of_style(line, "match")}
    assert marked == {"conflict", "sync"}


@pytest.mark.parametrize("width", [20, 40, MIN_SIDE_BY_SIDE_CELLS, 75, 106])
@pytest.mark.parametrize("there", [THERE, WIDE], ids=["latin", "wide"])
def test_matching_passages_fit_the_width_of_the_panel(width: int, there: Fragment) -> None:
    note = make_related_note(HERE, there, 0.6, LinkDirection.BOTH)
    passages = [line for line in draw_why_lines(note, width) if line.reason is not None]
    assert passages
    assert max(sum(cell_len(text) for text, _ in line.pieces) for line in passages) <= width
