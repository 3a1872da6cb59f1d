"""The bytes of a server's JSON as a strict parser can read them.

A message is lost as a whole if one character of it is none: a lone surrogate, a byte of another
charset, a schema nested too deep for any parser. Each becomes something readable in its place.
"""

import json
import math
import operator
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio
import httpx2
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCResponse
from mcp_types import jsonrpc_message_adapter as adapter
from mcp_types.jsonrpc import PARSE_ERROR

from acl.platform.back_off import BackOff
from acl.platform.strict_json import StrictJSONError, check_value, parse_json, write_json
from catalog.formats.loose_text import charset_of, decode_text

# A parser of Rust stops at 200 levels; what Pegboard keeps ends far above.
DEEPEST = 150
# Streams that were opened within this time count for the pause before the next one.
_PACING_SECONDS = 600.0
_LONGEST_PAUSE = 60.0
_LONE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"  # a pair: one character
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
    rb"|(\\.)",
    re.DOTALL,
)
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def make_readable(data: bytes, content_type: str = "") -> bytes:
    """Return JSON in UTF-8, without lone surrogates and without what is nested too deep."""
    if charset_of(content_type) != "utf-8" or not _is_plain(data):
        data = decode_text(data, content_type).encode(errors="replace")
    if _LONE.search(data):
        data = _ESCAPES.sub(lambda match: match[1] or match[2] or rb"\ufffd", data)
    if data.count(b"[") + data.count(b"{") > DEEPEST:
        data = _prune(data)
    return data


def _is_plain(data: bytes) -> bool:
    try:
        return not data.decode().startswith("\ufeff")
    except UnicodeDecodeError:
        return False


def _prune(data: bytes) -> bytes:
    """Put `null` in the place of each value below the deepest level."""
    pieces, depth, start, end = list[bytes](), 0, 0, 0
    for token in _TOKENS.finditer(data):
        bracket = data[token.start() : token.start() + 1]
        if bracket in b"[{":
            depth += 1
            if depth == DEEPEST + 1:
                pieces.append(data[end : token.start()])
                start = token.start()
        elif bracket in b"]}":
            depth -= 1
            if depth == DEEPEST:
                pieces.append(b"null")
                end = token.end()
    pieces.append(data[end:] if depth <= DEEPEST else data[start:])
    return b"".join(pieces)


class ReadableTransport(httpx2.AsyncBaseTransport):
    """A transport whose answers in JSON, and events of it, are readable."""

    def __init__(
        self, inner: httpx2.AsyncBaseTransport, *, most_line: int, pause: float = 1.0
    ) -> None:
        self._inner = inner
        self._most_line = most_line
        self._pause = pause
        self._opened_at: list[float] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request, and make its answer readable."""
        if request.method == "GET":
            await self._pace()
        response = await self._inner.handle_async_request(request)
        kind, status = response.headers.get("content-type", ""), response.status_code
        plain = kind.partition(";")[0].strip().lower()
        message = read_message(request) if request.method == "POST" else {}
        # What waits for an answer; a client answers requests of the server, too.
        asking = message if "method" in message and message.get("id") is not None else {}
        body: httpx2.AsyncByteStream
        if plain == "text/event-stream":
            body = _Events(response.stream, kind, self._most_line, asking)
        elif asking and status in _ACCEPTED:
            # Read at once: what it is may be told wrongly, or not at all.
            whole = await response.aread()
            readable = make_readable(whole, kind)
            start = readable.lstrip()[:6]
            if start.startswith((b"data:", b"event:", b": ")):
                plain = "text/event-stream"
                body = _Events(_Part(whole), kind, self._most_line, asking)
            elif start.startswith((b"{", b"[")):
                plain, status = "application/json", 200
                body = _Part(mend_message(readable, asking))
            elif not start and status != 202:  # which the transport names itself
                error = {"code": _INTERNAL, "message": f"Its answer is empty (HTTP {status})."}
                plain, status = "application/json", 200
                body = _Part(mend_message(json.dumps({"error": error}).encode(), asking))
            else:
                body = _Part(whole)
        elif "json" in plain:
            body = _Whole(response.stream, kind)
        else:
            return response
        headers = [
            (name, value)
            for name, value in response.headers.raw
            if name.lower() not in (b"content-length", b"content-type")
        ]
        headers.append((b"content-type", plain.encode("latin-1", errors="replace")))
        return httpx2.Response(status, headers=headers, stream=body, extensions=response.extensions)

    async def _pace(self) -> None:
        """Wait before a stream is opened again, ever longer, whatever the server says."""
        now = anyio.current_time()
        self._opened_at = [at for at in self._opened_at if now - at < _PACING_SECONDS]
        again, at = len(self._opened_at), now
        if again:  # after those that wait already, too
            pause = BackOff(self._pause, _LONGEST_PAUSE, failures=again).pause
            at = max(now, self._opened_at[-1]) + pause
        self._opened_at.append(at)
        await anyio.sleep_until(at)

    async def aclose(self) -> None:
        """Close the transport beneath."""
        await self._inner.aclose()


class _Part(httpx2.AsyncByteStream):
    """Body that was read already."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body

    async def aclose(self) -> None:
        """Close nothing."""


