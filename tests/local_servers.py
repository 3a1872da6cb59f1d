"""HTTP servers on this machine, which stand in for other people's."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from threading import Thread
from typing import Any, TypeVar

Server = TypeVar("Server", bound=HTTPServer)


class Handler(BaseHTTPRequestHandler):
    """Request handler that logs nothing, and reads and writes whole bodies."""

    def sent(self) -> bytes:
        """Return the body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def reply(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer with this status and body."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def reply_json(self, status: int, body: bytes) -> None:
        """Answer with JSON."""
        self.reply(status, body, {"Content-Type": "application/json"})

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Run the server in a thread until the block ends."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def serve(handler: type[BaseHTTPRequestHandler], port: int = 0) -> Iterator[ThreadingHTTPServer]:
    """Run a server of this handler at a free port until the block ends."""
    with running(ThreadingHTTPServer(("127.0.0.1", port), handler)) as server:
        yield server
