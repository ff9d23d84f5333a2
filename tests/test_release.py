"""Tests of what a release is made from: versions of tools, the workflow, manifests. They belong to no module."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

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
