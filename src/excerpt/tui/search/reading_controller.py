"""What the preview shows of the vault: the selected fragment, its note whole, where links led, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from excerpt.tui.common.pause import After, Pause
from excerpt.tui.engine_worker import Asks

if TYPE_CHECKING:
    from excerpt.model import Hit, Span
    from excerpt.tui.common.inked_line import LinkTo
    from excerpt.tui.note_window import NoteWindow
    from excerpt.tui.reading import LinkFound

_MOST = 100
"""Locations in the back stack."""

_VISITED = 1.0
"""Seconds that a fragment stands in the preview before it counts as visited: whoever moves through the list has not
looked at what passed by."""


@dataclass(frozen=True, slots=True)
class Location:
    """A fragment that is looked at. Where its id is gone, what stands at its line now takes its place. `by_meaning`
    says that meaning had a part in finding it; `top` is the line that was first in sight, if it was scrolled."""

    fragment_id: str
    path: str
    line: int
    spans: tuple[Span, ...] = ()
    by_meaning: bool = False
    top: int | None = None

    @staticmethod
    def of(hit: Hit) -> Location:
        """Return where a hit stands."""
        by_meaning = any(signal.name == "meaning" and signal.part > 0 for signal in hit.signals)
        return Location(hit.fragment.id, hit.fragment.path, hit.fragment.line_start, hit.spans, by_meaning)

    def is_at(self, other: Location) -> bool:
        """Whether both are the same fragment, at whatever line and however it was scrolled."""
        return self.fragment_id == other.fragment_id


@dataclass(frozen=True, slots=True)
class BackStack:
    """Locations in the order in which they were visited, and which of them is looked at."""

    locations: tuple[Location, ...] = ()
    at: int = -1

    @property
    def here(self) -> Location | None:
        return self.locations[self.at] if self.locations else None

    def visiting(self, location: Location) -> BackStack:
        """Go on to `location` from here; what was ahead is left behind. The one looked at is only noted anew."""
        if self.here is not None and self.here.is_at(location):
            return BackStack((*self.locations[: self.at], location, *self.locations[self.at + 1 :]), self.at)
        kept = (*self.locations[: self.at + 1], location)[-_MOST:]
        return BackStack(kept, len(kept) - 1)

    def going(self, by: int) -> BackStack:
        """Back if negative, or forward; as far as there is a way."""
        if not self.locations:
            return self
        return BackStack(self.locations, max(0, min(self.at + by, len(self.locations) - 1)))


class ReadingController:
    """Own what the preview shows and whether its note whole; the locations visited, and where among them one is.

    `line_at_top` tells the line that is first in sight, `changed` is called when something else is to be shown.
    """

    def __init__(
        self,
        engine: Asks,
        after: After,
        *,
        line_at_top: Callable[[], int | None],
        changed: Callable[[], object],
    ) -> None:
        self.window: NoteWindow | None = None
        self.location: Location | None = None
        """None where what is shown is no note's."""
        self.is_away = False
        """Whether a link or the way back led to what is shown, and it is not what is selected in the list."""
        self._engine = engine
        self._line_at_top = line_at_top
        self._changed = changed
        self._query = ""
        self._whole = ""
        self._stack = BackStack()
        self._settled = Pause(after)

    # --- what is shown ------------------------------------------------------------------------------------------------

    def come_back(self) -> None:
        """Show from now on what is selected in the list."""
        self.is_away = False

    def show(self, window: NoteWindow | None) -> None:
        """Show what is no note's: a memory, or nothing."""
        self._engine.forget("window")
        self._settled.stop()
        self.location, self.window = None, window
        self._changed()

    def look_at(self, location: Location, query: str) -> None:
        """Show a fragment that `query` found."""
        if location.path != self._whole:
            self._whole = ""
        self.location, self._query = location, query
        self._settled.stop()
        self._changed()
        self.ask(location.top)

    def ask(self, line: int | None = None) -> None:
        """Ask for what is shown as it is now, with `line` at the top, or the fragment."""
        if self.location is None:
            return
        from excerpt.tui.note_window import View
        from excerpt.tui.reading import AskWindow

        view = View(whole=bool(self._whole), line=line)
        self._engine.ask(AskWindow(self.location, self._query, view), self._window_came)

    def toggle_whole(self, *, seen: bool) -> bool:
        """Show the note whole, or again what is around the fragment; out of sight, always whole. False without one."""
        if self.location is None:
            return False
        self._whole = "" if self._whole and seen else self.location.path
        self.ask()
        return True

    def _window_came(self, window: NoteWindow | None) -> None:
        if window is None:
            return
        self.window, fragment = window, window.fragment
        if self.location is not None:
            # As it is now: an edited fragment has another id.
            self.location = replace(
                self.location, fragment_id=fragment.id, path=fragment.path, line=fragment.line_start
            )
            self._settled.begin(_VISITED, self.note_visit)
        self._changed()

    # --- the way back -------------------------------------------------------------------------------------------------

    def note_visit(self) -> None:
        """Count what is shown as visited."""
        self._settled.stop()
        if self.location is not None and self.window is not None:
            self._stack = self._stack.visiting(replace(self.location, top=self._line_at_top()))

    def go_visited(self, by: int, selected: Hit | None, query: str) -> bool:
        """Go back to what was looked at before, or forward again; False where there is nothing."""
        here = self._stack.here
        if self.location is not None and (by < 0 or here is None or here.is_at(self.location)):
            self.note_visit()
        stack = self._stack.going(by)
        if stack.here is None or stack.at == self._stack.at:
            return False
        self._stack = stack
        self.is_away = selected is None or selected.fragment.id != stack.here.fragment_id
        self.look_at(stack.here, query)
        return True

    def go_to(self, location: Location, query: str) -> None:
        """Go where a link led, while `query` is answered."""
        self.note_visit()
        self._stack = self._stack.visiting(location)
        self.is_away = True
        self.look_at(location, query)

    def ask_link(self, to: LinkTo, on_found: Callable[[LinkFound], object]) -> None:
        """Ask where a link leads of the note that is shown."""
        if self.window is not None:
            from excerpt.tui.reading import AskLink

            self._engine.ask(AskLink(self.window.fragment.path, to), on_found)
