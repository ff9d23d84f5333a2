"""The distribution of a query's matches over the vault: per folder, tag, property and month.

Matches are those that the search counts: `VaultMap.fragments` is `Result.matched` of the same query. If a branch's
filter is added to the query by `Engine.narrowed`, the search has exactly the branch's number of matches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from excerpt.insight.filter_trees import ROOT, Counts, FilterTree, load_branches
from excerpt.insight.results import Branch, VaultMap
from excerpt.search.engine import Engine

MATCH_ALL_QUERY = "path:/"
"""The query that matches all notes; used in place of an empty query."""
DEFAULT_VALUES_LIMIT = 50
"""The default for the most values that are listed per property."""


def build_vault_map(
    engine: Engine, query: str, values: int | None = DEFAULT_VALUES_LIMIT, *, wordings: Sequence[str] = ()
) -> VaultMap:
    """Return the numbers of matches of `query`, or of other `wordings` of it, per folder, tag, property and month.

    Each property lists at most `values` values; None lists all.
    """
    fragments = engine.count_matches_by_note(query, *wordings)
    snapshot = engine.snapshot
    branches = load_branches(snapshot)
    return VaultMap(
        query=" | ".join((query, *wordings)),
        fragments=int(fragments.sum()),
        notes=int(np.count_nonzero(fragments)),
        folders=_CountedTree(branches.folders, fragments).branches(),
        tags=_CountedTree(branches.tags, fragments).branches(),
        properties=_CountedTree(branches.properties, fragments, limit=values).branches(),
        modified=_CountedTree(branches.modified, fragments, by_count=False).branches(),
        created=_CountedTree(branches.created, fragments, by_count=False).branches(),
        generation=snapshot.generation,
    )


class _CountedTree:
    """A tree with the number of matches of each branch, listed by count or, without `by_count`, in tree order.

    At most `limit` children of a branch are listed, None for all; topmost branches are not limited.
    """

    def __init__(self, tree: FilterTree, fragments: Counts, *, limit: int | None = None, by_count: bool = True) -> None:
        self._tree = tree
        self._fragments, self._notes = tree.count(fragments)
        self._limit = limit
        self._by_count = by_count

    def branches(self, node: int = ROOT) -> tuple[Branch, ...]:
        """Return the child branches with matches of the branch at position `node`."""
        first, last = self._tree.child_ranges[node].tolist()
        children = first + np.flatnonzero(self._fragments[first:last])
        if self._by_count:
            children = self._best_first(children, None if node == ROOT else self._limit)
        return tuple(map(self._branch, children.tolist()))

    def _branch(self, node: int) -> Branch:
        children = self.branches(node)
        first, last = self._tree.child_ranges[node].tolist()
        return Branch(
            label=self._tree.labels[node],
            filter=self._tree.build_filter(node),
            fragments=int(self._fragments[node]),
            notes=int(self._notes[node]),
            branches=children,
            unlisted=int(np.count_nonzero(self._fragments[first:last])) - len(children),
        )

    def _best_first(self, nodes: npt.NDArray[np.intp], limit: int | None) -> npt.NDArray[np.intp]:
        """Return at most `limit` of the positions `nodes` (None for all), those with the most fragments first.

        Ties go to more notes, then to the earlier position.
        """
        if limit is not None and len(nodes) > limit:
            # Few of thousands of values are shown: those below the limit need no sorting.
            counts = self._fragments[nodes]
            threshold = np.partition(counts, len(counts) - limit)[len(counts) - limit] if limit else np.inf
            nodes = nodes[counts >= threshold]
        return nodes[np.lexsort((-self._notes[nodes], -self._fragments[nodes]))][:limit]
