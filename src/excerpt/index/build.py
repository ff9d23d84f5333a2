"""Bring a vault's index up to date: read what changed since the last build, leave the rest alone."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from filelock import Timeout

from excerpt.errors import IndexBusyError, IndexUnusableError, VaultEmptiedError
from excerpt.index import lexical, renames
from excerpt.index.catalog import FULL, Catalog, GivenUp, KnownNote, is_damage
from excerpt.index.changes import (
    NEW_INDEX,
    awaits_ocr,
    changed_ns,
    is_current_key,
    is_unchanged,
    prepare_key,
    unchanged_before,
)
from excerpt.index.files import SUSPECT
from excerpt.index.pool import Workers
from excerpt.index.prepare import Prepared, PrepareOptions, Task, prepare
from excerpt.index.writer import LOCK, IndexWriter, discard
from excerpt.model import BuildReport, FileProblem, Progress
from excerpt.settings import Settings, VaultSettings, open_vault
from excerpt.state_files import file_lock, sync_folder
from excerpt.vault.readers.registry import kind_of_file
from excerpt.vault.scan import Scan, scan

# --- pause, resume, cancel --------------------------------------------------------------------------------------------
# How a build is paused, resumed and cancelled from another thread.


class BuildCancelled(Exception):  # noqa: N818 - nothing went wrong
    """The build was cancelled. What it has committed stays; the next build continues from there."""


class Control:
    """Pause and cancellation of a build. All methods may be called from any thread, at any time.

    A pause lasts until `resume`, also across the end of a build; a cancellation ends only the current build.
    """

    def __init__(self) -> None:
        self._resumed = threading.Event()
        self._resumed.set()
        self._cancelled = threading.Event()
        self._waited = 0.0

    @property
    def paused(self) -> bool:
        """Whether the build is paused."""
        return not self._resumed.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether the current build is to end."""
        return self._cancelled.is_set()

    @property
    def seconds_paused(self) -> float:
        """Seconds that the building thread has spent in pauses."""
        return self._waited

    def pause(self) -> None:
        """Pause the build before its next file."""
        self._resumed.clear()

    def resume(self) -> None:
        """Continue a paused build."""
        self._resumed.set()

    def cancel(self) -> None:
        """End the current build, also a paused one, which then stays paused."""
        self._cancelled.set()

    def begin(self) -> None:
        """Start a build: a cancellation of the previous one no longer holds."""
        self._cancelled.clear()

    def wait(self) -> None:
        """Wait while the build is paused and not cancelled."""
        if self._resumed.is_set():
            return
        began = time.monotonic()
        while not self._resumed.wait(0.05) and not self._cancelled.is_set():
            pass
        self._waited += time.monotonic() - began

    def check(self) -> None:
        """Wait while the build is paused. Raises BuildCancelled once the build was cancelled."""
        self.wait()
        if self._cancelled.is_set():
            raise BuildCancelled


# --- progress ---------------------------------------------------------------------------------------------------------
# How a build reports its progress, and where it can be paused.

OnProgress = Callable[[Progress], None]

_REPORT_SECONDS = 0.1  # seconds


class ProgressReporter:
    """Progress of the current build. Each part of the build sets `phase` and the counts; `tick` reports them."""

    def __init__(self, on_progress: OnProgress | None, control: Control) -> None:
        self._on_progress = on_progress
        self._control = control
        self.begin()

    def begin(self) -> None:
        """Start a build: reset all counts."""
        self.phase = "scanning"
        self.committed_generation = 0  # the one in use until a rebuild is done
        self.notes_done = self.notes_total = self.bytes_done = self.bytes_total = self.skipped = self.generation = 0
        self._began = time.monotonic()
        self._paused_before = self._control.seconds_paused
        self._reported = 0.0
        self._current, self._current_since = "", self._began

    @property
    def seconds(self) -> float:
        """Seconds that the build has worked, without its pauses."""
        return time.monotonic() - self._began - (self._control.seconds_paused - self._paused_before)

    def tick_between(self, path: str) -> None:
        """Call `tick` between two files, where the build can end without losing half a batch. Raises BuildCancelled."""
        self.tick(path)
        self._control.check()

    def tick(self, path: str) -> None:
        """Note that `path` is in work ("" for none) and report it from time to time; wait while the build is paused."""
        self._control.wait()
        if path != self._current:
            self._current, self._current_since = path, time.monotonic()
        if time.monotonic() - self._reported >= _REPORT_SECONDS:
            self.report(path)

    def report(self, path: str = "") -> None:
        """Report the progress now; `path` is the file in work, "" for none."""
        self._reported = time.monotonic()
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
                    current_seconds=self._reported - self._current_since if path else 0.0,
                )
            )


