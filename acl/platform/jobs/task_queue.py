"""Sending tasks to the workers, by name.

Sending may fail: the row that a task is about stays, and its sweep sends the task again.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import KombuError

from acl.platform.jobs.task_names import TaskName
from acl.platform.redis_circuit import attempt

log = structlog.get_logger(__name__)


def send_on_commit(task: TaskName, *arguments: Any) -> None:
    """Send a task once the transaction is committed, so that the worker finds its row."""
    transaction.on_commit(partial(send_now, task, *arguments), robust=True)


def send_now(task: TaskName, *arguments: Any) -> bool:
    """Send a task; return False, without raising or blocking, if the queue is down."""
    return send_each(task, [arguments])


def send_each(task: TaskName, calls: Iterable[Sequence[Any]]) -> bool:
    """Send a task once for each sequence of arguments; return False if the queue is down."""
    calls = list(calls)
    # Ping first: Celery itself would block for seconds.
    if not calls or not attempt(lambda redis: bool(redis.ping()), default=False):
        return False
    try:
        for arguments in calls:
            current_app.send_task(task, list(arguments))
    except (KombuError, OSError):
        log.warning("queue unavailable", task=task, exc_info=True)
        return False
    return True
