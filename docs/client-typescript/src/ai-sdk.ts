/** Pegboard's tools for `generateText`, `streamText` and agents of the AI SDK. */
import {
  dynamicTool,
  isStepCount,
  jsonSchema,
  type JSONSchema7,
  type ModelMessage,
  type StopCondition,
  type ToolSet,
} from "ai";
import type { Arguments, Caller, Pegboard, Plan, SelectOptions, Waits } from "./client.ts";

interface OfferedTool {
  function: { name: string; description?: string; parameters?: JSONSchema7 };
}

/** The settings of a turn, to spread into `generateText`, and what reports its outcome. */
export interface Turn {
  settings: { instructions: string; tools: ToolSet; stopWhen: StopCondition<ToolSet> };
  plan: Plan;
  /** Report the outcome once the answer is there. Pegboard infers it from the calls unless it failed. */
  report(failed?: boolean): Promise<void>;
}

/**
 * Plan a turn for the message: the tools that fit it, which Pegboard carries out.
 *
 * A call waits `approvalWait` seconds at most for a person's approval.
 */
export async function toolsForTurn(
  pegboard: Pegboard,
  message: string,
  options: Caller & Waits & { mostSteps?: number; history?: string[] } = {},
): Promise<Turn> {
  const { mostSteps = 10, history, wait = 60, approvalWait = 0, ...caller } = options;
  const asked = history === undefined ? {} : { history };
  const plan = await pegboard.plan(message, { format: "openai", ...asked, ...caller });
  const run = async (name: string, args: unknown) => {
    const waits = { wait, approvalWait };
    return (await pegboard.runTool(plan, name, args as Arguments, { ...waits, ...caller })).text;
  };
  const tools: ToolSet = {};
  for (const offered of (plan.tools ?? []) as unknown as OfferedTool[]) {
    const { name, description = "", parameters = { type: "object", properties: {} } } = offered.function;
    const inputSchema = jsonSchema<unknown>(parameters);
    tools[name] = dynamicTool({ description, inputSchema, execute: (args) => run(name, args) });
  }
  return {
    settings: { instructions: plan.prompt, tools, stopWhen: isStepCount(mostSteps) },
    plan,
    report: async (failed = false) => {
      if (plan.turn_id) await pegboard.outcome(plan.turn_id, failed ? { status: "failed" } : {});
    },
  };
}

/** Run `work` with the settings of a turn, and report the turn's outcome afterwards. */
export async function withTools<Result>(
  pegboard: Pegboard,
  message: string,
  options: Parameters<typeof toolsForTurn>[2],
  work: (settings: Turn["settings"]) => Promise<Result>,
): Promise<Result> {
  const turn = await toolsForTurn(pegboard, message, options);
  let result: Result;
  try {
    result = await work(turn.settings);
  } catch (error) {
    await turn.report(true);
    throw error;
  }
  await turn.report();
  return result;
}

/**
 * Return a `prepareStep` for an application with many tools of its own, called like Pegboard's: each step
 * has those that fit the last message of the user, and those in `always`.
 *
 * The choice is made again when the user's last message changes, so that a message that arrives while
 * the agent works is heard.
 */
export function selectEachStep(
  pegboard: Pegboard,
  options: SelectOptions & { always?: string[] } = {},
): (step: { messages: ModelMessage[] }) => Promise<{ activeTools: string[] }> {
  const { always = [], ...asked } = options;
  let chosen = { message: "", names: [] as string[] };
  return async ({ messages }) => {
    const message = lastMessage(messages);
    if (message !== chosen.message) {
      const { selected } = await pegboard.select(message, { format: "none", ...asked });
      chosen = { message, names: selected.map((each) => each.full_name) };
    }
    return { activeTools: [...always, ...chosen.names] };
  };
}

function lastMessage(messages: ModelMessage[]): string {
  const content = messages.findLast((each) => each.role === "user")?.content ?? "";
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n").trim();
}
