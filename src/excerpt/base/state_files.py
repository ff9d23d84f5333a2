"""Reading and writing of excerpt's own files: private to the user, replaced atomically, and locked for writers."""

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

_OTHERS_PERMISSIONS = stat.S_IRWXG | stat.S_IRWXO

_users_umask = -1


def set_private_umask() -> None:
    """Set the umask so that only the user may read files that this process and its children create.

    Libraries create most of these files (SQLite's `-wal`, Whoosh's segments, locks), and accept no file mode.
    """
    global _users_umask  # noqa: PLW0603 - the umask is the process's too, and cannot be read without being set
    if os.name == "posix":
        _users_umask = os.umask(_OTHERS_PERMISSIONS)


def users_umask() -> int:
    """Return the umask that the user had set, for the `umask` argument of `subprocess`; -1 keeps the present one."""
    return _users_umask


def find_shared_paths(folder: Path) -> Iterator[Path]:
    """Yield the folder and the files and folders below it to which other users than the owner have any permission.

    The content of a folder that other users cannot enter is left out, and so are symbolic links. Yields nothing on
    Windows, which protects a user's profile by other means.
    """
    if os.name != "posix" or not _is_shared(folder):
        return
    yield folder
    for above, folders, files in os.walk(folder):
        paths = [Path(above, name) for name in (*folders, *files)]
        folders[:] = [name for name in folders if _is_shared(Path(above, name))]  # before a caller makes them private
        yield from (path for path in paths if not path.is_symlink() and _is_shared(path))


def remove_others_permissions(folder: Path) -> None:
    """Remove the permissions of all users but the owner from a folder and its content, as far as the system allows.

    The folder itself is first, so that its content is private at once. If its permissions cannot be changed, the disk
    does not support permissions, and the content is left alone.
    """
    for path in find_shared_paths(folder):
        with suppress(OSError):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS_PERMISSIONS)
        if path == folder and _is_shared(folder):
            return


def make_shared_folders_private(folders: Iterable[Path]) -> None:
    """Remove the permissions of other users from each folder that they may access, and from its content.

    Such folders were created by an earlier version or by other programs. The content of a private folder is not
    checked.
    """
    for folder in folders:
        if os.name == "posix" and _is_shared(folder):
            remove_others_permissions(folder)


def make_private(folders: Sequence[Path]) -> None:
    """Create missing folders that only the owner can access, and make existing folders private.

    This does not rely on the umask, which a program that imports excerpt may set. Errors are ignored, because code that
    writes to the folders reports them.
    """
    for folder in folders:
        with suppress(OSError):
            folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
    make_shared_folders_private(folders)


def _is_shared(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _OTHERS_PERMISSIONS)
    except OSError:
        return False


# --- reading ----------------------------------------------------------------------------------------------------------

_PIECE = 1 << 20
_MAX_VALUE_BYTES = 64_000_000
"""Most bytes that are read of an own JSON file; the largest in practice, marks of a vault, have some kB."""


def open_regular(file: Path) -> io.FileIO:
    """Open a regular file for unbuffered reading. Raises OSError, also for a pipe, a socket or a device."""
    opened = io.FileIO(file, opener=open_nonblocking)
    if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
        opened.close()
        raise OSError(errno.EINVAL, "it is not a regular file", str(file))
    return opened


