"""Tests that parsing time grows about linearly for any text, so that no note can stall indexing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from excerpt.text.fragments import fragments_of
from excerpt.text.markdown import parse_note
from excerpt.text.words import terms_of
from tests.growth import grows_about_linearly

pytestmark = pytest.mark.programs

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


def process(text: str) -> None:
    """Do what indexing does with a note of this text."""
    note = parse_note("a.md", text)
    for fragment in fragments_of(note, len):
        terms_of(fragment.text, note.language)


@pytest.mark.parametrize("name", WHOLE)
def test_the_work_grows_with_the_text(name: str) -> None:
    assert grows_about_linearly(lambda size: process(WHOLE[name](size)), SIZE)
