/** Client of Pegboard for chat backends: which tools fit a message, calling them, the outcome. */
import type {
  Call,
  Caller,
  CapabilityPage,
  DetailOptions,
  DiscoverOptions,
  Discovery,
  Filters,
  MetaAnswer,
  MetaTools,
  Offer,
  OneCapability,
  OutcomeFields,
  Plan,
  PlanOptions,
  Reported,
  Selection,
  SelectOptions,
  Turn,
} from "./answers.ts";
import { Conflict, InvalidInput, NotFound } from "./problems.ts";
import {
  type Arguments,
  type Ran,
  ranOfCall,
  ranOfMeta,
  ranOfMistake,
  resolveToolCall,
} from "./tools.ts";
import { type Options, Transport } from "./transport.ts";

export type * from "./answers.ts";
export * from "./problems.ts";
export { type Arguments, type Ran, textOf } from "./tools.ts";
export type { Options, Retries } from "./transport.ts";

/** Seconds to wait for a call that runs, and for a person who must approve it. */
export interface Waits {
  wait?: number;
  approvalWait?: number;
}

export interface ExecuteOptions extends Caller, Waits {
  turnId?: string | null;
  idempotencyKey?: string;
}

// Time that Pegboard may wait before it answers, in addition to the client's timeout.
const CALL_WAIT_SECONDS = 60;
// The longest wait of one request, so that proxies do not time out first.
const LONGEST_WAIT_SECONDS = 20;
const CHANGING_META_TOOLS = new Set(["execute_tool", "mcp__call_tool", "mcp__register_server"]);
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/**
 * A client of one Pegboard with one key.
 *
 * Each method takes `user`, `group` and `space` of the caller; a key that acts for no others needs none
 * of them. Methods throw errors of `PegboardError`.
 */
export class Pegboard {
  readonly #transport: Transport;

  constructor(baseUrl: string, apiKey: string, options: Options = {}) {
    this.#transport = new Transport(baseUrl, apiKey, options);
  }

  /** Select the caller's capabilities that match the message. */
  select(message: string, options: SelectOptions = {}): Promise<Selection> {
    return this.#post("/select", { message, ...options }, { repeatable: true });
  }

  /** Plan a turn: select capabilities, or choose a fallback. */
  plan(message: string, options: PlanOptions = {}): Promise<Plan> {
    return this.#post("/plan", { message, ...options }, { repeatable: true });
  }

  /** Select in three tiers of text. */
  discover(message: string, options: DiscoverOptions = {}): Promise<Discovery> {
    return this.#post("/discover", { message, ...options }, { repeatable: true });
  }

  /**
   * Call a capability once, and wait up to `wait` seconds for its result, and up to `approvalWait`
   * seconds for its approval. A timeout throws nothing: see the status.
   */
  async execute(name: string, args: Arguments = {}, options: ExecuteOptions = {}): Promise<Call> {
    const { turnId = null, idempotencyKey = crypto.randomUUID(), wait, approvalWait, ...caller } = options;
    const body = { name, arguments: args, turn_id: turnId, ...caller };
    const once = { headers: { "Idempotency-Key": idempotencyKey }, repeatable: true };
    let call: Call;
    try {
      call = await this.#post("/execute", body, { ...once, waitSeconds: CALL_WAIT_SECONDS });
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      call = await this.call(callUnderWay(error));
    }
    return this.waitFor(call, { wait, approvalWait });
  }

  /** Wait until the call ends or the time is up; return its latest state. */
  async waitFor(
    call: Call,
    { wait = 60, approvalWait = 0 }: { [Name in keyof Waits]: Waits[Name] | undefined } = {},
  ): Promise<Call> {
    const limits = new Map<string, number>([["running", wait], ["approval_needed", approvalWait]]);
    let since = performance.now();
    for (;;) {
      const waited = (performance.now() - since) / 1000;
      const left = Math.min((limits.get(call.status) ?? 0) - waited, LONGEST_WAIT_SECONDS);
      if (left <= 0) return call;
      const latest = await this.call(call.call_id, { wait: left });
      if (latest.status !== call.status) since = performance.now();
      call = latest;
    }
  }

