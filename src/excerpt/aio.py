"""The Python API for asyncio: `excerpt.aio.open` opens a vault whose methods are awaited.

Each vault has one thread, on which its methods run in the order of the calls, so that the event loop never waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from excerpt.base.cancellation import CancelToken, cancelled_by
from excerpt.service import api

OpenParams = ParamSpec("OpenParams")
MethodParams = ParamSpec("MethodParams")
Answer = TypeVar("Answer")


def _make_awaitable(
    method: Callable[Concatenate[api.Vault, MethodParams], Answer],
) -> Callable[Concatenate[AsyncVault, MethodParams], Awaitable[Answer]]:
    """Return a method that runs the vault's method of the same name on the vault's thread."""
    name = method.__name__

    async def wrapper(vault: AsyncVault, /, *args: MethodParams.args, **options: MethodParams.kwargs) -> Answer:
        def call(opened: api.Vault) -> Answer:
            answer: Answer = getattr(opened, name)(*args, **options)
            return answer

        return await vault.run(call)

    wrapper.__doc__ = method.__doc__
    wrapper.__name__ = name
    return wrapper


class AsyncVault:
    """A vault for asyncio, from `excerpt.aio.open`: the methods of `Vault`, each of which is awaited.

    Several tasks may use it: their calls run one after another. A cancelled task does not wait for its call; a search
    or a pack that runs ends at its next check.
    """

    def __init__(self, vault: api.Vault, thread: ThreadPoolExecutor) -> None:
        self._vault = vault
        self._thread = thread

    async def run(self, compute: Callable[[api.Vault], Answer]) -> Answer:
        """Call `compute` with the vault on its thread, as for memories: `run(lambda vault: vault.memories.all())`."""
        token = CancelToken()

        def call() -> Answer:
            with cancelled_by(token):
                return compute(self._vault)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)
        finally:
            token.cancel()

    load = _make_awaitable(api.Vault.load)
    reload = _make_awaitable(api.Vault.reload)
    refresh = _make_awaitable(api.Vault.refresh)
    status = _make_awaitable(api.Vault.status)
    tokens = _make_awaitable(api.Vault.tokens)
    search = _make_awaitable(api.Vault.search)
    record_use = _make_awaitable(api.Vault.record_use)
    search_many = _make_awaitable(api.Vault.search_many)
    search_for_pack = _make_awaitable(api.Vault.search_for_pack)
    explain = _make_awaitable(api.Vault.explain)
    why_not = _make_awaitable(api.Vault.why_not)
    notes = _make_awaitable(api.Vault.notes)
    complete = _make_awaitable(api.Vault.complete)
    nearest_words = _make_awaitable(api.Vault.nearest_words)
    fragment = _make_awaitable(api.Vault.fragment)
    fragments = _make_awaitable(api.Vault.fragments)
    news = _make_awaitable(api.Vault.news)
    run_gold = _make_awaitable(api.Vault.run_gold)
    link = _make_awaitable(api.Vault.link)
    pack = _make_awaitable(api.Vault.pack)
    count_saved = _make_awaitable(api.Vault.count_saved)
    check = _make_awaitable(api.Vault.check)
    check_places = _make_awaitable(api.Vault.check_places)
    read = _make_awaitable(api.Vault.read)
    peek = _make_awaitable(api.Vault.peek)
    related = _make_awaitable(api.Vault.related)
    related_many = _make_awaitable(api.Vault.related_many)
    overview = _make_awaitable(api.Vault.overview)
    map = _make_awaitable(api.Vault.map)


def _make_async_opener(
    open_vault: Callable[Concatenate[api.VaultPaths, OpenParams], api.Vault],
) -> Callable[Concatenate[api.VaultPaths, OpenParams], AbstractAsyncContextManager[AsyncVault]]:
    """Return a function that opens a vault on a new thread, and closes both at the end of an `async with`."""

    @asynccontextmanager
    async def wrapper(
        path: api.VaultPaths, /, *args: OpenParams.args, **options: OpenParams.kwargs
    ) -> AsyncIterator[AsyncVault]:
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="excerpt") as thread:
            call = partial(open_vault, path, *args, **options)
            vault = AsyncVault(await asyncio.get_running_loop().run_in_executor(thread, call), thread)
            try:
                yield vault
            finally:
                await vault.run(api.Vault.close)

    wrapper.__doc__ = open_vault.__doc__
    return wrapper


open = _make_async_opener(api.open)  # noqa: A001 - read as `excerpt.aio.open`
