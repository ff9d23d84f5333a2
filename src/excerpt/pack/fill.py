"""Filling of a pack: pieces of notes in the order of their worth, as many as fit into a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import attrgetter

from msgspec import Struct, structs

from excerpt.base.cancellation import check_cancelled
from excerpt.base.kinds import Confidence, Scope
from excerpt.base.model import Hit, Pack
from excerpt.pack.coverage import RIVAL_SHARE
from excerpt.pack.expand import (
    WHOLE_SCOPES,
    HitSpan,
    LineSpan,
    build_line_span,
    build_ordinal_span,
    build_span_pack,
    find_header_above,
)
from excerpt.pack.shrink import find_block_span, iterate_block_parts
from excerpt.pack.source import CachedNote, NoteCache
from excerpt.pack.token_costs import TokenCosts

_MAX_GAP_TOKENS = 40
"""The most tokens between two passages of a note that are packed too: a source of its own takes as many."""
_MAX_REST_TOKENS = 250
"""The most tokens of the fragments beside the first hit that are packed too, because they are of the same section."""
SURE = (Confidence.STRONG, Confidence.LIKELY)
"""The confidence of a hit that probably answers."""


class Piece(Struct, frozen=True):
    """Lines of a note that enter a pack together, for a hit."""

    hit_span: HitSpan
    line_span: LineSpan

    @property
    def hit(self) -> Hit:
        return self.hit_span.hit


class DraftPack(Struct, frozen=True):
    """A pack with its lines, the hits in it, best first, and its cost: its tokens as a source after the first one.

    A cut one has a part of a block, and is not extended.
    """

    pack: Pack
    line_span: LineSpan
    hit_spans: tuple[HitSpan, ...]
    cost: int
    is_cut: bool = False


class Filling:
    """The passages of a pack that is being filled, with at most `room` tokens.

    What fits depends only on what was added before. So with more room, the first piece in which two fillings differ is
    in the larger one: a larger budget never holds less of what is worth more. `is_within_budget` says whether drafts
    can be packed together, where their tokens do not add up.
    """

    def __init__(
        self,
        hit_spans: Sequence[HitSpan],
        notes: NoteCache,
        costs: TokenCosts,
        room: int,
        is_within_budget: Callable[[Sequence[DraftPack]], bool] | None = None,
    ) -> None:
        self._hit_spans = hit_spans
        self._ranks = {each.hit.fragment.id: rank for rank, each in enumerate(hit_spans)}
        self._notes = notes
        self._costs = costs
        self._room = room
        self._is_within_budget = is_within_budget
        self._drafts: dict[str, list[DraftPack]] = {}
        self._used = 0

    def copy(self, is_within_budget: Callable[[Sequence[DraftPack]], bool]) -> Filling:
        """Return a filling with the same passages, in which every addition is checked by `is_within_budget`."""
        copy = Filling(self._hit_spans, self._notes, self._costs, self._room, is_within_budget)
        copy._drafts, copy._used = dict(self._drafts), self._used
        return copy

    @property
    def drafts(self) -> list[DraftPack]:
        """The passages, by note."""
        return [draft for drafts in self._drafts.values() for draft in drafts]

    def add_all(self, pieces: Sequence[Piece]) -> tuple[bool, ...]:
        """Add as many of the pieces as fit, in their order; return whether each is in.

        The first one is cut if it does not fit; then, any other that is larger than the whole room.
        """
        alone = list(map(_without_scope, pieces))
        taken = [self._add(piece) or (number == 0 and self._add_part(piece)) for number, piece in enumerate(alone)]
        for number, piece in enumerate(alone[1:], start=1):
            taken[number] = taken[number] or (self.count_alone(piece) > self._room and self._add_part(piece))
        return tuple(taken)

    def add_context(self, pieces: Sequence[Piece], neighbors: int) -> None:
        """Extend pieces that are in, up to the scopes that their hits ask for: all by a little before one by more.

        First each gets the signs that its section or note continues: with any scope, as many pieces are in as alone.
        Then hits that may be the answer instead of the first become whole, and a short section of the first.
        """
        digests = {each.hit.fragment.digest: each.hit.fragment.id for each in self._hit_spans}
        growing = [
            piece
            for piece in pieces
            if piece.hit_span.line_span.scope is not Scope.NONE and self._can_grow(piece) and self._add(piece)
        ]
        for piece in growing:
            if piece.hit.score >= RIVAL_SHARE * self._hit_spans[0].hit.score:
                fragment, note = piece.hit.fragment, self._notes[piece.hit.fragment.path]
                whole = build_ordinal_span(note, fragment.ordinal, fragment.ordinal, Scope.NONE)
                self._add(Piece(piece.hit_span, whole))
        if growing and growing[0].hit_span is self._hit_spans[0] and growing[0].hit.confidence in SURE:
            self._add_rest_of_section(growing[0], digests)
        sides = [
            side
            for piece in growing
            for side in _iterate_sides(piece, self._notes[piece.hit.fragment.path], digests, neighbors)
        ]
        while sides:
            check_cancelled()
            sides = [side for side in sides if side and self._add(side.pop(0))]

    def _add_rest_of_section(self, piece: Piece, digests: Mapping[str, str]) -> None:
        """Add the neighbors of a hit that are of its section, if they are short and have no text of another hit."""
        bound, fragment = piece.hit_span.line_span, piece.hit.fragment
        if bound.scope is not Scope.NEIGHBORS:
            return
        note = self._notes[bound.path]
        section = next(each for each in note.sections if each.ordinal == fragment.section)
        parts = [
            part
            for part in note.fragment_infos(bound.first_ordinal, bound.last_ordinal)
            if section.line_start <= part.line_start and part.line_end <= section.line_end
        ]
        if not parts or any(digests.get(part.digest, part.id) != part.id for part in parts):
            return
        rest = Piece(piece.hit_span, build_line_span(note, parts[0].line_start, parts[-1].line_end, bound))
        if self.count_alone(rest) - self.count_alone(piece) <= _MAX_REST_TOKENS:
            self._add(rest)

    def _add(self, piece: Piece) -> bool:
        """Add a piece, joined with what is beside it, unless it does not fit; return whether it is in."""
        held = self._drafts.get(piece.line_span.path, [])
        if any(_holds(draft, piece) for draft in held):
            return True
        joined = [draft for draft in held if self._is_beside(draft.line_span, piece.line_span)]
        if any(draft.is_cut for draft in joined):
            return False
        line_span = piece.line_span
        for draft in joined:
            line_span = _unite_lines(line_span, draft.line_span)
        hit_spans = {each.hit.fragment.id: each for draft in joined for each in draft.hit_spans}
        if len(joined) == 1 and _adds_only_neighbors(piece, joined[0]):
            hit_spans[piece.hit.fragment.id] = piece.hit_span
            draft = structs.replace(joined[0], hit_spans=tuple(hit_spans.values()))
            self._drafts[draft.line_span.path] = [draft if each is joined[0] else each for each in held]
            return True
        hit_spans[piece.hit.fragment.id] = piece.hit_span
        return self._replace(joined, self._draft(line_span, hit_spans.values()))

    def _add_part(self, piece: Piece) -> bool:
        """Add the largest part of a piece's best block that fits, if any does; return whether one is in."""
        hit, hit_spans = piece.hit, (piece.hit_span,)
        if any(self._is_beside(draft.line_span, piece.line_span) for draft in self._drafts.get(hit.fragment.path, ())):
            return False
        note = self._notes[hit.fragment.path]
        begins_in_table = find_header_above(hit.fragment.text, hit.fragment.line_start, note) is not None
        block = find_block_span(hit)
        parts = []
        for line_span in iterate_block_parts(hit, begins_in_table=begins_in_table):
            part = self._draft(line_span, hit_spans, is_cut=True)
            if part.cost > self._room - self._used:
                break
            parts.append(part)
        if block is not None:
            parts.append(self._draft(block, hit_spans, is_cut=True))
        return any(self._replace((), part) for part in reversed(parts))

    def count_alone(self, piece: Piece) -> int:
        """Return the tokens of a piece as a passage of its own."""
        return self._draft(piece.line_span, (piece.hit_span,)).cost

    def _can_grow(self, piece: Piece) -> bool:
        """Return whether a piece is in a passage that can be extended."""
        return any(
            not draft.is_cut and _contains(draft.line_span, piece.line_span)
            for draft in self._drafts.get(piece.hit.fragment.path, ())
        )

    def _replace(self, joined: Sequence[DraftPack], draft: DraftPack) -> bool:
        used = self._used + draft.cost - sum(each.cost for each in joined)
        if used > self._room:
            return False
        held = self._drafts.get(draft.line_span.path, [])
        if self._is_within_budget:
            remaining = [each for each in self.drafts if each not in joined]
            if not self._is_within_budget([*remaining, draft]):
                return False
        self._drafts[draft.line_span.path] = [*(each for each in held if each not in joined), draft]
        self._used = used
        return True

    def _draft(self, line_span: LineSpan, hit_spans: Collection[HitSpan], *, is_cut: bool = False) -> DraftPack:
        best_first = tuple(sorted(hit_spans, key=lambda each: self._ranks[each.hit.fragment.id]))
        if not is_cut:  # with the scope that a hit asks for, and its section, if these are its lines
            same = (each.line_span for each in best_first if _has_same_lines(each.line_span, line_span))
            line_span = next(same, line_span)
        pack = build_span_pack(line_span, best_first, self._notes[line_span.path])
        cost = self._costs.count_frame(2, pack) + self._costs.count_rendered(pack.text)
        return DraftPack(pack, line_span, best_first, cost, is_cut)

    def _is_beside(self, held: LineSpan, added: LineSpan) -> bool:
        """Return whether two spans of a note share a fragment, or have so little between them that it is packed too."""
        first, second = sorted((held, added), key=attrgetter("first_ordinal", "line_start"))
        if second.first_ordinal <= first.last_ordinal:
            return True
        if second.line_start <= first.line_end + 1:
            return True
        if second.first_ordinal > first.last_ordinal + 1:
            return False
        between = self._notes[held.path].text(first.line_end + 1, second.line_start - 1)
        return not between.strip() or self._costs.count_rendered(between) <= _MAX_GAP_TOKENS


