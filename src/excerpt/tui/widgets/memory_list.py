"""The list of memories: the text's beginning, when, tags, why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from textual.reactive import reactive
from textual.strip import Strip

from excerpt.model import Memory
from excerpt.text.visible import visible_line
from excerpt.tui.snippet import snippet
from excerpt.tui.strips import Part, line
from excerpt.tui.when import local_day
from excerpt.tui.widgets.row_list import RowList


class MemoryList(RowList):
    """Memories, newest first."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"memory--text", "memory--tags", "memory--why"}

    DEFAULT_CSS = """
    MemoryList {
        & > .memory--text { text-style: bold; }
        & > .memory--tags { color: $secondary; }
        & > .memory--why { color: $text-soft; }
    }
    """

    memories: reactive[tuple[Memory, ...]] = reactive((), init=False)

    @property
    def row_count(self) -> int:
        return len(self.memories)

    @property
    def selected(self) -> Memory | None:
        return self.memories[self.cursor] if self.memories else None

    def watch_memories(self, old: tuple[Memory, ...], new: tuple[Memory, ...]) -> None:
        """Keep the cursor on the memory it stood on, else on its place."""
        selected = old[self.cursor].id if self.cursor < len(old) else None
        ids = [memory.id for memory in new]
        self.rows_changed(ids.index(selected) if selected in ids else self.cursor)

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        memory = self.memories[row]
        bar: Part = ("▌ " if selected else "  ", self.style_of("row--bar"))
        text, _ = snippet(memory.text, (), width)
        when: Part = (f" {local_day(memory.created)} ", self.style_of("row--faint"))
        first = line([bar, (text, self.style_of("memory--text"))], [when], width, base)
        tags = " ".join(f"#{visible_line(tag)}" for tag in memory.tags)
        why = visible_line(memory.why)
        second: list[Part] = [bar, (tags, self.style_of("memory--tags"))]
        second.append((("  " if tags and why else "") + why, self.style_of("memory--why")))
        return first, line(second, (), width, base)
