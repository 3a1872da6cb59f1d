"""Tiered discovery: what a prompt says about capabilities for one message, within token budgets."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from uuid import UUID

from acl.platform.answer_model import SPREAD, Answer, Shown
from catalog.capabilities.detail_levels import Access, access_of
from catalog.models import Capability
from catalog.readiness.readiness import MEND_HELP, Readiness, path_of
from discovery.answer.formats.base import Tool, tools_of
from discovery.answer.formats.registry import renamed
from discovery.answer.injection import Written
from discovery.answer.matches import (
    BETWEEN,
    Detail,
    FullDetails,
    Lines,
    TierMatch,
    choose_matches,
    write_details,
    write_lines,
)
from discovery.answer.modes import ModeChoice, choose_mode
from discovery.answer.prompt import cost
from discovery.answer.selection import Renames, SearchResult, Timings
from discovery.answer.tiers import (
    Category,
    Summary,
    TierOptions,
    categories_at,
    read_state,
    write_summary,
)
from discovery.select.helping_offers import HelpOffer
from discovery.select.ranking.thresholds import Fit
from discovery.select.selection import Selection, SelectRequest
from discovery.turns.records import select_for_turn

# Extra places for pinned capabilities, which may not match the message at all.
_PINNED_PLACES = 2


@dataclass(frozen=True, slots=True)
class TieredDiscovery:
    """The three tiers, as data and as text."""

    selection: Selection
    options: TierOptions
    mode: ModeChoice
    categories: tuple[Category, ...]
    summary: Summary
    matches: tuple[TierMatch, ...]
    lines: Lines
    details: FullDetails
    timings: dict[str, float]

    @property
    def context(self) -> str:
        """Return the text for the prompt: all tiers that are not empty."""
        return BETWEEN.join(text for text in self.texts if text)

    @property
    def texts(self) -> tuple[str, str, str]:
        """Return the text of each tier."""
        return self.summary.text, self.lines.text, self.details.text

    @property
    def found(self) -> list[Tool]:
        """Return the matching tools that can be called, best first."""
        by_name = {tool.name: tool for tool in tools_of(match.item for match in self.matches)}
        names = (match.item.full_name for match in self.matches)
        return [by_name[name] for name in names if name in by_name]


def discover(
    request: SelectRequest, *, options: TierOptions, context_window: int | None = None
) -> TieredDiscovery:
    """Select for the message, store the turn, and write the tiers.

    Three statements: the selection, its turn, and what the tiers read. A fourth counts the
    categories if they are not cached for these rights.
    """
    options = options.within(context_window)
    request = tier_request(request, options)
    return write_tiers(
        request, select_for_turn(request), options=options, context_window=context_window
    )


def tier_request(request: SelectRequest, options: TierOptions) -> SelectRequest:
    """Adapt a selection request to the tiers' limits."""
    return replace(request, max_tools=options.tier1_top + _PINNED_PLACES, only_available=True)


def write_tiers(
    request: SelectRequest,
    selection: Selection,
    *,
    options: TierOptions,
    context_window: int | None = None,
) -> TieredDiscovery:
    """Write the tiers of an existing selection."""
    started = time.perf_counter()
    items = choose_matches(selection.selected, top=options.tier1_top, relevance=options.relevance)
    state = read_state(
        request.caller,
        keys=[item.pk for item in items],
        full=[item.pk for item in items[: options.tier2_top]],
    )
    categories = categories_at(state.key, request.caller)
    read_at = time.perf_counter()
    # A capability whose right was withdrawn since the selection has no facts.
    matches = [TierMatch(item, state.facts[item.pk]) for item in items if item.pk in state.facts]
    summary, lines, details = _write(categories, matches, options)
    timings = {
        **selection.timings,
        "state": (read_at - started) * 1000,
        "tiers": (time.perf_counter() - read_at) * 1000,
    }
    timings["total"] += timings["state"] + timings["tiers"]
    return TieredDiscovery(
        selection=selection,
        options=options,
        mode=_choose_mode(selection, context_window),
        categories=categories,
        summary=summary,
        matches=tuple(matches),
        lines=lines,
        details=details,
        timings=timings,
    )


