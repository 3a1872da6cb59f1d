/** Tool calls of a model: mapped to Pegboard's calls, and results to text for the model. */
import type { Call, MetaAnswer, Offer } from "./answers.ts";
import { InvalidInput, type NotFound } from "./problems.ts";

/** Arguments of a call, by name. */
export type Arguments = Record<string, unknown>;

/** A capability or meta-tool to call, as the model meant it. */
export interface ToolCall {
  name: string;
  args: Arguments;
  isMeta: boolean;
}

/**
 * The result of a tool call, with `text` for the model.
 *
 * `call` is set for a capability. If its status is `client_executes`, the application must carry the
 * call out.
 */
export interface Ran {
  text: string;
  isError: boolean;
  call?: Call;
}

// In these modes the model has meta-tools in place of the tools themselves.
const META = new Set<string>(["compact_direct", "discovery"]);
const FAILED = new Set<string>(["failed", "unknown", "rejected", "expired", "cancelled"]);

/** Resolve the name and arguments that a model has taken from `tools`. */
export function resolveToolCall(offer: Offer, name: string, given: Arguments): ToolCall {
  let args = given;
  const renamed = Object.hasOwn(offer.renamed, name) ? offer.renamed[name] : undefined;
  if (renamed) {
    const originals = new Map(Object.entries(renamed.arguments));
    args = Object.fromEntries(
      Object.entries(given).map(([key, value]) => [originals.get(key) ?? key, value]),
    );
    name = renamed.full_name;
  }
  if (!META.has(offer.mode.mode)) return { name, args, isMeta: name === "discover_capabilities" };
  if (name !== "execute_tool") return { name, args, isMeta: true };
  // The API's call in its place: it can wait, and runs once. Older releases called them `params`.
  const inner = (args["arguments"] ?? args["params"] ?? {}) as Arguments;
  return { name: String(args["name"] ?? ""), args: inner, isMeta: false };
}

/** Convert a call for the model. */
export function ranOfCall(call: Call): Ran {
  const failed = FAILED.has(call.status) || Boolean(call.result?.["is_error"]);
  return { text: textOf(call), isError: failed, call };
}

/** Convert a meta-tool's answer, which goes to the model unchanged. */
export function ranOfMeta(answer: MetaAnswer): Ran {
  return { text: JSON.stringify(answer.result), isError: false };
}

/** Convert the model's own mistake, so that it can try again; throw other problems. */
export function ranOfMistake(problem: InvalidInput | NotFound): Ran {
  if (problem instanceof InvalidInput && !problem.field?.startsWith("arguments")) throw problem;
  return { text: problem.detail, isError: true };
}

/** Return a call as text: a skill's instructions, the result's texts, or the state. */
export function textOf(call: Call): string {
  if (call.content !== undefined) return call.content;
  if (!call.result) return call.message + (call.note ? ` They said: ${call.note}` : "");
  const blocks = call.result["content"];
  const texts = Array.isArray(blocks)
    ? blocks.filter((block) => block.type === "text").map((block) => String(block.text))
    : [];
  return texts.length ? texts.join("\n") : JSON.stringify(call.result);
}
