"""Injection: the definitions and text put before a model, for the selection or for all tools.

Whatever the mode, it contains only what the caller may use at this moment.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from acl.platform.strict_json import write_json
from acl.rights.caller_lookup import Caller
from catalog.token_counter import token_counter
from catalog.trust.findings import trust_own_schema, trust_own_text
from discovery.answer import modes
from discovery.answer.formats.base import Tool, tools_of
from discovery.answer.formats.registry import FORMATS, NO_TOOLS, write_searchable, write_tools
from discovery.answer.modes import AUTO, MOST_DIRECT, ModeChoice, choose_mode, step_down
from discovery.answer.prompt import (
    render_compact,
    render_deferred,
    render_direct,
    render_discovery,
    render_prompt,
)
from discovery.metatools import EXPLORING, META_TOOLS, MetaTool
from discovery.select.selection import Selection, SelectRequest


class _ReadTools(Protocol):
    """A reading of all tools, with or without their schemas."""

    def __call__(self, *, schemas: bool) -> list[Tool]: ...


# Tools that a model needs to use another one that it knows by name.
_USE_TOOLS = ("get_tool", "execute_tool")


def as_tools(meta: Iterable[MetaTool]) -> list[Tool]:
    """Convert meta-tools to tools, so that they are rendered like any other."""
    return [
        Tool(
            tool.name,
            trust_own_text(tool.title),
            trust_own_text(tool.description),
            trust_own_schema(tool.input_schema),
            tool.side_effect,
        )
        for tool in meta
    ]


# Always loaded if definitions are deferred: the model finds them with it.
SEARCH = as_tools([META_TOOLS["discover_capabilities"]])[0]


@dataclass(frozen=True, slots=True)
class Injection:
    """The definitions and text for a model in one mode, and their tokens as rendered.

    `search_result` is the answer to the model's search, if definitions are deferred.
    """

    choice: ModeChoice
    tools: tuple[Tool, ...]
    prompt: str
    tokens: int
    written: list[dict[str, Any]] | None
    search_result: Any = None


@dataclass(frozen=True, slots=True)
class Written:
    """Tools as the provider takes them, and the tokens of those that are loaded."""

    tools: tuple[Tool, ...]
    payload: list[dict[str, Any]] | None
    tokens: int
    search_result: Any = None


def write_found(matches: Sequence[Tool], *, provider: str, deferred: bool) -> Written:
    """Render the search tool and the tools found, given best first."""
    tools = (SEARCH, *matches)
    if not deferred:
        payload = write_tools(tools, provider)
        return Written(tools, payload, _cost(payload, ""))
    payload, result = write_searchable(matches, matches, SEARCH, provider)
    return Written(tools, payload, _cost(_loaded(payload), ""), result)


def inject(
    selection: Selection,
    request: SelectRequest,
    *,
    mode: str,
    provider: str,
    context_window: int | None = None,
    deferred: bool = False,
) -> Injection:
    """Build what goes to the model with a message, in the requested mode."""
    # Deferred definitions cost nothing until they are found, so all of them may be deferred.
    # This provider needs no declarations before a search finds them.
    if mode == "selected" or (deferred and provider == "openai_responses"):
        return inject_selected(selection, provider=provider, deferred=deferred)
    injection = inject_everything(
        caller=request.caller,
        provider=provider,
        kind=request.kind,
        only_here=request.only_here,
        context_window=context_window,
        forced="direct" if deferred and mode == AUTO else mode,
        measured=(len(selection.selected) + selection.excluded_count, selection.tokens_all),
    )
    if deferred and injection.choice.mode == "direct":
        choice = replace(injection.choice, reason="Definitions cost nothing until they are found.")
        return _deferred_injection(choice, injection.tools, best_first(selection), provider)
    return injection


def inject_selected(selection: Selection, *, provider: str, deferred: bool = False) -> Injection:
    """Build the usual injection: the selected tools."""
    choice = ModeChoice("selected", "What fits the message, and no more.", 0)
    tools = tools_of(selection.selected)
    if deferred:
        return _deferred_injection(choice, tools, best_first(selection), provider)
    return _rendered_injection(choice, tools, render_prompt(selection), provider)


def best_first(selection: Selection) -> list[Tool]:
    """Return the selected tools that can be called, in the ranking's order."""
    by_name = {tool.name: tool for tool in tools_of(selection.selected)}
    return [by_name[item.full_name] for item in selection.selected if item.full_name in by_name]


def inject_everything(
    *,
    caller: Caller,
    provider: str,
    kind: str = "any",
    only_here: bool = False,
    context_window: int | None = None,
    forced: str | None = None,
    measured: tuple[int, int] | None = None,
) -> Injection:
    """Build an injection of everything usable, in the mode that fits the window or is forced.

    `measured` is the number of capabilities and their tokens, if the caller has read them already.
    """
    count, full_tokens = measured or modes.measure(caller, kind=kind, only_here=only_here)
    choice = choose_mode(
        full_tokens=full_tokens,
        count=count,
        context_window=context_window,
        forced=forced,
        most_tools=MOST_DIRECT
        if provider == NO_TOOLS
        else min(MOST_DIRECT, FORMATS[provider].MOST_TOOLS),
    )

    def read(*, schemas: bool) -> list[Tool]:
        return modes.read(caller, kind=kind, only_here=only_here, schemas=schemas)

    injection = _everything_in(choice, provider, count, read)
    # True if the rendered tools exceed the budget.
    while forced in {None, AUTO} and (
        injection.choice.mode != "discovery" and injection.tokens > injection.choice.budget
    ):
        choice = step_down(injection.choice, injection.tokens)
        injection = _everything_in(choice, provider, count, read)
    return injection


def _everything_in(
    choice: ModeChoice, provider: str, count: int, read_tools: _ReadTools
) -> Injection:
    if choice.mode == "direct":
        tools = read_tools(schemas=True)
        return _rendered_injection(choice, tools, render_direct(tools), provider)
    if choice.mode == "compact_direct":
        lines = render_compact(read_tools(schemas=False))
        use_tools = [tool for tool in EXPLORING if tool.name in _USE_TOOLS]
        return _rendered_injection(choice, as_tools(use_tools), lines, provider)
    return _rendered_injection(choice, as_tools(EXPLORING), render_discovery(count), provider)


def _rendered_injection(
    choice: ModeChoice, tools: Sequence[Tool], prompt: str, provider: str
) -> Injection:
    payload = write_tools(tools, provider)
    return Injection(choice, tuple(tools), prompt, _cost(payload, prompt), payload)


def _deferred_injection(
    choice: ModeChoice, tools: Sequence[Tool], matches: Sequence[Tool], provider: str
) -> Injection:
    """Defer all tools, and add the search that finds some of them now."""
    payload, result = write_searchable(tools, matches, SEARCH, provider)
    prompt = render_deferred(SEARCH)
    cost = _cost(_loaded(payload), prompt)
    return Injection(choice, (SEARCH, *tools), prompt, cost, payload, result)


def _loaded(payload: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [tool for tool in payload if not tool.get("defer_loading")]


def _cost(payload: list[dict[str, Any]] | None, prompt: str) -> int:
    definitions = write_json(payload, ensure_ascii=False, compact=False) if payload else ""
    return token_counter().count(definitions) + token_counter().count(prompt)
