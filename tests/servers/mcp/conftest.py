"""Fixtures: a small indexed vault, and a client of its server in the same process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

import excerpt
from excerpt.servers.mcp.server import build_server
from excerpt.servers.served_vaults import ServedVaults

LONG = "\n".join(
    f"## Week {week}\n\nIn week {week} the hive weighs {week * 3} kilos and the keeper looks at frame {week % 9}.\n"
    for week in range(1, 60)
)
NOTES = {
    "Hives.md": "---\naliases: [Bee houses]\n---\n# Hives\n\nA hive stands dry. See [[Swarms]] and [[Diary]].\n",
    "Swarms.md": "# Swarms\n\nA swarm leaves the hive in May when the queen is old. See [[Hives]].\n",
    "Diary.md": f"# Diary\n\nWhat was seen at the hives, week by week.\n\n{LONG}",
    "kitchen/Tea.md": "# Tea\n\n## Green\n\nGreen tea is steeped at eighty degrees for two minutes.\n",
}


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a tool call."""

    text: str
    is_error: bool
    data: Any = None

    @property
    def first_line(self) -> str:
        return self.text.split("\n")[0]

    @property
    def last_line(self) -> str:
        return self.text.split("\n")[-1]


Ask = Callable[..., Awaitable[CallResult]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "bees", NOTES)


def write_vault(folder: Path, notes: dict[str, str]) -> Path:
    for path, text in notes.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def indexed_vaults(*folders: Path) -> ServedVaults:
    """Index the vaults and return them as a server has them, without watching their folders."""
    for folder in folders:
        with excerpt.open(folder) as found:
            found.load()
    return ServedVaults(folders, watched=False)


def tool_caller(client: Client) -> Ask:
    async def ask(tool: str, **arguments: Any) -> CallResult:
        result = await client.call_tool(tool, arguments)
        text = "\n".join(each.text for each in result.content if each.type == "text")
        return CallResult(text, bool(result.is_error), result.structured_content)

    return ask


def failure_text(error: Exception) -> str:
    raise error


@pytest.fixture
def ask(home: Path, vault: Path) -> Iterator[Ask]:
    """Return a function that calls a tool, each time as a new client."""
    vaults = indexed_vaults(vault)
    server = build_server(vaults, failure_text)

    async def ask(tool: str, **arguments: Any) -> CallResult:
        async with Client(server) as client:
            return await tool_caller(client)(tool, **arguments)

    yield ask
    vaults.end()
