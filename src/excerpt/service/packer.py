"""Build packs of marked fragments, memories and hits, for every surface. Slow modules are imported on first use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from weakref import ref

from msgspec import Struct, structs

from excerpt.base.kinds import Confidence, Format, StopReason, Strategy
from excerpt.base.model import (
    DROPPED_REASON,
    TOO_LARGE,
    Fragment,
    Hit,
    Memory,
    OmittedHit,
    PackResult,
    QuestionWord,
    Result,
)
from excerpt.base.settings import PackSettings
from excerpt.pack.selection import NO_OVERRIDES, MarkedFragment, PackOverrides
from excerpt.service.request_queue import Priority
from excerpt.vault.known_vaults import VaultFolders

if TYPE_CHECKING:
    from excerpt.corpus.interface import Corpus
    from excerpt.pack.build import PackCache
    from excerpt.pack.formats.source_label import PackLinks
    from excerpt.pack.memories import NoteSourceWithMoves, SourceWithMemories
    from excerpt.pack.selection import MovedFragments
    from excerpt.pack.source import NoteSource
    from excerpt.search.engine import Engine
    from excerpt.text.tokens import Tokenizer


class PackRequest(Struct, frozen=True):
    """The request for a pack of the marks or, if nothing is marked, of the first `hits`, which answer `queries`.

    `ids` are those of further fragments to pack. `overrides` are the user's changes (dropped passages, order, scopes).
    `ranked` says that passages are in the order of the scores or the user's own order, else in the order of the vault.
    `memories` are the marked memories. `confidence` is the confidence of the search for `hits`; `notice` is its
    sentence if that is unsure. `words` are the content words of the queries, `not_found` the parts
    that no passage covers. `are_wordings`: the queries ask the same, so that a pack may end before its budget.
    """

    queries: tuple[str, ...]
    strategy: Strategy
    hits: tuple[Hit, ...]
    marks: tuple[MarkedFragment, ...]
    settings: PackSettings
    overrides: PackOverrides = NO_OVERRIDES
    ranked: bool = True
    memories: tuple[Memory, ...] = ()
    ids: tuple[str, ...] = ()
    confidence: Confidence | None = None
    notice: str = ""
    words: tuple[QuestionWord, ...] = ()
    not_found: tuple[str, ...] = ()
    are_wordings: bool = False


class LeftOutRow(Struct, frozen=True):
    """Lines of a note that were left out of the pack, and the reason.

    `fragment_ids` are the ids of the fragments in these lines. For a marked fragment that is no longer in the vault,
    the lines are 0. `tokens` is the number of tokens of the text; for a passage that the budget left out, the source
    line is counted too. `is_dropped` says that the user has dropped the lines.
    """

    path: str
    line_start: int
    line_end: int
    tokens: int
    reason: str
    fragment_ids: tuple[str, ...]
    is_dropped: bool = False


class BuiltPack(Struct, frozen=True):
    """A pack, with the text to copy and what was left out.

    Of JSON, `tokens` and `costs` of the result are those of `text`, which is pasted as a whole. `missing` are the marks
    whose fragments are no longer in the vault. `moves` maps ids of marks in the request to current ids, if any have
    changed; all other fields have current ids.
    """

    result: PackResult
    text: str
    left_out: tuple[LeftOutRow, ...]
    missing: tuple[MarkedFragment, ...]
    moves: MovedFragments | None = None

    def locate_passages(self) -> Sequence[int | None]:
        """Return where in `text` each passage begins; None where a template leaves it out or changes it."""
        from excerpt.pack.formats.registry import locate_passages

        return locate_passages(self.result, self.text)


DISPLACES_MARK_REASON = "replaces another mark"
"""Reason if marking a fragment would push another marked fragment out of the pack."""


LOW_SCORE_REASON = "scores far below the best"
"""Reason of a hit that is not needed in a pack that probably holds the answer."""


class MarkCost(Struct, frozen=True):
    """The number of tokens that marking a fragment would add to the pack.

    `is_first_mark`: nothing is marked yet, so `tokens` is the size of the new pack. `is_exact`: `tokens` was computed
    by building the pack, else it is the size of the fragment's text. `reason` says why the fragment would be left out,
    or that it would replace another marked fragment; "" otherwise.
    """

    fragment_id: str
    tokens: int
    is_first_mark: bool
    is_exact: bool = False
    reason: str = ""


_BUDGET_STEP = 0.02
"""Share of the budget by which a pack in JSON may be smaller than the largest one that fits: a step takes a pack."""


class Packer:
    """A builder of packs, which caches the last ones.

    `vaults` are the open vaults. The path of a template is relative to the folder `config`.
    """

    def __init__(self, vaults: VaultFolders, config: Path) -> None:
        self._vaults = vaults
        self._config = config
        self._tokenizers: dict[str, Tokenizer] = {}
        self._memory_source: tuple[ref[NoteSourceWithMoves], SourceWithMemories] | None = None

    @cached_property
    def _cache(self) -> PackCache[...]:
        from excerpt.pack.build import PackCache, build_pack

        return PackCache(build_pack)

    @cached_property
    def links(self) -> PackLinks:
        """The links to the notes of the vaults."""
        from excerpt.pack.formats.source_label import PackLinks

        return PackLinks(self._vaults)

    def build_pack(self, source: NoteSourceWithMoves, request: PackRequest) -> BuiltPack:
        """Build the pack of a request, with what was left out, for a view that can change both.

        Raises SettingsError for a template or tokenizer that cannot be used.
        """
        from excerpt.pack.build import GONE_REASON

        source = self._with_memories(source, request)
        request, moves = _with_current_ids(request, source)
        marked = _marked_fragments(source, request.marks)
        result, text = self._build_output(source, request, marked)
        tokenizer = self._tokenizer(request)
        ids_by_location = {
            _location_key(fragment): fragment.id for fragment in (*(hit.fragment for hit in request.hits), *marked)
        }
        missing = tuple(mark for mark in request.marks if source.fragment(mark.fragment_id) is None)
        is_enough = result.stopped is StopReason.ENOUGH
        budget_count = len(result.left_out) - len(result.needs)
        tokens = (*(left_out.tokens for left_out in result.left_out[:budget_count]), *result.needs)
        return BuiltPack(
            result=result,
            text=text,
            left_out=(
                *(
                    _left_out_row(left_out, needs, ids_by_location)
                    for left_out, needs in zip(result.left_out, tokens, strict=True)
                    if left_out.reason != DROPPED_REASON and left_out.line_start
                ),
                *(_low_score_rows(result, request, tokenizer) if is_enough else ()),
                *(LeftOutRow(mark.path, 0, 0, 0, GONE_REASON, (mark.fragment_id,)) for mark in missing),
                *_dropped_rows(source, request.overrides.dropped_ids, tokenizer, DROPPED_REASON),
            ),
            missing=missing,
            moves=moves,
        )

    def build_result(self, source: NoteSourceWithMoves, request: PackRequest) -> PackResult:
        """Build the pack of a request. Raises SettingsError for a template or tokenizer that cannot be used."""
        source = self._with_memories(source, request)
        request, _ = _with_current_ids(request, source)
        return self._build_result(source, request, _marked_fragments(source, request.marks))

    def build_pasted_result(self, source: NoteSourceWithMoves, request: PackRequest) -> PackResult:
        """Build the pack of `build_pack` for a preview, without its text."""
        source = self._with_memories(source, request)
        request, _ = _with_current_ids(request, source)
        return self._build_output(source, request, _marked_fragments(source, request.marks))[0]

    def cost_of_mark(self, source: NoteSourceWithMoves, request: PackRequest, mark: MarkedFragment) -> MarkCost:
        """Return the exact cost of adding `mark` to the marks of a request.

        A fragment whose text is in the pack already, in another passage or as a copy in another note, costs 0 and has
        no `reason`: that its mark may give the passage another heading is no cost of its text.
        """
        from excerpt.pack.build import OUT_OF_BUDGET_REASON

        source = self._with_memories(source, request)
        request, _ = _with_current_ids(request, source)
        overrides = request.overrides if request.marks else NO_OVERRIDES
        # A fragment that is marked is no longer dropped.
        overrides = structs.replace(overrides, dropped_ids=overrides.dropped_ids - {mark.fragment_id})
        extended = structs.replace(request, marks=(*request.marks, mark), overrides=overrides)
        new, _ = self._build_output(source, extended, _marked_fragments(source, extended.marks))
        marked = _marked_fragments(source, request.marks)
        old = self._build_output(source, request, marked)[0] if request.marks else None
        fragment = source.fragment(mark.fragment_id)
        key = _location_key(fragment) if fragment is not None else None
        reasons = (each.reason for each in new.left_out if _location_key(each) == key)
        reason = next((reason for reason in reasons if reason in (OUT_OF_BUDGET_REASON, TOO_LARGE)), "")
        if old is not None and not reason and (_packed_ids(old) - _packed_ids(new)).intersection(_marked_ids(request)):
            reason = DISPLACES_MARK_REASON
        is_packed = old is not None and _packed_ids(old) == _packed_ids(new)
        tokens = 0 if is_packed else new.tokens - (old.tokens if old is not None else 0)
        return MarkCost(mark.fragment_id, tokens, is_first_mark=old is None, is_exact=True, reason=reason)

    def _build_output(
        self, source: NoteSource, request: PackRequest, marked: Sequence[Fragment]
    ) -> tuple[PackResult, str]:
        """Return a pack whose output, which is pasted as a whole, fits into the budget, and that output.

        The budget of `build_pack` is that of the passages as Markdown. Of JSON, the largest such budget is looked for
        with which all of the JSON fits, and `tokens` and `costs` are those of the JSON.
        """
        from excerpt.pack.formats.registry import render_output

        def build(markdown_budget: int) -> tuple[PackResult, str, int]:
            lowered = structs.replace(request, settings=replace(request.settings, budget=markdown_budget))
            result = replace(self._build_result(source, lowered, marked), budget=budget)
            text = render_output(result, self.links)
            return result, text, tokenizer.count(text) if result.passages else 0

        budget, tokenizer = request.settings.budget, self._tokenizer(request)
        if request.settings.format is not Format.JSON:
            result = self._build_result(source, request, marked)
            return result, render_output(result, self.links)
        result, text, tokens = build(budget)
        if tokens > budget:
            fitting, high = 0, budget
            result, text, tokens = build(0)
            while high - fitting > _BUDGET_STEP * budget + 1:
                middle = (fitting + high) // 2
                candidate = build(middle)
                if candidate[2] > budget:
                    high = middle
                else:
                    fitting, (result, text, tokens) = middle, candidate
        costs = (tokens - sum(result.costs[1:]), *result.costs[1:]) if result.passages else ()
        return replace(result, tokens=tokens, costs=costs), text

    def _build_result(self, source: NoteSource, request: PackRequest, marked: Sequence[Fragment]) -> PackResult:
        """Return the pack of `marked`, the request's marked fragments, or if nothing is marked, of its hits."""
        from excerpt.pack.formats.registry import renderer_for

        spans = {mark.fragment_id: mark.spans for mark in request.marks}
        mark_hits = [Hit(fragment, 1.0, spans=spans[fragment.id]) for fragment in marked]
        has_marks = bool(request.marks or request.ids)
        notice = "" if has_marks else request.notice
        result = self._cache(
            source,
            mark_hits if request.marks else request.hits,
            query=" | ".join(request.queries),
            strategy=request.strategy,
            settings=request.settings,
            tokenizer=self._tokenizer(request),
            renderer=renderer_for(request.settings, request.queries, self.links, self._config, notice),
            marked=[*(mark.fragment_id for mark in request.marks), *request.ids],
            overrides=request.overrides,
            ranked=request.ranked,
            confidence=request.confidence,
            notice=notice,
            words=() if has_marks else request.words,
        )
        return replace(result, not_found=request.not_found) if request.not_found and not has_marks else result

    def _with_memories(self, source: NoteSourceWithMoves, request: PackRequest) -> NoteSourceWithMoves:
        """Return a source that has the notes of `source` and the memories of the request.

        The same object as before is returned if possible, because the cache of packs depends on its identity.
        """
        if not request.memories:
            return source
        from excerpt.memory.memory_file import without_comments
        from excerpt.pack.memories import SourceWithMemories

        memories = tuple(map(without_comments, request.memories))
        if (
            self._memory_source is None
            or self._memory_source[0]() is not source
            or not self._memory_source[1].add(memories)
        ):
            self._memory_source = ref(source), SourceWithMemories(source, self._open_tokenizer(source.tokenizer).count)
            self._memory_source[1].add(memories)
        return self._memory_source[1]

    def _tokenizer(self, request: PackRequest) -> Tokenizer:
        return self._open_tokenizer(request.settings.tokenizer)

    def _open_tokenizer(self, name: str) -> Tokenizer:
        from excerpt.text.tokens import open_tokenizer

        if name not in self._tokenizers:
            self._tokenizers[name] = open_tokenizer(name)
        return self._tokenizers[name]


