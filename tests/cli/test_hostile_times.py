"""Tests of file times outside the usual range: the files are indexed like any other, and nothing fails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cli.conftest import Excerpt
from tests.index.conftest import MEMORY

TIMES = {
    "year 1": -62_135_596_800,
    "before int64": -9_300_000_000,
    "before unsigned": -2_200_000_000,
    "before 1970": -1,
    "1970": 0,
    "now": 1_750_000_000,
    "filter's last": 7_258_118_400,
    "int64": 9_223_372_036,
    "after int64": 9_223_372_037,
    "2300": 10_413_792_000,
    "year 10000": 253_402_300_800,
    "far": 2**55,
}
"""Seconds since 1970; not every file system can store each of them."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder in /dev/shm where possible, since Linux stores any time there."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(dir=MEMORY) as inside:
        yield Path(inside)


def set_time(file: Path, seconds: int) -> None:
    try:
        os.utime(file, (seconds, seconds))
    except (OSError, OverflowError):
        os.utime(file, (2**31 - 1, 2**31 - 1))  # the latest time that every system accepts


@pytest.fixture
def vault(folder: Path) -> Path:
    vault = folder / "vault"
    vault.mkdir()
    for number, (name, seconds) in enumerate(TIMES.items()):
        (vault / f"{name}.md").write_text(f"# Zeppelin {number}\n\nIt flies, as number{number} does.\n")
        (vault / f"{name}.csv").write_text(f"zeppelin,number\nflies,{number}\n")
        set_time(vault / f"{name}.md", seconds)
        set_time(vault / f"{name}.csv", seconds)
    return vault


@pytest.mark.programs
def test_each_file_is_indexed_and_found(excerpt: Excerpt, vault: Path) -> None:
    assert excerpt("index", "--vault", vault).code == 0
    hits = excerpt("search", "zeppelin", "--vault", vault, "--json", "--limit", "50").json["hits"]
    assert {hit["path"] for hit in hits} == {f"{name}.{kind}" for name in TIMES for kind in ("md", "csv")}


PERIODS = {
    "<1970-01-01": {"year 1", "before int64", "before unsigned"},
    "2199..": {"filter's last", "int64", "after int64", "2300", "year 10000", "far"},
    "2025": {"now"},
    "0001..9999": set(TIMES),
}


@pytest.mark.programs
def test_a_filter_by_time_takes_times_that_no_calendar_has(excerpt: Excerpt, vault: Path) -> None:
    for period, found in PERIODS.items():
        answer = excerpt("search", f"modified:{period} kind:note", "--vault", vault, "--json", "--limit", "50")
        assert {hit["path"].removesuffix(".md") for hit in answer.json["hits"]} - {"before 1970", "1970"} == (
            found - {"before 1970", "1970"}
        )


@pytest.mark.programs
def test_a_filter_by_a_date_that_no_calendar_has_ends_with_a_sentence(excerpt: Excerpt, vault: Path) -> None:
    for value in ("99999-01-01", ">9999-12-31", "<0001-01-01", "0000", "99999d", "1..99999"):
        answer = excerpt("search", f"zeppelin modified:{value}", "--vault", vault)
        assert answer.code in (0, 1), value
        assert "went wrong" not in answer.err, value


COMMANDS = (
    *(("search", "zeppelin", "--json"), ("pack", "zeppelin"), ("map",), ("map", "--json"), ("status", "--json")),
    *(("overview", "zeppelin"), ("overview", "zeppelin", "--json"), ("related", "far.md"), ("read", "far.md")),
    *(("peek", "year 1.md"), ("peek", "far.md", "--json"), ("doctor",)),
)


@pytest.mark.programs
def test_every_command_answers(excerpt: Excerpt, vault: Path, home: Path) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "excerpt.toml").write_text("[search.boosts]\nrecency = true\n")
    answers = {command: excerpt(*command, "--vault", vault) for command in COMMANDS}
    assert {command: answer.err for command, answer in answers.items() if answer.code} == {}


@pytest.mark.programs
def test_an_index_of_such_files_is_up_to_date_after_a_build(excerpt: Excerpt, vault: Path) -> None:
    excerpt("index", "--vault", vault)
    again = excerpt("index", "--vault", vault, "--json").json
    assert (again["added"], again["changed"], again["removed"]) == (0, 0, 0)


DATES = ("99999-01-01", "0001-01-01", "9999-12-31T23:59:59-12:00", "2300-02-30", "-5", "1e999", "[2020]", "~")


def test_a_memory_is_recalled_whatever_times_its_file_and_its_frontmatter_have(
    excerpt: Excerpt, vault: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(folder / "home"))
    excerpt("remember", "Zeppelins are slow.", "--vault", vault)
    (remembered,) = (folder / "home").rglob("*zeppelins*.md")
    for name, seconds in TIMES.items():
        (remembered.parent / f"{name}.md").write_text(f"A zeppelin of {name}.\n")
        set_time(remembered.parent / f"{name}.md", seconds)
    for number, value in enumerate(DATES):
        text = f"---\ncreated: {value}\nupdated: {value}\n---\nA zeppelin of date {number}.\n"
        (remembered.parent / f"date {number}.md").write_text(text)
    for words in (("zeppelin",), (), ("zeppelin created:2020..",), ("modified:<1970",), ("--since", "2000")):
        answer = excerpt("recall", *words, "--vault", vault)
        assert answer.code in (0, 1), (words, answer.err)
        assert "went wrong" not in answer.err, words
    everything = excerpt("recall", "--limit", "100", "--vault", vault, "--json").json["memories"]
    # `2300-02-30` is no date in YAML: that file is reported as unreadable.
    assert len(everything) == 1 + len(TIMES) + len(DATES) - 1
