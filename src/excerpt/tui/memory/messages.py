"""What the thread of the memories says to the screen, and what the panes ask of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from pathlib import Path

    from excerpt.memory.offers import Offer
    from excerpt.memory.recalling import Recalled
    from excerpt.memory.stale import Standing
    from excerpt.model import Hit, Memory, Skipped

Tags = tuple[tuple[str, int], ...]
"""Tags in use with how many memories have them, most used first."""


@dataclass
class MemoriesListed(Message):
    """The memories that a filter leaves, the answer of that number; how many there are in all, and the files that
    cannot be read as one. `unranked` says why they were found by words alone, "" if they were not."""

    number: int
    found: tuple[Recalled, ...]
    total: int
    broken: tuple[Skipped, ...]
    tags: Tags
    unranked: str = ""


@dataclass
class MemoriesFound(Message):
    """The memories that answer a query, as hits, and all there are: the answer of that number."""

    number: int
    hits: tuple[Hit, ...]
    memories: tuple[Memory, ...]


@dataclass
class OffersKnown(Message):
    """What is remembered already of the same thing, the answer of that number, and the tags in use."""

    number: int
    offers: tuple[Offer, ...]
    tags: Tags


@dataclass
class MemoryChanged(Message):
    """A decision about a memory is done, or taken back; `told` says so in a sentence."""

    told: str
    memory_id: str


@dataclass
class StandingsKnown(Message):
    """How memories stand to their sources, by their ids: part of what the look of that number finds."""

    number: int
    standings: dict[str, Standing]


@dataclass
class RecallRequested(Message):
    """Ask for the memories that answer `query`; without one, for all there are alone."""

    number: int
    query: str


@dataclass
class MemoryFileRequested(Message):
    """Open a file of the memory folder in the editor."""

    file: Path


@dataclass
class MemoryEditRequested(Message):
    """Open a memory in the form."""

    memory: Memory
