"""The store of memories: one folder of Markdown files that belong to the user."""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

from filelock import Timeout
from msgspec import Struct, structs

from excerpt.base.errors import MemoryUnusableError, ReadError
from excerpt.base.model import FileProblem, Memory
from excerpt.base.patterns import lazy_pattern
from excerpt.base.state_files import create_file, file_lock, read_limited, replace_file, sync_folder
from excerpt.memory.memory_file import (
    derive_id_from_name,
    format_current_time,
    normalise_memory,
    parse_memory,
    render_memory,
    replace_shown_text,
    without_comments,
)
from excerpt.memory.words import SearchableMemory, build_searchable, build_word_matcher

TRASH = "trash"
"""The folder, inside the memory folder, of forgotten memories and replaced versions. excerpt never empties it."""

_LOCK_SECONDS = 10.0
_SLUG_CHARS = 40
_TRASH_TIME = lazy_pattern(r"\.\d{8}T\d{12}Z(?=\.md$)")


@dataclass(frozen=True, slots=True)
class CopiedMemory:
    """A file that states the id of another memory: a copy made by hand, or by a sync tool after a conflict.

    `of` is the id that the file states. The program uses the file's memory under another id, `id`.
    """

    path: str
    of: str
    id: str


@dataclass(frozen=True, slots=True)
class LoadedMemories:
    """The current memories of a folder, newest first, its unreadable files, and the memories that are copies.

    `replaced` are the memories that another one replaces, newest first; they are not among `memories`.
    """

    memories: tuple[Memory, ...]
    unreadable: tuple[FileProblem, ...]
    copies: tuple[CopiedMemory, ...] = ()
    replaced: tuple[Memory, ...] = ()


Stamp = tuple[int, int, int]
"""A file's modification time (ns), size and inode, by which changes of the file are detected."""

# Two writes of the same size within a tick of the file system's clock have the same time: 4 ms on local file systems of
# Linux, 1 s on some shares, 2 s on memory cards (FAT). A file that was newer than that when it was read is read again.
_CLOCK_TICK_NS = 2_000_000_000
MAX_BYTES = 16_000_000  # of one memory's file


class LoadedFile(Struct, frozen=True):
    """A memory file as last read; a new object whenever the file's content changes.

    `is_file_time_reliable` is false if the file was so new when read that a later change may leave `stamp` the same.
    `metadata` is the whole frontmatter.
    """

    stamp: Stamp
    is_file_time_reliable: bool
    memory: Memory
    metadata: dict[str, Any]


class UnreadableFile(Struct, frozen=True):
    """A file that could not be read as a memory; `stamp` and `is_file_time_reliable` are as in `LoadedFile`."""

    stamp: Stamp
    is_file_time_reliable: bool
    reason: str


