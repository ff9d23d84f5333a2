"""Update of a vault's index: reads the files that changed since the last build, and keeps the rest."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import stat
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path

from filelock import Timeout
from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.errors import IndexBusyError, IndexUnusableError, VaultEmptiedError
from excerpt.base.model import BuildReport, FileProblem
from excerpt.base.settings import Settings, VaultSettings, open_vault
from excerpt.base.state_files import file_lock, sync_folder
from excerpt.index import lexical, lexical_writer, renames
from excerpt.index.build_control import BuildControl, OnProgress, ProgressReporter
from excerpt.index.catalog import DISK_FULL_CODES, Catalog, is_damage
from excerpt.index.catalog_rows import GivenUpFile, KnownNote
from excerpt.index.changes import (
    REBUILD_FOLDER,
    is_current_key,
    is_unchanged,
    last_change_ns,
    needs_ocr,
    prepare_key,
    unchanged_before_ns,
)
from excerpt.index.encoder_vectors import RECORD_KEY, SearchVectorsRecord
from excerpt.index.files import EMBEDDINGS_FOLDER, SUSPECT_FILE
from excerpt.index.pool import Workers
from excerpt.index.prepare import FileTask, PreparedFiles, PrepareOptions, prepare
from excerpt.index.writer import LOCK_FILE, IndexWriter, discard_index
from excerpt.vault.dialect import detect_dialect
from excerpt.vault.readers.registry import kind_of_file
from excerpt.vault.scan import Scan, scan


def create_rebuild_folder(index: Path) -> Path:
    """Create and return an empty folder in `index` for the new index of a rebuild. Raises OSError.

    The existing index stays in use until `replace_index` replaces it in one step.
    """
    remove_rebuild_folder(index)
    (index / REBUILD_FOLDER).mkdir()
    return index / REBUILD_FOLDER


def remove_rebuild_folder(index: Path) -> None:
    """Remove the folder of an unfinished rebuild from the index folder, if there is one."""
    if (index / REBUILD_FOLDER).exists():
        shutil.rmtree(index / REBUILD_FOLDER, ignore_errors=True)


def replace_index(catalog: Catalog, index: Path) -> None:
    """Replace the index in the folder `index` by the rebuilt one in its subfolder.

    The derived files are moved up: their names have higher generations and so collide with no other file. Then the
    catalog's pages are overwritten in one transaction of SQLite, so that a reader sees the old index or the new one. If
    the process is killed before this transaction, the old index remains, and the next build removes the subfolder.

    `catalog` is the open catalog of the rebuilt index. Raises OSError and sqlite3's errors; the old index is then
    unchanged.
    """
    folders = set()
    for kind in ("words", "vectors"):
        for file in catalog.files(kind):
            target = index / file.name
            target.parent.mkdir(exist_ok=True)
            (index / REBUILD_FOLDER / file.name).replace(target)
            folders.add(target.parent)
    for folder in folders:
        sync_folder(folder)
    catalog.copy_to(index)


def committed_generation(index: Path) -> int:
    """Return the number of the newest generation (committed state) of the index, 0 if no index can be read."""
    try:
        with closing(Catalog.open_to_read(index)) as catalog:
            return catalog.generation
    except (sqlite3.DatabaseError, ValueError):
        return 0


# The first batch is committed within a second or two, so that there is something to search. Later ones are larger,
# because each is a segment, a sync and a new snapshot for every reader. The largest size limits the memory of a batch
# (about ten times its text); it is the text of 8,000 fragments of 250 words.
_FIRST_BATCH_NOTES = 64
_FIRST_BATCH_SECONDS = 1.0
_BATCH_GROWTH_FACTOR = 4
_FIRST_BATCH_BYTES = 500_000
_MAX_BATCH_BYTES = 8_000_000


class VaultScan(Struct, frozen=True):
    """The files that a scan of the vault found, and how the vault was scanned.

    `only_paths` are the paths to which the scan was limited, None for the whole vault. `accept_empty` allows a build
    that finds no notes to empty the index. `start_ns` is the start of the scan in nanoseconds since 1970.
    """

    scan: Scan
    only_paths: Collection[str] | None
    accept_empty: bool
    start_ns: int

    @classmethod
    def perform(
        cls, vault: Path, settings: VaultSettings, only_paths: Collection[str] | None, accept_empty: bool
    ) -> VaultScan:
        """Scan the vault, or only `only_paths`, and return the result. Raises VaultError."""
        began = time.time_ns()
        return cls(scan(vault, settings, only_paths), only_paths, accept_empty, began)


class _IndexUpdate:
    """One update of the index: commits the differences between a scan of the vault and the catalog of `writer`."""

    def __init__(
        self, writer: IndexWriter, options: PrepareOptions, workers: Workers, reporter: ProgressReporter
    ) -> None:
        self._writer, self._options, self._workers, self._progress = writer, options, workers, reporter
        self._added_count = self._changed_count = 0
        self._is_partial = False
        self._skipped: list[FileProblem] = []
        self._given_up_files: dict[str, GivenUpFile] = {}

    def run(self, vault_scan: VaultScan) -> BuildReport:
        """Commit the changes that the scan found, and return a report of them.

        Raises VaultEmptiedError, with the index unchanged, and BuildCancelled.
        """
        reporter, catalog = self._progress, self._writer.catalog
        reporter.generation = catalog.generation
        known = catalog.known_notes(vault_scan.only_paths)
        if (
            not vault_scan.scan.files
            and known
            and not vault_scan.accept_empty
            and len(known) == catalog.count_notes_and_fragments()[0]
        ):
            raise VaultEmptiedError(str(self._options.vault), len(known))
        reporter.phase = "mending"
        self._writer.repair_parts()
        # A file that no build has looked at stays unread by a build of some paths.
        self._is_partial = vault_scan.only_paths is not None and catalog.is_unfinished
        removed = self._commit_changes(vault_scan, known)
        self._writer.record_end_of_build(self._skipped, vault_scan.only_paths, self._given_up_files)
        if vault_scan.only_paths is None:
            self._writer.catalog.set_unread_files(vault_scan.scan.unread)
        self._record_scan_time(vault_scan)
        reporter.phase = "done"
        reporter.report()
        return self._create_report(removed)

    def _record_scan_time(self, vault_scan: VaultScan) -> None:
        """Store the start of a whole scan in the catalog, if a file is so new that the next build needs this time."""
        newest = max((last_change_ns(file) for file in vault_scan.scan.files), default=0)
        if vault_scan.only_paths is None and newest >= unchanged_before_ns(self._writer.catalog):
            self._writer.catalog.set_meta("looked", str(vault_scan.start_ns))

    def _commit_changes(self, vault_scan: VaultScan, known: dict[str, KnownNote]) -> int:
        """Commit new, changed and removed notes; return the number of removed notes."""
        scan = vault_scan.scan
        tasks = self._skip_given_up(
            _list_tasks(vault_scan, known, self._options, unchanged_before_ns(self._writer.catalog))
        )
        if any(
            not is_current_key(known[task.path].cut, self._prepare_key(task)) for task in tasks if task.path in known
        ):
            self._writer.rebuilt.append("notes from the vault, because reading, splitting or stemming changed")
        scanned_paths = {file.path for file in scan.files}
        removed = [path for path in known if path not in scanned_paths]
        self._skipped += scan.skipped
        reporter = self._progress
        reporter.notes_total, reporter.bytes_total = len(tasks), sum(task.size for task in tasks)
        reporter.phase = "reading"
        notes, attachments = ([item for item in tasks if bool(item.kind) is kind] for kind in (False, True))
        # Notes become searchable before any attachment is opened, and attachments before OCR begins.
        for batch in chain(self._prepare_batches(notes), self._prepare_batches(attachments)):
            self._commit(batch, removed, known)
            removed = []
        if removed or not self._writer.catalog.generation:
            self._commit([], removed, known)
        # A file that was a note and can no longer be read is removed from the index: its old text may be wrong.
        unreadable = [item.path for item in self._skipped if item.path in known and item.path in scanned_paths]
        if unreadable:
            self._commit([], unreadable, known)
        self._read_images(vault_scan)
        reporter.notes_done = reporter.notes_total  # also counts files that were removed before they were read
        if self._writer.catalog.is_unfinished and not self._is_partial:
            self._commit([], [], known)
        return len(known.keys() - scanned_paths) + len(unreadable)

    def _read_images(self, vault_scan: VaultScan) -> None:
        """Read, by OCR, the images that have not been read yet in the files of a scan.

        A file for which OCR fails keeps its other text.
        """
        vault, known = self._options.settings, self._writer.catalog.known_notes(vault_scan.only_paths)
        awaiting = [
            FileTask(
                file.path,
                file.size,
                file.mtime_ns,
                file.ctime_ns,
                kind=kind_of_file(file.path, vault),
                images=note.unread,
            )
            for file in vault_scan.scan.files
            if (note := known.get(file.path)) is not None and needs_ocr(note, vault)
        ]
        tasks = self._skip_given_up(awaiting)
        self._progress.notes_total += len(tasks)
        self._progress.bytes_total += sum(task.size for task in tasks)
        for batch in self._prepare_batches(tasks):
            self._commit(batch, [], known)

    def _skip_given_up(self, tasks: Sequence[FileTask]) -> list[FileTask]:
        """Return the tasks without files that exceeded a limit earlier and are unchanged; skip these files again."""
        before = self._writer.catalog.given_up()
        accepted = []
        for task in tasks:
            earlier = before.get(task.path)
            now = (task.size, task.mtime_ns, task.ctime_ns, self._prepare_key(task))
            if earlier and (earlier.size, earlier.mtime_ns, earlier.ctime_ns, earlier.cut) == now:
                self._given_up_files[task.path] = earlier
                self._skipped.append(FileProblem(task.path, earlier.reason))
            else:
                accepted.append(task)
        return accepted

    def _prepare_key(self, task: FileTask) -> str:
        return prepare_key(task.path, self._options.settings, self._options.dialect, ocr=task.images > 0)

    def _prepare_batches(self, tasks: Sequence[FileTask]) -> Iterator[list[PreparedFiles]]:
        if not tasks:
            return
        sizes = {task.path: task.size for task in tasks}
        batch: list[PreparedFiles] = []
        limit, first, began = _FIRST_BATCH_BYTES, True, time.monotonic()
        size = notes = 0
        for prepared in self._workers.prepare(self._options, tasks, self._progress.tick_between_files):
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
                file = GivenUpFile(task.size, task.mtime_ns, task.ctime_ns, self._prepare_key(task), reason)
                self._given_up_files[task.path] = file
            notes += len(prepared.notes)
            # An attachment's text is a part of its file; it is stored at about a third of its size.
            size += sum(3 * len(note.text) if note.kind else note.size for note in prepared.notes)
            early = first and (
                notes >= _FIRST_BATCH_NOTES or (notes and time.monotonic() - began > _FIRST_BATCH_SECONDS)
            )
            if early or size >= limit:
                yield batch
                limit = limit if first else min(_BATCH_GROWTH_FACTOR * limit, _MAX_BATCH_BYTES)
                batch, size, notes, first = [], 0, 0, False
        if batch:
            yield batch

    def _commit(self, batch: Sequence[PreparedFiles], removed: Sequence[str], known: dict[str, KnownNote]) -> None:
        paths = [note.path for prepared in batch for note in prepared.notes]
        changed = [path for path in paths if path in known]
        unfinished = self._is_partial or self._progress.notes_done < self._progress.notes_total
        self._writer.commit([*removed, *changed], batch, unfinished=unfinished)
        self._changed_count += len(changed)
        self._added_count += len(paths) - len(changed)
        self._progress.generation = self._writer.catalog.generation
        self._progress.report()

    def _create_report(self, removed: int) -> BuildReport:
        catalog = self._writer.catalog
        notes, fragments = catalog.count_notes_and_fragments()
        return BuildReport(
            generation=catalog.generation,
            added=self._added_count,
            changed=self._changed_count,
            removed=removed,
            unchanged=notes - self._added_count - self._changed_count,
            fragments=fragments,
            embedded=self._writer.embedded,
            skipped=catalog.remarks(skipped=True),
            warnings=catalog.remarks(skipped=False),
            seconds=self._progress.seconds,
            rebuilt="; ".join(self._writer.rebuilt),
            attachments=sum(catalog.attachments().values()),
        )


def _list_tasks(
    vault_scan: VaultScan, known: dict[str, KnownNote], options: PrepareOptions, unchanged_before_ns: int
) -> list[FileTask]:
    """Return the files to prepare, the most recently modified first.

    These are files that are new, may have changed, or were prepared by other code or settings. A file whose time is
    before `unchanged_before_ns` and whose size and times are as known is unchanged, unless it is in
    `vault_scan.only_paths`.
    """
    named = frozenset(vault_scan.only_paths or ())
    settings, dialect = options.settings, options.dialect
    tasks = []
    for file in vault_scan.scan.files:
        note = known.get(file.path)
        state, kind = (file.path, file.size, file.mtime_ns, file.ctime_ns), kind_of_file(file.path, settings)
        if note is None or not is_current_key(note.cut, prepare_key(file.path, settings, dialect)):
            tasks.append(FileTask(*state, kind=kind))
        elif not is_unchanged(file, note, unchanged_before_ns) or file.path in named:
            tasks.append(FileTask(*state, note.digest, kind))
    return sorted(tasks, key=lambda task: (-task.mtime_ns, task.path))


# Looking at this many single paths costs about as much as a scan of ten thousand files.
_MAX_SINGLE_PATHS = 500

_DISK_FULL = "the disk is full"


def build(
    vault: Path,
    folder: Path,
    settings: Settings,
    progress: OnProgress | None = None,
    *,
    rebuild: bool = False,
    accept_empty: bool = False,
    wait: float = 10.0,
    control: BuildControl | None = None,
) -> BuildReport:
    """Update the index in `folder` once to the present state of the vault, and return a report.

    `rebuild` reads all notes again; `accept_empty` allows a vault without notes; `wait` is the number of seconds to
    wait for another process that writes the index. Errors are those of `Updater.update`.
    """
    with closing(Updater(vault, folder, settings, progress, control)) as updater:
        return updater.update(rebuild=rebuild, accept_empty=accept_empty, wait=wait)


class Updater:
    """Updates the index in `folder` to the present state of the vault, any number of times.

    A file counts as unchanged if its size and times are those in the index (then it is not opened), or else if the
    digest of its content is the one in the index. Changed and new files are committed in batches, the most recently
    modified first; each batch is a generation that can be searched while the next is prepared. If the process is
    killed, the last generation remains, and the next build continues after it: the committed files are known by then.

    The index stays open between two updates, and files that were checked or written by this object are not checked
    again, unless another process has committed meanwhile. Call the methods from one thread at a time; `control` pauses
    and cancels from any other.
    """

    def __init__(
        self,
        vault: Path,
        folder: Path,
        settings: Settings,
        progress: OnProgress | None = None,
        control: BuildControl | None = None,
    ) -> None:
        self._vault, self._folder, self._settings = vault, folder, settings
        self._options = PrepareOptions(vault, settings.pack.tokenizer, settings.vault)
        control = control or BuildControl()
        self._progress = ProgressReporter(progress, control)
        self._workers = Workers(is_paused=lambda: control.is_paused)
        self._last_generation = 0
        self._writer: IndexWriter | None = None

    def update(
        self,
        paths: Collection[str] | None = None,
        *,
        rebuild: bool = False,
        accept_empty: bool = False,
        wait: float = 10.0,
    ) -> BuildReport:
        """Update the index to the present state of the vault, and return a report.

        If `paths` names files and folders (relative to the vault, with "/"), only these are scanned. `rebuild` reads
        all notes again; `accept_empty` allows a vault without notes; `wait` is the number of seconds to wait for
        another process that writes this index.

        Raises VaultError if the vault cannot be listed, and VaultEmptiedError if all notes are gone from the vault; the
        index is then unchanged. Raises IndexBusyError after `wait` seconds, IndexUnusableError if the folder cannot be
        written, ModelError or SettingsError if the model or the tokenizer of the settings cannot be used, and
        BuildCancelled.
        """
        open_vault(self._vault)
        self._options = replace(self._options, dialect=detect_dialect(self._vault))
        only = None if rebuild or paths is None or len(paths) > _MAX_SINGLE_PATHS else paths
        try:
            with _lock_index(self._folder, self._vault, wait):
                report = self._update(only, rebuild, accept_empty)
        except (OSError, sqlite3.DatabaseError) as error:
            self.close()
            raise IndexUnusableError(
                f"The index in {self._folder} cannot be written: {_describe_error(error)}.",
                f"{_describe_remedy(error)}, or set EXCERPT_HOME to another folder. The index keeps its last state.",
            ) from error
        except BaseException:
            self.close()  # the open transaction may belong to a generation that was not committed
            raise
        finally:
            self._workers.close()  # workers take as much memory as all the rest, and only many files need them
        self._last_generation = report.generation
        return report

    def use_search_vectors(self, record: SearchVectorsRecord, wait: float = 10.0) -> tuple[int, bool]:
        """Let searches use the vectors of an embedder from a new generation on.

        Returns the number of the generation, and whether they used another model's vectors before. Commits nothing if
        they use these vectors already. Raises the errors of `update`.
        """
        try:
            with _lock_index(self._folder, self._vault, wait):
                writer = self._get_writer()
                writer.repair_parts()
                is_first = writer.record_search_vectors(record)
                self._last_generation = writer.catalog.generation
        except (OSError, sqlite3.DatabaseError) as error:
            self.close()
            raise IndexUnusableError(
                f"The index in {self._folder} cannot be written: {_describe_error(error)}.", _describe_remedy(error)
            ) from error
        except BaseException:
            self.close()
            raise
        return self._last_generation, is_first

    def close(self) -> None:
        """Close the index; the next update opens it again."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def is_in_folder(self) -> bool:
        """Return whether the open index is still in its folder and not marked as damaged; True if no index is open."""
        return self._writer is None or (self._writer.is_in_folder() and not (self._folder / SUSPECT_FILE).exists())

    def warm(self) -> None:
        """Load the model and the readers by preparing the smallest note, so that the next update starts faster."""
        if self._writer is None:
            return
        self._writer.embedder.embed(["text"])
        smallest = self._writer.catalog.rows("SELECT path, size, mtime_ns, ctime_ns FROM notes ORDER BY size LIMIT 1")
        prepare(self._options, [FileTask(*note) for note in smallest])

    def _update(self, only: Collection[str] | None, rebuild: bool, accept_empty: bool) -> BuildReport:
        self._progress.reset()
        if self._writer is not None:
            self._writer.reset_report()
        vault_scan = VaultScan.perform(self._vault, self._settings.vault, only, accept_empty)
        if rebuild:
            if not vault_scan.scan.files and not accept_empty:
                _check_not_emptied(self._vault, self._folder)
            if generation := committed_generation(self._folder):
                self._progress.committed_generation = generation
                return self._rebuild_beside(vault_scan)
            self._start_empty_index()
        remove_rebuild_folder(self._folder)
        try:
            return self._update_index(vault_scan)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            reason = f"everything from the vault, because the catalog is damaged ({error})"
            self._start_empty_index().rebuilt.append(reason)
            return self._update_index(vault_scan)

    def _update_index(self, vault_scan: VaultScan) -> BuildReport:
        writer = self._get_writer()
        if vault_scan.only_paths is not None and not writer.catalog.generation:
            vault_scan = VaultScan.perform(self._vault, self._settings.vault, None, vault_scan.accept_empty)
        return self._run(writer, vault_scan)

    def _run(self, writer: IndexWriter, vault_scan: VaultScan) -> BuildReport:
        return _IndexUpdate(writer, self._options, self._workers, self._progress).run(vault_scan)

    def _get_writer(self) -> IndexWriter:
        if self._writer is not None and not self._writer.is_current():
            self.close()
        if self._writer is None:
            # If the folder was deleted meanwhile, a reader of the old index must see that this one is newer.
            after = self._last_generation
            self._writer = IndexWriter(self._folder, self._vault, self._settings, self._progress.tick, after=after)
        return self._writer

    def _rebuild_beside(self, vault_scan: VaultScan) -> BuildReport:
        """Build a new index beside the existing one, and replace the existing one when the new one is complete."""
        self.close()
        known, after = _read_renames(self._folder), lexical_writer.last_generation(self._folder)
        record = _read_record(self._folder)
        new_folder = create_rebuild_folder(self._folder)
        with closing(IndexWriter(new_folder, self._vault, self._settings, self._progress.tick, after=after)) as writer:
            if known is not None:
                renames.restore_history(writer.catalog, known)
            writer.catalog.set_meta(RECORD_KEY, record)
            report = self._run(writer, vault_scan)
            replace_index(writer.catalog, self._folder)
        remove_rebuild_folder(self._folder)
        return report

    def _start_empty_index(self) -> IndexWriter:
        """Replace the index by an empty one, which keeps the data that identify renamed notes; return its writer."""
        self.close()
        known = _read_renames(self._folder)
        after = discard_index(self._folder)
        self._writer = IndexWriter(self._folder, self._vault, self._settings, self._progress.tick, after=after)
        if known is not None:
            renames.restore_history(self._writer.catalog, known)
        return self._writer


