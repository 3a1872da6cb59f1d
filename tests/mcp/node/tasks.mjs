// Drives tasks with the client from npm; prints what it was told as JSON.
//     node tasks.mjs ADDRESS KEY
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const client = new Client({ name: "test", version: "1.0.0" }, { capabilities: { tasks: {} } });
const requestInit = { headers: { Authorization: `Bearer ${process.argv[3]}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2]), { requestInit }));
const tasks = client.experimental.tasks;
const { tools } = await client.listTools();
const messages = [];
const slow = { name: "test_slow", arguments: { seconds: 1 } };
for await (const one of tasks.callToolStream(slow, undefined, { task: { ttl: 60000 } })) {
  messages.push(one);
}
let begun;
const long = { name: "test_slow", arguments: { seconds: 60 } };
for await (const one of tasks.callToolStream(long, undefined, { task: {} })) {
  if (one.type !== "taskCreated") continue;
  begun = one.task;
  break;
}
const cancelled = await tasks.cancelTask(begun.taskId);
console.log(
  JSON.stringify({
    capability: client.getServerCapabilities().tasks,
    support: tools.map((tool) => [tool.name, tool.execution?.taskSupport]),
    messages,
    cancelled,
    listed: (await tasks.listTasks()).tasks,
  }),
);
await client.close();
