"""How much of what a caller may use is put before the model: all of it, its names, or the means to
look for it.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from django.conf import settings

Mode = Literal["selected", "direct", "compact_direct", "discovery"]
MODES: tuple[Mode, ...] = get_args(Mode)
AUTO = "auto"
# A forced mode knows no budget; this is what one answer may hold all the same.
MOST_DIRECT, MOST_COMPACT = 2_000, 10_000


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """A mode and, in words, why it is this one; `budget` is the share of the window in tokens."""

    mode: Mode
    reason: str
    budget: int


def choose_mode(
    *,
    full_tokens: int,
    count: int,
    context_window: int | None,
    forced: str | None,
    most_tools: int = MOST_DIRECT,
) -> ModeChoice:
    """The first of direct, compact_direct and discovery that fits the share of the window.

    `full_tokens` is what all definitions cost, `count` how many there are; `forced` is a mode, or
    None or `auto` where the window decides. Without a window the deployment's own is reckoned with.
    `most_tools` is how many definitions the provider takes.
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
    """The mode that was asked for, unless so much cannot be written at once."""
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
    """The next mode, where what this one wrote costs more than was reckoned with."""
    lower: Mode = "compact_direct" if choice.mode == "direct" else "discovery"
    reason = f"As it is written, {choice.mode} costs {cost:,} tokens, more than {choice.budget:,}."
    return ModeChoice(lower, reason, choice.budget)
