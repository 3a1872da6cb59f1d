"""What somebody looks at: a time, whose turns, and of which tools they may be told."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from acl.rights.caller import Caller
from catalog.access.group_scope import capabilities_of, denied_to_all
from catalog.models import Capability
from catalog.models.integration import ReviewState
from discovery.metatools.all_metatools import META_TOOLS
from discovery.models import Turn


@dataclass(frozen=True, slots=True)
class Sight:
    """The turns of a time: everybody's, a group's, or one person's in a group.

    To a `stranger` to the rest of the catalogue, which is everybody but admins of the whole
    deployment, nothing is told but what they have themselves.
    """

    since: datetime
    until: datetime
    group_id: int | None = None
    user_id: int | None = None
    stranger: bool = True

    @property
    def parameters(self) -> dict[str, Any]:
        """For statements about turns."""
        whose = {"group": self.group_id, "user": self.user_id}
        return {"since": self.since, "until": self.until, **whose}


def tools_in(sight: Sight) -> QuerySet[Capability]:
    """What there is to be called: what the person may use, what the group has, or everything."""
    if sight.user_id is not None and sight.group_id is not None:
        caller = Caller(sight.user_id, sight.group_id)
        return Capability.objects.usable_by(caller, unavailable=True)
    if sight.group_id is not None:
        return capabilities_of(sight.group_id)
    return Capability.objects.all()


def tools_offered(sight: Sight) -> QuerySet[Capability]:
    """Those of them that a selection could bring; without the meta-tools, which are always there
    and are counted as looks."""
    fine = ReviewState.APPROVED
    offered = tools_in(sight).filter(state=fine, integration__state=fine, integration__enabled=True)
    offered = offered.exclude(ai_access=Capability.AIAccess.BLOCKED)
    if sight.user_id is None and sight.group_id is not None:
        offered = offered.exclude(denied_to_all(sight.group_id))
    return offered.exclude(full_name__in=META_TOOLS.keys())


def known_keys(sight: Sight) -> list[int] | None:
    """The keys of what may be named, for statements; None where everything may."""
    return list(tools_in(sight).values_list("pk", flat=True)) if sight.stranger else None


def any_turns(sight: Sight) -> bool:
    """Whether there has ever been a turn of theirs."""
    whose = {"group": sight.group_id, "user": sight.user_id}
    named = {name: key for name, key in whose.items() if key is not None}
    return Turn.objects.filter(**named).exists()
