"""Driver for the official Python SDK: see driven_client.py."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent


async def main() -> None:
    server = json.loads(sys.argv[1])
    mode = "legacy" if server["generation"] == "handshake" else "auto"
    async with AsyncExitStack() as stack:
        if "url" in server:
            headers = {"Authorization": f"Bearer {server['token']}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=240))
            client = Client(streamable_http_client(server["url"], http_client=http), mode=mode)
        else:
            command, *words = server["command"]
            client = Client(StdioServerParameters(command=command, args=words, env=server["environment"]), mode=mode)
        await stack.enter_async_context(client)
        told = {
            "protocol": client.protocol_version,
            "server": client.server_info.name if client.server_info else "",
            "instructions": client.instructions or "",
            "tools": [tool.name for tool in (await client.list_tools()).tools],
        }
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        while line := await asyncio.to_thread(sys.stdin.readline):
            call = json.loads(line)
            result = await client.call_tool(call["tool"], call["arguments"])
            text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
            answer = {"text": text, "error": result.is_error, "data": result.structured_content}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


asyncio.run(main())