# --- rebuild beside the index there is --------------------------------------------------------------------------------
# A rebuild writes a new index beside the existing one, which stays in use until the new one replaces it in one step.
#
# The new index is written in a folder below the index's own. Its derived files are moved up: their names have higher
# generations and so collide with no other file. Then the catalog's pages are overwritten in one transaction of SQLite,
# so that a reader sees the old index or the new one. If the process is killed before that, the old index remains, and
# the next build removes the folder.


def begin(index: Path) -> Path:
    """Return an empty folder for the new index. Raises OSError."""
    clear(index)
    (index / NEW_INDEX).mkdir()
    return index / NEW_INDEX


def clear(index: Path) -> None:
    """Remove the folder of an unfinished rebuild."""
    if (index / NEW_INDEX).exists():
        shutil.rmtree(index / NEW_INDEX, ignore_errors=True)


def replace_index(catalog: Catalog, index: Path) -> None:
    """Replace the index in `index` by the new one, whose `catalog` is open.

    Raises OSError and sqlite3's errors, with the old index unchanged.
    """
    folders = set()
    for kind in ("words", "vectors"):
        for file in catalog.files(kind):
            target = index / file.name
            target.parent.mkdir(exist_ok=True)
            (index / NEW_INDEX / file.name).replace(target)
            folders.add(target.parent)
    for folder in folders:
        sync_folder(folder)
    catalog.copy_to(index)


def committed_generation(index: Path) -> int:
    """Return the generation that readers use, which should be kept until there is another; 0 if there is none."""
    try:
        with closing(Catalog.open_to_read(index)) as catalog:
            return catalog.generation
    except (sqlite3.DatabaseError, ValueError):
        return 0


# --- one build --------------------------------------------------------------------------------------------------------
# One build: compare the files found in the vault with the known ones, and commit the difference in batches.

# The first batch is committed within a second or two, so that there is something to search. Later ones are larger,
# because each is a segment, a sync and a new snapshot for every reader. The largest size limits the memory of a batch
# (about ten times its text); it is the text of 8,000 fragments of 250 words.
_FIRST_NOTES = 64
_FIRST_SECONDS = 1.0
_GROWTH = 4
_FIRST_BYTES = 500_000
_MAX_BYTES = 8_000_000


@dataclass(frozen=True, slots=True)
class VaultScan:
    """The result of a scan that began at `began_ns` (since 1970).

    `only` are the paths that it was limited to, None for the whole vault; `accept_empty` allows a vault without notes.
    """

    scan: Scan
    only: Collection[str] | None
    accept_empty: bool
    began_ns: int

    @classmethod
    def perform(
        cls, vault: Path, settings: VaultSettings, only: Collection[str] | None, accept_empty: bool
    ) -> VaultScan:
        """Scan the vault. Raises VaultError."""
        began = time.time_ns()
        return cls(scan(vault, settings, only), only, accept_empty, began)


