"""Types of Pegboard's answers: the JSON as it comes. New fields break nobody.

Generated from the API's OpenAPI description: `python -m tests.docs`.
"""

from typing import Any, Literal, NotRequired, TypedDict

Access = Literal["runs", "asks first"]
Format = Literal["anthropic", "gemini", "mcp", "mistral", "openai", "openai_responses", "none"]
Kind = Literal["tool", "skill", "extension", "channel", "voice", "emergent-tool"]
SideEffect = Literal["read", "write", "delete", "unknown"]
InjectionMode = Literal["selected", "direct", "compact_direct", "discovery"]
FitEnum = Literal["fits", "nothing_fits", "needs_clarification", "small_talk"]
TurnState = Literal["planned", "executing", "degraded", "recovered", "completed", "errored"]
Status = Literal["success", "partial", "failed"]
CallStatus = Literal[
    "completed",
    "client_executes",
    "approval_needed",
    "running",
    "failed",
    "unknown",
    "rejected",
    "expired",
    "cancelled",
]
SelectionMode = Literal["discovered", "all"]


class OneCapability(TypedDict):
    """A capability looked up by its name."""

    id: str
    full_name: str
    kind: NotRequired[Kind]
    integration: NotRequired[str]
    display_name: NotRequired[str]
    description: NotRequired[str]
    category: NotRequired[str]
    side_effect: NotRequired[SideEffect]
    effect_flags: NotRequired[
        list[Literal["reaches_outside", "returns_foreign_text", "reads_private_data"]]
    ]
    effect_confidence: NotRequired[float]
    effect_evidence: NotRequired[dict[str, Any]]
    access: NotRequired[Access]
    readiness: NotRequired[
        Literal["ready", "asks_first", "needs_you", "needs_admin", "failing", "described_only"]
    ]
    readiness_reason: NotRequired[str]
    mend_path: NotRequired[str]
    tags: NotRequired[list[str]]
    core: NotRequired[bool]
    pinned: NotRequired[bool]
    tokens: int
    action: NotRequired[str]
    micro_schema: NotRequired[dict[str, Any] | None]
    input_schema: NotRequired[dict[str, Any] | None]
    output_schema: NotRequired[dict[str, Any] | None]
    content: NotRequired[str]
    examples: NotRequired[list[Any]]
    required_secrets: NotRequired[list[str]]
    required_tools: NotRequired[list[str]]
    parameters_summary: NotRequired[str]
    unavailable_reason: NotRequired[str]
    available_in_groups: NotRequired[int]
    hint: str


class Capability(TypedDict):
    """A capability at the requested level of detail."""

    id: str
    full_name: str
    kind: NotRequired[Kind]
    integration: NotRequired[str]
    display_name: NotRequired[str]
    description: NotRequired[str]
    category: NotRequired[str]
    side_effect: NotRequired[SideEffect]
    effect_flags: NotRequired[
        list[Literal["reaches_outside", "returns_foreign_text", "reads_private_data"]]
    ]
    effect_confidence: NotRequired[float]
    effect_evidence: NotRequired[dict[str, Any]]
    access: NotRequired[Access]
    readiness: NotRequired[
        Literal["ready", "asks_first", "needs_you", "needs_admin", "failing", "described_only"]
    ]
    readiness_reason: NotRequired[str]
    mend_path: NotRequired[str]
    tags: NotRequired[list[str]]
    core: NotRequired[bool]
    pinned: NotRequired[bool]
    tokens: int
    action: NotRequired[str]
    micro_schema: NotRequired[dict[str, Any] | None]
    input_schema: NotRequired[dict[str, Any] | None]
    output_schema: NotRequired[dict[str, Any] | None]
    content: NotRequired[str]
    examples: NotRequired[list[Any]]
    required_secrets: NotRequired[list[str]]
    required_tools: NotRequired[list[str]]
    parameters_summary: NotRequired[str]
    unavailable_reason: NotRequired[str]
    available_in_groups: NotRequired[int]


class CapabilityPage(TypedDict):
    """A page of matching capabilities."""

    items: list[Capability]
    total: int
    has_more: bool
    limit: int
    offset: int
    hint: str


class Selected(TypedDict):
    """A selected capability and the reasons for it."""

    id: str
    full_name: str
    kind: Kind
    integration: str
    display_name: str
    score: float
    reasons: list[str]
    access: Access
    available: bool
    readiness: Literal[
        "ready", "asks_first", "needs_you", "needs_admin", "failing", "described_only"
    ]
    readiness_reason: str
    mend_path: str
    core: bool
    pinned: bool
    description: NotRequired[str]
    category: NotRequired[str]
    side_effect: NotRequired[SideEffect]
    effect_flags: NotRequired[list[str]]
    alternatives: NotRequired[list[str]]
    micro_schema: NotRequired[dict[str, Any] | None]
    input_schema: NotRequired[dict[str, Any] | None]
    evidence: NotRequired[dict[str, float]]
    tokens: int


