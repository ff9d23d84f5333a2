"""The sizes that a candidate may have: what each costs in tokens, and what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from excerpt.model import Entry, Hit, Pack, Scope
from excerpt.pack.budget import Option
from excerpt.pack.expand import Stretch
from excerpt.pack.merge import Candidate, Wanted
from excerpt.pack.render import Renderer
from excerpt.pack.shrink import inner_stretches, stretches
from excerpt.pack.source import OpenNote
from excerpt.text.fragments import digest_of_text, note_id

_CONTEXT = 0.2
"""Share of a pack's value that its context carries; the hits in it carry the rest. So a hit is not given up for the
neighbours of another, and neighbours are not given up for nothing."""
_CUT = 0.1
"""Share of a hit's value that is lost where its own fragment is cut: more than context elsewhere can bring, less than
one more hit does."""


@dataclass(frozen=True, slots=True)
class Size:
    """One size of a candidate: the pack that it makes (its tokens not counted yet), what the choice is made by, and
    which of the hits are in it."""

    pack: Pack
    option: Option
    hits: tuple[Hit, ...]


def sizes_of(
    number: int, candidate: Candidate, note: OpenNote, count: Callable[[str], int], renderer: Renderer
) -> list[Size]:
    """The sizes that candidate `number` (from 1) may have, the whole first; parts of a fragment only for the best
    candidate, so that the top hit goes in even where the budget is less than a fragment."""
    whole = candidate.stretch

    def written_tokens(text: str) -> int:
        return count(renderer.written(text))

    whole_tokens = max(_text_tokens(whole, note, written_tokens), 1)  # a tokenizer of the user's may count nothing
    worth = sum(each.worth for each in candidate.wanted)

    def size(stretch: Stretch, inside: Sequence[Wanted], lost: float) -> Size:
        pack = _pack(candidate.best, stretch, whole, note)
        text_tokens = _text_tokens(stretch, note, written_tokens)
        cost = sum(count(part) for part in renderer.frame(number, pack)) + text_tokens
        context = _CONTEXT * worth * (1 - text_tokens / whole_tokens)
        option = Option(cost, worth - (1 - _CONTEXT) * lost - context)
        return Size(pack, option, tuple(each.hit for each in inside))

    sizes = []
    for stretch in stretches(candidate, note):
        inside = [each for each in candidate.wanted if stretch.first <= each.hit.fragment.ordinal <= stretch.last]
        lost = sum(each.worth for each in candidate.wanted if each not in inside)
        sizes.append(size(stretch, inside, lost))
    if number == 1:
        best = candidate.wanted[0]
        lost = worth - (1 - _CUT) * best.worth
        sizes.extend(size(stretch, [best], lost) for stretch in inner_stretches(best.hit))
    return sizes


def _pack(hit: Hit, stretch: Stretch, whole: Stretch, note: OpenNote) -> Pack:
    """The pack of a stretch whose best hit is `hit`; its tokens are counted when it is chosen."""
    fragment = hit.fragment
    heading_path = fragment.heading_path
    if stretch.scope is Scope.NOTE:
        heading_path = ()
    elif stretch.section is not None:
        heading_path = next(each.heading_path for each in note.sections if each.ordinal == stretch.section)
    kind = f"o:{stretch.first}-{stretch.last}" if stretch.section is None else f"s:{stretch.section}"
    text = note.text(stretch.line_start, stretch.line_end)
    inside = note.fragments(stretch.first, stretch.last)
    return Pack(
        id=f"{note_id(note.path)}:{kind}",
        path=note.path,
        title=fragment.title,
        heading_path=heading_path,
        line_start=stretch.line_start,
        line_end=stretch.line_end,
        scope=stretch.scope,
        entry=Entry(fragment.id, fragment.ordinal, hit.score, fragment.heading_path),
        fragment_ids=tuple(each.id for each in inside),
        text=text,
        tokens=0,
        digest=digest_of_text(text),
        cut_above=_is_cut(stretch.first - whole.first, stretch.line_start - inside[0].line_start, whole.scope),
        cut_below=_is_cut(whole.last - stretch.last, inside[-1].line_end - stretch.line_end, whole.scope),
    )


def _is_cut(fragments: int, lines: int, scope: Scope) -> bool:
    """Whether the text goes on where that many fragments of its scope, or lines of its own fragment, are missing. Less
    neighbours are no cut: they are as many as there was room for."""
    return lines > 0 or (fragments > 0 and scope in (Scope.SECTION, Scope.NOTE))


def _text_tokens(stretch: Stretch, note: OpenNote, count: Callable[[str], int]) -> int:
    """Tokens of the stretch's lines, each with its line end, as the sum over pieces that begin where a fragment does.

    Pieces are shared by the sizes of a candidate, so each is counted once. The sum differs from the count of the
    whole by little or nothing, since the usual tokenizers never join a line end with the first word after it; the
    rendered whole is counted before it is used.
    """
    starts = [each.line_start for each in note.fragments(stretch.first, stretch.last)]
    borders = sorted(
        {stretch.line_start, *(line for line in starts if line > stretch.line_start), stretch.line_end + 1}
    )
    return sum(count(note.text(start, end - 1) + "\n") for start, end in pairwise(borders))
