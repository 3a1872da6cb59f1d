"""Celery task of retention, in the outgoing worker."""

from celery import shared_task

from acl.platform.jobs.task_names import APPLY_TERMS
from marketplace.operate.retention.terms import apply_terms


@shared_task(name=APPLY_TERMS)  # type: ignore[untyped-decorator]
def apply_all_terms() -> None:
    """Delete what is older than its term, for a while."""
    apply_terms()
