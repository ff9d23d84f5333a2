"""What the first frame does not draw, and what it need not wait for: imported right after it, beside the event loop.

Modules of the screen that it does draw name these in functions alone.
"""

from __future__ import annotations

import importlib

LATER = (
    "excerpt.tui.copying",
    "excerpt.tui.editor",
    "excerpt.tui.insights",
    "excerpt.tui.memory_decisions",
    "excerpt.tui.widgets.index_pane",
    "excerpt.tui.widgets.memory_pane",
    "excerpt.tui.widgets.overview_pane",
)


def import_the_rest() -> None:
    """For a thread."""
    for name in LATER:
        importlib.import_module(name)
