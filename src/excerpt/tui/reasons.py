"""Why an action of a tab cannot be done now, from what stands in the tab."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryScene:
    """What the Memory tab's actions need. `total` counts all memories; `on_file` says that a file that cannot be read
    is selected; `own` that the selected memory has no source; `kind` is what became of its source, "" while nobody has
    looked; `stale` says that there is something to decide. `decided`: something may be taken back; `to_look_at`: a
    source says something else by now, or may, or those alone are shown."""

    total: int = 0
    selected: bool = False
    on_file: bool = False
    own: bool = False
    kind: str = ""
    stale: bool = False
    decided: bool = False
    to_look_at: bool = False


_OF_SOURCE = frozenset({"edit", "follow", "update", "keep"})
_NONE_YET = "Nothing is remembered yet."


def in_memory(action: str, scene: MemoryScene) -> str:
    """Why the Memory tab would not do that; "" where it can be done."""
    if action == "pane":
        return "" if scene.selected or scene.on_file else "There is no list to go to."
    if action == "undo":
        return "" if scene.decided else "There is nothing to take back since excerpt was opened."
    if action == "stale" and not scene.to_look_at:
        return "There is nothing to look at: every source is as it was." if scene.total else _NONE_YET
    if action not in ("change", "copy", "forget", *_OF_SOURCE) or (action == "edit" and scene.on_file):
        return ""
    if not scene.selected:
        return "No memory is selected." if scene.total else _NONE_YET
    return _of_source(action, scene) if action in _OF_SOURCE else ""


def _of_source(action: str, scene: MemoryScene) -> str:
    if scene.own:
        return "This memory is a thought of your own; it has no source" + (" to open." if action == "edit" else ".")
    if not scene.kind and action != "edit":
        return "Its source has not been looked at yet."
    if action == "follow" and scene.kind != "moved":
        return "Its source has not moved."
    if action == "update" and scene.kind != "changed":
        return "Its source has no new text to take."
    if action == "keep" and not scene.stale:
        return "There is nothing to decide: it may stay as it is."
    return ""


def in_overview(action: str, *, topic: bool, shown: bool, waits: bool) -> str:
    """Why the Overview tab would not do that. `waits`: an overview is on its way, which copying waits for."""
    if shown or action not in ("edit", "search", "copy", "passage", "part", "every_line", "remember", "scroll_passage"):
        return ""
    if not topic:
        return "No overview is shown yet: type a topic first."
    return "" if waits and action in ("copy", "remember") else "Nothing is shown of this topic."
