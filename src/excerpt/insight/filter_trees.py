"""The trees of a vault's folders, tags, properties and months, each branch with its filter and its notes.

They are built once for a snapshot, as flat arrays, so that counting the matches in all of them takes two sums. Names
that a filter treats as equal are one branch, labelled with the spelling that most of its notes have.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from excerpt.corpus.facets import EPOCH_ORDINAL, UNKNOWN_DAY, Facets, property_name
from excerpt.corpus.interface import Corpus
from excerpt.insight.filter_text import (
    format_filter,
    format_folder_filter,
    format_property_filter,
    format_property_name,
    format_tag_filter,
)
from excerpt.search.filters import FIRST_DAY, LAST_DAY, midnight_ns
from excerpt.text.folding import fold

Ints = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]

ROOT = -1
"""The position of the root of a tree, the parent of its topmost branches."""


class FilterTree(Struct, frozen=True):
    """A tree of branches (folders, tags, properties or months) as arrays, indexed by the branch's position.

    Siblings are adjacent, in the order of their labels. `build_filter` returns the query filter of the branch at a
    position; filters are built on demand, because there may be hundreds of thousands. The notes of branch i are `notes`
    from `starts[i]` to the next start. `child_ranges[i]` is the range of positions (end exclusive) of its children;
    `child_ranges[ROOT]` is that of the topmost branches.
    """

    labels: Sequence[str]
    build_filter: Callable[[int], str]
    starts: Counts
    notes: Ints
    child_ranges: Ints

    def count(self, fragments: Counts) -> tuple[Counts, Counts]:
        """Return, for each branch, the sum of `fragments` over its notes, and how many of its notes have any.

        `fragments` holds the number of matching fragments of each note of the vault.
        """
        if not len(self.starts):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        counts = fragments[self.notes]
        return np.add.reduceat(counts, self.starts), np.add.reduceat((counts > 0).astype(np.int64), self.starts)


class Branches(Struct, frozen=True):
    """The trees of folders, tags, properties and months (modified, created) of one snapshot of the index."""

    folders: FilterTree
    tags: FilterTree
    properties: FilterTree
    modified: FilterTree
    created: FilterTree


_CACHED_BRANCHES: WeakKeyDictionary[Facets, Branches] = WeakKeyDictionary()


def load_branches(snapshot: Corpus) -> Branches:
    """Return the branches of a snapshot, built on first use and cached as long as the snapshot exists."""
    facets = snapshot.facets
    cached = _CACHED_BRANCHES.get(facets)
    if cached is None:
        cached = _CACHED_BRANCHES[facets] = Branches(
            folders=_build_folder_tree(snapshot.table.paths, facets.paths),
            tags=_build_tag_tree(facets.tags_as_written()),
            properties=_build_property_tree(facets.properties_as_written()),
            modified=_build_month_tree("modified", _list_modified_months(facets)),
            created=_build_month_tree("created", _list_created_months(facets)),
        )
    return cached


class _TreeBuilder:
    """Collects the branches of a tree and their notes, by the branches' numbers, then builds the tree."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}
        self._above: list[int] = []
        self._spellings: list[str] = []
        self._others: dict[int, Counter[str]] = {}
        self._pairs = (array("i"), array("i"))

    def add(self, above: int, name: str, spelling: str, note: int) -> int:
        """Add a note to the branch `name` below the branch number `above` (or ROOT); return the branch's number.

        The branch is created if it does not exist. `spelling` is the name as this note spells it.
        """
        number = self._numbers.setdefault((above, name), len(self._above))
        if number == len(self._above):
            self._above.append(above)
            self._spellings.append(spelling)
        elif spelling != self._spellings[number]:
            self._others.setdefault(number, Counter())[spelling] += 1
        self._pairs[0].append(number)
        self._pairs[1].append(note)
        return number

    def build(self, label: Callable[[str], str], build_filter: Callable[[Sequence[str]], str]) -> FilterTree:
        """Return the tree of all branches that were added.

        `label` returns a branch's label from its spelling. `build_filter` returns its filter from the spellings of its
        ancestors and itself, the topmost first.
        """
        numbers, notes = (np.frombuffer(of, np.int32) if of else np.zeros(0, np.int32) for of in self._pairs)
        spellings = self._choose_spellings(np.bincount(numbers, minlength=len(self._above)))
        labels = list(map(label, spellings))
        order, child_ranges = self._order_by_position(labels)
        nodes = np.empty(len(order), np.int64)
        nodes[order] = np.arange(len(order))
        paired = np.unique(nodes[numbers] << 32 | notes)
        above = np.array(self._above, np.int64)[order]
        parents = np.where(above == ROOT, ROOT, nodes[above]) if len(order) else above

        def build_node_filter(node: int) -> str:
            line: list[str] = []
            while node != ROOT:
                line.append(spelled[node])
                node = int(parents[node])
            return build_filter(line[::-1])

        spelled = [spellings[number] for number in order]
        return FilterTree(
            labels=[labels[number] for number in order],
            build_filter=build_node_filter,
            starts=np.searchsorted(paired >> 32, np.arange(len(order))),
            notes=(paired & 0xFFFFFFFF).astype(np.int32),
            child_ranges=child_ranges,
        )

    def _choose_spellings(self, counts: npt.NDArray[np.intp]) -> list[str]:
        """Return the commonest spelling of each branch, ties by alphabet; `counts` has the notes per spelling."""
        spellings = list(self._spellings)
        for number, others in self._others.items():
            others[spellings[number]] = int(counts[number]) - others.total()
            spellings[number] = min(others, key=lambda spelling: (-others[spelling], spelling))
        return spellings

    def _order_by_position(self, labels: Sequence[str]) -> tuple[list[int], Ints]:
        """Return the branches' numbers in the order of the tree, and the range of positions of each one's children."""
        names = [name for _, name in self._numbers]
        children: dict[int, list[int]] = {}
        for number, above in enumerate(self._above):
            children.setdefault(above, []).append(number)
        order: list[int] = []
        child_ranges = np.zeros((len(names) + 1, 2), np.int32)
        node = ROOT
        while node < len(order):
            child_nodes = children.get(ROOT if node == ROOT else order[node], [])
            child_nodes.sort(key=lambda number: (labels[number], names[number]))
            child_ranges[node] = len(order), len(order) + len(child_nodes)
            order += child_nodes
            node += 1
        return order, child_ranges