class _Whole(httpx2.AsyncByteStream):
    """A body to be read as a whole, within the limit of the transport beneath."""

    def __init__(self, inner: Any, kind: str) -> None:
        self._inner = inner
        self._kind = kind

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield make_readable(b"".join([part async for part in self._inner]), self._kind)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Events(httpx2.AsyncByteStream):
    """A stream of events, made readable line by line. Longer lines pass as they are.

    An event has a message whatever it is called; what is none, such as `data: ping`, is a comment.
    """

    def __init__(self, inner: Any, kind: str, most: int, asking: Mapping[str, Any]) -> None:
        self._inner = inner
        self._kind = kind
        self._most = most
        self._asking = asking
        self._event = b""
        self._is_first = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = b""
        async for part in self._inner:
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield self._line(line)
            if len(rest) > self._most:  # the reader of the events refuses it
                yield rest
                rest = b""
        if rest:
            try:
                json.loads(rest.partition(b":")[2] if rest.startswith(b"data:") else rest)
            except ValueError:
                yield rest  # cut off
                return
            yield self._line(rest)
        yield b"\n"  # the last event ends with the stream

    def _line(self, line: bytes) -> bytes:
        # When to open it again is not the server's to say: a negative time ends the SDK's
        # reader, a long one leaves a call without an answer, and none floods the server.
        if line.startswith(b"retry:"):
            return b""
        line = make_readable(line, self._kind)
        if self._is_first and line.startswith(b"{"):  # JSON that is told to be events
            line = b"data: " + line
        if not line.strip():
            self._event, self._is_first = b"", True
        elif line.startswith(b"event:"):
            self._event = line[6:].strip()
            return b""
        elif line.startswith(b"data:") and self._is_first:
            data = line[5:].strip()
            self._is_first = False
            if self._event == b"endpoint":
                return b"event: endpoint\n" + line + b"\n"
            if data.startswith((b"{", b"[")):
                return b"data: " + mend_message(data, self._asking) + b"\n"
            if data:
                return b": " + data + b"\n"
        return line + b"\n"

    async def aclose(self) -> None:
        await self._inner.aclose()


_ACCEPTED = frozenset({200, 201, 202, 203, 204})
_INTERNAL = -32603


def read_message(request: httpx2.Request) -> Mapping[str, Any]:
    """Return the message that a request carries, or {}."""
    try:
        message = json.loads(request.content or b"{}")
    except (httpx2.RequestNotRead, ValueError):
        return {}
    return message if isinstance(message, dict) else {}


