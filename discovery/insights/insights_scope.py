"""The scope of Insights: a period, whose turns, and which tools the viewer may see."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from acl.rights.caller import Caller
from catalog.access.group_scope import capabilities_of, denied_to_all
from catalog.lifecycle.runtime_state import IS_OVER
from catalog.models import Capability, RuntimeCapability
from catalog.models.integration import ReviewState
from discovery.metatools.all_metatools import META_TOOLS
from discovery.models import Turn


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
    restricted: bool = True

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters for statements about turns."""
        whose = {"group": self.group_id, "user": self.user_id}
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
    offered = offered.exclude(ai_access=Capability.AIAccess.BLOCKED)
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
    named = {name: key for name, key in whose.items() if key is not None}
    return Turn.objects.filter(**named).exists()
