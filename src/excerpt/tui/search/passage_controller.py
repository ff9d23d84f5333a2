"""Control the passage view: the passage or whole note shown, and the history of the links followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from excerpt.service.engine_worker import QuestionQueue
from excerpt.service.note_questions import AskLink, AskWindow, Location, ResolvedLink, WindowOptions

if TYPE_CHECKING:
    from excerpt.tui.common.line_drawing import WrittenLink
    from excerpt.tui.note.window import NoteWindow


class PassageController:
    """The state of the passage view: the location shown, whether its note is shown whole, and the links followed.

    `line_at_top` returns the number of the first visible line. `on_change` is called when `window`, `location` or
    `is_linked_passage` has changed.
    """

    def __init__(
        self, engine: QuestionQueue, *, line_at_top: Callable[[], int | None], on_change: Callable[[], object]
    ) -> None:
        self.window: NoteWindow | None = None
        """The drawn lines to show."""
        self.location: Location | None = None
        """The location in the vault that is shown; None while a memory or nothing is shown."""
        self._engine = engine
        self._line_at_top = line_at_top
        self._on_change = on_change
        self._query = ""
        self._whole_note_path = ""
        """Path of the note that is shown whole; "" for none."""
        self._back_stack: list[Location] = []
        """Locations from which links were followed, the newest last."""

    @property
    def is_linked_passage(self) -> bool:
        """Whether the passage shown was reached by a link and is not the selected hit."""
        return bool(self._back_stack)

    def show_memory(self, window: NoteWindow | None) -> None:
        """Show the drawn text of a memory, or nothing if None, and clear the history of links."""
        self._engine.cancel("window")
        self._back_stack.clear()
        self.location, self.window = None, window
        self._on_change()

    def show_fragment(self, location: Location, query: str) -> None:
        """Show a fragment found by `query`, and clear the history of links."""
        self._back_stack.clear()
        self._query = query
        self._show_location(location)

    def _show_location(self, location: Location) -> None:
        if location.path != self._whole_note_path:
            self._whole_note_path = ""
        self.location = location
        self._on_change()
        self.ask_window(location.top)

    def ask_window(self, line: int | None = None) -> None:
        """Request the lines around the current location, with line `line` at the top, or the fragment if None."""
        if self.location is None:
            return
        from excerpt.tui.note.window import draw_note

        view = WindowOptions(whole=bool(self._whole_note_path), line=line)
        self._engine.ask(AskWindow(draw_note, self.location, self._query, view), self._handle_window)

    def toggle_whole(self) -> bool:
        """Switch between the whole note and the lines around the fragment; return False if no note is shown."""
        if self.location is None:
            return False
        self._whole_note_path = "" if self._whole_note_path else self.location.path
        self.ask_window()
        return True

    def _handle_window(self, window: NoteWindow | None) -> None:
        if window is None:
            return
        self.window, fragment = window, window.fragment
        if self.location is not None:
            # An edited fragment has another id.
            self.location = replace(
                self.location, fragment_id=fragment.id, path=fragment.path, line=fragment.line_start
            )
        self._on_change()

    # --- links and their history --------------------------------------------------------------------------------------

    def ask_link_target(self, link: WrittenLink, on_answer: Callable[[ResolvedLink], object]) -> None:
        """Request the target of a link in the note shown; `on_answer` is called with the target."""
        if self.window is not None:
            self._engine.ask(AskLink(self.window.fragment.path, link.kind, link.address, link.label), on_answer)

    def go_to(self, location: Location) -> None:
        """Show `location`, the target of a link, and add the current location to the history of links."""
        if self.location is not None:
            self._back_stack.append(replace(self.location, top=self._line_at_top()))
        self._show_location(location)

    def go_back(self) -> bool:
        """Show the location from which the last link was followed; return False if no link was followed."""
        if not self._back_stack:
            return False
        self._show_location(self._back_stack.pop())
        return True
