"""The Celery app of the process that keeps connections to MCP servers: the only one that loads the
tasks that go out, and with them the SDK, which costs a second and thirty megabytes."""

from marketplace.config.celery import app

__all__ = ["app"]

app.autodiscover_tasks(["catalog", "discovery", "marketplace"], related_name="server_tasks")
