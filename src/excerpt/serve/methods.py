"""The methods of the protocol: each answers a request from a vault with a JSON object."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import excerpt
from excerpt.json_forms import to_json_value
from excerpt.mcp.served_vaults import ServedSnapshot
from excerpt.serve.messages import (
    PackParams,
    ReadParams,
    SearchParams,
    StatusParams,
    VaultParams,
)
from excerpt.text.columns import truncate
from excerpt.text.snippet import snippet

JsonObject = dict[str, Any]
_WIKILINK = re.compile(r"!?\[\[([^\]|]+)(?:\|[^\]]*)?\]\]")


@dataclass(frozen=True, slots=True)
class Method:
    """A method: the type of its parameters, what answers it, and whether it writes, so that it is never run twice."""

    params: type[VaultParams]
    answer: Callable[[ServedSnapshot, Any], JsonObject]
    writes: bool = False


# --- search and pack --------------------------------------------------------------------------------------------------


def answer_search(snapshot: ServedSnapshot, params: SearchParams) -> JsonObject:
    """Return the hits of a query, each with a snippet, without signals."""
    result = snapshot.vault.search(
        params.query,
        where=params.where,
        literal=params.literal,
        strategy=params.strategy,
        limit=params.limit,
        spans=params.snippet > 0,
    )
    answer = result.to_dict()
    answer["hits"] = [_format_hit(hit, params) for hit in result.hits]
    return answer


def _format_hit(hit: excerpt.Hit, params: SearchParams) -> JsonObject:
    """Return a hit as `search` writes it, with the snippet and the text that were asked for, without signals."""
    form = hit.to_dict()
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
    """Return a pack of the fragments that are named, or else of what the query finds."""
    if not (params.query.strip() or params.fragments):
        raise ValueError("pack needs a query or fragments.")
    packed = snapshot.vault.pack(
        *([params.query] if params.query.strip() else []),
        where=params.where,
        literal=params.literal,
        budget=params.budget,
        scope=params.scope,
        fill=params.fill,
        format=params.format,
        ids=params.fragments,
    )
    snapshot.vault.count_saved(packed)
    return {**packed.to_dict(), "rendered": packed.text}


# --- notes ------------------------------------------------------------------------------------------------------------


def answer_read(snapshot: ServedSnapshot, params: ReadParams) -> JsonObject:
    """Return a note or lines of it, with `context` more lines on both sides."""
    vault = snapshot.vault
    note = vault.read(_resolve_source(vault, params.source))
    if params.context:
        lines = max(note.line_start - params.context, 1), min(note.line_end + params.context, note.lines)
        note = replace(vault.read(note.path, lines=lines), heading_path=note.heading_path)
    return {**note.to_dict(), "file": str(vault.folder / note.path)}


def _resolve_source(vault: excerpt.Vault, source: str) -> str:
    """Return the name by which `Vault.read` knows a source, which may be a [[wikilink]] or the id of a fragment."""
    source = source.strip()
    if link := _WIKILINK.fullmatch(source):
        return link[1]
    fragment = vault.fragment(source)
    return source if fragment is None else f"{fragment.path}:{fragment.line_start}-{fragment.line_end}"


# --- the server -------------------------------------------------------------------------------------------------------


def answer_status(snapshot: ServedSnapshot, _params: StatusParams) -> JsonObject:
    """Return what the index holds, and whether it is up to date."""
    status = to_json_value(snapshot.vault.status())
    assert isinstance(status, dict)
    return {**status, "freshness": snapshot.freshness}


METHODS: Mapping[str, Method] = {
    "search": Method(SearchParams, answer_search),
    "pack": Method(PackParams, answer_pack),
    "read": Method(ReadParams, answer_read),
    "status": Method(StatusParams, answer_status),
}
"""The methods by name, without `cancel`, which the connection answers itself."""
