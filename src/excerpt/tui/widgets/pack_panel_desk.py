"""The part of the Search tab that works in the pack's panel: what of its rows is dropped, moved, grown or looked at."""

from __future__ import annotations

from excerpt.kinds import Scope
from excerpt.pack.marks_file import Mark
from excerpt.tui.turn import next_in_turn
from excerpt.tui.widgets.hit_list import HitList
from excerpt.tui.widgets.pack_desk import PackDesk


class PackPanelDesk(PackDesk):
    """Owns nothing: the pack is the `PackDesk`'s, the selected row the panel's."""

    def watch_packed(self) -> None:
        super().watch_packed()
        if self.aside.pack_panel.display:
            self._show_contents()

    def _show_contents(self) -> None:
        from excerpt.tui.widgets.pack_panel import Contents

        ranks = {hit.fragment.id: rank for rank, hit in enumerate(self.result.hits if self.result else (), start=1)}
        order = self.choices.order_name(self.pack_query)
        contents = Contents(self.packed, self.choices.marked, ranks, order) if self.packed is not None else None
        self.aside.pack_panel.contents = contents

    def action_panel(self) -> None:
        """Open the panel and go there; from there, close it."""
        panel = self.aside.pack_panel
        if panel.has_focus:
            self.close_panel()
            return
        self.aside.open(panel)
        self._show_contents()
        panel.focus()

    def close_panel(self) -> None:
        self.aside.close()
        self.focus_query()

    def jump(self) -> None:
        """Show the fragment of the panel's row in the context, which takes the panel's place where there is one place
        for both."""
        panel, rows = self.aside.pack_panel, self.query_one(HitList)
        row, pack = panel.selected, panel.selected_pack
        if row is None:
            return
        wanted = (pack.entry.fragment_id,) if pack is not None else row.fragment_ids
        if not wanted or not row.line_start:
            self.notify("That text is no longer in the vault." if wanted else "It is not among the hits any more.")
            return
        spans = {mark.fragment: mark.spans for mark in self.choices.marks}
        spans.update((hit.fragment.id, hit.spans) for hit in rows.hits)
        fragment_id = next((each for each in wanted if each in spans), wanted[0])
        rows.go_to(fragment_id)
        self.show_fragment(fragment_id, spans.get(fragment_id, ()))
        preview = self.aside.preview
        if not preview.display:
            self.close_panel()
            preview.focus()

    # --- decisions about a row ----------------------------------------------------------------------------------------

    def action_drop(self) -> None:
        """Drop the pack of the selected row, or bring back what was dropped. A mark whose text is gone goes."""
        from excerpt.model import Pack

        row, query = self.aside.pack_panel.selected, self.pack_query
        if row is None:
            return
        if not isinstance(row, Pack) and row.dropped:
            self.decide(self.choices.returning(query, row.fragment_ids))
        elif not isinstance(row, Pack) and not row.line_start:
            self.decide(self.choices.toggling(Mark(row.fragment_ids[0], row.path)))
        else:
            self.decide(self.choices.dropping(query, row.fragment_ids))

    def action_shift(self, places: int) -> None:
        """Move the pack of the selected row."""
        panel, packed = self.aside.pack_panel, self.packed
        if packed is None or panel.selected_pack is None:
            return
        entries = [pack.entry.fragment_id for pack in packed.result.packs]
        to = panel.cursor + places
        if 0 <= to < len(entries):
            entries.insert(to, entries.pop(panel.cursor))
            self.decide(self.choices.ordering(self.pack_query, entries))

    def action_own_scope(self) -> None:
        """The next scope for the pack of the selected row alone."""
        row, query = self.aside.pack_panel.selected_pack, self.pack_query
        if row is not None:
            own = dict(self.choices.wishes(query).scopes).get(row.entry.fragment_id, self.scope)
            self.decide(self.choices.growing(query, row.fragment_ids, next_in_turn(list(Scope), own)))
