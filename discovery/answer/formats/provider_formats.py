"""Chooses how the tools are written down."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from discovery.answer.formats import anthropic, gemini, mcp_format, openai_chat, openai_responses
from discovery.answer.formats.format_base import Tool, in_order, tools_of
from discovery.select.selection import Selection


class Format(Protocol):
    """The shape of each of these modules."""

    MOST_TOOLS: int

    def render(self, tools: Sequence[Tool]) -> list[dict[str, Any]]: ...
    def name_of(self, full_name: str) -> str: ...
    def argument_names(self, tool: Tool) -> dict[str, str]: ...


FORMATS: Mapping[str, Format] = {
    "anthropic": anthropic,
    "openai": openai_chat,
    "openai_responses": openai_responses,
    "gemini": gemini,
    "mcp": mcp_format,
}
NO_TOOLS = "none"
# Formats of which a model can be told that there is more, without being told what.
SEARCHING = ("anthropic", "openai_responses")


def render_tools(selection: Selection, provider: str) -> list[dict[str, Any]] | None:
    """The provider's `tools`; None where the request wanted none."""
    return write_tools(tools_of(selection.selected), provider)


def write_tools(tools: Iterable[Tool], provider: str) -> list[dict[str, Any]] | None:
    """The same for tools from anywhere, in the order of their names."""
    return None if provider == NO_TOOLS else FORMATS[provider].render(in_order(tools))


def write_searchable(
    tools: Iterable[Tool], found: Iterable[Tool], search: Tool, provider: str
) -> tuple[list[dict[str, Any]], Any]:
    """`tools` of which only the search is loaded, and what answers a search that finds some of
    them, best first."""
    if provider == "anthropic":
        # Whatever a search refers to must be declared.
        found = list(found)
        deferred = anthropic.render_deferred(in_order([*tools, *found]))
        return [*anthropic.render([search]), *deferred], anthropic.search_result(found)
    if provider == "openai_responses":
        declared = [openai_responses.render_search(search)]
        return declared, openai_responses.search_result(list(found))
    raise ValueError(f"{provider} has no search")


def renamed(tools: Iterable[Tool], provider: str) -> dict[str, dict[str, Any]]:
    """By the name in the provider's `tools`: the full name, and the arguments' own names by those
    that stand for them. Only what differs."""
    if provider == NO_TOOLS:
        return {}
    format_ = FORMATS[provider]
    names = {}
    for tool in in_order(tools):
        name, arguments = format_.name_of(tool.name), format_.argument_names(tool)
        if name != tool.name or arguments:
            names[name] = {"full_name": tool.name, "arguments": arguments}
    return names
