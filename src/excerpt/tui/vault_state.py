"""What the screen says in words: of the index in the tab bar, and where the hits would stand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from excerpt.kinds import Confidence, Strategy
from excerpt.text.counted import counted
from excerpt.tui.common.notice import Said
from excerpt.tui.index.controller import IndexState, Watch
from excerpt.tui.keymap import key_sign
from excerpt.tui.pace import rate_words, share_done

if TYPE_CHECKING:
    from excerpt.model import Result

_GAUGE = 30

_WATCHES = {
    Watch.NOT_YET: "checking",
    Watch.EVENTS: "watching",
    Watch.POLLING: "polling",
    Watch.ENDED: "not watching",
}


def bar_state(index: IndexState) -> str:
    """The state in a few words."""
    if index.emptied:
        return f"no notes there, see {key_sign('show-index')}"
    if index.progress is not None:
        return _with_count("paused" if index.paused else index.progress.phase, index)
    if index.elsewhere:
        return "indexed by another excerpt"
    if index.trouble is not None:
        return f"index trouble, see {key_sign('show-index')}"
    if index.status is None:
        return "opening"
    return f"{counted(index.status.notes, 'note')} · {'paused' if index.paused else _WATCHES[index.watch]}"


def search_notice(index: IndexState, vault: Path) -> Said:
    """What the list says while there is no query."""
    if index.status is not None and index.status.notes:
        return Said(
            f"Search {counted(index.status.notes, 'note')}",
            "Type a few words, a phrase or a question: the best fragments are listed as you type. Filters such as "
            "tag:work, path:trips or title:plan narrow it.",
            f"{key_sign('copy-fragment')} copies one fragment, {key_sign('mark')} marks some for the pack, "
            f"{key_sign('copy-pack')} copies the pack for a prompt. {key_sign('help')} lists every key, "
            f"{key_sign('switch-vault')} opens another vault, {key_sign('settings')} the settings.",
        )
    if index.progress is not None:
        return _reading(index)
    if index.trouble is not None and not index.elsewhere:
        return index.trouble
    if index.elsewhere:
        return Said("Another excerpt is indexing this vault", "What it has done so far shows up here by itself.")
    if index.status is None or index.watch is Watch.NOT_YET:
        return Said("Opening the index", "A moment.")
    return Said(
        "No notes here",
        f"{vault} holds no Markdown file that excerpt may read.",
        "Notes end in .md or .markdown; hidden folders and what .gitignore names are left out. "
        f"See {key_sign('show-index')}.",
    )


def progress_words(index: IndexState) -> str:
    """How far a build is, for a sentence; "" while there is none."""
    progress = index.progress
    if progress is None:
        return ""
    paused = ", paused" if index.paused else ""
    return f"{progress.notes_done:,} of {progress.notes_total:,} notes{paused}"


def _reading(index: IndexState) -> Said:
    progress = index.progress
    assert progress is not None
    full = round(share_done(progress) * _GAUGE)
    gauge = "█" * full + "░" * (_GAUGE - full)
    counted = f"{progress.notes_done:,} of {progress.notes_total:,} notes"
    if index.paused:
        goes_on = f"It goes on with {key_sign('index-resume')} in the Index tab ({key_sign('show-index')})."
        return Said("Reading the vault is paused", f"{gauge}\n{counted}", goes_on)
    told = " · ".join(part for part in (counted, rate_words(index.pace, progress)) if part)
    return Said("Reading the vault", f"{gauge}\n{told}", "You can type already: what is read is searched.")


def _with_count(what: str, index: IndexState) -> str:
    progress = index.progress
    assert progress is not None
    return f"{what} {progress.notes_done:,} / {progress.notes_total:,}" if progress.notes_total else what


def is_unanswered(result: Result | None) -> bool:
    """Whether there are hits, and none of them is likely to answer."""
    return result is not None and bool(result.hits) and result.confidence is Confidence.NOTHING


def list_title(result: Result | None) -> str:
    """What stands above the list: how many of the fragments that match are in it, where that is not all."""
    if result is None:
        return "fragments"
    if is_unanswered(result):
        return "Nothing here answers this; the nearest are below"
    shown = len(result.hits)
    title = f"fragments · {shown} of {result.matched:,}" if result.matched > shown else "fragments"
    took_over = result.asked not in (Strategy.AUTO, result.strategy)
    return f"{title} · {result.asked} found nothing" if took_over else title


def nothing_found(result: Result, building: str) -> Said:
    """What the list says when a search found nothing; `building` is how far a build is, or ""."""
    # Whatever strategy is asked for, the engine goes on to the others before it gives up.
    tried = "Words, closeness and meaning were tried."
    still = f" The index is still being built: {building}." if building else ""
    hint = "Fewer or other words may find more."
    if any(sign in result.query for sign in ':"#-'):
        hint = f"{key_sign('suggest')} lists wider queries: without a filter, with a phrase as words."
    return Said(f"Nothing found for {result.query}", tried + still, hint)
