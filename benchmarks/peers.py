"""The peers that excerpt is compared with: SQLite FTS5 as the plain baseline builds it, and tantivy.

Both index the baseline's passages of at most 250 words, with title, heading and text; a query is its words joined by
OR, scored by BM25. Run as a program, it builds one of them: `python -m benchmarks.peers fts5 VAULT FILE BASELINE`.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tantivy

_WORD = re.compile(r"\w+")
_COLUMNS = "title, heading, text, path unindexed, a unindexed, b unindexed, tokenize='porter unicode61'"
Passage = tuple[str, str, str, str, int, int]


def passages(vault: Path, baseline: Path) -> Iterator[Passage]:
    """Yield title, heading, text, path, first and last line of each passage, cut by the baseline's own function."""
    spec = importlib.util.spec_from_file_location("baseline_fts5", baseline)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for file in sorted(vault.rglob("*.md")):
        path = file.relative_to(vault)
        if any(part.startswith(".") for part in path.parts) or not file.is_file():
            continue
        for first, last, heading, text in module.passages(file.read_text(encoding="utf-8", errors="replace")):
            if text.strip():
                yield file.stem, heading, text, path.as_posix(), first, last


class Fts5:
    """An SQLite FTS5 index in a file."""

    name = "FTS5"

    def __init__(self, file: Path) -> None:
        self._db = sqlite3.connect(file)

    @classmethod
    def build(cls, vault: Path, file: Path, baseline: Path) -> None:
        file.unlink(missing_ok=True)
        db = sqlite3.connect(file)
        db.execute(f"create virtual table f using fts5({_COLUMNS})")
        db.executemany("insert into f values (?,?,?,?,?,?)", passages(vault, baseline))
        db.commit()
        db.close()

    def search(self, query: str, limit: int) -> int:
        """Return the number of hits, each fetched with its path, lines and score."""
        match = " OR ".join(f'"{word}"' for word in _WORD.findall(query))
        if not match:
            return 0
        sql = "select path, a, b, -bm25(f, 2, 2, 1) from f where f match ? order by bm25(f, 2, 2, 1) limit ?"
        return len(self._db.execute(sql, (match, limit)).fetchall())


class Tantivy:
    """A tantivy index in a folder, with English stemming."""

    name = "tantivy"

    def __init__(self, folder: Path) -> None:
        self._index = tantivy.Index.open(str(folder))
        self._searcher = self._index.searcher()

    @classmethod
    def build(cls, vault: Path, folder: Path, baseline: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        schema = tantivy.SchemaBuilder()
        for field in ("title", "heading", "text"):
            schema.add_text_field(field, stored=True, tokenizer_name="en_stem")
        schema.add_text_field("path", stored=True, tokenizer_name="raw")
        schema.add_integer_field("a", stored=True)
        schema.add_integer_field("b", stored=True)
        index = tantivy.Index(schema.build(), path=str(folder))
        writer = index.writer(256_000_000, 2)
        names = ("title", "heading", "text", "path", "a", "b")
        for passage in passages(vault, baseline):
            writer.add_document(tantivy.Document(**dict(zip(names, passage, strict=True))))
        writer.commit()
        writer.wait_merging_threads()

    def search(self, query: str, limit: int) -> int:
        """Return the number of hits, each fetched with its stored fields."""
        words = " ".join(_WORD.findall(query))
        parsed, _ = self._index.parse_query_lenient(words, ["title", "heading", "text"])
        hits = self._searcher.search(parsed, limit).hits
        return len([self._searcher.doc(address) for _, address in hits])


if __name__ == "__main__":
    kind, vault_folder, target, baseline_file = sys.argv[1:]
    build = {"fts5": Fts5.build, "tantivy": Tantivy.build}[kind]
    build(Path(vault_folder), Path(target), Path(baseline_file))
