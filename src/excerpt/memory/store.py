"""The store of memories: one folder of Markdown files that belong to the user."""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

from filelock import Timeout

from excerpt.errors import MemoryUnusableError, ReadError
from excerpt.memory.memory_file import name_id, normalise_memory, now, parse_memory, render_memory
from excerpt.memory.words import SearchableMemory, searchable, word_matcher
from excerpt.model import FileProblem, Memory, Source
from excerpt.state_files import file_lock, read_limited, replace_file, sync_folder, write_fresh

TRASH = "trash"
"""Folder, inside the memory folder, of forgotten memories and replaced versions. excerpt never empties it."""

_LOCK_SECONDS = 10.0
_SLUG_CHARS = 40
_STAMP = re.compile(r"\.\d{8}T\d{12}Z(?=\.md$)")


@dataclass(frozen=True, slots=True)
class CopiedMemory:
    """A file with the id of another: a copy made by hand, or by a sync tool after a conflict.

    It is used under `id` instead of the id in the file, `of`.
    """

    path: str
    of: str
    id: str


@dataclass(frozen=True, slots=True)
class LoadedMemories:
    """The content of the folder: `memories`, newest first, unreadable files, and which memories are copies."""

    memories: tuple[Memory, ...]
    unreadable: tuple[FileProblem, ...]
    copies: tuple[CopiedMemory, ...] = ()


Stamp = tuple[int, int, int]
"""Modification time (ns), size and inode of a file, by which a change is detected."""

# Two writes of the same size within a tick of the file system's clock have the same time: 4 ms on local file systems of
# Linux, 1 s on some shares, 2 s on memory cards (FAT). A file that was newer than that when it was read is read again.
_TICK_NS = 2_000_000_000
_MAX_BYTES = 16_000_000  # of one memory's file


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A memory as its file was last read; a new object whenever the file's content changes.

    `is_sure` is true if any later change would show in the file's stamp.
    """

    stamp: Stamp
    is_sure: bool
    memory: Memory
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A file that could not be read as a memory, with the same stamp as `LoadedFile`."""

    stamp: Stamp
    is_sure: bool
    reason: str


@dataclass(frozen=True)
class Contents:
    """The content of the folder when it was read; the same object as long as nothing changes.

    `files` are by name (relative to the folder, with "/"), `ids` by the memories' ids, newest first.
    """

    files: Mapping[str, LoadedFile | UnreadableFile]
    ids: Mapping[str, tuple[str, LoadedFile]]

    @cached_property
    def loaded(self) -> LoadedMemories:
        """All memories, the unreadable files, and the copies."""
        memories = tuple(entry.memory for _, entry in self.ids.values())
        unreadable = sorted(
            (name, entry.reason) for name, entry in self.files.items() if isinstance(entry, UnreadableFile)
        )
        stated_ids = {name: entry.memory.id for name, entry in self.files.items() if isinstance(entry, LoadedFile)}
        copies = (
            CopiedMemory(name, stated_ids[name], own) for own, (name, _) in self.ids.items() if stated_ids[name] != own
        )
        return LoadedMemories(memories, tuple(FileProblem(*each) for each in unreadable), tuple(copies))

    @cached_property
    def by_name(self) -> Mapping[str, Memory]:
        """The memories by the names of their files."""
        return {name: entry.memory for name, entry in self.ids.values()}

    def with_words(self, words: str, memories: Sequence[Memory]) -> list[Memory]:
        """Return those of `memories` that have all `words`, in the same order.

        The last word may be a prefix.
        """
        read = [self._searchable[memory.id] for memory in memories]
        matches = word_matcher(words, [each.language for each in read])
        return [memory for memory, each in zip(memories, read, strict=True) if matches(each)]

    @cached_property
    def _searchable(self) -> Mapping[str, SearchableMemory]:
        return {memory_id: searchable(entry.memory) for memory_id, (_, entry) in self.ids.items()}


