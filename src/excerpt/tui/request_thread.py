"""A thread that answers the screen's requests: the newest of each kind, the most urgent first.

The engine and the memories have one each. Answers are delivered on the event loop, directly to the asker.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from textual.message import Message

from excerpt.errors import ExcerptError
from excerpt.tui.messages import Failure

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)
Source_contra = TypeVar("Source_contra", contravariant=True)

_PAUSE_SECONDS = 0.1
"""Seconds after a search before low-priority requests are started.

The next letter may be typed within this time and should not find the thread busy with a pack that it makes obsolete.
"""
_DRAW_SECONDS = 0.05
"""Maximum seconds to wait until hits are drawn before the next request is started.

Python threads share one interpreter: a pack built meanwhile would double the time to draw the list, and would not be
ready sooner.
"""
_IDLE_SECONDS = 0.5
"""Seconds without a request after which `on_idle` is called."""
_MAX_ANSWERS = 16
"""Number of answers without a rest after which `on_idle` is called."""


class Priority(IntEnum):
    """Priorities of waiting requests, the most urgent first: what the user looks at first.

    Within a priority the oldest request is first. `PACK` and `UPKEEP` wait until `_PAUSE_SECONDS` after a search.
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


class EventLoop(Protocol):
    """How threads reach the screen. Both methods are called from any thread."""

    def call_from_thread(self, function: Callable[[], object]) -> None:
        """Call a function on the event loop."""

    def post_from_thread(self, message: Message) -> None:
        """Post a message, to be handled on the event loop."""


class Question(Protocol[Source_contra, Answer_co]):
    """A question to an engine or to the memories, as a value; of each `kind` only the newest is answered.

    `answer` is called in the thread that owns the source.
    """

    kind: ClassVar[str]
    priority: ClassVar[Priority]

    def answer(self, source: Source_contra, /) -> Answer_co: ...


class NotReadyError(Exception):
    """There is nothing to answer from yet: the request is dropped silently and may be repeated later."""


@dataclass(frozen=True, slots=True)
class Request(Generic[Answer]):
    """A request to a thread. `on_answer`, or `on_failure` after an error, is called on the event loop.

    A newer request of its `kind` replaces it: if it is waiting it is dropped, and if it is running its answer is
    delivered only with `is_interim`.
    """

    kind: str
    priority: Priority
    run: Callable[[], Answer]
    on_answer: Callable[[Answer], object]
    on_failure: Callable[[Failure], object] | None = None
    is_interim: bool = False


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    """A request and its number; 0 if nobody waits for it."""

    number: int
    request: Request[Any]


def ignore(_answer: object) -> None:
    """Ignore an answer."""


