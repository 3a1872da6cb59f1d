"""An MCP server over HTTP whose answers a test writes, in the older generation of the protocol."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any

from tests.local_servers import Handler, running

Message = dict[str, Any]
TOOL: Message = {"name": "echo", "description": "Says it.", "inputSchema": {"type": "object"}}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer over HTTP as it is sent."""

    status: int = 200
    body: bytes = b""
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


def result(message: Message, content: Any) -> Reply:
    """Answer a request with a result."""
    whole = {"jsonrpc": "2.0", "id": message["id"], "result": content}
    return Reply(body=json.dumps(whole).encode())


def error(message: Message, code: int, words: str, status: int = 200) -> Reply:
    """Answer a request with an error."""
    whole = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": words}}
    return Reply(status, json.dumps(whole).encode())


Script = Callable[["ScriptedServer", Message], Reply | None]


class ScriptedServer(ThreadingHTTPServer):
    """A server with a `script`, which answers None for what is to be answered as usual.

    `asked` has the methods of its requests, `calls` the arguments of its calls.
    """

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.asked: list[str] = []
        self.calls: list[Message] = []
        self.sessions: list[str] = []
        self.tools: Any = [TOOL]
        self.name = ""
        # What a stream of events is answered, and when it was asked for.
        self.stream = Reply(405)
        self.opened_at: list[float] = []
        # Of the request that is being answered.
        self.session = ""
        self.headers: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mcp"


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    server: ScriptedServer

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        message = json.loads(self.rfile.read(length) or b"{}")
        method = message.get("method", "")
        self.server.asked.append(method)
        self.server.session = self.headers.get("mcp-session-id", "")
        self.server.headers = dict(self.headers.items())
        reply = self.server.script(self.server, message)
        if reply is None:
            reply = self._usual(method, message)
        self._send(reply)

    def do_GET(self) -> None:
        self.server.opened_at.append(time.monotonic())
        self._send(self.server.stream)

    def do_DELETE(self) -> None:
        self._send(Reply(200))

    def _usual(self, method: str, message: Message) -> Reply:
        if "id" not in message:
            return Reply(202)
        if method == "initialize":
            self.server.sessions.append(f"session-{len(self.server.sessions) + 1}")
            version = message["params"]["protocolVersion"]
            about = {"name": "scripted", "version": "1"}
            content = {"protocolVersion": version, "capabilities": {"tools": {}}}
            whole = result(message, {**content, "serverInfo": about})
            return Reply(body=whole.body, headers={"Mcp-Session-Id": self.server.sessions[-1]})
        if method == "tools/list":
            return result(message, {"tools": self.server.tools})
        if method == "tools/call":
            self.server.calls.append(message["params"].get("arguments") or {})
            return result(message, {"content": [{"type": "text", "text": "done"}]})
        return error(message, -32601, "Method not found")

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        headers = {"Content-Type": reply.kind, "Content-Length": str(len(reply.body))}
        for name, value in {**headers, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)


def no_script(server: ScriptedServer, message: Message) -> None:
    """Answer as usual."""


@contextmanager
def scripted_server(script: Script = no_script) -> Iterator[ScriptedServer]:
    """Run a server until the block ends."""
    with running(ScriptedServer(script)) as server:
        yield server
