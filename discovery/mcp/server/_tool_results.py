"""Results of calls in MCP's types. An image is an image, and not a text that describes one."""

from typing import Any

from mcp_types import CallToolResult, ContentBlock, InputRequiredResult, TextContent
from pydantic import TypeAdapter, ValidationError

from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject
from discovery.calls.view import Execution
from discovery.mcp.server._client_side import ClientSide

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
        return CallToolResult(
            content=[TextContent(text=_why_not(done))], is_error=True, _meta=_meta(done)
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


def _why_not(done: Execution) -> str:
    later = f" Ask for its result with get_call and call_id {done.call_id}."
    return f"{done.message}{later if done.is_waiting else ''}"


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
