import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from excerpt.base.model import Fragment, Note
from excerpt.text.comments import restore_comments
from excerpt.text.fragments import FragmentLimits, count_words, fragments_of, note_id
from excerpt.text.frontmatter import read_frontmatter
from excerpt.text.markdown import parse_note
from tests.text.notes import NOTES

SMALL = FragmentLimits(target=5, maximum=10, min_last=3)


def fragment_lines(text: str, limits: FragmentLimits = SMALL) -> list[tuple[int, int]]:
    return [(f.line_start, f.line_end) for f in fragments_of(parse_note("a.md", text), len, limits)]


def some_words(count: int) -> str:
    return " ".join(["word"] * count)


def test_small_blocks_of_a_section_are_joined() -> None:
    assert fragment_lines("one\n\n- two\n\nthree four five six\n") == [(1, 5)]


def test_text_in_invalid_frontmatter_is_a_fragment_of_its_own() -> None:
    assert fragment_lines("---\n<% one\ntwo\ntitle: A: B\n---\n\nthree\n\nfour\n") == [(2, 3), (7, 9)]


@pytest.mark.parametrize("body", ["", "\n", "\n \n\n"])
def test_the_frontmatter_of_a_note_without_text_is_a_fragment(body: str) -> None:
    assert fragment_lines(f"---\naliases: [Ada]\nborn: 1815\n---\n{body}") == [(2, 3)]


@pytest.mark.parametrize("text", ["---\nborn: 1815\n---\nText.\n", "---\nborn: 1815\n---\n# Heading\n"])
def test_the_frontmatter_of_a_note_with_text_or_headings_is_no_fragment(text: str) -> None:
    assert fragment_lines(text) == [(4, 4)]


def test_a_fragment_at_the_target_size_is_closed() -> None:
    assert fragment_lines(f"{some_words(5)}\n\n{some_words(5)}") == [(1, 1), (3, 3)]


def test_no_fragment_is_joined_above_the_maximum() -> None:
    assert fragment_lines(f"{some_words(4)}\n\n{some_words(7)}") == [(1, 1), (3, 3)]


def test_a_small_last_fragment_is_joined_to_the_previous_one() -> None:
    assert fragment_lines(f"{some_words(8)}\n\n{some_words(2)}") == [(1, 3)]


def test_a_fragment_stays_in_its_section() -> None:
    assert fragment_lines("a\n# A\nb\n## B\nc\n") == [(1, 1), (3, 3), (5, 5)]


def test_a_block_below_the_maximum_is_never_cut() -> None:
    assert fragment_lines(f"one\n\n```\n{some_words(4)}\n\n{some_words(4)}\n```") == [(1, 1), (3, 7)]


def test_a_list_above_the_maximum_is_cut_between_items() -> None:
    assert fragment_lines(f"- {some_words(3)}\n  {some_words(3)}\n- {some_words(3)}\n  {some_words(3)}\n") == [
        (1, 2),
        (3, 4),
    ]


def test_a_code_block_above_the_maximum_is_cut_at_a_blank_line() -> None:
    assert fragment_lines(f"```\n{some_words(4)}\n{some_words(3)}\n\n{some_words(1)}\n{some_words(4)}\n```") == [
        (1, 3),
        (5, 7),
    ]


def test_a_line_above_the_maximum_is_kept_whole() -> None:
    assert fragment_lines(f"{some_words(50)}\n{some_words(3)}") == [(1, 1), (2, 2)]


def test_a_note_of_headings_only_is_one_fragment() -> None:
    assert fragment_lines("\n# A\n\n## B\n\n# C\n") == [(2, 6)]


def test_an_empty_note_is_one_fragment_without_text() -> None:
    assert fragment_lines("") == fragment_lines("\n \n") == [(1, 1)]
    (fragment,) = fragments_of(parse_note("People/Ada.md", ""), len)
    assert (fragment.title, fragment.text, fragment.tokens) == ("Ada", "", 0)


def test_a_fragment_has_its_lines_and_its_ordinal_and_its_headings() -> None:
    note = parse_note("dir/Note.md", "open\n\n# A\n## B\ntext")
    _, fragment = fragments_of(note, len)
    assert (fragment.path, fragment.title, fragment.heading_path) == ("dir/Note.md", "Note", ("A", "B"))
    assert (fragment.ordinal, fragment.section, fragment.tokens, fragment.text) == (1, 2, 4, "text")


