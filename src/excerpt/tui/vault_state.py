"""What the screen says in words: of the index in the tab bar, and where the hits would stand."""

from __future__ import annotations

from excerpt.model import Confidence, Progress, Result, Status, Strategy
from excerpt.tui.widgets.index_pane import rate_line, share_done
from excerpt.tui.widgets.notice import Said

_GAUGE = 30


def bar_state(status: Status | None, progress: Progress | None, trouble: Said | None, elsewhere: bool) -> str:
    """The state in a few words."""
    if progress is not None:
        done = f" {progress.notes_done:,} / {progress.notes_total:,}" if progress.notes_total else ""
        return f"{progress.phase}{done}"
    if elsewhere:
        return "indexed by another excerpt"
    if trouble is not None:
        return "index trouble, see F4"
    if status is None:
        return "opening"
    return f"{status.notes:,} note{'' if status.notes == 1 else 's'}"


def search_notice(status: Status | None, progress: Progress | None, trouble: Said | None, elsewhere: bool) -> Said:
    """What the list says while there is no query."""
    if status is not None and status.notes:
        return Said(
            f"Search {status.notes:,} note{'' if status.notes == 1 else 's'}",
            "Type a few words, a phrase or a question: fragments are ranked with every key.",
            "⇥ marks a fragment for the pack, ^y copies the pack for a prompt, F1 lists every key.",
        )
    if progress is not None:
        full = round(share_done(progress) * _GAUGE)
        gauge = "█" * full + "░" * (_GAUGE - full)
        return Said(
            "Reading the vault", f"{gauge}\n{rate_line(progress)}", "You can type already: what is read is searched."
        )
    if trouble is not None:
        return trouble
    if elsewhere:
        return Said("Another excerpt is indexing this vault", "What it has done so far shows up here by itself.")
    if status is None:
        return Said("Opening the index", "A moment.")
    return Said(
        "No notes here",
        f"{status.vault} holds no Markdown file that excerpt may read.",
        "Notes end in .md or .markdown; hidden folders and what .gitignore names are left out. See F4.",
    )


def is_unanswered(result: Result | None) -> bool:
    """Whether there are hits, and none of them is likely to answer."""
    return result is not None and bool(result.hits) and result.confidence is Confidence.NOTHING


def list_title(result: Result | None, most: int) -> str:
    """What stands above the list, of which at most `most` rows are shown."""
    if result is None:
        return "fragments"
    if is_unanswered(result):
        return "Nothing here answers this; the nearest are below"
    shown = min(len(result.hits), most)
    title = f"fragments · {shown} of {result.matched:,}" if result.matched > shown else "fragments"
    took_over = result.asked not in (Strategy.AUTO, result.strategy)
    return f"{title} · {result.asked} found nothing" if took_over else title


def nothing_found(result: Result, building: str) -> Said:
    """What the list says when a search found nothing; `building` is how far a build is, or ""."""
    # Whatever strategy is asked for, the engine goes on to the others before it gives up.
    tried = "Words, closeness and meaning were tried."
    still = f" The index is still being built: {building}." if building else ""
    hint = "Fewer or other words may find more; a phrase in quotation marks must stand as it is."
    return Said(f"Nothing found for {result.query}", tried + still, hint)
