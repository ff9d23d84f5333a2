"""Tests of the targets: each is met or missed by the figures alone, if it was measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.judgements import QuerySet
from benchmarks.targets import asked_verdicts, verdicts


def known_item_set(name: str) -> QuerySet:
    return QuerySet(name, Path(), Path(), None)


def verdict_line(ours: dict[str, dict[str, float]], plain: dict[str, dict[str, float]], about: str) -> str:
    said = verdicts(*({known_item_set(name): values for name, values in who.items()} for who in (ours, plain)))
    return next(one for one in said if about in one)


@pytest.mark.parametrize(("mrr", "word"), [(0.55, "pass"), (0.53, "FAIL")])
def test_the_mean_gain_is_over_english_and_german_sets(mrr: float, word: str) -> None:
    ours = {"dendron-site.dev": {"MRR@10": mrr}, "obsidian-help-zh": {"MRR@10": 0.9}}
    plain = {"dendron-site.dev": {"MRR@10": 0.5}, "obsidian-help-zh": {"MRR@10": 0.1}}
    assert verdict_line(ours, plain, "over 1 English and German sets").startswith(f"- {word}")


def test_a_set_below_the_baseline_is_named() -> None:
    ours = {"cpp-docs.dev": {"MRR@10": 0.8}, "obsidian-help-ja": {"MRR@10": 0.3}}
    plain = {"cpp-docs.dev": {"MRR@10": 0.5}, "obsidian-help-ja": {"MRR@10": 0.4}}
    said = verdict_line(ours, plain, "no set below")
    assert said.startswith("- FAIL")
    assert "-0.100 on obsidian-help-ja" in said


@pytest.mark.parametrize(("gap", "word"), [(0.57, "pass"), (0.55, "FAIL")])
def test_gap_rows_have_their_own_gain(gap: float, word: str) -> None:
    ours, plain = {"cpp-docs.dev": {"MRR@10": 0.9, "gap MRR": gap}}, {"cpp-docs.dev": {"MRR@10": 0.1, "gap MRR": 0.5}}
    assert verdict_line(ours, plain, "gap rows").startswith(f"- {word}")


@pytest.mark.parametrize(("section", "word"), [(0.801, "pass"), (0.799, "FAIL")])
def test_single_sets_have_minimum_values(section: float, word: str) -> None:
    ours, plain = {"cpp-docs.dev": {"MRR@10": 0.9, "section@10": section}}, {"cpp-docs.dev": {"MRR@10": 0.1}}
    assert verdict_line(ours, plain, "section@10 of cpp-docs.dev").startswith(f"- {word}")


def test_unmeasured_values_are_not_judged() -> None:
    said = verdicts(
        {known_item_set("obsidian-help-ko"): {"MRR@10": 0.5}}, {known_item_set("obsidian-help-ko"): {"MRR@10": 0.4}}
    )
    assert said == ["- pass: no set below the baseline (least: +0.100 on obsidian-help-ko)"]


def test_questions_in_other_words_have_lower_and_upper_limits() -> None:
    reached: dict[str, dict[str, float | None]] = {
        "own": {"in five": 0.98, "false-empty": 0.021},
        "absent": {"in five": None, "strong or likely": 0.08},
    }
    assert [line.partition(":")[0] for line in asked_verdicts("shipped", reached)] == ["- pass", "- FAIL", "- pass"]
    assert [line.partition(":")[0] for line in asked_verdicts("another", reached)] == ["- FAIL", "- pass"]
