"""Addresses of model servers, and their keys."""

from __future__ import annotations

import os
import stat
import tomllib
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from excerpt.base.errors import ModelError
from excerpt.base.state_files import read_text

EMBEDDING_KEY_VARIABLE = "EXCERPT_EMBEDDING_KEY"
RERANK_KEY_VARIABLE = "EXCERPT_RERANK_KEY"

_PORTS = {"http": 80, "https": 443}
_MAX_KEYS_BYTES = 1_000_000


class ServerAddress(Struct, frozen=True):
    """The address of a server, and the name of the model that it is asked for."""

    scheme: str
    host: str
    port: int
    path: str
    """Path of the requests with the query of the address, if it has one."""

    model: str

    def __str__(self) -> str:
        """Return the address without its query, which may hold a secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path.partition('?')[0]}"

    @property
    def is_loopback_name(self) -> bool:
        """Whether the host is this machine by its spelling alone, without asking a name server."""
        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse_address(text: str, endpoint: str = "") -> ServerAddress:
    """Parse an address such as http://127.0.0.1:11434/v1#NAME; `endpoint` is added to its path. Raises ModelError."""
    address, _, model = text.partition("#")
    try:
        parts = urlsplit(address)
        scheme, host, port = parts.scheme, parts.hostname or "", parts.port
        is_valid = (
            scheme in _PORTS and bool(host) and address.isascii() and address.isprintable() and " " not in address
        )
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ModelError(
            "The address of the model's server is not valid.",
            "Write the address as http://127.0.0.1:11434/v1#model-name.",
        )
    if parts.username is not None or parts.password is not None:
        raise ModelError(
            f"The address of the model's server at {host} holds a name or password.",
            f"Remove it, and set the key in {EMBEDDING_KEY_VARIABLE}, {RERANK_KEY_VARIABLE} or keys.toml.",
        )
    path = f"{parts.path.rstrip('/')}{endpoint}" if endpoint else parts.path or "/"
    query = f"?{parts.query}" if parts.query else ""
    return ServerAddress(scheme, host, port or _PORTS[scheme], path + query, unquote(model))


def _is_sendable(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


# --- keys -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ServerKey:
    """The key that a server requires; "" if it requires no key. The object's `repr` does not show the key."""

    value: str = field(default="", repr=False)


def find_key(address: ServerAddress, variable: str, keys_file: Path) -> ServerKey:
    """Return the key for a server: from an environment variable, else from the file of keys by "host:port" or "host".

    The environment variable is used only for the address in the settings. Raises ModelError if the key cannot be sent,
    or if other users may read the file.
    """
    if value := os.environ.get(variable, ""):
        return _checked_key(value, variable)
    keys = _read_keys(keys_file)
    return _checked_key(keys.get(f"{address.host}:{address.port}", keys.get(address.host, "")), str(keys_file))


def _checked_key(value: object, source: str) -> ServerKey:
    if not isinstance(value, str) or not _is_sendable(value):
        raise ModelError(f"A key in {source} has a character that cannot be sent.", "Copy the key again.")
    return ServerKey(value)


def _read_keys(file: Path) -> dict[str, object]:
    try:
        state = file.stat()
        if os.name == "posix" and (state.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or state.st_uid != os.getuid()):
            raise ModelError(
                f"{file} is not used, because other users may read it or own it.", f"Run `chmod 600 {file}`."
            )
        return tomllib.loads(read_text(file, _MAX_KEYS_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        # The error of the parser is not shown: it may quote the line with a key.
        raise ModelError(f"{file} cannot be read.", 'Write a line for each host: "api.example.com" = "KEY".') from error
