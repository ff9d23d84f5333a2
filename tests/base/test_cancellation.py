"""Tests of questions whose caller has left: they end at their next check, and others are answered."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import excerpt
import excerpt.aio
from excerpt.base.cancellation import CancelToken, WorkCancelledError, cancelled_by, check_cancelled
from excerpt.search.engine import Engine
from excerpt.servers import served_vaults
from excerpt.servers.served_vaults import ServedSnapshot, ServedVaults
from tests.servers.mcp import conftest as mcp
from tests.servers.mcp.conftest import indexed_vaults
from tests.service.manual_loop import TIMEOUT_SECONDS

home, vault = mcp.home, mcp.vault  # fixtures


@pytest.fixture
def served(home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedVaults]:
    monkeypatch.setattr(served_vaults, "ANSWER_SECONDS", TIMEOUT_SECONDS)
    vaults = indexed_vaults(vault)
    yield vaults
    vaults.end()


class LongQuestion:
    """A question that begins, waits until its caller may have left, and searches then."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.may_search = threading.Event()
        self.has_ended = threading.Event()
        self.outcome: object = None

    def __call__(self, snapshot: ServedSnapshot) -> None:
        self.has_begun.set()
        self.may_search.wait(TIMEOUT_SECONDS)
        try:
            self.outcome = snapshot.vault.search("hive").hits[0].path
        except WorkCancelledError:
            self.outcome = "cancelled"
            raise
        finally:
            self.has_ended.set()


async def until(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, TIMEOUT_SECONDS)


def find_first(snapshot: ServedSnapshot) -> str:
    return snapshot.vault.search("tea").hits[0].path


def test_work_without_a_token_is_never_cancelled() -> None:
    check_cancelled()
    token = CancelToken()
    with cancelled_by(token):
        check_cancelled()
    token.cancel()
    check_cancelled()


def test_work_cancelled_before_its_start_does_nothing() -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(WorkCancelledError), cancelled_by(token):
        pytest.fail("The work has begun.")


@pytest.mark.parametrize(
    "ask",
    [
        lambda vault: vault.search("hive | swarm | tea"),
        lambda vault: vault.pack("hive", "swarm", "tea"),
        lambda vault: vault.overview("hive | swarm | tea"),
    ],
)
def test_a_search_stops_between_two_alternatives(
    home: Path, vault: Path, ask: Callable[[excerpt.Vault], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    token, score_query, scored = CancelToken(), Engine.score_query, []

    def score_and_leave(*args: object, **options: object) -> object:
        found = score_query(*args, **options)  # type: ignore[arg-type]
        scored.append(args)
        token.cancel()
        return found

    with excerpt.open(vault) as opened:
        opened.load()
        monkeypatch.setattr(Engine, "score_query", score_and_leave)
        with pytest.raises(WorkCancelledError), cancelled_by(token):
            ask(opened)
        assert len(scored) == 1
        monkeypatch.setattr(Engine, "score_query", score_query)
        assert opened.search("green tea").hits[0].path == "kitchen/Tea.md"


@pytest.mark.parametrize("several", [False, True])
async def test_a_search_stops_when_its_caller_leaves_and_the_next_search_is_answered(
    served: ServedVaults, *, several: bool
) -> None:
    (only,) = served.all
    question = LongQuestion()
    ready = {only: await only.ask(lambda snapshot: snapshot)}
    asking = served.ask_union([only], ready, question) if several else only.ask(question)
    task = asyncio.ensure_future(asking)
    await until(question.has_begun)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    question.may_search.set()
    await until(question.has_ended)
    assert question.outcome == "cancelled"
    assert await only.ask(find_first) == "kitchen/Tea.md"


async def test_a_waiting_request_is_dropped_when_its_caller_leaves(served: ServedVaults) -> None:
    (only,) = served.all
    first, second = LongQuestion(), LongQuestion()
    asking = asyncio.ensure_future(only.ask(first))
    await until(first.has_begun)
    waiting = asyncio.ensure_future(only.ask(second))
    await asyncio.sleep(0)
    waiting.cancel()
    first.may_search.set()
    await asking
    assert first.outcome
    assert await only.ask(find_first) == "kitchen/Tea.md"
    assert not second.has_begun.is_set()


async def test_a_search_of_a_cancelled_task_stops(home: Path, vault: Path) -> None:
    has_begun, may_search, outcome = threading.Event(), threading.Event(), []

    def search(opened: excerpt.Vault) -> None:
        has_begun.set()
        may_search.wait(TIMEOUT_SECONDS)
        with pytest.raises(WorkCancelledError):
            opened.search("hive")
        outcome.append("cancelled")

    async with excerpt.aio.open(vault) as opened:
        await opened.load()
        task = asyncio.ensure_future(opened.run(search))
        await until(has_begun)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_search.set()
        assert (await opened.search("tea")).hits[0].path == "kitchen/Tea.md"
    assert outcome == ["cancelled"]


async def test_a_write_is_completed_even_if_its_caller_leaves(served: ServedVaults) -> None:
    (only,) = served.all
    question = LongQuestion()
    task = asyncio.ensure_future(only.ask(question, writes=True))
    await until(question.has_begun)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    question.may_search.set()
    await until(question.has_ended)
    assert str(question.outcome).endswith(".md")
