/**
 * Types of Pegboard's answers, and of what it is asked: JSON as it comes. New fields break nobody.
 *
 * Generated from the API's OpenAPI description: `python -m tests.docs`.
 */

export type Access = "runs" | "asks first";
export type Blank = "";
export type CallStatus = "completed" | "client_executes" | "approval_needed" | "running" | "failed" | "unknown" | "rejected" | "expired" | "cancelled";
export type Cause = "target" | "no_target" | "no_message" | "not_asked_for" | "private_outside" | "passed_on" | "dictated" | "composed_url";
export type Detail = "name_only" | "name_description" | "micro_schema" | "compact_schema" | "full_schema";
export type EffectFlags = "reaches_outside" | "returns_foreign_text" | "reads_private_data";
export type FailurePolicy = "fail_open" | "fail_closed";
export type Fit = "fits" | "nothing_fits" | "needs_clarification" | "small_talk";
export type FlowMode = "off" | "advise" | "ask" | "refuse";
export type FlowSource = "user" | "admin" | "trusted_tool" | "named_record" | "this_turn" | "read" | "model";
export type Format = "anthropic" | "gemini" | "mcp" | "mistral" | "openai" | "openai_responses" | "none";
export type HelpOfferKind = "requestable" | "listing" | "not_working" | "discovery" | "request";
export type InjectionMode = "selected" | "direct" | "compact_direct" | "discovery";
export type Kind = "tool" | "skill" | "extension" | "channel" | "voice" | "emergent-tool";
export type MetaToolScope = "discover" | "execute";
export type OutcomeScope = "space" | "group" | "global" | "application";
export type Status = "success" | "partial" | "failed";
export type QuestionKind = "elicitation" | "sampling" | "roots";
export type QuestionState = "asked" | "accepted" | "declined" | "cancelled" | "answered" | "failed" | "unanswered" | "withheld";
export type Readiness = "ready" | "asks_first" | "needs_you" | "needs_admin" | "failing" | "described_only";
export type SchemaLevel = "full_schema" | "compact_schema" | "micro_schema" | "parameters" | "none";
export type SelectInModeRequestMode = "selected" | "direct" | "compact_direct" | "discovery" | "auto";
export type SelectionMode = "discovered" | "all";
export type Severity = "warning" | "critical";
export type SideEffect = "read" | "write" | "delete" | "unknown";
export type Source = "reported" | "worked_out";
export type TurnState = "planned" | "executing" | "degraded" | "recovered" | "completed" | "errored";
export type Verdict = "runs" | "asks";
export type WantedKind = "any" | "all" | "tool" | "skill" | "extension" | "channel" | "voice" | "emergent-tool";

/** A capability looked up by its name. */
export interface OneCapability {
  id: string;
  /** The name that a model calls. */
  full_name: string;
  kind?: Kind;
  integration?: string;
  display_name?: string;
  /** At most 60 characters below `compact_schema`. */
  description?: string;
  category?: string;
  side_effect?: SideEffect;
  /** `reaches_outside`: it sends, posts, pays or publishes. `returns_foreign_text`: it returns text that strangers wrote. `reads_private_data`: it reads data of the user or organisation. */
  effect_flags?: EffectFlags[];
  /** Confidence in the side effect. */
  effect_confidence?: number;
  /** Reasons for the side effect and for each flag. */
  effect_evidence?: Record<string, unknown>;
  access?: Access;
  /** What a call would do now. */
  readiness?: Readiness;
  /** Why it is not ready, or empty. */
  readiness_reason?: string;
  /** The path of the page where the caller can mend it, or empty. */
  mend_path?: string;
  tags?: string[];
  core?: boolean;
  pinned?: boolean;
  /** Estimated tokens of this entry as it is here. */
  tokens: number;
  action?: string;
  /** The arguments in Pegboard's short notation. */
  micro_schema?: Record<string, unknown> | null;
  /** A JSON schema; at `compact_schema` without descriptions. */
  input_schema?: Record<string, unknown> | null;
  output_schema?: Record<string, unknown> | null;
  /** A skill's Markdown. */
  content?: string;
  examples?: unknown[];
  required_secrets?: string[];
  required_tools?: string[];
  parameters_summary?: string;
  unavailable_reason?: string;
  /** The number of the caller's own groups in which they may use it; a key counts only groups that it works in. */
  available_in_groups?: number;
  /** Says so if its integration is not connected. */
  hint: string;
}

