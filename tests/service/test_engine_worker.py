"""Tests of the engine in its thread: its answers, and the change to the next generation of the index."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from queue import Queue

import pytest

from excerpt.base.kinds import Scope, StopReason, Strategy
from excerpt.base.model import Result
from excerpt.base.settings import PackSettings, Paths, RerankSettings, SearchSettings, Settings
from excerpt.index.build import build
from excerpt.pack.selection import MarkedFragment, PackOverrides
from excerpt.search import rerank
from excerpt.search.engine import Engine
from excerpt.service.engine_worker import EngineWorker
from excerpt.service.event_loop import Failure, IndexOpened, ServiceEvent
from excerpt.service.note_questions import AskWindow, Location
from excerpt.service.packer import LOW_SCORE_REASON, AskCost, AskPack, Packer, PackRequest
from excerpt.service.questions import AskHighlights, AskMoreHits, AskSearch, AskWhy
from excerpt.service.request_queue import Answer, Priority, Question
from excerpt.tui.note.window import draw_note
from excerpt.tui.pack.controller import mark_hit
from excerpt.vault.known_vaults import VaultFolders
from tests.search.scripted_models import ScriptedReranker
from tests.service.manual_loop import TIMEOUT_SECONDS, ManualLoop
from tests.tui.driver import places_under


class Worker(EngineWorker):
    """An engine worker whose answers and events wait for the test, and whose thread can be blocked."""

    def __init__(self, vault: Path, user_paths: Paths) -> None:
        self.loop = ManualLoop()
        super().__init__(VaultFolders.of([vault]), user_paths, Settings(), self.loop)

    def next(self) -> ServiceEvent:
        """Deliver answers until an event comes, and return it."""
        return self.loop.next()

    def answer_to(self, question: Question[Engine, Answer]) -> Answer:
        answers: list[Answer] = []
        self.ask(question, answers.append)
        while not answers:
            assert not isinstance(message := self.loop.step(), Failure), message
        return answers[0]

    def search(self, query: str, visible_hits: int = 50) -> Result:
        return self.answer_to(AskSearch(query, Strategy.AUTO, None, visible_hits))

    def hold(self) -> threading.Event:
        """Keep the thread busy until the returned event is set."""
        started, release = threading.Event(), threading.Event()

        def busy() -> None:
            started.set()
            release.wait(TIMEOUT_SECONDS)

        self._requests.queue_task("busy", Priority.INDEX, busy)
        started.wait(TIMEOUT_SECONDS)
        return release


@pytest.fixture
def worker(indexed: tuple[Path, Paths]) -> Iterator[Worker]:
    vault, user_paths = indexed
    worker = Worker(vault, user_paths)
    worker.start()
    yield worker
    worker.close()


@pytest.fixture
def opened_worker(worker: Worker) -> Worker:
    worker.open()
    assert isinstance(worker.next(), IndexOpened)
    return worker


@pytest.fixture
def packer(indexed: tuple[Path, Paths]) -> Packer:
    vault, user_paths = indexed
    return Packer(VaultFolders.of([vault]), user_paths.config)


def test_changed_settings_apply_to_the_next_answer(opened_worker: Worker) -> None:
    opened_worker.use_settings(Settings(search=SearchSettings(limit=1)))
    told = opened_worker.next()
    assert isinstance(told, IndexOpened)
    assert told.has_new_settings
    assert len(opened_worker.search("conflict").hits) == 1


def test_a_reranker_is_opened_once_and_not_again_for_other_settings(
    opened_worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    models: Queue[str] = Queue()

    def open_model(settings: Settings) -> ScriptedReranker:
        models.put(settings.rerank.model)
        return ScriptedReranker(lambda _query, _passage: 0.0)

    monkeypatch.setattr(rerank, "open_reranker", open_model)
    first, second = (Settings(rerank=RerankSettings(f"plugin:{name}")) for name in ("first", "second"))
    other = replace(first, search=SearchSettings(limit=1))
    for settings, expected in ((first, "plugin:first"), (other, ""), (second, "plugin:second")):
        opened_worker.use_settings(settings)
        assert isinstance(opened_worker.next(), IndexOpened)
        if expected:
            assert models.get(timeout=TIMEOUT_SECONDS) == expected
    assert models.empty()


def test_the_worker_opens_an_index_and_answers(opened_worker: Worker) -> None:
    assert opened_worker.search("lentils").hits[0].fragment.title == "Lentil soup"


def test_a_search_is_answered_before_a_waiting_pack(opened_worker: Worker, packer: Packer) -> None:
    hits = opened_worker.search("lentils").hits
    order: list[str] = []
    release = opened_worker.hold()
    request = PackRequest(("lentils",), Strategy.AUTO, hits, (), PackSettings(scope=Scope.NONE))
    opened_worker.ask(AskPack(packer, request), lambda _: order.append("pack"))
    opened_worker.ask(AskSearch("sync", Strategy.AUTO, None, 50), lambda _: order.append("search"))
    release.set()
    for _ in range(2):
        opened_worker.loop.step()
    assert order == ["search", "pack"]


def test_a_passage_and_a_pack_are_answered_before_hits_that_fill_the_list(
    opened_worker: Worker, packer: Packer
) -> None:
    hits = opened_worker.search("lentils").hits
    order: list[str] = []
    release = opened_worker.hold()
    request = PackRequest(("lentils",), Strategy.AUTO, hits, (), PackSettings(scope=Scope.NONE))
    opened_worker.ask(AskMoreHits("lentils", Strategy.AUTO, 100, 50), lambda _: order.append("more hits"))
    opened_worker.ask(AskPack(packer, request), lambda _: order.append("pack"))
    opened_worker.ask(AskWindow(draw_note, Location.from_hit(hits[0])), lambda _: order.append("passage"))
    release.set()
    for _ in range(3):
        opened_worker.loop.step()
    assert order == ["passage", "pack", "more hits"]


def test_the_lines_shown_around_a_hit_are_lines_of_its_note(opened_worker: Worker) -> None:
    hit = opened_worker.search("lentils").hits[0]
    window = opened_worker.answer_to(AskWindow(draw_note, Location.from_hit(hit)))
    assert window is not None
    assert window.fragment.path == "Cooking/Lentil soup.md"


def test_a_hit_and_a_named_note_are_explained(opened_worker: Worker) -> None:
    second = opened_worker.search("sync conflict").hits[1]
    of_hit = opened_worker.answer_to(AskWhy("sync conflict", Strategy.AUTO, second))
    of_note = opened_worker.answer_to(AskWhy("sync conflict", Strategy.AUTO, "lentil soup"))
    assert of_hit.explanation is not None
    assert (of_hit.explanation.rank, of_hit.explanation.hit) == (2, second)
    assert (of_note.note, of_note.path) == ("lentil soup", "Cooking/Lentil soup.md")


def test_a_missing_marked_fragment_is_named_and_omitted(opened_worker: Worker, packer: Packer) -> None:
    mark, ghost = mark_hit(opened_worker.search("lentils").hits[0]), MarkedFragment("0" * 12, "Gone.md")
    request = PackRequest(("lentils",), Strategy.AUTO, (), (mark, ghost), PackSettings())
    packed = opened_worker.answer_to(AskPack(packer, request)).pack
    assert packed.missing == (ghost,)
    assert [one.path for one in packed.result.passages] == [mark.path]
    assert [(left.path, left.reason) for left in packed.left_out] == [("Gone.md", "no longer in the index")]


def test_the_cost_of_another_mark_is_counted(opened_worker: Worker, packer: Packer) -> None:
    first, second = (mark_hit(hit) for hit in opened_worker.search("conflict").hits[:2])
    request = PackRequest(("conflict",), Strategy.AUTO, (), (first,), PackSettings(scope=Scope.NONE))
    cost = opened_worker.answer_to(AskCost(packer, request, second))
    assert cost.is_exact
    assert cost.tokens > 0


def test_marking_a_dropped_fragment_costs_the_tokens_that_it_adds_again(opened_worker: Worker, packer: Packer) -> None:
    first, second = (mark_hit(hit) for hit in opened_worker.search("conflict").hits[:2])
    dropped = PackOverrides(dropped_ids=frozenset({second.fragment_id}))
    request = PackRequest(("conflict",), Strategy.AUTO, (), (first,), PackSettings(scope=Scope.NONE), dropped)
    assert opened_worker.answer_to(AskCost(packer, request, second)).tokens > 0


def test_hits_left_out_of_a_pack_are_listed_with_the_reason(opened_worker: Worker, packer: Packer) -> None:
    best, *others = opened_worker.search("sync conflict").hits
    hits = (best, *(replace(hit, score=best.score / 10) for hit in others))
    request = PackRequest(("sync conflict",), Strategy.AUTO, hits, (), PackSettings(scope=Scope.NONE))
    packed = opened_worker.answer_to(AskPack(packer, request)).pack
    assert packed.result.stopped is StopReason.ENOUGH
    rest = [(hit.fragment.path, LOW_SCORE_REASON) for hit in hits[1:]]
    assert [(left.path, left.reason) for left in packed.left_out] == rest
    assert rest


def test_a_missing_index_is_reported_and_a_search_is_not_answered(tmp_path: Path) -> None:
    worker = Worker(tmp_path, places_under(tmp_path / "none"))
    worker.start()
    worker.ask(AskSearch("x", Strategy.AUTO, None, 50), print)
    worker.open()
    answer = worker.next()
    worker.close()
    assert isinstance(answer, Failure)
    assert answer.operation == "open"
    assert worker.is_waiting("search")


def test_a_pack_requested_before_the_index_is_open_is_no_failure(worker: Worker, packer: Packer) -> None:
    mark = MarkedFragment("some-fragment", "Sync.md")
    request = PackRequest((), Strategy.AUTO, (), (mark,), PackSettings())
    worker.ask(AskPack(packer, request), print)
    worker.ask(AskCost(packer, request, mark), print)
    time.sleep(0.3)  # both would wait for a search
    worker.open()
    assert isinstance(worker.next(), IndexOpened)


class SlowPreparing:
    """A patch that delays the preparation of every later generation until `go_on` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go_on, self.prepared = threading.Event(), threading.Event(), 0
        warm_without_model = Engine.warm_without_model

        def slow(engine: Engine) -> None:
            self.prepared += 1
            self.begun.set()
            self.go_on.wait(TIMEOUT_SECONDS)
            warm_without_model(engine)

        monkeypatch.setattr(Engine, "warm_without_model", slow)


