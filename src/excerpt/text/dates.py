"""Parsing of dates in properties and file names, and of periods in queries (`7d`, `last-month`)."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from excerpt.base.patterns import lazy_pattern

Period = tuple[date, date]
"""A period: its first and last day, both inclusive. `date.min` and `date.max` mean no bound."""

_DAY = timedelta(days=1)

# --- a date in a note -------------------------------------------------------------------------------------------------

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier enero gennaio janeiro januari jänner",
            "feb february februar février fevrier febrero febbraio fevereiro februari",
            "mar march märz marz maerz mrz mars marzo março marco maart marts",
            "apr april avril abril aprile",
            "may mai mayo maggio maio mei maj",
            "jun june juni juin junio giugno junho",
            "jul july juli juillet julio luglio julho",
            "aug august août aout agosto augustus augusti",
            "sep sept september septembre septiembre setiembre settembre setembro",
            "oct october okt oktober octobre octubre ottobre outubro",
            "nov november novembre noviembre novembro",
            "dec december dez dezember décembre decembre diciembre dicembre dezembro",
        ),
        1,
    )
    for name in names.split()
}
"""The number of each month's name or abbreviation, in ten languages."""
_NUMERIC_DATES = (
    lazy_pattern(r"(?<!\d)(?P<y>\d{4})([-/._])(?P<m>\d{1,2})\2(?P<d>\d{1,2})(?!\d)"),
    lazy_pattern(r"(?<!\d)(?P<y>\d{4})[年년]\s?(?P<m>\d{1,2})[月월](?:\s?(?P<d>\d{1,2})[日일])?"),
    lazy_pattern(r"(?<![\d.])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4})(?![\d.])"),
    lazy_pattern(r"(?<!\d)(?P<m>\d{1,2})([-/])(?P<d>\d{1,2})\2(?P<y>\d{4})(?!\d)"),
    # With an optional time after it, as in the file names of a Zettelkasten.
    lazy_pattern(r"(?<!\d)(?P<y>(?:19|20)\d\d)(?P<m>\d\d)(?P<d>\d\d)(?:\d{4}|\d{6})?(?!\d)"),
)
_SPELLED_DATES = (
    lazy_pattern(r"(?<!\w)(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?\s(?:de\s)?(?P<name>[^\W\d]{3,9})\.?,?\s(?:de\s)?(?P<y>\d{4})(?!\d)"),
    lazy_pattern(r"(?<!\w)(?P<name>[^\W\d]{3,9})\.?\s(?:(?P<d>\d{1,2})(?:st|nd|rd|th)?,?\s)?(?P<y>\d{4})(?!\d)"),
)  # fmt: skip
_YEAR_AND_MONTH = lazy_pattern(r"(?<!\d)(?P<y>\d{4})-(?P<m>\d\d)(?![\d-])")
# An ISO week (`2024-W18`, in German `2024-KW18`) with or without a day, or a quarter (`2024-Q2`).
_WEEK = lazy_pattern(r"(?<!\d)(?P<y>\d{4})[-_ ]?K?W(?P<w>\d\d)(?:-?(?P<d>[1-7]))?(?!\w)", re.IGNORECASE)
_QUARTER = lazy_pattern(r"(?<!\d)(?P<y>\d{4})[-_ ]?Q(?P<q>[1-4])(?!\w)", re.IGNORECASE)
_YEAR = lazy_pattern(r"\d{4}")
"""A part of each date above: of 100,000 file names with numbers but no year, the search takes 0.1 s instead of 1.7."""
_SECONDS_DIGITS, _MILLISECONDS_DIGITS = 10, 13  # digits of a point in time since 1970, from 2001 until 2286


def parse_date(text: str) -> date | None:
    """Return the first date in `text`, a property's value or a file's name; None if it has no date.

    A week, month, quarter or year gives its first day, and a date with a time its day. A number of seconds or
    milliseconds since 1970 gives the day in UTC. `03/04/2025` is March 4, as in America; `13/04/2025` is April 13.
    """
    span = parse_date_span(text)
    return span[0] if span else None


@lru_cache(maxsize=50_000)
def parse_date_span(text: str) -> Period | None:
    """Return the first and last day of the date that `parse_date` finds in `text`, as of the name of a monthly note.

    The two days differ for a week, a month and a quarter. A year counts as its first day: few diaries are named by a
    year alone.
    """
    bare = text.strip()
    if bare.isdecimal() and bare.isascii():
        day = _parse_number(bare)
        if day:
            return day, day
    if not _YEAR.search(bare):
        return None
    for match in _WEEK.finditer(bare):
        if week := _week_span(int(match["y"]), int(match["w"]), int(match["d"] or 0)):
            return week
    for pattern in (*_NUMERIC_DATES, *_SPELLED_DATES, _YEAR_AND_MONTH):
        for match in pattern.finditer(bare):
            day = _date_from_match(match)
            if day:
                return day, day if match.groupdict().get("d") else month_end(day)
    quarter = _QUARTER.search(bare)
    return _quarter_span(int(quarter["y"]), int(quarter["q"])) if quarter else None


