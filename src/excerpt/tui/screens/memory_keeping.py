"""What the screen does about memories: owns their thread, opens the form, hands on what the thread says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on

from excerpt.pack.memory_fragment import memory_id_of
from excerpt.settings import Places, Settings
from excerpt.tui.memory_messages import (
    MemoriesListed,
    MemoryChanged,
    MemoryEditRequested,
    MemoryFileRequested,
    OffersKnown,
    RecallRequested,
    StandingsKnown,
)
from excerpt.tui.memory_worker import MemoryWorker
from excerpt.tui.messages import IndexOpened, RememberRequested
from excerpt.tui.screens.index_keeping import IndexKeeping
from excerpt.tui.widgets.search_pane import SearchPane

if TYPE_CHECKING:
    from excerpt.model import Hit, Memory, Source
    from excerpt.tui.memory_decisions import Kept
    from excerpt.tui.screens.remember import Remember
    from excerpt.tui.widgets.memory_pane import MemoryPane


class MemoryKeeping(IndexKeeping):
    """Owns the thread of the memories."""

    def __init__(self, vault: Path, settings: Settings, places: Places) -> None:
        super().__init__(vault, settings, places)
        self._memories = MemoryWorker(vault, places, settings, self._from_behind)

    async def end_memories(self) -> None:
        """What is decided is still done."""
        await asyncio.to_thread(self._memories.close)

    def open_in_editor(self, file: Path, line: int) -> bool:
        """Whether the editor could be started."""
        raise NotImplementedError

    def _memory_panes(self) -> Iterable[MemoryPane]:
        """None before the first frame."""
        from excerpt.tui.widgets.memory_pane import MemoryPane

        return self.query(MemoryPane)

    # --- what the thread says -----------------------------------------------------------------------------------------

    @on(MemoriesListed)
    def _memories_listed(self, message: MemoriesListed) -> None:
        for pane in self._memory_panes():
            pane.listed(message)

    @on(StandingsKnown)
    def _standings_known(self, message: StandingsKnown) -> None:
        for pane in self._memory_panes():
            pane.standings_known(message)

    @on(MemoryChanged)
    def _memory_changed(self, message: MemoryChanged) -> None:
        self.notify(message.told, markup=False)
        for pane in self._memory_panes():
            pane.reload(message.memory_id)
        self.query_one(SearchPane).recall()

    @on(OffersKnown)
    def _offers_known(self, message: OffersKnown) -> None:
        form = self._form()
        if form is not None:
            form.hear(message.number, message.offers, message.tags)

    @on(IndexOpened)
    def _vault_changed(self) -> None:
        for pane in self._memory_panes():
            pane.vault_changed()

    def _form(self) -> Remember | None:
        from excerpt.tui.screens.remember import Remember

        return next((screen for screen in reversed(self.app.screen_stack) if isinstance(screen, Remember)), None)

    # --- what panes ask for -------------------------------------------------------------------------------------------

    @on(RecallRequested)
    def _recall_requested(self, message: RecallRequested) -> None:
        self._memories.find(message.number, message.query)

    @on(MemoryFileRequested)
    def _file_requested(self, message: MemoryFileRequested) -> None:
        self.open_in_editor(message.file, 1)

    @on(RememberRequested)
    def _remember_requested(self, message: RememberRequested) -> None:
        from excerpt.tui.memory_decisions import remembering
        from excerpt.tui.screens.remember import Remember
        from excerpt.tui.widgets.memory_view import place_of

        text, source = message.text, message.source
        if message.hit is not None:
            text, source = message.hit.fragment.text, source_of(message.hit)

        def decided(kept: Kept | None) -> None:
            if kept is not None:
                self._memories.decide(remembering(kept, source, message.query))

        ask = partial(self._ask_offers, source)
        self.app.push_screen(Remember(text, place_of(source) if source is not None else "", ask=ask), decided)

    def _ask_offers(self, source: Source | None, number: int, text: str) -> None:
        self._memories.offer(number, text, source)

    @on(MemoryEditRequested)
    def _memory_edit_requested(self, message: MemoryEditRequested) -> None:
        self._edit_memory(message.memory)

    def _edit_memory(self, memory: Memory) -> None:
        from excerpt.tui.memory_decisions import editing
        from excerpt.tui.screens.remember import Remember
        from excerpt.tui.widgets.memory_view import place_of

        def decided(kept: Kept | None) -> None:
            if kept is not None:
                self._memories.decide(editing(memory, kept))

        form = Remember(
            memory.text,
            place_of(memory.source) if memory.source is not None else "",
            title="Change the memory",
            tags=memory.tags,
            why=memory.why,
            ask=partial(self._ask_offers, None),
            offering=False,
        )
        self.app.push_screen(form, decided)


def source_of(hit: Hit) -> Source | None:
    """Where a hit's fragment stands, as a memory keeps it; None for a memory."""
    from excerpt.model import Source

    fragment = hit.fragment
    if memory_id_of(fragment.id) is not None:
        return None
    return Source(fragment.path, fragment.line_start, fragment.line_end, fragment.digest, fragment.heading_path)
