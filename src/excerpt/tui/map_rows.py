"""The map of the matches as rows: which branches of the tree are in sight, and which filters stand in the query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from excerpt.tui.common.strips import sparkline

if TYPE_CHECKING:
    from excerpt.insight.map import Branch, VaultMap

OPEN_AT_FIRST = frozenset({"folders"})
"""Keys of the branches that are open until the user says otherwise."""

_NAMED = 8
"""Branches that a closed row names."""


@dataclass(frozen=True, slots=True)
class MapRow:
    """A row of the tree. `key` stays the same from one map to the next; `parent` is the key of the row it hangs on.

    `branch` is None for the five rows at the top, and for the one that counts the `unlisted`. `is_open` is None where
    nothing hangs on it. `share` is what it has of the largest branch under the same top row, 0 to 1. `told` is what a
    closed row says of what is below it.
    """

    key: str
    parent: str
    depth: int
    label: str
    branch: Branch | None = None
    is_open: bool | None = None
    share: float = 0.0
    told: str = ""
    unlisted: int = 0


def rows_of(vault_map: VaultMap, opened: Set[str]) -> tuple[MapRow, ...]:
    """The rows in sight. A kind that nothing matches in is left out."""
    kinds = {
        "folders": vault_map.folders,
        "tags": vault_map.tags,
        "properties": vault_map.properties,
        "modified": vault_map.modified,
        "created": vault_map.created,
    }
    return tuple(row for name, branches in kinds.items() if branches for row in _Kind(name, branches, opened).rows())


class _Kind:
    """One of the five trees."""

    def __init__(self, name: str, branches: tuple[Branch, ...], opened: Set[str]) -> None:
        self._name = name
        self._branches = branches
        self._opened = opened
        self._is_time = name in ("modified", "created")
        self._largest = max(branch.fragments for branch in branches)

    def rows(self) -> Iterator[MapRow]:
        is_open = self._name in self._opened
        told = "" if is_open else _told(self._branches, is_time=self._is_time)
        yield MapRow(self._name, "", 0, self._name, is_open=is_open, told=told)
        if is_open:
            yield from self._below(self._name, self._branches, 1)

    def _below(self, parent: str, branches: Iterable[Branch], depth: int) -> Iterator[MapRow]:
        for branch in branches:
            key = f"{parent}\n{branch.label}"
            is_open = key in self._opened if branch.branches else None
            told = _told(branch.branches, is_time=self._is_time) if is_open is False else ""
            share = branch.fragments / self._largest if self._largest else 0.0
            yield MapRow(key, parent, depth, branch.label, branch, is_open, share, told)
            if is_open:
                yield from self._below(key, branch.branches, depth + 1)
                if branch.unlisted:
                    yield MapRow(f"{key}\n", key, depth + 1, "", unlisted=branch.unlisted)


def _told(branches: tuple[Branch, ...], *, is_time: bool) -> str:
    """The first names; for years and months, how many there are in each."""
    if not is_time:
        return ", ".join(branch.label for branch in branches[:_NAMED])
    by_label = {branch.label: branch.fragments for branch in branches}
    return sparkline([by_label.get(label, 0) for label in _every(branches)])


def _every(branches: tuple[Branch, ...]) -> list[str]:
    """The labels of all years from the first to the last, or of the twelve months of a year."""
    years = [int(branch.label) for branch in branches if branch.label.isdigit()]
    if years:
        return [str(year) for year in range(min(years), max(years) + 1)]
    return [f"{branches[0].label[:-2]}{month:02}" for month in range(1, 13)] if branches else []


# --- filters in the query ---------------------------------------------------------------------------------------------


def stands_in(query: str, condition: str) -> bool:
    """Whether the filter stands in the query, as it is written on the map."""
    return bool(condition) and _places(condition).search(query) is not None


def without(query: str, condition: str) -> str:
    """The query with that filter taken off, wherever it stands."""
    return _places(condition).sub("", query)


def _places(condition: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S){re.escape(condition)}(?:\s+|$)")
