"""Expiry of experiences, and of notes of turns whose outcome was never reported."""

from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from discovery.models import Experience, Turn

NOTE_DAYS = 7
# A group stores several times what is read for one caller, since callers may use different tools.
# Beyond this factor the oldest go.
GROUP_FACTOR = 10


def delete_expired() -> int:
    """Delete what has expired; return the number of experiences."""
    now = timezone.now()
    Turn.objects.filter(noted__isnull=False, created_at__lt=now - timedelta(days=NOTE_DAYS)).update(
        noted=None
    )
    days = timedelta(days=settings.PEGBOARD_LEARNING_DAYS)
    old, _ = Experience.objects.filter(created_at__lt=now - days).delete()
    return old + _delete_surplus()


def _delete_surplus() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_SURPLUS, {"most": GROUP_FACTOR * settings.PEGBOARD_LEARNING_MOST})
        return int(cursor.rowcount)


_SURPLUS = """
DELETE FROM discovery_experience WHERE id IN (
  SELECT id FROM (
    SELECT id, row_number() OVER (PARTITION BY group_id ORDER BY id DESC) AS place
    FROM discovery_experience) own
  WHERE place > %(most)s)
"""