def commit_note(indexed: tuple[Path, Paths], text: str) -> None:
    vault, user_paths = indexed
    (vault / "Fresh.md").write_text(f"# Fresh\n\n{text}\n")
    build(vault, user_paths.index_folder(vault), Settings())


@pytest.fixture
def indexed_alone(indexed: tuple[Path, Paths], tmp_path: Path) -> tuple[Path, Paths]:
    """Return a copy that the test may change."""
    vault = tmp_path / "vault"
    shutil.copytree(indexed[0], vault)
    user_paths = places_under(tmp_path / "home")
    build(vault, user_paths.index_folder(vault), Settings())
    return vault, user_paths


def test_a_search_is_answered_while_the_next_generation_is_prepared(
    indexed_alone: tuple[Path, Paths], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(*indexed_alone)
    worker.start()
    worker.open()
    assert isinstance(worker.next(), IndexOpened)
    slow = SlowPreparing(monkeypatch)
    commit_note(indexed_alone, "zucchini")
    worker.open()
    assert slow.begun.wait(TIMEOUT_SECONDS)
    assert worker.search("lentils").hits[0].fragment.title == "Lentil soup"
    slow.go_on.set()
    assert isinstance(worker.next(), IndexOpened)
    found = worker.search("zucchini")
    worker.close()
    assert [hit.fragment.path for hit in found.hits][:1] == ["Fresh.md"]


def test_hits_in_sight_are_highlighted_before_the_others(opened_worker: Worker) -> None:
    first = opened_worker.search("notes", visible_hits=1)
    then = opened_worker.answer_to(AskHighlights(first))
    assert [bool(hit.spans) for hit in first.hits[:2]] == [True, False]
    assert [bool(hit.spans) for hit in then.hits[:2]] == [True, True]
    assert first.hits[0] is then.hits[0]


def test_of_several_generations_committed_meanwhile_only_the_newest_is_opened(
    indexed_alone: tuple[Path, Paths], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(*indexed_alone)
    worker.start()
    worker.open()
    first = worker.next()
    slow = SlowPreparing(monkeypatch)
    for number in range(4):
        commit_note(indexed_alone, f"zucchini {number}")
        worker.open()
        assert slow.begun.wait(TIMEOUT_SECONDS)
    slow.go_on.set()
    told = [worker.next() for _ in range(2)]
    worker.close()
    assert isinstance(first, IndexOpened)
    generations = [one.status.generation - first.status.generation for one in told if isinstance(one, IndexOpened)]
    assert (generations, slow.prepared) == ([1, 4], 2)


def test_preparing_an_engine_stops_when_a_newer_generation_replaces_it(
    indexed_alone: tuple[Path, Paths], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(*indexed_alone)

    def until_there_is_another() -> None:
        commit_note(indexed_alone, "zucchini")
        worker.open()
        while worker._next_generation is None:
            time.sleep(0.001)

    def on_what_is_closed() -> None:
        raise AssertionError

    steps = (until_there_is_another, on_what_is_closed)
    monkeypatch.setattr(Engine, "warm_steps", lambda engine: steps)
    worker.start()
    worker.open()
    told = [worker.next() for _ in range(2)]
    found = worker.search("zucchini")
    worker.close()
    assert [type(one) for one in told] == [IndexOpened, IndexOpened]
    assert found.hits[0].fragment.path == "Fresh.md"
    assert worker.loop.is_empty


def test_closing_ends_the_thread(worker: Worker) -> None:
    worker.close()
    assert not {"engine", "generations"} & {thread.name for thread in threading.enumerate()}
