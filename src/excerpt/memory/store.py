"""Remember, recall and forget: one folder of Markdown files, the user's own."""

from __future__ import annotations

import os
import re
import secrets
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from excerpt.errors import MemoryUnusableError, ReadError
from excerpt.memory.files import name_id, normalise_tags, now, parse_memory, render_memory, stored
from excerpt.memory.recall import Searched, searched, wanted_words
from excerpt.model import Memory, Skipped, Source

TRASH = "trash"
"""Folder, inside the memory folder, of forgotten memories and of what updates replaced. Never emptied by excerpt."""

_LOCK_SECONDS = 10.0
_SLUG_CHARS = 40
_STAMP = re.compile(r"\.\d{8}T\d{12}Z(?=\.md$)")


@dataclass(frozen=True, slots=True)
class Memories:
    """All that is in the folder: `memories`, newest first, and the files that could not be read as one."""

    memories: tuple[Memory, ...]
    broken: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A file as it was last read; `stamp` tells whether it is still the same one."""

    stamp: tuple[int, int, int]
    memory: Memory
    metadata: dict[str, Any]
    searched: Searched


class MemoryStore:
    """The memories of one vault, in `folder`, which is made at the first memory.

    Files changed, added or removed by hand or by another process are seen at the next call. Every write is whole or
    not at all, and what it replaces goes to the trash folder. Raises MemoryUnusableError where the folder cannot be
    read or written, or an id is not there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept: dict[str, _Kept | ReadError] = {}
        self._stamps: dict[str, tuple[int, int, int]] = {}
        self._ids: dict[str, tuple[str, _Kept]] = {}

    def remember(
        self, text: str, tags: Sequence[str] = (), why: str = "", source: Source | None = None, query: str = ""
    ) -> Memory:
        """Keep `text` as a new memory. It is on disk when this returns."""
        if not text.strip():
            raise MemoryUnusableError("There is no text to remember.", "Select a fragment or type a thought.")
        moment = now()
        with self._writing():
            while True:
                identity = "m" + secrets.token_hex(5)
                memory = stored(Memory(identity, text, tuple(tags), why, moment, moment, source, query))
                name = f"{moment[:10]}-{_slug(memory.text)}-{identity}.md"
                if _write_new(self.folder / name, render_memory(memory)):
                    return memory

    def all(self) -> Memories:
        """Every memory, newest first, and every broken file with its reason."""
        memories = tuple(kept.memory for _, kept in self._read().values())
        broken = [Skipped(name, str(kept)) for name, kept in sorted(self._kept.items()) if isinstance(kept, ReadError)]
        return Memories(memories, tuple(broken))

    def recall(self, words: str = "", tags: Sequence[str] = ()) -> list[Memory]:
        """Memories that hold all `words` (the last one may be the beginning of a word) and all `tags`, newest first."""
        asked = set(normalise_tags(tags))
        entries = [kept for _, kept in self._read().values() if asked <= set(kept.memory.tags)]
        matches = wanted_words(words, [kept.searched.language for kept in entries])
        return [kept.memory for kept in entries if matches(kept.searched)]

    def get(self, memory_id: str) -> Memory:
        return self._find(memory_id)[1].memory

    def update(self, memory: Memory) -> Memory:
        """Put `memory` in place of the one with its id, which goes to the trash folder; gives it as it now is."""
        with self._writing():
            name, kept = self._find(memory.id)
            wanted = stored(replace(memory, created=kept.memory.created, updated=kept.memory.updated))
            if wanted == kept.memory:
                return wanted
            wanted = replace(wanted, updated=now())
            file = self.folder / name
            _write_new(self._trash_name(name), file.read_bytes())
            _replace(file, render_memory(wanted, (kept.memory, kept.metadata)))
            return wanted

    def forget(self, memory_id: str) -> Memory:
        """Move a memory to the trash folder; gives the one forgotten. `restore` brings it back."""
        with self._writing():
            name, kept = self._find(memory_id)
            _move(self.folder / name, self._trash_name(name))
            return kept.memory

    def restore(self, memory_id: str) -> Memory:
        """Bring back what was last forgotten under `memory_id`."""
        with self._writing():
            if memory_id in self._read():
                raise MemoryUnusableError(f"Memory {memory_id} is not forgotten.")
            for file in self._trashed():
                name = _STAMP.sub("", file.relative_to(self.folder / TRASH).as_posix())
                try:
                    memory, _ = parse_memory(file.read_bytes(), name, file.stat().st_mtime)
                except ReadError:
                    continue
                if memory.id == memory_id:
                    _move(file, _free(self.folder / name))
                    return memory
        raise MemoryUnusableError(f"There is no memory {memory_id} in {self.folder / TRASH}.")

    def _find(self, memory_id: str) -> tuple[str, _Kept]:
        found = self._read().get(memory_id)
        if found is None:
            raise MemoryUnusableError(f"There is no memory {memory_id}.", "See what there is with: excerpt recall")
        return found

    def _read(self) -> dict[str, tuple[str, _Kept]]:
        """Name and content of every memory by id, newest first, reading again only what changed."""
        try:
            stamps = dict(_files(self.folder))
        except OSError as error:
            raise MemoryUnusableError(f"{self.folder} cannot be read: {error.strerror}.") from error
        if stamps != self._stamps:
            self._kept = {
                name: self._kept[name] if self._stamps.get(name) == stamp else _read_file(self.folder, name, stamp)
                for name, stamp in stamps.items()
            }
            self._ids = _by_id(self._kept)
            self._stamps = stamps
        return self._ids

    def _trashed(self) -> list[Path]:
        """Files of the trash, last trashed first."""
        found = [self.folder / TRASH / name for name, _ in _files(self.folder / TRASH)]
        return sorted(found, key=lambda file: ((_STAMP.search(file.name) or [""])[0], file.name), reverse=True)

    def _trash_name(self, name: str) -> Path:
        """A free name in the trash that tells when, to the microsecond, and sorts by it."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
        return _free((self.folder / TRASH / name).with_suffix(f".{stamp}.md"))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One writer at a time, across processes; the lock dies with its owner."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self.folder / ".lock", timeout=_LOCK_SECONDS):
                yield
        except Timeout as error:
            raise MemoryUnusableError(
                f"Another excerpt has been writing to {self.folder} for {_LOCK_SECONDS:.0f} seconds.", "Try again."
            ) from error
        except OSError as error:
            hint = "Nothing was lost: what was there is still there. Check the disk's space and permissions."
            raise MemoryUnusableError(f"{self.folder} cannot be written: {error.strerror}.", hint) from error


def _files(folder: Path, below: str = "") -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Names of the Markdown files in and under `folder`, each with what tells that it changed. A missing folder is
    an empty one; hidden names and the trash are none of ours; links to folders are not followed."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            name = f"{below}{entry.name}"
            if entry.name.startswith(".") or name == TRASH:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path), f"{name}/")
            elif entry.name.endswith(".md") and entry.is_file():
                state = entry.stat()
                yield name, (state.st_mtime_ns, state.st_size, state.st_ino)


def _read_file(folder: Path, name: str, stamp: tuple[int, int, int]) -> _Kept | ReadError:
    try:
        data = (folder / name).read_bytes()
    except OSError as error:
        return ReadError(f"It cannot be read: {error.strerror}.")
    try:
        memory, metadata = parse_memory(data, name, stamp[0] / 1e9)
    except ReadError as error:
        return error
    return _Kept(stamp, memory, metadata, searched(memory))


def _by_id(read: dict[str, _Kept | ReadError]) -> dict[str, tuple[str, _Kept]]:
    """Memories by id, newest first. Of two files that state the same id (one is a copy made by hand), the one named
    after it keeps it and the other goes by its name, so that both are there."""
    entries = [(name, kept) for name, kept in read.items() if isinstance(kept, _Kept)]
    entries.sort(key=lambda entry: (entry[1].memory.id not in entry[0], entry[0]))
    found: dict[str, tuple[str, _Kept]] = {}
    for name, kept in entries:
        memory = kept.memory if kept.memory.id not in found else replace(kept.memory, id=name_id(name))
        found[memory.id] = (name, kept if memory is kept.memory else replace(kept, memory=memory))
    newest = sorted(found.items(), key=lambda item: item[1][0])
    newest.sort(key=lambda item: item[1][1].memory.created, reverse=True)
    return dict(newest)


def _slug(text: str) -> str:
    """The first words of `text` as a piece of a file name."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text[:400]).lower())
    slug = ""
    for word in words:
        if slug and len(slug) + 1 + len(word) > _SLUG_CHARS:
            break
        slug = f"{slug}-{word}" if slug else word[:_SLUG_CHARS]
    return slug or "memory"


def _free(file: Path) -> Path:
    """`file`, or the first name like it that is not taken."""
    free, number = file, 2
    while free.exists():
        free, number = file.with_stem(f"{file.stem}~{number}"), number + 1
    return free


def _write_new(file: Path, data: bytes) -> bool:
    """Write a file that does not exist yet, whole or not at all; False if its name is taken.

    The temporary name is claimed first (O_EXCL), then the final one is looked for: of two processes with the same
    name one finds either the temporary or the final file of the other.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.new")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    _fill(handle, temporary, data)
    if file.exists():
        temporary.unlink()
        return False
    temporary.replace(file)
    _sync_folder(file.parent)
    return True


def _replace(file: Path, data: bytes) -> None:
    temporary = file.with_name(f".{file.stem[:100]}.{secrets.token_hex(5)}.new")
    _fill(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), temporary, data)
    temporary.replace(file)
    _sync_folder(file.parent)


def _fill(handle: int, temporary: Path, data: bytes) -> None:
    """Write and sync the temporary file; it does not stay behind where that fails (a full disk)."""
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _move(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    file.replace(target)
    _sync_folder(target.parent)
    _sync_folder(file.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut; Windows has no such call and needs none."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
