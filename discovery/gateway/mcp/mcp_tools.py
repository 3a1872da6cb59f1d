"""The meta-tools as an MCP server lists and calls them."""

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
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import NotFoundError
from discovery.calls.queue_limits import TooManyWaitingError
from discovery.gateway.answers.dispatch import call_meta_tool
from discovery.gateway.metatool_permissions import may_call
from discovery.metatools.all_metatools import META_TOOLS
from discovery.metatools.metatool import MetaTool

FAILED = frozenset({"failed", "unknown", "rejected", "expired", "cancelled"})
KNOWN_TO_ALL = frozenset({"text", "image", "resource"})  # in every version of the protocol
_BLOCKS: TypeAdapter[list[ContentBlock]] = TypeAdapter(list[ContentBlock])
LIST_IS_GOOD_FOR = 60_000  # milliseconds: a key's scopes rarely change


class UnknownToolError(Exception):
    """No tool of that name, or none that this key may call."""


def list_tools(principal: Any) -> ListToolsResult:
    """Those that the key or person may call. Which these are is nobody else's business."""
    tools = [_listed(tool) for tool in META_TOOLS.values() if may_call(principal, tool)]
    return ListToolsResult(tools=tools, ttl_ms=LIST_IS_GOOD_FOR, cache_scope="private")


def call_tool(
    principal: Any, caller: Callable[[], Caller], name: str, arguments: dict[str, Any]
) -> CallToolResult:
    """The answer, or what was wrong with the call, for the model to read."""
    tool = META_TOOLS.get(name)
    if tool is None or not may_call(principal, tool):
        raise UnknownToolError(f"Unknown tool: {name[:80]}")
    try:
        result = call_meta_tool(caller=caller(), name=name, arguments=arguments)
    except (ArgumentsRefusedError, NotFoundError, TooManyWaitingError) as refused:
        return CallToolResult(content=[TextContent(text=str(refused))], is_error=True)
    blocks, result = _blocks_of(result)
    text = write_json(result, ensure_ascii=False)
    return CallToolResult(
        content=[TextContent(text=text), *blocks],
        structured_content=result,
        is_error=result.get("status") in FAILED,
    )


def _blocks_of(answer: JSONObject) -> tuple[list[ContentBlock], JSONObject]:
    """The blocks that a called tool has answered, as such, and the answer without them: an image
    in a text would be a long text. What is no block that we know stays where it is."""
    result = answer.get("result")
    if not isinstance(result, dict) or not isinstance(result.get("content"), list):
        return [], answer
    if any(block.get("type") not in KNOWN_TO_ALL for block in result["content"]):
        return [], answer
    try:
        blocks = _BLOCKS.validate_python(result["content"])
    except ValidationError:
        return [], answer
    rest = {name: part for name, part in result.items() if name != "content"}
    return blocks, {**answer, "result": rest}


def _listed(tool: MetaTool) -> Tool:
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