@dataclass(frozen=True)
class FolderContents:
    """The content of the memory folder when it was last read; the same object as long as no file changes.

    `files` maps names (paths relative to the folder, with "/") to files. `files_by_id` maps ids of memories to names
    and files, newest memory first. With `shows_comments`, the texts of shown memories include their comments.
    """

    files: Mapping[str, LoadedFile | UnreadableFile]
    files_by_id: Mapping[str, tuple[str, LoadedFile]]
    shows_comments: bool = False

    @cached_property
    def shown(self) -> Mapping[str, Memory]:
        """The memories by their ids, newest first, without comments unless they are shown."""
        return {memory_id: self.as_shown(entry.memory) for memory_id, (_, entry) in self.files_by_id.items()}

    @cached_property
    def replaced_ids(self) -> frozenset[str]:
        """The ids of the memories that a current memory replaces, itself or through others.

        A memory whose replacement was forgotten is current, and so are those that replace each other in a circle.
        """
        replaced_by_id: dict[str, list[str]] = {}
        current: list[str] = []
        for memory_id, (_, entry) in self.files_by_id.items():
            by = entry.memory.replaced_by
            (replaced_by_id.setdefault(by, []) if by in self.files_by_id else current).append(memory_id)
        replaced: set[str] = set()
        while current:
            older = replaced_by_id.get(current.pop(), ())
            replaced.update(older)
            current.extend(older)
        return frozenset(replaced)

    def as_shown(self, memory: Memory) -> Memory:
        """Return `memory` without comments unless they are shown, and without a replacement that was forgotten."""
        shown = memory if self.shows_comments else without_comments(memory)
        if not memory.replaced_by or memory.id in self.replaced_ids:
            return shown
        return replace(shown, replaced_by="", replaced_at="")

    def replace_text(self, memory: Memory, text: str) -> Memory:
        """Return the whole `memory` with another text, and with the comments that are not shown; nothing is saved."""
        return replace(memory, text=text) if self.shows_comments else replace_shown_text(memory, text)

    def find(self, memory_id: str) -> tuple[str, LoadedFile]:
        """Return the name and the file of a memory. Raises MemoryUnusableError if there is none."""
        entry = self.files_by_id.get(memory_id)
        if entry is None:
            raise MemoryUnusableError(
                f"There is no memory {memory_id or repr(memory_id)}.", "List all memories with `excerpt recall`."
            )
        return entry

    @cached_property
    def loaded(self) -> LoadedMemories:
        """The current memories, the replaced ones, the unreadable files, and the memories that are copies."""
        memories = tuple(memory for memory in self.shown.values() if memory.id not in self.replaced_ids)
        replaced = tuple(memory for memory in self.shown.values() if memory.id in self.replaced_ids)
        unreadable = sorted(
            (name, entry.reason) for name, entry in self.files.items() if isinstance(entry, UnreadableFile)
        )
        stated_ids = {name: entry.memory.id for name, entry in self.files.items() if isinstance(entry, LoadedFile)}
        copies = (
            CopiedMemory(name, stated_ids[name], own)
            for own, (name, _) in self.files_by_id.items()
            if stated_ids[name] != own
        )
        problems = tuple(FileProblem(*each) for each in unreadable)
        return LoadedMemories(memories, problems, tuple(copies), replaced)

    @cached_property
    def memories_by_file(self) -> Mapping[str, Memory]:
        """The memories by the names of their files."""
        return {name: self.shown[memory_id] for memory_id, (name, _) in self.files_by_id.items()}

    def with_words(self, words: str, memories: Sequence[Memory]) -> list[Memory]:
        """Return the memories that contain all words of the text `words`, in the same order.

        The last word is a prefix.
        """
        read = [self._searchable[memory.id] for memory in memories]
        matches = build_word_matcher(words, [each.language for each in read])
        return [memory for memory, each in zip(memories, read, strict=True) if matches(each)]

    @cached_property
    def _searchable(self) -> Mapping[str, SearchableMemory]:
        return {memory_id: build_searchable(memory) for memory_id, memory in self.shown.items()}


class MemoryStore(Protocol):
    """Memories of one vault: the user's own, or those that a store shares. Use one from one thread at a time.

    `contents` and `all` return memories as they are shown, which may be without comments. All other methods take and
    return whole memories, so that no change loses a comment. They raise MemoryUnusableError if the memories cannot be
    read or written, or if an id does not exist.
    """

    @property
    def folder(self) -> Path:
        """The folder with a file for each memory, which is indexed for searching."""

    @property
    def shows_comments(self) -> bool:
        """Whether the texts of shown memories have comments."""

    def contents(self) -> FolderContents:
        """Return the present memories; the same object as long as none changes."""

    def all(self) -> LoadedMemories:
        """Return all memories as shown, newest first, with the unreadable files and the reasons."""

    def get(self, memory_id: str) -> Memory:
        """Return the memory with this id."""

    def remember(self, memory: Memory, replaces: Sequence[str] = ()) -> Memory:
        """Save a new memory, and return it with its id. It replaces the memories with the ids `replaces`."""

    def replace_others(self, memory_id: str, replaces: Sequence[str]) -> Memory:
        """Let a memory replace those with the ids `replaces`, and return it."""

    def change(self, memory_id: str, change: Callable[[Memory], Memory]) -> Memory:
        """Replace a memory by `change(memory)`, and return the new memory."""

    def forget(self, memory_id: str, merged_into: str = "") -> Memory:
        """Forget a memory, and return it. `restore` undoes this."""

    def restore(self, memory_id: str) -> Memory:
        """Make a forgotten or replaced memory current again, and return it."""


