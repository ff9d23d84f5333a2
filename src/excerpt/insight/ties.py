"""What connects notes beside their text: links, tags, and where they are kept. A number from 0 to 1 for each note."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from excerpt.index.snapshot import Snapshot
from excerpt.text.folding import fold

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

HALF = 1.5
"""Links in common that make half of all there could be: about three by way of notes with few links, ten by way of notes
with many."""
_DIVIDES = re.compile(r"[/.]")
_BEHIND_ALL = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Links:
    """The notes that one note links to, those that link to it (numbers, ascending), and for every note how much of that
    it has in common with it."""

    to: Ints
    back: Ints
    common: Floats

    @property
    def direct(self) -> Floats:
        """For every note, 1 if both link to each other, half of it if one does."""
        found = np.zeros(len(self.common), np.float32)
        found[self.to] += 0.5
        found[self.back] += 0.5
        return found


def links_of(snapshot: Snapshot, note: int) -> Links:
    """The links of a note, and what others have in common with it.

    A third note that both link to, or that links to both, counts the less, the more links lead to it or from it (Adamic
    and Adar, 2003): that two notes stand on the same index page says little.
    """
    count = len(snapshot.table.paths)
    sources, targets = snapshot.facets.links
    to, back = targets[sources == note], sources[targets == note]
    linked_from, links_to = np.bincount(targets, minlength=count), np.bincount(sources, minlength=count)
    alike, beside = np.isin(targets, to), np.isin(sources, back)
    common = np.zeros(count)
    common += np.bincount(sources[alike], 1 / np.log(2 + linked_from[targets[alike]]), count)
    common += np.bincount(targets[beside], 1 / np.log(2 + links_to[sources[beside]]), count)
    common[note] = 0
    return Links(np.sort(to), np.sort(back), (common / (common + HALF)).astype(np.float32))


def in_common(snapshot: Snapshot, links: Links, other: int) -> tuple[list[int], list[int]]:
    """The third notes that a note with these `links` and the `other` both link to, and those that link to both: the
    ones with the fewest links first."""
    sources, targets = snapshot.facets.links
    both = np.intersect1d(links.to, targets[sources == other])
    back = np.intersect1d(links.back, sources[targets == other])
    return (
        sorted(both.tolist(), key=lambda note: (int(np.count_nonzero(targets == note)), note)),
        sorted(back.tolist(), key=lambda note: (int(np.count_nonzero(sources == note)), note)),
    )


def by_tags(snapshot: Snapshot, tags: Iterable[str]) -> Floats:
    """For each note, the rarity of the `tags` that it has too, as a share of that of all."""
    count = len(snapshot.table.paths)
    value = np.zeros(count, np.float32)
    every = 0.0
    for tag in sorted({fold(tag).strip("/") for tag in tags}):
        notes = snapshot.facets.tags.get(tag)
        if notes is not None and len(notes) > 1:
            value[notes] += rarity(len(notes), count)
            every += rarity(len(notes), count)
    return value / np.float32(max(every, 1e-9))


def shared_place(paths: Sequence[str], path: str, other: str) -> str:
    """The smallest folder that two notes are in, or the beginning that their names have in common up to a dot (in some
    vaults, `project.alpha.plan` is below `project.alpha`); "" where that is the whole vault."""
    found = ""
    for place in _places(path):
        if not other.startswith(place):
            break
        found = place
    return found if found and _kept_in(paths, found) < len(paths) else ""


def by_place(paths: Sequence[str], path: str, notes: Ints) -> Floats:
    """For each of `notes`, how small the place is that it shares with `path`. `paths` are the vault's, sorted."""
    sizes = {place: rarity(_kept_in(paths, place), len(paths)) for place in _places(path)}
    shared = (shared_place(paths, path, paths[note]) for note in notes.tolist())
    return np.array([sizes.get(place, 0.0) for place in shared], np.float32)


def _places(path: str) -> list[str]:
    """The folders that a note is in, and the beginnings of its name, the largest first."""
    name = path.rpartition(".")[0]
    return [path[: found.end()] for found in _DIVIDES.finditer(name)]


def _kept_in(paths: Sequence[str], place: str) -> int:
    return bisect_left(paths, place + _BEHIND_ALL) - bisect_left(paths, place)


def rarity(some: int, every: int) -> float:
    """1 for what one of all has, 0 for what all have, by the logarithm."""
    return float(1 - np.log(max(some, 1)) / np.log(every)) if every > 1 else 0.0
