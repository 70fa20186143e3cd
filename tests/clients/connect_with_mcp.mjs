// The official clients of MCP in TypeScript, which get a key by their own OAuth. The package is the first argument: version 1 of the
// SDK in its newest release, its version of revision 2025-03-26, or version 2. CATALOG_URL has the address of the service, and
// DOCUMENT that of the client's metadata document, if it has one.

import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const name = process.argv[2];
const both = name === "@modelcontextprotocol/client";
const { Client } = await import(both ? name : `${name}/client/index.js`);
const { StreamableHTTPClientTransport } = await import(both ? name : `${name}/client/streamableHttp.js`);
const { UnauthorizedError } = await import(both ? name : `${name}/client/auth.js`);

const returns = [];
const waiting = [];
const server = createServer((request, response) => {
  const address = new URL(request.url, "http://127.0.0.1");
  response.end("Close this window.");
  if (address.pathname !== "/callback") return;
  const waiter = waiting.shift();
  if (waiter) waiter(address.searchParams);
  else returns.push(address.searchParams);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const redirectUrl = `http://127.0.0.1:${server.address().port}/callback`;

const returned = async () => {
  const answer = returns.shift() ?? (await new Promise((resolve) => waiting.push(resolve)));
  if (answer.has("error")) throw new Error(`${answer.get("error")}: ${answer.get("error_description")}`);
  return answer;
};

const kept = {};
const provider = {
  redirectUrl,
  clientMetadataUrl: process.env.DOCUMENT,
  clientMetadata: {
    client_name: process.env.CLIENT_NAME,
    redirect_uris: [redirectUrl],
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    ...(process.env.SCOPE ? { scope: process.env.SCOPE } : {}),
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  state: () => (kept.state = crypto.randomUUID()),
  invalidateCredentials: (what) => {
    if (what === "all" || what === "tokens") delete kept.tokens;
    if (what === "all" || what === "client") delete kept.client;
  },
  redirectToAuthorization: (url) => void spawn(process.env.BROWSER, [String(url)], { stdio: "ignore" }),
};

const transport = new StreamableHTTPClientTransport(new URL(`${process.env.CATALOG_URL}/mcp`), { authProvider: provider });
const client = new Client({ name: "agent", version: "1.0.0" });
await client.connect(transport);

const called = async (tool) => {
  try {
    return await client.callTool({ name: tool, arguments: {} });
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const answer = await returned();
    if (answer.get("state") !== kept.state) throw new Error("the state differs");
    await transport.finishAuth(both ? answer : answer.get("code"));
    return await client.callTool({ name: tool, arguments: {} });
  }
};

for await (const line of createInterface({ input: process.stdin })) {
  const { tool } = JSON.parse(line);
  let answer;
  try {
    answer = tool === null ? { client_id: kept.client.client_id, ...kept.tokens } : { result: (await called(tool)).structuredContent };
  } catch (error) {
    answer = { error: `${error.name}: ${error.message}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
