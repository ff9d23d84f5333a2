"""Tests of the queue of requests: newest request of a kind, most urgent kind first, every failure reported."""

from __future__ import annotations

import importlib
import pkgutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

import excerpt.service
import excerpt.tui
from excerpt.base.errors import ExcerptError
from excerpt.service import request_queue
from excerpt.service.event_loop import Failure
from excerpt.service.request_queue import NotReadyError, Priority, Request, RequestQueue, ignore_answer
from tests.service.manual_loop import TIMEOUT_SECONDS, ManualLoop


def question_kinds() -> dict[str, Priority]:
    """Return the kinds of all questions of the screen with their priorities."""
    kinds: dict[str, tuple[str, Priority]] = {}
    packages = (excerpt.service, excerpt.tui)
    for module in (each for one in packages for each in pkgutil.walk_packages(one.__path__, f"{one.__name__}.")):
        for each in vars(importlib.import_module(module.name)).values():
            kind, priority = getattr(each, "kind", ""), getattr(each, "priority", None)
            if isinstance(each, type) and isinstance(kind, str) and isinstance(priority, Priority):
                known = kinds.setdefault(kind, (each.__qualname__, priority))
                assert known[0] == each.__qualname__, f"{kind} is the kind of two questions"
    return {kind: priority for kind, (_, priority) in kinds.items()}


KINDS = question_kinds()


class Bench:
    """A queue of requests whose answers the test delivers, as the event loop does."""

    def __init__(self) -> None:
        self.loop = ManualLoop()
        self.ended = threading.Event()
        self.thread = RequestQueue("requests", self.loop, on_end=self.ended.set)
        self.answers: list[object] = []
        self.failures: list[Failure] = []

    def ask(
        self, kind: str, run: Callable[[], object], priority: Priority = Priority.TAB, *, is_interim: bool = False
    ) -> None:
        self.thread.ask(Request(kind, priority, run, self.answers.append, self.failures.append, is_interim))

    def begin(self, kind: str, answer: str, *, is_interim: bool = False) -> threading.Event:
        """Start a request that is answered when the returned event is set."""
        begun, release = threading.Event(), threading.Event()

        def run() -> str:
            begun.set()
            release.wait(TIMEOUT_SECONDS)
            return answer

        self.ask(kind, run, is_interim=is_interim)
        assert begun.wait(TIMEOUT_SECONDS)
        return release

    def hold(self) -> threading.Event:
        """Keep the thread busy until the returned event is set."""
        begun, release = threading.Event(), threading.Event()

        def wait() -> None:
            begun.set()
            release.wait(TIMEOUT_SECONDS)

        self.thread.queue_task("busy", Priority.INDEX, wait)
        assert begun.wait(TIMEOUT_SECONDS)
        return release


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.thread.close()


