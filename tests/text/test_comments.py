"""Tests of comments: what of a note they are, and that all else stays where it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from excerpt.base.model import Note
from excerpt.text.comments import mark_comments, restore_comments, take_out_comments
from excerpt.text.markdown import parse_note
from tests.text.notes import NOTES


def parsed(text: str) -> Note:
    return parse_note("a.md", text)


def comment_texts(text: str) -> list[str]:
    return [comment.text.strip() for comment in parsed(text).comments]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("The red barn %% sell it %% is old.", "The red barn is old."),
        ("Die Scheune <!-- verkaufen --> ist alt.", "Die Scheune ist alt."),
        ("Le café %% trop cher %%est fermé.", "Le café est fermé."),
        ("会议改到%%保密%%五月三日。", "会议改到五月三日。"),
        ("お茶<!-- 秘密 -->を飲む。", "お茶を飲む。"),
        ("اجتماع %% سري %% يوم الأحد", "اجتماع يوم الأحد"),
        ("Kết quả %% bí mật %% tốt", "Kết quả tốt"),
        ("ประชุม%%ลับ%%วันจันทร์", "ประชุมวันจันทร์"),
    ],
)
def test_a_comment_within_a_line_is_left_out(text: str, left: str) -> None:
    assert parsed(text).text == left


@pytest.mark.parametrize(
    "text",
    [
        "`%% code %%` and `` <!-- ` --> ``",
        "```\n%% code %%\n<!-- code -->\n```",
        "Text\n\n    %% indented %%\n    <!-- code -->",
        "> ```\n> %% quoted %%\n> ```",
        "- item\n\n  ~~~\n  <!-- code -->\n  ~~~",
        "$$\nx %% y\nz %% w\n$$",
        "Only 100 %% sure, and 5 <!-- 6.",
        "Sure %% in one\n\nand %% in another paragraph.",
        "| 50 %% | a |\n|---|---|\n| 60 %% | b |",
        "# 50 %% more\n60 %% less",
        r"\%% no %% comment",
        "---\ntitle: a %% b %%\n---\ntext",
        "%% never closed\n\nc",
    ],
)
def test_comment_signs_in_code_or_maths_or_without_an_end_are_text(text: str) -> None:
    assert (parsed(text).text, parsed(text).comments) == (text, ())


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\n\n%%\nb\n\nc\n%%\n\nd", "a\n\n\n\n\n\n\n\nd"),
        ("%%\nb\nc %% d", "\n\nd"),
        ("%%\n```\n%%\na", "\n\n\na"),
        ("<!--\na\n\nb\n--> c\n\nd", "\n\n\n\nc\n\nd"),
        ("a\n\n%%\nb\n\n# c", "a\n\n\n\n\n"),
        ("a\n<!-- b\n\nc", "a\n\n\n"),
        ("> a\n> %%\n> b\n\nc", "> a\n> \n> \n\nc"),
        ("> %% a %%\n> b\n>\n> c", "> \n> b\n>\n> c"),
        ("> %% a %%\n>\n> <!-- b -->", "\n\n"),
        ("> [!note] T %% a %%\n> %% b %%\n> c", "> [!note] T \n> \n> c"),
        ("- a\n- %% b %%\n- [ ] <!-- c -->\n1. %% d %%", "- a\n\n\n"),
        ("| a %% b %% | c |\n|---|---|\n| <!-- d --> | e |", "| a | c |\n|---|---|\n| | e |"),
        ("# A %% b %%\n\n## %% c %%\n\nd", "# A \n\n## \n\nd"),
        ("%% a <!-- b %% c -->", "c -->"),
        ("<!-- a %% b --> c %% d", "c %% d"),
        ("a %%%% b %%c%%%%d%% e", "a b e"),
    ],
)
def test_comments_in_blocks_leave_all_other_lines_where_they_are(text: str, left: str) -> None:
    assert parsed(text).text == left


def test_tags_and_links_and_headings_and_properties_in_a_comment_do_not_count() -> None:
    note = parsed("# A %% #b [[c]] %%\n\n%%\n# D\n#e [[f]] rating:: 5\n%%\n\n<!-- #g [h](i.md) -->\ntext #j")
    assert (note.tags, note.links, dict(note.properties)) == (("j",), (), {})
    assert [section.heading_path for section in note.sections[1:]] == [("A",)]


@pytest.mark.parametrize(
    "text",
    [
        '- [x] nail\n\n%% kanban:settings\n```\n{"kanban-plugin":"board"}\n```\n%%\n',
        "Capital? :: Ulm <!--SR:!2024-05-01,3,250-->",
    ],
)
def test_data_of_plugins_is_neither_text_nor_comment(text: str) -> None:
    note = parsed(text)
    assert note.comments == ()
    assert not re.search("kanban|SR:", note.text)


def test_texts_of_a_drawing_are_text_although_its_note_hides_them() -> None:
    note = parsed(
        '---\nexcalidraw-plugin: parsed\n---\n%%\n# Text Elements\nOrders ^a1B2c3D4\n%%\n## Drawing\n{"x":1}\n'
    )
    assert "Orders" in note.text
    assert note.comments == ()
    assert '"x"' not in note.text


def test_the_text_says_where_comments_are_left_out() -> None:
    note = parsed("a %% b %% c\n\n<!--\nd\n-->\n- %% e %%")
    assert mark_comments(note.lines, 1, note.comments) == [
        "a [comment left out] c",
        "",
        "[comment left out]",
        "",
        "",
        "[comment left out]",
    ]


@given(NOTES)
def test_the_author_reads_the_note_as_written(text: str) -> None:
    note = parse_note("a.md", text)
    written = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    assert "\n".join(restore_comments(note.lines, 1, note.comments)) == written


_PIECES = st.sampled_from(
    ["%%", "%", "<!--", "-->", "<", "!--", "-", "`", "a", " ", "\n", "\n\n", "> ", "- ", "|", "\\"]
)


@given(st.lists(_PIECES, max_size=40).map("".join))
@example("%%%%> <!--%%")
@example("%%<!----> ")
def test_a_text_without_its_comments_has_no_further_comments(text: str) -> None:
    left, _ = take_out_comments(text, 0, ())
    assert take_out_comments(left, 0, ())[0] == left


class CountedText(str):
    """A text that counts the characters that are searched for the end of a comment."""

    __slots__ = ("searched",)
    searched: int

    def find(self, *args: object) -> int:
        found = str.find(self, *args)  # type: ignore[arg-type]
        _, start, end = args
        self.searched += (found if found >= 0 else int(str(end))) - int(str(start))
        return found


@pytest.mark.parametrize(
    "piece", ["<!-- ", "%% a %", "x <!-- y ", "> %%\n\n", "| %% |\n", "> %%a%%\n", "`%%", "%%%", "a %% b\n\n"]
)
def test_a_megabyte_of_comment_marks_is_read_in_one_pass(piece: str) -> None:
    text = CountedText(piece * (1_000_000 // len(piece)))
    text.searched = 0
    take_out_comments(text, 0, ())
    assert text.searched <= 2 * len(text)


def test_a_comment_of_a_megabyte_is_one_comment() -> None:
    note = parsed(f"a\n\n%%\n{'secret ' * 150_000}\n%%\n\nb")
    assert [comment.begins for comment in note.comments] == [True, False, False]
    assert note.text == "a\n\n\n\n\n\nb"


def test_an_empty_line_of_a_quote_between_two_comments_is_restored() -> None:
    text = "> %%a%%\n>\n> %%b%%\n"
    note = parse_note("a.md", text)
    assert "\n".join(restore_comments(note.text.split("\n"), 1, note.comments)) == text