class RequestThread:
    """A thread with one slot for each kind of request, so that fast typing never queues searches.

    Every failure is also posted, besides the call of `on_failure`. The thread starts with the first request.
    """

    def __init__(
        self,
        name: str,
        loop: EventLoop,
        *,
        on_idle: Callable[[], object] = lambda: None,
        on_end: Callable[[], object] = lambda: None,
    ) -> None:
        """Prepare the thread, which calls `on_idle` when no request has come for a while, and `on_end` when it ends."""
        self._name = name
        self._loop = loop
        self._on_idle = on_idle
        self._on_end = on_end
        self._condition = threading.Condition()
        self._slots: dict[str, QueuedRequest] = {}
        self._steps: deque[Callable[[], object]] = deque()
        self._is_in_step = False
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._last_search = 0.0
        self._drawn_number = 0
        # Used only on the event loop.
        self._last_number = 0
        self._newest: dict[str, int] = {}
        self._cancelled_up_to: dict[str, int] = {}
        self._waiting: set[str] = set()
        self.last_delivered = 0
        """Number of the request whose answer was delivered last."""

    # --- on the event loop --------------------------------------------------------------------------------------------

    def ask(self, request: Request[Any]) -> None:
        """Queue a request; an earlier one of its kind that is not answered yet is dropped."""
        self._last_number += 1
        self._newest[request.kind] = self._last_number
        self._waiting.add(request.kind)
        self._put(QueuedRequest(self._last_number, request))

    def forget(self, kind: str) -> None:
        """Cancel the requests of a kind: their answers are not delivered any more."""
        self._newest.pop(kind, None)
        self._cancelled_up_to[kind] = self._last_number
        self._waiting.discard(kind)
        with self._condition:
            self._slots.pop(kind, None)

    def is_waiting(self, kind: str) -> bool:
        """Return whether the newest request of a kind is neither answered nor failed."""
        return kind in self._waiting

    def mark_drawn(self, number: int) -> None:
        """Report that the answer to a request is on the screen or will not be shown."""
        with self._condition:
            self._drawn_number = max(self._drawn_number, number)
            self._condition.notify_all()

    def _deliver(self, queued: QueuedRequest, answer: object) -> None:
        request = queued.request
        if self._finish_if_newest(queued) or (
            request.is_interim and queued.number > self._cancelled_up_to.get(request.kind, 0)
        ):
            self.last_delivered = queued.number
            request.on_answer(answer)
        elif request.priority is Priority.HITS:
            self.mark_drawn(queued.number)

    def _fail(self, queued: QueuedRequest, failure: Failure) -> None:
        if self._finish_if_newest(queued) and queued.request.on_failure is not None:
            queued.request.on_failure(failure)
        self._loop.post_from_thread(failure)

    def _finish_if_newest(self, queued: QueuedRequest) -> bool:
        """Return whether a request is the newest of its kind, and stop waiting for that kind if so."""
        kind = queued.request.kind
        is_newest = self._newest.get(kind) == queued.number
        if is_newest:
            self._waiting.discard(kind)
        return is_newest

    # --- from any thread ----------------------------------------------------------------------------------------------

    def queue_task(self, kind: str, priority: Priority, run: Callable[[], object]) -> None:
        """Queue a request whose answer nobody needs; a waiting one of its kind is replaced."""
        self._put(QueuedRequest(0, Request(kind, priority, run, ignore)))

    def replace(self, kind: str, run: Callable[[], object]) -> None:
        """Replace the waiting request of a kind, if there is one."""
        with self._condition:
            waiting = self._slots.get(kind)
        if waiting is not None:
            self.queue_task(kind, waiting.request.priority, run)

    def queue_step(self, step: Callable[[], object]) -> None:
        """Queue a step that is never dropped, after earlier steps and before any request."""
        with self._condition:
            self._steps.append(step)
            self._wake()

    @property
    def has_steps(self) -> bool:
        """Whether a step is running or waiting."""
        with self._condition:
            return self._is_in_step or bool(self._steps)

    def close(self, wait: float = 2.0) -> None:
        """End the thread when the steps are done, waiting at most `wait` seconds."""
        with self._condition:
            self._is_closed = True
            self._slots.clear()
            self._condition.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(wait)

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _put(self, queued: QueuedRequest) -> None:
        with self._condition:
            if not self._is_closed:
                # Removed first, so that it waits after the others of its priority.
                self._slots.pop(queued.request.kind, None)
                self._slots[queued.request.kind] = queued
                self._wake()

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._condition.notify_all()

    # --- in the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        rest = QueuedRequest(0, Request("rest", Priority.UPKEEP, self._on_idle, ignore))
        answered = 0
        while (queued := self._next(rest if answered else None)) is not None:
            self._do(queued)
            answered = 0 if queued is rest else answered + 1
            if answered == _MAX_ANSWERS:
                self._do(rest)
                answered = 0
        self._on_end()

    def _next(self, rest: QueuedRequest | None) -> QueuedRequest | None:
        """Wait for a step or request and return it; None at the end, `rest` if none comes for a while."""
        with self._condition:
            self._is_in_step = False
            while True:
                if self._steps:
                    self._is_in_step = True
                    return QueuedRequest(0, Request("step", Priority.INDEX, self._steps.popleft(), ignore))
                if self._is_closed:
                    return None
                if not self._slots:
                    if not self._condition.wait(_IDLE_SECONDS if rest is not None else None):
                        return rest
                    continue
                queued = min(self._slots.values(), key=lambda each: each.request.priority)
                pause = self._last_search + _PAUSE_SECONDS - time.monotonic()
                if queued.request.priority < Priority.PACK or pause <= 0:
                    return self._slots.pop(queued.request.kind)
                self._condition.wait(pause)

    def _do(self, queued: QueuedRequest) -> None:
        request = queued.request
        try:
            answer = request.run()
        except NotReadyError:
            return
        except Exception as error:  # an uncaught error would end the thread silently
            failure = failure_of(request.kind, error)
            self._loop.call_from_thread(lambda: self._fail(queued, failure))
            return
        if queued.number:
            self._loop.call_from_thread(lambda: self._deliver(queued, answer))
        if request.priority is Priority.HITS:
            self._wait_until_drawn(queued)

    def _wait_until_drawn(self, queued: QueuedRequest) -> None:
        kind = queued.request.kind
        with self._condition:
            self._condition.wait_for(
                lambda: self._drawn_number >= queued.number or kind in self._slots or self._is_closed, _DRAW_SECONDS
            )
            self._last_search = time.monotonic()


def failure_of(kind: str, error: Exception) -> Failure:
    """Return the message to the user for an error in a thread."""
    if isinstance(error, ExcerptError):
        return Failure(kind, error.title, error.message, error.hint)
    return Failure(
        kind,
        "An error in excerpt",
        f"{type(error).__name__}: {error}",
        "Try again, or use other words. Please report it if it happens again.",
    )
