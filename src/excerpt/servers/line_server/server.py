"""The line server: answers the requests of its clients from one or more vaults, and tells them of changes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import excerpt
from excerpt.base.errors import ExcerptError, NotFoundError
from excerpt.servers.line_server.connection import Connection, LogCrash
from excerpt.servers.line_server.local_socket import is_own_process, listen, remove_socket
from excerpt.servers.line_server.messages import (
    PROTOCOL,
    ClientRequest,
    VaultParams,
    encode_line,
    make_answer,
    make_error,
    make_event,
    parse_params,
)
from excerpt.servers.line_server.methods import METHODS, JsonObject, Method
from excerpt.servers.served_vaults import (
    CLIENT,
    NotIndexedYetError,
    ServedSnapshot,
    ServedVault,
    ServedVaults,
    VaultBusyError,
    ask_each,
)
from excerpt.service.inputs import CHUNK_BYTES, describe_name, take_standard_streams, write_all
from excerpt.text.display import visible_line

MAX_CLIENTS = 64
"""Clients that are connected to a socket at the same time."""

_LOOK_SECONDS = 0.5  # between two looks for a newer generation
_PROGRESS_SECONDS = 0.25  # between two events of progress
_MAX_ERROR_LENGTH = 1_000  # characters


class LineServer:
    """Answers requests of `methods` from `vaults` and sends events to all connected clients."""

    def __init__(self, vaults: ServedVaults, log_crash: LogCrash, methods: Mapping[str, Method] = METHODS) -> None:
        self._vaults = vaults
        self._log_crash = log_crash
        self._methods = methods
        self._connections: set[Connection] = set()
        self._generations = dict.fromkeys((each.name for each in vaults.all), 0)

    async def open(self) -> None:
        """Open the index of each vault that has one, then begin to load its model, without waiting for the model."""
        self._vaults.watch()
        for each in self._vaults.all:
            self._generations[each.name] = await each.open_newest()
        self._vaults.prepare()

    async def serve_client(
        self, read: Callable[[], Awaitable[bytes]], write: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Serve one client until it has closed its side and has all answers, or until writing to it fails."""
        if len(self._connections) == MAX_CLIENTS:
            refusal = make_error(None, "unusable", f"No more than {MAX_CLIENTS} clients can be connected.")
            with suppress(OSError):  # it may have left already
                await write(encode_line(refusal))
            return
        connection = Connection(read, write, self.answer, self._log_crash)
        CLIENT.set(connection)
        greeting = make_event("ready", self._describe_server())
        self._connections.add(connection)
        try:
            await connection.run(greeting)
        finally:
            self._connections.discard(connection)

    async def serve_stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client at a socket, if it is a process of this user."""

        async def write(line: bytes) -> None:
            writer.write(line)
            await writer.drain()

        try:
            if is_own_process(writer.get_extra_info("socket")):
                await self.serve_client(partial(reader.read, CHUNK_BYTES), write)
        except Exception as error:  # asyncio would print its traceback
            write_message(self._log_crash(error))
        finally:
            writer.close()

    async def answer(self, request: ClientRequest) -> dict[str, Any]:
        """Return the message that answers a request."""
        request_id = "" if request.id is None else request.id
        method = self._methods.get(request.method)
        if method is None:
            from difflib import get_close_matches

            name = describe_name(request.method)
            near = get_close_matches(name, self._methods, n=1, cutoff=0)
            message = f"There is no method {name}. Did you mean {near[0]}?"
            return make_error(request_id, "unknown_method", message, f"The methods are {', '.join(self._methods)}.")
        try:
            params = parse_params(request.params, method.params, request.method)
            served = self._find_vaults(params)
            result = await self._ask(served, method, params, for_author=request.for_author)
        except ValueError as error:
            return make_error(request_id, "invalid_params", _shorten(str(error)))
        except ExcerptError as error:
            return make_error(request_id, _error_kind(error), _shorten(error.message), _shorten(error.hint))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # also a panic of a library in Rust, which is no Exception
            return make_error(request_id, "internal", _shorten(self._log_crash(error)))
        if request.method == "status":
            result |= {
                "protocol": PROTOCOL,
                "watching": all(each.is_watched for each in served),
                "clients": len(self._connections),
            }
        return make_answer(request_id, result)

    def _find_vaults(self, params: VaultParams) -> tuple[ServedVault, ...]:
        if params.vaults:
            return self._vaults.find_several(params.vaults)
        if params.vault == "*":
            raise ValueError("A request is for one vault, or for those in vaults: name it, or leave vault out.")
        return self._vaults.find_vaults(params.vault)

    async def _ask(
        self, served: Sequence[ServedVault], method: Method, params: VaultParams, *, for_author: bool
    ) -> JsonObject:
        """Return the answer of one vault, or of several as one; comments are read only `for_author`."""

        def answer(snapshot: ServedSnapshot) -> JsonObject:
            with nullcontext() if for_author else snapshot.vault.without_comments():
                return method.answer(snapshot, params)

        if len(served) == 1:
            return await served[0].ask(answer, writes=method.writes)
        ready = await ask_each(served, lambda snapshot: snapshot)
        return await self._vaults.ask_union(served, ready, answer)

    async def report_changes(self, served: ServedVault) -> None:
        """Send an event for each newer generation of a vault that answers now."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            with suppress(ExcerptError):
                await self._report_newest(served)

    async def _report_newest(self, served: ServedVault) -> None:
        served.watch()
        generation = await served.open_newest()
        if generation != self._generations[served.name]:
            notes = await served.ask(lambda snapshot: snapshot.vault.status().notes)
            self._generations[served.name] = generation
            self._post_event("changed", {"vault": served.name, "generation": generation, "notes": notes})

    async def report_progress(self, served: ServedVault) -> None:
        """Send events while the index of a vault is built by this server's own process."""
        last = None
        while True:
            await asyncio.sleep(_PROGRESS_SECONDS)
            files = served.indexing.state.files
            if files != last and files is not None and files[1]:
                self._post_event("progress", {"vault": served.name, "done": files[0], "total": files[1]})
            last = files

    def _post_event(self, name: str, params: dict[str, Any]) -> None:
        for connection in self._connections:
            connection.post_event((name, params["vault"]), make_event(name, params))

    def _describe_server(self) -> dict[str, Any]:
        vaults = [
            {"name": each.name, "folder": each.vault.address or str(each.vault.folder)} for each in self._vaults.all
        ]
        generation = self._generations[self._vaults.all[0].name]
        return {"protocol": PROTOCOL, "version": excerpt.__version__, "vaults": vaults, "generation": generation}


