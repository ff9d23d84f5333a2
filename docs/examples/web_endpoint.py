"""Answer over HTTP, as for a bot: `TOKEN=… python web_endpoint.py ~/notes`, then GET /?q=sync+conflicts.

The answer is JSON: a pack for the prompt, and the hits. Only programs of this machine that know the token get one.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from urllib.parse import parse_qs, urlsplit

import excerpt.aio

PORT = 8017


async def answer(vault: excerpt.aio.AsyncVault, question: str) -> dict[str, object]:
    result = await vault.search(question, literal=True, limit=5)
    packed = await vault.pack(question, literal=True, budget=1000)
    hits = [{"path": hit.path, "line": hit.line_start, "tags": hit.tags, "score": hit.score} for hit in result]
    return {"confidence": result.confidence, "pack": packed.text, "hits": hits}


async def serve(folder: str, token: str, port: int = PORT) -> None:
    async with excerpt.aio.open(folder) as vault:
        await vault.load()

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            request = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            if f"\r\nAuthorization: Bearer {token}\r\n" in request:
                question = parse_qs(urlsplit(request.split(" ")[1]).query).get("q", [""])[0]
                body = json.dumps(await answer(vault, question))
                writer.write(f"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{body}".encode())
            else:
                writer.write(b"HTTP/1.0 401 Unauthorized\r\n\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", port)
        async with server:
            await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], os.environ["TOKEN"]))
