"""Tests of the running total of tokens saved by packs."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from excerpt.base.kinds import Strategy
from excerpt.base.model import PackResult
from excerpt.pack.savings import SavingsFile, TokenSavings
from tests.pack.formats.test_pack_format import PACK

DAY = date(2025, 3, 1)
RESULT = PackResult(
    query="q",
    strategy=Strategy.AUTO,
    budget=4000,
    tokenizer="o200k",
    passages=(PACK,),
    left_out=(),
    text="one",
    tokens=100,
    value=1.0,
    source_tokens=1000,
)


@pytest.fixture
def file(tmp_path: Path) -> SavingsFile:
    return SavingsFile(tmp_path / "savings" / "vault.json")


def read_totals(file: SavingsFile) -> tuple[str, int, int, int]:
    savings = file.read()
    assert savings
    return savings.since, savings.packs, savings.tokens, savings.source_tokens


def test_the_tokens_saved_by_packs_are_summed(file: SavingsFile) -> None:
    assert file.read() is None
    file.add(RESULT, DAY)
    file.add(replace(RESULT, text="two", tokens=50, source_tokens=500), date(2025, 4, 1))
    assert read_totals(file) == ("2025-03-01", 2, 150, 1500)


def test_the_share_saved_is_relative_to_the_notes() -> None:
    assert TokenSavings("", 2, 150, 1500).saved_share == pytest.approx(0.9)
    assert (
        TokenSavings("", 1, 150, 100).saved_share == 0.0
    )  # tiny notes: with source lines, the pack is longer than they are
    assert TokenSavings("").saved_share == 0.0


def test_the_same_pack_used_twice_in_a_row_is_counted_once(file: SavingsFile) -> None:
    for text in ("one", "one", "two", "one"):
        file.add(replace(RESULT, text=text), DAY)
    assert read_totals(file)[1] == 3


def test_an_empty_pack_is_not_counted(file: SavingsFile) -> None:
    file.add(replace(RESULT, passages=()), DAY)
    assert file.read() is None


def test_savings_can_be_cleared(file: SavingsFile) -> None:
    file.add(RESULT, DAY)
    before = file.clear()
    assert before is not None
    assert before.packs == 1
    assert file.read() is None
    assert file.clear() is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"since": 3}', '{"since": "x", "packs": -1}', "[" * 100_000])
def test_if_the_file_of_savings_is_invalid_counting_starts_again(file: SavingsFile, text: str) -> None:
    file.file.parent.mkdir()
    file.file.write_text(text)
    assert file.read() is None
    file.add(RESULT, DAY)
    assert read_totals(file)[1] == 1


def test_concurrent_additions_lose_nothing(file: SavingsFile) -> None:
    def add(name: int) -> None:
        for number in range(5):
            SavingsFile(file.file).add(replace(RESULT, text=f"{name} {number}"), DAY)

    threads = [threading.Thread(target=add, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read_totals(file) == ("2025-03-01", 20, 2000, 20_000)