/** A page of matching capabilities. */
export interface CapabilityPage {
  items: Capability[];
  /** The number of matching capabilities that the caller may use. */
  total: number;
  has_more: boolean;
  limit: number;
  offset: number;
  /** The capabilities left out because their integrations are not connected. */
  hint: string;
}

/** A capability at the requested level of detail. */
export interface Capability {
  id: string;
  /** The name that a model calls. */
  full_name: string;
  kind?: Kind;
  integration?: string;
  display_name?: string;
  /** At most 60 characters below `compact_schema`. */
  description?: string;
  category?: string;
  side_effect?: SideEffect;
  /** `reaches_outside`: it sends, posts, pays or publishes. `returns_foreign_text`: it returns text that strangers wrote. `reads_private_data`: it reads data of the user or organisation. */
  effect_flags?: EffectFlags[];
  /** Confidence in the side effect. */
  effect_confidence?: number;
  /** Reasons for the side effect and for each flag. */
  effect_evidence?: Record<string, unknown>;
  access?: Access;
  /** What a call would do now. */
  readiness?: Readiness;
  /** Why it is not ready, or empty. */
  readiness_reason?: string;
  /** The path of the page where the caller can mend it, or empty. */
  mend_path?: string;
  tags?: string[];
  core?: boolean;
  pinned?: boolean;
  /** Estimated tokens of this entry as it is here. */
  tokens: number;
  action?: string;
  /** The arguments in Pegboard's short notation. */
  micro_schema?: Record<string, unknown> | null;
  /** A JSON schema; at `compact_schema` without descriptions. */
  input_schema?: Record<string, unknown> | null;
  output_schema?: Record<string, unknown> | null;
  /** A skill's Markdown. */
  content?: string;
  examples?: unknown[];
  required_secrets?: string[];
  required_tools?: string[];
  parameters_summary?: string;
  unavailable_reason?: string;
  /** The number of the caller's own groups in which they may use it; a key counts only groups that it works in. */
  available_in_groups?: number;
}

/** The answer to a message, in the requested mode. */
export interface Selection {
  selected: Selected[];
  core_included: string[];
  /** Of what the caller may use. */
  excluded_count: number;
  reason: string;
  discovery_suggested: boolean;
  /** A capability so far ahead that no model needs to choose. */
  direct: string | null;
  degraded: boolean;
  degraded_because: string[];
  turn_id: string | null;
  /** Whether something fits, and if not, why. */
  fit: Fit;
  /** What the assistant can ask if the message names nothing. */
  question?: string;
  /** What could help if nothing fits. */
  help?: HelpOffer[];
  /** What a chat model advised, if one was asked. */
  advice?: ModelAdvice | null;
  tokens: Tokens;
  prompt: string;
  tools: Record<string, unknown>[] | null;
  /** What to call, by names in `tools`. Most have no entry. */
  renamed: Record<string, Renamed>;
  /** Milliseconds by phase. */
  timings: Record<string, number>;
  mode: Mode;
  /** With `defer_loading`: the response to the model's search, in its provider's form. */
  search_result?: unknown;
}

/** A selected capability and the reasons for it. */
export interface Selected {
  id: string;
  /** The name that a model calls. */
  full_name: string;
  kind: Kind;
  integration: string;
  display_name: string;
  score: number;
  reasons: string[];
  access: Access;
  /** True if a call would be carried out. */
  available: boolean;
  /** What a call would do now. */
  readiness: Readiness;
  /** Why it is not ready, or empty. */
  readiness_reason: string;
  /** The path of the page where the caller can mend it, or empty. */
  mend_path: string;
  core: boolean;
  pinned: boolean;
  /** At most 60 characters below `compact_schema`. */
  description?: string;
  category?: string;
  side_effect?: SideEffect;
  /** `reaches_outside`: it sends, posts, pays or publishes. `returns_foreign_text`: it returns text that strangers wrote. `reads_private_data`: it reads data of the user or organisation. */
  effect_flags?: string[];
  /** The same definition on other integrations. */
  alternatives?: string[];
  /** The arguments in Pegboard's short notation. */
  micro_schema?: Record<string, unknown> | null;
  /** A JSON schema; at `compact_schema` without descriptions. */
  input_schema?: Record<string, unknown> | null;
  evidence?: Record<string, number>;
  /** Estimated tokens of this entry as it is here. */
  tokens: number;
}

