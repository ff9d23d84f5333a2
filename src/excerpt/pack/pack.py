"""Hits -> packs within a budget, ready for a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

from excerpt.model import Fragment, Hit, LeftOut, PackResult, Scope, Strategy
from excerpt.pack.budget import selections
from excerpt.pack.expand import expand
from excerpt.pack.merge import Candidate, DuplicateRule, Wanted, merge, same_text
from excerpt.pack.render import MarkdownRenderer, Renderer
from excerpt.pack.sizes import Size, sizes_of
from excerpt.pack.source import NoteSource, OpenNote
from excerpt.settings import PackSettings
from excerpt.text.tokens import Tokenizer

TOO_LARGE = "too large"
OUT_OF_BUDGET = "out of budget"
GONE = "no longer in the index"

MARK_SCORE = 1.0
"""Score of a fragment marked by hand: a mark counts the same whatever the query says now."""

MARKDOWN = MarkdownRenderer()

_EXPANDED = 4  # times the limit: how many hits are looked at where copies are left out
_PATIENCE = 0.8
"""A hit's worth is its score times this to the power of the hits above it, as in rank-biased precision (Moffat and
Zobel 2008). The first hit is the answer far more often than scores alone say: without the discount, small hits from
further down push out large ones above them, and fewer answers are in the pack (figures in docs/design/packs.md)."""
_LEAST_WORTH = 1e-6  # of a hit without a positive score: where there is room it goes in


def build_pack(
    source: NoteSource,
    hits: Sequence[Hit],
    *,
    query: str,
    strategy: Strategy,
    settings: PackSettings,
    tokenizer: Tokenizer,
    renderer: Renderer = MARKDOWN,
    marked: Sequence[str] = (),
    duplicate: DuplicateRule = same_text,
) -> PackResult:
    """Packs from the fragments with the ids `marked`, in that order, or else from the top `hits` (best first).

    At most `settings.limit` hits, copies of others not counted, are grown to `settings.scope`; marks all are. The
    rendered text is never above `settings.budget` tokens of `tokenizer`, and a larger budget never gives less value.
    `renderer` makes the text; the same arguments give the same bytes.
    """
    note_of = cache(partial(OpenNote, source))
    count = cache(tokenizer.count)
    if marked:
        asking, gone = _marks(source, hits, marked)
        limit = len(asking)
    else:
        asking, gone = _ranked(hits[: settings.limit * _EXPANDED]), []
        limit = settings.limit
    candidates, passed_over = _candidates(
        asking, limit, note_of=note_of, settings=settings, duplicate=duplicate, count=count
    )
    sizes = [
        sizes_of(number, candidate, note_of(candidate.stretch.path), count, renderer)
        for number, candidate in enumerate(candidates, start=1)
    ]
    chosen, text, tokens = _choose(sizes, settings.budget, count, renderer)
    packs = tuple(replace(size.pack, tokens=count(size.pack.text)) for size in chosen if size)
    return PackResult(
        query=query,
        strategy=strategy,
        budget=settings.budget,
        tokenizer=tokenizer.name,
        packs=packs,
        left_out=(*gone, *passed_over, *_unchosen(sizes, chosen, settings.budget, count)),
        text=text,
        tokens=tokens,
        value=sum(size.option.value for size in chosen if size),
        source_tokens=sum(source.note_tokens(path) for path in dict.fromkeys(pack.path for pack in packs)),
    )


def _ranked(hits: Sequence[Hit]) -> list[tuple[Hit, float]]:
    """Hits, best first, with their worth: the score, discounted by rank."""
    return [(hit, max(hit.score, _LEAST_WORTH) * _PATIENCE**rank) for rank, hit in enumerate(hits)]


def _marks(
    source: NoteSource, hits: Sequence[Hit], marked: Sequence[str]
) -> tuple[list[tuple[Hit, float]], list[LeftOut]]:
    """The marked fragments as hits, all worth the same, with the query's spans where it found them too; and the marks
    that the index no longer has."""
    spans = {hit.fragment.id: hit.spans for hit in hits}
    found, gone = [], []
    for fragment_id in marked:
        fragment = source.fragment(fragment_id)
        if fragment:
            found.append((Hit(fragment, MARK_SCORE, spans=spans.get(fragment_id, ())), MARK_SCORE))
        else:
            gone.append(LeftOut(fragment_id, 0, 0, 0, GONE))
    return found, gone


def _candidates(
    asking: Sequence[tuple[Hit, float]],
    limit: int,
    *,
    note_of: Callable[[str], OpenNote],
    settings: PackSettings,
    duplicate: DuplicateRule,
    count: Callable[[str], int],
) -> tuple[list[Candidate], list[LeftOut]]:
    """The first `limit` hits grown and merged, and what was left out. A copy of text that is already held is; its hit
    then counts for the text that is held, so that cutting that one down never loses what was found."""
    grown: list[Wanted] = []
    left_out: list[LeftOut] = []
    held: dict[str, Fragment] = {}
    asked: set[str] = set()
    for hit, worth in asking:
        if not limit:
            break
        note = note_of(hit.fragment.path)
        fragment = note.now(hit.fragment)
        if fragment is None:
            left_out.append(_left_out(hit.fragment, GONE, count))
            continue
        twin = None if fragment.id in held else duplicate(fragment, held.values())
        if twin:
            left_out.append(_left_out(fragment, f"same text as {twin.path}:{twin.line_start}-{twin.line_end}", count))
            fragment, note, scope = twin, note_of(twin.path), Scope.NONE
        else:
            scope, limit = settings.scope, limit - 1
        if fragment.id not in asked:
            asked.add(fragment.id)
            stretch = expand(fragment, note, scope, settings.neighbors)
            held.update((each.id, each) for each in note.fragments(stretch.first, stretch.last))
            grown.append(Wanted(replace(hit, fragment=fragment, spans=() if twin else hit.spans), stretch, worth))
    return merge(grown), left_out


def _left_out(fragment: Fragment, reason: str, count: Callable[[str], int]) -> LeftOut:
    return LeftOut(fragment.path, fragment.line_start, fragment.line_end, count(fragment.text), reason)


def _choose(
    sizes: Sequence[Sequence[Size]], budget: int, count: Callable[[str], int], renderer: Renderer
) -> tuple[list[Size | None], str, int]:
    """The most valuable choice whose rendered whole is within the budget, with that text and its tokens."""
    for selection in selections([[size.option for size in each] for each in sizes], budget):
        chosen = [None if number is None else each[number] for each, number in zip(sizes, selection, strict=True)]
        text = renderer.render([size.pack for size in chosen if size])
        tokens = count(text) if text else 0
        if tokens <= budget:
            return chosen, text, tokens
    return [None for _ in sizes], "", 0


def _unchosen(
    sizes: Sequence[Sequence[Size]], chosen: Sequence[Size | None], budget: int, count: Callable[[str], int]
) -> Iterator[LeftOut]:
    """Candidates that are not in at all, and hits of those that are in only in part."""
    for each, size in zip(sizes, chosen, strict=True):
        whole = each[0].pack
        if size is None:
            reason = OUT_OF_BUDGET if min(one.option.cost for one in each) <= budget else TOO_LARGE
            yield LeftOut(whole.path, whole.line_start, whole.line_end, count(whole.text), reason)
        else:
            lost = (hit.fragment for hit in each[0].hits if hit not in size.hits)
            yield from (_left_out(fragment, OUT_OF_BUDGET, count) for fragment in lost)
