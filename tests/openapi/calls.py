"""Calls of a served document's operations, through a session of their own."""

import asyncio

from catalog.formats.descriptors import JSONObject
from catalog.formats.readers.openapi import read_api
from catalog.servers.client.api_session import ApiSession
from catalog.servers.client.mcp_session import ToolResult
from catalog.servers.client.targets import ApiServer
from catalog.servers.net.address_check import AllowedHosts
from tests.connections.http_limits import LOOPBACK
from tests.openapi.mock import MockApi

SECRETS = {"KEY": "s3cret-key", "LOGIN_USERNAME": "ann", "LOGIN_PASSWORD": "opensesame"}


def call_operation(
    server: MockApi,
    name: str,
    arguments: JSONObject | None = None,
    *,
    secrets: dict[str, str] = SECRETS,
    allowed: AllowedHosts = LOOPBACK,
) -> ToolResult:
    """Call an operation of a served document by its tool's name."""
    api = read_api(server.raw, file="api", address=server.url)
    sending = next(one for one in api.operations if one.name == name).tool["annotations"]["http"]
    target = ApiServer(server.url, api.integration.source_ref["security"], secrets)

    async def run() -> ToolResult:
        session = ApiSession(target, allowed=allowed)
        await session.open()
        try:
            return await session.call(name, arguments or {}, seconds=20, sending=sending)
        finally:
            await session.close()

    return asyncio.run(run())
