"""Modes: what goes before the model, be it all definitions, their names, or tools to search."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from django.conf import settings

from acl.platform.answer_model import Answer, Shown

Mode = Literal["selected", "direct", "compact_direct", "discovery"]
MODES: tuple[Mode, ...] = get_args(Mode)
AUTO = "auto"
WANTED_MODES = (*MODES, AUTO)
# Limits of one answer, which apply to a forced mode, too.
MOST_DIRECT, MOST_COMPACT = 2_000, 10_000


@dataclass(frozen=True, slots=True)
class ModeChoice(Answer):
    """A mode, the reason for it in words, and the budget: its share of the window in tokens."""

    component = "Mode"

    mode: Mode
    reason: str
    # The share of the window.
    budget: Annotated[int, Shown("In tokens; 0 where none was asked for.")]


def choose_mode(
    *,
    full_tokens: int,
    count: int,
    context_window: int | None,
    forced: str | None,
    most_tools: int = MOST_DIRECT,
) -> ModeChoice:
    """Choose the first of direct, compact_direct and discovery that fits the budget.

    `full_tokens` and `count` are those of all definitions. `forced` is a mode; with None or `auto`
    the window decides, by default PEGBOARD_CONTEXT_WINDOW. `most_tools` is the provider's limit.
    """
    window = context_window or settings.PEGBOARD_CONTEXT_WINDOW
    budget = int(window * settings.PEGBOARD_CONTEXT_SHARE)
    if forced and forced != AUTO:
        return _forced(forced, count, most_tools, budget)
    share = f"{settings.PEGBOARD_CONTEXT_SHARE:.0%} of {window:,} tokens"
    if count <= most_tools and full_tokens <= budget:
        fits = f"All {count:,} definitions cost {full_tokens:,} tokens and fit {budget:,}, {share}."
        return ModeChoice("direct", fits, budget)
    reason = (
        f"All {count:,} definitions cost {full_tokens:,} tokens, more than {budget:,}, {share}"
        if full_tokens > budget
        else f"{count:,} definitions are more than the {most_tools:,} that are taken at once"
    )
    lines = count * settings.PEGBOARD_COMPACT_TOKENS
    if count <= MOST_COMPACT and lines <= budget:
        return ModeChoice("compact_direct", f"{reason}; a line each costs {lines:,}.", budget)
    return ModeChoice("discovery", f"{reason}; so would a line each, {lines:,}.", budget)


def _forced(mode: str, count: int, most_tools: int, budget: int) -> ModeChoice:
    """Return the requested mode, or a smaller one if it exceeds what fits one answer."""
    if mode not in MODES:
        raise ValueError(f"{mode} is not a mode")
    most = {"direct": most_tools, "compact_direct": MOST_COMPACT}.get(mode, count)
    if count <= most:
        return ModeChoice(mode, f"The request asks for {mode}.", budget)
    return ModeChoice(
        "discovery" if count > MOST_COMPACT else "compact_direct",
        f"The request asks for {mode}, and {count:,} are more than {most:,}, the most at once.",
        budget,
    )


def step_down(choice: ModeChoice, cost: int) -> ModeChoice:
    """Return the next smaller mode, for when the rendered tools cost more than estimated."""
    lower: Mode = "compact_direct" if choice.mode == "direct" else "discovery"
    reason = f"As it is written, {choice.mode} costs {cost:,} tokens, more than {choice.budget:,}."
    return ModeChoice(lower, reason, choice.budget)
