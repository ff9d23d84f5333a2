"""One build: what was found in the vault is compared with what is known, and the difference committed in batches."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from excerpt.errors import VaultEmptiedError
from excerpt.index.prepare import Prepared, Recipe, Task
from excerpt.index.rows import GivenUp, KnownNote
from excerpt.index.telling import Telling
from excerpt.index.workers import Workers
from excerpt.index.writer import IndexWriter
from excerpt.model import BuildReport, Skipped
from excerpt.settings import VaultSettings
from excerpt.vault.scan import FileState, Scan, scan

# The first batch is there within a second or two, so that there is something to search; later ones grow, as each is a
# segment, a sync and a new snapshot for every reader. The largest bounds the memory that a batch takes (about ten
# times its text) and is what 8,000 fragments of 250 words make.
_FIRST_NOTES = 64
_FIRST_SECONDS = 1.0
_GROWTH = 4
_FIRST_BYTES = 500_000
_MOST_BYTES = 8_000_000


# Two writes of the same size within a tick of the file system's clock leave the same time: 4 ms on Linux's own, 1 s on
# some shares, 2 s on memory cards (FAT). As git does, what was so new when it was looked at is compared by content.
_TICK_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """What a scan found that began at `began_ns` (since 1970). `only` are the paths that it was limited to, None if it
    was of the whole vault; `accept_empty` says that a vault without notes is so on purpose."""

    scan: Scan
    only: Collection[str] | None
    accept_empty: bool
    began_ns: int

    @classmethod
    def in_vault(cls, vault: Path, settings: VaultSettings, only: Collection[str] | None, accept_empty: bool) -> Found:
        """Scan now. Raises VaultError."""
        began = time.time_ns()
        return cls(scan(vault, settings, only), only, accept_empty, began)


@dataclass(slots=True)
class _Done:
    added: int = 0
    changed: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    given_up: dict[str, GivenUp] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Means:
    """What builds of one vault are done with, each time."""

    vault: Path
    recipe: Recipe
    workers: Workers
    telling: Telling


def bring_up_to_date(writer: IndexWriter, found: Found, means: Means) -> BuildReport:
    """Commit the difference between what was found and what `writer` knows of it.

    Raises VaultEmptiedError, having changed nothing, and BuildCancelled.
    """
    return _Update(writer, means).run(found)


class _Update:
    def __init__(self, writer: IndexWriter, means: Means) -> None:
        self._writer, self._means = writer, means
        self._recipe, self._telling = means.recipe, means.telling
        self._done = _Done()

    def run(self, found: Found) -> BuildReport:
        telling, catalog = self._telling, self._writer.catalog
        telling.generation = catalog.generation
        known = catalog.known_notes(found.only)
        if not found.scan.files and known and not found.accept_empty and len(known) == catalog.counts()[0]:
            raise VaultEmptiedError(str(self._means.vault), len(known))
        telling.phase = "mending"
        self._writer.mend()
        removed = self._commit_all(found, known)
        self._writer.finish(self._done.skipped, found.only, self._done.given_up)
        self._remember_when(found)
        telling.phase = "done"
        telling.tell()
        return self._report(removed)

    def _remember_when(self, found: Found) -> None:
        """Remember when all files were looked at, if there is one that this says something about."""
        newest = max((_changed_ns(file) for file in found.scan.files), default=0)
        if found.only is None and newest >= self._sure_before():
            self._writer.catalog.set_meta("looked", str(found.began_ns))

    def _sure_before(self) -> int:
        """A file of this time or later may have changed again since it was looked at, and be of that time still."""
        return int(self._writer.catalog.meta("looked") or 0) - _TICK_NS

    def _commit_all(self, seen: Found, known: dict[str, KnownNote]) -> int:
        """Commit what is new, changed or gone; returns how many notes were removed."""
        found = seen.scan
        tasks = self._not_given_up(_tasks(seen, known, self._recipe.cut, self._sure_before()))
        if any(note.cut != self._recipe.cut for note in known.values()):
            self._writer.rebuilt.append("all notes, from the vault: they are cut or stemmed differently now")
        there = {file.path for file in found.files}
        gone = [path for path in known if path not in there]
        self._done.skipped += found.skipped
        telling = self._telling
        telling.notes_total, telling.bytes_total = len(tasks), sum(task.size for task in tasks)
        telling.phase = "reading"
        for batch in self._batches(tasks):
            self._commit(batch, gone, known)
            gone = []
        if gone or not self._writer.catalog.generation:
            self._commit([], gone, known)
        # A file that was a note and now cannot be read is no longer found; the last good text would be a lie.
        unreadable = [one.path for one in self._done.skipped if one.path in known and one.path in there]
        if unreadable:
            self._commit([], unreadable, known)
        return len(known.keys() - there) + len(unreadable)

    def _not_given_up(self, tasks: Sequence[Task]) -> list[Task]:
        """Those that did not take too much before, just as they are now; the others are skipped again, untried."""
        before = self._writer.catalog.given_up()
        tried = []
        for task in tasks:
            one = before.get(task.path)
            now = (task.size, task.mtime_ns, task.ctime_ns, self._recipe.cut)
            if one and (one.size, one.mtime_ns, one.ctime_ns, one.cut) == now:
                self._done.given_up[task.path] = one
                self._done.skipped.append(Skipped(task.path, one.reason))
            else:
                tried.append(task)
        return tried

    def _batches(self, tasks: Sequence[Task]) -> Iterator[list[Prepared]]:
        sizes = {task.path: task.size for task in tasks}
        batch: list[Prepared] = []
        limit, first, began = _FIRST_BYTES, True, time.monotonic()
        size = notes = 0
        for prepared in self._means.workers.prepare(self._recipe, tasks, self._telling.tick_between):
            batch.append(prepared)
            paths = [note.path for note in prepared.notes]
            paths += [task.path for task in prepared.same] + [one.path for one in prepared.skipped]
            self._telling.notes_done += len(paths)
            self._telling.bytes_done += sum(sizes[path] for path in paths)
            self._telling.skipped += len(prepared.skipped)
            self._done.skipped += prepared.skipped
            reasons = {one.path: one.reason for one in prepared.skipped}
            for task in prepared.given_up:
                reason = reasons[task.path]
                one = GivenUp(task.size, task.mtime_ns, task.ctime_ns, self._recipe.cut, reason)
                self._done.given_up[task.path] = one
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
        self._writer.commit([*gone, *changed], batch)
        self._done.changed += len(changed)
        self._done.added += len(paths) - len(changed)
        self._telling.generation = self._writer.catalog.generation
        self._telling.tell()

    def _report(self, removed: int) -> BuildReport:
        catalog, done = self._writer.catalog, self._done
        notes, fragments = catalog.counts()
        return BuildReport(
            generation=catalog.generation,
            added=done.added,
            changed=done.changed,
            removed=removed,
            unchanged=notes - done.added - done.changed,
            fragments=fragments,
            embedded=self._writer.embedded,
            skipped=catalog.remarks(skipped=True),
            warnings=catalog.remarks(skipped=False),
            seconds=self._telling.seconds,
            rebuilt="; ".join(self._writer.rebuilt),
        )


def _tasks(found: Found, known: dict[str, KnownNote], cut: str, sure_before: int) -> list[Task]:
    """Files that are new, may have changed or are known otherwise than `cut`, the most recently modified first. One
    that was named may have changed whatever its size and times say."""
    named = frozenset(found.only or ())
    tasks = []
    for file in found.scan.files:
        note = known.get(file.path)
        if note is None or note.cut != cut:
            tasks.append(Task(file.path, file.size, file.mtime_ns, file.ctime_ns))
        elif (
            (note.size, note.mtime_ns, note.ctime_ns) != (file.size, file.mtime_ns, file.ctime_ns)
            or _changed_ns(file) >= sure_before
            or file.path in named
        ):
            tasks.append(Task(file.path, file.size, file.mtime_ns, file.ctime_ns, note.digest))
    return sorted(tasks, key=lambda task: (-task.mtime_ns, task.path))


def _changed_ns(file: FileState) -> int:
    """When a file was changed last, by the later of its times."""
    return max(file.mtime_ns, file.ctime_ns)
