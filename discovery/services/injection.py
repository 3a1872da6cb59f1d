"""What is put before the model: what was selected, or everything in the mode that fits.

Whatever is in it, it is what the caller may use at this moment.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from acl.callers import Caller
from catalog.tokens import estimate_tokens, token_counter
from discovery import everything
from discovery.metatools.definition import MetaTool
from discovery.metatools.registry import EXPLORING
from discovery.rendering.common import Tool, tools_of
from discovery.rendering.formats import FORMATS, NO_TOOLS, write_tools
from discovery.rendering.modes import AUTO, MOST_DIRECT, ModeChoice, choose_mode, step_down
from discovery.rendering.prompt import (
    render_compact,
    render_direct,
    render_discovery,
    render_prompt,
)
from discovery.selected import Selection

# What a model needs to use something of which it has been told the name.
_USING = ("get_tool", "execute_tool")


@dataclass(frozen=True, slots=True)
class Injection:
    """The definitions and the text for a model, in one mode, and what both cost."""

    choice: ModeChoice
    tools: tuple[Tool, ...]
    prompt: str
    tokens: int


def inject_selected(selection: Selection, *, provider: str) -> Injection:
    """What was selected for a message, the usual mode."""
    choice = ModeChoice("selected", "What fits the message, and no more.", 0)
    return _written(choice, tools_of(selection.selected), render_prompt(selection), provider)


def inject_everything(
    *,
    caller: Caller,
    provider: str,
    kind: str = "any",
    context_window: int | None = None,
    forced: str | None = None,
    known: tuple[int, int] | None = None,
) -> Injection:
    """Everything that the caller may use, in the mode that fits the window or that is forced.

    `known` spares a statement where the number of capabilities and their tokens have been read.
    """
    count, full_tokens = known or everything.measure(caller, kind=kind)
    choice = choose_mode(
        full_tokens=full_tokens,
        count=count,
        context_window=context_window,
        forced=forced,
        most_tools=_most_tools(provider),
    )
    injection = _everything_in(choice, caller, provider, kind, count)
    while forced in {None, AUTO} and _is_too_much(injection):
        choice = step_down(injection.choice, injection.tokens)
        injection = _everything_in(choice, caller, provider, kind, count)
    return injection


def as_tools(meta: Iterable[MetaTool]) -> list[Tool]:
    """Our own tools, to be written like any other."""
    return [
        Tool(tool.name, tool.title, tool.description, tool.input_schema, tool.side_effect)
        for tool in meta
    ]


def _everything_in(
    choice: ModeChoice, caller: Caller, provider: str, kind: str, count: int
) -> Injection:
    if choice.mode == "direct":
        tools = everything.read(caller, kind=kind)
        return _written(choice, tools, render_direct(tools), provider)
    if choice.mode == "compact_direct":
        lines = render_compact(everything.read(caller, kind=kind, schemas=False))
        using = [tool for tool in EXPLORING if tool.name in _USING]
        return _written(choice, as_tools(using), lines, provider)
    return _written(choice, as_tools(EXPLORING), render_discovery(count), provider)


def _is_too_much(injection: Injection) -> bool:
    """Stored estimates are of the definition alone; a provider's format adds to it."""
    return injection.choice.mode != "discovery" and injection.tokens > injection.choice.budget


def _written(choice: ModeChoice, tools: list[Tool], prompt: str, provider: str) -> Injection:
    written = write_tools(tools, provider)
    cost = estimate_tokens(written) if written else 0
    return Injection(choice, tuple(tools), prompt, cost + token_counter().count(prompt))


def _most_tools(provider: str) -> int:
    if provider == NO_TOOLS:
        return MOST_DIRECT
    return min(MOST_DIRECT, FORMATS[provider].MOST_TOOLS)
