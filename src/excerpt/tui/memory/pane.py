"""The Memory tab: memories filtered by words, meaning and tags. The user reads, changes and forgets them here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.reactive import reactive
from textual.strip import Strip
from textual.widgets import Input, Static

from excerpt.base.model import FileProblem, Memory, Span
from excerpt.service.engine_worker import EngineWorker
from excerpt.service.memory_decisions import (
    Decision,
    make_follow_decision,
    make_forget_decision,
    make_keep_decision,
    make_update_decision,
)
from excerpt.service.memory_questions import AskSourceChecks
from excerpt.service.memory_worker import MemoryWorker
from excerpt.service.query_texts import MemoryFilter, parse_memory_filter
from excerpt.text.display import local_day, visible_line
from excerpt.text.snippet import snippet
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.field import Field
from excerpt.tui.common.notice import EmptyState, Notice
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.split import Split
from excerpt.tui.common.strips import StyledPart, line, parts_with_matches
from excerpt.tui.keymap import key_sign
from excerpt.tui.memory.form import TagSuggester
from excerpt.tui.memory.view import MemoryContent, MemoryView
from excerpt.tui.messages import (
    CopyRequested,
    EditRequested,
    MemoryEditRequested,
    MemoryFileRequested,
    RememberRequested,
)

if TYPE_CHECKING:
    from excerpt.memory.results import RecalledMemory, SourceCheck
    from excerpt.service.memory_worker import MemoryListing

_MIN_CELLS_FOR_TAGS = 60
"""Minimum width in cells of a row to show tags."""


class MemoryList(RowList):
    """List of memories, and below them the files that cannot be read as a memory.

    The newest memory is first; with a filter, the memory that matches best is first.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("Memory tab, focus on the list")

    COMPONENT_CLASSES: ClassVar[set[str]] = {"memory--text", "memory--tags", "memory--why", "memory--stale"}

    DEFAULT_CSS = """
    MemoryList {
        & > .memory--text { text-style: bold; }
        & > .memory--tags { color: $secondary; }
        & > .memory--why { color: $text-soft; }
        & > .memory--stale { color: $warning; }
    }
    """

    recalled: reactive[tuple[RecalledMemory, ...]] = reactive((), init=False)
    unreadable: reactive[tuple[FileProblem, ...]] = reactive((), init=False)
    source_checks: reactive[Mapping[str, SourceCheck]] = reactive({}, init=False)
    """The states of the memories' sources that are known, by memory id."""

    @property
    def memories(self) -> tuple[Memory, ...]:
        return tuple(one.memory for one in self.recalled)

    @property
    def row_count(self) -> int:
        return len(self.recalled) + len(self.unreadable)

    @property
    def selected(self) -> Memory | None:
        return self.recalled[self.cursor].memory if self.cursor < len(self.recalled) else None

    @property
    def selected_problem(self) -> FileProblem | None:
        """The selected unreadable file; None if no file is selected."""
        at = self.cursor - len(self.recalled)
        return self.unreadable[at] if 0 <= at < len(self.unreadable) else None

    @property
    def spans(self) -> tuple[Span, ...]:
        """Matches in the text of the selected memory."""
        return self.recalled[self.cursor].spans if self.cursor < len(self.recalled) else ()

    def show(
        self,
        recalled: tuple[RecalledMemory, ...],
        unreadable: tuple[FileProblem, ...],
        *,
        is_new: bool = False,
        selected_id: str = "",
    ) -> None:
        """Show these memories, and the files that cannot be read as a memory.

        The cursor goes to the memory with the id `selected_id`. Without that memory, the cursor goes to the first row
        if `is_new` (the query has changed); else it stays on its memory or, if that is gone, on its row.
        """
        selected = self.selected.id if self.selected is not None else None
        self.set_reactive(MemoryList.recalled, recalled)
        self.set_reactive(MemoryList.unreadable, unreadable)
        ids = [one.memory.id for one in recalled]
        stays = ids.index(selected) if selected in ids else self.cursor
        self.redraw_rows(ids.index(selected_id) if selected_id in ids else 0 if is_new else stays)

    def watch_source_checks(self, old: Mapping[str, SourceCheck], new: Mapping[str, SourceCheck]) -> None:
        for row, one in enumerate(self.recalled):
            if old.get(one.memory.id) is not new.get(one.memory.id):
                self.redraw_row(row)

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        text, style = self.cursor_bar(selected)
        bar: StyledPart = f"{text} ", style
        if row >= len(self.recalled):
            return self._draw_unreadable(self.unreadable[row - len(self.recalled)], bar, width, base)
        memory, spans = self.recalled[row].memory, self.recalled[row].spans
        text, matches = snippet(memory.text, spans, width)
        origins = filter(None, (self.recalled[row].vault, memory.author))
        vault = "".join(f" {visible_line(origin)} ·" for origin in origins)
        when: list[StyledPart] = [(f"{vault} {local_day(memory.created)} ", self.style_of("row--faint"))]
        stale = self._stale_label(memory)
        if stale:
            when.insert(0, (f" {stale}", self.style_of("memory--stale")))
        if memory.replaced_by:
            when.insert(0, (" replaced", self.style_of("memory--stale")))
        first = [bar, *parts_with_matches(text, matches, self.style_of("memory--text"), self.style_of("row--match"))]
        tags: StyledPart = (" ".join(f"#{visible_line(tag)}" for tag in memory.tags), self.style_of("memory--tags"))
        why = visible_line(memory.why)
        second = [bar, tags, (("  " if tags[0] and why else "") + why, self.style_of("memory--why"))]
        return line(first, when, width, base), line(second, (), width, base)

    def _stale_label(self, memory: Memory) -> str:
        check = self.source_checks.get(memory.id)
        if check is None or check.kind in ("fresh", "none") or (check.kind == "gone" and check.is_seen):
            return ""
        return f"source {check.kind}"

    def _draw_unreadable(self, file: FileProblem, bar: StyledPart, width: int, base: Style) -> Sequence[Strip]:
        first: list[StyledPart] = [bar, (visible_line(file.path), self.style_of("memory--text"))]
        second: list[StyledPart] = [bar, (visible_line(file.reason), self.style_of("memory--why"))]
        right: list[StyledPart] = [(" cannot be read ", self.style_of("memory--stale"))]
        return line(first, right, width, base), line(second, (), width, base)