def test_these_tests_cover_every_kind_of_request_of_the_app() -> None:
    assert {"search", "pack", "cost", "window", "explain", "related", "map", "overview"} <= KINDS.keys()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_request_of_any_kind_can_be_answered_or_fail_or_be_cancelled_or_superseded(bench: Bench, kind: str) -> None:
    priority = KINDS[kind]
    bench.ask(kind, lambda: "answer", priority)
    assert bench.thread.is_waiting(kind)
    bench.loop.step()
    assert (bench.answers, bench.thread.is_waiting(kind)) == (["answer"], False)

    bench.ask(kind, lambda: 1 // 0, priority)
    assert bench.loop.next() == bench.failures[0]
    assert (bench.failures[0].operation, bench.thread.is_waiting(kind)) == (kind, False)

    release = bench.hold()
    bench.ask(kind, lambda: "forgotten", priority)
    bench.thread.cancel(kind)
    assert not bench.thread.is_waiting(kind)
    bench.ask(kind, lambda: "older", priority)
    bench.ask(kind, lambda: "newer", priority)
    release.set()
    bench.loop.step()
    assert (bench.answers, bench.thread.is_waiting(kind)) == (["answer", "newer"], False)


def test_an_answer_is_delivered_on_the_event_loop_only(bench: Bench) -> None:
    bench.ask("map", lambda: "answer")
    time.sleep(0.05)
    assert bench.answers == []
    bench.loop.step()
    assert bench.answers == ["answer"]


def test_an_answer_to_a_superseded_request_is_dropped(bench: Bench) -> None:
    release = bench.begin("map", "old")
    bench.ask("map", lambda: "new")
    release.set()
    bench.loop.step()
    assert (bench.answers, bench.thread.is_waiting("map")) == ([], True)
    bench.loop.step()
    assert bench.answers == ["new"]


def test_an_interim_answer_is_delivered_unless_its_kind_was_forgotten(bench: Bench) -> None:
    for is_forgotten in (False, True):
        release = bench.begin("search", "interim", is_interim=True)
        if is_forgotten:
            bench.thread.cancel("search")
        bench.ask("search", lambda: "newest", is_interim=True)
        release.set()
        bench.loop.step()
        bench.loop.step()
    assert bench.answers == ["interim", "newest", "newest"]


def test_the_most_urgent_request_is_answered_first_then_the_oldest(bench: Bench) -> None:
    release = bench.hold()
    for kind, priority in (
        ("pack", Priority.PACK),
        ("map", Priority.PANEL),
        ("window", Priority.PASSAGE),
        ("link", Priority.PANEL),
    ):
        bench.ask(kind, partial(str, kind), priority)
    release.set()
    for _ in range(4):
        bench.loop.step()
    assert bench.answers == ["window", "map", "link", "pack"]


def test_hits_are_drawn_before_the_next_request_starts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("excerpt.service.request_queue._MAX_DRAW_WAIT_SECONDS", TIMEOUT_SECONDS)
    order: list[str] = []
    release = bench.hold()
    bench.ask("search", lambda: order.append("search"), Priority.HITS)
    bench.ask("pack", lambda: order.append("pack"), Priority.PACK)
    release.set()
    bench.loop.step()
    order.append("drawn")
    bench.thread.mark_drawn(bench.thread.last_delivered_number)
    bench.loop.step()
    assert order == ["search", "drawn", "pack"]


def test_a_pack_waits_while_passages_are_requested_one_after_the_other(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_queue, "_PAUSE_SECONDS", TIMEOUT_SECONDS)
    release = bench.hold()
    bench.ask("pack", lambda: "pack", Priority.PACK)
    bench.ask("window", lambda: "first passage", Priority.PASSAGE)
    release.set()
    bench.loop.step()
    bench.ask("window", lambda: "second passage", Priority.PASSAGE)
    bench.loop.step()
    assert bench.answers == ["first passage", "second passage"]
    monkeypatch.setattr(request_queue, "_PAUSE_SECONDS", 0)
    bench.ask("badges", lambda: "badges", Priority.BADGES)
    bench.loop.step()
    bench.loop.step()
    assert bench.answers[2:] == ["badges", "pack"]


def test_a_request_that_cannot_be_answered_yet_waits_silently(bench: Bench) -> None:
    def not_ready() -> None:
        raise NotReadyError

    bench.ask("map", not_ready)
    bench.ask("window", lambda: "answer")
    bench.loop.step()
    assert (bench.answers, bench.failures) == (["answer"], [])
    assert bench.thread.is_waiting("map")


def test_a_failure_is_delivered_and_posted_with_its_message(bench: Bench) -> None:
    def fail() -> None:
        raise ExcerptError("The disk is gone.", "Mount it.")

    bench.ask("map", fail)
    posted = bench.loop.next()
    assert bench.failures == [posted]
    assert isinstance(posted, Failure)
    assert (posted.operation, posted.message, posted.hint) == ("map", "The disk is gone.", "Mount it.")


def test_queued_steps_run_in_order_before_any_request_and_also_when_the_queue_is_closed(bench: Bench) -> None:
    done: list[str] = []
    release = bench.hold()
    bench.ask("map", lambda: done.append("request"))
    bench.thread.queue_step(lambda: done.append("first"))
    bench.thread.queue_step(lambda: done.append("second"))
    assert bench.thread.has_steps
    release.set()
    bench.loop.step()
    assert (done, bench.thread.has_steps) == (["first", "second", "request"], False)
    release = bench.hold()
    bench.thread.queue_step(lambda: done.append("last"))
    release.set()
    bench.thread.close(TIMEOUT_SECONDS)
    assert done[-1] == "last"
    assert bench.ended.is_set()


def test_an_idle_thread_uses_no_cpu(bench: Bench) -> None:
    threads: list[int] = []
    bench.ask("map", lambda: threads.append(threading.get_ident()))
    bench.loop.step()
    clock = time.pthread_getcpuclockid(threads[0])
    before = time.clock_gettime(clock)
    time.sleep(0.5)
    assert time.clock_gettime(clock) - before < 0.05


def test_a_thread_without_requests_is_first_idle_and_then_at_rest_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_queue, "_IDLE_SECONDS", 0.001)
    monkeypatch.setattr(request_queue, "_REST_SECONDS", 0.001)
    calls: list[str] = []
    loop, is_at_rest = ManualLoop(), threading.Event()

    def rest() -> None:
        calls.append("rest")
        is_at_rest.set()

    thread = RequestQueue("requests", loop, on_idle=lambda: calls.append("idle"), on_rest=rest)
    for _ in range(2):
        is_at_rest.clear()
        thread.ask(Request("map", Priority.TAB, lambda: calls.append("request"), ignore_answer))
        loop.step()
        assert is_at_rest.wait(TIMEOUT_SECONDS)
    thread.close(TIMEOUT_SECONDS)
    assert calls == ["request", "idle", "rest"] * 2


def test_nothing_is_started_before_the_first_request() -> None:
    thread = RequestQueue("never asked", ManualLoop())
    thread.close()
    assert "never asked" not in {each.name for each in threading.enumerate()}
