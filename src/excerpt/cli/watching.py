"""Keep a vault's index up to date while the process lives: changes and commands come in, events go out.

Three threads: one waits for changes, one (if there are commands) for commands; the main one builds. They share the
pending work, under one lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from excerpt.errors import ExcerptError, IndexBusyError, VaultEmptiedError, VaultError
from excerpt.index.build import BuildCancelled, Control, Updater
from excerpt.json_forms import as_data
from excerpt.model import Progress
from excerpt.settings import Settings
from excerpt.vault.watch import ChangedPaths, VaultWatch

Report = Callable[[str, dict[str, Any]], None]
"""Receives the name of an event and its fields; may be called from any thread."""

Crash = Callable[[Exception], str]
"""Logs an unexpected exception and returns the sentence to show."""

# Seconds a build waits for another process before commands are handled again.
_BUILD_WAIT_SECONDS = 1.0
# Seconds between two checks that the index still exists.
_CHECK_SECONDS = 1.0


@dataclass(slots=True)
class _Work:
    """Pending work: the paths to update, or everything."""

    paths: set[str]
    everything: bool = False
    rebuild: bool = False
    accept_empty: bool = False

    def __bool__(self) -> bool:
        return self.everything or bool(self.paths)

    def merge(self, other: _Work) -> None:
        self.paths |= other.paths
        self.everything |= other.everything
        self.rebuild |= other.rebuild
        self.accept_empty |= other.accept_empty


class Watching:
    """Brings the index up to date, then watches the vault.

    `do` and `end` may be called from any thread, `run` only from the main one.
    """

    def __init__(self, vault: Path, folder: Path, settings: Settings, report: Report, crash: Crash) -> None:
        self._vault, self._folder, self._settings, self._report, self._crash = vault, folder, settings, report, crash
        self._control = Control()
        self._updater = Updater(vault, folder, settings, self._report_progress, self._control)
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._work = _Work(set(), everything=True)
        self._failed = _Work(set())
        self._building = False
        self._superseded = False
        self._last_message = ""

    def run(self, *, poll: bool = False) -> None:
        """Watch until `end` is called; `poll` scans the vault even if the system reports changes.

        Raises VaultError if the vault cannot be listed now; later errors are sent as events.
        """
        watch = VaultWatch(self._vault, self._settings.vault, self._stop, poll=poll)
        watcher = threading.Thread(target=self._watch, args=(watch,), daemon=True)
        watcher.start()
        has_started = False
        try:
            while (work := self._next()) is not None:
                done = self._build(work)
                if done and not has_started and not self._stop.is_set():
                    has_started = True
                    self._report("watching", {"polling": watch.is_polling})
                    self._warm()
        finally:
            self.end()
            watcher.join()
            watch.close()
            self._updater.close()

    def end(self) -> None:
        """Stop after the current batch; what is committed stays."""
        self._stop.set()
        self._control.cancel()
        with self._changed:
            self._changed.notify_all()

    def do(self, command: str) -> bool:
        """Run a command and return whether there is one of that name."""
        actions = {
            "update": lambda: self._add(_Work(set(), everything=True)),
            "rebuild": lambda: self._supersede(_Work(set(), everything=True, rebuild=True)),
            "agree": lambda: self._add(_Work(set(), everything=True, accept_empty=True)),
            "pause": self._pause,
            "resume": self._resume,
            "cancel": self._cancel,
        }.get(command)
        if actions is not None:
            actions()
        return actions is not None

    # --- commands and changes -----------------------------------------------------------------------------------------

    def _add(self, work: _Work) -> None:
        with self._changed:
            self._work.merge(work)
            self._changed.notify_all()

    def _supersede(self, work: _Work) -> None:
        """Cancel the running build, if any, and add other work."""
        with self._changed:
            if self._building:
                self._superseded = True
                self._control.cancel()
            self._add(work)

    def _pause(self) -> None:
        self._control.pause()
        self._report("paused", {})

    def _resume(self) -> None:
        self._report("resumed", {})
        with self._changed:
            self._control.resume()
            self._changed.notify_all()

    def _cancel(self) -> None:
        with self._changed:
            self._work, self._failed = _Work(set()), _Work(set())
            if self._building:
                self._control.cancel()
                return
        self._report("cancelled", {})

    def _watch(self, watch: VaultWatch) -> None:
        try:
            for batch in watch.batches():
                self._add(_work_of(batch))
        except Exception as error:  # a bug in excerpt; without changes watching is pointless
            self._report_error("Changes are no longer noticed", self._crash(error), "Start it again.")
            self.end()

    # --- building -----------------------------------------------------------------------------------------------------

    def _next(self) -> _Work | None:
        """Wait for work and return it, with the work that failed before; None at the end."""
        with self._changed:
            while not self._stop.is_set():
                if not self._control.paused:
                    if not self._updater.is_in_folder():
                        self._work.everything = True
                    if self._work:
                        work, self._work = self._work, _Work(set())
                        work.merge(self._failed)
                        self._failed = _Work(set())
                        self._control.begin()
                        self._building, self._superseded = True, False
                        return work
                self._changed.wait(_CHECK_SECONDS)
        return None

    def _build(self, work: _Work) -> bool:
        """Update the index and report the outcome as an event; False if another process still holds the index lock."""
        waiting = False
        try:
            report = self._updater.update(
                None if work.everything else work.paths,
                rebuild=work.rebuild,
                accept_empty=work.accept_empty,
                wait=_BUILD_WAIT_SECONDS,
            )
        except BuildCancelled:
            pass
        except IndexBusyError as error:
            waiting = True
            self._report_error_once(error)
        except VaultEmptiedError as emptied:
            self._failed = work
            self._report_emptied(emptied)
        except ExcerptError as error:
            self._failed = work
            self._report_error_once(error) if isinstance(error, VaultError) else self._report_error_of(error)
        except Exception as error:  # a bug in excerpt must not end watching; the next change retries
            self._failed = work
            self._report_error(
                "excerpt cannot continue", self._crash(error), "excerpt tries again with the next change."
            )
        else:
            self._last_message = ""
            self._report("done", as_data(report))
        self._conclude(work if waiting else None)
        return not waiting

    def _conclude(self, waiting: _Work | None) -> None:
        with self._changed:
            self._building = False
            cancelled = self._control.cancelled and not self._superseded and not self._stop.is_set()
            if cancelled:
                self._failed = _Work(set())
            elif waiting is not None:
                self._work.merge(waiting)
        if cancelled:
            self._report("cancelled", {})

    def _warm(self) -> None:
        try:
            self._updater.warm()
        except ExcerptError as error:
            self._report_error_of(error)

    # --- telling ------------------------------------------------------------------------------------------------------

    def _report_progress(self, progress: Progress) -> None:
        self._report("progress", as_data(progress))

    def _report_emptied(self, emptied: VaultEmptiedError) -> None:
        if self._last_message != emptied.message:
            self._last_message = emptied.message
            self._report("emptied", {"notes": emptied.notes, "message": emptied.message, "hint": emptied.hint})

    def _report_error_once(self, error: ExcerptError) -> None:
        """Report a lasting error only when it first occurs."""
        if self._last_message != error.message:
            self._last_message = error.message
            self._report_error_of(error)

    def _report_error_of(self, error: ExcerptError) -> None:
        self._report_error(error.title, error.message, error.hint)

    def _report_error(self, title: str, message: str, hint: str) -> None:
        self._report("error", {"title": title, "message": message, "hint": hint})


def _work_of(batch: ChangedPaths) -> _Work:
    return _Work(set(), everything=True) if batch is None else _Work(set(batch))
