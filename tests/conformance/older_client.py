"""A client of 2025-11-25 over Django's test client, with its streams."""

import json
from collections.abc import Iterator
from typing import Any

from django.test import Client

from tests.mcp.asking import Params, send

STREAM = {"Accept": "application/json, text/event-stream"}


class OlderClient:
    """A client of 2025-11-25 with a session; what it can be asked is up to the test."""

    def __init__(self, key: str, path: str = "/mcp", **capabilities: Any) -> None:
        self.key, self.path = key, path
        self.headers: dict[str, str] = dict(STREAM)
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        }
        opened = self.post({"id": 0, "method": "initialize", "params": params})
        self.headers |= {
            "Mcp-Session-Id": opened.headers["Mcp-Session-Id"],
            "MCP-Protocol-Version": "2025-11-25",
        }

    def post(self, message: Params) -> Any:
        return send(self.key, {"jsonrpc": "2.0", **message}, self.headers, self.path)

    def call(self, tool: str, *, token: str | None = None, **arguments: Any) -> "Stream":
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        if token:
            params["_meta"] = {"progressToken": token}
        return Stream(self.post({"id": 7, "method": "tools/call", "params": params}))

    def answer(self, question: Params, key: str = "", **answer: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": question["id"], **answer}
        return send(key or self.key, message, self.headers, self.path)


def listen(client: OlderClient) -> Any:
    """Open the stream of changes of the client's session."""
    headers = {**client.headers, "Authorization": f"Bearer {client.key}"}
    return Client(headers={**headers, "Accept": "text/event-stream"}).get(client.path)


class Stream:
    """The messages of an answer, read when the test asks for the next."""

    def __init__(self, response: Any) -> None:
        assert response.headers["Content-Type"] == "text/event-stream", response.content
        self.response = response
        self._messages = self._read()

    def next(self) -> Any:
        return next(self._messages)

    def rest(self) -> list[Any]:
        return list(self._messages)

    def _read(self) -> Iterator[Any]:
        for event in self.response.streaming_content:
            for line in event.decode().splitlines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))
