"""What is remembered, in the Search tab: memories among the hits, badges on fragments, memories in the pack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.reactive import var

from excerpt.pack.marks_file import Mark
from excerpt.pack.memory_fragment import as_fragment, memory_id_of
from excerpt.settings import Settings
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.memory_messages import BadgesKnown, MemoriesFound, MemoryEditRequested, RecallRequested
from excerpt.tui.memory_rows import Showing, among, is_memory, showing_of
from excerpt.tui.messages import EditRequested, RememberRequested
from excerpt.tui.turn import next_in_turn
from excerpt.tui.widgets.hit_list import MOST_ROWS, HitList
from excerpt.tui.widgets.pack_desk import PackDesk

if TYPE_CHECKING:
    from excerpt.model import Hit, Memory
    from excerpt.tui.memory_questions import BadgeKeeper
    from excerpt.tui.note_window import NoteWindow


class MemoryDesk(PackDesk):
    """State: where memories are shown, those that answer the query, all there are once they were asked for.

    Memories are asked for when a search is answered, or when one is marked: never before.
    """

    showing: var[Showing] = var(Showing.AMONG, init=False)

    def __init__(self, settings: Settings, engine: EngineWorker, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(settings, engine, id=id)
        self._recall_asked = 0
        self._recall_shown = 0
        self._recalled: tuple[Hit, ...] = ()
        self._every: tuple[Memory, ...] = ()
        self._known: dict[str, Memory] | None = None
        self._badges: BadgeKeeper | None = None
        self.set_reactive(MemoryDesk.showing, showing_of(self._settings.memory))

    def use_settings(self, settings: Settings) -> None:
        before = self._settings.memory
        super().use_settings(settings)
        if before != settings.memory:
            self.showing = showing_of(settings.memory)

    @property
    def memories_answered(self) -> bool:
        """Whether the memories shown are those of what was asked last."""
        return self._recall_asked == self._recall_shown

    # --- what is found ------------------------------------------------------------------------------------------------

    def recall(self) -> None:
        """Ask for what was remembered about the query that is answered."""
        query = self.result.query if self.result is not None and self.showing is not Showing.OFF else ""
        if query or self._marked_ids():
            self._recall_asked += 1
            self.post_message(RecallRequested(self._recall_asked, query))

    def show_rows(self, *, again: bool) -> None:
        """The hits, and the memories among them. Those of the query before stay until these have come."""
        result = self.result
        if result is None:
            self._recalled = ()
        hits = result.hits[:MOST_ROWS] if result is not None else ()
        self.query_one(HitList).show(among(hits, self._recalled, self.showing) if hits else (), again=again)

    @on(MemoriesFound)
    def _memories_found(self, message: MemoriesFound) -> None:
        message.stop()
        if message.number <= self._recall_shown:
            return
        self._recall_shown = message.number
        self._every, self._known = message.memories, {memory.id: memory for memory in message.memories}
        if self.result is not None and (message.hits or self._recalled):
            selected = self.selected
            self._recalled = message.hits
            self.show_rows(again=True)
            if self.selected is not selected:
                self.selection_changed()
        self._ask_badges()
        if self._marked_ids() and (self._request is None or self._request.memories != self.marked_memories()):
            self.ask_pack()

    def _ask_badges(self) -> None:
        hits = self.result.hits[:MOST_ROWS] if self.result is not None else ()
        if self.showing is Showing.OFF or not hits or not any(memory.source for memory in self._every):
            self.query_one(HitList).badges = frozenset()
            return
        from excerpt.tui.memory_questions import AskBadges, BadgeKeeper

        fragments = tuple(hit.fragment for hit in hits)
        self._badges = self._badges or BadgeKeeper()
        self._engine.ask_insight(AskBadges(self._recall_shown, self._badges, self._every, fragments))

    @on(BadgesKnown)
    def _badges_known(self, message: BadgesKnown) -> None:
        message.stop()
        if message.number == self._recall_shown and self.showing is not Showing.OFF:
            self.query_one(HitList).badges = frozenset(message.memories)

    def selection_changed(self) -> None:
        """Another row is selected."""
        raise NotImplementedError

    def action_memories(self) -> None:
        """Among the hits, before them, or not at all."""
        self.showing = next_in_turn(list(Showing), self.showing)
        off = self.showing is Showing.OFF
        self.notify("Memories are not shown in the search." if off else f"Memories are shown {self.showing}.")

    def watch_showing(self) -> None:
        self.show_rows(again=True)
        self._ask_badges()
        self.recall()
        self.selection_changed()

    # --- a memory that is selected ------------------------------------------------------------------------------------

    @property
    def selected_memory(self) -> Memory | None:
        hit = self.selected
        return self._memory_of(hit.fragment.id) if hit is not None else None

    def _memory_of(self, fragment_id: str) -> Memory | None:
        memory_id = memory_id_of(fragment_id)
        return (self._known or {}).get(memory_id) if memory_id is not None else None

    def memory_window(self, hit: Hit | None) -> NoteWindow | None:
        """The text of a memory as the context shows it; None for a fragment of the vault."""
        from excerpt.tui.note_window import window_around

        return window_around(hit.fragment.text, hit.fragment, hit.spans) if hit is not None and is_memory(hit) else None

    def memory_window_of(self, fragment_id: str) -> NoteWindow | None:
        """The same of a memory that need not be in the list."""
        from excerpt.model import Hit

        memory = self._memory_of(fragment_id)
        return self.memory_window(Hit(as_fragment(memory, 0), 0.0)) if memory is not None else None

    def edit_memory(self) -> bool:
        """Open the source of the memory that is selected; False if none is."""
        memory = self.selected_memory
        if memory is None:
            return False
        if memory.source is None:
            self.notify("This memory is a thought of your own; it has no source to open.")
        else:
            self.post_message(EditRequested(memory.source.path, max(memory.source.line_start, 1)))
        return True

    def change_memory(self) -> bool:
        """Open the memory that is selected in the form; False if none is."""
        memory = self.selected_memory
        if memory is not None:
            self.post_message(MemoryEditRequested(memory))
        return memory is not None

    def remember_passage(self) -> bool:
        """Keep the passage selected in the pack panel, as it was grown; False if the panel has not the focus."""
        from excerpt.model import Source

        panel = self.aside.pack_panel
        row = panel.selected_pack if panel.has_focus else None
        if row is None:
            return panel.has_focus
        memory = self._memory_of(row.path)
        if memory is not None:
            self.post_message(MemoryEditRequested(memory))
        else:
            source = Source(row.path, row.line_start, row.line_end, row.digest, row.heading_path)
            self.post_message(RememberRequested(None, self.pack_query, row.text, source))
        return True

    def action_remember_pack(self) -> None:
        """Keep the pack as it would be copied; it names its sources itself."""
        if self.packed is None or not self.packed.result.packs:
            self.notify("There is nothing to keep yet: the pack is empty.", severity="warning")
        else:
            self.post_message(RememberRequested(None, self.pack_query, self.packed.text))

    # --- memories in the pack -----------------------------------------------------------------------------------------

    def marked_memories(self, *more: Mark) -> tuple[Memory, ...] | None:
        ids = self._marked_ids(more)
        if ids and self._known is None:
            if self.memories_answered:
                self.recall()
            return None
        known = self._known or {}
        return tuple(known[each] for each in ids if each in known)

    def _marked_ids(self, more: tuple[Mark, ...] = ()) -> list[str]:
        found = (memory_id_of(mark.fragment) for mark in (*self.choices.marks, *more))
        return [each for each in found if each is not None]
