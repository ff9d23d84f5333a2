"""Tests of the installed program on each supported Python of this machine: `make matrix`.

No module has this name: the wheel as a whole is tested.
"""

from __future__ import annotations

import email
import json
import os
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal
from tests.matrix.conftest import ROOT, Installed, run
from tests.matrix.pythons import pyenv_folder, pythons_here

pytestmark = pytest.mark.matrix

ENGINE = ("text", "vault", "index", "search", "pack", "memory", "insight")
"""Folders of tests that exercise only excerpt's own code; they run on the newest Python, but for the properties."""


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "Bees.md").write_text("# Bees\n\nA bee colony winters as a cluster around its honey.\n")
    (folder / "Tea.md").write_text("# Tea\n\nGreen tea is steeped at eighty degrees for two minutes.\n")
    return folder


def test_at_least_three_python_versions_are_tested_where_they_are_installed() -> None:
    there = {path.name for folder in _folders_of_pythons() for path in folder.glob("python3.1[1-4]")}
    assert len(pythons_here()) >= min(3, len(there))


def _folders_of_pythons() -> list[Path]:
    return [*map(Path, os.environ["PATH"].split(os.pathsep)), *pyenv_folder().glob("versions/*/bin")]


def test_the_sdist_builds_the_same_wheel(distributions: Path) -> None:
    (tree,), (sdist,) = (list((distributions / of).glob("*.whl")) for of in ("from-tree", "from-sdist"))
    assert _contents(tree) == _contents(sdist)


def _contents(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def test_the_wheel_names_every_licence_and_contains_its_text(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        told = email.message_from_bytes(archive.read(metadata))
        (model,) = (name for name in names if name.endswith("licenses/src/excerpt/embedding/LICENSE-MODEL.md"))
        text = archive.read(model).decode()
    assert told["License-Expression"] == "MIT AND Apache-2.0"
    assert "src/excerpt/embedding/minilm/LICENSE-MINILM.md" in told.get_all("License-File", [])
    for file in told.get_all("License-File", []):
        assert any(name.endswith(f".dist-info/licenses/{file}") for name in names)
    assert "docs/" not in text
    assert "| wordnet-base |" in text


def test_the_demo_vault_is_searched_and_packed_and_the_app_quits(installed: Installed) -> None:
    with Terminal([installed.excerpt, "demo"], installed.environment, 80, 24) as app:
        _ask_mark_and_copy(app, "token budget")
        app.press("f1")
        app.wait_for("Keys", "esc")
        app.press("esc")
        app.press("ctrl+q")
        assert app.wait_exit() == 0


def test_a_vault_is_opened_and_reopened_at_the_next_start(installed: Installed, vault: Path) -> None:
    with Terminal([installed.excerpt, str(vault)], installed.environment, 80, 24) as app:
        _ask_mark_and_copy(app, "winter")
        app.press("ctrl+q")
        assert app.wait_exit() == 0
    with Terminal([installed.excerpt], installed.environment, 80, 24) as app:
        app.wait_for("Search", vault.name)
        app.type("steeped")
        app.wait_for("Tea")
        app.press("ctrl+q")
        assert app.wait_exit() == 0


def _ask_mark_and_copy(app: Terminal, query: str) -> None:
    app.wait_for("Search", " notes")
    app.type(query)
    app.wait_for(query, " this: ")
    app.press("tab")
    app.wait_for("1 marked")
    app.press("ctrl+y")
    app.wait_until(lambda: bool(app.copied()), "to copy by OSC 52")


def test_the_command_line_finds_packs_and_remembers(installed: Installed, vault: Path) -> None:
    def told(*words: str) -> str:
        return run([installed.excerpt, *words, "--vault", vault], env=dict(installed.environment))

    found = json.loads(told("search", "how warm is tea", "--json"))
    assert found["hits"][0]["path"] == "Tea.md"
    assert "eighty degrees" in told("pack", "green tea", "--budget", "200")
    told("remember", "Tea turns bitter when it is hot", "--tag", "kitchen")
    assert "bitter" in told("recall", "--tag", "kitchen")


def test_the_tests_of_the_engine_pass_on_the_newest_python(installed: Installed) -> None:
    _install_test_tools(installed)
    _run_tests(installed, ENGINE)


def test_the_tests_of_the_index_pass_with_another_fork_of_whoosh(installed: Installed) -> None:
    """The fork that is installed is released by one automatic agent: this is what would replace it."""
    _install_test_tools(installed)
    installed.run_pip("uninstall", "--yes", "whoosh3")
    installed.install("whoosh-reloaded>=2.7.5")
    _run_tests(installed, ["index"])


def _install_test_tools(installed: Installed) -> None:
    """Install what the suite needs on the newest Python, or skip the test: one Python runs the suite."""
    if installed.version != list(pythons_here())[-1]:
        pytest.skip("the newest does it")
    installed.install("--upgrade", "pip>=25.1")  # Python 3.13 and before ship one without dependency groups
    installed.install("--group", f"{ROOT / 'pyproject.toml'}:dev")


def _run_tests(installed: Installed, folders: Sequence[str]) -> None:
    command = [
        installed.python,
        *("-m", "pytest", "-n", "auto", "--dist", "worksteal", "-p", "no:cacheprovider"),
        *("-m", "not (hypothesis or programs or store)"),
        *(str(ROOT / "tests" / name) for name in folders),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
