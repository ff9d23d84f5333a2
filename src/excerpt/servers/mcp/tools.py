"""The tools of the MCP server: what each does with the vaults, and the text of its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Annotated, Any, Literal, TypeVar

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, TextContent
from msgspec import Struct, structs
from pydantic import Field

import excerpt
from excerpt.base.errors import ExcerptError, NotFoundError
from excerpt.base.patterns import lazy_pattern
from excerpt.servers.mcp import answers
from excerpt.servers.mcp.answers import MIN_LIMIT, ToolAnswer, fit_answer
from excerpt.servers.mcp.checking import answer_check
from excerpt.servers.mcp.reading import (
    LocatedSource,
    answer_source,
    divide_tokens,
    explain_missing,
    find_in_note,
    locate_source,
    measure_source,
    read_source,
    resolve_source,
)
from excerpt.servers.served_vaults import (
    ReportProgress,
    ServedSnapshot,
    ServedVault,
    ServedVaults,
    ask_each,
    describe_freshness,
)
from excerpt.service.api import describe_missing_parts
from excerpt.service.inputs import MAX_WORDINGS
from excerpt.text.columns import truncate
from excerpt.text.display import format_count, visible_line

# The maximum length in tokens of the answer of each tool:
SEARCH_CAP, READ_CAP, PACK_CAP, RELATED_CAP, OVERVIEW_CAP, RECALL_CAP = 4_000, 8_000, 8_000, 4_000, 2_000, 4_000
CHECK_CAP = 2_000
_HEADER_TOKENS = 150  # maximum tokens of the first and the last line around the text of a note, unless names are long
_MAX_LISTED_VAULTS, _MAX_LISTED_FILES = 4, 5  # listed by `status`, to keep its answer short
MATCH_ALL_QUERY = "path:/"
_MAX_HITS_PER_NOTE = 6  # hits that one note has among the first fifty of a search
_ALLOWED_SOURCE_STATUSES = {"follow": ("moved",), "update": ("changed",), "keep": ("changed", "gone")}
"""The values of `SourceStatus` for which each value of the parameter `stale` is allowed."""
_SOURCE_STATUS_TEXTS = {
    "fresh": "is unchanged",
    "moved": "has moved",
    "changed": "has changed",
    "gone": "is gone",
    "none": "does not exist",
}
_MAX_SOURCES = 10  # of one call of `read`
_MAX_NEAREST = 3  # places named if nothing is likely to answer
_MAX_NAMED_MEMORIES = 3
_ERROR_TOKENS = 40  # of an unknown source, in the last line
_IN_ALL = ' with vault="*"'
MAX_HINTS, MAX_HINT_LENGTH = 3, 120  # hints in an answer, and characters of each

Answer = TypeVar("Answer")

VaultName = Annotated[str, Field(description="see status")]
_SOURCE_FORMS = "path, path:10-40, path#heading, title, [[wikilink]] or fragment id"
Wordings = Annotated[Sequence[str], Field(max_length=MAX_WORDINGS, description="query in other words")]
SourceName = Annotated[str, Field(description=_SOURCE_FORMS)]


class VaultStatus(Struct, frozen=True):
    """One vault in the result of `status`."""

    vault: str
    freshness: str
    notes: int = 0
    fragments: int = 0
    skipped: Sequence[str] = ()


class Tools(Struct, frozen=True):
    """The tools: each public method except `single_vault` is registered with the SDK; they query `vaults`."""

    vaults: ServedVaults

    async def pack(
        self,
        ctx: Context[Any, Any],
        *,
        query: str,
        wordings: Wordings = (),
        budget: Annotated[int, Field(ge=MIN_LIMIT, le=PACK_CAP)] = 1_500,
        scope: Literal["none", "neighbors", "section", "note"] = "neighbors",
        format: Literal["markdown", "xml", "plain"] = "markdown",  # noqa: A002 - as the command has it
        fill: Annotated[
            Literal["enough", "budget"], Field(description="stop when it probably answers, or fill the budget")
        ] = "enough",
        vault: VaultName = "",
    ) -> str:
        """Return the passages that answer a question, whole, with sources, in a token budget. Use this first."""
        _check_query(query)
        queries = _join_wordings(query, wordings)
        served = self.vaults.find_vaults(vault)

        def respond(snapshot: ServedSnapshot) -> str:
            notice = _format_memories(_recall_answers(snapshot, queries))
            return _pack_text(snapshot, queries, budget, scope=scope, pack_format=format, fill=fill, notice=notice)

        if len(served) == 1:
            return await served[0].ask(respond, _progress_callback(ctx))
        ready = await ask_each(served, lambda snapshot: snapshot, _progress_callback(ctx))
        return await self.vaults.ask_union(served, ready, respond)

    async def search(
        self,
        ctx: Context[Any, Any],
        *,
        query: str = "",
        wordings: Wordings = (),
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
        snippet: Annotated[int, Field(ge=0, le=1_000, description="characters of each")] = 200,
        strategy: Literal["auto", "adaptive", "proximity", "semantic", "hybrid"] = "auto",
        group: Literal["passages", "notes", "folders", "tags"] = "passages",
        offset: Annotated[int, Field(ge=0, le=1_000)] = 0,
        vault: VaultName = "",
    ) -> str:
        """Find passages that match: path:lines, headings, a snippet. Without a query, list all.

        Filters: tag:x path:x/ file:x link:Note (backlinks) "phrase" -word date:2025-05; modified:7d lists recent notes.
        Order: sort:-date. vault="*" asks all.
        """
        if not query.strip():
            _refuse_unused(["wordings"] if any(map(str.strip, wordings)) else [], "wordings need a query")
        queries = _join_wordings(query if query.strip() else MATCH_ALL_QUERY, wordings)
        query = " | ".join(queries)
        if group in ("folders", "tags"):
            (only,) = self.single_vault(vault)
            return await only.ask(
                lambda snapshot: _list_branches(snapshot, queries, group, offset, limit), _progress_callback(ctx)
            )
        served = self.vaults.find_vaults(vault)
        hit_limit = (offset + limit) * (_MAX_HITS_PER_NOTE if group == "notes" else 1)

        def respond(snapshot: ServedSnapshot) -> _SearchedVault:
            result = snapshot.vault.search(*queries, strategy=strategy, limit=hit_limit)
            if snapshot.questions is not None:
                snapshot.questions.ask(result)
            matched = snapshot.vault.map(*queries, limit=1).notes if group == "notes" else result.matched
            memories = _recall_answers(snapshot, queries)
            return _SearchedVault(snapshot, result, matched, memories, _nearest_words(snapshot, result))

        several = len(served) > 1
        if several:
            ready = await ask_each(served, lambda snapshot: snapshot, _progress_callback(ctx))
            found = await self.vaults.ask_union(served, ready, respond)
        else:
            found = await served[0].ask(respond, _progress_callback(ctx))
        result, sure = found.result, found.result.confidence
        hits = (_best_hit_per_note(result.hits) if group == "notes" else result.hits)[offset : offset + limit]
        parts = tuple(
            answers.format_hit(number, hit, snippet, query=query) for number, hit in enumerate(hits, offset + 1)
        )
        hint = f"`read` a path:lines{_IN_ALL if several else ''}, or `pack` the question."
        answer = ToolAnswer(
            facts=(sure or "", _fallback_text(result), _time_text(result)),
            what=group,
            parts=parts,
            total=max(found.matched, offset + len(parts)),  # under filters, hits also include the nearest in meaning
            vault=vault if several else served[0].name,
            freshness=found.snapshot.freshness,
            more=lambda shown: f"continue with offset={offset + shown}, or ask with a smaller snippet",
            hint=_query_hints(result)
            + _unsure_hint(sure, found.words)
            + (hint if hits else "Try other words, or `overview`.")
            + _partial_hint(sure, is_partial=found.snapshot.is_partial),
            notice="\n".join(filter(None, (describe_missing_parts(result), _format_memories(found.memories)))),
        )
        return fit_answer(answer, SEARCH_CAP)

    async def read(
        self,
        ctx: Context[Any, Any],
        *,
        source: Annotated[str | list[str], Field(description=f"{_SOURCE_FORMS}; or several")],
        query: Annotated[str, Field(description="only what answers it, of one source")] = "",
        budget: Annotated[int, Field(ge=MIN_LIMIT, le=READ_CAP)] = 2_000,
        full: Annotated[bool, Field(description="all of a long note")] = False,
        vault: VaultName = "",
    ) -> str:
        """Return notes, lines or sections. Of a long note, without query or full: its outline and main passages."""
        sources = [source] if isinstance(source, str) else list(dict.fromkeys(source))
        limit = READ_CAP if full else budget
        if len(sources) == 1 and query.strip():
            return await self._ask_about(
                sources[0], vault, lambda snapshot, at: _answer_from_note(snapshot, at.name, query, limit), ctx
            )
        if len(sources) == 1:
            return await self._ask_about(
                sources[0],
                vault,
                lambda snapshot, at: answer_source(snapshot, at.name, limit, full=full, prefix=at.prefix),
                ctx,
            )
        _refuse_unused(["query"] if query.strip() else [], "a query takes one source")
        return await self._read_sources(sources, vault, limit, ctx, full=full)

    async def _read_sources(
        self, sources: Sequence[str], vault: str, limit: int, ctx: Context[Any, Any], *, full: bool
    ) -> str:
        """Return an answer with several sources, which share `limit` tokens; an unknown source has an error instead."""
        if not 0 < len(sources) <= _MAX_SOURCES:
            raise ExcerptError(f"Give 1 to {_MAX_SOURCES} sources.", "Read the other sources in another call.")
        sizes: list[int] = []
        errors: dict[str, ExcerptError] = {}
        for source in sources:
            try:
                sizes.append(await self._ask_about(source, vault, lambda at, name: measure_source(at, name.name), ctx))
            except NotFoundError as error:
                errors[source] = error
        if not sizes:
            raise next(iter(errors.values()))
        blocks, known = [], [source for source in sources if source not in errors]
        snapshots: dict[ServedVault, ServedSnapshot] = {}
        room = limit - _HEADER_TOKENS - _ERROR_TOKENS * len(errors)
        for source, share in zip(known, divide_tokens(sizes, room), strict=True):

            def respond(
                snapshot: ServedSnapshot, at: LocatedSource, share: int = share
            ) -> tuple[ServedVault, ServedSnapshot, str]:
                return at.vault, snapshot, read_source(snapshot, at.name, share, full=full, prefix=at.prefix).block

            served, snapshots[served], block = await self._ask_about(source, vault, respond, ctx)
            blocks.append(block)
        names = [visible_line(name_tools(str(error)))[:MAX_HINT_LENGTH] for error in errors.values()]
        answer = ToolAnswer(
            facts=(),
            what="sources",
            parts=tuple(blocks),
            total=len(sources),
            vault=", ".join(each.name for each in snapshots),
            freshness=describe_freshness(tuple(snapshots), snapshots),
            more="read fewer at once, or with a larger budget",
            hint=" ".join((*names, "`related` shows notes near one.")),
        )
        return fit_answer(answer, limit)

    async def related(
        self,
        ctx: Context[Any, Any],
        *,
        source: SourceName,
        limit: Annotated[int, Field(ge=1, le=30)] = 8,
        vault: VaultName = "",
    ) -> str:
        """Find the notes nearest to a note or passage, and why: words, meaning, links and backlinks."""

        def respond(snapshot: ServedSnapshot, at: LocatedSource) -> str:
            near = snapshot.vault.related(resolve_source(snapshot.vault, at.name), limit=limit)
            linked = snapshot.vault.peek(near.path, first_lines=1).linked_from
            listing = f'`search` query=\'link:"{visible_line(near.path)}"\' group="notes" lists those that link to it.'
            answer = ToolAnswer(
                facts=(
                    f"near {visible_line(at.prefix + near.path)}",
                    f"linked from {format_count(linked, 'note')}",
                ),
                what="nearest notes",
                parts=tuple(answers.format_related_note(note, at.prefix) for note in near.notes),
                total=len(near.notes),
                vault=snapshot.name,
                freshness=snapshot.freshness,
                more="ask with a smaller limit",
                hint=f"`read` one of them. {listing if linked else ''}".strip(),
            )
            return fit_answer(answer, RELATED_CAP)

        return await self._ask_about(source, vault, respond, ctx)

    async def _ask_about(
        self,
        source: str,
        vault: str,
        question: Callable[[ServedSnapshot, LocatedSource], Answer],
        ctx: Context[Any, Any],
    ) -> Answer:
        """Ask the first vault that has a source. Raises NotFoundError if no vault has it, or if several do for "*"."""
        found: list[tuple[LocatedSource, Answer]] = []
        first_error: NotFoundError | None = None
        for place in locate_source(self.vaults, source, vault):
            try:
                answer = await place.vault.ask(
                    lambda snapshot, place=place: question(snapshot, place),  # type: ignore[misc]
                    _progress_callback(ctx),
                )
            except NotFoundError as error:
                first_error = first_error or error
                continue
            found.append((place, answer))
            if vault != "*":
                break
        if not found:
            raise explain_missing(self.vaults, source) or first_error or NotFoundError(f"No note is called {source}.")
        if len(found) > 1:
            names = ", ".join(f"{place.prefix}{place.name}" for place, _ in found)
            raise NotFoundError(f"Several vaults have {source}.", f"Name one: {names}.")
        return found[0][1]

    async def overview(
        self,
        ctx: Context[Any, Any],
        *,
        topic: str,
        budget: Annotated[int, Field(ge=MIN_LIMIT, le=OVERVIEW_CAP)] = 600,
        vault: VaultName = "",
    ) -> str:
        """Summarize what the notes hold about a topic: main notes, sections, themes, related, when."""
        _check_query(topic)
        (served,) = self.single_vault(vault)
        return await served.ask(lambda snapshot: _answer_overview(snapshot, topic, budget), _progress_callback(ctx))

    async def recall(
        self,
        ctx: Context[Any, Any],
        *,
        query: str = "",
        tags: Sequence[str] = (),
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
        vault: VaultName = "",
    ) -> str:
        """Find what was remembered, by words and tags; newest without a query. Stale ones are marked.

        Replaced ones only with is:replaced.
        """
        (served,) = self.single_vault(vault)

        def respond(snapshot: ServedSnapshot) -> str:
            _refuse_untags(tags, "For memories without a tag, use the query -tag:x.")
            every = snapshot.vault.memories.recall(query, tags=tags, check_sources=True)
            shown = every[:limit]
            notices = "".join(f"{visible_line(notice)[:MAX_HINT_LENGTH]} " for notice in snapshot.notices[:MAX_HINTS])
            hint = "`read` the source of one before you rely on it; `remember` with id changes it." if shown else ""
            answer = ToolAnswer(
                facts=() if not shown or shown[0].answers else ("no memory answers; these share a word",),
                what="memories",
                parts=tuple(map(answers.format_memory, shown)),
                total=len(every),
                vault=snapshot.name,
                freshness=snapshot.freshness,
                more="ask by words or tags",
                hint=notices + hint,
            )
            return fit_answer(answer, RECALL_CAP)

        return await served.ask(respond, _progress_callback(ctx))

    async def remember(
        self,
        ctx: Context[Any, Any],
        *,
        text: str = "",
        tags: Sequence[str] = (),
        why: str = "",
        source: Annotated[str, Field(description="path:10-40 it is from")] = "",
        replaces: Annotated[Sequence[str], Field(description="ids of memories this replaces")] = (),
        id: Annotated[str, Field(description="change this memory; tag -x removes x")] = "",  # noqa: A002 - as memories call it
        stale: Annotated[
            Literal["", "follow", "update", "keep"],
            Field(description="with id, if its source moved or changed: follow it, take its text, or keep this text"),
        ] = "",
        forget: Annotated[str, Field(description="id to move to the trash")] = "",
        shared: Annotated[bool | None, Field(description="save for the team, in a store")] = None,
        vault: VaultName = "",
    ) -> str:
        """Keep a finding for later sessions. Never writes into the notes."""
        (served,) = self.single_vault(vault)
        arguments = {
            "text": text,
            "tags": tags,
            "why": why,
            "source": source,
            "replaces": replaces,
            "id": id,
            "stale": stale,
            "shared": shared is not None,
        }
        given_names = [name for name, value in arguments.items() if value]

        def respond(snapshot: ServedSnapshot) -> str:
            if forget:
                _refuse_unused(given_names, "forget takes only an id")
                forgotten = snapshot.vault.memories.forget(forget)
                return f"Forgot {forgotten.id}; it is in the {'store' if forgotten.is_shared else 'trash folder'}."
            fields = _MemoryFields(text, tags, why, source, stale, replaces, shared)
            return _change_memory(snapshot.vault.memories, id, fields) if id else _save_memory(snapshot, fields)

        return await served.ask(respond, _progress_callback(ctx), writes=True)

    async def check(
        self,
        ctx: Context[Any, Any],
        *,
        answer: str,
        sources: Annotated[Sequence[str], Field(description="places that [1], [2] … cite")] = (),
        vault: VaultName = "",
    ) -> str:
        """Check quotations, citations ([1] or path:lines) and the words of citing sentences against the notes."""
        (served,) = self.single_vault(vault)
        if not answer.strip():
            raise ExcerptError("The answer is empty.", "Give the text of an answer.")
        return await served.ask(
            lambda snapshot: answer_check(snapshot, answer, sources, CHECK_CAP), _progress_callback(ctx)
        )

    async def status(self) -> CallToolResult:
        """List vaults, how fresh each is, files skipped."""
        statuses = list(await asyncio.gather(*map(self._status, self.vaults.all[:_MAX_LISTED_VAULTS])))
        if len(self.vaults.all) > _MAX_LISTED_VAULTS:
            others = ", ".join(visible_line(each.name) for each in self.vaults.all[_MAX_LISTED_VAULTS:])
            statuses.append(VaultStatus(vault=others[:200], freshness="name one to ask it"))
        data = {"vaults": [structs.asdict(each) for each in statuses]}
        text = json.dumps(data, ensure_ascii=False, indent=1)
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data)

    async def _status(self, served: ServedVault) -> VaultStatus:
        name = visible_line(served.name)[:60]
        try:
            status, freshness = await served.ask(lambda snapshot: (snapshot.vault.status(), snapshot.freshness))
        except ExcerptError as error:
            return VaultStatus(vault=name, freshness=visible_line(str(error))[:200])
        room = max(_MAX_LISTED_FILES // len(self.vaults.all), 1)
        skipped = [visible_line(each.path)[:80] for each in status.skipped[:room]]
        if len(status.skipped) > room:
            skipped.append(f"and {len(status.skipped) - room:,} more")
        return VaultStatus(
            vault=name,
            freshness=freshness[:200],
            notes=status.notes,
            fragments=status.fragments,
            skipped=skipped,
        )

    def single_vault(self, name: str) -> tuple[ServedVault]:
        """Return the vault called `name` for a tool that takes only one, as a tuple of one item.

        Raises ExcerptError for "*" (all vaults) if there are several.
        """
        vaults = self.vaults.find_vaults(name)
        if name == "*" and len(vaults) > 1:
            raise ExcerptError(
                'This tool takes only one vault, not "*".',
                "Name a vault that `status` lists, or use `search` or `pack`.",
            )
        return (vaults[0],)


def _join_wordings(query: str, wordings: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((query, *(wording for wording in wordings if wording.strip()))))


def _check_query(query: str) -> None:
    if not query.strip():
        raise ExcerptError("The query is empty.", "Give a question, a few words, or filters such as tag:x.")


def _partial_hint(sure: excerpt.Confidence | None, *, is_partial: bool) -> str:
    """Return a hint that indexing is not finished if the confidence `sure` is low and the index partial, else ""."""
    unsure = sure in (excerpt.Confidence.NOTHING, excerpt.Confidence.UNSURE, excerpt.Confidence.WEAK)
    return " Indexing is not finished: ask again later." if unsure and is_partial else ""


def _nearest_words(snapshot: ServedSnapshot, result: excerpt.Result) -> tuple[str, ...]:
    """Return the vault's words nearest in meaning to the question of an unsure result; () for other results."""
    return snapshot.vault.nearest_words(result) if result.confidence is excerpt.Confidence.UNSURE else ()


