"""Stored edges from tools to the lookups of their arguments, within each server.

They depend on all tools of the server, so they are computed anew whenever one of those changes, in
that change's transaction. Only differences are written. Statements name their columns, since a
migration uses them on tables of any later release.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import connection
from django.db.models import Count

from catalog.graph.argument_lookups import NamedTool, find_lookups
from catalog.models import Capability, Edge

# On a larger server, one word is shared by too many tools to lead to the right one.
MOST_TOOLS = 200
_COLUMNS = ("integration", "pk", "action", "input_schema", "side_effect")


def refresh_lookups(ids: Sequence[int]) -> None:
    """Compute the lookups of the servers that have these capabilities."""
    servers = _servers(ids)
    found = {
        (source, target): weight
        for _, rows in groupby(_tools(servers), key=itemgetter(0))
        for source, target, weight in find_lookups([_named(*row) for row in rows])
    }
    edges = Edge.objects.filter(source__integration__in=servers, origin=Edge.Origin.SCHEMA)
    known = {row[:2]: row[2:] for row in edges.values_list("source", "target", "weight", "pk")}
    gone = [key for pair, (weight, key) in known.items() if found.get(pair) != weight]
    new = [(*pair, weight) for pair, weight in found.items() if known.get(pair, (0,))[0] != weight]
    if gone:
        Edge.objects.filter(pk__in=gone).delete()
    if new:
        sources, targets, weights = map(list, zip(*sorted(new), strict=True))
        columns = {"sources": sources, "targets": targets, "weights": weights}
        with connection.cursor() as cursor:
            cursor.execute(_INSERT, columns)


def _servers(ids: Sequence[int]) -> list[int]:
    own = Capability.objects.filter(pk__in=ids).order_by("integration")
    return list(own.values_list("integration", flat=True).distinct())


def _tools(servers: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """Yield the tools of the servers that are not too large."""
    all_ = Capability.objects.filter(integration__in=servers, kind=Capability.Kind.TOOL)
    counts = all_.order_by().values("integration").annotate(number=Count("pk"))
    small = counts.filter(number__lte=MOST_TOOLS).values("integration")
    rows = all_.filter(integration__in=small).order_by("integration", "pk")
    return rows.values_list(*_COLUMNS).iterator(chunk_size=1000)


def _named(_: int, key: int, action: str, schema: object, side_effect: str) -> NamedTool:
    """Return the tool; a schema comes from a stranger, and may require no list of names."""
    required = schema.get("required") if isinstance(schema, dict) else None
    names = required if isinstance(required, list) else []
    texts = tuple(name for name in names if isinstance(name, str))
    return NamedTool(key, action, texts, reads=side_effect == Capability.SideEffect.READ)


_INSERT = f"""
INSERT INTO catalog_edge (source_id, target_id, kind, weight, origin)
SELECT source, target, '{Edge.Kind.DEPENDS_ON}', weight, '{Edge.Origin.SCHEMA}'
FROM unnest(%(sources)s::bigint[], %(targets)s::bigint[], %(weights)s::float8[])
  new (source, target, weight)
ON CONFLICT DO NOTHING
"""  # noqa: S608 - constants
