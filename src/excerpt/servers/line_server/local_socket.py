"""The Unix socket of a server: in a folder that only its user can write to, and only for processes of this user."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import Timeout

from excerpt.base.errors import ExcerptError
from excerpt.base.state_files import file_lock
from excerpt.servers.line_server.client import find_problem, read_peer_ids
from excerpt.text.display import visible_line

MAX_PATH_BYTES = 103
"""The longest path of a socket on macOS; Linux allows four bytes more."""
_ASK_SECONDS = 1.0  # to connect to the server that listens already


class SocketTakenError(ExcerptError):
    """Raised if another process listens at a socket."""


@contextmanager
def listen(file: Path) -> Iterator[socket.socket]:
    """Listen at `file`, and remove it at the end; its folder is created if it is missing.

    Raises ExcerptError if another server listens there, if the folder is open to other users, or if the path is too
    long or taken. A lock beside the socket ends with its process, so that a socket without a lock is a leftover.
    """
    if len(os.fsencode(file)) > MAX_PATH_BYTES:
        raise ExcerptError(f"The path of the socket is too long: {file}.", "Choose a shorter path with --socket-path.")
    _create_folder(file.parent)
    lock = file_lock(_lock_path(file), 0)
    try:
        lock.acquire()
    except Timeout:
        raise _make_busy_error(file) from None
    except OSError as error:
        raise ExcerptError(f"Cannot listen at {file}: {error.strerror or error}.") from error
    try:
        _remove_leftover(file)
        server = _bind_socket(file)
        bound = file.stat()
        try:
            yield server
        finally:
            server.close()
            if is_socket(file, bound):
                remove_socket(file)
    finally:
        lock.release()


def is_taken(file: Path) -> bool:
    """Return whether a process listens at the socket `file`, by testing the lock beside it."""
    try:
        with file_lock(_lock_path(file), 0):
            return False
    except Timeout:
        return True
    except OSError:  # no such folder, for example: listening fails with a sentence, or succeeds
        return False


def is_socket(file: Path, bound: os.stat_result) -> bool:
    """Return whether the socket at `file` is the one with the status `bound`: another process may have replaced it."""
    try:
        return os.path.samestat(file.stat(), bound)
    except OSError:
        return False


def remove_socket(file: Path) -> None:
    """Remove a socket that this process listens at, and its lock."""
    for each in (file, _lock_path(file)):
        with suppress(OSError):
            each.unlink()


def _lock_path(file: Path) -> Path:
    return file.with_name(f"{file.name}.lock")


def is_own_process(connection: socket.socket) -> bool:
    """Return whether the process at the other end of a Unix socket belongs to the user of this process."""
    peer = read_peer_ids(connection)
    return peer is not None and peer[0] == os.geteuid()


def _create_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
    except OSError as error:
        raise ExcerptError(f"The folder {folder} cannot be created: {error.strerror or error}.") from error
    problem = find_problem(folder)
    if problem:
        raise ExcerptError(
            f"The folder of the socket, {folder}, {problem}.",
            "Use a folder that only you can write to (chmod 700), or another --socket-path.",
        )


def _bind_socket(file: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.bind(os.fspath(file))
        file.chmod(0o600)  # nobody can connect before `listen`; a umask would also be that of other threads
        server.listen()
        server.setblocking(False)
    except OSError as error:
        server.close()
        raise ExcerptError(f"Cannot listen at {file}: {error.strerror or error}.") from error
    return server


def _remove_leftover(file: Path) -> None:
    """Remove the socket of a server that was killed. Raises ExcerptError if a process listens, or it is no socket."""
    try:
        status = file.lstat()
    except OSError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise ExcerptError(f"{file} is a file, not a socket.", "Choose another --socket-path.")
    if _find_listener(file) is not None:
        raise _make_busy_error(file)
    with suppress(OSError):
        file.unlink()


def _make_busy_error(file: Path) -> SocketTakenError:
    process = _find_listener(file)
    named = f"Process {process}" if process else "Another process"
    return SocketTakenError(
        f"{named} already serves at {visible_line(str(file))}.",
        "Connect to that server, or choose another --socket-path.",
    )


def _find_listener(file: Path) -> int | None:
    """Return the id of the process that listens at a socket, 0 if it is unknown; None if nobody listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_ASK_SECONDS)
        try:
            connection.connect(os.fspath(file))
        except ConnectionRefusedError:
            return None
        except OSError:
            return 0
        peer = read_peer_ids(connection)
        return 0 if peer is None else peer[1]