def _unsure_hint(sure: excerpt.Confidence | None, words: Iterable[str]) -> str:
    """Return a sentence on what to do with the passages of an unsure result, and a space; "" for other results.

    `words` are the vault's words that are nearest to the question.
    """
    if sure is not excerpt.Confidence.UNSURE:
        return ""
    names = visible_line(", ".join(dict.fromkeys(words)))[:MAX_HINT_LENGTH]
    near = f" The notes' words nearest to the question: {names}." if names else ""
    return f"Judge whether these passages answer the question; if not, ask again in other words.{near} "


def _fallback_text(result: excerpt.Result) -> str:
    """Return a text such as "by adaptive, as proximity found nothing" if another strategy answered, else ""."""
    if result.requested_strategy in (excerpt.Strategy.AUTO, result.strategy):
        return ""
    return f"by {result.strategy}, as {result.requested_strategy} found nothing"


def _time_text(result: excerpt.Result) -> str:
    """Return the filters of the periods that the query names, and the order by date: "notes of date:2025-05 first"."""
    order = {"": "", "date": "oldest first", "-date": "newest first"}[result.sort]
    if order and not any(hit.date for hit in result.hits):
        return "no hit has a date"
    filters = " ".join(period.filter for period in result.periods)
    return order or (f"notes of {filters} first" if filters else "")