def _read_renames(folder: Path) -> renames.MoveHistory | None:
    """Return the known renames and note digests of an index before it is discarded; None if it cannot be read."""
    try:
        with closing(Catalog.open_to_read(folder)) as catalog:
            return renames.read_history(catalog)
    except (sqlite3.DatabaseError, OSError):
        return None


def _read_record(folder: Path) -> str:
    """Return the stored record of which vectors searches use, "" if there is none. A rebuild keeps these vectors."""
    try:
        with closing(Catalog.open_to_read(folder)) as catalog:
            return catalog.meta(RECORD_KEY)
    except (sqlite3.DatabaseError, OSError):
        return ""


def _check_not_emptied(vault: Path, folder: Path) -> None:
    """Raise VaultEmptiedError if the index in `folder`, about to be discarded for an empty vault, holds notes."""
    try:
        with closing(Catalog.open_to_read(folder)) as catalog:
            notes, _ = catalog.count_notes_and_fragments()
    except sqlite3.DatabaseError:
        return  # there are no notes to lose
    if notes:
        raise VaultEmptiedError(str(vault), notes)


def _describe_remedy(error: OSError | sqlite3.DatabaseError) -> str:
    if _describe_error(error) == _DISK_FULL:
        return "Free disk space there"
    refused = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)
    if isinstance(error, OSError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in refused:
        return "Allow excerpt to write to that folder"
    return "Try again. If that fails too, remove the folder: excerpt rebuilds the index from the vault"


def _describe_error(error: OSError | sqlite3.DatabaseError) -> str:
    if isinstance(error, sqlite3.DatabaseError):
        return _DISK_FULL if getattr(error, "sqlite_errorcode", 0) in DISK_FULL_CODES else str(error)
    if isinstance(error, FileExistsError | NotADirectoryError):
        return "a file has the name of the index folder"
    return _DISK_FULL if error.errno == errno.ENOSPC else error.strerror or str(error)


@contextmanager
def _lock_index(folder: Path, vault: Path, wait: float) -> Iterator[None]:
    """Hold the build's lock of the index folder for a block; the system releases it if the process dies.

    Raises IndexBusyError if another process still holds the lock after `wait` seconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / LOCK_FILE
    if lock.is_symlink() or (lock.exists() and not lock.is_dir() and not lock.is_file()):
        lock.unlink(missing_ok=True)
    elif lock.is_dir():
        shutil.rmtree(lock)
    try:
        with file_lock(lock, wait):
            _remove_wrong_entries(folder)
            yield
    except Timeout as error:
        raise IndexBusyError(
            f"Another excerpt process is indexing {vault.name} and has not finished within {wait:g} s.",
            "Wait until that process ends, or close it. Then try again. Searches use the notes that it has indexed.",
        ) from error


def _remove_wrong_entries(folder: Path) -> None:
    """Remove what is not a regular file from the index folder, except for its known subfolders.

    Raises OSError.
    """
    folders = {folder / name for name in (REBUILD_FOLDER, EMBEDDINGS_FOLDER, lexical.WORDS_FOLDER)}
    for path in (*folder.glob("*"), *folder.glob(f"{lexical.WORDS_FOLDER}/*")):
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
