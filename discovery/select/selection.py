"""Selections: the request, the answer with the capabilities that fit, and the trace of the ranking.

A field with `Shown` is part of the API's answer, of its OpenAPI description and of the client's
types; the others stay inside Pegboard.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Annotated, Protocol
from uuid import UUID

from django.conf import settings
from prometheus_client import Counter, Histogram

from acl.platform.answer_model import Answer, Shown
from acl.rights.caller_lookup import Caller
from catalog.capabilities.detail_levels import (
    DETAILS,
    Access,
    access_of,
    arguments_at,
    description_at,
)
from catalog.effects.assessment import FLAGS_HELP
from catalog.models import Capability
from catalog.readiness.readiness import MEND_HELP, MendLink, Readiness, ToolReadiness, path_of
from catalog.trust.findings import ReviewedSchema, ReviewedText
from discovery.select.helping_offers import HelpOffer
from discovery.select.ranking.fusion import FEWEST_OF_SEVERAL
from discovery.select.ranking.thresholds import Fit

_IS_OFFERED, _STATE, _REASON = map(attrgetter, ("is_offered", "state.value", "reason"))
_STATES = [(state.value, state.value) for state in Readiness]


class Named(Protocol):
    """Fields of a candidate used by the trace."""

    @property
    def pk(self) -> int: ...
    @property
    def full_name(self) -> str: ...
    @property
    def display_name(self) -> str: ...


class Scored(Protocol):
    """A candidate's own relevance."""

    @property
    def score(self) -> float: ...


