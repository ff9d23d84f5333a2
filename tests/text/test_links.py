import pytest

from excerpt.base.kinds import LinkKind
from excerpt.base.model import Link
from excerpt.text.markdown import parse_note


def links(text: str) -> list[Link]:
    return list(parse_note("note.md", text).links)


def wikilink(target: str, line: int = 1, **rest: str) -> Link:
    return Link(LinkKind.WIKILINK, target, line, **rest)


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("[[note]]", wikilink("note")),
        ("[[folder/note.md]]", wikilink("folder/note.md")),
        ("[[note|shown]]", wikilink("note", text="shown")),
        ("[[note#heading]]", wikilink("note", heading="heading")),
        ("[[note#heading|shown]]", wikilink("note", heading="heading", text="shown")),
        ("[[note#one#two]]", wikilink("note", heading="one#two")),
        ("[[note#^id|shown]]", wikilink("note", block_id="id", text="shown")),
        ("[[#heading]]", wikilink("", heading="heading")),
        ("[[text|dendron://vault/a.note#anchor]]", wikilink("a.note", heading="anchor", text="text")),
        ("[[dendron://vault/a.note]]", wikilink("a.note")),
        ("[[text|note#anchor]]", wikilink("text", text="note#anchor")),
        ("![[image.png|300]]", Link(LinkKind.EMBED, "image.png", 1, text="300")),
        ("![[note#^id]]", Link(LinkKind.EMBED, "note", 1, block_id="id")),
        ("[shown](note.md)", Link(LinkKind.MARKDOWN, "note.md", 1, text="shown")),
        ("[shown](a%20b.md#my%20part)", Link(LinkKind.MARKDOWN, "a b.md", 1, heading="my part", text="shown")),
        ("[shown](<a b.md> 'title')", Link(LinkKind.MARKDOWN, "a b.md", 1, text="shown")),
        ("[shown](#here)", Link(LinkKind.MARKDOWN, "", 1, heading="here", text="shown")),
        ("[shown](note.md#^id)", Link(LinkKind.MARKDOWN, "note.md", 1, block_id="id", text="shown")),
        ("[`code` text](note.md)", Link(LinkKind.MARKDOWN, "note.md", 1, text="code text")),
        ("![alt](picture.png)", Link(LinkKind.EMBED, "picture.png", 1, text="alt")),
        ("[shown][ref]\n\n[ref]: note.md", Link(LinkKind.MARKDOWN, "note.md", 1, text="shown")),
        ("| [[note\\|shown]] | x |\n|---|---|", wikilink("note", text="shown")),
        ("| [[note|shown]] | x |\n|---|---|---|", wikilink("note", text="shown")),
        ("| x | y |\n|---|---|\n| [[note|shown]] | z |", wikilink("note", line=3, text="shown")),
        ("x | y\n--|--\nz | ![[note#^id|two words]]", Link(LinkKind.EMBED, "note", 3, block_id="id", text="two words")),
        ("> | x | y |\n> |---|---|\n> | [[note|shown]] | z |", wikilink("note", line=3, text="shown")),
        ("# Heading with [[note]]", wikilink("note")),
        ("- item\n  > [[note]]", wikilink("note", line=2)),
    ],
)  # fmt: skip
def test_a_link_is_divided_into_its_parts(text: str, link: Link) -> None:
    assert links(text) == [link]


@pytest.mark.parametrize(
    "text",
    [
        "`[[note]]`", "```\n[[note]]\n```", "    [[note]]", "$[[note]]$", "$$\n[[note]]\n$$", "%%\n[[note]]\n%%",
        "<!-- [[note]] -->", "\\[[note]]", "[[]]", "[[two\nlines]]", "[x](https://example.com)", "[x](mailto:a@b.c)",
        "[x](//host/path)", "<https://example.com>", "[x](javascript:alert)", "[no link]", "[ ] task",
    ],
)  # fmt: skip
def test_web_addresses_and_code_are_not_links_of_the_vault(text: str) -> None:
    assert links(text) == []


def test_every_link_of_a_table_row_counts_once() -> None:
    row = "| [[a|one]] | [[b]] | `[[c|three]]` | [d](d.md) | [[e\\|five]] |"
    text = f"| 1 | 2 | 3 | 4 | 5 |\n|---|---|---|---|---|\n{row}\n| [[f]] |\n"
    assert [(link.target, link.text) for link in links(text)] == [
        ("a", "one"), ("b", None), ("d.md", "d"), ("e", "five"), ("f", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "up: [[note]]",
        "up: '[[note]]'",
        'up: "[[note|shown]]"',
        "up:\n  - [[note]]",
        "up: [[[note]]]",
        "title: one: two\nup: [[note]]",
    ],
)
def test_a_link_in_a_property_needs_no_quotation_marks(text: str) -> None:
    assert [link.target for link in links(f"---\n{text}\n---\n")] == ["note"]


def test_a_comment_in_the_frontmatter_has_no_links() -> None:
    assert links("---\n# [[note]]\na: b\n---\n") == []


def test_a_link_has_its_line() -> None:
    text = "---\na: '[[front]]'\n---\n\n[[one]] and\nthen `a\nb` [[two]]\n\n- x\n- [three](3.md)\n"
    assert [(link.target, link.line) for link in links(text)] == [("front", 2), ("one", 5), ("two", 7), ("3.md", 10)]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#tag", ("tag",)),
        ("a #tag/sub-tag_1, b", ("tag/sub-tag_1",)),
        ("#日本語 #тег #été #a1 #1a", ("日本語", "тег", "été", "a1", "1a")),
        ("#标签，后面", ("标签",)),
        ("#one #two\n#three #one", ("one", "two", "three")),
        ("# Heading #inside", ("inside",)),
        ("- #in-list\n> #in-quote", ("in-list", "in-quote")),
        ("#trailing/", ("trailing",)),
    ],
)
def test_tags_in_the_text_are_found(text: str, tags: tuple[str, ...]) -> None:
    assert parse_note("note.md", text).tags == tags


@pytest.mark.parametrize(
    "text",
    [
        "#123", "x#tag", "(#tag)", "`#tag`", "```\n#tag\n```", "##tag", "# tag", "\\#tag", "[[note#tag]]", "[x](#tag)",
        "<a href='#tag'>x</a>", "https://example.com/#tag", "$x #tag$", "#", "#/",
    ],
)  # fmt: skip
def test_numbers_headings_and_anchors_are_not_tags(text: str) -> None:
    assert parse_note("note.md", text).tags == ()


def test_tags_are_unique_with_those_of_the_frontmatter_first() -> None:
    assert parse_note("note.md", "---\ntags: [b, a]\n---\n#a #c").tags == ("b", "a", "c")
