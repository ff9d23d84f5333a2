"""Tests of a delayed call that a newer one replaces."""

from __future__ import annotations

from collections.abc import Callable

from excerpt.tui.common.debouncer import Debouncer


class Over:
    """A timer whose call is already queued, so that `stop` has no effect."""

    def stop(self) -> None:
        pass


def test_a_stopped_or_replaced_call_is_not_made() -> None:
    queue, made = list[Callable[[], object]](), list[str]()

    def after(seconds: float, call: Callable[[], object]) -> Over:
        queue.append(call)
        return Over()

    pause = Debouncer(after)
    pause.schedule(0.1, lambda: made.append("stopped"))
    pause.stop()
    pause.schedule(0.1, lambda: made.append("replaced"))
    pause.schedule(0.1, lambda: made.append("last"))
    for call in queue:
        call()
    assert made == ["last"]
    assert not pause.is_pending