class MemoryStore:
    """The memories of one vault, in `folder`, which is created with the first memory.

    Used from one thread at a time. Files changed, added or removed by hand or by another process are read at the next
    call. Every write is atomic, and what it replaces goes to the trash folder. Raises MemoryUnusableError if the folder
    cannot be read or written, or an id does not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._contents = Contents({}, {})

    def remember(
        self, text: str, tags: Sequence[str] = (), why: str = "", source: Source | None = None, query: str = ""
    ) -> Memory:
        """Save `text` as a new memory. It is on disk when this returns."""
        if not text.strip():
            raise MemoryUnusableError("There is no text to remember.", "Select a fragment or type a thought.")
        snapshot_time = now()
        with self._writing():
            while True:
                identity = "m" + secrets.token_hex(5)
                memory = normalise_memory(
                    Memory(identity, text, tuple(tags), why, snapshot_time, snapshot_time, source, query)
                )
                name = f"{snapshot_time[:10]}-{_slug(memory.text)}-{identity}.md"
                if _write_new(self.folder / name, render_memory(memory)):
                    return memory

    def all(self) -> LoadedMemories:
        """Return every memory, newest first, and every unreadable file with the reason."""
        return self.contents().loaded

    def tags(self) -> tuple[tuple[str, int], ...]:
        """Return the tags in use with the number of memories that have each, most used first."""
        counted = Counter(tag for memory in self.all().memories for tag in memory.tags)
        return tuple(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    def get(self, memory_id: str) -> Memory:
        """Return the memory with this id. Raises MemoryUnusableError if there is none."""
        return self._find(memory_id)[1].memory

    def update(self, memory: Memory) -> Memory:
        """Replace the memory with the id of `memory`, and return the new one. The old one goes to the trash folder."""
        return self.change(memory.id, lambda _: memory)

    def change(self, memory_id: str, change: Callable[[Memory], Memory]) -> Memory:
        """Update a memory with the result of `change`, which gets its present state.

        So no change of another process is undone. If `change` raises, nothing is changed.
        """
        with self._writing():
            self._give_ids()
            name, entry = self._find(memory_id)
            memory = entry.memory
            changed = normalise_memory(
                replace(change(memory), id=memory.id, created=memory.created, updated=memory.updated)
            )
            if changed == memory:
                return changed
            changed = replace(changed, updated=now())
            file = self.folder / name
            _write_new(self._trash_name(name), file.read_bytes())
            replace_file(file, render_memory(changed, (memory, entry.metadata)), lasting=True)
            return changed

    def forget(self, memory_id: str) -> Memory:
        """Move a memory to the trash folder, and return it. `restore` brings it back. Copies of it stay."""
        with self._writing():
            self._give_ids()
            name, entry = self._find(memory_id)
            _move(self.folder / name, self._trash_name(name))
            return entry.memory

    def restore(self, memory_id: str) -> Memory:
        """Restore the memory that was last forgotten under `memory_id`."""
        with self._writing():
            self._give_ids()
            if memory_id in self.contents().ids:
                raise MemoryUnusableError(f"Memory {memory_id} has not been forgotten.")
            for file in self._trash_files():
                name = _STAMP.sub("", file.relative_to(self.folder / TRASH).as_posix())
                try:
                    memory, _ = parse_memory(file.read_bytes(), name, file.stat().st_mtime)
                except ReadError:
                    continue
                if memory.id == memory_id:
                    _move(file, _free(self.folder / name))
                    return memory
        raise MemoryUnusableError(f"There is no memory {memory_id or repr(memory_id)} in {self.folder / TRASH}.")

    def contents(self) -> Contents:
        """Return the present content of the folder, reading only changed files."""
        before = self._contents.files
        try:
            files = {name: _reload(self.folder, name, state, before.get(name)) for name, state in _files(self.folder)}
        except OSError as error:
            raise MemoryUnusableError(f"{self.folder} cannot be read: {error.strerror}.") from error
        if len(files) != len(before) or any(before.get(name) is not loaded for name, loaded in files.items()):
            self._contents = Contents(files, _by_id(files))
        return self._contents

    def _give_ids(self) -> None:
        """Write its own id into each copy, before the memory with the shared id is forgotten or restored."""
        for copied in self.contents().loaded.copies:
            name, entry = self._find(copied.id)
            file = self.folder / name
            _write_new(self._trash_name(name), file.read_bytes())
            replace_file(
                file, render_memory(entry.memory, (replace(entry.memory, id=copied.of), entry.metadata)), lasting=True
            )

    def _find(self, memory_id: str) -> tuple[str, LoadedFile]:
        entry = self.contents().ids.get(memory_id)
        if entry is None:
            raise MemoryUnusableError(
                f"There is no memory {memory_id or repr(memory_id)}.", "List all memories: excerpt recall"
            )
        return entry

    def _trash_files(self) -> list[Path]:
        """Return the files in the trash, most recently trashed first."""
        trash = self.folder / TRASH
        files = [trash / name for name, state in _files(trash) if stat.S_ISREG(state.st_mode)]
        return sorted(files, key=lambda file: ((_STAMP.search(file.name) or [""])[0], file.name), reverse=True)

    def _trash_name(self, name: str) -> Path:
        """Return a free name in the trash that contains the time in microseconds, so that names sort by time."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
        return _free((self.folder / TRASH / name).with_suffix(f".{stamp}.md"))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock for writing: one writer at a time, across processes. It is released if the process dies."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with file_lock(self.folder / ".lock", _LOCK_SECONDS):
                yield
        except Timeout as error:
            raise MemoryUnusableError(
                f"Another excerpt has been writing to {self.folder} for {_LOCK_SECONDS:.0f} seconds.", "Try again."
            ) from error
        except OSError as error:
            hint = "The memories are unchanged. Check the disk's space and permissions."
            raise MemoryUnusableError(f"{self.folder} cannot be written: {error.strerror}.", hint) from error


