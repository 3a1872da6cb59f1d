"""What a caller may use as plain ids, for answers that take the definitions from the listing.

The ids, the disconnected integrations and the catalogue's version come from one statement, so they
belong together.
"""

from dataclasses import dataclass
from functools import cache

import psycopg
from django.db import connection

from acl.rights.caller import Caller
from acl.rights.rights_statement import rights_parameters, rights_sql
from catalog.querysets import TABLES

# The row's xmin tells apart states that share a number: one that was rolled back, one from before a
# backup was restored.
VERSION_SQL = "SELECT number || '-' || xmin FROM catalog_catalogversion WHERE id = 1"


@cache
def _all_ids(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)}
SELECT ARRAY(SELECT id FROM usable WHERE mode = 2), ARRAY(SELECT id FROM usable WHERE mode = 1),
       ARRAY(SELECT slug FROM catalog_integration WHERE connection = 'disconnected'),
       COALESCE(({VERSION_SQL}), '')
"""  # noqa: S608 - the names of our own tables


@dataclass(frozen=True, slots=True)
class Usable:
    """Keys of capabilities, by whether a person is asked before each call."""

    runs: frozenset[int]
    asks_first: frozenset[int]
    disconnected: frozenset[str]  # slugs of all such integrations: never shown as they are
    version: str


def usable_ids(caller: Caller) -> Usable:
    """What `caller` may use at this moment."""
    with connection.cursor() as cursor:
        cursor.execute(_all_ids(united=caller.is_united), rights_parameters(caller))
        runs, asks_first, disconnected, version = cursor.fetchone()
    return Usable(frozenset(runs), frozenset(asks_first), frozenset(disconnected), version)


def catalog_version() -> str:
    """The version of the catalogue at this moment; empty before the first change."""
    with connection.cursor() as cursor:
        cursor.execute(VERSION_SQL)
        row = cursor.fetchone()
    return row[0] if row else ""


@cache
def _modes(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)}
SELECT id, mode FROM usable
WHERE %(integrations)s::bigint[] IS NULL OR id = ANY (ARRAY(
  SELECT c.id FROM catalog_capability c WHERE c.integration_id = ANY (%(integrations)s::bigint[])))
"""  # noqa: S608 - the names of our own tables


def modes_of(caller: Caller, integrations: list[int] | None) -> dict[int, int]:
    """What `caller` may use of some integrations, or of all: 1 asks first, 2 runs."""
    parameters = {**rights_parameters(caller), "integrations": integrations}
    connection.ensure_connection()
    # Prepared, since previews ask it a hundred times: planning is a good part of it.
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(_modes(united=caller.is_united), parameters, prepare=True, binary=True)
        return dict(cursor.fetchall())
