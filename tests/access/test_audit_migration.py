"""What was recorded before there was a chain is in it afterwards."""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from acl.models import AuditEntry
from acl.services.audit_check import check_log
from tests.factories import UserFactory

BEFORE = [("acl", "0001_initial")]


def migrate(to: list[tuple[str, str]]) -> None:
    executor = MigrationExecutor(connection)
    executor.loader.build_graph()
    executor.migrate(to)


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
        cursor.executemany(
            "INSERT INTO acl_auditentry (at, by_id, action, target, details)"
            " VALUES (now() + %s * interval '1 minute', %s, 'x', %s, '{\"a\": 1}')",
            [(0, None, "first"), (1, olga.pk, "second"), (2, olga.pk, "third")],
        )

    migrate(latest)

    entries = AuditEntry.objects.order_by("number").values_list("target", "by_name", "number")
    assert list(entries) == [("first", "", 1), ("second", "olga", 2), ("third", "olga", 3)]
    assert check_log().fault is None
