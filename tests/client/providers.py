"""A local server with the APIs of Anthropic's Messages and OpenAI's Chat Completions.

Its model makes the tool calls that it was told to, one after another, and then repeats the last
result. Like the real ones it rejects what its SDK's types do not know, a result without a call, and
a call without a result.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import anthropic.types
import openai.types.chat
from pydantic import TypeAdapter, ValidationError

Body = dict[str, Any]
Wish = tuple[str, Body]


class StandIn:
    """`wishes` are the names and arguments of the model's calls; `asked` the requests received."""

    def __init__(self) -> None:
        self.wishes: list[Wish] = []
        self.asked: list[Body] = []
        self.address = ""

    def next_wish(self, offered: set[str], done: int) -> Wish | None:
        """Return the next call, or None if the model is ready to answer."""
        if done == len(self.wishes):
            return None
        if self.wishes[done][0] not in offered:
            raise ValueError(f"{self.wishes[done][0]} was not offered")
        return self.wishes[done]


@contextmanager
def stand_in() -> Iterator[StandIn]:
    """Run a provider for as long as the block lasts."""
    provider = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            provider.asked.append({"path": self.path, **body})
            try:
                status, answer = 200, _APIS[self.path](provider, body)
            except (ValueError, ValidationError) as error:
                message = {"type": "invalid_request_error", "message": str(error)}
                status, answer = 400, {"type": "error", "error": message}
            written = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.address = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield provider
        server.shutdown()
        thread.join()


def _messages(provider: StandIn, body: Body) -> Body:
    tools = _read(list[anthropic.types.ToolParam], body["tools"])
    contents = [message["content"] for message in body["messages"]]
    sent = [block for content in contents if isinstance(content, list) for block in content]
    blocks = [_read(_BLOCKS[block["type"]], block) for block in sent]
    called = [block["id"] for block in blocks if block["type"] == "tool_use"]
    results = [block for block in blocks if block["type"] == "tool_result"]
    _check_pairs(called, [result["tool_use_id"] for result in results])
    wish = provider.next_wish({tool["name"] for tool in tools}, len(results))
    if wish:
        name, arguments = wish
        content: Body = {"type": "tool_use", "id": f"toolu_{len(results)}", "name": name,
                         "input": arguments}  # fmt: skip
    else:
        content = {"type": "text", "text": _last([result["content"] for result in results])}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [content],
        "stop_reason": "tool_use" if wish else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _completions(provider: StandIn, body: Body) -> Body:
    tools = _read(list[openai.types.chat.ChatCompletionFunctionToolParam], body["tools"])
    messages = _read(list[openai.types.chat.ChatCompletionMessageParam], body["messages"])
    called = [call["id"] for each in messages for call in each.get("tool_calls", ())]
    results = [each for each in messages if each["role"] == "tool"]
    _check_pairs(called, [result["tool_call_id"] for result in results])
    wish = provider.next_wish({tool["function"]["name"] for tool in tools}, len(results))
    message: Body = {"role": "assistant", "content": None}
    if wish:
        function = {"name": wish[0], "arguments": json.dumps(wish[1])}
        call = {"id": f"call_{len(results)}", "type": "function", "function": function}
        message["tool_calls"] = [call]
    else:
        message["content"] = _last([result["content"] for result in results])
    finish = "tool_calls" if wish else "stop"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
    }


_BLOCKS: dict[str, Any] = {
    "text": anthropic.types.TextBlockParam,
    "tool_use": anthropic.types.ToolUseBlockParam,
    "tool_result": anthropic.types.ToolResultBlockParam,
}
_APIS: dict[str, Callable[[StandIn, Body], Body]] = {
    "/v1/messages": _messages,
    "/v1/chat/completions": _completions,
}


def _read(kind: Any, sent: Any) -> Any:
    """Parse by the SDK's types, rejecting unknown fields."""
    adapter = TypeAdapter(kind)
    read = adapter.dump_python(adapter.validate_python(sent), mode="json", exclude_unset=True)
    if read != sent:
        raise ValueError(f"unknown fields in {sent}")
    return read


def _check_pairs(called: list[str], answered: list[str]) -> None:
    if called != answered:
        raise ValueError(f"calls {called} have results {answered}")


def _last(results: list[str]) -> str:
    return f"Done. The tool says: {results[-1]}" if results else "There is nothing to do."
