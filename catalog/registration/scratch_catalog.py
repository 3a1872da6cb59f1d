"""A temporary catalogue next to the real one, in temporary tables.

Postgres resolves names to a session's temporary tables first. So the same code works on an empty
catalogue that nobody else sees and that vanishes with the session. Filling it takes the same
advisory lock as imports into the real one.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.apps import apps
from django.db import connection

from acl.platform.pooled_connections import require_direct

_APPS = ("acl", "catalog")
_PEOPLE = ("auth_user", "auth_group", "auth_user_groups")


@contextmanager
def scratch_catalog(*, also: Sequence[str] = ()) -> Iterator[None]:
    """Give this connection empty tables of people, rights and capabilities, and of `also`.

    `also` names other tables that refer to these by key. Raises PooledError behind a pooler, where
    other clients would find these tables in place of the real ones.
    """
    require_direct()
    with connection.cursor() as cursor:
        for table in (*_PEOPLE, *_tables(), *also):
            name = connection.ops.quote_name(table)
            cursor.execute(f"CREATE TEMPORARY TABLE {name} (LIKE public.{name} INCLUDING ALL)")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DISCARD TEMPORARY")


def is_scratch() -> bool:
    """Return True if this connection's catalogue is a temporary one, which has no triggers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('pg_temp.catalog_capability') IS NOT NULL")
        return bool(cursor.fetchone()[0])


def _tables() -> list[str]:
    return [
        model._meta.db_table for app in _APPS for model in apps.get_app_config(app).get_models()
    ]
