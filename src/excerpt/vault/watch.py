"""Changes of a vault while it is open, in batches.

The file system reports changes; with inotify the vault's folders are watched one by one, because a recursive watch
would follow links out of the vault and include dot folders. Without events (network file systems, more folders than may
be watched) the vault is scanned every few seconds instead.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from excerpt.errors import VaultError
from excerpt.settings import VaultSettings
from excerpt.vault.mounts import is_silent
from excerpt.vault.readers.registry import suffixes_of
from excerpt.vault.scan import IGNORE_FILES, FileState, Scan, scan

Batch = frozenset[str] | None
"""Paths of files and folders (relative to the vault, with "/") that may have changed, folders with their content.

None if anything may have changed.
"""

# A batch ends after a moment without changes: an editor's temporary file, rename and removal are one. After many
# changes (a checkout, an unpacked archive) the moment is longer, as a program that writes thousands of files pauses.
_QUIET_MS = 50
_LONG_QUIET_MS = 250
_BURST = 50
_LONGEST_MS = 1000
_LONGEST_BURST = 5.0  # seconds

_POLL_SECONDS = 2.0
# Maximum share of one core's time for polling.
_POLL_SHARE = 0.05
# Events can be lost (the system's queue is finite), so the whole vault is scanned from time to time.
_RESCAN_SECONDS = 600.0

_BY_FOLDER = sys.platform not in ("darwin", "win32")


class VaultWatch:
    """A watch of one vault, from its creation on. `polling` is true if there are no events and the vault is scanned."""

    def __init__(
        self,
        vault: Path,
        settings: VaultSettings,
        stop: threading.Event,
        *,
        poll: bool = False,
        poll_seconds: float = _POLL_SECONDS,
    ) -> None:
        """Start watching. `poll` scans even if there are events. Raises VaultError if the vault cannot be listed."""
        self._vault, self._settings, self._stop = vault, settings, stop
        self._poll, self._poll_seconds = poll, poll_seconds
        self.polling = False
        self._source: _SystemEvents | _Scans
        self._start()

    def batches(self) -> Iterator[Batch]:
        """Yield changes until `stop` is set; None if anything may have changed, for example if the vault is missing."""
        while not self._stop.is_set():
            try:
                batch = self._next()
            except (VaultError, OSError, WatchfilesRustInternalError):
                yield None
                if self._restart():
                    yield None
            else:
                if batch is None or batch:
                    yield batch

    def close(self) -> None:
        self._source.close()

    def _next(self) -> Batch:
        """Return the next batch, or an empty one after a while. Raises VaultError if the vault is missing."""
        if _identity(self._vault) != self._identity:
            raise VaultError("The vault is gone, or another folder is in its place.")
        return self._source.next(self._stop)

    def _start(self) -> None:
        self._identity = _identity(self._vault)
        scan_result = scan(self._vault, self._settings)
        self.polling = self._poll or is_silent(self._vault)
        if not self.polling:
            try:
                self._source = _SystemEvents(self._vault, self._settings, scan_result.folders)
            except (OSError, WatchfilesRustInternalError):
                self.polling = True  # more folders or watchers than the system allows
        if self.polling:
            self._source = _Scans(self._vault, self._settings, scan_result, self._poll_seconds)

    def _restart(self) -> bool:
        """Wait for the vault and watch it again; return False if stopped meanwhile."""
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
    """Changes reported by the system."""

    def __init__(self, vault: Path, settings: VaultSettings, folders: Iterable[str]) -> None:
        """Start watching. Raises OSError or WatchfilesRustInternalError if the vault cannot be watched."""
        self._vault, self._settings = vault, settings
        self._suffixes = suffixes_of(settings).read
        self._folders = set(folders)
        self._last_scan = time.monotonic()
        self._left: set[str] = set()
        self._notify = self._watcher()
        if _BY_FOLDER:
            self._follow(scan(vault, settings).folders)  # folders created while the watches were set up

    def close(self) -> None:
        self._notify.close()

    def next(self, stop: threading.Event) -> Batch:
        """Return the next batch; an empty one after a while without changes."""
        raw = self._gather(stop)
        paths, folders, everything = self._relevant(raw)
        if everything:
            self._follow(scan(self._vault, self._settings).folders)
        elif folders:
            self._follow_changed(folders)
        if everything or time.monotonic() - self._last_scan > _RESCAN_SECONDS:
            self._last_scan = time.monotonic()
            return None
        return frozenset(paths)

    def _gather(self, stop: threading.Event) -> set[str]:
        started = time.monotonic()
        changed_folders, self._left = self._left, set()
        while True:
            raw = self._notify.watch(_LONGEST_MS, _QUIET_MS, _LONG_QUIET_MS, stop)
            if raw == "signal":
                raise KeyboardInterrupt
            if isinstance(raw, str):
                return changed_folders
            changed_folders |= {path for _, path in raw}
            if len(changed_folders) < _BURST or time.monotonic() - started > _LONGEST_BURST:
                return changed_folders

    def _relevant(self, raw: Iterable[str]) -> tuple[set[str], set[str], bool]:
        """Return the changed paths that may matter, the folders among them, and whether an ignore file changed."""
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

    def _follow_changed(self, changed: Collection[str]) -> None:
        """Watch the folders that now exist at and below the changed paths."""
        self._folders = {folder for folder in self._folders if not _is_at_or_below(folder, changed)}
        changed_folders: set[str] = set()
        while new := set(scan(self._vault, self._settings, changed).folders) - changed_folders:
            self._follow(new)
            changed_folders |= new

    def _follow(self, folders: Iterable[str]) -> None:
        new = set(folders) - self._folders
        self._folders |= new
        if new and _BY_FOLDER:
            before, self._notify = self._notify, self._watcher()
            raw = before.watch(_QUIET_MS, 10, 10, None)
            self._left |= set() if isinstance(raw, str) else {path for _, path in raw}
            before.close()

    def _watcher(self) -> RustNotify:
        # Permission errors are not ignored: the limit on watches would be ignored with them.
        for _ in range(10):
            try:
                if not _BY_FOLDER:
                    return RustNotify([str(self._vault)], False, False, 0, True, False)
                watched = [str(self._vault / folder) for folder in sorted(self._folders)]
                return RustNotify(watched, False, False, 0, False, False)
            except FileNotFoundError:
                self._folders = set(scan(self._vault, self._settings).folders)
        raise OSError("The vault's folders change faster than they can be watched.")


class _Scans:
    """Changes found by comparing two scans of the whole vault."""

    def __init__(self, vault: Path, settings: VaultSettings, scan_result: Scan, seconds: float) -> None:
        self._vault, self._settings, self._seconds = vault, settings, seconds
        self._last = scan_result
        self._took = 0.0

    def close(self) -> None:
        """Do nothing: no resource is held."""

    def next(self, stop: threading.Event) -> Batch:
        """Return the next batch; an empty one if nothing has changed. Raises VaultError."""
        if stop.wait(max(self._seconds, self._took / _POLL_SHARE)):
            return frozenset()
        started = time.monotonic()
        before, self._last = self._last, scan(self._vault, self._settings)
        self._took = time.monotonic() - started
        if before.skipped != self._last.skipped:
            return None
        changed: set[FileState] = set(before.files) ^ set(self._last.files)
        return frozenset(file.path for file in changed)


def _is_at_or_below(folder: str, paths: Collection[str]) -> bool:
    """Return whether `folder` (ending in "/") is one of `paths` or in one of them."""
    return any(folder[:at] in paths for at, letter in enumerate(folder) if letter == "/")


def _identity(vault: Path) -> tuple[int, int] | None:
    """Return the identity of the folder at a path, which changes when a disk is mounted or removed."""
    try:
        status = vault.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
