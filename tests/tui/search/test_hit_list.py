"""Tests of the ranked list: rows of hits, the selection, and the content of a row."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest
from rich.cells import cell_len
from rich.style import Style
from textual.pilot import Pilot
from textual.strip import Strip

from excerpt.base.kinds import Confidence, Strategy
from excerpt.base.model import Fragment, Hit, LinkSource, PastUse, Replaced, Result, Span
from excerpt.pack.memory_fragment import memory_name
from excerpt.search.engine import Engine
from excerpt.service.questions import AskSearch
from excerpt.service.request_queue import Question
from excerpt.tui.common.split import Split
from excerpt.tui.search.hit_list import (
    HitList,
    arrange_hits,
    find_successor,
    is_by_date,
    make_rows,
    matched_stop_words,
)
from excerpt.tui.search.notices import answer_notice
from tests.tui.driver import ScriptedApp, drawn_lines, hit_list_of, pane_of, until


def hit(path: str, line: int = 1, text: str = "A sync conflict.", score: float = 1.0, title: str = "") -> Hit:
    fragment = Fragment(
        id=f"{path}:{line}:{text}",
        path=path,
        title=title or path.rpartition("/")[2].removesuffix(".md"),
        heading_path=("Conflicts",),
        ordinal=0,
        section=0,
        line_start=line,
        line_end=line,
        text=text,
        tokens=124,
        digest=text,
    )
    return Hit(fragment, score, (), (), Confidence.LIKELY)


def memory_hit() -> Hit:
    one = hit("a.md")
    return replace(one, fragment=replace(one.fragment, id=memory_name("m1"), path=memory_name("m1"), title="Memory"))


# --- hits as rows -----------------------------------------------------------------------------------------------------


def test_a_note_has_one_row_with_its_further_hits_folded() -> None:
    further = hit("a.md", 9), hit("a.md", 5)
    rows = make_rows([hit("a.md", 1), hit("b.md", 1), *further])
    assert [(row.rank, row.hit.fragment.path, row.hit.fragment.line_start) for row in rows] == [
        *((1, "a.md", 1), (2, "b.md", 1)),
    ]
    assert [row.folded for row in rows] == [tuple(each.fragment.id for each in further), ()]


def test_the_further_hits_of_an_unfolded_note_are_below_its_first_and_repeat_no_title() -> None:
    rows = make_rows([hit("a.md", 1), hit("b.md"), hit("b.md", 7), hit("a.md", 5)], unfolded={"a.md"})
    assert [(row.rank, row.repeats_note, len(row.folded)) for row in rows] == [
        (1, False, 0),
        (4, True, 0),
        (2, False, 1),
    ]


def test_memories_are_not_counted_as_ranks() -> None:
    rows = make_rows([hit("a.md", 1), memory_hit(), hit("b.md", 2)])
    assert [row.rank for row in rows] == [1, 0, 2]


def test_listed_hits_of_one_section_are_told_apart_by_their_lines() -> None:
    other = replace(hit("a.md", 30), fragment=replace(hit("a.md", 30).fragment, heading_path=("Merging",)))
    hits = [hit("a.md", 3), other, hit("b.md", 3), hit("a.md", 9)]
    assert [row.lines for row in make_rows(hits, unfolded={"a.md"})] == ["3", "", "9", ""]
    assert [row.lines for row in make_rows(hits)] == ["", ""]


def test_fragments_of_one_note_are_not_told_apart_by_a_folder() -> None:
    assert [row.folder for row in make_rows([hit("guide/Sync.md", 1), hit("guide/Sync.md", 9)])] == [""]


def hit_with_matches(text: str, *words: str) -> Hit:
    return replace(hit("a.md", text=text), spans=tuple(Span(text.index(w), text.index(w) + len(w)) for w in words))


def test_stop_words_beside_other_words_are_not_highlighted() -> None:
    hits = [hit_with_matches("How to sync the phone", "How", "to", "sync", "the")]
    assert matched_stop_words("how to sync the phone", hits) == {"how", "to", "the"}
    assert matched_stop_words("a token budget", [hit_with_matches("Within a token budget", "a", "budget")]) == {"a"}


def test_stop_words_are_not_highlighted_if_the_other_words_match_nothing() -> None:
    assert matched_stop_words("how to abseil", [hit_with_matches("How to sync the phone", "How", "to")]) == {
        "how",
        "to",
    }


def test_a_query_of_stop_words_highlights_them() -> None:
    hits = [hit_with_matches("to be or not to be", "to", "be", "or", "not")]
    assert matched_stop_words("to be or not to be", hits) == frozenset()


def test_stop_words_of_the_notes_language_are_included() -> None:
    text = "Wie man die Geräte verbindet und was dann mit den Notizen ist, die auf der Platte sind"
    assert matched_stop_words("die Geräte", [hit_with_matches(text, "die", "Geräte")]) == {"die"}


# --- hits in order of date --------------------------------------------------------------------------------------------


def dated_result() -> Result:
    """Return a result in order of date, newest first, whose best hits are c, e, a and then d, b."""
    days = {"a": "2026-03-02", "b": "2026-03-02", "c": "2026-03-01", "d": "2025-12-31", "e": ""}
    scores = {"c": 0.9, "e": 0.8, "a": 0.7, "d": 0.4, "b": 0.2}
    hits = tuple(replace(hit(f"{name}.md", score=scores[name]), date=day) for name, day in days.items())
    made = Result("sort:-date x", Strategy.AUTO, Strategy.AUTO, hits, 5, 1.0, 1)
    return replace(made, confidence=Confidence.LIKELY, sort="-date")


def test_the_three_best_hits_are_listed_with_ranks_above_the_hits_by_day() -> None:
    result = dated_result()
    rows = make_rows(arrange_hits(result), result.best_first)
    assert [(row.heading, row.rank, row.hit.fragment.title) for row in rows] == [
        *(("best", 1, "c"), ("", 2, "e"), ("", 3, "a")),
        ("2026-03-02 Monday", 5, "b"),
        ("2025-12-31 Wednesday", 4, "d"),
    ]


def test_unranked_hits_are_listed_only_below_their_days() -> None:
    result = dated_result()
    unranked = tuple(replace(each, confidence=None) for each in result.hits)
    result = replace(result, hits=unranked, confidence=None)
    rows = make_rows(arrange_hits(result), result.best_first)
    assert [(row.heading, row.rank) for row in rows] == [
        *(("2026-03-02 Monday", 1), ("", 2)),
        *(("2026-03-01 Sunday", 3), ("2025-12-31 Wednesday", 4), ("no date", 5)),
    ]


def test_without_any_date_the_hits_stay_in_order_of_rank() -> None:
    result = dated_result()
    result = replace(result, hits=tuple(replace(each, date="") for each in result.hits))
    assert arrange_hits(result) == result.hits
    assert not is_by_date(result)
    assert answer_notice(result, has_correction=False) == "no hit has a date, so the order is as without it"


def test_in_a_list_by_day_a_memory_stands_below_the_day_of_the_hit_above() -> None:
    result = dated_result()
    first, *others = arrange_hits(result)
    rows = make_rows([first, memory_hit(), *others], result.best_first)
    assert [(row.heading, row.rank) for row in rows[:3]] == [("best", 1), ("", 0), ("", 2)]


def test_a_note_has_a_row_below_each_day() -> None:
    result = dated_result()
    hits = tuple(replace(each, fragment=replace(each.fragment, path="a.md")) for each in result.hits)
    result = replace(result, hits=hits)
    rows = make_rows(arrange_hits(result), result.best_first)
    assert [(row.heading, row.rank, len(row.folded)) for row in rows] == [
        *(("best", 1, 2), ("2026-03-02 Monday", 5, 0), ("2025-12-31 Wednesday", 4, 0)),
    ]


# --- the selection when the vault has changed and the query is repeated -----------------------------------------------


def test_the_selected_fragment_stays_selected_at_its_new_rank() -> None:
    was = hit("a.md", 3, "old")
    now = hit("a.md", 3, "old")
    assert find_successor(was, [hit("new.md", 1, "x"), now]) is now


def test_an_edited_fragment_is_replaced_by_the_nearest_of_its_note() -> None:
    near = hit("a.md", 4, "edited")
    assert find_successor(hit("a.md", 3, "old"), [hit("a.md", 90, "far"), hit("b.md", 3, "x"), near]) is near


def test_after_its_note_was_deleted_no_fragment_is_selected() -> None:
    assert find_successor(hit("a.md", 3, "old"), [hit("b.md", 1, "x")]) is None


# --- the list on the screen -------------------------------------------------------------------------------------------


async def show(pilot: Pilot[None], hits: Sequence[Hit], matched: int = 0) -> HitList:
    """Show these hits as the result of a query."""
    result = Result("x", Strategy.AUTO, Strategy.AUTO, tuple(hits), max(matched, len(hits)), 1.0, 1)
    return await show_result(pilot, result)


async def show_result(pilot: Pilot[None], result: Result) -> HitList:
    await pilot.press("s")
    await pilot.pause()
    pane_of(pilot.app).result = result
    await pilot.pause()
    return hit_list_of(pilot.app)


async def test_the_order_of_the_list_does_not_change_what_is_packed(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        packed: list[Result] = []
        monkeypatch.setattr(pane_of(scripted).pack, "ask_pack", lambda result, *_: packed.append(result))
        await show_result(pilot, dated_result())
        assert [each.fragment.title for each in packed[-1].hits] == ["c", "e", "a", "d", "b"]
        assert (packed[-1].query, packed[-1].sort) == ("x", "")


async def test_in_a_list_by_date_a_sign_shows_what_is_packed_and_no_rule_is_drawn(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show_result(pilot, dated_result())
        rows.packed_ids = frozenset(each.fragment.id for each in rows.hits if each.fragment.title in "cd")
        await pilot.pause()
        signs = {line[3]: line[1] for line in drawn_lines(rows) if line[3:4] in set("ceabd") and line[2] == " "}
        assert signs == {"c": "○", "e": " ", "a": " ", "b": " ", "d": "○"}
        assert not any("╌" in line for line in drawn_lines(rows))


@pytest.mark.programs
async def test_days_are_rows_that_the_cursor_skips(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show_result(pilot, dated_result())
        assert [line.split()[:3] for line in drawn_lines(rows)[:4]] == [
            ["best"],
            *(["▌", "c", "›"], ["e", "›", "Conflicts"], ["a", "›", "Conflicts"]),
        ]
        await pilot.press("down", "down", "down")
        assert rows.selected is not None
        assert rows.selected.fragment.title == "b"
        assert [line.split()[:3] for line in drawn_lines(rows)[4:6]] == [["2026-03-02", "Monday"], ["▌", "b", "›"]]


@pytest.mark.programs
@pytest.mark.parametrize(("size", "lines"), [((80, 24), [0, 2, 3, 4, 6, 8]), ((80, 40), [0, 3, 5, 7, 9, 11])])
async def test_the_first_row_below_a_day_has_one_more_line(
    scripted: ScriptedApp, size: tuple[int, int], lines: list[int]
) -> None:
    async with scripted.run_test(size=size) as pilot:
        rows = await show_result(pilot, dated_result())
        assert [rows.first_line_of(row) for row in range(6)] == lines
        assert [rows.row_at_line(line) for line in lines] == [0, 1, 2, 3, 4, 5]
        assert rows.row_at_line(lines[3] - 1) == 2


@pytest.mark.programs
async def test_a_click_on_a_day_selects_and_marks_nothing(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show_result(pilot, dated_result())
        await pilot.click(HitList, offset=(2, 4))
        assert (rows.cursor, rows.marked_ids) == (0, frozenset())
        await pilot.click(HitList, offset=(12, 5))
        assert rows.cursor == 3


@pytest.mark.programs
async def test_a_row_has_names_and_the_score_and_in_a_wide_terminal_the_age(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        day = date.today() - timedelta(days=3)
        first = replace(hit("Troubleshoot Sync.md", score=1.734), created=day)
        rows = await show(pilot, [first, hit("Merging.md", score=0.867)])
        assert [line.split() for line in drawn_lines(rows)[:2]] == [
            ["▌", "Troubleshoot", "Sync", "›", "Conflicts", "1.73"],
            ["Merging", "›", "Conflicts", "0.87"],
        ]
        await pilot.resize_terminal(120, 24)
        await until(pilot, lambda: drawn_lines(rows)[0].endswith("3d"), "the age")
        assert [line.split()[-2:] for line in drawn_lines(rows)[:2]] == [["1.73", "3d"], ["Conflicts", "0.87"]]


@pytest.mark.programs
async def test_scores_are_tinted_in_five_steps(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [hit(f"{score}.md", score=score) for score in (1.0, 0.9, 0.7, 0.5, 0.3, 0.1)])
        figures = [
            next(part for part in rows.render_line(y) if re.fullmatch(r"[01]\.\d\d", part.text)) for y in range(6)
        ]
        tints = [(part.style.color, part.style.bold) for part in figures if part.style is not None]
        assert tints[0] == tints[1]
        assert len(set(tints)) == 5


@pytest.mark.programs
async def test_at_most_ten_cells_of_a_row_are_no_text(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        one = hit("x" * 200)
        rows = await show(pilot, [replace(one, fragment=replace(one.fragment, heading_path=()))])
        assert drawn_lines(rows)[0].count("x") + len("…") >= 70


async def test_the_title_and_headings_of_a_row_extend_to_its_score(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        one = hit("a.md", title="A title that goes on and on without end, and then further on, to the next line")
        one = replace(one, fragment=replace(one.fragment, heading_path=()))
        row = drawn_lines(await show(pilot, [one]))[0]
        assert row == "▌  A title that goes on and on without end, and then further on, to the…  1.00"


async def test_a_row_says_what_replaces_its_note_in_one_word_where_there_is_no_room(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        by = Replaced("Prices 2026.md", "Prices 2026", "2026-03-01", "superseded_by: [[Prices 2026]]")
        short, long = (replace(hit(f"{name}.md"), replaced=by) for name in ("Prices 2024", "Prices " * 6))
        rows = await show(pilot, [short, long, replace(hit("Old.md"), replaced=Replaced(None, None, None, "obsolete"))])
        assert drawn_lines(rows)[0].startswith("▌  Prices 2024 › Conflicts · replaced on 2026-03-01 by Prices 2026.md")
        assert " Conflicts · replaced  " in drawn_lines(rows)[1]
        assert " Conflicts · marked as obsolete " in drawn_lines(rows)[2]


@pytest.mark.programs
async def test_a_note_without_a_date_has_no_age(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(120, 24)) as pilot:
        dated = replace(hit("b.md"), created=date.today())
        to_come = replace(hit("c.md"), created=date.today() + timedelta(days=1))
        rows = await show(pilot, [hit("a.md"), dated, to_come])
        assert [line.split()[-1] for line in drawn_lines(rows)[:3]] == ["1.00", "0d", "1.00"]


@pytest.mark.programs
async def test_snippets_are_shown_from_thirty_rows_on(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 29)) as pilot:
        rows = await show(pilot, [hit("a.md", text="It is so. When Sync finds a conflict, it waits."), hit("b.md")])
        assert [line[:6] for line in drawn_lines(rows)[:3]] == ["▌  a ›", "   b ›", ""]
        await pilot.resize_terminal(80, 30)
        await until(pilot, lambda: rows.has_snippets, "the snippets")
        assert [line.rstrip()[:30] for line in drawn_lines(rows)[1:3]] == [
            "▌  It is so. When Sync finds a",
            drawn_lines(rows)[2][:30],
        ]
        assert drawn_lines(rows)[2].startswith("   b ›")
        await pilot.resize_terminal(80, 29)
        await until(pilot, lambda: not rows.has_snippets, "rows of one line")
        assert drawn_lines(rows)[1].startswith("   b ›")


@pytest.mark.programs
@pytest.mark.parametrize(
    ("size", "side", "rows_seen"), [((80, 24), False, 15), ((80, 24), True, 6), ((140, 45), True, 30)]
)
async def test_the_list_is_high_enough_for_several_hits(
    scripted: ScriptedApp, size: tuple[int, int], side: bool, rows_seen: int
) -> None:
    async with scripted.run_test(size=size) as pilot:
        rows = await show(pilot, [hit(f"{at}.md") for at in range(50)], matched=118)
        pane_of(scripted).query_one(Split).context = side
        await pilot.pause()
        assert rows.row_at_line(rows.size.height) >= rows_seen


@pytest.mark.programs
async def test_one_symbol_of_a_row_shows_that_it_is_marked_else_remembered_else_used_before(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        hits = [replace(hit(f"{name}.md"), past_uses=(PastUse("opened", "x", 0.0),)) for name in "abc"]
        rows = await show(pilot, [*hits, hit("d.md")])
        ids = [one.fragment.id for one in hits]
        rows.marked_ids, rows.remembered_ids = frozenset(ids[:1]), frozenset(ids[:2])
        rows.packed_ids = frozenset(ids)
        assert [line[1] for line in drawn_lines(hit_list_of(scripted))[:4]] == ["●", "◆", "↺", " "]


async def test_a_row_says_from_which_note_a_link_leads_to_its_hit(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        linked = replace(hit("b.md"), linked_from=LinkSource("a.md", "First [red]note\x1b", is_named=False))
        await show(pilot, [hit("a.md"), linked])
        assert "linked from First [red]note␛" in drawn_lines(hit_list_of(scripted))[1]


async def test_only_rows_whose_mark_changed_are_redrawn(scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        hits = [hit(f"{name}.md") for name in "abcd"]
        rows = await show(pilot, hits)
        drawn_lines(hit_list_of(scripted))
        drawn: list[int] = []
        draw = rows.draw_row

        def noted(row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
            drawn.append(row)
            return draw(row, width, selected, base)

        monkeypatch.setattr(rows, "draw_row", noted)
        rows.packed_ids = frozenset({hits[2].fragment.id})
        drawn_lines(hit_list_of(scripted))
        assert drawn == [2]


@pytest.mark.programs
async def test_a_memory_has_its_symbol_in_place_of_the_rank(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show(pilot, [hit("a.md"), memory_hit()])
        assert drawn_lines(hit_list_of(scripted))[1].split()[:2] == ["◆", "Memory"]


@pytest.mark.programs
async def test_an_attachment_has_its_kind_before_the_title(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        page = hit("paper.pdf", title="Rivers")
        page = replace(page, fragment=replace(page.fragment, kind="pdf", place="page=3", heading_path=("Page 3",)))
        await show(pilot, [page])
        assert drawn_lines(hit_list_of(scripted))[0].split()[:6] == ["▌", "pdf", "Rivers", "›", "Page", "3"]


async def test_a_list_of_filters_has_no_score(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show(pilot, [replace(hit("a.md"), confidence=None)])
        assert drawn_lines(hit_list_of(scripted))[0].split() == ["▌", "a", "›", "Conflicts"]


@pytest.mark.programs
async def test_a_key_lists_the_further_hits_of_a_note_and_another_folds_them(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        bare = hit("Sync.md", 9)
        bare = replace(bare, fragment=replace(bare.fragment, heading_path=()))
        rows = await show(pilot, [hit("Sync.md", 1), hit("b.md"), hit("Sync.md", 5), bare])
        assert drawn_lines(rows)[0].startswith("▌  Sync › Conflicts +2 in this note ")
        await pilot.press("escape", "right")
        assert [line[:14] for line in drawn_lines(rows)[:4]] == [
            *("▌  Sync › Conf", "     Conflicts", "   Sync       ", "   b › Conflic"),
        ]
        await pilot.press("down", "left")
        assert (rows.cursor, rows.row_count) == (0, 2)


@pytest.mark.programs
async def test_a_click_on_the_number_of_further_hits_lists_them(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [hit("Sync.md", 1), hit("Sync.md", 5), hit("b.md")])
        await pilot.click(HitList, offset=(drawn_lines(rows)[0].index("+1"), 0))
        assert rows.row_count == 3


@pytest.mark.programs
async def test_the_number_of_further_hits_says_how_many_are_packed_or_marked(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        hits = [hit("Sync.md", line) for line in (1, 5, 9)]
        rows = await show(pilot, hits)
        rows.packed_ids = frozenset(one.fragment.id for one in hits[:2])
        assert "+2 in this note, 1 in the pack" in drawn_lines(rows)[0]
        rows.marked_ids = frozenset(one.fragment.id for one in hits[1:])
        assert "+2 in this note, 2 marked" in drawn_lines(rows)[0]


@pytest.mark.programs
async def test_a_title_that_is_cut_leaves_room_for_the_number_of_further_hits_alone(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [hit("x" * 99, 1), hit("x" * 99, 5)])
        rows.packed_ids = frozenset({rows.hits[1].fragment.id})
        assert drawn_lines(rows)[0].endswith("x… › Conflicts +1 1.00")
        rows.marked_ids = frozenset({rows.hits[1].fragment.id})
        assert drawn_lines(rows)[0].endswith("x… › Conflicts +1● 1.00")


@pytest.mark.programs
async def test_the_number_of_further_hits_is_short_where_a_title_needs_the_room(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [hit("x" * 44, 1), hit("x" * 44, 5)])
        assert drawn_lines(rows)[0].endswith("x › Conflicts +1            1.00")
        rows.packed_ids = frozenset({rows.hits[1].fragment.id})
        assert "+1, 1 packed " in drawn_lines(rows)[0]
        rows.marked_ids = frozenset({rows.hits[1].fragment.id})
        assert "+1, 1 marked " in drawn_lines(rows)[0]


@pytest.mark.programs
async def test_selecting_a_folded_fragment_unfolds_its_note(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [hit("Sync.md", 1), hit("b.md"), hit("Sync.md", 5)])
        rows.select_fragment(hit("Sync.md", 5).fragment.id)
        assert (rows.cursor, rows.row_count) == (1, 3)


# --- the end of the pack ----------------------------------------------------------------------------------------------


async def show_packed(pilot: Pilot[None], packed: Sequence[int]) -> HitList:
    """Show eight hits of eight notes, of which those at `packed` are in the pack."""
    hits = [hit(f"{name}.md") for name in "abcdefgh"]
    rows = await show(pilot, hits)
    rows.packed_ids = frozenset(hits[at].fragment.id for at in packed)
    rows.show_pack_end("enough: 3 passages, 930 tokens")
    return rows


async def test_a_rule_below_the_last_packed_row_says_why_the_pack_ends(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show_packed(pilot, [0, 1, 2])
        lines = drawn_lines(rows)
        assert lines[3].startswith("╌╌ enough: 3 passages, 930 tokens ╌╌╌")
        assert (lines[2][3], lines[4][3]) == ("c", "d")


@pytest.mark.programs
async def test_a_row_above_the_rule_that_is_not_in_the_pack_has_a_dash(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show_packed(pilot, [0, 2])
        assert [line[1] for line in drawn_lines(rows)[:3]] == [" ", "–", " "]


@pytest.mark.programs
async def test_while_a_pack_is_built_the_rule_stays_without_a_text(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show_packed(pilot, [0, 1, 2])
        rows.show_pack_end(None)
        assert set(drawn_lines(rows)[3]) == {"╌"}
        rows.show_pack_end("")
        assert "╌" not in "".join(drawn_lines(rows))


@pytest.mark.programs
@pytest.mark.parametrize("has_snippets", [False, True])
async def test_a_rule_that_moves_leaves_rows_below_it_drawn_and_draws_all_that_differ(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch, has_snippets: bool
) -> None:
    async with scripted.run_test(size=(80, 40)) as pilot:
        rows = await show(pilot, [hit(f"{name}.md") for name in "abcdefgh"])
        rows.has_snippets = has_snippets
        draw, drawn = rows.draw_row, list[int]()

        def noted(row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
            drawn.append(row)
            return draw(row, width, selected, base)

        monkeypatch.setattr(rows, "draw_row", noted)
        for packed in ((0, 2), (0,), (), (1, 3), (0, 1, 2, 3, 4)):
            drawn_lines(rows)
            drawn.clear()
            rows.packed_ids = frozenset(rows.hits[at].fragment.id for at in packed)
            rows.show_pack_end(f"enough: {len(packed)}" if packed else "")
            lines = drawn_lines(rows)
            assert not {6, 7} & set(drawn)
            rows.redraw_rows()
            assert drawn_lines(rows) == lines


@pytest.mark.programs
async def test_a_rule_that_appears_leaves_the_best_hit_in_sight(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [hit(f"{name}.md") for name in "abcdefghijklmnop"])
        rows.cursor = 3
        rows.packed_ids = frozenset({rows.hits[0].fragment.id})
        rows.show_pack_end("enough: 1 passage, 475 tokens")
        assert rows.scroll_offset.y == 0


@pytest.mark.programs
async def test_a_rule_that_appears_leaves_a_scrolled_list_where_it_is(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [hit(f"{at:02}.md") for at in range(40)])
        rows.scroll_to(y=20, animate=False)
        rows.packed_ids = frozenset({rows.hits[0].fragment.id})
        rows.show_pack_end("enough: 1 passage, 475 tokens")
        assert (rows.cursor, drawn_lines(rows)[0][3:5]) == (0, "20")


@pytest.mark.programs
async def test_a_repeated_answer_leaves_a_scrolled_list_where_it_is_and_a_new_query_shows_its_best_hit(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        hits = tuple(hit(f"{at:02}.md") for at in range(40))
        rows = await show(pilot, hits)
        rows.scroll_to(y=20, animate=False)
        rows.show(hits, "x", is_repeat=True)
        assert drawn_lines(rows)[0][3:5] == "20"
        rows.show(hits, "y", is_repeat=False)
        assert drawn_lines(rows)[0][3:5] == "00"


@pytest.mark.programs
@pytest.mark.parametrize("size", [(80, 24), (80, 40)])
async def test_a_pack_with_the_last_hit_has_its_rule_below_the_last_row(
    scripted: ScriptedApp, size: tuple[int, int]
) -> None:
    async with scripted.run_test(size=size) as pilot:
        rows = await show_packed(pilot, [0, 7])
        last = rows.first_line_of(8) - 1
        assert drawn_lines(rows)[last].startswith("╌╌ enough: 3 passages, 930 tokens ╌╌╌")
        await pilot.click(HitList, offset=(9, last))
        assert rows.cursor == 0
        await pilot.click(HitList, offset=(9, last - 1))
        assert rows.cursor == 7
        rows.show((*rows.hits, hit("i.md")), "x", is_repeat=True)
        assert [line[:2] for line in drawn_lines(rows)[last : last + 2]] == ["╌╌", "  "]


@pytest.mark.programs
async def test_a_click_on_the_rule_selects_nothing(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show_packed(pilot, [0, 1, 2])
        await pilot.click(HitList, offset=(9, 3))
        assert rows.cursor == 0
        await pilot.click(HitList, offset=(9, 4))
        assert rows.cursor == 3


@pytest.mark.programs
async def test_in_a_tall_terminal_rows_above_the_rule_have_snippets(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        rows = await show_packed(pilot, [0, 1])
        assert [line[3:5] for line in drawn_lines(rows)[:6]] == ["a ", "A ", "b ", "A ", "en", "c "]


@pytest.mark.programs
async def test_rows_of_one_section_show_their_lines_if_they_have_no_snippet(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [hit("Sync.md", 3), hit("Sync.md", 9)])
        await pilot.press("escape", "right")
        assert [line[:23].rstrip() for line in drawn_lines(rows)[:2]] == [
            "▌  Sync › Conflicts · 3",
            "     Conflicts · 9",
        ]
        await pilot.resize_terminal(80, 30)
        await until(pilot, lambda: rows.has_snippets, "the snippets")
        assert " · " not in "".join(drawn_lines(rows)[:5])


@pytest.mark.programs
async def test_matched_words_are_bold_and_coloured_without_a_background(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 30)) as pilot:
        rows = await show(pilot, [hit_with_matches("A sync conflict.", "sync")])
        (match,) = (part for part in rows.render_line(1) if part.text == "sync")
        beside = next(part for part in rows.render_line(1) if part.text.startswith(" conflict"))
        assert match.style is not None
        assert beside.style is not None
        assert match.style.bold
        assert match.style.color != beside.style.color
        assert match.style.bgcolor == beside.style.bgcolor


@pytest.mark.programs
async def test_a_fragment_can_be_selected_by_its_id(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [hit(f"{name}.md") for name in "abcde"])
        rows.select_fragment(hit("e.md").fragment.id)
        assert rows.cursor == 4
        rows.select_fragment("gone")
        assert rows.cursor == 4


@pytest.mark.programs
async def test_a_selected_row_keeps_its_position_on_the_screen_when_rows_are_inserted_above(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        hits = [hit(f"{name}.md") for name in "abcdefghijklmnop"]
        rows = await show(pilot, hits)
        rows.cursor = 12
        await pilot.pause()
        stood = rows.first_line_of(12) - rows.scroll_offset.y
        rows.show((hits[0], hit("z.md", 9), *hits[1:]), "x", is_repeat=True)
        assert rows.cursor == 13
        assert rows.first_line_of(13) - rows.scroll_offset.y == stood


def limits_asked_for(scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Return a list that collects the limit of each search."""
    limits: list[int | None] = []

    def ask(question: object, *_: object, **__: object) -> None:
        if isinstance(question, AskSearch):
            limits.append(question.limit)

    monkeypatch.setattr(pane_of(scripted)._engine, "ask", ask)
    return limits


