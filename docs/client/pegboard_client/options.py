"""What may be said with a call, as types."""

from collections.abc import Sequence
from typing import Literal, TypedDict

from pegboard_client.answers import Kind

Format = Literal["anthropic", "openai", "openai_responses", "gemini", "mcp", "none"]
Detail = Literal[
    "name_only", "name_description", "micro_schema", "compact_schema", "full_schema"
]  # fmt: skip


class Caller(TypedDict, total=False):
    """For whom: the names of a user, a group and a space."""

    user: str
    group: str
    space: str


class Message(Caller, total=False):
    """What every call with a message takes."""

    history: Sequence[str]
    kind: Kind | Literal["any"]
    use_graph: bool
    format: Format
    context_window: int


class Choice(Message, total=False):
    """What a selection and a plan take."""

    max_tools: int
    only_available: bool
    detail: Detail
    explain: bool


class SelectOptions(Choice, total=False):
    """What a selection takes."""

    mode: Literal["selected", "direct", "compact_direct", "discovery", "auto"]
    defer_loading: bool


class PlanOptions(Choice, total=False):
    """What a plan takes."""

    failure_policy: Literal["fail_open", "fail_closed"]
    selection_mode: Literal["discovered", "all"]
    include_prompt: bool


class DiscoverOptions(Message, total=False):
    """What a discovery takes: budgets and lengths of its tiers."""

    defer_loading: bool
    tier0_tokens: int
    tier1_tokens: int
    tier2_tokens: int
    tier1_top: int
    tier2_top: int
    relevance: float


class Told(TypedDict, total=False):
    """How a turn went: at most one of the first three."""

    status: Literal["success", "partial", "failed"]
    score: float
    task_success: bool
    called: Sequence[str]
    note: str


class Shown(Caller, total=False):
    """How much is said of a capability."""

    detail: Detail
    examples: bool


class Filters(Shown, total=False):
    """Which capabilities, and from where on."""

    query: str
    prefix: str
    category: str
    integration: str
    kind: Kind | Literal["any"]
    limit: int
    offset: int
