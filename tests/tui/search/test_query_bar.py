"""Tests of the query bar: chips, completion, history, messages about a query."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from textual import events

from excerpt.base.kinds import Confidence, Strategy
from excerpt.search.results import QueryInterpretation
from excerpt.search.saved_queries import change_saved, read_saved
from excerpt.service.query_texts import use_next_order
from excerpt.tui.app import ExcerptApp
from excerpt.tui.search import query_controller
from excerpt.tui.search.query_bar import AnswerStatus, QueryBar, QueryMenu, QueryStatus
from excerpt.tui.search.query_history import add_query, read_history
from tests.tui.driver import (
    ScriptedApp,
    ScriptedEngine,
    drawn_lines,
    hit_list_of,
    notices_of,
    pane_of,
    press,
    screen_of,
    search,
    settle,
    side_of,
    status_text,
    type_query,
    type_text,
    until,
    until_answered,
)
from tests.tui.examples import VAULT

pytestmark = pytest.mark.programs


@pytest.fixture
def history(tmp_path: Path, scripted: ScriptedApp) -> Path:
    file = scripted.scripted_places.history_file(VAULT)
    for query in ("soup", "sync tag:howto"):
        add_query(file, query)
    return file


def bar_of(app: ExcerptApp) -> QueryBar:
    return screen_of(app).query_one(QueryBar)


def menu_labels(app: ExcerptApp) -> list[str]:
    return [choice.label for choice in bar_of(app).menu.choices]


def drawn_bar(app: ExcerptApp) -> str:
    return bar_of(app).field.render_line(0).text.rstrip()


# --- completion -------------------------------------------------------------------------------------------------------


async def test_a_menu_opens_after_a_filter_and_tab_inserts_its_row(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_text(pilot, "merge tag:")
        assert menu_labels(scripted) == ["sync", "howto", "[bold]同步"]
        assert bar_of(scripted).menu.choices[0].detail == "12 notes"
        await type_text(pilot, "h")
        assert menu_labels(scripted) == ["howto"]
        await pilot.press("tab")
        assert bar_of(scripted).field.value == "merge tag:howto "
        assert not bar_of(scripted).menu.is_open
        assert hit_list_of(scripted).cursor == 0


async def test_the_open_menu_handles_its_keys_and_escape_closes_it_until_another_word(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_text(pilot, "#")
        await pilot.press("down")
        assert bar_of(scripted).menu.cursor == 1
        await pilot.press("escape")
        assert not bar_of(scripted).menu.is_open
        assert bar_of(scripted).field.value == "#"
        await type_text(pilot, "s")
        assert not bar_of(scripted).menu.is_open
        await type_text(pilot, "ync #")
        assert bar_of(scripted).menu.is_open
        await pilot.press("down", "enter")
        assert bar_of(scripted).field.value == "#sync #howto "


async def test_an_inserted_query_opens_no_menu(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        bar_of(scripted).set_query("merge tag:how")
        await pilot.pause()
        assert not bar_of(scripted).menu.is_open
        await pilot.press("ctrl+@")
        assert menu_labels(scripted) == ["howto"]


async def test_the_menu_fits_the_smallest_screen_and_a_click_inserts_a_row(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(60, 15)) as pilot:
        await type_text(pilot, "a few words more #")
        menu = screen_of(scripted).query_one(QueryMenu)
        assert scripted.screen.region.contains_region(menu.region)
        assert menu.region.y == 2
        await pilot.click(QueryMenu, offset=(4, 2))
        assert bar_of(scripted).field.value == "a few words more #howto "


async def test_a_word_is_completed_by_words_and_properties_of_the_vault(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "devi")
        await pilot.press("ctrl+@")
        await until(pilot, lambda: bool(menu_labels(app)), "the menu")
        assert menu_labels(app)[0] in ("device", "devices")


# --- chips ------------------------------------------------------------------------------------------------------------


async def test_filters_are_chips_and_a_click_on_the_cross_removes_one(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(100, 24)) as pilot:
        await type_text(pilot, "tag:howto -draft merge")
        assert drawn_bar(scripted) == "tag:howto✕-draft merge"
        await type_text(pilot, " -path:x ")
        assert [chip.text for chip in bar_of(scripted).field.chips] == ["tag:howto", "-path:x"]
        await pilot.click("#query", offset=(9, 0))
        await pilot.pause()
        assert bar_of(scripted).field.value == "-draft merge -path:x "


async def test_ctrl_w_removes_a_whole_filter_and_backspace_at_the_start_the_last(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_text(pilot, 'merge tag:a path:"my notes" ')
        await pilot.press("ctrl+w")
        await pilot.pause()
        assert bar_of(scripted).field.value == "merge tag:a "
        await pilot.press("home", "backspace")
        await pilot.pause()
        assert bar_of(scripted).field.value == "merge "


# --- periods ----------------------------------------------------------------------------------------------------------


async def test_the_chip_of_a_recognised_date_has_another_colour_than_the_chip_of_a_filter(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(120, 24)) as pilot:
        await type_text(pilot, "tag:howto merge in May 2025 ")
        assert drawn_bar(scripted) == "tag:howto✕merge in May 2025"
        strip = bar_of(scripted).field.render_line(0)
        colours = [strip.crop(at, at + 1)._segments[0].style for at in (0, 10, 16)]
        assert all(colours)
        tag, word, period = [style and (style.color, style.bgcolor) for style in colours]
        assert tag and word and period
        assert tag[1] == period[1] != word[1]
        assert tag[0] != period[0]


async def test_the_status_has_the_days_of_a_period_and_a_click_there_makes_it_plain_words(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(100, 24)) as pilot:
        await type_text(pilot, "merge in May 2025")
        assert status_text(scripted).startswith("in May 2025: 1–31 May 2025 ✕")
        await pilot.click(QueryStatus, offset=status_offset(scripted, "✕"))
        await settle(pilot)
        assert bar_of(scripted).field.value == r"merge \in May 2025"
        assert not bar_of(scripted).status.chips


async def test_the_status_says_what_an_excluded_word_leaves_out_and_a_key_searches_it(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(100, 24)) as pilot:
        await type_text(pilot, "merge -recurse")
        assert status_text(scripted).startswith("without recurse: ^space searches it · ")
        await pilot.press("ctrl+@")
        assert bar_of(scripted).field.value == "merge recurse"


async def test_an_excluded_word_away_from_the_cursor_is_searched_by_a_click(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(100, 24)) as pilot:
        await type_text(pilot, "merge -recurse tag:howto ")
        assert status_text(scripted).startswith("without recurse ✕ · ")
        await pilot.click(QueryStatus, offset=status_offset(scripted, "recurse"))
        await settle(pilot)
        assert bar_of(scripted).field.value == "merge recurse tag:howto "


async def test_filters_excluded_words_and_other_words_have_different_colours(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(100, 24)) as pilot:
        await type_text(pilot, "tag:howto merge -soup")
        strip = bar_of(scripted).field.render_line(0)
        styles = [strip.crop(at, at + 1)._segments[0].style for at in (0, 10, 16)]
        assert len({style and style.color for style in styles}) == 3


async def test_ctrl_w_deletes_only_the_last_word_of_a_recognised_date(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_text(pilot, "merge in May 2025")
        await pilot.press("ctrl+w")
        assert bar_of(scripted).field.value == "merge in May "


async def test_completion_at_a_recognised_date_offers_its_filter_and_to_ignore_the_date(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_text(pilot, "merge in May 2025")
        await pilot.press("ctrl+@")
        choices = bar_of(scripted).menu.choices
        assert [(choice.query, choice.detail) for choice in choices] == [
            ("merge date:2025-05 ", "date:2025-05"),
            (r"merge \in May 2025", r"\in May 2025"),
        ]
        await pilot.press("tab")
        assert bar_of(scripted).field.value == "merge date:2025-05 "


async def test_a_command_replaces_the_first_recognised_date_by_its_filter(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_text(pilot, "what changed in May 2025 about merging?")
        pane_of(scripted).query_bar.action_filter_time()
        assert bar_of(scripted).field.value == "what changed date:2025-05 about merging?"


async def test_a_command_makes_the_first_recognised_date_plain_words(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_text(pilot, "what changed in May 2025 about merging?")
        pane_of(scripted).query_bar.action_ignore_time()
        assert bar_of(scripted).field.value == r"what changed \in May 2025 about merging?"


async def test_commands_for_a_recognised_date_are_disabled_without_one(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_text(pilot, "merge")
        for action in ("filter_time", "ignore_time"):
            assert pane_of(scripted).disabled_reason(action, ()) == "The query names no time, such as “last week”."


# --- order ------------------------------------------------------------------------------------------------------------


async def test_d_in_the_list_cycles_through_the_orders(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_query(pilot, "merge tag:howto ")
        await press(pilot, "escape")
        queries = []
        for _ in range(3):
            await press(pilot, "d")
            await settle(pilot)
            queries.append(bar_of(scripted).text)
        assert queries == ["merge tag:howto sort:-date ", "merge tag:howto sort:date ", "merge tag:howto "]
        assert notices_of(scripted)[-1] == "Sorted: best first."


async def test_an_order_in_all_alternatives_is_one_order() -> None:
    query, order = use_next_order("a sort:-date | b")
    assert (query, order) == ("a sort:date | b sort:date ", "oldest first")


async def test_without_dates_the_order_stays_and_a_notice_says_why(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_query(pilot, "merge")
        bar_of(scripted)._show_interpretation(QueryInterpretation(has_dates=False))
        await press(pilot, "escape", "d")
        assert bar_of(scripted).text == "merge"
        assert notices_of(scripted)[-1] == "No note of this vault has a date of its own: the order stays."


async def test_a_long_query_stays_in_sight_when_it_is_sorted(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        query = "how do I keep what two devices wrote into one note without losing any"
        await type_query(pilot, query)
        await press(pilot, "home", "escape", "d")
        assert drawn_bar(scripted).startswith("how do I keep")


async def test_an_order_without_words_lists_all_notes() -> None:
    assert use_next_order("") == ("sort:-date ", "newest first")


async def test_control_characters_in_a_query_are_shown_and_not_sent(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        bar_of(scripted).set_query("a\x1b[31m\u202eb tag:x ")
        await pilot.pause()
        assert "\x1b" not in drawn_bar(scripted)
        assert "\u202e" not in drawn_bar(scripted)


# --- messages ---------------------------------------------------------------------------------------------------------


async def test_query_warnings_are_shown_when_typing_pauses(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_controller, "_WARNING_DELAY_SECONDS", 0.05)
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_text(pilot, 'sync "two')
        status = screen_of(scripted).query_one(QueryStatus)
        await until(pilot, lambda: bool(status.warning and hit_list_of(scripted).hits), "the doubt and the hits")
        assert "a quotation mark is not closed" in status.render().plain
        await type_text(pilot, '"')
        assert status.warning == ""


# --- the status -------------------------------------------------------------------------------------------------------


async def test_a_query_has_its_line_to_itself(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        query = "Wie synchronisiere ich Notizen mit dem Handy, ohne sie zu verlieren?"
        await type_query(pilot, query)
        assert drawn_bar(scripted) == query
        assert " · auto: hybrid · " in status_text(scripted)


async def test_while_the_list_has_the_focus_the_prompt_is_the_key_that_goes_to_the_query(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_query(pilot, "sync")
        prompt = screen_of(scripted).query_one("#prompt")
        assert prompt.render_line(0).text.strip() == "❯"
        await pilot.press("escape")
        await until(pilot, lambda: prompt.render_line(0).text.strip() == "/", "the key")
        await pilot.press("slash")
        await until(pilot, lambda: prompt.render_line(0).text.strip() == "❯", "the prompt")


async def test_in_a_very_low_terminal_the_query_bar_has_no_status(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(60, 11)) as pilot:
        await pilot.pause()
        assert bar_of(scripted).size.height == 1


@pytest.mark.parametrize(("sort", "label"), [("", "newest first"), ("date", "oldest first"), ("-date", "newest first")])
async def test_without_ranking_the_status_names_the_order(scripted: ScriptedApp, sort: str, label: str) -> None:
    async with scripted.run_test(size=(80, 24)):
        bar_of(scripted).status.answer = AnswerStatus(Strategy.AUTO, None, 4, sort=sort)
        assert (status_text(scripted), status_text(scripted, ends=True)) == ("4 hits", label)


async def test_the_status_says_that_words_and_meaning_take_turns(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)):
        bar_of(scripted).status.answer = AnswerStatus(Strategy.AUTO, Strategy.HYBRID, 4, is_joined=True)
        assert status_text(scripted) == "words and meaning · 4 hits"


async def test_where_words_and_meaning_take_turns_the_offers_have_space_before_the_count(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(60, 24)):
        status = bar_of(scripted).status
        answer = AnswerStatus(Strategy.AUTO, Strategy.HYBRID, 120, Confidence.UNSURE, is_joined=True)
        status.answer = replace(answer, offers=("suggest",))
        assert status_text(scripted) == "unsure · words and meaning · 120 hits · narrower queries"
        status.answer = replace(answer, offers=("suggest", "compare"))
        assert status_text(scripted) == "unsure · words and meaning · narrower queries · compare"


def status_offset(app: ExcerptApp, text: str) -> tuple[int, int]:
    """Return where `text` is drawn in the status of the query bar, relative to its region."""
    status = bar_of(app).status
    return drawn_lines(status)[0].index(text) + status.gutter.left, 0


async def test_a_click_on_the_strategy_selects_the_next(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_query(pilot, "sync conflict")
        await pilot.click(QueryStatus, offset=status_offset(scripted, "auto"))
        await settle(pilot)
        assert pane_of(scripted).strategy is Strategy.ADAPTIVE


async def test_a_click_on_the_confidence_explains_the_first_hit(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_query(pilot, "sync conflict")
        await press(pilot, "down", "down")
        await pilot.click(QueryStatus, offset=status_offset(scripted, "strong"))
        await until_answered(pilot)
        assert hit_list_of(scripted).cursor == 0
        assert side_of(scripted).view == "why"


async def test_the_part_under_the_mouse_has_another_background(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_query(pilot, "sync conflict")
        x, y = status_offset(scripted, "strong")
        origin = screen_of(scripted).query_one(QueryStatus).region.offset
        before = scripted.screen.get_style_at(origin.x + x, origin.y + y).bgcolor
        await pilot.hover(QueryStatus, offset=(x, y))
        await pilot.pause()
        assert scripted.screen.get_style_at(origin.x + x, origin.y + y).bgcolor != before


async def test_a_click_on_an_offer_runs_its_action(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_query(pilot, "sync conflict")
        status = bar_of(scripted).status
        assert status.answer is not None
        status.answer = replace(status.answer, offers=("suggest",))
        await pilot.pause()
        await pilot.click(QueryStatus, offset=status_offset(scripted, "narrow"))
        await pilot.pause()
        assert bar_of(scripted).menu.kind == "suggest"


# --- history ----------------------------------------------------------------------------------------------------------


async def test_up_in_an_empty_bar_goes_back_through_the_queries_and_down_returns(
    scripted: ScriptedApp, history: Path
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        field = bar_of(scripted).field
        await until(pilot, lambda: bool(bar_of(scripted).queries.history.queries), "the history")
        await pilot.press("up")
        assert field.value == "sync tag:howto"
        await pilot.press("up")
        assert field.value == "soup"
        await pilot.press("up", "down")
        assert field.value == "sync tag:howto"
        await pilot.press("down")
        assert hit_list_of(scripted).cursor == 1
        assert field.value == "sync tag:howto"


async def test_the_history_menu_is_filtered_by_typing_and_delete_forgets_a_query(
    scripted: ScriptedApp, history: Path
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bool(bar_of(scripted).queries.history.queries), "the history")
        await pilot.press("unbound-history")
        await until(pilot, lambda: menu_labels(scripted) == ["sync tag:howto", "soup"], "the menu")
        await type_text(pilot, "so")
        assert menu_labels(scripted) == ["soup"]
        await pilot.press("delete")
        await until(pilot, lambda: read_history(history).queries == ("sync tag:howto",), "the file")


async def test_a_query_kept_or_used_is_added_to_the_history(
    scripted: ScriptedApp, history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_controller, "_SETTLED_SECONDS", 0.05)
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bool(bar_of(scripted).queries.history.queries), "the history")
        await type_text(pilot, "merge")
        await until(pilot, lambda: read_history(history).queries[0] == "merge", "the file")
        monkeypatch.setattr(query_controller, "_SETTLED_SECONDS", 60.0)
        await pilot.press("ctrl+u")
        await type_text(pilot, "lentils")
        await pilot.press("ctrl+r", "escape")
        await until(pilot, lambda: read_history(history).queries[0] == "lentils", "the file")


# --- suggestions and saved queries ------------------------------------------------------------------------------------


async def test_narrower_and_wider_queries_are_offered_with_their_counts(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_text(pilot, "merge")
        await pilot.press("unbound-suggest")
        await pilot.pause()
        assert [(one.prefix, one.detail) for one in bar_of(scripted).menu.choices] == [
            ("narrower", "2 hits"),
            ("wider", "14 hits"),
        ]
        await pilot.press("enter")
        assert bar_of(scripted).field.value == "tag:sync merge"


def saved_file(scripted: ScriptedApp) -> Path:
    return scripted.scripted_places.saved_queries_file(VAULT)


async def test_a_query_can_be_saved_and_run_again(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bar_of(scripted).queries.store is not None, "the files")
        await type_text(pilot, "merge tag:x ")
        await pilot.press("unbound-save-query")
        await until(pilot, lambda: bool(read_saved(saved_file(scripted)).queries), "the file")
        await pilot.press("ctrl+u", "unbound-saved")
        await until(pilot, lambda: bar_of(scripted).menu.is_open, "the menu")
        await pilot.press("enter")
        assert bar_of(scripted).field.value == "merge tag:x"


async def test_a_saved_query_is_deleted_in_the_menu(scripted: ScriptedApp) -> None:
    change_saved(saved_file(scripted), lambda saved: saved.with_query("a", "sync").with_query("b", "soup"))
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bar_of(scripted).queries.store is not None, "the files")
        await pilot.press("unbound-saved")
        await until(pilot, lambda: len(bar_of(scripted).menu.choices) == 2, "the menu")
        await pilot.press("delete")
        await until(pilot, lambda: len(bar_of(scripted).menu.choices) == 1, "the rest")
        assert [one.name for one in read_saved(saved_file(scripted)).queries] == ["b"]


async def test_the_list_of_saved_queries_shows_news_and_running_one_marks_it_as_seen(
    scripted: ScriptedApp,
) -> None:
    change_saved(saved_file(scripted), lambda saved: saved.with_query("soup", "soup").with_query("sync", "sync"))
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bar_of(scripted).queries.store is not None, "the files")
        await pilot.press("unbound-saved", "down")
        await until(pilot, lambda: bar_of(scripted).menu.choices[-1:] != (), "the menu")
        assert [choice.detail for choice in bar_of(scripted).menu.choices] == ["1 changed", "1 changed"]
        await pilot.press("enter")
        assert bar_of(scripted).field.value == "sync"
        await until(pilot, lambda: bool(notices_of(scripted)), "the notice")
        assert notices_of(scripted) == ["1 changed: Conflicts"]
        engine = screen_of(scripted).index.engine
        assert isinstance(engine, ScriptedEngine)
        assert engine.marked_seen == ["sync"]


async def test_an_invalid_file_of_saved_queries_is_reported_and_kept(scripted: ScriptedApp) -> None:
    saved_file(scripted).parent.mkdir(parents=True)
    saved_file(scripted).write_text("{", encoding="utf-8")
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bar_of(scripted).queries.store is not None, "the files")
        await type_text(pilot, "merge")
        await pilot.press("unbound-saved")
        await until(pilot, lambda: bool(scripted._notifications), "the reason")
        assert "cannot be read" in next(iter(scripted._notifications)).message
        await pilot.press("unbound-save-query")
        await until(pilot, lambda: len(scripted._notifications) == 2, "the reason")
    assert saved_file(scripted).read_text(encoding="utf-8") == "{"


# --- keys and paste ---------------------------------------------------------------------------------------------------


async def test_keys_that_arrive_together_edit_in_their_order(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        for text, keys, left in (("soup", "ctrl+u a b", "ab"), ("merg", "backspace backspace a n", "mean")):
            bar_of(scripted).set_query(text)
            for key in keys.split():
                scripted.post_message(events.Key(key, key if len(key) == 1 else None))
            await pilot.pause()
            await pilot.pause()
            assert bar_of(scripted).field.value == left


async def test_all_pasted_lines_are_searched(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        scripted.post_message(events.Paste("  sync\n\n   conflict\r\nresolved\n"))
        await pilot.pause()
        assert bar_of(scripted).field.value == "sync conflict resolved"