class HelpOffer(TypedDict):
    """Something that could help where nothing fits."""

    kind: Literal["requestable", "listing", "not_working", "discovery", "request"]
    name: str
    sentence: str
    mend_path: NotRequired[str]


class ModelAdvice(TypedDict):
    """Advice of an operator's chat model that a selection took."""

    model: str
    steps: list[str]
    ordered: bool


class Tokens(TypedDict):
    """Estimates: everything the caller may use, what was selected, the difference."""

    all: int
    selected: int
    saved: int
    injected: int


class Renamed(TypedDict):
    """A provider's spelling of a tool's name and arguments, where it has its own."""

    full_name: str
    arguments: dict[str, str]


class Mode(TypedDict):
    """A mode, the reason for it in words, and the budget: its share of the window in tokens."""

    mode: InjectionMode
    reason: str
    budget: int


class Selection(TypedDict):
    """The answer to a message, in the requested mode."""

    selected: list[Selected]
    core_included: list[str]
    excluded_count: int
    reason: str
    discovery_suggested: bool
    direct: str | None
    degraded: bool
    degraded_because: list[str]
    turn_id: str | None
    fit: FitEnum
    question: NotRequired[str]
    help: NotRequired[list[HelpOffer]]
    advice: NotRequired[ModelAdvice | None]
    tokens: Tokens
    prompt: str
    tools: list[dict[str, Any]] | None
    renamed: dict[str, Renamed]
    timings: dict[str, float]
    mode: Mode
    search_result: NotRequired[Any]


class Window(TypedDict):
    """The latest outcomes of a place taken together."""

    scope: Literal["space", "group", "global", "application"]
    samples: int
    success: int
    partial: int
    failed: int
    success_rate: float | None
    average_score: float | None
    weighted_rate: float | None


class Plan(TypedDict):
    """The plan: a selection as `POST select` answers it, and what was decided. Where everything
    is offered, `selected` is empty, and `tools` and `prompt` have it."""

    selected: list[Selected]
    core_included: list[str]
    excluded_count: int
    reason: str
    discovery_suggested: bool
    direct: str | None
    degraded: bool
    degraded_because: list[str]
    turn_id: str | None
    fit: FitEnum
    question: NotRequired[str]
    help: NotRequired[list[HelpOffer]]
    advice: NotRequired[ModelAdvice | None]
    tokens: Tokens
    prompt: str
    tools: list[dict[str, Any]] | None
    renamed: dict[str, Renamed]
    timings: dict[str, float]
    failure_policy: Literal["fail_open", "fail_closed"]
    selection_mode: SelectionMode
    kind: str
    retries: int
    attempts: int
    decision: str
    adapted: bool
    injection: InjectionMode
    offered: int
    mode: Mode
    search_result: NotRequired[Any]
    state: TurnState
    window: Window | None


class TierCategory(TypedDict):
    """A category, and the names of the first of its capabilities."""

    category: str
    count: int
    names: list[str]
    more: int


class Tier0(TypedDict):
    """Tier 0: the categories in which the caller has something, the largest first."""

    text: str
    tokens: int
    budget: int
    categories: list[TierCategory]
    left_out: int


class Match(TypedDict):
    """A capability for the message."""

    id: str
    full_name: str
    kind: Kind
    display_name: str
    score: float
    reasons: list[str]
    access: Access
    readiness: Literal[
        "ready", "asks_first", "needs_you", "needs_admin", "failing", "described_only"
    ]
    readiness_reason: str
    mend_path: str
    shown: bool


class Tier1(TypedDict):
    """Tier 1: the best that are relevant enough, a line each."""

    text: str
    tokens: int
    budget: int
    capabilities: list[Match]


class Told(TypedDict):
    """A capability in full: the notation of its arguments, and how much of its text is there."""

    full_name: str
    schema_level: Any
    content_lines: int
    all_content_lines: int
    examples: int


class Tier2(TypedDict):
    """Tier 2: the foremost of these in full."""

    text: str
    tokens: int
    budget: int
    capabilities: list[Told]


class DiscoveryTokens(TypedDict):
    """Estimates: each tier, the context, the tools, and all that the caller may use."""

    tier0: int
    tier1: int
    tier2: int
    total: int
    tools: int
    all: int


class Discovery(TypedDict):
    """The three tiers."""

    tier0: Tier0
    tier1: Tier1
    tier2: Tier2
    context: str
    tokens: DiscoveryTokens
    mode: Mode
    tools: list[dict[str, Any]] | None
    renamed: dict[str, Renamed]
    degraded: bool
    degraded_because: list[str]
    turn_id: str | None
    timings: dict[str, float]
    search_result: NotRequired[Any]
    fit: FitEnum
    question: NotRequired[str]
    help: NotRequired[list[HelpOffer]]


