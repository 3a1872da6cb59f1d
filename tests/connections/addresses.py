"""MCP servers on this machine: one by the SDK, and one that misbehaves by its path."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from itertools import count
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import Icon
from starlette.applications import Starlette

from tests.local_servers import Handler, running

ECHO = {"name": "echo", "inputSchema": {"type": "object"}}


class Evil(Handler):
    """A server whose path selects its misbehaviour."""

    protocol_version = "HTTP/1.1"
    server: "EvilServer"

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        message = json.loads(self.rfile.read(length) or b"{}")
        self.server.asked.append((self.path, dict(self.headers)))
        mode, method = self.path.partition("?")[0].strip("/"), message.get("method", "")
        if mode in ("away", "upgrade", "loop"):
            targets = {
                "away": f"http://127.0.0.1:{self.server.server_port}1/secret",
                "upgrade": "https://127.0.0.1/secret",
                "loop": "/loop",
            }
            self._head(307, Location=targets[mode], **{"Content-Length": "0"})
        elif mode == "locked":
            self._head(401, **{"Content-Length": "0", "WWW-Authenticate": "Bearer"})
        elif mode == "silent" or (mode == "deaf" and "id" not in message):
            self.server.released.wait(20)
        elif "id" not in message:
            self._head(202, **{"Content-Length": "0"})
        elif method == "initialize":
            version = message["params"]["protocolVersion"]
            self._json(
                message,
                result={
                    "protocolVersion": version,
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "evil", "version": "1"},
                },
            )
        elif method == "tools/list":
            self._json(message, result={"tools": [ECHO]})
        elif method == "tools/call":
            self._misbehave(mode, message)
        else:
            self._json(message, error={"code": -32601, "message": "Method not found"})

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))
        self._head(405, **{"Content-Length": "0"})

    do_DELETE = do_GET

    def _misbehave(self, mode: str, message: dict[str, Any]) -> None:
        try:
            if mode == "hang_at_call":
                self.server.released.wait(20)
            elif mode == "crash" or (mode == "flap" and next(self.server.calls) % 2):
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            elif mode == "drip":
                self._head(
                    200, **{"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
                )
                while not self.server.released.wait(0.02):
                    self.wfile.write(b"1\r\n \r\n")
            elif mode == "garbage":
                self._body(b"<html>no JSON</html>")
            elif mode == "infinite":
                result = b'{"content":[],"structuredContent":{"a":1e999}}'
                told = (b"%d" % message["id"], result)
                self._body(b'{"jsonrpc":"2.0","id":%s,"result":%s}' % told)
            elif mode == "page":
                self._body(b"<html></html>", kind="text/html")
            elif mode == "huge":
                self._head(
                    200, **{"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
                )
                while True:
                    self.wfile.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
            elif mode == "flood":
                self._head(
                    200, **{"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}
                )
                note: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/message"}
                note["params"] = {"level": "info", "data": "x"}
                event = f"data: {json.dumps(note)}\n\n".encode()
                while True:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            else:
                self._json(message, result={"content": [{"type": "text", "text": "fine"}]})
        except OSError:
            self.close_connection = True

    def _json(self, message: dict[str, Any], **answer: Any) -> None:
        self._body(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode())

    def _body(self, body: bytes, *, kind: str = "application/json") -> None:
        self._head(200, **{"Content-Type": kind, "Content-Length": str(len(body))})
        self.wfile.write(body)

    def _head(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


class EvilServer(ThreadingHTTPServer):
    """A server with a record of requests; it releases hanging ones at the end of a test."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Evil)
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.released = threading.Event()
        self.calls = count()


@contextmanager
def evil_server() -> Iterator[EvilServer]:
    with running(EvilServer()) as server:
        try:
            yield server
        finally:
            server.released.set()


def app_of_the_sdk(
    transport: str, icon: str = "", name: str = "fine", title: str | None = None
) -> Starlette:
    """Return an ordinary server by the SDK, which may declare an icon and a title."""
    server = MCPServer(name, title=title, icons=[Icon(src=icon)] if icon else None)

    @server.tool()
    def add(first: int, second: int) -> int:
        """Add two numbers."""
        return first + second

    @server.tool()
    async def headers(context: Context) -> dict[str, str]:
        """Return the headers of the call."""
        request = context.request_context.request
        return dict(request.headers) if request is not None else {}

    return server.sse_app() if transport == "sse" else server.streamable_http_app()


@contextmanager
def fine_server(
    transport: str = "http",
    port: int = 0,
    icon: str = "",
    name: str = "fine",
    title: str | None = None,
) -> Iterator[str]:
    """Run such a server; yield its address."""
    app = app_of_the_sdk(transport, icon, name, title)
    config = uvicorn.Config(app, port=port, log_level="critical", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join(10)
