"""Probing of servers being installed, and closing of unused connections."""

from collections.abc import Collection

from catalog.models import Integration
from catalog.servers.client.mcp_session import Tools
from catalog.servers.connections.connection_params import build_server
from catalog.servers.connections.event_loop import connection_loop
from catalog.servers.connections.session_pool import Connections


def probe_server(integration: Integration) -> Tools:
    """Start or connect to a server outside the pool, list its tools, and close it."""
    server = build_server(integration)
    return connection_loop.run(lambda pool: pool.probe(server))


def close_all_but(integrations: Collection[int]) -> list[str]:
    """Close the connections of all other integrations; return their keys."""

    async def close(pool: Connections) -> list[str]:
        gone = [key for key in pool.known_keys() if int(key.partition("/")[0]) not in integrations]
        for key in gone:
            await pool.close(key)
        return gone

    return connection_loop.run(close)
