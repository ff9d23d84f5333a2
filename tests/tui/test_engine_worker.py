"""The engine's thread: the newest question wins, nothing asked is queued, no failure is silent."""

from __future__ import annotations

import queue
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.message import Message

from excerpt.index.build import build
from excerpt.kinds import Scope, Strategy
from excerpt.pack.selection import Mark
from excerpt.search.engine import Engine
from excerpt.search.explain import NoteExplanation
from excerpt.settings import PackSettings, Places, SearchSettings, Settings
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.messages import (
    AllMarked,
    Answered,
    Failure,
    IndexOpened,
    Location,
    SearchDone,
)
from excerpt.tui.pack.controller import mark_of
from excerpt.tui.pack.packer import Cost, Packed, PackRequest
from excerpt.tui.search.note_window import AskWindow, NoteWindow
from excerpt.tui.search.why_view import AskWhy
from tests.tui.conftest import places_under

PATIENCE = 60.0


class Worker(EngineWorker):
    """Keeps what is posted, and can be held up."""

    def __init__(self, vault: Path, places: Places) -> None:
        self.said: queue.Queue[Message] = queue.Queue()
        super().__init__(vault, places, Settings(), self.said.put)

    def next(self) -> Message:
        return self.said.get(timeout=PATIENCE)

    def deliver(self) -> None:
        """Wait for an answer, and hand it over."""
        message = self.next()
        assert isinstance(message, Answered)
        self.hand_over(message)

    def hold(self) -> threading.Event:
        """Keep the thread busy until the event is set."""
        started, release = threading.Event(), threading.Event()

        def busy() -> None:
            started.set()
            release.wait(PATIENCE)

        self._ask("explain", busy)
        started.wait(PATIENCE)
        return release


@pytest.fixture
def worker(indexed: tuple[Path, Places]) -> Iterator[Worker]:
    vault, places = indexed
    worker = Worker(vault, places)
    worker.start()
    yield worker
    worker.close()


@pytest.fixture
def opened(worker: Worker) -> Worker:
    worker.open()
    assert isinstance(worker.next(), IndexOpened)
    return worker


def test_other_settings_hold_from_the_next_answer_on(opened: Worker) -> None:
    opened.use(Settings(search=SearchSettings(limit=1)))
    told = opened.next()
    assert isinstance(told, IndexOpened)
    assert told.anew
    opened.search(1, "conflict", Strategy.AUTO, 50)
    answer = opened.next()
    assert isinstance(answer, SearchDone)
    assert len(answer.result.hits) == 1


def test_it_opens_and_answers(opened: Worker) -> None:
    opened.search(1, "lentils", Strategy.AUTO, 50)
    answer = opened.next()
    assert isinstance(answer, SearchDone)
    assert answer.number == 1
    assert answer.result.hits[0].fragment.title == "Lentil soup"


def test_of_questions_that_wait_only_the_newest_is_answered(opened: Worker) -> None:
    release = opened.hold()
    for number, query in enumerate(("l", "le", "len", "lentils"), 1):
        opened.search(number, query, Strategy.AUTO, 50)
    release.set()
    answer = opened.next()
    assert isinstance(answer, SearchDone)
    assert (answer.number, answer.result.query) == (4, "lentils")
    opened.open()
    assert isinstance(opened.next(), IndexOpened)


def test_a_question_taken_back_is_not_answered(opened: Worker) -> None:
    release = opened.hold()
    opened.search(1, "lentils", Strategy.AUTO, 50)
    opened.forget("search")
    opened.open()
    release.set()
    assert isinstance(opened.next(), IndexOpened)


def test_a_search_goes_before_a_pack_that_waits(opened: Worker) -> None:
    opened.search(1, "lentils", Strategy.AUTO, 50)
    found = opened.next()
    assert isinstance(found, SearchDone)
    release = opened.hold()
    opened.pack(PackRequest("lentils", Strategy.AUTO, found.result.hits, (), PackSettings(scope=Scope.NONE)), print)
    opened.search(2, "sync", Strategy.AUTO, 50)
    release.set()
    assert [type(opened.next()) for _ in range(2)] == [SearchDone, Answered]


