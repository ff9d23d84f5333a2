"""The socket at which an MCP server answers the prompt hook, so that no prompt waits for a search engine to start.

Of the servers of a vault, the first one listens; when it ends, another one takes over.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from excerpt.base.errors import ExcerptError
from excerpt.servers.line_server.client import prompt_socket_file
from excerpt.servers.line_server.connection import LogCrash
from excerpt.servers.line_server.local_socket import SocketTakenError, is_socket, is_taken, listen
from excerpt.servers.line_server.methods import METHODS
from excerpt.servers.line_server.server import LineServer, write_message
from excerpt.servers.prompts import load_for_prompts
from excerpt.servers.served_vaults import ServedVault, ServedVaults

_LOOK_SECONDS = 2.0  # between two looks whether the socket is there, or is free


async def serve_prompts(vaults: ServedVaults, log_crash: LogCrash) -> None:
    """Answer the prompt hook from these vaults until this coroutine is cancelled. Does nothing without Unix sockets.

    A failure ends the listening, not the process.
    """
    if not hasattr(socket, "AF_UNIX"):
        return
    server = LineServer(vaults, log_crash, {"passages": METHODS["passages"]})
    try:
        async with asyncio.TaskGroup() as tasks:
            for served in vaults.all:
                tasks.create_task(_keep_serving(server, served))
    except* Exception as errors:
        write_message(log_crash(errors))


async def _keep_serving(server: LineServer, served: ServedVault) -> None:
    """Listen for one vault whenever no other process does. A failure is printed once, and tried again."""
    file, printed = prompt_socket_file(served.vault.address or served.vault.folder), ""
    while True:
        try:
            if not is_taken(file):
                with listen(file) as listener:
                    bound = file.stat()
                    serving = await asyncio.start_unix_server(server.serve_stream, sock=listener)
                    try:
                        await asyncio.sleep(_LOOK_SECONDS)  # an agent connects first
                        with suppress(ExcerptError):
                            await served.ask(lambda snapshot: load_for_prompts(snapshot.vault))
                        while is_socket(file, bound):
                            await asyncio.sleep(_LOOK_SECONDS)
                    finally:
                        serving.close()
        except (SocketTakenError, OSError):
            pass  # another process was faster, or has removed the socket
        except ExcerptError as error:
            if error.message != printed:
                printed = error.message
                write_message(f"The prompt hook cannot ask this process: {printed}")
        await asyncio.sleep(_LOOK_SECONDS)