class FlowValue(TypedDict):
    """Origin of a value that decides what the call touches."""

    path: str
    value: str
    source: Literal["user", "admin", "trusted_tool", "named_record", "this_turn", "read", "model"]
    tool: NotRequired[str]
    where: NotRequired[str]


class Flow(TypedDict):
    """The guard's verdict on a call."""

    mode: Literal["off", "advise", "ask", "refuse"]
    verdict: Literal["runs", "asks"]
    cause: NotRequired[
        Literal[
            "target",
            "no_target",
            "no_message",
            "not_asked_for",
            "private_outside",
            "passed_on",
            "dictated",
            "composed_url",
        ]
    ]
    reason: NotRequired[str]
    advice: NotRequired[str]
    values: NotRequired[list[FlowValue]]
    blind: NotRequired[list[str]]


class Question(TypedDict):
    """A server's question during a call, without the values of its answer."""

    kind: Literal["elicitation", "sampling", "roots"]
    state: Literal[
        "asked", "accepted", "declined", "cancelled", "answered", "failed", "unanswered", "withheld"
    ]
    text: NotRequired[str]
    asks_for: NotRequired[list[str]]
    host: NotRequired[str]


class Call(TypedDict):
    """A call's outcome."""

    status: CallStatus
    tool: str
    message: str
    call_id: str
    content: NotRequired[str]
    truncated: bool
    arguments: NotRequired[dict[str, Any]]
    result: NotRequired[dict[str, Any]]
    reason: NotRequired[str]
    note: NotRequired[str]
    expires_at: NotRequired[str]
    flow: NotRequired[Flow]
    questions: NotRequired[list[Question]]
    notice: NotRequired[str]


class Step(TypedDict):
    """A state of a turn, and the time it was entered."""

    state: TurnState
    at: str


class Decided(TypedDict):
    """The decisions of a plan, as stored with the turn."""

    failure_policy: Literal["fail_open", "fail_closed"]
    selection_mode: SelectionMode
    kind: str
    retries: int
    attempts: int
    decision: str
    adapted: bool
    injection: InjectionMode
    offered: int


class Picked(TypedDict):
    """Selection of a capability in the turn."""

    id: str
    score: float


class Called(TypedDict):
    """Call of a capability in the turn."""

    full_name: str
    selected: bool


class Outcome(TypedDict):
    """Outcome of a turn."""

    status: Status
    score: float
    source: Literal["reported", "worked_out"]
    note: NotRequired[str]
    at: str


class TurnFlow(TypedDict):
    """Calls of the turn that the guard on flows judged."""

    judged: int
    asked: int
    approved: int
    refused: int


class Turn(TypedDict):
    """The current state of a turn."""

    turn_id: str
    user: str
    group: str
    space: NotRequired[str | None]
    state: TurnState
    lifecycle: list[Step]
    selection_mode: SelectionMode
    plan: Decided | None
    selected: list[Picked]
    called: list[Called]
    outcome: Outcome | None
    degraded_because: list[str]
    tokens_all: int
    tokens_selected: int
    discovery_calls: int
    discovery_empty: int
    flow: TurnFlow


class Alert(TypedDict):
    """An alert on a rate below its threshold."""

    severity: Literal["warning", "critical"]
    reason: str
    threshold: float
    value: float
    samples: int
    at: str


class Reported(TypedDict):
    """Result of the report."""

    turn_id: str
    state: TurnState
    status: Status
    score: float
    source: Literal["reported", "worked_out"]
    called: list[Called]
    window: Window | None
    alert: Alert | None


class MetaTool(TypedDict):
    """A meta-tool as a model sees it."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    scope: Literal["discover", "execute"]
    side_effect: SideEffect
    tokens: int


class MetaTools(TypedDict):
    """All meta-tools, and the five that replace a catalogue that does not fit the context."""

    tools: list[MetaTool]
    exploring: list[str]
    exploring_tokens: int


class MetaAnswer(TypedDict):
    """A meta-tool's answer: pass `result` to the model unchanged."""

    name: str
    result: dict[str, Any]


class Offer(TypedDict):
    """The model's part of every answer to a message."""

    degraded: bool
    degraded_because: list[str]
    turn_id: str | None
    fit: FitEnum
    question: NotRequired[str]
    help: NotRequired[list[HelpOffer]]
    tools: list[dict[str, Any]] | None
    renamed: dict[str, Renamed]
    timings: dict[str, float]
    mode: Mode
    search_result: NotRequired[Any]
