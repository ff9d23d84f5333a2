"""The part of the Search tab that reads on from the selected fragment: its note whole, links followed, the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.timer import Timer

from excerpt.pack.marks_file import Mark
from excerpt.pack.memory_fragment import memory_id_of
from excerpt.settings import Settings
from excerpt.text.line_range import lines_named
from excerpt.text.visible import visible_line
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.jump import labels
from excerpt.tui.memory_rows import is_memory
from excerpt.tui.messages import CopyRequested, EditRequested, ObsidianRequested, RememberRequested, WindowReady
from excerpt.tui.strips import fit
from excerpt.tui.trail import Spot, Trail
from excerpt.tui.widgets.memory_desk import MemoryDesk

if TYPE_CHECKING:
    from excerpt.model import Hit, Span
    from excerpt.tui.context_rows import LinkSpot
    from excerpt.tui.inked_line import LinkTo
    from excerpt.tui.reading import LinkFound
    from excerpt.tui.widgets.preview import Preview

_ADDRESS = 80
"""Cells of an address that is told."""

_VISITED = 1.0
"""Seconds that a fragment stands in the context before it counts as visited: whoever moves through the list has not
looked at what passed by."""


class ReadingDesk(MemoryDesk):
    """State: what the context shows, and whether its note whole; the spots visited, and where among them one is."""

    def __init__(self, settings: Settings, engine: EngineWorker, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(settings, engine, id=id)
        self._spot: Spot | None = None
        self._whole = ""
        self._away = False
        self._trail = Trail()
        self._window_asked = 0
        self._link_asked = 0
        self._settled: Timer | None = None

    # --- what the context shows ---------------------------------------------------------------------------------------

    @property
    def _preview(self) -> Preview:
        return self.aside.preview

    def show_selected(self, *, again: bool = False) -> None:
        """Show the fragment that is selected in the list; whoever reads elsewhere stays there if the same query is
        answered `again`, by a newer index."""
        hit = self.selected
        if again and self._away:
            self._ask_window(None)
            return
        self._read_away(False)
        if hit is None or is_memory(hit):
            self._show_memory(hit)
            return
        by_meaning = any(signal.name == "meaning" and signal.part > 0 for signal in hit.signals)
        self._look_at(Spot(hit.fragment.id, hit.fragment.path, hit.fragment.line_start, hit.spans, by_meaning))

    def show_fragment(self, fragment_id: str, spans: Sequence[Span]) -> None:
        window = self.memory_window_of(fragment_id)
        if window is not None:
            self._show_memory(None)
            self._preview.window = window
            return
        self._look_at(Spot(fragment_id, "", 0, tuple(spans)))

    def _show_memory(self, hit: Hit | None) -> None:
        self._window_asked += 1
        self._spot = None
        self._forget_settling()
        self._engine.forget("window")
        self._preview.window = self.memory_window(hit)

    def _look_at(self, spot: Spot) -> None:
        if spot.path != self._whole:
            self._whole = ""
        self._spot = spot
        self._forget_settling()
        self._ask_window(spot.top)

    def _ask_window(self, line: int | None) -> None:
        spot = self._spot
        if spot is None:
            return
        from excerpt.tui.note_window import View
        from excerpt.tui.reading import AskWindow

        self._window_asked += 1
        query = self.result.query if self.result is not None else ""
        view = View(whole=bool(self._whole), line=line)
        self._engine.ask_insight(AskWindow(self._window_asked, spot, query, view))

    @on(WindowReady)
    def _window_ready(self, message: WindowReady) -> None:
        message.stop()
        if message.number != self._window_asked or message.window is None:
            return
        self._preview.window = message.window
        fragment = message.window.fragment
        if self._spot is not None:
            # As it is now: an edited fragment has another id.
            self._spot = replace(self._spot, fragment_id=fragment.id, path=fragment.path, line=fragment.line_start)
            self._forget_settling()
            self._settled = self.set_timer(_VISITED, self._note_visit)
        self._show_packed()

    def on_preview_line_wanted(self, message: Preview.LineWanted) -> None:
        message.stop()
        self._ask_window(message.line)

    def watch_packed(self) -> None:
        super().watch_packed()
        self._show_packed()

    def _show_packed(self) -> None:
        """Mark at the margin what of the note is in the pack."""
        window, packs = self._preview.window, self.packed.result.packs if self.packed is not None else ()
        path = window.fragment.path if window is not None else ""
        self._preview.packed = tuple((one.line_start, one.line_end) for one in packs if one.path == path)

    def bring_up_context(self) -> None:
        """Give the context all the room, where there is none for it beside or below the list."""
        raise NotImplementedError

    def _bring_up(self) -> bool:
        """Have the context in sight; whether it was."""
        seen = bool(self._preview.region)
        if not seen and self._preview.window is not None:
            self.bring_up_context()
        return seen

    def action_read_whole(self) -> None:
        """The whole note in place of what is around the fragment, and back."""
        spot = self._spot
        if spot is None:
            self.notify("There is no note to show.")
            return
        if not self._bring_up():
            self._whole = ""
        self._whole = "" if self._whole else spot.path
        self._ask_window(None)

    # --- the way back -------------------------------------------------------------------------------------------------

    def _read_away(self, away: bool) -> None:
        self._away = away
        self._preview.walked = away

    def end_walk(self) -> bool:
        """Show what is selected in the list again; False if nothing else is shown."""
        was = self._away
        if was:
            self._note_visit()
            self.show_selected()
        return was

    def _note_visit(self) -> None:
        self._forget_settling()
        if self._spot is not None and self._preview.window is not None:
            self._trail = self._trail.visiting(replace(self._spot, top=self._preview.line_at_top))

    def _forget_settling(self) -> None:
        if self._settled is not None:
            self._settled.stop()
            self._settled = None

    def action_visited(self, by: int) -> None:
        """Back to the fragment that was looked at before this one, or forward again."""
        here = self._trail.here
        if self._spot is not None and (by < 0 or here is None or here.is_at(self._spot)):
            self._note_visit()
        trail = self._trail.going(by)
        if trail.here is None or trail is self._trail or trail.at == self._trail.at:
            self.notify("Nothing was looked at before this." if by < 0 else "Nothing was looked at after this.")
            return
        self._trail = trail
        self._bring_up()
        self._read_away(self.selected is None or self.selected.fragment.id != trail.here.fragment_id)
        self._look_at(trail.here)

    # --- links --------------------------------------------------------------------------------------------------------

    def action_links(self) -> None:
        """Put a label on each link in sight, and follow the one whose label is typed."""
        from excerpt.tui.screens.pick_link import PickLink

        if self._preview.window is not None and not self._bring_up():
            self.notify("This is the context; once more puts letters on its links.")
            return
        spots = self._preview.links_in_sight()
        if not spots:
            self.notify("There is no link in sight.")
            return
        named = dict(zip(spots, labels(len(spots)), strict=False))
        self._preview.labels = named
        self.app.push_screen(PickLink(list(named.values())), partial(self._picked, named))

    def _picked(self, named: dict[LinkSpot, str], label: str | None) -> None:
        self._preview.labels = {}
        to = next((spot.to for spot, one in named.items() if one == label), None)
        if to is not None:
            self._follow_link(to)

    def on_preview_link_clicked(self, message: Preview.LinkClicked) -> None:
        message.stop()
        self._follow_link(message.to)

    def _follow_link(self, to: LinkTo) -> None:
        from excerpt.tui.reading import AskLink

        window = self._preview.window
        if window is not None:
            self._link_asked += 1
            self._engine.ask_insight(AskLink(self._link_asked, window.fragment.path, to))

    def on_link_found(self, message: LinkFound) -> None:
        message.stop()
        if message.number != self._link_asked:
            return
        if message.told:
            self.notify(message.told, markup=False)
        if message.address:
            shown = fit(visible_line(message.address), _ADDRESS)
            self.post_message(CopyRequested(message.address, f"The address {shown}", None))
        elif message.spot is not None:
            self._note_visit()
            self._trail = self._trail.visiting(message.spot)
            self._read_away(True)
            self._look_at(message.spot)

    # --- the outline --------------------------------------------------------------------------------------------------

    def action_outline(self) -> None:
        """The note's headings, to go to one of them."""
        from excerpt.tui.screens.outline import Outline

        window, preview = self._preview.window, self._preview
        if window is None or not any(one.level for one in window.headings):
            self.notify("This note has no headings." if window is not None else "There is no note to show.")
            return
        self._bring_up()
        begun = preview.line_at_top
        outline = Outline(window.headings, begun or 1, preview.show_line)

        def chosen(line: int | None) -> None:
            if line is None and begun is not None:
                preview.show_line(begun)

        self.app.push_screen(outline, chosen)

    # --- what is read -------------------------------------------------------------------------------------------------

    @property
    def reads_on(self) -> bool:
        """Whether what is done is about what the context shows: it has the focus, or a link or the way back led to
        what is not selected in the list."""
        return (self._preview.has_focus or self._away) and self._spot is not None

    def stop_picking(self) -> bool:
        """Take back that lines are picked; False if none are."""
        was = self._preview.picked is not None
        self._preview.picked = None
        return was

    def action_mark(self) -> None:
        """In the context, mark the fragment that is read."""
        window, spot = self._preview.window, self._spot
        if not (self.reads_on and self._away) or window is None or spot is None:
            super().action_mark()
            return
        self.decide(self.choices.toggling(Mark(window.fragment.id, window.fragment.path, spot.spans)))

    def edit_read(self) -> bool:
        """Open the note that is read, at the lines picked or at the fragment; False if the context has not the
        focus."""
        window = self._preview.window
        if not self.reads_on or window is None:
            return False
        fragment, picked = window.fragment, self._preview.picked
        self.post_message(EditRequested(fragment.path, picked.first if picked else fragment.line_start, fragment.id))
        return True

    def obsidian_read(self) -> bool:
        """Open in Obsidian the note that a link led to; False where what is selected in the list is shown."""
        window = self._preview.window
        if not self._away or window is None or self._spot is None:
            return False
        fragment = window.fragment
        self.post_message(ObsidianRequested(fragment.path, fragment.heading_path, fragment.id))
        return True

    def action_copy_lines(self) -> None:
        """Copy the lines that are picked, or the fragment that is shown."""
        window, picked = self._preview.window, self._preview.picked
        if window is None:
            self.notify("There is nothing to copy.", severity="warning")
            return
        fragment = window.fragment
        notes = ((fragment.path, fragment.id),) if memory_id_of(fragment.id) is None else ()
        if picked is None:
            self.post_message(CopyRequested(fragment.text, "Fragment", fragment.tokens, notes))
        else:
            text = window.text(picked.first, picked.last)
            self.post_message(
                CopyRequested(text, lines_named(picked.first, picked.last, "–").capitalize(), None, notes)
            )
            self._preview.picked = None

    def action_remember_lines(self) -> None:
        """Keep the lines that are picked, or the fragment that is shown."""
        if not self.remember_read():
            self.notify("There is nothing to keep.", severity="warning")

    def remember_read(self) -> bool:
        """Keep what is read; False where it is no note's."""
        from excerpt.model import Hit, Source
        from excerpt.text.fragments import digest_of_text
        from excerpt.tui.context_rows import heading_path_at

        window, picked = self._preview.window, self._preview.picked
        if window is None or self._spot is None:
            return self._preview.has_focus and self.change_memory()
        fragment, query = window.fragment, self.result.query if self.result is not None else ""
        if picked is None:
            self.post_message(RememberRequested(Hit(fragment, 0.0), query))
            return True
        text = window.text(picked.first, picked.last)
        headings = heading_path_at(window.headings, picked.first)
        source = Source(fragment.path, picked.first, picked.last, digest_of_text(text), headings)
        self.post_message(RememberRequested(None, query, text, source))
        self._preview.picked = None
        return True
