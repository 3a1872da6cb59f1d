"""Facts behind one caller's answers: rules, grants and defaults.

The statement that decides reads them, in one snapshot with its decision.
"""

from dataclasses import dataclass
from typing import Any

from django.db import connection

from acl.rights.caller_lookup import Caller
from acl.rights.decision import RuleFact
from acl.rights.precedence_sql import THEIRS, GrantKind
from acl.rights.statement import rights_parameters, rights_sql
from catalog.models import RuntimeCapability
from catalog.querysets import TABLES
from catalog.readiness.facts import (
    COLUMNS,
    MODE_OF_ROW,
    facts_parameters,
    facts_sql,
    readiness_from,
)
from catalog.readiness.readiness import ToolReadiness

_STATEMENT = f"""
WITH RECURSIVE {rights_sql(TABLES, with_rules=True)},
caller AS MATERIALIZED (
  SELECT u.username, u.is_active AS active, g.name AS group_name,
         EXISTS (SELECT FROM auth_user_groups m WHERE m.user_id = u.id AND m.group_id = g.id)
           AS member,
         EXISTS (SELECT FROM who) AS someone, (SELECT open_default FROM who) AS is_open,
         COALESCE((SELECT json_agg(json_build_object('slug', s.slug, 'name', s.name)
                                   ORDER BY path.distance)
                   FROM path JOIN acl_space s ON s.id = path.id), '[]') AS path
  FROM (SELECT) one
  LEFT JOIN auth_user u ON u.id = %(user)s::bigint
  LEFT JOIN auth_group g ON g.id = %(group)s::bigint
)
SELECT c.full_name, i.slug AS integration, i.title, i.enabled, i.state AS integration_state,
       i.restricted, {THEIRS.format(integration="i", user="%(user)s::bigint")} AS theirs,
       c.available AND c.id NOT IN (SELECT id FROM ended) AS available,
       CASE WHEN c.id IN (SELECT id FROM ended) THEN '{RuntimeCapability.EXPIRED}'
            ELSE c.unavailable_reason END AS unavailable_reason, c.state, c.ai_access,
       CASE WHEN c.id IN (SELECT id FROM usable WHERE mode = 2) THEN 2
            WHEN c.id IN (SELECT id FROM usable WHERE mode = 1) THEN 1 ELSE 0 END AS mode,
       {facts_sql(mode=MODE_OF_ROW)},
       COALESCE((
         SELECT json_agg(json_build_object(
             'rule', r.id, 'effect', r.effect, 'distance', h.distance, 'space', s.slug,
             'space_name', s.name, 'user', u.username, 'group', g.name,
             'on_capability', r.capability_id IS NOT NULL))
         FROM hit h JOIN catalog_rule r ON r.id = h.rule_id JOIN acl_space s ON s.id = r.space_id
         LEFT JOIN auth_user u ON u.id = r.user_id LEFT JOIN auth_group g ON g.id = r.group_id
         WHERE h.capability_id = c.id OR h.integration_id = c.integration_id), '[]') AS rules,
       ARRAY(
         SELECT 'capability user' FROM who JOIN catalog_capabilityuserpermission p
           ON p.user_id = who.user_id AND p.content_object_id = c.id
          AND p.permission_id = (SELECT id FROM permission WHERE codename = 'use_capability')
         UNION ALL SELECT 'integration user' FROM who JOIN catalog_integrationuserpermission p
           ON p.user_id = who.user_id AND p.content_object_id = c.integration_id
          AND p.permission_id = (SELECT id FROM permission WHERE codename = 'use_integration')
         UNION ALL SELECT 'capability group' FROM who JOIN catalog_capabilitygrouppermission p
           ON p.group_id = who.group_id AND p.content_object_id = c.id
          AND p.permission_id = (SELECT id FROM permission WHERE codename = 'use_capability')
         UNION ALL SELECT 'integration group' FROM who JOIN catalog_integrationgrouppermission p
           ON p.group_id = who.group_id AND p.content_object_id = c.integration_id
          AND p.permission_id = (SELECT id FROM permission WHERE codename = 'use_integration')
       ) AS grants,
       caller.*
FROM caller CROSS JOIN catalog_capability c JOIN catalog_integration i ON i.id = c.integration_id
WHERE c.full_name = ANY (%(names)s::text[])
"""  # noqa: S608 - constants only


@dataclass(frozen=True, slots=True)
class CallerFacts:
    """Facts about one capability for one caller. Rules and grants are in no order."""

    full_name: str
    integration: str
    title: str
    enabled: bool
    integration_state: str
    restricted: bool
    theirs: bool  # not another person's own server
    available: bool
    unavailable_reason: str
    state: str
    ai_access: str
    readiness: ToolReadiness  # means nothing without the right
    mode: int  # by the statement: 0 no, 1 asks first, 2 runs; as if it were available
    rules: tuple[RuleFact, ...]
    grants: tuple[GrantKind, ...]
    username: str | None
    active: bool | None
    group_name: str | None
    member: bool
    someone: bool  # the caller can be answered at all
    is_open: bool | None
    path: tuple[tuple[str, str], ...]  # slug and name of the caller's space and those above it

    @property
    def opens_it(self) -> bool:
        """True if the group's default allows it."""
        return bool(self.is_open) and not self.restricted


def load_facts(caller: Caller, names: list[str]) -> dict[str, CallerFacts]:
    """Return the facts by full name, in one statement. Unknown names are left out."""
    parameters = {
        **rights_parameters(caller, unavailable=True),
        **facts_parameters(),
        "names": names,
    }
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENT, parameters)
        columns = [column.name for column in cursor.description or ()]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    return {row["full_name"]: _facts(row) for row in rows}


def _facts(row: dict[str, Any]) -> CallerFacts:
    row["readiness"] = readiness_from([row.pop(name) for name in COLUMNS])
    row["rules"] = tuple(RuleFact(**rule) for rule in row["rules"])
    row["grants"] = tuple(row["grants"])
    row["path"] = tuple((place["slug"], place["name"]) for place in row["path"])
    return CallerFacts(**row)
