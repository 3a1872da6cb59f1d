"""Registry of the provider formats, and rendering by a provider's name."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

from acl.platform.open_registry import modules_of
from discovery.answer.formats.base import Tool, sort_by_name, tools_of
from discovery.select.selection import Selection


class ProviderFormat(Protocol):
    """Interface of each format module. `LABEL` names it on pages."""

    LABEL: str
    MOST_TOOLS: int

    def render(self, tools: Sequence[Tool]) -> list[dict[str, Any]]: ...
    def name_of(self, full_name: str) -> str: ...
    def argument_names(self, tool: Tool) -> dict[str, str]: ...


class SearchingFormat(ProviderFormat, Protocol):
    """Interface of a format with a tool search, so that definitions can be deferred."""

    def render_searchable(
        self, tools: Iterable[Tool], matches: Sequence[Tool], search: Tool
    ) -> tuple[list[dict[str, Any]], Any]: ...


FORMATS = cast("Mapping[str, ProviderFormat]", modules_of("discovery.answer.formats"))
NO_TOOLS = "none"
SEARCHING = tuple(name for name, module in FORMATS.items() if hasattr(module, "render_searchable"))


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
    if provider not in SEARCHING:
        raise ValueError(f"{provider} has no search")
    searching = cast("SearchingFormat", FORMATS[provider])
    return searching.render_searchable(tools, list(matches), search)


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
