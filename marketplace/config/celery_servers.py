"""The Celery app of the process that keeps connections to MCP servers: the only one that loads the
tasks that go out, and with them the SDK, which costs a second and thirty megabytes."""

from marketplace.config.celery import app

__all__ = ["app"]

packages = ["catalog", "catalog.servers.oauth", "discovery", "marketplace"]
app.autodiscover_tasks(packages, related_name="server_tasks")
