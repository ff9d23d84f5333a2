"""Tests that the freshness in a result describes the snapshot that the result came from."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from concurrent.futures import Future
from pathlib import Path

import pytest
from mcp import Client

import excerpt
from excerpt.base.errors import IndexBusyError
from excerpt.base.model import BuildReport, Progress
from excerpt.base.settings import load_vault_settings, user_paths
from excerpt.index import build as building
from excerpt.index.build import build
from excerpt.index.build_control import BuildCancelled, BuildControl
from excerpt.index.events import IndexingFailed
from excerpt.search.usage import UseLog
from excerpt.servers import served_vaults
from excerpt.servers.mcp.server import build_server
from excerpt.servers.served_vaults import (
    CLIENT,
    AskedQuestions,
    IndexingState,
    ServedSnapshot,
    ServedVaults,
    VaultIndexing,
)
from excerpt.vault.watched import mark_watched
from tests.servers.mcp.conftest import Ask, failure_text, indexed_vaults, tool_caller, write_vault
from tests.servers.mcp.conftest import ask as ask_server
from tests.servers.mcp.conftest import home as empty_excerpt_home
from tests.servers.mcp.conftest import vault as vault_of_bees
from tests.servers.mcp.test_server import server_parameters

home, vault, ask = empty_excerpt_home, vault_of_bees, ask_server  # fixtures

RUNS = int(os.environ.get("EXCERPT_FIRST_INDEX_RUNS", "1"))
"""The number of first builds observed from outside; 100 were run by hand."""
VAULT = os.environ.get("EXCERPT_FIRST_INDEX_VAULT", "")
"""A vault to build instead of a generated one; every note should contain "the"."""


def progress(done: int, total: int) -> Progress:
    return Progress("reading", done, total, 0, 0, "", 0, 0, 0.0)


def built(generation: int) -> BuildReport:
    return BuildReport(generation, 0, 0, 0, 0, 0, 0, (), (), 0.0)


def freshness(at: ServedSnapshot) -> str:
    return at.freshness


@pytest.fixture
def part(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a vault of twenty notes with a cancelled build that has read eight."""
    monkeypatch.setattr(building, "_FIRST_BATCH_NOTES", 8)
    vault = write_vault(
        tmp_path / "large", {f"{number}.md": f"# Hive {number}\n\nIt stands dry.\n" for number in range(20)}
    )
    control = BuildControl()

    def cancel_after_first_batch(progress: Progress) -> None:
        if progress.generation == 1:
            control.cancel()

    with pytest.raises(BuildCancelled):
        build(
            vault,
            user_paths().index_folder(vault),
            load_vault_settings(vault, user_paths()),
            cancel_after_first_batch,
            control=control,
        )
    return vault


async def test_a_build_that_ends_during_an_answer_does_not_change_its_freshness(home: Path, vault: Path) -> None:
    vaults = indexed_vaults(vault)
    (served,) = vaults.all
    served.indexing.handle_event(progress(3, 900))

    def ask(at: ServedSnapshot) -> str:
        served.indexing.handle_event(built(at.vault.generation))
        return at.freshness

    with mark_watched(user_paths().watch_folder(vault)):
        assert await served.ask(ask) == "indexing, 3 of 900 files"
        assert await served.ask(freshness) == "up to date"
    vaults.end()


async def test_a_generation_older_than_the_last_build_is_not_up_to_date(home: Path, vault: Path) -> None:
    vaults = indexed_vaults(vault)
    (served,) = vaults.all
    served.indexing.handle_event(built(99))
    with mark_watched(user_paths().watch_folder(vault)):
        assert await served.ask(freshness) == "indexing"
    vaults.end()


async def test_a_partial_index_in_another_process_is_not_up_to_date(part: Path) -> None:
    vaults = ServedVaults([part], watched=False)
    with mark_watched(user_paths().watch_folder(part)):
        async with Client(build_server(vaults, failure_text)) as client:
            unsure = await tool_caller(client)("search", query="volcano")
    assert unsure.first_line.endswith(" · indexing")
    assert unsure.last_line.endswith("Indexing is not finished: ask again later.")
    vaults.end()