/** Something that could help where nothing fits. */
export interface HelpOffer {
  /** A tool that the caller may ask for, a listing of the marketplace, a tool of the caller's that does not work now, the discovery tool, or a request to the admins. */
  kind: HelpOfferKind;
  /** A listing's slug or a tool's full name; empty for a request. */
  name: string;
  sentence: string;
  /** The path of the page where the caller can mend it, or empty. */
  mend_path?: string;
}

/** Advice of an operator's chat model that a selection took. */
export interface ModelAdvice {
  /** The chat model's name in Pegboard. */
  model: string;
  /** The message's steps, each searched for. */
  steps: string[];
  /** True if the model put the first tools in order. */
  ordered: boolean;
}

/** Estimates: everything the caller may use, what was selected, the difference. */
export interface Tokens {
  all: number;
  selected: number;
  saved: number;
  /** Tokens of `prompt` and `tools` as they are written. */
  injected: number;
}

/** A provider's spelling of a tool's name and arguments, where it has its own. */
export interface Renamed {
  full_name: string;
  /** The arguments' original names, by their names in `tools`. */
  arguments: Record<string, string>;
}

/** A mode, the reason for it in words, and the budget: its share of the window in tokens. */
export interface Mode {
  mode: InjectionMode;
  reason: string;
  /** In tokens; 0 where none was asked for. */
  budget: number;
}

/** The plan: a selection as `POST select` answers it, and what was decided. Where everything is offered, `selected` is empty, and `tools` and `prompt` have it. */
export interface Plan {
  selected: Selected[];
  core_included: string[];
  /** Of what the caller may use. */
  excluded_count: number;
  reason: string;
  discovery_suggested: boolean;
  /** A capability so far ahead that no model needs to choose. */
  direct: string | null;
  degraded: boolean;
  degraded_because: string[];
  turn_id: string | null;
  /** Whether something fits, and if not, why. */
  fit: Fit;
  /** What the assistant can ask if the message names nothing. */
  question?: string;
  /** What could help if nothing fits. */
  help?: HelpOffer[];
  /** What a chat model advised, if one was asked. */
  advice?: ModelAdvice | null;
  tokens: Tokens;
  prompt: string;
  tools: Record<string, unknown>[] | null;
  /** What to call, by names in `tools`. Most have no entry. */
  renamed: Record<string, Renamed>;
  /** Milliseconds by phase. */
  timings: Record<string, number>;
  failure_policy: FailurePolicy;
  selection_mode: SelectionMode;
  kind: string;
  /** How often discovery may be tried again. */
  retries: number;
  /** How often it was tried. */
  attempts: number;
  /** What is offered and why, in words. */
  decision: string;
  /** Whether earlier outcomes changed the decision. */
  adapted: boolean;
  /** How it is written for the model. */
  injection: InjectionMode;
  /** How many capabilities the model may use. */
  offered: number;
  mode: Mode;
  /** With `defer_loading`: the response to the model's search, in its provider's form. */
  search_result?: unknown;
  state: TurnState;
  /** The outcome window that changed the decision, if one did. */
  window: Window | null;
}

/** The latest outcomes of a place taken together. */
export interface Window {
  scope: OutcomeScope;
  samples: number;
  success: number;
  partial: number;
  failed: number;
  success_rate: number | null;
  average_score: number | null;
  /** The success rate, counting partial successes as half. */
  weighted_rate: number | null;
}

/** The three tiers. */
export interface Discovery {
  tier0: Tier0;
  tier1: Tier1;
  tier2: Tier2;
  /** For the system prompt. */
  context: string;
  tokens: DiscoveryTokens;
  /** The mode that would fit the context window. */
  mode: Mode;
  tools: Record<string, unknown>[] | null;
  /** What to call, by names in `tools`. Most have no entry. */
  renamed: Record<string, Renamed>;
  degraded: boolean;
  degraded_because: string[];
  turn_id: string | null;
  /** Milliseconds by phase. */
  timings: Record<string, number>;
  /** With `defer_loading`: the response to the model's search, in its provider's form. */
  search_result?: unknown;
  /** Whether something fits, as in `POST select`. */
  fit: Fit;
  /** What the assistant can ask. */
  question?: string;
  /** What could help if nothing fits. */
  help?: HelpOffer[];
}

/** Tier 0: the categories in which the caller has something, the largest first. */
export interface Tier0 {
  text: string;
  tokens: number;
  budget: number;
  categories: TierCategory[];
  /** Categories that did not fit into the text. */
  left_out: number;
}

