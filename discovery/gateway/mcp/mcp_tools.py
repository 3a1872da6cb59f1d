"""Meta-tools as the MCP server lists and calls them."""

from collections.abc import Callable
from typing import Any

from mcp_types import (
    CallToolResult,
    ContentBlock,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import TypeAdapter, ValidationError

from acl.platform.strict_json import write_json
from acl.rights.caller import Caller
from catalog.formats.descriptors import JSONObject
from discovery.calls.approval_queue import TooManyWaitingError
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import NotFoundError
from discovery.gateway.answers.dispatch import call_meta_tool
from discovery.gateway.metatool_permissions import may_call
from discovery.metatools.all_metatools import META_TOOLS
from discovery.metatools.metatool import MetaTool

FAILED = frozenset({"failed", "unknown", "rejected", "expired", "cancelled"})
COMMON_BLOCKS = frozenset({"text", "image", "resource"})  # content types of every version
_BLOCKS: TypeAdapter[list[ContentBlock]] = TypeAdapter(list[ContentBlock])
LIST_TTL_MS = 60_000  # milliseconds: a key's scopes rarely change


class UnknownToolError(Exception):
    """The tool does not exist, or this key may not call it."""


def list_tools(principal: Any) -> ListToolsResult:
    """List the tools that the principal may call; the list must not be cached for others."""
    tools = [_list_entry(tool) for tool in META_TOOLS.values() if may_call(principal, tool)]
    return ListToolsResult(tools=tools, ttl_ms=LIST_TTL_MS, cache_scope="private")


def call_tool(
    principal: Any, caller: Callable[[], Caller], name: str, arguments: dict[str, Any]
) -> CallToolResult:
    """Call a meta-tool. Errors are returned as results, for the model to read."""
    tool = META_TOOLS.get(name)
    if tool is None or not may_call(principal, tool):
        raise UnknownToolError(f"Unknown tool: {name[:80]}")
    try:
        result = call_meta_tool(caller=caller(), name=name, arguments=arguments)
    except (ArgumentsRefusedError, NotFoundError, TooManyWaitingError) as refused:
        return CallToolResult(content=[TextContent(text=str(refused))], is_error=True)
    blocks, result = _split_blocks(result)
    text = write_json(result, ensure_ascii=False)
    return CallToolResult(
        content=[TextContent(text=text), *blocks],
        structured_content=result,
        is_error=result.get("status") in FAILED,
    )


def _split_blocks(answer: JSONObject) -> tuple[list[ContentBlock], JSONObject]:
    """Separate the content blocks of a called tool from the rest of the answer.

    An image must not be sent as text. Content with unknown block types stays in the answer.
    """
    result = answer.get("result")
    if not isinstance(result, dict) or not isinstance(result.get("content"), list):
        return [], answer
    if any(block.get("type") not in COMMON_BLOCKS for block in result["content"]):
        return [], answer
    try:
        blocks = _BLOCKS.validate_python(result["content"])
    except ValidationError:
        return [], answer
    rest = {name: part for name, part in result.items() if name != "content"}
    return blocks, {**answer, "result": rest}


def _list_entry(tool: MetaTool) -> Tool:
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=ToolAnnotations(
            read_only_hint=tool.side_effect == "read",
            destructive_hint=tool.side_effect != "read",
            open_world_hint=tool.side_effect != "read",
        ),
    )
