"""Asking the process that goes out to look at a server now."""

from django.contrib.auth.models import User

from acl.services.audit import record
from catalog.models import Integration
from catalog.services.workers import ask_worker

TASK = "servers.check_integration"


def check_now(*, by: User, integration: Integration) -> bool:
    """Whether somebody could be asked. What comes of it is in the integration's history."""
    if integration.unconfirmed:
        return False
    asked = ask_worker(TASK, integration.pk)
    if asked:
        record(by=by, action="integration.check", target=integration.slug)
    return asked
