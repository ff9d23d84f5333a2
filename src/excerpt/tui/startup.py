"""Start-up for a responsive screen: how threads share the interpreter, and what is imported when.

Modules that the first frame needs import those of `FIRST_QUERY_MODULES` and `OTHER_MODULES` only within functions.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterable

_SWITCH_SECONDS = 0.001
"""Seconds after which a computing thread yields to the event loop; Python's default of 5 ms would be noticeable."""

_GC_THRESHOLDS = (5_000, 4, 500)
"""Thresholds of the garbage collector, in objects or in collections of the generation before.

A key press creates some 10,000 objects: at Python's threshold of 700 the collector would run at each line drawn. At
10,000 and 20 the middle generation took 42 ms of CPU at once, on whichever thread, while the screen stood still; now it
takes 3 to 7 ms. A full collection is rare: it takes 35 ms beside cpp-docs after a few queries, and nearly all memory
here is freed by reference counts.
"""


def configure_interpreter() -> None:
    """Set the switch interval and the collector's thresholds; benchmarks of the screen call it too.

    Called before the app is imported, since that creates more objects than any key.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(*_GC_THRESHOLDS)


FIRST_QUERY_MODULES = (
    "excerpt.tui.pack.packer",
    "excerpt.tui.questions",
    "excerpt.tui.note.requests",
    "excerpt.tui.insight.map",
    "excerpt.text.snippet",
    "excerpt.tui.pack.panel",
    "excerpt.tui.search.preview",
    "excerpt.tui.search.side_panel",
    "excerpt.tui.insight.related",
)
"""Modules that the first query needs: its context, its rows, the questions to the engine."""

OTHER_MODULES = (
    "excerpt.tui.clipboard",
    "excerpt.tui.index.dialog",
    "excerpt.tui.memory.decisions",
    "excerpt.tui.memory.pane",
    "excerpt.tui.insight.overview_pane",
)
"""Modules of the other tabs and of rare actions."""


def import_all(names: Iterable[str]) -> None:
    """Import modules. Meant to run in a thread."""
    for name in names:
        importlib.import_module(name)
