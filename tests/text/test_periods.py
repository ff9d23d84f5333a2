"""Tests of the periods that are read in questions, and of sentences in which none may be read."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.text.dates import parse_period
from excerpt.text.periods import MAX_TEXT_CHARS, find_periods, remove_plain_marks

TODAY = date(2025, 3, 14)  # a Friday


def periods_in(text: str) -> list[tuple[str, str]]:
    """Return the words of each period in `text`, and the period as a filter's value."""
    return [(text[found.start : found.end], found.filter_value) for found in find_periods(text, TODAY)]


@pytest.mark.parametrize(
    ("text", "words", "value"),
    [
        # A year with a month, day, quarter or season needs nothing else.
        ("billing problems, January 2021", "January 2021", "2021-01"),
        ("what was said in May 2024", "in May 2024", "2024-05"),
        ("3 March 2025", "3 March 2025", "2025-03-03"),
        ("who owns this (billing) on March 3rd, 2025?", "on March 3rd, 2025", "2025-03-03"),
        ("notes from 2025-03-03", "from 2025-03-03", "2025-03-03"),
        ("notes of 3/13/2025", "3/13/2025", "2025-03-13"),
        ("retro 2024-11", "2024-11", "2024-11"),
        ("goals Q2 2024", "Q2 2024", "2024-04-01..2024-06-30"),
        ("2024 Q4 review", "2024 Q4", "2024-10-01..2024-12-31"),
        ("summer 2024 trip", "summer 2024", "2024-06-01..2024-08-31"),
        ("in winter 2023/24", "in winter 2023/24", "2023-12-01..2024-02-29"),
        ("Protokoll vom 5. März 2024", "vom 5. März 2024", "2024-03-05"),
        ("Notizen 03.04.2024", "03.04.2024", "2024-04-03"),
        ("Ziele im 2. Quartal 2024", "im 2. Quartal 2024", "2024-04-01..2024-06-30"),
        ("la réunion du 3 février 2025", "du 3 février 2025", "2025-02-03"),
        ("el 5 de marzo de 2024", "el 5 de marzo de 2024", "2024-03-05"),
        ("em março de 2024", "em março de 2024", "2024-03"),
        ("estate e autunno 2024", "autunno 2024", "2024-09-01..2024-11-30"),
        ("2024年3月5日的会议", "2024年3月5日", "2024-03-05"),
        ("2024년 3월 회의", "2024년 3월", "2024-03"),
        # Without a year a preposition is needed, and the last one that began is meant.
        ("what did we decide in May", "in May", "2024-05"),
        ("since March", "since March", ">=2025-03-01"),
        ("what came up on 3 April", "on 3 April", "2024-04-03"),
        ("goals in Q1", "in Q1", "2025-01-01..2025-03-31"),
        ("Notizen seit Februar", "seit Februar", ">=2025-02-01"),
        ("was war im März", "im März", "2025-03"),
        ("en août", "en août", "2024-08"),
        ("depuis le 3 mars", "depuis le 3 mars", ">=2025-03-03"),
        ("antes de abril", "antes de abril", "<=2024-03-31"),
        ("dopo marzo", "dopo marzo", ">=2025-04-01"),
        ("sinds mei", "sinds mei", ">=2024-05-01"),
        ("i maj", "i maj", "2024-05"),
        # A year alone needs one too, and nothing after it that it could count.
        ("what did we drop before 2024?", "before 2024", "<=2023-12-31"),
        ("what in 2024 did we buy", "in 2024", "2024"),
        ("in the year 2023 changed", "in the year 2023", "2023"),
        ("im Jahr 2024", "im Jahr 2024", "2024"),
        # From today.
        ("what did I write yesterday", "yesterday", "2025-03-13"),
        ("last week", "last week", "2025-03-03..2025-03-09"),
        ("decisions from this month", "from this month", "2025-03"),
        ("until last year", "until last year", "<=2024-12-31"),
        ("3 days ago", "3 days ago", "2025-03-11"),
        ("two weeks ago", "two weeks ago", "2025-02-25..2025-03-03"),
        ("2 months ago", "2 months ago", "2025-01"),
        ("a year ago", "a year ago", "2024"),
        ("in the last 7 days", "in the last 7 days", "2025-03-07..2025-03-14"),
        ("gestern", "gestern", "2025-03-13"),
        ("letzte Woche", "letzte Woche", "2025-03-03..2025-03-09"),
        ("vor zwei Wochen", "vor zwei Wochen", "2025-02-25..2025-03-03"),
        ("la semaine dernière", "semaine dernière", "2025-03-03..2025-03-09"),
        ("il y a 3 jours", "il y a 3 jours", "2025-03-11"),
        ("hace 3 días", "hace 3 días", "2025-03-11"),
        ("el mes pasado", "el mes pasado", "2025-02"),
        ("tre giorni fa", "tre giorni fa", "2025-03-11"),
        ("há 3 dias", "há 3 dias", "2025-03-11"),
        ("3 dagen geleden", "3 dagen geleden", "2025-03-11"),
        ("för 3 dagar sedan", "för 3 dagar sedan", "2025-03-11"),
        ("上周的会议", "上周", "2025-03-03..2025-03-09"),
        ("3日前の会議", "3日前", "2025-03-11"),
        ("지난주 회의", "지난주", "2025-03-03..2025-03-09"),
        # Two ends of a range.
        ("between 2021 and 2023", "between 2021 and 2023", "2021-01-01..2023-12-31"),
        ("von 2021 bis 2023", "von 2021 bis 2023", "2021-01-01..2023-12-31"),
        ("from May 2024 to July 2024", "from May 2024 to July 2024", "2024-05-01..2024-07-31"),
        ("between May 2024 and July 2024", "between May 2024 and July 2024", "2024-05-01..2024-07-31"),
    ],
)
def test_a_date_in_a_query_is_found_with_its_preposition(text: str, words: str, value: str) -> None:
    assert periods_in(text) == [(words, value)]


