"""Asking the process that goes out to look at a server now."""

from django.contrib.auth.models import User

from acl.audit.recorder import record
from acl.platform.worker_jobs import ask_worker
from catalog.models import Integration

TASK = "servers.check_integration"


def check_now(*, by: User, integration: Integration) -> bool:
    """Whether somebody could be asked. What comes of it is in the integration's history."""
    if integration.unconfirmed:
        return False
    asked = ask_worker(TASK, integration.pk)
    if asked:
        record(by=by, action="integration.check", target=integration.slug)
    return asked
