"""The Memory tab: what the user kept, filtered by words and tags; open, copy, forget, take back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Input, Static

from excerpt.errors import ExcerptError
from excerpt.model import Memory, Source
from excerpt.text.visible import visible, visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.messages import CopyRequested, EditRequested, RememberRequested
from excerpt.tui.when import local_time
from excerpt.tui.widgets.memory_list import MemoryList
from excerpt.tui.widgets.notice import Notice, Said
from excerpt.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from excerpt.memory.store import MemoryStore

_NONE_YET = Said(
    "No memories yet",
    "A memory is a finding you keep: a passage or a thought, with tags and why it matters.",
    "In the Search tab ^r keeps the selected fragment; here ^r writes down a thought.",
)


class MemoryPane(Vertical):
    """State: the filter, the memories it leaves, those forgotten in this session. Files are touched in a thread."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Memory")

    DEFAULT_CSS = """
    MemoryPane {
        #filter { background: $surface; padding: 0 2; }
        #memory-body { height: 1fr; layout: vertical; }
        #memory-found { height: 1fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #memory-view {
            height: 1.2fr; padding: 0 2;
            border-top: solid $border-blurred; border-title-color: $text-soft;
        }
        #memories { height: 1fr; }
        MemoryList { height: 1fr; }
        #memory-body.-bare > #memory-view { display: none; }
    }
    """

    class Left(Message):
        """The user wants to go back to the search."""

    def __init__(self, folder: Path, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._folder = folder
        self._store: MemoryStore | None = None
        self._forgotten: list[str] = []

    def compose(self) -> ComposeResult:
        yield Input(placeholder="Filter by words and #tags", compact=True, select_on_focus=False, id="filter")
        with Container(id="memory-body"):
            with Vertical(id="memory-found"):
                yield MemoryList(id="memories")
                yield Notice(id="memory-notice")
            with VerticalScroll(id="memory-view", can_focus=False):
                yield Static(id="memory-text")

    def on_mount(self) -> None:
        self._show((), ())

    @property
    def _list(self) -> MemoryList:
        return self.query_one(MemoryList)

    def reload(self) -> None:
        """Read the memories again, as filtered now."""
        self._work(self._load)

    def keep(self, text: str, tags: tuple[str, ...], why: str, source: Source | None, query: str) -> None:
        """Store a memory, and show it."""

        async def store() -> None:
            memory = await asyncio.to_thread(
                self._opened().remember, text, tags=tags, why=why, source=source, query=query
            )
            self.notify(f"Remembered{self._tagged(memory)}. F4 shows your memories.")
            await self._load()

        self._work(store)

    @staticmethod
    def _tagged(memory: Memory) -> str:
        return " under " + " ".join(f"#{tag}" for tag in memory.tags) if memory.tags else ""

    def _opened(self) -> MemoryStore:
        """The store; called in a thread first, because its import is heavy."""
        if self._store is None:
            from excerpt.memory.store import MemoryStore

            self._store = MemoryStore(self._folder)
        return self._store

    def _work(self, job: Callable[[], Awaitable[None]]) -> None:
        """Do a job on the files, one after the other; a failure is a toast."""

        async def guarded() -> None:
            try:
                await asyncio.to_thread(self._opened)
                await job()
            except ExcerptError as error:
                self.notify(str(error), title=error.title, severity="error", markup=False)

        self.run_worker(guarded(), group="memory")

    async def _load(self) -> None:
        store = self._opened()
        words, tags = split_filter(self.query_one("#filter", Input).value)
        everything = await asyncio.to_thread(store.all)
        found = await asyncio.to_thread(store.recall, words, tags) if words or tags else everything.memories
        if (words, tags) == split_filter(self.query_one("#filter", Input).value):
            self._show(tuple(found), tuple(one.path for one in everything.broken))

    def _show(self, memories: tuple[Memory, ...], broken: tuple[str, ...]) -> None:
        filtered = self.query_one("#filter", Input).value.strip()
        self._list.memories = memories
        self._list.display = bool(memories)
        self.query_one("#memory-body").set_class(not memories, "-bare")
        notice = self.query_one("#memory-notice", Notice)
        notice.display = not memories
        notice.said = Said(f"No memory matches {filtered}", "", "esc clears the filter.") if filtered else _NONE_YET
        title = f"memories · {len(memories):,}" if memories else "memories"
        if broken:
            title += f" · {len(broken)} unreadable in {self._folder}"
        self.query_one("#memory-found").border_title = visible_line(title).replace("[", r"\[")
        self._show_selected()

    def _show_selected(self) -> None:
        memory = self._list.selected
        view = self.query_one("#memory-view", VerticalScroll)
        view.border_title = ""
        if memory is None:
            self.query_one("#memory-text", Static).update("")
            return
        self.query_one("#memory-text", Static).update(memory_text(memory, self.app.theme_variables))
        view.scroll_home(animate=False)

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        event.stop()
        self._show_selected()

    @on(Input.Changed, "#filter")
    def _filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.reload()

    # --- the keys -----------------------------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        self._list.move(rows)

    def action_scroll_view(self, pages: int) -> None:
        view = self.query_one("#memory-view", VerticalScroll)
        view.scroll_relative(y=pages * max(1, view.size.height - 1), animate=False)

    def action_remember(self) -> None:
        self.post_message(RememberRequested(None, ""))

    def action_edit(self) -> None:
        memory = self._list.selected
        if memory is None:
            return
        if memory.source is None:
            self.notify("This memory is a thought of your own; it has no source to open.")
        else:
            self.post_message(EditRequested(memory.source.path, memory.source.line_start))

    def action_copy(self) -> None:
        memory = self._list.selected
        if memory is not None:
            self.post_message(CopyRequested(memory.text, "Memory", None))

    def action_forget(self) -> None:
        memory = self._list.selected
        if memory is None:
            return

        async def forget() -> None:
            await asyncio.to_thread(self._opened().forget, memory.id)
            self._forgotten.append(memory.id)
            self.notify("Forgotten; it is in the trash folder. ^u takes it back.")
            await self._load()

        self._work(forget)

    def action_undo(self) -> None:
        if not self._forgotten:
            self.notify("Nothing was forgotten since excerpt was opened.")
            return
        last = self._forgotten.pop()

        async def restore() -> None:
            await asyncio.to_thread(self._opened().restore, last)
            self.notify("Taken back.")
            await self._load()

        self._work(restore)

    def action_back(self) -> None:
        field = self.query_one("#filter", Input)
        if field.value:
            field.value = ""
        else:
            self.post_message(self.Left())


def split_filter(written: str) -> tuple[str, tuple[str, ...]]:
    """What a filter asks for: its words, and its #tags."""
    parts = written.split()
    tags = tuple(part[1:] for part in parts if part.startswith("#") and len(part) > 1)
    return " ".join(part for part in parts if not part.startswith("#")), tags


def memory_text(memory: Memory, colours: dict[str, str]) -> Text:
    """A memory as it is read: why, where from, what."""
    soft = colours["text-soft"]
    text = Text()
    for name, value in _about(memory):
        text.append(f"{name:<9}", soft).append(f"{visible_line(value)}\n")
    return text.append("\n" + visible(memory.text.rstrip()))


def _about(memory: Memory) -> list[tuple[str, str]]:
    about = [("why", memory.why)] if memory.why else []
    if memory.tags:
        about.append(("tags", " ".join(f"#{tag}" for tag in memory.tags)))
    if memory.source is not None:
        source = memory.source
        about.append(("source", f"{source.path}, lines {source.line_start}–{source.line_end}"))
        if source.heading_path:
            about.append(("", " › ".join(source.heading_path)))
    if memory.query:
        about.append(("query", memory.query))
    about.append(("kept", local_time(memory.created)))
    if memory.updated != memory.created:
        about.append(("changed", local_time(memory.updated)))
    return about
