"""What Pegboard answers, as types: the JSON as it comes, so that new fields disturb nobody.

`tests/client/test_contract.py` compares them with the API's own description.
"""

from typing import Any, Literal, NotRequired, TypedDict

Access = Literal["runs", "asks first"]
Kind = Literal["tool", "skill", "extension", "channel", "voice", "emergent-tool"]
SideEffect = Literal["read", "write", "delete"]
InjectionMode = Literal["selected", "direct", "compact_direct", "discovery"]
TurnState = Literal["planned", "executing", "degraded", "recovered", "completed", "errored"]
Status = Literal["success", "partial", "failed"]
CallStatus = Literal[
    "completed", "client_executes", "approval_needed", "running",
    "failed", "unknown", "rejected", "expired", "cancelled",
]  # fmt: skip


class Capability(TypedDict):
    """One capability; which of the fields are there, the level of detail says."""

    id: str
    full_name: str
    tokens: int
    kind: NotRequired[Kind]
    integration: NotRequired[str]
    display_name: NotRequired[str]
    description: NotRequired[str]
    category: NotRequired[str]
    side_effect: NotRequired[SideEffect]
    access: NotRequired[Access]
    tags: NotRequired[list[str]]
    core: NotRequired[bool]
    pinned: NotRequired[bool]
    action: NotRequired[str]
    micro_schema: NotRequired[dict[str, Any] | None]
    input_schema: NotRequired[dict[str, Any] | None]
    output_schema: NotRequired[dict[str, Any] | None]
    content: NotRequired[str]
    examples: NotRequired[list[Any]]
    required_secrets: NotRequired[list[str]]
    required_tools: NotRequired[list[str]]
    unavailable_reason: NotRequired[str]


class OneCapability(Capability):
    """A capability that was asked for by name; `hint` says what to look out for, if anything."""

    hint: str


class CapabilityPage(TypedDict):
    """A page of what the caller may use."""

    items: list[Capability]
    total: int
    has_more: bool
    limit: int
    offset: int
    hint: str


class Selected(TypedDict):
    """A capability that fits the message, with the reasons why."""

    id: str
    full_name: str
    kind: Kind
    integration: str
    display_name: str
    score: float
    reasons: list[str]
    access: Access
    available: bool
    core: bool
    pinned: bool
    tokens: int
    description: NotRequired[str]
    category: NotRequired[str]
    side_effect: NotRequired[SideEffect]
    alternatives: NotRequired[list[str]]
    micro_schema: NotRequired[dict[str, Any] | None]
    input_schema: NotRequired[dict[str, Any] | None]
    evidence: NotRequired[dict[str, float]]


class Renamed(TypedDict):
    """Which capability and arguments are meant by a name that a provider wanted otherwise."""

    full_name: str
    arguments: dict[str, str]


class Tokens(TypedDict):
    """What was selected against everything that the caller may use."""

    all: int
    selected: int
    saved: int
    injected: NotRequired[int]


class Mode(TypedDict):
    """In which form the tools are told, and why."""

    mode: InjectionMode
    reason: str
    budget: int


class Offer(TypedDict):
    """What goes to the model: in every answer to a message."""

    tools: list[dict[str, Any]] | None
    renamed: dict[str, Renamed]
    search_result: NotRequired[Any]
    mode: Mode
    degraded: bool
    degraded_because: list[str]
    turn_id: str | None
    timings: dict[str, float]


class Selection(Offer):
    """The few capabilities that fit a message."""

    selected: list[Selected]
    core_included: list[str]
    excluded_count: int
    reason: str
    discovery_suggested: bool
    direct: str | None
    tokens: Tokens
    prompt: str


class Window(TypedDict):
    """How the latest turns of a place went."""

    scope: Literal["space", "group", "global"]
    samples: int
    success: int
    partial: int
    failed: int
    success_rate: float | None
    average_score: float | None
    weighted_rate: float | None


class Plan(Selection):
    """A selection or everything, with what was decided and why."""

    state: TurnState
    decision: str
    failure_policy: Literal["fail_open", "fail_closed"]
    selection_mode: Literal["discovered", "all"]
    kind: str
    retries: int
    attempts: int
    adapted: bool
    injection: InjectionMode
    offered: int
    window: Window | None


class Tier0(TypedDict):
    """What there is, by category."""

    text: str
    tokens: int
    budget: int
    left_out: int
    categories: list[dict[str, Any]]


class Match(TypedDict):
    """A line of the second tier."""

    id: str
    full_name: str
    kind: Kind
    display_name: str
    score: float
    reasons: list[str]
    access: Access
    shown: bool


class Tier1(TypedDict):
    """What fits, a line each."""

    text: str
    tokens: int
    budget: int
    capabilities: list[Match]


class Tier2(TypedDict):
    """What fits best, in full."""

    text: str
    tokens: int
    budget: int
    capabilities: list[dict[str, Any]]


class DiscoveryTokens(TypedDict):
    """What each tier costs."""

    tier0: int
    tier1: int
    tier2: int
    total: int
    tools: int
    all: int


class Discovery(Offer):
    """The same question, answered in three tiers of text; `context` has them together."""

    tier0: Tier0
    tier1: Tier1
    tier2: Tier2
    context: str
    tokens: DiscoveryTokens


class Call(TypedDict):
    """What came of a call. `result` has MCP's blocks in `content`, or what a meta-tool says."""

    status: CallStatus
    tool: str
    message: str
    call_id: str
    truncated: bool
    content: NotRequired[str]
    arguments: NotRequired[dict[str, Any]]
    result: NotRequired[dict[str, Any]]
    reason: NotRequired[str]
    note: NotRequired[str]
    expires_at: NotRequired[str]


class Called(TypedDict):
    """A capability that was called, and whether it had been offered."""

    full_name: str
    selected: bool


class Outcome(TypedDict):
    """How a turn ended."""

    status: Status
    score: float
    source: Literal["reported", "worked_out"]
    at: str
    note: NotRequired[str]


class Step(TypedDict):
    """A state of a turn, and since when."""

    state: TurnState
    at: str


class Turn(TypedDict):
    """A message and what came of it."""

    turn_id: str
    user: str
    group: str
    space: NotRequired[str | None]
    state: TurnState
    lifecycle: list[Step]
    selection_mode: Literal["discovered", "all"]
    plan: dict[str, Any] | None
    selected: list[dict[str, Any]]
    called: list[Called]
    outcome: Outcome | None
    degraded_because: list[str]
    tokens_all: int
    tokens_selected: int
    discovery_calls: int
    discovery_empty: int


class Alert(TypedDict):
    """Turns of a place go badly."""

    severity: Literal["warning", "critical"]
    reason: str
    threshold: float
    value: float
    samples: int
    at: str


class Reported(TypedDict):
    """What was made of an outcome that was told."""

    turn_id: str
    state: TurnState
    status: Status
    score: float
    source: Literal["reported", "worked_out"]
    called: list[Called]
    window: Window | None
    alert: Alert | None


class MetaTool(TypedDict):
    """A tool that Pegboard itself answers."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    scope: Literal["discover", "execute"]
    side_effect: SideEffect
    tokens: int


class MetaTools(TypedDict):
    """All of them, and the five that stand in for a whole catalogue."""

    tools: list[MetaTool]
    exploring: list[str]
    exploring_tokens: int


class MetaAnswer(TypedDict):
    """What a meta-tool answers: `result` is for the model, as it is."""

    name: str
    result: dict[str, Any]
