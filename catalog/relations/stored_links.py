"""Stored edges, refreshed only for changed capabilities, within the change's transaction.

An entry's edges are the ones it declares and the ones others declare to it, so entries may be
loaded before or after their dependencies.
"""

from collections.abc import Sequence

from django.db import connection

from catalog.models import Edge
from catalog.models.relation_kinds import DIRECTED, RELATION_KINDS, Kind, sql_names

MOST_IN_A_PRESET = 30  # every pair is an edge


def refresh_links(ids: Sequence[int]) -> None:
    """Rewrite the traits, mentions and edges of these capabilities."""
    if not ids:
        return
    with connection.cursor() as cursor:
        for statement in (*_TRAITS, *_MENTIONS, *_EDGES):
            cursor.execute(statement, {"ids": list(ids), "kinds": Edge.Kind.values})


def refresh_presets(ids: Sequence[int]) -> None:
    """Rewrite the edges of these presets."""
    with connection.cursor() as cursor:
        for statement in _PRESETS:
            cursor.execute(statement, {"ids": list(ids)})


_TRAITS = (
    "DELETE FROM catalog_trait WHERE capability_id = ANY (%(ids)s)",
    """
    INSERT INTO catalog_trait (capability_id, name)
    SELECT id, kind || ':' || category FROM catalog_capability WHERE id = ANY (%(ids)s)
    UNION
    SELECT id, '#' || lower(tag) FROM catalog_capability, unnest(tags) tag WHERE id = ANY (%(ids)s)
    """,
)
# A bare name may mean a tool of the same integration: `search`, mentioned by gmail__send.
_MENTIONS = (
    "DELETE FROM catalog_mention WHERE capability_id = ANY (%(ids)s)",
    """
    INSERT INTO catalog_mention (capability_id, name, kind, weight, origin)
    SELECT said.id, meant.name, said.kind, max(said.weight), said.origin
    FROM (
      SELECT c.id, c.integration_id, required AS name, 'DEPENDS_ON' AS kind,
             1.0 AS weight, 'metadata' AS origin
      FROM catalog_capability c, unnest(c.required_tools) required
      WHERE c.id = ANY (%(ids)s)
      UNION ALL
      SELECT c.id, c.integration_id, edge ->> 'target',
             CASE WHEN edge ->> 'type' = ANY (%(kinds)s) THEN edge ->> 'type' ELSE 'DECLARED' END,
             LEAST(1, GREATEST(0, (edge ->> 'weight')::float8)), 'manifest'
      FROM catalog_capability c, jsonb_array_elements(c.declared_edges) edge
      WHERE c.id = ANY (%(ids)s)
    ) said
    JOIN catalog_integration i ON i.id = said.integration_id
    CROSS JOIN LATERAL (
      SELECT said.name UNION SELECT i.slug || '__' || said.name
      WHERE said.name !~ '__|:'
    ) meant (name)
    GROUP BY 1, 2, 3, 5
    """,
)
_FOUND = """
      SELECT m.capability_id AS source, c.id AS target, m.kind, m.weight, m.origin
      FROM catalog_mention m JOIN catalog_capability c ON {by}
      WHERE {whose} = ANY (%(ids)s) AND c.id <> m.capability_id"""
_ALL_FOUND = "\n      UNION ALL".join(
    _FOUND.format(by=by, whose=whose)
    for by in (
        "c.identifier = m.name",
        "c.full_name = m.name",
        "c.identifier = 'tool:' || m.name",  # of a tool that an admin renamed
    )
    for whose in ("m.capability_id", "c.id")
)
_EDGES = (
    """
    DELETE FROM catalog_edge
    WHERE origin IN ('metadata', 'manifest')
      AND (source_id = ANY (%(ids)s) OR target_id = ANY (%(ids)s))
    """,
    f"""
    INSERT INTO catalog_edge (source_id, target_id, kind, weight, origin)
    SELECT CASE WHEN directed THEN source ELSE LEAST(source, target) END,
           CASE WHEN directed THEN target ELSE GREATEST(source, target) END,
           kind, max(weight), origin
    FROM ({_ALL_FOUND}
    ) found
    CROSS JOIN LATERAL (SELECT kind IN ({sql_names(DIRECTED)})) d (directed)
    GROUP BY 1, 2, 3, 5
    ON CONFLICT (source_id, target_id, kind, origin, preset_id, group_id)
    DO UPDATE SET weight = EXCLUDED.weight
    """,  # noqa: S608 - constant column names
)
_PRESETS = (
    "DELETE FROM catalog_edge WHERE preset_id = ANY (%(ids)s)",
    f"""
    INSERT INTO catalog_edge (source_id, target_id, kind, weight, origin, preset_id)
    SELECT one.capability_id, other.capability_id, '{Kind.COMPOSED_WITH}',
           {RELATION_KINDS[Kind.COMPOSED_WITH].weight},
           'preset', one.preset_id
    FROM catalog_presetmember one JOIN catalog_presetmember other
      ON other.preset_id = one.preset_id AND other.capability_id > one.capability_id
    WHERE one.preset_id = ANY (%(ids)s)
    """,  # noqa: S608 - constants
)
