"""Requesting a health check from the outgoing worker."""

from django.contrib.auth.models import User

from acl.audit.recorder import record
from acl.platform.jobs.task_names import CHECK_INTEGRATION
from acl.platform.jobs.task_queue import send_now
from catalog.models import Integration


def check_now(*, by: User, integration: Integration) -> bool:
    """Queue a health check. Return False if the queue is down or the integration unconfirmed."""
    if integration.unconfirmed:
        return False
    asked = send_now(CHECK_INTEGRATION, integration.pk)
    if asked:
        record(by=by, action="integration.check", target=integration.slug)
    return asked
