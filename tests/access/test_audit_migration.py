"""Migration of audit entries from before the chain, including who answered a request."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from acl.audit.log_verification import check_log
from acl.models import AccessRequest, AuditEntry
from marketplace.operate.roles.owner_role import as_owner
from marketplace.operate.roles.role_grants import grant_rights
from tests.factories import UserFactory

AT = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)
BEFORE = [("acl", "0001_initial")]


def migrate(to: list[tuple[str, str]]) -> None:
    with as_owner():
        executor = MigrationExecutor(connection)
        executor.loader.build_graph()
        executor.migrate(to)
        grant_rights()


@pytest.fixture
def _before_the_chain(transactional_db: None) -> Iterator[None]:
    latest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    migrate(BEFORE)
    try:
        yield
    finally:
        migrate(latest)


@pytest.mark.usefixtures("_before_the_chain")
def test_entries_of_before_are_chained_with_their_names() -> None:
    latest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    olga = UserFactory.create(username="olga")
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO auth_group (name) VALUES ('Support') RETURNING id")
        group = cursor.fetchone()[0]
        for number, state in enumerate(("open", "granted", "declined"), 1):
            cursor.execute(
                "INSERT INTO acl_accessrequest (id, user_id, group_id, wish, note, state,"
                " created_at) VALUES (%s, %s, %s, '', '', %s, now())",
                [number, olga.pk, group, state],
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

    migrate(latest)

    entries = AuditEntry.objects.order_by("number").values_list("target", "by_name", "number")
    assert list(entries)[:3] == [("first", "", 1), ("second", "olga", 2), ("third", "olga", 3)]
    assert check_log().fault is None
    open_, granted, declined = AccessRequest.objects.order_by("pk")
    assert (open_.answered_by, open_.answered_at) == (None, None)
    assert (granted.answered_by, granted.answered_at) == (olga, AT)
    assert declined.answered_by is None  # the log does not record it
    assert declined.answered_at is not None
