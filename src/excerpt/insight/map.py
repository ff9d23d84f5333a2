"""Where in the vault a query's matches are: per folder, tag, property and month, each with the filter that leads there.

What matches is what the search counts: `VaultMap.fragments` is `Result.matched` of the same query. A branch's filter,
put into the query by `Engine.narrowed`, makes a search that matches exactly as many fragments as the branch says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from excerpt.insight.branches import ROOT, Counts, Tree, branches_of
from excerpt.search.engine import Engine

EVERYTHING = "path:/"
"""The query to ask where none is given: all notes."""
VALUES = 50
"""Values of a property that are listed unless more are asked for."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A folder, tag, property, value, year or month: how many fragments match in it, and in how many notes.

    `label` is what stands beside its count, as most notes spell it: the folder's own name, the last part of a tag, a
    property's name or one of its values, `2025` or `2025-03`. Spellings that filters hold for one are one branch.
    `filter` is what `Engine.narrowed` takes to drill down, `path:/Projects/` or the like. `branches` are what is below
    it; those that match nothing are not there. `unlisted` is how many more there are below it than are listed.
    """

    label: str
    filter: str
    fragments: int
    notes: int
    branches: tuple[Branch, ...] = ()
    unlisted: int = 0


@dataclass(frozen=True, slots=True)
class VaultMap:
    """What matches a query, per folder (any depth), tag (nested), property (with its values) and month (in years).

    `fragments` and `notes` are all that match; a note may be in several tags and values or in none, so branches need
    not add up to it. `created` leaves out notes that do not say when; months are the reader's own, oldest first. All
    else is by count, then by label. `generation` is the index's.
    """

    query: str
    fragments: int
    notes: int
    folders: tuple[Branch, ...]
    tags: tuple[Branch, ...]
    properties: tuple[Branch, ...]
    modified: tuple[Branch, ...]
    created: tuple[Branch, ...]
    generation: int


def matches_map(engine: Engine, query: str, values: int | None = VALUES) -> VaultMap:
    """Where the matches of `query` are. Of each property at most so many `values` are listed, None for all."""
    snapshot = engine.snapshot
    table = snapshot.table
    matching = table.notes[engine.matching(query)]
    fragments = np.bincount(matching, minlength=len(table.paths))
    branches = branches_of(snapshot)
    return VaultMap(
        query=query,
        fragments=len(matching),
        notes=int(np.count_nonzero(fragments)),
        folders=_Counted(branches.folders, fragments).below(),
        tags=_Counted(branches.tags, fragments).below(),
        properties=_Counted(branches.properties, fragments, most=values).below(),
        modified=_Counted(branches.modified, fragments, by_count=False).below(),
        created=_Counted(branches.created, fragments, by_count=False).below(),
        generation=snapshot.generation,
    )


class _Counted:
    """A tree with its counts. `most` is how many branches are listed below one that is not the top."""

    def __init__(self, tree: Tree, fragments: Counts, *, most: int | None = None, by_count: bool = True) -> None:
        self._tree = tree
        self._fragments, self._notes = tree.count(fragments)
        self._most = most
        self._by_count = by_count

    def below(self, place: int = ROOT) -> tuple[Branch, ...]:
        first, last = self._tree.below[place].tolist()
        places = first + np.flatnonzero(self._fragments[first:last])
        if self._by_count:
            places = self._best_first(places, None if place == ROOT else self._most)
        return tuple(map(self._branch, places.tolist()))

    def _branch(self, place: int) -> Branch:
        below = self.below(place)
        first, last = self._tree.below[place].tolist()
        return Branch(
            label=self._tree.labels[place],
            filter=self._tree.asked(place),
            fragments=int(self._fragments[place]),
            notes=int(self._notes[place]),
            branches=below,
            unlisted=int(np.count_nonzero(self._fragments[first:last])) - len(below),
        )

    def _best_first(self, places: npt.NDArray[np.intp], most: int | None) -> npt.NDArray[np.intp]:
        """By fragments, then notes, then as they are; the first `most`."""
        if most is not None and len(places) > most:
            # Of thousands of values few are shown: those that cannot be among them need no order.
            counts = self._fragments[places]
            least = np.partition(counts, len(counts) - most)[len(counts) - most] if most else np.inf
            places = places[counts >= least]
        return places[np.lexsort((-self._notes[places], -self._fragments[places]))][:most]
