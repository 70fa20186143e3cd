// The official client of MCP in TypeScript as it was for revision 2025-03-26, used as an agent. `make clients` runs it with CATALOG_URL
// and CATALOG_KEY, the key of an account.

import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { LATEST_PROTOCOL_VERSION } from "@modelcontextprotocol/sdk/types.js";

assert.equal(LATEST_PROTOCOL_VERSION, "2025-03-26");

const calls = {
  search_use_cases: { q: "invoice", limit: 3 },
  search_bots: { limit: 2 },
  list_categories: {},
  list_slot_weeks: { weeks: 2 },
  list_bookings: {},
  get_usage: {},
};
const headers = { "X-Request-Id": "with-old-mcp", Authorization: `Bearer ${process.env.CATALOG_KEY}` };

for (const address of ["/mcp", "/mcp/"]) {
  const client = new Client({ name: "agent", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(process.env.CATALOG_URL + address), { requestInit: { headers } }));
  assert.equal(client.getServerVersion().name, "catalog-service");
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  for (const [name, given] of Object.entries(calls)) {
    assert.ok(names.includes(name), name);
    const result = await client.callTool({ name, arguments: given });
    assert.ok(!result.isError, JSON.stringify(result));
  }
  assert.equal((await client.callTool({ name: "get_bot", arguments: { slug: "no-such-bot" } })).isError, true);
  await client.ping();
  await client.close();
}
