"""Tests of the rows of the context: their content, and the letters for links."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from excerpt.base.kinds import LinkKind
from excerpt.base.model import Section
from excerpt.base.settings import Paths, Settings
from excerpt.index.build import build
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.line_drawing import WrittenLink, draw_line
from excerpt.tui.search.preview import MAX_JOINED_LINES, find_links, heading_path_at, link_at, next_heading, wrap_lines
from tests.tui.driver import drawn_text, press, preview_of, search, until, until_answered

SECTIONS = (
    Section(0, 0, "", (), 1, 2, ()),
    Section(1, 1, "Top", ("Top",), 3, 20, ()),
    Section(2, 2, "Under", ("Top", "Under"), 10, 20, ()),
)


def test_a_link_over_two_rows_is_one_link_with_its_target_in_every_cell() -> None:
    rows = wrap_lines([draw_line(1, "see [[Note|a long name]] and [[Other]]")], 12)
    note, other = WrittenLink(LinkKind.WIKILINK, "Note"), WrittenLink(LinkKind.WIKILINK, "Other")
    assert ["".join(run.text for run in row.runs) for row in rows] == ["see a long ", "name and ", "Other"]
    assert [(spot.row, spot.column, spot.link) for spot in find_links(rows, 0, 9)] == [(0, 4, note), (2, 0, other)]
    assert [link_at(rows[0], column) for column in (3, 4)] == [None, note]
    assert link_at(rows[1], 1) == note


def test_a_paragraph_wrapped_by_its_author_is_wrapped_again_with_the_numbers_of_its_lines() -> None:
    lines = [structs.replace(draw_line(number, text), is_continued=number in (8, 9)) for number, text in WRAPPED_LINES]
    rows = wrap_lines(lines, 24)
    assert ["".join(run.text for run in row.runs).strip() for row in rows] == [
        "one two three four five",
        "six seven eight nine ten",
        "eleven",
        "twelve",
    ]
    assert [(row.line.number, row.last_number, row.labelled) for row in rows] == [
        (7, 8, 7),
        (8, 9, 9),
        (9, 9, None),
        (10, 10, 10),
    ]
    assert [row.labelled for row in wrap_lines(lines, 24, reflows=False)] == [7, 8, 9, 10]


WRAPPED_LINES = ((7, "one two three"), (8, "four five six seven"), (9, "eight nine ten eleven"), (10, "twelve"))


def test_of_a_long_paragraph_a_limited_number_of_lines_is_joined_at_once() -> None:
    lines = [
        structs.replace(draw_line(number, "one two three four"), is_continued=number > 1) for number in range(1, 61)
    ]
    begun = [row.line.number for row in wrap_lines(lines, 30) if row.row_in_line == 0]
    assert begun == [1, 1 + MAX_JOINED_LINES, 1 + 2 * MAX_JOINED_LINES]


def test_continuation_rows_in_a_quote_keep_its_bar() -> None:
    rows = wrap_lines([draw_line(1, "> one two three four")], 12)
    assert ["".join(run.text for run in row.runs) for row in rows] == ["▎ one two ", "▎ three four"]


def test_keys_move_to_the_next_heading_below_and_the_previous_above() -> None:
    assert [next_heading(SECTIONS, 3, by) for by in (1, -1)] == [SECTIONS[2], None]
    assert next_heading(SECTIONS, 12, -1) == SECTIONS[2]
    assert [heading_path_at(SECTIONS, line) for line in (2, 3, 15)] == [(), ("Top",), ("Top", "Under")]


def test_a_wrapped_link_in_a_callout_is_one_link() -> None:
    rows = wrap_lines([draw_line(1, "> See [[Compost|what goes into the compost]] and [[Compost]].")], 20)
    assert len(rows) > 2
    assert len(list(find_links(rows, 0, 9))) == 2


@pytest.mark.programs
@pytest.mark.parametrize("before", [4, 9, 14])
async def test_the_match_stays_in_view_when_the_terminal_is_resized(
    tmp_path: Path, user_paths: Paths, before: int
) -> None:
    filling = "Nothing of note was seen over the fields that day, and the wind came from the west as it mostly does."
    lines = [*["- " + filling] * before, "- A zeppelin landed.", *["- " + filling] * 12]
    vault = tmp_path / "log"
    vault.mkdir()
    (vault / "Log.md").write_text("# Log\n\nOne.\n\n## Sights\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    build(vault, user_paths.index_folder(vault), Settings())
    app = ExcerptApp(vault, Settings(), user_paths)
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "zeppelin")
        preview = preview_of(app)
        await until(pilot, lambda: preview.window is not None, "the passage")
        if before == 14:
            await pilot.press("pagedown", "pageup")
        for size in ((140, 45), (80, 24), (140, 45), (200, 60), (60, 15), (200, 60), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            if not preview.region:
                continue
            await until_answered(pilot)
            await pilot.pause()
            shown = [strip.text for strip in preview.render_lines(preview.region.reset_offset)]
            assert any("zeppelin" in row for row in shown), (size, shown)


@pytest.mark.programs
async def test_an_empty_note_is_shown_and_packed(tmp_path: Path, user_paths: Paths) -> None:
    vault = tmp_path / "people"
    vault.mkdir()
    (vault / "Ada Lovelace.md").write_text("", encoding="utf-8")
    (vault / "Garden.md").write_text("Beans and peas.\n", encoding="utf-8")
    build(vault, user_paths.index_folder(vault), Settings())
    app = ExcerptApp(vault, Settings(), user_paths)
    async with app.run_test(size=(100, 30)) as pilot:
        await search(pilot, "ada lovelace")
        await until(pilot, lambda: preview_of(app).window is not None, "the passage")
        assert "Ada Lovelace.md · empty" in drawn_text(app)
        await press(pilot, "escape", "t", "ctrl+o")
        await until_answered(pilot)
        assert drawn_text(app).count("Ada Lovelace") >= 2  # its hit and its passage in the pack
