"""Tests of dates as written in notes, and of periods as written in queries."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from excerpt.text.dates import is_period, parse_date, parse_date_span, parse_period

TODAY = date(2025, 3, 14)  # a Friday


@pytest.mark.parametrize(
    "text",
    [
        *("2024-03-05", "2024/03/05", "2024.3.5", "2024_03_05", "20240305", "202403051230", "20240305123059"),
        *("2024-03-05T23:30:00Z", "2024-03-05 10:00", "2024-03-05T23:30:00+09:00", "[[2024-03-05]]", " 2024-03-05 "),
        *("5.3.2024", "05.03.2024", "5. 3. 2024", "03/05/2024", "3/5/2024", "03-05-2024"),
        *("5 March 2024", "5 Mar 2024", "5th March, 2024", "March 5, 2024", "Mar. 5th 2024", "5. März 2024"),
        *("5 mars 2024", "5 de marzo de 2024", "Tuesday, 5 March 2024", "2024年3月5日", "2024년 3월 5일"),
        *("1709600000", "1709600000000", "Meeting 2024-03-05 with Ada", "20240305 Meeting", "v2 2024-03-05"),
    ],
)
def test_a_day_is_parsed_in_any_format(text: str) -> None:
    assert parse_date(text) == date(2024, 3, 5)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024", date(2024, 1, 1)),
        ("2024-03", date(2024, 3, 1)),
        ("March 2024", date(2024, 3, 1)),
        ("2024年3月", date(2024, 3, 1)),
        ("25/12/2024", date(2024, 12, 25)),
        ("2024-13-01 or 2024-03-05", date(2024, 3, 5)),
    ],
)
def test_an_incomplete_date_is_its_first_day(text: str, day: date) -> None:
    assert parse_date(text) == day


@pytest.mark.parametrize(
    "text", ["", "soon", "12", "1.2.3", "2024-13-45", "0000-01-01", "99999999999", "Room 101", "12345678", "٢٠٢٤", "²"]
)
def test_text_that_is_not_a_date_is_none(text: str) -> None:
    assert parse_date(text) is None


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2025", date(2025, 1, 1), date(2025, 12, 31)),
        ("2024-02", date(2024, 2, 1), date(2024, 2, 29)),
        ("2024-2", date(2024, 2, 1), date(2024, 2, 29)),
        ("2024-12", date(2024, 12, 1), date(2024, 12, 31)),
        ("2024-02-03", date(2024, 2, 3), date(2024, 2, 3)),
        ("2024/02/03", date(2024, 2, 3), date(2024, 2, 3)),
        ("today", TODAY, TODAY),
        ("Yesterday", date(2025, 3, 13), date(2025, 3, 13)),
        ("this-week", date(2025, 3, 10), date(2025, 3, 16)),
        ("last week", date(2025, 3, 3), date(2025, 3, 9)),
        ("this_month", date(2025, 3, 1), date(2025, 3, 31)),
        ("last-month", date(2025, 2, 1), date(2025, 2, 28)),
        ("thisyear", date(2025, 1, 1), date(2025, 12, 31)),
        ("last-year", date(2024, 1, 1), date(2024, 12, 31)),
        ("7d", date(2025, 3, 7), TODAY),
        ("2w", date(2025, 2, 28), TODAY),
        ("3m", date(2024, 12, 14), TODAY),
        ("1y", date(2024, 3, 14), TODAY),
        ("99999d", date(1751, 5, 31), TODAY),
        ("99999y", date.min, TODAY),
        (">2024", date(2025, 1, 1), date.max),
        (">=2024", date(2024, 1, 1), date.max),
        ("<2024", date.min, date(2023, 12, 31)),
        ("<=2024-02", date.min, date(2024, 2, 29)),
        ("> 2024", date(2025, 1, 1), date.max),
        (">7d", date(2025, 3, 8), date.max),
        ("<7d", date.min, date(2025, 3, 6)),
        ("2024..2025-03", date(2024, 1, 1), date(2025, 3, 31)),
        ("2025..2024", date(2024, 1, 1), date(2025, 12, 31)),
        ("2024..", date(2024, 1, 1), date.max),
        ("..2024", date.min, date(2024, 12, 31)),
        ("30d..7d", date(2025, 2, 12), date(2025, 3, 7)),
    ],
)
def test_periods_are_parsed(text: str, first: date, last: date) -> None:
    assert parse_period(text, TODAY) == (first, last)


@pytest.mark.parametrize(("typed", "read"), [("2025-", "2025"), ("2025-0", "2025"), ("2025-03-", "2025-03")])
def test_a_date_that_is_still_being_typed_means_its_month_or_year(typed: str, read: str) -> None:
    assert is_period(typed)
    assert parse_period(typed, TODAY) == parse_period(read, TODAY)


@pytest.mark.parametrize("text", ["", "2", "20", "202", "2025-13", "2025-02-30", "..", ">", "d", "7x", "soon", "٢٠٢٥"])
def test_text_that_is_not_a_period_is_none(text: str) -> None:
    assert not is_period(text)


@given(st.text(alphabet=st.sampled_from("0123456789-/.<>=dwmy todayesrlaswk年月日"), max_size=24))
@example(">9999")
@example("<0001-01-01")
@example("99999m")
def test_any_text_is_a_period_or_none(text: str) -> None:
    parse_date(text)
    period = parse_period(text, TODAY)
    if period and not text.strip().startswith((">", "<")):
        assert period[0] <= period[1]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2024-W18", date(2024, 4, 29), date(2024, 5, 5)),
        ("2024W18", date(2024, 4, 29), date(2024, 5, 5)),
        ("Week 2024-w18 of spring", date(2024, 4, 29), date(2024, 5, 5)),
        ("2024-KW18", date(2024, 4, 29), date(2024, 5, 5)),
        ("2024-W18-3", date(2024, 5, 1), date(2024, 5, 1)),
        ("2020-W53", date(2020, 12, 28), date(2021, 1, 3)),
        ("2024-Q2", date(2024, 4, 1), date(2024, 6, 30)),
        ("2024 q4", date(2024, 10, 1), date(2024, 12, 31)),
        ("2024-05", date(2024, 5, 1), date(2024, 5, 31)),
        ("May 2024", date(2024, 5, 1), date(2024, 5, 31)),
        ("2024年2月", date(2024, 2, 1), date(2024, 2, 29)),
        ("2024-05-07", date(2024, 5, 7), date(2024, 5, 7)),
        ("2024", date(2024, 1, 1), date(2024, 1, 1)),
    ],
)
def test_weeks_months_and_quarters_are_spans(text: str, first: date, last: date) -> None:
    assert parse_date_span(text) == (first, last)
    assert parse_date(text) == first


@pytest.mark.parametrize("text", ["2023-W53", "2024-W00", "2024-W1", "2024-Q5", "2024-Q22", "9999-W99", "12024-W18"])
def test_text_that_is_not_a_week_or_quarter_is_none(text: str) -> None:
    assert parse_date_span(text) is None


@pytest.mark.parametrize("text", ["2024-W18", "2024-q2"])
def test_a_week_or_quarter_is_a_period_of_a_query(text: str) -> None:
    assert parse_period(text, date(2025, 1, 1)) == parse_date_span(text)
