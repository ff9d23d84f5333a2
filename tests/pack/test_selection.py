"""Tests of the file that keeps marks between sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.kinds import Scope
from excerpt.base.model import Span
from excerpt.pack.selection import NO_MARKS, MarkedFragment, PackOverrides, SavedMarks, read_marks, write_marks

KEPT = SavedMarks(
    query="wie “sync” \udce9",
    marks=(
        MarkedFragment("4be1c0a2d3f4", "ü\udce9.md", (Span(4, 12), Span(20, 21))),
        MarkedFragment("0c1d2e3f4a5b", "b.md"),
    ),
    overrides=PackOverrides(frozenset({"aa", "bb"}), (("4be1c0a2d3f4", Scope.SECTION),), ("0c1d2e3f4a5b",)),
)


def test_saved_marks_are_read_back(tmp_path: Path) -> None:
    write_marks(tmp_path / "marks" / "vault.json", KEPT)
    assert read_marks(tmp_path / "marks" / "vault.json") == KEPT
    assert [file.name for file in (tmp_path / "marks").iterdir()] == ["vault.json"]


def test_saving_no_marks_removes_the_file(tmp_path: Path) -> None:
    write_marks(tmp_path / "vault.json", KEPT)
    write_marks(tmp_path / "vault.json", NO_MARKS)
    write_marks(tmp_path / "vault.json", NO_MARKS)
    assert not list(tmp_path.iterdir())


def test_if_the_file_of_marks_is_missing_there_are_no_marks(tmp_path: Path) -> None:
    assert read_marks(tmp_path / "vault.json") == NO_MARKS


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", '{"marks": 3}', '{"marks": [{}]}', '{"scopes": {"a": "chapter"}}', "[" * 100_000, "\udce9"],
)
def test_if_the_file_of_marks_is_invalid_there_are_no_marks(tmp_path: Path, text: str) -> None:
    (tmp_path / "vault.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert read_marks(tmp_path / "vault.json") == NO_MARKS


@given(cut=st.integers(0, 300))
def test_a_truncated_file_of_marks_gives_all_marks_or_no_marks(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    file = tmp_path_factory.mktemp("marks") / "vault.json"
    write_marks(file, KEPT)
    file.write_bytes(file.read_bytes()[:cut])
    assert read_marks(file) in (KEPT, NO_MARKS)


def test_unknown_fields_of_a_later_version_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "vault.json").write_text('{"marks": [{"fragment": "a", "colour": 1}], "more": true}')
    assert read_marks(tmp_path / "vault.json") == SavedMarks(marks=(MarkedFragment("a", ""),))


def test_a_failed_write_keeps_the_saved_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "vault.json"
    write_marks(file, KEPT)
    monkeypatch.setattr(Path, "replace", lambda _self, _to: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_marks(file, SavedMarks(query="other"))
    assert read_marks(file) == KEPT
    assert [each.name for each in tmp_path.iterdir()] == ["vault.json"]