def _query_hints(result: excerpt.Result) -> str:
    """Return the hints and warnings of a search result as one text without duplicates, each followed by a space."""
    messages = (*(hint.message for hint in result.hints), *result.warnings)
    hints = dict.fromkeys(visible_line(message)[:MAX_HINT_LENGTH] for message in messages)
    return "".join(f"{hint} " for hint in [*hints][:MAX_HINTS])


def _pack_text(
    snapshot: ServedSnapshot,
    queries: Sequence[str],
    limit: int,
    *,
    scope: str,
    pack_format: str,
    fill: str = "budget",
    ids: Sequence[str] = (),
    fact: str = "",
    result: excerpt.Result | None = None,
    notice: str = "",
) -> str:
    """Return a pack as the text of an answer, in at most `limit` tokens.

    `ids` are fragments to pack besides the hits; `fact` replaces the confidence in the first line; `result` is the
    result of `queries`, if they were searched already; `notice` is a line below the first.
    """
    if result is None:
        result = snapshot.vault.search_for_pack(*queries)
        if snapshot.questions is not None:
            snapshot.questions.ask(result)

    words = _nearest_words(snapshot, result)

    def pack(budget: int) -> excerpt.PackResult:
        return snapshot.vault.pack(
            *queries,
            budget=budget,
            scope=scope,
            format=pack_format,
            fill=fill,
            ids=ids,
            tokenizer=answers.TOKENIZER,
            result=result,
        )

    def answer(packed: excerpt.PackResult) -> ToolAnswer:
        sure = result.confidence or ""
        return ToolAnswer(
            (fact or sure, _count_passages(packed), _time_text(result)),
            snapshot.name,
            snapshot.freshness,
            _query_hints(result)
            + _unsure_hint(result.confidence, words)
            + _pack_hint(packed)
            + _partial_hint(result.confidence, is_partial=snapshot.is_partial),
            notice=notice,
        )

    text, packed = answers.fit_pack(pack, answer, limit)
    snapshot.vault.count_saved(packed)
    return text


