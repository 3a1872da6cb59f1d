"""MCP messages parsed as strict JSON.

The SDK's parser accepts `NaN`, infinities and duplicate keys. A response containing one becomes an
error response, so the caller learns at once and nothing of it is stored.
"""

from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCResponse
from mcp_types import jsonrpc_message_adapter as adapter
from mcp_types.jsonrpc import PARSE_ERROR

from acl.platform.strict_json import StrictJSONError, check_value, parse_json
from catalog.servers.client.readable_json import DEEPEST, make_readable

# Deep enough for tools' schemas. What is nested deeper was left out, and the tool names it.
_MAX_DEPTH = DEEPEST + 1


def read_line(line: bytes) -> JSONRPCMessage:
    """Parse the message in a line, or raise ValueError."""
    line = make_readable(line)
    message = adapter.validate_json(line, by_name=False)
    try:
        parse_json(line, max_depth=_MAX_DEPTH, any_text=True)
    except StrictJSONError as problem:
        return _to_error_response(message, problem)
    return _admit_task(message)


def check_message(message: JSONRPCMessage) -> JSONRPCMessage:
    """Return the message, or an error response if it holds values outside JSON.

    For transports that parse themselves; duplicate keys were already merged there.
    """
    content = message.result if isinstance(message, JSONRPCResponse) else None
    try:
        # A NUL character in a tool's result is allowed; it stays escaped.
        check_value(content, max_depth=_MAX_DEPTH, nul=True)
    except StrictJSONError as problem:
        return _to_error_response(message, problem)
    return _admit_task(message)


def _admit_task(message: JSONRPCMessage) -> JSONRPCMessage:
    """Give a created task the content that the SDK expects of every answer to a call."""
    if isinstance(message, JSONRPCResponse) and isinstance(message.result.get("task"), dict):
        message.result.setdefault("content", [])
    return message


def _to_error_response(message: JSONRPCMessage, problem: StrictJSONError) -> JSONRPCMessage:
    if not isinstance(message, JSONRPCResponse):
        raise problem
    error = ErrorData(code=PARSE_ERROR, message=f"not valid JSON: {problem}")
    return JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
