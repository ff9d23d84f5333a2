"""Who waits for answers of a thread: the newest question of a kind is answered, on the event loop, or none is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from excerpt.tui.messages import Trouble


@dataclass(frozen=True, slots=True)
class _Asked:
    number: int
    on_answer: Callable[[Any], object]
    on_trouble: Callable[[Trouble], object] | None


class Answers:
    """Know for each kind of question the newest one, and who asked it. Used on the event loop alone."""

    def __init__(self) -> None:
        self._asked = 0
        self._newest: dict[str, _Asked] = {}
        self._waiting: set[str] = set()

    def expect(
        self,
        kind: str,
        on_answer: Callable[[Any], object],
        on_trouble: Callable[[Trouble], object] | None = None,
    ) -> int:
        """Return the number of a new question; what was asked of that kind before is not answered any more."""
        self._asked += 1
        self._newest[kind] = _Asked(self._asked, on_answer, on_trouble)
        self._waiting.add(kind)
        return self._asked

    def forget(self, kind: str) -> None:
        """Expect no answer of that kind any more."""
        self._newest.pop(kind, None)
        self._waiting.discard(kind)

    def waits(self, kind: str) -> bool:
        """Return whether a question of that kind is neither answered nor failed."""
        return kind in self._waiting

    def hand_over(self, kind: str, number: int, answer: object) -> None:
        """Call who asked, unless something newer of that kind was asked meanwhile."""
        asked = self._newest.get(kind)
        if asked is not None and asked.number == number:
            self._waiting.discard(kind)
            asked.on_answer(answer)

    def fail(self, trouble: Trouble) -> None:
        """Tell who asked last that it failed; what was asked meanwhile may still be answered."""
        asked = self._newest.get(trouble.asked)
        self._waiting.discard(trouble.asked)
        if asked is not None and asked.on_trouble is not None:
            asked.on_trouble(trouble)
