"""What the doctor says: one line of what was looked at, how it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How a thing is: as it should be; worth knowing, as something may not work; or wrong."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """`what` says in a sentence what was found and where, `todo` what to do; "" where nothing is to be done."""

    level: Level
    what: str
    todo: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """What was found about one thing: the vault, its index, the terminal …"""

    name: str
    findings: tuple[Finding, ...]

    @property
    def has_problem(self) -> bool:
        return any(finding.level is Level.PROBLEM for finding in self.findings)


def ok(what: str) -> Finding:
    return Finding(Level.OK, what)


def warning(what: str, todo: str = "") -> Finding:
    return Finding(Level.WARNING, what, todo)


def problem(what: str, todo: str = "") -> Finding:
    return Finding(Level.PROBLEM, what, todo)


def named(names: Sequence[str], most: int = 3) -> str:
    """The first of some names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def megabytes(size: int) -> str:
    """`229 MB`, `0.5 MB`, `2 kB`."""
    if size < 100_000:
        return f"{size / 1e3:,.0f} kB"
    return f"{size / 1e6:,.1f} MB" if size < 10e6 else f"{size / 1e6:,.0f} MB"
