"""Tests of the socket at which the servers of a vault answer the prompt hook: one listens, another takes over."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from excerpt.base.settings import user_paths
from excerpt.servers.line_server import prompt_socket
from excerpt.servers.line_server.client import LineClient, LineServerError, prompt_socket_file, state_folder, vault_name
from excerpt.servers.line_server.methods import METHODS
from excerpt.servers.line_server.prompt_socket import serve_prompts
from tests.servers.agents.test_hook import NOTES
from tests.servers.agents.test_hook import SWARM as PROMPT
from tests.servers.mcp.conftest import indexed_vaults, write_vault

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no Unix sockets")


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a vault, with a home of a short path: that of a socket has room for a hundred characters."""
    monkeypatch.setattr(prompt_socket, "_LOOK_SECONDS", 0.01)
    # A thread of a server that has just ended may still write.
    with tempfile.TemporaryDirectory(prefix="ex", ignore_cleanup_errors=True) as home:
        monkeypatch.setenv("EXCERPT_HOME", home)
        yield write_vault(tmp_path / "bees", NOTES)


@asynccontextmanager
async def serving(*folders: Path) -> AsyncIterator[None]:
    """Serve the hook as an MCP server of these vaults does."""
    vaults = indexed_vaults(*folders)
    task = asyncio.create_task(serve_prompts(vaults, str))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        vaults.end()


async def ask(folder: Path, method: str = "passages", /, **params: Any) -> dict[str, Any]:
    """Return the answer of the server of a vault, as soon as one listens."""

    def request() -> dict[str, Any]:
        with LineClient.connect(prompt_socket_file(folder)) as client:
            return client.request(method, params, 240)

    while True:
        try:
            return await asyncio.to_thread(request)
        except LineServerError as error:
            if error.kind != "unreachable":
                raise
            await asyncio.sleep(0.01)


async def test_a_server_answers_prompts_with_passages(vault: Path) -> None:
    async with serving(vault):
        answer = await ask(vault, prompt=PROMPT, vault=vault_name(vault))
    assert "A swarm is caught in a skep before noon." in answer["passages"]["text"]


async def test_each_vault_of_a_server_has_a_socket_and_answers_by_its_own_name(vault: Path, tmp_path: Path) -> None:
    tea = write_vault(tmp_path / "tea", {"Tea.md": "# Tea\n\n## Green tea\n\nGreen tea is steeped for two minutes.\n"})
    async with serving(vault, tea):
        answer = await ask(tea, prompt="How is green tea steeped?", vault=vault_name(tea))
    assert answer["passages"]["vault"] == "tea"


async def test_the_socket_for_the_prompt_hook_answers_no_other_method(vault: Path) -> None:
    async with serving(vault):
        for method in sorted({*METHODS} - {"passages"}):
            with pytest.raises(LineServerError, match=f"There is no method {method}") as error:
                await ask(vault, method)
            assert error.value.kind == "unknown_method"


async def test_another_server_takes_over_when_the_first_one_ends(vault: Path) -> None:
    async with serving(vault):
        async with serving(vault), serving(vault):
            assert await ask(vault, prompt=PROMPT)
        assert await ask(vault, prompt=PROMPT)
    assert not prompt_socket_file(vault).exists()


async def test_a_removed_socket_is_created_again(vault: Path) -> None:
    async with serving(vault):
        await ask(vault, prompt=PROMPT)
        prompt_socket_file(vault).unlink()
        assert await ask(vault, prompt=PROMPT)


async def test_a_socket_of_another_process_is_not_removed_at_the_end(vault: Path) -> None:
    file = prompt_socket_file(vault)
    async with serving(vault):
        await ask(vault, prompt=PROMPT)
        file.unlink()
        file.write_text("of another process")
    assert file.read_text() == "of another process"


async def test_if_a_server_cannot_listen_the_reason_is_printed_once(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed: list[str] = []
    monkeypatch.setattr(prompt_socket, "write_message", printed.append)
    file = prompt_socket_file(vault)
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    async with serving(vault):
        while not printed:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        file.unlink()
        assert await ask(vault, prompt=PROMPT)
    assert printed == [f"The prompt hook cannot ask this process: {file} is a file, not a socket."]


def test_a_hook_with_another_environment_finds_the_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EXCERPT_HOME", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    before = prompt_socket_file(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert prompt_socket_file(tmp_path) == before
    assert before.parent.parent == state_folder() == user_paths().state
