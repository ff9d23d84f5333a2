"""Driver for the client of fastmcp, run in its own environment: see driven_client.py."""

from __future__ import annotations

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.types import TextContent


async def main() -> None:
    server = json.loads(sys.argv[1])
    if "url" in server:
        transport = StreamableHttpTransport(server["url"], headers={"Authorization": f"Bearer {server['token']}"})
    else:
        command, *words = server["command"]
        transport = StdioTransport(command=command, args=words, env=server["environment"], keep_alive=False)
    async with Client(transport) as client:
        hello = client.initialize_result
        told = {
            "protocol": hello.protocolVersion,
            "server": hello.serverInfo.name,
            "instructions": hello.instructions or "",
            "tools": [tool.name for tool in await client.list_tools()],
        }
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        while line := await asyncio.to_thread(sys.stdin.readline):
            call = json.loads(line)
            result = await client.call_tool(call["tool"], call["arguments"], raise_on_error=False)
            text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
            answer = {"text": text, "error": result.is_error, "data": result.structured_content}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


asyncio.run(main())
