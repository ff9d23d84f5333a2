"""The one HTTP client: requests to the server of a model, and to no other address.

It uses no proxy and follows no redirect. The name of a host is resolved once, and the address that was checked is the
one that is connected to, so that a name server cannot give another one in between.
"""

from __future__ import annotations

import io
import json
import socket
import time
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse
from ipaddress import IPv6Address, ip_address
from typing import Any, cast

from msgspec import Struct

from excerpt.base.errors import ModelError, ModelUnreachableError
from excerpt.encoders.server_address import ServerAddress, ServerKey
from excerpt.text.display import format_count

_CONNECT_SECONDS = 5.0
_PIECE = 1 << 16
_FRAMING_BYTES = 1 << 18
"""Bytes of a status line, headers, and sizes of chunks, beside the content of an answer and as many again."""


class Answer(Struct, frozen=True):
    """The answer of a server: its status, its content, and the seconds after which it wants to be asked again."""

    status: int
    content: bytes
    retry_seconds: float = 0.0


def post_json(
    address: ServerAddress,
    body: object,
    key: ServerKey,
    *,
    is_remote_allowed: bool,
    seconds: float,
    max_bytes: int,
) -> Answer:
    """Post a JSON body and return the answer, whatever its status is.

    The request and its answer together may take `seconds`; the answer may have `max_bytes`. Raises
    ModelUnreachableError if there is no complete answer in time, and ModelError if the address is another machine's and
    that is not allowed, if the certificate is not valid, or if the answer is too large.
    """
    end = time.monotonic() + seconds
    content = json.dumps(body).encode("ascii")
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", "Connection": "close"}
    if key.value:
        headers["Authorization"] = f"Bearer {key.value}"
    connected = _connect(address, resolve(address, is_remote_allowed=is_remote_allowed), end)
    connection = HTTPConnection(address.host, address.port)
    # http.client needs these three methods of a socket alone.
    connection.sock = cast("socket.socket", _BoundedSocket(connected, end, 2 * max_bytes + _FRAMING_BYTES))
    try:
        connection.request("POST", address.path, content, headers)
        return _read_answer(connection.getresponse(), max_bytes)
    except _AnswerTooLargeError as error:
        raise ModelError(
            f"{address} sent more than {format_count(max_bytes, 'byte')}.",
            "Check that this is the address of the right server.",
        ) from error
    except TimeoutError as error:
        raise ModelUnreachableError(f"{address} did not answer within {seconds:g} s.", _START_HINT) from error
    except (OSError, HTTPException) as error:  # neither's text is shown: it may be the server's
        raise ModelUnreachableError(f"{address} broke off ({type(error).__name__}).", _START_HINT) from error
    finally:
        connection.close()
        connected.close()


_START_HINT = "Is the server running, and the model loaded?"


def resolve(address: ServerAddress, *, is_remote_allowed: bool) -> Sequence[tuple[int, Any]]:
    """Return pairs of a family and a socket address for the host.

    Raises ModelError if an address is not of this machine and that is not allowed, ModelUnreachableError if the host
    has no address.
    """
    if address.host == "localhost":  # by RFC 6761 never asked of a name server
        return [
            (socket.AF_INET, ("127.0.0.1", address.port)),
            (socket.AF_INET6, ("::1", address.port, 0, 0)),
        ]
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ModelUnreachableError(
            f"The host of {address} has no address.", "Check the name, or the network."
        ) from error
    addresses = [(int(family), target) for family, _, _, _, target in found]
    if not is_remote_allowed and not all(_is_loopback(str(target[0])) for _, target in addresses):
        raise ModelError(
            f"{address} is not on this machine, and the notes' text would be sent there.",
            "Use http://127.0.0.1, or allow it with embedding.remote = true.",
        )
    return addresses


def _is_loopback(text: str) -> bool:
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


def _connect(address: ServerAddress, targets: Sequence[tuple[int, Any]], end: float) -> socket.socket:
    reason = ""
    for family, target in targets:
        connected = socket.socket(family, socket.SOCK_STREAM)
        try:
            connected.settimeout(max(0.001, min(_CONNECT_SECONDS, end - time.monotonic())))
            connected.connect(target)
            return _start_tls(connected, address) if address.scheme == "https" else connected
        except OSError as error:
            connected.close()
            reason = reason or error.strerror or "no answer in time"
        except BaseException:
            connected.close()
            raise
    raise ModelUnreachableError(f"{address} cannot be reached: {reason}.", _START_HINT)


def _start_tls(connected: socket.socket, address: ServerAddress) -> socket.socket:
    import ssl

    try:
        return ssl.create_default_context().wrap_socket(connected, server_hostname=address.host)
    except ssl.SSLCertVerificationError as error:
        raise ModelError(
            f"The certificate of {address} cannot be verified ({error.verify_message}).",
            "Use http for a server on this machine, or correct the certificate.",
        ) from error


class _AnswerTooLargeError(Exception):
    """A server sent more bytes than an answer may have."""


def _read_answer(response: HTTPResponse, max_bytes: int) -> Answer:
    """Return an answer. Raises _AnswerTooLargeError, and the errors of http.client and of sockets."""
    if (response.length or 0) > max_bytes:
        raise _AnswerTooLargeError
    data = bytearray()
    while piece := response.read(_PIECE):
        data += piece
        if len(data) > max_bytes:
            raise _AnswerTooLargeError
    if response.length:
        raise ConnectionResetError
    retry_after = response.getheader("Retry-After", "")
    return Answer(response.status, bytes(data), float(retry_after) if retry_after.isdecimal() else 0.0)


class _BoundedSocket:
    """A connected socket that fails after a deadline or a number of received bytes, whatever http.client reads.

    By itself, http.client reads forever if a server sends a chunk of size -1, or sends slowly.
    """

    def __init__(self, connected: socket.socket, end: float, max_bytes: int) -> None:
        self._connected = connected
        self._end = end
        self._max_bytes = max_bytes

    def sendall(self, data: bytes) -> None:
        self._connected.settimeout(_remaining(self._end))
        self._connected.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_BoundedReader(self._connected, self._end, self._max_bytes), _PIECE)

    def close(self) -> None:
        """Leave the socket open: http.client calls this before the answer is read, and the caller closes it later."""


class _BoundedReader(io.RawIOBase):
    """The bytes that arrive at a connected socket before a deadline, at most `max_bytes`."""

    def __init__(self, connected: socket.socket, end: float, max_bytes: int) -> None:
        self._connected = connected
        self._end = end
        self._bytes_left = max_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connected.settimeout(_remaining(self._end))
        size = self._connected.recv_into(buffer)
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise _AnswerTooLargeError
        return size


def _remaining(end: float) -> float:
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds
