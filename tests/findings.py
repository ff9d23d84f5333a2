"""Findings of `excerpt doctor` as lines, for tests of its checks."""

from __future__ import annotations

from collections.abc import Iterable

from excerpt.service.findings import Finding, Severity


def finding_lines(findings: Iterable[Finding]) -> list[str]:
    return [f"{finding.level}: {finding.what} {finding.todo}".strip() for finding in findings]


def has_finding(lines: Iterable[str], level: Severity, *facts: str) -> bool:
    """Return whether one of the lines has this level and names all these facts."""
    return any(line.startswith(f"{level}: ") and all(fact in line for fact in facts) for line in lines)
