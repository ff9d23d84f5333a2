"""Texts shown in place of the list of hits, and the notice about them in the status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from excerpt.base.kinds import Strategy
from excerpt.text.display import format_count, visible_line
from excerpt.tui.common.notice import EmptyState
from excerpt.tui.index.controller import ChangeDetection, IndexState, done_share, format_rate
from excerpt.tui.keymap import key_sign
from excerpt.vault.known_vaults import VaultFolders

if TYPE_CHECKING:
    from excerpt.base.model import Result

_GAUGE_CELLS = 30


_OPENING_NOTICE = EmptyState("Opening the index", "The search is ready in a moment.")


def search_notice(index: IndexState, vaults: VaultFolders, *, first: bool = False) -> EmptyState:
    """Return the text shown in place of the list while there is no query.

    `index` is the state of the index. `first` adds instructions for a user who has never
    opened a vault before, except the demo.
    """
    if index.status is not None and index.status.notes:
        title = f"Search {format_count(index.status.notes, 'note')}"
        keys = f"{key_sign('help')} lists the keys, {key_sign('palette')} finds any command by name."
        if first:
            return EmptyState(
                title,
                "Type a few words or a question: the best passages come as you type.\n"
                f"{key_sign('mark')} marks one for the pack, {key_sign('copy-pack')} copies the pack for a prompt.\n"
                f"{keys}",
            )
        return EmptyState(title, "Filters such as tag:work, path:trips or title:plan narrow it.", keys)
    if index.progress is not None:
        return _reading_notice(index)
    if index.failure is not None and not index.is_locked:
        return index.failure
    if index.is_locked:
        return EmptyState(
            "Another process of excerpt is indexing this vault", "The progress of that process appears here."
        )
    return (
        _OPENING_NOTICE
        if index.status is None or index.change_detection is ChangeDetection.NOT_YET
        else _no_notes_notice(vaults)
    )


def _no_notes_notice(vaults: VaultFolders) -> EmptyState:
    folders = map(str, vaults.by_name.values())
    return EmptyState(
        "No notes found",
        f"{' and '.join(folders)} {'have' if vaults.is_joined else 'has'} no Markdown file that excerpt can read.",
        "Notes end in .md or .markdown; hidden folders and files in .gitignore are skipped.",
    )


def _reading_notice(index: IndexState) -> EmptyState:
    progress = index.progress
    assert progress is not None
    filled = round(done_share(progress) * _GAUGE_CELLS)
    gauge = "█" * filled + "░" * (_GAUGE_CELLS - filled)
    files = f"{progress.notes_done:,} of {format_count(progress.notes_total, 'file')}"
    if index.paused:
        continues = f"“The index” among the commands ({key_sign('palette')}) continues it."
        return EmptyState("Reading the vault is paused", f"{gauge}\n{files}", continues)
    details = " · ".join(part for part in (files, format_rate(index.build_samples, progress)) if part)
    return EmptyState(
        "Reading the vault", f"{gauge}\n{details}", "You can type already: notes read so far are searched."
    )


def is_unanswered(result: Result | None) -> bool:
    """Return whether the result has hits, but none of them surely answers the query."""
    return result is not None and bool(result.hits) and result.has_nothing_sure


def answer_notice(result: Result, *, has_correction: bool) -> str:
    """Return a notice about the hits: none answers, the result is unsure, its strategy found none, or a model failed.

    Returns "" if there is nothing to say. While the embedding model has not answered, no strategy has failed yet.
    `has_correction`: a corrected query is offered after the notice.
    """
    if not result.hits:
        return ""
    if is_unanswered(result):
        missing, nearest = visible_line(result.lack), "" if has_correction else "the nearest are below"
        return "; ".join(part for part in (missing, nearest) if part)
    if result.warnings:
        return visible_line(result.warnings[0].partition(".")[0].lower())
    if result.sort and not any(hit.date for hit in result.hits):
        return "no hit has a date, so the order is as without it"
    is_fallback = result.requested_strategy not in (Strategy.AUTO, result.strategy)
    return f"{result.requested_strategy} found nothing" if is_fallback and not result.is_without_meaning else ""


def no_hits_notice(result: Result, build_progress: str, correction: str) -> EmptyState:
    """Return the text shown in place of the list if a search found nothing.

    `build_progress` is the progress of an index build, or "". `correction` is the suggested query, or "".
    """
    # Whatever strategy is requested, the engine tries the others before it finds nothing.
    searched_by = "excerpt searched by words, proximity and meaning."
    build_note = f" The index is still being built: {build_progress}." if build_progress else ""
    hint = "Try fewer or other words."
    if any(sign in result.query for sign in ':"#-'):
        hint = f"“Narrower and wider queries” among the commands ({key_sign('palette')}) has queries without it."
    title = f"Nothing found for {result.query}"
    if correction:
        return EmptyState(
            f"Did you mean {correction}? {key_sign('edit')} takes it.", f"{title}. {searched_by}{build_note}", hint
        )
    return EmptyState(title, searched_by + build_note, hint)