def test_hits_are_drawn_before_the_next_question_is_answered(opened: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("excerpt.tui.engine_worker._TO_DRAW", PATIENCE)
    order: list[str] = []
    answered = threading.Event()

    def pack() -> None:
        order.append("pack")
        answered.set()

    release = opened.hold()
    opened.search(1, "conflict", Strategy.AUTO, 50)
    opened._ask("pack", pack)
    release.set()
    assert isinstance(opened.next(), SearchDone)
    order.append("drawn")
    opened.drawn(1)
    assert answered.wait(PATIENCE)
    assert order == ["drawn", "pack"]


def test_the_window_of_a_hit_is_of_its_note(opened: Worker) -> None:
    opened.search(1, "lentils", Strategy.AUTO, 50)
    found = opened.next()
    assert isinstance(found, SearchDone)
    hit = found.result.hits[0]
    windows: list[NoteWindow | None] = []
    opened.ask(AskWindow(Location.of(hit)), windows.append)
    opened.deliver()
    (window,) = windows
    assert window is not None
    assert window.fragment.path == "Cooking/Lentil soup.md"


def test_a_hit_is_explained_and_a_note_by_its_name(opened: Worker) -> None:
    opened.search(1, "sync conflict", Strategy.AUTO, 50)
    found = opened.next()
    assert isinstance(found, SearchDone)
    second = found.result.hits[1]
    told: list[NoteExplanation] = []
    for about in (second, "lentil soup"):
        opened.ask(AskWhy("sync conflict", Strategy.AUTO, about), told.append)
        opened.deliver()
    of_hit, of_note = told
    assert of_hit.explanation is not None
    assert (of_hit.explanation.rank, of_hit.explanation.hit) == (2, second)
    assert (of_note.note, of_note.path) == ("lentil soup", "Cooking/Lentil soup.md")


def test_a_marked_fragment_that_is_gone_is_named_and_left_out(opened: Worker) -> None:
    opened.search(1, "lentils", Strategy.AUTO, 50)
    found = opened.next()
    assert isinstance(found, SearchDone)
    mark, ghost = mark_of(found.result.hits[0]), Mark("0" * 12, "Gone.md")
    request = PackRequest("lentils", Strategy.AUTO, (), (mark, ghost), PackSettings())
    packs: list[Packed] = []
    opened.pack(request, packs.append)
    opened.deliver()
    (packed,) = packs
    assert packed.gone == (ghost,)
    assert [one.path for one in packed.result.packs] == [mark.path]
    assert [(left.path, left.reason) for left in packed.left] == [("Gone.md", "no longer in the index")]


def test_a_cost_is_asked_for_after_the_pack_that_waits(opened: Worker) -> None:
    opened.search(1, "conflict", Strategy.AUTO, 50)
    found = opened.next()
    assert isinstance(found, SearchDone)
    first, second = (mark_of(hit) for hit in found.result.hits[:2])
    request = PackRequest("conflict", Strategy.AUTO, (), (first,), PackSettings(scope=Scope.NONE))
    release = opened.hold()
    costs: list[Cost] = []
    opened.cost(request, second, costs.append)
    opened.pack(request, print)
    release.set()
    pack, cost = opened.next(), opened.next()
    assert isinstance(pack, Answered)
    assert isinstance(cost, Answered)
    assert (pack.kind, cost.kind) == ("pack", "cost")
    opened.hand_over(cost)
    assert costs[0].exact
    assert costs[0].tokens > 0


def test_of_answers_only_that_to_the_newest_question_of_its_kind_is_handed_over(opened: Worker) -> None:
    heard: list[NoteWindow | None] = []
    location = Location("", "Merging.md", 1)
    opened.ask(AskWindow(location), heard.append)
    first = opened.next()
    opened.ask(AskWindow(location), heard.append)
    second = opened.next()
    assert isinstance(first, Answered) and isinstance(second, Answered)
    opened.hand_over(first)
    assert (heard, opened.waits("window")) == ([], True)
    opened.hand_over(second)
    assert (len(heard), opened.waits("window")) == (1, False)


def test_the_answer_to_a_question_taken_back_is_not_handed_over(opened: Worker) -> None:
    heard: list[NoteWindow | None] = []
    opened.ask(AskWindow(Location("", "Merging.md", 1)), heard.append)
    answer = opened.next()
    assert isinstance(answer, Answered)
    opened.forget("window")
    opened.hand_over(answer)
    assert (heard, opened.waits("window")) == ([], False)


def test_without_an_index_opening_tells_the_trouble_and_a_search_is_not_answered(tmp_path: Path) -> None:
    worker = Worker(tmp_path, places_under(tmp_path / "none"))
    worker.start()
    worker.search(1, "x", Strategy.AUTO, 50)
    worker.open()
    answer = worker.next()
    worker.close()
    assert isinstance(answer, Failure)
    assert answer.asked == "open"


def test_a_pack_asked_for_before_the_index_is_open_is_no_trouble(worker: Worker) -> None:
    mark = Mark("some-fragment", "Sync.md")
    request = PackRequest("", Strategy.AUTO, (), (mark,), PackSettings())
    worker.pack(request, print)
    worker.cost(request, mark, print)
    time.sleep(0.3)  # both can wait for a search that may come
    worker.open()
    assert isinstance(worker.next(), IndexOpened)


def test_a_mistake_in_the_thread_is_told_and_the_thread_goes_on(opened: Worker) -> None:
    def mistake() -> None:
        raise RuntimeError("boom")

    opened._ask("search", mistake)
    answer = opened.next()
    assert isinstance(answer, Failure)
    assert "boom" in answer.message
    opened.search(2, "lentils", Strategy.AUTO, 50)
    assert isinstance(opened.next(), SearchDone)


class SlowPreparing:
    """Keeps every generation after the first from being ready until it is let."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go_on, self.prepared = threading.Event(), threading.Event(), 0
        prepare = Engine.prepare

        def slow(engine: Engine) -> None:
            self.prepared += 1
            self.begun.set()
            self.go_on.wait(PATIENCE)
            prepare(engine)

        monkeypatch.setattr(Engine, "prepare", slow)


def commit(indexed: tuple[Path, Places], text: str) -> None:
    vault, places = indexed
    (vault / "Fresh.md").write_text(f"# Fresh\n\n{text}\n")
    build(vault, places.index_folder(vault), Settings())


@pytest.fixture
def indexed_alone(indexed: tuple[Path, Places], tmp_path: Path) -> tuple[Path, Places]:
    """A copy, to be changed."""
    vault = tmp_path / "vault"
    shutil.copytree(indexed[0], vault)
    places = places_under(tmp_path / "home")
    build(vault, places.index_folder(vault), Settings())
    return vault, places


def test_a_search_is_answered_while_the_next_generation_is_prepared(
    indexed_alone: tuple[Path, Places], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(*indexed_alone)
    worker.start()
    worker.open()
    assert isinstance(worker.next(), IndexOpened)
    slow = SlowPreparing(monkeypatch)
    commit(indexed_alone, "zucchini")
    worker.open()
    assert slow.begun.wait(PATIENCE)
    worker.search(1, "lentils", Strategy.AUTO, 50)
    answer = worker.next()
    assert isinstance(answer, SearchDone)
    assert answer.result.hits[0].fragment.title == "Lentil soup"
    slow.go_on.set()
    assert isinstance(worker.next(), IndexOpened)
    worker.search(2, "zucchini", Strategy.AUTO, 50)
    found = worker.next()
    worker.close()
    assert isinstance(found, SearchDone)
    assert [hit.fragment.path for hit in found.result.hits][:1] == ["Fresh.md"]


def test_hits_out_of_sight_are_marked_after_those_in_sight(opened: Worker) -> None:
    opened.search(1, "notes", Strategy.AUTO, 1)
    first = opened.next()
    then = opened.next()
    assert isinstance(first, SearchDone)
    assert isinstance(then, AllMarked)
    assert [bool(hit.spans) for hit in first.result.hits[:2]] == [True, False]
    assert [bool(hit.spans) for hit in then.result.hits[:2]] == [True, True]
    assert first.result.hits[0] is then.result.hits[0]


def test_of_generations_that_are_committed_while_one_is_prepared_only_the_newest_is_taken_up(
    indexed_alone: tuple[Path, Places], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(*indexed_alone)
    worker.start()
    worker.open()
    first = worker.next()
    slow = SlowPreparing(monkeypatch)
    for number in range(4):
        commit(indexed_alone, f"zucchini {number}")
        worker.open()
        assert slow.begun.wait(PATIENCE)
    slow.go_on.set()
    told = [worker.next() for _ in range(2)]
    worker.close()
    assert isinstance(first, IndexOpened)
    generations = [one.status.generation - first.status.generation for one in told if isinstance(one, IndexOpened)]
    assert (generations, slow.prepared) == ([1, 4], 2)


def test_an_engine_that_is_replaced_while_it_warms_is_warmed_no_further(
    indexed_alone: tuple[Path, Places], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(*indexed_alone)

    def until_there_is_another() -> None:
        commit(indexed_alone, "zucchini")
        worker.open()
        while worker._next is None:
            time.sleep(0.001)

    def on_what_is_closed() -> None:
        raise AssertionError

    steps = (until_there_is_another, on_what_is_closed)
    monkeypatch.setattr(Engine, "warming", lambda engine: steps)
    worker.start()
    worker.open()
    told = [worker.next() for _ in range(2)]
    worker.search(1, "zucchini", Strategy.AUTO, 50)
    told.append(worker.next())
    worker.close()
    assert [type(one) for one in told] == [IndexOpened, IndexOpened, SearchDone]
    assert worker.said.empty()


def test_closing_ends_the_thread(worker: Worker) -> None:
    worker.close()
    assert not any(thread.is_alive() for thread in worker._threads)
