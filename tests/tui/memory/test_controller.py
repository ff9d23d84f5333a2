"""Tests of the forms for memories and their results, without a screen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from excerpt.known_vaults import VaultFolders
from excerpt.memory.store import MemoryStore
from excerpt.model import Memory
from excerpt.service.event_loop import MemoryChanged, ServiceEvent
from excerpt.service.memory_decisions import MemoryDraft
from excerpt.settings import Paths, Settings
from excerpt.tui.memory.controller import MemoryController, make_source
from excerpt.tui.messages import RememberRequested
from tests.service.manual_loop import TIMEOUT_SECONDS, ManualLoop
from tests.tui.examples import make_hit


class Case:
    """A controller of memories in real files; `said` waits for the next event of its thread."""

    def __init__(self, vault: Path, user_paths: Paths) -> None:
        self._loop = ManualLoop()
        self.store = MemoryStore(user_paths.memory_folder(vault))
        self.memories = MemoryController(VaultFolders.of([vault]), Settings(), user_paths, loop=self._loop)

    @property
    def said(self) -> ServiceEvent:
        return self._loop.next()

    def all(self) -> list[Memory]:
        return list(self.store.all().memories)


@pytest.fixture
def case(tmp_path: Path, user_paths: Paths) -> Case:
    return Case(tmp_path, user_paths)


def test_a_fragment_is_kept_with_its_source_and_the_query_that_found_it(case: Case) -> None:
    hit = make_hit("a" * 12, 7, "Sync.md")
    _, answered = case.memories.make_new_memory_form(RememberRequested(hit, "sync conflict"))
    answered(MemoryDraft("The newer one.", ("sync",), "It came up twice."))
    assert isinstance(case.said, MemoryChanged)
    (memory,) = case.all()
    assert (memory.text, memory.query, memory.source) == ("The newer one.", "sync conflict", make_source(hit))


def test_a_form_that_is_left_keeps_nothing(case: Case) -> None:
    _, answered = case.memories.make_new_memory_form(RememberRequested(None, "", "A thought."))
    answered(None)
    case.memories.worker.close(TIMEOUT_SECONDS)
    assert case.all() == []


def test_a_change_leaves_what_the_form_did_not_change_and_can_be_taken_back(case: Case) -> None:
    memory = case.store.remember("The newer one.", ("sync",), "", None, "conflict")
    _, answered = case.memories.make_edit_form(memory)
    answered(MemoryDraft("The older one.", memory.tags, memory.why))
    assert isinstance(case.said, MemoryChanged)
    (changed,) = case.all()
    assert replace(changed, text=memory.text, updated=memory.updated) == memory
    case.memories.worker.undo()
    assert isinstance(case.said, MemoryChanged)
    assert [each.text for each in case.all()] == [memory.text]


def test_a_memory_among_the_hits_has_no_source_of_its_own() -> None:
    assert make_source(make_hit("memory:20260301-aaaa", 1, "Memory")) is None
