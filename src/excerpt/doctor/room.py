"""Whether excerpt may write where it writes, and has room there."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from excerpt.doctor.finding import Finding, megabytes, named, ok, problem, warning
from excerpt.settings import Places
from excerpt.state_files import open_to_others
from excerpt.text.counted import counted
from excerpt.vault.mounts import is_silent

_ELSEWHERE = "Give permission there, or set EXCERPT_HOME to a folder of yours."
_LEAST_FREE = 16_000_000
_ENOUGH_FREE = 100_000_000


def folders(where: Places, index: Path | None, index_size: int) -> Iterator[Finding]:
    """The folders of settings, index, memories and state; `index` is that of the vault, of so many bytes."""
    for name, folder in (
        ("Settings", where.config),
        ("Indexes", where.cache),
        ("Memories", where.data),
        ("History and copies", where.state),
    ):
        yield _writable(name, folder)
    yield from _private(where)
    yield from _free(where.cache, index_size)
    if index is not None and _on_network(index):
        yield warning(
            f"The index is on a network drive or a file system in user space: {index}",
            "There its locks may not hold and a power cut may damage it. Set EXCERPT_HOME (or XDG_CACHE_HOME) to a "
            "folder of a local disk.",
        )


def _writable(name: str, folder: Path) -> Finding:
    if not folder.is_absolute():
        said = f"{name}: {folder} counts from the folder that you are in, as no home folder is known."
        return warning(said, "Set HOME, or EXCERPT_HOME to a whole path.")
    there = _nearest(folder)
    try:
        if not stat.S_ISDIR(there.stat().st_mode):
            return problem(f"{name}: {there} is a file, not a folder.", _ELSEWHERE)
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        return problem(f"{name}: {there} cannot be written: {error.strerror or error}.", _ELSEWHERE)
    return ok(f"{name}: {folder}" + ("" if there == folder else " (not there yet; it can be made)"))


def _private(where: Places) -> Iterator[Finding]:
    """Whether other users may read what is kept; on Windows nothing is said of it."""
    found = [str(path) for folder in where.folders for path in open_to_others(folder)]
    if found:
        files = counted(len(found), "file or folder", "files and folders")
        yield warning(f"Other users may read {files}: {named(found)}.", "`excerpt doctor --fix` closes what can be.")
    elif os.name == "posix" and any(folder.exists() for folder in where.folders):
        yield ok("No other user may read any of it")


def _nearest(folder: Path) -> Path:
    """The folder, or what is there of the way to it."""
    return next((path for path in (folder, *folder.parents) if os.path.lexists(path)), Path())


def _free(cache: Path, index_size: int) -> Iterator[Finding]:
    try:
        free = shutil.disk_usage(_nearest(cache)).free
    except OSError:
        return
    said = f"{megabytes(free)} are free for the index, which takes {megabytes(index_size)}"
    todo = "Make room on that disk, or set EXCERPT_HOME to a folder of another one."
    if free < _LEAST_FREE:
        yield problem(f"{said}: too little to write anything.", todo)
    elif free < max(_ENOUGH_FREE, index_size):
        yield warning(f"{said}: too little to make it anew beside the old one.", todo)
    else:
        yield ok(said)


def _on_network(folder: Path) -> bool:
    try:
        return is_silent(_nearest(folder).resolve())
    except (OSError, RuntimeError):
        return False
