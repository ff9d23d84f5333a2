"""What a look at an index finds wrong, and how the next build is told of what it would not see by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from excerpt.index.catalog import Catalog
from excerpt.index.writer import SUSPECT

Tick = Callable[[str, int, int, str], None]
"""Called now and then with what is being looked at, how many are done, how many there are, and the note in work."""


class Part(StrEnum):
    """What of an index must be made anew for a fault to be gone: all of it from the vault, one note from its file, or
    words or vectors from the catalog."""

    CATALOG = "catalog"
    NOTE = "note"
    WORDS = "words"
    VECTORS = "vectors"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong. `where` is a note's path or a file of the index; `what` says it in one sentence;
    `digest` is the text whose vector in the catalog cannot be believed."""

    where: str
    what: str
    part: Part
    digest: bytes = b""


class Stale(StrEnum):
    """Why a note is not yet as the vault has it: the next build sees it by itself."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    CUT = "cut otherwise now"


@dataclass(slots=True)
class Health:
    """What a look at an index found. `left` are files in its folder that the generation does not use: name, bytes, and
    whether they are newer than its commit. `behind` says in words what the next build makes anew by itself because
    the code, the model or the tokenizer changed. The counts are of what was looked at."""

    generation: int = 0
    notes: int = 0
    fragments: int = 0
    postings: int = 0
    vectors: int = 0
    size: int = 0
    model: str = ""
    tokenizer: str = ""
    skipped: Counter[str] = field(default_factory=Counter)
    stale: list[tuple[str, Stale]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    left: list[tuple[str, int, bool]] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    seconds: float = 0.0


def tell_builds(folder: Path, faults: Sequence[Fault]) -> None:
    """Let the next build make anew what is at fault, also what no size, time or checksum would show it.

    Raises OSError and sqlite3.DatabaseError.
    """
    parts = {fault.part for fault in faults}
    if Part.CATALOG in parts:
        (folder / SUSPECT).write_text("a check found it wrong", encoding="utf-8")
        return
    with closing(Catalog.open_to_write(folder)) as catalog, catalog.transaction():
        catalog.doubt_notes({fault.where for fault in faults if fault.part is Part.NOTE})
        catalog.forget_vectors({fault.digest for fault in faults if fault.digest})
        doubted = {part.value for part in (Part.WORDS, Part.VECTORS) if part in parts}
        catalog.set_meta("doubted", " ".join(sorted(doubted.union(catalog.meta("doubted").split()))))
