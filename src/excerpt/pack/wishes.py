"""What the user decided by hand about the packs of a query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from excerpt.kinds import Scope


@dataclass(frozen=True, slots=True)
class Wishes:
    """Decisions by the ids of fragments. A value: each method gives another one, and undo is the one before.

    No pack holds a fragment that is `dropped`. The hits in `scopes` are grown to the scope given there, whatever the
    settings say. Packs that hold a fragment of `order` come first, in that order.
    """

    dropped: frozenset[str] = frozenset()
    scopes: tuple[tuple[str, Scope], ...] = ()
    order: tuple[str, ...] = ()

    def dropping(self, fragment_ids: Iterable[str]) -> Wishes:
        return replace(self, dropped=self.dropped.union(fragment_ids))

    def growing(self, fragment_ids: Iterable[str], scope: Scope) -> Wishes:
        """The hits of these fragments grown to `scope`; to give a pack another scope, those that it holds."""
        scopes = {**dict(self.scopes), **dict.fromkeys(fragment_ids, scope)}
        return replace(self, scopes=tuple(sorted(scopes.items())))

    def ordering(self, fragment_ids: Iterable[str]) -> Wishes:
        """Packs in the order of these fragments, such as the entries of the packs as they are to stand."""
        return replace(self, order=tuple(fragment_ids))


AS_RANKED = Wishes()
"""Nothing decided by hand."""
