"""The Celery app of the process that keeps connections to MCP servers: the only one that loads the
tasks that go out, and with them the SDK, which costs a second and thirty megabytes."""

from marketplace.config.celery import app

__all__ = ["app"]

PACKAGES = [
    "catalog.servers",
    "catalog.servers.oauth",
    "discovery.calls",
    "marketplace.installs",
    "marketplace.sources",
    "marketplace.operate.audit_anchor",
]
app.autodiscover_tasks(PACKAGES)
