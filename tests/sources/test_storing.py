"""Storing a source's listings with misleading statistics."""

import pytest
from django.db import connection

from catalog.formats.descriptors import IntegrationDescriptor
from marketplace.listings.store import store_listings
from marketplace.models import ListingVersion
from tests.databases import as_superuser

pytestmark = pytest.mark.django_db
LISTINGS = 200
# As if statistics had been taken before the first rows were committed.
EMPTY = """
UPDATE pg_class SET reltuples = 0, relpages = 100 WHERE relname LIKE 'marketplace_listing%'
"""
ROWS_READ = """
SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))
FROM pg_stat_xact_user_tables WHERE relname LIKE 'marketplace_listing%'
"""


def test_tables_that_postgres_takes_for_empty_are_not_compared_row_by_row() -> None:
    names = [f"server-{number}" for number in range(LISTINGS)]
    offered = [IntegrationDescriptor(name, "mcp", name, version="2") for name in names]
    with connection.cursor() as cursor:
        as_superuser(EMPTY)
        store_listings(offered, source="import")
        cursor.execute(ROWS_READ)
        (first,) = cursor.fetchone()
        store_listings(offered, source="import")
        cursor.execute(ROWS_READ)
        (both,) = cursor.fetchone()

    assert ListingVersion.objects.filter(is_latest=True).count() == LISTINGS
    assert max(first, both - first) < 30 * LISTINGS
