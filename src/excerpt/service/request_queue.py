"""A queue of requests with a thread that answers them: only the newest of each kind, and the most urgent kind first.

The search engine has one such queue, the memories another. Answers are passed to a callback on the event loop, unless a
newer request of their kind was made meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from msgspec import Struct

from excerpt.service.event_loop import EventLoop, Failure

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)
Source_contra = TypeVar("Source_contra", contravariant=True)

_PAUSE_SECONDS = 0.1
"""Seconds to wait after a search or a passage before requests of low priority are started.

If the next letter is typed or the next row selected within this time, the thread is free for its search or passage, and
not busy with a pack that nobody looks at.
"""
_MAX_DRAW_WAIT_SECONDS = 0.05
"""Maximum seconds to wait until hits are drawn before the next request is started.

Python threads share one interpreter lock: a pack built at the same time would double the time to draw the hits, and
would not be ready sooner.
"""
_IDLE_SECONDS = 0.5
"""Seconds without a request after which the thread calls `on_idle`."""
_REST_SECONDS = 60.0
"""Seconds after that without a request after which the thread calls `on_rest`."""
_MAX_REQUESTS_BETWEEN_IDLE_CALLS = 16
"""Number of requests in immediate succession after which the thread calls `on_idle` although it is not idle."""


class Priority(IntEnum):
    """Priorities of waiting requests, the most urgent first: the order in which the user looks at the answers.

    Of requests with the same priority the oldest comes first. `PACK` and `UPKEEP` wait until `_PAUSE_SECONDS` after a
    search or a passage.
    """

    INDEX = 0
    HITS = 1
    PASSAGE = 2
    QUERY = 3
    PANEL = 4
    TAB = 5
    BADGES = 6
    PACK = 7
    UPKEEP = 8


class Question(Protocol[Source_contra, Answer_co]):
    """A question to a source of answers, such as the search engine. Only the newest of each `kind` is answered.

    `answer` is called in the thread that owns the source.
    """

    kind: ClassVar[str]
    priority: ClassVar[Priority]

    def answer(self, source: Source_contra, /) -> Answer_co: ...


class NotReadyError(Exception):
    """Raised if no index is open yet; the request is dropped without a message and may be repeated later."""


class Request(Struct, Generic[Answer], frozen=True):
    """A call of `run` in the queue's thread. Its result is passed to `on_answer`, an error to `on_failure`.

    Both callbacks are called on the event loop. A newer request of the same `kind` replaces this one: if this one is
    waiting, it is dropped; if it is running, its answer is delivered only if `is_interim`.
    """

    kind: str
    priority: Priority
    run: Callable[[], Answer]
    on_answer: Callable[[Answer], object]
    on_failure: Callable[[Failure], object] | None = None
    is_interim: bool = False


class QueuedRequest(Struct, frozen=True):
    """A request and its number, which rises with each request; 0 if nobody waits for its answer."""

    number: int
    request: Request[Any]


def ignore_answer(_answer: object) -> None:
    """Do nothing. This is the callback of requests whose answer nobody needs."""


class RequestQueue:
    """A queue in which at most one request of each kind waits, so that fast typing never queues searches.

    A thread, which starts with the first request, runs the requests one after the other. After an error a `Failure` is
    reported, besides the call of `on_failure`.
    """

    def __init__(
        self,
        name: str,
        loop: EventLoop,
        *,
        on_idle: Callable[[], object] = lambda: None,
        on_rest: Callable[[], object] = lambda: None,
        on_end: Callable[[], object] = lambda: None,
    ) -> None:
        """Prepare the thread.

        It calls `on_idle` after `_IDLE_SECONDS` without a request, `on_rest` after `_REST_SECONDS` more, and `on_end`
        when it ends.
        """
        self._name = name
        self._loop = loop
        self._on_idle = on_idle
        self._on_rest = on_rest
        self._on_end = on_end
        self._condition = threading.Condition()
        self._waiting_requests: dict[str, QueuedRequest] = {}
        self._steps: deque[Callable[[], object]] = deque()
        self._is_step_running = False
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._pause_start = 0.0
        self._drawn_number = 0
        # Used only on the event loop.
        self._last_number = 0
        self._newest_number_by_kind: dict[str, int] = {}
        self._cancelled_up_to: dict[str, int] = {}
        self._unanswered_kinds: set[str] = set()
        self.last_delivered_number = 0
        """Number of the request whose answer was delivered most recently."""

    # --- on the event loop --------------------------------------------------------------------------------------------

    def ask(self, request: Request[Any]) -> None:
        """Queue a request. An earlier request of the same kind is dropped if it is not answered yet."""
        self._last_number += 1
        self._newest_number_by_kind[request.kind] = self._last_number
        self._unanswered_kinds.add(request.kind)
        self._enqueue(QueuedRequest(self._last_number, request))

    def cancel(self, kind: str) -> None:
        """Cancel all requests of a kind, so that their answers are not delivered."""
        self._newest_number_by_kind.pop(kind, None)
        self._cancelled_up_to[kind] = self._last_number
        self._unanswered_kinds.discard(kind)
        with self._condition:
            self._waiting_requests.pop(kind, None)

    def is_waiting(self, kind: str) -> bool:
        """Return whether the newest request of a kind has neither been answered nor failed."""
        return kind in self._unanswered_kinds

    def mark_drawn(self, number: int) -> None:
        """Report that the answer to request `number` is on the screen or will not be shown.

        The thread waits for this after hits, before it starts the next request.
        """
        with self._condition:
            self._drawn_number = max(self._drawn_number, number)
            self._condition.notify_all()

    def _deliver(self, queued_request: QueuedRequest, answer: object) -> None:
        request = queued_request.request
        if self._finish_kind_if_newest(queued_request) or (
            request.is_interim and queued_request.number > self._cancelled_up_to.get(request.kind, 0)
        ):
            self.last_delivered_number = queued_request.number
            request.on_answer(answer)
        elif request.priority is Priority.HITS:
            self.mark_drawn(queued_request.number)

    def _fail(self, queued_request: QueuedRequest, failure: Failure) -> None:
        if self._finish_kind_if_newest(queued_request) and queued_request.request.on_failure is not None:
            queued_request.request.on_failure(failure)
        self._loop.report_from_thread(failure)

    def _finish_kind_if_newest(self, queued_request: QueuedRequest) -> bool:
        """Return whether a request is the newest of its kind; if so, record that the kind waits for no answer."""
        kind = queued_request.request.kind
        is_newest = self._newest_number_by_kind.get(kind) == queued_request.number
        if is_newest:
            self._unanswered_kinds.discard(kind)
        return is_newest

    # --- from any thread ----------------------------------------------------------------------------------------------

    def queue_task(self, kind: str, priority: Priority, run: Callable[[], object]) -> None:
        """Queue a request whose answer nobody needs; it replaces a waiting request of the same kind."""
        self._enqueue(QueuedRequest(0, Request(kind, priority, run, ignore_answer)))

    def replace_waiting_task(self, kind: str, run: Callable[[], object]) -> None:
        """Make the waiting request of a kind call `run` instead; do nothing if no request of this kind waits."""
        with self._condition:
            waiting = self._waiting_requests.get(kind)
        if waiting is not None:
            self.queue_task(kind, waiting.request.priority, run)

    def queue_step(self, step: Callable[[], object]) -> None:
        """Queue a call that is never dropped. It runs after earlier steps and before any waiting request."""
        with self._condition:
            self._steps.append(step)
            self._notify_thread()

    @property
    def has_steps(self) -> bool:
        """Whether a step is running or waiting."""
        with self._condition:
            return self._is_step_running or bool(self._steps)

    def close(self, wait: float = 2.0) -> None:
        """Drop the requests and end the thread after the queued steps; wait at most `wait` seconds for that."""
        with self._condition:
            self._is_closed = True
            self._waiting_requests.clear()
            self._condition.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(wait)

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _enqueue(self, queued_request: QueuedRequest) -> None:
        with self._condition:
            if not self._is_closed:
                # Removed first, so that it waits after the others of its priority.
                self._waiting_requests.pop(queued_request.request.kind, None)
                self._waiting_requests[queued_request.request.kind] = queued_request
                self._notify_thread()

    def _notify_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve_requests, name=self._name, daemon=True)
            self._thread.start()
        self._condition.notify_all()

    # --- in the thread ------------------------------------------------------------------------------------------------

    def _serve_requests(self) -> None:
        idle = QueuedRequest(0, Request("idle", Priority.UPKEEP, self._on_idle, ignore_answer))
        rest = QueuedRequest(0, Request("rest", Priority.UPKEEP, self._on_rest, ignore_answer))
        pauses = [(_IDLE_SECONDS, idle), (_REST_SECONDS, rest)]
        left: Sequence[tuple[float, QueuedRequest]] = ()
        request_count = 0
        while (queued_request := self._wait_for_request(left)) is not None:
            self._run_request(queued_request)
            if left and queued_request is left[0][1]:
                left, request_count = left[1:], 0
            else:
                left, request_count = pauses, request_count + 1
            if request_count == _MAX_REQUESTS_BETWEEN_IDLE_CALLS:
                self._run_request(idle)
                left, request_count = pauses[1:], 0
        self._on_end()

    def _wait_for_request(self, pauses: Sequence[tuple[float, QueuedRequest]]) -> QueuedRequest | None:
        """Wait for a step or a request and return it; None if the thread is to end.

        If no step or request comes for the seconds of the first of `pauses`, return its request.
        """
        with self._condition:
            self._is_step_running = False
            while True:
                if self._steps:
                    self._is_step_running = True
                    return QueuedRequest(0, Request("step", Priority.INDEX, self._steps.popleft(), ignore_answer))
                if self._is_closed:
                    return None
                if not self._waiting_requests:
                    if not self._condition.wait(pauses[0][0] if pauses else None):
                        return pauses[0][1]
                    continue
                queued_request = min(self._waiting_requests.values(), key=lambda each: each.request.priority)
                pause = self._pause_start + _PAUSE_SECONDS - time.monotonic()
                if queued_request.request.priority < Priority.PACK or pause <= 0:
                    return self._waiting_requests.pop(queued_request.request.kind)
                self._condition.wait(pause)

    def _run_request(self, queued_request: QueuedRequest) -> None:
        request = queued_request.request
        try:
            answer = request.run()
        except NotReadyError:
            return
        except Exception as error:  # an uncaught error would end the thread silently
            failure = Failure.from_error(request.kind, error)
            self._loop.call_from_thread(lambda: self._fail(queued_request, failure))
            return
        if queued_request.number:
            self._loop.call_from_thread(lambda: self._deliver(queued_request, answer))
        if request.priority is Priority.HITS:
            self._wait_until_drawn(queued_request)
        if request.priority in (Priority.HITS, Priority.PASSAGE):
            self._pause_start = time.monotonic()

    def _wait_until_drawn(self, queued_request: QueuedRequest) -> None:
        """Wait until the answer is drawn or a newer request of its kind comes, at most `_MAX_DRAW_WAIT_SECONDS`."""
        kind = queued_request.request.kind
        with self._condition:
            self._condition.wait_for(
                lambda: (
                    self._drawn_number >= queued_request.number or kind in self._waiting_requests or self._is_closed
                ),
                _MAX_DRAW_WAIT_SECONDS,
            )
