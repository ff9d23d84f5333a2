"""The program and what it is made of: versions, and the libraries that are pinned against those that are installed."""

from __future__ import annotations

import platform
import re
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata

from excerpt import __version__
from excerpt.doctor.finding import Finding, ok, problem
from excerpt.text.counted import counted

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)\s*(?:\[[^\]]*\])?\s*\(?(?P<range>[^;)]*)\)?\s*(?P<marker>;.*)?")
_AGAIN = "Install excerpt again, so that its libraries are those that it was made with."


def versions() -> Iterator[Finding]:
    system = f"{platform.system()} {platform.release()} ({platform.machine()})"
    python = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    yield ok(f"excerpt {__version__}, {python}, {system}")
    if not (3, 11) <= sys.version_info[:2] < (3, 15):
        yield problem("excerpt needs Python 3.11 to 3.14.", "Install it with one of these.")
    try:
        required = metadata.requires("excerpt") or []
    except metadata.PackageNotFoundError:
        required = []
    yield from libraries(required)


def libraries(required: Iterable[str]) -> Iterator[Finding]:
    """`required` as a package's metadata has it: `textual==8.2.8`, `numpy>=2.0`."""
    fine = 0
    pinned: list[str] = []
    for line in required:
        found = _REQUIREMENT.fullmatch(line.strip())
        if found is None or found["marker"]:
            continue
        name, wanted = found["name"], found["range"].strip()
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield problem(f"The library {name} is not installed.", _AGAIN)
            continue
        if wanted.startswith("==") and version != wanted[2:].strip():
            yield problem(f"The library {name} is {version}; excerpt was made with {wanted[2:].strip()}.", _AGAIN)
            continue
        fine += 1
        pinned += [f"{name} {version}"] if wanted.startswith("==") else []
    if fine:
        yield ok(f"{counted(fine, 'library', 'libraries')} installed; pinned ones: {', '.join(pinned) or 'none'}")