class FolderMemoryStore:
    """The user's own memories of one vault, as files in `folder`, which is created with the first memory.

    Files changed, added or removed by hand or by another process are read at the next call. Every write is atomic, and
    the replaced version goes to the trash folder.
    """

    def __init__(self, folder: Path, *, shows_comments: bool = False) -> None:
        """Create a store that reads nothing yet; with `shows_comments`, the texts of shown memories have comments."""
        self.folder = folder
        self.shows_comments = shows_comments
        self._contents = FolderContents({}, {}, shows_comments)

    def remember(self, memory: Memory, replaces: Sequence[str] = ()) -> Memory:
        """Save a new memory, and return it with its id; it is then on disk."""
        if not memory.text.strip():
            raise MemoryUnusableError("There is no text to remember.", "Select a fragment or type a thought.")
        with self._write_lock():
            if replaces:
                self._write_ids_of_copies()
                self._check_current(replaces)
            while True:
                identity = "m" + secrets.token_hex(5)
                saved = normalise_memory(replace(memory, id=identity))
                name = memory_file_name(saved, identity)
                # The new file is written last: until then the memories that it replaces are current.
                self._mark_replaced(replaces, identity, saved.created)
                if _write_new(self.folder / name, render_memory(saved)):
                    return saved

    def replace_others(self, memory_id: str, replaces: Sequence[str]) -> Memory:
        """Let a memory replace those with the ids `replaces`, and return it; it is then current."""
        if memory_id in replaces:
            raise MemoryUnusableError(f"Memory {memory_id} cannot replace itself.")
        with self._write_lock():
            self._write_ids_of_copies()
            self.contents().find(memory_id)
            self._check_current(replaces, memory_id)
            self._mark_replaced(replaces, memory_id, format_current_time())
            return self._make_current(memory_id)

    def all(self) -> LoadedMemories:
        """Return all memories as shown, newest first, with the unreadable files and the reasons."""
        return self.contents().loaded

    def get(self, memory_id: str) -> Memory:
        """Return the memory with this id, as on disk. Raises MemoryUnusableError if there is none."""
        _, entry = self.contents().find(memory_id)
        return entry.memory

    def change(self, memory_id: str, change: Callable[[Memory], Memory]) -> Memory:
        """Replace a memory by `change(memory)`, and return the new memory. The old version goes to the trash folder.

        `change` gets the memory as it is on disk, so no change by another process is undone. If `change` raises, the
        memory stays as it is.
        """
        with self._write_lock():
            self._write_ids_of_copies()
            name, entry = self.contents().find(memory_id)
            memory = entry.memory
            changed = normalise_memory(
                replace(change(memory), id=memory.id, created=memory.created, updated=memory.updated)
            )
            if changed == memory:
                return changed
            changed = replace(changed, updated=format_current_time())
            file = self.folder / name
            _write_new(self._trash_name(name), file.read_bytes())
            replace_file(file, render_memory(changed, (memory, entry.metadata)), lasting=True)
            return changed

    def forget(self, memory_id: str, merged_into: str = "") -> Memory:
        """Move a memory to the trash folder, and return it. `restore` undoes this. Copies of the memory's file stay.

        The memories that it replaced are current again, unless it is replaced itself or was merged into another memory.
        """
        with self._write_lock():
            self._write_ids_of_copies()
            name, entry = self.contents().find(memory_id)
            contents = self.contents()
            if successor := merged_into or (entry.memory.replaced_by if memory_id in contents.replaced_ids else ""):
                for other_id, (_, other) in contents.files_by_id.items():
                    if other.memory.replaced_by == memory_id and other_id != successor:
                        self._mark_replaced([other_id], successor, other.memory.replaced_at)
            _move_file(self.folder / name, self._trash_name(name))
            return entry.memory

    def restore(self, memory_id: str) -> Memory:
        """Move the last memory forgotten under `memory_id` back out of the trash folder, and return it.

        A replaced memory becomes current again.
        """
        with self._write_lock():
            self._write_ids_of_copies()
            if memory_id in self.contents().replaced_ids:
                return self._make_current(memory_id)
            if memory_id in self.contents().files_by_id:
                raise MemoryUnusableError(f"Memory {memory_id} was not forgotten, so it cannot be restored.")
            for file in self._trash_files():
                name = _TRASH_TIME.sub("", file.relative_to(self.folder / TRASH).as_posix())
                try:
                    memory, _ = parse_memory(file.read_bytes(), name, file.stat().st_mtime)
                except ReadError:
                    continue
                if memory.id == memory_id:
                    _move_file(file, _find_free_name(self.folder / name))
                    return memory
        raise MemoryUnusableError(f"There is no memory {memory_id or repr(memory_id)} in {self.folder / TRASH}.")

    def contents(self) -> FolderContents:
        """Return the present content of the memory folder; only changed files are read."""
        before = self._contents.files
        try:
            files = {
                name: _reload_file(self.folder, name, state, before.get(name))
                for name, state in _scan_files(self.folder)
            }
        except OSError as error:
            raise MemoryUnusableError(f"{self.folder} cannot be read: {error.strerror}.") from error
        if len(files) != len(before) or any(before.get(name) is not loaded for name, loaded in files.items()):
            self._contents = FolderContents(files, index_by_id(files), self.shows_comments)
        return self._contents

    def _write_ids_of_copies(self) -> None:
        """Write a new id into each copy's file, so that no two files state the same id."""
        for copied in self.contents().loaded.copies:
            name, entry = self.contents().find(copied.id)
            file = self.folder / name
            _write_new(self._trash_name(name), file.read_bytes())
            replace_file(
                file, render_memory(entry.memory, (replace(entry.memory, id=copied.of), entry.metadata)), lasting=True
            )

    def _check_current(self, memory_ids: Sequence[str], by: str = "") -> None:
        """Raise MemoryUnusableError if another memory than `by` has replaced one of them, as a second process may."""
        contents = self.contents()
        for memory_id in contents.replaced_ids.intersection(memory_ids):
            successor = contents.files_by_id[memory_id][1].memory.replaced_by
            if successor != by:
                raise MemoryUnusableError(
                    f"Memory {memory_id} is already replaced by {successor}, so nothing is saved.",
                    f"Replace {successor} instead.",
                )

    def _mark_replaced(self, memory_ids: Sequence[str], by: str, at: str) -> None:
        """Write into the files of memories which memory replaces them, and when; nothing if an id does not exist."""
        for name, entry in [self.contents().find(memory_id) for memory_id in memory_ids]:
            self._write_replacement(name, entry, by, at)

    def _make_current(self, memory_id: str) -> Memory:
        name, entry = self.contents().find(memory_id)
        return self._write_replacement(name, entry, "", "") if entry.memory.replaced_by else entry.memory

    def _write_replacement(self, name: str, entry: LoadedFile, by: str, at: str) -> Memory:
        marked = replace(entry.memory, replaced_by=by, replaced_at=at)
        replace_file(self.folder / name, render_memory(marked, (entry.memory, entry.metadata)), lasting=True)
        return marked

    def _trash_files(self) -> list[Path]:
        """Return the files in the trash folder, most recently trashed first."""
        trash = self.folder / TRASH
        files = [trash / name for name, state in _scan_files(trash) if stat.S_ISREG(state.st_mode)]
        return sorted(files, key=lambda file: ((_TRASH_TIME.search(file.name) or [""])[0], file.name), reverse=True)

    def _trash_name(self, name: str) -> Path:
        """Return an unused path in the trash folder for the file `name`, with the time in microseconds in its name."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
        return _find_free_name((self.folder / TRASH / name).with_suffix(f".{stamp}.md"))

    @contextmanager
    def _write_lock(self) -> Iterator[None]:
        """Hold the folder's write lock: one writer at a time, across processes. A dead process releases the lock."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with file_lock(self.folder / ".lock", _LOCK_SECONDS):
                yield
        except Timeout as error:
            raise MemoryUnusableError(
                f"Another excerpt process has been writing to {self.folder} for {_LOCK_SECONDS:.0f} seconds.",
                "Try again.",
            ) from error
        except OSError as error:
            hint = "The memories are unchanged. Check the disk's space and permissions."
            raise MemoryUnusableError(f"{self.folder} cannot be written: {error.strerror}.", hint) from error


