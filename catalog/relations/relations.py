"""Relations between capabilities: read by callers, set by admins."""

from collections.abc import Sequence

from django.contrib.auth.models import Group, User
from django.db import connection, transaction

from acl.audit.recorder import record
from acl.rights.caller_lookup import Caller
from catalog.locks import lock_catalog
from catalog.models import Capability, Edge, Preset, PresetMember
from catalog.models.relation import DIRECTED, RELATION_KINDS, Kind, sql_names
from catalog.relations.neighbours import Neighbourhood, load_neighbours

__all__ = ["EdgeRefused", "PresetTooLarge", "find_neighbours", "relate", "set_members", "unrelate"]


# Stored edges, refreshed only for changed capabilities, within the change's transaction.
#
# An entry's edges are the ones it declares and the ones others declare to it, so entries may be
# loaded before or after their dependencies.

MOST_IN_A_PRESET = 30  # every pair is an edge


def refresh_relations(ids: Sequence[int]) -> None:
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


class EdgeRefused(Exception):
    """A capability cannot be related to itself."""

    def __init__(self) -> None:
        super().__init__("A capability cannot be related to itself.")


class PresetTooLarge(Exception):
    """The preset has too many capabilities: every pair of them is an edge."""

    def __init__(self) -> None:
        super().__init__(f"A preset has at most {MOST_IN_A_PRESET} capabilities.")


def find_neighbours(*, caller: Caller, full_name: str, kind: str = "") -> Neighbourhood | None:
    """Return the usable neighbours of a usable capability; `kind` filters edges."""
    return load_neighbours(caller, full_name, kind)


@transaction.atomic
def relate(
    *,
    by: User | None,
    source: Capability,
    target: Capability,
    kind: str,
    weight: float,
    group: Group | None = None,
) -> tuple[Edge, bool]:
    """Set an admin's edge, which overrides computed weights; return it, and True if it is new.

    It holds for everyone, or for one group's callers, where it also overrides everyone's.
    """
    start, end = _ends(source, target, kind)
    edge, is_new = Edge.objects.update_or_create(
        source=start,
        target=end,
        kind=kind,
        origin=Edge.Origin.ADMIN,
        preset=None,
        group=group,
        defaults={"weight": weight},
    )
    details = {**_details(target, kind, group), "weight": weight}
    groups = [group.pk] if group else None
    record(by=by, action="edge.add", target=str(source), details=details, groups=groups)
    return edge, is_new


@transaction.atomic
def unrelate(
    *,
    by: User | None,
    source: Capability,
    target: Capability,
    kind: str,
    group: Group | None = None,
) -> bool:
    """Remove an edge for everyone or for one group's callers; return False if there was none.

    An admin's own edge is deleted. An edge from a source, a preset, shared tags or (for a group)
    from everyone would come back, so a zero-weight edge overrides it.
    """
    lock_catalog()
    start, end = _ends(source, target, kind)
    decisions = Edge.objects.filter(source=start, target=end, kind=kind, origin=Edge.Origin.ADMIN)
    decision = decisions.filter(group=group).first()
    elsewhere = _edge_exists(
        start, end, kind, decisions.filter(group=None).first() if group else None
    )
    if (decision is None and not elsewhere) or (decision is not None and decision.weight == 0):
        return False
    if elsewhere:
        decisions.update_or_create(
            source=start,
            target=end,
            kind=kind,
            origin=Edge.Origin.ADMIN,
            group=group,
            defaults={"weight": 0.0},
        )
    else:
        decisions.filter(group=group).delete()
    record(
        by=by, action="edge.remove", target=str(source), details=_details(target, kind, group),
        groups=[group.pk] if group else None,
    )  # fmt: skip
    return True


@transaction.atomic
def set_members(*, by: User | None, preset: Preset, capabilities: Sequence[Capability]) -> None:
    """Replace the members of a preset and the edges between them."""
    keys = {capability.pk for capability in capabilities}
    if len(keys) > MOST_IN_A_PRESET:
        raise PresetTooLarge
    members = PresetMember.objects.filter(preset=preset)
    members.exclude(capability__in=keys).delete()
    PresetMember.objects.bulk_create(
        [PresetMember(preset=preset, capability_id=pk) for pk in sorted(keys)],
        ignore_conflicts=True,
    )
    refresh_presets([preset.pk])
    names = sorted(str(capability) for capability in capabilities)
    record(by=by, action="preset.change", target=str(preset), details={"capabilities": names})


def _ends(source: Capability, target: Capability, kind: str) -> tuple[Capability, Capability]:
    """Return the ends in the stored order."""
    if source.pk == target.pk:
        raise EdgeRefused
    # Undirected edges are stored once, from the lower key to the higher one.
    if kind not in DIRECTED and source.pk > target.pk:
        return target, source
    return source, target


def _details(target: Capability, kind: str, group: Group | None) -> dict[str, object]:
    details: dict[str, object] = {"type": kind, "target": str(target)}
    return details | ({"group": group.name} if group else {})


def _edge_exists(source: Capability, target: Capability, kind: str, decision: Edge | None) -> bool:
    """Return True if everyone's admin edge, or else any other edge, exists."""
    if decision is not None:
        return decision.weight > 0
    same = Edge.objects.filter(source=source, target=target, kind=kind)
    return same.exclude(origin=Edge.Origin.ADMIN).exists() or _share_traits(source, target, kind)


def _share_traits(source: Capability, target: Capability, kind: str) -> bool:
    """Return True if the two share a category or enough tags to be related."""
    if kind == Edge.Kind.SAME_CATEGORY:
        return (source.kind, source.category) == (target.kind, target.category)
    tags = {tag.lower() for tag in source.tags} & {tag.lower() for tag in target.tags}
    return kind == Edge.Kind.TAGGED_WITH and len(tags) >= 2
