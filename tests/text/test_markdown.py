"""Tests of parsing Markdown, whose work grows about linearly for any text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from excerpt.base.kinds import BlockKind
from excerpt.base.model import Block, Section
from excerpt.text.fragments import fragments_of
from excerpt.text.markdown import normalise_newlines, parse_note
from excerpt.text.words import terms_of
from tests.growth import grows_about_linearly
from tests.text.notes import NOTES


def blocks(text: str) -> list[Block]:
    return [block for section in parse_note("note.md", text).sections for block in section.blocks]


def kinds(text: str) -> list[tuple[str, int, int]]:
    return [(block.kind.value, block.line_start, block.line_end) for block in blocks(text)]


def headings(text: str) -> list[str]:
    return [section.heading for section in parse_note("note.md", text).sections[1:]]


# --- the note ---------------------------------------------------------------------------------------------------------


def test_the_title_is_from_the_frontmatter_or_the_file_name() -> None:
    assert parse_note("folder/My note.md", "# Heading\n").title == "My note"
    assert parse_note("folder/My note.md", "---\ntitle: Better\n---\n").title == "Better"


def test_text_has_lf_line_ends_and_no_byte_order_mark() -> None:
    assert parse_note("a.md", "\ufeffone\r\ntwo\rthree\n").text == "one\ntwo\nthree\n"


def test_lines_end_only_where_editors_end_them() -> None:
    assert parse_note("a.md", "a\r\nb\rc\nd\x0ce\u2028f\x85g").lines == ["a", "b", "c", "d\x0ce\u2028f\x85g"]
    assert normalise_newlines("a\r\r\nb") == "a\n\nb"


def test_invalid_frontmatter_is_a_warning_and_the_text_is_read() -> None:
    note = parse_note("a.md", "---\na: [b\n---\n# Heading\n\ntext")
    assert note.warnings
    assert note.sections[1].heading == "Heading"
    assert blocks(note.text) == [Block(BlockKind.PARAGRAPH, 6, 6)]


def test_the_language_is_that_of_the_text_without_frontmatter() -> None:
    text = "---\nsummary: the of and to in is that it for with as\n---\nDie Suche findet die Stelle und mehr."
    assert parse_note("a.md", text).language == "de"


def test_a_given_language_is_not_detected() -> None:
    text = "The notes are in English, and that is what it says on the tin."
    assert parse_note("a.md", text).language == "en"
    assert parse_note("a.md", text, "sv").language == "sv"


# --- blocks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("one\ntwo\n\nthree", [("paragraph", 1, 2), ("paragraph", 4, 4)]),
        ("- a\n\n  more\n  - b\n- c\n\n\ntext", [("list", 1, 5), ("paragraph", 8, 8)]),
        ("1. a\n2. b\n\n\n", [("list", 1, 2)]),
        ("| a |\n|---|\n| b |\nc\n\nd", [("table", 1, 4), ("paragraph", 6, 6)]),
        ("```py\n# x\n\ny\n```\nz", [("code", 1, 5), ("paragraph", 6, 6)]),
        ("````\n```\n````", [("code", 1, 3)]),
        ("text\n\n    code\n\n    code", [("paragraph", 1, 1), ("code", 3, 5)]),
        ("```\nnever closed\n\n# x\n\n", [("code", 1, 4)]),
        ("> a\nlazy\n\nb", [("quote", 1, 2), ("paragraph", 4, 4)]),
        ("> [!tip]- Title\n> - a\n>\n> b", [("callout", 1, 4)]),
        ("<div>\nx\n</div>\n\ny", [("html", 1, 3), ("paragraph", 5, 5)]),
        ("<!-- a\n\n# b\n-->\nc", [("paragraph", 5, 5)]),
        ("a\n\n***\nb", [("paragraph", 1, 1), ("other", 3, 3), ("paragraph", 4, 4)]),
        ("%%\na\n\n# b\n%%\nc", [("paragraph", 6, 6)]),
        ("%% one line %%\nc", [("paragraph", 2, 2)]),
        ("%% never closed\n\nc", [("paragraph", 1, 1), ("paragraph", 3, 3)]),
        ("$$\nx\n=\n\ny\n$$\nc", [("other", 1, 6), ("paragraph", 7, 7)]),
        ("a\n\n[ref]: b\n[two]: c\n\nd", [("paragraph", 1, 1), ("other", 3, 4), ("paragraph", 6, 6)]),
        ("[ref]: b\ntext", [("other", 1, 1), ("paragraph", 2, 2)]),
        ("[^1]: foot\n\n    more\n\ntext", [("other", 1, 3), ("paragraph", 5, 5)]),
        ("\n\n  \n", [("other", 1, 1)]),
    ],
)
def test_each_block_has_its_first_and_last_line(text: str, found: list[tuple[str, int, int]]) -> None:
    assert kinds(text) == found


def test_line_numbers_count_the_lines_of_the_file_with_frontmatter_and_crlf() -> None:
    assert kinds("---\r\na: b\r\n---\r\n\r\ntext\r\n\r\n- a\r\n") == [("paragraph", 5, 5), ("list", 7, 7)]


def test_a_list_has_the_starts_of_its_items() -> None:
    (block,) = blocks("- a\n  - nested\n- b\n\n- c")
    assert block.cuts == (3, 5)


@pytest.mark.parametrize(
    ("text", "block_id"),
    [("text ^abc-1", "abc-1"), ("- a\n- b ^item", "item"), ("- a\n\n^list", "list"), ("> q\n\n^quote", "quote"),
     ("a^b", None), ("`x ^y`", None), ("^alone", "alone")],
)  # fmt: skip
def test_a_block_has_its_id(text: str, block_id: str | None) -> None:
    found = blocks(text)
    assert len(found) == 1
    assert found[0].block_id == block_id


# --- sections ---------------------------------------------------------------------------------------------------------


def test_sections_nest_by_level() -> None:
    text = "open\n\n# A\na\n## B\nb\n\n### C\n## D\n\n# E\ne\n"
    assert parse_note("a.md", text).sections == (
        Section(0, 0, "", (), 1, 1, (Block(BlockKind.PARAGRAPH, 1, 1),)),
        Section(1, 1, "A", ("A",), 3, 9, (Block(BlockKind.PARAGRAPH, 4, 4),)),
        Section(2, 2, "B", ("A", "B"), 5, 8, (Block(BlockKind.PARAGRAPH, 6, 6),)),
        Section(3, 3, "C", ("A", "B", "C"), 8, 8, ()),
        Section(4, 2, "D", ("A", "D"), 9, 9, ()),
        Section(5, 1, "E", ("E",), 11, 12, (Block(BlockKind.PARAGRAPH, 12, 12),)),
    )


def test_a_note_always_has_a_section_before_its_first_heading() -> None:
    assert parse_note("a.md", "# A").sections[0] == Section(0, 0, "", (), 1, 1, ())


@pytest.mark.parametrize(
    ("text", "last"),
    [("", 1), ("\n \n\n", 1), ("---\n---\n", 2), ("---\ntags:\n---\n\n", 3), ("---\ntags: [a]\n---\n", 2)],
)
def test_a_note_without_text_has_a_block_so_that_it_can_be_found(text: str, last: int) -> None:
    (opening,) = parse_note("a.md", text).sections
    (block,) = opening.blocks
    assert (block.line_end, opening.line_end) == (last, last)


def test_a_setext_heading_includes_its_underline() -> None:
    note = parse_note("a.md", "Two\nlines\n===\ntext")
    assert note.sections[1].heading == "Two lines"
    assert kinds(note.text) == [("paragraph", 4, 4)]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# *Emphasis* and `code`", "Emphasis and code"),
        ("## Closed ##", "Closed"),
        ("# With an id ^id", "With an id"),
        ("# [Link](to.md) and [[wiki|shown]]", "Link and shown"),
        ("# [[note#part]]", "note > part"),
        ("# ==marked== ~~old~~", "marked old"),
        ("# snake_case and C#", "snake_case and C#"),
        ("# a \\* b &amp; c", "a * b & c"),
        ("# <b>bold</b>", "bold"),
        ("# #tag", "#tag"),
        ("# std::vector<T>", "std::vector<T>"),
        ("#", ""),
    ],
)
def test_a_heading_is_plain_text(line: str, heading: str) -> None:
    assert headings(line) == [heading]


@pytest.mark.parametrize(
    "text",
    ["```\n# x\n```", "    # x", "- # x", "> # x", "<!--\n# x\n-->", "<div>\n# x\n</div>", "%%\n# x\n%%", "$$\n# x\n$$",
     "#x", "####### x", "\\# x", "[^1]: a\n\n    # x", "| a |\n|---|\n| # x |"],
)  # fmt: skip
def test_headings_in_code_quotes_and_lists_are_not_sections(text: str) -> None:
    assert headings(text) == []


def test_a_heading_without_text_has_the_path_above_it() -> None:
    assert [s.heading_path for s in parse_note("a.md", "# A\n##\ntext\n### B\n").sections] == [
        (),
        ("A",),
        ("A",),
        ("A", "B"),
    ]


# --- any text ---------------------------------------------------------------------------------------------------------


@given(NOTES)
def test_blocks_are_ordered_disjoint_and_in_the_text(text: str) -> None:
    note = parse_note("a.md", text)
    last = 0
    for section in note.sections:
        for block in section.blocks:
            assert last < block.line_start <= block.line_end <= len(note.lines)
            assert note.lines[block.line_start - 1].strip() or not note.text.strip()
            assert note.lines[block.line_end - 1].strip() or not note.text.strip()
            last = block.line_end


@given(NOTES)
def test_sections_contain_their_blocks_and_subsections(text: str) -> None:
    sections = parse_note("a.md", text).sections
    assert [section.ordinal for section in sections] == list(range(len(sections)))
    for i, section in enumerate(sections):
        assert all(section.line_start <= b.line_start and b.line_end <= section.line_end for b in section.blocks)
        for below in sections[i + 1 :]:
            if i == 0 or below.level <= section.level:
                assert i == 0 or below.line_start > section.line_end
                break
            assert below.line_end <= section.line_end
            assert below.heading_path[: len(section.heading_path)] == section.heading_path


@pytest.mark.programs
@pytest.mark.parametrize(
    "text",
    [
        "> ```\na\n" * 3000, "$$ a b\n\n" * 5000, "[" * 20_000, "![[" * 20_000, "> " * 5000 + "x", "- " * 5000 + "x",
        "[a]: b\n" * 5000, "|a" * 5000 + "\n" + "|-" * 5000 + "\n" + "|\n" * 500, "x" * 1_000_000, "\x00" * 100_000,
    ],
)  # fmt: skip
def test_hostile_text_is_parsed_or_simplified_with_a_warning(text: str) -> None:
    note = parse_note("a.md", text)
    assert sum(b.line_end - b.line_start + 1 for b in note.sections[0].blocks) >= sum(map(bool, text.split("\n"))) - 1


@pytest.mark.programs
def test_a_note_too_complex_to_parse_is_plain_paragraphs() -> None:
    note = parse_note("a.md", "# x\n\n" + "> ```\na\n" * 3000)
    assert note.warnings
    assert {block.kind for block in note.sections[0].blocks} == {BlockKind.OTHER}


SIZE = 16_000
"""Characters of a text: below the length from which links in a paragraph are no longer parsed."""

REPEATED = [
    *(
        "[",
        "[]",
        "[[",
        "[[a ",
        "![",
        "[a](",
        "[a](<",
        "[ (] ",
        "(",
        "*",
        "*a ",
        "*a**a ",
        "_a ",
        "`",
        "$a ",
        "$$ ",
        "<",
    ),
    *(
        "<a ",
        "<!-- ",
        "<? ",
        "&amp",
        "\\[ ",
        "#a ",
        "#",
        "# ",
        "^",
        "a\u0301",
        "1.2.3.",
        "a-b-",
        "R&D&",
        "漢字",
        "a" * 9,
    ),
    *("https://a.b/c ", "<https://a", "> ", "- ", "1. ", "[^1]: ", "==a ", "~~a "),
]
LINES = [
    *("# a", "a\n---", "- a", "- a\n", "- a\n+ b\n* c", "> a", "> - > - a", "```", "~~~", "> ```", "$$", "$$x", "%% a"),
    *("<div>", "<div>\n", "<!-- a\n", "[a]: b", "[a", "[a]: b '", "[^a]: x", "|x|y|", "a ^a\n", "    a", "a\r", "---"),
]
WHOLE: dict[str, Callable[[int], str]] = {
    "a heading of highlights": lambda size: "# " + "==a " * (size // 4),
    "a heading of stars": lambda size: "# " + "*a **b " * (size // 7),
    "a heading of brackets": lambda size: "# " + "[" * size,
    "quotes in each other": lambda size: ">" * size,
    "lists in each other": lambda size: "".join("  " * depth + "- x\n" for depth in range(int(size**0.5))),
    "longer and longer code": lambda size: "".join("`" * number + " " for number in range(int((2 * size) ** 0.5))),
    "a lazy quote": lambda size: "> a\n" + "b\n" * (size // 2),
    "a lazy list": lambda size: "- a\n" + "b\n" * (size // 2),
    "a table": lambda size: "|a|b|\n|-|-|\n" + "|x|[y](z)|\n" * (size // 11),
    "a wide table": lambda size: "|" + "a|" * (size // 6) + "\n|" + "-|" * (size // 6) + "\n|" + "x|" * (size // 6),
    "a wide table of short rows": lambda size: "|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n" + "x\n" * (size // 2),
    "many references": lambda size: "".join(f"[a{number}]: b\n" for number in range(size // 10)),
    "many footnotes": lambda size: "".join(f"[^{number}]: x\n" for number in range(size // 10)),
    "headings of all levels": lambda size: "".join(f"{'#' * (n % 6 + 1)} a\n" for n in range(size // 6)),
    "a paragraph that is a heading": lambda size: "a\n" * (size // 2) + "===\n",
    "a comment without end": lambda size: "<!--\n" + "a\n" * (size // 2),
    "blank lines": lambda size: "\n" * size,
    "spaces": lambda size: "# a ^a" + " " * size + "b",
    "frontmatter without end": lambda size: "---\n" + "x: y\n" * (size // 5),
    "frontmatter in brackets": lambda size: "---\na: " + "[" * size + "\n---\n",
    "frontmatter of links": lambda size: '---\na: "' + "[[" * (size // 2) + '"\n---\n',
    "large frontmatter": lambda size: "---\n" + "".join(f"k{n}: v\n" for n in range(size // 9)) + "---\n",
    "a list of tags": lambda size: "---\ntags: [" + "a," * (size // 2) + "]\n---\n",
    **{f"{part!r} again and again": lambda size, part=part: part * (size // len(part)) for part in REPEATED},  # type: ignore[misc]
    **{f"lines of {line!r}": lambda size, line=line: f"{line}\n" * (size // (len(line) + 1)) for line in LINES},  # type: ignore[misc]
}


def parse_and_split(text: str) -> None:
    """Do what indexing does with a note of this text."""
    note = parse_note("a.md", text)
    for fragment in fragments_of(note, len):
        terms_of(fragment.text, note.language)


@pytest.mark.programs
@pytest.mark.parametrize("name", WHOLE)
def test_the_work_of_parsing_grows_with_the_length(name: str) -> None:
    assert grows_about_linearly(lambda size: parse_and_split(WHOLE[name](size)), SIZE)