/** A category, and the names of the first of its capabilities. */
export interface TierCategory {
  category: string;
  count: number;
  names: string[];
  /** The number of capabilities beyond the names given. */
  more: number;
}

/** Tier 1: the best that are relevant enough, a line each. */
export interface Tier1 {
  text: string;
  tokens: number;
  budget: number;
  capabilities: Match[];
}

/** A capability for the message. */
export interface Match {
  id: string;
  full_name: string;
  kind: Kind;
  display_name: string;
  score: number;
  reasons: string[];
  access: Access;
  /** What a call would do now. */
  readiness: Readiness;
  /** Why it is not ready, or empty. */
  readiness_reason: string;
  /** The path of the page where the caller can mend it, or empty. */
  mend_path: string;
  /** Whether it fitted into the text. */
  shown: boolean;
}

/** Tier 2: the foremost of these in full. */
export interface Tier2 {
  text: string;
  tokens: number;
  budget: number;
  capabilities: Told[];
}

/** A capability in full: the notation of its arguments, and how much of its text is there. */
export interface Told {
  full_name: string;
  /** The form of its arguments: `none` if it has none, empty if only its name fitted. */
  schema_level: SchemaLevel | Blank;
  /** Of its own text, how many are there. */
  content_lines: number;
  all_content_lines: number;
  examples: number;
}

/** Estimates: each tier, the context, the tools, and all that the caller may use. */
export interface DiscoveryTokens {
  tier0: number;
  tier1: number;
  tier2: number;
  /** The tokens of `context`, which contains all three. */
  total: number;
  tools: number;
  all: number;
}

/** A call's outcome. */
export interface Call {
  /** `client_executes`: carry it out with these arguments. `approval_needed`: nothing has been run; a person must decide. `running`: ask for the call later. `unknown`: it was sent, but it is not known whether it was carried out. */
  status: CallStatus;
  tool: string;
  /** The status in words, for the model. */
  message: string;
  /** The id for reading the call later. */
  call_id: string;
  /** A skill's instructions. */
  content?: string;
  truncated: boolean;
  /** The checked arguments. */
  arguments?: Record<string, unknown>;
  /** A tool's answer. Meta-tools that are capabilities have their own. */
  result?: Record<string, unknown>;
  /** Machine-readable reason of a failure. */
  reason?: string;
  /** The note of the person who decided. */
  note?: string;
  /** When a pending call expires. */
  expires_at?: string;
  /** What the guard on flows says of the call. */
  flow?: Flow;
  /** What the server asked the client meanwhile. */
  questions?: Question[];
  /** Quotas that are near their end, when the call is made. */
  notice?: string;
}

/** The guard's verdict on a call. */
export interface Flow {
  mode: FlowMode;
  verdict: Verdict;
  cause?: Cause;
  /** Why it asks, in a sentence. */
  reason?: string;
  /** How the model may go on. */
  advice?: string;
  values?: FlowValue[];
  /** Tools that the application carried out without telling their results. */
  blind?: string[];
}

/** Origin of a value that decides what the call touches. */
export interface FlowValue {
  /** The argument. */
  path: string;
  value: string;
  /** `read` and `model` may not decide: an answer that strangers may have written, and no place that the guard knows. */
  source: FlowSource;
  /** The tool whose answer has it. */
  tool?: string;
  /** The page or file, or the record. */
  where?: string;
}

/** A server's question during a call, without the values of its answer. */
export interface Question {
  kind: QuestionKind;
  /** `asked`: the answer comes with the client's next call. `withheld`: the client was not asked. */
  state: QuestionState;
  /** Its words, if somebody was asked. */
  text?: string;
  /** The names of its form's fields. */
  asks_for?: string[];
  /** The host of the page to open. */
  host?: string;
}

/** The current state of a turn. */
export interface Turn {
  turn_id: string;
  user: string;
  group: string;
  space?: string | null;
  state: TurnState;
  lifecycle: Step[];
  selection_mode: SelectionMode;
  plan: Decided | null;
  /** Selected capabilities that the user may use now. */
  selected: Picked[];
  /** Called capabilities that the user may use now. */
  called: Called[];
  outcome: Outcome | null;
  degraded_because: string[];
  tokens_all: number;
  tokens_selected: number;
  discovery_calls: number;
  discovery_empty: number;
  flow: TurnFlow;
}

