"""The list of memories: the text's beginning, when, tags, why, how it stands to its source; then the broken files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.binding import BindingType
from textual.reactive import reactive
from textual.strip import Strip

from excerpt.model import Memory, Skipped, Span
from excerpt.text.times import local_day
from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.snippet import snippet
from excerpt.tui.common.strips import Part, line, parts_with_matches

if TYPE_CHECKING:
    from excerpt.memory.recalling import Recalled
    from excerpt.memory.stale import Standing

_TAGS_FROM = 60
"""Cells of a row of one line from which on there is room for tags."""


class MemoryList(RowList):
    """Memories as they were found, newest or best first, and below them the files that cannot be read as one."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Memory, with the list focused")

    COMPONENT_CLASSES: ClassVar[set[str]] = {"memory--text", "memory--tags", "memory--why", "memory--stale"}

    DEFAULT_CSS = """
    MemoryList {
        & > .memory--text { text-style: bold; }
        & > .memory--tags { color: $secondary; }
        & > .memory--why { color: $text-soft; }
        & > .memory--stale { color: $warning; }
    }
    """

    found: reactive[tuple[Recalled, ...]] = reactive((), init=False)
    broken: reactive[tuple[Skipped, ...]] = reactive((), init=False)
    standings: reactive[Mapping[str, Standing]] = reactive({}, init=False)
    """How memories stand to their sources, by their ids, as far as it is known."""

    @property
    def memories(self) -> tuple[Memory, ...]:
        return tuple(one.memory for one in self.found)

    @property
    def row_count(self) -> int:
        return len(self.found) + len(self.broken)

    @property
    def selected(self) -> Memory | None:
        return self.found[self.cursor].memory if self.cursor < len(self.found) else None

    @property
    def selected_file(self) -> Skipped | None:
        """The broken file that is selected, if one is."""
        at = self.cursor - len(self.found)
        return self.broken[at] if 0 <= at < len(self.broken) else None

    @property
    def spans(self) -> tuple[Span, ...]:
        """What matched in the text of the selected memory."""
        return self.found[self.cursor].spans if self.cursor < len(self.found) else ()

    def show(
        self, found: tuple[Recalled, ...], broken: tuple[Skipped, ...], *, is_new: bool = False, wanted: str = ""
    ) -> None:
        """Take these; the cursor goes to the memory of the id `wanted`, or to the first if these answer a new question,
        and else stays on the memory it stood on, or on its place."""
        selected = self.selected.id if self.selected is not None else None
        self.set_reactive(MemoryList.found, found)
        self.set_reactive(MemoryList.broken, broken)
        ids = [one.memory.id for one in found]
        stays = ids.index(selected) if selected in ids else self.cursor
        self.rows_changed(ids.index(wanted) if wanted in ids else 0 if is_new else stays)

    def watch_standings(self, old: Mapping[str, Standing], new: Mapping[str, Standing]) -> None:
        for row, one in enumerate(self.found):
            if old.get(one.memory.id) is not new.get(one.memory.id):
                self.redraw_row(row)

    async def action_pane(self, action: str) -> None:
        """Do what the pane around does by that name."""
        await self.app.run_action(action, self.query_ancestor("MemoryPane"))

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        bar: Part = ("▌ " if selected else "  ", self.style_of("row--bar"))
        if row >= len(self.found):
            return self._draw_broken(self.broken[row - len(self.found)], bar, width, base)
        memory, spans = self.found[row].memory, self.found[row].spans
        text, matches = snippet(memory.text, spans, width)
        when: list[Part] = [(f" {local_day(memory.created)} ", self.style_of("row--faint"))]
        stale = self._stale(memory)
        if stale:
            when.insert(0, (f" {stale}", self.style_of("memory--stale")))
        first = [bar, *parts_with_matches(text, matches, self.style_of("memory--text"), self.style_of("row--match"))]
        tags: Part = (" ".join(f"#{visible_line(tag)}" for tag in memory.tags), self.style_of("memory--tags"))
        why = visible_line(memory.why)
        second = [bar, tags, (("  " if tags[0] and why else "") + why, self.style_of("memory--why"))]
        return line(first, when, width, base), line(second, (), width, base)

    def _stale(self, memory: Memory) -> str:
        found = self.standings.get(memory.id)
        if found is None or found.kind in ("fresh", "none") or (found.kind == "gone" and found.is_seen):
            return ""
        return f"source {found.kind}"

    def _draw_broken(self, file: Skipped, bar: Part, width: int, base: Style) -> Sequence[Strip]:
        first: list[Part] = [bar, (visible_line(file.path), self.style_of("memory--text"))]
        second: list[Part] = [bar, (visible_line(file.reason), self.style_of("memory--why"))]
        right: list[Part] = [(" cannot be read ", self.style_of("memory--stale"))]
        return line(first, right, width, base), line(second, (), width, base)
