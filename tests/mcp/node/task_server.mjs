// A server of npm's SDK whose tools can be called as tasks only, over standard streams.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks";

const taskStore = new InMemoryTaskStore();
const capabilities = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
const server = new McpServer({ name: "tasks", version: "1.0.0" }, { capabilities, taskStore });
const begun = [];

function register(name, work) {
  server.experimental.tasks.registerToolTask(
    name,
    { description: name, execution: { taskSupport: "required" } },
    {
      async createTask(extra) {
        const task = await extra.taskStore.createTask({ ttl: 60000, pollInterval: 10 });
        begun.push(task.taskId);
        work(extra.taskStore, task.taskId);
        return { task };
      },
      getTask: (extra) => extra.taskStore.getTask(extra.taskId),
      getTaskResult: (extra) => extra.taskStore.getTaskResult(extra.taskId),
    },
  );
}

const text = (words) => ({ content: [{ type: "text", text: words }] });
register("compute", (store, id) =>
  setTimeout(() => store.storeTaskResult(id, "completed", text("computed")), 50),
);
register("fail", (store, id) =>
  setTimeout(() => store.storeTaskResult(id, "failed", { ...text("failed"), isError: true }), 50),
);
register("never", () => {});
server.registerTool("statuses", { description: "statuses" }, async () => {
  const found = await Promise.all(begun.map((id) => taskStore.getTask(id)));
  return text(found.map((task) => task.status).join(" "));
});
await server.connect(new StdioServerTransport());
