"""The Memory tab: what the user kept, filtered by words, meaning and tags; read, changed, forgotten, taken back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from excerpt.model import Memory
from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.common.notice import Notice, Said
from excerpt.tui.common.row_list import RowList
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.keymap import key_sign
from excerpt.tui.memory.decisions import Decision, following, forgetting, keeping, updating
from excerpt.tui.memory.filter import MemoryFilter, read_filter, toggling_stale
from excerpt.tui.memory.list import MemoryList
from excerpt.tui.memory.messages import MemoriesListed, MemoryEditRequested, MemoryFileRequested, StandingsKnown
from excerpt.tui.memory.questions import AskStandings
from excerpt.tui.memory.tag_completion import TagSuggester
from excerpt.tui.memory.view import MemoryView, Shown
from excerpt.tui.memory.worker import MemoryWorker
from excerpt.tui.messages import CopyRequested, EditRequested, RememberRequested
from excerpt.tui.reasons import MemoryScene, in_memory
from excerpt.tui.widgets.field import Field
from excerpt.tui.widgets.split import Split

if TYPE_CHECKING:
    from excerpt.memory.recalling import Recalled
    from excerpt.memory.stale import Standing

_AT_ONCE = 8
"""Memories whose sources are looked at between two other questions to the engine: some 2 ms."""
_MOST_LOOKED_AT = 200
"""Rows whose sources are looked at without being asked for by `is:stale`."""


class MemoryPane(Vertical):
    """State: the filter, the memories it leaves, how these stood to their sources when that was last looked at, and
    which of them were looked at in the newest index."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Memory")

    DEFAULT_CSS = """
    MemoryPane {
        #filter-bar {
            height: 1;
            background: $surface;
            #filter-prompt { width: 3; padding: 0 0 0 1; color: $text-faint; text-style: bold; }
            Field { width: 1fr; background: $surface; color: $foreground; &:focus { background-tint: $background 0%; } }
            &:focus-within #filter-prompt { color: $accent; }
        }
        #memory-body { height: 1fr; }
        #memory-found { height: 1fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #memory-found:focus-within { border-top: solid $accent; border-title-color: $accent; }
        #memory-view { height: 1fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #memories { height: 1fr; }
        MemoryList { height: 1fr; }
    }
    """

    def __init__(self, folder: Path, memories: MemoryWorker, engine: EngineWorker, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._folder = folder
        self._worker = memories
        self._engine = engine
        self._asked = 0
        self._shown = 0
        self._query = ""
        self._wanted = ""
        self._listed: MemoriesListed | None = None
        self._standings: dict[str, Standing] = {}
        self._looked_at: set[str] = set()
        self._look_number = 0
        self._waiting: list[Memory] = []

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
        with Split(id="memory-body"):
            with Vertical(id="memory-found"):
                yield MemoryList(id="memories")
                yield Notice(id="memory-notice")
            yield MemoryView(id="memory-view")

    def on_mount(self) -> None:
        self._show()

    @property
    def _list(self) -> MemoryList:
        return self.query_one(MemoryList)

    @property
    def _filter(self) -> MemoryFilter:
        return read_filter(self.query_one("#filter", Field).value)

    @property
    def all_known(self) -> bool:
        """Whether what is shown is the answer to the filter as it stands, sources included."""
        return self._asked == self._shown and not self._waiting

    # --- what is found ------------------------------------------------------------------------------------------------

    def reload(self, wanted: str = "") -> None:
        """Ask for the memories again, as filtered now, and select the one of the id `wanted`, if it is among them."""
        self._asked += 1
        self._wanted = wanted or self._wanted
        self._worker.list(self._asked, self._filter)

    def listed(self, message: MemoriesListed) -> None:
        """Show an answer, unless a newer one is shown already."""
        if message.number <= self._shown:
            return
        self._shown = message.number
        self._listed = message
        suggester = self.query_one("#filter", Field).suggester
        assert isinstance(suggester, TagSuggester)
        suggester.tags = [tag for tag, _ in message.tags]
        same = {one.memory.id: one.memory for one in message.found}
        self._standings = {
            memory_id: found for memory_id, found in self._standings.items() if same.get(memory_id) == found.memory
        }
        self._looked_at &= self._standings.keys()
        self.look_at_sources()
        wanted = ""
        if message.number == self._asked:
            wanted, self._wanted = self._wanted, ""
        self._show(self._is_answer_to_another_query(message.number), wanted)

    def _is_answer_to_another_query(self, number: int) -> bool:
        """Whether the filter has a query now that was not answered before; none asks for nothing."""
        if number != self._asked:
            return False
        before, self._query = self._query, self._filter.query
        return self._query not in ("", before)

    def _show(self, is_new: bool = False, wanted: str = "") -> None:
        listed, rows = self._listed, self._list
        found: tuple[Recalled, ...] = listed.found if listed is not None else ()
        if (stale := self._filter.stale) is not None:
            found = tuple(one for one in found if _is_stale(self._standings.get(one.memory.id)) is stale)
        unfiltered = self._filter == MemoryFilter()
        rows.set_reactive(MemoryList.standings, self._standings)
        rows.show(found, listed.broken if listed is not None and unfiltered else (), is_new=is_new, wanted=wanted)
        rows.display = bool(rows.row_count)
        self.query_one(Split).context = bool(rows.row_count)
        notice = self.query_one("#memory-notice", Notice)
        notice.display = not rows.row_count
        notice.said = _none_yet() if unfiltered else self._none_left()
        box, title = self.query_one("#memory-found"), visible_line(self._title(len(found))).replace("[", r"\[")
        if box.border_title != title:
            box.border_title = title
        self._show_selected()

    def _none_left(self) -> Said:
        written = self.query_one("#filter", Field).value.strip()
        if self._filter.stale and self._waiting:
            return Said("Looking at the sources", "What has changed since it was remembered shows up here.")
        if self._filter == MemoryFilter(stale=True):
            return Said("Every memory says what its source says", "", f"{key_sign('memory-back')} shows all of them.")
        return Said(f"No memory matches {written}", "", f"{key_sign('memory-back')} clears the filter.")

    def _title(self, shown: int) -> str:
        listed = self._listed
        if listed is None or not (listed.total or listed.broken):
            return "memories"
        title = f"memories · {shown:,}" + (f" of {listed.total:,}" if shown < listed.total else "")
        stale = sum(map(_is_stale, self._standings.values()))
        title += f" · {stale} to look at ({key_sign('memory-stale')})" if stale and not self._filter.stale else ""
        unanswered = shown and not any(one.answers for one in listed.found)
        title += " · none answers, these share a word" if unanswered else ""
        title += f" · {len(listed.broken)} unreadable" if listed.broken else ""
        return title + (" · by words alone" if listed.unranked else "")

    # --- how they stand to their sources ------------------------------------------------------------------------------

    def look_at_sources(self) -> None:
        """Have it found out what became of the sources that nobody has looked at in this index."""
        self._look_number += 1
        found = [one.memory for one in self._listed.found] if self._listed is not None else []
        unknown = [each for each in found if each.source is not None and each.id not in self._looked_at]
        self._waiting = unknown if self._filter.stale is not None else unknown[:_MOST_LOOKED_AT]
        self._look()

    def vault_changed(self) -> None:
        """There is a newer index: the sources may say something else. Until that is known, what is shown holds."""
        self._looked_at = set()
        self.look_at_sources()

    def _look(self) -> None:
        if self._waiting:
            self._engine.ask_insight(AskStandings(self._look_number, tuple(self._waiting[:_AT_ONCE])))

    def standings_known(self, message: StandingsKnown) -> None:
        """Some of the answer; the next are asked for, so that searches come between. What an older look found is of an
        older index."""
        if message.number != self._look_number:
            return
        self._standings = {**self._standings, **message.standings}
        self._looked_at |= message.standings.keys()
        self._waiting = [memory for memory in self._waiting if memory.id not in message.standings]
        self._look()
        self._show()

    def _show_selected(self) -> None:
        rows = self._list
        memory, file = rows.selected, rows.selected_file
        shown: Shown | None = None
        if memory is not None:
            shown = Shown(memory, rows.spans, self._standings.get(memory.id))
        elif file is not None:
            shown = Shown(file)
        self.query_one(MemoryView).shown = shown
        self.refresh_bindings()

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        event.stop()
        self._show_selected()

    @on(Input.Changed, "#filter")
    def _filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.reload()

    # --- the keys -----------------------------------------------------------------------------------------------------

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - `Reasoned`'s name
        rows, found = self._list, self._selected_standing()
        memory = rows.selected
        scene = MemoryScene(
            total=self._listed.total if self._listed is not None else 0,
            selected=memory is not None,
            on_file=rows.selected_file is not None,
            own=memory is not None and memory.source is None,
            kind=found.kind if found is not None else "",
            stale=found is not None and found.is_stale,
            decided=self._worker.has_decided,
            to_look_at=action == "stale" and self._may_be_stale(),
        )
        return in_memory(action, scene)

    def _may_be_stale(self) -> bool:
        """Whether a source is known to say something else, or is not looked at yet, or those alone are shown."""
        found = self._listed.found if self._listed is not None else ()
        unknown = (one.memory.source is not None and one.memory.id not in self._standings for one in found)
        return self._filter.stale or any(map(_is_stale, self._standings.values())) or any(unknown)

    def _selected_standing(self) -> Standing | None:
        if not self.is_mounted:
            return None
        memory = self._list.selected
        return self._standings.get(memory.id) if memory is not None else None

    def action_move(self, rows: int) -> None:
        self._list.move(rows)

    def action_scroll_view(self, pages: int) -> None:
        self.query_one(MemoryView).scroll_pages(pages)

    def action_remember(self) -> None:
        self.post_message(RememberRequested(None, ""))

    def action_change(self) -> None:
        """Open the memory in the form."""
        memory = self._list.selected
        if memory is not None:
            self.post_message(MemoryEditRequested(memory))

    def action_edit(self) -> None:
        """Open the source, where it is by now, or a file that cannot be read."""
        memory, file = self._list.selected, self._list.selected_file
        if file is not None:
            self.post_message(MemoryFileRequested(self._folder / file.path))
        elif memory is not None and memory.source is None:
            self.notify("This memory is a thought of your own; it has no source to open.")
        elif memory is not None:
            found = self._standings.get(memory.id)
            source = found.source if found is not None and found.source is not None else memory.source
            assert source is not None
            self.post_message(EditRequested(source.path, max(source.line_start, 1)))

    def action_copy(self) -> None:
        memory = self._list.selected
        if memory is not None:
            self.post_message(CopyRequested(memory.text, "Memory", None))

    def action_forget(self) -> None:
        memory = self._list.selected
        if memory is not None:
            self._worker.decide(forgetting(memory))

    def action_follow(self) -> None:
        self._decide(following)

    def action_update(self) -> None:
        self._decide(updating)

    def action_keep(self) -> None:
        self._decide(keeping)

    def _decide(self, decision: Callable[[Standing], Decision]) -> None:
        found = self._selected_standing()
        if found is not None:
            self._worker.decide(decision(found))

    def action_undo(self) -> None:
        self._worker.undo()

    def action_stale(self) -> None:
        """Only what is to be looked at, or all again."""
        field = self.query_one("#filter", Field)
        field.value = toggling_stale(field.value)

    def action_pane(self) -> None:
        field, rows = self.query_one("#filter", Field), self._list
        (rows if field.has_focus and rows.display else field).focus()

    def action_focus_filter(self) -> None:
        self.query_one("#filter", Field).focus()

    def action_back(self) -> None:
        """Go to the list."""
        if self._list.display:
            self._list.focus()


def _none_yet() -> Said:
    return Said(
        "No memories yet",
        "A memory is a finding you keep: a passage or a thought, with tags and why it matters.",
        f"In the Search tab {key_sign('remember')} keeps the selected fragment; here {key_sign('memory-new')} writes "
        "down a thought.",
    )


def _is_stale(found: Standing | None) -> bool:
    return found is not None and (found.is_stale or found.kind == "moved")