def _files(folder: Path, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Yield the names of Markdown files in and under `folder`, and of links to folders, each with its own state.

    A missing folder counts as empty; hidden names and the trash are left out; links are not followed.
    """
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            name = f"{below}{entry.name}"
            if entry.name.startswith(".") or name == TRASH:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path), f"{name}/")
            elif entry.is_dir() or (entry.name.endswith(".md") and (entry.is_file() or entry.is_symlink())):
                yield name, entry.stat(follow_symlinks=False)


def _reload(
    folder: Path, name: str, state: os.stat_result, before: LoadedFile | UnreadableFile | None
) -> LoadedFile | UnreadableFile:
    """Return the file as it is now: `before` itself if its content is the same."""
    stamp = (state.st_mtime_ns, state.st_size, state.st_ino)
    if before is not None and before.stamp == stamp and before.is_sure:
        return before
    is_sure = abs(time.time_ns() - stamp[0]) > _TICK_NS
    if stat.S_ISLNK(state.st_mode):
        loaded: LoadedFile | UnreadableFile = UnreadableFile(stamp, is_sure, _link_reason(folder, name))
    else:
        loaded = _read_file(folder, name, stamp, is_sure)
    if before is None or is_sure or replace(loaded, stamp=before.stamp, is_sure=before.is_sure) != before:
        return loaded
    return before


def _read_file(folder: Path, name: str, stamp: Stamp, is_sure: bool) -> LoadedFile | UnreadableFile:
    try:
        data = read_limited(folder / name, _MAX_BYTES)
        memory, metadata = parse_memory(data, name, stamp[0] / 1e9)
    except OSError as error:
        return UnreadableFile(stamp, is_sure, f"It cannot be read: {error.strerror}.")
    except ReadError as error:
        return UnreadableFile(stamp, is_sure, str(error))
    return LoadedFile(stamp, is_sure, memory, metadata)


def _link_reason(folder: Path, name: str) -> str:
    """Return why a link is not followed, in the words that the scan of a vault uses."""
    target = Path(os.path.realpath(folder / name))
    if not target.is_relative_to(os.path.realpath(folder)):
        return "It is a link out of the folder of memories."
    if not target.exists():
        return "It is a link to nothing."
    return "It is a link within the folder of memories; its target is listed itself."


def _by_id(read: Mapping[str, LoadedFile | UnreadableFile]) -> dict[str, tuple[str, LoadedFile]]:
    """Return memories by id, newest first.

    Of two files with the same id (one is a copy), the one named after the id keeps it, and the other gets an id made of
    its name.
    """
    entries = sorted(((name, file) for name, file in read.items() if isinstance(file, LoadedFile)), key=itemgetter(0))
    by_id = {file.memory.id: (name, file) for name, file in entries}
    if len(by_id) < len(entries):
        by_id = _split_files(entries)
    newest = sorted(by_id.items(), key=lambda item: item[1][0])
    newest.sort(key=lambda item: item[1][1].memory.created, reverse=True)
    return dict(newest)


def _split_files(entries: Sequence[tuple[str, LoadedFile]]) -> dict[str, tuple[str, LoadedFile]]:
    # Sync tools add text after the id or before the whole name: "… (conflicted copy).md", "Copy of ….md".
    def rank(entry: tuple[str, LoadedFile]) -> tuple[bool, bool, int, str]:
        name, identity = entry[0], entry[1].memory.id
        return not name.endswith(f"{identity}.md"), identity not in name, len(name), name

    by_id: dict[str, tuple[str, LoadedFile]] = {}
    copies: list[tuple[str, LoadedFile]] = []
    for name, file in sorted(entries, key=rank):
        if file.memory.id in by_id:
            copies.append((name, file))
        else:
            by_id[file.memory.id] = (name, file)
    for name, file in copies:
        identity = name_id(name)
        while identity in by_id:
            identity = name_id(identity)
        by_id[identity] = (name, replace(file, memory=replace(file.memory, id=identity)))
    return by_id


def _slug(text: str) -> str:
    """Return the first words of `text` as part of a file name."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text[:400]).lower())
    slug = ""
    for word in words:
        if slug and len(slug) + 1 + len(word) > _SLUG_CHARS:
            break
        slug = f"{slug}-{word}" if slug else word[:_SLUG_CHARS]
    return slug or "memory"


def _free(file: Path) -> Path:
    """Return `file`, or the first numbered name like it that does not exist."""
    free, number = file, 2
    while free.exists():
        free, number = file.with_stem(f"{file.stem}~{number}"), number + 1
    return free


def _write_new(file: Path, data: bytes) -> bool:
    """Write a file that does not exist yet, atomically; return False if its name is taken.

    The temporary name is claimed first (O_EXCL), then the final one is checked: of two processes with the same name one
    finds either the temporary or the final file of the other.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.new")
    try:
        write_fresh(temporary, data, lasting=True)
    except FileExistsError:
        return False
    if file.exists():
        temporary.unlink()
        return False
    temporary.replace(file)
    sync_folder(file.parent)
    return True


def _move(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    file.replace(target)
    sync_folder(target.parent)
    sync_folder(file.parent)
