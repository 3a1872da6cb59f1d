"""Tools as the MCP server lists and calls them: the meta-tools, and the caller's own."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from mcp_types import (
    CallToolResult,
    ContentBlock,
    InputRequiredResult,
    TextContent,
    Tool,
    ToolAnnotations,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from acl.platform.strict_json import write_json
from acl.rights.caller_lookup import Caller
from acl.web.open_streams import open_streams
from catalog.formats.descriptors import JSONObject
from catalog.formats.readers.tool import passed_on
from catalog.formats.usable_schema import has_dangling_reference
from catalog.models import Capability
from catalog.trust.findings import ReviewedSchema, ReviewedText
from discovery.answer.formats.base import Tool as ShownTool
from discovery.answer.formats.registry import FORMATS
from discovery.calls.approval_queue import TooManyWaitingError
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import BegunCall, NeedsApprovalError, NotFoundError, begin
from discovery.calls.view import Execution
from discovery.mcp.answers.dispatch import call_meta_tool
from discovery.mcp.metatool_api import may_call
from discovery.mcp.server._client_side import ClientSide, LiveCall
from discovery.mcp.server.call_tasks import TASK_AFTER_SECONDS, TaskRefusedError
from discovery.metatools import META_TOOLS, MetaTool
from discovery.models import Call

# Results of calls in MCP's types. An image is an image, and not a text that describes one.

FAILED = frozenset({"failed", "unknown", "rejected", "expired", "cancelled"})
BLOCKS = frozenset({"text", "image", "resource", "audio", "resource_link"})
_BLOCK: TypeAdapter[ContentBlock] = TypeAdapter(ContentBlock)
FLOW = "pegboard/flow"  # in a result's _meta
_CUT = "The rest was too long and is not passed on."


def refusal(reason: str) -> CallToolResult:
    """Return a refused call as a result, for the model to read."""
    return CallToolResult(content=[TextContent(text=reason)], is_error=True)


class ServerRefusedError(Exception):
    """The server answered a call with an error: code, message and perhaps data."""

    def __init__(self, error: JSONObject) -> None:
        super().__init__(error["message"])
        self.error = error


def result_of_answer(answer: JSONObject, client: ClientSide) -> CallToolResult:
    """Return a meta-tool's answer, as text and structured; a called tool's content beside it."""
    blocks, rest = _split_blocks(answer, client)
    return CallToolResult(
        content=[TextContent(text=write_json(rest, ensure_ascii=False)), *blocks],
        structured_content=rest,
        is_error=rest.get("status") in FAILED,
    )


def result_of_call(done: Execution, client: ClientSide) -> CallToolResult | InputRequiredResult:
    """Return a tool's own result as its server gave it; otherwise why there is none (yet).

    Raises ServerRefusedError with the server's own error.
    """
    if done.status == "client_executes":
        return result_of_answer(done.as_answer(), client)
    if done.content is not None:
        return CallToolResult(content=_noted([TextContent(text=done.content)], done))
    if done.result is None:
        later = f" Ask for its result with get_call and call_id {done.call_id}."
        return CallToolResult(
            content=[TextContent(text=f"{done.message}{later if done.is_waiting else ''}")],
            is_error=True,
            _meta=_meta(done),
        )
    if required := done.result.get("required"):
        return InputRequiredResult.model_validate(required, by_name=False)
    if error := done.result.get("error"):
        raise ServerRefusedError(error)
    blocks = _read_blocks(done.result.get("content"), client)
    return CallToolResult(
        content=_noted(blocks or [TextContent(text=_text_of(done.result))], done),
        structured_content=client.structured(done.result.get("structured")),
        is_error=done.status in FAILED,
        _meta=_meta(done),
    )


def _text_of(result: JSONObject) -> str:
    """Return a result without content as text: its structured value, if it has one."""
    structured = result.get("structured")
    return write_json(result if structured is None else structured, ensure_ascii=False)


def _meta(done: Execution) -> JSONObject | None:
    return {**(done.meta or {}), **({FLOW: done.flow} if done.flow else {})} or None


def _noted(blocks: list[ContentBlock], done: Execution) -> list[ContentBlock]:
    """Add to the content that it was cut, and the approver's note."""
    notes = [_CUT] if done.truncated else []
    if done.note:
        notes.append(f"Note of the person who approved it: {done.note}")
    return [*blocks, *(TextContent(text=note) for note in notes)]


