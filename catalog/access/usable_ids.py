"""Usable capabilities as ids, for answers built from the cached listing.

Ids, disconnected integrations and the catalogue's version come from one statement, so they are
consistent.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from django.db import connection

from acl.platform.prepared_statements import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters, rights_sql
from catalog.querysets import TABLES
from catalog.readiness.facts import asks_first_sql, facts_parameters, for_staff_sql, runs_here_sql
from catalog.readiness.obstacles import Obstacle, obstacle_sql
from catalog.readiness.readiness import ToolReadiness

# xmin distinguishes states with the same number, after a rollback or a restored backup.
VERSION_SQL = "SELECT number || '-' || xmin FROM catalog_catalogversion WHERE id = 1"


@cache
def _all_ids(*, united: bool) -> str:
    asks_first = asks_first_sql(mode="usable.mode", capability="c", integration="i")
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)},
shown AS MATERIALIZED (
  SELECT c.id, c.integration_id, {asks_first} AS asks_first, {runs_here_sql("c", "i")} AS runs_here
  FROM usable JOIN catalog_capability c ON c.id = usable.id
  JOIN catalog_integration i ON i.id = c.integration_id
),
provider AS (
  SELECT i.slug, {obstacle_sql(integration="i", user="%(user)s::bigint")} AS obstacle,
         i.failing_since, i.failures
  FROM catalog_integration i WHERE i.id IN (SELECT integration_id FROM shown)
)
SELECT ARRAY(SELECT id FROM shown), ARRAY(SELECT id FROM shown WHERE asks_first),
       ARRAY(SELECT id FROM shown WHERE NOT runs_here),
       (SELECT jsonb_object_agg(slug, jsonb_build_array(obstacle, failing_since, failures))
        FROM provider WHERE obstacle > 0),
       {for_staff_sql("%(user)s::bigint")}, COALESCE(({VERSION_SQL}), '')
"""  # noqa: S608 - constants only


@dataclass(frozen=True, slots=True)
class Usable:
    """Keys of usable capabilities with their readiness, and the catalogue version they belong
    to."""

    ids: frozenset[int]
    asks_first: frozenset[int]
    described: frozenset[int]
    # Of the integrations that provide them, by slug: the obstacle, since when it fails, how often.
    obstacles: Mapping[str, tuple[Obstacle, datetime | None, int]]
    for_staff: bool
    version: str

    def readiness_of(self, pk: int, integration: str) -> ToolReadiness:
        """Return the readiness of a usable capability."""
        obstacle, since, failures = self.obstacles.get(integration, (Obstacle.NONE, None, 0))
        asks_first, runs_here = pk in self.asks_first, pk not in self.described
        return ToolReadiness(
            asks_first, obstacle, runs_here, since, failures, for_staff=self.for_staff
        )

    @property
    def disconnected(self) -> frozenset[str]:
        """Return the slugs of disconnected integrations."""
        items = self.obstacles.items()
        return frozenset(slug for slug, (what, *_) in items if what is Obstacle.NOT_CONNECTED)


def usable_ids(caller: Caller) -> Usable:
    """Return the ids that `caller` may use now."""
    parameters = {**rights_parameters(caller), **facts_parameters()}
    with connection.cursor() as cursor:
        cursor.execute(_all_ids(united=caller.is_united), parameters)
        ids, asks_first, described, obstacles, for_staff, version = cursor.fetchone()
    return Usable(
        frozenset(ids),
        frozenset(asks_first),
        frozenset(described),
        {slug: _obstacle(*values) for slug, values in json.loads(obstacles or "{}").items()},
        for_staff,
        version,
    )


def _obstacle(
    number: int, since: str | None, failures: int
) -> tuple[Obstacle, datetime | None, int]:
    return Obstacle(number), datetime.fromisoformat(since) if since else None, failures


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