def _count_passages(packed: excerpt.PackResult) -> str:
    shown = len(packed.passages)
    return f"{shown:,} of {format_count(shown + len(_list_left_out(packed)), 'passage')}"


def _list_left_out(packed: excerpt.PackResult) -> list[excerpt.OmittedHit]:
    return [each for each in packed.left_out if each.line_start]


def _pack_hint(packed: excerpt.PackResult) -> str:
    """Return a hint about the next step after a pack."""
    left = [answers.source_reference(hit.path, hit.line_start, hit.line_end) for hit in _list_left_out(packed)]
    count = packed.left_out_comments
    comments = f"{format_count(count, 'comment')} of the author left out. " if count else ""
    if packed.stopped is excerpt.StopReason.NO_ANSWER:
        return f"Try other words. Nearest passages, unlikely to answer: {', '.join(left[:_MAX_NEAREST])}."
    if left:
        return f"{comments}{len(left):,} left out, first {', '.join(left[:2])}: `read` them."
    if packed.stopped is excerpt.StopReason.ENOUGH:
        return f'{comments}`related` or `search` for more, or fill="budget".'
    return f"{comments}`related` or `search` for more."


class _SearchedVault(Struct, frozen=True):
    """The answer of the vaults to a query: the result, the number of matches, and the memories that answer.

    `words` are the vault's words that are nearest to the question, if the result is unsure.
    """

    snapshot: ServedSnapshot
    result: excerpt.Result
    matched: int
    memories: tuple[excerpt.RecalledMemory, ...]
    words: tuple[str, ...]


