"""Property tests: no memory is lost or cut, whatever the order of remember, change, forget, restore and edits.

Processes are killed at any step, and several work at once.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from excerpt.errors import MemoryUnusableError
from excerpt.memory.store import TRASH, MemoryStore
from excerpt.model import Memory
from tests.conftest import few
from tests.memory.dying import Child, Say, files_in

pytestmark = pytest.mark.programs

TEXTS = st.sampled_from(["one", "two words", "---\nid: x\n---", "\n blank around \n\n", "同步"])
STEPS = st.none() | st.integers(0, 60)
"""The step before which a process is killed: `remember` takes about 40 steps, `change` about 60."""


class Crashes(RuleBasedStateMachine):
    """A state machine over a memory folder: `live` are its expected memories, `gone` those in its trash.

    What a killed process was working on may be in either state.
    """

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.store = MemoryStore(self.folder)
        self.live: dict[str, Memory] = {}
        self.gone: dict[str, Memory] = {}
        self.written: list[str] = []

    @rule(text=TEXTS, step=STEPS)
    def remember(self, text: str, step: int | None) -> None:
        killed = self.in_a_process(lambda store: store.remember(text), step)
        found = {memory.id: memory for memory in self.store.all().memories if memory.id not in self.live}
        assert [memory.text for memory in found.values()] in ([text], [] if killed else [text])
        self.live.update(found)
        self.written += [text] * len(found)

    @precondition(lambda self: self.live)
    @rule(data=st.data(), text=TEXTS, step=STEPS)
    def change(self, data: st.DataObject, text: str, step: int | None) -> None:
        before = self.live[data.draw(st.sampled_from(sorted(self.live)))]
        killed = self.in_a_process(lambda store: store.change(before.id, lambda each: replace(each, text=text)), step)
        after = self.store.get(before.id)
        assert after.text in ({before.text, text} if killed else {text})
        assert replace(after, text="", updated="") == replace(before, text="", updated="")
        self.live[before.id] = after
        self.written.append(after.text)

    @precondition(lambda self: self.live)
    @rule(data=st.data(), step=STEPS)
    def forget(self, data: st.DataObject, step: int | None) -> None:
        memory_id = data.draw(st.sampled_from(sorted(self.live)))
        killed = self.in_a_process(lambda store: store.forget(memory_id), step)
        if memory_id not in self.store.contents().files_by_id:
            self.gone[memory_id] = self.live.pop(memory_id)
        else:
            assert killed

    @precondition(lambda self: self.gone)
    @rule(data=st.data(), step=STEPS)
    def restore(self, data: st.DataObject, step: int | None) -> None:
        memory_id = data.draw(st.sampled_from(sorted(self.gone)))
        killed = self.in_a_process(lambda store: store.restore(memory_id), step)
        if memory_id in self.store.contents().files_by_id:
            self.live[memory_id] = self.gone.pop(memory_id)
        else:
            assert killed

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def edit_by_hand(self, data: st.DataObject) -> None:
        memory_id = data.draw(st.sampled_from(sorted(self.live)))
        (file,) = (file for file in self.folder.glob("*.md") if memory_id in file.name)
        file.write_bytes(file.read_bytes()[:-1] + b" by hand\n")
        self.live[memory_id] = replace(self.live[memory_id], text=self.live[memory_id].text + " by hand")
        self.written.append(self.live[memory_id].text)

    @rule()
    def break_by_hand(self) -> None:
        (self.folder / "broken.md").write_bytes(b"---\nid: [\n---\n\xff")

    @rule()
    def reopen(self) -> None:
        self.store = MemoryStore(self.folder)

    @invariant()
    def nothing_is_lost(self) -> None:
        found = self.store.all()
        assert {memory.id: memory for memory in found.memories} == self.live
        assert {broken.path for broken in found.unreadable} <= {"broken.md"}
        kept = [file.read_text() for file in (self.folder / TRASH).glob("*.md")]
        kept += [f"\n\n{memory.text}\n" for memory in self.live.values()]
        # An edit by hand leaves no copy of the earlier text.
        for text in self.written:
            assert (
                any(each.endswith(f"\n\n{text}\n") for each in kept)
                or any(
                    memory.text.startswith(f"{text} by hand") for memory in (*self.live.values(), *self.gone.values())
                )
                or any(f"\n\n{text} by hand" in each for each in kept)
            )

    def in_a_process(self, act: Callable[[MemoryStore], object], step: int | None) -> bool:
        """Run `act` in another process, killed before a step; return whether it was killed."""
        return is_killed(lambda: act(MemoryStore(self.folder)), step)

    def teardown(self) -> None:
        shutil.rmtree(self.folder)


TestCrashes = Crashes.TestCase
TestCrashes.settings = settings(max_examples=few(8), stateful_step_count=15)


def is_killed(act: Callable[[], object], step: int | None) -> bool:
    """Return whether a process that runs `act` reaches that step, before which it is killed."""

    def work(say: Say) -> None:
        act()
        say("done")

    said, killed = Child(work, step).said()
    assert bool(said) is not killed
    return killed


def _at_random(folder: Path, who: int, seed: int) -> Callable[[Say], None]:
    """Return work that makes 15 random changes, also to the other process's memories.

    Each text is written once, and reported after it was written.
    """

    def work(say: Say) -> None:
        chance, store = random.Random(f"{seed} {who}"), MemoryStore(folder)
        forgotten: list[str] = []
        for number in range(15):
            text = f"process {who} text {number}"
            ids = sorted(store.contents().files_by_id)
            what = chance.choice(["remember", "change", "forget", "restore"])
            try:
                if what == "remember" or not ids:
                    store.remember(text)
                elif what == "change":
                    store.change(chance.choice(ids), lambda memory, text=text: replace(memory, text=text))  # type: ignore[misc]
                elif what == "forget":
                    forgotten.append(store.forget(chance.choice(ids)).id)
                    continue
                elif forgotten:
                    store.restore(forgotten.pop())
                    continue
                else:
                    continue
            except MemoryUnusableError:
                continue  # the other process has forgotten or restored it
            say(text)

    return work


@settings(max_examples=few(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), step=st.integers(0, 600))
def test_of_two_processes_one_of_which_is_killed_every_text_that_was_written_is_there(seed: int, step: int) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        one, other = Child(_at_random(folder, 1, seed), step), Child(_at_random(folder, 2, seed))
        told = [*one.said()[0], *other.said()[0]]
        found = MemoryStore(folder).all()
        assert found.unreadable == ()
        there = {file.read_text(encoding="utf-8").rpartition("\n\n")[2].rstrip("\n") for file in files_in(folder)}
        assert set(told) <= there
        assert all(text.startswith("process ") for text in there)
        MemoryStore(folder).remember("and the folder can be written to")
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("what", ["change", "forget", "restore"])
def test_whatever_is_killed_at_each_of_its_steps_leaves_the_memory_whole(tmp_path: Path, what: str) -> None:
    acts: dict[str, Callable[[MemoryStore, str], object]] = {
        "change": lambda store, memory_id: store.change(memory_id, lambda memory: replace(memory, text="new")),
        "forget": MemoryStore.forget,
        "restore": MemoryStore.restore,
    }
    for step in range(100):
        folder = tmp_path / str(step)
        memory = MemoryStore(folder).remember("old")
        if what == "restore":
            MemoryStore(folder).forget(memory.id)
        killed = is_killed(partial(acts[what], MemoryStore(folder), memory.id), step)
        found = MemoryStore(folder).all()
        live = [each.text for each in found.memories]
        trashed = [file.read_text().rpartition("\n\n")[2] for file in (folder / TRASH).glob("*.md")]
        assert found.unreadable == ()
        assert set(live) <= {"old", "new"}
        assert "old" in live or "old\n" in trashed
        if not killed:
            assert live == {"change": ["new"], "forget": [], "restore": ["old"]}[what]
            assert step > 20
            return
    pytest.fail("It never came to its end.")
