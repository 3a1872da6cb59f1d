"""Turns in which something was looked for and not found.

What was looked for is not kept. The turn's message is there where the deployment keeps messages
(PEGBOARD_KEEP_MESSAGES), and nowhere else.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from discovery.insights.insights_scope import Sight
from discovery.models import Turn

MOST = 25


@dataclass(frozen=True, slots=True)
class LostTurn:
    """A turn whose selection found nothing or broke, or in which the model looked in vain."""

    at: datetime
    group: str
    user: str
    message: str
    looks: int
    in_vain: int
    degraded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LostTurns:
    """The newest of them, and how many there are."""

    turns: tuple[LostTurn, ...]
    count: int


def lost_turns(sight: Sight, *, most: int = MOST) -> LostTurns:
    """The newest of a time, in two statements."""
    turns = Turn.objects.filter(
        Q(discovery_empty__gt=0) | Q(degraded_at__isnull=False),
        created_at__gte=sight.since,
        created_at__lt=sight.until,
        **{
            name: key
            for name, key in (("group", sight.group_id), ("user", sight.user_id))
            if key is not None
        },
    )
    newest = turns.select_related("group", "user").order_by("-created_at", "pk")
    shown = newest.only(
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
            for turn in shown
        ),
        turns.count(),
    )
