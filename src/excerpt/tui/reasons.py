"""Why an action of a tab cannot be done now, from what stands in the tab."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from excerpt.tui.keymap import key_sign


class Row(Enum):
    """What is selected in the list of hits."""

    NOTHING = "nothing"
    FRAGMENT = "fragment"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class SearchScene:
    """What the Search tab's actions need. `typed`: there is a query; `answered`: something is shown
    of one; `context`: there is something in the context. `packed`: there is a pack to take along, or one
    on its way. `in_panel`: a panel with rows has the focus, where marking and opening are about its own rows."""

    typed: bool = False
    answered: bool = False
    context: bool = False
    row: Row = Row.NOTHING
    marked: bool = False
    packed: bool = False
    decided: bool = False
    in_panel: bool = False
    pack_row: bool = False
    """Something is selected in the pack panel; `on_pack`: a passage that is in the pack; `alone`: the only one."""
    on_pack: bool = False
    alone: bool = False


_OF_PANEL = frozenset({"mark", "edit"})
_NEED_ROW = frozenset({"mark", "edit", "obsidian", "copy_fragment", "why"})
_NO_CONTEXT = "Nothing is in the context."


def in_search(action: str, scene: SearchScene) -> str:
    """Why the Search tab would not do that; "" where it can be done."""
    if action in _NEED_ROW and scene.row is Row.NOTHING and not (scene.in_panel and action in _OF_PANEL):
        return "Nothing is found for this query." if scene.typed else "Nothing is listed yet: type a query first."
    if action == "why" and scene.row is Row.MEMORY:
        return "A memory is found by itself, and is no part of the ranking."
    if action == "obsidian" and scene.row is Row.MEMORY:
        return "A memory is no note of the vault."
    if action == "shift" and scene.on_pack and scene.alone:
        return "A pack of one passage has no other order."
    holds, told = {
        "scroll_preview": (scene.context, _NO_CONTEXT),
        "read_whole": (scene.context, _NO_CONTEXT),
        "outline": (scene.context, _NO_CONTEXT),
        "links": (scene.context, _NO_CONTEXT),
        "compare": (scene.answered, "Type a query first: strategies are compared by what they find."),
        "why_not": (scene.answered, "Type a query first: a note is asked about beside what is found."),
        "copy_pack": (scene.packed, "There is nothing to copy yet: the pack is empty."),
        "save_pack": (scene.packed, "There is nothing to write yet: the pack is empty."),
        "remember_pack": (scene.packed, "There is nothing to keep yet: the pack is empty."),
        "clear_marks": (scene.marked, "Nothing is marked."),
        "undo": (scene.decided, "There is nothing to take back."),
        "drop": (scene.pack_row, "The pack is empty."),
        "shift": (scene.on_pack, "Only a passage that is in the pack can be moved."),
        "own_scope": (scene.on_pack, "Only a passage that is in the pack has a scope of its own."),
    }.get(action, (True, ""))
    return "" if holds else told


@dataclass(frozen=True, slots=True)
class PanelScene:
    """What the actions of related notes and map need. `listed`: a related note is selected; `on_name`: at a reason that
    is a name, not a passage; `filter`: what the branch selected in the map puts into the query, None without one."""

    in_related: bool = False
    listed: bool = False
    on_name: bool = False
    followed: bool = False
    filter: str | None = None
    filtered: bool = False


OF_PANELS = frozenset({"follow", "reason", "show_passage", "mark", "follow_back", "put_filter", "take_filter"})
"""Actions about which the panels may have something to say."""


def in_panel(action: str, scene: PanelScene) -> str:
    """Why the panel that is open would not do that; "" where it can be done."""
    if action in ("follow", "reason", "show_passage") and not scene.listed:
        return "No related note is listed."
    if action == "show_passage" and scene.on_name:
        return f"That is a name, not a passage. {key_sign('edit')} opens its note there."
    if action == "mark" and scene.in_related and scene.on_name:
        return "That is a name, not a passage: there is nothing to mark."
    if action == "follow_back" and not scene.followed:
        return "This is where you came from."
    if action == "put_filter" and not scene.filter:
        return "No filter leads there." if scene.filter is not None else "Choose a branch: this line has no filter."
    return "No filter of the map is in the query." if action == "take_filter" and not scene.filtered else ""


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


@dataclass(frozen=True, slots=True)
class IndexScene:
    """What the Index tab's actions need. `ended`: nothing looks at the vault any more. `files`: some are listed."""

    ended: bool = False
    paused: bool = False
    building: bool = False
    files: bool = False


def in_index(action: str, scene: IndexScene) -> str:
    """Why the Index tab would not do that; "" where it can be done."""
    if action in ("pause", "resume") and scene.ended:
        return "Nothing looks at the vault now; bring the index up to date to start it again."
    if action == "cancel" and not scene.building:
        return "Nothing is being read that could be cancelled."
    if action == "edit" and not scene.files:
        return "No file was skipped, so there is none to open."
    return ""
