"""What the first frame does not draw, and what it need not wait for: imported right after it, beside the event loop.

Modules of the screen that it does draw name these in functions alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

NEXT = (
    "excerpt.tui.memory_questions",
    "excerpt.tui.pack.packer",
    "excerpt.tui.search.query_questions",
    "excerpt.tui.reading",
    "excerpt.tui.common.snippet",
    "excerpt.tui.widgets.map_panel",
    "excerpt.tui.widgets.pack_panel",
    "excerpt.tui.widgets.preview",
    "excerpt.tui.widgets.related_panel",
)
"""What the first query needs: its context, its rows, what is asked of the engine with it."""

LATER = (
    "excerpt.tui.copying",
    "excerpt.tui.editor",
    "excerpt.tui.insights",
    "excerpt.tui.memory_decisions",
    "excerpt.tui.strategy_columns",
    "excerpt.tui.widgets.index_pane",
    "excerpt.tui.widgets.memory_pane",
    "excerpt.tui.widgets.overview_pane",
)
"""The other tabs, and what is done less often."""


def import_all(names: Iterable[str]) -> None:
    """For a thread."""
    for name in names:
        importlib.import_module(name)