/** A state of a turn, and the time it was entered. */
export interface Step {
  state: TurnState;
  at: string;
}

/** The decisions of a plan, as stored with the turn. */
export interface Decided {
  failure_policy: FailurePolicy;
  selection_mode: SelectionMode;
  kind: string;
  /** How often discovery may be tried again. */
  retries: number;
  /** How often it was tried. */
  attempts: number;
  /** What is offered and why, in words. */
  decision: string;
  /** Whether earlier outcomes changed the decision. */
  adapted: boolean;
  /** How it is written for the model. */
  injection: InjectionMode;
  /** How many capabilities the model may use. */
  offered: number;
}

/** Selection of a capability in the turn. */
export interface Picked {
  id: string;
  score: number;
}

/** Call of a capability in the turn. */
export interface Called {
  full_name: string;
  /** Whether the turn had offered it. */
  selected: boolean;
}

/** Outcome of a turn. */
export interface Outcome {
  status: Status;
  /** 0 to 1. */
  score: number;
  source: Source;
  note?: string;
  at: string;
}

/** Calls of the turn that the guard on flows judged. */
export interface TurnFlow {
  judged: number;
  /** Calls about which it would ask, in any mode. */
  asked: number;
  approved: number;
  /** By its mode, or by a person. */
  refused: number;
}

/** Result of the report. */
export interface Reported {
  turn_id: string;
  state: TurnState;
  status: Status;
  score: number;
  /** Whether the outcome was reported or inferred. */
  source: Source;
  /** Called capabilities that the user may use. */
  called: Called[];
  /** Null if it also contains outcomes of other groups. */
  window: Window | null;
  /** The alert that this outcome raised. */
  alert: Alert | null;
}

/** An alert on a rate below its threshold. */
export interface Alert {
  severity: Severity;
  reason: string;
  threshold: number;
  /** The weighted rate that was below it. */
  value: number;
  samples: number;
  at: string;
}

/** All meta-tools, and the five that replace a catalogue that does not fit the context. */
export interface MetaTools {
  tools: MetaTool[];
  exploring: string[];
  exploring_tokens: number;
}

/** A meta-tool as a model sees it. */
export interface MetaTool {
  name: string;
  title: string;
  description: string;
  input_schema: Record<string, unknown>;
  /** The scope that a key needs; `select` includes `discover`. */
  scope: MetaToolScope;
  side_effect: SideEffect;
  /** Name, description and arguments in a model's list, estimated. */
  tokens: number;
}

/** A meta-tool's answer: pass `result` to the model unchanged. */
export interface MetaAnswer {
  name: string;
  result: Record<string, unknown>;
}

/** The model's part of every answer to a message. */
export type Offer = Pick<Plan, "tools" | "prompt" | "renamed" | "mode" | "turn_id">;

/** Options of `select`. */
export interface SelectOptions {
  /** The model's context window in tokens; defaults to the deployment's. */
  context_window?: number;
  /** Defer definitions until a search finds them: anthropic, openai_responses only. */
  defer_loading?: boolean;
  /** The user's name; defaults to the key's owner or the signed-in person. */
  user?: string | null;
  /** The group's name. A key acts in its own group only. */
  group?: string | null;
  /** The space's slug; defaults to the group's root. */
  space?: string | null;
  /** The chat application; defaults to the key's own, and a key of one names no other. */
  application?: string | null;
  /** Your name of the conversation: its turns and calls can be read together. */
  conversation?: string;
  /** The conversation's last messages, oldest first. */
  history?: string[];
  /** `any` and `all` mean every kind. */
  kind?: WantedKind;
  /** False if your application cannot carry out calls: what Pegboard only describes is not available to it then. */
  client_executes?: boolean;
  /** Whether relations raise scores and dependencies are added. */
  use_graph?: boolean;
  /** The format of `tools`, which is null for `none`. */
  format?: Format;
  max_tools?: number;
  /** Leave out what could not be called now. Otherwise it comes last, and says why. */
  only_available?: boolean;
  /** Level of detail of `selected`. */
  detail?: Detail;
  /** Adds the shares of evidence to each result. */
  explain?: boolean;
  /** `auto` takes the first of `direct`, `compact_direct` and `discovery` that fits. */
  mode?: SelectInModeRequestMode;
}

