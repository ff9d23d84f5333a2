"""Tests of the agent benchmark: it counts tokens until the relevant passage is in the agent's context."""

from __future__ import annotations

import math

from benchmarks.agents import BEST, GREP, MAX, PACK, Measured, promise, until_read
from benchmarks.grep import WAYS, Files
from benchmarks.judgements import Place, Question

FILES = Files({"first.md": "Some words.\n", "target.md": "# Title\n\nLong before.\n\n## Here\n\nThe answer.\n"})
NOTE = Question("answer", grades={"target.md": 1})
SECTION = Question("answer", grades={"target.md": 1}, targets=(Place("target.md", 5, 7),))


def measurement_of(spent: float, packs: tuple[dict[int, int], ...]) -> Measured:
    never = (math.inf,) * len(packs)
    greps = tuple((spent,) * len(packs) if way == WAYS[-1] else never for way in WAYS)
    return Measured("a set", (True, *(False,) * (len(packs) - 1)), greps, never, never, packs)


def test_files_before_the_target_are_read_whole() -> None:
    alone, behind = until_read(FILES, NOTE, ["target.md"]), until_read(FILES, NOTE, ["first.md", "target.md"])
    assert behind == alone + FILES.tokens("first.md")


def test_a_file_is_read_to_the_first_line_of_the_judged_section() -> None:
    assert until_read(FILES, NOTE, ["target.md"]) < until_read(FILES, SECTION, ["target.md"])
    assert until_read(FILES, SECTION, ["target.md"]) < FILES.tokens("target.md")


def test_a_file_that_is_not_found_is_never_read() -> None:
    assert until_read(FILES, NOTE, ["first.md"]) == math.inf


def test_reading_ends_at_the_token_limit() -> None:
    long = Files({"long.md": "word " * (MAX + 1), **FILES.texts})
    assert until_read(long, NOTE, ["long.md", "target.md"]) == math.inf


def test_grep_is_rated_by_the_way_of_searching_that_turned_out_best() -> None:
    of = measurement_of(400, ({}, {}))
    assert (of.held(GREP, 500), of.held(BEST, 500), of.held(BEST, 399)) == (0, 2, 0)


def test_the_median_cost_is_never_if_most_questions_stay_unanswered() -> None:
    assert measurement_of(400, ({}, {}, {500: 450})).median(PACK) == "never"


def test_a_pack_that_answers_less_than_ten_times_the_tokens_of_grep_fails() -> None:
    held = {1_000: 900}
    assert promise(measurement_of(9_000, (held, {})), BEST).startswith("- FAIL")
    assert promise(measurement_of(9_000, (held, held)), BEST).startswith("- pass")


def test_judged_sections_are_counted_separately() -> None:
    of = measurement_of(9_000, ({1_000: 900}, {}))
    assert "answers 1 of 1 with a judged section" in promise(of, BEST, sections=True)
