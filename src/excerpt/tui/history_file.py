"""The file of the queries asked of one vault: a JSON object a line, the newest last.

    {"query": "sync conflict tag:howto"}

Several apps may add to it. It may be deleted at any time; it holds what was typed, so only its owner may read it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from excerpt.state_files import alone, ends_line, for_owner, replace_file
from excerpt.tui.history import QueryHistory

_COMPACT_BYTES = 200_000
"""The size from which only what the history keeps is written anew: some 4,000 queries."""
_LONGEST = 2_000
"""Characters of a query that is kept; longer ones are pasted texts."""


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
    with alone(file):
        with open(file, "ab+", opener=for_owner) as opened:
            if opened.tell() and not ends_line(opened):
                opened.write(b"\n")  # a process died while it wrote
            opened.write(_line(query))
            size = opened.tell()
        if size > _COMPACT_BYTES:
            _write(file, read_history(file).queries)


def forget_query(file: Path, query: str) -> None:
    """Keep all but one query. Raises OSError where that cannot be done."""
    with alone(file):
        if file.exists():
            _write(file, read_history(file).without(query).queries)


def _write(file: Path, newest_first: Sequence[str]) -> None:
    replace_file(file, b"".join(map(_line, reversed(newest_first))))


def _line(query: str) -> bytes:
    return json.dumps({"query": query}).encode("ascii") + b"\n"


def _parsed(data: bytes) -> Iterator[str]:
    for line in data.split(b"\n"):
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            query = json.loads(line)["query"]
            if isinstance(query, str) and query.strip():
                yield query
