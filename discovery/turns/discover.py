"""Tiered discovery: what a prompt says about capabilities for one message, within token budgets."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from discovery.answer.formats.base import Tool, tools_of
from discovery.answer.modes import ModeChoice, choose_mode
from discovery.answer.tiers.categories import Category, Summary, write_summary
from discovery.answer.tiers.definitions import BETWEEN, FullDetails, write_details
from discovery.answer.tiers.lines import Lines, TierMatch, choose_matches, write_lines
from discovery.answer.tiers.options import TierOptions
from discovery.answer.tiers.state import categories_at, read_state
from discovery.answer.token_budget import cost
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
