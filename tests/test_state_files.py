"""Tests of the program's own files: written atomically, private, and readable from all earlier versions."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

import pytest

from excerpt import known_vaults
from excerpt.kinds import Format, Scope, Strategy
from excerpt.known_vaults import RecentVault, recent_vaults
from excerpt.model import Span
from excerpt.pack.savings import SavingsFile, TokenSavings
from excerpt.pack.selection import MarkedFragment, PackOverrides, SavedMarks, read_marks
from excerpt.search.saved_queries import SavedQueries, read_saved
from excerpt.search.usage import UseEvent, UseKind, UseLog
from excerpt.settings import Paths
from excerpt.state_files import append_lines, load_value, parse_lines, read_value, replace_file, write_value
from excerpt.tui.search.query_history import read_history
from excerpt.tui.session import NEW_SESSION, SelectedPosition, Session, read_session


@dataclass(frozen=True, slots=True)
class Shape:
    path: str
    number: int = 0


NAMES = ("a.md", "ü冲突.md", "not UTF-8 \udce9.md", 'a "quoted"\\ \n\u2028.md')


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lasting", [True, False])
def test_a_value_is_read_as_it_was_written_and_is_for_its_owner(tmp_path: Path, name: str, lasting: bool) -> None:
    file = tmp_path / "state" / "value.json"
    for number in (1, 2):
        write_value(file, Shape(name, number), lasting=lasting)
    assert load_value(file, Shape) == Shape(name, 2)
    assert [one.name for one in file.parent.iterdir()] == ["value.json"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"path": 3}', "[" * 100_000, "\udce9", '{"path": "'])
def test_what_makes_no_sense_is_told_in_one_way(tmp_path: Path, damage: str) -> None:
    data = damage.encode("utf-8", "surrogateescape")
    file = tmp_path / "value.json"
    file.write_bytes(data)
    with pytest.raises(ValueError):
        load_value(file, Shape)
    assert read_value(file, Shape, None) is None
    assert read_value(tmp_path / "none.json", Shape, Shape("default")) == Shape("default")
    assert list(parse_lines(data + b'\n{"path": "a", "later": true}\n', Shape)) == [Shape("a")]


def test_a_log_holds_a_value_a_line_and_its_size_is_told(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    append_lines(file, [Shape(name) for name in NAMES[:2]])
    with file.open("ab") as opened:
        opened.write(b'{"path": "cut')
    assert append_lines(file, [Shape(name) for name in NAMES[2:]]) == file.stat().st_size
    assert [one.path for one in parse_lines(file.read_bytes(), Shape)] == list(NAMES)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_has_the_mode_that_is_asked_for(tmp_path: Path) -> None:
    replace_file(tmp_path / "settings.toml", b"", lasting=True, mode=0o644)
    assert stat.S_IMODE((tmp_path / "settings.toml").stat().st_mode) == 0o644


# --- earlier formats --------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def test_the_history_of_before_is_read(file: Path) -> None:
    file.write_bytes(b'{"query": "sync"}\n{"query": "a \\"quoted\\" \\u51b2\\u7a81 \\udc80"}\n')
    assert read_history(file).queries == ('a "quoted" 冲突 \udc80', "sync")


def test_the_marks_of_before_are_read(file: Path) -> None:
    file.write_bytes(
        b'{"query": "wie \\u201csync\\u201d \\udce9", "marks": [{"fragment": "4be1c0a2d3f4", "path": '
        b'"\\u00fc\\udce9.md", "spans": [[4, 12], [20, 21]]}, {"fragment": "0c1d2e3f4a5b", "path": "b.md", "spans": '
        b'[]}], "dropped": ["aa", "bb"], "scopes": {"4be1c0a2d3f4": "section"}, "order": ["0c1d2e3f4a5b"]}\n'
    )
    assert read_marks(file) == SavedMarks(
        query="wie “sync” \udce9",
        marks=(
            MarkedFragment("4be1c0a2d3f4", "ü\udce9.md", (Span(4, 12), Span(20, 21))),
            MarkedFragment("0c1d2e3f4a5b", "b.md"),
        ),
        overrides=PackOverrides(frozenset({"aa", "bb"}), (("4be1c0a2d3f4", Scope.SECTION),), ("0c1d2e3f4a5b",)),
    )


def test_the_saved_queries_of_before_are_read(file: Path) -> None:
    file.write_bytes(
        b'{\n  "queries": [\n    {\n      "name": "weekly",\n      "query": "modified:7d"\n    },\n    {\n      '
        b'"name": "\xe5\x8d\x8a",\n      "query": "a \\"quoted\\" \\udc80"\n    }\n  ]\n}\n'
    )
    assert read_saved(file) == SavedQueries().with_query("weekly", "modified:7d").with_query("半", 'a "quoted" \udc80')


def test_the_savings_of_before_are_read(file: Path) -> None:
    file.write_bytes(
        b'{"since": "2025-03-01", "packs": 1, "tokens": 100, "source_tokens": 1000, "last": "34f2ddaa8b7615c9"}\n'
    )
    assert SavingsFile(file).read() == TokenSavings("2025-03-01", 1, 100, 1000, "34f2ddaa8b7615c9")


def test_the_session_of_before_is_read(file: Path) -> None:
    file.write_bytes(
        b'{"tab": "search", "query": "sync", "place": {"fragment": "aaaaaaaaaaaa", "path": "Notes/A [x].md", "line": '
        b'12}, "strategy": "semantic", "scope": "note", "budget": 8000, "form": "xml", "share": 0.61}\n'
    )
    place = SelectedPosition("aaaaaaaaaaaa", "Notes/A [x].md", 12)
    assert read_session(file) == Session("search", "sync", place, Strategy.SEMANTIC, Scope.NOTE, 8000, Format.XML, 0.61)
    file.write_bytes(
        b'{"tab": "search", "query": "", "place": null, "strategy": null, "scope": null, "budget": null, "form": null, '
        b'"share": null}\n'
    )
    assert read_session(file) == NEW_SESSION


def test_the_log_of_use_of_before_is_read(file: Path) -> None:
    file.write_bytes(
        b'{"time": "2026-01-01T00:00:00.500Z", "kind": "opened", "query": "sync", "path": "\xc3\xbc\\udce9.md", '
        b'"fragment": "aa", "rank": 2, "share": 0.5, "above": ["a.md"]}\n'
        b'{"time": "2026-01-01T00:00:01.000Z", "kind": "marked", "query": "sync", "path": "b.md"}\n'
    )
    assert UseLog(file).events() == (
        UseEvent(1767225600.5, UseKind.OPENED, "sync", "ü\udce9.md", "aa", 2, 0.5, ("a.md",)),
        UseEvent(1767225601.0, UseKind.MARKED, "sync", "b.md"),
    )


def test_the_known_vaults_of_before_are_read(tmp_path: Path) -> None:
    where = Paths(tmp_path, tmp_path, tmp_path / "data", tmp_path / "state")
    for folder in (where.data, where.state):
        (folder / "vaults").mkdir(parents=True)
    vault = Path("/home/ada/v\udce9")
    (where.state / "vaults" / "v--c557ce8584.json").write_bytes(
        b'{"path": "/home/ada/v\\udce9", "opened": 1767225600.25}\n'
    )
    where.fingerprint_file(vault).write_bytes(
        b'{"path": "/home/ada/v\\udce9", "notes": {"a.md": "4adf4367f96e584f"}}\n'
    )
    assert recent_vaults(where) == (RecentVault(str(vault), 1767225600.25),)
    slug = where.fingerprint_file(vault).stem
    assert known_vaults._last_known_path(where, slug) == str(vault)
    assert known_vaults._sampled_digests(where, slug) == {"a.md": "4adf4367f96e584f"}
