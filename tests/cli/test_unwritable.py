"""Tests of an unwritable index: it is searched as it is; if there is none, that is one clear error."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

import pytest

from excerpt.index import build as building
from excerpt.index.catalog import CATALOG_FILE
from excerpt.settings import user_paths
from tests.cli.conftest import Excerpt
from tests.index.conftest import full_disk


class ReadOnlyLock:
    """A lock that fails as on a read-only file system."""

    def __init__(self, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def make_unwritable(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "file_lock", ReadOnlyLock)
    folder = user_paths().index_folder(vault)
    if folder.exists():
        sqlite3.connect(folder / CATALOG_FILE).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
        (folder / "catalog.sqlite-shm").mkdir()  # so that SQLite cannot create the file


def test_it_is_searched_as_it_is_and_said_so(excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = excerpt("search", "sync conflict", "--vault", vault)
    make_unwritable(vault, monkeypatch)
    (vault / "New.md").write_text("# New\n\nA sync conflict that the index does not know.\n")
    for command in (("search", "sync conflict"), ("pack", "sync conflict"), ("status",)):
        answer = excerpt(*command, "--vault", vault)
        assert answer.code == 0
        assert "Read-only file system" in answer.err
        assert "the index of 20" in answer.err
    assert excerpt("search", "sync conflict", "--vault", vault).out == before.out


def test_without_one_it_is_an_error_with_a_hint(excerpt: Excerpt, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_unwritable(vault, monkeypatch)
    for command in (("search", "sync"), ("index",)):
        answer = excerpt(*command, "--vault", vault)
        assert (answer.code, answer.out) == (3, "")
        assert "Read-only file system" in answer.err
        assert "EXCERPT_HOME" in answer.err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read every folder")
@pytest.mark.parametrize("command", [("search", "soup"), ("status",), ("learned",), ("index",), ("pack", "soup")])
@pytest.mark.parametrize("which", ["", ".."])
def test_an_index_folder_without_permission_is_one_sentence(
    excerpt: Excerpt, vault: Path, command: tuple[str, ...], which: str
) -> None:
    excerpt("index", "--vault", vault)
    folder = (user_paths().index_folder(vault) / which).resolve()
    folder.chmod(0)
    try:
        answer = excerpt(*command, "--vault", vault)
    finally:
        folder.chmod(0o700)
    assert answer.code == (1 if command == ("learned",) else 3)
    assert "inside excerpt" not in answer.err


@pytest.mark.skipif(os.name == "nt", reason="the limit of a file's size is of POSIX")
def test_where_no_file_can_grow_the_last_index_answers_and_one_line_says_so(excerpt: Excerpt, vault: Path) -> None:
    excerpt("index", "--vault", vault)
    (vault / "New.md").write_text("# New\n\nA sync conflict that the index does not know.\n")
    asked = [(command, "sync conflict", "--vault", vault, "--no-refresh") for command in ("search", "pack")]
    before = [excerpt(*argv).out for argv in asked]
    with full_disk():
        as_it_is = [excerpt(*argv) for argv in asked]
        refused = [excerpt(*argv[:-1]) for argv in asked]
    assert [answer.out for answer in as_it_is] == [answer.out for answer in refused] == before
    assert [answer.code for answer in (*as_it_is, *refused)] == [0] * 4
    assert not any("full" in answer.err for answer in as_it_is)
    for answer in refused:
        assert "disk is full" in answer.err
        assert "the index of 20" in answer.err
    assert "New.md" in excerpt("search", "sync conflict", "--vault", vault).out
