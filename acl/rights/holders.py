"""The one answer from the other end: who may use one capability, of all people everywhere.

It says of each person in each place what `acl.rights.rights_statement` says of them; the tests
compare the two. A space without a rule about the capability answers as the one above it, so the
places are each group's root and the spaces where such a rule stands.
"""

from acl.rights.rights_statement import USABLE_AT_ALL, RightsTables, names_in

# Ends in `holder`: a row for each person in each place who may use it; the rule that gives it, or
# else the grant (of `granted`, by kind) or the group's openness.
_HOLDERS = """
target AS MATERIALIZED (
  SELECT c.id, c.integration_id, c.ai_access, i.restricted
  FROM {capability} c JOIN {integration} i ON i.id = c.integration_id
  WHERE c.id = %(capability)s::bigint AND i.enabled AND i.state = 'approved' AND {usable_at_all}
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
         path.distance * 4 + r.effect AS rank
  FROM path JOIN rule r ON r.space_id = path.id
),
permission AS MATERIALIZED (
  SELECT p.id, p.codename
  FROM auth_permission p JOIN django_content_type t ON t.id = p.content_type_id
  WHERE (p.codename = 'use_integration' AND t.app_label || '_' || t.model = '{integration}')
     OR (p.codename = 'use_capability' AND t.app_label || '_' || t.model = '{capability}')
),
given AS MATERIALIZED (        -- the smaller the place, the more precise the grant
  SELECT 1 AS place, 'capability user' AS kind, g.user_id, NULL::bigint AS group_id
  FROM {capability_user} g WHERE g.content_object_id = (SELECT id FROM target)
   AND g.permission_id = (SELECT id FROM permission WHERE codename = 'use_capability')
  UNION ALL SELECT 2, 'integration user', g.user_id, NULL
  FROM {integration_user} g WHERE g.content_object_id = (SELECT integration_id FROM target)
   AND g.permission_id = (SELECT id FROM permission WHERE codename = 'use_integration')
  UNION ALL SELECT 3, 'capability group', NULL, g.group_id
  FROM {capability_group} g WHERE g.content_object_id = (SELECT id FROM target)
   AND g.permission_id = (SELECT id FROM permission WHERE codename = 'use_capability')
  UNION ALL SELECT 4, 'integration group', NULL, g.group_id
  FROM {integration_group} g WHERE g.content_object_id = (SELECT integration_id FROM target)
   AND g.permission_id = (SELECT id FROM permission WHERE codename = 'use_integration')
),
answer AS (
  SELECT u.id AS user_id, u.username, m.group_id, p.space_id, best.id AS rule_id, grants.kind,
         t.ai_access,
         COALESCE(best.rank %% 4, CASE
           WHEN grants.kind IS NOT NULL THEN 2
           WHEN policy.open_default AND NOT t.restricted THEN 2 ELSE 0 END) AS verdict
  FROM target t CROSS JOIN auth_user u JOIN auth_user_groups m ON m.user_id = u.id
  JOIN place p ON p.group_id = m.group_id
  LEFT JOIN acl_grouppolicy policy ON policy.group_id = m.group_id
  LEFT JOIN LATERAL (
    SELECT h.rank, h.id FROM hit h
    WHERE h.place = p.space_id
      AND ((h.user_id IS NULL AND h.group_id IS NULL) OR h.user_id = u.id OR h.group_id IN (
        SELECT other.group_id FROM auth_user_groups other WHERE other.user_id = u.id))
    ORDER BY h.rank, h.capability_id NULLS LAST, h.id LIMIT 1) best ON true
  LEFT JOIN LATERAL (
    SELECT given.kind FROM given WHERE given.user_id = u.id OR given.group_id = m.group_id
    ORDER BY given.place LIMIT 1) grants ON true
  WHERE u.is_active
),
holder AS (
  SELECT *, CASE WHEN ai_access = 'propose' THEN 1 ELSE verdict END AS mode
  FROM answer WHERE verdict > 0
)
"""


def holders_sql(tables: RightsTables) -> str:
    """The common table expressions that end in `holder`, to follow `WITH RECURSIVE`; they ask for
    `capability`, `unavailable` and `kind`."""
    return _HOLDERS.format(usable_at_all=USABLE_AT_ALL, **names_in(tables))
