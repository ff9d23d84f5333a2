"""Tests of the one-line snippet of a fragment in its row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.model import Span
from excerpt.text.snippet import snippet
from excerpt.tui.common.strips import fit


def spans_of(text: str, *words: str) -> list[Span]:
    return [Span(at, at + len(word)) for word in words for at in range(len(text)) if text.startswith(word, at)]


def snippet_with_matches(text: str, *words: str, width: int = 60) -> tuple[str, list[str]]:
    line, places = snippet(text, spans_of(text, *words), width)
    return line, [line[a:b] for a, b in places]


def test_a_snippet_starts_below_the_heading() -> None:
    assert snippet_with_matches("## Conflicts\n\nTwo devices meet.") == ("Two devices meet.", [])


def test_white_space_is_joined_and_markup_removed() -> None:
    line, found = snippet_with_matches("- [x] one\n\n> **two**  [[Target|three]]\n### four", "three")
    assert line == "one two three · four"
    assert found == ["three"]


def test_marks_of_footnotes_and_block_ids_are_removed() -> None:
    line, found = snippet_with_matches("The wheel[^1] spins `a[^1]` fast. ^part-1\n\n[^1]: A note.", "wheel", "fast")
    assert (line, found) == ("The wheel spins a[^1] fast. A note.", ["wheel", "fast"])


def test_a_word_with_marks_inside_is_one_match() -> None:
    assert snippet_with_matches("An un**believ**able story", "un**believ**able") == (
        "An unbelievable story",
        ["unbelievable"],
    )


def test_comments_are_removed_from_a_snippet_and_similar_text_is_not() -> None:
    text = (
        "Sow <!-- in *rows* -->beans%% `not` yet %% here.\n<!-- until\nA --> B is 100%% sure, `<!-- kept -->` <br> too"
    )
    assert snippet_with_matches(text, "beans", "sure") == (
        "Sow beans here. A --> B is 100%% sure, <!-- kept --> <br> too",
        ["beans", "sure"],
    )


def test_tasks_and_list_items_and_table_cells_are_separated_on_one_line() -> None:
    listed = "- [x] one\n- [ ] two\n- three\n1. four"
    text = f"Do this:\n\n{listed}\n\n| a | b |\n| --- | --- |\n| c | d |\n\n> [!tip] Five\n> six"
    assert snippet_with_matches(text, width=90)[0] == "Do this: ☑ one ☐ two • three 1. four · a | b · c | d · Five six"


def test_code_is_shown_unchanged_without_its_fence() -> None:
    assert (
        snippet_with_matches("Run\n\n```bash\nls *one*  **two** # three\n```\n", "one")[0]
        == "Run ls *one* **two** # three"
    )


def test_an_unpaired_mark_at_the_cut_is_removed() -> None:
    text = (
        "Choose: **Automatically merge** all, or [keep](https://example.org/"
        + "long/" * 20
        + ") what is "
        + "there " * 9
    )
    for width in range(12, 40):
        assert not set("*[(") & set(snippet_with_matches(text, width=width)[0]), width
    after = "pad `code (conflict)` more " * 4 + "then **bold " + "words " * 8 + "conflict conflict** end"
    assert not set("*`") & set(snippet_with_matches(after, "conflict conflict", width=40)[0])


def test_omitted_text_after_the_snippet_is_marked() -> None:
    link = "[a](https://example.org/" + "long/" * 60 + ")"
    assert snippet_with_matches(f"{link} " * 30, width=30)[0].endswith("…")
    text = "one two three four " * 20
    for width in range(10, 60):
        assert fit(snippet_with_matches(text, width=width)[0], width).endswith("…"), width


def test_a_snippet_starts_with_the_sentence_that_has_most_matches() -> None:
    best = "When a sync meets a conflict of two sync devices, wait. "
    text = "Sync alone here. " + "Padding words. " * 30 + best + "More. " * 20
    line, found = snippet_with_matches(text, "sync", "conflict")
    assert line.startswith("When a sync meets")
    assert found == ["sync", "conflict", "sync"]


def test_the_first_of_equal_sentences_is_chosen() -> None:
    assert snippet_with_matches("No. " + "A sync here. " * 20, "sync", width=30)[0].startswith("A sync here.")


def test_a_sentence_with_a_distant_match_starts_with_its_first_word() -> None:
    line, found = snippet_with_matches("Once. And " + "word " * 40 + "sync", "sync")
    assert line.startswith("And word")
    assert found == []


def test_a_snippet_starts_with_a_sentence_whose_visible_part_has_matches() -> None:
    text = "Far on " + "word " * 40 + "sync conflict. Two devices conflict. " + "More. " * 20
    assert snippet_with_matches(text, "sync", "conflict")[0].startswith("Two devices conflict.")


def test_initials_and_abbreviations_do_not_end_a_sentence() -> None:
    text = "Padding words. " * 9 + "Ask J. Doe, e.g. Monday, about sync. " + "More. " * 20
    assert snippet_with_matches(text, "sync")[0].startswith("Ask J. Doe")


def test_a_snippet_can_start_with_a_list_item_or_a_line_of_code() -> None:
    items = "Pad this line:\n\n" + "- one more\n" * 9 + "- [ ] the sync\n" + "- last\n" * 9
    assert snippet_with_matches(items, "sync")[0].startswith("the sync • last")
    code = "Run this:\n\n```\n" + "ls\n" * 30 + "sync all\n" + "ls\n" * 30 + "```"
    assert snippet_with_matches(code, "sync")[0].startswith("sync all ls")


def test_sentences_of_scripts_without_spaces_end_at_their_full_stop() -> None:
    line, found = snippet_with_matches("旧版本会另存为一个文件。" * 20 + "冲突出现。" + "文件。" * 20, "冲突", width=40)
    assert line.startswith("冲突出现。")
    assert found == ["冲突"]


def test_a_short_text_is_shown_whole() -> None:
    assert snippet_with_matches("One thing. Then sync.", "sync")[0] == "One thing. Then sync."


def test_control_characters_are_shown_as_symbols() -> None:
    assert "\x1b" not in snippet_with_matches("a \x1b[31m b\u202ec", "b")[0]


@given(
    st.text(max_size=600),
    st.lists(st.tuples(st.integers(0, 599), st.integers(1, 20)), max_size=10),
    st.integers(10, 120),
)
def test_matches_have_correct_positions(text: str, places: list[tuple[int, int]], width: int) -> None:
    spans = [Span(start, min(start + length, len(text))) for start, length in places if start < len(text)]
    line, found = snippet(text, spans, width)
    assert "\n" not in line
    assert all(0 <= start < end <= len(line) for start, end in found)
