"""The distribution of a query's matches over the vault: per folder, tag, property and month."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from excerpt.corpus.facets import UNKNOWN_DAY, Facets, property_name
from excerpt.corpus.interface import Corpus
from excerpt.json_forms import dataclass_to_json
from excerpt.search.engine import Engine
from excerpt.search.filters import FIRST_DAY, LAST_DAY, midnight_ns
from excerpt.search.query import FILTER_OPERATORS
from excerpt.text.words import fold

# --- branches ---------------------------------------------------------------------------------------------------------
# The branches of a vault's folders, tags, properties and months: their labels and the notes in them.
#
# They are built once for a snapshot, as flat arrays, so that counting the matches in all of them takes two sums. Names
# that a filter treats as equal are one branch, labelled with the spelling that most of its notes have.

Ints = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]

ROOT = -1
"""The position that stands for the parent of a tree's topmost branches."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree of branches as arrays; siblings are adjacent, in the order of their labels.

    `filter_of` returns the filter of a branch by position: a function, because there may be hundreds of thousands and
    few are shown. The notes of branch i are those in `notes` from `starts[i]` to the next start, each once. `below`
    holds the first and last position (exclusive) of each branch's children, and at ROOT those of the topmost branches.
    """

    labels: Sequence[str]
    filter_of: Callable[[int], str]
    starts: Counts
    notes: Ints
    below: Ints

    def count(self, fragments: Counts) -> tuple[Counts, Counts]:
        """Return, for each branch, the sum of its notes' `fragments`, and the number of its notes that have any."""
        if not len(self.starts):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        counts = fragments[self.notes]
        return np.add.reduceat(counts, self.starts), np.add.reduceat((counts > 0).astype(np.int64), self.starts)


@dataclass(frozen=True, slots=True)
class Branches:
    """All trees of one snapshot."""

    folders: Tree
    tags: Tree
    properties: Tree
    modified: Tree
    created: Tree


_KNOWN: WeakKeyDictionary[Facets, Branches] = WeakKeyDictionary()


def branches_of(snapshot: Corpus) -> Branches:
    """Return the branches of a snapshot, built on first use and cached as long as the snapshot exists."""
    facets = snapshot.facets
    cached = _KNOWN.get(facets)
    if cached is None:
        cached = _KNOWN[facets] = Branches(
            folders=_folders(snapshot.table.paths, facets.paths),
            tags=_tags(facets.tags_as_written()),
            properties=_properties(facets.properties_as_written()),
            modified=_by_month("modified", _months_modified(facets)),
            created=_by_month("created", _months_created(facets)),
        )
    return cached


# --- a tree -----------------------------------------------------------------------------------------------------------


class _Gathered:
    """The branches of a tree that is being built, and their notes, by number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}
        self._above: list[int] = []
        self._spellings: list[str] = []
        self._others: dict[int, Counter[str]] = {}
        self._pairs = (array("i"), array("i"))

    def add(self, above: int, name: str, spelling: str, note: int) -> int:
        """Add a note to the branch `name` below branch `above` (a number, or ROOT), and return the branch's number.

        `spelling` is the name as the note has it.
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

    def tree(self, label: Callable[[str], str], filter_of: Callable[[Sequence[str]], str]) -> Tree:
        """Build the tree.

        `filter_of` makes a filter from the spellings of a branch and its ancestors, the topmost first.
        """
        numbers, notes = (np.frombuffer(of, np.int32) if of else np.zeros(0, np.int32) for of in self._pairs)
        spellings = self._commonest(np.bincount(numbers, minlength=len(self._above)))
        labels = list(map(label, spellings))
        order, below = self._laid_out(labels)
        nodes = np.empty(len(order), np.int64)
        nodes[order] = np.arange(len(order))
        paired = np.unique(nodes[numbers] << 32 | notes)
        above = np.array(self._above, np.int64)[order]
        parents = np.where(above == ROOT, ROOT, nodes[above]) if len(order) else above

        def ask(node: int) -> str:
            line: list[str] = []
            while node != ROOT:
                line.append(spelled[node])
                node = int(parents[node])
            return filter_of(line[::-1])

        spelled = [spellings[number] for number in order]
        return Tree(
            labels=[labels[number] for number in order],
            filter_of=ask,
            starts=np.searchsorted(paired >> 32, np.arange(len(order))),
            notes=(paired & 0xFFFFFFFF).astype(np.int32),
            below=below,
        )

    def _commonest(self, counts: npt.NDArray[np.intp]) -> list[str]:
        """Return the commonest spelling of each branch; ties go to the alphabetically first."""
        spellings = list(self._spellings)
        for number, others in self._others.items():
            others[spellings[number]] = int(counts[number]) - others.total()
            spellings[number] = min(others, key=lambda spelling: (-others[spelling], spelling))
        return spellings

    def _laid_out(self, labels: Sequence[str]) -> tuple[list[int], Ints]:
        """Return the branches' numbers in the order of their positions, and the positions of the children of each."""
        names = [name for _, name in self._numbers]
        children: dict[int, list[int]] = {}
        for number, above in enumerate(self._above):
            children.setdefault(above, []).append(number)
        order: list[int] = []
        below = np.zeros((len(names) + 1, 2), np.int32)
        node = ROOT
        while node < len(order):
            child_nodes = children.get(ROOT if node == ROOT else order[node], [])
            child_nodes.sort(key=lambda number: (labels[number], names[number]))
            below[node] = len(order), len(order) + len(child_nodes)
            order += child_nodes
            node += 1
        return order, below