def _iterate_sides(piece: Piece, note: CachedNote, digests: Mapping[str, str], neighbors: int) -> Iterator[list[Piece]]:
    """Yield what a piece is extended to above, then below: by one unit, by two more, by four more, and so on.

    A side ends before a fragment with the text of another hit; `digests` has the ids of hits by the digests of theirs.
    """
    bound, own = piece.hit_span.line_span, piece.line_span
    units = note.units(bound.line_start, bound.line_end)
    if bound.scope is Scope.NEIGHBORS:
        above = [first for first, last in units if last < own.line_start][-neighbors:][::-1] if neighbors else []
        below = [last for first, last in units if first > own.line_end][:neighbors]
    else:  # also the rest of a unit of several fragments, and the heading above the first fragment of a section
        above = [first for first, _ in units if first < own.line_start][::-1]
        below = [last for _, last in units if last > own.line_end]
    for edges in (above, below):
        steps: list[Piece] = []
        for count in accumulate(2**power for power in range(len(edges).bit_length())):
            edge = edges[min(count, len(edges)) - 1]
            line_span = build_line_span(note, min(edge, own.line_start), max(edge, own.line_end), bound)
            parts = note.fragment_infos(line_span.first_ordinal, line_span.last_ordinal)
            if any(digests.get(part.digest, part.id) != part.id for part in parts):
                break
            steps.append(Piece(piece.hit_span, line_span))
        yield steps


