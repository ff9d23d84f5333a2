"""Tests of the Search tab on a real vault: search, read, mark, pack, copy."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from textual.widgets import Input, Static

from excerpt.base.kinds import Confidence, Strategy
from excerpt.base.settings import PackSettings, Paths, Settings
from excerpt.search.rank_reasons import format_rank
from excerpt.search.ranking import BOOST_WEIGHTS, SIGNALS
from excerpt.service.questions import AskSearch
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.notice import Notice
from excerpt.tui.index.controller import IndexController
from excerpt.tui.pack.bar import PackBar
from excerpt.tui.pack.dialogs import BudgetDialog
from excerpt.tui.search.query_bar import AnswerStatus, QueryStatus
from excerpt.tui.search.why_view import SIGNAL_LEGEND, WhyNot
from tests.tui.driver import (
    AppPilot,
    drawn_text,
    failing_answer,
    hit_list_of,
    listed_titles,
    notices_of,
    pane_of,
    post_keys,
    press,
    preview_of,
    screen_of,
    search,
    search_and_wait,
    status_text,
    top_screen,
    until,
    until_answered,
)

pytestmark = pytest.mark.programs


async def until_packed(pilot: AppPilot) -> PackBar:
    await until_answered(pilot)
    return screen_of(pilot.app).query_one(PackBar)


async def test_typing_finds_fragments_and_shows_the_first_in_its_context(app: ExcerptApp) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await search(pilot, "sync conflict")
        assert listed_titles(app)[0] == "Sync"
        preview = preview_of(app)
        await until(pilot, lambda: preview.window is not None, "the context")
        assert preview.window is not None
        selected = hit_list_of(app).selected
        assert selected is not None
        assert preview.window.fragment.id == selected.fragment.id


async def test_the_query_has_the_focus_and_arrows_move_in_the_list(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        rows = hit_list_of(app)
        await pilot.press("down")
        assert rows.cursor == 1
        await pilot.press("ctrl+p")
        assert rows.cursor == 0
        assert isinstance(app.focused, Input)


async def test_tab_marks_a_hit_moves_on_and_packs_the_marks(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        bar = await until_packed(pilot)
        first = hit_list_of(app).hits[0].fragment
        await pilot.press("tab")
        assert bar.mark_count == 1
        assert hit_list_of(app).cursor == 1
        await until(
            pilot, lambda: bar.pack is not None and {p.path for p in bar.pack.passages} == {first.path}, "its pack"
        )


async def test_marks_are_kept_when_another_query_is_typed(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await pilot.press("tab", "ctrl+u")
        await search(pilot, "lentil")
        bar = screen_of(app).query_one(PackBar)
        assert bar.mark_count == 1
        await until(pilot, lambda: bar.pack is not None and bar.pack.query == "lentil", "the pack")
        assert bar.pack is not None
        assert {one.path for one in bar.pack.passages} <= {"Sync.md", "Merging.md"}


async def test_copying_also_saves_the_pack_as_a_file_and_names_it(
    app: ExcerptApp, user_paths: Paths, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        bar = await until_packed(pilot)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: bool(list(user_paths.copies_folder().glob("*.md"))), "the copy")
        (file,) = user_paths.copies_folder().glob("*.md")
        assert bar.pack is not None
        assert file.read_text(encoding="utf-8") == bar.pack.text
        tokens = f"{bar.pack.tokens:,} tokens"
        await until(pilot, lambda: any(tokens in toast.message for toast in app._notifications), "the toast")


async def test_copying_right_after_typing_uses_the_typed_query(
    app: ExcerptApp, user_paths: Paths, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await until_packed(pilot)
        screen_of(app).query_one("#query", Input).value = "lentils"
        await pilot.press("ctrl+y")
        await until(pilot, lambda: bool(list(user_paths.copies_folder().glob("*.md"))), "the copy")
        (file,) = user_paths.copies_folder().glob("*.md")
        assert "Simmer red lentils" in file.read_text(encoding="utf-8").split("\n## [2]")[0]


async def test_a_fragment_is_copied_as_it_is_in_the_note(
    app: ExcerptApp, user_paths: Paths, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "hostile")
        await pilot.press("unbound-copy-fragment")
        await until(pilot, lambda: bool(list(user_paths.copies_folder().glob("*.md"))), "the copy")
        (file,) = user_paths.copies_folder().glob("*.md")
        assert "\x1b[31m" in file.read_text(encoding="utf-8")


async def test_the_budget_keys_change_the_pack_on_the_screen(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        bar = await until_packed(pilot)
        await pilot.press("unbound-budget-up")
        assert bar.pack_settings.budget == 3000
        await until(pilot, lambda: bar.pack is not None and bar.pack.budget == 3000, "the larger pack")
        await pilot.press("unbound-budget-down", "unbound-budget-down")
        await until(pilot, lambda: bar.pack is not None and bar.pack.budget == 1500, "the smaller pack")


async def test_a_typed_budget_is_used_or_its_mistake_reported(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict")
        await pilot.press("escape", "b", *"few", "enter")
        assert isinstance(top_screen(app), BudgetDialog)
        assert "such as 4000 or 4k" in str(top_screen(app).query_one("#message", Static).content)
        await pilot.press("ctrl+u", *"1k", "enter")
        await until(pilot, lambda: pane_of(app).budget == 1_000, "the budget")


async def test_the_pack_is_copied_with_the_budget_just_typed(
    app: ExcerptApp, user_paths: Paths, quiet_clipboard: None
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict")
        post_keys(app, "escape", "b", *"99", "ctrl+y")
        await until(pilot, lambda: bool(list(user_paths.copies_folder().glob("*.md"))), "the copy")
        packed = pane_of(app).pack.newest_pack
        assert packed is not None
        assert packed.result.budget == 99
        assert packed.result.tokens <= 99
        (file,) = user_paths.copies_folder().glob("*.md")
        assert file.read_text(encoding="utf-8") == packed.text


async def test_a_key_cycles_through_the_strategies(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await pilot.press("ctrl+s")
        pane = pane_of(app)
        assert pane_of(app).strategy is Strategy.ADAPTIVE
        await until(pilot, lambda: pane.result is not None and pane.result.strategy is Strategy.ADAPTIVE, "its answer")
        for _ in range(len(Strategy) - 1):
            await pilot.press("ctrl+s")
        assert pane_of(app).strategy is Strategy.AUTO


async def test_enter_opens_the_note_in_the_editor_at_the_line(
    editor_arguments: Path, app: ExcerptApp, vault: Path
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        hit = hit_list_of(app).selected
        assert hit is not None
        await pilot.press("enter")
        await until(pilot, editor_arguments.exists, "the editor")
        place = f"{vault / hit.fragment.path}:{hit.fragment.line_start}"
        assert editor_arguments.read_text().splitlines() == ["--goto", place]


async def test_escape_closes_what_is_open_then_moves_to_the_list_and_never_clears_the_query(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        field, rows = screen_of(app).query_one("#query", Input), hit_list_of(app)
        await pilot.press("ctrl+o", "slash", "escape")
        assert (field.has_focus, pane_of(app).pack_panel.display) == (True, False)
        await pilot.press("escape")
        assert rows.has_focus
        await pilot.press("shift+tab", "escape")
        assert rows.has_focus
        await pilot.press("escape")
        assert field.value == "conflict"


async def test_the_focused_list_handles_single_letters(
    app: ExcerptApp, user_paths: Paths, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await pilot.press("shift+tab", "j", "space", "k", "y")
        assert screen_of(app).query_one(PackBar).mark_count == 1
        await until(pilot, lambda: bool(list(user_paths.copies_folder().glob("*.md"))), "the copy")
        await pilot.press("slash")
        assert screen_of(app).query_one("#query", Input).has_focus


async def test_an_empty_result_names_what_was_searched(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, '"xyzzyqwv"')
        notice = screen_of(app).query_one("#notice", Notice)
        assert listed_titles(app) == []
        assert notice.display
        assert "xyzzyqwv" in notice.empty_state.title
        assert "words, proximity and meaning" in notice.empty_state.sentence


async def test_without_hits_enter_searches_the_suggested_query(app: ExcerptApp, editor_arguments: Path) -> None:
    async with app.run_test() as pilot:
        await search(pilot, '"lentl"')
        notice = screen_of(app).query_one("#notice", Notice)
        await until(pilot, lambda: notice.empty_state.title.startswith('Did you mean "lentil"?'), "the other query")
        await pilot.press("enter")
        await until(pilot, lambda: listed_titles(app) == ["Lentil soup"], "its hits")
        assert pane_of(app).query_text == '"lentil"'
        assert not editor_arguments.exists()


async def test_above_hits_without_an_answer_the_suggested_query_is_taken_by_completion(
    app: ExcerptApp,
) -> None:
    async with app.run_test(size=(140, 30)) as pilot:
        await search(pilot, "confkixt")
        await until(pilot, lambda: "did you mean conflict? ^space takes it" in drawn_text(app), "the other query")
        await pilot.press("ctrl+space")
        await until(pilot, lambda: pane_of(app).query_text == "conflict", "the other query in the bar")


async def test_the_status_names_the_strategy_used_if_the_chosen_one_finds_nothing(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press("ctrl+s")
        await search(pilot, "xyzzyqwv")
        assert " · adaptive: semantic · " in status_text(app)


async def test_a_strategy_forced_in_the_query_is_named_and_ctrl_s_explains_how_to_change_it(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "!s conflict")
        assert " · semantic · " in status_text(app)
        await pilot.press("ctrl+s")
        assert pane_of(app).strategy is Strategy.AUTO
        assert notices_of(app) == ["The query sets the strategy semantic. Remove the ! to choose another."]


async def test_ctrl_s_explains_the_next_strategy_in_one_line(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press(*["ctrl+s"] * len(Strategy))
        assert [notice.partition(":")[0] for notice in notices_of(app)] == [*list(Strategy)[1:], Strategy.AUTO]
        assert all(len(notice) <= 76 for notice in notices_of(app))


async def test_the_strategy_that_found_nothing_is_named_in_the_status(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press("ctrl+s")
        await search(pilot, "zzqqxx")
        result = pane_of(app).result
        assert result is not None
        assert result.strategy is Strategy.SEMANTIC
        pane_of(app).result = replace(result, confidence=Confidence.WEAK)
        assert " · adaptive found nothing · " in status_text(app)


@pytest.mark.parametrize(
    ("confidence", "word"),
    [(Confidence.STRONG, "strong"), (Confidence.UNSURE, "unsure"), (Confidence.NOTHING, "no answer")],
)
async def test_the_confidence_is_beside_the_strategy(app: ExcerptApp, confidence: Confidence, word: str) -> None:
    async with app.run_test() as pilot:
        await pilot.pause()
        status = screen_of(app).query_one(QueryStatus)
        status.answer = AnswerStatus(Strategy.AUTO, Strategy.HYBRID, 41, confidence)
        assert status_text(app) == f"{word} · auto: hybrid · 41 hits"
        status.answer = AnswerStatus(Strategy.HYBRID, Strategy.HYBRID, 41, confidence)
        assert status_text(app) == f"{word} · hybrid · 41 hits"
        status.answer = AnswerStatus(Strategy.HYBRID, Strategy.HYBRID, 0, Confidence.NOTHING)
        assert status_text(app) == "hybrid · 0 hits"


async def test_a_list_of_filters_has_its_order_and_no_strategy(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "tag:howto")
        assert status_text(app).split(" · ") == ["3 hits"]
        assert status_text(app, ends=True) == "newest first"


async def test_where_the_status_has_no_room_the_strategy_is_left_out_before_the_count(app: ExcerptApp) -> None:
    async with app.run_test(size=(28, 20)) as pilot:
        await pilot.pause()
        status = screen_of(app).query_one(QueryStatus)
        status.answer = AnswerStatus(Strategy.SEMANTIC, Strategy.SEMANTIC, 41, Confidence.LIKELY)
        assert status_text(app) == "likely · 41 hits"
        status.answer = AnswerStatus(Strategy.SEMANTIC, Strategy.SEMANTIC, 118_204_000_000, Confidence.LIKELY)
        assert status_text(app) == "likely"


async def test_the_key_of_a_correction_is_not_cut_while_cells_are_free(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        status = screen_of(app).query_one(QueryStatus)
        answer = AnswerStatus(Strategy.AUTO, Strategy.HYBRID, 41, Confidence.NOTHING, notice="the nearest are below")
        for correction in ("quarterly", "quarterly results", "quarterly foo-bar results of all years"):
            status.answer = structs.replace(answer, correction=correction)
            assert f"did you mean {correction}? ^space takes it" in str(status.render())
        status.answer = structs.replace(answer, correction="quarterly results " * 9)
        assert re.fullmatch(r"did you mean quarterly results .*…\? \^space takes it", str(status.render()).strip())


async def test_marks_of_another_question_do_not_hide_how_sure_the_answer_is(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "lentil")
        await press(pilot, "tab", "ctrl+u")
        await search(pilot, "conflict")
        status = screen_of(app).query_one(QueryStatus)
        assert re.search("(strong|likely).*1 mark of “lentil”: esc o show, x clear", str(status.render()))
        answer = AnswerStatus(
            Strategy.AUTO, Strategy.HYBRID, 41, Confidence.UNSURE, notice="no note has “quarterly deadline”"
        )
        status.answer = answer
        assert "unsure · no note has “quarterly deadline” · 1 mark: esc o show" in str(status.render())
        status.answer = structs.replace(answer, notice="", not_found="not found: deadline of the quarterly")
        assert "unsure · not found: deadline of the quarterly · 1 mark: esc o show" in str(status.render())
        await press(pilot, "escape", "x")
        assert "not found" not in str(status.render())


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (140, 45)])
async def test_the_offer_of_another_order_fits_every_terminal(app: ExcerptApp, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        status = screen_of(app).query_one(QueryStatus)
        offers = ("use_order", "suggest", "compare")
        for strategy, count in ((Strategy.HYBRID, 41), (Strategy.SEMANTIC, 118_204)):
            status.answer = AnswerStatus(Strategy.ADAPTIVE, strategy, count, Confidence.LIKELY, offers=offers)
            assert "new order" in str(status.render())
            assert "…" not in str(status.render())


async def test_without_hits_there_is_no_empty_panel_beside_the_list(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        assert pane_of(app).side.display
        await pilot.press("ctrl+u")
        await search(pilot, "tag:nowhere")
        assert not listed_titles(app)
        assert not pane_of(app).side.display


async def test_the_status_of_an_unsure_list_names_the_missing_words(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search_and_wait(pilot, "conflict")
        pane = pane_of(app)
        assert pane.result is not None
        lack = "No passage has “[b]rain;bow”, “labels” together"
        notice = f"{lack}; these are nearest in meaning."
        pane.result = replace(pane.result, confidence=Confidence.UNSURE, lack=lack, notice=notice)
        await pilot.pause()
        assert f"{lack}; the nearest are below" in drawn_text(app)
        await until(pilot, lambda: "unsure" in drawn_text(app), "how sure the pack is")


async def test_hits_without_an_answer_are_faint_below_an_explanation(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        pane, found = pane_of(app), screen_of(app).query_one("#found")
        title = hit_list_of(app).get_component_styles("hit--title")
        sure = pane.result
        assert sure is not None
        pane.result = replace(sure, confidence=Confidence.NOTHING)
        await pilot.pause()
        assert status_text(app).startswith("no answer · the nearest are below · ")
        faint = hit_list_of(app).get_component_styles("hit--title")
        assert (faint.color, faint.text_style.bold) != (title.color, title.text_style.bold)
        assert listed_titles(app)
        pane.result = replace(sure, confidence=Confidence.LIKELY)
        await pilot.pause()
        assert "nearest" not in status_text(app)
        assert not found.has_class("-unanswered")


async def test_why_shows_the_part_of_each_word_and_why_the_rank_is_not_higher(app: ExcerptApp) -> None:
    async with app.run_test(size=(180, 60)) as pilot:
        await search(pilot, "sync conflct laptop")
        await pilot.press("down", "ctrl+t")
        await until(pilot, lambda: "Rank by strategy" in drawn_text(app), "the explanation")
        drawn = drawn_text(app)
        result = pane_of(app).result
        selected = pane_of(app).selected
        assert result is not None
        assert selected is not None
        notes = list(dict.fromkeys(hit.fragment.path for hit in result.hits))
        rank = f"{format_rank(result.hits.index(selected) + 1, notes.index(selected.fragment.path) + 1)}: "
        assert rank in drawn
        assert f"{selected.score:.3f}" in drawn
        assert drawn.index(rank) < drawn.index("signal")
        assert "conflict: similar spelling (×0." in drawn
        assert "Why it ranks below the " in drawn


async def test_the_dialog_why_not_explains_any_note_that_the_user_names(app: ExcerptApp) -> None:
    async with app.run_test(size=(100, 60)) as pilot:
        await search(pilot, '"sync conflict"')
        pane_of(app).action_why_not()
        await until(pilot, lambda: bool(top_screen(app).query("#note:focus")), "the field")
        await pilot.press(*"merging", "enter")
        await until(pilot, lambda: "Merging.md" in drawn_text(app), "the other note")
        assert isinstance(top_screen(app), WhyNot)
        screen = top_screen(app)
        screen.query_one("#note", Input).value = "[/red] nobody"
        await pilot.press("enter")
        await until(pilot, lambda: "No note is called [/red] nobody." in drawn_text(app), "the answer")
        await pilot.press("escape")
        assert top_screen(app) is screen_of(app)


async def test_in_the_dialog_for_another_note_enter_twice_accepts_a_similar_name(app: ExcerptApp) -> None:
    async with app.run_test(size=(100, 60)) as pilot:
        await search(pilot, "sync conflict")
        pane_of(app).action_why_not()
        await until(pilot, lambda: bool(top_screen(app).query("#note:focus")), "the field")
        await pilot.press(*"mergign", "enter")
        await until(pilot, lambda: "Did you mean Merging.md?" in drawn_text(app), "the name that is near")
        assert "explain Merging.md" in drawn_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: "Rank by strategy" in drawn_text(app), "why it is where it is")
        assert top_screen(app).query_one("#note", Input).value == "Merging.md"


def test_every_signal_is_explained_in_the_legend() -> None:
    assert set(SIGNAL_LEGEND) == {
        *SIGNALS,
        *BOOST_WEIGHTS,
        *("reopened", "attachment", "accents", "name", "listed", "place", "rerank"),
    }


async def test_a_budget_of_the_settings_applies_until_a_key_changes_it(vault: Path, user_paths: Paths) -> None:
    app = ExcerptApp(vault, Settings(pack=PackSettings(budget=777)), user_paths)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert screen_of(app).query_one(PackBar).pack_settings.budget == 777


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (200, 60)])
async def test_hostile_names_and_text_are_shown_as_text(app: ExcerptApp, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        await search(pilot, "hostile")
        await until(pilot, lambda: preview_of(app).window is not None, "the context")
        await pilot.pause()
        drawn = drawn_text(app)
        assert "Hostile [bold]x" in drawn
        assert "\x1b" not in drawn
        assert "\u202e" not in drawn


async def test_a_failed_search_is_reported_in_place_of_the_hits_and_in_one_notice(
    app: ExcerptApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The end of a build repeats the query, and its answer would replace the error.
    monkeypatch.setattr(IndexController, "start", lambda _index: None)
    async with app.run_test() as pilot:
        await search(pilot, "lentil")
        notice = screen_of(app).query_one("#notice", Notice)
        with monkeypatch.context() as broken:
            broken.setattr(AskSearch, "answer", failing_answer("A part of it is missing."))
            for _ in range(3):
                pane_of(app).search()
                await until_answered(pilot)
        await until(pilot, lambda: notice.display and notice.empty_state.is_error, "the error")
        assert notice.empty_state.sentence == "A part of it is missing."
        toasts = notices_of(app)
        assert len([message for message in toasts if "A part of it is missing." in message]) == 1
        await pilot.press("s")
        await until(pilot, lambda: pane_of(app).result is not None, "the next answer")
        assert not notice.display
