"""Start-up for a responsive screen: settings of the Python interpreter, and which modules are imported when.

Modules that the first frame needs import those of `FIRST_QUERY_MODULES` and `OTHER_MODULES` only within functions.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterable

_SWITCH_SECONDS = 0.001
"""Seconds after which a computing thread lets the event loop run; Python's default of 5 ms would be noticeable."""

_GC_THRESHOLDS = (5_000, 4, 500)
"""Thresholds of Python's garbage collector for `gc.set_threshold`.

The first is a number of objects, the others are numbers of collections of the next younger generation. A key press
creates some 10,000 objects: at Python's threshold of 700 the collector would run for each line drawn. At 10,000 and 20
a collection of the middle generation took 42 ms of CPU, during which the screen stood still; now it takes 3 to 7 ms.
A full collection takes 35 ms with the vault cpp-docs after a few queries. It is rare, since nearly all memory is freed
by reference counts.
"""


def configure_interpreter() -> None:
    """Set Python's thread switch interval and the thresholds of its garbage collector, which the app starts when drawn.

    Call this before the app is imported. Nearly all objects made until the first frame live until the app ends: to
    collect among them took 19 of 245 ms of CPU. Benchmarks call this too.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.disable()


FIRST_QUERY_MODULES = (
    "excerpt.service.packer",
    "excerpt.service.questions",
    "excerpt.tui.note.window",
    "excerpt.tui.insight.map",
    "excerpt.text.snippet",
    "excerpt.tui.pack.panel",
    "excerpt.tui.search.preview",
    "excerpt.tui.search.side_panel",
    "excerpt.tui.search.start_list",
    "excerpt.tui.insight.related",
)
"""Modules that the first query needs, for the list, the panels and the questions to the engine."""

OTHER_MODULES = (
    "excerpt.tui.clipboard",
    "excerpt.tui.index.dialog",
    "excerpt.tui.pack.dialogs",
    "excerpt.service.memory_decisions",
    "excerpt.service.model_offer",
    "excerpt.tui.memory.pane",
    "excerpt.tui.insight.overview_pane",
)
"""Modules of the other tabs and of rare actions."""


def import_all(names: Iterable[str]) -> None:
    """Import the modules with these names. Call this in a thread, since it takes long."""
    for name in names:
        importlib.import_module(name)