# --- filters ----------------------------------------------------------------------------------------------------------

_PLAIN = re.compile(r"[=/]?[^\W_][\w./-]*|\*")
_PLAIN_NAME = re.compile(r"\w[\w.-]*")
_LONGEST_NAME = 100  # the longest name that a query may have


def filter_for(name: str, value: str) -> str:
    """Return a filter as the user types it."""
    return f"{name}:{value if _PLAIN.fullmatch(value) else _quote(value)}"


def folder_filter(folder: str) -> str:
    """Return the filter for the notes in a folder and its subfolders."""
    path_part = f"/{folder}/"
    return filter_for("path", f"={path_part}" if "*" in fold(path_part) else path_part)


def tag_filter(tag: str) -> str:
    """Return the filter for a tag and its nested tags; "" for a tag that no filter can express."""
    # A filter ignores signs at its end, which a tag may have before a slash.
    is_askable = fold(tag.strip().lstrip("#")).strip("/") == fold(tag).strip("/")
    return filter_for("tag", tag) if is_askable else ""


def value_filter(name: str, value: str) -> str:
    """Return the filter for a property's value; "" for a value that no filter can express."""
    filter_name = property_filter_name(name)
    return filter_for(filter_name, f"={value}") if filter_name and fold(value).strip() else ""


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


# --- names within names -----------------------------------------------------------------------------------------------


def _folders(paths: Sequence[str], folded: Sequence[str]) -> Tree:
    gathered = _Gathered()
    for note, (path, folder) in enumerate(zip(paths, folded, strict=True)):
        _add(gathered, path.split("/"), folder[1:].split("/"), -1, note)

    return gathered.tree(_last_part, lambda spellings: folder_filter(spellings[-1]))


def _tags(tag_notes: Iterable[tuple[str, int]]) -> Tree:
    gathered = _Gathered()
    for tag, note in tag_notes:
        if folded := fold(tag).strip("/"):
            _add(gathered, tag.strip("/").split("/"), folded.split("/"), None, note)

    return gathered.tree(_last_part, lambda spellings: tag_filter(spellings[-1]))


def _add(gathered: _Gathered, spellings: Sequence[str], folded: Sequence[str], last: int | None, note: int) -> None:
    """Add a note to the branch of each prefix of its folded name, up to the part `last` (exclusive)."""
    spellings = spellings if len(spellings) == len(folded) else folded
    above = ROOT
    for count, part in enumerate(folded[:last], 1):
        if part:  # empty: invisible characters, or nothing between two slashes
            above = gathered.add(above, "/".join(folded[:count]), "/".join(spellings[:count]), note)


def _last_part(name: str) -> str:
    """Return a name without its parent's: its last part, with the parts before it that are no branch."""
    parts = name.split("/")
    first = len(parts) - 1
    while first and not fold(parts[first - 1]):
        first -= 1
    return "/".join(parts[first:])


# --- properties -------------------------------------------------------------------------------------------------------


def _properties(values: Iterable[tuple[str, str, int]]) -> Tree:
    gathered = _Gathered()
    names: dict[str, str] = {}
    for name, value, note in values:
        if name not in names:
            names[name] = property_name(name)
        above = gathered.add(ROOT, names[name], name, note)
        gathered.add(above, " ".join(fold(value).split()), " ".join(value.split()), note)

    def filter_of(spellings: Sequence[str]) -> str:
        name = property_filter_name(spellings[0])
        if len(spellings) == 1:
            return filter_for(name, "*") if name else ""
        return value_filter(*spellings)

    return gathered.tree(str, filter_of)


def property_filter_name(name: str) -> str:
    """Return a property's name as written in a filter; "" if it is too long."""
    bare = "-".join(name.split())
    if _PLAIN_NAME.fullmatch(bare) and fold(bare) not in FILTER_OPERATORS and len(bare) <= _LONGEST_NAME:
        return bare
    return _quote(name) if len(name) <= _LONGEST_NAME else ""


# --- months -----------------------------------------------------------------------------------------------------------


def _by_month(name: str, months: Iterable[tuple[int, date]]) -> Tree:
    """Return the tree of years and months; `months` are notes with the first days of their months."""
    gathered = _Gathered()
    for note, month in months:
        year = f"{month.year:04}"
        label = f"{year}-{month.month:02}"
        gathered.add(gathered.add(ROOT, year, year, note), label, label, note)
    return gathered.tree(str, lambda spellings: filter_for(name, spellings[-1]))


