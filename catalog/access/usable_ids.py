"""Usable capabilities as ids, for answers built from the cached listing.

The ids are remembered with the version of the rights, which is compared at each question.
"""

import json
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from threading import Lock
from typing import Any

from cachetools import LRUCache
from django.db import connection

from acl.platform.database_connections import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.precedence import ALLOW
from acl.rights.statement import rights_parameters, rights_sql
from acl.rights.version import version_sql
from catalog.querysets import TABLES
from catalog.readiness.obstacles import Obstacle, obstacle_sql
from catalog.readiness.readiness import (
    ToolReadiness,
    asks_first_sql,
    facts_parameters,
    for_staff_sql,
    policy_parameters,
    runs_here_sql,
)

# xmin distinguishes states with the same number, after a rollback or a restored backup.
VERSION_SQL = "SELECT number || '-' || xmin FROM catalog_catalogversion WHERE id = 1"


# Callers whose rights a process remembers: at 20,000 capabilities, some 2 MB each.
MOST_CALLERS = 200


@cache
def _all_ids(*, united: bool) -> str:
    asks_first = asks_first_sql(mode="usable.mode", capability="c", integration="i")
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)},
shown AS MATERIALIZED (
  SELECT c.id, c.integration_id, {asks_first} AS asks_first, {runs_here_sql("c", "i")} AS runs_here
  FROM usable JOIN catalog_capability c ON c.id = usable.id
  JOIN catalog_integration i ON i.id = c.integration_id
)
SELECT {version_sql(TABLES.ended)}, COALESCE(({VERSION_SQL}), ''), ARRAY(SELECT id FROM shown),
       ARRAY(SELECT id FROM shown WHERE asks_first),
       ARRAY(SELECT id FROM shown WHERE NOT runs_here),
       ARRAY(SELECT DISTINCT integration_id FROM shown)
"""  # noqa: S608 - constants only


# What can change without a version: whether calls would succeed. It is read each time.
_PROVIDERS = f"""
SELECT {version_sql(TABLES.ended)}, COALESCE(({VERSION_SQL}), ''),
       {for_staff_sql("%(user)s::bigint")}, (
  SELECT jsonb_object_agg(slug, jsonb_build_array(obstacle, failing_since, failures)) FROM (
    SELECT i.slug, {obstacle_sql(integration="i", user="%(user)s::bigint")} AS obstacle,
           i.failing_since, i.failures
    FROM catalog_integration i WHERE i.id = ANY (%(integrations)s::bigint[]) OFFSET 0
  ) provider WHERE obstacle > 0)
"""  # noqa: S608 - constants only


@dataclass(slots=True, eq=False)
class UsableSet:
    """Keys that a caller may use, at a version of the rights and one of the catalogue."""

    rights_version: str
    version: str  # of the catalogue
    ids: frozenset[int]
    asks_first: frozenset[int]
    described: frozenset[int]
    integrations: list[int]
    # What was made of it last, and of which listing.
    entries: tuple[Any, Sequence[Any]] = (None, ())


@dataclass(frozen=True, slots=True)
class Usable:
    """Keys of usable capabilities with their readiness, and the catalogue version they belong
    to."""

    keys: UsableSet
    # Of the integrations that provide them, by slug: the obstacle, since when it fails, how often.
    obstacles: Mapping[str, tuple[Obstacle, datetime | None, int]]
    for_staff: bool

    @property
    def ids(self) -> frozenset[int]:
        """Return the keys."""
        return self.keys.ids

    @property
    def version(self) -> str:
        """Return the catalogue's version."""
        return self.keys.version

    def readiness_of(self, pk: int, integration: str) -> ToolReadiness:
        """Return the readiness of a usable capability."""
        obstacle, since, failures = self.obstacles.get(integration, (Obstacle.NONE, None, 0))
        asks_first, runs_here = pk in self.keys.asks_first, pk not in self.keys.described
        return ToolReadiness(
            asks_first, obstacle, runs_here, since, failures, for_staff=self.for_staff
        )

    @property
    def disconnected(self) -> frozenset[str]:
        """Return the slugs of disconnected integrations."""
        items = self.obstacles.items()
        return frozenset(slug for slug, (what, *_) in items if what is Obstacle.NOT_CONNECTED)