def mend_message(data: bytes, asking: Mapping[str, Any]) -> bytes:
    """Return the answer to a request in the form of JSON-RPC; anything else as it is.

    Servers answer in a list of one, without an id or with one of another type, with a text for an
    error, or with a result that is no object.
    """
    try:
        message = json.loads(data)
    except RecursionError:
        return data
    except ValueError:
        try:  # several messages, a line each
            message = [json.loads(line) for line in data.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            return data
    answers = message if isinstance(message, list) else [message]
    of_request = [part for part in answers if isinstance(part, dict) and "method" not in part]
    if not asking or not of_request:
        return data
    answer: dict[str, Any] = {"jsonrpc": "2.0", **of_request[0]}
    number = answer.get("id")
    if number is None or str(number).removesuffix(".0") == str(asking["id"]):
        answer["id"] = asking["id"]
    if (problem := answer.get("error")) is not None:
        fields = problem if isinstance(problem, dict) else {"message": problem}
        code, words = fields.get("code"), fields.get("message")
        words = words if words and isinstance(words, str) else write_json(words or problem)
        is_code = type(code) is int
        answer["error"] = {**fields, "code": code if is_code else _INTERNAL, "message": words}
    elif not isinstance(value := answer.get("result"), dict) and "result" in answer:
        key = "tools" if asking["method"] == "tools/list" else "content"
        answer["result"] = {key: value} if asking["method"] in _OF_VALUES else {}
    if answer == message and type(number) is type(answer.get("id")):
        return data
    return json.dumps(answer).encode()


def mend_line(line: bytes, expected: Mapping[str | int, str]) -> bytes:
    """Return the answer in a line in the form of JSON-RPC, if it is one to an expected request."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return line
    part = message[0] if isinstance(message, list) and message else message
    number = part.get("id") if isinstance(part, dict) else None
    waiting = {str(key): key for key in expected}
    request = waiting.get(str(number).removesuffix(".0"))
    # Programs log in JSON, too.
    if number is None and len(expected) == 1 and isinstance(part, dict) and "jsonrpc" in part:
        [request] = expected  # a server that could not read the request says no more
    if request is None:
        return line
    return mend_message(line, {"id": request, "method": expected[request]})


_OF_VALUES = frozenset({"tools/list", "tools/call"})


# MCP messages parsed as strict JSON.
# The SDK's parser accepts `NaN`, infinities and duplicate keys. The first two are read as null; a
# response with the last becomes an error response, so the caller learns at once.
_NOT_FINITE = "[A number that is not finite, such as NaN, was read as null.]"

# Deep enough for tools' schemas. What is nested deeper was left out, and the tool names it.
_MAX_DEPTH = DEEPEST + 1


def read_line(line: bytes) -> JSONRPCMessage:
    """Parse the message in a line, or raise ValueError."""
    line = make_readable(line)
    message = adapter.validate_json(line, by_name=False)
    if _mend_numbers(message):
        return check_message(message)
    try:
        parse_json(line, max_depth=_MAX_DEPTH, any_text=True)
    except StrictJSONError as problem:
        return _to_error_response(message, problem)
    return _admit_task(message)


def check_message(message: JSONRPCMessage) -> JSONRPCMessage:
    """Return the message, or an error response if it holds values outside JSON.

    For transports that parse themselves; duplicate keys were already merged there.
    """
    _mend_numbers(message)
    content = message.result if isinstance(message, JSONRPCResponse) else None
    try:
        # A NUL character in a tool's result is allowed; it stays escaped.
        check_value(content, max_depth=_MAX_DEPTH, nul=True)
    except StrictJSONError as problem:
        return _to_error_response(message, problem)
    return _admit_task(message)


def _mend_numbers(message: JSONRPCMessage) -> bool:
    """Put null in the place of numbers that JSON does not have, such as Python's NaN.

    Return True if there are any; the answer of a tool says so.
    """
    if not isinstance(message, JSONRPCResponse):
        return False
    result = _finite(message.result)
    if result is message.result:
        return False
    message.result = result
    if isinstance(content := result.get("content"), list):
        content.append({"type": "text", "text": _NOT_FINITE})
    return True


def _finite(value: Any, depth: int = 0) -> Any:
    """Return the value, or a copy with null for each number that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > _MAX_DEPTH or not isinstance(value, (dict, list)):
        return value
    if isinstance(value, dict):
        fields = {key: _finite(part, depth + 1) for key, part in value.items()}
        return fields if any(fields[key] is not part for key, part in value.items()) else value
    items = [_finite(part, depth + 1) for part in value]
    return items if any(map(operator.is_not, items, value)) else value


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
