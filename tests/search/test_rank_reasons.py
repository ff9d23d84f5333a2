"""Tests of the sentence that explains the rank of a hit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from excerpt.base.kinds import Strategy
from excerpt.search.engine import Engine
from excerpt.search.explain_note import explain_fragment, explain_note
from excerpt.search.rank_reasons import NoteExplanation, format_ordinal


def verdict_of_rank(engine: Engine, query: str, rank: int, strategy: Strategy = Strategy.AUTO) -> str:
    hit = engine.search(query, strategy, 100).hits[rank - 1]
    return explain_fragment(engine, query, hit.fragment, strategy).reason


def verdict_of_note(engine: Engine, query: str, note: str, strategy: Strategy = Strategy.AUTO) -> NoteExplanation:
    return explain_note(engine, query, note, strategy)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("conflict arises ", "1st: it has both words, one of them in its title."),
        ("sourdough ", "1st: it has “sourdough” in its heading."),
        ("starter ferments week ", "1st: it has all three words."),
        ("sourdough zqxzqx ", "1st: it has “sourdough” in its heading, but not “zqxzqx”."),
        ("starter zqxzqx laptop ", "1st: it has “starter”, but not “zqxzqx” or “laptop”."),
        ("starter flour water ferments laptop printer phone zebra ", "1st: it has four of your eight words, but not …"),
        ("what is a starter of flour ", "1st: it has both words."),
        ("Bread", "1st: its note has exactly the name that you typed."),
        ("path:garden/", "1st: it matches the filters, and the query has no words."),
        ("state-of-the-art ", "1st: it has “state-of-the-art”."),
        ("リモート保管庫", "1st: it has “リモート保管庫”."),
    ],
)
def test_the_matched_words_and_their_locations_are_named(engine: Engine, query: str, said: str) -> None:
    found = verdict_of_rank(engine, query, 1)
    assert found == said or ("…" in said and found.startswith(said.partition(" …")[0]))


def test_a_hit_without_a_query_word_is_described_as_similar_in_meaning(engine: Engine) -> None:
    said = verdict_of_rank(engine, "sourdough", 2, Strategy.SEMANTIC)
    assert said == "2nd: “sourdough” is not in it, but it is near in meaning; the first hit is nearer in meaning."


def test_the_reason_names_the_signal_in_which_the_hits_above_lead_most(engine: Engine) -> None:
    told = verdict_of_note(engine, "sync conflict ", "Sync/Devices.md")
    told = replace(told, compared=1)
    gaps = {gap.signal: gap for gap in told.signal_gaps}
    for signal, said in (
        ("proximity", "the first hit has your words closer together"),
        ("meaning", "the first hit is nearer in meaning"),
        ("title", "the first hit has a title nearer to your words"),
    ):
        first = replace(told, signal_gaps=(replace(gaps[signal], cost=9.0),))
        assert first.reason.endswith(f"; {said}.")
    many = replace(told, compared=2, signal_gaps=(replace(gaps["proximity"], cost=9.0),))
    assert many.reason.endswith("; the hits above have your words closer together.")


def test_equal_scores_are_described_by_their_order(engine: Engine) -> None:
    told = verdict_of_note(engine, "sync conflict ", "Sync/Devices.md")
    assert replace(told, signal_gaps=(), compared=1).reason.endswith(
        "; the first hit has the same score and an earlier path or line."
    )


def test_the_reason_for_a_hit_moved_down_names_the_other_hits_of_its_note(engine: Engine) -> None:
    told = verdict_of_note(engine, "sync conflict ", "Sync/Devices.md")
    behind = replace(told, signal_gaps=(replace(told.signal_gaps[0], cost=-0.2),))
    assert behind.reason.endswith("; other passages of its note are among the first hits.")


def test_the_reason_for_a_note_that_is_not_found_is_stated(engine: Engine) -> None:
    told = verdict_of_note(engine, "!a tablet", "Cooking/Soup.md")
    assert told.absence is not None
    assert told.reason == told.absence.reason


def test_the_rank_of_a_note_is_stated_if_it_differs_from_that_of_its_hit(engine: Engine) -> None:
    told = verdict_of_note(engine, "sync conflict ", "Sync/Devices.md")
    assert told.explanation is not None
    seventh = replace(told, explanation=replace(told.explanation, rank=7))
    assert seventh.describe(note_rank=5).startswith("7th hit, in the 5th note: it has ")
    assert seventh.describe(note_rank=7) == seventh.reason
    assert seventh.reason.startswith("7th: it has ")


def test_ranks_are_written_as_ordinal_numbers() -> None:
    numbers = (1, 2, 3, 4, 11, 12, 13, 21, 102, 1_113)
    assert " ".join(map(format_ordinal, numbers)) == "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 1,113th"