def test_ids_are_kept_after_edits_elsewhere_in_the_note() -> None:
    before = fragments_of(parse_note("a.md", "# A\nsame\n"), len)
    after = fragments_of(parse_note("a.md", "new\n\n# Renamed\n\nsame\n"), len)
    assert before[0].id == after[1].id


def test_equal_texts_and_notes_have_different_ids() -> None:
    same = fragments_of(parse_note("a.md", "# A\nsame\n# B\nsame\n"), len)
    elsewhere = fragments_of(parse_note("b.md", "# A\nsame\n"), len)
    assert same[0].digest == same[1].digest == elsewhere[0].digest
    assert len({same[0].id, same[1].id, elsewhere[0].id}) == 3
    assert re.fullmatch(r"[0-9a-f]{12}", same[0].id)
    assert re.fullmatch(r"[0-9a-f]{10}", note_id("a.md"))


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("one two", 2), ("数据同步搜索", 4), ("x" * 100, 10), ("a " * 7, 7), ("ภาษาไทยครับ", 6)]
)
def test_size_is_counted_in_words_of_any_script(text: str, count: int) -> None:
    assert count_words(text) == count


# --- any note ---------------------------------------------------------------------------------------------------------

LIMITS = st.sampled_from([SMALL, FragmentLimits(), FragmentLimits(target=1, maximum=1, min_last=0)])


@given(NOTES, LIMITS)
@example("<!-- comment\n", SMALL)
def test_the_text_of_a_fragment_with_its_comments_equals_its_lines_of_the_file(
    text: str, limits: FragmentLimits
) -> None:
    lines = re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))
    note = parse_note("a.md", text)
    for fragment in fragments_of(note, len, limits):
        own = [comment for comment in note.comments if fragment.line_start <= comment.line <= fragment.line_end]
        restored = restore_comments(fragment.text.split("\n"), fragment.line_start, own)
        assert restored == lines[fragment.line_start - 1 : fragment.line_end]


@given(NOTES, LIMITS)
def test_fragments_are_ordered_and_disjoint(text: str, limits: FragmentLimits) -> None:
    fragments = fragments_of(parse_note("a.md", text), len, limits)
    assert [fragment.ordinal for fragment in fragments] == list(range(len(fragments)))
    for before, after in pairwise(fragments):
        assert before.line_start <= before.line_end < after.line_start <= after.line_end


@given(NOTES, LIMITS)
@example("---\ntitle: x\n---\n", SMALL)
@example("===\n===\n", SMALL)
def test_every_line_of_content_is_in_exactly_one_fragment(text: str, limits: FragmentLimits) -> None:
    note = parse_note("a.md", text)
    fragments = fragments_of(note, len, limits)
    covered = [n for f in fragments for n in range(f.line_start, f.line_end + 1)]
    front = read_frontmatter(note.text)
    other = set(range(1, front.lines + 1)).difference(front.unread_lines) | _heading_lines(note)
    if all(number in other for number, line in enumerate(note.lines, 1) if line.strip()):
        return  # a note without text has one fragment, of its properties or its heading
    for number, line in enumerate(note.lines, 1):
        if line.strip():
            assert covered.count(number) == (0 if number in other else 1), (number, line)


@given(NOTES)
def test_ids_are_unique_and_reproducible(text: str) -> None:
    first, second = (_ids(fragments_of(parse_note("a.md", text), len)) for _ in range(2))
    assert first == second
    assert len(set(first)) == len(first)


def _ids(fragments: tuple[Fragment, ...]) -> list[str]:
    return [fragment.id for fragment in fragments]


def _heading_lines(note: Note) -> set[int]:
    """Return the lines of all headings, found from the text alone.

    An ATX heading has one line; a setext heading extends to its underline.
    """
    found: set[int] = set()
    for section in note.sections[1:]:
        last = section.line_start
        if not re.match(r" {0,3}#{1,6}([ \t]|$)", note.lines[last - 1]):
            last += 1  # the text of a heading may look like an underline itself
            while not re.fullmatch(r" {0,3}(=+|-+)[ \t]*", note.lines[last - 1]):
                last += 1
        found.update(range(section.line_start, last + 1))
    return found
