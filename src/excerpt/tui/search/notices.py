"""Texts shown in place of the hits, and in the title of their list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textual.markup import escape

from excerpt.kinds import Confidence, Strategy
from excerpt.text.display import format_count, visible_line
from excerpt.tui.common.notice import EmptyState
from excerpt.tui.index.controller import ChangeDetection, IndexState, done_share, format_rate
from excerpt.tui.keymap import key_sign

if TYPE_CHECKING:
    from excerpt.model import Result

_GAUGE = 30


_NO_INDEX = EmptyState("Opening the index", "A moment.")


def search_notice(index: IndexState, vault: Path, *, first: bool = False) -> EmptyState:
    """Return the text shown in place of the list while there is no query.

    `first` adds instructions for a user who has not opened a vault of their own before.
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
        return _reading(index)
    if index.failure is not None and not index.is_locked:
        return index.failure
    if index.is_locked:
        return EmptyState("Another excerpt is indexing this vault", "Its progress appears here.")
    return _NO_INDEX if index.status is None or index.change_detection is ChangeDetection.NOT_YET else _no_notes(vault)


def _no_notes(vault: Path) -> EmptyState:
    return EmptyState(
        "No notes found",
        f"{vault} has no Markdown file that excerpt can read.",
        "Notes end in .md or .markdown; hidden folders and files in .gitignore are skipped.",
    )


def _reading(index: IndexState) -> EmptyState:
    progress = index.progress
    assert progress is not None
    filled = round(done_share(progress) * _GAUGE)
    gauge = "█" * filled + "░" * (_GAUGE - filled)
    files = f"{progress.notes_done:,} of {format_count(progress.notes_total, 'file')}"
    if index.paused:
        continues = f"“The index” among the commands ({key_sign('palette')}) continues it."
        return EmptyState("Reading the vault is paused", f"{gauge}\n{files}", continues)
    details = " · ".join(part for part in (files, format_rate(index.build_samples, progress)) if part)
    return EmptyState(
        "Reading the vault", f"{gauge}\n{details}", "You can type already: notes read so far are searched."
    )


def is_unanswered(result: Result | None) -> bool:
    """Return whether there are hits but none of them is likely to answer the query."""
    return result is not None and bool(result.hits) and result.confidence is Confidence.NOTHING


def list_title(result: Result | None, correction: str, *, is_lower_bound: bool = False) -> str:
    """Return the title of the list, with the number of hits shown if more fragments match.

    `is_lower_bound` marks the number of matches as a lower bound. `correction` is the suggested query, or "".
    """
    if result is None or not result.hits:
        return ""
    if is_unanswered(result):
        offer = (
            f"did you mean {escape(visible_line(correction))}? {key_sign('complete')} takes it" if correction else ""
        )
        return f"No note answers this; {offer or 'the nearest are below'}"
    count = len(result.hits)
    more = "+" if is_lower_bound else ""
    title = f"hits · {count} of {result.matched:,}{more}" if result.matched > count else "hits"
    is_fallback = result.requested_strategy not in (Strategy.AUTO, result.strategy)
    return f"{title} · {result.requested_strategy} found nothing" if is_fallback else title


def no_hits_notice(result: Result, building: str, correction: str) -> EmptyState:
    """Return the text shown in place of the list if a search found nothing.

    `building` is the progress of an index build, or "". `correction` is the suggested query, or "".
    """
    # Whatever strategy is requested, the engine tries the others before it finds nothing.
    attempts = "excerpt searched by words, proximity and meaning."
    build_note = f" The index is still being built: {building}." if building else ""
    hint = "Try fewer or other words."
    if any(sign in result.query for sign in ':"#-'):
        hint = f"“Narrower and wider queries” among the commands ({key_sign('palette')}) has queries without it."
    title = f"Nothing found for {result.query}"
    if correction:
        return EmptyState(
            f"Did you mean {correction}? {key_sign('edit')} takes it.", f"{title}. {attempts}{build_note}", hint
        )
    return EmptyState(title, attempts + build_note, hint)
