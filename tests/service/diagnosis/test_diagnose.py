"""Tests of the report of all checks; its findings are tested by `excerpt doctor`."""

from __future__ import annotations

from pathlib import Path

from excerpt.base.settings import Paths, Settings
from excerpt.service.diagnosis.diagnose import diagnose
from excerpt.service.findings import FindingGroup, problem


def ignore_progress(*_: object) -> None:
    pass


def test_the_callers_checks_of_the_terminal_are_in_the_report_and_get_the_settings(tmp_path: Path) -> None:
    paths = Paths(*(tmp_path / name for name in ("config", "cache", "data", "state")))
    paths.config.mkdir()
    paths.settings_file.write_text('[screen]\neditor = "hx"\n')

    def check_terminal(settings: Settings) -> tuple[FindingGroup, ...]:
        return (FindingGroup("editor", (problem(settings.screen.editor),)),)

    diagnosis = diagnose(None, paths, ignore_progress, check_terminal, version="1.2.3", quick=True)
    names = [group.name for group in diagnosis.groups]
    assert names == ["vault", "settings", "model", "editor", "folders", "versions"]
    assert diagnosis.groups[3].findings == (problem("hx"),)
    assert diagnosis.problems == 1
