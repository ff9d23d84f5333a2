"""Tests with programs that are built on a server or on the Python API: an agent, frameworks, the Inspector, pyright.

Named after the frameworks, which are not ours.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from excerpt.vault.known_vaults import DEMO
from tests.clients.install import HERE, Clients, installed_frameworks
from tests.clients.serving import Served, Stdio
from tests.clients.test_clients import HANDSHAKE, STATELESS, TOOLS

pytestmark = pytest.mark.clients

PAGE = (DEMO / "How to" / "Use a vault in LLM frameworks.md").read_text(encoding="utf-8")
SNIPPETS = dict(re.findall(r"^## With (\w+)\n\n```python\n(.*?)^```", PAGE, re.M | re.S))


@pytest.fixture(scope="session")
def frameworks() -> Path:
    return installed_frameworks()


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_retriever_of_the_guide_finds_the_passage(frameworks: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(DEMO, tmp_path / "notes")
    environment = os.environ | {
        "HOME": str(tmp_path),
        "EXCERPT_HOME": str(tmp_path / "home"),
        "HAYSTACK_TELEMETRY_ENABLED": "False",
    }
    done = subprocess.run(
        [frameworks, "-c", SNIPPETS[name]], env=environment, capture_output=True, text=True, timeout=360, check=False
    )
    assert (done.returncode, done.stdout) == (0, "Token budget.md\n"), done.stderr


READERS = ("pack", "search", "overview", "recall", "status")
"""Tools that accept whatever arguments a test model generates."""

GENERIC = {
    STATELESS: (
        "tools-list",
        "tools-call-error",
        "resources-list",
        "prompts-list",
        "sep-2164-resource-not-found",
        "dns-rebinding-protection",
        "caching",
        "server-sse-multiple-streams",
        "http-header-validation",
    ),
    HANDSHAKE: (
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "tools-list",
        "tools-call-error",
        "resources-list",
        "prompts-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    ),
}
"""Scenarios of the conformance suite that need none of its own tools, such as `test_simple_text`."""


def test_an_agent_calls_the_tools(clients: Clients, server: Stdio | Served) -> None:
    command = [clients.pydantic_ai, HERE / "pydantic_agent.py", json.dumps(server.reached()), *READERS]
    answers = json.loads(_said(list(map(str, command))))
    assert set(answers) == set(READERS)
    assert all(answers.values())


def test_the_inspector_lists_tools_whose_schemas_any_client_can_read(clients: Clients, server: Stdio | Served) -> None:
    listed = json.loads(_inspected(clients, server, "--method", "tools/list", "--strict"))
    assert {tool["name"] for tool in listed["tools"]} == TOOLS


def test_the_inspector_calls_a_tool(clients: Clients, server: Stdio | Served) -> None:
    call = ("--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=green tea")
    result = json.loads(_inspected(clients, server, *call))
    assert "kitchen/Tea.md" in result["content"][0]["text"]


def _inspected(clients: Clients, server: Stdio | Served, *words: str) -> str:
    reached = server.reached()
    if "url" in reached:
        target = [reached["url"], "--transport", "http", "--header", f"Authorization: Bearer {reached['token']}"]
    else:
        settings = [word for name, value in reached["environment"].items() for word in ("-e", f"{name}={value}")]
        target = [*reached["command"], *settings]
    launcher = clients.package("inspector", "clients/launcher/build/index.js")
    return _said([str(clients.node), launcher, "--cli", *target, *words])


def test_pyright_knows_the_types_of_the_python_api(clients: Clients) -> None:
    """Check the API examples with pyright, as users do; `make lint` runs mypy on them."""
    pyright = clients.modules / "pyright" / "index.js"
    root = Path(__file__).parents[2]
    _said([str(clients.node), str(pyright), "--pythonpath", sys.executable, str(root / "docs" / "examples")])


NEED_TOOLS_OF_THE_SUITE = {"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"}
"""The two checks of `server-stateless` that call a tool of the suite itself."""


@pytest.mark.parametrize(
    ("revision", "scenario"),
    [(revision, scenario) for revision, scenarios in GENERIC.items() for scenario in scenarios],
)
def test_the_server_passes_the_conformance_suite(
    revision: str, scenario: str, clients: Clients, http: Served, tmp_path: Path
) -> None:
    checks = _checked(clients, http, revision, scenario, tmp_path)
    assert "SUCCESS" in checks.values()
    assert [check for check, status in checks.items() if status == "FAILURE"] == []


def test_the_server_passes_the_conformance_suite_of_2026_without_sessions(
    clients: Clients, http: Served, tmp_path: Path
) -> None:
    checks = _checked(clients, http, STATELESS, "server-stateless", tmp_path)
    assert len(checks) > 20
    assert {check for check, status in checks.items() if status == "FAILURE"} <= NEED_TOOLS_OF_THE_SUITE


def _checked(clients: Clients, http: Served, revision: str, scenario: str, folder: Path) -> dict[str, str]:
    """Return the status of each check of a scenario; the output is printed for pytest to show on failure."""
    suite = clients.package("conformance", "dist/index.js")
    command = [str(clients.node), "--import", clients.script("bearer.mjs"), suite, "server", "--url", http.url]
    command += ["--scenario", scenario, "--spec-version", revision, "--output-dir", str(folder)]
    surrounding = {**os.environ, "BEARER_TOKEN": http.token}
    done = subprocess.run(command, env=surrounding, capture_output=True, text=True, timeout=360, check=False)
    print(done.stdout, done.stderr)  # noqa: T201
    (outcome,) = folder.rglob("checks.json")
    return {check["id"]: check["status"] for check in json.loads(outcome.read_text(encoding="utf-8"))}


def _said(command: Sequence[str]) -> str:
    """Return what a program prints; if it fails, the assertion shows all its output."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=360, check=False)
    assert done.returncode == 0, f"exit code {done.returncode}:\n{done.stdout[-6_000:]}{done.stderr[-6_000:]}"
    return done.stdout
