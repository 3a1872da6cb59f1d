"""A catalogue of its own for a while, beside the real one, in temporary tables.

Postgres looks for a table among the session's temporary ones first. So the same code, names and ids
work on an empty catalogue that nobody else sees and that is gone even if the process is killed.
Filling it takes turns with imports into the real one, since both wait for the same advisory lock.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.apps import apps
from django.db import connection

_APPS = ("acl", "catalog")
_PEOPLE = ("auth_user", "auth_group", "auth_user_groups")


@contextmanager
def scratch_catalog(*, also: Sequence[str] = ()) -> Iterator[None]:
    """Inside, this connection sees empty tables of people, rights and capabilities, and of `also`:
    whatever the apps above keep by the keys of those."""
    with connection.cursor() as cursor:
        for table in (*_PEOPLE, *_tables(), *also):
            name = connection.ops.quote_name(table)
            cursor.execute(f"CREATE TEMPORARY TABLE {name} (LIKE public.{name} INCLUDING ALL)")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DISCARD TEMPORARY")


def _tables() -> list[str]:
    return [
        model._meta.db_table for app in _APPS for model in apps.get_app_config(app).get_models()
    ]
