"""How commands print memories: for a reader, and as data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from excerpt.cli.printing import for_stdout, narrate
from excerpt.model import Memory, Source
from excerpt.settings import Places, Settings
from excerpt.text.line_range import line_range
from excerpt.text.visible import visible_line

if TYPE_CHECKING:
    from excerpt.memory.offers import Offer
    from excerpt.memory.recalling import Recaller
    from excerpt.memory.stale import Standing

_BEGINNING = 60


@contextmanager
def recaller_of(vault: Path, settings: Settings, where: Places) -> Iterator[Recaller]:
    """What recalls the memories of a vault; says on stderr which files cannot be read as one."""
    from excerpt.memory.recalling import Recaller

    recaller = Recaller(where.memory_folder(vault), where.memory_index_folder(vault), settings)
    everything = recaller.store.all()
    for broken in everything.broken:
        narrate(f"the memory {broken.path} cannot be read: {broken.reason}")
    for copied in everything.copies:
        narrate(f"the memory {copied.path} is a copy of {copied.of}; it goes by {copied.id}.")
    try:
        yield recaller
    finally:
        recaller.close()
    if recaller.unranked:
        narrate(f"memories were looked for by words alone: {recaller.unranked}")


def memory_as_json(memory: Memory) -> dict[str, Any]:
    return asdict(memory)


def offer_as_json(offer: Offer) -> dict[str, Any]:
    return {
        "id": offer.memory.id,
        "text": offer.memory.text,
        "same_source": offer.is_same_source,
        "likeness": round(offer.likeness, 3),
    }


def standing_as_json(standing: Standing) -> dict[str, Any]:
    source = standing.source
    return {
        "kind": standing.kind.value,
        "stale": standing.is_stale,
        "source": None if source is None else asdict(source),
        "now": standing.now,
    }


def beginning_of(memory: Memory) -> str:
    """The first words of a memory, on one line."""
    line = " ".join(memory.text.split())
    return line if len(line) <= _BEGINNING else f"{line[:_BEGINNING].rstrip()}…"


def shown(memory: Memory, standing: Standing | None = None) -> str:
    """A memory for a reader, and how it stands to its source where that was looked at."""
    head = [memory.id, memory.created, *(f"#{tag}" for tag in memory.tags)]
    lines = [visible_line(" · ".join(head))]
    if memory.source:
        lines.append(visible_line(f"from {_place(memory.source)}"))
    if standing is not None:
        lines += _told(standing)
    if memory.why:
        lines.append(visible_line(f"why: {memory.why}"))
    return "\n".join((*lines, for_stdout(memory.text)))


def _told(standing: Standing) -> list[str]:
    """What became of the source, in one line, and where it has changed, the lines that differ."""
    from excerpt.memory.difference import side_by_side
    from excerpt.memory.stale import Kind

    source = standing.source
    if standing.kind is Kind.GONE:
        return ["gone: its source is not in the vault any more"]
    if source is None or standing.kind is Kind.FRESH:
        return []
    if standing.kind is Kind.MOVED:
        return [visible_line(f"moved: now at {_place(source)}")]
    rows = [row for row in side_by_side(standing.memory.text, standing.now) if not row.is_same]
    before = [f"- {row.before}" for row in rows if row.before is not None]
    after = [f"+ {row.after}" for row in rows if row.after is not None]
    return [visible_line(line) for line in (f"changed: see {_place(source)}", *before, *after)]


def _place(source: Source) -> str:
    return f"{source.path}:{line_range(source.line_start, source.line_end)}" if source.line_start else source.path
