"""Tests of memories in the Search tab without a screen: queries, lists, marks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from excerpt.model import Hit, Memory, Source
from excerpt.pack.memory_fragment import memory_to_fragment
from excerpt.pack.selection import MarkedFragment
from excerpt.service.memory_worker import FoundMemories
from excerpt.settings import MemorySettings
from excerpt.tui.memory.controller import MemoryPlacement, RecallController
from tests.tui.driver import ManualEngine
from tests.tui.examples import make_hit

THOUGHT = Memory("20260301-120000-abcd", "thought", (), "", "", "")
OF_NOTE = Memory("20260301-120001-abcd", "from a note", (), "", "", "", Source("a.md", 1, 1, "x", ()))
FOUND = Hit(memory_to_fragment(THOUGHT, 2), 1.0)
MARK = MarkedFragment(FOUND.fragment.id, FOUND.fragment.path)
A = make_hit("a")


class HeldMemories:
    """A memory source that records queries without answering them."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_answered = True

    def find(self, query: str, on_found: Callable[[FoundMemories], object]) -> None:
        self.asked.append(query)
        self.is_answered = False

    def is_waiting(self, kind: str) -> bool:
        return not self.is_answered


@dataclass
class Bench:
    engine: ManualEngine = field(default_factory=ManualEngine)
    thread: HeldMemories = field(default_factory=HeldMemories)
    changes: int = 0

    def __post_init__(self) -> None:
        def changed() -> None:
            self.changes += 1

        self.memories = RecallController(
            self.engine,
            self.thread,
            MemorySettings(),
            on_found=self.take,
            on_change=changed,
        )

    def take(self, found: FoundMemories) -> None:
        self.thread.is_answered = True
        self.memories.store_answer(found, has_hit_list=True)


def test_memories_are_asked_for_when_a_query_is_answered_and_never_before() -> None:
    bench = Bench()
    bench.memories.request_memories("", ())
    assert (bench.thread.asked, bench.memories.is_answered) == ([], True)
    bench.memories.request_memories("sync", ())
    assert (bench.thread.asked, bench.memories.is_answered) == (["sync"], False)


def test_they_stand_among_the_hits_until_the_query_is_cleared() -> None:
    bench = Bench()
    bench.memories.request_memories("sync", ())
    bench.take(FoundMemories((FOUND,), (THOUGHT,)))
    assert bench.memories.merge_rows((A,)) == (A, FOUND)
    bench.memories.clear_hits()
    assert bench.memories.merge_rows((A,)) == (A,)


def test_not_shown_they_are_read_only_for_marks() -> None:
    bench = Bench()
    while bench.memories.placement is not MemoryPlacement.OFF:
        bench.memories.select_next_placement()
    bench.memories.request_memories("sync", ())
    bench.memories.request_memories("sync", (MARK,))
    assert bench.thread.asked == [""]


def test_a_marked_memory_is_asked_for_once_and_known_when_it_is_read() -> None:
    bench = Bench()
    assert bench.memories.marked_memories((MARK,)) is None
    assert bench.memories.marked_memories((MARK,)) is None
    assert bench.thread.asked == [""]
    bench.take(FoundMemories((), (THOUGHT,)))
    assert bench.memories.marked_memories((MARK, MarkedFragment("a", "a.md"))) == (THOUGHT,)
    window = bench.memories.memory_window(MARK.fragment_id)
    assert window is not None
    assert window.fragment.text == "thought"


def test_fragments_have_badges_where_a_memory_has_a_source() -> None:
    bench = Bench()
    bench.take(FoundMemories((), (THOUGHT,)))
    bench.memories.ask_badges((A,))
    assert bench.engine.questions == {}
    bench.take(FoundMemories((), (OF_NOTE,)))
    bench.memories.ask_badges((A,))
    bench.engine.answer("badges", {"a": (OF_NOTE,)})
    assert bench.memories.badges == {"a"}