_sets: LRUCache[Hashable, UsableSet] = LRUCache(MOST_CALLERS)
_lock = Lock()


def usable_ids(caller: Caller) -> Usable:
    """Return the ids that `caller` may use now.

    They are worked out where a version is another than that for which they are remembered; the
    statement that compares the versions also reads what hinders calls now. Where something changes
    all the time, the last answer tells of a moment just before.
    """
    key = (caller, repr(policy_parameters()))
    with _lock:
        keys = _sets.get(key)
    keys = keys or _read_set(caller, key)
    usable, is_same = _look(caller, keys)
    for _ in range(_ATTEMPTS):
        if is_same:
            break
        usable, is_same = _look(caller, _read_set(caller, key))
    return usable


_ATTEMPTS = 2


def _read_set(caller: Caller, key: Hashable) -> UsableSet:
    parameters = {**rights_parameters(caller), **facts_parameters()}
    [(rights_version, version, ids, asks_first, described, integrations)] = rows_of(
        _all_ids(united=caller.is_united), parameters, binary=True
    )
    keys = UsableSet(
        rights_version,
        version,
        frozenset(ids),
        frozenset(asks_first),
        frozenset(described),
        integrations,
    )
    if version:  # a scratch catalogue has no triggers, so its changes are not counted
        with _lock:
            _sets[key] = keys
    return keys


def _look(caller: Caller, keys: UsableSet) -> tuple[Usable, bool]:
    """Return the set with what hinders calls now, and whether the versions are still the same."""
    parameters = {**rights_parameters(caller), "integrations": keys.integrations}
    [(rights_version, version, for_staff, obstacles)] = rows_of(_PROVIDERS, parameters)
    by_slug = {slug: _obstacle(*values) for slug, values in json.loads(obstacles or "{}").items()}
    is_same = (rights_version, version) == (keys.rights_version, keys.version)
    return Usable(keys, by_slug, for_staff), is_same


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


# Access to a server as a whole: to its resources and prompts, which no rule names one by one.
#
# They follow what is said about the integration, as a tool of it would of which nobody has said
# anything. Rules and grants for single tools count for those tools only.


@cache
def _verdict_sql() -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES)}
SELECT id, verdict, rank IS NOT NULL FROM live WHERE id = ANY (%(integrations)s::bigint[])
"""  # noqa: S608 - the names of our own tables and columns


def may_use_server(caller: Caller, integration: int) -> bool:
    """Return True if the caller may use the whole integration, without asking first."""
    return integration in usable_servers(caller, [integration])


def usable_servers(caller: Caller, integrations: Collection[int]) -> set[int]:
    """Return those that the caller may use as a whole, without asking first.

    Several groups answer each for itself; a rule of the space that was asked for limits them all.
    """
    if not integrations:
        return set()
    verdicts = [_read_verdicts(caller, group, integrations) for group in caller.group_ids]
    running = {pk for rows in verdicts for pk, (verdict, _) in rows.items() if verdict == ALLOW}
    if caller.space_id is None:
        return running
    stopped = {pk for pk, (verdict, by_rule) in verdicts[0].items() if by_rule and verdict < ALLOW}
    return running - stopped


def _read_verdicts(
    caller: Caller, group: int, integrations: Collection[int]
) -> dict[int, tuple[int, bool]]:
    """Return the verdict on each in one group, with True where a rule decides it."""
    space = caller.space_id if group == caller.group_id else None
    alone = replace(caller, group_id=group, space_id=space, other_groups=())
    parameters = {**rights_parameters(alone), "integrations": list(integrations)}
    rows = rows_of(_verdict_sql(), parameters)
    return {pk: (verdict, by_rule) for pk, verdict, by_rule in rows}
