"""Hits -> packs within a budget, ready for a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise

from excerpt.model import Entry, Fragment, Hit, LeftOut, Pack, PackResult, Scope, Strategy
from excerpt.pack.budget import Option, selections
from excerpt.pack.expand import Stretch, expand
from excerpt.pack.merge import Candidate, DuplicateRule, merge, same_text
from excerpt.pack.render import as_markdown, frame
from excerpt.pack.shrink import inner_stretches, stretches
from excerpt.pack.source import NoteSource, OpenNote
from excerpt.settings import PackSettings
from excerpt.text.fragments import digest_of_text, note_id
from excerpt.text.tokens import Tokenizer

TOO_LARGE = "too large"
OUT_OF_BUDGET = "out of budget"
GONE = "no longer in the index"

MARK_SCORE = 1.0
"""Score of a fragment marked by hand: a mark counts the same whatever the query says now."""

_EXPANDED = 4  # times the limit: how many hits are looked at where copies are left out
_CONTEXT = 0.2
"""Share of a pack's value that its context carries; the hits in it carry the rest. So a hit is not given up for the
neighbours of another, and neighbours are not given up for nothing."""
_CUT = 0.1
"""Share of a hit's value that is lost where its own fragment is cut: more than context elsewhere can bring, less than
one more hit does."""
_LEAST_WORTH = 1e-6  # of a hit without a positive score: where there is room it goes in


@dataclass(frozen=True, slots=True)
class _Size:
    """One size of a candidate: the pack that it makes (its tokens not counted yet) and what the choice is made by."""

    pack: Pack
    option: Option
    hits: tuple[Hit, ...]


def build_pack(
    source: NoteSource,
    hits: Sequence[Hit],
    *,
    query: str,
    strategy: Strategy,
    settings: PackSettings,
    tokenizer: Tokenizer,
    marked: Sequence[str] = (),
    duplicate: DuplicateRule = same_text,
) -> PackResult:
    """Packs from the fragments with the ids `marked`, in that order, or else from the top `hits` (best first).

    At most `settings.limit` hits, copies of others not counted, are grown to `settings.scope`; marks all are. The
    rendered text is never above `settings.budget` tokens of `tokenizer`, and a larger budget never gives less value.
    The same arguments give the same bytes.
    """
    note_of = cache(partial(OpenNote, source))
    count = cache(tokenizer.count)
    wanted, gone = _marks(source, hits, marked) if marked else (hits[: settings.limit * _EXPANDED], [])
    limit = len(wanted) if marked else settings.limit
    candidates, passed_over = _candidates(
        wanted, limit, note_of=note_of, settings=settings, duplicate=duplicate, count=count
    )
    sizes = [
        _sizes(number, candidate, note_of(candidate.stretch.path), count)
        for number, candidate in enumerate(candidates, start=1)
    ]
    chosen, text, tokens = _choose(sizes, settings.budget, count)
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


def _marks(source: NoteSource, hits: Sequence[Hit], marked: Sequence[str]) -> tuple[list[Hit], list[LeftOut]]:
    """The marked fragments as hits, with the spans of the query's own where it found them, and the marks that the
    index no longer has."""
    spans = {hit.fragment.id: hit.spans for hit in hits}
    found, gone = [], []
    for fragment_id in marked:
        fragment = source.fragment(fragment_id)
        if fragment:
            found.append(Hit(fragment, MARK_SCORE, spans=spans.get(fragment_id, ())))
        else:
            gone.append(LeftOut(fragment_id, 0, 0, 0, GONE))
    return found, gone


def _candidates(
    wanted: Sequence[Hit],
    limit: int,
    *,
    note_of: Callable[[str], OpenNote],
    settings: PackSettings,
    duplicate: DuplicateRule,
    count: Callable[[str], int],
) -> tuple[list[Candidate], list[LeftOut]]:
    """The first `limit` hits grown and merged, and what was left out. A copy of text that is already held is; its hit
    then counts for the text that is held, so that cutting that one down never loses what was found."""
    grown: list[tuple[Hit, Stretch]] = []
    left_out: list[LeftOut] = []
    held: dict[str, Fragment] = {}
    asked: set[str] = set()
    for hit in wanted:
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
            held.update((each.id, each) for each in note.fragments[stretch.first : stretch.last + 1])
            grown.append((replace(hit, fragment=fragment, spans=() if twin else hit.spans), stretch))
    return merge(grown), left_out


def _left_out(fragment: Fragment, reason: str, count: Callable[[str], int]) -> LeftOut:
    return LeftOut(fragment.path, fragment.line_start, fragment.line_end, count(fragment.text), reason)


def _sizes(number: int, candidate: Candidate, note: OpenNote, count: Callable[[str], int]) -> list[_Size]:
    """The sizes that candidate `number` (from 1) may have, the whole first; parts of a fragment only for the best
    candidate, so that the top hit goes in even where the budget is less than a fragment."""
    whole = candidate.stretch
    whole_tokens = max(_text_tokens(whole, note, count), 1)  # a tokenizer of the user's may count nothing
    worth = sum(_worth(hit) for hit in candidate.hits)

    def size(stretch: Stretch, hits: tuple[Hit, ...], lost: float) -> _Size:
        pack = _pack(candidate.hits[0], stretch, whole, note)
        text_tokens = _text_tokens(stretch, note, count)
        cost = sum(count(part) for part in frame(number, pack)) + text_tokens
        context = _CONTEXT * worth * (1 - text_tokens / whole_tokens)
        return _Size(pack, Option(cost, worth - (1 - _CONTEXT) * lost - context), hits)

    sizes = []
    for stretch in stretches(candidate, note):
        inside = tuple(hit for hit in candidate.hits if stretch.first <= hit.fragment.ordinal <= stretch.last)
        lost = sum(_worth(hit) for hit in candidate.hits if hit not in inside)
        sizes.append(size(stretch, inside, lost))
    if number == 1:
        best = candidate.hits[:1]
        lost = worth - (1 - _CUT) * _worth(best[0])
        sizes.extend(size(stretch, best, lost) for stretch in inner_stretches(best[0], note))
    return sizes


def _worth(hit: Hit) -> float:
    return max(hit.score, _LEAST_WORTH)


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
    inside = note.fragments[stretch.first : stretch.last + 1]
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
    starts = [each.line_start for each in note.fragments[stretch.first : stretch.last + 1]]
    borders = sorted(
        {stretch.line_start, *(line for line in starts if line > stretch.line_start), stretch.line_end + 1}
    )
    return sum(count(note.text(start, end - 1) + "\n") for start, end in pairwise(borders))


def _choose(
    sizes: Sequence[Sequence[_Size]], budget: int, count: Callable[[str], int]
) -> tuple[list[_Size | None], str, int]:
    """The most valuable choice whose rendered whole is within the budget, with that text and its tokens."""
    for selection in selections([[size.option for size in each] for each in sizes], budget):
        chosen = [None if number is None else each[number] for each, number in zip(sizes, selection, strict=True)]
        text = as_markdown([size.pack for size in chosen if size])
        tokens = count(text) if text else 0
        if tokens <= budget:
            return chosen, text, tokens
    return [None for _ in sizes], "", 0


def _unchosen(
    sizes: Sequence[Sequence[_Size]], chosen: Sequence[_Size | None], budget: int, count: Callable[[str], int]
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
