"""Tests that several vaults get the same answers from app, commands, MCP, line server and Python API.

No module has this name, as five are compared.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from mcp import Client

import excerpt
from excerpt.base.kinds import Confidence, Scope, Strategy
from excerpt.base.settings import load_vault_settings, user_paths
from excerpt.servers.line_server.messages import ClientRequest
from excerpt.servers.line_server.server import LineServer
from excerpt.servers.mcp.server import build_server
from excerpt.servers.served_vaults import ServedVaults
from excerpt.service.engine_worker import EngineWorker
from excerpt.service.event_loop import Failure, IndexOpened
from excerpt.service.packer import AskPack, Packer, PackRequest
from excerpt.service.questions import AskSearch
from excerpt.vault.known_vaults import VaultFolders
from tests.cli.conftest import Excerpt
from tests.cli.conftest import excerpt as run_excerpt
from tests.cli.conftest import home as excerpt_home
from tests.index.conftest import make_model
from tests.search.conftest import NOTES as COOKING
from tests.search.library import NOTES as LIBRARY
from tests.servers.mcp.conftest import failure_text, tool_caller
from tests.service.manual_loop import ManualLoop

pytestmark = pytest.mark.programs

command, home = run_excerpt, excerpt_home  # fixtures

QUERIES = (
    *("lentil soup", "sync conflict", "how do two devices merge one note", "bread dough", "roast vegetables"),
    *("alpha", "what feeds a seed in winter?", "tag:project", "notes | soup", "zzzz qqqq"),
)
LIMIT, BUDGET = 10, 1_500
FRAME_TOKENS = 150
"""Tokens that the first and the last line around a pack have over MCP."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a door answered: the places of the hits in order, the confidence, and the passages of the pack."""

    places: tuple[str, ...]
    confidence: str
    passages: tuple[str, ...]
    pack: str | None = None
    """Text of the pack; None where a door does not print it."""


def text_of(confidence: Confidence | None) -> str:
    return "" if confidence is None else confidence.value


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    notes = {"cooking": COOKING, "library": LIBRARY, "new": {"Soup.md": "# Soup\n\nA soup of lentils.\n"}}
    for name, texts in notes.items():
        for path, text in texts.items():
            file = tmp_path / "vaults" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return [tmp_path / "vaults" / name for name in notes]


def same_settings(_: list[Path]) -> None:
    """Change nothing."""


def another_model(folders: list[Path]) -> None:
    """Give the second vault an embedding model of its own."""
    model = make_model(folders[0].parent.parent / "model", 24, 1)
    write_settings(folders[1], f'[embedding]\nmodel = "{model.as_posix()}"\n')


def set_another_tokenizer(folders: list[Path]) -> None:
    write_settings(folders[1], '[pack]\ntokenizer = "cl100k"\n')


def write_settings(vault: Path, text: str) -> None:
    file = user_paths().vault_settings_file(vault.resolve())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


@pytest.fixture
def vaults(home: Path, folders: list[Path], request: pytest.FixtureRequest) -> list[Path]:
    """Index the first two vaults, as the test's parameter says, and return those that are asked."""
    prepare: Callable[[list[Path]], None] = request.param
    prepare(folders)
    for folder in folders if prepare in (damage_index, without_model) else folders[:2]:
        with excerpt.open(folder) as opened:
            opened.load()
    if prepare is without_model:
        (folders[0].parent.parent / "model").rename(folders[0].parent.parent / "moved")
    if prepare is damage_index:
        for file in user_paths().index_folder(folders[2].resolve()).rglob("*"):
            if file.is_file():
                file.write_bytes(b"damaged")
    return folders if prepare in (load_model, damage_index, without_model) else folders[:2]


def load_model(_: list[Path]) -> None:
    """Leave the third vault without an index."""


def damage_index(_: list[Path]) -> None:
    """Damage the index of the third vault."""


def without_model(folders: list[Path]) -> None:
    """Give the third vault an embedding model of its own, which is gone once the vault is indexed."""
    another_model(folders[1:])


def ask_api(vaults: list[Path], _command: Excerpt) -> Iterator[Given]:
    notices: list[str] = []
    with excerpt.open(vaults, refresh=False, on_notice=notices.append) as union:
        for query in QUERIES:
            result = union.search(query, limit=LIMIT)
            pack = union.pack(query, budget=BUDGET, scope="neighbors")
            yield Given(
                tuple(f"{hit.path}:{hit.fragment.line_start}" for hit in result),
                text_of(result.confidence),
                tuple(f"{each.path}:{each.line_start}" for each in pack.passages),
                pack.text.strip("\n"),
            )


def open_app(vaults: list[Path]) -> tuple[EngineWorker, ManualLoop]:
    """Return the engine of the app, which is opening the vaults, and the event loop that it reports to."""
    folders, paths, loop = VaultFolders.of(vaults), user_paths(), ManualLoop()
    worker = EngineWorker(folders, paths, load_vault_settings(folders.first, paths), loop)
    worker.start()
    worker.open()
    return worker, loop


def ask_app(vaults: list[Path], _command: Excerpt) -> Iterator[Given]:
    worker, loop = open_app(vaults)
    while not isinstance(loop.next(), IndexOpened):
        pass
    packer = Packer(VaultFolders.of(vaults), user_paths().config)
    settings = load_vault_settings(vaults[0].resolve(), user_paths())
    pack_settings = replace(settings.pack, budget=BUDGET, scope=Scope.NEIGHBORS)

    def answer_to(question: AskSearch | AskPack) -> object:
        answers: list[object] = []
        worker.ask(question, answers.append)
        while not answers:
            assert not isinstance(event := loop.step(), Failure), event
        return answers[0]

    for query in QUERIES:
        result = answer_to(AskSearch(query, Strategy.AUTO, None, 50))
        assert isinstance(result, excerpt.Result)
        request = PackRequest(
            (query,),
            result.strategy,
            result.hits,
            (),
            pack_settings,
            confidence=result.confidence,
            words=result.words,
            notice=result.notice,
            not_found=result.not_found,
        )
        pack = answer_to(AskPack(packer, request, result=result)).pack  # type: ignore[attr-defined]
        yield Given(
            tuple(f"{hit.path}:{hit.fragment.line_start}" for hit in result.hits[:LIMIT]),
            text_of(result.confidence),
            tuple(f"{each.path}:{each.line_start}" for each in pack.result.passages),
            pack.text.strip("\n"),
        )
    worker.close()


