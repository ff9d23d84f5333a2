"""An engine and a clock for controllers without a screen: what is asked of them waits until told to go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from excerpt.kinds import Strategy
from excerpt.model import Fragment, Hit, Result
from excerpt.pack.selection import Mark
from excerpt.tui.engine_worker import Answer, Question
from excerpt.tui.pack.packer import Cost, Packed, PackRequest


class HeldEngine:
    """Holds the newest question of each kind, `asked`, until `answer` is called."""

    is_open = True

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}
        self._on_answer: dict[str, Callable[[Any], object]] = {}

    def ask(self, question: Question[Answer], on_answer: Callable[[Answer], object]) -> None:
        self._hold(question.kind, question, on_answer)

    def pack(self, request: PackRequest, on_answer: Callable[[Packed], object]) -> None:
        self._hold("pack", request, on_answer)

    def cost(self, request: PackRequest, mark: Mark, on_answer: Callable[[Cost], object]) -> None:
        self._hold("cost", (request, mark), on_answer)

    def forget(self, kind: str) -> None:
        self.asked.pop(kind, None)
        self._on_answer.pop(kind, None)

    def waits(self, kind: str) -> bool:
        return kind in self._on_answer

    def answer(self, kind: str, answer: object) -> None:
        del self.asked[kind]
        self._on_answer.pop(kind)(answer)

    def _hold(self, kind: str, question: object, on_answer: Callable[[Any], object]) -> None:
        self.asked[kind] = question
        self._on_answer[kind] = on_answer


@dataclass(eq=False)
class Waiting:
    """A call to come."""

    clock: HeldClock
    seconds: float
    call: Callable[[], object]

    def stop(self) -> None:
        if self in self.clock.waiting:
            self.clock.waiting.remove(self)


class HeldClock:
    """Makes a call when `pass_time` goes past its time."""

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
    """A hit whose fragment has the id `name`."""
    return Hit(Fragment(name, f"{name}.md", name, (), 0, 0, line, line, name, 10, name), 1.0)


def found(query: str, *hits: Hit) -> Result:
    return Result(query, Strategy.AUTO, Strategy.PROXIMITY, hits, len(hits), 1.0, 1)
