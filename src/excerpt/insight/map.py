"""Where in the vault a query's matches are: per folder, tag, property and month, each with the filter that leads there.

What matches is what the search counts: `VaultMap.fragments` is `Result.matched` of the same query. A branch's filter,
put into the query by `Engine.narrowed`, makes a search that matches exactly as many fragments as the branch says.
"""

from __future__ import annotations

from dataclasses import dataclass


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
