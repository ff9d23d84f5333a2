"""The program's own files: private, replaced atomically, and locked where several processes write."""

from __future__ import annotations

import errno
import io
import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

if TYPE_CHECKING:
    from filelock import BaseFileLock

_LOCK_SECONDS = 2.0

Shape = TypeVar("Shape")
Default = TypeVar("Default")

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
    """Remove the permissions of others from a folder and its content, as far as the system allows.

    The folder is first, so it is private at once; one that stays open is on a disk without permissions.
    """
    for path in open_to_others(folder):
        with suppress(OSError):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OF_OTHERS)
        if path == folder and _is_open(folder):
            return


def close_if_open(folders: Iterable[Path]) -> None:
    """Close the folders that others may read, with their content.

    They were made by an earlier version or by other programs. What is below a closed folder is not checked.
    """
    for folder in folders:
        if os.name == "posix" and _is_open(folder):
            close_to_others(folder)


def make_private(folders: Sequence[Path]) -> None:
    """Create missing folders for their owner alone, whatever the umask, and close open ones.

    A program that uses our code need not have a strict umask. If a folder cannot be made, its writer reports that.
    """
    for folder in folders:
        with suppress(OSError):
            folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
    close_if_open(folders)


def _is_open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _OF_OTHERS)
    except OSError:
        return False


# --- reading ----------------------------------------------------------------------------------------------------------

_PIECE = 1 << 20
_LARGEST_VALUE = 64_000_000
"""Bytes of a file of our own: the largest, marks and notes of a vault, have some kB."""


def read_limited(file: Path, max_bytes: int) -> bytes:
    """Return the content of a file. Raises OSError if it cannot be read or has more than `max_bytes` bytes.

    It may be a device without an end.
    """
    data = bytearray()
    with file.open("rb", buffering=0) as opened:
        while len(data) <= max_bytes and (piece := opened.read(_PIECE)):
            data += piece
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes:,} bytes", str(file))
    return bytes(data)


def read_text(file: Path, max_bytes: int) -> str:
    """Return UTF-8 text with line feeds and without a byte order mark.

    Raises OSError as `read_limited` does, and UnicodeDecodeError.
    """
    return io.StringIO(read_limited(file, max_bytes).decode("utf-8-sig"), newline=None).read()


# --- values and logs --------------------------------------------------------------------------------------------------
# A value is one file of JSON, a log one value a line. Both are in UTF-8; what is not, as a file name may be, stands as
# escapes that JSON reads back. Shapes are what msgspec converts to: dataclasses, with fields that a later version adds
# passed over.


def load_value(file: Path, shape: type[Shape]) -> Shape:
    """Return what the file holds. Raises OSError where it cannot be read, and ValueError where it makes no sense."""
    return _value_of(read_limited(file, _LARGEST_VALUE), shape)


def read_value(file: Path, shape: type[Shape], default: Default) -> Shape | Default:
    """Return what the file holds, or `default` where there is none, or none that can be read and makes sense."""
    try:
        return load_value(file, shape)
    except (OSError, ValueError):
        return default


def write_value(file: Path, value: object, *, lasting: bool = False) -> None:
    """Write a value in the place of the file's, as `replace_file` does; a `lasting` one is laid out for people too."""
    replace_file(file, _json(value, indent=2 if lasting else None), lasting=lasting)


def read_lines(data: bytes, shape: type[Shape]) -> Iterator[Shape]:
    """Yield the values of a log's lines. A line that makes no sense costs no other one."""
    for line in data.split(b"\n"):
        with suppress(ValueError):
            yield _value_of(line, shape)


def append_lines(file: Path, values: Iterable[object]) -> int:
    """Append values to a log, whose lock is held; return its size. Raises OSError."""
    with open(file, "ab+", opener=_for_owner) as opened:
        if opened.tell() and not _ends_line(opened):
            opened.write(b"\n")  # a process died while it wrote
        opened.write(b"".join(map(line_of, values)))
        return opened.tell()


def line_of(value: object) -> bytes:
    """Return a value as a line of a log, with its end."""
    return _json(value)


def _json(value: object, indent: int | None = None) -> bytes:
    import msgspec

    text = json.dumps(msgspec.to_builtins(value), indent=indent, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _value_of(data: bytes, shape: type[Shape]) -> Shape:
    """Return the value in JSON data. Raises ValueError.

    Parsed by `json`, because msgspec's decoder refuses the escapes of what is not UTF-8.
    """
    try:
        import msgspec  # not needed by a command that reads and writes no such file

        return msgspec.convert(json.loads(data), shape)  # msgspec's errors are ValueErrors
    except RecursionError as error:  # brackets too deep
        raise ValueError(str(error)) from error


def replace_file(file: Path, data: bytes, *, lasting: bool = False, mode: int | None = None) -> None:
    """Replace the content of a file, creating its folder. Raises OSError and then leaves the file as it was.

    With `lasting` it survives a power cut, which waits for the disk. Without `mode` only its owner can read it.
    """
    make_folder(file)
    swap_file(file, data, lasting=lasting, mode=mode)


def swap_file(file: Path, data: bytes, *, lasting: bool = False, mode: int | None = None) -> None:
    """Do as `replace_file` does, in a folder that must be there."""
    fresh = file.with_name(f".{file.stem[:100]}.{os.urandom(5).hex()}.new")
    write_fresh(fresh, data, lasting=lasting)
    try:
        if mode is not None:
            with suppress(OSError):
                fresh.chmod(mode)
        fresh.replace(file)
    except BaseException:
        with suppress(OSError):
            fresh.unlink()
        raise
    if lasting:
        with suppress(OSError):  # not every disk syncs folders, and the file is in its place
            sync_folder(file.parent)


def write_fresh(file: Path, data: bytes, *, lasting: bool = False) -> None:
    """Write a file that is not there yet. Raises FileExistsError, or another OSError, and then leaves none behind."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            if lasting:
                out.flush()
                os.fsync(out.fileno())
    except BaseException:
        with suppress(OSError):
            file.unlink()
        raise


def sync_folder(folder: Path) -> None:
    """Force the folder's entries (new and renamed files) to disk, where the system has such a thing."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(file: Path) -> None:
    """Make the folder of a file. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _ends_line(opened: BinaryIO) -> bool:
    opened.seek(-1, os.SEEK_END)
    return opened.read(1) == b"\n"


@contextmanager
def exclusive_lock(file: Path) -> Iterator[None]:
    """Hold the file's lock for a block, so that no other process writes between a read and a write.

    Raises OSError if it is not free within two seconds.
    """
    make_folder(file)
    with file_lock(file.with_suffix(".lock"), _LOCK_SECONDS):
        yield


def file_lock(file: Path, seconds: float) -> BaseFileLock:
    """Return a lock that ends with its holder and waits at most `seconds`.

    Entering it raises OSError, which is filelock's Timeout while another process holds it.
    """
    from filelock import FileLock

    # Some versions of filelock give its file a mode of their own, over the umask.
    return FileLock(file, timeout=seconds, mode=0o600)