async def test_an_abandoned_partial_index_is_reported_as_such(part: Path) -> None:
    vaults = ServedVaults([part], watched=False)
    async with Client(build_server(vaults, failure_text)) as client:
        told = await tool_caller(client)("search", query="hive")
    assert told.first_line.endswith(" · partly indexed")
    vaults.end()


async def test_a_question_cancelled_together_with_its_answer_is_cancelled(home: Path, vault: Path) -> None:
    vaults, turn = indexed_vaults(vault), Future[str]()
    (served,) = vaults.all
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(served._thread, "submit", lambda *_arguments, **_options: turn)
        asked = asyncio.create_task(served.ask(freshness))
        await asyncio.sleep(0)
        turn.set_result("up to date")
        await asyncio.sleep(0)  # the answer is there, and the task not yet resumed
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
    vaults.end()


def test_the_indexing_state_of_a_vault_is_unknown_while_another_process_writes_the_index(tmp_path: Path) -> None:
    indexing = VaultIndexing(tmp_path)
    indexing.handle_event(built(1))
    indexing.handle_event(IndexingFailed(IndexBusyError.title, "Busy.", ""))
    assert indexing.state == IndexingState(generation=1)


@pytest.mark.programs
@pytest.mark.parametrize("run", range(RUNS))
async def test_no_answer_of_a_partial_first_index_claims_to_be_up_to_date(home: Path, tmp_path: Path, run: int) -> None:
    text = "\n".join(f"In week {week} the hive is weighed, and the keeper looks at a frame." for week in range(25))
    vault = (
        Path(VAULT)
        if VAULT
        else write_vault(tmp_path / "many", {f"{n}.md": f"# Hive {n}\n\n{text}\n" for n in range(500)})
    )
    told: list[tuple[str, int]] = []
    async with Client(server_parameters(home, vault)) as client:
        ask = tool_caller(client)
        while [freshness for freshness, _ in told[-4:]].count("up to date") < 4:
            told += await _search(ask) + await _fetch_note_counts(ask)
    with excerpt.open(vault) as notes:
        whole = notes.map("the", limit=1).notes, notes.status().notes
    parts = [count for _, count in told if 0 < count < min(whole)]
    sys.stderr.write(f"run {run}: {len(told)} answers, {len(parts)} from a part\n")
    assert {count for freshness, count in told if freshness == "up to date"} == set(whole)


async def _search(ask: Ask) -> list[tuple[str, int]]:
    """Return the freshness that a search reports, with the number of notes in its snapshot."""
    line = (await ask("search", query="the", group="notes", limit=1, snippet=0)).first_line
    found = re.search(r" of ([\d,]+) notes .* · ([^·]+)$", line)
    return [(found[2], int(found[1].replace(",", "")))] if found else []


async def _fetch_note_counts(ask: Ask) -> list[tuple[str, int]]:
    (vault,) = (await ask("status")).data["vaults"]
    return [(vault["freshness"], vault["notes"])]


# --- questions that found nothing sure --------------------------------------------------------------------------------

STRANGE, SIMILAR = "why do the insects fly away in spring", "why are my insects gone in spring"


async def test_an_agents_question_is_kept_with_the_passage_that_it_reads_after_its_rewording(
    ask: Ask, vault: Path
) -> None:
    await ask("search", query=STRANGE)
    await ask("search", query="when does a swarm leave the hive")
    await ask("read", source="Swarms.md")
    (event,) = UseLog(user_paths().use_file(vault)).events()
    assert (event.query, event.path, event.earlier) == ("when does a swarm leave the hive", "Swarms.md", (STRANGE,))
    found = await ask("search", query=SIMILAR)
    assert f"you once asked this as “{STRANGE}”" in found.text


async def test_a_passage_read_after_a_question_that_found_a_sure_answer_is_not_saved_with_it(
    ask: Ask, vault: Path
) -> None:
    await ask("search", query="when does a swarm leave the hive")
    await ask("read", source="Swarms.md")
    assert UseLog(user_paths().use_file(vault)).events() == ()


async def test_no_question_is_saved_when_an_agent_asks_for_a_note_that_does_not_exist(ask: Ask, vault: Path) -> None:
    await ask("search", query=STRANGE, limit=1)
    await ask("read", source="kitchen/Tea.md")
    assert UseLog(user_paths().use_file(vault)).events() == ()


