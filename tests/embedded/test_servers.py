"""The servers of the whole test run."""

import pytest
from django.core.cache import cache
from django.db import connection


@pytest.mark.django_db
def test_tests_have_a_postgres_with_vectors() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        cursor.execute("SELECT '[1,2]'::vector <-> '[1,3]'::vector, current_database()")
        distance, _database = cursor.fetchone()

    assert distance == 1


def test_tests_have_a_redis() -> None:
    cache.set("greeting", "hello", timeout=10)

    assert cache.get("greeting") == "hello"
