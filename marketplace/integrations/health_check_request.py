"""Asking the process that goes out to look at a server now."""

from django.contrib.auth.models import User

from acl.audit.recorder import record
from acl.platform.jobs.task_names import CHECK_INTEGRATION
from acl.platform.jobs.task_queue import send_now
from catalog.models import Integration


def check_now(*, by: User, integration: Integration) -> bool:
    """Whether somebody could be asked. What comes of it is in the integration's history."""
    if integration.unconfirmed:
        return False
    asked = send_now(CHECK_INTEGRATION, integration.pk)
    if asked:
        record(by=by, action="integration.check", target=integration.slug)
    return asked