class AskCost(Struct, frozen=True):
    """A question for the number of tokens that one more mark would add to a pack."""

    kind: ClassVar[str] = "cost"
    priority: ClassVar[Priority] = Priority.PACK
    packer: Packer
    request: PackRequest
    mark: MarkedFragment

    def answer(self, engine: Engine) -> MarkCost:
        return self.packer.cost_of_mark(engine.without_comments.snapshot, self.request, self.mark)


class PackUpdate(Struct, frozen=True):
    """A pack, the cost of one more mark, and the result whose hits are packed, with highlights in all of its hits."""

    pack: BuiltPack
    cost: MarkCost | None = None
    result: Result | None = None


class AskPack(Struct, frozen=True):
    """A question for the pack of a request.

    `cost_question` is answered along with it. `result` is the search result whose hits are packed, if not all
    of them have highlights yet: a passage that is too long is cut to the lines with matches.
    """

    kind: ClassVar[str] = "pack"
    priority: ClassVar[Priority] = Priority.PACK
    packer: Packer
    request: PackRequest
    cost_question: AskCost | None = None
    result: Result | None = None

    def answer(self, engine: Engine) -> PackUpdate:
        request, result = self.request, self.result
        if result is not None:
            result = engine.highlight_all(result)
            request = with_highlights(request, result)
        snapshot = engine.without_comments.snapshot
        pack = self.packer.build_pack(snapshot, _prepare_request(request, engine))
        if pack.result.stopped is StopReason.NO_ANSWER and request.confidence is not Confidence.NOTHING:
            count = _count_comments(snapshot, request.hits)  # which answer, as nothing else does
            pack = structs.replace(pack, result=replace(pack.result, left_out_comments=count))
        return PackUpdate(pack, self.cost_question.answer(engine) if self.cost_question is not None else None, result)


