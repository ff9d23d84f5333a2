"""What a build says of itself while it works, and where it can be paused."""

from __future__ import annotations

import time
from collections.abc import Callable

from excerpt.index.control import Control
from excerpt.model import Progress

OnProgress = Callable[[Progress], None]

_EVERY = 0.1  # seconds


class Telling:
    """How far the build at hand is. Whoever does a part of it sets `phase` and counts; `tick` tells it now and then."""

    def __init__(self, on_progress: OnProgress | None, control: Control) -> None:
        self._on_progress = on_progress
        self._control = control
        self.begin()

    def begin(self) -> None:
        """A build begins: count from nothing."""
        self.phase = "scanning"
        self.answering = 0  # the generation that answers until another that is made beside it is done
        self.notes_done = self.notes_total = self.bytes_done = self.bytes_total = self.skipped = self.generation = 0
        self._began = time.monotonic()
        self._paused_before = self._control.seconds_paused
        self._told = 0.0
        self._current, self._current_since = "", self._began

    @property
    def seconds(self) -> float:
        """How long the build has worked, without its pauses."""
        return time.monotonic() - self._began - (self._control.seconds_paused - self._paused_before)

    def tick_between(self, path: str) -> None:
        """`tick` between two files, where the build can end without losing half a batch. Raises BuildCancelled."""
        self.tick(path)
        self._control.check()

    def tick(self, path: str) -> None:
        """`path` is in work ("" for none); waits while there is a pause."""
        self._control.wait()
        if path != self._current:
            self._current, self._current_since = path, time.monotonic()
        if time.monotonic() - self._told >= _EVERY:
            self.tell(path)

    def tell(self, path: str = "") -> None:
        self._told = time.monotonic()
        if self._on_progress is not None:
            self._on_progress(
                Progress(
                    phase=self.phase,
                    notes_done=self.notes_done,
                    notes_total=self.notes_total,
                    bytes_done=self.bytes_done,
                    bytes_total=self.bytes_total,
                    current=path,
                    generation=self.answering or self.generation,
                    skipped=self.skipped,
                    seconds=self.seconds,
                    current_seconds=self._told - self._current_since if path else 0.0,
                )
            )