def _months_modified(facets: Facets) -> Iterator[tuple[int, date]]:
    """Yield each note with the first day of the month in which it was modified, in local time.

    Times are limited to the range that date filters support, from 1970 to January 2200.
    """
    times = facets.modified
    if not len(times):
        return
    within = np.clip(times, midnight_ns(FIRST_DAY), midnight_ns(LAST_DAY))
    first, last = (datetime.fromtimestamp(int(time) // 1_000_000_000).date() for time in (within.min(), within.max()))
    months = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
    month_starts = [date(number // 12, number % 12 + 1, 1) for number in months]
    months_of = np.searchsorted([midnight_ns(day) for day in month_starts], times, side="right") - 1
    for note, month in enumerate(np.maximum(months_of, 0).tolist()):
        yield note, month_starts[month]


def _months_created(facets: Facets) -> Iterator[tuple[int, date]]:
    epoch = date(1970, 1, 1).toordinal()
    for note, day in enumerate(facets.created.tolist()):
        if day != UNKNOWN_DAY:
            yield note, date.fromordinal(day + epoch).replace(day=1)


# --- map --------------------------------------------------------------------------------------------------------------
# The distribution of a query's matches over the vault: per folder, tag, property and month, each with its filter.
#
# Matches are those that the search counts: `VaultMap.fragments` is `Result.matched` of the same query. If a branch's
# filter is added to the query by `Engine.narrowed`, the search has exactly the branch's number of matches.

EVERYTHING = "path:/"
"""The query that is used without a given one: it matches all notes."""
VALUES = 50
"""The default limit of listed values of a property."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A folder, tag, property, value, year or month, with the number of matching fragments and of their notes.

    `label` is the text beside its count, in the spelling of most notes: the folder's own name, the last part of a tag,
    a property's name or one of its values, `2025` or `2025-03`. Spellings that filters treat as equal are one branch.
    `filter` is the condition for `Engine.narrowed` to drill down, such as `path:/Projects/`. `branches` are its
    children with matches; `unlisted` is the number of further children with matches.
    """

    label: str
    filter: str
    fragments: int
    notes: int
    branches: tuple[Branch, ...] = ()
    unlisted: int = 0


@dataclass(frozen=True, slots=True)
class VaultMap:
    """The matches of a query, per folder (any depth), tag (nested), property (with its values) and month (in years).

    `fragments` and `notes` are the numbers of all matches; a note may have several tags and values or none, so branches
    need not add up to them. `created` omits notes without a date of creation; months are in local time, oldest first.
    All other branches are ordered by count, then by label. `generation` is the index's.
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

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt map`."""
        return dataclass_to_json(self)


def matches_map(engine: Engine, query: str, values: int | None = VALUES) -> VaultMap:
    """Return the distribution of the matches of `query`; each property lists at most `values` values, None for all."""
    fragments = engine.count_matches_by_note(query)
    snapshot = engine.snapshot
    branches = branches_of(snapshot)
    return VaultMap(
        query=query,
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
    """A tree with its counts. `limit` limits the branches that are listed below each one that is not the top."""

    def __init__(self, tree: Tree, fragments: Counts, *, limit: int | None = None, by_count: bool = True) -> None:
        self._tree = tree
        self._fragments, self._notes = tree.count(fragments)
        self._limit = limit
        self._by_count = by_count

    def branches(self, node: int = ROOT) -> tuple[Branch, ...]:
        first, last = self._tree.below[node].tolist()
        children = first + np.flatnonzero(self._fragments[first:last])
        if self._by_count:
            children = self._best_first(children, None if node == ROOT else self._limit)
        return tuple(map(self._branch, children.tolist()))

    def _branch(self, node: int) -> Branch:
        below = self.branches(node)
        first, last = self._tree.below[node].tolist()
        return Branch(
            label=self._tree.labels[node],
            filter=self._tree.filter_of(node),
            fragments=int(self._fragments[node]),
            notes=int(self._notes[node]),
            branches=below,
            unlisted=int(np.count_nonzero(self._fragments[first:last])) - len(below),
        )

    def _best_first(self, nodes: npt.NDArray[np.intp], limit: int | None) -> npt.NDArray[np.intp]:
        """Return the positions `nodes` by fragments, then notes, then in their present order.

        Only the first `limit`, None for all.
        """
        if limit is not None and len(nodes) > limit:
            # Few of thousands of values are shown: those below the limit need no sorting.
            counts = self._fragments[nodes]
            threshold = np.partition(counts, len(counts) - limit)[len(counts) - limit] if limit else np.inf
            nodes = nodes[counts >= threshold]
        return nodes[np.lexsort((-self._notes[nodes], -self._fragments[nodes]))][:limit]
