"""Tests of findings, and of checks that fail."""

from __future__ import annotations

from collections.abc import Iterable

from excerpt.service.findings import Finding, Severity, ok, run_checks
from tests.findings import finding_lines, has_finding


def test_a_check_that_raises_becomes_a_finding_and_the_other_checks_run() -> None:
    def fails() -> Iterable[Finding]:
        raise RuntimeError("boom")

    found = run_checks("x", fails, lambda: [ok("fine")])
    assert has_finding(finding_lines(found.findings)[:1], Severity.PROBLEM, "(RuntimeError: boom)")
    assert len(found.findings) == 2
