"""Push a vault's index to a store: once, or again whenever the index has changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from excerpt.base.errors import ExcerptError
from excerpt.base.model import BuildReport, Progress
from excerpt.base.settings import Comments, Paths, Settings, load_vault_settings, user_paths
from excerpt.index.events import CrashHandler, EventHandler, IndexingEvent, IndexingFailed

if TYPE_CHECKING:
    from excerpt.base.model import PushReport
    from excerpt_postgres.address import PostgresAddress
    from excerpt_postgres.compare import PushRules
    from excerpt_postgres.read_rights import RightsChanges

_RETRY_SECONDS = 5.0
"""Time until a failed push is tried again."""
_REFUSED_SECONDS = 30.0
"""Time until a push that the rules refused is tried again: a push from elsewhere may have made it possible."""


def push_vault(
    vault: Path,
    settings: Settings,
    paths: Paths,
    address: PostgresAddress,
    on_progress: Callable[[Progress], None],
    *,
    rules: PushRules,
    roles: bool = False,
    rights: RightsChanges | None = None,
) -> PushReport:
    """Write the index of a vault to a store, and return what was written. Raises as `push.push`."""
    from excerpt.index.snapshot import Snapshot
    from excerpt_postgres.push import push

    started = time.monotonic()
    with closing(Snapshot.open(paths.index_folder(vault), _without_comments(settings))) as snapshot:
        return push(
            snapshot,
            address,
            paths.push_folder(vault),
            lambda done, total: on_progress(
                Progress("pushing", done, total, 0, 0, "", snapshot.generation, 0, time.monotonic() - started)
            ),
            roles=roles,
            rights=rights,
            rules=rules,
        )


def _without_comments(settings: Settings) -> Settings:
    """Return settings with which a snapshot shows no comments, because comments are never pushed to a store."""
    return replace(settings, text=replace(settings.text, comments=Comments.NOBODY))


class PushThread:
    """A thread that pushes a vault to a store whenever its index has changed.

    It is an event handler: call it with the events of `IndexWatcher`. It passes them on to `report` and adds a
    PushReport after each push. If a push fails or the rules refuse it, it reports one IndexingFailed and retries every
    few seconds.
    """

    def __init__(
        self, vault: Path, address: PostgresAddress, report: EventHandler, log_crash: CrashHandler, rules: PushRules
    ) -> None:
        self._vault, self._address, self._report, self._log_crash, self._rules = (
            vault,
            address,
            report,
            log_crash,
            rules,
        )
        self._changed = threading.Event()
        self._stop_requested = threading.Event()
        self._thread = threading.Thread(target=self._run, name="push", daemon=True)
        self._thread.start()

    def __call__(self, event: IndexingEvent) -> None:
        self._report(event)
        if isinstance(event, BuildReport):
            self._changed.set()

    def stop(self) -> None:
        """Stop the thread after the current push, and wait for its end."""
        self._stop_requested.set()
        self._changed.set()
        self._thread.join()

    def _run(self) -> None:
        from excerpt.index.snapshot import Snapshot
        from excerpt_postgres.compare import PushRefusedError
        from excerpt_postgres.push import Pusher

        paths, last_error = user_paths(), ""
        seconds: float | None = None
        settings = _without_comments(load_vault_settings(self._vault, paths))
        pusher: Pusher | None = None
        snapshot: Snapshot | None = None
        while not self._stop_requested.is_set():
            self._changed.wait(seconds)
            if self._stop_requested.is_set():
                break
            self._changed.clear()
            seconds = None
            try:
                before = snapshot
                snapshot = Snapshot.open(paths.index_folder(self._vault), settings, before=before)
                if before is not None:
                    before.close()
                pusher = pusher or Pusher(self._address, paths.push_folder(self._vault))
                self._report(pusher.push(snapshot, rules=self._rules))
                last_error = ""
            except ExcerptError as error:
                if error.message != last_error:
                    last_error = error.message
                    self._report(IndexingFailed.from_error(error))
                if isinstance(error, PushRefusedError):
                    seconds = _REFUSED_SECONDS
                    continue
                if pusher is not None:
                    pusher.close()
                    pusher = None
                self._changed.set()
                self._stop_requested.wait(_RETRY_SECONDS)
            except Exception as error:  # a bug in excerpt: nothing else catches it in a thread
                message = self._log_crash(error)
                self._report(IndexingFailed("The push has stopped", message, "Start excerpt again."))
                break
        for resource in (pusher, snapshot):
            if resource is not None:
                resource.close()
