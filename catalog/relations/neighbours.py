"""Graph queries per caller: neighbours and edge counts among usable capabilities.

Tags shared by many and large categories relate nothing. The limits count only what the caller may
use, so hidden capabilities neither add nor remove an edge.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, Literal

from django.db import connection

from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters, rights_sql
from catalog.models import Edge
from catalog.models.relation import DIRECTED, RELATION_KINDS, Kind, sql_names
from catalog.querysets import TABLES
from catalog.readiness.obstacles import Obstacle
from catalog.readiness.readiness import (
    COLUMNS,
    MODE_OF_ROW,
    ToolReadiness,
    facts_parameters,
    facts_sql,
    readiness_from,
)

MAX_PER_TYPE = 20
_TAGS, _CATEGORY = RELATION_KINDS[Kind.TAGGED_WITH], RELATION_KINDS[Kind.SAME_CATEGORY]
LARGEST_CATEGORY = 8
# A tag relates capabilities while at most a tenth of the usable ones share it: at least five in
# small catalogues, at most fifty in large ones.
MOST_WITH_A_TAG = "GREATEST(5, LEAST(50, {usable} / 10))"
_MOST_WITH_A_TAG = MOST_WITH_A_TAG.format(usable="(SELECT count(*) FROM usable)")
# Everyone's edges, and those set by an admin of the caller's group, which take precedence.
FOR_THE_GROUP = "(group_id IS NULL OR group_id = ANY (%(groups)s::bigint[]))"
Direction = Literal["out", "in", "both"]
_facts_of = attrgetter(*COLUMNS)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A related capability; `direction` is seen from the queried one."""

    identifier: str
    full_name: str
    kind: str
    integration: str
    asks_first: bool
    obstacle: int
    runs_here: bool
    failing_since: datetime | None
    failures: int
    for_staff: bool
    type: str
    weight: float
    origin: str
    direction: Direction

    @property
    def readiness(self) -> ToolReadiness:
        """Return what a call of it would do now."""
        return readiness_from(_facts_of(self))

    @property
    def disconnected(self) -> bool:
        """Return True if its server is not connected."""
        return self.obstacle == Obstacle.NOT_CONNECTED


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Neighbours by type, strongest first, and the disconnected ones."""

    neighbours: tuple[Neighbour, ...]
    disconnected: tuple[Neighbour, ...]


def load_neighbours(caller: Caller, full_name: str, type_: str = "") -> Neighbourhood | None:
    """Return up to 20 neighbours of each type; None if the caller cannot use the capability."""
    parameters = {
        **rights_parameters(caller),
        **facts_parameters(),
        "name": full_name,
        "type": type_,
    }
    with connection.cursor() as cursor:
        cursor.execute(_neighbours(united=caller.is_united), parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    if not rows:
        return None
    neighbours = _merge_edges((row[-1], Neighbour(*row[:-1])) for row in rows if row[0] is not None)
    return Neighbourhood(
        tuple(_rank_by_type(neighbour for neighbour in neighbours if not neighbour.disconnected)),
        tuple(_rank_by_type(neighbour for neighbour in neighbours if neighbour.disconnected)),
    )


def count_edges(caller: Caller) -> int:
    """Return the number of edges among the caller's connected capabilities."""
    with connection.cursor() as cursor:
        cursor.execute(_count(united=caller.is_united), rights_parameters(caller))
        return int(cursor.fetchone()[0])


def _merge_edges(edges: Iterable[tuple[bool, Neighbour]]) -> list[Neighbour]:
    """Keep one edge per type and direction.

    A group admin's edge wins over an admin's, and that over the strongest other one.
    """
    best: dict[tuple[str, str, str], tuple[bool, Neighbour]] = {}
    for of_group, neighbour in edges:
        key = (neighbour.full_name, neighbour.type, neighbour.direction)
        if key not in best or _precedence(of_group, neighbour) > _precedence(*best[key]):
            best[key] = of_group, neighbour
    visible = [neighbour for _, neighbour in best.values() if neighbour.weight > 0]
    return [replace(neighbour, weight=round(neighbour.weight, 4)) for neighbour in visible]


def _precedence(of_group: bool, neighbour: Neighbour) -> tuple[bool, bool, float, str]:
    return of_group, neighbour.origin == Edge.Origin.ADMIN, neighbour.weight, neighbour.origin


def _rank_by_type(neighbours: Iterable[Neighbour]) -> Iterable[Neighbour]:
    ranked = sorted(
        neighbours,
        key=lambda neighbour: (-neighbour.weight, neighbour.full_name, neighbour.direction),
    )
    by_type: dict[str, list[Neighbour]] = {kind: [] for kind in Edge.Kind.values}
    for neighbour in ranked:
        by_type[neighbour.type].append(neighbour)
    for edges in by_type.values():
        yield from edges[:MAX_PER_TYPE]


