// The TypeScript SDK, version 2, as a driver: see driven_client.py.

import { createInterface } from "node:readline";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const server = JSON.parse(process.argv[2]);
const say = (told) => process.stdout.write(JSON.stringify(told) + "\n");

const transport = server.url
  ? new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { Authorization: `Bearer ${server.token}` } },
    })
  : new StdioClientTransport({ command: server.command[0], args: server.command.slice(1), env: server.environment });
const client = new Client(
  { name: "typescript-v2", version: "2" },
  { versionNegotiation: { mode: server.generation === "handshake" ? "legacy" : "auto" } },
);
await client.connect(transport);
const { tools } = await client.listTools();
say({
  protocol: client.getNegotiatedProtocolVersion(),
  server: client.getServerVersion()?.name ?? "",
  instructions: client.getInstructions() ?? "",
  tools: tools.map((tool) => tool.name),
});
for await (const line of createInterface({ input: process.stdin })) {
  const call = JSON.parse(line);
  const result = await client.callTool({ name: call.tool, arguments: call.arguments });
  const texts = result.content.filter((part) => part.type === "text").map((part) => part.text);
  say({ text: texts.join("\n"), error: result.isError ?? false, data: result.structuredContent ?? null });
}
await client.close();
