"""Tests of the quality benchmark: it parses the external scorer's output and reports missing data."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.judgements import QualityError
from benchmarks.quality import Figures, main, read_judged, read_known, table_rows

KNOWN = """\
set                                    n  MRR@10  rec@10  sect@10
all                                  208   0.798   0.976    0.898
difficulty:gap                        90   0.776   0.956        -
kind:link-text-to-note                80   0.900   1.000        -
"""


def test_missing_data_is_reported_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert str(tmp_path) in said
    assert said.count("\n") == 1


def test_known_items_are_read() -> None:
    count, values = read_known(KNOWN)
    assert count == 208
    assert values == {
        "MRR@10": 0.798,
        "recall@10": 0.976,
        "section@10": 0.898,
        "gap MRR": 0.776,
        "gap recall": 0.956,
    }


def test_judged_sets_are_read() -> None:
    assert read_judged("scifact: n 300  nDCG@10 0.690  recall@10 0.820  MRR@10 0.650\n") == (300, {"nDCG@10": 0.69})


@pytest.mark.parametrize("read", [read_known, read_judged])
def test_an_unreadable_answer_is_reported(read: object) -> None:
    assert callable(read)
    with pytest.raises(QualityError, match="not understood"):
        read("")


def test_a_set_takes_three_rows_of_the_table() -> None:
    ours, plain = Figures(9, {"MRR@10": 0.8}, 2.0, 4.0), Figures(9, {"MRR@10": 0.7}, 4.0, 8.0)
    first, second, third = table_rows("cacm", ours, plain)
    assert "0.800" in first
    assert "0.700" in second
    assert "+0.100" in third
    assert "x0.50" in third