def _build_folder_tree(paths: Sequence[str], folded: Sequence[str]) -> FilterTree:
    builder = _TreeBuilder()
    for note, (path, folder) in enumerate(zip(paths, folded, strict=True)):
        _add_to_prefixes(builder, path.split("/"), folder[1:].split("/"), -1, note)

    return builder.build(_strip_parent, lambda spellings: format_folder_filter(spellings[-1]))


def _build_tag_tree(tag_notes: Iterable[tuple[str, int]]) -> FilterTree:
    builder = _TreeBuilder()
    for tag, note in tag_notes:
        if folded := fold(tag).strip("/"):
            _add_to_prefixes(builder, tag.strip("/").split("/"), folded.split("/"), None, note)

    return builder.build(_strip_parent, lambda spellings: format_tag_filter(spellings[-1]))


def _add_to_prefixes(
    builder: _TreeBuilder, spellings: Sequence[str], folded: Sequence[str], end: int | None, note: int
) -> None:
    """Add a note to the branch of each prefix of a name, creating branches as needed.

    `spellings` and `folded` are the parts of the name as spelled and case-folded; parts from `end` on are left out.
    """
    spellings = spellings if len(spellings) == len(folded) else folded
    above = ROOT
    for count, part in enumerate(folded[:end], 1):
        if part:  # empty: invisible characters, or nothing between two slashes
            above = builder.add(above, "/".join(folded[:count]), "/".join(spellings[:count]), note)


def _strip_parent(name: str) -> str:
    """Return the last part of a name with slashes, and with it the parts before that are invisible or empty."""
    parts = name.split("/")
    first = len(parts) - 1
    while first and not fold(parts[first - 1]):
        first -= 1
    return "/".join(parts[first:])


def _build_property_tree(values: Iterable[tuple[str, str, int]]) -> FilterTree:
    builder = _TreeBuilder()
    names: dict[str, str] = {}
    for name, value, note in values:
        if name not in names:
            names[name] = property_name(name)
        above = builder.add(ROOT, names[name], name, note)
        builder.add(above, " ".join(fold(value).split()), " ".join(value.split()), note)

    def build_filter(spellings: Sequence[str]) -> str:
        name = format_property_name(spellings[0])
        if len(spellings) == 1:
            return format_filter(name, "*") if name else ""
        return format_property_filter(*spellings)

    return builder.build(str, build_filter)


def _build_month_tree(name: str, months: Iterable[tuple[int, date]]) -> FilterTree:
    """Return the tree of years and months; `months` are pairs of a note's number and the first day of its month.

    `name` is the filter's name, "modified" or "created".
    """
    builder = _TreeBuilder()
    for note, month in months:
        year = f"{month.year:04}"
        label = f"{year}-{month.month:02}"
        builder.add(builder.add(ROOT, year, year, note), label, label, note)
    return builder.build(str, lambda spellings: format_filter(name, spellings[-1]))


def _list_modified_months(facets: Facets) -> Iterator[tuple[int, date]]:
    """Yield each note's number with the first day of the month in which the note was modified, in local time.

    Times are limited to the range that date filters support, from 1970 to January 2200. If the files were copied, notes
    without a date of their own are left out.
    """
    times, own_days, is_copied = facets.modified, facets.change_days.tolist(), facets.is_copied
    if not len(times):
        return
    within = np.clip(times, midnight_ns(FIRST_DAY), midnight_ns(LAST_DAY))
    first, last = (datetime.fromtimestamp(int(time) // 1_000_000_000).date() for time in (within.min(), within.max()))
    months = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
    month_starts = [date(number // 12, number % 12 + 1, 1) for number in months]
    months_of = np.searchsorted([midnight_ns(day) for day in month_starts], times, side="right") - 1
    for note, (month, own_day) in enumerate(zip(np.maximum(months_of, 0).tolist(), own_days, strict=True)):
        if own_day != UNKNOWN_DAY:
            yield note, date.fromordinal(own_day + EPOCH_ORDINAL).replace(day=1)
        elif not is_copied[note]:
            yield note, month_starts[month]


def _list_created_months(facets: Facets) -> Iterator[tuple[int, date]]:
    for note, day in enumerate(facets.created.tolist()):
        if day != UNKNOWN_DAY:
            yield note, date.fromordinal(day + EPOCH_ORDINAL).replace(day=1)
