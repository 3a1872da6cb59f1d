"""An MCP server over the event stream of 2024, whose answers to messages a test writes."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue
from typing import Any

Message = dict[str, Any]
# A status and headers for a message, a closed connection for 0, or None for an ordinary answer.
Script = Callable[[Message], tuple[int, dict[str, str]] | None]


class SseServer(ThreadingHTTPServer):
    """A server with a `script`. `opened_at` has the moments at which streams were opened."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.streams: dict[str, Queue[Message]] = {}
        self.opened_at: list[float] = []
        self.calls = 0
        self.ends = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/sse"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SseServer

    def do_GET(self) -> None:
        self.server.opened_at.append(time.monotonic())
        session = str(len(self.server.opened_at))
        answers = self.server.streams[session] = Queue()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self._tell("endpoint", f"/messages?session_id={session}")
        while not self.server.ends.is_set():
            try:
                self._tell("message", json.dumps(answers.get(timeout=0.05)))
            except Empty:
                continue
            except OSError:
                return

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, headers = self.server.script(message) or (202, {})
        if status == 0:
            self.close_connection = True
            return
        if status == 202 and "id" in message:
            session = self.path.partition("session_id=")[2]
            self.server.streams[session].put(self._answer(message))
        self.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _answer(self, message: Message) -> Message:
        about = {"name": "events", "version": "1"}
        content: Message = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        if message["method"] == "initialize":
            version = message["params"]["protocolVersion"]
            content = {"protocolVersion": version, "capabilities": {"tools": {}}}
            content["serverInfo"] = about
        elif message["method"] == "tools/call":
            self.server.calls += 1
            content = {"content": [{"type": "text", "text": "done"}]}
        return {"jsonrpc": "2.0", "id": message["id"], "result": content}

    def _tell(self, event: str, data: str) -> None:
        self.wfile.write(f"event: {event}\ndata: {data}\n\n".encode())
        self.wfile.flush()


@contextmanager
def sse_server(script: Script) -> Iterator[SseServer]:
    """Run a server until the block ends."""
    server = SseServer(script)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    try:
        yield server
    finally:
        server.ends.set()
        server.shutdown()
        server.server_close()
