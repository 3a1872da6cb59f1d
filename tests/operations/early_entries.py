"""Audit entries and requests for access from before the audit log had a chain."""

from datetime import UTC, datetime

from django.db import connection

from acl.audit.log_verification import check_log
from acl.models import AccessRequest, AuditEntry
from tests.factories import UserFactory

AT = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)
REQUESTS = {1: "open", 2: "granted", 3: "declined"}


def write_entries() -> None:
    """Write requests in each state, and entries by nobody and by olga, in the first tables."""
    olga = UserFactory.create(username="olga")
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO auth_group (name) VALUES ('Support') RETURNING id")
        group = cursor.fetchone()[0]
        cursor.executemany(
            "INSERT INTO acl_accessrequest (id, user_id, group_id, wish, note, state, created_at)"
            " VALUES (%s, %s, %s, '', '', %s, now())",
            [(pk, olga.pk, group, state) for pk, state in REQUESTS.items()],
        )
        cursor.executemany(
            "INSERT INTO acl_auditentry (at, by_id, action, target, details)"
            " VALUES (now() + %s * interval '1 minute', %s, 'x', %s, '{\"a\": 1}')",
            [(0, None, "first"), (1, olga.pk, "second"), (2, olga.pk, "third")],
        )
        cursor.execute(
            "INSERT INTO acl_auditentry (at, by_id, action, target, details) VALUES"
            " ('2026-02-03 04:05Z', %s, 'request.granted', 'request 2 of olga in Support', '{}')",
            [olga.pk],
        )


def assert_chained(earlier: int) -> None:
    """Assert that the entries follow the `earlier` ones, with their names and who answered."""
    entries = AuditEntry.objects.filter(number__gt=earlier).order_by("number")
    assert list(entries.values_list("target", "by_name", "number"))[:3] == [
        ("first", "", earlier + 1),
        ("second", "olga", earlier + 2),
        ("third", "olga", earlier + 3),
    ]
    assert check_log().fault is None
    open_, granted, declined = AccessRequest.objects.filter(pk__in=REQUESTS).order_by("pk")
    assert (open_.answered_by, open_.answered_at) == (None, None)
    assert granted.answered_by is not None
    assert (granted.answered_by.username, granted.answered_at) == ("olga", AT)
    assert declined.answered_by is None  # the log does not record it
    assert declined.answered_at is not None
