"""A local embedding server, with another model of another dimension."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL, DIMENSION = "words", 64


@contextmanager
def embeddings_server() -> Iterator[str]:
    """Run the server; yield its base address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Embeddings)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Embeddings(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        rows = [{"index": at, "embedding": _vector(text)} for at, text in enumerate(asked["input"])]
        body = json.dumps({"data": rows, "model": MODEL}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def _vector(text: str) -> list[float]:
    """Return the text's vector, by the words in it."""
    row = [0.01] * DIMENSION
    for word in text.lower().split():
        row[hashlib.sha256(word.encode()).digest()[0] % DIMENSION] += 1.0
    return row
