"""The days of the week: when turns are, and moving their rows there.

The API stamps what it stores with the time it is, as it should. So the week is played within a
minute or two, and afterwards the rows of these turns, and of no others, are moved back to their
days: turns, outcomes, the alerts these raised, calls, and what was learned. Keys and the audit log
stay as they are, since nobody may move those.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from random import Random
from typing import Any

from django.db import connection, transaction

# How busy an hour of a working day is.
HOURS = {7: 1, 8: 4, 9: 8, 10: 9, 11: 8, 12: 4, 13: 6, 14: 8, 15: 8, 16: 6, 17: 3, 18: 1, 20: 1}
_MOVED = """
FROM (SELECT t.id AS turn, t.created_at - moved.at AS by
      FROM (SELECT unnest(%(turns)s::uuid[]) AS turn, unnest(%(times)s::timestamptz[]) AS at) moved
      JOIN discovery_turn t ON t.id = moved.turn) moved
"""
_ALERTS = """
JOIN discovery_outcome o ON o.turn_id = moved.turn
WHERE row.group_id = o.group_id AND row.at = o.at
"""
# What hangs on a turn goes as far as the turn does, and alerts as far as what raised them: so
# they are first, and turns are last.
_ROWS = (
    ("outcomealert", ("at",), _ALERTS),
    ("outcome", ("at",), "WHERE row.turn_id = moved.turn"),
    ("experience", ("created_at",), "WHERE row.turn = moved.turn"),
    (
        "call",
        ("created_at", "sent_at", "started_at", "decided_at", "ended_at"),
        "WHERE row.turn_id = moved.turn",
    ),
    (
        "turn",
        ("created_at", "executing_at", "degraded_at", "recovered_at", "ended_at"),
        "WHERE row.id = moved.turn",
    ),
)


def times_of_week(now: datetime, count: int, dice: Random) -> list[datetime]:
    """So many moments of the seven days before, the oldest first: busier by day than by night, and
    quiet at weekends."""
    times: list[datetime] = []
    while len(times) < count:
        day = now - timedelta(days=dice.randrange(7))
        if day.weekday() >= 5 and dice.random() < 0.8:
            continue
        [hour] = dice.choices(list(HOURS), list(HOURS.values()))
        at = day.replace(hour=hour, minute=dice.randrange(60), second=dice.randrange(60))
        if now - timedelta(days=7) < at < now - timedelta(minutes=10):
            times.append(at)
    return sorted(times)


@transaction.atomic
def move(turns: Mapping[str, datetime]) -> None:
    """Each of the turns to its time, with all that hangs on it."""
    parameters: dict[str, Any] = {"turns": list(turns), "times": list(turns.values())}
    with connection.cursor() as cursor:
        for table, columns, which in _ROWS:
            earlier = ", ".join(f"{column} = row.{column} - moved.by" for column in columns)
            cursor.execute(
                f"UPDATE discovery_{table} AS row SET {earlier} {_MOVED} {which}",  # noqa: S608
                parameters,
            )
