"""What is forgotten: experiences after their days, notes of turns that nobody told the end of."""

from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from discovery.models import Experience, Turn

DAYS_OF_NOTES = 7
# A group keeps more than is read for one caller, since callers may use different things. Beyond so
# many times that the oldest go.
TIMES_OF_A_CALLER = 10


def forget_old() -> int:
    """Forget what is due; the number of experiences."""
    now = timezone.now()
    Turn.objects.filter(
        noted__isnull=False, created_at__lt=now - timedelta(days=DAYS_OF_NOTES)
    ).update(noted=None)
    days = timedelta(days=settings.PEGBOARD_LEARNING_DAYS)
    old, _ = Experience.objects.filter(created_at__lt=now - days).delete()
    return old + _forget_what_is_too_much()


def _forget_what_is_too_much() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_TOO_MUCH, {"most": TIMES_OF_A_CALLER * settings.PEGBOARD_LEARNING_MOST})
        return int(cursor.rowcount)


_TOO_MUCH = """
DELETE FROM discovery_experience WHERE id IN (
  SELECT id FROM (
    SELECT id, row_number() OVER (PARTITION BY group_id ORDER BY id DESC) AS place
    FROM discovery_experience) own
  WHERE place > %(most)s)
"""