def _recall_answers(snapshot: ServedSnapshot, queries: Iterable[str]) -> tuple[excerpt.RecalledMemory, ...]:
    """Return the memories that answer any query; () if memories cannot be read, which the tool `recall` reports."""
    with suppress(ExcerptError):
        best: dict[str, excerpt.RecalledMemory] = {}
        for query in queries:
            for each in snapshot.vault.memories.recall_answers(query):
                best.setdefault(each.memory.id, each)
        return tuple(best.values())
    return ()


def _format_memories(memories: Iterable[excerpt.RecalledMemory]) -> str:
    """Return a line that names the memories that answer best; "" if there are no memories."""
    order = list(excerpt.Confidence)
    best = sorted(memories, key=lambda each: order.index(each.confidence or excerpt.Confidence.NOTHING))
    return answers.format_answering_memories(best[:_MAX_NAMED_MEMORIES], date.today())


def _best_hit_per_note(hits: Sequence[excerpt.Hit]) -> tuple[excerpt.Hit, ...]:
    """Return the best hit of each note."""
    best: dict[str, excerpt.Hit] = {}
    for hit in hits:
        best.setdefault(hit.path, hit)
    return tuple(best.values())


def _refuse_unused(names: Sequence[str], rule: str) -> None:
    """Raise ExcerptError with the sentence `rule` if there are `names`: parameters that the call would ignore."""
    if names:
        raise ExcerptError(f"Nothing was done: {rule}.", f"Call again without {', '.join(names)}.")