def test_several_dates_in_a_query_are_found_separately() -> None:
    assert periods_in("May 2024 and July 2024") == [("May 2024", "2024-05"), ("July 2024", "2024-07")]


TRAPS = {
    "en": (
        "may I rename a note|march through the list|the second monday problem|in 2 steps|version 2024 of the tool|"
        "section 3.2024|python 3.11|last name first|the last three meetings|august personality|sun and moon|"
        "real estate 2024 figures|fall 2000 feet|mars 2020 rover|in mars rock samples|books in 2000 words|"
        "before 2000 users log in|from 2000 to 3000 words|api version 2024-06-01|server 2025 licences|"
        "windows 2019 after the update|since it works|before the loop|spring framework|spring 5 boot|summer school|"
        "in summary|week view|month picker widget|quarter note|Q2 of the questionnaire|last day of the month formula|"
        "first week plan|day one|daily note template|the new update|today's standard tools|current sprint|latest news|"
        "in dec or hex|in jan's office|set mar to zero|may 2000 users log in|2 days workshop template|due in 3 weeks|"
        "every 2 weeks|the year in review|on second thought|may be in 2 parts|sept of the cell|decimal 12.2024.1|"
        "ticket 2024-1234|file-2024-03-05.txt|build 2025.03.03|1.2.2024.5|port 2025 is taken|room 1204|RFC 2822|"
        "ISO 8601|season 2001-02"
    ),
    "de": (
        "wir wissen es nicht|mein Mai Tai Rezept|die Mitte der Liste|im Mainzer Büro|Mär von der Reise|"
        "Montag ist Ruhetag|der letzte Stand|letzte Änderung|das letzte Mal|die letzten drei Treffen|vor dem Start|"
        "nach dem Essen|seit es geht|ab Version 2024|Version 2024.1|Raum 2024|Seite 2024|im Sommer wandern|"
        "Sommerzeit umstellen|Wochenplan|Monatsansicht|Tage zählen|in 2 Schritten|in drei Tagen fertig|"
        "alle zwei Wochen|Jahresrückblick Vorlage|DIN 2024 Norm|hier steht nichts|heute üblich|Julia und August|"
        "April April|vor 2000 Zuschauern|in 2000 Wörtern|Dezimalzahlen"
    ),
    "fr": (
        "la planète Mars|rover sur mars|mars et vénus|un mai tai|avril lavigne|le mois de la photo|par semaine|"
        "la dernière version|les derniers fichiers|les trois derniers fichiers|il y a trois fichiers|"
        "il y a un problème|depuis la racine|avant le début|après la boucle|hier en allemand veut dire ici|été indien|"
        "il a été refait|section 2024|version 2024 du logiciel|page 2024|en 2 étapes|en 2000 mots|an et jour|"
        "jours fériés|journée type|note de bas de page|tous les 3 jours|dans 3 jours|le 3 du menu"
    ),
    "es": (
        "editorial abril|mar y montaña|en mar abierto|dos días de taller|cada dos semanas|dentro de 3 días|"
        "el último archivo|los últimos archivos|la semana santa|mes a mes|hace falta|hace que falle|desde el principio|"
        "antes de empezar|después de todo|versión 2024|sección 2024|página 2024|en 2 pasos|en 2000 palabras|"
        "el año nuevo|primavera árabe|verano azul|julio iglesias|mayo o menos|noviembre porteño|hoy en día|"
        "set de datos|sol y luna|lunes negro"
    ),
    "nl": (
        "mei en juni poster|de mei tak|maart roert zijn staart|op de mei|elke twee weken|over 3 dagen|"
        "de laatste versie|de laatste drie notities|vorige versie|sinds het werkt|voor de lus|na het eten|"
        "tot het einde|versie 2024|pagina 2024|in 2 stappen|in 2000 woorden|dagen tellen|weekoverzicht|maandkalender|"
        "jaarverslag sjabloon|zomertijd|winterjas|lente 12|hier en daar|dinsdag dicht|zon en maan|augustus de clown|"
        "een dag werk|week van de liefde"
    ),
}
"""Sentences that name no period, by language."""


