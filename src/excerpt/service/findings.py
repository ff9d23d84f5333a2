"""Findings of `excerpt doctor`: what a check has found, how severe it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from msgspec import Struct


class Severity(StrEnum):
    """Severity of a finding."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Finding(Struct, frozen=True):
    """The result of a check: `what` is a sentence about what was found, `todo` what to do about it ("" for nothing)."""

    level: Severity
    what: str
    todo: str = ""


class FindingGroup(Struct, frozen=True):
    """The findings about one subject, such as the vault, its index or the terminal."""

    name: str
    findings: tuple[Finding, ...]

    @property
    def has_problem(self) -> bool:
        return any(finding.level is Severity.PROBLEM for finding in self.findings)


def ok(text: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(Severity.OK, text)


def warning(text: str, todo: str = "") -> Finding:
    """Return a finding about something that works only in part; `todo` says what to do."""
    return Finding(Severity.WARNING, text, todo)


def problem(text: str, todo: str = "") -> Finding:
    """Return a finding about something that does not work; `todo` says what to do."""
    return Finding(Severity.PROBLEM, text, todo)


def megabytes(size: int) -> str:
    """Format a size in bytes: `229 MB`, `0.5 MB`, `2 kB`."""
    if size < 100_000:
        return f"{size / 1e3:,.0f} kB"
    return f"{size / 1e6:,.1f} MB" if size < 10e6 else f"{size / 1e6:,.0f} MB"


def run_checks(name: str, *parts: Callable[[], Iterable[Finding]]) -> FindingGroup:
    """Run `parts`, the checks of one subject, and return their findings; a check that raises becomes a finding too."""
    findings: list[Finding] = []
    for part in parts:
        try:
            findings += part()
        except Exception as error:  # a check that fails must not hide the others
            message = f"A check of the {name} failed ({type(error).__name__}: {error})."
            findings.append(problem(message, "If no other line explains this error, please report it."))
    return FindingGroup(name, tuple(dict.fromkeys(findings)))
