"""A store of some lines, in SQLite's memory: what excerpt asks of a store is what this one has."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from excerpt.base.errors import StoreUnusableError
from excerpt.base.settings import Settings
from excerpt.corpus.interface import Corpus
from excerpt.index.build import build
from excerpt.index.events import CrashHandler, EventHandler
from excerpt.index.snapshot import Snapshot
from excerpt.memory.joined_store import ConnectedMemoryStore
from excerpt.service.findings import Finding, ok
from excerpt.service.stores import ChangePusher

_notes = sqlite3.connect(":memory:", check_same_thread=False)
_notes.execute("CREATE TABLE note (store, path, text)")


def write_notes(address: str, notes: Mapping[str, str]) -> None:
    """Replace the notes of a store."""
    _notes.execute("DELETE FROM note WHERE store = ?", (address,))
    _notes.executemany("INSERT INTO note VALUES (?, ?, ?)", [(address, *note) for note in notes.items()])


class TinyStore(Struct, frozen=True):
    """The address of some notes in the process's memory: tiny://NAME."""

    text: str

    @property
    def display_text(self) -> str:
        return f"tiny://{self.folder.name}"

    @property
    def folder(self) -> Path:
        return Path("/tiny:", self.text.rpartition("/")[2])

    def open_corpus(self, settings: Settings) -> Corpus:
        rows = _notes.execute("SELECT path, text FROM note WHERE store = ?", (self.display_text,)).fetchall()
        if not rows:
            raise StoreUnusableError(f"There is no vault at {self.display_text}.")
        vault = Path(tempfile.mkdtemp(prefix="tiny-"))
        for path, text in rows:
            (vault / path).write_text(text, encoding="utf-8")
        build(vault, vault.with_suffix(".index"), settings)
        return Snapshot.open(vault.with_suffix(".index"), settings)

    def open_memories(self, folder: Path, *, shows_comments: bool) -> ConnectedMemoryStore | None:
        return None

    def check(self, settings: Settings) -> Iterator[Finding]:
        with closing(self.open_corpus(settings)) as corpus:
            yield ok(f"The vault has {corpus.status().notes} notes")

    def push_changes(self, vault: Path, report: EventHandler, log_crash: CrashHandler, *, merge: bool) -> ChangePusher:
        raise StoreUnusableError("A tiny store is written by its tests alone.")
