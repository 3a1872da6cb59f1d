"""What a selection answers: plain values that every edge renders in its own way."""

from dataclasses import dataclass, field
from uuid import UUID

from acl.rights.caller import Caller
from catalog.trust.reviewed_texts import ReviewedSchema, ReviewedText
from discovery.select.trace import Workings


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to the selector.

    `history` holds the conversation's last messages, oldest first. `max_tools` bounds the answer.
    """

    message: str
    caller: Caller
    history: tuple[str, ...] = ()
    max_tools: int = 10
    kind: str = "any"
    only_available: bool = True
    only_connected: bool = True
    use_graph: bool = True
    # The full name of one that is looked at, too, although nothing brings it among the candidates:
    # for those who ask why it is not selected.
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Selected:
    """One selected capability: its score from 0 to 1, and in words why it is there."""

    pk: int
    identifier: str
    full_name: str
    kind: str
    integration: str
    display_name: ReviewedText
    description: ReviewedText
    category: str
    tags: tuple[str, ...]
    input_schema: ReviewedSchema | None
    side_effect: str
    asks_first: bool
    core: bool
    pinned: bool
    available: bool
    tokens: int
    score: float
    reasons: tuple[str, ...]
    # Shares of the score by kind of evidence, for the score bar: meaning, words, name, use, graph.
    evidence: dict[str, float] = field(default_factory=dict)
    # Full names of the same definition on other integrations.
    alternatives: tuple[str, ...] = ()
    # The full name of the selected one that needs it, where it is there for that reason alone.
    needed_by: str = ""
    # The full name of the result that is related to it and has raised its score.
    raised_by: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """The answer. `excluded_count` and `tokens_all` count only what the caller may use."""

    selected: tuple[Selected, ...]
    core_included: tuple[str, ...]
    excluded_count: int
    reason: str
    discovery_suggested: bool
    direct: str | None
    degraded: tuple[str, ...]
    tokens_all: int
    tokens_selected: int
    # Milliseconds by part: embedding, sql, ranking, rendering, total.
    timings: dict[str, float]
    # The ranking before the cut, best first, at most 20 identifiers: for evaluation.
    ranking: tuple[str, ...] = ()
    turn_id: UUID | None = None
    # Whether the message asks for nothing, so that finding nothing is right.
    small_talk: bool = False
    # What its turn keeps to learn from (`discovery/learning/turn_notes.py`).
    noted: bytes | None = field(default=None, repr=False)
    workings: Workings | None = field(default=None, repr=False, compare=False)
