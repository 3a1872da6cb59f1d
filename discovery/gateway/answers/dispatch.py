"""Dispatch of meta-tool calls by name, for the API, the MCP server and calls of capabilities."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from acl.rights.caller import Caller
from catalog.formats.descriptors import JSONObject
from discovery.calls.argument_check import check_arguments
from discovery.calls.call_arguments import accept_former_names
from discovery.gateway.answers import (
    category_answers,
    discovery_metatools,
    metatool_search,
    server_metatools,
    tool_answers,
)
from discovery.gateway.answers.answer_base import MetaCall
from discovery.metatools.all_metatools import META_TOOLS
from discovery.metatools.metatool import MetaTool

ANSWERS: Mapping[str, Callable[[MetaCall], JSONObject]] = {
    "list_categories": category_answers.list_categories,
    "browse_category": category_answers.browse_category,
    "search_tools": metatool_search.search_tools,
    "get_tool": tool_answers.get_tool,
    "execute_tool": tool_answers.execute_tool,
    "get_call": tool_answers.get_call,
    "discover_capabilities": metatool_search.discover_capabilities,
    "tool_discovery__find": discovery_metatools.find_tools,
    "tool_discovery__list_all": discovery_metatools.list_all,
    "tool_discovery__describe": discovery_metatools.describe,
    "mcp__list_servers": server_metatools.list_servers,
    "mcp__call_tool": server_metatools.call_tool,
    "mcp__register_server": server_metatools.register_server,
}


def call_meta_tool(
    *, caller: Caller, name: str, arguments: Any, turn_id: UUID | None = None
) -> JSONObject:
    """Return the answer of a meta-tool.

    Raises KeyError for an unknown meta-tool, ArgumentsRefusedError for arguments that do not fit,
    and NotFoundError if they name something that is not the caller's.
    """
    tool = META_TOOLS[name]
    arguments = accept_former_names(tool, arguments)
    check_arguments(tool.input_schema, arguments)
    return ANSWERS[name](MetaCall(caller, _with_defaults(tool, arguments), turn_id))


def answer_call(caller: Caller, name: str, arguments: JSONObject) -> JSONObject:
    """Answer a call of a meta-tool that is registered as a capability."""
    return call_meta_tool(caller=caller, name=name, arguments=arguments)


def _with_defaults(tool: MetaTool, arguments: JSONObject) -> JSONObject:
    defaults = {
        name: part["default"] for name, part in tool.parameters.items() if "default" in part
    }
    return {**defaults, **arguments}