def _write(
    categories: Sequence[Category], matches: Sequence[TierMatch], options: TierOptions
) -> tuple[Summary, Lines, FullDetails]:
    """Write the tiers. Each pays for the blank line after it, so that their sum keeps to the
    budgets."""
    between = cost(BETWEEN)
    return (
        write_summary(categories, options.tier0_tokens - between),
        write_lines(matches, options.tier1_tokens - between),
        write_details(matches[: options.tier2_top], options.tier2_tokens),
    )


def _choose_mode(selection: Selection, context_window: int | None) -> ModeChoice:
    """Choose the mode that would have applied had everything usable been offered."""
    usable = len(selection.selected) + selection.excluded_count
    return choose_mode(
        full_tokens=selection.tokens_all,
        count=usable,
        context_window=context_window,
        forced=None,
    )


# The answer of discover: three tiers as text and as data, and the tools for what was found.

READINESS_STATES = [(state.value, state.value) for state in Readiness]
SCHEMA_LEVELS = ("full_schema", "compact_schema", "micro_schema", "parameters", "none", "")


@dataclass(frozen=True, slots=True)
class TierCategory(Answer):
    """A category, and the names of the first of its capabilities."""

    category: str
    count: int
    names: tuple[str, ...]
    more: Annotated[int, Shown("The number of capabilities beyond the names given.")]


@dataclass(frozen=True, slots=True)
class Tier(Answer):
    """The text of a tier, what it costs, and what it may cost."""

    text: str
    tokens: int
    budget: int


@dataclass(frozen=True, slots=True)
class CategoryTier(Answer):
    """Tier 0: the categories in which the caller has something, the largest first."""

    component = "Summary"

    tier: Annotated[Tier, SPREAD]
    categories: list[TierCategory]
    left_out: Annotated[int, Shown("Categories that did not fit into the text.")]


@dataclass(frozen=True, slots=True)
class MatchLine(Answer):
    """A capability for the message."""

    component = "Match"

    id: str
    full_name: str
    kind: Annotated[str, Shown(choices=Capability.Kind.choices)]
    display_name: str
    score: Annotated[float, Shown(bounds=(0, 1))]
    reasons: tuple[str, ...]
    access: Access
    readiness: Annotated[str, Shown("What a call would do now.", choices=READINESS_STATES)]
    readiness_reason: Annotated[str, Shown("Why it is not ready, or empty.")]
    mend_path: Annotated[str, Shown(MEND_HELP)]
    shown: Annotated[bool, Shown("Whether it fitted into the text.")]


@dataclass(frozen=True, slots=True)
class LineTier(Answer):
    """Tier 1: the best that are relevant enough, a line each."""

    component = "Lines"

    tier: Annotated[Tier, SPREAD]
    capabilities: list[MatchLine]


@dataclass(frozen=True, slots=True)
class FullEntry(Answer):
    """A capability in full: the notation of its arguments, and how much of its text is there."""

    component = "Told"

    full_name: str
    schema_level: Annotated[
        str,
        Shown(
            "The form of its arguments: `none` if it has none, empty if only its name fitted.",
            choices=SCHEMA_LEVELS,
        ),
    ]
    content_lines: Annotated[int, Shown("Of its own text, how many are there.")]
    all_content_lines: int
    examples: int


@dataclass(frozen=True, slots=True)
class FullTier(Answer):
    """Tier 2: the foremost of these in full."""

    component = "InFull"

    tier: Annotated[Tier, SPREAD]
    capabilities: list[FullEntry]