def _refuse_untags(tags: Sequence[str], hint: str) -> None:
    """Raise ExcerptError if a tag has the form -x, which removes the tag x from a memory."""
    if off := [tag for tag in tags if _removes_tag(tag)]:
        raise ExcerptError(f"Nothing was done: {off[0]} removes a tag.", hint)


class _MemoryFields(Struct, frozen=True):
    """The arguments of `remember`; `stale` is the decision about a changed source, "" for none."""

    text: str
    tags: Sequence[str]
    why: str
    source: str
    stale: str
    replaces: Sequence[str]
    shared: bool | None


def _save_memory(snapshot: ServedSnapshot, fields: _MemoryFields) -> str:
    _refuse_unused(["stale"] if fields.stale else [], "stale needs the id of an existing memory")
    _refuse_untags(fields.tags, "Give the id of the memory that has the tag.")
    if not fields.text.strip() and (fields.text or not fields.source):
        raise ExcerptError("There is no text to remember.", "Give text, or a source such as path:10-40.")
    remembered = snapshot.vault.memories.remember(
        fields.text or None,
        tags=fields.tags,
        why=fields.why,
        source=fields.source or None,
        replaces=fields.replaces,
        shared=fields.shared,
    )
    memory_id = remembered.memory.id
    replaced = "".join(
        f" It replaces {old.id}: {truncate(visible_line(old.text), MAX_HINT_LENGTH)}" for old in remembered.replaces
    )
    like = ", ".join(f"{offer.memory.id} ({_RELATIONS[offer.relation]})" for offer in remembered.similar)
    hint = f" Similar memories: {like}. If one is outdated, call with id={memory_id} and replaces." if like else ""
    shared = ", shared with its readers" if remembered.memory.is_shared else ""
    return f"Remembered as {memory_id} in vault {visible_line(snapshot.name)}{shared}.{replaced}{hint}"


