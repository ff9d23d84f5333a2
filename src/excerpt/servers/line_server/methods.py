"""The methods of the protocol: each answers a request from a vault with a JSON object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

import excerpt
from excerpt.base.errors import NotFoundError
from excerpt.base.patterns import lazy_pattern
from excerpt.search.usage import READING_SECONDS
from excerpt.servers.line_server.messages import (
    CompleteParams,
    PackParams,
    PassagesParams,
    ReadParams,
    RecallParams,
    RememberParams,
    SearchParams,
    StatusParams,
    VaultParams,
    WhyParams,
)
from excerpt.servers.line_server.results import (
    CompleteResult,
    PackAnswer,
    PassagesResult,
    ReadResult,
    RecallResult,
    RememberResult,
    SearchResult,
    StatusResult,
    WhyResult,
)
from excerpt.servers.prompts import find_passages
from excerpt.servers.served_vaults import ServedSnapshot
from excerpt.text.columns import truncate
from excerpt.text.snippet import snippet

JsonObject = dict[str, Any]
_MAX_EXPLAINED_RANK = 200  # the largest limit of a search
_WIKILINK = lazy_pattern(r"!?\[\[([^\]|]+)(?:\|[^\]]*)?\]\]")


class Method(Struct, frozen=True):
    """A method: the types of its parameters and its result, the function that answers it, and whether it writes.

    A method that writes is not run a second time after a lost connection.
    """

    params: type[VaultParams]
    result: type[Any]
    answer: Callable[[ServedSnapshot, Any], JsonObject]
    writes: bool = False


def _check_wordings(query: str, wordings: Sequence[str]) -> None:
    """Raise ValueError if there are wordings of a query that is empty."""
    if wordings and not query.strip():
        raise ValueError("wordings need a query.")


def answer_search(snapshot: ServedSnapshot, params: SearchParams) -> JsonObject:
    """Return the hits of a query, each with a snippet, without signals."""
    _check_wordings(params.query, params.wordings)
    result = snapshot.vault.search(
        params.query,
        *params.wordings,
        where=params.where,
        literal=params.literal,
        strategy=params.strategy,
        limit=params.limit,
        spans=params.snippet > 0,
    )
    if snapshot.questions is not None:
        snapshot.questions.ask(result, READING_SECONDS)
    answer = result.to_dict()
    answer["hits"] = [_format_hit(hit, params) for hit in result.hits]
    return {**answer, "freshness": snapshot.freshness}


def _format_hit(hit: excerpt.Hit, params: SearchParams) -> JsonObject:
    """Return a hit in the form of `search`, with the requested snippet and text, without signals."""
    form = replace(hit, signals=()).to_dict()  # writing them takes .05 ms a hit
    del form["signals"]
    if not params.text:
        del form["text"]
    if params.snippet:
        text, spans = snippet(hit.text, hit.spans, params.snippet)
        shown = truncate(text, params.snippet)
        end = len(shown) - (shown != text)
        form["snippet"] = {"text": shown, "spans": [[first, min(last, end)] for first, last in spans if first < end]}
    return form


def answer_pack(snapshot: ServedSnapshot, params: PackParams) -> JsonObject:
    """Return a pack of the named fragments, or else of the hits of the query."""
    if not (params.query.strip() or params.fragments):
        raise ValueError("pack needs a query or fragments.")
    _check_wordings(params.query, params.wordings)
    packed = snapshot.vault.pack(
        *([params.query, *params.wordings] if params.query.strip() else []),
        where=params.where,
        literal=params.literal,
        budget=params.budget,
        scope=params.scope,
        strategy=params.strategy,
        fill=params.fill or (snapshot.vault.settings.pack.fill if params.wordings else None),
        format=params.format,
        ids=params.fragments,
    )
    if snapshot.questions is not None and not params.fragments:
        snapshot.questions.leave()
    snapshot.vault.count_saved(packed)
    return {**packed.to_dict(), "rendered": packed.text, "freshness": snapshot.freshness}


def answer_why(snapshot: ServedSnapshot, params: WhyParams) -> JsonObject:
    """Return a hit of a query with its explanation."""
    result = snapshot.vault.search(
        params.query,
        where=params.where,
        literal=params.literal,
        strategy=params.strategy,
        limit=_MAX_EXPLAINED_RANK,
        spans=False,
    )
    rank = next((rank for rank, hit in enumerate(result, 1) if hit.fragment.id == params.fragment_id), None)
    if rank is None:
        raise NotFoundError(
            f"The fragment is not among the first {_MAX_EXPLAINED_RANK} hits of the query.", "Search again."
        )
    explanation = snapshot.vault.explain(replace(result, hits=result.hits[:rank]))[-1]
    return {**result.hits[rank - 1].to_dict(), "explanation": explanation.to_dict()}


def answer_complete(snapshot: ServedSnapshot, params: CompleteParams) -> JsonObject:
    """Return completions of the word of a query at the cursor."""
    return snapshot.vault.complete(params.text, params.cursor).to_dict()


def answer_read(snapshot: ServedSnapshot, params: ReadParams) -> JsonObject:
    """Return a note or lines of it, with `context` more lines on both sides.

    A request without `context` counts as opening a hit of the last search, which is recorded as a use.
    """
    vault = snapshot.vault
    note = vault.read(_resolve_source(vault, params.source))
    if snapshot.questions is not None and not params.context:
        snapshot.questions.open(note.path, note.line_start, note.line_end)
    if params.context:
        lines = max(note.line_start - params.context, 1), min(note.line_end + params.context, note.lines)
        note = replace(vault.read(note.path, lines=lines), heading_path=note.heading_path)
    folder, path = vault.folders.locate(note.path)
    return {**note.to_dict(), "file": str(folder / path)}


def _resolve_source(vault: excerpt.Vault, source: str) -> str:
    """Return the name that `Vault.read` accepts for a source, which may be a [[wikilink]] or the id of a fragment."""
    source = source.strip()
    if link := _WIKILINK.fullmatch(source):
        return link[1]
    fragment = vault.fragment(source)
    return source if fragment is None else f"{fragment.path}:{fragment.line_start}-{fragment.line_end}"


def answer_remember(snapshot: ServedSnapshot, params: RememberParams) -> JsonObject:
    """Save a memory and return it, with the existing ones that it replaces or may replace."""
    if not (params.text.strip() or params.source):
        raise ValueError("remember needs a text or a source.")
    saved = snapshot.vault.memories.remember(
        params.text or None,
        tags=params.tags,
        why=params.why,
        source=params.source or None,
        replaces=params.replaces,
        shared=params.shared,
    )
    return saved.to_dict()


def answer_recall(snapshot: ServedSnapshot, params: RecallParams) -> JsonObject:
    """Return the memories that match, best first; without a query, the newest memories."""
    recalled = snapshot.vault.memories.recall(params.query, tags=params.tags, limit=params.limit, check_sources=True)
    return {"memories": [each.to_dict() for each in recalled]}


def answer_passages(snapshot: ServedSnapshot, params: PassagesParams) -> JsonObject:
    """Return the passages to add to a prompt, None if the vault does not surely answer it."""
    passages = find_passages(snapshot.vault, params.prompt, frozenset(params.shown_before))
    return {"passages": None if passages is None else asdict(passages)}


def answer_status(snapshot: ServedSnapshot, _params: StatusParams) -> JsonObject:
    """Return the contents of the index, and whether it is up to date."""
    return {**snapshot.vault.status().to_dict(), "freshness": snapshot.freshness}


METHODS: Mapping[str, Method] = {
    "search": Method(SearchParams, SearchResult, answer_search),
    "pack": Method(PackParams, PackAnswer, answer_pack),
    "read": Method(ReadParams, ReadResult, answer_read),
    "why": Method(WhyParams, WhyResult, answer_why),
    "complete": Method(CompleteParams, CompleteResult, answer_complete),
    "remember": Method(RememberParams, RememberResult, answer_remember, writes=True),
    "recall": Method(RecallParams, RecallResult, answer_recall),
    "passages": Method(PassagesParams, PassagesResult, answer_passages),
    "status": Method(StatusParams, StatusResult, answer_status),
}
"""The methods by name, without `cancel`, which the connection answers itself."""
