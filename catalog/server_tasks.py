"""What the process that holds the connections does. The web knows these tasks by name only: it
imports nothing that could go out."""

from typing import Any

from celery import shared_task
from celery.signals import worker_shutdown
from django.db.models import Q

from catalog.connections.asking import check_server
from catalog.connections.loop import connection_loop
from catalog.mcp_client.problems import ServerProblemError
from catalog.models import Integration
from catalog.secrets.keys import SecretUnavailableError

# Whoever stops this process waits for fifteen (marketplace/embedded/programs.py).
_FINISHING_SECONDS = 8


@shared_task(name="servers.check_integration")  # type: ignore[untyped-decorator]
def check_integration(integration_id: int) -> None:
    """Look how a server is doing; its history tells."""
    integration = Integration.objects.filter(pk=integration_id, enabled=True).first()
    if integration is None or not integration.transport:
        return
    try:
        check_server(integration)
    except (ServerProblemError, SecretUnavailableError):
        return


@shared_task(name="servers.check_integrations")  # type: ignore[untyped-decorator]
def check_integrations() -> None:
    """Look at all addresses, and at the programs that failed: one that is idle need not run."""
    failing = Q(transport="stdio", connection=Integration.Connection.FAILING)
    looked_at = Integration.objects.filter(
        Q(transport__in=("http", "sse")) | failing, enabled=True, state="approved"
    ).exclude(connection=Integration.Connection.NOT_NEEDED)
    for pk in looked_at.order_by("pk").values_list("pk", flat=True):
        check_integration.delay(pk)


@worker_shutdown.connect(dispatch_uid="pegboard-connections")  # type: ignore[untyped-decorator]
def end_connections(**_: Any) -> None:
    """No server outlives the process that holds it."""
    connection_loop.stop(finishing_seconds=_FINISHING_SECONDS)