@cache
def _neighbours(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)},
own AS MATERIALIZED (
  SELECT id FROM catalog_capability
  WHERE full_name = %(name)s::text AND id IN (SELECT id FROM usable)
),
shared AS MATERIALIZED (
  SELECT mine.name, array_agg(other.capability_id) AS ids
  FROM own JOIN catalog_trait mine ON mine.capability_id = own.id
  JOIN catalog_trait other ON other.name = mine.name
  WHERE other.capability_id IN (SELECT id FROM usable)
  GROUP BY mine.name
  HAVING count(*) <= CASE WHEN mine.name LIKE '#%%' THEN {_MOST_WITH_A_TAG}
                          ELSE {LARGEST_CATEGORY} END
),
related AS (
  SELECT e.target_id AS id, e.kind, e.weight, e.origin,
         CASE WHEN e.kind IN ({sql_names(DIRECTED)}) THEN 'out' ELSE 'both' END AS direction,
         e.group_id IS NOT NULL AS of_group
  FROM own JOIN catalog_edge e ON e.source_id = own.id AND {FOR_THE_GROUP}
  UNION ALL
  SELECT e.source_id, e.kind, e.weight, e.origin,
         CASE WHEN e.kind IN ({sql_names(DIRECTED)}) THEN 'in' ELSE 'both' END,
         e.group_id IS NOT NULL
  FROM own JOIN catalog_edge e ON e.target_id = own.id AND {FOR_THE_GROUP}
  UNION ALL
  SELECT id, '{Kind.TAGGED_WITH}', LEAST({_TAGS.most}, {_TAGS.weight} * count(*)), 'metadata',
         'both', false
  FROM shared, unnest(ids) id WHERE name LIKE '#%%' GROUP BY id HAVING count(*) >= 2
  UNION ALL
  SELECT id, '{Kind.SAME_CATEGORY}', {_CATEGORY.weight}, 'metadata', 'both', false
  FROM shared, unnest(ids) id WHERE name NOT LIKE '#%%'
)
SELECT c.identifier, c.full_name, c.kind, i.slug, {facts_sql(mode=MODE_OF_ROW)},
       r.kind, r.weight, r.origin, r.direction, r.of_group
FROM own LEFT JOIN (
  related r
  JOIN catalog_capability c ON c.id = r.id AND c.id IN (SELECT id FROM usable)
   AND c.id NOT IN (SELECT id FROM own) AND (%(type)s::text = '' OR r.kind = %(type)s::text)
  JOIN catalog_integration i ON i.id = c.integration_id
) ON true
"""  # noqa: S608 - constants only


@cache
def _count(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)},
shown AS MATERIALIZED (
  SELECT c.id FROM catalog_capability c JOIN catalog_integration i ON i.id = c.integration_id
  WHERE c.id IN (SELECT id FROM usable) AND i.connection <> 'disconnected'
),
counting AS MATERIALIZED (
  SELECT name, array_agg(capability_id) AS ids FROM catalog_trait
  WHERE capability_id = ANY (ARRAY(SELECT id FROM usable)) GROUP BY name
  HAVING count(*) BETWEEN 2 AND
    CASE WHEN name LIKE '#%%' THEN {_MOST_WITH_A_TAG} ELSE {LARGEST_CATEGORY} END
),
member AS MATERIALIZED (
  SELECT name, id FROM counting, unnest(ids) id WHERE id IN (SELECT id FROM shown)
),
edge AS (
  SELECT source_id AS one, target_id AS other, kind, weight,
         CASE WHEN origin <> 'admin' THEN 0 WHEN group_id IS NULL THEN 1 ELSE 2 END AS decided
  FROM catalog_edge
  WHERE source_id IN (SELECT id FROM shown) AND target_id IN (SELECT id FROM shown)
    AND {FOR_THE_GROUP}
  UNION ALL
  SELECT a.id, b.id, '{Kind.TAGGED_WITH}', 1, 0 FROM member a JOIN member b USING (name)
  WHERE a.id < b.id AND name LIKE '#%%' GROUP BY a.id, b.id HAVING count(*) >= 2
  UNION ALL
  SELECT a.id, b.id, '{Kind.SAME_CATEGORY}', 1, 0 FROM member a JOIN member b USING (name)
  WHERE a.id < b.id AND name NOT LIKE '#%%'
),
worded AS (
  SELECT COALESCE(max(weight) FILTER (WHERE decided = 2), max(weight) FILTER (WHERE decided = 1),
                  max(weight)) AS weight
  FROM edge GROUP BY one, other, kind
)
SELECT count(*) FROM worded WHERE weight > 0
"""  # noqa: S608 - constants only
