"""What the user decides by hand about packs, and taking it back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from excerpt.kinds import Scope
from excerpt.pack.marks_file import NOTHING_KEPT, Kept, Mark
from excerpt.pack.wishes import AS_RANKED, Wishes

if TYPE_CHECKING:
    from excerpt.pack.moved_marks import MarkMoves

MOST_STEPS = 200
"""Decisions that can be taken back."""


@dataclass(frozen=True, slots=True)
class Choices:
    """Marks, and what is wished for the pack: of them, or, while nothing is marked, of the top hits of a query.

    Wishes for marks stay while the query changes. Those for top hits are the query's, and are there again with it. A
    value: each method gives another one.
    """

    marks: tuple[Mark, ...] = ()
    of_marks: Wishes = AS_RANKED
    of_queries: Mapping[str, Wishes] = field(default_factory=dict)
    ranked: bool = True

    @property
    def marked(self) -> frozenset[str]:
        """Ids of the marked fragments."""
        return frozenset(mark.fragment for mark in self.marks)

    def wishes(self, query: str) -> Wishes:
        """Those that count for the pack as it is now, where `query` is asked."""
        return self.of_marks if self.marks else self.of_queries.get(query, AS_RANKED)

    def kept(self, query: str) -> Kept:
        """What is kept from one session to the next: the marks, with what belongs to them."""
        return Kept(query, self.marks, self.of_marks) if self.marks else NOTHING_KEPT

    def toggling(self, mark: Mark) -> Choices:
        """Marked, or no longer. A fragment that was dropped before comes back with its mark."""
        marks = tuple(each for each in self.marks if each.fragment != mark.fragment)
        if len(marks) == len(self.marks):
            marks = (*marks, mark)
        if not marks:
            return self.unmarked()
        dropped = self.of_marks.dropped - {mark.fragment}
        return replace(self, marks=marks, of_marks=replace(self.of_marks, dropped=dropped))

    def unmarked(self) -> Choices:
        return replace(self, marks=(), of_marks=AS_RANKED)

    def dropping(self, query: str, fragment_ids: Iterable[str]) -> Choices:
        return self._wishing(query, self.wishes(query).dropping(fragment_ids))

    def returning(self, query: str, fragment_ids: Iterable[str]) -> Choices:
        """With these no longer dropped."""
        wishes = self.wishes(query)
        return self._wishing(query, replace(wishes, dropped=wishes.dropped.difference(fragment_ids)))

    def growing(self, query: str, fragment_ids: Iterable[str], scope: Scope) -> Choices:
        return self._wishing(query, self.wishes(query).growing(fragment_ids, scope))

    def ordering(self, query: str, fragment_ids: Iterable[str]) -> Choices:
        """The packs of these fragments first, in this order, and then as they were."""
        ids = tuple(fragment_ids)
        wishes = self.wishes(query)
        after = (each for each in wishes.order if each not in ids)
        return replace(self, ranked=True)._wishing(query, wishes.ordering((*ids, *after)))

    def next_order(self, query: str) -> Choices:
        """From an own order back to that of the scores, from there to that of the vault, and round again."""
        wishes = self.wishes(query)
        if self.ranked and wishes.order:
            return self._wishing(query, wishes.ordering(()))
        return replace(self, ranked=not self.ranked)

    def order_name(self, query: str) -> str:
        """`own order`, `vault order`, or "" for that of the scores."""
        if not self.ranked:
            return "vault order"
        return "own order" if self.wishes(query).order else ""

    def moving(self, moves: MarkMoves) -> Choices:
        """The same for the fragments as they are called now."""
        return replace(self, marks=moves.of_marks(self.marks), of_marks=moves.of_wishes(self.of_marks))

    def _wishing(self, query: str, wishes: Wishes) -> Choices:
        if self.marks:
            return replace(self, of_marks=wishes)
        return replace(self, of_queries={**self.of_queries, query: wishes})


class History:
    """The choices as they are `now`, and those before."""

    def __init__(self) -> None:
        self.now = Choices()
        self._before: list[Choices] = []

    def decide(self, choices: Choices) -> bool:
        """Take these in place of those now; False if they are the same."""
        if choices == self.now:
            return False
        self._before = [*self._before[-MOST_STEPS + 1 :], self.now]
        self.now = choices
        return True

    @property
    def can_undo(self) -> bool:
        return bool(self._before)

    def undo(self) -> bool:
        """Go back to the choices before; False if there are none."""
        if not self._before:
            return False
        self.now = self._before.pop()
        return True

    def move(self, moves: MarkMoves) -> None:
        """Go on with the fragments as they are called now, and no step more to take back."""
        self.now, self._before = self.now.moving(moves), [each.moving(moves) for each in self._before]

    def restore(self, kept: Kept) -> None:
        """Put what an earlier session kept before whatever was decided in this one."""

        def begun(choices: Choices) -> Choices:
            marks = tuple({mark.fragment: mark for mark in (*kept.marks, *choices.marks)}.values())
            return replace(choices, marks=marks, of_marks=choices.of_marks if choices.marks else kept.wishes)

        if kept.marks:
            self.now, self._before = begun(self.now), [begun(each) for each in self._before]
