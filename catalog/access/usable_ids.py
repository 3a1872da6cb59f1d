"""Usable capabilities as ids, for answers built from the cached listing.

Ids, disconnected integrations and the catalogue's version come from one statement, so they are
consistent.
"""

from dataclasses import dataclass
from functools import cache

from django.db import connection

from acl.platform.prepared_statements import rows_of
from acl.rights.caller import Caller
from acl.rights.rights_statement import rights_parameters, rights_sql
from catalog.querysets import TABLES

# xmin distinguishes states with the same number, after a rollback or a restored backup.
VERSION_SQL = "SELECT number || '-' || xmin FROM catalog_catalogversion WHERE id = 1"


@cache
def _all_ids(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)}
SELECT ARRAY(SELECT id FROM usable WHERE mode = 2), ARRAY(SELECT id FROM usable WHERE mode = 1),
       ARRAY(SELECT slug FROM catalog_integration WHERE connection = 'disconnected'),
       COALESCE(({VERSION_SQL}), '')
"""  # noqa: S608 - constants only


@dataclass(frozen=True, slots=True)
class Usable:
    """Keys of usable capabilities, and the catalogue version they belong to."""

    runs: frozenset[int]
    asks_first: frozenset[int]
    # Slugs of all disconnected integrations, usable or not: never show them unfiltered.
    disconnected: frozenset[str]
    version: str


def usable_ids(caller: Caller) -> Usable:
    """Return the ids that `caller` may use now."""
    with connection.cursor() as cursor:
        cursor.execute(_all_ids(united=caller.is_united), rights_parameters(caller))
        runs, asks_first, disconnected, version = cursor.fetchone()
    return Usable(frozenset(runs), frozenset(asks_first), frozenset(disconnected), version)


def catalog_version() -> str:
    """Return the catalogue's version, or "" before the first change."""
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
"""  # noqa: S608 - constants only


def load_access_modes(caller: Caller, integrations: list[int] | None) -> dict[int, int]:
    """Return the caller's access modes by capability: 1 asks first, 2 runs.

    `integrations` limits the capabilities; None means all.
    """
    parameters = {**rights_parameters(caller), "integrations": integrations}
    # Prepared: previews run it a hundred times, and planning is a large part of its cost.
    return dict(rows_of(_modes(united=caller.is_united), parameters, binary=True))
