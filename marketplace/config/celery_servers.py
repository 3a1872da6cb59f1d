"""Celery app of the outgoing worker, which keeps connections to MCP servers.

Only this process loads tasks that go out, and with them the MCP SDK (1 s, 30 MB).
"""

from marketplace.config.celery import app

__all__ = ["app"]

PACKAGES = [
    "catalog.servers",
    "catalog.servers.oauth",
    "discovery.chats",
    "discovery.example_requests",
    "catalog.servers.icons",
    "discovery.calls",
    "discovery.calls.server_requests",
    "marketplace.installs",
    "marketplace.notifications",
    "marketplace.sources",
    "marketplace.additions",
    "marketplace.operate",
]
app.autodiscover_tasks(PACKAGES)
