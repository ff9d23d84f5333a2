"""A client of `excerpt serve --socket`, for hooks and scripts that must be fast: imports only the standard library.

with LineClient.connect(socket_file("~/notes")) as client:
client.request("search", {"query": "sync conflicts", "limit": 3})
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_MAX_ANSWER_BYTES = 64 << 20
_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES = 0, 1, 76  # macOS and the BSDs, from sys/un.h and sys/ucred.h


class LineServerError(Exception):
    """An error that the server sent as its answer, with its `kind`, or the kind "unreachable" if it did not answer."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def socket_file(vault: str | Path) -> Path:
    """Return the default socket at which the line server of a vault listens: one for each vault and user.

    `vault` is a folder or the address of a store. The folder of the socket is below $EXCERPT_HOME, or else below
    $XDG_RUNTIME_DIR, or else in the folder for state.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    has_runtime = not os.environ.get("EXCERPT_HOME") and runtime and Path(runtime).is_dir()
    folder = Path(runtime) / "excerpt" if runtime and has_runtime else state_folder()
    return folder / "run" / f"{_digest(vault)}.sock"


def prompt_socket_file(vault: str | Path) -> Path:
    """Return the socket, in the folder for state, at which an MCP server of a vault answers the prompt hook.

    It is not below $XDG_RUNTIME_DIR, because some agents start servers without this variable, but hooks with it.
    """
    return state_folder() / "run" / f"{_digest(vault)}-prompts.sock"


def state_folder() -> Path:
    """Return the same folder for state as `excerpt.base.settings.user_paths`, on a system with Unix sockets."""
    if home := os.environ.get("EXCERPT_HOME"):
        return Path(home).expanduser() / "state"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "excerpt"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "excerpt"


def vault_name(vault: str | Path) -> str:
    """Return the name of a vault that its server knows: the folder's path without links, or the address of a store."""
    return str(vault) if "://" in str(vault) else str(Path(vault).expanduser().resolve())


def _digest(vault: str | Path) -> str:
    """Return a short name made from a hash, since a socket's path may have only about a hundred characters."""
    return hashlib.blake2b(os.fsencode(vault_name(vault)), digest_size=8).hexdigest()


def find_problem(folder: Path) -> str:
    """Return why a folder is unsafe for a socket, because other users could create one there; "" if it is safe."""
    try:
        status = folder.lstat()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not stat.S_ISDIR(status.st_mode):
        return "is no folder"
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    return "can be written to by other users" if status.st_mode & 0o022 else ""


def read_peer_ids(connection: socket.socket) -> tuple[int, int] | None:
    """Return the user id and the process id (0 if unknown) at the other end of a Unix socket; None if unknown."""
    try:
        if hasattr(socket, "SO_PEERCRED"):
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            pid, uid, _gid = struct.unpack("3i", credentials)
            return uid, pid
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
        return struct.unpack_from("2I", credentials)[1], 0
    except (OSError, struct.error):
        return None


class LineClient:
    """A connection to a server. Its methods raise LineServerError."""

    def __init__(self, connection: socket.socket) -> None:
        """Use a connected socket, which belongs to the client from now on."""
        self._connection = connection
        self._received = bytearray()
        self._last_id = 0

    @classmethod
    def connect(cls, file: Path, timeout: float = 1.0) -> Self:
        """Connect to the server at `file`, whose folder and process must belong to this user."""
        problem = find_problem(file.parent)
        if problem:
            raise LineServerError("unreachable", f"{file.parent} {problem}.")
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(timeout)
        try:
            connection.connect(os.fspath(file))
        except OSError as error:
            connection.close()
            raise LineServerError("unreachable", f"Nothing answers at {file}: {error.strerror or error}.") from None
        peer = read_peer_ids(connection)
        if peer is None or peer[0] != os.geteuid():
            connection.close()
            raise LineServerError("unreachable", f"Another user listens at {file}.")
        return cls(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def request(self, method: str, params: Mapping[str, Any], timeout: float = 1.0) -> dict[str, Any]:
        """Return the result of a method, waiting at most `timeout` seconds; events are skipped."""
        self._last_id += 1
        deadline = time.monotonic() + timeout
        line = json.dumps({"id": self._last_id, "method": method, "params": params})
        try:
            self._connection.settimeout(timeout)
            self._connection.sendall(f"{line}\n".encode())
            while True:
                message = json.loads(self._read_line(deadline))
                if message.get("id") == self._last_id:
                    break
        except (OSError, ValueError) as error:
            raise LineServerError("unreachable", f"The server did not answer: {error}.") from None
        if "error" in message:
            raise LineServerError(message["error"]["data"]["kind"], message["error"]["message"])
        result: dict[str, Any] = message["result"]
        return result

    def _read_line(self, deadline: float) -> bytes:
        while (end := self._received.find(b"\n")) < 0:
            self._connection.settimeout(max(deadline - time.monotonic(), 0.001))
            chunk = self._connection.recv(1 << 16)
            if not chunk:
                raise ConnectionError("it has closed the connection")
            self._received += chunk
            if len(self._received) > _MAX_ANSWER_BYTES:
                raise ValueError("the line is too long")
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line
