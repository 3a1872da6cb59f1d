// The TypeScript SDKs: `1|2 ADDRESS key|oauth MODE TOOL ARGUMENTS`. Run beside their node_modules.
import { spawn } from "node:child_process";
import { createServer } from "node:http";

const [sdk, address, way, mode, tool, given] = process.argv.slice(2);
const REDIRECT = "http://localhost:3031/callback";
const { Client, StreamableHTTPClientTransport } =
  sdk === "2"
    ? await import("@modelcontextprotocol/client")
    : {
        ...(await import("@modelcontextprotocol/sdk/client/index.js")),
        ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
      };

let back;
const code = new Promise((resolve) => (back = resolve));
const kept = {};
const authProvider = {
  redirectUrl: REDIRECT,
  clientMetadata: { client_name: `TypeScript SDK ${sdk}`, redirect_uris: [REDIRECT] },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  redirectToAuthorization: (url) => void spawn("xdg-open", [url.href]),
};
const headers = { Authorization: `Bearer ${process.env.PEGBOARD_KEY}` };
const options = way === "oauth" ? { authProvider } : { requestInit: { headers } };

function open() {
  const transport = new StreamableHTTPClientTransport(new URL(address), options);
  const client = new Client({ name: "real", version: "1" }, { versionNegotiation: { mode } });
  return { transport, client, connected: client.connect(transport) };
}

const server = createServer((request, response) => {
  back(new URL(request.url, REDIRECT).searchParams);
  response.end("ok");
}).listen(3031);
let { transport, client, connected } = open();
try {
  await connected;
} catch (refused) {
  if (way !== "oauth") throw refused;
  const told = await code;
  await transport.finishAuth(sdk === "2" ? told : told.get("code"));
  ({ client, connected } = open());
  await connected;
}
const tools = (await client.listTools()).tools.map((one) => one.name);
const found = await client.callTool({ name: "search_tools", arguments: { query: tool } });
const done = await client.callTool({ name: tool, arguments: JSON.parse(given) });
const ok =
  tools.includes(tool) && JSON.stringify(found.structuredContent).includes(tool) && !done.isError;
const version = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
console.log(JSON.stringify({ version, ok }));
await client.close();
server.close();
