"""Tests of the checks of settings, models, tokenizer, folders and versions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from excerpt.base.settings import Paths, Settings
from excerpt.service.diagnosis import setup_checks
from excerpt.service.diagnosis.setup_checks import (
    check_folders,
    check_libraries,
    check_model,
    check_settings_files,
    check_tokenizer,
)
from excerpt.service.findings import Severity
from tests.findings import finding_lines, has_finding

# --- settings, model, tokenizer ---------------------------------------------------------------------------------------


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(*(tmp_path / name for name in ("config", "cache", "data", "state")))


def test_a_broken_settings_file_is_named_and_the_others_still_apply(paths: Paths, tmp_path: Path) -> None:
    file = paths.vault_settings_file(tmp_path)
    file.parent.mkdir(parents=True)
    paths.settings_file.write_text("[search]\nlimt = 3\n")
    file.write_text("[search]\nlimit = 7\n")
    settings, findings = check_settings_files(paths, tmp_path)
    assert settings.search.limit == 7
    lines = finding_lines(findings)
    assert has_finding(lines[:1], Severity.PROBLEM, str(paths.settings_file), "search.limt", "search.limit?")
    assert has_finding(lines[1:], Severity.OK, str(file), "is valid")


def test_an_invalid_pattern_is_a_problem_that_names_its_settings_file(paths: Paths) -> None:
    paths.config.mkdir()
    paths.settings_file.write_text('[vault]\nexclude = ["!"]\n')
    settings, findings = check_settings_files(paths, None)
    assert settings == Settings()
    assert str(paths.settings_file) in finding_lines(findings)[0]
    assert "vault.exclude" in finding_lines(findings)[0]


def test_an_unknown_tokenizer_is_a_problem_and_one_that_differs_from_the_index_a_warning() -> None:
    assert has_finding(finding_lines([check_tokenizer("o200", "")]), Severity.PROBLEM, "'o200'")
    assert has_finding(finding_lines([check_tokenizer("chars/4", "o200k")]), Severity.WARNING, "chars/4", "o200k")
    assert has_finding(finding_lines([check_tokenizer("chars/4", "chars/4")]), Severity.OK, "chars/4")


def test_an_incomplete_model_is_reported_by_its_missing_file(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    lines = finding_lines(check_model(str(tmp_path), ""))
    assert len(lines) == 1
    assert has_finding(lines, Severity.PROBLEM, str(tmp_path), "tokenizer.json", "model.safetensors")


def test_an_index_of_another_model_is_a_warning() -> None:
    lines = finding_lines(check_model("", "another/1"))
    assert has_finding(lines[:1], Severity.OK, "256 dimensions")
    assert has_finding(lines[1:], Severity.WARNING, "another model", "`excerpt index`")


# --- folders, versions ------------------------------------------------------------------------------------------------


def test_a_file_in_place_of_a_folder_is_a_problem(paths: Paths) -> None:
    paths.config.write_text("")
    lines = finding_lines(check_folders(paths, None, 0))
    assert has_finding(lines[:1], Severity.PROBLEM, f"{paths.config} is a file", "EXCERPT_HOME")
    assert has_finding(lines[1:2], Severity.OK, f"{paths.cache} (")


def test_files_in_a_private_folder_are_private(paths: Paths) -> None:
    for folder in paths.folders:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    file = paths.config / "excerpt.toml"
    file.write_text("")
    file.chmod(0o644)
    assert has_finding(finding_lines(check_folders(paths, None, 0)), Severity.OK, "No other user")
    paths.config.chmod(0o755)
    assert has_finding(finding_lines(check_folders(paths, None, 0)), Severity.WARNING, "2 files and folders", str(file))


def test_relative_folders_are_a_warning() -> None:
    here = Paths(*(Path("~/.excerpt") / name for name in ("config", "cache", "data", "state")))
    assert has_finding(
        finding_lines(check_folders(here, None, 0))[:1], Severity.WARNING, str(here.config), "EXCERPT_HOME"
    )


@pytest.mark.parametrize(("free", "level"), [(1_000, Severity.PROBLEM), (2e8, Severity.WARNING), (9e8, Severity.OK)])
def test_free_disk_space_is_compared_with_the_size_of_the_index(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, free: int, level: Severity
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": int(free)}))
    assert next(one for one in check_folders(paths, None, 229_000_000) if "are free" in one.what).level is level


def test_free_disk_space_is_reported_where_there_is_no_index(paths: Paths) -> None:
    assert has_finding(finding_lines(check_folders(paths, None, 0)), Severity.OK, "free on the disk of the indexes")


def test_an_index_on_a_network_drive_is_a_warning(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_checks, "lacks_change_events", lambda _: True)
    assert has_finding(
        finding_lines(check_folders(paths, paths.cache, 0)), Severity.WARNING, "network drive", str(paths.cache)
    )


def test_a_wrong_version_and_a_missing_library_are_problems() -> None:
    lines = finding_lines(check_libraries(["click==0.1", "no-such-library>=1", "msgspec>=0.1", "nope; extra == 'x'"]))
    assert has_finding(lines[:1], Severity.PROBLEM, "library click is ", " 0.1")
    assert has_finding(lines[1:2], Severity.PROBLEM, "no-such-library", "not installed")
    assert has_finding(lines[2:], Severity.OK, "1 library")
