"""What the user is asked about a memory, and what the memories' thread is asked for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from excerpt.pack.memory_fragment import memory_id_of
from excerpt.settings import Places, Settings
from excerpt.tui.memory.worker import MemoryWorker
from excerpt.tui.messages import RememberRequested

if TYPE_CHECKING:
    from excerpt.model import Hit, Memory, Source
    from excerpt.tui.memory.decisions import Kept
    from excerpt.tui.memory.form import Remember

    Answered = Callable[[Kept | None], None]
    """Called with what the user has written into a form; with None where nothing is to be kept."""


class MemoryController:
    """Own the memories' thread. Decisions and the way back from them are the thread's.

    `post` is called from that thread with each message.
    """

    def __init__(self, vault: Path, settings: Settings, places: Places, *, post: Callable[[Message], object]) -> None:
        self.worker = MemoryWorker(vault, places, settings, post)

    def form_to_remember(self, request: RememberRequested) -> tuple[Remember, Answered]:
        """Return the form for a new memory, and what to do when it is answered."""
        from excerpt.tui.memory.decisions import remembering
        from excerpt.tui.memory.form import Remember
        from excerpt.tui.memory.view import place_of

        text, source = request.text, request.source
        if request.hit is not None:
            text, source = request.hit.fragment.text, source_of(request.hit)

        def answered(kept: Kept | None) -> None:
            if kept is not None:
                self.worker.decide(remembering(kept, source, request.query))

        place = place_of(source) if source is not None else ""
        return Remember(text, place, ask=lambda text, on_known: self.worker.offer(text, source, on_known)), answered

    def form_to_change(self, memory: Memory) -> tuple[Remember, Answered]:
        """Return the form with a memory in it, and what to do when it is answered."""
        from excerpt.tui.memory.decisions import editing
        from excerpt.tui.memory.form import Remember
        from excerpt.tui.memory.view import place_of

        def answered(kept: Kept | None) -> None:
            if kept is not None:
                self.worker.decide(editing(memory, kept))

        form = Remember(
            memory.text,
            place_of(memory.source) if memory.source is not None else "",
            title="Change the memory",
            tags=memory.tags,
            why=memory.why,
            ask=lambda text, on_known: self.worker.offer(text, None, on_known),
            offering=False,
        )
        return form, answered


def source_of(hit: Hit) -> Source | None:
    """Return where a hit's fragment stands, as a memory keeps it; None for a memory."""
    from excerpt.model import Source

    fragment = hit.fragment
    if memory_id_of(fragment.id) is not None:
        return None
    return Source(fragment.path, fragment.line_start, fragment.line_end, fragment.digest, fragment.heading_path)
