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


def _awaitable(
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
    """A vault whose methods are awaited, from `excerpt.aio.open`; arguments and answers are those of `Vault`.

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

    load = _awaitable(api.Vault.load)
    reload = _awaitable(api.Vault.reload)
    refresh = _awaitable(api.Vault.refresh)
    status = _awaitable(api.Vault.status)
    tokens = _awaitable(api.Vault.tokens)
    search = _awaitable(api.Vault.search)
    record_use = _awaitable(api.Vault.record_use)
    search_many = _awaitable(api.Vault.search_many)
    search_for_pack = _awaitable(api.Vault.search_for_pack)
    explain = _awaitable(api.Vault.explain)
    why_not = _awaitable(api.Vault.why_not)
    notes = _awaitable(api.Vault.notes)
    complete = _awaitable(api.Vault.complete)
    nearest_words = _awaitable(api.Vault.nearest_words)
    fragment = _awaitable(api.Vault.fragment)
    fragments = _awaitable(api.Vault.fragments)
    news = _awaitable(api.Vault.news)
    run_gold = _awaitable(api.Vault.run_gold)
    link = _awaitable(api.Vault.link)
    pack = _awaitable(api.Vault.pack)
    count_saved = _awaitable(api.Vault.count_saved)
    check = _awaitable(api.Vault.check)
    check_places = _awaitable(api.Vault.check_places)
    read = _awaitable(api.Vault.read)
    peek = _awaitable(api.Vault.peek)
    related = _awaitable(api.Vault.related)
    related_many = _awaitable(api.Vault.related_many)
    overview = _awaitable(api.Vault.overview)
    map = _awaitable(api.Vault.map)


def _opens(
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


open = _opens(api.open)  # noqa: A001 - read as `excerpt.aio.open`