class Competitor(Protocol):
    """A ranked candidate: its own relevance, and its score after relations."""

    @property
    def candidate(self) -> Named: ...
    @property
    def judged(self) -> Scored: ...
    @property
    def score(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Workings:
    """The trace of a selection, for explanations: reading of the message, ranking, and places.

    It only holds references, so keeping it costs nothing.
    """

    texts: tuple[str, ...]  # the whole message, then each clause
    in_context: bool  # the first text contains an earlier message
    ranked: Sequence[Competitor]
    # Each with its twins: the same definition on other integrations.
    placed: Sequence[tuple[Competitor, Sequence[Competitor]]]
    threshold: float  # the lowest score that would be worth a place, if anything fits

    @property
    def clauses(self) -> tuple[str, ...]:
        """Return the clauses that were ranked apart; none if the message has only one."""
        return self.texts[1:] if len(self.texts) >= FEWEST_OF_SEVERAL else ()


# Levels of detail at which an answer has more than names, scores and reasons.
_OUTLINE = frozenset(DETAILS) - {"name_only"}


@dataclass(frozen=True, slots=True)
class SelectRequest:
    """A question to the selector.

    `history` holds the conversation's last messages, oldest first. `max_tools` bounds the answer.
    """

    message: str
    caller: Caller
    history: tuple[str, ...] = ()
    # The application's own name of what the message belongs to; it is stored and read by nobody.
    conversation: str = ""
    # Texts to search for in place of the message's own clauses.
    steps: tuple[str, ...] = ()
    max_tools: int = field(default_factory=lambda: settings.PEGBOARD_MAX_TOOLS)
    kind: str = "any"
    only_available: bool = True
    only_connected: bool = True
    # True if who asks carries out the calls of what Pegboard only describes, so that it is
    # available to them.
    client_executes: bool = True
    use_graph: bool = True
    # The full name of one that is looked at, too, although nothing brings it among the candidates:
    # for those who ask why it is not selected.
    beside: str = ""
    # Turns whose experiences do not count: to measure what a message gains from all others.
    apart: tuple[UUID, ...] = ()
    # True where a read replica may answer: what is selected is only shown, and a call is checked
    # again on the primary.
    may_lag: bool = False

    @property
    def only_here(self) -> bool:
        """Return True if nobody would carry out what Pegboard only describes."""
        return self.only_available and not self.client_executes


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """A selected capability and the reasons for it."""

    pk: int
    identifier: Annotated[str, Shown(name="id")]
    full_name: Annotated[str, Shown("The name that a model calls.")]
    kind: Annotated[str, Shown(choices=Capability.Kind.choices)]
    integration: Annotated[str, Shown()]
    display_name: Annotated[ReviewedText, Shown()]
    score: Annotated[float, Shown(bounds=(0, 1))]
    reasons: Annotated[tuple[str, ...], Shown()]
    asks_first: Annotated[bool, Shown(name="access", type=Access, write=access_of)]
    readiness: Annotated[
        ToolReadiness,
        Shown("True if a call would be carried out.", "available", type=bool, write=_IS_OFFERED),
        Shown("What a call would do now.", type=str, choices=_STATES, write=_STATE),
        Shown("Why it is not ready, or empty.", "readiness_reason", type=str, write=_REASON),
    ]
    mend: Annotated[MendLink | None, Shown(MEND_HELP, "mend_path", type=str, write=path_of)] = None
    core: Annotated[bool, Shown()]
    pinned: Annotated[bool, Shown()]
    description: Annotated[
        ReviewedText,
        Shown(
            "At most 60 characters below `compact_schema`.",
            parts=_OUTLINE,
            write_part=description_at,
        ),
    ]
    category: Annotated[str, Shown(parts=_OUTLINE)]
    side_effect: Annotated[str, Shown(parts=_OUTLINE, choices=Capability.SideEffect.choices)]
    effect_flags: Annotated[tuple[str, ...], Shown(FLAGS_HELP, parts=_OUTLINE)] = ()
    # Full names, for people and models that want another one of them.
    alternatives: Annotated[
        tuple[str, ...], Shown("The same definition on other integrations.", parts=_OUTLINE)
    ] = ()
    input_schema: Annotated[
        ReviewedSchema | None,
        Shown(
            "The arguments in Pegboard's short notation.",
            name="micro_schema",
            parts=frozenset({"micro_schema"}),
            write_part=arguments_at,
        ),
        Shown(
            "A JSON schema; at `compact_schema` without descriptions.",
            parts=frozenset({"compact_schema", "full_schema"}),
            write_part=arguments_at,
        ),
    ]
    # Shares of the score by kind of evidence, for the score bar: meaning, words, name, use, graph.
    evidence: Annotated[dict[str, float], Shown(parts=frozenset({"explain"}))] = field(
        default_factory=dict
    )
    tags: tuple[str, ...]
    tokens: int  # of the whole definition; an answer has those of its own entry instead
    # The full name of the selected one that needs it, where it is there for that reason alone.
    needed_by: str = ""
    # The full name of the result that is related to it and has raised its score.
    raised_by: str = ""


@dataclass(frozen=True, slots=True)
class ModelAdvice(Answer):
    """Advice of an operator's chat model that a selection took."""

    model: Annotated[str, Shown("The chat model's name in Pegboard.")]
    steps: Annotated[tuple[str, ...], Shown("The message's steps, each searched for.")]
    ordered: Annotated[bool, Shown("True if the model put the first tools in order.")]


@dataclass(frozen=True, slots=True)
class Selection:
    """The answer to a message. `excluded_count` and `tokens_all` count only what the caller may
    use."""

    selected: tuple[Selected, ...]
    core_included: Annotated[tuple[str, ...], Shown()]
    excluded_count: Annotated[int, Shown("Of what the caller may use.")]
    reason: Annotated[str, Shown()]
    discovery_suggested: Annotated[bool, Shown()]
    direct: Annotated[str | None, Shown("A capability so far ahead that no model needs to choose.")]
    degraded: Annotated[
        tuple[str, ...], Shown(type=bool, write=bool), Shown(name="degraded_because")
    ]
    tokens_all: int
    tokens_selected: int
    # Milliseconds by part: embedding, sql, ranking, rendering, total.
    timings: dict[str, float]
    # The ranking before the cut, best first, at most 20 identifiers: for evaluation.
    ranking: tuple[str, ...] = ()
    turn_id: Annotated[UUID | None, Shown()] = None
    fit: Annotated[
        Fit,
        Shown("Whether something fits, and if not, why."),
    ] = "fits"
    question: Annotated[
        str, Shown("What the assistant can ask if the message names nothing.", optional=True)
    ] = ""
    help: Annotated[
        tuple[HelpOffer, ...], Shown("What could help if nothing fits.", optional=True)
    ] = ()
    advice: Annotated[
        ModelAdvice | None, Shown("What a chat model advised, if one was asked.", optional=True)
    ] = None
    # What its turn keeps to learn from (`discovery/learning/experience_store.py`).
    noted: bytes | None = field(default=None, repr=False)
    workings: Workings | None = field(default=None, repr=False, compare=False)

    @property
    def small_talk(self) -> bool:
        """Return True if the message asks for nothing, so that finding nothing is right."""
        return self.fit == "small_talk"


# Prometheus metrics of selections.

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)

_seconds = Histogram(
    "pegboard_selection_seconds", "Duration of selections, by phase.", ["part"], buckets=_BUCKETS
)
_tools = Histogram(
    "pegboard_selection_tools", "Capabilities selected.", buckets=(0, 1, 2, 3, 5, 8, 10, 15, 25, 50)
)
_degraded = Counter("pegboard_selections_degraded", "Selections that were degraded.")
_saved = Counter("pegboard_selection_tokens_saved", "Estimated tokens that selections saved.")


def observe_selection(selection: Selection) -> None:
    """Record one selection."""
    for part, milliseconds in selection.timings.items():
        _seconds.labels(part).observe(milliseconds / 1000)
    _tools.observe(len(selection.selected))
    _saved.inc(max(0, selection.tokens_all - selection.tokens_selected))
    if selection.degraded:
        _degraded.inc()