_DATE_NAME_REST = lazy_pattern(r"[\s,.]*(?:[^\W\d_]+[,.]?)?[\s,.]*")


def parse_date_name(text: str) -> date | None:
    """Return the day that a text names if it is nothing but a day, with or without weekday, as in a journal's pages."""
    for pattern in (*_NUMERIC_DATES, *_SPELLED_DATES) if _YEAR.search(text) else ():
        match = pattern.search(text)
        if match and match.groupdict().get("d") and (day := _date_from_match(match)):
            rest = text[: match.start()] + text[match.end() :]
            return day if _DATE_NAME_REST.fullmatch(rest) else None
    return None


def _parse_number(bare: str) -> date | None:
    """Return the day that a number means, as seconds or milliseconds since 1970, or as a year."""
    if len(bare) in (_SECONDS_DIGITS, _MILLISECONDS_DIGITS):
        seconds = int(bare) / (1000 if len(bare) == _MILLISECONDS_DIGITS else 1)
        return datetime.fromtimestamp(seconds, UTC).date()
    return _date_or_none(int(bare), 1, 1) if len(bare) == 4 else None


def _week_span(year: int, week: int, weekday: int) -> Period | None:
    """Return the first and last day of an ISO week, or one day of it (1 to 7); None if the year has no such week."""
    try:
        first = date.fromisocalendar(year, week, weekday or 1)
        return first, first if weekday else first + timedelta(6)
    except (ValueError, OverflowError):
        return None


def _quarter_span(year: int, quarter: int) -> Period | None:
    first = _date_or_none(year, 3 * quarter - 2, 1)
    return (first, month_end(first.replace(month=3 * quarter))) if first else None


def _date_from_match(match: re.Match[str]) -> date | None:
    parts = match.groupdict()
    year, day = int(parts["y"]), int(parts.get("d") or 1)
    if "name" in parts:
        return _date_or_none(year, MONTHS.get(parts["name"].lower(), 0), day)
    month = int(parts["m"])
    parsed = _date_or_none(year, month, day)
    # Day and month may be in either order if the year is last, but not if it is first.
    return _date_or_none(year, day, month) if parsed is None and match.start("y") > match.start("m") else parsed


# The tokens of Moment's date formats, which Obsidian writes. Possessive, so that no format can make a search slow.
_FORMAT_TOKENS = {
    "YYYY": r"(?P<y>\d{4})",
    "YY": r"(?P<yy>\d\d)",
    **dict.fromkeys(("MMMM", "MMM"), r"(?P<name>[^\W\d_]++)\.?+"),
    **dict.fromkeys(("MM", "M"), r"(?P<m>\d{1,2}+)"),
    **dict.fromkeys(("DD", "D"), r"(?P<d>\d{1,2}+)"),
    "Do": r"(?P<d>\d{1,2}+)(?:st|nd|rd|th|\.|er|º|ª)?+",
    **dict.fromkeys(("dddd", "ddd", "dd"), r"[^\W\d_]++\.?+"),
    **dict.fromkeys(("ww", "WW", "w", "W", "Q"), r"\d{1,2}+"),
    **dict.fromkeys(("gggg", "GGGG"), r"\d{4}"),
}
_FORMAT_PART = lazy_pattern(r"\[(?P<literal>[^\]]*)\]|(?P<token>Do|([A-Za-z])\3*)|(?P<sign>.)", re.DOTALL)
_MAX_FORMAT_CHARS = 200


@lru_cache(maxsize=16)
def compile_date_format(date_format: str) -> re.Pattern[str] | None:
    """Return a pattern for texts in a date format such as `YYYY/MM-DD`; None if the format does not give a day."""
    if len(date_format) > _MAX_FORMAT_CHARS:
        return None
    parts: list[str] = []
    for match in _FORMAT_PART.finditer(date_format):
        if (token := match["token"]) is None:
            parts.append(re.escape(match["literal"] or match["sign"] or ""))
        elif (part := _FORMAT_TOKENS.get(token)) is None:
            return None
        else:
            # A token may come twice, for folders and file; its first value counts.
            group = re.match(r"\(\?P<\w+>", part)
            is_repeated = group is not None and any(group[0] in before for before in parts)
            parts.append(part.replace(group[0], "(?:") if group and is_repeated else part)
    pattern = re.compile("".join(parts), re.IGNORECASE)
    named = pattern.groupindex.keys()
    return pattern if "d" in named and named & {"m", "name"} and named & {"y", "yy"} else None


def parse_formatted_date(text: str, date_format: str) -> date | None:
    """Return the date of `text` if the text is in the format `date_format`; None if it is not."""
    pattern = compile_date_format(date_format)
    match = pattern.fullmatch(text) if pattern else None
    if match is None:
        return None
    parts = match.groupdict()
    month = int(parts["m"]) if parts.get("m") else MONTHS.get((parts.get("name") or "").lower(), 0)
    return _date_or_none(int(parts["y"]) if parts.get("y") else 2000 + int(parts["yy"]), month, int(parts["d"]))


