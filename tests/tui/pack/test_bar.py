"""Tests of the pack bar, and that what is copied or written has the bytes of the command line."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from textual.geometry import Offset
from textual.widgets import Input

from excerpt.base.kinds import Confidence, Fill, Format, Scope, StopReason, Strategy
from excerpt.base.model import EntryHit, Pack, PackResult
from excerpt.base.settings import PackSettings, Paths, Settings
from excerpt.memory.memory_file import make_memory
from excerpt.memory.store import FolderMemoryStore
from excerpt.pack.savings import SavingsFile
from excerpt.service.packer import MarkCost
from excerpt.tui.app import ExcerptApp
from excerpt.tui.memory.controller import is_memory
from excerpt.tui.pack.bar import PackBar
from excerpt.tui.pack.dialogs import BudgetDialog, ScopeDialog
from excerpt.tui.pack.labels import fitted_label, not_found_label, pack_summary, passage_count, scope_label
from excerpt.tui.search.hit_list import HitList
from tests import commands
from tests.tui.driver import (
    AppPilot,
    ScriptedApp,
    drawn_lines,
    hit_list_of,
    notices_of,
    open_index,
    pane_of,
    screen_of,
    search,
    settle,
    show_results,
    type_query,
    until,
    until_answered,
    until_screen,
)
from tests.tui.examples import make_hit


def make_pack(stopped: StopReason, *, needs: tuple[int, ...] = (), not_found: tuple[str, ...] = ()) -> PackResult:
    pack = PackResult("q", Strategy.AUTO, 4_000, "o200k", (), (), "", 240, 0.0, 7, stopped=stopped, needs=needs)
    return replace(pack, not_found=not_found)


@pytest.mark.programs
@pytest.mark.parametrize(
    ("result", "mark_count", "end"),
    [
        (make_pack(StopReason.ENOUGH), 0, "240/4,000 tokens · enough"),
        (make_pack(StopReason.BUDGET, needs=(310,)), 0, "240/4,000 tokens · full: the next needs 310"),
        (make_pack(StopReason.LIMIT), 0, "240/4,000 tokens · first hits"),
        (make_pack(StopReason.END), 0, "240/4,000 tokens · all hits"),
        (make_pack(StopReason.END), 2, "240/4,000 tokens · 2 marked"),
        (make_pack(StopReason.UNSURE), 0, "240/4,000 tokens · unsure"),
        (replace(make_pack(StopReason.ENOUGH), confidence=Confidence.WEAK), 0, "240/4,000 tokens · weak"),
        (make_pack(StopReason.NO_ANSWER), 0, "0 passages · no answer"),
        (make_pack(StopReason.ENOUGH, not_found=("deadline", "[b]price")), 0, "enough · not found: deadline, [b]price"),
    ],
)
def test_the_summary_of_a_pack_ends_with_the_reason_why_no_more_was_packed(
    result: PackResult, mark_count: int, end: str
) -> None:
    assert pack_summary(result, mark_count).endswith(end)


@pytest.mark.programs
def test_the_scopes_of_a_pack_are_listed_from_narrow_to_wide() -> None:
    assert [scope_label(scope) for scope in Scope] == ["hit only", "paragraphs around", "section", "whole note"]


def passage_of(path: str, *, cut: bool = False) -> Pack:
    fragment = make_hit(path).fragment
    entry = EntryHit(fragment.id, 0, 1.0, ())
    return Pack(path, path, path, (), 1, 9, Scope.SECTION, entry, (fragment.id,), "text", 9, "", cut, False)


def test_the_passages_of_a_pack_are_counted_with_their_notes_where_some_share_one() -> None:
    pack = replace(make_pack(StopReason.ENOUGH), passages=(passage_of("a.md"), passage_of("b.md")))
    assert passage_count(pack) == "2 passages"
    assert passage_count(replace(pack, passages=(*pack.passages, passage_of("a.md")))) == "3 passages of 2 notes"


def test_a_scope_that_did_not_fit_is_reported_with_the_number_of_passages_that_have_it() -> None:
    pack = replace(make_pack(StopReason.BUDGET), passages=(passage_of("a.md"), passage_of("b.md", cut=True)))
    assert fitted_label(pack, lambda _: Scope.SECTION) == "1 of 2 fit"
    assert not fitted_label(pack, lambda _: Scope.NEIGHBORS)
    assert not fitted_label(replace(pack, passages=pack.passages[:1]), lambda _: Scope.NOTE)


def bar_of(pilot: AppPilot) -> PackBar:
    return screen_of(pilot.app).query_one(PackBar)


def text_of(bar: PackBar) -> str:
    return drawn_lines(bar)[0]


async def click(pilot: AppPilot, text: str) -> None:
    """Click on a text of the bar."""
    bar = bar_of(pilot)
    await pilot.click(bar, offset=Offset(text_of(bar).index(text) + 1, 0))


@pytest.mark.programs
async def test_a_wide_bar_shows_everything_and_a_narrow_one_the_size_of_the_pack(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        bar = bar_of(pilot)
        options = "s scope: paragraphs around  b budget  f format: markdown"
        for part in ("passages · ", "/4,000 tokens ▓", "░ · ", options, " mark only this: "):
            assert part in text_of(bar)
        await pilot.resize_terminal(30, 24)
        await pilot.pause()
        assert text_of(bar).rstrip() == "2 passages · 243/4,000"


@pytest.mark.programs
async def test_scope_budget_and_format_are_shown_with_their_keys_where_two_columns_do_not_fit(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show_results(pilot)
        bar = bar_of(pilot)
        assert "/4,000  esc s scope  b budget  f format" in text_of(bar)
        before = text_of(bar)
        await pilot.press("escape")
        await pilot.pause()
        assert text_of(bar) == before.replace("esc", "   ")


@pytest.mark.programs
async def test_parts_that_were_not_found_are_cut_to_the_room_beside_the_options(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show_results(pilot)
        bar = bar_of(pilot)
        assert bar.pack is not None
        for not_found, label in (
            (("sheets",), "not found: sheets"),
            (("how do I export the graph",), "not found: how do I…"),
            (("bandwidth limit", "prices"), "2 parts not found"),
        ):
            bar.pack = replace(bar.pack, not_found=not_found)
            await pilot.pause()
            assert f"/4,000 · {label}  esc s scope  b budget  f format" in text_of(bar)


@pytest.mark.parametrize(
    ("room", "label"),
    [
        (60, "not found: bandwidth limit, prices"),
        (33, "not found: bandwidth … and 1 more"),
        (20, "2 parts not found"),
        (10, ""),
    ],
)
def test_a_label_of_parts_that_were_not_found_fits_its_room(room: int, label: str) -> None:
    pack = make_pack(StopReason.ENOUGH, not_found=("bandwidth limit", "prices"))
    assert not_found_label(pack, room) == label


@pytest.mark.programs
async def test_the_bar_shows_the_same_options_whichever_row_is_selected(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show_results(pilot)
        bar, shown = bar_of(pilot), set[str]()
        for cost in (MarkCost("a", 8, is_first_mark=False), MarkCost("a", 1_108, is_first_mark=True)):
            bar.cost = cost
            await pilot.pause()
            shown.add(text_of(bar).partition("mark:")[0].partition("mark only")[0].rstrip())
        assert len(shown) == 1


@pytest.mark.programs
async def test_a_click_on_the_budget_opens_its_dialog(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        await click(pilot, "4,000 tokens")
        await until_screen(pilot, BudgetDialog)


@pytest.mark.programs
async def test_a_click_on_the_scope_opens_its_dialog(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        await click(pilot, "paragraphs around")
        await until_screen(pilot, ScopeDialog)


@pytest.mark.programs
async def test_a_click_on_the_format_selects_the_next(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        await click(pilot, "markdown")
        await until(pilot, lambda: pane_of(scripted).pack_format is Format.XML, "the format")
        await until_answered(pilot)
        assert "f format: xml" in text_of(bar_of(pilot))


@pytest.mark.programs
async def test_an_option_under_the_mouse_has_another_background(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        bar = bar_of(pilot)
        at = text_of(bar).index("markdown")
        await pilot.hover(bar, offset=Offset(at + 1, 0))
        await until(pilot, lambda: bool(bar.highlight_link_id), "the hover")
        (line,) = bar.render_lines(bar.size.region)
        backgrounds = {segment.text: segment.style.bgcolor for segment in line if segment.style is not None}
        assert backgrounds["format: markdown"] != backgrounds["scope: paragraphs around"]


@pytest.mark.programs
async def test_a_hit_already_packed_beside_a_mark_is_reported_as_such(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        pane, rows = pane_of(scripted), hit_list_of(scripted)
        pane.scope = Scope.NOTE
        await pilot.press("tab")
        await settle(pilot)
        marked = {mark.path for mark in pane.pack.choices.marks}
        beside = next(
            row
            for row, hit in enumerate(rows.hits)
            if hit.fragment.path in marked and hit.fragment.id not in pane.pack.choices.marked_ids
        )
        rows.select_fragment(rows.hits[beside].fragment.id)
        await settle(pilot)
        assert text_of(bar_of(pilot)).endswith(" mark: in the pack")


async def show_unanswered(pilot: AppPilot) -> None:
    """Search for words that no fragment has together."""
    await open_index(pilot)
    await type_query(pilot, "binary lentils")
    result = pane_of(pilot.app).result
    assert result is not None
    assert (result.confidence, len(result.hits) > 1) == (Confidence.NOTHING, True)


@pytest.mark.programs
async def test_without_an_answer_nothing_is_packed_until_a_key_packs_the_nearest_hits(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show_unanswered(pilot)
        bar = bar_of(pilot)
        assert text_of(bar).startswith("0 passages · no answer")
        await pilot.press("ctrl+y")
        await until(pilot, lambda: bool(notices_of(scripted)), "the reason")
        assert notices_of(scripted) == ["Nothing to copy: no hit answers. Pack the nearest hits by p in the list."]
        await pilot.press("escape", "p")
        await settle(pilot)
        assert bar.mark_count == min(3, len(hit_list_of(scripted).hits))
        assert bar.pack is not None
        assert bar.pack.passages
        await pilot.press("u")
        await settle(pilot)
        assert bar.mark_count == 0


@pytest.mark.programs
async def test_the_key_for_the_nearest_hits_is_offered_only_without_an_answer(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        await pilot.press("escape")
        assert "pack 3 nearest" not in drawn_lines(screen_of(scripted).query_one("KeyBar"))[0]
        screen_of(scripted).query_one("#query", Input).value = ""
        await pilot.press("slash")
        await show_unanswered(pilot)
        assert "pack 3 nearest" not in drawn_lines(screen_of(scripted).query_one("KeyBar"))[0]
        await pilot.press("escape")
        await settle(pilot)
        assert "p pack 3 nearest" in drawn_lines(screen_of(scripted).query_one("KeyBar"))[0]


@pytest.mark.programs
async def test_the_pack_stops_when_it_has_enough_or_fills_the_budget(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        bar, pane = bar_of(pilot), pane_of(scripted)
        assert " · enough" in text_of(bar)
        packed = pane.pack.newest_pack
        assert packed is not None
        assert "scores far below the best" in {row.reason for row in packed.left_out}
        await pilot.press("unbound-fill")
        await settle(pilot)
        assert pane.fill is Fill.BUDGET
        assert " · all hits" in text_of(bar)


TEMPLATE = "{{ question }}\n{% for s in sources %}({{ s.number }}) {{ s.place }}\n{{ s.text }}\n{% endfor %}"


@pytest.fixture
def clipboard(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a fake clipboard tool, and return the file that it writes."""
    taken, tools = tmp_path / "clipboard", tmp_path / "tools"
    tools.mkdir()
    tool = tools / "wl-copy"
    tool.write_text(f'#!/bin/sh\ncat > "{taken}.part" && mv "{taken}.part" "{taken}"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    return taken


@pytest.fixture
def template(tmp_path: Path) -> Path:
    file = tmp_path / "own.j2"
    file.write_text(TEMPLATE)
    return file


def app_with(form: Format, vault: Path, user_paths: Paths, template: Path) -> ExcerptApp:
    pack = PackSettings(budget=900, scope=Scope.SECTION, format=form, question=True, template=str(template))
    return ExcerptApp(vault, Settings(pack=pack), user_paths)


def printed(form: Format, vault: Path, template: Path, *words: str) -> bytes:
    """Return what `excerpt pack` prints to a pipe."""
    given = ["--template", str(template)] if form is Format.TEMPLATE else ["--format", form]
    options = ["--vault", str(vault), "--budget", "900", "--expand", "section", "--question", *given]
    return commands.printed("pack", *options, *words).encode()


async def copy_pack(pilot: AppPilot, clipboard: Path) -> bytes:
    await until_answered(pilot)
    await pilot.press("ctrl+y")
    await until(pilot, clipboard.exists, "the copy")
    return clipboard.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for a clipboard is a shell script")
@pytest.mark.programs
@pytest.mark.parametrize("form", list(Format))
async def test_a_pack_of_marks_with_changed_options_has_the_same_bytes_as_from_the_command(
    form: Format, vault: Path, user_paths: Paths, template: Path, clipboard: Path
) -> None:
    app = app_with(form, vault, user_paths, template)
    async with app.run_test() as pilot:
        await search(pilot, "lentil")
        await pilot.press("tab", "ctrl+u")
        await search(pilot, "sync conflict")
        await pilot.press("tab", "tab", "tab", "ctrl+o")
        for key in ("shift+down", "s", "s", "enter", "G", "x"):
            await until_answered(pilot)
            await pilot.press(key)
        text = await copy_pack(pilot, clipboard)
    assert text
    assert text == printed(form, vault, template, "--from-marks")


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for a clipboard is a shell script")
@pytest.mark.programs
@pytest.mark.parametrize("form", [Format.MARKDOWN, Format.JSON, Format.TEMPLATE])
async def test_a_pack_of_marked_memories_has_the_same_bytes_as_from_the_command(
    form: Format, vault: Path, user_paths: Paths, template: Path, clipboard: Path
) -> None:
    FolderMemoryStore(user_paths.memory_folder(vault)).remember(
        make_memory("A sync conflict: keep both versions.", why="nothing is lost")
    )
    app = app_with(form, vault, user_paths, template)
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        rows = pane_of(app).query_one(HitList)
        await until(pilot, lambda: pane_of(app).memories.is_answered and any(map(is_memory, rows.hits)), "the memory")
        rows.select_fragment(next(hit.fragment.id for hit in rows.hits if is_memory(hit)))
        await pilot.press("up", "tab", "tab")
        text = await copy_pack(pilot, clipboard)
    assert b"memory:m" in text or form is Format.TEMPLATE
    assert b"keep both versions" in text
    assert text == printed(form, vault, template, "--from-marks")


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for a clipboard is a shell script")
@pytest.mark.programs
@pytest.mark.parametrize("form", [Format.MARKDOWN, Format.TEMPLATE])
async def test_a_pack_of_the_top_hits_has_the_same_bytes_as_from_the_command(
    form: Format, vault: Path, user_paths: Paths, template: Path, clipboard: Path
) -> None:
    before = printed(form, vault, template, "sync conflict")  # before a copied pack raises its notes in the ranking
    app = app_with(form, vault, user_paths, template)
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        text = await copy_pack(pilot, clipboard)
    assert text == before


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for a clipboard is a shell script")
@pytest.mark.programs
async def test_a_pack_in_the_order_of_the_vault_has_the_same_bytes_as_from_the_command(
    vault: Path, user_paths: Paths, template: Path, clipboard: Path
) -> None:
    app = app_with(Format.JSON, vault, user_paths, template)
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        await pilot.press("tab", "tab", "tab", "unbound-order")
        text = await copy_pack(pilot, clipboard)
    assert text == printed(Format.JSON, vault, template, "--from-marks", "--rank", "none")


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for a clipboard is a shell script")
@pytest.mark.programs
@pytest.mark.parametrize(("form", "suffix"), [(Format.MARKDOWN, ".md"), (Format.XML, ".xml"), (Format.JSON, ".json")])
async def test_a_pack_saved_as_a_file_has_the_same_bytes_as_the_copied_pack(  # noqa: PLR0917 - fixtures
    form: Format, suffix: str, vault: Path, user_paths: Paths, template: Path, clipboard: Path
) -> None:
    app = app_with(form, vault, user_paths, template)
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        text = await copy_pack(pilot, clipboard)
        await pilot.press("unbound-save-pack")
        await until(pilot, lambda: any("written to" in notice for notice in notices_of(app)), "the notice")
    (file,) = user_paths.copies_folder().glob("pack-*")
    assert file.suffix == suffix
    assert file.read_bytes() == text


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for a clipboard is a shell script")
async def test_a_copied_pack_counts_as_savings(vault: Path, user_paths: Paths, template: Path, clipboard: Path) -> None:
    app = app_with(Format.MARKDOWN, vault, user_paths, template)
    async with app.run_test() as pilot:
        await search(pilot, "sync conflict")
        await copy_pack(pilot, clipboard)
        await until(pilot, lambda: SavingsFile(user_paths.token_savings_file(vault)).read() is not None, "the count")
        packed = pane_of(app).pack.newest_pack
    saved = SavingsFile(user_paths.token_savings_file(vault)).read()
    assert saved is not None
    assert packed is not None
    assert (saved.packs, saved.tokens) == (1, packed.result.tokens)
