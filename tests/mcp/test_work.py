"""Tests of the work that hostile questions cause: it is counted, and does not grow with the length of a question."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from benchmarks.limits import KINDS, METHODS, TOOLS

from excerpt.mcp.server import build_server
from excerpt.search.bm25 import WordIndex
from excerpt.search.candidates import CandidateGenerator
from excerpt.search.proximity import flatten_positions
from excerpt.search.query import MAX_QUERY_WORDS
from excerpt.serve.server import LineServer
from excerpt.served_vaults import ServedVaults
from mcp import Client
from tests.mcp.conftest import Ask, asking, failed, indexed
from tests.serve.conftest import connected
from tests.serve.conftest import failed as line_failed

pytestmark = pytest.mark.programs

PROSE = "A swarm leaves the hive in May when the queen is old, and green tea is steeped at eighty degrees. "
SIZES = (1_000, 10_000, 100_000)
MAX_SEARCHES = 3  # of one question: of the vault, of its memories, and of a note
MAX_POSITIONS = 100_000  # of all words in all fragments of the vault and its memory


@dataclass
class Work:
    """What was done for a question: words looked up, fragments scored, positions of words read."""

    words: int = 0
    fragments: int = 0
    positions: int = 0

    def check(self, vault_fragments: int) -> None:
        """Check that the work is that of a short question."""
        assert self.words <= MAX_SEARCHES * MAX_QUERY_WORDS
        assert self.fragments <= MAX_SEARCHES * vault_fragments
        assert self.positions <= MAX_SEARCHES * MAX_POSITIONS


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    done = Work()

    def match(index: WordIndex, word: Any, match_word: Callable[..., Any] = WordIndex.match) -> Any:
        done.words += 1
        return match_word(index, word)

    def generate(
        generator: CandidateGenerator,
        *args: Any,
        generate_candidates: Callable[..., Any] = CandidateGenerator.generate,
        **options: Any,
    ) -> Any:
        candidates = generate_candidates(generator, *args, **options)
        done.fragments += len(candidates.rows)
        return candidates

    def flatten(*args: Any) -> Any:
        positions = flatten_positions(*args)
        done.positions += len(positions)
        return positions

    monkeypatch.setattr(WordIndex, "match", partialmethod(match))
    monkeypatch.setattr(CandidateGenerator, "generate", partialmethod(generate))
    monkeypatch.setattr("excerpt.search.candidates.flatten_positions", flatten)
    return done


@pytest.fixture
def vaults(home: Path, vault: Path) -> ServedVaults:
    """Return a served vault with a memory as long as memories may be."""
    found = indexed(vault)
    found.all[0].vault.memories.remember("alpha " * 16_000)
    return found


def count_fragments(vaults: ServedVaults) -> int:
    return found.fragments + 1_000 if (found := vaults.all[0].vault.status()) else 0


@pytest.mark.parametrize("kind", KINDS)
async def test_every_tool_answers_or_refuses_with_the_work_of_a_short_question(
    vaults: ServedVaults, work: Work, kind: str
) -> None:
    fragments = count_fragments(vaults)
    async with Client(build_server(vaults, failed)) as client:
        ask: Ask = asking(client)
        for size in SIZES:
            text = KINDS[kind](PROSE, size).replace("\ud83d", "\ufffd")
            for name, arguments in TOOLS.items():
                if name == "remember":
                    continue
                work.__init__()  # type: ignore[misc]  # counted anew for each question
                told = await ask(name.partition(" ")[0], **arguments(text))
                assert told.text
                assert told.is_error or name == "check" or size <= 10_000
                work.check(fragments)
    vaults.end()


@pytest.mark.parametrize("kind", KINDS)
async def test_every_method_answers_or_refuses_with_the_work_of_a_short_question(
    vaults: ServedVaults, work: Work, kind: str
) -> None:
    fragments = count_fragments(vaults)
    async with connected(LineServer(vaults, line_failed)) as talk:
        for size in SIZES:
            text = KINDS[kind](PROSE, size)
            for name, arguments in METHODS.items():
                if name == "remember":
                    continue
                work.__init__()  # type: ignore[misc]
                method, params = name.partition(" ")[0], arguments(text)
                talk.say(json.dumps({"id": f"{name} {size}", "method": method, "params": params}).encode() + b"\n")
                answer = await talk.answer(f"{name} {size}")
                assert "error" in answer or size <= 10_000 or name in ("passages", "cancel")
                if name != "passages":  # which searches for each of several clauses
                    work.check(fragments)
    vaults.end()
