"""What stands in the Search tab, as its actions' reasons need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from excerpt.tui.memory_rows import is_memory
from excerpt.tui.reasons import Row, SearchScene

if TYPE_CHECKING:
    from excerpt.tui.widgets.search_pane import SearchPane


def scene_of(pane: SearchPane) -> SearchScene:
    """That of the moment."""
    if not pane.is_furnished:
        return SearchScene(typed=bool(pane.query_text.strip()))
    hit, packed, panel, rows = pane.selected, pane.packed, pane.aside.pack_panel, pane.panel_rows
    return SearchScene(
        typed=bool(pane.query_text.strip()),
        answered=pane.result is not None,
        context=pane.aside.preview.window is not None,
        row=Row.NOTHING if hit is None else Row.MEMORY if is_memory(hit) else Row.FRAGMENT,
        marked=bool(pane.choices.marks),
        packed=not pane.asked_all_answered or (packed is not None and bool(packed.result.packs)),
        decided=pane.can_undo,
        in_panel=rows is not None and rows.has_focus and rows.row_count > 0,
        pack_row=panel.selected is not None,
        on_pack=panel.selected_pack is not None,
        alone=packed is not None and len(packed.result.packs) == 1,
    )
