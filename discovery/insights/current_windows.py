"""How well turns go everywhere at this moment: the windows of everybody, of each group, and of each
place in it, a space or the root. Only the newest outcomes of each are read, by its index."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import connection

from discovery.turns.outcome_windows import Sample, Scope, Window, stored_samples, window_of

_NEWEST = """
SELECT places.*, newest.id, newest.status, newest.score
FROM (SELECT DISTINCT {columns} FROM discovery_outcome o
      WHERE (%(group)s::bigint IS NULL OR o.group_id = %(group)s) {which}) places
CROSS JOIN LATERAL (
  SELECT o.id, o.status, o.score FROM discovery_outcome o
  WHERE o.group_id = places.group_id {which} {same}
  ORDER BY o.id DESC LIMIT %(size)s
) newest
ORDER BY {order}
"""
_OF_GROUPS = _NEWEST.format(columns="o.group_id", which="", same="", order="1")
_OF_ROOTS = _NEWEST.format(columns="o.group_id", which="AND o.space_id IS NULL", same="", order="1")
_OF_SPACES = _NEWEST.format(
    columns="o.group_id, o.space_id",
    which="AND o.space_id IS NOT NULL",
    same="AND o.space_id = places.space_id",
    order="1, 2",
)


def all_windows(group_id: int | None) -> list[Window]:
    """Of a group and its places; where none is named, of everybody, and of all groups."""
    windows = [] if group_id is not None else _whole()
    windows += _windows(_OF_GROUPS, group_id, lambda group: Scope("group", group))
    windows += _windows(_OF_ROOTS, group_id, lambda group: Scope("space", group))
    return windows + _windows(_OF_SPACES, group_id, lambda *place: Scope("space", *place))


def _whole() -> list[Window]:
    scope = Scope("global")
    samples = stored_samples(scope)
    return [window_of(scope, samples)] if samples else []


def _windows(statement: str, group_id: int | None, scope_of: Callable[..., Scope]) -> list[Window]:
    samples: dict[Scope, list[Sample]] = {}
    with connection.cursor() as cursor:
        parameters: dict[str, Any] = {"group": group_id, "size": settings.PEGBOARD_OUTCOME_WINDOW}
        cursor.execute(statement, parameters)
        for *place, pk, status, score in cursor.fetchall():
            samples.setdefault(scope_of(*place), []).append(Sample(pk, status, score))
    return [window_of(scope, of_scope) for scope, of_scope in samples.items()]
