"""Registry of the provider formats, and rendering by a provider's name."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from discovery.answer.formats import anthropic, gemini, mcp, openai_chat, openai_responses
from discovery.answer.formats.base import Tool, sort_by_name, tools_of
from discovery.select.selection import Selection


class ProviderFormat(Protocol):
    """Interface of each format module."""

    MOST_TOOLS: int

    def render(self, tools: Sequence[Tool]) -> list[dict[str, Any]]: ...
    def name_of(self, full_name: str) -> str: ...
    def argument_names(self, tool: Tool) -> dict[str, str]: ...


FORMATS: Mapping[str, ProviderFormat] = {
    "anthropic": anthropic,
    "openai": openai_chat,
    "openai_responses": openai_responses,
    "gemini": gemini,
    "mcp": mcp,
}
NO_TOOLS = "none"
# Formats with a tool search, so that definitions can be deferred.
SEARCHING = ("anthropic", "openai_responses")


def render_tools(selection: Selection, provider: str) -> list[dict[str, Any]] | None:
    """Render the selected tools; None if the request wants none."""
    return write_tools(tools_of(selection.selected), provider)


def write_tools(tools: Iterable[Tool], provider: str) -> list[dict[str, Any]] | None:
    """Render tools from any source, sorted by name."""
    return None if provider == NO_TOOLS else FORMATS[provider].render(sort_by_name(tools))


def write_searchable(
    tools: Iterable[Tool], matches: Iterable[Tool], search: Tool, provider: str
) -> tuple[list[dict[str, Any]], Any]:
    """Render `tools` with all but the search deferred, and the answer to a search for `matches`."""
    if provider == "anthropic":
        # Every tool that a search refers to must be declared.
        matches = list(matches)
        deferred = anthropic.render_deferred(sort_by_name([*tools, *matches]))
        return [*anthropic.render([search]), *deferred], anthropic.search_result(matches)
    if provider == "openai_responses":
        declared = [openai_responses.render_search(search)]
        return declared, openai_responses.search_result(list(matches))
    raise ValueError(f"{provider} has no search")


def renamed(tools: Iterable[Tool], provider: str) -> dict[str, dict[str, Any]]:
    """Return full names and original argument names by the provider's names, where they differ."""
    if provider == NO_TOOLS:
        return {}
    format_ = FORMATS[provider]
    names = {}
    for tool in sort_by_name(tools):
        name, arguments = format_.name_of(tool.name), format_.argument_names(tool)
        if name != tool.name or arguments:
            names[name] = {"full_name": tool.name, "arguments": arguments}
    return names
