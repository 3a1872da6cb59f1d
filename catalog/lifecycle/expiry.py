"""Expiry of runtime capabilities, by the database's clock."""

from catalog.lifecycle.runtime_state import IS_OVER, LIVE, expire
from catalog.models import RuntimeCapability

_MOST_AT_ONCE = 500


def retire_expired() -> int:
    """Retire capabilities whose time is over; return how many. Safe to run twice."""
    rows = RuntimeCapability.objects.filter(IS_OVER, state__in=LIVE).order_by("expires_at", "pk")
    # `expire` checks again: its owner may have extended it in the meantime.
    return sum(expire(row) for row in list(rows[:_MOST_AT_ONCE]))
