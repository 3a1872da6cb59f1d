"""Days of the demo week: the times of turns, and the UPDATEs that move their rows there.

The API stamps rows with the current time. So the week is played within a minute or two, and then
the rows of these turns alone are moved back: turns, outcomes, their alerts, calls, and experiences.
Keys and the audit log stay, since nobody may change those.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from random import Random
from typing import Any

from django.db import connection, transaction

# Relative load of each working hour.
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
# Dependent rows are shifted by as much as their turn is, and alerts by as much as their outcome: so
# alerts come first, and turns last.
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
    """Draw `count` times of the past seven days, oldest first: busy by day, quiet at weekends."""
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
def move_rows(turns: Mapping[str, datetime]) -> None:
    """Move each turn to its time, with all dependent rows."""
    parameters: dict[str, Any] = {"turns": list(turns), "times": list(turns.values())}
    with connection.cursor() as cursor:
        for table, columns, which in _ROWS:
            earlier = ", ".join(f"{column} = row.{column} - moved.by" for column in columns)
            cursor.execute(
                f"UPDATE discovery_{table} AS row SET {earlier} {_MOVED} {which}",  # noqa: S608
                parameters,
            )