@pytest.mark.parametrize("text", [text for texts in TRAPS.values() for text in texts.split("|")])
def test_words_that_only_resemble_a_date_are_not_a_date(text: str) -> None:
    assert periods_in(text) == []
    assert periods_in(text.capitalize()) == []


@pytest.mark.parametrize(
    "text", [r"the lease \last week", r"\3 March 2025", r"plans \from May 2024 to July 2024", r"决定\去年"]
)
def test_a_date_after_a_backslash_is_plain_words(text: str) -> None:
    assert periods_in(text) == []
    assert remove_plain_marks(text, TODAY) == text.replace("\\", "")


def test_a_backslash_before_one_date_leaves_the_other_dates_recognised() -> None:
    assert periods_in(r"\last week or in May 2024") == [("in May 2024", "2024-05")]


def test_a_backslash_before_words_that_are_no_date_is_kept() -> None:
    assert remove_plain_marks(r"\alpha in May 2024", TODAY) == r"\alpha in May 2024"


def test_dates_in_a_long_pasted_text_are_not_recognised() -> None:
    assert periods_in("in May 2024 " + "x" * MAX_TEXT_CHARS) == []


PARTS = ("in", "3", "may", "May 2024", "ago", "last", "week", "-", "Q2", "von", "年", "2024-03", "to")


@given(st.text(max_size=60) | st.lists(st.sampled_from(PARTS)).map(" ".join))
def test_recognised_dates_are_in_order_and_their_values_are_valid_filters(text: str) -> None:
    end = 0
    for found in find_periods(text, TODAY):
        assert end <= found.start < found.end <= len(text)
        end = found.end
        assert parse_period(found.filter_value, TODAY) == (found.first, found.last)
