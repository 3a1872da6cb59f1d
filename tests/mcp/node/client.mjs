// Drives an MCP server with the client from npm; prints what it was told as JSON.
//     node client.mjs ADDRESS KEY
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [address, key] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1.0.0" });
const heard = [];
client.setNotificationHandler(ToolListChangedNotificationSchema, ({ method }) => {
  heard.push(method);
});
const headers = { Authorization: `Bearer ${key}` };
await client.connect(
  new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } }),
);
const call = (name, args) => client.callTool({ name, arguments: args });
console.log(
  JSON.stringify({
    server: client.getServerVersion().name,
    tools: (await client.listTools()).tools.map((tool) => tool.name),
    found: await call("get_tool", { name: "gmail__send_email" }),
    foreign: await call("get_tool", { name: "payroll__pay" }),
    executed: await call("execute_tool", { name: "gmail__send_email", arguments: { to: "bob" } }),
    searched: await call("search_tools", { query: "merge code" }),
    again: (await client.listTools()).tools.map((tool) => tool.name),
    called: await call("execute_tool", { name: "hub__merge", arguments: {} }),
    direct: await call("hub__merge", {}),
    heard,
  }),
);
await client.close();
