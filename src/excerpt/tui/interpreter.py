"""How the interpreter shares its time between the screen and the engine's threads."""

from __future__ import annotations

import gc
import sys

_TURN = 0.001
"""Seconds after which a thread that computes gives way to the event loop; Python's own 5 ms would be felt."""

_COLLECT_AT = (5_000, 4, 500)
"""Objects, and collections of the generation before, until the collector runs. A key press makes some 10,000 objects:
at Python's 700 it would run at each line drawn. At 10,000 and 20 the middle generation took 42 ms of CPU at once, on
whichever thread, with the screen standing still; now it takes 3 to 7. All of it is looked through rarely: that takes
35 ms beside cpp-docs after a few queries, and hardly anything but reference counts frees memory here."""


def prefer_the_screen() -> None:
    """Set both for the app, before it is imported, which makes more objects than any key; benchmarks of the screen
    too."""
    sys.setswitchinterval(_TURN)
    gc.set_threshold(*_COLLECT_AT)