_RELATIONS = {"lines": "same lines", "heading": "same heading", "why": "same why and tags", "text": "similar text"}


def _change_memory(memories: excerpt.Memories, memory_id: str, fields: _MemoryFields) -> str:
    """Change a memory and return a sentence about what was done.

    Raises ExcerptError for an invalid request, and then changes nothing.
    """
    text, tags, why, source, stale = fields.text, fields.tags, fields.why, fields.source, fields.stale
    _refuse_unused(["source"] if source else [], "the source of a memory cannot be set; use stale to follow it")
    _refuse_unused([] if fields.shared is None else ["shared"], "only a new memory can be shared")
    _refuse_unused(["text"] if stale == "update" and text else [], "update already takes the text of the source")
    if text and not text.strip():
        raise ExcerptError("Nothing was done: there is no text.", "To remove a memory, forget it.")
    if not (text or tags or why or stale or fields.replaces):
        raise ExcerptError(f"There is nothing to change in {memory_id}.", "Give text, tags, why, replaces or stale.")
    before = memories.get(memory_id)
    if stale:
        _resolve_stale_memory(memories, memory_id, stale)
    off = [tag for tag in tags if _removes_tag(tag)]
    on = [tag for tag in tags if not _removes_tag(tag)]
    replaces = fields.replaces
    after = memories.edit(memory_id, text=text or None, tags=on, untags=off, why=why or None, replaces=replaces)
    if after == before and not replaces:
        return f"Nothing changed: {after.id} has these values already."
    source_location = answers.memory_source_reference(after.source) if stale and after.source else ""
    facts = [
        f"tags: {visible_line(', '.join(after.tags))[:MAX_HINT_LENGTH] or 'none'}",
        source_location and f"source: {source_location}",
        visible_line(f"it replaces {', '.join(replaces)}") if replaces else "",
    ]
    return f"Changed {after.id}; {'; '.join(filter(None, facts))}."


def _removes_tag(tag: str) -> bool:
    return tag.lstrip(" #").startswith("-")


