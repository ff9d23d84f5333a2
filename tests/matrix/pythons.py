"""The supported Pythons that this machine has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.conftest import SURROUNDING

PROMISED = ("3.11", "3.12", "3.13", "3.14")


def pythons_here() -> dict[str, Path]:
    """Return the interpreter of each supported version found on PATH or in pyenv's folder, oldest first."""
    return {
        version: found[-1] for version in PROMISED if (found := [p for p in _candidates(version) if _runs(p, version)])
    }


def pyenv_folder() -> Path:
    return Path(SURROUNDING.get("PYENV_ROOT") or Path(SURROUNDING.get("HOME", "/"), ".pyenv"))


def _candidates(version: str) -> list[Path]:
    """Return the possible interpreters of a version, the preferred one last."""
    on_path = shutil.which(f"python{version}")
    return [
        *([Path(on_path)] if on_path else []),
        *sorted(pyenv_folder().glob(f"versions/{version}.*/bin/python{version}")),
    ]


def _runs(python: Path, version: str) -> bool:
    # pyenv has a shim on PATH for every installed version, but only shims of active versions run.
    told = "import sys, ensurepip, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        answer = subprocess.run([python, "-c", told], capture_output=True, text=True, timeout=240, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and answer.stdout.strip() == version
