"""FastMCP's client on the Python SDK 2: `ADDRESS|COMMAND key|oauth|none MODE TOOL ARGUMENTS`.

A COMMAND is JSON, and started as a local server: `mcp-remote` is tried so. Run in an environment of
its own.
"""

import asyncio
import json
import os
import sys
from typing import Any

from fastmcp import Client  # type: ignore[import-not-found]
from fastmcp.client.auth import OAuth  # type: ignore[import-not-found]
from fastmcp.client.transports import StdioTransport  # type: ignore[import-not-found]


def _client(target: str, way: str, mode: str) -> Any:
    if target.startswith("["):
        command, *arguments = json.loads(target)
        return Client(StdioTransport(command, arguments, env=dict(os.environ)), mode=mode)
    auth = OAuth() if way == "oauth" else os.environ["PEGBOARD_KEY"]
    return Client(target, auth=auth, mode=mode)


async def main(target: str, way: str, mode: str, tool: str, arguments: str) -> None:
    """List, search and call; print what came."""
    async with _client(target, way, mode) as client:
        tools = [one.name for one in await client.list_tools()]
        found = await client.call_tool("search_tools", {"query": tool})
        done = await client.call_tool(tool, json.loads(arguments))
        version = client.session.protocol_version
    ok = tool in tools and tool in str(found.structured_content) and bool(done.content)
    sys.stdout.write(json.dumps({"version": version, "ok": ok}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
