"""The Python SDK 1: `ADDRESS key|oauth TOOL ARGUMENTS`. Run in its own environment."""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import mcp.client.auth as auth
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client  # type: ignore[attr-defined]
from mcp.shared.auth import OAuthClientMetadata

PORT = 3032
REDIRECT = f"http://localhost:{PORT}/callback"


class _Memory:
    """A registration and tokens, kept while this runs."""

    def __init__(self) -> None:
        self.tokens = self.client = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


async def _open(address: str) -> None:
    subprocess.Popen(["xdg-open", address])  # noqa: S603, S607 - the browser of the run


async def _come_back() -> tuple[str, str | None]:
    """Wait for the browser, and return the code and the state that it brings."""
    brought: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readline()).split()[1].decode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()
        brought.set_result(dict(parse_qsl(urlsplit(target).query)))

    async with await asyncio.start_server(answer, "localhost", PORT):
        told = await brought
    return told["code"], told.get("state")


def _options(address: str, way: str) -> dict[str, Any]:
    if way == "key":
        return {"headers": {"Authorization": f"Bearer {os.environ['PEGBOARD_KEY']}"}}
    metadata = OAuthClientMetadata.model_validate(
        {"client_name": "Python SDK 1", "redirect_uris": [REDIRECT]}
    )
    provider: Any = auth.OAuthClientProvider
    return {"auth": provider(address, metadata, _Memory(), _open, _come_back)}


async def main(address: str, way: str, tool: str, arguments: str) -> None:
    """List, search and call; print what came."""
    streams = streamablehttp_client(address, **_options(address, way))
    async with streams as (read, write, _), ClientSession(read, write) as session:
        begun: Any = await session.initialize()
        tools = [one.name for one in (await session.list_tools()).tools]
        found: Any = await session.call_tool("search_tools", {"query": tool})
        done: Any = await session.call_tool(tool, json.loads(arguments))
    ok = tool in tools and tool in str(found.structuredContent) and not done.isError
    sys.stdout.write(json.dumps({"version": begun.protocolVersion, "ok": ok}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