def _split_blocks(answer: JSONObject, client: ClientSide) -> tuple[list[ContentBlock], JSONObject]:
    """Separate the content blocks of a called tool from the rest of the answer."""
    result = answer.get("result")
    if not isinstance(result, dict):
        return [], answer
    blocks = _read_blocks(result.get("content"), client)
    if blocks is None:
        return [], answer
    rest = {name: part for name, part in result.items() if name != "content"}
    return blocks, {**answer, "result": rest}


def _read_blocks(content: Any, client: ClientSide) -> list[ContentBlock] | None:
    """Return the content blocks, or None if there are none.

    A block that the client's version does not know comes as text; the others stay what they are.
    """
    if not isinstance(content, list):
        return None
    return [_read_block(block, client) for block in content]


def _read_block(block: Any, client: ClientSide) -> ContentBlock:
    kind = block.get("type") if isinstance(block, dict) else None
    try:
        if kind in BLOCKS and client.knows(kind):
            return _BLOCK.validate_python(block)
    except ValidationError:
        pass
    return TextContent(text=write_json(block, ensure_ascii=False))


ToolAnswer = CallToolResult | InputRequiredResult | BegunCall
READINESS, EFFECT = "pegboard/readiness", "pegboard/effect"  # in a tool's _meta


class UnknownToolError(Exception):
    """The tool does not exist, or this key may not call it."""

    def __init__(self, name: str, hint: str = "") -> None:
        super().__init__(hint or f"Unknown tool: {name[:80]}")


def meta_tools(principal: Any) -> list[Tool]:
    """Return the meta-tools that the principal may call."""
    return [describe_meta_tool(tool) for tool in META_TOOLS.values() if may_call(principal, tool)]


def describe_meta_tool(tool: MetaTool) -> Tool:
    """Return a meta-tool as MCP lists it."""
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


def describe_tool(row: Capability, name: str, *, own_schema: bool = False) -> Tool:
    """Return a capability with its readiness as MCP lists it, under `name`.

    `own_schema` keeps what some providers of models refuse: the client adapts it for its own.
    """
    readiness = row.readiness  # type: ignore[attr-defined]
    tool = ShownTool(
        name=name,
        title=ReviewedText(row.display_name),
        description=ReviewedText(row.description),
        input_schema=ReviewedSchema(row.input_schema) if row.input_schema else None,
        side_effect=row.side_effect,
    )
    [rendered] = FORMATS["mcp"].render([tool])
    schema = row.input_schema
    if own_schema and isinstance(schema, dict) and schema.get("type") == "object":
        rendered["inputSchema"] = ReviewedSchema(schema)
    output = row.output_schema
    # A client that compiles a schema refuses the whole list for one that refers to nothing.
    if isinstance(output, dict) and not has_dangling_reference(output):
        rendered["outputSchema"] = ReviewedSchema(output)
    clients = passed_on(row.annotations)
    # Hints are the server's own where it gives any; what they were taken for stands beside.
    has_hints = any(name.endswith("Hint") for name in clients.hints)
    rendered["annotations"] = clients.hints | ({} if has_hints else rendered["annotations"])
    rendered["icons"] = clients.icons or None
    derived = {READINESS: readiness.state.value, EFFECT: row.side_effect}
    return Tool.model_validate({**rendered, "_meta": {**clients.meta, **derived}})


def listed_for(version: str, tool: Tool) -> Tool:
    """Return a tool as this version of MCP has it: until 2026-07-28 results are objects."""
    output = tool.output_schema
    is_fitting = output is None or output.get("type") == "object"
    if is_fitting or version in MODERN_PROTOCOL_VERSIONS:
        return tool
    return tool.model_copy(update={"output_schema": None})


