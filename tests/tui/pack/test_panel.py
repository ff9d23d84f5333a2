"""Tests of the pack panel: included and excluded passages, and changes by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App
from textual.widgets import Input

from excerpt.base.kinds import Fill, Format, Scope
from excerpt.base.model import Pack
from excerpt.base.settings import PackSettings, Paths, Settings
from excerpt.pack.selection import MarkedFragment, SavedMarks, write_marks
from excerpt.service.packer import DISPLACES_MARK_REASON, LeftOutRow
from excerpt.text.display import visible_line
from excerpt.text.tokens import open_tokenizer
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.dialog import DialogBox
from excerpt.tui.common.footer import KeyBar
from excerpt.tui.pack.bar import PackBar
from excerpt.tui.pack.dialogs import ScopeDialog
from excerpt.tui.pack.labels import scope_label
from excerpt.tui.pack.panel import PackRows
from excerpt.tui.pack.pasted_text import PastedText
from tests.tui.driver import (
    AppPilot,
    ScriptedApp,
    drawn_text,
    hit_list_of,
    notices_of,
    pane_of,
    post_keys,
    press,
    preview_of,
    screen_of,
    search,
    status_text,
    until,
    until_answered,
    until_result,
    until_screen,
)

pytestmark = pytest.mark.programs


def panel_of(app: ExcerptApp) -> PackRows:
    return screen_of(app).query_one(PackRows)


def packs_of(app: ExcerptApp) -> list[Pack]:
    contents = panel_of(app).contents
    return [row for row in contents.rows if isinstance(row, Pack)] if contents else []


def omitted_rows(app: ExcerptApp) -> list[LeftOutRow]:
    contents = panel_of(app).contents
    return [row for row in contents.rows if isinstance(row, LeftOutRow)] if contents else []


def omitted_reasons(app: ExcerptApp) -> list[str]:
    return [row.reason for row in omitted_rows(app)]


def listed_entries(app: ExcerptApp) -> list[str]:
    return [pack.entry.fragment_id for pack in packs_of(app)]


def row_texts(app: ExcerptApp) -> list[str]:
    panel = panel_of(app)
    return [panel.render_line(row).text for row in range(panel.row_count)]


WAYS_TO = {"list": ("escape",), "side panel": ("escape", "v", "v", "v"), "pack": ("ctrl+o",)}
"""Keys from the query to each focusable place."""


async def open_pack(pilot: AppPilot, query: str) -> None:
    """Search, and open the pack of all hits alone, so that each hit is a separate passage."""
    use_hits_alone(pilot.app)
    await search(pilot, query, "ctrl+o")


def use_hits_alone(app: App[None]) -> None:
    """Pack all hits without text around them."""
    pane_of(app).scope, pane_of(app).fill = Scope.NONE, Fill.BUDGET


async def test_packs_are_listed_in_order_with_lines_scope_reason_and_tokens(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pack(pilot, "conflict")
        packs = packs_of(app)
        result = pane_of(app).result
        assert result is not None
        ranks = {hit.fragment.id: rank for rank, hit in enumerate(result.hits, start=1)}
        assert packs
        packed = pane_of(app).pack.newest_pack
        assert packed is not None
        rows = zip(packs, packed.result.costs, row_texts(app), strict=False)
        for number, (pack, cost, shown) in enumerate(rows, start=1):
            place = f"{pack.line_start}–{pack.line_end}" if pack.line_end > pack.line_start else str(pack.line_start)
            rank = f"hit {ranks[pack.entry.fragment_id]}"
            for word in (f" {number} ", pack.title, place, scope_label(pack.scope), rank, f"{cost:,}t"):
                assert word in shown


async def test_tokens_of_the_rows_sum_to_those_of_bar_and_copy(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pack(pilot, "conflict")
        tokens = [int(text.split()[-1].removesuffix("t").replace(",", "")) for text in row_texts(app)]
        packed = pane_of(app).pack.newest_pack
        assert packed is not None
        whole = sum(tokens[: len(packs_of(app))])
        assert whole == packed.result.tokens
        assert f" · {whole:,}/2,000 tokens" in str(screen_of(app).query_one(PackBar).render())
        await press(pilot, "ctrl+y")
        await until(pilot, lambda: bool(app._notifications), "the toast")
        (toast,) = app._notifications
        assert toast.message.startswith(f"{len(packs_of(app))} passages: {whole:,} tokens, ")


async def test_a_marked_passage_is_labelled_as_marked(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await open_pack(pilot, "conflict")
        await press(pilot, "tab")
        assert [" marked " in shown for shown in row_texts(app)] == [True]


async def test_a_dropped_passage_is_listed_with_its_reason_and_can_be_restored(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_pack(pilot, "conflict")
        before = listed_entries(app)
        await press(pilot, "x")
        assert before[0] not in listed_entries(app)
        (dropped,) = (left for left in omitted_rows(app) if left.is_dropped)
        assert dropped.reason == "dropped by hand"
        assert before[0] in dropped.fragment_ids
        await press(pilot, "G", "x")
        assert listed_entries(app) == before


async def test_each_dropped_passage_makes_the_pack_smaller_until_it_is_empty_which_the_bar_says(
    app: ExcerptApp,
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "lentil", "ctrl+o")
        while entries := listed_entries(app):
            await press(pilot, "g", "x")
            assert listed_entries(app) == entries[1:]
        assert "0 passages · 0/2,000 · 1 dropped" in str(screen_of(app).query_one(PackBar).render())


async def test_dropping_marked_passages_unmarks_them_so_that_the_pack_is_that_of_the_question(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict", "ctrl+o")
        of_question = listed_entries(app)
        await press(pilot, "escape", "tab", "down", "tab", "ctrl+o")
        marks = pane_of(app).pack.choices.marks
        assert len(marks) == 2
        await press(pilot, *("x" for _ in listed_entries(app)))
        assert not pane_of(app).pack.choices.marks
        assert (listed_entries(app), omitted_reasons(app)) == (of_question, [])
        await press(pilot, "u", "u")
        assert pane_of(app).pack.choices.marks == marks


def offered_keys(app: ExcerptApp) -> set[str]:
    return {offer.id for offer in screen_of(app).query_one(KeyBar).footer_keys if offer.is_enabled}


async def test_keys_without_effect_on_omitted_passages_are_disabled_with_a_reason(
    app: ExcerptApp,
) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await open_pack(pilot, "conflict")
        assert {"pack-drop", "pack-scope", "pack-later"} <= offered_keys(app)
        await press(pilot, "x", "G")
        assert isinstance(panel_of(app).selected, LeftOutRow)
        assert not {"pack-scope", "pack-later", "pack-earlier"} & offered_keys(app)
        await pilot.press("m")
        await pilot.pause()
        assert notices_of(app) == ["Put it back first (x)."]


async def test_the_first_passage_cannot_move_up_nor_the_last_down(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await open_pack(pilot, "conflict")
        assert len(packs_of(app)) == 2
        assert {"pack-earlier", "pack-later"} & offered_keys(app) == {"pack-later"}
        await press(pilot, "j")
        assert {"pack-earlier", "pack-later"} & offered_keys(app) == {"pack-earlier"}


async def test_a_moved_passage_keeps_the_cursor(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_pack(pilot, "conflict")
        first, second, *rest = listed_entries(app)
        await press(pilot, "shift+down")
        assert listed_entries(app) == [second, first, *rest]
        assert panel_of(app).cursor == 1
        assert "own order" in str(panel_of(app).border_title)
        await press(pilot, "shift+up", "shift+up")
        assert listed_entries(app) == [first, second, *rest]


async def test_one_passage_can_have_its_own_scope(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_pack(pilot, "lentil")
        await pilot.press("s", "down", "down", "enter")
        await until(pilot, lambda: bool(pane_of(app).pack.choices.query_overrides), "the scope")
        await until_answered(pilot)
        grown = next(pack for pack in packs_of(app) if pack.path == "Cooking/Lentil soup.md")
        assert grown.scope is Scope.SECTION
        assert {pack.scope for pack in packs_of(app) if pack is not grown} <= {Scope.NONE}
        assert pane_of(app).scope is Scope.NONE


async def test_the_scopes_of_one_passage_are_listed_with_the_size_of_the_whole_pack_as_the_title_says(
    app: ExcerptApp,
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_pack(pilot, "lentil")
        await pilot.press("s")
        dialog = await until_screen(pilot, ScopeDialog)
        assert str(dialog.query_one(DialogBox).border_title) == "Scope of this passage: size of the whole pack"


async def test_each_decision_and_mark_can_be_undone_in_turn(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_pack(pilot, "conflict")
        before = listed_entries(app)
        await pilot.press("s", "s", "enter")
        await until(pilot, lambda: bool(pane_of(app).pack.choices.query_overrides), "the scope")
        await press(pilot, "shift+down", "x", "tab")
        assert pane_of(app).pack.choices.marks
        await press(pilot, "u", "u", "u", "unbound-undo")
        assert listed_entries(app) == before
        await press(pilot, "U", "U", "U", "U")
        assert pane_of(app).pack.choices.marks
        await press(pilot, "u", "u", "u", "u", "u")
        assert [each.partition(":")[0] for each in notices_of(app)] == ["Nothing to undo"]


async def test_enter_shows_the_passage_in_its_context(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_pack(pilot, "conflict")
        await press(pilot, "j")
        wanted, preview = listed_entries(app)[1], preview_of(app)
        await pilot.press("enter")
        await until(pilot, lambda: preview.window is not None and preview.window.fragment.id == wanted, "the context")
        assert preview.display
        assert not pane_of(app).pack_panel.display
        selected = hit_list_of(app).selected
        assert selected is not None
        assert selected.fragment.id == wanted


async def test_a_mark_of_another_query_is_shown_in_its_context(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "lentil")
        await press(pilot, "tab", "ctrl+u")
        await search(pilot, "hostile")
        await press(pilot, "ctrl+o")
        await pilot.press("enter")
        preview = preview_of(app)
        lentils = "Cooking/Lentil soup.md"
        await until(pilot, lambda: preview.window is not None and preview.window.fragment.path == lentils, "the mark")
        assert pane_of(app).pack_panel.display


async def test_the_panel_replaces_the_side_panel_if_there_is_one_place(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_pack(pilot, "conflict")
        side = pane_of(app).side
        assert (pane_of(app).pack_panel.display, side.display) == (True, False)
        await pilot.resize_terminal(140, 45)
        await pilot.pause()
        assert (pane_of(app).pack_panel.display, side.display) == (True, True)


@pytest.mark.parametrize("opener", [(), ("escape",)])
async def test_a_closed_panel_gives_the_focus_back_to_where_it_was_opened(
    app: ExcerptApp, opener: tuple[str, ...]
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict", *opener)
        focused = screen_of(app).focused
        await press(pilot, "ctrl+o")
        assert panel_of(app).has_focus
        await press(pilot, "ctrl+o")
        assert screen_of(app).focused is focused


async def test_letters_typed_after_the_panel_was_opened_and_closed_are_typed(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "coffee")
        post_keys(app, "ctrl+o", "ctrl+o", *" in november")
        await until_result(pilot, "coffee in november")
        assert (pane_of(app).pack_format, pane_of(app).pack.choices.marks) == (Format.MARKDOWN, ())
        assert len(app.screen_stack) == 1


async def test_the_text_to_paste_is_shown_below_the_list_with_its_format_and_size(app: ExcerptApp) -> None:
    async with app.run_test(size=(100, 60)) as pilot:
        await open_pack(pilot, "conflict")
        packed, pasted = pane_of(app).pack.newest_pack, screen_of(app).query_one(PastedText)
        assert packed is not None
        lines = packed.text.splitlines()
        title = f"as it will be pasted · markdown · {len(lines)} lines, {packed.result.tokens:,} tokens"
        assert str(pasted.border_title) == title
        shown = " ".join(pasted.render_line(row).text for row in range(200))
        assert shown.split() == packed.text.split()


async def test_the_text_to_paste_scrolls_to_the_selected_passage_and_by_page_keys(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_pack(pilot, "conflict")
        pasted = screen_of(app).query_one(PastedText)
        await press(pilot, "j")
        assert pasted.render_line(0).text.startswith(" ## [2] ")
        top = pasted.scroll_offset.y
        await press(pilot, "pageup")
        assert pasted.scroll_offset.y == max(0, top - pasted.scrollable_content_region.height + 1)


@pytest.mark.parametrize("form", [Format.MARKDOWN, Format.XML, Format.JSON])
async def test_the_text_to_paste_stays_at_the_selected_passage_when_it_is_wrapped_again(
    app: ExcerptApp, form: Format
) -> None:
    async with app.run_test(size=(110, 40)) as pilot:
        pane_of(app).pack_format = form
        await open_pack(pilot, "conflict")
        await press(pilot, "j")
        pasted, text = screen_of(app).query_one(PastedText), packs_of(app)[1].text.split("\n")[0]
        for width in (110, 60, 90):
            await pilot.resize_terminal(width, 40)
            await pilot.pause()
            shown = [pasted.render_line(row).text for row in range(pasted.scrollable_content_region.height)]
            assert any(text[:20] in row for row in shown), (width, shown)


async def test_control_characters_in_the_text_to_paste_are_shown_as_signs(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 60)) as pilot:
        await open_pack(pilot, "hostile")
        pasted = screen_of(app).query_one(PastedText)
        shown = "".join(pasted.render_line(row).text for row in range(40))
        assert "hostile" in shown.casefold()
        assert visible_line(shown) == shown


async def test_escape_closes_the_panel_before_clearing_the_query(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_pack(pilot, "conflict")
        field = screen_of(app).query_one("#query", Input)
        await pilot.press("slash")
        assert field.has_focus
        assert pane_of(app).pack_panel.display
        await pilot.press("escape")
        assert not pane_of(app).pack_panel.display
        assert field.value == "conflict"


async def test_the_panel_follows_the_query_and_the_budget(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_pack(pilot, "conflict")
        await press(pilot, "slash", "ctrl+u")
        assert packs_of(app) == []
        await search(pilot, "lentil")
        await until_answered(pilot)
        assert packs_of(app)[0].title == "Lentil soup"
        pane_of(app).budget = 10
        await until_answered(pilot)
        await until_answered(pilot)
        assert packs_of(app) == []
        assert {left.reason for left in omitted_rows(app)} == {"too large"}


async def test_a_mark_whose_text_was_deleted_is_listed_and_can_be_removed(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    write_marks(user_paths.marks_file(vault), SavedMarks("x", (MarkedFragment("0" * 12, "Gone [/red].md"),)))
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict")
        await press(pilot, "tab", "escape", "o", "G")
        assert "no longer in the index · Gone [/red].md" in row_texts(app)[-1]
        await press(pilot, "x")
        assert omitted_rows(app) == []
        assert len(pane_of(app).pack.choices.marks) == 1


async def test_formats_cycle_and_include_a_template_only_if_one_is_set(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        seen = []
        for _ in range(4):
            await press(pilot, "unbound-format")
            seen.append(pane_of(app).pack_format)
        assert seen == [Format.XML, Format.JSON, Format.PLAIN, Format.MARKDOWN]
        packed = pane_of(app).pack.newest_pack
        assert packed is not None
        assert packed.text.startswith("## [1]")


async def test_a_template_of_the_settings_is_one_of_the_formats(vault: Path, user_paths: Paths, tmp_path: Path) -> None:
    template = tmp_path / "own.j2"
    template.write_text("{% for s in sources %}* {{ s.heading }}\n{% endfor %}")
    app = ExcerptApp(vault, Settings(pack=PackSettings(template=str(template), format=Format.PLAIN)), user_paths)
    async with app.run_test() as pilot:
        await search(pilot, "lentil")
        await press(pilot, "unbound-format")
        packed = pane_of(app).pack.newest_pack
        assert packed is not None
        assert packed.text.startswith("* Lentil soup")


async def test_a_failing_template_is_reported_and_cannot_be_copied(
    vault: Path, user_paths: Paths, tmp_path: Path
) -> None:
    template = tmp_path / "own.j2"
    template.write_text("{{ nonsense.at.all }")
    app = ExcerptApp(vault, Settings(pack=PackSettings(template=str(template), format=Format.TEMPLATE)), user_paths)
    async with app.run_test() as pilot:
        await search(pilot, "lentil")
        await until(pilot, lambda: any("own.j2" in toast.message for toast in app._notifications), "the reason")
        assert pane_of(app).pack.newest_pack is None
        await press(pilot, "unbound-format")
        assert pane_of(app).pack.newest_pack is not None


async def test_of_a_json_pack_the_bar_counts_the_text_to_paste(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 30)) as pilot:
        await search(pilot, "conflict")
        bar = screen_of(app).query_one(PackBar)
        await press(pilot, "tab", "unbound-format", "unbound-format")
        built = pane_of(app).pack.newest_pack
        assert built is not None
        assert f"{open_tokenizer('o200k').count(built.text):,}/2,000 tokens" in str(bar.render())


async def test_in_the_order_of_the_vault_the_passages_have_no_scores(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await open_pack(pilot, "conflict")
        by_score = listed_entries(app)
        await press(pilot, "unbound-order")
        packs = packs_of(app)
        assert [(one.path, one.line_start) for one in packs] == sorted((one.path, one.line_start) for one in packs)
        assert {one.entry.score for one in packs} == {0.0}
        await press(pilot, "unbound-order")
        assert listed_entries(app) == by_score


async def test_the_cost_of_the_selected_fragment_is_shown_before_it_is_marked(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 30)) as pilot:
        await search(pilot, "conflict")
        bar = screen_of(app).query_one(PackBar)
        await press(pilot, "tab")
        hit = hit_list_of(app).selected
        assert hit is not None
        await until(pilot, lambda: pane_of(app).pack.is_cost_exact, "the exact cost")
        cost = bar.cost
        assert cost is not None
        assert (cost.fragment_id, cost.is_exact, cost.is_first_mark) == (hit.fragment.id, True, False)
        assert bar.pack is not None
        before = bar.pack.tokens
        assert str(bar.render()).endswith(f" mark: +{cost.tokens:,}")
        await press(pilot, "tab")
        assert bar.pack.tokens == before + cost.tokens


async def test_the_cost_is_first_an_estimate_from_the_stored_size(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 30)) as pilot:
        await search(pilot, "conflict")
        await until_answered(pilot)
        rows, bar = hit_list_of(app), screen_of(app).query_one(PackBar)
        rows.cursor = 1
        pane_of(app).show_cost()
        tokens = rows.hits[1].fragment.tokens
        assert str(bar.render()).endswith(f" mark only this: ~{tokens:,}")


async def test_a_fragment_that_does_not_fit_is_shown_as_such(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 30)) as pilot:
        await search(pilot, "conflict")
        pane = pane_of(app)
        use_hits_alone(app)
        await press(pilot, "tab")
        assert pane.pack.newest_pack is not None
        bar = screen_of(app).query_one(PackBar)
        pane.budget = pane.pack.newest_pack.result.tokens
        await until(pilot, lambda: pane.is_up_to_date and pane.pack.is_cost_exact, "the cost")
        assert str(bar.render()).endswith(" mark: too large")
        pane.budget = pane.pack.newest_pack.result.tokens + 40
        await until(pilot, lambda: pane.is_up_to_date and pane.pack.is_cost_exact, "the cost")
        assert bar.cost is not None
        assert bar.cost.reason in {"out of budget", DISPLACES_MARK_REASON}


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (200, 60)])
async def test_hostile_titles_and_paths_are_shown_as_text(app: ExcerptApp, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        await open_pack(pilot, "hostile")
        await press(pilot, "x")
        drawn = drawn_text(app)
        assert "Hostile [bold]x" in drawn
        assert "\x1b" not in drawn


async def test_names_get_space_before_columns_that_all_passages_share(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(70, 15)) as pilot:
        await pilot.press(*"sync", "ctrl+o")
        panel = screen_of(scripted).query_one(PackRows)
        await until(pilot, lambda: panel.row_count > 1, "the pack")
        assert "Hostile [bold]x › [/red]" in " ".join(panel.render_line(row).text for row in range(panel.row_count))
        assert "paragraphs around" not in panel.render_line(0).text
        await pilot.press("s", "s", "enter")
        await until(pilot, lambda: "section" in panel.render_line(0).text, "a scope of its own")


async def test_an_empty_pack_explains_in_words_how_to_fill_it(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(60, 15)) as pilot:
        await pilot.press("ctrl+o")
        panel = screen_of(scripted).query_one(PackRows)
        await until(pilot, lambda: panel.display and panel.size.height > 2, "the panel")
        told = " ".join(panel.render_line(y).text.strip() for y in range(3)).strip()
        assert told == "The pack is empty. Type a query: the pack takes its best hits, or only your marks."


async def test_a_typed_budget_is_used_or_reported_as_invalid(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict")
        await pilot.press("escape", "b", *"much", "enter")
        assert "A budget is a number of tokens" in str(app.screen.query_one("#message").render())
        await pilot.press("ctrl+u", *"1k", "enter")
        await until(pilot, lambda: pane_of(app).budget == 1_000, "the budget")
        await until_answered(pilot)
        assert "/1,000 " in str(screen_of(app).query_one(PackBar).render())


async def test_the_bar_shows_the_stop_reason(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 24)) as pilot:
        await search(pilot, "conflict")
        pane, bar = pane_of(app), screen_of(app).query_one(PackBar)
        use_hits_alone(app)
        await until_answered(pilot)
        assert " · all hits" in str(bar.render())
        assert pane.pack.newest_pack is not None
        pane.budget = pane.pack.newest_pack.result.passages[0].tokens + 50
        await until_answered(pilot)
        assert bar.pack is not None
        needs = bar.pack.needs[0]
        assert f" · full: the next needs {needs}" in str(bar.render())
        await press(pilot, "ctrl+o")
        assert needs in [left.tokens for left in omitted_rows(app) if left.reason in ("out of budget", "too large")]
        await press(pilot, "slash", "tab")
        pane.budget = 4_000
        await until_answered(pilot)
        assert " · 1 marked" in str(bar.render())


@pytest.mark.parametrize("place", ["list", "side panel", "pack"])
async def test_the_keys_for_budget_and_undo_and_redo_work_in_each_list(app: ExcerptApp, place: str) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict")
        await press(pilot, "tab", *WAYS_TO[place])
        await press(pilot, "u")
        assert not pane_of(app).pack.choices.marks
        await press(pilot, "U")
        assert len(pane_of(app).pack.choices.marks) == 1
        await pilot.press("b", *"750", "enter")
        await until(pilot, lambda: pane_of(app).budget == 750, "the budget")


@pytest.mark.parametrize("place", ["list", "side panel", "pack"])
async def test_earlier_marks_can_be_shown_from_each_list(
    app: ExcerptApp, vault: Path, user_paths: Paths, place: str
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await press(pilot, "tab")
    again = ExcerptApp(vault, Settings(), user_paths)
    async with again.run_test(size=(80, 24)) as pilot:
        await search(pilot, "lentil")
        await press(pilot, *WAYS_TO[place], "o")
        assert len(pane_of(again).pack.choices.marks) == 1
        assert panel_of(again).has_focus
        assert [" marked " in text for text in row_texts(again)] == [True]


@pytest.mark.parametrize("place", ["list", "side panel"])
async def test_earlier_marks_can_be_dropped_from_the_list_and_beside_it(app: ExcerptApp, place: str) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict")
        await press(pilot, "tab", "ctrl+u")
        await search(pilot, "lentil")
        await press(pilot, *WAYS_TO[place], "x")
        assert not pane_of(app).pack.choices.marks


async def test_marks_of_another_query_are_announced_in_the_status_and_can_be_dropped(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict")
        await press(pilot, "tab")
        assert "mark" not in status_text(app)
        await press(pilot, "ctrl+u")
        await search(pilot, "lentil")
        await until_answered(pilot)
        assert "1 mark of “conflict”: esc o show, x clear" in status_text(app)
        assert count_packs_in_bar(app) == 1
        await press(pilot, "escape", "x")
        assert "mark" not in status_text(app)
        assert not pane_of(app).pack.choices.marks


def count_packs_in_bar(app: ExcerptApp) -> int:
    pack = screen_of(app).query_one(PackBar).pack
    return len(pack.passages) if pack is not None else 0
