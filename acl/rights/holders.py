"""The one answer from the other end: who may use one capability, of all people everywhere.

It says of each person in each place what `acl.rights.statement` says of them; the tests
compare the two. A space without a rule about the capability answers as the one above it, so the
places are each group's root and the spaces where such a rule stands.
"""

from acl.rights.precedence import (
    GRANTS,
    LIVE,
    MODE,
    PERMISSIONS,
    THEIRS,
    GrantKind,
    applies_sql,
    granted_sql,
    naming_order_sql,
    rank_sql,
    verdict_sql,
)
from acl.rights.statement import USABLE_AT_ALL, RightsTables, ended_sql, names_in

# Ends in `holder`: a row for each person in each place who may use it; the rule that gives it, or
# else the grant (of `granted`, by kind) or the group's openness.
_HOLDERS = """{ended_ids},
target AS MATERIALIZED (
  SELECT c.id, c.integration_id, c.ai_access, i.restricted, i.owner_id
  FROM {capability} c JOIN {integration} i ON i.id = c.integration_id
  WHERE c.id = %(capability)s::bigint AND {live} AND {usable_at_all}
    AND (%(application)s::bigint IS NULL OR EXISTS (
      SELECT FROM acl_application a WHERE a.id = %(application)s::bigint
       AND (cardinality(a.integrations) = 0 OR i.id = ANY (a.integrations))))
),
rule AS MATERIALIZED (
  SELECT r.id, r.space_id, r.effect, r.user_id, r.group_id, r.capability_id
  FROM target t JOIN {rule} r ON r.capability_id = t.id OR r.integration_id = t.integration_id
),
place AS MATERIALIZED (
  SELECT g.id AS group_id, s.id AS space_id
  FROM auth_group g LEFT JOIN acl_space s ON s.group_id = g.id AND s.parent_id IS NULL
  UNION
  SELECT s.group_id, s.id FROM acl_space s WHERE s.id IN (SELECT space_id FROM rule)
),
path AS (
  SELECT s.id AS place, s.id, s.group_id, s.parent_id, 0 AS distance
  FROM place p JOIN acl_space s ON s.id = p.space_id
  UNION ALL
  SELECT path.place, p.id, p.group_id, p.parent_id, path.distance + 1
  FROM path JOIN acl_space p ON p.id = path.parent_id AND p.group_id = path.group_id
  WHERE path.distance < 32
),
hit AS MATERIALIZED (
  SELECT path.place, r.id, r.user_id, r.group_id, r.capability_id,
         {rank} AS rank
  FROM path JOIN rule r ON r.space_id = path.id
),{permissions},
given (place, kind, user_id, group_id) AS MATERIALIZED (
  {grants}
),
answer AS (
  SELECT u.id AS user_id, u.username, m.group_id, p.space_id, best.id AS rule_id, grants.kind,
         t.ai_access,
         {verdict} AS verdict
  FROM target t CROSS JOIN auth_user u JOIN auth_user_groups m ON m.user_id = u.id
  JOIN place p ON p.group_id = m.group_id
  LEFT JOIN acl_grouppolicy policy ON policy.group_id = m.group_id
  LEFT JOIN LATERAL (
    SELECT h.rank, h.id FROM hit h
    WHERE h.place = p.space_id
      AND ({applies})
    ORDER BY {naming_order} LIMIT 1) best ON true
  LEFT JOIN LATERAL (
    SELECT given.kind FROM given WHERE given.user_id = u.id OR given.group_id = m.group_id
    ORDER BY given.place LIMIT 1) grants ON true
  WHERE u.is_active AND {theirs}
),
holder AS (
  SELECT *, {mode} AS mode
  FROM answer WHERE verdict > 0
)
"""


# What a grant on a capability or an integration is attached to, of `target`.
_OBJECTS = {"capability": "id", "integration": "integration_id"}
_SUBJECTS = {"user": "g.user_id, NULL::bigint", "group": "NULL::bigint, g.group_id"}


def holders_sql(tables: RightsTables) -> str:
    """Return the common table expressions that end in `holder`, to follow `WITH RECURSIVE`; they
    ask for `capability`, `application`, `unavailable` and `kind`."""
    names = names_in(tables)
    return _HOLDERS.format(
        **names,
        ended_ids=ended_sql(tables),
        usable_at_all=USABLE_AT_ALL,
        live=LIVE,
        theirs=THEIRS.format(integration="t", user="u.id"),
        permissions=PERMISSIONS.format(**names),
        rank=rank_sql(rule="r", distance="path.distance"),
        grants="\n  UNION ALL ".join(_grants_of(kind, tables) for kind in GRANTS),
        applies=applies_sql(rule="h", user="u.id"),
        naming_order=naming_order_sql(rule="h"),
        verdict=verdict_sql(
            rank="best.rank",
            granted=granted_sql(
                granted="grants.kind IS NOT NULL",
                is_open="COALESCE(policy.open_default, false)",
                restricted="t.restricted",
            ),
        ),
        mode=MODE,
    )


def _grants_of(kind: GrantKind, tables: RightsTables) -> str:
    level, subject = kind.split(" ")
    table = getattr(tables, f"{level}_{subject}")
    return f"""SELECT {GRANTS.index(kind)}, '{kind}', {_SUBJECTS[subject]}
  FROM {table} g WHERE g.content_object_id = (SELECT {_OBJECTS[level]} FROM target)
   AND g.permission_id = (SELECT id FROM permission WHERE codename = 'use_{level}')"""  # noqa: S608 - our own names