@dataclass(frozen=True, slots=True)
class DiscoveryTokens(Answer):
    """Estimates: each tier, the context, the tools, and all that the caller may use."""

    tier0: int
    tier1: int
    tier2: int
    total: Annotated[int, Shown("The tokens of `context`, which contains all three.")]
    tools: int
    all: int


@dataclass(frozen=True, slots=True)
class DiscoverAnswer(Answer):
    """The three tiers."""

    component = "Discovery"

    tier0: CategoryTier
    tier1: LineTier
    tier2: FullTier
    context: Annotated[str, Shown("For the system prompt.")]
    tokens: DiscoveryTokens
    mode: Annotated[ModeChoice, Shown("The mode that would fit the context window.")]
    tools: list[dict[str, Any]] | None
    renamed: Renames
    degraded: bool
    degraded_because: tuple[str, ...]
    turn_id: UUID | None
    timings: Timings
    search_result: SearchResult
    fit: Annotated[Fit, Shown("Whether something fits, as in `POST select`.")] = "fits"
    question: Annotated[str, Shown("What the assistant can ask.", optional=True)] = ""
    help: Annotated[
        tuple[HelpOffer, ...], Shown("What could help if nothing fits.", optional=True)
    ] = ()


def answer_discovery(
    discovery: TieredDiscovery, rendered: Written, *, provider: str
) -> DiscoverAnswer:
    """Build the answer; `rendered` has the tools for what was found."""
    options, selection = discovery.options, discovery.selection
    texts = (discovery.summary.text, discovery.lines.text, discovery.details.text)
    budgets = (options.tier0_tokens, options.tier1_tokens, options.tier2_tokens)
    tiers = [Tier(text, cost(text), most) for text, most in zip(texts, budgets, strict=True)]
    return DiscoverAnswer(
        tier0=CategoryTier(
            tiers[0], list(map(_category, discovery.categories)), discovery.summary.left_out
        ),
        tier1=LineTier(tiers[1], [_line(match, discovery) for match in discovery.matches]),
        tier2=FullTier(tiers[2], list(map(_full_entry, discovery.details.shown))),
        context=discovery.context,
        tokens=_tokens(discovery, tiers, rendered),
        mode=discovery.mode,
        tools=rendered.payload,
        renamed=renamed(rendered.tools, provider),
        degraded=bool(selection.degraded),
        degraded_because=selection.degraded,
        turn_id=selection.turn_id,
        timings={part: round(spent, 3) for part, spent in discovery.timings.items()},
        search_result=rendered.search_result,
        fit=selection.fit,
        question=selection.question,
        help=selection.help,
    )


def _category(category: Category) -> TierCategory:
    return TierCategory(
        category.category, category.count, category.names, more=category.count - len(category.names)
    )


def _line(match: TierMatch, discovery: TieredDiscovery) -> MatchLine:
    item = match.item
    return MatchLine(
        id=item.identifier,
        full_name=item.full_name,
        kind=item.kind,
        display_name=item.display_name,
        score=item.score,
        reasons=item.reasons,
        access=access_of(item.asks_first),
        readiness=item.readiness.state.value,
        readiness_reason=item.readiness.reason,
        mend_path=path_of(item.mend),
        shown=item.full_name in discovery.lines.shown,
    )


def _full_entry(detail: Detail) -> FullEntry:
    return FullEntry(
        full_name=detail.full_name,
        schema_level=detail.schema_level,
        content_lines=detail.content_lines,
        all_content_lines=detail.all_content_lines,
        examples=detail.examples,
    )


def _tokens(discovery: TieredDiscovery, tiers: list[Tier], rendered: Written) -> DiscoveryTokens:
    tier0, tier1, tier2 = (tier.tokens for tier in tiers)
    return DiscoveryTokens(
        tier0=tier0,
        tier1=tier1,
        tier2=tier2,
        total=cost(discovery.context),
        tools=rendered.tokens,
        all=discovery.selection.tokens_all,
    )
