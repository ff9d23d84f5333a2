"""Tests of the command that installs packages beside excerpt, by the files that pipx and uv write."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from excerpt.base import installation
from excerpt.base.installation import install_command

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


def test_an_environment_of_pipx_is_named_after_its_folder(environment: Path) -> None:
    (environment / "pipx_metadata.json").write_text("{}", encoding="utf-8")
    assert install_command(PACKAGES) == "pipx inject excerpt-beta 'some>=1.2' other==3"


def test_pip_is_that_of_the_python_which_runs_excerpt(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/my folder/.venv/bin/python")
    assert install_command(PACKAGES) == "'/my folder/.venv/bin/python' -m pip install 'some>=1.2' other==3"


def test_an_environment_without_pip_is_one_of_uv(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_tool_of_uv_is_installed_again_from_where_it_came(environment: Path, entry: str, words: list[str]) -> None:
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
def test_an_unknown_form_of_uvs_receipt_gives_the_command_for_this_python(environment: Path, receipt: str) -> None:
    (environment / "uv-receipt.toml").write_text(receipt, encoding="utf-8")
    command = install_command(PACKAGES)
    assert shlex.split(command) == ["uv", "pip", "install", "--python", sys.executable, *PACKAGES]


def test_a_tool_of_uv_keeps_the_packages_that_were_added_before(environment: Path) -> None:
    command = uv_command(environment, 'name = "excerpt"', 'name = "six", specifier = ">=1"')
    assert command.startswith("uv tool install --with 'six>=1' --with ")
