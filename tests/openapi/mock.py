"""A local API with the answers of its document. It remembers its requests."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from catalog.formats.openapi.api_document import METHODS, OpenApiDocument, read_document
from tests.local_servers import Handler, running


@dataclass
class Asked:
    """A request, and the operation of the document that it fits."""

    method: str
    path: str
    template: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    """An answer beside those of the document."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "application/json"


class MockApi(ThreadingHTTPServer):
    """An API on this machine. `answers` are given first, one for each request."""

    daemon_threads = True

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.document = read_document(document)
        self.raw = document
        self.asked: list[Asked] = []
        self.answers: list[Answer] = []
        self.files: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def mock_api(document: dict[str, Any]) -> Iterator[MockApi]:
    """Serve a document's API until the block ends."""
    with running(MockApi(document)) as server:
        yield server


def example_of(document: OpenApiDocument, schema: Any, depth: int = 4) -> Any:
    """Return a value that fits a schema, more or less."""
    plain = document.resolve(schema)
    if not isinstance(plain, dict) or depth < 0:
        return None
    for key in ("const", "default", "example"):
        if plain.get(key) is not None:
            return plain[key]
    if plain.get("enum"):
        return plain["enum"][0]
    for key in ("oneOf", "anyOf"):
        if plain.get(key):
            return example_of(document, plain[key][0], depth - 1)
    kind = plain.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if "properties" in plain or "allOf" in plain or kind == "object":
        found: dict[str, Any] = {}
        for part in (*plain.get("allOf", ()), plain):
            part = document.resolve(part)
            for name, one in (part or {}).get("properties", {}).items():
                found[name] = example_of(document, one, depth - 1)
        return found
    if kind == "array":
        return [example_of(document, plain.get("items"), depth - 1)]
    return {"integer": 1, "number": 1.5, "boolean": True}.get(str(kind), "text")


class _Handler(Handler):
    server: MockApi
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        parts = urlsplit(self.path)
        if parts.path == "/openapi.json":
            self._send(Answer(body=json.dumps(self.server.raw).encode()))
            return
        if parts.path in self.server.files:
            self._send(Answer(body=self.server.files[parts.path].encode()))
            return
        template, operation = self._find(parts.path)
        query = parse_qsl(parts.query, keep_blank_values=True)
        asked = Asked(
            self.command,
            parts.path,
            template,
            query,
            {k.lower(): v for k, v in self.headers.items()},
            body,
        )
        self.server.asked.append(asked)
        if self.server.answers:
            self._send(self.server.answers.pop(0))
        elif operation is None:
            self._send(Answer(404, b'{"message": "no such operation"}'))
        else:
            self._send(self._described(operation))

    def _find(self, path: str) -> tuple[str, dict[str, Any] | None]:
        document = self.server.document
        # A path without parameters wins over one with.
        for template, item in sorted(
            document.value["paths"].items(), key=lambda one: "{" in one[0]
        ):
            wanted = re.sub(r"\\\{[^{}]+\\\}", "[^/]+", re.escape(template))
            plain = document.resolve(item)
            if re.fullmatch(wanted, path) and isinstance(plain.get(self.command.lower()), dict):
                return template, plain[self.command.lower()]
        return "", None

    def _described(self, operation: dict[str, Any]) -> Answer:
        document = self.server.document
        for status, response in (operation.get("responses") or {}).items():
            if not str(status).startswith("2"):
                continue
            content = (document.resolve(response) or {}).get("content") or {}
            for kind, media in content.items():
                if "json" in kind:
                    value = example_of(document, media.get("schema"))
                    return Answer(int(status), json.dumps(value).encode())
                return Answer(int(status), b"plain text", kind=kind)
            return Answer(204, b"") if str(status) == "204" else Answer(200, b"")
        return Answer(200, b"{}")

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if answer.status != 204:
            self.wfile.write(answer.body)


for _method in METHODS:
    setattr(_Handler, f"do_{_method.upper()}", _Handler._answer)
