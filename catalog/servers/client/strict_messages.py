"""Messages of MCP servers, by the rules of strict JSON.

The SDK's parser takes `NaN`, infinities and a name that occurs twice. An answer that has one is
refused as an answer, so that whoever waits for it learns at once, and nothing of it is stored.
"""

from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCResponse
from mcp_types import jsonrpc_message_adapter as adapter
from mcp_types.jsonrpc import PARSE_ERROR

from acl.platform.strict_json import StrictJSONError, check_value, parse_json

# Schemas of tools are as deep as that; pydantic itself stops at 200.
_DEEPEST = 128


def read_line(line: bytes) -> JSONRPCMessage:
    """Return the message in a line. Raises ValueError where it is none."""
    message = adapter.validate_json(line, by_name=False)
    try:
        parse_json(line, max_depth=_DEEPEST, any_text=True)
    except StrictJSONError as problem:
        return _refused(message, problem)
    return message


def check_message(message: JSONRPCMessage) -> JSONRPCMessage:
    """Return the message, or an error where its values are none of JSON.

    For transports that parse by themselves, which of two equal names keep the last.
    """
    content = message.result if isinstance(message, JSONRPCResponse) else None
    try:
        # A NUL character in a tool's answer is kept, escaped, as text.
        check_value(content, max_depth=_DEEPEST, nul=True)
    except StrictJSONError as problem:
        return _refused(message, problem)
    return message


def _refused(message: JSONRPCMessage, problem: StrictJSONError) -> JSONRPCMessage:
    if not isinstance(message, JSONRPCResponse):
        raise problem
    error = ErrorData(code=PARSE_ERROR, message=f"not valid JSON: {problem}")
    return JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