def open_nonblocking(path: str, flags: int) -> int:
    """Open a file without waiting for the other end of a pipe; for the argument `opener` of `open`."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)


def read_limited(file: Path, max_bytes: int) -> bytes:
    """Return the content of a file.

    Raises OSError if it cannot be read, is no regular file, or has more than `max_bytes` bytes.
    """
    data = bytearray()
    with open_regular(file) as opened:
        while len(data) <= max_bytes and (piece := opened.read(_PIECE)):
            data += piece
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes:,} bytes", str(file))
    return bytes(data)


def read_text(file: Path, max_bytes: int) -> str:
    """Return the text of a UTF-8 file with LF line ends and without a byte order mark.

    Raises OSError if the file cannot be read or has more than `max_bytes` bytes, and UnicodeDecodeError.
    """
    return io.StringIO(read_limited(file, max_bytes).decode("utf-8-sig"), newline=None).read()


# --- values and logs --------------------------------------------------------------------------------------------------
# A value is one file of JSON, a log one value a line. Both are in UTF-8; what is not, as a file name may be, stands as
# escapes that JSON reads back. Shapes are what msgspec converts to: dataclasses, with fields that a later version adds
# passed over.


def load_value(file: Path, shape: type[Shape]) -> Shape:
    """Parse a JSON file into a value of type `shape`. Raises OSError if unreadable, ValueError if it does not match."""
    return _parse_value(read_limited(file, _MAX_VALUE_BYTES), shape)


def read_value(file: Path, shape: type[Shape], default: Default) -> Shape | Default:
    """Parse a JSON file into a value of type `shape`; return `default` if it is missing, unreadable or invalid."""
    try:
        return load_value(file, shape)
    except (OSError, ValueError):
        return default


def write_value(file: Path, value: object, *, lasting: bool = False) -> None:
    """Replace a file by the JSON of `value`, atomically. Raises OSError.

    `lasting`: sync the file to disk, and indent the JSON so that people can read it.
    """
    replace_file(file, _encode_json(value, indent=2 if lasting else None), lasting=lasting)


def parse_lines(data: bytes, shape: type[Shape]) -> Iterator[Shape]:
    """Parse each line of JSON into a value of type `shape` and yield it; skip invalid lines."""
    for line in data.split(b"\n"):
        with suppress(ValueError):
            yield _parse_value(line, shape)


def append_lines(file: Path, values: Iterable[object]) -> int:
    """Append values as lines of JSON to a log file; return its new size in bytes. Raises OSError.

    The caller holds the lock of the file.
    """
    with open(file, "ab+", opener=open_nonblocking) as opened:
        if opened.tell() and not _ends_with_newline(opened):
            opened.write(b"\n")  # a process died while it wrote
        opened.write(b"".join(map(encode_line, values)))
        return opened.tell()


def encode_line(value: object) -> bytes:
    """Return the JSON of a value as one UTF-8 line with its line end."""
    return _encode_json(value)


def _encode_json(value: object, indent: int | None = None) -> bytes:
    if not isinstance(value, dict):  # of plain values already: the prompt hook saves the time to import msgspec
        import msgspec

        value = msgspec.to_builtins(value)
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _parse_value(data: bytes, shape: type[Shape]) -> Shape:
    """Parse JSON into a value of type `shape`. Raises ValueError.

    The standard library parses, because msgspec's decoder refuses escaped lone surrogates (file names not in UTF-8).
    """
    try:
        import msgspec  # not needed by a command that reads and writes no such file

        return msgspec.convert(json.loads(data), shape)  # msgspec's errors are ValueErrors
    except RecursionError as error:  # brackets too deep
        raise ValueError(str(error)) from error


def replace_file(file: Path, data: bytes, *, lasting: bool = False, mode: int | None = None) -> None:
    """Replace the content of a file atomically, creating its folder. Raises OSError, with the file unchanged.

    `lasting`: sync to disk, so that the file survives a power cut. Without `mode` only the owner can read the file.
    """
    make_folder(file)
    swap_file(file, data, lasting=lasting, mode=mode)


def swap_file(file: Path, data: bytes, *, lasting: bool = False, mode: int | None = None) -> None:
    """Replace the content of a file atomically, in an existing folder. Raises OSError, with the file unchanged.

    `lasting`: sync to disk, so that the file survives a power cut. Without `mode` only the owner can read the file.
    """
    fresh = file.with_name(f".{file.stem[:100]}.{os.urandom(5).hex()}.new")
    create_file(fresh, data, lasting=lasting)
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


def create_file(file: Path, data: bytes, *, lasting: bool = False) -> None:
    """Create a file with this content; `lasting` syncs it to disk. Raises FileExistsError or another OSError.

    After an error while writing, the incomplete file is removed.
    """
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
    """Sync a folder's entries (new and renamed files) to disk; does nothing on Windows. Raises OSError."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(file: Path) -> None:
    """Create the parent folder of `file` if it is missing, accessible to the owner only. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)


def _ends_with_newline(opened: BinaryIO) -> bool:
    opened.seek(-1, os.SEEK_END)
    return opened.read(1) == b"\n"


@contextmanager
def exclusive_lock(file: Path) -> Iterator[None]:
    """Hold the lock of `file` (a file with suffix `.lock`) for a block, so that no other process writes meanwhile.

    Raises OSError if another process still holds the lock after two seconds.
    """
    make_folder(file)
    with file_lock(file.with_suffix(".lock"), _LOCK_SECONDS):
        yield


def file_lock(file: Path, seconds: float) -> BaseFileLock:
    """Return a lock on the file `file`; the system releases the lock when its process ends.

    Entering the lock waits at most `seconds`, then raises filelock's Timeout, an OSError.
    """
    from filelock import FileLock

    # Some versions of filelock give its file a mode of their own, over the umask. A lock belongs to the process: one
    # thread may acquire it and another release it.
    return FileLock(file, timeout=seconds, mode=0o600, thread_local=False)