def _error_kind(error: ExcerptError) -> str:
    if isinstance(error, NotIndexedYetError | VaultBusyError):
        return "not_indexed_yet" if isinstance(error, NotIndexedYetError) else "busy"
    return "not_found" if isinstance(error, NotFoundError) else "unusable"


def _shorten(text: str) -> str:
    return visible_line(text)[:_MAX_ERROR_LENGTH]


def serve_stdio(vaults: ServedVaults, log_crash: LogCrash) -> None:
    """Serve the client that started the process over stdin and stdout, until it closes stdin. Does not return."""
    stdin, stdout = take_standard_streams()

    async def serve(server: LineServer) -> None:
        loop = asyncio.get_running_loop()

        async def read() -> bytes:
            return await loop.run_in_executor(None, os.read, stdin, CHUNK_BYTES)

        async def write(line: bytes) -> None:
            await loop.run_in_executor(None, write_all, stdout, line)

        await server.serve_client(read, write)

    _run(vaults, log_crash, serve)


def serve_socket(vaults: ServedVaults, log_crash: LogCrash, file: Path) -> None:
    """Serve processes of this user at the Unix socket `file` until SIGTERM or SIGINT comes. Does not return.

    Raises ExcerptError if it cannot listen there.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it serves others than the terminal in which it was started
    with listen(file) as listener:

        async def serve(server: LineServer) -> None:
            async with await asyncio.start_unix_server(server.serve_stream, sock=listener):
                write_message(f"serving {vaults.all[0].name} at {file}")
                await asyncio.Event().wait()

        _run(vaults, log_crash, serve, partial(remove_socket, file))


def _run(
    vaults: ServedVaults,
    log_crash: LogCrash,
    serve: Callable[[LineServer], Awaitable[None]],
    clean_up: Callable[[], None] = lambda: None,
) -> None:
    """Serve until `serve` returns or a signal comes; then call `clean_up` and end the process with its children."""

    def end(*_: object) -> None:
        clean_up()
        vaults.end()
        os._exit(0)

    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as at a socket
            signal.signal(number, end)

    def log_failure(report: asyncio.Task[None]) -> None:
        if not report.cancelled() and (error := report.exception()) is not None:
            write_message(log_crash(error))  # answers go on without its events

    async def run() -> None:
        server = LineServer(vaults, log_crash)
        try:
            await server.open()
            reports = [
                asyncio.create_task(report(each))
                for each in vaults.all
                for report in (server.report_changes, server.report_progress)
            ]
            for report in reports:
                report.add_done_callback(log_failure)
            await serve(server)
        except Exception as error:
            write_message(log_crash(error))
        finally:
            end()  # asyncio would wait for the thread that reads stdin

    asyncio.run(run())


def write_message(sentence: str) -> None:
    """Print a sentence on stderr, if somebody reads it."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"excerpt: {visible_line(sentence)}\n")
        sys.stderr.flush()
