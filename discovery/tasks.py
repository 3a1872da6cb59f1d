"""What discovery has done in the background."""

from celery import shared_task

from discovery.learning.experience_expiry import forget_old


@shared_task(name="discovery.forget_experiences")  # type: ignore[untyped-decorator]
def forget_experiences() -> None:
    """Forget what is due."""
    forget_old()
