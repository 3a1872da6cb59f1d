"""Recording that an admin looked at what another person may use."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction

from acl.actor.request_context import note_subject
from acl.audit.recorder import record
from acl.models import Look
from acl.platform.clock import database_now


def record_look(*, by: User | None, subject: int, name: str, kind: str, key_id: int = 0) -> None:
    """Add an audit entry for a look at the user with the id `subject`; none for one's own.

    One entry for each viewer, subject, kind and hour: a page that answers at every keystroke would
    fill the log. `key_id` stands for the viewer where a key has no owner.
    """
    viewer = by.pk if by else -key_id
    if viewer == subject:
        return
    note_subject(subject, name)
    _record(by=by, viewer=viewer, subject=subject, name=name, kind=kind)


@transaction.atomic
def _record(*, by: User | None, viewer: int, subject: int, name: str, kind: str) -> None:
    hour = database_now().replace(minute=0, second=0, microsecond=0)
    # Of many requests at once one inserts the row; the others wait for it.
    _, is_first = Look.objects.get_or_create(
        viewer_id=viewer, subject_id=subject, kind=kind[:60], hour=hour
    )
    if is_first:
        Look.objects.filter(hour__lt=hour - timedelta(hours=1)).delete()
        record(by=by, action="person.looked_as", target=name, details={"where": kind})
