"""Fragments marked by hand, the user's decisions about packs, and the file that stores them between sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from excerpt.base.kinds import Scope
from excerpt.base.state_files import read_value, write_value

if TYPE_CHECKING:
    from excerpt.base.model import Span


# --- overrides --------------------------------------------------------------------------------------------------------
# The user's decisions by hand about the packs of a query.


class PackOverrides(Struct, frozen=True):
    """The user's decisions by hand about packs, by fragment id. Immutable: methods return a changed copy.

    No pack contains a fragment of `dropped_ids`. Each hit in `scopes` (id and scope) is extended to that scope instead
    of the scope of the settings. Packs with a fragment of `ordered_ids` come first, in this order.
    """

    dropped_ids: frozenset[str] = frozenset()
    scopes: tuple[tuple[str, Scope], ...] = ()
    ordered_ids: tuple[str, ...] = ()

    def with_dropped(self, fragment_ids: Iterable[str]) -> PackOverrides:
        """Return these decisions with these fragments dropped too."""
        return replace(self, dropped_ids=self.dropped_ids.union(fragment_ids))

    def with_scope(self, fragment_ids: Iterable[str], scope: Scope) -> PackOverrides:
        """Return these decisions with `scope` for the hits of these fragments."""
        scopes = {**dict(self.scopes), **dict.fromkeys(fragment_ids, scope)}
        return replace(self, scopes=tuple(sorted(scopes.items())))

    def with_order(self, fragment_ids: Iterable[str]) -> PackOverrides:
        """Return these decisions with the packs in the order of these fragments, instead of any former order."""
        return replace(self, ordered_ids=tuple(fragment_ids))


NO_OVERRIDES = PackOverrides()
"""The overrides of a user who decided nothing by hand."""


# --- marks file -------------------------------------------------------------------------------------------------------
# The marked fragments and decisions of a vault, stored for the next session and for `excerpt pack --from-marks`.
#
# Each vault has one file in the state folder:
#
#     {"query": "sync conflicts",
#      "marks": [{"fragment": "4be1c0a2d3f4", "path": "Guides/Sync.md", "spans": [[4, 12]]}],
#      "dropped": [], "scopes": {"4be1c0a2d3f4": "section"}, "order": []}
#
# A mark stores the spans that matched when it was made. A fragment that must be shrunk is shrunk around these spans,
# whatever the current query is, so a pack of marks is the same on the screen and in a pipe. With its `path`, a mark can
# be followed if its note was renamed or moved (memories.py).

_Offset = Annotated[int, msgspec.Meta(ge=0)]


class MarkedFragment(Struct, frozen=True):
    """A fragment marked by hand: its id, its note's path, and the spans that matched the query at that time."""

    fragment_id: str
    path: str
    spans: tuple[Span, ...] = ()


class SavedMarks(Struct, frozen=True):
    """The contents of a marks file: the last query, the marked fragments in order of marking, and the overrides."""

    query: str = ""
    marks: tuple[MarkedFragment, ...] = ()
    overrides: PackOverrides = NO_OVERRIDES


NO_MARKS = SavedMarks()
"""The contents of a missing marks file."""


class _StoredMark(Struct, frozen=True):
    fragment: str
    path: str = ""
    spans: tuple[tuple[_Offset, _Offset], ...] = ()


class _MarksFile(Struct, frozen=True):
    query: str = ""
    marks: tuple[_StoredMark, ...] = ()
    dropped: tuple[str, ...] = ()
    scopes: dict[str, Scope] = field(default_factory=dict)
    order: tuple[str, ...] = ()


def read_marks(file: Path) -> SavedMarks:
    """Return the contents of the marks file; NO_MARKS if the file is missing or invalid."""
    from excerpt.base.model import Span

    read = read_value(file, _MarksFile, _MarksFile())
    marks = tuple(
        MarkedFragment(mark.fragment, mark.path, tuple(Span(*span) for span in mark.spans)) for mark in read.marks
    )
    overrides = PackOverrides(frozenset(read.dropped), tuple(sorted(read.scopes.items())), read.order)
    return SavedMarks(read.query, marks, overrides)


def write_marks(file: Path, saved: SavedMarks) -> None:
    """Replace the contents of the marks file atomically; NO_MARKS removes the file. Raises OSError."""
    if saved == NO_MARKS:
        file.unlink(missing_ok=True)
        return
    marks = tuple(
        _StoredMark(mark.fragment_id, mark.path, tuple((span.start, span.end) for span in mark.spans))
        for mark in saved.marks
    )
    overrides = saved.overrides
    shape = _MarksFile(
        saved.query, marks, tuple(sorted(overrides.dropped_ids)), dict(overrides.scopes), overrides.ordered_ids
    )
    write_value(file, shape)


class MovedFragments(Struct, frozen=True):
    """The new ids of moved fragments and the new paths of their notes, by old id and old path.

    The value is false if no fragment has moved.
    """

    ids: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.ids)

    def update_marks(self, marks: Sequence[MarkedFragment]) -> tuple[MarkedFragment, ...]:
        """Return the marks with the current ids and paths of their fragments, without duplicates.

        A mark whose fragment was not found stays unchanged.
        """
        now = [
            replace(mark, fragment_id=self.ids[mark.fragment_id], path=self.paths[mark.path])
            if mark.fragment_id in self.ids and mark.path in self.paths
            else mark
            for mark in marks
        ]
        return tuple({mark.fragment_id: mark for mark in reversed(now)}.values())[::-1]

    def update_overrides(self, overrides: PackOverrides) -> PackOverrides:
        """Return the overrides with the current ids of their fragments."""
        return PackOverrides(
            dropped_ids=frozenset(self.ids.get(each, each) for each in overrides.dropped_ids),
            scopes=tuple(sorted({self.ids.get(each, each): scope for each, scope in overrides.scopes}.items())),
            ordered_ids=tuple(dict.fromkeys(self.ids.get(each, each) for each in overrides.ordered_ids)),
        )