def _count_comments(snapshot: Corpus, hits: Sequence[Hit]) -> int:
    """Return the number of comments in the lines of `hits`."""
    return sum(
        comment.begins and hit.fragment.line_start <= comment.line <= hit.fragment.line_end
        for hit in hits
        for comment in snapshot.comments(hit.fragment.path)
    )


def with_highlights(request: PackRequest, result: Result) -> PackRequest:
    """Return the request with the highlights that its hits have in `result`."""
    found = {hit.fragment.id: hit for hit in result.hits}
    pairs = ((hit, found.get(hit.fragment.id, hit)) for hit in request.hits)
    return structs.replace(
        request, hits=tuple(replace(hit, spans=other.spans, named=other.named) for hit, other in pairs)
    )


class AskPackResults(Struct, frozen=True):
    """A question for the packs that other settings or choices would give.

    All requests have the same queries, hits and marks.
    """

    kind: ClassVar[str] = "pack-results"
    priority: ClassVar[Priority] = Priority.PACK
    packer: Packer
    requests: tuple[PackRequest, ...]

    def answer(self, engine: Engine) -> tuple[PackResult, ...]:
        snapshot = engine.without_comments.snapshot
        first = _prepare_request(self.requests[0], engine)
        requests = (
            structs.replace(
                each,
                hits=first.hits,
                confidence=first.confidence,
                notice=first.notice,
                words=first.words,
                not_found=first.not_found,
            )
            for each in self.requests
        )
        return tuple(self.packer.build_pasted_result(snapshot, with_fill(each, engine)) for each in requests)


