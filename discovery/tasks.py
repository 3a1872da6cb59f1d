"""What discovery has done in the background."""

from celery import shared_task

from acl.platform.jobs.task_names import FORGET_EXPERIENCES
from discovery.learning.experience_expiry import forget_old


@shared_task(name=FORGET_EXPERIENCES)  # type: ignore[untyped-decorator]
def forget_experiences() -> None:
    """Forget what is due."""
    forget_old()
