"""Controlled stand-ins for engine, clock and event loop, for tests without a screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from queue import Queue
from typing import Any

from textual.message import Message

from excerpt.errors import ExcerptError
from excerpt.kinds import Strategy
from excerpt.model import Fragment, Hit, Result
from excerpt.search.engine import Engine
from excerpt.tui.messages import Failure
from excerpt.tui.request_thread import Answer, Question

PATIENCE = 60.0
"""Seconds until a wait fails."""


class HeldLoop:
    """An event loop that queues messages and calls from threads until the test takes them, in order."""

    def __init__(self) -> None:
        self._held: Queue[Message | Callable[[], object]] = Queue()

    def call_from_thread(self, function: Callable[[], object]) -> None:
        self._held.put(function)

    def post_from_thread(self, message: Message) -> None:
        self._held.put(message)

    @property
    def is_empty(self) -> bool:
        return self._held.empty()

    def step(self) -> Message | None:
        """Wait for the next item: return a message, or call a function and return None."""
        held = self._held.get(timeout=PATIENCE)
        if isinstance(held, Message):
            return held
        held()
        return None

    def next(self) -> Message:
        """Call functions until a message comes, and return it."""
        while (message := self.step()) is None:
            pass
        return message


class HeldEngine:
    """An engine that keeps the newest question of each kind in `asked` until `answer` is called."""

    is_open = True

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}
        self._on_answer: dict[str, Callable[[Any], object]] = {}
        self._on_failure: dict[str, Callable[[Failure], object] | None] = {}

    def ask(
        self,
        question: Question[Engine, Answer],
        on_answer: Callable[[Answer], object],
        on_failure: Callable[[Failure], object] | None = None,
    ) -> None:
        self.asked[question.kind] = question
        self._on_answer[question.kind] = on_answer
        self._on_failure[question.kind] = on_failure

    def forget(self, kind: str) -> None:
        self.asked.pop(kind, None)
        self._on_answer.pop(kind, None)

    def waits(self, kind: str) -> bool:
        return kind in self._on_answer

    def answer(self, kind: str, answer: object) -> None:
        del self.asked[kind]
        self._on_answer.pop(kind)(answer)

    def fail(self, kind: str, failure: Failure) -> None:
        del self.asked[kind], self._on_answer[kind]
        if (on_failure := self._on_failure.pop(kind)) is not None:
            on_failure(failure)


def failing(message: str) -> Callable[..., object]:
    """Return a stand-in for a question's `answer` that raises an error."""

    def fail(*_: object) -> object:
        raise ExcerptError(message, "Wait.")

    return fail


@dataclass(eq=False)
class Waiting:
    """A scheduled call."""

    clock: HeldClock
    seconds: float
    call: Callable[[], object]

    def stop(self) -> None:
        if self in self.clock.waiting:
            self.clock.waiting.remove(self)


class HeldClock:
    """A clock that makes a scheduled call once `pass_time` reaches its time."""

    def __init__(self) -> None:
        self.waiting: list[Waiting] = []

    def after(self, seconds: float, call: Callable[[], object]) -> Waiting:
        waiting = Waiting(self, seconds, call)
        self.waiting.append(waiting)
        return waiting

    def pass_time(self, seconds: float) -> None:
        due = [each for each in self.waiting if each.seconds <= seconds]
        for each in due:
            each.stop()
            each.call()


def hit(name: str, line: int = 1) -> Hit:
    """Return a hit whose fragment has the id `name`."""
    return Hit(Fragment(name, f"{name}.md", name, (), 0, 0, line, line, name, 10, name), 1.0)


def found(query: str, *hits: Hit) -> Result:
    return Result(query, Strategy.AUTO, Strategy.PROXIMITY, hits, len(hits), 1.0, 1)
