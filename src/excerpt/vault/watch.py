"""Watching a vault for changed files, which are reported in batches.

The operating system reports changes as events. On Linux (inotify) the vault's folders are watched one by one, because a
recursive watch would follow links out of the vault and include dot folders. If there are no events (network file
systems, more folders than may be watched), the vault is scanned every few seconds instead.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from excerpt.base.errors import VaultError
from excerpt.base.settings import VaultSettings
from excerpt.vault.mounts import lacks_change_events
from excerpt.vault.readers.registry import read_suffixes
from excerpt.vault.scan import IGNORE_FILES, FileState, Scan, scan

ChangedPaths = frozenset[str] | None
"""A batch of paths (relative to the vault, with "/") of files and folders that may have changed.

A folder stands for all of its content. None means that anything in the vault may have changed.
"""

# A batch ends after a short time without changes, so that an editor's temporary file, rename and removal are one batch.
# After many changes (a checkout, an unpacked archive) that time is longer, as a program that writes thousands of files
# pauses.
_QUIET_MS = 50
_LONG_QUIET_MS = 250
_BURST_PATHS = 50
_MAX_WAIT_MS = 1000
_MAX_BURST_SECONDS = 5.0  # seconds

_POLL_SECONDS = 2.0
# Maximum share of one core's time for polling.
_POLL_SHARE = 0.05
# Events can be lost (the system's queue is finite), so the whole vault is scanned from time to time.
_RESCAN_SECONDS = 600.0

_WATCHES_EACH_FOLDER = sys.platform not in ("darwin", "win32")


class VaultWatch:
    """Watches one vault, from its creation on.

    `is_polling` is true if the vault is scanned regularly because there are no events.
    """

    def __init__(
        self,
        vault: Path,
        settings: VaultSettings,
        stop: threading.Event,
        *,
        poll: bool = False,
        poll_seconds: float = _POLL_SECONDS,
    ) -> None:
        """Start watching, until the event `stop` is set. Raises VaultError if the vault cannot be listed.

        `poll` scans the vault, every `poll_seconds` or more, even if there are events.
        """
        self._vault, self._settings, self._stop = vault, settings, stop
        self._poll, self._poll_seconds = poll, poll_seconds
        self.is_polling = False
        self._source: _SystemEvents | _ScanComparison
        self._start()

    def batches(self) -> Iterator[ChangedPaths]:
        """Yield batches of changed paths until the event `stop` is set; also None if the vault is missing."""
        while not self._stop.is_set():
            try:
                batch = self._wait_for_changes()
            except (VaultError, OSError, WatchfilesRustInternalError):
                yield None
                if self._restart():
                    yield None
            else:
                if batch is None or batch:
                    yield batch

    def close(self) -> None:
        self._source.close()

    def _wait_for_changes(self) -> ChangedPaths:
        """Wait for changes and return the next batch; after a while without changes, an empty batch.

        Raises VaultError if the vault's folder was removed or replaced.
        """
        if _folder_identity(self._vault) != self._folder_identity:
            raise VaultError("The vault's folder was removed or replaced.")
        return self._source.next(self._stop)

    def _start(self) -> None:
        self._folder_identity = _folder_identity(self._vault)
        scan_result = scan(self._vault, self._settings)
        self.is_polling = self._poll or lacks_change_events(self._vault)
        if not self.is_polling:
            try:
                self._source = _SystemEvents(self._vault, self._settings, scan_result.folders)
            except (OSError, WatchfilesRustInternalError):
                self.is_polling = True  # more folders or watchers than the system allows
        if self.is_polling:
            self._source = _ScanComparison(self._vault, self._settings, scan_result, self._poll_seconds)

    def _restart(self) -> bool:
        """Wait until the vault exists and watch it again; return False if `stop` was set before that."""
        self._source.close()
        while not self._stop.is_set():
            try:
                self._start()
            except VaultError:
                self._stop.wait(min(1.0, self._poll_seconds))
            else:
                return True
        return False


class _SystemEvents:
    """A source of changed paths: the events of the operating system."""

    def __init__(self, vault: Path, settings: VaultSettings, folders: Iterable[str]) -> None:
        """Start watching `folders` of the vault (as in Scan.folders).

        Raises OSError or WatchfilesRustInternalError if the vault cannot be watched.
        """
        self._vault, self._settings = vault, settings
        self._suffixes = read_suffixes(settings)
        self._folders = set(folders)
        self._last_scan = time.monotonic()
        self._pending_paths: set[str] = set()
        self._notify = self._watcher()
        if _WATCHES_EACH_FOLDER:
            self._watch_folders(scan(vault, settings).folders)  # folders created while the watches were set up

    def close(self) -> None:
        self._notify.close()

    def next(self, stop: threading.Event) -> ChangedPaths:
        """Wait for changes and return the next batch; after a while without changes, an empty batch."""
        raw = self._collect_paths(stop)
        paths, folders, everything = self._filter_paths(raw)
        if everything:
            self._watch_folders(scan(self._vault, self._settings).folders)
        elif folders:
            self._watch_changed_folders(folders)
        if everything or time.monotonic() - self._last_scan > _RESCAN_SECONDS:
            self._last_scan = time.monotonic()
            return None
        return frozenset(paths)

    def _collect_paths(self, stop: threading.Event) -> set[str]:
        started = time.monotonic()
        changed_folders, self._pending_paths = self._pending_paths, set()
        while True:
            raw = self._notify.watch(_MAX_WAIT_MS, _QUIET_MS, _LONG_QUIET_MS, stop)
            if raw == "signal":
                raise KeyboardInterrupt
            if isinstance(raw, str):
                return changed_folders
            changed_folders |= {path for _, path in raw}
            if len(changed_folders) < _BURST_PATHS or time.monotonic() - started > _MAX_BURST_SECONDS:
                return changed_folders

    def _filter_paths(self, raw: Iterable[str]) -> tuple[set[str], set[str], bool]:
        """Return the changed paths that may be notes, those that may be folders, and whether an ignore file changed.

        `raw` are the absolute paths that the system reported.
        """
        paths: set[str] = set()
        folders: set[str] = set()
        base = f"{self._vault}{os.sep}"
        for path in raw:
            if not path.startswith(base):
                continue
            relative = path[len(base) :].replace(os.sep, "/")
            *above, name = relative.split("/")
            if any(part.startswith(".") for part in above):
                continue
            if name in IGNORE_FILES:
                return paths, folders, True
            if name.startswith("."):
                continue
            if f"{relative}/" in self._folders or Path(path).is_dir():
                folders.add(relative)
                paths.add(relative)
            elif name.lower().endswith(self._suffixes):
                paths.add(relative)
        return paths, folders, False

    def _watch_changed_folders(self, changed: Collection[str]) -> None:
        """Update the watched folders at and below the changed paths to those that exist now."""
        self._folders = {folder for folder in self._folders if not _is_at_or_below(folder, changed)}
        changed_folders: set[str] = set()
        while new := set(scan(self._vault, self._settings, changed).folders) - changed_folders:
            self._watch_folders(new)
            changed_folders |= new

    def _watch_folders(self, folders: Iterable[str]) -> None:
        new = set(folders) - self._folders
        self._folders |= new
        if new and _WATCHES_EACH_FOLDER:
            before, self._notify = self._notify, self._watcher()
            raw = before.watch(_QUIET_MS, 10, 10, None)
            self._pending_paths |= set() if isinstance(raw, str) else {path for _, path in raw}
            before.close()

    def _watcher(self) -> RustNotify:
        # Permission errors are not ignored: the limit on watches would be ignored with them.
        for _ in range(10):
            try:
                if not _WATCHES_EACH_FOLDER:
                    return RustNotify([str(self._vault)], False, False, 0, True, False)
                watched = [str(self._vault / folder) for folder in sorted(self._folders)]
                return RustNotify(watched, False, False, 0, False, False)
            except FileNotFoundError:
                self._folders = set(scan(self._vault, self._settings).folders)
        raise OSError("The vault's folders change faster than they can be watched.")


class _ScanComparison:
    """A source of changed paths: the comparison of two successive scans of the vault."""

    def __init__(self, vault: Path, settings: VaultSettings, scan_result: Scan, seconds: float) -> None:
        self._vault, self._settings, self._seconds = vault, settings, seconds
        self._last = scan_result
        self._scan_seconds = 0.0

    def close(self) -> None:
        """Do nothing: scans hold no resource that must be closed."""

    def next(self, stop: threading.Event) -> ChangedPaths:
        """Wait, scan the vault and return the changed paths; an empty batch if none changed. Raises VaultError."""
        if stop.wait(max(self._seconds, self._scan_seconds / _POLL_SHARE)):
            return frozenset()
        started = time.monotonic()
        before, self._last = self._last, scan(self._vault, self._settings)
        self._scan_seconds = time.monotonic() - started
        if before.skipped != self._last.skipped:
            return None
        changed: set[FileState] = set(before.files) ^ set(self._last.files)
        return frozenset(file.path for file in changed)


def _is_at_or_below(folder: str, paths: Collection[str]) -> bool:
    """Return whether `folder` (ending in "/") is one of `paths` or below one of them."""
    return any(folder[:at] in paths for at, letter in enumerate(folder) if letter == "/")


def _folder_identity(vault: Path) -> tuple[int, int] | None:
    """Return the vault folder's device and inode, which change if a disk is mounted; None if missing."""
    try:
        status = vault.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
