"""Tests that a benchmark also writes its output to its file if it ends without an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import measure


def test_a_result_is_printed_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "RESULTS", tmp_path / "results")
    with measure.result("speed", "Speed", write=True):
        measure.table(("", "ms"), [("search", "3")])
    rows = "|        | ms |\n| ------ | -: |\n| search |  3 |\n"
    assert capsys.readouterr().out == f"# Speed\n\n{rows}"
    written = (tmp_path / "results" / "speed.md").read_text(encoding="utf-8")
    assert written == f"# Speed\n\n`make speed` writes this file.\n\n{rows}"


@pytest.mark.parametrize("write", [True, False])
def test_nothing_is_written_without_the_option_or_after_an_error(
    write: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    if write:
        with pytest.raises(ValueError, match="cut short"), measure.result("speed", "Speed", write=True):
            raise ValueError("cut short")
    else:
        with measure.result("speed", "Speed", write=False):
            measure.table(("", "ms"), [("search", "3")])
    assert not list(tmp_path.iterdir())
