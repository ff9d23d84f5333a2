"""Measure where the CPU seconds of a build go: one process builds an index from nothing, with a clock on each part.

    python -m benchmarks.build_parts VAULT

The program spreads the same work over processes, each of which stems the words that are new to it; so its total is a
little higher.
"""

from __future__ import annotations

import functools
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Clock:
    """CPU seconds by part; a nested part is not counted in the outer one."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.parts: set[str] = set()
        self._open: list[float] = []

    def watch(self, owner: object, name: str, part: str) -> None:
        """Measure a function of a module or class, for the rest of the process."""
        function: Callable[..., Any] = getattr(owner, name)
        self.parts.add(part)

        @functools.wraps(function)
        def timed(*values: Any, **named: Any) -> Any:
            began = time.process_time()
            self._open.append(0.0)
            try:
                return function(*values, **named)
            finally:
                spent = time.process_time() - began
                self.seconds[part] += spent - self._open.pop()
                if self._open:
                    self._open[-1] += spent

        setattr(owner, name, timed)


def measure(vault: Path) -> dict[str, float]:
    """Return the CPU seconds of each part, and of the whole as "all".

    Raises SystemExit if a build calls none of the functions of a part.
    """
    from excerpt.base.settings import Settings
    from excerpt.encoders import static_model
    from excerpt.index import build, catalog, lexical_writer, pool, postings, prepare, vectors
    from excerpt.text import markdown
    from excerpt.vault.readers import markdown as reader

    clock = Clock()
    for owner, name, part in (
        (prepare, "load_bytes", "read files"),
        (reader, "parse_note", "frontmatter, language, sections"),
        (markdown, "parse_blocks", "Markdown blocks"),
        (markdown, "parse_links_and_tags", "links and tags"),
        (prepare, "fragments_of", "fragments and their tokens"),
        (prepare, "compress_text", "compress notes"),
        (prepare, "tokenize_names", "names of notes, texts of links"),
        (postings.FieldCollector, "add_note", "words"),
        (postings.FieldCollector, "inverted", "count words"),
        (static_model.Embedder, "embed", "embed"),
        (catalog.Catalog, "rows", "catalog"),
        (catalog.Catalog, "_execute_many", "catalog"),
        (lexical_writer.LexicalWriter, "add", "postings"),
        (lexical_writer.LexicalWriter, "commit", "postings"),
        (vectors.MatrixWriter, "commit", "matrix"),
    ):
        clock.watch(owner, name, part)
    pool._WORKERS_FROM_BYTES = sys.maxsize
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        build.build(vault, Path(folder), Settings())
    spent = time.process_time() - began
    if uncalled := clock.parts - clock.seconds.keys():
        raise SystemExit(f"A build does not call what is watched for: {', '.join(sorted(uncalled))}.")
    known = sum(clock.seconds.values())
    return {**clock.seconds, "the rest (tokens of notes, rows, model, plumbing)": spent - known, "all": spent}


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
