"""The program's own files: for their owner alone to read, and where several excerpts write one, one at a time, replaced
whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_LOCK_SECONDS = 2.0
LOCK_MODE = 0o600
"""Of a lock's file: some versions of filelock give it a mode of their own, over the umask."""

_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO

_users_umask = -1


def keep_to_owner() -> None:
    """Have this process and its children make files and folders that only their owner may read, whatever the umask.

    Libraries make most of them (SQLite's `-wal`, Whoosh's segments, locks), and take no mode.
    """
    global _users_umask  # noqa: PLW0603 - the umask is the process's too, and cannot be read without being set
    if os.name == "posix":
        _users_umask = os.umask(_OF_OTHERS)


def users_umask() -> int:
    """Return the umask for what is made in the user's name, as `subprocess` takes it: -1 is the one in force."""
    return _users_umask


def open_to_others(folder: Path) -> Iterator[Path]:
    """Yield the folder and what is under it, as far as others than their owners have any permission there.

    Links are passed over, and on Windows, which keeps a profile to its user by other means, everything.
    """
    if os.name != "posix":
        return
    if _is_open(folder):
        yield folder
    for above, folders, files in os.walk(folder):
        paths = (Path(above, name) for name in (*folders, *files))
        yield from (path for path in paths if not path.is_symlink() and _is_open(path))


def close_to_others(folder: Path) -> None:
    """Take every permission on the folder, and on what is under it, from others than their owners, as far as the system
    lets us. The folder is first, so that it is private at once; one that stays open is on a disk without permissions.
    """
    for path in open_to_others(folder):
        with suppress(OSError):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OF_OTHERS)
        if path == folder and _is_open(folder):
            return


def close_if_open(folders: Iterable[Path]) -> None:
    """Close those of the folders that others may look into, with all that they hold: made by an earlier version, or by
    other programs. What is below a closed one is not looked at, as nobody else gets there."""
    for folder in folders:
        if os.name == "posix" and _is_open(folder):
            close_to_others(folder)


def _is_open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _OF_OTHERS)
    except OSError:
        return False


def replace_file(file: Path, data: bytes, *, lasting: bool = False) -> None:
    """Write `data` in the place of what the file holds, its folder with it. Raises OSError, and the file is then as it
    was. A `lasting` one survives a power cut, for which the disk is waited for."""
    make_folder(file)
    fresh = file.with_suffix(f".{os.getpid()}")
    try:
        with open(fresh, "wb", opener=for_owner) as out:
            out.write(data)
            if lasting:
                out.flush()
                os.fsync(out.fileno())
        fresh.replace(file)
    except OSError:
        with suppress(OSError):
            fresh.unlink()
        raise


def make_folder(file: Path) -> None:
    """The folder of a file. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)


def for_owner(path: str, flags: int) -> int:
    """An opener of files that others may not read."""
    return os.open(path, flags, 0o600)


def ends_line(opened: BinaryIO) -> bool:
    """Whether a file that has anything in it ends with a line's end: not, where a process died while it wrote."""
    opened.seek(-1, os.SEEK_END)
    return opened.read(1) == b"\n"


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Hold the file's lock, so that nothing is lost between a read and a write. Raises OSError where it is not to be
    had in two seconds."""
    from filelock import FileLock

    make_folder(file)
    with FileLock(file.with_suffix(".lock"), timeout=_LOCK_SECONDS, mode=LOCK_MODE):
        yield