@pytest.mark.programs
async def test_at_the_end_of_the_list_more_hits_are_requested(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show(pilot, [hit(f"{at}.md") for at in range(50)], matched=118)
        asked = limits_asked_for(scripted, monkeypatch)
        hit_list_of(scripted).action_last()
        await pilot.pause()
        assert asked == [100]


@pytest.mark.programs
async def test_more_hits_are_requested_where_the_list_is_scrolled_to_its_end(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [hit(f"{at}.md") for at in range(50)], matched=118)
        asked = limits_asked_for(scripted, monkeypatch)
        rows.scroll_to(y=20, animate=False)
        await pilot.pause()
        assert asked == []
        rows.scroll_end(animate=False)
        await until(pilot, lambda: asked == [100], "the question for more hits")


@pytest.mark.programs
async def test_a_list_that_folded_hits_leave_short_is_filled_after_a_pause(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        asked = limits_asked_for(scripted, monkeypatch)
        await show(pilot, [hit(f"{at % 9}.md", at + 1) for at in range(50)], matched=118)
        pane_of(scripted)._handle_built_pack()
        assert 100 not in asked
        await until(pilot, lambda: 100 in asked, "the question for more hits")


@pytest.mark.programs
async def test_while_the_list_is_filled_keys_act_on_its_rows(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: dict[str, Callable[[Result], object]] = {}

    def ask(question: Question[Engine, object], on_answer: Callable[[Result], object], *_: object) -> None:
        answers[question.kind] = on_answer

    async with scripted.run_test(size=(140, 45)) as pilot:
        await show(pilot, [hit(f"{at % 9}.md", at + 1) for at in range(50)], matched=118)

        pane = pane_of(scripted)
        monkeypatch.setattr(pane._engine, "ask", ask)
        monkeypatch.setattr(pane._engine, "is_waiting", answers.__contains__)
        pane._fill_list()
        assert not pane.has_to_wait("move")
        await pilot.press("down")
        selected = pane.selected
        result = pane.result
        assert result is not None
        more = tuple(hit(f"{at}.md", at + 1) for at in range(50, 100))
        answers.pop("more-hits")(replace(result, hits=(*result.hits, *more)))
        assert (hit_list_of(scripted).row_count, pane.selected) == (59, selected)


@pytest.mark.programs
async def test_a_list_is_filled_once_for_a_query(scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        pane, asked = pane_of(scripted), limits_asked_for(scripted, monkeypatch)
        hits = [hit(f"{at % 9}.md", at + 1) for at in range(100)]
        await show(pilot, hits[:50], matched=6751)
        assert pane.result is not None
        pane._handle_more_hits(100, 45, replace(pane.result, hits=tuple(hits)))
        asked.clear()
        pane._fill_list()
        assert asked == []


@pytest.mark.programs
async def test_a_full_list_is_not_filled(scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        asked = limits_asked_for(scripted, monkeypatch)
        await show(pilot, [hit(f"{at}.md") for at in range(50)], matched=118)
        pane_of(scripted)._handle_built_pack()
        await until(pilot, lambda: not pane_of(scripted)._fill_timer.is_pending, "the end of the pause")
        assert 100 not in asked


@pytest.mark.programs
async def test_at_the_end_of_a_complete_list_nothing_is_requested(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show(pilot, [hit(f"{at}.md") for at in range(20)])
        asked = limits_asked_for(scripted, monkeypatch)
        hit_list_of(scripted).action_last()
        await pilot.pause()
        assert asked == []


HOSTILE = [
    "[/red] [bold]x[/bold] \x1b[31m \x1b]52;c;eA==\x07 \u202eidib\u202c \u2066\u200b",
    "👨‍👩‍👧 ❤️ 1️⃣ 👍🏽 🏳️‍🌈 Z̡͖̜̱algo",
    "冲突" * 200,
    "ｶﾞｷﾞ 각 ที่ می‌خواهم سلام",
    "x" * 10_000,
    "\t\r\n \ud800",
]


@pytest.mark.programs
async def test_hostile_names_and_text_keep_every_line_of_a_row_at_its_width(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(100, 40)) as pilot:
        one = hit("a.md")
        texts = [
            replace(one.fragment, id=f"{i}", path=f"{i % 9}/{title}", title=title, heading_path=(text,), text=text)
            for i, (title, text) in enumerate(itertools.product(HOSTILE, HOSTILE))
        ]
        rows = await show(pilot, [replace(one, fragment=each, created=date(2020, 1, 1)) for each in texts])
        for row in range(rows.row_count):
            for width in (20, 37, 61, 99):
                lines = rows.draw_row(row, width, False, rows.base_style)
                assert [cell_len("".join(part.text for part in line)) for line in lines] == [width] * len(lines)
                assert not set("\x1b\u202e\u2066\n") & set("".join(line.text for line in lines))
