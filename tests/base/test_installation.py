"""Tests of the command that installs packages beside excerpt, by the files that pipx and uv write."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from excerpt.base import installation
from excerpt.base.installation import extra_command, install_command

PACKAGES = ("some>=1.2", "other==3")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="quotation marks are those of POSIX")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the environment that excerpt seems to run in."""
    folder = tmp_path / "excerpt-beta"
    folder.mkdir()
    monkeypatch.setattr(sys, "prefix", str(folder))
    return folder


def uv_command(environment: Path, *requirements: str) -> str:
    """Return the command for a tool of uv that was installed by these entries of its receipt."""
    lines = ["[tool]", "requirements = [", *(f"    {{ {entry} }}," for entry in requirements), "]", "entrypoints = []"]
    (environment / "uv-receipt.toml").write_text("\n".join(lines), encoding="utf-8")
    return install_command(PACKAGES)


def test_the_pipx_command_names_the_environment_by_its_folder(environment: Path) -> None:
    (environment / "pipx_metadata.json").write_text("{}", encoding="utf-8")
    assert install_command(PACKAGES) == "pipx inject excerpt-beta 'some>=1.2' other==3"


def test_packages_are_installed_by_pip_of_the_python_that_runs_excerpt(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/my folder/.venv/bin/python")
    assert install_command(PACKAGES) == "'/my folder/.venv/bin/python' -m pip install 'some>=1.2' other==3"


def test_in_an_environment_without_pip_packages_are_installed_by_uv(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/venv/bin/python")
    monkeypatch.setattr(installation, "find_spec", lambda _: None)
    assert install_command(PACKAGES) == "uv pip install --python /venv/bin/python 'some>=1.2' other==3"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('name = "excerpt"', ["excerpt"]),
        ('name = "excerpt", specifier = "==1.0"', ["excerpt==1.0"]),
        ('name = "excerpt", directory = "/my src"', ["/my src"]),
        ('name = "excerpt", extras = ["llm", "mcp"], path = "/a.whl"', ["/a.whl[llm,mcp]"]),
        ('name = "excerpt", editable = "/src"', ["--editable", "/src"]),
        ('name = "excerpt", git = "https://host/excerpt?rev=v1"', ["excerpt @ git+https://host/excerpt@v1"]),
        ('name = "excerpt", git = "https://host/excerpt"', ["excerpt @ git+https://host/excerpt"]),
        ('name = "excerpt", url = "https://host/e.whl"', ["excerpt @ https://host/e.whl"]),
    ],
)
def test_a_uv_tool_is_installed_again_from_its_original_source(environment: Path, entry: str, words: list[str]) -> None:
    added = ["--with", "some>=1.2", "--with", "other==3"]
    assert shlex.split(uv_command(environment, entry)) == ["uv", "tool", "install", *added, *words]


@pytest.mark.parametrize(
    "receipt",
    [
        "",
        "[tool",
        "tool = 1",
        "[tool]\nrequirements = ['excerpt']",
        "[tool]\nrequirements = [{ version = 1 }]",
        "[tool]\nrequirements = [{ name = 'excerpt', git = 1 }]",
    ],
)
def test_if_uvs_receipt_cannot_be_read_the_command_uses_this_python(environment: Path, receipt: str) -> None:
    (environment / "uv-receipt.toml").write_text(receipt, encoding="utf-8")
    command = install_command(PACKAGES)
    assert shlex.split(command) == ["uv", "pip", "install", "--python", sys.executable, *PACKAGES]


def test_a_uv_tool_keeps_packages_that_were_added_earlier(environment: Path) -> None:
    command = uv_command(environment, 'name = "excerpt"', 'name = "six", specifier = ">=1"')
    assert command.startswith("uv tool install --with 'six>=1' --with ")


def test_an_extra_is_installed_by_its_packages(environment: Path) -> None:
    (environment / "pipx_metadata.json").write_text("{}", encoding="utf-8")
    pipx, inject, name, *packages = shlex.split(extra_command("mcp"))
    assert (pipx, inject, name) == ("pipx", "inject", "excerpt-beta")
    assert [re.split(r"[<>=]", package)[0] for package in packages] == ["mcp"]
