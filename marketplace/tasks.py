"""What the embedding worker does for the marketplace."""

from celery import shared_task

from marketplace.listings import search_index


@shared_task(name="marketplace.sweep_listings")  # type: ignore[untyped-decorator]
def sweep_listings() -> None:
    """Describe what nobody has described, and embed some of what waits."""
    search_index.describe_missing()
    search_index.embed_listings()
