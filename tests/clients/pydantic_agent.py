"""A Pydantic AI agent with a scripted model instead of an LLM, run in its own environment.

The model calls the given tools. The script prints their results by tool name, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys

from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.test import TestModel


async def main() -> None:
    server = json.loads(sys.argv[1])
    if "url" in server:
        transport = StreamableHttpTransport(server["url"], headers={"Authorization": f"Bearer {server['token']}"})
    else:
        command, *words = server["command"]
        transport = StdioTransport(command=command, args=words, env=server["environment"])
    agent = Agent(TestModel(call_tools=sys.argv[2:]), toolsets=[MCPToolset(transport, init_timeout=240)])
    async with agent:
        run = await agent.run("What do the notes say?")
    answers = {
        part.tool_name: str(part.content)
        for message in run.all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    sys.stdout.write(json.dumps(answers) + "\n")


asyncio.run(main())