def _resolve_stale_memory(memories: excerpt.Memories, memory_id: str, decision: str) -> None:
    """Apply a `decision` about a memory whose source has changed: "follow", "update" or "keep".

    Raises ExcerptError if the status of the source does not allow that.
    """
    status = memories.check_source(memory_id).kind
    if status not in _ALLOWED_SOURCE_STATUSES[decision]:
        allowed = [name for name, statuses in _ALLOWED_SOURCE_STATUSES.items() if status in statuses]
        hint = f"Use stale={' or '.join(allowed)}." if allowed else "Call again without stale."
        raise ExcerptError(f"Nothing was done: the source of {memory_id} {_SOURCE_STATUS_TEXTS[status]}.", hint)
    {"follow": memories.follow, "update": memories.update, "keep": memories.keep}[decision](memory_id)


def _list_branches(snapshot: ServedSnapshot, queries: Sequence[str], group: str, offset: int, limit: int) -> str:
    """List the folders or tags (nested ones too) that have matches of a query, the one with the most matches first."""
    matches = snapshot.vault.map(*queries, limit=1)
    top = matches.folders if group == "folders" else matches.tags
    branches = sorted((each for each in _flatten_branches(top) if each.filter), key=lambda each: -each.fragments)
    parts = tuple(
        f"{visible_line(branch.filter)} · "
        f"{format_count(branch.fragments, 'passage')} in {format_count(branch.notes, 'note')}"
        for branch in branches[offset : offset + limit]
    )
    answer = ToolAnswer(
        facts=(),
        what=group,
        parts=parts,
        total=len(branches),
        vault=snapshot.name,
        freshness=snapshot.freshness,
        more=lambda shown: f"continue with offset={offset + shown}",
        hint="`search` again with one of these filters in front of the query.",
    )
    return fit_answer(answer, SEARCH_CAP)


def _flatten_branches(branches: Iterable[excerpt.Branch]) -> Iterator[excerpt.Branch]:
    for branch in branches:
        yield branch
        yield from _flatten_branches(branch.branches)


def _answer_from_note(snapshot: ServedSnapshot, source: str, query: str, limit: int) -> str:
    """Return an answer with the passages of a source that answer a query, best first."""
    result, within, ids, path = find_in_note(snapshot, source, query)
    if snapshot.questions is not None:
        snapshot.questions.leave()
    fact = f"what {visible_line(path)} says"
    return _pack_text(
        snapshot, [within], limit, scope="none", pack_format="markdown", ids=ids, fact=fact, result=result
    )


def _answer_overview(snapshot: ServedSnapshot, topic: str, limit: int) -> str:
    vault = snapshot.vault
    summary = vault.overview(topic, budget=limit - _HEADER_TOKENS)

    sure = None if summary.found else excerpt.Confidence.NOTHING
    hint = "`read` a note of it, or `pack` a question." if summary.found else "Try other words, or `search`."

    def answer(text: str) -> ToolAnswer:
        return ToolAnswer(
            facts=(f"{format_count(summary.notes, 'note')} about {visible_line(topic)[:80]}",),
            vault=snapshot.name,
            freshness=snapshot.freshness,
            hint=hint + _partial_hint(sure, is_partial=snapshot.is_partial),
            above=text.strip("\n"),
        )

    text = fit_answer(answer(summary.text), READ_CAP)
    while summary.found and (excess := answers.count_tokens(text) - limit) > 0:  # its budget is in the vault's tokens
        summary = replace(summary, budget=max(summary.budget - excess, 1))
        text = fit_answer(answer(summary.text), READ_CAP)
        if summary.budget == 1:
            break
    return fit_answer(answer(summary.text), limit)


def _progress_callback(ctx: Context[Any, Any]) -> ReportProgress:
    """Return a function that reports the progress of indexing to the client of a call."""

    async def report(done: int, total: int, text: str) -> None:
        await ctx.report_progress(done, total, text)

    return report


_COMMAND_OF_TOOL = lazy_pattern(r"`excerpt (pack|search|read|related|overview|recall|remember|check|status)\b[^`]*`")
_USERS_COMMAND = lazy_pattern(r"\bRun (`excerpt [^`]*`)")


def name_tools(text: str) -> str:
    """Return the text of an error with tools in place of commands; a command that is no tool is left to the user."""
    return _USERS_COMMAND.sub(r"Ask the user to run \1", _COMMAND_OF_TOOL.sub(r"`\1`", text))
