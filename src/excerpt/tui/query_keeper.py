"""Keeps the queries asked and the queries saved in their files, beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from excerpt.tui.history import QueryHistory
from excerpt.tui.history_file import add_query, forget_query, read_history

if TYPE_CHECKING:
    from excerpt.tui.saved_queries import SavedQueries


class QueryKeeper:
    """Of one vault: what was asked is in the file `history`, what was given a name in the file `saved`.

    `failed` is told the reason when the history cannot be kept, once; it is a convenience, and nobody's work.
    """

    def __init__(self, history: Path, saved: Path, failed: Callable[[str], None]) -> None:
        self._history = history
        self._saved = saved
        self._failed = failed
        self._told = False

    async def history(self) -> QueryHistory:
        """What was asked by now, in this app and others."""
        return await asyncio.to_thread(read_history, self._history)

    async def asked(self, query: str) -> None:
        await self._keep(add_query, query)

    async def forget(self, query: str) -> None:
        await self._keep(forget_query, query)

    async def change(self, change: Callable[[SavedQueries], SavedQueries]) -> SavedQueries:
        """Change what is saved by now, and return it. Raises SavedQueriesError."""
        from excerpt.tui.saved_queries import change_saved

        return await asyncio.to_thread(change_saved, self._saved, change)

    async def _keep(self, keep: Callable[[Path, str], None], query: str) -> None:
        try:
            await asyncio.to_thread(keep, self._history, query)
        except OSError as error:
            if not self._told:
                self._told = True
                self._failed(error.strerror or str(error))
