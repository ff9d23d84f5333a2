"""Fixtures: the wheel, built once from the sdist, and the `excerpt` command installed from it on each Python."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import SURROUNDING
from tests.matrix.pythons import pythons_here

ROOT = Path(__file__).parents[2]

collect_ignore_glob = [] if os.name == "posix" else ["test_*.py"]  # only POSIX has pseudo-terminals


@dataclass(frozen=True)
class Installed:
    """The installed program on one Python, with its environment."""

    version: str
    folder: Path
    environment: Mapping[str, str]

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def excerpt(self) -> str:
        return str(self.folder / "bin" / "excerpt")

    def install(self, *what: str) -> None:
        self.run_pip("install", *what)

    def run_pip(self, command: str, *arguments: str) -> None:
        run([self.python, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *arguments])


def run(command: Sequence[str | Path], env: Mapping[str, str] = SURROUNDING) -> str:
    """Return what a command prints; if it fails, the assertion shows all its output."""
    done = subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
    return str(done.stdout)


@cache
def _pythons() -> dict[str, Path]:
    return pythons_here()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "installed" in metafunc.fixturenames:
        metafunc.parametrize("installed", list(_pythons()), indirect=True, scope="session")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"Pythons here: {', '.join(_pythons())}")


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a folder with the sdist, and the wheels built from it (`from-sdist`) and from the tree (`from-tree`)."""
    folder = tmp_path_factory.mktemp("distributions")
    run([sys.executable, "-m", "build", "--sdist", "--outdir", folder, ROOT])
    run([sys.executable, "-m", "build", "--wheel", "--outdir", folder / "from-tree", ROOT])
    (sdist,) = folder.glob("*.tar.gz")
    unpacked = folder / "unpacked"
    unpacked.mkdir()
    run(["tar", "-xzf", sdist, "-C", unpacked, "--strip-components=1"])
    run([sys.executable, "-m", "build", "--wheel", "--outdir", folder / "from-sdist", unpacked])
    return folder


@pytest.fixture(scope="session")
def wheel(distributions: Path) -> Path:
    (wheel,) = (distributions / "from-sdist").glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def installed(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the wheel in a fresh environment of one Python, with an empty home."""
    version: str = request.param
    folder, home = tmp_path_factory.mktemp(f"python-{version}-"), tmp_path_factory.mktemp("home")
    run([_pythons()[version], "-m", "venv", folder])
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "EXCERPT_HOME": str(home / "excerpt"),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
    program = Installed(version, folder, environment)
    program.install(str(wheel))
    return program
