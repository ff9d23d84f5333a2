"""Recognition of the periods that a question names: "in May 2025", "last week", "vor 3 Tagen".

The grammar is strict, because a wrong period raises wrong notes: a period has a year, or a unit of time with "last",
"this" or "ago", or follows a preposition of its month's language. A word that may also mean something else ("may",
"sun", "new") is never a period by itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.patterns import lazy_pattern
from excerpt.text.dates import MONTHS, Period, month_end, parse_period
from excerpt.text.languages import WIDE_CHARACTERS, is_function_word

PLAIN_MARK = "\\"
"""Before a period it makes its words plain words: `\\last week`."""
MAX_TEXT_CHARS = 500
"""Length of the longest text in which periods are looked for: a longer one was pasted, not asked."""


class NamedPeriod(Struct, frozen=True):
    """A period of time (such as "in May 2025") that a text names at characters `start` to `end` (exclusive).

    The preposition is part of these characters. `first` and `last` are the period's days, both inclusive. `date.min`
    and `date.max` mean no bound, as in "since May".
    """

    start: int
    end: int
    first: date
    last: date

    @property
    def bounds(self) -> tuple[str | None, str | None]:
        """The first and last day as ISO 8601; None for no bound."""
        first, last = self.first, self.last
        return None if first == date.min else first.isoformat(), None if last == date.max else last.isoformat()

    @property
    def filter_value(self) -> str:
        """The same period as the value of a filter: `2025-05`, `2025-05-03..2025-06-09`, `>=2025-05-01`."""
        first, last = self.first, self.last
        if first == date.min:
            return f"<={last}"
        if last == date.max:
            return f">={first}"
        if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31) and first.year == last.year:
            return f"{first.year}"
        if first.day == 1 and last == month_end(first):
            return f"{first:%Y-%m}"
        return f"{first}" if first == last else f"{first}..{last}"


def find_periods(text: str, today: date) -> tuple[NamedPeriod, ...]:
    """Return the periods of time that `text` names, in order, without those after a PLAIN_MARK."""
    return tuple(found for found in _find_all_periods(text, today) if not _has_plain_mark(text, found))


def remove_plain_marks(text: str, today: date) -> str:
    """Return `text` without the PLAIN_MARK before each period."""
    for found in reversed(_find_all_periods(text, today)):
        if _has_plain_mark(text, found):
            text = f"{text[: found.start - 1]}{text[found.start :]}"
    return text


def _has_plain_mark(text: str, found: NamedPeriod) -> bool:
    return text[: found.start].endswith(PLAIN_MARK)


@lru_cache(maxsize=1_000)
def _find_all_periods(text: str, today: date) -> tuple[NamedPeriod, ...]:
    """Return the periods in `text`, in order. They do not overlap."""
    plain = _lower_without_accents(text) if len(text) <= MAX_TEXT_CHARS else ""
    if not _has_time_word(plain):
        return ()
    separate = [found for found in _iterate_periods(plain, today) if _is_separate(plain, found)]
    longest_first = sorted(separate, key=lambda found: (found.start - found.end, found.start))
    periods: list[NamedPeriod] = []
    for found in longest_first:
        if all(found.end <= other.start or other.end <= found.start for other in periods):
            periods.append(found)
    return tuple(_join_ranges(plain, sorted(periods, key=lambda found: found.start)))


def _lower_without_accents(text: str) -> str:
    """Return `text` in lower case and without accents, character by character, so that positions stay the same."""
    return text.lower() if text.isascii() else "".join(map(_lower_character, text))


def _lower_character(char: str) -> str:
    lowered = char.lower()[0]
    parts = unicodedata.normalize("NFD", lowered)
    return parts[0] if len(parts) > 1 and unicodedata.combining(parts[1]) else lowered


# --- words ------------------------------------------------------------------------------------------------------------
# The words of nine languages, written as they are; they are compared without accents.


class _Language(Struct, frozen=True):
    """The names of months in a language, in order, and its prepositions of time; `|` separates alternatives.

    `on` are the prepositions that are used only with a day: "on 3 March".
    """

    code: str
    months: str
    within: str
    on: str
    since: str
    before: str
    after: str
    until: str

    @property
    def signs(self) -> dict[str, str]:
        """The comparison sign that each preposition stands for, "" for within."""
        by_sign = {
            "": f"{self.within}|{self.on}",
            ">=": self.since,
            "<": self.before,
            ">": self.after,
            "<=": self.until,
        }
        return {_lower_without_accents(word): sign for sign, words in by_sign.items() for word in words.split("|")}


_LANGUAGES = (
    _Language(
        "en",
        "january february march april may june july august september october november december",
        *("in|during|from|throughout|between", "on", "since", "before|prior to", "after", "until|till|up to"),
    ),
    _Language(
        "de",
        "januar|jänner februar märz|maerz april mai juni juli august september oktober november dezember",
        *("im|von|aus|zwischen", "am|vom", "seit|ab|seit dem|ab dem", "vor|vor dem", "nach|nach dem", "bis|bis zum"),
    ),
    _Language(
        "fr",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        *("en|pendant|au mois de|du mois de|entre", "le|du", "depuis|depuis le", "avant|avant le"),
        *("après|après le", "jusqu'en|jusqu'au"),
    ),
    _Language(
        "es",
        "enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre noviembre diciembre",
        *("en|durante|entre", "el|del", "desde|desde el", "antes de|antes del", "después de|después del"),
        "hasta|hasta el",
    ),
    _Language(
        "it",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        *("in|nel|durante|tra", "il|del", "da|dal", "prima di|prima del", "dopo|dopo il", "fino a|fino al"),
    ),
    _Language(
        "pt",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        *("em|durante|entre", "no dia", "desde", "antes de", "depois de|após", "até"),
    ),
    _Language(
        "nl",
        "januari februari maart april mei juni juli augustus september oktober november december",
        *("in|tijdens|tussen", "op", "sinds|vanaf", "voor", "na", "tot"),
    ),
    _Language(
        "sv",
        "januari februari mars april maj juni juli augusti september oktober november december",
        *("i|mellan", "den", "sedan|sedan den", "före|före den", "efter|efter den", "till"),
    ),
    _Language(
        "da",
        "januar februar marts april maj juni juli august september oktober november december",
        *("i|mellem", "den", "siden|siden den", "før|før den", "efter|efter den", "indtil"),
    ),
)


def _values_by_word(words_by_value: Mapping[str, str]) -> dict[str, str]:
    return {_lower_without_accents(word): value for value, words in words_by_value.items() for word in words.split()}


_MONTHS = {_lower_without_accents(name): number for name, number in MONTHS.items()}
_SEASONS = _values_by_word(
    {
        "3": "spring frühling frühjahr printemps primavera forår",
        "6": "summer sommer été verano verão zomer sommar",
        "9": "autumn fall herbst automne otoño autunno outono herfst höst efterår",
        "12": "winter hiver invierno inverno vinter",
    }
)
"""The first month of each season, in the northern hemisphere."""
_UNITS = _values_by_word(
    {
        "d": "day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen dagar dagarna dage",
        "w": "week weeks woche wochen semaine semaines semana semanas settimana settimane weken vecka veckor veckorna "
        "uge uger",
        "m": "month months monat monate monaten mois mes meses mese mesi mês maand maanden månad månader månaderna "
        "måned måneder",
        "y": "year years jahr jahre jahren an ans année années año años anno anni ano anos jaar år",
    }
)
_COUNTS = {
    _lower_without_accents(word): number
    for words in (
        "a|an|one two three four five six seven eight nine ten",
        "einem|einer zwei drei vier fünf sechs sieben acht neun zehn",
        "un|une deux trois quatre cinq six sept huit neuf dix",
        "un|una dos tres cuatro cinco seis siete ocho nueve diez",
        "un|una due tre quattro cinque sei sette otto nove dieci",
        "um|uma dois|duas três quatro cinco seis sete oito nove dez",
        "een twee drie vier vijf zes zeven acht negen tien",
        "en|ett två tre fyra fem sex sju åtta nio tio",
        "en|et to tre fire fem seks syv otte ni ti",
    )
    for number, alternatives in enumerate(words.split(), 1)
    for word in alternatives.split("|")
}
_PHRASES = {
    "yesterday": "yesterday|gestern|d'hier|ayer|ieri|ontem|gisteren|igår|i går",
    "last-week": "last week|(?:letzte|vorige|vergangene)r? woche|semaine dernière|semana (?:pasada|passada)|"
    "settimana scorsa|scorsa settimana|(?:vorige|afgelopen) week|förra veckan|sidste uge",
    "last-month": "last month|(?:letzte|vorige|vergangene)[nm] monat|mois dernier|mes pasado|mês passado|"
    "mese scorso|scorso mese|(?:vorige|afgelopen) maand|förra månaden|sidste måned",
    "last-year": "last year|(?:letzte|vorige|vergangene)[ns] jahr|an dernier|année dernière|año pasado|ano passado|"
    "anno scorso|scorso anno|(?:vorig|afgelopen) jaar|förra året|sidste år",
    "this-week": "this week|diese(?:r)? woche|cette semaine|esta semana|questa settimana|deze week|denne uge",
    "this-month": "this month|diese[nm] monat|ce mois-ci|este m[eê]s|questo mese|deze maand|denne måned",
    "this-year": "this year|diese[ms] jahr|cette année|este a[nñ]o|quest'anno|dit jaar|dette år",
}
"""The phrases for each period that a filter names too."""
_WIDE_PHRASES = {
    "yesterday": "昨天|昨日|어제",
    "last-week": "上周|上週|上个星期|先週|지난주",
    "last-month": "上个月|上個月|先月|지난달",
    "last-year": "去年|昨年|작년",
}
_WIDE_UNITS = _values_by_word({"d": "天 日 일", "w": "周 週 週間 주", "m": "个月 個月 か月 ヶ月 개월", "y": "年 년"})
_TO = frozenset(
    ["to", "until", "till", "bis", "au", "a", "al", "hasta", "ate", "tot", "til", "through", "-", "–", ".."]
)
_AND = frozenset(["and", "und", "et", "y", "e", "en", "och", "og"])
_BETWEEN = frozenset(["between", "zwischen", "entre", "tra", "tussen", "mellan", "mellem"])
_NUMBERED = frozenset(
    (
        *("version", "versión", "versione", "versão", "versie", "v", "api", "rfc", "iso", "din", "issue", "build"),
        *("port", "room", "section", "page", "chapter", "ticket", "no", "nr", "figure", "size", "schema", "spec"),
    )
)
"""Words before a number that is no time."""
_AMBIGUOUS = frozenset(("may", "march", "mars", "mar", "dec", "oct", "jan", "fall"))
"""Words that may mean something else before four digits: "mars 2020 rover", "fall 2000 feet"."""
_AFTER_YEAR = frozenset(
    ("i", "we", "our", "my", "did", "does", "do", "was", "were", "has", "had", "about", "what", "who", "how", "why")
)
"""Words that may follow a year and are no function words; a noun is what the number counts: "in 2000 words"."""

# --- grammar ----------------------------------------------------------------------------------------------------------

_YEAR = r"(?P<y>(?:19|20)\d\d)"
_NAME = r"(?P<name>[^\W\d_]{3,10})\.?"
_OF = r"(?:(?:of|de|del|di|van)\s)?"
_LETTER = rf"[^\W{WIDE_CHARACTERS}]"
_JOINED_BEFORE = lazy_pattern(rf"(?:{_LETTER}|[-_/=#$]|\d[.,:])\Z")
_JOINED_AFTER = lazy_pattern(rf"{_LETTER}|[-_/]\w|[.,:]\d|%|\sof\b")


def _alternatives_pattern(words: Iterable[str]) -> str:
    """Return a pattern for any of `words`."""
    return "|".join(sorted(words, key=len, reverse=True))


_YEAR_AND_MONTH = rf"{_YEAR}-(?P<m>\d\d)"
_TIMES_WITH_YEAR = tuple(
    map(
        lazy_pattern,
        (
            rf"{_YEAR}([-/.])(?P<m>\d\d)\2(?P<d>\d\d)",
            rf"(?P<d>\d\d?)\.\s?(?P<m>\d\d?)\.\s?{_YEAR}",
            rf"(?P<m>\d\d?)/(?P<d>\d\d?)/{_YEAR}",
            rf"{_YEAR}[年년](?!版)(?:\s?(?P<m>\d\d?)[月월](?:\s?(?P<d>\d\d?)[日일])?)?",
            _YEAR_AND_MONTH,
            rf"(?P<d>\d\d?)(?:st|nd|rd|th|er|\.|º)?\s{_OF}{_NAME},?\s{_OF}{_YEAR}",
            rf"{_NAME}\s(?P<d>\d\d?)(?:st|nd|rd|th)?,?\s{_YEAR}",
            rf"{_NAME},?\s{_OF}{_YEAR}",
            rf"(?P<season>{_alternatives_pattern(_SEASONS)})\s{_OF}{_YEAR}(?:/\d\d)?",
            rf"q(?P<q>[1-4])[\s/-]?{_YEAR}",
            rf"{_YEAR}[\s/-]?q(?P<q>[1-4])",
            rf"(?P<q>[1-4])\S{{0,2}}\s(?:quarter|quartal|trimestre|kwartaal|kvartal)\s{_OF}{_YEAR}",
        ),
    )
)
_COUNT, _UNIT = rf"(?P<n>\d{{1,3}}|{_alternatives_pattern(_COUNTS)})", rf"(?P<unit>{_alternatives_pattern(_UNITS)})"
_LAST_WORD = lazy_pattern(r"([^\W\d_]+)\.?\s\Z")
_AGO = tuple(
    map(
        lazy_pattern,
        (
            rf"{_COUNT}\s{_UNIT}\s(?:ago|fa|atras|geleden)",
            rf"(?:vor|il y a|hace)\s{_COUNT}\s{_UNIT}",
            rf"ha\s{_COUNT}\s(?P<unit>dias?|semanas?|mes|meses|anos?)",
            rf"for\s{_COUNT}\s{_UNIT}\s(?:sedan|siden)",
            r"(?P<n>\d{1,3})\s?(?P<unit>天|日|周|週間|週|个月|個月|か月|ヶ月|年|일|주|개월|년)\s?(?:前|전)",
        ),
    )
)
_RECENT = tuple(
    map(
        lazy_pattern,
        (
            rf"(?:last|past|letzten?|vergangenen|ultim[oa]s|ultim[ie]|laatste|afgelopen|senaste|sidste)\s{_COUNT}\s{_UNIT}",
            rf"{_COUNT}\sderni(?:er|ere)s\s{_UNIT}",
        ),
    )
)
_PHRASE_PATTERNS = {period: lazy_pattern(_lower_without_accents(words)) for period, words in _PHRASES.items()}
_WIDE_PHRASE_PATTERNS = {period: lazy_pattern(_lower_without_accents(words)) for period, words in _WIDE_PHRASES.items()}
_SIGNS = {
    word: sign
    for language in reversed(_LANGUAGES)
    for word, sign in language.signs.items()
    # Short ones, such as "da" and "na", mean something else in other languages.
    if len(word) > 2 or language.code == "en" or word in ("im", "am", "ab", "en", "em", "le", "el", "il", "op", "du")
}
"""The sign of each preposition before a period that is clear without it."""
_PREPOSITION = lazy_pattern(
    rf"(?<!\w)({_alternatives_pattern(map(re.escape, _SIGNS))})\s(?:(?:the|dem|den|der|le|la)\s)?\Z"
)
_WORD = lazy_pattern(r"[^\W\d_]+")
_YEAR_OR_QUARTER = lazy_pattern(r"\d{4}|\bq[1-4]\b")
_WIDE_TIME = lazy_pattern(rf"{'|'.join(_WIDE_PHRASES.values())}|[天日周週間月年일주월년]\s?[前전]")
_TIME_WORDS = frozenset(
    {
        *_UNITS,
        *_WORD.findall(_lower_without_accents(" ".join(language.months for language in _LANGUAGES))),
        *(word for word in _WORD.findall(_lower_without_accents(_PHRASES["yesterday"])) if len(word) > 1),
    }
)
_SENTENCE_END = lazy_pattern(r"\s*(?:\Z|[,.;:!?)\]\"”]|[-–]\s)")
_NEXT_WORD = lazy_pattern(r"\s([^\W\d_]+)(?:\s(\d+))?")


def _has_time_word(plain: str) -> bool:
    if not _TIME_WORDS.isdisjoint(_WORD.findall(plain)) or _YEAR_OR_QUARTER.search(plain):
        return True
    return not plain.isascii() and _WIDE_TIME.search(plain) is not None


def _iterate_periods(plain: str, today: date) -> Iterator[NamedPeriod]:
    """Yield every period that a rule of the grammar finds; they may overlap."""
    yield from _find_times_with_year(plain)
    for value, pattern in (*_PHRASE_PATTERNS.items(), *_WIDE_PHRASE_PATTERNS.items()):
        for match in pattern.finditer(plain):
            if period := parse_period(value, today):
                yield _add_preposition(plain, match, period)
    for patterns, to_period in ((_AGO, _period_ago), (_RECENT, _period_until_today)):
        for pattern in patterns:
            for match in pattern.finditer(plain):
                yield _add_preposition(plain, match, to_period(match, today))
    for language in _LANGUAGES:
        for match in _bare_pattern(language).finditer(plain):
            period = _read_bare_time(plain, match, language, today)
            if period is not None:
                yield NamedPeriod(
                    match.start(), match.end(), *_period_of_comparison(language.signs[match["prep"]], period)
                )


def _find_times_with_year(plain: str) -> Iterator[NamedPeriod]:
    for pattern in _TIMES_WITH_YEAR:
        for match in pattern.finditer(plain):
            period = _read_time(match)
            word_before = _LAST_WORD.search(plain, max(0, match.start() - 20), match.start())
            if period is None or (word_before and word_before[1] in _NUMBERED):
                continue
            found = _add_preposition(plain, match, period)
            is_ambiguous = match[0].split()[0].rstrip(".") in _AMBIGUOUS
            if not is_ambiguous or found.start < match.start() or _is_sentence_end(plain, match.end(), "en"):
                yield found


def _add_preposition(plain: str, match: re.Match[str], period: Period) -> NamedPeriod:
    """Return a period with the preposition before it, if there is one."""
    preposition = _PREPOSITION.search(plain, max(0, match.start() - 20), match.start())
    if preposition is None:
        return NamedPeriod(match.start(), match.end(), *period)
    return NamedPeriod(preposition.start(), match.end(), *_period_of_comparison(_SIGNS[preposition[1]], period))


def _period_of_comparison(sign: str, period: Period) -> Period:
    """Return the period that a comparison with `period` means: all days before it for "<"."""
    first, last = period
    bounds = {
        ">=": (first, date.max),
        ">": (last + timedelta(1), date.max),
        "<": (date.min, first - timedelta(1)),
        "<=": (date.min, last),
    }
    return bounds.get(sign, period)


def _is_separate(plain: str, found: NamedPeriod) -> bool:
    """Return whether the words of a period are no part of a longer word, number or path."""
    begins = _JOINED_BEFORE.search(plain, max(0, found.start - 2), found.start) is None
    return begins and _JOINED_AFTER.match(plain, found.end) is None


def _is_sentence_end(plain: str, at: int, language: str) -> bool:
    """Return whether the text ends at `at` or continues without a noun that a number before it would count."""
    if _SENTENCE_END.match(plain, at):
        return True
    following = _NEXT_WORD.match(plain, at)
    if following is None or (following[2] and not re.fullmatch(_YEAR, following[2])):
        return False
    return following[1] in _AFTER_YEAR or is_function_word(following[1], ("en", language))


# --- times ------------------------------------------------------------------------------------------------------------


def _read_time(match: re.Match[str]) -> Period | None:
    """Return the period that a match of `_TIMES_WITH_YEAR` means; None if it names a day that does not exist."""
    parts = match.groupdict()
    year, name = int(parts["y"]), parts.get("name")
    if parts.get("q"):
        return _period_of_months(year, 3 * int(parts["q"]) - 2, 3)
    if parts.get("season"):
        return _period_of_months(year, int(_SEASONS[parts["season"]]), 3)
    month = _MONTHS.get(name, 0) if name else int(parts.get("m") or 0)
    if name and not month:
        return None
    day = int(parts.get("d") or 0)
    if match.re.pattern == _YEAR_AND_MONTH and month == (year + 1) % 100:  # two years: "2001-02"
        return None
    if month > 12 and 0 < day <= 12 and match.start("y") > match.start("m"):
        month, day = day, month
    return parse_period("-".join(f"{part:02}" for part in (year, month, day) if part), date.min)


def _period_of_months(year: int, month: int, count: int) -> Period:
    end = year * 12 + month - 2 + count
    return date(year, month, 1), month_end(date(end // 12, end % 12 + 1, 1))


def _period_ago(match: re.Match[str], today: date) -> Period:
    """Return the day, week, month or year that a text such as "two weeks ago" names, counted from `today`."""
    unit = _matched_unit(match)
    day, _ = _period_until_today(match, today)
    if unit == "w":
        return day - timedelta(3), day + timedelta(3)
    if unit == "m":
        return _period_of_months(day.year, day.month, 1)
    return (day, day) if unit == "d" else (date(day.year, 1, 1), date(day.year, 12, 31))


def _period_until_today(match: re.Match[str], today: date) -> Period:
    """Return the days up to `today` that a text such as "the last two weeks" names."""
    count = _COUNTS.get(match["n"]) or int(match["n"])
    period = parse_period(f"{count}{_matched_unit(match)}", today)
    return period or (today, today)


def _matched_unit(match: re.Match[str]) -> str:
    return _UNITS.get(match["unit"]) or _WIDE_UNITS[match["unit"]]


@lru_cache
def _bare_pattern(language: _Language) -> re.Pattern[str]:
    """Return a pattern for times that count only after a preposition: times without a year, and a year alone."""
    months = _alternatives_pattern(re.split("[ |]", _lower_without_accents(language.months)))
    times = (
        rf"(?:the\s)?(?P<d>\d\d?)(?:st|nd|rd|th|er|\.)?\s(?:of\s|de\s)?(?P<name>{months})",
        rf"(?P<month>{months})",
        r"q(?P<q>[1-4])",
        rf"(?P<year_word>(?:the\syear|jahr|l'annee|(?:el\s)?ano|o\sano|het\sjaar)\s)?"
        rf"{_YEAR}(?:\s(?:{_alternatives_pattern(map(re.escape, _TO | _AND))})\s(?P<y2>(?:19|20)\d\d))?",
    )
    return re.compile(
        rf"(?<!\w)(?P<prep>{_alternatives_pattern(map(re.escape, language.signs))})\s(?:{'|'.join(times)})"
    )


def _read_bare_time(plain: str, match: re.Match[str], language: _Language, today: date) -> Period | None:
    """Return the last time begun by `today` that a match of `_bare_pattern` can mean; None if there is none."""
    parts = match.groupdict()
    if parts["d"]:
        return _latest_begun_period(
            lambda year: parse_period(f"{year}-{_MONTHS[parts['name']]:02}-{int(parts['d']):02}", today), today
        )
    if match["prep"] in map(_lower_without_accents, language.on.split("|")):
        return None
    if parts["month"]:
        return _latest_begun_period(lambda year: _period_of_months(year, _MONTHS[parts["month"]], 1), today)
    if parts["q"]:
        return _latest_begun_period(lambda year: _period_of_months(year, 3 * int(parts["q"]) - 2, 3), today)
    year = int(parts["y"])
    is_year = parts["year_word"] or _is_sentence_end(plain, match.end(), language.code)
    last_year = int(parts["y2"] or year)
    return (date(year, 1, 1), date(last_year, 12, 31)) if is_year and year <= last_year <= today.year + 1 else None


def _latest_begun_period(in_year: Callable[[int], Period | None], today: date) -> Period | None:
    """Return the latest period that began by `today`, of those that `in_year` returns for this and the last year."""
    periods = (in_year(year) for year in (today.year, today.year - 1))
    return next((period for period in periods if period and period[0] <= today), None)


def _join_ranges(plain: str, periods: Sequence[NamedPeriod]) -> Iterator[NamedPeriod]:
    """Yield the periods, with the two ends of a range as one: "from May 2024 to July 2024"."""
    before: NamedPeriod | None = None
    for found in periods:
        joiner = plain[before.end : found.start].strip() if before else ""
        starts_between = before is not None and plain[before.start : before.end].split(" ", maxsplit=1)[0] in _BETWEEN
        if before and found.first >= before.first and joiner in (_TO | _AND if starts_between else _TO):
            before = replace(before, end=found.end, last=found.last)
            continue
        if before:
            yield before
        before = found
    if before:
        yield before
