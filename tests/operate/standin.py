"""A local embedding server, with another model of another dimension."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.local_servers import Handler, serve

MODEL, DIMENSION = "words", 64


@contextmanager
def embeddings_server() -> Iterator[str]:
    """Run the server; yield its base address."""
    with serve(_Embeddings) as server:
        yield f"http://127.0.0.1:{server.server_port}/v1"


class _Embeddings(Handler):
    def do_POST(self) -> None:
        asked = json.loads(self.sent())
        rows = [{"index": at, "embedding": _vector(text)} for at, text in enumerate(asked["input"])]
        body = json.dumps({"data": rows, "model": MODEL}).encode()
        self.reply_json(200, body)


def _vector(text: str) -> list[float]:
    """Return the text's vector, by the words in it."""
    row = [0.01] * DIMENSION
    for word in text.lower().split():
        row[hashlib.sha256(word.encode()).digest()[0] % DIMENSION] += 1.0
    return row
