"""Celery tasks of example requests, in the outgoing worker."""

from celery import shared_task

from acl.platform.jobs.task_names import ASK_FOR_EXAMPLES, SWEEP_EXAMPLES
from discovery.example_requests.asking import answer_for_examples, sweep


@shared_task(name=ASK_FOR_EXAMPLES)  # type: ignore[untyped-decorator]
def ask_for_examples(run_id: int) -> None:
    """Ask a model for example requests of an integration's tools."""
    answer_for_examples(run_id)


@shared_task(name=SWEEP_EXAMPLES)  # type: ignore[untyped-decorator]
def sweep_examples() -> None:
    """Send lost runs again."""
    sweep()
