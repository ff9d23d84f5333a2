"""Tests of the ranked list: rows of hits, the selection, and the content of a row."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.style import Style
from textual.pilot import Pilot
from textual.strip import Strip

from excerpt.kinds import Confidence, Strategy
from excerpt.model import Fragment, Hit, Result, Span
from excerpt.pack.memory_fragment import memory_name
from excerpt.tui.questions import AskSearch
from excerpt.tui.search.hit_list import (
    HitList,
    HitRow,
    distinguishing_folders,
    find_successor,
    group_hits,
    matched_stop_words,
)
from tests.tui.driver import ScriptedApp, drawn_lines, hit_list_of, pane_of


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


def memory() -> Hit:
    one = hit("a.md")
    return replace(one, fragment=replace(one.fragment, id=memory_name("m1"), path=memory_name("m1"), title="Memory"))


def listed(rows: Sequence[HitRow]) -> list[str]:
    """Return rank, path and line of each row, indented below another, with the count of folded rows."""
    return [
        f"{'  ' if row.is_below_best else ''}{row.rank} {row.hit.fragment.path}:{row.hit.fragment.line_start}"
        + (f" +{row.folded_count}" if row.folded_count else "")
        for row in rows
    ]


# --- hits as rows -----------------------------------------------------------------------------------------------------


def test_fragments_of_a_note_stand_below_its_best_one_with_their_own_ranks() -> None:
    hits = [hit("a.md", 1), hit("b.md", 1), hit("a.md", 9), hit("c.md", 1), hit("a.md", 5)]
    assert listed(group_hits(hits)) == ["1 a.md:1", "  3 a.md:9", "  5 a.md:5", "2 b.md:1", "4 c.md:1"]


def test_of_many_fragments_of_a_note_two_stand_below_the_best_and_the_others_are_folded() -> None:
    hits = [hit("a.md", line) for line in range(1, 7)] + [hit("b.md")]
    assert listed(group_hits(hits)) == ["1 a.md:1", "  2 a.md:2", "  3 a.md:3 +3", "7 b.md:1"]


def test_all_fragments_of_a_note_that_is_opened_are_listed() -> None:
    hits = [hit("a.md", line) for line in range(1, 6)]
    assert listed(group_hits(hits, {"a.md"}))[-1] == "  5 a.md:5"


def test_memories_stand_where_they_stand_among_the_hits_without_a_rank() -> None:
    rows = group_hits([hit("a.md", 1), memory(), hit("b.md"), hit("a.md", 2)])
    assert [(row.rank, row.is_below_best) for row in rows] == [(1, False), (3, True), (0, False), (2, False)]


def test_notes_of_one_title_are_told_apart_by_their_folders() -> None:
    hits = [hit("guide/Sync.md", title="Sync"), hit("work/old/Sync.md", title="sync"), hit("Merging.md")]
    assert distinguishing_folders(hits) == {"guide/Sync.md": "guide", "work/old/Sync.md": "work/old"}


def test_notes_of_one_title_in_one_folder_are_told_apart_by_their_files() -> None:
    hits = [hit("guide/a.md", title="Sync"), hit("guide/b.md", title="Sync"), hit("work/c.md", title="Sync")]
    assert distinguishing_folders(hits) == {"guide/a.md": "guide/a.md", "guide/b.md": "guide/b.md", "work/c.md": "work"}


def test_fragments_of_one_note_are_not_told_apart_by_a_folder() -> None:
    assert distinguishing_folders([hit("guide/Sync.md", 1), hit("guide/Sync.md", 9)]) == {}


def matching(text: str, *words: str) -> Hit:
    return replace(hit("a.md", text=text), spans=tuple(Span(text.index(w), text.index(w) + len(w)) for w in words))


def test_stop_words_beside_other_words_are_not_set_off() -> None:
    assert matched_stop_words([matching("How to sync the phone", "How", "to", "sync", "the")]) == {"how", "to", "the"}
    assert matched_stop_words([matching("Within a token budget", "a", "budget")]) == {"a"}


def test_stop_words_alone_are_what_was_asked_for() -> None:
    assert matched_stop_words([matching("to be or not to be", "to", "be", "or", "not")]) == frozenset()


def test_stop_words_are_those_of_the_notes_language_too() -> None:
    text = "Wie man die Geräte verbindet und was dann mit den Notizen ist, die auf der Platte sind"
    assert matched_stop_words([matching(text, "die", "Geräte")]) == {"die"}


# --- the selection when the vault has changed and the query is repeated -----------------------------------------------


def test_the_same_fragment_stays_selected_wherever_it_ranks_now() -> None:
    was = hit("a.md", 3, "old")
    now = hit("a.md", 3, "old")
    assert find_successor(was, [hit("new.md", 1, "x"), now]) is now


def test_an_edited_fragment_is_followed_to_the_nearest_one_of_its_note() -> None:
    near = hit("a.md", 4, "edited")
    assert find_successor(hit("a.md", 3, "old"), [hit("a.md", 90, "far"), hit("b.md", 3, "x"), near]) is near


def test_where_its_note_is_gone_nothing_is_followed() -> None:
    assert find_successor(hit("a.md", 3, "old"), [hit("b.md", 1, "x")]) is None


# --- the list on the screen -------------------------------------------------------------------------------------------


async def show(pilot: Pilot[None], hits: Sequence[Hit], matched: int = 0) -> HitList:
    """Show these hits as the result of a query."""
    await pilot.press("s")
    await pilot.pause()
    pane_of(pilot.app).result = Result("x", Strategy.AUTO, Strategy.AUTO, tuple(hits), max(matched, len(hits)), 1.0, 1)
    await pilot.pause()
    return hit_list_of(pilot.app)


async def test_a_row_has_rank_sign_names_score_tokens_age_and_its_best_sentence(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        days = int(time.time()) - 3 * 86_400
        first = replace(
            hit("Troubleshoot Sync.md", text="It is so. When Sync finds a conflict, it waits."), modified=days
        )
        await show(pilot, [first, replace(hit("Merging.md", score=0.5), modified=days)])
        rows = hit_list_of(scripted)
        rows.packed_ids = frozenset({first.fragment.id})
        one, two, three, _ = drawn_lines(hit_list_of(scripted))[:4]
        assert one.split() == ["▌", "1", "○", "Troubleshoot", "Sync", "›", "Conflicts", "█", "124t", "3d"]
        assert two == "▌     It is so. When Sync finds a conflict, it waits."
        assert three.split() == ["2", "Merging", "›", "Conflicts", "▄", "124t", "3d"]


async def test_one_sign_says_marked_before_in_the_pack_before_remembered(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        hits = [hit(f"{name}.md") for name in "abcd"]
        rows = await show(pilot, hits)
        ids = [one.fragment.id for one in hits]
        rows.marked_ids, rows.packed_ids, rows.remembered_ids = (
            frozenset(ids[:1]),
            frozenset(ids[:2]),
            frozenset(ids[:3]),
        )
        assert [line[4] for line in drawn_lines(hit_list_of(scripted))[:8:2]] == ["●", "○", "◆", " "]


async def test_of_what_was_marked_only_those_rows_are_drawn_anew(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
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


async def test_a_memory_has_its_sign_in_the_place_of_the_rank(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show(pilot, [hit("a.md"), memory()])
        assert drawn_lines(hit_list_of(scripted))[2].split()[:2] == ["◆", "Memory"]


async def test_an_attachment_has_its_kind_before_its_title(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        page = hit("paper.pdf", title="Rivers")
        page = replace(page, fragment=replace(page.fragment, kind="pdf", place="page=3", heading_path=("Page 3",)))
        await show(pilot, [page])
        assert drawn_lines(hit_list_of(scripted))[0].split()[:6] == ["▌", "1", "pdf", "Rivers", "›", "Page"]


async def test_a_list_of_filters_alone_has_no_score(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show(pilot, [replace(hit("a.md"), confidence=None)])
        assert "█" not in drawn_lines(hit_list_of(scripted))[0]


async def test_fragments_below_the_best_one_are_indented_and_tell_only_their_headings(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show(pilot, [hit("Sync.md", 1), hit("Sync.md", 5)])
        assert drawn_lines(hit_list_of(scripted))[2].startswith("  2     Conflicts")
        assert drawn_lines(hit_list_of(scripted))[3].startswith("        A sync conflict.")


async def test_what_is_folded_opens_to_the_right_and_closes_to_the_left(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [*(hit("a.md", line) for line in range(1, 6)), hit("b.md")])
        rows.focus()
        assert drawn_lines(hit_list_of(scripted))[6] == "        ▸ 2 more in this note"
        assert drawn_lines(hit_list_of(scripted))[7].startswith("  6   b")
        await pilot.press("right")
        assert [row.rank for row in rows.rows] == [1, 2, 3, 4, 5, 6]
        await pilot.press("down", "down", "down", "left")
        assert ([row.rank for row in rows.rows], rows.cursor) == ([1, 2, 3, 6], 0)
        assert rows.selected is not None
        assert rows.selected.fragment.line_start == 1


async def test_a_click_on_what_is_folded_opens_it(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [hit("a.md", line) for line in range(1, 6)])
        await pilot.click(rows, offset=(20, rows.styles.gutter.top + 6))
        assert rows.row_count == 5


async def test_moving_goes_through_the_rows_as_they_stand(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [hit("a.md", 1), hit("b.md", 1), hit("a.md", 9)])
        await pilot.press("down")
        assert rows.selected is not None
        assert rows.selected.fragment.id == hit("a.md", 9).fragment.id
        await pilot.press("down")
        assert rows.selected.fragment.path == "b.md"


async def test_going_to_a_folded_fragment_opens_its_note(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show(pilot, [hit("a.md", line) for line in range(1, 6)])
        rows.select_fragment(hit("a.md", 5).fragment.id)
        assert (rows.row_count, rows.cursor) == (5, 4)


async def test_a_selected_row_keeps_its_place_on_the_screen_when_rows_come_before_it(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        hits = [hit(f"{name}.md") for name in "abcdefghijklmnop"]
        rows = await show(pilot, hits)
        rows.cursor = 12
        await pilot.pause()
        stood = rows.first_line_of(12) - rows.scroll_offset.y
        rows.show((hits[0], hit("a.md", 9), *hits[1:]), is_repeat=True)
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


async def test_at_the_end_of_the_list_more_hits_are_asked_for(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show(pilot, [hit(f"{at}.md") for at in range(50)], matched=118)
        assert pane_of(scripted).query_one("#found").border_title == "hits · 50 of 118"
        asked = limits_asked_for(scripted, monkeypatch)
        hit_list_of(scripted).action_last()
        await pilot.pause()
        assert asked == [100]


async def test_at_the_end_of_a_whole_list_nothing_is_asked(
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


async def test_hostile_names_and_text_leave_every_line_of_a_row_its_width(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(100, 40)) as pilot:
        one = hit("a.md")
        texts = [
            replace(one.fragment, id=f"{i}", path=f"{i % 9}/{title}", title=title, heading_path=(text,), text=text)
            for i, (title, text) in enumerate(itertools.product(HOSTILE, HOSTILE))
        ]
        rows = await show(pilot, [replace(one, fragment=each, modified=1) for each in texts])
        for row in range(rows.row_count):
            for width in (20, 37, 61, 99):
                lines = rows.draw_row(row, width, False, rows.base_style)
                assert [cell_len("".join(part.text for part in line)) for line in lines] == [width] * len(lines)
                assert not set("\x1b\u202e\u2066\n") & set("".join(line.text for line in lines))
