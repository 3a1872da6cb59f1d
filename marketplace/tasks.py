"""What the embedding worker does for the marketplace."""

from celery import shared_task

from marketplace import indexing, listing_scanner


@shared_task(name="marketplace.sweep_listings")  # type: ignore[untyped-decorator]
def sweep_listings() -> None:
    """Scan and describe what nobody has scanned or described, and embed some of what waits."""
    listing_scanner.scan_stored_listings()
    indexing.describe_missing()
    indexing.embed_listings()
