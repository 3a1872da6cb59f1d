"""Strict fakes of the providers' chat APIs, on this machine.

Each refuses what the real one refuses: a missing version or key, an unknown model, fields that it
does not know, tools without a schema, results of calls that it did not ask for, and answers that
came back changed. What it answers is scripted.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-canary-4711"
MODEL = "fable-1"
JSON = dict[str, Any]


@dataclass(frozen=True)
class Say:
    """Answer with a text."""

    text: str


@dataclass(frozen=True)
class CallTools:
    """Ask for calls, by offered names and arguments."""

    calls: tuple[tuple[str, Any], ...]
    text: str = ""


@dataclass(frozen=True)
class Raw:
    """Answer with a status and these bytes."""

    status: int
    body: bytes = b"{}"


Reply = Say | CallTools | Raw


class RefusedError(Exception):
    """The request is not what the API takes."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class FakeModel:
    """A provider's server: its address, script, and what it was sent."""

    provider: str
    address: str = ""
    script: list[Reply] = field(default_factory=list)
    bodies: list[JSON] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    said: list[JSON] = field(default_factory=list)  # answers of its own, to know them again
    ids: int = 0

    def new_id(self, prefix: str) -> str:
        self.ids += 1
        return f"{prefix}_{self.ids:024d}"


def need(condition: object, message: str, status: int = 400) -> None:
    """Refuse the request unless the condition holds."""
    if not condition:
        raise RefusedError(status, message)


def only(value: Any, required: set[str], optional: frozenset[str] | set[str] = frozenset()) -> JSON:
    """Return the object, which has these fields and no others."""
    need(isinstance(value, dict), f"not an object: {value!r}")
    need(required <= value.keys(), f"missing: {required - value.keys()}")
    need(value.keys() <= required | optional, f"unknown: {value.keys() - required - optional}")
    return dict(value)


def check_schema(schema: Any) -> None:
    need(isinstance(schema, dict) and schema.get("type") == "object", "schema must be an object")


class Anthropic:
    """POST /v1/messages."""

    path = "/v1/messages"

    def check(self, fake: FakeModel, headers: JSON, body: JSON) -> None:
        need(headers.get("x-api-key") == KEY, "invalid x-api-key", 401)
        need(headers.get("anthropic-version") == "2023-06-01", "anthropic-version is required")
        only(body, {"model", "max_tokens", "messages"}, {"system", "tools"})
        need(body["model"] == MODEL, f"model: {body['model']}", 404)
        need(0 < body["max_tokens"] <= 100_000, "max_tokens")
        need(body.get("system", "x"), "system: text content blocks must be non-empty")
        for tool in body.get("tools", []):
            only(tool, {"name", "description", "input_schema"})
            check_schema(tool["input_schema"])
        pending: list[str] = []
        for place, message in enumerate(body["messages"]):
            only(message, {"role", "content"})
            need(message["role"] == ("assistant" if place % 2 else "user"), "roles must alternate")
            blocks = message["content"]
            if isinstance(blocks, str):
                need(blocks and not pending, "tool_use ids without tool_result, or empty content")
                continue
            if message["role"] == "assistant":
                need({"content": blocks} in fake.said, "the answer was changed")
                pending = [block["id"] for block in blocks if block["type"] == "tool_use"]
                continue
            results = [only(b, {"type", "tool_use_id", "content", "is_error"}) for b in blocks]
            need(all(b["type"] == "tool_result" for b in results), "type")
            need([b["tool_use_id"] for b in results] == pending, "tool_result without tool_use")
            pending = []
        need(not pending and body["messages"][-1]["role"] == "user", "the last one must be user")

    def answer(self, fake: FakeModel, reply: Say | CallTools) -> JSON:
        blocks: list[JSON] = []
        if reply.text:
            blocks.append({"type": "text", "text": reply.text})
        for name, arguments in getattr(reply, "calls", ()):
            identifier = fake.new_id("toolu")
            blocks.append({"type": "tool_use", "id": identifier, "name": name, "input": arguments})
        fake.said.append({"content": blocks})
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": blocks,
            "stop_reason": "end_turn" if isinstance(reply, Say) else "tool_use",
            "usage": {"input_tokens": 90, "cache_read_input_tokens": 10, "output_tokens": 20},
        }