_STALE_FILTER = "is:stale"
_REPLACED_FILTER = "is:replaced"
_CHECK_BATCH = 8
"""Maximum number of sources that one question to the engine checks, in about 2 ms, so that it delays no others."""
_MAX_CHECKED = 200
"""Maximum number of sources that are checked if the filter has no `is:stale`."""


def toggle_stale(text: str) -> str:
    """Return the text of a filter with `is:stale` added, or removed if it is in the text."""
    words = text.split()
    if _STALE_FILTER in words:
        return " ".join(word for word in words if word != _STALE_FILTER)
    return " ".join((*words, _STALE_FILTER))


class MemoryPane(Vertical):
    """The pane of the Memory tab: the filter, the list, and the selected memory.

    Its state is the filter, the memories that match it, the known states of their sources, and which sources were
    checked in the newest index.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("Memory")

    DEFAULT_CSS = """
    MemoryPane {
        #filter-bar {
            height: 1;
            background: $surface;
            #filter-prompt { width: 3; padding: 0 0 0 1; color: $text-faint; text-style: bold; }
            Field { width: 1fr; background: $surface; color: $foreground; &:focus { background-tint: $background 0%; } }
            #filter-hint { width: auto; max-width: 60%; padding: 0 1; color: $warning; }
            &:focus-within #filter-prompt { color: $accent; }
        }
        #memory-body { height: 1fr; }
        #memory-found { height: 1fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #memory-found:focus-within { border-top: solid $accent; border-title-color: $accent; }
        #memory-view { height: 1fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #memories { height: 1fr; &.-empty { height: 0; } }
    }
    """

    def __init__(self, memories: MemoryWorker, engine: EngineWorker, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._worker = memories
        self._engine = engine
        self._query = ""
        self._id_to_select = ""
        self._memory_listing: MemoryListing | None = None
        self._source_checks: dict[str, SourceCheck] = {}
        self._checked_ids: set[str] = set()
        self._unchecked: list[Memory] = []

    def compose(self) -> ComposeResult:
        with Horizontal(id="filter-bar"):
            yield Static("◆", id="filter-prompt")
            yield Field(
                placeholder="Filter by words, meaning, #tags, source:Note, since:7d",
                compact=True,
                select_on_focus=False,
                id="filter",
                suggester=TagSuggester(with_hash=True),
            )
            yield Static("", id="filter-hint", markup=False)
        with Split(id="memory-body"):
            with Vertical(id="memory-found"):
                yield MemoryList(id="memories")
                yield Notice(id="memory-notice")
            yield MemoryView(id="memory-view")

    def on_mount(self) -> None:
        self._refresh_list()

    @property
    def _list(self) -> MemoryList:
        return self.query_one(MemoryList)

    @property
    def _parsed_filter(self) -> MemoryFilter:
        return parse_memory_filter(self.query_one("#filter", Field).value)

    @property
    def is_complete(self) -> bool:
        """Whether the pane shows all memories that match the filter, with the states of all their sources."""
        return not (self._worker.is_waiting("list") or self._unchecked)

    def reload(self, memory_id: str = "") -> None:
        """Request the memories that match the filter again, and select the memory with `memory_id` among them."""
        self._id_to_select = memory_id or self._id_to_select
        wanted = self._parsed_filter
        self._worker.recall(wanted.query, partial(self._show_listing, wanted.query), replaced=wanted.replaced)

    def _show_listing(self, query: str, listing: MemoryListing) -> None:
        self._memory_listing = listing
        self.query_one("#filter-hint", Static).update(visible_line(listing.hints[0]) if listing.hints else "")
        suggester = self.query_one("#filter", Field).suggester
        assert isinstance(suggester, TagSuggester)
        suggester.tags = listing.tags
        memories = {one.memory.id: one.memory for one in listing.recalled}
        self._source_checks = {
            memory_id: check
            for memory_id, check in self._source_checks.items()
            if memories.get(memory_id) == check.memory
        }
        self._checked_ids &= self._source_checks.keys()
        self.check_sources()
        selected_id, self._id_to_select = self._id_to_select, ""
        before, self._query = self._query, query
        self._refresh_list(is_new=query not in ("", before), selected_id=selected_id)

    def _refresh_list(self, *, is_new: bool = False, selected_id: str = "") -> None:
        listing, rows = self._memory_listing, self._list
        recalled: tuple[RecalledMemory, ...] = listing.recalled if listing is not None else ()
        if (stale := self._parsed_filter.stale) is not None:
            recalled = tuple(one for one in recalled if _is_stale(self._source_checks.get(one.memory.id)) is stale)
        unfiltered = self._parsed_filter == MemoryFilter()
        rows.set_reactive(MemoryList.source_checks, self._source_checks)
        rows.show(
            recalled,
            listing.unreadable if listing is not None and unfiltered else (),
            is_new=is_new,
            selected_id=selected_id,
        )
        # An empty list is hidden but keeps the focus, so that its keys can undo what emptied it.
        rows.set_class(not rows.row_count, "-empty")
        self.query_one(Split).context = bool(rows.row_count)
        notice = self.query_one("#memory-notice", Notice)
        notice.display = not rows.row_count
        notice.empty_state = _no_memories_notice() if unfiltered else self._no_match_notice()
        box, title = self.query_one("#memory-found"), visible_line(self._list_title(len(recalled))).replace("[", r"\[")
        if box.border_title != title:
            box.border_title = title
        self._show_selected()

    def _no_match_notice(self) -> EmptyState:
        text = self.query_one("#filter", Field).value.strip()
        if self._parsed_filter.stale and self._unchecked:
            return EmptyState("Checking the sources of the memories", "Memories whose source has changed appear here.")
        if self._parsed_filter == MemoryFilter(stale=True):
            return EmptyState(
                "No memory is stale", "", f"{key_sign('field-clear')} clears the filter and shows all memories."
            )
        if self._parsed_filter == MemoryFilter(replaced=True):
            return EmptyState(
                "No memory is replaced", "", f"{key_sign('field-clear')} clears the filter and shows all memories."
            )
        return EmptyState(f"No memory matches {text}", "", f"{key_sign('field-clear')} clears the filter.")

    def _list_title(self, listed_count: int) -> str:
        listing = self._memory_listing
        if listing is None or not (listing.total or listing.unreadable):
            return "memories"
        title = f"memories · {listed_count:,}" + (f" of {listing.total:,}" if listed_count < listing.total else "")
        stale = sum(map(_is_stale, self._source_checks.values()))
        title += f" · {stale:,} stale ({_STALE_FILTER})" if stale and not self._parsed_filter.stale else ""
        replaced = 0 if self._parsed_filter.replaced else listing.replaced
        title += f" · {replaced:,} replaced ({_REPLACED_FILTER})" if replaced else ""
        unanswered = listed_count and not any(one.answers for one in listing.recalled)
        title += " · no memory answers the filter, these share a word" if unanswered else ""
        title += f" · {len(listing.unreadable):,} unreadable" if listing.unreadable else ""
        return title + (" · by words only" if listing.unranked else "")

    def check_sources(self) -> None:
        """Request the states of all sources that were not checked in the current index."""
        memories = [one.memory for one in self._memory_listing.recalled] if self._memory_listing is not None else []
        unknown = [each for each in memories if each.source is not None and each.id not in self._checked_ids]
        self._unchecked = unknown if self._parsed_filter.stale is not None else unknown[:_MAX_CHECKED]
        self._engine.cancel("source_checks")
        self._check_next_sources()

    def check_sources_again(self) -> None:
        """Check all sources again, because the index is newer. Until then the previous states are shown."""
        self._checked_ids = set()
        self.check_sources()

    def _check_next_sources(self) -> None:
        if self._unchecked:
            self._engine.ask(AskSourceChecks(tuple(self._unchecked[:_CHECK_BATCH])), self._store_source_checks)

    def _store_source_checks(self, source_checks: dict[str, SourceCheck]) -> None:
        """Store the states of some sources (by memory id) and request those of the next, so that searches can run."""
        self._source_checks = {**self._source_checks, **source_checks}
        self._checked_ids |= source_checks.keys()
        self._unchecked = [memory for memory in self._unchecked if memory.id not in source_checks]
        self._check_next_sources()
        self._refresh_list()

    def _show_selected(self) -> None:
        rows = self._list
        memory, file = rows.selected, rows.selected_problem
        content: MemoryContent | None = None
        if memory is not None:
            content = MemoryContent(memory, rows.spans, self._source_checks.get(memory.id))
        elif file is not None:
            content = MemoryContent(file)
        self.query_one(MemoryView).content = content
        self.refresh_bindings()

    @on(RowList.Moved)
    def _handle_cursor_move(self, event: RowList.Moved) -> None:
        event.stop()
        self._show_selected()

    @on(Input.Changed, "#filter")
    def _handle_filter_change(self, event: Input.Changed) -> None:
        event.stop()
        self.reload()

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - `HasDisabledReason`'s name
        rows, check = self._list, self._selected_source_check()
        memory = rows.selected
        state = MemoryActionState(
            total=self._memory_listing.total if self._memory_listing is not None else 0,
            has_selection=memory is not None,
            is_file_selected=rows.selected_problem is not None,
            is_own_thought=memory is not None and memory.source is None,
            source_kind=check.kind if check is not None else "",
            is_source_stale=check is not None and check.is_stale,
            can_undo=self._worker.can_undo,
            can_redo=self._worker.can_redo,
            needs_review=action == "stale" and self._may_be_stale(),
        )
        return memory_disabled_reason(action, state)

    def _may_be_stale(self) -> bool:
        """Return whether a source has changed or is not checked yet, or the filter has `is:stale`."""
        recalled = self._memory_listing.recalled if self._memory_listing is not None else ()
        unknown = (one.memory.source is not None and one.memory.id not in self._source_checks for one in recalled)
        return self._parsed_filter.stale or any(map(_is_stale, self._source_checks.values())) or any(unknown)

    def _selected_source_check(self) -> SourceCheck | None:
        if not self.is_mounted:
            return None
        memory = self._list.selected
        return self._source_checks.get(memory.id) if memory is not None else None

    def action_move(self, rows: int) -> None:
        self._list.move(rows)

    def action_scroll_view(self, pages: int) -> None:
        self.query_one(MemoryView).scroll_pages(pages)

    def action_remember(self) -> None:
        self.post_message(RememberRequested(None, ""))

    def action_change(self) -> None:
        """Open the selected memory in the form that changes it."""
        memory = self._list.selected
        if memory is not None:
            self.post_message(MemoryEditRequested(memory))

    def action_edit(self) -> None:
        """Open the source of the selected memory at its current location, or the selected unreadable file."""
        memory, file = self._list.selected, self._list.selected_problem
        if file is not None:
            self.post_message(MemoryFileRequested(self._worker.find_file(file.path)))
        elif memory is not None and memory.source is None:
            self.notify("This memory is your own thought: it has no source to open.")
        elif memory is not None:
            check = self._source_checks.get(memory.id)
            source = check.source if check is not None and check.source is not None else memory.source
            assert source is not None
            self.post_message(EditRequested(source.path, max(source.line_start, 1), place=source.place))

    def action_copy(self) -> None:
        memory = self._list.selected
        if memory is not None:
            self.post_message(CopyRequested(memory.text, "Memory", None))

    def action_forget(self) -> None:
        memory = self._list.selected
        if memory is not None:
            hint = f"{key_sign('memory-undo')} restores it"
            self._worker.queue_decision(make_forget_decision(memory, restore_hint=hint))

    def action_follow(self) -> None:
        self._decide_on_source(make_follow_decision)

    def action_update(self) -> None:
        self._decide_on_source(make_update_decision)

    def action_keep(self) -> None:
        self._decide_on_source(make_keep_decision)

    def _decide_on_source(self, decision: Callable[[SourceCheck], Decision]) -> None:
        check = self._selected_source_check()
        if check is not None:
            self._worker.queue_decision(decision(check))

    def action_undo(self) -> None:
        self._worker.undo()

    def action_redo(self) -> None:
        self._worker.redo()

    def action_stale(self) -> None:
        """Toggle `is:stale` in the filter, which shows only memories whose source has changed, moved or gone."""
        field = self.query_one("#filter", Field)
        field.value = toggle_stale(field.value)

    def action_pane(self) -> None:
        if self.query_one("#filter", Field).has_focus:
            self.action_back()
        else:
            self.action_focus_filter()

    def action_focus_filter(self) -> None:
        self.query_one("#filter", Field).focus()

    def action_back(self) -> None:
        """Focus the list."""
        # `focus` is deferred: letters typed before it takes effect would go into the filter.
        self.screen.set_focus(self._list)


def _no_memories_notice() -> EmptyState:
    return EmptyState(
        "No memories yet",
        "A memory is a finding you keep: a passage or a thought, with tags and why it matters.",
        f"In the Search tab {key_sign('remember')} keeps the selected passage; here {key_sign('memory-new')} "
        "writes a thought.",
    )


def _is_stale(check: SourceCheck | None) -> bool:
    return check is not None and (check.is_stale or check.kind == "moved")


class MemoryActionState(Struct, frozen=True):
    """The state by which actions of the Memory tab are enabled or disabled.

    `total` is the number of all memories. `has_selection`: a memory is selected. `is_file_selected`: an unreadable file
    is selected. `is_own_thought`: the selected memory has no source. `source_kind` is the state of its source, such as
    "moved", "" if it was not checked yet. `is_source_stale`: the user can decide what to do about a changed source.
    `needs_review`: a source has changed or is not checked yet, or the filter has `is:stale`.
    """

    total: int = 0
    has_selection: bool = False
    is_file_selected: bool = False
    is_own_thought: bool = False
    source_kind: str = ""
    is_source_stale: bool = False
    can_undo: bool = False
    can_redo: bool = False
    needs_review: bool = False


_SOURCE_ACTIONS = frozenset({"edit", "follow", "update", "keep"})
_NO_MEMORIES = "No memories yet."


def memory_disabled_reason(action: str, state: MemoryActionState) -> str:
    """Return why an action of the Memory tab is disabled; "" if it is enabled."""
    needed = {
        "undo": (state.can_undo, "Nothing to undo."),
        "redo": (state.can_redo, "Nothing to redo."),
    }
    if action in needed:
        is_possible, reason = needed[action]
        return "" if is_possible else reason
    if action == "stale" and not state.needs_review:
        return "No memory is stale." if state.total else _NO_MEMORIES
    if action not in ("change", "copy", "forget", *_SOURCE_ACTIONS) or (action == "edit" and state.is_file_selected):
        return ""
    if not state.has_selection:
        return "No memory is selected." if state.total else _NO_MEMORIES
    return _source_disabled_reason(action, state) if action in _SOURCE_ACTIONS else ""


def _source_disabled_reason(action: str, state: MemoryActionState) -> str:
    if state.is_own_thought:
        return "This memory is your own thought: it has no source" + (" to open." if action == "edit" else ".")
    if not state.source_kind and action != "edit":
        return "The source of this memory has not been checked yet."
    if action == "follow" and state.source_kind != "moved":
        return "The source of this memory has not moved."
    if action == "update" and state.source_kind != "changed":
        return "The source of this memory has no new text."
    if action == "keep" and not state.is_source_stale:
        return "The source of this memory has not changed, so there is nothing to decide."
    return ""
