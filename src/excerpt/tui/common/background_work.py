"""Start background work of a widget, a screen or the app."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.dom import DOMNode

Work = Callable[[], Awaitable[None]]


def start_work(owner: DOMNode, work: Work, *, group: str, exclusive: bool = False) -> None:
    """Run `work` in the background; it is cancelled when `owner` is removed, with `exclusive` also by later work.

    `work` is an async function, or a `partial` of one: a coroutine of work that is cancelled before it starts would
    never be awaited, which Python reports.
    """
    owner.run_worker(work, group=group, exclusive=exclusive)
