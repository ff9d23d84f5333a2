"""Tests of lines fitted to cells: never too wide in any script, and the same in every terminal."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from excerpt.text.display import visible_line
from excerpt.tui.common.strips import fit, fit_path, line, remove_unstable_characters, truncate_parts

PIECES = st.sampled_from(
    [
        "a",
        "Wort ",
        "冲突",
        "ｶﾞ",
        "é",
        "Z̡͖̜̱",
        "각",
        "ที่",
        "می‌خواهم",
        "👨‍👩‍👧",
        "❤️",
        "1️⃣",
        "👍🏽",
        "🇩🇪",
        "🏳️‍🌈",
        "\u200d",
        "[/b]",
        "\x1b[1m",
        "\u202e",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join).map(visible_line)
NO_STYLE = Style.null()


def cell_width(text: str) -> int:
    """Return the width by a terminal that counts single characters, without joined emoji or variants."""
    return sum(cell_len(character) for character in text)


@given(TEXTS, st.integers(0, 30))
@example("ab\u200d冲", 3)
def test_a_fitted_text_is_never_too_wide(text: str, cells: int) -> None:
    fitted = fit(text, cells)
    assert cell_len(fitted) <= cells
    assert fitted == remove_unstable_characters(text) or fitted.endswith("…") or cells <= 0


@pytest.mark.parametrize(
    ("cells", "fitted"),
    [
        (40, "docs/About/about_Sessions.md"),
        (26, "…/About/about_Sessions.md"),
        (20, "…/about_Sessions.md"),
        (12, "about_Sessi…"),
    ],
)
def test_a_path_loses_its_first_folders_before_the_name_of_the_file(cells: int, fitted: str) -> None:
    assert fit_path("docs/About/about_Sessions.md", cells) == fitted


def test_a_name_with_dots_loses_its_first_parts() -> None:
    assert fit_path("vault/dendron.topic.publish.cook.md", 20) == "…publish.cook.md"


@given(TEXTS)
@example("\u200d\u200d👩👩")
@example("a\ufe0f\u200d\ufe0f👩\u200db")
def test_removing_unstable_characters_twice_changes_nothing_more(text: str) -> None:
    assert remove_unstable_characters(remove_unstable_characters(text)) == remove_unstable_characters(text)


@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=2), st.integers(0, 40))
@example([], ["\u200daaa"], 1)
@example([], ["\ufe0f\u200daaa"], 1)
def test_a_line_has_exactly_its_width(left: list[str], right: list[str], cells: int) -> None:
    drawn = line([(text, NO_STYLE) for text in left], [(text, NO_STYLE) for text in right], cells, NO_STYLE)
    assert sum(cell_len(segment.text) for segment in drawn) == cells


@given(st.lists(TEXTS, max_size=4), st.integers(1, 40))
def test_a_truncated_text_has_one_ellipsis_at_its_end(texts: list[str], cells: int) -> None:
    whole = "".join(map(remove_unstable_characters, texts))
    fitted = "".join(text for text, _ in truncate_parts([(text, NO_STYLE) for text in texts], cells))
    assert fitted == whole or fitted.endswith("…")


@pytest.mark.parametrize("emoji", ["👨‍👩‍👧", "❤️", "1️⃣", "👍🏽", "🏳️‍🌈", "⭐️", "™️", "👩🏽‍🚀"])
def test_an_emoji_has_the_same_width_in_all_terminals(emoji: str) -> None:
    shown = fit(f"{emoji} x", 10)
    assert cell_len(shown) == cell_width(shown)
    assert shown.endswith(" x")


def test_letters_spelt_with_joiners_keep_them() -> None:
    assert fit("می‌خواهم", 20) == "می‌خواهم"
    assert fit("क्‍ष", 20) == "क्‍ष"
