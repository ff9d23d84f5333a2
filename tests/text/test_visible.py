"""Tests that control characters in vault text are made visible and have no effect."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from excerpt.text.display import visible, visible_json, visible_line


def test_an_escape_sequence_is_shown_as_characters() -> None:
    assert visible("\x1b]52;c;aGk=\x07") == "␛]52;c;aGk=␇"


def test_single_character_controls_and_bidi_overrides_are_shown() -> None:
    assert visible("a\x9bb\u202ec\u200bd") == "a�b�c�d"


def test_tabs_and_line_feeds_stay_in_text_and_show_on_a_line() -> None:
    assert visible("a\tb\nc") == "a\tb\nc"
    assert visible_line("a\tb\nc") == "a␉b␊c"


def test_a_carriage_return_cannot_overwrite_the_line() -> None:
    assert visible("safe\rEVIL") == "safe␍EVIL"


def test_words_of_every_script_are_left_alone() -> None:
    text = "Straße · naïve · 日本語 · العربية · می‌خواهم · 👩‍💻"
    assert visible(text) == visible_line(text) == text


def test_json_says_the_same_without_a_character_that_is_obeyed() -> None:
    text = "\x1b\x7f\x9b\u202e\u200b\U000e0041\udcff می‌خواهم 日本"
    shown = visible_json(json.dumps(text, ensure_ascii=False))
    assert shown == '"\\u001b\\u007f\\u009b\\u202e\\u200b\\udb40\\udc41\\udcff می‌خواهم 日本"'
    assert json.loads(shown) == text


@given(st.text())
def test_json_of_any_text_is_that_text_and_holds_nothing_that_is_shown_otherwise(text: str) -> None:
    shown = visible_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == text
    assert visible_line(shown) == shown


@given(st.text())
def test_the_length_never_changes_and_no_control_is_left(text: str) -> None:
    shown = visible_line(text)
    assert len(shown) == len(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in shown)
