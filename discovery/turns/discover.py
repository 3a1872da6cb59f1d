"""Discovery in tiers: what a prompt is told about capabilities for one message, within budgets."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from discovery.answer.formats.format_base import Tool, tools_of
from discovery.answer.modes import ModeChoice, choose_mode
from discovery.answer.tiers.category_tier import Category, Summary, write_summary
from discovery.answer.tiers.full_tier import BETWEEN, Details, write_details
from discovery.answer.tiers.line_tier import Lines, Match, foremost, write_lines
from discovery.answer.tiers.tier_options import TierOptions
from discovery.answer.tiers.tier_state import categories_at, read_state
from discovery.answer.token_budget import cost
from discovery.select.selection import Asked, Selection
from discovery.turns.turn_records import select_for_turn

# Places for what is pinned, which may fit nothing that was said.
_BESIDE = 2


@dataclass(frozen=True, slots=True)
class Discovery:
    """The three tiers as data and as text."""

    selection: Selection
    options: TierOptions
    mode: ModeChoice
    categories: tuple[Category, ...]
    summary: Summary
    matches: tuple[Match, ...]
    lines: Lines
    details: Details
    timings: dict[str, float]

    @property
    def context(self) -> str:
        """What goes into the prompt: the tiers that say anything."""
        return BETWEEN.join(text for text in self.texts if text)

    @property
    def texts(self) -> tuple[str, str, str]:
        """Of each tier."""
        return self.summary.text, self.lines.text, self.details.text

    @property
    def found(self) -> list[Tool]:
        """What fits the message and can be called, best first."""
        by_name = {tool.name: tool for tool in tools_of(match.item for match in self.matches)}
        names = (match.item.full_name for match in self.matches)
        return [by_name[name] for name in names if name in by_name]


def discover(asked: Asked, *, options: TierOptions, context_window: int | None = None) -> Discovery:
    """Select, take the foremost, read what else is to be told of them, write the tiers.

    Three statements: the selection, its turn, and what the tiers read; one more where nobody with
    the same rights has asked since the catalogue changed.
    """
    options = options.within(context_window)
    asked = asked_in_tiers(asked, options)
    return tell(asked, select_for_turn(asked), options=options, context_window=context_window)


def asked_in_tiers(asked: Asked, options: TierOptions) -> Asked:
    """The question as the tiers put it to the selector."""
    return replace(asked, max_tools=options.tier1_top + _BESIDE, only_available=True)


def tell(
    asked: Asked,
    selection: Selection,
    *,
    options: TierOptions,
    context_window: int | None = None,
) -> Discovery:
    """The tiers of a selection that there is already."""
    started = time.perf_counter()
    wanted = foremost(selection.selected, top=options.tier1_top, relevance=options.relevance)
    state = read_state(
        asked.caller,
        shown=[item.pk for item in wanted],
        full=[item.pk for item in wanted[: options.tier2_top]],
    )
    categories = categories_at(state.key, asked.caller)
    read_at = time.perf_counter()
    # What was taken away since the selection is gone.
    matches = [Match(item, state.facts[item.pk]) for item in wanted if item.pk in state.facts]
    summary, lines, details = _write(categories, matches, options)
    timings = {
        **selection.timings,
        "state": (read_at - started) * 1000,
        "tiers": (time.perf_counter() - read_at) * 1000,
    }
    timings["total"] += timings["state"] + timings["tiers"]
    return Discovery(
        selection=selection,
        options=options,
        mode=_mode_for(selection, context_window),
        categories=categories,
        summary=summary,
        matches=tuple(matches),
        lines=lines,
        details=details,
        timings=timings,
    )


def _write(
    categories: Sequence[Category], matches: Sequence[Match], options: TierOptions
) -> tuple[Summary, Lines, Details]:
    """Each tier pays for the empty line after it, so that together they keep to their budgets."""
    between = cost(BETWEEN)
    return (
        write_summary(categories, options.tier0_tokens - between),
        write_lines(matches, options.tier1_tokens - between),
        write_details(matches[: options.tier2_top], options.tier2_tokens),
    )


def _mode_for(selection: Selection, context_window: int | None) -> ModeChoice:
    """Whether all that the caller may use would have fitted the window as well."""
    usable = len(selection.selected) + selection.excluded_count
    return choose_mode(
        full_tokens=selection.tokens_all,
        count=usable,
        context_window=context_window,
        forced=None,
    )
