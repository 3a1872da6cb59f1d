"""Current outcome windows: of everyone, of each group, and of each space or root in it.

Only the newest outcomes of each are read, by its index.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import connection

from discovery.turns.outcome_windows import Sample, Scope, Window, read_stored_samples, window_of

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


def list_windows(group_id: int | None) -> list[Window]:
    """Return the windows of a group and its spaces, or those of all groups and of everyone."""
    windows = [] if group_id is not None else _global_window()
    windows += _windows(_OF_GROUPS, group_id, lambda group: Scope("group", group))
    windows += _windows(_OF_ROOTS, group_id, lambda group: Scope("space", group))
    return windows + _windows(_OF_SPACES, group_id, lambda *place: Scope("space", *place))


def _global_window() -> list[Window]:
    scope = Scope("global")
    samples = read_stored_samples(scope)
    return [window_of(scope, samples)] if samples else []


def _windows(statement: str, group_id: int | None, scope_of: Callable[..., Scope]) -> list[Window]:
    samples: dict[Scope, list[Sample]] = {}
    with connection.cursor() as cursor:
        parameters: dict[str, Any] = {"group": group_id, "size": settings.PEGBOARD_OUTCOME_WINDOW}
        cursor.execute(statement, parameters)
        for *place, pk, status, score in cursor.fetchall():
            samples.setdefault(scope_of(*place), []).append(Sample(pk, status, score))
    return [window_of(scope, of_scope) for scope, of_scope in samples.items()]
