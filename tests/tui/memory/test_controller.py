"""Tests of memories in the Search tab: among the hits, as badges of fragments, in the pack."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from excerpt.base.kinds import Confidence
from excerpt.base.model import Fragment, Hit, Memory, Source
from excerpt.base.settings import MemorySettings, PackSettings, Paths, Settings
from excerpt.memory.memory_file import make_memory
from excerpt.memory.store import FolderMemoryStore
from excerpt.pack.memory_fragment import memory_id_of, memory_name, memory_to_fragment
from excerpt.pack.selection import MarkedFragment
from excerpt.service.event_loop import MemoryChanged, ServiceEvent
from excerpt.service.memory_decisions import MemoryDraft
from excerpt.service.memory_worker import FoundMemories
from excerpt.text.fragments import digest_of_text
from excerpt.tui.app import ExcerptApp
from excerpt.tui.memory.controller import (
    MemoryController,
    MemoryPlacement,
    RecallController,
    initial_placement,
    is_memory,
    make_source,
    merge_memories,
)
from excerpt.tui.memory.form import RememberDialog
from excerpt.tui.messages import RememberRequested
from excerpt.tui.pack.panel import PackRows
from excerpt.tui.search.hit_list import HitList
from excerpt.vault.known_vaults import VaultFolders
from tests.service.manual_loop import TIMEOUT_SECONDS, ManualLoop
from tests.tui.driver import (
    ManualEngine,
    drawn_lines,
    pane_of,
    preview_of,
    screen_of,
    search_and_wait,
    select_hit,
    until,
    until_answered,
    until_index,
)
from tests.tui.examples import make_hit


class Case:
    """A controller of memories in real files; `said` waits for the next event of its thread."""

    def __init__(self, vault: Path, user_paths: Paths) -> None:
        self._loop = ManualLoop()
        self.store = FolderMemoryStore(user_paths.memory_folder(vault))
        self.memories = MemoryController(VaultFolders.of([vault]), Settings(), user_paths, loop=self._loop)

    @property
    def said(self) -> ServiceEvent:
        return self._loop.next()

    def all(self) -> list[Memory]:
        return list(self.store.all().memories)


@pytest.fixture
def case(tmp_path: Path, user_paths: Paths) -> Case:
    return Case(tmp_path, user_paths)


def test_a_fragment_is_saved_with_its_source_and_query(case: Case) -> None:
    hit = make_hit("a" * 12, 7, "Sync.md")
    _, answered = case.memories.make_new_memory_form(RememberRequested(hit, "sync conflict"))
    answered(MemoryDraft("The newer one.", ("sync",), "It came up twice."))
    assert isinstance(case.said, MemoryChanged)
    (memory,) = case.all()
    assert (memory.text, memory.query, memory.source) == ("The newer one.", "sync conflict", make_source(hit))


def test_a_replacement_can_be_undone_and_redone(case: Case) -> None:
    old = case.store.remember(make_memory("Storage costs 4 euros."))
    _, answered = case.memories.make_new_memory_form(RememberRequested(None, "", "Storage costs 6 euros."))
    answered(MemoryDraft("Storage costs 6 euros.", (), "", replaces=(old.id,)))

    def current() -> list[str]:
        assert isinstance(case.said, MemoryChanged)
        return [each.text for each in case.all()]

    assert current() == ["Storage costs 6 euros."]
    case.memories.worker.undo()
    assert current() == [old.text]
    case.memories.worker.redo()
    assert current() == ["Storage costs 6 euros."]


def test_a_cancelled_form_saves_nothing(case: Case) -> None:
    _, answered = case.memories.make_new_memory_form(RememberRequested(None, "", "A thought."))
    answered(None)
    case.memories.worker.close(TIMEOUT_SECONDS)
    assert case.all() == []


def test_an_edit_keeps_fields_the_form_did_not_change_and_can_be_undone(case: Case) -> None:
    memory = case.store.remember(make_memory("The newer one.", ("sync",), "", None, "conflict"))
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


SOUP = "Simmer red lentils with cumin until they are soft."
SOURCE = Source("Cooking/Lentil soup.md", 3, 3, digest_of_text(SOUP))
THOUGHT = "Red lentils with cumin: add lemon at the end, says grandmother."


@pytest.fixture
def store(vault: Path, user_paths: Paths) -> FolderMemoryStore:
    store = FolderMemoryStore(user_paths.memory_folder(vault))
    store.remember(make_memory(THOUGHT, why="better", source=SOURCE))
    store.remember(make_memory("The bicycle needs oil before winter."))
    return store


def app_with(memory: MemorySettings, vault: Path, user_paths: Paths) -> ExcerptApp:
    return ExcerptApp(vault, Settings(pack=PackSettings(budget=2000), memory=memory), user_paths)


def memories_in(rows: HitList) -> list[str]:
    return [hit.fragment.text for hit in rows.hits if is_memory(hit)]


@pytest.mark.programs
async def test_a_memory_that_answers_the_query_is_among_the_hits(app: ExcerptApp, store: FolderMemoryStore) -> None:
    async with app.run_test() as pilot:
        rows = await search_and_wait(pilot, "red lentils with cumin")
        assert memories_in(rows) == [THOUGHT]
        result = pane_of(app).result
        assert result is not None
        assert not any(map(is_memory, result.hits))


@pytest.mark.programs
async def test_a_query_that_no_memory_answers_has_only_hits(app: ExcerptApp, store: FolderMemoryStore) -> None:
    async with app.run_test() as pilot:
        assert memories_in(await search_and_wait(pilot, "sync conflict")) == []


@pytest.mark.programs
async def test_a_fragment_with_a_memory_has_a_badge_unless_it_is_marked(
    app: ExcerptApp, store: FolderMemoryStore
) -> None:
    async with app.run_test() as pilot:
        rows = await search_and_wait(pilot, "red lentils with cumin")
        await until(pilot, lambda: bool(rows.remembered_ids), "the badge")
        about = [row for row in rows.rows if row.hit.fragment.id in rows.remembered_ids]
        assert [row.hit.fragment.path for row in about] == ["Cooking/Lentil soup.md"]
        line = rows.first_line_of(rows.rows.index(about[0]))
        await until(pilot, lambda: "◆" in rows.render_line(line).text, "the badge")
        rows.select_fragment(about[0].hit.fragment.id)
        await pilot.press("tab")
        await until(pilot, lambda: "●" in rows.render_line(line).text, "the mark in its place")


@pytest.mark.programs
async def test_a_listed_memory_says_that_its_source_has_changed(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    earlier = replace(SOURCE, digest=digest_of_text("Simmer lentils."))
    FolderMemoryStore(user_paths.memory_folder(vault)).remember(make_memory(THOUGHT, source=earlier))
    async with app.run_test(size=(80, 24)) as pilot:
        rows = await search_and_wait(pilot, "red lentils with cumin")
        await until(pilot, lambda: bool(rows.source_states), "the check of the source")
        await until(
            pilot,
            lambda: any(" Memory · source changed › " in text for text in drawn_lines(rows)),
            "the row of the memory",
        )


@pytest.mark.programs
async def test_the_settings_can_exclude_memories_from_the_hits(
    vault: Path, user_paths: Paths, store: FolderMemoryStore
) -> None:
    app = app_with(MemorySettings(in_search=False), vault, user_paths)
    async with app.run_test() as pilot:
        rows = await search_and_wait(pilot, "red lentils with cumin")
        assert memories_in(rows) == []
        assert not rows.remembered_ids
        await pilot.press("unbound-memories")
        await until(pilot, lambda: memories_in(rows) == [THOUGHT], "the memory, after the key")


@pytest.mark.programs
async def test_the_settings_can_put_memories_before_the_hits(
    vault: Path, user_paths: Paths, store: FolderMemoryStore
) -> None:
    app = app_with(MemorySettings(recall_first=True), vault, user_paths)
    async with app.run_test() as pilot:
        rows = await search_and_wait(pilot, "red lentils with cumin")
        assert [is_memory(hit) for hit in rows.hits[:2]] == [True, False]
        assert rows.selected is not None
        assert not is_memory(rows.selected), "the cursor stays on the best hit"


@pytest.mark.programs
async def test_memories_are_indexed_only_after_a_search_was_answered(
    app: ExcerptApp, vault: Path, user_paths: Paths, store: FolderMemoryStore
) -> None:
    async with app.run_test() as pilot:
        await until_index(pilot)
        await until_answered(pilot)
        assert not user_paths.memory_index_folder(vault).exists()
        await search_and_wait(pilot, "red lentils with cumin")
        assert user_paths.memory_index_folder(vault).exists()
    assert "excerpt.memory.recall" in sys.modules


@pytest.mark.programs
async def test_a_selected_memory_is_shown_in_the_context_and_edited_in_the_form(
    app: ExcerptApp, store: FolderMemoryStore
) -> None:
    async with app.run_test() as pilot:
        await search_and_wait(pilot, "red lentils with cumin")
        await select_hit(pilot, is_memory, "the memory")
        preview = preview_of(app)
        assert preview.window is not None
        assert preview.window.fragment.text == THOUGHT
        assert str(preview.border_title) == "Memory › Cooking/Lentil soup.md, line 3 › better"
        await pilot.press("ctrl+r")
        assert isinstance(app.screen, RememberDialog)
        await pilot.press(*"lemon", "enter")
        await until(pilot, lambda: "lemon" in store.all().memories[1].tags, "the changed memory")


@pytest.mark.programs
async def test_a_memory_opens_its_source(
    editor_arguments: Path, app: ExcerptApp, vault: Path, store: FolderMemoryStore
) -> None:
    async with app.run_test() as pilot:
        await search_and_wait(pilot, "red lentils with cumin")
        await select_hit(pilot, is_memory, "the memory")
        await pilot.press("enter")
        await until(pilot, editor_arguments.exists, "the editor")
        assert editor_arguments.read_text().splitlines()[-1] == f"{vault / SOURCE.path}:3"


@pytest.mark.programs
async def test_a_marked_memory_is_packed_with_its_own_source_line(app: ExcerptApp, store: FolderMemoryStore) -> None:
    memory = store.all().memories[1]
    async with app.run_test() as pilot:
        await search_and_wait(pilot, "red lentils with cumin")
        await select_hit(pilot, is_memory, "the memory")
        await pilot.press("tab")
        pane = pane_of(app)
        await until(pilot, lambda: pane.is_up_to_date and pane.pack.newest_pack is not None, "the pack")
        assert pane.pack.newest_pack is not None
        (pack,) = pane.pack.newest_pack.result.passages
        assert (pack.path, pack.text) == (memory_name(memory.id), THOUGHT)
        assert "## [1] Memory › Cooking/Lentil soup.md, line 3 › better" in pane.pack.newest_pack.text
        assert f"From memory:{memory.id}:1" in pane.pack.newest_pack.text
        await pilot.press("ctrl+o", "enter")
        assert screen_of(app).query_one(PackRows).row_count == 1


@pytest.mark.programs
async def test_a_marked_memory_is_packed_again_when_earlier_marks_are_restored(
    vault: Path, user_paths: Paths, store: FolderMemoryStore
) -> None:
    first = app_with(MemorySettings(), vault, user_paths)
    async with first.run_test() as pilot:
        await search_and_wait(pilot, "red lentils with cumin")
        await select_hit(pilot, is_memory, "the memory")
        await pilot.press("tab")
        await until_answered(pilot)
    again = app_with(MemorySettings(), vault, user_paths)
    async with again.run_test() as pilot:
        await until(pilot, lambda: bool(pane_of(again).pack.earlier_or_unlisted_marks), "the line of the mark")
        await pilot.press("unbound-show-earlier")
        await until(
            pilot, lambda: len(pane_of(again).pack.choices.marks) == 1 and pane_of(again).is_up_to_date, "the pack"
        )
        packed = pane_of(again).pack.newest_pack
        assert packed is not None
        assert [pack.text for pack in packed.result.passages] == [THOUGHT]
        assert not packed.missing


@pytest.mark.programs
async def test_an_edited_marked_memory_changes_in_the_pack(app: ExcerptApp, store: FolderMemoryStore) -> None:
    async with app.run_test() as pilot:
        await search_and_wait(pilot, "red lentils with cumin")
        await select_hit(pilot, is_memory, "the memory")
        await pilot.press("tab", "up", "ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, RememberDialog), "the form")
        await pilot.press("tab", "tab", "end", *" And mint.", "ctrl+s")
        wanted = f"{THOUGHT} And mint."
        pane = pane_of(app)
        await until(
            pilot,
            lambda: (
                pane.pack.newest_pack is not None
                and [pack.text for pack in pane.pack.newest_pack.result.passages] == [wanted]
            ),
            "the pack with the new text",
        )


@pytest.mark.programs
async def test_a_passage_of_the_pack_is_remembered_with_its_scope(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    async with app.run_test() as pilot:
        await search_and_wait(pilot, "sync conflict")
        pane = pane_of(app)
        assert pane.pack.newest_pack is not None
        passage = pane.pack.newest_pack.result.passages[0]
        await pilot.press("ctrl+o", "m")
        await until(pilot, lambda: isinstance(app.screen, RememberDialog), "the form")
        await pilot.press("enter")
        kept = FolderMemoryStore(user_paths.memory_folder(vault))
        await until(pilot, lambda: bool(kept.all().memories), "the memory")
    (memory,) = kept.all().memories
    assert memory.text == passage.text
    assert memory.source is not None
    assert (memory.source.path, memory.source.line_start) == (passage.path, passage.line_start)
    assert (memory.source.line_end, memory.query) == (passage.line_end, "sync conflict")
    assert memory.source.digest == digest_of_text(memory.text)


@pytest.mark.programs
async def test_the_whole_pack_is_remembered_with_its_sources(app: ExcerptApp, vault: Path, user_paths: Paths) -> None:
    async with app.run_test() as pilot:
        await search_and_wait(pilot, "sync conflict")
        packed = pane_of(app).pack.newest_pack
        assert packed is not None
        await pilot.press("ctrl+o", "unbound-remember-pack")
        await until(pilot, lambda: isinstance(app.screen, RememberDialog), "the form")
        await pilot.press("enter")
        kept = FolderMemoryStore(user_paths.memory_folder(vault))
        await until(pilot, lambda: bool(kept.all().memories), "the memory")
    (memory,) = kept.all().memories
    assert memory.text.strip() == packed.text.strip()
    assert memory.source is None


# --- position in the list ---------------------------------------------------------------------------------------------


def hit(name: str, sure: Confidence | None) -> Hit:
    return Hit(Fragment(name, f"{name}.md", name, (), 0, 0, 1, 1, name, 1, ""), 1.0, confidence=sure)


HITS = [
    hit(name, sure) for name, sure in zip("abcd", (*2 * (Confidence.STRONG,), *2 * (Confidence.WEAK,)), strict=True)
]


def names_in_order(memory: Confidence, hits: list[Hit], showing: MemoryPlacement = MemoryPlacement.AMONG) -> str:
    return "".join(each.fragment.id for each in merge_memories(hits, [hit("M", memory)], showing))


@pytest.mark.programs
def test_memories_precede_hits_of_lower_confidence() -> None:
    assert names_in_order(Confidence.LIKELY, HITS) == "abMcd"
    assert names_in_order(Confidence.LIKELY, HITS[1:]) == "bMcd"
    assert names_in_order(Confidence.STRONG, HITS[2:]) == "Mcd"


@pytest.mark.programs
def test_memories_follow_the_second_hit_at_the_latest() -> None:
    assert names_in_order(Confidence.LIKELY, HITS[:2] * 2) == "abMab"


@pytest.mark.programs
def test_memories_can_be_placed_before_all_hits_or_left_out() -> None:
    assert names_in_order(Confidence.LIKELY, HITS, MemoryPlacement.FIRST) == "Mabcd"
    assert names_in_order(Confidence.LIKELY, HITS, MemoryPlacement.OFF) == "abcd"


@pytest.mark.programs
def test_the_settings_choose_the_position_of_memories() -> None:
    assert initial_placement(MemorySettings()) is MemoryPlacement.AMONG
    assert initial_placement(MemorySettings(in_search=False)) is MemoryPlacement.OFF
    assert initial_placement(MemorySettings(recall_first=True)) is MemoryPlacement.FIRST


@pytest.mark.programs
def test_a_memory_is_a_fragment_with_its_origin(store: FolderMemoryStore) -> None:
    memory = store.all().memories[1]
    fragment = memory_to_fragment(memory, 7)
    assert (fragment.title, fragment.heading_path) == ("Memory", ("Cooking/Lentil soup.md, line 3", "better"))
    assert memory_id_of(fragment.id) == memory_id_of(fragment.path) == memory.id
    assert memory_to_fragment(replace(memory, source=None, why=""), 7).heading_path == ()


OWN_THOUGHT = Memory("20260301-120000-abcd", "thought", (), "", "", "")
OF_NOTE = Memory("20260301-120001-abcd", "from a note", (), "", "", "", Source("a.md", 1, 1, "x", ()))
FOUND = Hit(memory_to_fragment(OWN_THOUGHT, 2), 1.0)
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


def test_memories_are_requested_only_after_a_query_is_answered() -> None:
    bench = Bench()
    bench.memories.request_memories("", ())
    assert (bench.thread.asked, bench.memories.is_answered) == ([], True)
    bench.memories.request_memories("sync", ())
    assert (bench.thread.asked, bench.memories.is_answered) == (["sync"], False)


def test_memories_stay_among_the_hits_until_the_query_is_cleared() -> None:
    bench = Bench()
    bench.memories.request_memories("sync", ())
    bench.take(FoundMemories((FOUND,), (OWN_THOUGHT,)))
    assert bench.memories.merge_rows((A,)) == (A, FOUND)
    bench.memories.clear_hits()
    assert bench.memories.merge_rows((A,)) == (A,)


def test_hidden_memories_are_read_only_for_marks() -> None:
    bench = Bench()
    while bench.memories.placement is not MemoryPlacement.OFF:
        bench.memories.select_next_placement()
    bench.memories.request_memories("sync", ())
    bench.memories.request_memories("sync", (MARK,))
    assert bench.thread.asked == [""]


def test_a_marked_memory_is_requested_once_and_known_when_it_is_read() -> None:
    bench = Bench()
    assert bench.memories.marked_memories((MARK,)) is None
    assert bench.memories.marked_memories((MARK,)) is None
    assert bench.thread.asked == [""]
    bench.take(FoundMemories((), (OWN_THOUGHT,)))
    assert bench.memories.marked_memories((MARK, MarkedFragment("a", "a.md"))) == (OWN_THOUGHT,)
    window = bench.memories.memory_window(MARK.fragment_id)
    assert window is not None
    assert window.fragment.text == "thought"


def test_a_marked_memory_that_another_one_replaces_is_still_packed() -> None:
    bench = Bench()
    bench.take(FoundMemories((), (OF_NOTE,), replaced=(OWN_THOUGHT,)))
    assert bench.memories.marked_memories((MARK,)) == (OWN_THOUGHT,)


def test_fragments_that_are_the_source_of_a_memory_have_badges() -> None:
    bench = Bench()
    bench.take(FoundMemories((), (OWN_THOUGHT,)))
    bench.memories.ask_badges((A,))
    assert bench.engine.questions == {}
    bench.take(FoundMemories((), (OF_NOTE,)))
    bench.memories.ask_badges((A,))
    bench.engine.answer("badges", {"a": (OF_NOTE,)})
    assert bench.memories.badges == {"a"}