def _date_or_none(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


# --- a period in a query ----------------------------------------------------------------------------------------------

_ISO_PERIOD = lazy_pattern(r"(\d{4})(?:([-/.])(\d{0,2})(?:\2(\d{0,2}))?)?", re.ASCII)
_COUNT_AND_UNIT = lazy_pattern(r"(\d{1,5})([dwmy])", re.ASCII)
_COMPARISON = lazy_pattern(r"(>=|<=|>|<|=)(.+)", re.DOTALL)
_NAMED_PERIOD = lazy_pattern(r"(this|last)[-_ ]?(week|month|year)")


def parse_period(text: str, today: date) -> Period | None:
    """Return the period that a filter's value means on the day `today`; None if `text` is not a period.

    Accepted are `2025`, `2025-03`, `2025-03-01`, `2025-W10`, `2025-Q1`, `7d` (from 7 days ago to today), `2w`, `3m`,
    `1y`, `today`, `yesterday`, `this-week`, `last-month` and the like; a comparison with such a period (`>2025`, `>=`,
    `<`, `<=`, `=`); or a range of two periods with `..` between them, of which one may be missing (`2024..`).
    """
    value = text.strip().lower()
    if compared := _COMPARISON.fullmatch(value):
        return _parse_comparison(compared[1], compared[2].strip(), today)
    if ".." in value:
        begin, _, end = value.partition("..")
        return _parse_range(begin.strip(), end.strip(), today)
    return _parse_simple_period(value, today)


def is_period(text: str) -> bool:
    """Return whether `parse_period` accepts `text`, whatever day is today."""
    return parse_period(text, date(2000, 1, 1)) is not None


def _parse_comparison(sign: str, value: str, today: date) -> Period | None:
    period = _period_bound(value, today)
    if period is None:
        return None
    first, last = period
    if sign == ">":
        return (last + _DAY, date.max) if last < date.max else None
    if sign == "<":
        return (date.min, first - _DAY) if first > date.min else None
    return {">=": (first, date.max), "<=": (date.min, last)}.get(sign, period)


def _parse_range(begin: str, end: str, today: date) -> Period | None:
    first = _period_bound(begin, today) if begin else (date.min, date.min)
    last = _period_bound(end, today) if end else (date.max, date.max)
    if first is None or last is None or not (begin or end):
        return None
    return min(first[0], last[0]), max(first[1], last[1])


def _period_bound(value: str, today: date) -> Period | None:
    """Return the period that bounds a comparison or range.

    `7d` is here the single day a week ago, not the week up to today; other texts mean the same as in `parse_period`.
    """
    period = _parse_simple_period(value, today)
    return (period[0], period[0]) if period and _COUNT_AND_UNIT.fullmatch(value) else period


def _parse_simple_period(value: str, today: date) -> Period | None:
    if match := _ISO_PERIOD.fullmatch(value):
        # While it is being typed, "2025-0" is still the year.
        return _calendar_period(int(match[1]), int(match[3] or 0), int(match[4] or 0))
    if _WEEK.fullmatch(value) or _QUARTER.fullmatch(value):
        return parse_date_span(value)
    if match := _COUNT_AND_UNIT.fullmatch(value):
        return _date_before(int(match[1]), match[2], today), today
    if match := _NAMED_PERIOD.fullmatch(value):
        return _named_period(match[1] == "last", match[2], today)
    if value in ("today", "yesterday"):
        day = today if value == "today" else today - _DAY
        return day, day
    return None


def _calendar_period(year: int, month: int, day: int) -> Period | None:
    if not month and not day:
        first = _date_or_none(year, 1, 1)
        return (first, date(year, 12, 31)) if first else None
    first = _date_or_none(year, month, day or 1)
    if first is None:
        return None
    return first, first if day else month_end(first)


def month_end(day: date) -> date:
    """Return the last day of the month of `day`."""
    return date(day.year, 12, 31) if day.month == 12 else date(day.year, day.month + 1, 1) - _DAY


def _date_before(count: int, unit: str, today: date) -> date:
    if unit in "dw":
        days = count * (7 if unit == "w" else 1)
        return today - timedelta(days) if days < today.toordinal() else date.min
    months = today.year * 12 + today.month - 1 - count * (12 if unit == "y" else 1)
    if months < 12:
        return date.min
    first = date(months // 12, months % 12 + 1, 1)
    return first.replace(day=min(today.day, month_end(first).day))


def _named_period(is_last: bool, unit: str, today: date) -> Period:
    if unit == "week":
        monday = today - timedelta(today.weekday() + (7 if is_last else 0))
        return monday, monday + timedelta(6)
    if unit == "month":
        first = today.replace(day=1)
        first = (first - _DAY).replace(day=1) if is_last else first
        return first, month_end(first)
    year = today.year - (1 if is_last else 0)
    return date(year, 1, 1), date(year, 12, 31)
