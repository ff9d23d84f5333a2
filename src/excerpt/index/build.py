"""Bring a vault's index up to date: what changed since the last build is read, the rest is left alone.

A file counts as unchanged if its size and times are the known ones (it is not opened), or else if its content's digest
is. Changed and new files are committed in batches, the most recently modified first; each batch is a generation that
can be searched while the next is prepared. Killed at any point, the last generation stands and the next build goes on
from there: what was committed is known by then.
"""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from excerpt.errors import IndexBusyError, IndexUnusableError, VaultEmptiedError
from excerpt.index import anew, lexical, moves
from excerpt.index.catalog import FULL, Catalog, is_damage
from excerpt.index.control import Control
from excerpt.index.prepare import Recipe, Task, prepare
from excerpt.index.telling import OnProgress, Telling
from excerpt.index.updating import Found, Means, bring_up_to_date
from excerpt.index.workers import Workers
from excerpt.index.writer import LOCK, IndexWriter, discard
from excerpt.model import BuildReport
from excerpt.settings import Settings, open_vault
from excerpt.state_files import LOCK_MODE

# To look at so many paths alone costs about what a scan of ten thousand files does.
_MOST_PATHS = 500


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
    """Make the index in `folder` show the vault as it is now, once; arguments and errors are those of `Updater`."""
    with closing(Updater(vault, folder, settings, progress, control)) as updater:
        return updater.update(rebuild=rebuild, accept_empty=accept_empty, wait=wait)


class Updater:
    """Makes the index in `folder` show the vault as it is, as often as it is asked to.

    Between two updates it keeps the index open, and does not check again what it has checked or written itself, unless
    another process has committed meanwhile. Its methods may be called from any one thread; `control` pauses and
    cancels from another.
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
        notes = settings.vault
        self._recipe = Recipe(vault, settings.pack.tokenizer, notes.max_bytes, notes.language)
        control = control or Control()
        self._telling = Telling(progress, control)
        self._workers = Workers(held=lambda: control.paused)
        self._means = Means(vault, self._recipe, self._workers, self._telling)
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
        """Make the index show the vault as it is now; if `paths` names files and folders (relative, with "/"), look
        at these and what they hold alone. `rebuild` starts from nothing; `accept_empty` says that a vault without
        notes is so on purpose.

        Raises VaultError if the vault cannot be listed and VaultEmptiedError if it has lost all of its notes, both
        with the index as it was; IndexBusyError if another process still writes this index after `wait` seconds,
        IndexUnusableError if the folder cannot be written, ModelError and SettingsError if the model or the tokenizer
        named in the settings cannot be used, BuildCancelled.
        """
        open_vault(self._vault)
        only = None if rebuild or paths is None or len(paths) > _MOST_PATHS else paths
        try:
            with _told_plainly(self._folder), _locked(self._folder, self._vault, wait):
                report = self._update(only, rebuild, accept_empty)
                self._generation = report.generation
                return report
        except BaseException:
            self.close()  # what it holds may be of a generation that was not committed
            raise
        finally:
            self._workers.close()  # they hold as much memory as the rest, and are needed for many files alone

    def close(self) -> None:
        """Let go of the index; the next update opens it again."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def is_there(self) -> bool:
        """Whether the index that is kept open still stands in its folder; True if none is open."""
        return self._writer is None or self._writer.is_there()

    def warm(self) -> None:
        """Load what the next changed note takes, by taking one apart, so that it need not wait for it."""
        if self._writer is None:
            return
        self._writer.embedder.embed(["text"])
        smallest = self._writer.catalog.rows("SELECT path, size, mtime_ns, ctime_ns FROM notes ORDER BY size LIMIT 1")
        prepare(self._recipe, [Task(*note) for note in smallest])

    def _update(self, only: Collection[str] | None, rebuild: bool, accept_empty: bool) -> BuildReport:
        self._telling.begin()
        if self._writer is not None:
            self._writer.begin()
        found = Found.in_vault(self._vault, self._settings.vault, only, accept_empty)
        if rebuild:
            if not found.scan.files and not accept_empty:
                _refuse_emptied(self._vault, self._folder)
            if generation := anew.answering(self._folder):
                self._telling.answering = generation
                return self._rebuild(found)
            self._discard()
        anew.clear(self._folder)
        try:
            return self._bring_up_to_date(found)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            reason = f"everything, from the vault: the catalog is damaged ({error})"
            self._discard().rebuilt.append(reason)
            return self._bring_up_to_date(found)

    def _bring_up_to_date(self, found: Found) -> BuildReport:
        writer = self._opened()
        if found.only is not None and not writer.catalog.generation:
            found = Found.in_vault(self._vault, self._settings.vault, None, found.accept_empty)
        return bring_up_to_date(writer, found, self._means)

    def _opened(self) -> IndexWriter:
        if self._writer is not None and not self._writer.is_current():
            self.close()
        if self._writer is None:
            # If the folder was deleted meanwhile, a reader of what was there must see that this is newer.
            after = self._generation
            self._writer = IndexWriter(self._folder, self._vault, self._settings, self._telling.tick, after=after)
        return self._writer

    def _rebuild(self, found: Found) -> BuildReport:
        """Make an index from nothing, and only then put it in the place of the one there is."""
        self.close()
        known, after = _known_moves(self._folder), lexical.last_generation(self._folder)
        beside = anew.begin(self._folder)
        with closing(IndexWriter(beside, self._vault, self._settings, self._telling.tick, after=after)) as writer:
            if known is not None:
                moves.restore(writer.catalog, known)
            report = bring_up_to_date(writer, found, self._means)
            anew.take_place(writer.catalog, self._folder)
        anew.clear(self._folder)
        return report

    def _discard(self) -> IndexWriter:
        """Begin an index from nothing but what tells which notes have moved."""
        self.close()
        known = _known_moves(self._folder)
        after = discard(self._folder)
        self._writer = IndexWriter(self._folder, self._vault, self._settings, self._telling.tick, after=after)
        if known is not None:
            moves.restore(self._writer.catalog, known)
        return self._writer


