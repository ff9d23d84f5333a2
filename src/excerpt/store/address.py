"""Addresses of vaults in a store: postgresql://user@host/database?vault=wiki."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from excerpt.errors import StoreUnusableError

# A Path has made one slash of two.
_SCHEME = re.compile(r"postgres(?:ql)?://?(?!/)")


@dataclass(frozen=True, slots=True)
class Address:
    """A database, as libpq takes it, and the name of a vault in it, "" where none is named; `text` is how both were
    given."""

    conninfo: str
    vault: str
    text: str

    @property
    def shown(self) -> str:
        """The address as people read it: without options."""
        parts = urlsplit(self.conninfo)
        return f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?vault={quote(self.vault)}" if self.vault else "")

    @property
    def folder(self) -> Path:
        """What stands for the folder of a vault where things of the reader's own are kept by it. There is no such
        folder."""
        parts = urlsplit(self.conninfo)
        return Path("/", "postgresql:", parts.netloc, parts.path.strip("/"), self.vault)


def is_address(text: str) -> bool:
    """Whether a vault is named by the address of a store, and not by a folder."""
    return _SCHEME.match(text) is not None


def read_address(text: str) -> Address:
    """Take an address apart. Raises StoreUnusableError for one with a password, which others could see in the list of
    processes and in the shell's history."""
    try:
        parts = urlsplit(_SCHEME.sub("postgresql://", text))
        host = unquote(parts.hostname or "")
        _ = parts.port
    except ValueError as error:
        raise StoreUnusableError(f"That is no address of a store: {error}.", _FORM) from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.password is not None or {"password", "sslpassword"} & options.keys():
        raise StoreUnusableError(
            "The address holds a password, which does not belong on a command line.",
            "Leave it out, and put it into the file ~/.pgpass or the variable PGPASSWORD.",
        )
    if parts.scheme != "postgresql" or not parts.path.strip("/"):
        raise StoreUnusableError("The address names no database.", _FORM)
    vault = options.pop("vault", "")
    # What is connected to is the number, where one is given.
    host = options.get("hostaddr") or options.get("host", host)
    if "sslmode" not in options and not _is_loopback(host):
        options["sslmode"] = "verify-full"
        if "sslrootcert" not in options and not (Path.home() / ".postgresql" / "root.crt").exists():
            options["sslrootcert"] = "system"
    return Address(urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(options), "")), vault, text)


_FORM = "It looks like postgresql://user@host/database?vault=name."


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine: by name, by number, or by the folder of a socket."""
    if not host or host.startswith("/") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
