"""Tests of what a release is made from: versions of tools, the workflow, manifests. They belong to no module."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from excerpt.base.entry_points import find_entry_points
from excerpt.cli.main import COMMAND_GROUP

ROOT = Path(__file__).parents[1]


def test_constraints_name_every_package_of_the_development_environment() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    required = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    names = {_normalised(match[0]) for text in required if (match := re.match(r"[\w.-]+", text))}
    pinned = {_normalised(line.partition("==")[0]) for line in _constraints()}
    assert names - pinned == set()


def test_a_constraint_is_a_name_and_a_version_without_an_address() -> None:
    assert [line for line in _constraints() if not re.fullmatch(r"[\w.-]+==[\w.+]+", line)] == []


def _constraints() -> list[str]:
    return (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()[1:]


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_table_of_dependencies_says_what_the_packages_say() -> None:
    assert _load("dependency_table").differences() == []


def test_each_command_has_a_page_of_man_and_only_commands_that_a_package_adds_may_be_missing() -> None:
    """Their texts are compared by `make release`."""
    pages, known = {path.name for path in (ROOT / "man").iterdir()}, _load("man_pages").man_pages().keys()
    added = tuple(f"excerpt-{name}" for name in find_entry_points(COMMAND_GROUP))
    assert known - pages == set()
    assert [page for page in pages - known if not page.startswith(added)] == []


def test_a_line_of_a_command_never_becomes_an_instruction_of_man() -> None:
    assert _load("man_pages").escape(".NET\nC:\\notes\n'tis") == "\\&.NET\nC:\\enotes\n\\&'tis"


def test_archives_of_the_same_files_have_the_same_bytes(tmp_path: Path) -> None:
    release = _load("release")
    for name, day in (("first", 1), ("second", 400)):
        (tmp_path / name).mkdir()
        for file in ("b.py", "a.py"):
            (tmp_path / name / file).write_text(f"name = '{file}'\n", encoding="utf-8")
            os.utime(tmp_path / name / file, (day * 86_400, day * 86_400))
        release.write_zip(tmp_path / name, tmp_path / f"{name}.zip")
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()


@pytest.mark.parametrize("file", [".env", "notes.md", "src/excerpt/tests/test_a.py", "excerpt/secret.txt"])
def test_a_file_that_is_not_in_the_repository_is_not_released(file: str) -> None:
    release = _load("release")
    with pytest.raises(release.ReleaseError, match=re.escape(f"+ {file}")):
        release.compare("wheel", ["excerpt/__init__.py", file], ["excerpt/__init__.py"])


def test_the_bundle_serves_the_folders_that_its_picker_returns() -> None:
    manifest = json.loads((ROOT / "tools" / "bundle" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["server"]["mcp_config"]["args"][-3:] == ["server.py", "mcp", "${user_config.vaults}"]
    picker = manifest["user_config"]["vaults"]
    assert (picker["type"], picker["multiple"], picker["required"]) == ("directory", True, True)


def test_the_suite_runs_on_every_python_that_the_metadata_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [line.split(" :: ")[-1] for line in project["classifiers"] if "Python :: 3." in line]
    for workflow, job in (("tests", "test"), ("release", "zipapps")):
        text = (ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text(encoding="utf-8")
        assert yaml.safe_load(text)["jobs"][job]["strategy"]["matrix"]["python"] == named


def test_each_action_of_a_workflow_is_fixed_by_its_commit() -> None:
    lines = [line for path in (ROOT / ".github" / "workflows").iterdir() for line in path.read_text().splitlines()]
    used = [line.split("uses: ")[1] for line in lines if "uses: " in line and "uses: ./" not in line]
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w/.-]+@[0-9a-f]{40} # v[\d.]+", action)] == []


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
