"""Bring a vault's index up to date: what changed since the last build is read, the rest is left alone.

A file counts as unchanged if its size and time are the known ones (it is not opened), or else if its content's digest
is. Changed and new files are committed in batches, the most recently modified first; each batch is a generation that
can be searched while the next is prepared. Killed at any point, the last generation stands and the next build goes on
from there: what was committed is known by then.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from excerpt.errors import IndexBusyError, IndexUnusableError, VaultEmptiedError
from excerpt.index.catalog import Catalog, KnownNote, is_damage
from excerpt.index.control import Control
from excerpt.index.prepare import Prepared, Recipe, Task
from excerpt.index.workers import prepare_all
from excerpt.index.writer import LOCK, IndexWriter, discard
from excerpt.model import BuildReport, Progress, Skipped
from excerpt.settings import Settings, open_vault
from excerpt.vault.scan import Scan, scan

OnProgress = Callable[[Progress], None]

# The first batch is there within a second or two, so that there is something to search; later ones grow, as each is a
# segment, a sync and a new snapshot for every reader. The largest bounds the memory that a batch takes (about ten
# times its text) and is what 8,000 fragments of 250 words make.
_FIRST_NOTES = 64
_FIRST_SECONDS = 1.0
_GROWTH = 4
_FIRST_BYTES = 500_000
_MOST_BYTES = 8_000_000


def build(
    vault: Path,
    folder: Path,
    settings: Settings,
    progress: OnProgress | None = None,
    *,
    rebuild: bool = False,
    accept_empty: bool = False,
    wait: float = 10.0,
    control: Control | None = None,
) -> BuildReport:
    """Make the index in `folder` show the vault as it is now. `rebuild` starts from nothing; `accept_empty` says that
    a vault without notes is so on purpose; `control` pauses and cancels from another thread.

    Raises VaultError if the vault cannot be listed and VaultEmptiedError if it has lost all of its notes, both with
    the index as it was; IndexBusyError if another process still writes this index after `wait` seconds,
    IndexUnusableError if the folder cannot be written, ModelError and SettingsError if the model or the tokenizer
    named in the settings cannot be used, BuildCancelled.
    """
    open_vault(vault)
    control = control or Control()
    with _told_plainly(folder), _locked(folder, vault, wait):
        found = scan(vault, settings.vault)
        if rebuild and not found.files and not accept_empty:
            _refuse_emptied(vault, folder)
        try:
            after = discard(folder) if rebuild else 0
            return _Build(vault, folder, settings, progress, control, after=after).run(found, accept_empty)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            again = _Build(vault, folder, settings, progress, control, after=discard(folder))
            again.writer.rebuilt.append(f"everything, from the vault: the catalog is damaged ({error})")
            return again.run(found, accept_empty)


def _refuse_emptied(vault: Path, folder: Path) -> None:
    """Raise VaultEmptiedError if an index that is about to be discarded holds notes."""
    try:
        catalog = Catalog.open_to_read(folder)
    except sqlite3.DatabaseError:
        return  # none that could be lost
    try:
        notes, _ = catalog.counts()
    finally:
        catalog.close()
    if notes:
        raise VaultEmptiedError(str(vault), notes)


@contextmanager
def _told_plainly(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.DatabaseError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise IndexUnusableError(
            f"The index in {folder} cannot be written: {reason}.",
            "Make room or give permission there, or set EXCERPT_HOME to another place; the last generation stands.",
        ) from error


@contextmanager
def _locked(folder: Path, vault: Path, wait: float) -> Iterator[None]:
    """Hold the folder's lock. The system takes it back when its holder dies, however that happens."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / LOCK, timeout=wait):
            yield
    except Timeout as error:
        raise IndexBusyError(
            f"Another excerpt is indexing {vault.name} and has not finished within {wait:g} s.",
            "Wait for it or close it, then try again; what it has committed can be searched meanwhile.",
        ) from error


@dataclass(slots=True)
class _Counts:
    added: int = 0
    changed: int = 0
    notes: int = 0
    size: int = 0
    skipped: list[Skipped] = field(default_factory=list)


