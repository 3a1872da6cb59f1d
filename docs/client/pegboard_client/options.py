"""Types of the options of each call."""

from collections.abc import Sequence
from typing import Literal, TypedDict

from pegboard_client.answers import Format, Kind

Detail = Literal[
    "name_only", "name_description", "micro_schema", "compact_schema", "full_schema"
]  # fmt: skip


class Caller(TypedDict, total=False):
    """The caller: names of a user, a group, a space and a chat application."""

    user: str
    group: str
    space: str
    application: str


class Message(Caller, total=False):
    """Options of all calls with a message."""

    conversation: str
    history: Sequence[str]
    kind: Kind | Literal["any"]
    client_executes: bool
    use_graph: bool
    format: Format
    context_window: int


class Choice(Message, total=False):
    """Options of selections and plans."""

    max_tools: int
    only_available: bool
    detail: Detail
    explain: bool


class SelectOptions(Choice, total=False):
    """Options of a selection."""

    mode: Literal["selected", "direct", "compact_direct", "discovery", "auto"]
    defer_loading: bool


class PlanOptions(Choice, total=False):
    """Options of a plan."""

    failure_policy: Literal["fail_open", "fail_closed"]
    selection_mode: Literal["discovered", "all"]
    include_prompt: bool


class DiscoverOptions(Message, total=False):
    """Options of a discovery: budgets and lengths of its tiers."""

    defer_loading: bool
    tier0_tokens: int
    tier1_tokens: int
    tier2_tokens: int
    tier1_top: int
    tier2_top: int
    relevance: float


class OutcomeFields(TypedDict, total=False):
    """An outcome, with at most one of the first three fields."""

    status: Literal["success", "partial", "failed"]
    score: float
    task_success: bool
    called: Sequence[str]
    note: str


class DetailOptions(Caller, total=False):
    """Level of detail of a capability."""

    detail: Detail
    examples: bool


class Filters(DetailOptions, total=False):
    """Filters and page of a list."""

    query: str
    prefix: str
    category: str
    integration: str
    kind: Kind | Literal["any"]
    limit: int
    offset: int
