"""Addresses of vaults in a store: postgresql://user@host/database?vault=wiki."""

from __future__ import annotations

import getpass
import ipaddress
import os
import re
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from msgspec import Struct

from excerpt.base.errors import StoreUnusableError

_SCHEME = re.compile(r"postgres(?:ql)?:(/{1,3})(?=[^/])")
_WAL_POSITION = re.compile(r"[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}")


class PostgresAddress(Struct, frozen=True):
    """The address of a vault in a store, parsed.

    `conninfo` is the connection string of the database for libpq. `vault` is the name of the vault, "" if the address
    has none. `text` is the address as given. `wait_position` is a position in PostgreSQL's write-ahead log, "" for
    none: a reader waits until its server, which may be a replica, has reached it.
    """

    conninfo: str
    vault: str
    text: str
    wait_position: str = ""

    @property
    def display_text(self) -> str:
        """The address for display, without options."""
        parts = urlsplit(self.conninfo)
        return f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?vault={quote(self.vault)}" if self.vault else "")

    @property
    def database(self) -> str:
        """The name of the database."""
        return unquote(urlsplit(self.conninfo).path.strip("/"))

    @property
    def role(self) -> str:
        """The name of the role: the user's own if the address has none, as libpq has it."""
        return unquote(urlsplit(self.conninfo).username or "") or os.environ.get("PGUSER") or getpass.getuser()

    @property
    def folder(self) -> Path:
        """A path that stands for the vault in the names of the user's data files. There is no such folder."""
        parts = urlsplit(self.conninfo)
        return Path("/", "postgresql:", parts.netloc, parts.path.strip("/"), self.vault)


def parse_address(text: str) -> PostgresAddress:
    """Parse the address of a store. Raises StoreUnusableError if it is not valid or contains a password.

    A password could be seen in the list of processes and in the shell's history.
    """
    try:
        parts = urlsplit(_SCHEME.sub(_restore_slashes, text, count=1))
        host = unquote(parts.hostname or "")
        _ = parts.port
    except ValueError as error:
        raise StoreUnusableError(f"The address of the store is not valid: {error}.", _ADDRESS_HINT) from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.password is not None or {"password", "sslpassword"} & options.keys():
        raise StoreUnusableError(
            "The address contains a password, which does not belong on a command line.",
            "Remove the password, and put it into the file ~/.pgpass or the variable PGPASSWORD.",
        )
    if not unquote(text).isprintable():
        raise StoreUnusableError("The address of the store has a character that cannot be shown.", _ADDRESS_HINT)
    if parts.scheme != "postgresql" or not parts.path.strip("/"):
        raise StoreUnusableError("The address does not name a database.", _ADDRESS_HINT)
    vault, wait_position = options.pop("vault", ""), options.pop("after", "")
    if wait_position and _WAL_POSITION.fullmatch(wait_position) is None:
        raise StoreUnusableError(f"{wait_position!r} is not a position of a server.", "A push with --json prints one.")
    # libpq connects to the number if one is given.
    host = options.get("hostaddr") or options.get("host", host)
    if "sslmode" not in options and not _is_loopback(host):
        options["sslmode"] = "verify-full"
        if "sslrootcert" not in options and not (Path.home() / ".postgresql" / "root.crt").exists():
            options["sslrootcert"] = "system"
    conninfo = f"postgresql://{parts.netloc}{parts.path}" + (f"?{urlencode(options)}" if options else "")
    return PostgresAddress(conninfo, vault, text, wait_position)


_ADDRESS_HINT = "Write the address as postgresql://user@host/database?vault=name."


def _restore_slashes(scheme: re.Match[str]) -> str:
    """Return the scheme of an address with two slashes; a `Path` made of the address has lost one of them.

    If only one name follows, it is a database of the local server, reached by a socket: then the result has three
    slashes.
    """
    before_options = scheme.string[scheme.end() :].partition("?")[0]
    by_socket = scheme[1] == "///" or (scheme[1] == "/" and "/" not in before_options)
    return "postgresql:///" if by_socket else "postgresql://"


def _is_loopback(host: str) -> bool:
    """Return whether a host, given as name, IP address or folder of a socket, is this machine; True for ""."""
    if not host or host.startswith("/") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