def _without_scope(piece: Piece) -> Piece:
    """Return a piece of which no more is asked for than its own fragment."""
    return Piece(HitSpan(piece.hit, piece.line_span), piece.line_span)


def _adds_only_neighbors(piece: Piece, draft: DraftPack) -> bool:
    """Return whether a piece changes nothing of a passage but which neighbors its hit, which is in it, asks for."""
    asked = piece.hit_span.line_span
    is_inside = _contains(draft.line_span, piece.line_span) and not _has_same_lines(draft.line_span, piece.line_span)
    return (
        asked.scope not in WHOLE_SCOPES
        and (is_inside or draft.line_span == piece.line_span)
        and not _has_same_lines(asked, draft.line_span)
        and any(each.hit is piece.hit for each in draft.hit_spans)
    )


def _holds(draft: DraftPack, piece: Piece) -> bool:
    """Return whether a whole passage has the lines of a piece, for its hit too."""
    return not draft.is_cut and _contains(draft.line_span, piece.line_span) and piece.hit_span in draft.hit_spans


def _contains(outer: LineSpan, inner: LineSpan) -> bool:
    return outer.line_start <= inner.line_start and inner.line_end <= outer.line_end


def _has_same_lines(first: LineSpan, second: LineSpan) -> bool:
    return (first.line_start, first.line_end) == (second.line_start, second.line_end)


def _unite_lines(first: LineSpan, second: LineSpan) -> LineSpan:
    """Return the span from the first line of two spans of a note to their last."""
    for outer, inner in ((first, second), (second, first)):
        if _contains(outer, inner) and outer.first_ordinal <= inner.first_ordinal:
            return outer
    first_ordinal = min(first.first_ordinal, second.first_ordinal)
    last_ordinal = max(first.last_ordinal, second.last_ordinal)
    return LineSpan(
        path=first.path,
        first_ordinal=first_ordinal,
        last_ordinal=last_ordinal,
        line_start=min(first.line_start, second.line_start),
        line_end=max(first.line_end, second.line_end),
        scope=Scope.NEIGHBORS if first_ordinal < last_ordinal else Scope.NONE,
    )
