"""Asking the process that goes out for something, by the name of its task: nobody imports it."""

import structlog
from celery import current_app
from kombu.exceptions import KombuError

from acl.platform.redis_circuit import attempt

log = structlog.get_logger(__name__)


def ask_worker(task: str, *ids: int) -> bool:
    """Send the task; False where the queue is away."""
    if not attempt(lambda redis: bool(redis.ping()), default=False):
        return False
    try:
        current_app.send_task(task, list(ids))
    except (KombuError, OSError):
        log.warning("queue is away", task=task, exc_info=True)
        return False
    return True
