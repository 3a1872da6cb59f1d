"""Celery tasks of the embedding worker for listings."""

from celery import shared_task

from acl.platform.jobs.task_names import SWEEP_LISTINGS
from marketplace.listings import listing_scanner, search_index


@shared_task(name=SWEEP_LISTINGS)  # type: ignore[untyped-decorator]
def sweep_listings() -> None:
    """Scan and describe what nobody has scanned or described, and embed some of what waits."""
    listing_scanner.scan_stored_listings()
    search_index.describe_missing()
    search_index.embed_listings()
