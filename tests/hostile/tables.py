"""Contents of all tables, to detect changes."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from django.db import connection, transaction

from acl.platform.database_connections import rows_of
from tests.databases import as_superuser, read_as_superuser

# Records of visits, which do not count as changes.
TABLES_OF_VISITS = {
    "django_session",
    "axes_accessattempt",
    "axes_accesslog",
    "axes_accessfailurelog",
    "axes_accessattemptexpiration",
    "acl_look",
    "acl_rightschange",  # random numbers, from which no value can be read
}
# Viewing as someone else adds an audit entry.
CONDITIONS = {"acl_auditentry": "WHERE action <> 'person.looked_as'"}
COLUMNS_OF_VISITS = ("last_used_at", "last_login", "tried_at")
# Random values, and times set by the database.
COLUMNS_OF_CHANCE = ("public_id", "sent_at", "began", "ended")


Contents = dict[str, tuple[int, str]]


def contents() -> Contents:
    """Return number and checksum of each table's rows, in one statement."""
    rows = rows_of(_of_all_tables(), {"but": [*COLUMNS_OF_VISITS, *COLUMNS_OF_CHANCE]})
    return {table: (number, checksum) for table, number, checksum in rows}


@cache
def _of_all_tables() -> str:
    with connection.cursor() as cursor:
        tables = sorted(set(connection.introspection.table_names(cursor)) - TABLES_OF_VISITS)
    return " UNION ALL ".join(
        _ONE.format(table=table, where=CONDITIONS.get(table, "")) for table in tables
    )


def changed(before: Contents) -> set[str]:
    """Return the names of tables that have changed."""
    return differing(before, contents())


def differing(one: Contents, other: Contents) -> set[str]:
    """Return the names of tables that differ."""
    return {table for table in one if one[table] != other.get(table)}


@contextmanager
def undone() -> Iterator[None]:
    """Roll back the block, including sequences."""
    before = _numbers()
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    now = _numbers()
    _set_numbers({name: number for name, number in before.items() if now[name] != number})


@contextmanager
def taken_back() -> Iterator[None]:
    """Roll back the block, but no sequences, which go on counting."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def number_rows_from(first: int) -> None:
    """Set sequences to numbers that no page contains by chance."""
    low = [name for name, number in _numbers().items() if (number or 0) < first]
    _set_numbers(dict.fromkeys(low, first))


def _set_numbers(numbers: dict[str, int | None]) -> None:
    """Set sequences in one statement: there are ninety, and a trip for each was half of a test."""
    set_all = [
        f"setval('{name}', {number or 1}, {number is not None})" for name, number in numbers.items()
    ]
    if set_all:
        as_superuser(f"SELECT {', '.join(set_all)}")


def _numbers() -> dict[str, int | None]:
    found = read_as_superuser(
        "SELECT quote_ident(sequencename) AS name, last_value AS number FROM pg_sequences"
        " WHERE schemaname = 'public'"
    )
    return {row["name"]: row["number"] for row in found}


_ONE = """
SELECT '{table}', count(*),
  coalesce(sum(hashtextextended((to_jsonb(row) - %(but)s::text[])::text, 0)), 0)::text
FROM "{table}" row {where}
"""
