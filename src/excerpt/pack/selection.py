"""What the user marked and decided by hand about packs, and the file that keeps it for the next session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from excerpt.kinds import Scope
from excerpt.state_files import read_value, write_value

if TYPE_CHECKING:
    from excerpt.model import Span


# --- overrides --------------------------------------------------------------------------------------------------------
# What the user decided by hand about the packs of a query.


@dataclass(frozen=True, slots=True)
class PackOverrides:
    """The user's decisions, by fragment ids. Immutable: each method returns a changed value, so undo keeps the old one.

    No pack holds a fragment that is `dropped`. The hits in `scopes` grow to the scope given there, whatever the
    settings say. Packs that hold a fragment of `order` come first, in that order.
    """

    dropped: frozenset[str] = frozenset()
    scopes: tuple[tuple[str, Scope], ...] = ()
    order: tuple[str, ...] = ()

    def with_dropped(self, fragment_ids: Iterable[str]) -> PackOverrides:
        return replace(self, dropped=self.dropped.union(fragment_ids))

    def with_scope(self, fragment_ids: Iterable[str], scope: Scope) -> PackOverrides:
        """Return these decisions with `scope` for the hits of these fragments."""
        scopes = {**dict(self.scopes), **dict.fromkeys(fragment_ids, scope)}
        return replace(self, scopes=tuple(sorted(scopes.items())))

    def with_order(self, fragment_ids: Iterable[str]) -> PackOverrides:
        """Return these decisions with packs in the order of these fragments."""
        return replace(self, order=tuple(fragment_ids))


NO_OVERRIDES = PackOverrides()
"""Nothing decided by hand."""


# --- marks file -------------------------------------------------------------------------------------------------------
# What the user marked and decided on the screen, kept from one session to the next, for `excerpt pack --from-marks`.
#
# One file a vault in the state folder:
#
#     {"query": "sync conflicts",
#      "marks": [{"fragment": "4be1c0a2d3f4", "path": "Guides/Sync.md", "spans": [[4, 12]]}],
#      "dropped": [], "scopes": {"4be1c0a2d3f4": "section"}, "order": []}
#
# A mark keeps what matched when it was made: where the fragment has to be shrunk, it is shrunk around that, whatever
# the query says by now. So a pack of marks is the same on the screen and in a pipe. By its `path` a mark is found again
# where its note was renamed or moved (memories.py).

_Offset = Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class MarkedFragment:
    """A fragment marked by hand, and what of its text matched when it was."""

    fragment: str
    path: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedMarks:
    """The marks in the order in which they were made, the query that was asked last, and the overrides for the pack."""

    query: str = ""
    marks: tuple[MarkedFragment, ...] = ()
    overrides: PackOverrides = NO_OVERRIDES


NO_MARKS = SavedMarks()


@dataclass(frozen=True, slots=True)
class _StoredMark:
    fragment: str
    path: str = ""
    spans: tuple[tuple[_Offset, _Offset], ...] = ()


@dataclass(frozen=True, slots=True)
class _MarksFile:
    query: str = ""
    marks: tuple[_StoredMark, ...] = ()
    dropped: tuple[str, ...] = ()
    scopes: dict[str, Scope] = field(default_factory=dict)
    order: tuple[str, ...] = ()


def read_marks(file: Path) -> SavedMarks:
    """Return the kept marks; none if there is no file, or an invalid one."""
    from excerpt.model import Span

    read = read_value(file, _MarksFile, _MarksFile())
    marks = tuple(
        MarkedFragment(mark.fragment, mark.path, tuple(Span(*span) for span in mark.spans)) for mark in read.marks
    )
    overrides = PackOverrides(frozenset(read.dropped), tuple(sorted(read.scopes.items())), read.order)
    return SavedMarks(read.query, marks, overrides)


def write_marks(file: Path, saved: SavedMarks) -> None:
    """Keep this in place of what was kept before: all of it or nothing. Raises OSError."""
    if saved == NO_MARKS:
        file.unlink(missing_ok=True)
        return
    marks = tuple(
        _StoredMark(mark.fragment, mark.path, tuple((span.start, span.end) for span in mark.spans))
        for mark in saved.marks
    )
    overrides = saved.overrides
    shape = _MarksFile(saved.query, marks, tuple(sorted(overrides.dropped)), dict(overrides.scopes), overrides.order)
    write_value(file, shape)
