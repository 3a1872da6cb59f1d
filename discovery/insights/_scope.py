"""The scope of Insights: a period, whose turns, and which tools the viewer may see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet

from acl.models import Application
from acl.rights.caller_lookup import Caller
from catalog.access.group_scope import capabilities_of, denied_to_all
from catalog.capabilities.runtime_state import IS_OVER
from catalog.models import Capability, RuntimeCapability
from catalog.models.integration import ReviewState
from discovery.metatools import META_TOOLS
from discovery.models import DayFigures, Turn
from discovery.turns.outcome_windows import (
    Sample,
    Window,
    WindowScope,
    read_stored_samples,
    window_of,
)


@dataclass(frozen=True, slots=True)
class InsightsScope:
    """The turns of a period: everyone's, a group's, or one person's in a group.

    A `restricted` viewer, that is anyone but an admin of the whole deployment, sees only tools that
    they may use.
    """

    since: datetime
    until: datetime
    group_id: int | None = None
    user_id: int | None = None
    application_id: int | None = None
    restricted: bool = True

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters for statements about turns."""
        whose = {
            "group": self.group_id,
            "user": self.user_id,
            "application": self.application_id,
        }
        return {"since": self.since, "until": self.until, **whose}


def tools_in_scope(scope: InsightsScope) -> QuerySet[Capability]:
    """Return the tools in scope: what the person may use, what the group has, or all."""
    if scope.user_id is not None and scope.group_id is not None:
        caller = Caller(scope.user_id, scope.group_id)
        return Capability.objects.usable_by(caller, unavailable=True)
    if scope.group_id is not None:
        return capabilities_of(scope.group_id)
    return Capability.objects.all()


def tools_offered(scope: InsightsScope) -> QuerySet[Capability]:
    """Return those tools that a selection could offer.

    Meta-tools are excluded: they are always offered, and calls of them count as searches.
    """
    approved = ReviewState.APPROVED
    offered = tools_in_scope(scope).filter(
        state=approved, integration__state=approved, integration__enabled=True
    )
    hidden = (Capability.AIAccess.APP, Capability.AIAccess.BLOCKED)
    offered = offered.exclude(ai_access__in=hidden)
    ended = RuntimeCapability.objects.filter(IS_OVER)
    offered = offered.exclude(full_name__in=ended.values("full_name"))
    if scope.user_id is None and scope.group_id is not None:
        offered = offered.exclude(denied_to_all(scope.group_id))
    return offered.exclude(full_name__in=META_TOOLS.keys())


def list_visible_ids(scope: InsightsScope) -> list[int] | None:
    """Return the primary keys of the tools that may be named; None if all may."""
    return list(tools_in_scope(scope).values_list("pk", flat=True)) if scope.restricted else None


def has_turns(scope: InsightsScope) -> bool:
    """Return True if the scope has ever had a turn."""
    whose = {"group": scope.group_id, "user": scope.user_id}
    filters = {name: key for name, key in whose.items() if key is not None}
    return Turn.objects.filter(**filters).exists() or (
        scope.user_id is None and DayFigures.objects.filter(**filters).exists()
    )


# Current outcome windows: of everyone, of each group, and of each space or root in it.
# Only the newest outcomes of each are read, by its index.

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


# Of a group those that it owns.
_OF_APPLICATIONS = """
SELECT a.id, newest.* FROM acl_application a
CROSS JOIN LATERAL (
  SELECT o.id, o.status, o.score FROM discovery_outcome o
  WHERE o.application_id = a.id ORDER BY o.id DESC LIMIT %(size)s
) newest
WHERE %(group)s::bigint IS NULL OR a.group_id = %(group)s
ORDER BY a.name, a.id
"""


def list_windows(group_id: int | None) -> list[Window]:
    """Return the windows of a group and its spaces, or those of all groups and of everyone."""
    windows = [] if group_id is not None else _global_window()
    windows += _windows(_OF_GROUPS, group_id, lambda group: WindowScope("group", group))
    windows += _windows(_OF_ROOTS, group_id, lambda group: WindowScope("space", group))
    windows += _windows(_OF_SPACES, group_id, lambda *place: WindowScope("space", *place))
    return windows + list_application_windows(group_id)


def list_application_windows(group_id: int | None) -> list[Window]:
    """Return the windows of the applications that a group owns, or of all applications."""
    return _windows(
        _OF_APPLICATIONS, group_id, lambda key: WindowScope("application", application_id=key)
    )


def name_applications(windows: Sequence[Window]) -> dict[int, str]:
    """Return the names of the applications among windows, by id."""
    keys = [window.scope.application_id or 0 for window in windows]
    return dict(Application.objects.filter(pk__in=keys).values_list("pk", "name"))


def _global_window() -> list[Window]:
    scope = WindowScope("global")
    samples = read_stored_samples(scope)
    return [window_of(scope, samples)] if samples else []


def _windows(
    statement: str, group_id: int | None, scope_of: Callable[..., WindowScope]
) -> list[Window]:
    samples: dict[WindowScope, list[Sample]] = {}
    with connection.cursor() as cursor:
        parameters: dict[str, Any] = {"group": group_id, "size": settings.PEGBOARD_OUTCOME_WINDOW}
        cursor.execute(statement, parameters)
        for *place, pk, status, score in cursor.fetchall():
            samples.setdefault(scope_of(*place), []).append(Sample(pk, status, score))
    return [window_of(scope, of_scope) for scope, of_scope in samples.items()]
