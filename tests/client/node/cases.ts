// Uses the TypeScript client and its examples against a running Pegboard; prints what came of it as JSON.
//     node cases.js ADDRESS KEY
import { dynamicTool, generateText, isStepCount, jsonSchema, type ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { type Options, Pegboard, PegboardError, Problem } from "pegboard-client";
import { selectEachStep } from "pegboard-client/ai-sdk";
import { answer } from "./readme-1.ts";
import { answer as answerByAiSdk } from "./readme-2.ts";

declare const process: { argv: [string, string, string, string] };
const [, , address, key] = process.argv;
const user = "alice";
const pegboard = new Pegboard(address, key, { timeout: 120 });
const with_ = (options: Options) =>
  new Pegboard(address, key, { timeout: 120, retries: { firstPause: 0 }, ...options });

/** Return the error's class, and what it says beside its text. */
async function refused(work: Promise<unknown>): Promise<unknown[]> {
  try {
    return ["nothing", await work];
  } catch (error) {
    if (!(error instanceof PegboardError)) throw error;
    const told = error instanceof Problem ? [error.status, error.field ?? null] : [];
    return [error.name, ...told, error.message.includes(key)];
  }
}

/** Return a `fetch` that loses the first answers after Pegboard gave them, and counts requests. */
function losing(losses: number) {
  const asked: string[] = [];
  const lossy: typeof fetch = async (input, init) => {
    asked.push(`${init?.method} ${new URL(String(input)).pathname}`);
    const response = await fetch(input, init);
    if (losses-- <= 0) return response;
    await response.arrayBuffer();
    throw new TypeError("the line went dead");
  };
  return { asked, fetch: lossy };
}

const never: typeof fetch = (_input, init) =>
  new Promise((_resolve, reject) => {
    const alive = setInterval(() => {}, 1000); // Node would end, since nothing else is open
    init?.signal?.addEventListener("abort", () => {
      clearInterval(alive);
      reject(init.signal?.reason);
    });
  });

/** Return a model that asks for the tool once, and then repeats what it was told. */
function scripted(name: string, text: string) {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: 1, reasoning: undefined },
  };
  const seen: { tools: string[]; instructions: boolean }[] = [];
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt, tools }) => {
      const names = (tools ?? []).map((tool) => tool.name);
      seen.push({ tools: names, instructions: prompt[0]?.role === "system" });
      const last = prompt.at(-1);
      if (last?.role !== "tool") {
        const call = { toolCallId: "1", toolName: name, input: JSON.stringify({ text }) };
        return {
          content: [{ type: "tool-call", ...call }],
          finishReason: { unified: "tool-calls", raw: undefined },
          usage,
          warnings: [],
        };
      }
      const told = last.content.find((part) => part.type === "tool-result");
      const output = told?.output.type === "text" ? told.output.value : "?";
      return {
        content: [{ type: "text", text: `Done: ${output}` }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: [],
      };
    },
  });
  return { model, seen };
}

async function callsOfReadme() {
  const message = "write a line to notes__echo";
  const ask = (args: Record<string, unknown>) => async () => ({ name: "notes__echo", args });
  return [
    await answer(message, ask({ text: "hello" })),
    (await answer(message, ask({ words: 1 }))).includes("words"),
  ];
}

async function calls() {
  const approved = await pegboard.execute("ledger__echo", { text: "a sum" }, { user, wait: 300, approvalWait: 300 });
  const waiting = await pegboard.execute("ledger__echo", { text: "more" }, { user });
  const cancelled = await pegboard.cancel(waiting.call_id);
  const lossy = losing(1);
  const once = await with_(lossy).execute("notes__echo", { text: "once" }, { user, wait: 300 });
  const again = { user, wait: 300, idempotencyKey: "the-same" };
  const first = await pegboard.execute("notes__echo", { text: "kept" }, again);
  const second = await pegboard.execute("notes__echo", { text: "kept" }, again);
  return {
    approved: [approved.status, approved.result],
    statuses: [waiting.status, cancelled.status, once.status],
    asked: lossy.asked.slice(0, 2),
    same: first.call_id === second.call_id,
    other: await refused(pegboard.execute("notes__echo", { text: "other" }, again)),
  };
}

async function turns() {
  const plan = await pegboard.plan("write a line to notes__echo", { user, max_tools: 1 });
  const turnId = plan.turn_id ?? "";
  const started = await pegboard.start(turnId);
  const reported = await pegboard.outcome(turnId, { taskSuccess: true });
  return {
    selected: plan.selected.map((each) => each.full_name),
    states: [started.state, reported.state, (await pegboard.turn(turnId)).state],
    twice: await refused(with_({ retries: { times: 0 } }).outcome(turnId)),
  };
}

async function reads() {
  const message = "write a line to notes__echo";
  const selection = await pegboard.select(message, { user, format: "openai" });
  const discovery = await pegboard.discover(message, { user });
  const page = await pegboard.capabilities({ user, query: "notes", limit: 5 });
  const one = await pegboard.capability("notes__echo", { user, detail: "full_schema" });
  const meta = await pegboard.meta("get_tool", { name: "notes__echo" }, { user });
  const metaTools = await pegboard.metaTools();
  return {
    selected: selection.selected[0]?.full_name,
    discovered: discovery.tier1.text.includes("notes__echo"),
    listed: page.items.map((each) => each.full_name),
    schema: one.input_schema?.["required"],
    meta: (meta.result as { name: string }).name,
    metaTools: metaTools.tools.some((tool) => tool.name === "execute_tool"),
  };
}

async function errors() {
  const nowhere = new Pegboard("http://127.0.0.1:9", key, { retries: { times: 0 } });
  const lossy = losing(1);
  return {
    key: await refused(new Pegboard(address, "pb_wrong").select("m", { user })),
    field: await refused(pegboard.select("m", { user, max_tools: -1 })),
    unknown: await refused(pegboard.capability("payroll__pay", { user })),
    nowhere: await refused(nowhere.select("m")),
    slow: await refused(with_({ timeout: 0.01, fetch: never }).select("m")),
    lostOutcome: await refused(with_(lossy).outcome(crypto.randomUUID())),
    askedOnce: lossy.asked.length,
    printed: JSON.stringify(pegboard) + String(pegboard),
    blank: await (async () => new Pegboard(address, "pb_ü").toString())().catch(String),
  };
}

async function aiSdk() {
  const message = "write a line to notes__echo";
  const { model, seen } = scripted("notes__echo", "by the SDK");
  const text = await answerByAiSdk(model, message);
  const broken = new MockLanguageModelV4({
    doGenerate: async () => {
      throw new Error("The model is ill.");
    },
  });
  const failure = await answerByAiSdk(broken, message).catch((error: Error) => error.message);

  const tools: ToolSet = {};
  for (const name of ["notes__echo", "ledger__echo", "payroll__pay", "ask_user"]) {
    const inputSchema = jsonSchema<unknown>({ type: "object" });
    tools[name] = dynamicTool({ inputSchema, execute: async () => `${name} of their own` });
  }
  const own = scripted("notes__echo", "hello");
  const { text: ownText } = await generateText({
    model: own.model,
    prompt: message,
    tools,
    stopWhen: isStepCount(5),
    prepareStep: selectEachStep(pegboard, { user, max_tools: 1, always: ["ask_user"] }),
  });
  return { text, seen, failure, ownText, ownSeen: own.seen.map((each) => each.tools) };
}

console.log(
  JSON.stringify({
    calls: await calls(),
    readme: await callsOfReadme(),
    turns: await turns(),
    reads: await reads(),
    errors: await errors(),
    aiSdk: await aiSdk(),
  }),
);
