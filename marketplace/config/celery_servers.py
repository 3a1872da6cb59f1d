"""Celery app of the outgoing worker, which keeps connections to MCP servers.

Only this process loads tasks that go out, and with them the MCP SDK (1 s, 30 MB).
"""

from marketplace.config.celery import app

__all__ = ["app"]

MODULES = [
    "catalog.servers.tasks",
    "catalog.servers.oauth.client_documents",
    "catalog.servers.oauth.sign_in",
    "catalog.servers.icons.reader",
    "discovery.chats.model_sender",
    "discovery.example_requests.tasks",
    "discovery.calls.tasks",
    "discovery.calls.server_requests.worker",
    "marketplace.installs.worker",
    "marketplace.notifications.tasks",
    "marketplace.sources.refresh",
    "marketplace.additions.worker",
    "marketplace.operate.tasks",
]
app.autodiscover_tasks(MODULES, related_name=None)
