"""Compare the table of docs/design/dependencies.md with pyproject.toml and with the packages that are installed."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
_HEADING = "## Who makes them, and what would replace them"
_COMPILED = "*"
_NAMES_OF_CLASSIFIERS = {"MIT License": "MIT", "Apache Software License": "Apache-2.0", "BSD License": "BSD"}


def differences() -> list[str]:
    """Return what the table says otherwise than pyproject.toml and the installed packages; of others, nothing."""
    rows = {cells[0].removesuffix(_COMPILED): cells for cells in _rows()}
    required = set(_required())
    found = [f"{name} has no row" for name in sorted(required - rows.keys())]
    found += [f"{name} is no dependency" for name in sorted(rows.keys() - required)]
    for name, (marked_name, _, _, _, licence, _) in rows.items():
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        if not any(known in licence for known in _licences(package)):
            found.append(f"{name} has the licence {' or '.join(_licences(package))}, not {licence}")
        if marked_name.endswith(_COMPILED) != _is_compiled(package):
            found.append(f"{name} has {'compiled wheels' if _is_compiled(package) else 'wheels of pure Python'}")
    return found


def _rows() -> Iterator[list[str]]:
    text = (ROOT / "docs" / "design" / "dependencies.md").read_text(encoding="utf-8")
    for line in text.partition(_HEADING)[2].partition("\n## ")[0].splitlines():
        if line.startswith("| ") and not line.startswith("| package "):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def _required() -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirements in [project["dependencies"], *project["optional-dependencies"].values()]:
        for requirement in requirements:
            if match := re.match(r"[\w.-]+", requirement):
                yield match[0]


def _licences(package: Distribution) -> list[str]:
    """Return the licences of a package, by the newest field of its metadata that it fills."""
    if expression := package.metadata.get("License-Expression"):
        return re.split(r" AND | OR ", expression)
    classifiers = package.metadata.get_all("Classifier") or []
    names = [line.split(" :: ")[-1] for line in classifiers if line.startswith("License :: ")]
    return [_NAMES_OF_CLASSIFIERS.get(name, name) for name in names] or [package.metadata.get("License", "")]


def _is_compiled(package: Distribution) -> bool:
    tags = re.findall(r"^Tag: (.+)$", package.read_text("WHEEL") or "", re.MULTILINE)
    return not all(tag.endswith("-none-any") for tag in tags)


if __name__ == "__main__":
    sys.exit("\n".join(differences()) or None)
