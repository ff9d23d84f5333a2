from __future__ import annotations

import pytest

from excerpt.text.markdown import parse_note
from excerpt.text.replacements import Replacement, find_replacements

Said = tuple[str, str, bool]
"""A target, the day, and whether the note is the newer one."""


def statements(text: str, path: str = "Note.md") -> list[Said]:
    return [(one.target, one.day, one.is_newer) for one in find_replacements(parse_note(path, text))]


@pytest.mark.parametrize(
    "line",
    [
        'superseded_by: "[[Pricing 2026]]"',
        "superseded-by: Pricing 2026",
        'replaced_by: "[[Pricing 2026]]"',
        "obsoleted_by: Pricing 2026.md"[:-3],
        'deprecated_by: ["[[Pricing 2026]]"]',
        "status: Superseded by [[Pricing 2026]]",
    ],
)
def test_a_property_names_what_replaces_the_note(line: str) -> None:
    assert statements(f"---\n{line}\n---\n# Pricing 2024\n\nTen euros a seat.\n") == [("Pricing 2026", "", False)]


@pytest.mark.parametrize("name", ["supersedes", "replaces", "obsoletes"])
def test_a_property_names_what_the_note_replaces(name: str) -> None:
    assert statements(f'---\n{name}:\n  - "[[Pricing 2024]]"\n  - "[[Pricing 2025]]"\n---\nTwelve euros.\n') == [
        ("Pricing 2024", "", True),
        ("Pricing 2025", "", True),
    ]


@pytest.mark.parametrize("status", ["superseded", "Deprecated", "obsolete", "archived", "retracted"])
def test_a_status_says_that_a_note_is_out_of_date(status: str) -> None:
    assert statements(f"---\nstatus: {status}\n---\nTen euros.\n") == [("", "", False)]


@pytest.mark.parametrize(
    "status",
    [
        *("accepted", "draft", "done", "resolved", "rejected", "withdrawn", "not deprecated"),
        *("replaced the filter", "superseded_draft"),
    ],
)
def test_another_status_says_nothing(status: str) -> None:
    assert statements(f"---\nstatus: {status}\n---\nTen euros.\n") == []


def test_a_resolved_question_is_out_of_date_since_the_day_that_it_names() -> None:
    assert statements("---\nstatus: resolved\nresolved: 2026-08-01\n---\nWhich host?\n") == [("", "2026-08-01", False)]


@pytest.mark.parametrize("value", ["none", "n/a", "-", "null", '"{{next}}"', '"<% tp.file %>"'])
def test_a_property_without_a_name_says_nothing(value: str) -> None:
    assert statements(f"---\nsuperseded_by: {value}\n---\nTen euros.\n") == []


def test_a_property_with_the_day_dates_the_replacement() -> None:
    text = '---\nsuperseded_by: "[[New]]"\nsuperseded_on: 2026-03-01\n---\nTen euros.\n'
    assert statements(text) == [("New", "2026-03-01", False)]


RFC = """Internet Engineering Task Force (IETF)                   R. Fielding, Ed.
Request for Comments: 7230                                         Adobe
Obsoletes: 2145, 2616                                    J. Reschke, Ed.
Updates: 2817, 2818                                           greenbytes
Category: Standards Track                                      June 2014
"""


def test_the_header_of_an_rfc_names_what_it_obsoletes_and_not_what_it_updates() -> None:
    assert statements(RFC) == [("2145", "", True), ("2616", "", True)]


def test_the_header_of_a_pep_names_both_directions() -> None:
    text = "PEP: 386\nTitle: Versions\nStatus: Superseded\nReplaces: 345\nSuperseded-By: 440\n\nAbstract\n========\n"
    assert statements(text) == [("", "", False), ("345", "", True), ("440", "", False)]


