"""Tests of the pack and its marks: choices and undo, marks kept between sessions."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from excerpt.base.kinds import Format, Scope, Strategy
from excerpt.base.model import EntryHit, Hit, Memory, OmittedHit, Pack, PackResult, Result, Span
from excerpt.base.settings import PackSettings, Paths, Settings
from excerpt.pack.selection import (
    NO_MARKS,
    NO_OVERRIDES,
    MarkedFragment,
    PackOverrides,
    SavedMarks,
    read_marks,
    write_marks,
)
from excerpt.service.event_loop import Failure
from excerpt.service.packer import AskCost, BuiltPack, MarkCost, Packer, PackUpdate
from excerpt.service.questions import AskHighlights
from excerpt.tui.app import ExcerptApp
from excerpt.tui.messages import CopyTarget
from excerpt.tui.pack.bar import PackBar
from excerpt.tui.pack.controller import ChoiceHistory, PackChoices, PackController, mark_hit, parse_budget
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.session import StateFile
from excerpt.vault.known_vaults import VaultFolders
from tests.tui.driver import (
    AppPilot,
    ManualClock,
    ManualEngine,
    hit_list_of,
    pane_of,
    screen_of,
    search,
    status_text,
    until,
    until_answered,
    until_index,
)
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
    unmarked: list[frozenset[str]] = field(default_factory=list)
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
            on_unmark=self.unmarked.append,
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
        packed = BuiltPack(pack, text, (), missing)
        self.engine.answer("pack", PackUpdate(packed, cost, result))
        return packed


def test_a_pack_is_requested_of_the_top_hits_until_something_is_marked() -> None:
    bench = Bench()
    bench.pack.ask_pack(make_result("sync", A, B), Strategy.SEMANTIC)
    asked = bench.engine.questions["pack"].request
    assert (asked.queries, asked.hits, asked.marks, asked.strategy) == (("sync",), (A, B), (), Strategy.HYBRID)
    bench.pack.toggle_mark(mark_hit(B))
    bench.pack.ask_pack(make_result("sync", A, B), Strategy.SEMANTIC)
    asked = bench.engine.questions["pack"].request
    assert (asked.marks, asked.strategy) == ((mark_hit(B),), Strategy.SEMANTIC)


def test_scope_budget_and_format_set_by_keys_apply_until_the_settings_change() -> None:
    bench = Bench()
    assert bench.pack.change_settings(scope=Scope.NOTE, budget=4000, pack_format=Format.XML)
    assert bench.pack.apply_settings(PackSettings(budget=800))
    settings = bench.pack.pack_settings
    assert (settings.scope, settings.budget, settings.format) == (Scope.NOTE, 800, Format.XML)
    bench.pack.ask_pack(make_result("sync", A), Strategy.AUTO)
    assert bench.engine.questions["pack"].request.settings == settings
    assert not bench.pack.change_settings(budget=800)


def test_a_pack_of_marks_keeps_its_question_when_the_query_is_cleared() -> None:
    bench = Bench()
    bench.pack.ask_pack(make_result("sync", A), Strategy.AUTO)
    bench.pack.toggle_mark(mark_hit(A))
    bench.pack.ask_pack(None, Strategy.AUTO)
    assert bench.engine.questions["pack"].request.queries == ("sync",)
    assert bench.kept[-1] == SavedMarks("sync", (mark_hit(A),))


def test_the_pack_of_another_budget_is_requested_beside_the_pack() -> None:
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


def test_packs_of_all_scopes_are_requested_for_the_pack_or_one_passage() -> None:
    bench = Bench()
    bench.pack.ask_pack(make_result("sync", A, B), Strategy.AUTO)
    bench.answer()
    bench.pack.preview_scopes(None, print)
    assert [each.settings.scope for each in bench.engine.questions["pack-results"].requests] == list(Scope)
    bench.pack.preview_scopes(pack_of_one("a"), print)
    requests = bench.engine.questions["pack-results"].requests
    assert [each.overrides.scopes for each in requests] == [(("a", scope),) for scope in Scope]
    assert {each.settings.scope for each in requests} == {Scope.NEIGHBORS}


def test_without_marks_and_hits_no_pack_is_requested() -> None:
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


def test_an_equal_pack_redraws_nothing() -> None:
    bench = Bench()
    for _ in range(2):
        bench.pack.ask_pack(make_result("sync", A), Strategy.AUTO)
        bench.answer()
    assert bench.said == ["changed", "built", "built"]


def test_the_cost_of_the_selected_fragment_is_answered_with_the_pack() -> None:
    bench = Bench(selected=B)
    bench.pack.ask_pack(make_result("sync", A, B), Strategy.AUTO)
    question = bench.engine.questions["pack"]
    assert question.cost_question == AskCost(question.packer, question.request, mark_hit(B))
    assert not bench.pack.is_cost_exact
    bench.answer(cost=EXACT)
    assert (bench.pack.cost, bench.pack.is_cost_exact) == (EXACT, True)
    bench.clock.pass_time(0.2)
    assert bench.engine.questions == {}


def test_the_cost_of_a_newly_selected_fragment_is_estimated_until_the_selection_is_stable() -> None:
    bench = Bench(selected=A)
    bench.pack.ask_pack(make_result("sync", A, B), Strategy.AUTO)
    bench.selected = B
    bench.answer(cost=replace(EXACT, fragment_id="a"))
    assert bench.pack.cost == MarkCost("b", 10, is_first_mark=True)
    assert ("cost" in bench.engine.questions, bench.pack.is_cost_exact) == (False, False)
    bench.clock.pass_time(0.2)
    bench.engine.answer("cost", EXACT)
    assert (bench.pack.cost, bench.pack.is_cost_exact) == (EXACT, True)


def test_highlights_of_all_hits_follow_the_pack_even_if_it_fails() -> None:
    bench = Bench()
    result = make_result("sync", A)
    bench.pack.ask_pack(result, Strategy.AUTO, result)
    assert bench.engine.questions["pack"].result is result
    bench.answer(result=result)
    assert bench.said == ["highlights", "changed", "built"]
    bench.pack.ask_pack(result, Strategy.AUTO, result)
    bench.engine.fail("pack", Failure("pack", "The template is wrong.", ""))
    assert bench.engine.questions == {"marks": AskHighlights(result)}


def test_a_marked_fragment_has_no_further_cost() -> None:
    bench = Bench(selected=A)
    bench.pack.toggle_mark(mark_hit(A))
    bench.pack.ask_pack(make_result("sync", A), Strategy.AUTO)
    bench.answer()
    assert (bench.pack.cost, bench.pack.is_cost_exact) == (None, True)


def test_missing_marks_are_reported_once() -> None:
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


def test_a_copy_names_the_marks_that_the_budget_left_out() -> None:
    bench = Bench()
    bench.pack.toggle_mark(mark_hit(A))
    bench.pack.toggle_mark(mark_hit(B))
    bench.pack.ask_pack(None, Strategy.AUTO)
    left_out = (OmittedHit("c.md", 1, 1, 3, "same text as"), OmittedHit("b.md", 8, 12, 900, "out of budget"))
    pack = PackResult("q", Strategy.AUTO, 500, "o200k", (pack_of_one("a"),), left_out, "t", 7, 0.0, 7, needs=(910,))
    bench.engine.answer("pack", PackUpdate(BuiltPack(pack, "t", (), ())))
    copied = bench.pack.copy_request(CopyTarget.CLIPBOARD)
    assert copied is not None
    assert copied.what == "1 passage without 1 marked, over the budget (b.md:8-12)"


def test_each_decision_is_saved_unless_it_changes_nothing() -> None:
    bench = Bench()
    assert bench.pack.toggle_mark(mark_hit(A))
    assert bench.pack.undo()
    assert not bench.pack.undo()
    assert [len(kept.marks) for kept in bench.kept] == [1, 0]


def test_marks_that_are_not_in_the_list_are_reported_and_dropped() -> None:
    bench = Bench()
    bench.pack.toggle_mark(mark_hit(A))
    bench.pack.toggle_mark(mark_hit(B))
    bench.pack.ask_pack(make_result("sync", A), Strategy.AUTO)
    assert bench.pack.earlier_or_unlisted_marks == (mark_hit(B),)
    assert bench.pack.drop_earlier()
    assert [mark.fragment_id for mark in bench.pack.choices.marks] == [mark_hit(A).fragment_id]
    assert not bench.pack.earlier_or_unlisted_marks


def test_after_a_restart_the_best_hits_are_packed_until_the_marks_are_restored() -> None:
    bench = Bench()
    bench.pack.load_saved_marks(SavedMarks("sync", (mark_hit(B),)))
    bench.pack.ask_pack(make_result("other", A), Strategy.AUTO)
    assert bench.engine.questions["pack"].request.marks == ()
    assert bench.pack.earlier_or_unlisted_marks == (mark_hit(B),)
    bench.pack.restore_marks()
    bench.pack.ask_pack(make_result("other", A), Strategy.AUTO)
    assert bench.engine.questions["pack"].request.marks == (mark_hit(B),)


def test_the_first_mark_replaces_the_best_hits() -> None:
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
def test_a_budget_may_be_written_as_people_do(text: str, budget: int) -> None:
    assert parse_budget(text) == budget


@pytest.mark.parametrize("text", ["", "many", "-5", "1.5", "k", "0", "49", "9" * 30, "１２３"])
def test_an_invalid_budget_is_reported_in_a_sentence(text: str) -> None:
    told = parse_budget(text)
    assert isinstance(told, str)
    assert told.startswith(("A budget is ", "A budget has "))


FIRST, SECOND = MarkedFragment("a", "A.md"), MarkedFragment("b", "B.md")
MARKED = PackChoices().with_toggled(FIRST).with_toggled(SECOND)


def test_marking_again_removes_the_mark() -> None:
    assert MARKED.marked_ids == {"a", "b"}
    assert MARKED.with_toggled(FIRST).marks == (SECOND,)


def test_overrides_for_marks_stay_when_the_query_changes() -> None:
    extended = MARKED.with_scope("one", ["a"], Scope.NOTE)
    assert extended.overrides("two") == PackOverrides(scopes=(("a", Scope.NOTE),))


def test_dropping_a_marked_fragment_unmarks_it_and_of_the_last_mark_the_pack_is_that_of_the_query() -> None:
    assert MARKED.with_dropped("", ["a", "neighbour"]).marks == (SECOND,)
    assert MARKED.with_dropped("", ["a", "b"]) == PackChoices()


def test_a_hit_dropped_from_the_pack_of_a_query_stays_in_the_packs_of_other_queries() -> None:
    dropped = PackChoices().with_dropped("one", ["x"])
    assert dropped.overrides("one").dropped_ids == {"x"}
    assert dropped.overrides("two") == NO_OVERRIDES


def test_removing_the_last_mark_removes_its_overrides() -> None:
    extended = MARKED.with_scope("", ["a"], Scope.NOTE)
    assert extended.with_toggled(FIRST).with_toggled(SECOND).overrides("") == NO_OVERRIDES
    assert extended.without_marks() == PackChoices()


def test_a_fragment_dropped_from_the_pack_can_be_put_back() -> None:
    assert PackChoices().with_dropped("", ["a", "x"]).with_restored("", ["a"]).overrides("").dropped_ids == {"x"}


def test_a_new_manual_order_puts_its_passages_first_and_keeps_the_order_of_the_others() -> None:
    first = MARKED.with_order("", ["a", "b", "c"])
    assert first.with_order("", ["c", "a"]).overrides("").ordered_ids == ("c", "a", "b")


def test_moving_a_passage_of_the_pack_ends_the_order_of_the_vault() -> None:
    in_vault_order = MARKED.with_next_order("")
    assert in_vault_order.order_name("") == "vault order"
    assert in_vault_order.with_order("", ["b", "a"]).order_name("") == "own order"


def test_a_key_cycles_through_the_orders_of_the_pack() -> None:
    own = MARKED.with_order("", ["b", "a"])
    assert [own.order_name(""), own.with_next_order("").order_name("")] == ["own order", ""]
    assert MARKED.with_next_order("").with_next_order("") == MARKED


def test_only_marks_and_their_overrides_are_saved() -> None:
    assert MARKED.with_scope("q", ["a"], Scope.NOTE).to_saved_marks("q") == SavedMarks(
        "q", (FIRST, SECOND), PackOverrides(scopes=(("a", Scope.NOTE),))
    )
    assert PackChoices().with_dropped("q", ["x"]).to_saved_marks("q") == NO_MARKS


def test_each_decision_can_be_undone_in_turn() -> None:
    history = ChoiceHistory()
    for choices in (PackChoices().with_toggled(FIRST), MARKED, MARKED.without_marks()):
        history.replace_choices(choices)
    assert [history.undo() and history.current.marks for _ in range(3)] == [(FIRST, SECOND), (FIRST,), ()]
    assert not history.undo()


def test_a_decision_without_effect_is_not_recorded() -> None:
    history = ChoiceHistory()
    assert not history.replace_choices(PackChoices())
    assert not history.undo()


def test_an_undone_decision_can_be_redone_until_another_is_made() -> None:
    history = ChoiceHistory()
    for choices in (PackChoices().with_toggled(FIRST), MARKED):
        history.replace_choices(choices)
    history.undo()
    history.undo()
    assert [history.redo() and history.current.marks for _ in range(3)] == [(FIRST,), (FIRST, SECOND), False]
    history.undo()
    history.replace_choices(MARKED.without_marks())
    assert not history.redo()


SAVED = SavedMarks("q", (FIRST,), PackOverrides(ordered_ids=("a",)))


def test_earlier_marks_are_not_marks_until_they_are_restored() -> None:
    history = ChoiceHistory()
    history.replace_choices(PackChoices().with_toggled(SECOND))
    history.load_saved_marks(SAVED)
    assert list(history.current.marks) == [SECOND]
    history.replace_choices(history.current.with_earlier_marks())
    assert list(history.current.marks) == [FIRST, SECOND]
    history.undo()
    assert list(history.current.marks) == [SECOND]
    assert history.current.earlier_marks == SAVED


def test_earlier_marks_are_restored_with_their_overrides() -> None:
    assert PackChoices(earlier_marks=SAVED).with_earlier_marks() == PackChoices(
        (FIRST,), PackOverrides(ordered_ids=("a",))
    )


def test_earlier_marks_are_saved_until_they_are_dropped() -> None:
    before = PackChoices(earlier_marks=SAVED)
    assert before.to_saved_marks("") == SAVED
    assert before.with_toggled(SECOND).to_saved_marks("s").marks == (FIRST, SECOND)
    assert before.without(()).to_saved_marks("") == NO_MARKS


KEPT = SavedMarks(
    "sync", (MarkedFragment("a" * 12, "A.md", (Span(1, 3),)),), PackOverrides(scopes=(("a" * 12, Scope.NOTE),))
)


def state_file_of(file: Path, failed: Callable[[str], None]) -> StateFile[SavedMarks]:
    return StateFile(file, read_marks, write_marks, failed)


def fail_unexpectedly(reason: str) -> None:
    raise AssertionError(reason)


async def test_the_file_of_marks_has_the_marks_that_were_saved_last(tmp_path: Path) -> None:
    file = tmp_path / "marks.json"
    keeper = state_file_of(file, fail_unexpectedly)
    await keeper.read()
    keeper.save_soon(SavedMarks("s", KEPT.marks))
    keeper.save_soon(KEPT)
    await keeper.write_pending()
    assert read_marks(file) == KEPT


async def test_removing_the_last_mark_removes_the_file_of_marks(tmp_path: Path) -> None:
    file = tmp_path / "marks.json"
    write_marks(file, KEPT)
    keeper = state_file_of(file, fail_unexpectedly)
    assert await keeper.read() == KEPT
    keeper.save_soon(NO_MARKS)
    await keeper.write_pending()
    assert not file.exists()


async def test_the_file_of_marks_is_not_written_before_it_was_read(tmp_path: Path) -> None:
    file = tmp_path / "marks.json"
    write_marks(file, KEPT)
    keeper = state_file_of(file, fail_unexpectedly)
    keeper.save_soon(NO_MARKS)
    await keeper.write_pending()
    assert read_marks(file) == KEPT


async def test_a_file_that_cannot_be_written_is_reported_once(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "folder").write_text("")
    keeper = state_file_of(tmp_path / "folder" / "marks.json", told.append)
    await keeper.read()
    keeper.save_soon(KEPT)
    await keeper.write_pending()
    keeper.save_soon(SavedMarks("other", KEPT.marks))
    await keeper.write_pending()
    assert told == [os.strerror(20)] or told == [os.strerror(17)]


@pytest.mark.programs
async def test_earlier_marks_and_their_overrides_are_in_the_status_until_they_are_restored(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await pilot.press("tab", "ctrl+o", "s", "s", "enter")
        await until(pilot, lambda: bool(pane_of(app).pack.choices.mark_overrides.scopes), "the scope")
        await until_answered(pilot)
        marks, overrides = pane_of(app).pack.choices.marks, pane_of(app).pack.choices.mark_overrides
    assert read_marks(user_paths.marks_file(vault)) == SavedMarks("conflict", marks, overrides)
    again = ExcerptApp(vault, Settings(), user_paths)
    async with again.run_test() as pilot:
        await until_index(pilot)
        bar = screen_of(again).query_one(PackBar)
        assert bar.mark_count == 0
        await search(pilot, "conflict")
        assert "1 mark from last time: esc o add, x clear" in status_text(again)
        await pilot.press("escape", "o")
        await until(pilot, lambda: bar.mark_count == 1 and pane_of(again).is_up_to_date, "the pack of the marks")
        assert bar.pack is not None
        assert bar.pack.query == "conflict"
        assert {mark.fragment_id for mark in marks} <= {each for one in bar.pack.passages for each in one.fragment_ids}
        await search(pilot, "conflict")
        assert hit_list_of(again).marked_ids == {mark.fragment_id for mark in marks}


@pytest.mark.programs
@pytest.mark.parametrize("damage", ["", "{", '{"marks": 7}'])
async def test_if_the_file_of_marks_is_damaged_there_are_no_marks(
    app: ExcerptApp, vault: Path, user_paths: Paths, damage: str
) -> None:
    file = user_paths.marks_file(vault)
    file.parent.mkdir(parents=True)
    file.write_text(damage)
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        assert screen_of(app).query_one(PackBar).mark_count == 0


@pytest.mark.programs
async def test_the_question_of_a_pack_of_marks_is_the_last_query(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await pilot.press("tab", "ctrl+u")
        bar = screen_of(app).query_one(PackBar)
        await until(pilot, lambda: pane_of(app).result is None and pane_of(app).is_up_to_date, "the pack")
        assert bar.pack is not None
        assert bar.pack.query == "conflict"


async def mark_conflict(pilot: AppPilot) -> None:
    """Mark the best fragment on conflicts, and wait for its pack."""
    await search(pilot, "conflict")
    await pilot.press("tab")
    await until(
        pilot, lambda: pane_of(pilot.app).is_up_to_date and bool(pane_of(pilot.app).pack.choices.marks), "the pack"
    )


def packed_paths(app: ExcerptApp) -> list[str]:
    pack = screen_of(app).query_one(PackBar).pack
    return [one.path for one in pack.passages] if pack is not None else []


@pytest.mark.programs
@pytest.mark.usefixtures("indexing_process")
async def test_marks_of_a_note_renamed_since_are_restored_at_its_new_path(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    async with app.run_test() as pilot:
        await mark_conflict(pilot)
        (path,) = packed_paths(app)
    (vault / "renamed").mkdir()
    (vault / path).rename(vault / "renamed" / "Other.md")
    again = ExcerptApp(vault, Settings(), user_paths)
    async with again.run_test() as pilot:
        await until_index(pilot)
        await pilot.press("unbound-show-earlier")
        await until(pilot, lambda: packed_paths(again) == ["renamed/Other.md"], "the pack of the marks")
    assert [mark.path for mark in read_marks(user_paths.marks_file(vault)).marks] == ["renamed/Other.md"]


@pytest.mark.programs
@pytest.mark.usefixtures("indexing_process")
async def test_marks_follow_a_note_renamed_while_the_app_runs(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await mark_conflict(pilot)
        (path,) = packed_paths(app)
        (vault / path).rename(vault / "Other.md")
        await pilot.press("unbound-update")
        await until(pilot, lambda: packed_paths(app) == ["Other.md"], "the pack of the marks")
        assert [mark.path for mark in pane_of(app).pack.choices.marks] == ["Other.md"]
        assert pane_of(app).query_one(HitList).marked_ids == pane_of(app).pack.choices.marked_ids
