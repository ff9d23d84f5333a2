"""Tests of text as it is shown: counts, lines, times, and control characters made visible."""

from __future__ import annotations

import ast
import json
import re
import time
import unicodedata
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import excerpt
from excerpt.text.display import (
    format_age,
    format_count,
    format_day_span,
    format_lines,
    format_names,
    line_range,
    local_day,
    local_time,
    visible,
    visible_json,
    visible_line,
)


def test_an_escape_sequence_is_shown_as_characters() -> None:
    assert visible("\x1b]52;c;aGk=\x07") == "␛]52;c;aGk=␇"


def test_single_character_controls_and_bidi_overrides_are_shown() -> None:
    assert visible("a\x9bb\u202ec\u200bd") == "a�b�c�d"


def test_tabs_and_line_feeds_stay_in_text_and_show_on_a_line() -> None:
    assert visible("a\tb\nc") == "a\tb\nc"
    assert visible_line("a\tb\nc") == "a␉b␊c"


def test_a_carriage_return_cannot_overwrite_the_line() -> None:
    assert visible("safe\rEVIL") == "safe␍EVIL"


def test_a_long_list_of_names_is_shortened_and_counted() -> None:
    assert format_names(["a", "b"]) == "a, b"
    assert format_names(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_words_of_every_script_are_unchanged() -> None:
    text = "Straße · naïve · 日本語 · العربية · می‌خواهم · 👩‍💻"
    assert visible(text) == visible_line(text) == text


def test_json_is_escaped_without_control_characters() -> None:
    text = "\x1b\x7f\x9b\u202e\u200b\U000e0041\udcff می‌خواهم 日本"
    shown = visible_json(json.dumps(text, ensure_ascii=False))
    assert shown == '"\\u001b\\u007f\\u009b\\u202e\\u200b\\udb40\\udc41\\udcff می‌خواهم 日本"'
    assert json.loads(shown) == text


@given(st.text())
def test_json_of_any_text_equals_it_without_control_characters(text: str) -> None:
    shown = visible_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == text
    assert visible_line(shown) == shown


@given(st.text())
def test_replacing_control_characters_keeps_the_length_of_a_text(text: str) -> None:
    shown = visible_line(text)
    assert len(shown) == len(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in shown)


HOUR, DAY = 3600, 86_400


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "now"),
        (HOUR - 1, "now"),
        (HOUR, "1h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (14 * DAY, "2w"),
        (63 * DAY, "2mo"),
        (730 * DAY, "2y"),
    ],
)
def test_an_age_is_given_in_the_largest_suitable_unit(seconds: int, told: str) -> None:
    assert format_age(1_000_000_000 - seconds, 1_000_000_000) == told


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.integers(0, 4_000_000_000))
def test_an_age_takes_at_most_four_cells(then: float, now: int) -> None:
    assert 1 <= len(format_age(then, now)) <= 4


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="needs another time zone")
@pytest.mark.parametrize("stamp", ["9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00.000Z", "2262-04-12T00:00:00Z"])
@pytest.mark.parametrize("zone", ["UTC+12", "UTC-14"])
def test_a_time_at_the_end_of_the_calendar_is_shown_in_any_time_zone(
    stamp: str, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert abs(int(local_day(stamp)[:4]) - int(stamp[:4])) <= 1
        assert len(local_time(stamp)) == len("2026-03-01 14:05")
    finally:
        monkeypatch.undo()
        time.tzset()


PLURAL = re.compile(
    r"^ (?:more |matching |marked |different |other |scanned )*(?:attachments|bytes|characters|files|fragments|groups"
    r"|hits|lines|memories|notes|packs|pages|passages|places|queries|rows|sources|tokens|values|vaults|words)\b(?!/)"
)
NEVER_ONE = (
    "vault/readers/",
    "cli/terminal_checks.py",
    "encoders/static_model.py",
    "base/state_files.py",
    "search/rank_reasons.py",
)
"""Files whose numbers are never 1: large limits, terminal sizes, and counts of at least two."""


def test_a_count_of_one_has_the_singular_noun() -> None:
    assert [format_count(number, "note") for number in (0, 1, 2_000)] == ["0 notes", "1 note", "2,000 notes"]
    assert format_count(1, "memory", "memories") == "1 memory"


def plurals_without_format_count(file: Path) -> Iterator[str]:
    """Yield the values in f-strings before a plural, except constants and results of `format_count`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        for value, after in zip(node.values, node.values[1:], strict=False) if isinstance(node, ast.JoinedStr) else ():
            if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant):
                shown, text = ast.unparse(value.value), str(after.value)
                if PLURAL.match(text) and not shown.strip("_").isupper() and "format_count" not in shown:
                    yield f"{file}:{value.lineno}: {{{shown}}}{text}"


@pytest.mark.programs
def test_no_message_has_a_number_before_a_fixed_plural() -> None:
    source = Path(excerpt.__file__).parent
    files = [file for file in source.rglob("*.py") if not file.relative_to(source).as_posix().startswith(NEVER_ONE)]
    assert files
    assert [found for file in files for found in plurals_without_format_count(file)] == []


def test_one_line_is_written_as_a_number_and_several_lines_as_a_range() -> None:
    assert (line_range(8, 8), line_range(8, 12)) == ("8", "8-12")
    assert (format_lines(8, 8), format_lines(8, 12, "–")) == ("line 8", "lines 8–12")


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        (date(2026, 11, 16), date(2026, 11, 22), "16–22 Nov"),
        (date(2026, 11, 20), date(2026, 11, 20), "20 Nov"),
        (date(2026, 10, 28), date(2026, 11, 3), "28 Oct – 3 Nov"),
        (date(2025, 5, 1), date(2025, 5, 31), "1–31 May 2025"),
        (date(2025, 12, 29), date(2026, 1, 4), "29 Dec 2025 – 4 Jan 2026"),
        (date(2025, 5, 1), date.max, "since 1 May 2025"),
        (date.min, date(2026, 5, 1), "until 1 May"),
    ],
)
def test_a_span_of_days_is_as_short_as_it_is_clear(first: date, last: date, text: str) -> None:
    assert format_day_span(first, last, date(2026, 11, 27)) == text
