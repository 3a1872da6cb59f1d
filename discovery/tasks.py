"""Celery tasks of discovery."""

from celery import shared_task

from acl.platform.task_names import FORGET_EXPERIENCES, LEARN_TAUGHT, MEASURE_EXAMPLES
from discovery.example_requests.proposals import measure_run
from discovery.learning.experience_store import delete_expired
from discovery.teaching import taught_messages


@shared_task(name=FORGET_EXPERIENCES)  # type: ignore[untyped-decorator]
def forget_experiences() -> None:
    """Delete expired experiences."""
    delete_expired()


@shared_task(name=MEASURE_EXAMPLES)  # type: ignore[untyped-decorator]
def measure_examples(run_id: int) -> None:
    """Measure how much a run's example requests help."""
    measure_run(run_id)


@shared_task(name=LEARN_TAUGHT)  # type: ignore[untyped-decorator]
def learn_taught() -> None:
    """Learn the taught messages that are pending."""
    taught_messages.learn_taught()