def _prepare_request(request: PackRequest, engine: Engine) -> PackRequest:
    """Return the request from which a pack is built: with the fill that its queries need, and hits without comments.

    No pack has a comment of the notes' author. If a hit has a comment, the queries are searched again without comments:
    a passage that only a comment brought up is not in the pack, and hits are in the order of the second search or of
    the reranker. This takes as long as the first search, so it is done only if a hit has a comment.
    """
    shared = engine.without_comments
    fragments = [hit.fragment for hit in request.hits]
    if (
        shared is not engine
        and fragments
        and request.queries
        and not request.marks
        and fragments != shared.snapshot.fragments([fragment.key for fragment in fragments])
    ):
        result = shared.search(request.queries, request.strategy, len(request.hits))
        hits = result.hits
        if any(hit.rerank is not None for hit in request.hits):
            by_id = {hit.fragment.id: hit for hit in hits}
            hits = tuple(
                replace(by_id[hit.fragment.id], rerank=hit.rerank) for hit in request.hits if hit.fragment.id in by_id
            )
        request = structs.replace(
            request,
            hits=hits,
            confidence=result.confidence,
            notice=result.notice,
            words=result.words,
            not_found=result.not_found,
        )
    return with_fill(request, engine)


def with_fill(request: PackRequest, engine: Engine) -> PackRequest:
    """Return the request; if its queries have alternatives, whose scores do not compare, it fills the budget."""
    from excerpt.pack import build

    settings = build.with_fill(request.settings, engine, request.queries, are_wordings=request.are_wordings)
    return structs.replace(request, settings=settings)