class OpenAI:
    """POST /v1/chat/completions."""

    path = "/v1/chat/completions"
    bound = "max_completion_tokens"

    def check_key(self, headers: JSON) -> None:
        need(headers.get("authorization") == f"Bearer {KEY}", f"Incorrect API key: {KEY}", 401)

    def check(self, fake: FakeModel, headers: JSON, body: JSON) -> None:
        self.check_key(headers)
        only(body, {"model", "messages", self.bound}, {"tools"})
        need(body["model"] == MODEL, f"The model {body['model']} does not exist", 404)
        need(body.get("tools", ["x"]), "[] is too short - 'tools'")
        for tool in body.get("tools", []):
            only(tool, {"type", "function"})
            function = only(tool["function"], {"name", "description", "parameters", "strict"})
            check_schema(function["parameters"])
        pending: list[str] = []
        for message in body["messages"]:
            if message["role"] == "tool":
                only(message, {"role", "tool_call_id", "content"})
                need(message["tool_call_id"] in pending, "tool_call_id is unknown")
                pending.remove(message["tool_call_id"])
                continue
            need(not pending, "tool_calls must be followed by tool messages")
            only(message, {"role", "content"}, {"tool_calls"})
            if "tool_calls" in message:
                need(message in fake.said, "the answer was changed")
                pending = [call["id"] for call in message["tool_calls"]]
            else:
                need(isinstance(message["content"], str) and message["content"], "content")
        need(not pending, "tool_calls must be followed by tool messages")

    def answer(self, fake: FakeModel, reply: Say | CallTools) -> JSON:
        message: JSON = {"role": "assistant", "content": reply.text or None}
        calls = [
            {
                "id": fake.new_id("call"),
                "type": "function",
                "function": {"name": name, "arguments": _as_text(arguments)},
            }
            for name, arguments in getattr(reply, "calls", ())
        ]
        if calls:
            message["tool_calls"] = calls
        fake.said.append(message)
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": MODEL,
            "choices": [{"index": 0, "message": {**message, "refusal": None},
                         "finish_reason": "tool_calls" if calls else "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }  # fmt: skip


class Compatible(OpenAI):
    """The same as a server without keys has it."""

    bound = "max_tokens"

    def check_key(self, headers: JSON) -> None:
        need("authorization" not in headers, "no key was asked for")


class Gemini:
    """POST /v1beta/models/…:generateContent."""

    path = f"/v1beta/models/{MODEL}:generateContent"

    def check(self, fake: FakeModel, headers: JSON, body: JSON) -> None:
        need(headers.get("x-goog-api-key") == KEY, "API key not valid", 403)
        only(body, {"contents", "generationConfig"}, {"systemInstruction", "tools"})
        only(body["generationConfig"], {"maxOutputTokens"})
        for tool in body.get("tools", []):
            for one in only(tool, {"functionDeclarations"})["functionDeclarations"]:
                only(one, {"name", "description", "parametersJsonSchema"})
                check_schema(one["parametersJsonSchema"])
        pending: list[JSON] = []
        for content in body["contents"]:
            only(content, {"role", "parts"})
            need(content["role"] in ("user", "model") and content["parts"], "role or parts")
            results = [p["functionResponse"] for p in content["parts"] if "functionResponse" in p]
            for one in results:
                only(one, {"name", "response"}, {"id"})
                need(isinstance(one["response"], dict), "response must be an object")
            need([(one.get("id"), one["name"]) for one in results]
                 == [(one.get("id"), one["name"]) for one in pending],
                 "the number of function responses must equal that of function calls")  # fmt: skip
            calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
            need(not calls or content in fake.said, "a thought signature is missing")
            pending = calls
        need(not pending, "function calls without responses")

    def answer(self, fake: FakeModel, reply: Say | CallTools) -> JSON:
        parts: list[JSON] = [{"text": "Let me think.", "thought": True}]
        if reply.text:
            parts.append({"text": reply.text})
        for number, (name, arguments) in enumerate(getattr(reply, "calls", ())):
            # The first has an id, as newer models give one, and others have none.
            named = {"id": fake.new_id("fc")} if number == 0 else {}
            call = {**named, "name": name, "args": arguments}
            parts.append({"functionCall": call, "thoughtSignature": "c2lnbmF0dXJl"})
        content = {"role": "model", "parts": parts}
        fake.said.append(content)
        return {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 15,
                              "thoughtsTokenCount": 5, "totalTokenCount": 120},
        }  # fmt: skip


def _as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


APIS: dict[str, Anthropic | OpenAI | Gemini] = {
    "anthropic": Anthropic(),
    "openai": OpenAI(),
    "compatible": Compatible(),
    "gemini": Gemini(),
}
BASES = {"openai": "/v1", "compatible": "/v1"}


@contextmanager
def serve(provider: str) -> Iterator[FakeModel]:
    """Run a fake until the body ends."""
    fake = FakeModel(provider)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, body = _respond(fake, self.path, headers, sent)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    fake.address = f"http://127.0.0.1:{server.server_port}{BASES.get(provider, '')}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()


def _respond(fake: FakeModel, path: str, headers: JSON, sent: bytes) -> tuple[int, bytes]:
    api = APIS[fake.provider]
    try:
        need(path == api.path, f"no such path: {path}", 404)
        need(headers.get("content-type") == "application/json", "content-type", 415)
        body = json.loads(sent)
        fake.bodies.append(body)
        api.check(fake, headers, body)
    except RefusedError as refused:
        fake.refusals.append(str(refused))
        return refused.status, json.dumps({"error": {"message": str(refused)}}).encode()
    reply = fake.script.pop(0) if fake.script else Say("Done.")
    if isinstance(reply, Raw):
        return reply.status, reply.body
    return 200, json.dumps(api.answer(fake, reply)).encode()


Serve = Callable[[str], FakeModel]
