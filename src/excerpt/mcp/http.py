"""Serve over HTTP, for clients that share one process: on the loopback interface, to those that have the token.

A web page can reach a port of the machine that shows it. So a request must name a host and an origin of this server
(the SDK checks both) and carry the token, which is in a file that only the user can read.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from excerpt.errors import ExcerptError, SettingsError
from excerpt.state_files import replace_file

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
_MIN_TOKEN, _MAX_TOKEN = 16, 4_096  # characters
_SECONDS_TO_END = 1
_BACKLOG = 16  # connections accepted at a time, before they are counted
_MAX_SESSIONS = 500  # 26 kB each
_SESSION_SECONDS = 1_800.0  # without a request or an open stream


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """Where the server listens, and who may connect.

    `token_file` contains the token, `names` are the host names that clients use besides the loopback ones.
    """

    host: str
    port: int
    token_file: Path
    names: tuple[str, ...] = ()


def token_in(file: Path, *, make: bool) -> str:
    """Return the token in a file; if there is no file and `make`, create it with a new token.

    Raises SettingsError if the file cannot be used, also if other users can open it: whoever has the token can read the
    notes, and nobody reads the warnings of an unattended server. ssh refuses such a key too.
    """
    try:
        with file.open(encoding="utf-8") as opened_file:
            mode = os.fstat(opened_file.fileno()).st_mode
            token = opened_file.read(_MAX_TOKEN + 2).strip()
    except FileNotFoundError:
        if not make:
            raise SettingsError(f"There is no token file {file}.", "Create it with a secret of your own.") from None
        token = secrets.token_urlsafe(32)
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, f"{token}\n".encode(), mode=0o600)
        mode = 0o600
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"The token file {file} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error
    if len(token) < _MIN_TOKEN:
        raise SettingsError(f"The token in {file} is too short.", f"It needs at least {_MIN_TOKEN} characters.")
    if len(token) > _MAX_TOKEN or not all("!" <= letter <= "~" for letter in token):
        raise SettingsError(
            f"The token in {file} cannot be sent in a header.",
            f"It must be one line of at most {_MAX_TOKEN} letters, digits and signs, without spaces.",
        )
    if os.name == "posix" and mode & 0o077:
        raise SettingsError(
            f"Other users can open the token file {file}.", f"Close it to other users: chmod 600 {file}"
        )
    return token


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class NeedsToken:
    """ASGI middleware that answers 401 to requests without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_right(scope["headers"]):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"The token is missing or wrong.\n"})
            return
        await self._app(scope, receive, send)

    def _is_right(self, headers: Sequence[tuple[bytes, bytes]]) -> bool:
        authorization = next((value for name, value in headers if name.lower() == b"authorization"), b"")
        return hmac.compare_digest(authorization, self._expected)


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening socket with its `HttpAddress`, and the token that clients must send."""

    http_address: HttpAddress
    token: str
    socket: socket.socket


def open_listener(http_address: HttpAddress) -> Listener:
    """Read the token and start to listen.

    Raises SettingsError for an unusable token, ExcerptError for a port that is taken.
    """
    return Listener(
        http_address, token_in(http_address.token_file, make=is_loopback(http_address.host)), _listening(http_address)
    )


def _listening(http_address: HttpAddress) -> socket.socket:
    """Return a socket that listens at `http_address`. Raises ExcerptError if the port is taken or not permitted."""
    try:
        family = socket.getaddrinfo(http_address.host, http_address.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((http_address.host, http_address.port), family=family)
    except OSError as error:
        raise ExcerptError(
            f"Cannot listen at {http_address.host}:{http_address.port}: {error.strerror or error}.",
            "Name another --port.",
        ) from error


async def serve(server: MCPServer[Any], listener: Listener) -> None:
    """Serve until the process is asked to end."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    from excerpt.mcp.connections import TimedProtocol

    http_address, port = listener.http_address, listener.socket.getsockname()[1]
    host = f"[{http_address.host}]" if ":" in http_address.host else http_address.host
    named = dict.fromkeys(("127.0.0.1", "localhost", "[::1]", host, *http_address.names))
    security = TransportSecuritySettings(
        allowed_hosts=[each for name in named for each in (name, f"{name}:{port}")],
        allowed_origins=[f"{scheme}://{name}:{port}" for name in named for scheme in ("http", "https")],
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security,
        session_idle_timeout=_SESSION_SECONDS,
        max_sessions=_MAX_SESSIONS,
    )
    config = uvicorn.Config(
        NeedsToken(app, listener.token),
        http=TimedProtocol,
        backlog=_BACKLOG,
        log_level="error",
        access_log=False,
        timeout_graceful_shutdown=_SECONDS_TO_END,
    )
    sys.stderr.write(f"excerpt: serving at http://{host}:{port}{PATH}; the token is in {http_address.token_file}\n")
    sys.stderr.flush()
    await uvicorn.Server(config).serve(sockets=[listener.socket])
