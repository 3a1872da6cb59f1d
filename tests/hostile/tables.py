"""What all tables hold, so that a test can see whether anything has changed."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from django.db import connection, transaction

from acl.prepared import rows_of

# Notes of who was there, which are no change of what there is.
TABLES_OF_VISITS = {
    "django_session",
    "axes_accessattempt",
    "axes_accesslog",
    "axes_accessfailurelog",
    "axes_accessattemptexpiration",
    "acl_look",
}
# Looking as somebody else leaves an entry of the log.
CONDITIONS = {"acl_auditentry": "WHERE action <> 'person.looked_as'"}
COLUMNS_OF_VISITS = ("last_used_at", "last_login", "tried_at")
# Never the same: dice, and a time that the database notes by itself.
COLUMNS_OF_CHANCE = ("public_id", "sent_at")


Contents = dict[str, tuple[int, str]]


def contents() -> Contents:
    """For each table how many rows it has and a checksum of them, in one statement."""
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
    """Names of the tables that hold something else now."""
    return differing(before, contents())


def differing(one: Contents, other: Contents) -> set[str]:
    """Names of the tables in which the two differ."""
    return {table for table in one if one[table] != other.get(table)}


@contextmanager
def undone() -> Iterator[None]:
    """What happens inside has not happened afterwards; the next new row gets the same number."""
    numbers = _numbers()
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT setval(name::regclass, coalesce(number, 1), number IS NOT NULL)"
            " FROM unnest(%s::text[], %s::bigint[]) AS was (name, number)",
            [list(numbers), list(numbers.values())],
        )


def number_rows_from(first: int) -> None:
    """New rows get numbers that stand nowhere on a page for anything else."""
    with connection.cursor() as cursor:
        for name, number in _numbers().items():
            if (number or 0) < first:
                cursor.execute("SELECT setval(%s, %s)", [name, first])


def _numbers() -> dict[str, int | None]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT quote_ident(sequencename), last_value FROM pg_sequences"
            " WHERE schemaname = 'public'"
        )
        return dict(cursor.fetchall())


_ONE = """
SELECT '{table}', count(*),
  coalesce(sum(hashtextextended((to_jsonb(row) - %(but)s::text[])::text, 0)), 0)::text
FROM "{table}" row {where}
"""