def call_meta(
    principal: Any,
    caller: Callable[[], Caller],
    name: str,
    arguments: dict[str, Any],
    client: ClientSide,
) -> CallToolResult:
    """Call a meta-tool. Errors are returned as results, for the model to read."""
    if not may_call(principal, META_TOOLS[name]):
        raise UnknownToolError(name)
    try:
        answer = call_meta_tool(
            caller=caller(),
            name=name,
            arguments=arguments,
            turn_id=client.turn_id,
            conversation=client.conversation,
        )
    except (ArgumentsRefusedError, NotFoundError, TooManyWaitingError) as refused:
        return refusal(str(refused))
    return result_of_answer(answer, client)


def call_tool(
    caller: Caller,
    full_name: str,
    arguments: dict[str, Any],
    client: ClientSide,
    *,
    names_server: bool = False,
    apps: bool = False,
) -> ToolAnswer | LiveCall:
    """Call one of the caller's tools, listed or not, through the same door as `execute_tool`.

    A client that wants to hear of the call meanwhile gets a LiveCall, as long as there is a place
    for its stream, and so does one whose call has not ended after `PEGBOARD_CALL_WAIT_SECONDS`;
    `names_server` says in questions whose they are, and `apps` that the client
    shows servers' apps, which may call what no model is shown. One that takes tasks gets the begun
    call itself if that waits for approval, or has not ended after two seconds.

    Raises UnknownToolError alike for unknown names and for other people's tools, and
    ServerRefusedError.
    """
    has_place = client.listens and open_streams.take(caller.user_id)
    try:
        begun_call = begin(
            caller=caller,
            full_name=full_name,
            arguments=arguments,
            turn_id=client.turn_id,
            conversation=client.conversation,
            dialogue=client.dialogue(
                is_open=has_place, is_task=client.takes_tasks, names_server=names_server
            ),
            apps=apps,
        )
        if client.session is not None and begun_call.is_under_way:
            client.session.note_call(client.request_id, begun_call.call.pk)
        if has_place and begun_call.is_under_way:
            has_place = False  # the stream gives it back
            return LiveCall(begun_call, client)
        begun_call = (
            begun_call.wait(wait_seconds_of(begun_call, client))
            if begun_call.is_under_way
            else begun_call
        )
        if client.takes_tasks and begun_call.call.state not in Call.ENDED:
            return begun_call
        # A long call is held by a stream from here on, though its client hears nothing meanwhile.
        is_long = begun_call.is_under_way and settings.PEGBOARD_CALL_WAIT_SECONDS > 0
        if is_long and client.takes_stream and open_streams.take(caller.user_id):
            return LiveCall(begun_call, client)
        return finish(begun_call, client)
    except (ArgumentsRefusedError, NeedsApprovalError, TooManyWaitingError) as refused:
        return refusal(str(refused))
    except NotFoundError as unknown:
        raise UnknownToolError(full_name, str(unknown)) from None
    finally:
        if has_place:
            open_streams.give_back(caller.user_id)


def begin_task(
    caller: Caller,
    full_name: str,
    arguments: dict[str, Any],
    client: ClientSide,
    *,
    names_server: bool = False,
    apps: bool = False,
) -> BegunCall:
    """Begin a call that its client wants as a task. Raises UnknownToolError, TaskRefusedError."""
    try:
        return begin(
            caller=caller,
            full_name=full_name,
            arguments=arguments,
            turn_id=client.turn_id,
            conversation=client.conversation,
            dialogue=client.dialogue(is_task=True, names_server=names_server),
            apps=apps,
        )
    except (ArgumentsRefusedError, NeedsApprovalError, TooManyWaitingError) as refused:
        raise TaskRefusedError(str(refused)) from None
    except NotFoundError as unknown:
        raise UnknownToolError(full_name, str(unknown)) from None


def wait_seconds_of(begun_call: BegunCall, client: ClientSide) -> float | None:
    """Return how long a call is waited for; None for as long as the settings say."""
    most = settings.PEGBOARD_CALL_WAIT_SECONDS
    return min(TASK_AFTER_SECONDS, most) if client.takes_tasks else None


def finish(begun_call: BegunCall, client: ClientSide) -> CallToolResult | InputRequiredResult:
    """Return the result of a call as it is now. Raises UnknownToolError, ServerRefusedError."""
    try:
        return result_of_call(begun_call.finish(), client)
    except NotFoundError as unknown:
        raise UnknownToolError(begun_call.call.full_name, str(unknown)) from None
