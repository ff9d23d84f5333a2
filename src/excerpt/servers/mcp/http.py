"""Serve over HTTP, so that several clients share one server: on the loopback interface, and only with a token.

A web page in a browser can send requests to ports of the user's machine. So a request must name a host and an origin of
this server (the SDK checks both) and contain the token, which is in a file that only the user can read.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from excerpt.base.errors import ExcerptError, SettingsError
from excerpt.base.state_files import open_regular, replace_file

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
URL_PATH = "/mcp"
_MIN_TOKEN_LENGTH, _MAX_TOKEN_LENGTH = 16, 4_096  # characters
_SHUTDOWN_SECONDS = 1
_BACKLOG = 16  # connections that the system accepts before the server counts them
_MAX_SESSIONS = 500  # 26 kB each
_SESSION_SECONDS = 1_800.0  # after which a session without a request or an open stream ends


class HttpAddress(Struct, frozen=True):
    """The address at which the server listens, with the token file and host names for clients.

    `token_file` contains the token. `names` are host names of the server, besides the loopback ones, that requests may
    use.
    """

    host: str
    port: int
    token_file: Path
    names: tuple[str, ...] = ()


def load_token(file: Path, *, create: bool) -> str:
    """Return the token in `file`; with `create`, a missing file is created with a new token.

    Raises SettingsError if the file cannot be used. A file that other users can open is refused, as ssh refuses such
    keys: whoever has the token can read the notes, and nobody would see a warning of an unattended server.
    """
    try:
        with open_regular(file) as opened_file:
            mode = os.fstat(opened_file.fileno()).st_mode
            token = opened_file.read(_MAX_TOKEN_LENGTH + 2).decode().strip()
    except FileNotFoundError:
        if not create:
            raise SettingsError(
                f"There is no token file {file}.", "Create the file, and write a secret of your own into it."
            ) from None
        token = secrets.token_urlsafe(32)
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, f"{token}\n".encode(), mode=0o600)
        mode = 0o600
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"The token file {file} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error
    if len(token) < _MIN_TOKEN_LENGTH:
        raise SettingsError(
            f"The token in {file} is too short.", f"Write at least {_MIN_TOKEN_LENGTH} characters into the file."
        )
    if len(token) > _MAX_TOKEN_LENGTH or not all("!" <= letter <= "~" for letter in token):
        raise SettingsError(
            f"The token in {file} cannot be sent in a header.",
            f"The token must be one line of at most {_MAX_TOKEN_LENGTH} letters, digits and signs, without spaces.",
        )
    if os.name == "posix" and mode & 0o077:
        raise SettingsError(f"Other users can open the token file {file}.", f"Make the file private: chmod 600 {file}")
    return token


def is_loopback(host: str) -> bool:
    """Return whether a host name or IP address means this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class TokenMiddleware:
    """ASGI middleware that answers 401 to requests without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._has_token(scope["headers"]):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"The token is missing or wrong.\n"})
            return
        await self._app(scope, receive, send)

    def _has_token(self, headers: Sequence[tuple[bytes, bytes]]) -> bool:
        authorization = next((value for name, value in headers if name.lower() == b"authorization"), b"")
        return hmac.compare_digest(authorization, self._expected)


class HttpListener(Struct, frozen=True):
    """A listening socket with its `HttpAddress`, and the token that clients must send."""

    http_address: HttpAddress
    token: str
    socket: socket.socket


def open_listener(http_address: HttpAddress) -> HttpListener:
    """Read the token and open a socket that listens at `http_address`.

    Raises SettingsError if the token cannot be used, ExcerptError if the port is taken.
    """
    return HttpListener(
        http_address,
        load_token(http_address.token_file, create=is_loopback(http_address.host)),
        _open_socket(http_address),
    )


def _open_socket(http_address: HttpAddress) -> socket.socket:
    """Return a socket that listens at `http_address`. Raises ExcerptError if the port is taken or not permitted."""
    try:
        family = socket.getaddrinfo(http_address.host, http_address.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((http_address.host, http_address.port), family=family)
    except OSError as error:
        raise ExcerptError(
            f"Cannot listen at {http_address.host}:{http_address.port}: {error.strerror or error}.",
            "Choose another port with --port.",
        ) from error


async def serve(server: MCPServer[Any], listener: HttpListener) -> None:
    """Serve HTTP clients on the socket of `listener` until the process gets SIGTERM or SIGINT."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    from excerpt.servers.mcp.connections import InputMiddleware, TimeLimitedProtocol

    http_address, port = listener.http_address, listener.socket.getsockname()[1]
    host = f"[{http_address.host}]" if ":" in http_address.host else http_address.host
    named = dict.fromkeys(("127.0.0.1", "localhost", "[::1]", host, *http_address.names))
    security = TransportSecuritySettings(
        allowed_hosts=[each for name in named for each in (name, f"{name}:{port}")],
        allowed_origins=[f"{scheme}://{name}:{port}" for name in named for scheme in ("http", "https")],
    )
    app = server.streamable_http_app(
        streamable_http_path=URL_PATH,
        transport_security=security,
        session_idle_timeout=_SESSION_SECONDS,
        max_sessions=_MAX_SESSIONS,
    )
    config = uvicorn.Config(
        TokenMiddleware(InputMiddleware(app), listener.token),
        http=TimeLimitedProtocol,
        backlog=_BACKLOG,
        log_level="error",
        access_log=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    url = f"http://{host}:{port}{URL_PATH}"
    with suppress(OSError):  # its terminal may be closed
        sys.stderr.write(f"excerpt: serving at {url}; the token is in {http_address.token_file}\n")
        sys.stderr.flush()
    await uvicorn.Server(config).serve(sockets=[listener.socket])
