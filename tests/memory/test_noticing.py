"""Whether anything has happened in a folder is known without looking at its files, and never falsely so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from excerpt.memory.store import MemoryStore, Noticing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nothing else tells at once")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "memories"
    made.mkdir()
    (made / "a.md").write_text("a")
    return made


@pytest.fixture
def noticing(folder: Path) -> Noticing:
    made = Noticing()
    made.begin()
    made.watch(folder)
    return made


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def in_place(folder: Path) -> None:
    before = (folder / "a.md").stat()
    with (folder / "a.md").open("r+b") as file:
        file.write(b"b")
    os.utime(folder / "a.md", ns=(before.st_atime_ns, before.st_mtime_ns))


def by_another_process(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", f"open({str(folder / 'a.md')!r}, 'r+').write('b')"], check=True)


def replaced(folder: Path) -> None:
    folder.rename(folder.with_name("away"))
    folder.mkdir()


CHANGES: list[Callable[[Path], object]] = [
    in_place,
    by_another_process,
    replaced,
    lambda folder: (folder / "b.md").touch(),
    lambda folder: (folder / "a.md").unlink(),
    lambda folder: (folder / "a.md").rename(folder / "c.md"),
    lambda folder: (folder / "sub").mkdir(),
    lambda folder: (folder.with_name("b.md").write_text("b"), folder.with_name("b.md").replace(folder / "a.md")),
]


def test_where_nothing_has_happened_it_is_sure(noticing: Noticing, folder: Path) -> None:
    (folder / "a.md").read_text()
    list(folder.iterdir())
    (folder / ".lock").write_text("x")
    assert noticing.is_sure()
    assert noticing.is_sure()


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_happened_is_noticed_at_once(
    noticing: Noticing, folder: Path, change: Callable[[Path], object]
) -> None:
    change(folder)
    assert not noticing.is_sure()


def test_what_is_not_watched_is_never_sure(tmp_path: Path) -> None:
    noticing = Noticing()
    assert not noticing.is_sure()
    noticing.begin()
    assert not noticing.is_sure()
    noticing.watch(tmp_path / "missing")
    assert not noticing.is_sure()


def test_where_the_file_system_may_be_silent_nothing_is_sure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("excerpt.memory.store.is_silent", lambda folder: True)
    noticing = Noticing()
    noticing.begin()
    noticing.watch(folder)
    assert not noticing.is_sure()


def test_a_queue_that_is_let_go_leaves_no_file_open(folder: Path) -> None:
    before = open_files()
    for _ in range(50):
        MemoryStore(folder).all()
    assert open_files() <= before + 1


def test_a_file_that_can_be_changed_from_elsewhere_is_looked_at(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere.md")
    elsewhere.write_text("old")
    os.link(elsewhere, folder / "linked.md")
    store = MemoryStore(folder)
    assert "old" in [memory.text for memory in store.all().memories]
    elsewhere.write_text("newer")
    assert "newer" in [memory.text for memory in store.all().memories]


def test_a_change_in_a_folder_of_the_users_own_is_seen(folder: Path) -> None:
    store = MemoryStore(folder)
    (folder / "talks").mkdir()
    assert len(store.all().memories) == 1
    (folder / "talks" / "b.md").write_text("b")
    assert len(store.all().memories) == 2
    (folder / "talks" / "b.md").write_text("c")
    assert {memory.text for memory in store.all().memories} == {"a", "c"}