class _Update:
    """One update: commits the difference between a scan and what `writer` knows."""

    def __init__(
        self, writer: IndexWriter, options: PrepareOptions, workers: Workers, reporter: ProgressReporter
    ) -> None:
        self._writer, self._options, self._workers, self._progress = writer, options, workers, reporter
        self._added = self._changed = 0
        self._is_partial = False
        self._skipped: list[FileProblem] = []
        self._given_up: dict[str, GivenUp] = {}

    def run(self, vault_scan: VaultScan) -> BuildReport:
        """Commit the changes that the scan found.

        Raises VaultEmptiedError, with nothing changed, and BuildCancelled.
        """
        reporter, catalog = self._progress, self._writer.catalog
        reporter.generation = catalog.generation
        known = catalog.known_notes(vault_scan.only)
        if not vault_scan.scan.files and known and not vault_scan.accept_empty and len(known) == catalog.counts()[0]:
            raise VaultEmptiedError(str(self._options.vault), len(known))
        reporter.phase = "mending"
        self._writer.mend()
        # A file that no build has looked at stays unread by a build of some paths.
        self._is_partial = vault_scan.only is not None and catalog.is_unfinished
        removed = self._commit_all(vault_scan, known)
        self._writer.finish(self._skipped, vault_scan.only, self._given_up)
        if vault_scan.only is None:
            self._writer.catalog.set_unread_files(vault_scan.scan.unread)
        self._record_scan_time(vault_scan)
        reporter.phase = "done"
        reporter.report()
        return self._report(removed)

    def _record_scan_time(self, vault_scan: VaultScan) -> None:
        """Record when all files were last looked at, if that can matter for any of them."""
        newest = max((changed_ns(file) for file in vault_scan.scan.files), default=0)
        if vault_scan.only is None and newest >= unchanged_before(self._writer.catalog):
            self._writer.catalog.set_meta("looked", str(vault_scan.began_ns))

    def _commit_all(self, vault_scan: VaultScan, known: dict[str, KnownNote]) -> int:
        """Commit new, changed and removed notes; return the number of removed ones."""
        scan = vault_scan.scan
        vault = self._options.settings
        tasks = self._skip_given_up(_tasks(vault_scan, known, vault, unchanged_before(self._writer.catalog)))
        if any(
            not is_current_key(known[task.path].cut, prepare_key(task.path, vault))
            for task in tasks
            if task.path in known
        ):
            self._writer.rebuilt.append("notes, from the vault: reading, splitting or stemming changed")
        scanned_paths = {file.path for file in scan.files}
        removed = [path for path in known if path not in scanned_paths]
        self._skipped += scan.skipped
        reporter = self._progress
        reporter.notes_total, reporter.bytes_total = len(tasks), sum(task.size for task in tasks)
        reporter.phase = "reading"
        notes, attachments = ([item for item in tasks if bool(item.kind) is kind] for kind in (False, True))
        # Notes become searchable before any attachment is opened, and attachments before OCR begins.
        for batch in chain(self._batches(notes), self._batches(attachments)):
            self._commit(batch, removed, known)
            removed = []
        if removed or not self._writer.catalog.generation:
            self._commit([], removed, known)
        # A file that was a note and can no longer be read is removed from the index: its old text may be wrong.
        unreadable = [item.path for item in self._skipped if item.path in known and item.path in scanned_paths]
        if unreadable:
            self._commit([], unreadable, known)
        self._read_images(scan)
        reporter.notes_done = reporter.notes_total  # also counts files that were removed before they were read
        if self._writer.catalog.is_unfinished and not self._is_partial:
            self._commit([], [], known)
        return len(known.keys() - scanned_paths) + len(unreadable)

    def _read_images(self, scan: Scan) -> None:
        """Read by OCR the unread images of the files found.

        A file for which OCR fails keeps its other text.
        """
        vault, known = self._options.settings, self._writer.catalog.known_notes()
        awaiting = [
            Task(
                file.path,
                file.size,
                file.mtime_ns,
                file.ctime_ns,
                kind=kind_of_file(file.path, vault),
                images=note.unread,
            )
            for file in scan.files
            if (note := known.get(file.path)) is not None and awaits_ocr(note, vault)
        ]
        tasks = self._skip_given_up(awaiting)
        self._progress.notes_total += len(tasks)
        self._progress.bytes_total += sum(task.size for task in tasks)
        for batch in self._batches(tasks):
            self._commit(batch, [], known)

    def _skip_given_up(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks without unchanged files that exceeded the limits before; these are skipped again."""
        before = self._writer.catalog.given_up()
        accepted = []
        for task in tasks:
            earlier = before.get(task.path)
            now = (task.size, task.mtime_ns, task.ctime_ns, self._prepare_key(task))
            if earlier and (earlier.size, earlier.mtime_ns, earlier.ctime_ns, earlier.cut) == now:
                self._given_up[task.path] = earlier
                self._skipped.append(FileProblem(task.path, earlier.reason))
            else:
                accepted.append(task)
        return accepted

    def _prepare_key(self, task: Task) -> str:
        return prepare_key(task.path, self._options.settings, ocr=task.images > 0)

    def _batches(self, tasks: Sequence[Task]) -> Iterator[list[Prepared]]:
        if not tasks:
            return
        sizes = {task.path: task.size for task in tasks}
        batch: list[Prepared] = []
        limit, first, began = _FIRST_BYTES, True, time.monotonic()
        size = notes = 0
        for prepared in self._workers.prepare(self._options, tasks, self._progress.tick_between):
            batch.append(prepared)
            paths = [note.path for note in prepared.notes]
            paths += [task.path for task in prepared.unchanged] + [file.path for file in prepared.skipped]
            self._progress.notes_done += len(paths)
            self._progress.bytes_done += sum(sizes[path] for path in paths)
            self._progress.skipped += len(prepared.skipped)
            self._skipped += prepared.skipped
            reasons = {file.path: file.reason for file in prepared.skipped}
            for task in prepared.given_up:
                reason = reasons[task.path]
                file = GivenUp(task.size, task.mtime_ns, task.ctime_ns, self._prepare_key(task), reason)
                self._given_up[task.path] = file
            notes += len(prepared.notes)
            # An attachment's text is a part of its file; it is stored at about a third of its size.
            size += sum(3 * len(note.text) if note.kind else note.size for note in prepared.notes)
            early = first and (notes >= _FIRST_NOTES or (notes and time.monotonic() - began > _FIRST_SECONDS))
            if early or size >= limit:
                yield batch
                limit = limit if first else min(_GROWTH * limit, _MAX_BYTES)
                batch, size, notes, first = [], 0, 0, False
        if batch:
            yield batch

    def _commit(self, batch: Sequence[Prepared], removed: Sequence[str], known: dict[str, KnownNote]) -> None:
        paths = [note.path for prepared in batch for note in prepared.notes]
        changed = [path for path in paths if path in known]
        unfinished = self._is_partial or self._progress.notes_done < self._progress.notes_total
        self._writer.commit([*removed, *changed], batch, unfinished=unfinished)
        self._changed += len(changed)
        self._added += len(paths) - len(changed)
        self._progress.generation = self._writer.catalog.generation
        self._progress.report()

    def _report(self, removed: int) -> BuildReport:
        catalog = self._writer.catalog
        notes, fragments = catalog.counts()
        return BuildReport(
            generation=catalog.generation,
            added=self._added,
            changed=self._changed,
            removed=removed,
            unchanged=notes - self._added - self._changed,
            fragments=fragments,
            embedded=self._writer.embedded,
            skipped=catalog.remarks(skipped=True),
            warnings=catalog.remarks(skipped=False),
            seconds=self._progress.seconds,
            rebuilt="; ".join(self._writer.rebuilt),
            attachments=sum(catalog.attachments().values()),
        )


def _tasks(vault_scan: VaultScan, known: dict[str, KnownNote], settings: VaultSettings, sure: int) -> list[Task]:
    """Return the files that are new, may have changed or were prepared otherwise, the most recently modified first.

    A file named in `found.only` may have changed whatever its size and times are.
    """
    named = frozenset(vault_scan.only or ())
    tasks = []
    for file in vault_scan.scan.files:
        note = known.get(file.path)
        state, kind = (file.path, file.size, file.mtime_ns, file.ctime_ns), kind_of_file(file.path, settings)
        if note is None or not is_current_key(note.cut, prepare_key(file.path, settings)):
            tasks.append(Task(*state, kind=kind))
        elif not is_unchanged(file, note, sure) or file.path in named:
            tasks.append(Task(*state, note.digest, kind))
    return sorted(tasks, key=lambda task: (-task.mtime_ns, task.path))


# --- the vault up to date ---------------------------------------------------------------------------------------------
# A file counts as unchanged if its size and times are the known ones (it is not opened), or else if the digest of its
# content is. Changed and new files are committed in batches, the most recently modified first; each batch is a
# generation that can be searched while the next is prepared. If the process is killed, the last generation remains, and
# the next build continues after it: the committed files are known by then.

# Looking at this many single paths costs about as much as a scan of ten thousand files.
_MAX_PATHS = 500

_FULL = "the disk is full"


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
    """Update the index in `folder` to the vault as it is now, once; arguments and errors are those of `Updater`."""
    with closing(Updater(vault, folder, settings, progress, control)) as updater:
        return updater.update(rebuild=rebuild, accept_empty=accept_empty, wait=wait)


class Updater:
    """Updates the index in `folder` to the vault, any number of times.

    Between two updates it keeps the index open, and does not check again what it has checked or written itself, unless
    another process has committed meanwhile. Its methods may be called from any one thread; `control` pauses and cancels
    from another.
    """

    def __init__(
        self,
        vault: Path,
        folder: Path,
        settings: Settings,
        progress: OnProgress | None = None,
        control: Control | None = None,
    ) -> None:
        self._vault, self._folder, self._settings = vault, folder, settings
        self._options = PrepareOptions(vault, settings.pack.tokenizer, settings.vault)
        control = control or Control()
        self._progress = ProgressReporter(progress, control)
        self._workers = Workers(is_paused=lambda: control.paused)
        self._generation = 0
        self._writer: IndexWriter | None = None

    def update(
        self,
        paths: Collection[str] | None = None,
        *,
        rebuild: bool = False,
        accept_empty: bool = False,
        wait: float = 10.0,
    ) -> BuildReport:
        """Update the index to the vault as it is now.

        If `paths` names files and folders (relative, with "/"), only these and their content are looked at. `rebuild`
        starts from nothing; `accept_empty` allows a vault without notes.

        Raises VaultError if the vault cannot be listed and VaultEmptiedError if it has lost all of its notes, both with
        the index unchanged; IndexBusyError if another process still writes this index after `wait` seconds,
        IndexUnusableError if the folder cannot be written, ModelError and SettingsError if the model or the tokenizer
        named in the settings cannot be used, BuildCancelled.
        """
        open_vault(self._vault)
        only = None if rebuild or paths is None or len(paths) > _MAX_PATHS else paths
        try:
            with _locked(self._folder, self._vault, wait):
                report = self._update(only, rebuild, accept_empty)
        except (OSError, sqlite3.DatabaseError) as error:
            self.close()
            raise IndexUnusableError(
                f"The index in {self._folder} cannot be written: {_reason(error)}.",
                f"{_remedy(error)}, or set EXCERPT_HOME to another folder. The last generation is kept.",
            ) from error
        except BaseException:
            self.close()  # the open transaction may belong to a generation that was not committed
            raise
        finally:
            self._workers.close()  # workers take as much memory as all the rest, and only many files need them
        self._generation = report.generation
        return report

    def close(self) -> None:
        """Close the index; the next update opens it again."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def is_in_folder(self) -> bool:
        """Return whether the open index is still in its folder, undamaged; True if none is open."""
        return self._writer is None or (self._writer.is_in_folder() and not (self._folder / SUSPECT).exists())

    def warm(self) -> None:
        """Prepare one note as a trial, so that the next changed note need not wait for models and modules to load."""
        if self._writer is None:
            return
        self._writer.embedder.embed(["text"])
        smallest = self._writer.catalog.rows("SELECT path, size, mtime_ns, ctime_ns FROM notes ORDER BY size LIMIT 1")
        prepare(self._options, [Task(*note) for note in smallest])

    def _update(self, only: Collection[str] | None, rebuild: bool, accept_empty: bool) -> BuildReport:
        self._progress.begin()
        if self._writer is not None:
            self._writer.begin()
        vault_scan = VaultScan.perform(self._vault, self._settings.vault, only, accept_empty)
        if rebuild:
            if not vault_scan.scan.files and not accept_empty:
                _refuse_emptied(self._vault, self._folder)
            if generation := committed_generation(self._folder):
                self._progress.committed_generation = generation
                return self._rebuild(vault_scan)
            self._discard()
        clear(self._folder)
        try:
            return self._update_index(vault_scan)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            reason = f"everything, from the vault: the catalog is damaged ({error})"
            self._discard().rebuilt.append(reason)
            return self._update_index(vault_scan)

    def _update_index(self, vault_scan: VaultScan) -> BuildReport:
        writer = self._opened()
        if vault_scan.only is not None and not writer.catalog.generation:
            vault_scan = VaultScan.perform(self._vault, self._settings.vault, None, vault_scan.accept_empty)
        return self._run(writer, vault_scan)

    def _run(self, writer: IndexWriter, vault_scan: VaultScan) -> BuildReport:
        return _Update(writer, self._options, self._workers, self._progress).run(vault_scan)

    def _opened(self) -> IndexWriter:
        if self._writer is not None and not self._writer.is_current():
            self.close()
        if self._writer is None:
            # If the folder was deleted meanwhile, a reader of the old index must see that this one is newer.
            after = self._generation
            self._writer = IndexWriter(self._folder, self._vault, self._settings, self._progress.tick, after=after)
        return self._writer

    def _rebuild(self, vault_scan: VaultScan) -> BuildReport:
        """Build an index from nothing, and replace the existing one only when it is done."""
        self.close()
        known, after = _read_renames(self._folder), lexical.last_generation(self._folder)
        new_folder = begin(self._folder)
        with closing(IndexWriter(new_folder, self._vault, self._settings, self._progress.tick, after=after)) as writer:
            if known is not None:
                renames.restore(writer.catalog, known)
            report = self._run(writer, vault_scan)
            replace_index(writer.catalog, self._folder)
        clear(self._folder)
        return report

    def _discard(self) -> IndexWriter:
        """Start an empty index that keeps the data by which moved notes are recognised."""
        self.close()
        known = _read_renames(self._folder)
        after = discard(self._folder)
        self._writer = IndexWriter(self._folder, self._vault, self._settings, self._progress.tick, after=after)
        if known is not None:
            renames.restore(self._writer.catalog, known)
        return self._writer


def _read_renames(folder: Path) -> renames.MoveHistory | None:
    """Return the moves and note digests of an index that will be discarded, None if it cannot be read."""
    try:
        with closing(Catalog.open_to_read(folder)) as catalog:
            return renames.read_history(catalog)
    except (sqlite3.DatabaseError, OSError):
        return None


def _refuse_emptied(vault: Path, folder: Path) -> None:
    """Raise VaultEmptiedError if the index that is about to be discarded holds notes."""
    try:
        with closing(Catalog.open_to_read(folder)) as catalog:
            notes, _ = catalog.counts()
    except sqlite3.DatabaseError:
        return  # there are no notes to lose
    if notes:
        raise VaultEmptiedError(str(vault), notes)


def _remedy(error: OSError | sqlite3.DatabaseError) -> str:
    if _reason(error) == _FULL:
        return "Make room there"
    refused = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)
    if isinstance(error, OSError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in refused:
        return "Give permission there"
    return "Try again; if it fails again, remove that folder: excerpt rebuilds it from the vault"


def _reason(error: OSError | sqlite3.DatabaseError) -> str:
    if isinstance(error, sqlite3.DatabaseError):
        return _FULL if getattr(error, "sqlite_errorcode", 0) in FULL else str(error)
    if isinstance(error, FileExistsError | NotADirectoryError):
        return "a file is in the place of its folder"
    return _FULL if error.errno == errno.ENOSPC else error.strerror or str(error)


@contextmanager
def _locked(folder: Path, vault: Path, wait: float) -> Iterator[None]:
    """Hold the folder's lock. The system releases it when its holder ends, however that happens."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / LOCK
    if lock.is_symlink() or (lock.exists() and not lock.is_dir() and not lock.is_file()):
        lock.unlink(missing_ok=True)
    elif lock.is_dir():
        shutil.rmtree(lock)
    try:
        with file_lock(lock, wait):
            _clear_path(folder)
            yield
    except Timeout as error:
        raise IndexBusyError(
            f"Another excerpt is indexing {vault.name} and has not finished within {wait:g} s.",
            "Wait for it or close it, then try again. Searches use what it has committed.",
        ) from error


def _clear_path(folder: Path) -> None:
    """Remove entries of the wrong type: folders in place of files, files in place of folders, pipes and the like."""
    folders = {folder / name for name in (NEW_INDEX, lexical.FOLDER)}
    for path in (*folder.glob("*"), *folder.glob(f"{lexical.FOLDER}/*")):
        try:
            mode = path.stat().st_mode
        except OSError:
            mode = 0
            if not path.is_symlink():
                continue  # removed meanwhile
        if path not in folders and stat.S_ISDIR(mode):
            shutil.rmtree(path)
        elif not (stat.S_ISDIR if path in folders else stat.S_ISREG)(mode):
            path.unlink(missing_ok=True)
