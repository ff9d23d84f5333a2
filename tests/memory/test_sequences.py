"""No sequence of remember, update, forget and restore loses a memory or changes one that was not meant."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from excerpt.memory.store import TRASH, MemoryStore
from excerpt.model import Memory

TEXTS = st.sampled_from(["one", "two words", "---\nid: x\n---", "\n blank around \n\n", "同步"])


class Sequences(RuleBasedStateMachine):
    """`live` and `gone` are what the store should hold and have in its trash."""

    ids: Bundle[str] = Bundle("ids")
    gone_ids: Bundle[str] = Bundle("gone_ids")

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.store = MemoryStore(self.folder)
        self.live: dict[str, Memory] = {}
        self.gone: dict[str, Memory] = {}
        self.replaced: list[str] = []

    @rule(target=ids, text=TEXTS, tags=st.lists(st.sampled_from(["a", "b"])))
    def remember(self, text: str, tags: list[str]) -> str:
        memory = self.store.remember(text, tags)
        self.live[memory.id] = memory
        return memory.id

    @rule(memory_id=ids, text=TEXTS)
    def update(self, memory_id: str, text: str) -> None:
        before = self.live[memory_id]
        self.live[memory_id] = self.store.update(replace(before, text=text))
        assert self.live[memory_id].text == text
        if text != before.text:
            self.replaced.append(before.text)

    @rule(target=gone_ids, memory_id=consumes(ids))
    def forget(self, memory_id: str) -> str:
        assert self.store.forget(memory_id) == self.live[memory_id]
        self.gone[memory_id] = self.live.pop(memory_id)
        return memory_id

    @rule(target=ids, memory_id=consumes(gone_ids))
    def restore(self, memory_id: str) -> str:
        self.live[memory_id] = self.gone.pop(memory_id)
        assert self.store.restore(memory_id) == self.live[memory_id]
        return memory_id

    @rule(memory_id=ids)
    def edit_by_hand(self, memory_id: str) -> None:
        (file,) = (file for file in self.folder.glob("*.md") if memory_id in file.name)
        file.write_bytes(file.read_bytes()[:-1] + b" by hand\n")
        self.live[memory_id] = replace(self.live[memory_id], text=self.live[memory_id].text + " by hand")

    @rule()
    def reopen(self) -> None:
        self.store = MemoryStore(self.folder)

    @invariant()
    def nothing_is_lost(self) -> None:
        found = self.store.all()
        assert {memory.id: memory for memory in found.memories} == self.live
        assert found.broken == ()
        trashed = [file.read_text() for file in (self.folder / TRASH).glob("*.md")]
        for text in (*self.replaced, *(memory.text for memory in self.gone.values())):
            assert any(each.endswith(f"\n\n{text}\n") for each in trashed)

    def teardown(self) -> None:
        shutil.rmtree(self.folder)


TestSequences = Sequences.TestCase
TestSequences.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