/** Options of `plan`. */
export interface PlanOptions {
  /** The model's context window in tokens; defaults to the deployment's. */
  context_window?: number;
  /** The user's name; defaults to the key's owner or the signed-in person. */
  user?: string | null;
  /** The group's name. A key acts in its own group only. */
  group?: string | null;
  /** The space's slug; defaults to the group's root. */
  space?: string | null;
  /** The chat application; defaults to the key's own, and a key of one names no other. */
  application?: string | null;
  /** Your name of the conversation: its turns and calls can be read together. */
  conversation?: string;
  /** The conversation's last messages, oldest first. */
  history?: string[];
  /** `any` and `all` mean every kind. */
  kind?: WantedKind;
  /** False if your application cannot carry out calls: what Pegboard only describes is not available to it then. */
  client_executes?: boolean;
  /** Whether relations raise scores and dependencies are added. */
  use_graph?: boolean;
  /** The format of `tools`, which is null for `none`. */
  format?: Format;
  max_tools?: number;
  /** Leave out what could not be called now. Otherwise it comes last, and says why. */
  only_available?: boolean;
  /** Level of detail of `selected`. */
  detail?: Detail;
  /** Adds the shares of evidence to each result. */
  explain?: boolean;
  /** What the turn offers if discovery fails: everything or nothing. */
  failure_policy?: FailurePolicy;
  /** Whether the turn offers matches or everything. */
  selection_mode?: SelectionMode;
  /** Whether to include `prompt`. */
  include_prompt?: boolean;
}

/** Options of `discover`. */
export interface DiscoverOptions {
  /** The model's context window in tokens; defaults to the deployment's. */
  context_window?: number;
  /** Defer definitions until a search finds them: anthropic, openai_responses only. */
  defer_loading?: boolean;
  /** The user's name; defaults to the key's owner or the signed-in person. */
  user?: string | null;
  /** The group's name. A key acts in its own group only. */
  group?: string | null;
  /** The space's slug; defaults to the group's root. */
  space?: string | null;
  /** The chat application; defaults to the key's own, and a key of one names no other. */
  application?: string | null;
  /** Your name of the conversation: its turns and calls can be read together. */
  conversation?: string;
  /** The conversation's last messages, oldest first. */
  history?: string[];
  /** `any` and `all` mean every kind. */
  kind?: WantedKind;
  /** False if your application cannot carry out calls: what Pegboard only describes is not available to it then. */
  client_executes?: boolean;
  /** Whether relations raise scores and dependencies are added. */
  use_graph?: boolean;
  /** The format of `tools`, which is null for `none`. */
  format?: Format;
  /** Maximum tokens of tier 0; defaults to the deployment's setting. */
  tier0_tokens?: number;
  /** Maximum tokens of tier 1; defaults to the deployment's setting. */
  tier1_tokens?: number;
  /** Maximum tokens of tier 2; defaults to the deployment's setting. */
  tier2_tokens?: number;
  /** Maximum number of lines in tier 1. */
  tier1_top?: number;
  /** Maximum number of full definitions in tier 2. */
  tier2_top?: number;
  /** Minimum score of a capability with a line. */
  relevance?: number;
}

/** Options of `execute`. */
export interface Caller {
  /** The user's name; defaults to the key's owner or the signed-in person. */
  user?: string;
  /** The group's name. A key acts in its own groups only. */
  group?: string;
  /** The space's slug; defaults to the group's root. */
  space?: string;
  /** The chat application; defaults to the key's own, and a key of one names no other. */
  application?: string;
  /** Your name of the conversation: its turns and calls can be read together. */
  conversation?: string;
}

/** Options of `report_outcome`. */
export interface OutcomeFields {
  status?: Status;
  score?: number;
  taskSuccess?: boolean;
  /** Full names of the called capabilities. */
  called?: string[];
  note?: string;
}

/** Options of `list_capabilities`. */
export interface Filters {
  application?: string;
  category?: string;
  detail?: "name_only" | "name_description" | "micro_schema" | "compact_schema" | "full_schema";
  examples?: boolean;
  group?: string;
  integration?: string;
  kind?: "any" | "all" | "tool" | "skill" | "extension" | "channel" | "voice" | "emergent-tool";
  limit?: number;
  offset?: number;
  prefix?: string;
  query?: string;
  space?: string;
  user?: string;
}

/** Options of `get_capability`. */
export interface DetailOptions {
  application?: string;
  detail?: "name_only" | "name_description" | "micro_schema" | "compact_schema" | "full_schema";
  examples?: boolean;
  group?: string;
  space?: string;
  user?: string;
}