def _with_current_ids(request: PackRequest, source: NoteSourceWithMoves) -> tuple[PackRequest, MovedFragments | None]:
    """Return the request with current ids of fragments, and the changed ids; None if no id has changed."""
    from excerpt.pack.memories import find_moved_fragments

    moves = find_moved_fragments(request.marks, source)
    if not moves:
        return request, None
    return structs.replace(
        request, marks=moves.update_marks(request.marks), overrides=moves.update_overrides(request.overrides)
    ), moves


def _marked_fragments(source: NoteSource, marks: Iterable[MarkedFragment]) -> list[Fragment]:
    fragments = (source.fragment(mark.fragment_id) for mark in marks)
    return [fragment for fragment in fragments if fragment is not None]


def _packed_ids(result: PackResult) -> set[str]:
    return {each for pack in result.passages for each in pack.fragment_ids}


def _marked_ids(request: PackRequest) -> set[str]:
    return {mark.fragment_id for mark in request.marks}


def _location_key(lines: Fragment | OmittedHit) -> tuple[str, int, int]:
    return lines.path, lines.line_start, lines.line_end


def _left_out_row(left_out: OmittedHit, tokens: int, ids_by_location: dict[tuple[str, int, int], str]) -> LeftOutRow:
    fragment_id = ids_by_location.get(_location_key(left_out))
    ids = () if fragment_id is None else (fragment_id,)
    return LeftOutRow(left_out.path, left_out.line_start, left_out.line_end, tokens, left_out.reason, ids)


def _low_score_rows(result: PackResult, request: PackRequest, tokenizer: Tokenizer) -> Iterator[LeftOutRow]:
    """Yield a row for each of the best hits that is not packed because it scores far below the first."""
    from excerpt.pack.build import CONSIDERED_HITS

    packed = _packed_ids(result) | request.overrides.dropped_ids
    listed = {_location_key(left_out) for left_out in result.left_out}
    for hit in request.hits[:CONSIDERED_HITS]:
        each = hit.fragment
        if each.id not in packed and _location_key(each) not in listed:
            tokens = tokenizer.count(each.text)
            yield LeftOutRow(each.path, each.line_start, each.line_end, tokens, LOW_SCORE_REASON, (each.id,))


def _dropped_rows(source: NoteSource, ids: Iterable[str], tokenizer: Tokenizer, reason: str) -> Iterator[LeftOutRow]:
    """Yield a row for each run of adjacent fragments that the user has dropped, which were one passage of the pack."""
    existing = (fragment for fragment_id in ids if (fragment := source.fragment(fragment_id)) is not None)
    fragments = sorted(existing, key=lambda fragment: (fragment.path, fragment.ordinal))
    runs: list[list[Fragment]] = []
    for fragment in fragments:
        previous = runs[-1][-1] if runs else None
        if previous is not None and (previous.path, previous.ordinal + 1) == (fragment.path, fragment.ordinal):
            runs[-1].append(fragment)
        else:
            runs.append([fragment])
    for run in runs:
        tokens = sum(tokenizer.count(each.text) for each in run)
        ids_of_run = tuple(each.id for each in run)
        yield LeftOutRow(run[0].path, run[0].line_start, run[-1].line_end, tokens, reason, ids_of_run, is_dropped=True)
