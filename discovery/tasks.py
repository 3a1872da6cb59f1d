"""Celery tasks of discovery."""

from celery import shared_task

from acl.platform.jobs.task_names import FORGET_EXPERIENCES
from discovery.learning.experience_store import delete_expired


@shared_task(name=FORGET_EXPERIENCES)  # type: ignore[untyped-decorator]
def forget_experiences() -> None:
    """Delete expired experiences."""
    delete_expired()
