"""Tests of what each line of a note is, of the tables in it, and of the header above a later row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.kinds import BlockKind
from excerpt.text.line_context import MAX_TABLE_HEADER, Context, contexts_of, find_table_header, find_tables
from excerpt.text.markdown import parse_note

STOCK = "# Stock\n\n| Article | Price |\n|---|--:|\n| nails | 4 |\n| screws | 7 |\n\nEnd."


def header_above(text: str, number: int) -> tuple[int, int, str] | None:
    header = find_table_header(text.split("\n"), number)
    return (header.line_start, header.line_end, header.text) if header is not None else None


@pytest.mark.parametrize("number", [5, 6])
def test_the_context_of_a_table_row_is_the_header_row_and_the_separator_row(number: int) -> None:
    assert header_above(STOCK, number) == (3, 4, "| Article | Price |\n|---|--:|")


@pytest.mark.parametrize("number", [1, 2, 3, 4, 7, 8, 99])
def test_a_line_of_the_header_or_outside_of_a_table_has_no_context(number: int) -> None:
    assert header_above(STOCK, number) is None


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Artikel | Preis\n--- | ---\nNägel | 4", (1, 3)),
        ("| 品名 | 価格 |\n| :-: | --- |\n| 釘 | 4 |", (1, 3)),
        ("| الصنف | السعر |\n|---|---|\n| مسامير | ٤ |", (1, 3)),
        ("> | a | b |\n> |---|---|\n> | 1 | 2 |", (1, 3)),
        ("> [!info] Stock\n> | a | b |\n> |---|---|\n> | 1 | 2 |\n> > deeper | quote", (2, 4)),
        ("- | a | b |\n  |---|---|\n  | 1 | 2 |\n- next | item", (1, 3)),
        ("| a | b |\n|---+---|\n| 1 | 2 |", (1, 3)),
        ("| [[Granite\\|stone]] | b |\n|---|---|\n| 1 | 2 |", (1, 3)),
        ("Text directly above\n| a |\n|---|\n| 1 |\n```sh\nls | wc\n```", (2, 4)),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n## Heading | x", (1, 3)),
        ("| a | b |\n|---|---|\n|---|---|\n| 1 | 2 |", (1, 4)),
    ],
)
def test_tables_are_found_in_any_script_and_within_lists_and_quotes(text: str, lines: tuple[int, int]) -> None:
    assert find_tables(text.split("\n")) == [lines]


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n|---|\n| 1 | 2 |",  # other columns
        "| a | b |\n| 1 | 2 |",
        "Title\n---\nleft | right",
        "> | a | b |\n|---|---|\n| 1 | 2 |",
        "|---|---|\n| 1 | 2 |",
        "",
    ],
)
def test_lines_with_bars_but_no_separator_row_are_no_table(text: str) -> None:
    assert find_tables(text.split("\n")) == []


def test_a_very_long_header_is_not_repeated() -> None:
    cells = "| cell " * (MAX_TABLE_HEADER // 7 + 1)
    text = f"{cells}|\n{'|---' * cells.count('|')}|\n| row |"
    assert len(find_tables(text.split("\n"))) == 1
    assert header_above(text, 3) is None


_CELL = st.sampled_from(["nails", "Größe", "釘", "4", "", "-", ":--", "x \\| y", "`code`", "**bold**", "[[N]]"])
_ROW = st.lists(_CELL, min_size=1, max_size=4).map(lambda cells: f"| {' | '.join(cells)} |")
_BLOCK = st.one_of(
    st.lists(_ROW, min_size=1, max_size=4).map("\n".join),
    st.builds(
        lambda columns, rows: "\n".join(["| a " * columns + "|", "|---" * columns + "|", *rows]),
        st.integers(1, 3),
        st.lists(_ROW, max_size=4),
    ),
    st.sampled_from(["Plain text.", "## Heading", "- item", "> quote", "left | right"]),
)


@given(st.lists(st.tuples(_BLOCK, st.sampled_from(["\n", "\n\n"])), max_size=6))
def test_the_line_context_finds_every_table_that_the_markdown_parser_finds(blocks: list[tuple[str, str]]) -> None:
    text = "".join(f"{block}{gap}" for block, gap in blocks)
    parsed = [
        (block.line_start, block.line_end)
        for section in parse_note("a.md", text).sections
        for block in section.blocks
        if block.kind is BlockKind.TABLE
    ]
    assert set(parsed) <= set(find_tables(text.split("\n")))


@pytest.mark.parametrize("opening", ["> %%", "> <!-- a"])
def test_a_comment_in_a_quote_ends_with_the_quote(opening: str) -> None:
    contexts = [each.context for each in contexts_of([opening, "> b", "", "text"])]
    assert contexts == [Context.COMMENT, Context.COMMENT, Context.PROSE, Context.PROSE]


def test_backticks_with_a_backtick_after_them_open_no_code() -> None:
    assert [each.context for each in contexts_of(["- ```js``` is code", "text"])] == [Context.PROSE, Context.PROSE]