def vault_options(vaults: list[Path]) -> tuple[str | Path, ...]:
    return tuple(word for vault in vaults for word in ("--vault", vault))


def ask_command(vaults: list[Path], command: Excerpt) -> Iterator[Given]:
    asked = (*vault_options(vaults), "--no-refresh", "--json")
    for query in QUERIES:
        found = command("search", query, *asked, "--limit", str(LIMIT)).json
        pack = command("pack", query, *asked, "--budget", str(BUDGET), "--expand", "neighbors").json
        yield Given(
            tuple(f"{hit['path']}:{hit['line_start']}" for hit in found["hits"]),
            found["confidence"] or "",
            tuple(f"{each['path']}:{each['line_start']}" for each in pack["passages"]),
        )


def ask_mcp(vaults: list[Path], _command: Excerpt) -> Iterator[Given]:
    served = ServedVaults(vaults, watched=False)
    server = build_server(served, failure_text)

    async def ask_all() -> list[Given]:
        async with Client(server) as client:
            ask, given = tool_caller(client), []
            for query in QUERIES:
                found = await ask("search", query=query, vault="*", limit=LIMIT)
                pack = await ask("pack", query=query, vault="*", budget=BUDGET + FRAME_TOKENS)
                body = pack.text.partition("\n\n")[2]
                given.append(
                    Given(
                        tuple(re.findall(r"^\d+\. (.+?\.md:\d+)", found.text, re.M)),
                        word if (word := found.first_line.partition(" · ")[0]) in set(Confidence) else "",
                        tuple(re.findall(r"^From (.+?\.md:\d+)", body, re.M)),
                        body.rpartition("\n\n")[0],  # without the line that says what to ask next
                    )
                )
            return given

    yield from asyncio.run(ask_all())
    served.end()


def ask_line_server(vaults: list[Path], _command: Excerpt) -> Iterator[Given]:
    served = ServedVaults(vaults, watched=False)
    server = LineServer(served, str)
    names = [each.name for each in served.all]

    async def ask_all() -> list[Given]:
        given = []
        for query in QUERIES:
            asked = {"query": query, "vaults": names}
            found = await server.answer(ClientRequest("search", {**asked, "limit": LIMIT}, 1, None))
            pack = await server.answer(
                ClientRequest("pack", {**asked, "budget": BUDGET, "scope": "neighbors"}, 2, None)
            )
            given.append(
                Given(
                    tuple(f"{hit['path']}:{hit['line_start']}" for hit in found["result"]["hits"]),
                    found["result"]["confidence"] or "",
                    tuple(f"{each['path']}:{each['line_start']}" for each in pack["result"]["passages"]),
                    pack["result"]["rendered"].strip("\n"),
                )
            )
        return given

    yield from asyncio.run(ask_all())
    served.end()


@pytest.mark.parametrize(
    "vaults",
    [same_settings, another_model, set_another_tokenizer, load_model, damage_index, without_model],
    indirect=True,
)
def test_app_and_commands_and_servers_and_python_give_the_same_hits_and_confidence_and_pack(
    vaults: list[Path], command: Excerpt
) -> None:
    expected = list(ask_api(vaults, command))
    assert sum(bool(given.places) for given in expected) >= 8
    for door in (ask_app, ask_command, ask_mcp, ask_line_server):
        for query, given, wanted in zip(QUERIES, door(vaults, command), expected, strict=True):
            assert (door.__name__, query, given.places) == (door.__name__, query, wanted.places)
            assert (door.__name__, query, given.confidence) == (door.__name__, query, wanted.confidence)
            assert (door.__name__, query, given.passages) == (door.__name__, query, wanted.passages)
            assert (door.__name__, query, given.pack) in (
                (door.__name__, query, wanted.pack),
                (door.__name__, query, None),
            )


@pytest.mark.parametrize("vaults", [damage_index, without_model], indirect=True)
def test_commands_and_servers_and_python_name_a_vault_that_is_left_out(vaults: list[Path], command: Excerpt) -> None:
    assert "vault new is left out" in command("search", "soup", "--no-refresh", *vault_options(vaults)).err
    served = ServedVaults(vaults, watched=False)
    server, tools = LineServer(served, str), build_server(served, failure_text)

    async def ask() -> tuple[str, str]:
        request = ClientRequest("search", {"query": "soup", "vaults": [each.name for each in served.all]}, 1, None)
        answer = await server.answer(request)
        async with Client(tools) as client:
            return answer["result"]["freshness"], (
                await tool_caller(client)("search", query="soup", vault="*")
            ).first_line

    for freshness in asyncio.run(ask()):
        assert "new: " in freshness
    served.end()


@pytest.mark.parametrize("vaults", [without_model], indirect=True)
def test_the_app_names_the_vault_that_is_left_out(vaults: list[Path]) -> None:
    worker, loop = open_app(vaults)
    failure = next(event for event in iter(loop.next, None) if isinstance(event, Failure | IndexOpened))
    assert isinstance(failure, Failure)
    assert "vault new is left out" in failure.message
    worker.close()