@pytest.mark.parametrize(
    ("section", "target", "day"),
    [
        ("Superseded by [ADR 12](0012-queue.md)", "0012-queue.md", ""),
        ("Superceded by [12. Queue](0012-queue.md)", "0012-queue.md", ""),
        ("Superseded by ADR-0012 on 2026-03-01.", "ADR-0012", "2026-03-01"),
        ("Superseded on 2026-03-01 by ADR-0012", "ADR-0012", "2026-03-01"),
        ("Deprecated", "", ""),
    ],
)
def test_the_status_section_of_a_decision_says_that_it_is_replaced(section: str, target: str, day: str) -> None:
    text = f"# 3. Jobs in cron\n\nDate: 2024-01-02\n\n## Status\n\n{section}\n\n## Context\n\nJobs fail.\n"
    assert statements(text) == [(target, day, False)]


def test_the_status_section_of_a_decision_names_what_it_replaces() -> None:
    text = "# 12. Queue\n\n## Status\n\nAccepted\n\nSupersedes [3. Jobs in cron](0003-cron.md)\n"
    assert statements(text) == [("0003-cron.md", "", True)]


@pytest.mark.parametrize(
    "line",
    ["* Status: superseded by [ADR-0012](0012-queue.md)", "**Status:** Superseded by [ADR-0012](0012-queue.md)"],
)
def test_a_status_below_the_title_says_that_a_decision_is_replaced(line: str) -> None:
    assert statements(f"# Jobs in cron\n\n{line}\n* Deciders: Ada\n\n## Context\n") == [("0012-queue.md", "", False)]


@pytest.mark.parametrize(
    "line",
    [
        "Replaced by [[New]].",
        "This is outdated, see [[New]]",
        "**Deprecated:** use [the new one](New)",
        "> [!warning] Outdated\n> See [[New]] instead.",
        "Note: this page has been superseded by [[New|the new plan]].",
        "This document is obsolete. Please refer to [[New]].",
        "Ersetzt durch [[New]]",
        "Diese Notiz ist veraltet, siehe [[New]].",
        "Cette page est obsolète, voir [[New]]",
        "Remplacé par [[New]]",
        "Esta nota está obsoleta, véase [[New]]",
        "Sostituito da [[New]]",
        "Este documento foi substituído por [[New]]",
        "Deze pagina is verouderd, zie [[New]]",
        "Ersatt av [[New]]",
        "Erstattet af [[New]]",
        "本文已过时，请参见 [[New]]",
        "已被 [[New]] 取代",
        "本文已被[[New]]取代。",
    ],
)
def test_a_first_line_with_a_link_says_that_the_note_is_replaced(line: str) -> None:
    for text in (f"{line}\n\nTen euros.\n", f"---\ntags: [a]\n---\n# Pricing\n\n{line}\n\n## Seats\n\nTen euros.\n"):
        assert statements(text) == [("New", "", False)]


@pytest.mark.parametrize("line", ["Supersedes [[Old]].", "This note replaces [[Old]].", "Diese Notiz ersetzt [[Old]]"])
def test_a_first_line_names_what_the_note_replaces(line: str) -> None:
    assert statements(f"# Pricing\n\n{line}\n") == [("Old", "", True)]


@pytest.mark.parametrize(
    "text",
    [
        "The deprecated call is still there, see [[Calls]].",
        "In 2024 the pump was replaced by [[Pump B]].",
        "Obsolete. This error is not issued any more.",
        "How to use a deprecated API: see [[API]].",
        "Replaced text is shown in red, see [[Colours]].",
        "Text\n\nMore\n\nText\n\nReplaced by [[New]] much later in the note.",
        "## Old things\n\nReplaced by [[New]].",
        "Replaced by ![[picture.png]]",
        "`Replaced by` is a heading.",
        "A status: superseded by nothing.",
        "Outdated software is a risk. Our list is in [[Software]].",
    ],
)
def test_a_text_about_something_else_says_nothing(text: str) -> None:
    assert statements(f"# Title\n\n{text}\n") == []


def test_the_words_are_those_of_the_note() -> None:
    assert find_replacements(parse_note("a.md", "# A\n\n**Outdated**: see [[New plan]] for all.\n")) == (
        Replacement("New plan", "Outdated: see [[New plan]]"),
    )
