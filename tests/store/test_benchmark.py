"""Test that the benchmark of a store runs to its end."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.measure import Data

from benchmarks import store
from tests.benchmarks.small_data import REPOSITORY, write_small_data


@pytest.mark.store
def test_the_benchmark_prints_pushes_and_searches_of_both_vaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_small_data(tmp_path)
    for name in ("benchmarks", "tests"):  # for the process that searches
        (tmp_path / name).symlink_to(REPOSITORY / name)
    monkeypatch.chdir(tmp_path)
    store.measure(Data(tmp_path))
    printed = capsys.readouterr().out
    for name, _ in store.SETS:
        assert f"| {name}: nothing changed" in printed
        assert printed.count(f"| {name} ") == 3
    assert "0 of 10" in printed
