"""Servers that are being installed, and connections that nobody wants any more."""

from collections.abc import Collection

from catalog.models import Integration
from catalog.servers.client.mcp_session import Tools
from catalog.servers.connections.connection_params import server_of
from catalog.servers.connections.event_loop import connection_loop
from catalog.servers.connections.session_pool import Connections


def try_server(integration: Integration) -> Tools:
    """Start or reach it beside whatever serves, list its tools, and end it."""
    server = server_of(integration)
    return connection_loop.run(lambda kept: kept.try_out(server))


def close_all_but(integrations: Collection[int]) -> list[str]:
    """End the connections of all other integrations; their keys."""

    async def close(kept: Connections) -> list[str]:
        gone = [key for key in kept.known_keys() if int(key.partition("/")[0]) not in integrations]
        for key in gone:
            await kept.close(key)
        return gone

    return connection_loop.run(close)
