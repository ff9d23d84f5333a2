"""What other threads see of a build: they pause, resume and cancel it, and get its progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from excerpt.base.model import Progress


class BuildCancelled(Exception):  # noqa: N818 - nothing went wrong
    """The build was cancelled. The notes that it has committed stay in the index; the next build reads the others."""


class BuildControl:
    """Pauses, resumes and cancels a build. All methods may be called from any thread, at any time.

    A pause lasts until `resume`, even if the build ends meanwhile. A cancellation ends only the current build.
    """

    def __init__(self) -> None:
        self._resume_event = threading.Event()
        self._resume_event.set()
        self._cancel_event = threading.Event()
        self._paused_seconds = 0.0

    @property
    def is_paused(self) -> bool:
        """Whether the build is paused."""
        return not self._resume_event.is_set()

    @property
    def is_cancelled(self) -> bool:
        """Whether the current build is to end."""
        return self._cancel_event.is_set()

    @property
    def seconds_paused(self) -> float:
        """Total seconds that the building thread has spent in pauses."""
        return self._paused_seconds

    def pause(self) -> None:
        """Pause the build before its next file."""
        self._resume_event.clear()

    def resume(self) -> None:
        """Continue a paused build."""
        self._resume_event.set()

    def cancel(self) -> None:
        """End the current build, even if it is paused; the pause then also holds for the next build."""
        self._cancel_event.set()

    def start_build(self) -> None:
        """Clear the cancellation of the previous build, at the start of a new one."""
        self._cancel_event.clear()

    def wait_while_paused(self) -> None:
        """Wait while the build is paused and not cancelled."""
        if self._resume_event.is_set():
            return
        began = time.monotonic()
        while not self._resume_event.wait(0.05) and not self._cancel_event.is_set():
            pass
        self._paused_seconds += time.monotonic() - began

    def check_cancelled(self) -> None:
        """Wait while the build is paused, then raise BuildCancelled if the build was cancelled."""
        self.wait_while_paused()
        if self._cancel_event.is_set():
            raise BuildCancelled


OnProgress = Callable[[Progress], None]


_REPORT_SECONDS = 0.1  # between two reports


class ProgressReporter:
    """Collects the progress of the current build and reports it at most ten times a second.

    The parts of the build set `phase` and the counts; `tick` reports these.
    """

    def __init__(self, on_progress: OnProgress | None, control: BuildControl) -> None:
        self._on_progress = on_progress
        self._control = control
        self.reset()

    def reset(self) -> None:
        """Reset all counts and the clock, at the start of a build."""
        self.phase = "scanning"
        self.committed_generation = 0  # the one in use until a rebuild is done
        self.notes_done = self.notes_total = self.bytes_done = self.bytes_total = self.skipped = self.generation = 0
        self._start_time = time.monotonic()
        self._paused_seconds_at_start = self._control.seconds_paused
        self._last_report_time = 0.0
        self._current_path, self._current_path_since = "", self._start_time

    @property
    def seconds(self) -> float:
        """Seconds since the build began, without its pauses."""
        return time.monotonic() - self._start_time - (self._control.seconds_paused - self._paused_seconds_at_start)

    def tick_between_files(self, path: str) -> None:
        """Call `tick`, then raise BuildCancelled if the build was cancelled.

        Called between two files, where the build can end without an incomplete batch.
        """
        self.tick(path)
        self._control.check_cancelled()

    def tick(self, path: str) -> None:
        """Set the file that is being read (`path`, "" for none) and report the progress if 0.1 s have passed.

        Waits first while the build is paused.
        """
        self._control.wait_while_paused()
        if path != self._current_path:
            self._current_path, self._current_path_since = path, time.monotonic()
        if time.monotonic() - self._last_report_time >= _REPORT_SECONDS:
            self.report(path)

    def report(self, path: str = "") -> None:
        """Call the progress callback now; `path` is the file that is being read, "" for none."""
        self._last_report_time = time.monotonic()
        if self._on_progress is not None:
            self._on_progress(
                Progress(
                    phase=self.phase,
                    notes_done=self.notes_done,
                    notes_total=self.notes_total,
                    bytes_done=self.bytes_done,
                    bytes_total=self.bytes_total,
                    current=path,
                    generation=self.committed_generation or self.generation,
                    skipped=self.skipped,
                    seconds=self.seconds,
                    current_seconds=self._last_report_time - self._current_path_since if path else 0.0,
                )
            )