class _Build:
    """One run: what is to do, what is done, and the telling of it."""

    def __init__(
        self,
        vault: Path,
        folder: Path,
        settings: Settings,
        progress: OnProgress | None,
        control: Control,
        *,
        after: int = 0,
    ) -> None:
        self._vault, self._on_progress, self._control = vault, progress, control
        notes = settings.vault
        self._recipe = Recipe(vault, settings.pack.tokenizer, notes.max_bytes, notes.language)
        self._started = time.monotonic()
        self._paused_before = control.seconds_paused
        self._told = 0.0
        self._current, self._current_since = "", self._started
        self._phase = "opening"
        self._total_notes = self._total_bytes = 0
        self._done = _Counts()
        self._generation = 0
        self.writer = IndexWriter(folder, vault, settings, self._tick, after=after)
        self._generation = self.writer.catalog.generation

    def run(self, found: Scan, accept_empty: bool) -> BuildReport:
        try:
            known = self.writer.catalog.known_notes()
            if known and not found.files and not accept_empty:
                raise VaultEmptiedError(str(self._vault), len(known))
            self._phase = "mending"
            self.writer.mend()
            return self._bring_up_to_date(found, known)
        finally:
            self.writer.close()

    def _bring_up_to_date(self, found: Scan, known: dict[str, KnownNote]) -> BuildReport:
        tasks = _tasks(found, known, self._recipe.cut)
        if any(note.cut != self._recipe.cut for note in known.values()):
            self.writer.rebuilt.append("all notes, from the vault: they are cut or stemmed differently now")
        there = {file.path for file in found.files}
        gone = [path for path in known if path not in there]
        self._done.skipped += found.skipped
        self._total_notes, self._total_bytes = len(tasks), sum(task.size for task in tasks)
        self._phase = "reading"
        for batch in self._batches(tasks):
            self._commit(batch, gone, known)
            gone = []
        if gone or not self.writer.catalog.generation:
            self._commit([], gone, known)
        # A file that was a note and now cannot be read is no longer found; the last good text would be a lie.
        unreadable = [one.path for one in self._done.skipped if one.path in known and one.path in there]
        if unreadable:
            self._commit([], unreadable, known)
        self.writer.finish(self._done.skipped)
        self._phase = "done"
        self._tell("")
        return self._report(removed=len(known.keys() - there) + len(unreadable))

    def _batches(self, tasks: Sequence[Task]) -> Iterator[list[Prepared]]:
        sizes = {task.path: task.size for task in tasks}
        batch: list[Prepared] = []
        limit, first, began = _FIRST_BYTES, True, time.monotonic()
        size = notes = 0
        for prepared in prepare_all(self._recipe, tasks, self._tick_between):
            batch.append(prepared)
            paths = [note.path for note in prepared.notes]
            paths += [task.path for task in prepared.same] + [one.path for one in prepared.skipped]
            self._done.notes += len(paths)
            self._done.size += sum(sizes[path] for path in paths)
            self._done.skipped += prepared.skipped
            notes += len(prepared.notes)
            size += sum(note.size for note in prepared.notes)
            early = first and (notes >= _FIRST_NOTES or (notes and time.monotonic() - began > _FIRST_SECONDS))
            if early or size >= limit:
                yield batch
                limit = limit if first else min(_GROWTH * limit, _MOST_BYTES)
                batch, size, notes, first = [], 0, 0, False
        if batch:
            yield batch

    def _commit(self, batch: Sequence[Prepared], gone: Sequence[str], known: dict[str, KnownNote]) -> None:
        paths = [note.path for prepared in batch for note in prepared.notes]
        changed = [path for path in paths if path in known]
        self.writer.commit([*gone, *changed], batch)
        self._done.changed += len(changed)
        self._done.added += len(paths) - len(changed)
        self._generation = self.writer.catalog.generation
        self._tell("")

    def _tick_between(self, path: str) -> None:
        """Between two files: here the build can end without losing a half-written batch."""
        self._tick(path)
        self._control.check()

    def _tick(self, path: str) -> None:
        self._control.wait()
        if path != self._current:
            self._current, self._current_since = path, time.monotonic()
        if time.monotonic() - self._told >= 0.1:
            self._tell(path)

    def _tell(self, path: str) -> None:
        self._told = time.monotonic()
        if self._on_progress is not None:
            self._on_progress(
                Progress(
                    phase=self._phase,
                    notes_done=self._done.notes,
                    notes_total=self._total_notes,
                    bytes_done=self._done.size,
                    bytes_total=self._total_bytes,
                    current=path,
                    generation=self._generation,
                    skipped=len(self._done.skipped),
                    seconds=self._worked(),
                    current_seconds=self._told - self._current_since if path else 0.0,
                )
            )

    def _worked(self) -> float:
        """Seconds since the beginning, without the pauses."""
        return time.monotonic() - self._started - (self._control.seconds_paused - self._paused_before)

    def _report(self, removed: int) -> BuildReport:
        catalog = self.writer.catalog
        notes, fragments = catalog.counts()
        return BuildReport(
            generation=catalog.generation,
            added=self._done.added,
            changed=self._done.changed,
            removed=removed,
            unchanged=notes - self._done.added - self._done.changed,
            fragments=fragments,
            embedded=self.writer.embedded,
            skipped=catalog.remarks(skipped=True),
            warnings=catalog.remarks(skipped=False),
            seconds=self._worked(),
            rebuilt="; ".join(self.writer.rebuilt),
        )


def _tasks(found: Scan, known: dict[str, KnownNote], cut: str) -> list[Task]:
    """Files that are new, may have changed or are known otherwise than `cut`, the most recently modified first."""
    tasks = []
    for file in found.files:
        note = known.get(file.path)
        if note is None or note.cut != cut:
            tasks.append(Task(file.path, file.size, file.mtime_ns))
        elif (note.size, note.mtime_ns) != (file.size, file.mtime_ns):
            tasks.append(Task(file.path, file.size, file.mtime_ns, note.digest))
    return sorted(tasks, key=lambda task: (-task.mtime_ns, task.path))