  /** Return a call; with `wait`, once it ends or after so many seconds (60 at most). */
  call(callId: string, { wait = 0 }: { wait?: number } = {}): Promise<Call> {
    return this.#get(`/calls/${encodeURIComponent(callId)}`, { wait }, wait);
  }

  /** Cancel a call. Throws `Conflict` if it has started. */
  cancel(callId: string): Promise<Call> {
    return this.#post(`/calls/${encodeURIComponent(callId)}/cancel`, {});
  }

  /**
   * Run a tool that a model calls by its name in the plan or selection. Mistakes of the model are
   * returned to it and not thrown.
   */
  async runTool(
    offer: Offer,
    name: string,
    args: Arguments,
    options: Caller & Waits = {},
  ): Promise<Ran> {
    const asked = resolveToolCall(offer, name, args);
    const { wait: _wait, approvalWait: _approvalWait, ...caller } = options;
    const turnId = offer.turn_id;
    try {
      if (asked.isMeta) {
        return ranOfMeta(await this.meta(asked.name, asked.args, { turnId, ...caller }));
      }
      return ranOfCall(await this.execute(asked.name, asked.args, { turnId, ...options }));
    } catch (error) {
      if (error instanceof InvalidInput || error instanceof NotFound) return ranOfMistake(error);
      throw error;
    }
  }

  /** Return a turn. */
  turn(turnId: string): Promise<Turn> {
    return this.#get(`/turns/${encodeURIComponent(turnId)}`);
  }

  /** Mark a turn as started; optional. */
  start(turnId: string): Promise<Turn> {
    return this.#post(`/turns/${encodeURIComponent(turnId)}/start`, {}, { repeatable: true });
  }

  /** Report a turn's outcome, once. Pegboard infers missing fields from the calls. */
  outcome(turnId: string, fields: OutcomeFields = {}): Promise<Reported> {
    return this.#post(`/turns/${encodeURIComponent(turnId)}/outcome`, fields);
  }

  /** Return a page of the caller's capabilities. */
  capabilities(filters: Filters = {}): Promise<CapabilityPage> {
    return this.#get("/capabilities", filters);
  }

  /** Return a capability. Throws `NotFound` alike for unknown names and for other people's. */
  capability(fullName: string, options: DetailOptions = {}): Promise<OneCapability> {
    return this.#get(`/capabilities/${encodeURIComponent(fullName)}`, options);
  }

  /** Return the meta-tools, which Pegboard answers itself. */
  metaTools(): Promise<MetaTools> {
    return this.#get("/meta");
  }

  /** Call a meta-tool. */
  meta(
    name: string,
    args: Arguments = {},
    options: Caller & { turnId?: string | null } = {},
  ): Promise<MetaAnswer> {
    const { turnId = null, ...caller } = options;
    const repeatable = !CHANGING_META_TOOLS.has(name);
    const body = { arguments: args, turn_id: turnId, ...caller };
    return this.#post(`/meta/${encodeURIComponent(name)}`, body, {
      repeatable,
      waitSeconds: repeatable ? 0 : CALL_WAIT_SECONDS,
    });
  }

  #get<Answer>(path: string, query: object = {}, waitSeconds = 0): Promise<Answer> {
    return this.#transport.send({ method: "GET", path, query, waitSeconds, repeatable: true });
  }

  #post<Answer>(
    path: string,
    body: object,
    more: { headers?: Record<string, string>; repeatable?: boolean; waitSeconds?: number } = {},
  ): Promise<Answer> {
    return this.#transport.send({ method: "POST", path, body, ...more });
  }
}

/** Return the call that uses the idempotency key; throw the conflict if there is none. */
function callUnderWay(conflict: Conflict): string {
  const found = UUID.exec(conflict.detail);
  if (!found) throw conflict;
  return found[0];
}
