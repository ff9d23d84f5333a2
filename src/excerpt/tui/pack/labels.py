"""The words of the pack on the screen: its scopes, its size, and why it has no more passages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from excerpt.base.kinds import Confidence, Scope, StopReason
from excerpt.text.columns import truncate
from excerpt.text.display import format_count, visible_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from excerpt.base.model import Pack, PackResult, Result

_SCOPE_LABELS = {
    Scope.NONE: "hit only",
    Scope.NEIGHBORS: "paragraphs around",
    Scope.SECTION: "section",
    Scope.NOTE: "whole note",
}


def scope_label(scope: Scope) -> str:
    """Return the name of a scope on the screen."""
    return _SCOPE_LABELS[scope]


def stop_label(result: PackResult, mark_count: int = 0) -> str:
    """Return why a pack has no more passages; of weak hits, that they are weak, as none of them may be enough.

    `mark_count` is the number of marks, 0 for a pack of the best hits.
    """
    if result.stopped is StopReason.BUDGET:
        return "full"
    if mark_count:
        return f"{mark_count:,} marked"
    if not result.passages:
        from excerpt.base.model import DROPPED_REASON

        if count := sum(each.reason == DROPPED_REASON for each in result.left_out):
            return f"{count:,} dropped"
    if result.stopped is StopReason.NO_ANSWER and result.left_out_comments:
        return "only comments answer"
    if result.stopped is StopReason.ENOUGH and result.confidence is Confidence.WEAK:
        return "weak"
    labels = {
        StopReason.ENOUGH: "enough",
        StopReason.UNSURE: "unsure",
        StopReason.NO_ANSWER: "no answer",
        StopReason.LIMIT: "first hits",
    }
    return labels.get(result.stopped, "all hits")


def passage_count(result: PackResult) -> str:
    """Return the number of passages of a pack, and of their notes if some share one: `8 passages of 4 notes`."""
    passages, notes = len(result.passages), len({pack.path for pack in result.passages})
    of_notes = f" of {format_count(notes, 'note')}" if notes < passages else ""
    return f"{format_count(passages, 'passage')}{of_notes}"


def fitted_label(result: PackResult, asked: Callable[[Pack], Scope]) -> str:
    """Return how many passages have the whole section or note that their scope asks for: `1 of 4 fit`; "" for all.

    `asked` returns the scope that is asked for a passage.
    """
    whole = [pack for pack in result.passages if asked(pack) in (Scope.SECTION, Scope.NOTE)]
    fitted = sum(not (pack.cut_above or pack.cut_below) for pack in whole)
    return f"{fitted} of {len(whole)} fit" if fitted < len(whole) else ""


def needs_label(result: PackResult) -> str:
    """Return the end of the `stop_label` of a full pack, with the tokens that the next passage needs; else ""."""
    return f": the next needs {result.needs[0]:,}" if result.stopped is StopReason.BUDGET and result.needs else ""


_MAX_PART_COLUMNS = 30
_MIN_PART_COLUMNS = 6
"""Columns of a part of the question, below which only the number of parts is shown."""


def not_found_label(result: PackResult | Result, room: int | None = None) -> str:
    """Return the parts of the question that no passage of the vault covers: `not found: deadline`; "" without any.

    A label of more than `room` columns has only its first part, cut, and how many others there are.
    """
    if not result.not_found:
        return ""
    parts = [truncate(visible_line(part), _MAX_PART_COLUMNS) for part in result.not_found]
    label = f"not found: {', '.join(parts)}"
    if room is None or cell_len(label) <= room:
        return label
    others = f" and {len(parts) - 1} more" if len(parts) > 1 else ""
    part_room = room - cell_len(f"not found: {others}")
    if part_room >= min(_MIN_PART_COLUMNS, cell_len(parts[0])):
        return f"not found: {truncate(parts[0], part_room)}{others}"
    count = f"{format_count(len(parts), 'part')} not found"
    return count if cell_len(count) <= room else ""


def pack_summary(result: PackResult, mark_count: int) -> str:
    """Return the size of a pack and why it has no more passages: `3 passages · 240/4,000 tokens · enough`.

    The parts of the question that no passage covers stand at the end.
    """
    passages, stop = format_count(len(result.passages), "passage"), stop_label(result, mark_count)
    if result.stopped is StopReason.NO_ANSWER:
        return f"{passages} · {stop}"
    tokens = f"{result.tokens:,}/{format_count(result.budget, 'token')}"
    parts = (passages, tokens, f"{stop}{needs_label(result)}", not_found_label(result))
    return " · ".join(filter(None, parts))
