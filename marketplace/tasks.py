"""Celery tasks of the embedding worker: listings, and mail."""

from celery import shared_task

from acl.platform.task_names import DELIVER_MAIL, SWEEP_LISTINGS
from marketplace.listings import reviews, search
from marketplace.notifications import deliveries


@shared_task(name=SWEEP_LISTINGS)  # type: ignore[untyped-decorator]
def sweep_listings() -> None:
    """Scan and describe what nobody has scanned or described, and embed some of what waits."""
    reviews.scan_stored_listings()
    search.describe_missing()
    search.embed_listings()


@shared_task(name=DELIVER_MAIL)  # type: ignore[untyped-decorator]
def deliver_mail() -> None:
    """Send some of the mails that are due."""
    deliveries.deliver_mails()
