"""Tests of the pack controller without a screen: marks, queries, counts, copying."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from excerpt.kinds import Format, Scope, Strategy
from excerpt.known_vaults import VaultFolders
from excerpt.model import EntryHit, Hit, Memory, Pack, PackResult, Result
from excerpt.pack.selection import MarkedFragment, SavedMarks
from excerpt.service.event_loop import Failure
from excerpt.service.packer import AskCost, BuiltPack, MarkCost, Packer, PackUpdate
from excerpt.service.questions import AskHighlights
from excerpt.settings import PackSettings
from excerpt.tui.messages import CopyTarget
from excerpt.tui.pack.controller import PackController, mark_hit, parse_budget
from tests.tui.driver import ManualClock, ManualEngine
from tests.tui.examples import make_hit, make_result

A, B = make_hit("a"), make_hit("b")
EXACT = MarkCost("b", 31, is_first_mark=True, is_exact=True)


def pack_of_one(fragment_id: str) -> Pack:
    entry = EntryHit(fragment_id, 0, 1.0, ())
    return Pack(fragment_id, "a.md", "a", (), 1, 1, Scope.NONE, entry, (fragment_id,), "text", 1, "", False, False)


@dataclass
class Bench:
    """A controller with a controlled engine and clock, and the callbacks it made in `said`."""

    engine: ManualEngine = field(default_factory=ManualEngine)
    clock: ManualClock = field(default_factory=ManualClock)
    kept: list[SavedMarks] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    selected: Hit | None = None
    memories: tuple[Memory, ...] | None = ()

    def __post_init__(self) -> None:
        self.pack = PackController(
            self.engine,
            lambda: Packer(VaultFolders.of([Path()]), Path()),
            self.clock.after,
            PackSettings(budget=500),
            selected_hit=lambda: self.selected,
            marked_memories=lambda marks: self.memories if marks else (),
            on_change=lambda: self.said.append("changed"),
            on_build=lambda: self.said.append("built"),
            on_failure=lambda: self.said.append("failed"),
            on_highlights=lambda _: self.said.append("highlights"),
            on_save=self.kept.append,
        )

    def answer(
        self,
        text: str = "pack",
        *missing: MarkedFragment,
        packs: tuple[str, ...] = (),
        cost: MarkCost | None = None,
        result: Result | None = None,
    ) -> BuiltPack:
        packed_hits = tuple(pack_of_one(each) for each in packs)
        pack = PackResult("q", Strategy.AUTO, 500, "o200k", packed_hits, (), text, 7, 0.0, 7)
        packed = BuiltPack(pack, text, 7, (), missing)
        self.engine.answer("pack", PackUpdate(packed, cost, result))
        return packed


def test_a_pack_is_asked_of_the_top_hits_until_something_is_marked() -> None:
    bench = Bench()
    bench.pack.ask_pack(make_result("sync", A, B), Strategy.SEMANTIC)
    asked = bench.engine.questions["pack"].request
    assert (asked.queries, asked.hits, asked.marks, asked.strategy) == (("sync",), (A, B), (), Strategy.HYBRID)
    bench.pack.toggle_mark(mark_hit(B))
    bench.pack.ask_pack(make_result("sync", A, B), Strategy.SEMANTIC)
    asked = bench.engine.questions["pack"].request
    assert (asked.marks, asked.strategy) == ((mark_hit(B),), Strategy.SEMANTIC)


def test_scope_budget_and_format_of_the_keys_hold_until_the_settings_say_otherwise() -> None:
    bench = Bench()
    assert bench.pack.change_settings(scope=Scope.NOTE, budget=4000, pack_format=Format.XML)
    assert bench.pack.apply_settings(PackSettings(budget=800))
    settings = bench.pack.pack_settings
    assert (settings.scope, settings.budget, settings.format) == (Scope.NOTE, 800, Format.XML)
    bench.pack.ask_pack(make_result("sync", A), Strategy.AUTO)
    assert bench.engine.questions["pack"].request.settings == settings
    assert not bench.pack.change_settings(budget=800)


def test_the_question_of_a_pack_of_marks_stays_when_the_query_is_cleared() -> None:
    bench = Bench()
    bench.pack.ask_pack(make_result("sync", A), Strategy.AUTO)
    bench.pack.toggle_mark(mark_hit(A))
    bench.pack.ask_pack(None, Strategy.AUTO)
    assert bench.engine.questions["pack"].request.queries == ("sync",)
    assert bench.kept[-1] == SavedMarks("sync", (mark_hit(A),))


def test_the_pack_of_another_budget_is_asked_beside_the_pack() -> None:
    bench = Bench()
    shown: list[PackResult] = []
    bench.pack.preview_budget(50, shown.append)
    assert bench.engine.questions == {}
    bench.pack.ask_pack(make_result("sync", A), Strategy.AUTO)
    packed = bench.answer()
    bench.pack.preview_budget(50, shown.append)
    (request,) = bench.engine.questions["pack-results"].requests
    assert (request.settings.budget, request.hits) == (50, (A,))
    bench.engine.answer("pack-results", (packed.result,))
    assert shown == [packed.result]
    assert bench.pack.pack_settings.budget == 500


def test_the_packs_of_all_scopes_are_asked_for_the_pack_or_for_one_passage() -> None:
    bench = Bench()
    bench.pack.ask_pack(make_result("sync", A, B), Strategy.AUTO)
    bench.answer()
    bench.pack.preview_scopes(None, print)
    assert [each.settings.scope for each in bench.engine.questions["pack-results"].requests] == list(Scope)
    bench.pack.preview_scopes(pack_of_one("a"), print)
    requests = bench.engine.questions["pack-results"].requests
    assert [each.overrides.scopes for each in requests] == [(("a", scope),) for scope in Scope]
    assert {each.settings.scope for each in requests} == {Scope.NEIGHBORS}


def test_without_marks_and_hits_there_is_no_pack_and_nothing_is_awaited() -> None:
    bench = Bench()
    bench.pack.ask_pack(make_result("sync", A), Strategy.AUTO)
    bench.answer()
    assert bench.said == ["changed", "built"]
    bench.pack.ask_pack(None, Strategy.AUTO)
    assert (bench.pack.newest_pack, bench.pack.is_answered, bench.said[2:]) == (None, True, ["changed"])


def test_a_pack_with_marked_memories_waits_until_they_are_read() -> None:
    bench = Bench(memories=None)
    bench.pack.load_saved_marks(SavedMarks("sync", (MarkedFragment("memory:1", "memory:1"),)))
    bench.pack.restore_marks()
    bench.pack.ask_pack(None, Strategy.AUTO)
    assert (bench.engine.questions, bench.pack.is_answered) == ({}, False)
    bench.memories = (Memory("1", "thought", (), "", "", ""),)
    assert bench.pack.lacks_memories
    bench.pack.ask_pack(None, Strategy.AUTO)
    assert bench.engine.questions["pack"].request.memories == bench.memories
    assert not bench.pack.lacks_memories


def test_a_pack_that_is_the_same_changes_nothing_on_the_screen() -> None:
    bench = Bench()
    for _ in range(2):
        bench.pack.ask_pack(make_result("sync", A), Strategy.AUTO)
        bench.answer()
    assert bench.said == ["changed", "built", "built"]


def test_the_cost_of_the_selected_fragment_is_answered_with_the_pack() -> None:
    bench = Bench(selected=B)
    bench.pack.ask_pack(make_result("sync", A, B), Strategy.AUTO)
    question = bench.engine.questions["pack"]
    assert question.cost == AskCost(question.packer, question.request, mark_hit(B))
    assert not bench.pack.is_cost_exact
    bench.answer(cost=EXACT)
    assert (bench.pack.cost, bench.pack.is_cost_exact) == (EXACT, True)
    bench.clock.pass_time(0.2)
    assert bench.engine.questions == {}


def test_the_cost_of_a_fragment_selected_later_is_a_guess_until_it_has_stayed_selected() -> None:
    bench = Bench(selected=A)
    bench.pack.ask_pack(make_result("sync", A, B), Strategy.AUTO)
    bench.selected = B
    bench.answer(cost=replace(EXACT, fragment_id="a"))
    assert bench.pack.cost == MarkCost("b", 10, is_first_mark=True)
    assert ("cost" in bench.engine.questions, bench.pack.is_cost_exact) == (False, False)
    bench.clock.pass_time(0.2)
    bench.engine.answer("cost", EXACT)
    assert (bench.pack.cost, bench.pack.is_cost_exact) == (EXACT, True)


def test_the_highlights_of_all_hits_come_with_the_pack_and_without_it_if_it_fails() -> None:
    bench = Bench()
    result = make_result("sync", A)
    bench.pack.ask_pack(result, Strategy.AUTO, result)
    assert bench.engine.questions["pack"].result is result
    bench.answer(result=result)
    assert bench.said == ["highlights", "changed", "built"]
    bench.pack.ask_pack(result, Strategy.AUTO, result)
    bench.engine.fail("pack", Failure("pack", "The template is wrong.", ""))
    assert bench.engine.questions == {"marks": AskHighlights(result)}


def test_a_marked_fragment_costs_nothing_more() -> None:
    bench = Bench(selected=A)
    bench.pack.toggle_mark(mark_hit(A))
    bench.pack.ask_pack(make_result("sync", A), Strategy.AUTO)
    bench.answer()
    assert (bench.pack.cost, bench.pack.is_cost_exact) == (None, True)


def test_marks_that_are_gone_are_told_once() -> None:
    bench = Bench()
    bench.pack.toggle_mark(mark_hit(A))
    bench.pack.ask_pack(None, Strategy.AUTO)
    bench.answer("first", mark_hit(A))
    assert [bench.pack.count_newly_missing(), bench.pack.count_newly_missing()] == [1, 0]


def test_an_empty_pack_is_not_copied() -> None:
    bench = Bench()
    assert bench.pack.copy_request(CopyTarget.CLIPBOARD) is None
    bench.pack.ask_pack(make_result("sync", A), Strategy.AUTO)
    bench.answer()
    assert bench.pack.copy_request(CopyTarget.CLIPBOARD) is None


def test_each_decision_is_kept_and_one_that_changes_nothing_is_not() -> None:
    bench = Bench()
    assert bench.pack.toggle_mark(mark_hit(A))
    assert bench.pack.undo()
    assert not bench.pack.undo()
    assert [len(kept.marks) for kept in bench.kept] == [1, 0]


def test_marks_that_are_not_among_what_is_listed_are_told_and_dropped() -> None:
    bench = Bench()
    bench.pack.toggle_mark(mark_hit(A))
    bench.pack.toggle_mark(mark_hit(B))
    bench.pack.ask_pack(make_result("sync", A), Strategy.AUTO)
    assert bench.pack.earlier_or_unlisted_marks == (mark_hit(B),)
    assert bench.pack.drop_earlier()
    assert [mark.fragment_id for mark in bench.pack.choices.marks] == [mark_hit(A).fragment_id]
    assert not bench.pack.earlier_or_unlisted_marks


def test_after_a_restart_the_pack_is_of_the_best_hits_until_the_marks_are_taken_up() -> None:
    bench = Bench()
    bench.pack.load_saved_marks(SavedMarks("sync", (mark_hit(B),)))
    bench.pack.ask_pack(make_result("other", A), Strategy.AUTO)
    assert bench.engine.questions["pack"].request.marks == ()
    assert bench.pack.earlier_or_unlisted_marks == (mark_hit(B),)
    bench.pack.restore_marks()
    bench.pack.ask_pack(make_result("other", A), Strategy.AUTO)
    assert bench.engine.questions["pack"].request.marks == (mark_hit(B),)


def test_with_the_first_mark_nothing_is_in_the_pack_unasked() -> None:
    bench = Bench()
    bench.pack.ask_pack(make_result("sync", A, B), Strategy.AUTO)
    bench.answer(packs=("a", "b"))
    assert bench.pack.packed_fragments == {"a", "b"}
    bench.pack.toggle_mark(mark_hit(A))
    assert bench.pack.packed_fragments == frozenset()
    bench.pack.ask_pack(make_result("sync", A, B), Strategy.AUTO)
    bench.answer(packs=("a",))
    assert bench.pack.packed_fragments == {"a"}


@pytest.mark.parametrize(
    ("text", "budget"),
    [("4000", 4_000), (" 4,000 ", 4_000), ("4k", 4_000), ("128K", 128_000), ("1.5k", 1_500), ("1_500", 1_500)],
)
def test_a_budget_is_typed_as_a_person_writes_it(text: str, budget: int) -> None:
    assert parse_budget(text) == budget


@pytest.mark.parametrize("text", ["", "many", "-5", "1.5", "k", "0", "49", "9" * 30, "１２３"])
def test_what_is_no_budget_is_told_in_a_sentence(text: str) -> None:
    told = parse_budget(text)
    assert isinstance(told, str)
    assert told.startswith(("A budget is ", "A budget has "))
