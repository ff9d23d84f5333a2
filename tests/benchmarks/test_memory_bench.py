"""Tests of the tables of published sets, and of the comparison with the program beside the data."""

from __future__ import annotations

import pytest
from benchmarks.memory_bench import Agreement, Column, interval, read_scores, report_agreement, table_rows

PRINTED = """\
## talks, plain

3 questions with evidence of 3.

| notes and hits | excerpt | fts5 | difference to fts5 |
|---|---:|---:|---:|
| R@5 | 0.750 | 0.500 | +0.250 [+0.000, +0.500] |
| tokens, 1000 | 748 | – | |
"""


def test_an_interval_holds_the_mean_and_is_the_same_every_time() -> None:
    low, high = interval([1.0, 0.0, 0.0, 1.0])
    assert low <= 0.5 <= high
    assert interval([1.0, 0.0, 0.0, 1.0]) == (low, high)
    assert interval([0.5, 0.5]) == (0.5, 0.5)


def test_a_row_has_the_means_and_the_difference_to_the_best_plain_form() -> None:
    columns = [
        Column(name, [{"evidence": value}, {}])
        for name, value in {"excerpt": 0.5, "fts5": 0.25, "fts5-stop": 0.5, "fts5-60": 1.0, "fts5-stop-60": 0.0}.items()
    ]
    (row,) = table_rows(("evidence", "tokens"), ", 1,000", columns)
    assert row[:3] == ["evidence, 1,000", "0.500", "0.250"]
    assert row[-2:] == ["+0.000 [+0.000, +0.000]", "fts5-60: -0.500 [-0.500, -0.500]"]


def test_figures_of_the_other_program_are_compared_as_rounded() -> None:
    (part,) = read_scores(PRINTED)
    assert part == {"R@5": {"excerpt": "0.750", "fts5": "0.500"}, "tokens, 1000": {"excerpt": "748"}}
    assert Agreement("R@5", 0.7504, "0.750").is_same
    assert not Agreement("R@5", 0.7516, "0.750").is_same
    assert Agreement("tokens", 747.6, "748").is_same


@pytest.mark.parametrize(
    ("agreements", "code"),
    [([Agreement("R@5", 0.75, "0.750")], 0), ([Agreement("R@5", 0.75, "0.800")], 1), ([], 1)],
)
def test_figures_that_differ_or_cannot_be_compared_fail_the_check(agreements: list[Agreement], code: int) -> None:
    assert report_agreement(agreements) == code