def _scan_files(folder: Path, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Yield the Markdown files in and under `folder`, and symbolic links to folders, each with its `lstat` result.

    Names are relative paths, after the prefix `below`. A missing folder counts as empty. Hidden names and the trash
    folder are left out; symbolic links are not followed.
    """
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            name = f"{below}{entry.name}"
            if entry.name.startswith(".") or name == TRASH:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _scan_files(Path(entry.path), f"{name}/")
            elif entry.is_dir() or (entry.name.endswith(".md") and (entry.is_file() or entry.is_symlink())):
                yield name, entry.stat(follow_symlinks=False)


def _reload_file(
    folder: Path, name: str, state: os.stat_result, before: LoadedFile | UnreadableFile | None
) -> LoadedFile | UnreadableFile:
    """Return the file as it is now, or the object `before` if its content is unchanged; `state` is its `lstat`."""
    stamp = (state.st_mtime_ns, state.st_size, state.st_ino)
    if before is not None and before.stamp == stamp and before.is_file_time_reliable:
        return before
    is_file_time_reliable = abs(time.time_ns() - stamp[0]) > _CLOCK_TICK_NS
    if stat.S_ISLNK(state.st_mode):
        loaded: LoadedFile | UnreadableFile = UnreadableFile(stamp, is_file_time_reliable, _explain_link(folder, name))
    else:
        loaded = _read_file(folder, name, stamp, is_file_time_reliable)
    if (
        before is None
        or is_file_time_reliable
        or structs.replace(loaded, stamp=before.stamp, is_file_time_reliable=before.is_file_time_reliable) != before
    ):
        return loaded
    return before


def _read_file(folder: Path, name: str, stamp: Stamp, is_file_time_reliable: bool) -> LoadedFile | UnreadableFile:
    try:
        data = read_limited(folder / name, MAX_BYTES)
        memory, metadata = parse_memory(data, name, stamp[0] / 1e9)
    except OSError as error:
        return UnreadableFile(stamp, is_file_time_reliable, f"The file cannot be read: {error.strerror}.")
    except ReadError as error:
        return UnreadableFile(stamp, is_file_time_reliable, str(error))
    return LoadedFile(stamp, is_file_time_reliable, memory, metadata)


def _explain_link(folder: Path, name: str) -> str:
    """Return a sentence that says why a symbolic link is not followed, in the words of the vault's scan."""
    target = Path(os.path.realpath(folder / name))
    if not target.is_relative_to(os.path.realpath(folder)):
        return "The file is a link out of the folder of memories."
    if not target.exists():
        return "The file is a link to a missing file."
    return "The file is a link to another file in the folder of memories, which is listed itself."


def index_by_id(read: Mapping[str, LoadedFile | UnreadableFile]) -> dict[str, tuple[str, LoadedFile]]:
    """Return a map from the memories' ids to their files' names and files, newest memory first.

    If two files state the same id (one is a copy), the file named after the id keeps it. The other file gets an id
    derived from its name.
    """
    entries = sorted(((name, file) for name, file in read.items() if isinstance(file, LoadedFile)), key=itemgetter(0))
    by_id = {file.memory.id: (name, file) for name, file in entries}
    if len(by_id) < len(entries):
        by_id = _resolve_shared_ids(entries)
    newest = sorted(by_id.items(), key=lambda item: item[1][0])
    newest.sort(key=lambda item: item[1][1].memory.created, reverse=True)
    return dict(newest)


def _resolve_shared_ids(entries: Sequence[tuple[str, LoadedFile]]) -> dict[str, tuple[str, LoadedFile]]:
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
        identity = derive_id_from_name(name)
        while identity in by_id:
            identity = derive_id_from_name(identity)
        by_id[identity] = (name, structs.replace(file, memory=replace(file.memory, id=identity)))
    return by_id


def memory_file_name(memory: Memory, memory_id: str) -> str:
    """Return the name of a new file of `memory`: its day, its first words and its id."""
    return f"{memory.created[:10]}-{_make_slug(memory.text)}-{memory_id}.md"


def _make_slug(text: str) -> str:
    """Return the first words of `text`, joined by "-", as part of a file name."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text[:400]).lower())
    slug = ""
    for word in words:
        if slug and len(slug) + 1 + len(word) > _SLUG_CHARS:
            break
        slug = f"{slug}-{word}" if slug else word[:_SLUG_CHARS]
    return slug or "memory"


def _find_free_name(file: Path) -> Path:
    """Return `file` or, if it exists, the first path with "~2", "~3" … after its stem that does not exist."""
    free, number = file, 2
    while free.exists():
        free, number = file.with_stem(f"{file.stem}~{number}"), number + 1
    return free


def _write_new(file: Path, data: bytes) -> bool:
    """Write a file that does not exist yet, atomically; return False if its name is taken.

    The temporary file is created first (O_EXCL), then the final name is checked. So if two processes write the same
    name, one of them finds the temporary or the final file of the other.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.new")
    try:
        create_file(temporary, data, lasting=True)
    except FileExistsError:
        return False
    if file.exists():
        temporary.unlink()
        return False
    temporary.replace(file)
    sync_folder(file.parent)
    return True


def _move_file(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    file.replace(target)
    sync_folder(target.parent)
    sync_folder(file.parent)
