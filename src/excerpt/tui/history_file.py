"""The file of the queries asked of one vault: a JSON object a line, the newest last.

    {"query": "sync conflict tag:howto"}

Several apps may add to it. It may be deleted at any time; it holds what was typed, so only its owner may read it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from excerpt.tui.history import QueryHistory

_COMPACT_BYTES = 200_000
"""The size from which only what the history keeps is written anew: some 4,000 queries."""
_LONGEST = 2_000
"""Characters of a query that is kept; longer ones are pasted texts."""
_LOCK_SECONDS = 2.0


def read_history(file: Path) -> QueryHistory:
    """What was asked; nothing where there is no file. Lines that are no queries are passed over."""
    try:
        return QueryHistory.of(_parsed(file.read_bytes()))
    except OSError:
        return QueryHistory()


def add_query(file: Path, query: str) -> None:
    """Keep a query as the newest. Raises OSError where that cannot be done."""
    if not query.strip() or len(query) > _LONGEST:
        return
    with _alone(file):
        with open(file, "ab+", opener=_for_owner) as opened:
            if opened.tell() and not _ends_line(opened):
                opened.write(b"\n")  # a process died while it wrote
            opened.write(_line(query))
            size = opened.tell()
        if size > _COMPACT_BYTES:
            _write(file, read_history(file).queries)


def forget_query(file: Path, query: str) -> None:
    """Keep all but one query. Raises OSError where that cannot be done."""
    with _alone(file):
        if file.exists():
            _write(file, read_history(file).without(query).queries)


def _write(file: Path, newest_first: Iterable[str]) -> None:
    fresh = file.with_suffix(f".{os.getpid()}")
    try:
        with open(fresh, "wb", opener=_for_owner) as out:
            out.write(b"".join(map(_line, reversed(tuple(newest_first)))))
        fresh.replace(file)
    except OSError:
        with suppress(OSError):
            fresh.unlink()
        raise


def _line(query: str) -> bytes:
    return json.dumps({"query": query}).encode("ascii") + b"\n"


def _parsed(data: bytes) -> Iterator[str]:
    for line in data.split(b"\n"):
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            query = json.loads(line)["query"]
            if isinstance(query, str) and query.strip():
                yield query


def _ends_line(opened: BinaryIO) -> bool:
    opened.seek(-1, os.SEEK_END)
    return opened.read(1) == b"\n"


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Hold the file's lock, so that no query is lost between a read and a write."""
    from filelock import FileLock

    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with FileLock(file.with_suffix(".lock"), timeout=_LOCK_SECONDS):
        yield
