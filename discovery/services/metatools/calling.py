"""Calling a meta-tool by its name: what the API, the MCP server and whoever else may do."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from acl.callers import Caller
from catalog.descriptors import JSONObject
from discovery.arguments import check_arguments
from discovery.metatools.definition import MetaTool
from discovery.metatools.registry import META_TOOLS
from discovery.services.metatools import browsing, searching, servers, tool_discovery, using
from discovery.services.metatools.call import MetaCall

ANSWERS: Mapping[str, Callable[[MetaCall], JSONObject]] = {
    "list_categories": browsing.list_categories,
    "browse_category": browsing.browse_category,
    "search_tools": searching.search_tools,
    "get_tool": using.get_tool,
    "execute_tool": using.execute_tool,
    "get_call": using.get_call,
    "discover_capabilities": searching.discover_capabilities,
    "tool_discovery__find": tool_discovery.find_tools,
    "tool_discovery__list_all": tool_discovery.list_all,
    "tool_discovery__describe": tool_discovery.describe,
    "mcp__list_servers": servers.list_servers,
    "mcp__call_tool": servers.call_tool,
    "mcp__register_server": servers.register_server,
}


def call_meta_tool(
    *, caller: Caller, name: str, arguments: Any, turn_id: UUID | None = None
) -> JSONObject:
    """The answer of a meta-tool. Raises KeyError where there is none of that name,
    ArgumentsRefusedError where the arguments do not fit, and NotFoundError where what they name is
    not the caller's."""
    tool = META_TOOLS[name]
    check_arguments(tool.input_schema, arguments)
    return ANSWERS[name](MetaCall(caller, _with_defaults(tool, arguments), turn_id))


def _with_defaults(tool: MetaTool, arguments: JSONObject) -> JSONObject:
    defaults = {
        name: part["default"] for name, part in tool.parameters.items() if "default" in part
    }
    return {**defaults, **arguments}