def _known_moves(folder: Path) -> moves.Known | None:
    """What an index that is about to be discarded knows of moves, None if it cannot be read."""
    try:
        with closing(Catalog.open_to_read(folder)) as catalog:
            return moves.kept_for_rebuild(catalog)
    except (sqlite3.DatabaseError, OSError):
        return None


def _refuse_emptied(vault: Path, folder: Path) -> None:
    """Raise VaultEmptiedError if an index that is about to be discarded holds notes."""
    try:
        with closing(Catalog.open_to_read(folder)) as catalog:
            notes, _ = catalog.counts()
    except sqlite3.DatabaseError:
        return  # none that could be lost
    if notes:
        raise VaultEmptiedError(str(vault), notes)


@contextmanager
def _told_plainly(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.DatabaseError) as error:
        raise IndexUnusableError(
            f"The index in {folder} cannot be written: {_reason(error)}.",
            "Make room or give permission there, or set EXCERPT_HOME to another place; the last generation stands.",
        ) from error


def _reason(error: OSError | sqlite3.DatabaseError) -> str:
    if isinstance(error, sqlite3.DatabaseError):
        return "the disk is full" if getattr(error, "sqlite_errorcode", 0) in FULL else str(error)
    if isinstance(error, FileExistsError | NotADirectoryError):
        return "a file stands where its folder should be"
    return "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)


@contextmanager
def _locked(folder: Path, vault: Path, wait: float) -> Iterator[None]:
    """Hold the folder's lock. The system takes it back when its holder dies, however that happens."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / LOCK).is_dir():
        shutil.rmtree(folder / LOCK)
    try:
        with FileLock(folder / LOCK, timeout=wait, mode=LOCK_MODE):
            _make_way(folder)
            yield
    except Timeout as error:
        raise IndexBusyError(
            f"Another excerpt is indexing {vault.name} and has not finished within {wait:g} s.",
            "Wait for it or close it, then try again; what it has committed can be searched meanwhile.",
        ) from error


def _make_way(folder: Path) -> None:
    """Remove folders from where files belong, and files from where folders do: neither can be written over."""
    folders = {folder / name for name in (anew.FOLDER, lexical.FOLDER)}
    for path in (*folder.glob("*"), *folder.glob(f"{lexical.FOLDER}/*")):
        if path in folders and path.is_file():
            path.unlink()
        elif path not in folders and path.is_dir():
            shutil.rmtree(path)
