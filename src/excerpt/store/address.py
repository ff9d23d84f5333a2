"""Addresses of vaults in a store: postgresql://user@host/database?vault=wiki."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from excerpt.errors import StoreUnusableError

_SCHEME = re.compile(r"postgres(?:ql)?:(/{1,3})(?=[^/])")
_POSITION = re.compile(r"[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}")


@dataclass(frozen=True, slots=True)
class Address:
    """A database for libpq, and the name of a vault in it, "" if none is named.

    `text` is the address as given. A reader waits until its server has everything written up to the position `after`.
    """

    conninfo: str
    vault: str
    text: str
    after: str = ""

    @property
    def shown(self) -> str:
        """The address for display: without options."""
        parts = urlsplit(self.conninfo)
        return f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?vault={quote(self.vault)}" if self.vault else "")

    @property
    def folder(self) -> Path:
        """Path under which a reader's own data about the vault is stored. There is no such folder."""
        parts = urlsplit(self.conninfo)
        return Path("/", "postgresql:", parts.netloc, parts.path.strip("/"), self.vault)


def is_address(text: str) -> bool:
    """Return whether `text` is the address of a store, and not a folder."""
    return _SCHEME.match(text) is not None


def read_address(text: str) -> Address:
    """Parse an address. Raises StoreUnusableError for one with a password.

    Others could see the password in the list of processes and in the shell's history.
    """
    try:
        parts = urlsplit(_SCHEME.sub(_with_slashes, text, count=1))
        host = unquote(parts.hostname or "")
        _ = parts.port
    except ValueError as error:
        raise StoreUnusableError(f"That is not the address of a store: {error}.", _FORM) from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.password is not None or {"password", "sslpassword"} & options.keys():
        raise StoreUnusableError(
            "The address holds a password, which does not belong on a command line.",
            "Leave it out, and put it into the file ~/.pgpass or the variable PGPASSWORD.",
        )
    if parts.scheme != "postgresql" or not parts.path.strip("/"):
        raise StoreUnusableError("The address has no database.", _FORM)
    vault, after = options.pop("vault", ""), options.pop("after", "")
    if after and _POSITION.fullmatch(after) is None:
        raise StoreUnusableError(f"{after!r} is not a position of a server.", "A push with --json prints one.")
    # libpq connects to the number if one is given.
    host = options.get("hostaddr") or options.get("host", host)
    if "sslmode" not in options and not _is_loopback(host):
        options["sslmode"] = "verify-full"
        if "sslrootcert" not in options and not (Path.home() / ".postgresql" / "root.crt").exists():
            options["sslrootcert"] = "system"
    conninfo = f"postgresql://{parts.netloc}{parts.path}" + (f"?{urlencode(options)}" if options else "")
    return Address(conninfo, vault, text, after)


_FORM = "It looks like postgresql://user@host/database?vault=name."


def _with_slashes(scheme: re.Match[str]) -> str:
    """Return the scheme with both slashes, one of which a Path removes.

    If only a name follows, it is a database of a server on this machine, reached by its socket.
    """
    before_options = scheme.string[scheme.end() :].partition("?")[0]
    by_socket = scheme[1] == "///" or (scheme[1] == "/" and "/" not in before_options)
    return "postgresql:///" if by_socket else "postgresql://"


def _is_loopback(host: str) -> bool:
    """Return whether a host is this machine: by name, by number, or by the folder of a socket."""
    if not host or host.startswith("/") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
