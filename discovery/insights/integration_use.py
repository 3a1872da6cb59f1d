"""Use of integrations: their calls of a week, errors, last call, and who called them lately."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

MOST_PEOPLE = 50


@dataclass(frozen=True, slots=True)
class IntegrationUse:
    """Calls and errors of the last 7 days, people of the last 30, and the last call that is
    kept."""

    calls: int = 0
    failed: int = 0
    people: int = 0
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PersonUse:
    """Calls of a person in a group in the last 30 days."""

    user: str
    group: str
    calls: int
    last_at: datetime


def use_by_integration(keys: Sequence[int]) -> dict[int, IntegrationUse]:
    """Return the use of integrations by id, in one statement. Unused ones are missing."""
    with connection.cursor() as cursor:
        cursor.execute(_USE, {"keys": list(keys)})
        return {key: IntegrationUse(*numbers) for key, *numbers in cursor.fetchall()}


_USE = """
SELECT c.integration_id,
  count(*) FILTER (WHERE t.created_at >= statement_timestamp() - interval '7 days'),
  count(*) FILTER (WHERE t.created_at >= statement_timestamp() - interval '7 days'
    AND t.state IN ('failed', 'unknown')),
  count(DISTINCT t.user_id) FILTER (
    WHERE t.created_at >= statement_timestamp() - interval '30 days'),
  max(t.created_at)
FROM catalog_capability c JOIN discovery_call t ON t.capability_id = c.id
WHERE c.integration_id = ANY (%(keys)s) GROUP BY 1
"""


def list_people_using(key: int) -> list[PersonUse]:
    """Return who called the integration's tools in the last 30 days, most calls first."""
    with connection.cursor() as cursor:
        cursor.execute(_PEOPLE, {"key": key, "most": MOST_PEOPLE})
        return [PersonUse(*row) for row in cursor.fetchall()]


_PEOPLE = """
SELECT u.username, g.name, count(*), max(t.created_at)
FROM catalog_capability c JOIN discovery_call t ON t.capability_id = c.id
JOIN auth_user u ON u.id = t.user_id JOIN auth_group g ON g.id = t.group_id
WHERE c.integration_id = %(key)s AND t.created_at >= statement_timestamp() - interval '30 days'
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %(most)s
"""
