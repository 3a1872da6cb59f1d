"""Turns whose selection or search found nothing.

Queries are not stored. The turn's message is, if PEGBOARD_KEEP_MESSAGES is set.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from discovery.insights._scope import InsightsScope
from discovery.models import Turn

MOST = 25


@dataclass(frozen=True, slots=True)
class LostTurn:
    """A turn whose selection failed, or in which the model searched without success."""

    at: datetime
    group: str
    user: str
    message: str
    looks: int
    in_vain: int
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LostTurns:
    """The newest of these turns, and their number."""

    turns: tuple[LostTurn, ...]
    count: int


def list_lost_turns(scope: InsightsScope, *, most: int = MOST) -> LostTurns:
    """Return the newest of these turns in the scope's period, in two statements."""
    turns = Turn.objects.filter(
        Q(discovery_empty__gt=0) | Q(degraded_at__isnull=False),
        created_at__gte=scope.since,
        created_at__lt=scope.until,
        **{
            name: key
            for name, key in (("group", scope.group_id), ("user", scope.user_id))
            if key is not None
        },
    )
    newest = turns.select_related("group", "user").order_by("-created_at", "pk")
    rows = newest.only(
        "created_at", "group__name", "user__username", "message", "discovery_calls",
        "discovery_empty", "degraded",
    )[:most]  # fmt: skip
    return LostTurns(
        tuple(
            LostTurn(
                at=turn.created_at,
                group=turn.group.name,
                user=turn.user.username,
                message=turn.message,
                looks=turn.discovery_calls,
                in_vain=turn.discovery_empty,
                degraded=tuple(map(str, turn.degraded)),
            )
            for turn in rows
        ),
        turns.count(),
    )