REWORDED = "when does a swarm leave the hive"


async def test_a_past_question_is_not_named_if_it_is_asked_again_in_the_same_words(ask: Ask, vault: Path) -> None:
    await ask("search", query=STRANGE)
    await ask("search", query=REWORDED)
    await ask("read", source="Swarms.md")
    assert "you once asked this" not in (await ask("search", query=STRANGE)).text
    assert "you once asked this" not in (await ask("search", query=REWORDED)).text


async def test_a_passage_read_long_after_a_question_is_not_saved_with_it(
    ask: Ask, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ask("search", query=STRANGE)
    monkeypatch.setattr(served_vaults, "REWORDING_SECONDS", 0.0)
    await ask("read", source="Swarms.md")
    assert UseLog(user_paths().use_file(vault)).events() == ()


async def test_a_passage_read_after_a_question_about_one_note_is_not_saved_with_an_earlier_question(
    ask: Ask, vault: Path
) -> None:
    await ask("search", query=STRANGE)
    await ask("read", source="Swarms.md", query="hive")
    await ask("read", source="Swarms.md")
    assert UseLog(user_paths().use_file(vault)).events() == ()


async def test_a_passage_read_after_a_question_to_all_vaults_is_not_saved_with_an_earlier_question(
    home: Path, vault: Path, tmp_path: Path
) -> None:
    wasps = write_vault(tmp_path / "wasps", {"Nests.md": "# Nests\n\nA wasp nest is grey as paper.\n"})
    vaults = indexed_vaults(vault, wasps)
    async with Client(build_server(vaults, str)) as client:
        ask = tool_caller(client)
        await ask("search", query=STRANGE)
        await ask("search", query="nest of paper", vault="*")
        await ask("read", source="Swarms.md")
    vaults.end()
    assert UseLog(user_paths().use_file(vault)).events() == ()


async def test_a_passage_is_not_saved_with_the_question_of_another_client(home: Path, vault: Path) -> None:
    vaults = indexed_vaults(vault)
    (served,) = vaults.all

    async def ask_as(client: object) -> AskedQuestions | None:
        CLIENT.set(client)
        return await served.ask(lambda snapshot: snapshot.questions)

    first, second = await ask_as("first"), await ask_as("second")
    assert first is await ask_as("first")
    assert first is not second
    assert await ask_as(None) is None
    vaults.end()


@pytest.mark.parametrize("is_running", [True, False])
async def test_if_learning_is_switched_off_nothing_is_recorded(home: Path, vault: Path, is_running: bool) -> None:
    def switch_off() -> None:
        file = user_paths().settings_file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("[search]\nlearn = false\n", encoding="utf-8")

    if not is_running:
        switch_off()
    vaults = indexed_vaults(vault)
    async with Client(build_server(vaults, str)) as client:
        ask = tool_caller(client)
        await ask("search", query=STRANGE)
        if is_running:
            switch_off()
        await ask("read", source="Swarms.md")
    vaults.end()
    assert UseLog(user_paths().use_file(vault)).events() == ()


async def test_a_past_question_that_was_forgotten_is_no_longer_named_with_a_hit(ask: Ask, vault: Path) -> None:
    await ask("search", query=STRANGE)
    await ask("search", query=REWORDED)
    await ask("read", source="Swarms.md")
    assert "you once asked this" in (await ask("search", query=SIMILAR)).text
    UseLog(user_paths().use_file(vault)).forget()
    assert "you once asked this" not in (await ask("search", query=SIMILAR)).text


async def test_a_forgotten_question_is_not_saved_again(ask: Ask, vault: Path) -> None:
    log = UseLog(user_paths().use_file(vault))
    await ask("search", query="bread")
    await ask("search", query=STRANGE)
    await ask("search", query=REWORDED)
    await ask("read", source="Swarms.md")
    await ask("read", source="Swarms.md")
    assert [event.earlier[-1] for event in log.events()] == [STRANGE, STRANGE]
    log.forget()
    await ask("read", source="Swarms.md")
    assert log.events() == ()
