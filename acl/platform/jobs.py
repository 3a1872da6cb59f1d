"""Durable work: a row is the promise, a task its reminder, and a sweep sends lost tasks again.

Several workers may hold the same row, and a worker may die at any moment. So a state changes only
by compare-and-set, attempts are counted before the work, and times are the database's.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db import models, transaction
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Now

from acl.platform.task_names import TaskName, send_each

Row = TypeVar("Row", bound=Model)
# The reason and the message of a job that was tried too often.
GAVE_UP = "gave_up"
GAVE_UP_MESSAGE = "It ended the worker every time."


class JobRow(models.Model):
    """Columns of a job. Each subclass has a `state` of its own."""

    attempts = models.PositiveSmallIntegerField(default=0)
    # The last sign of life: queued, sent again, or a worker's heartbeat.
    sent_at = models.DateTimeField(db_default=Now())

    class Meta:
        abstract = True


def move(
    row: Model,
    to: str,
    *conditions: Q,
    unchanged: Collection[str] = ("state",),
    **columns: Any,
) -> bool:
    """Move a row to another state, in one conditional update.

    Returns False, and changes nothing, if one of the columns named by `unchanged` has changed since
    `row` was read, or if a condition does not hold. Of several that move a row, one does.
    """
    before = {name: getattr(row, name) for name in unchanged}
    rows = type(row)._default_manager.filter(*conditions, pk=row.pk, **before)
    if not rows.update(state=to, **columns):
        return False
    row.state = to  # type: ignore[attr-defined]
    return True


def lock_unless_taken(rows: QuerySet[Row]) -> Row | None:
    """Lock and return the row, or None if there is none or another worker has locked it."""
    return rows.select_for_update(skip_locked=True, of=("self",)).first()


def update_unlocked(rows: QuerySet[Row], **columns: Any) -> list[Any]:
    """Update the rows that nobody has locked; return their keys.

    Two workers that do so at the same time get different rows.
    """
    # A plain UPDATE would wait for rows that a worker holds for as long as its job takes.
    with transaction.atomic():
        unlocked = rows.select_for_update(skip_locked=True, of=("self",))
        keys = list(unlocked.values_list("pk", flat=True))
        rows.model._default_manager.filter(pk__in=keys).update(**columns)
    return keys


def overdue(*, column: str = "sent_at", at_least: float = 0) -> Q:
    """Match rows without a sign of life for PEGBOARD_SWEEP_AFTER_SECONDS.

    `at_least` is a longer time in seconds, for work that takes that long. A sign from the future is
    none: the clock has jumped back since, and the row would wait until that time comes again.
    """
    # The database's time: the clocks of workers may differ.
    seconds = max(settings.PEGBOARD_SWEEP_AFTER_SECONDS, at_least)
    span = timedelta(seconds=seconds)
    return Q(**{f"{column}__lt": Now() - span}) | Q(**{f"{column}__gt": Now() + span})


def claim_overdue(rows: QuerySet[Row], **columns: Any) -> list[Any]:
    """Mark rows as sent now; return their keys, which no other sweep gets."""
    return update_unlocked(rows, sent_at=Now(), **columns)


def send_again(task: TaskName, rows: QuerySet[Row], **columns: Any) -> None:
    """Send a task for each of the rows that is overdue, and mark the rows as sent."""
    send_each(task, ([key] for key in claim_overdue(rows, **columns)))
