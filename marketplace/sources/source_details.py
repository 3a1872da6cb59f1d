"""Read models of sources for the admin pages."""

from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from catalog.models import Integration
from marketplace.models import Listing, Source

_PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class SourceDetails:
    """A source with counts of its listings, and a page of defects."""

    source: Source
    listings: int
    installed: int
    vanished: int
    defects: Page  # rows of `Source.report`


def list_sources() -> QuerySet[Source]:
    """Return all sources with their number of listings, without their possibly long reports."""
    offered = Count("listings", filter=Q(listings__vanished_at=None))
    return Source.objects.annotate(offered=offered).defer("report").order_by("title", "pk")


def source_details(*, slug: str, page: str = "") -> SourceDetails | None:
    """Return one source, or None."""
    source = Source.objects.select_related("by").filter(slug=slug).first()
    if source is None:
        return None
    own = Listing.objects.filter(source=source)
    figures = own.aggregate(
        listings=Count("pk", filter=Q(vanished_at=None)),
        vanished=Count("pk", filter=~Q(vanished_at=None)),
    )
    defects = Paginator(source.report.get("defects", []), _PER_PAGE).get_page(page)
    return SourceDetails(source, installed=_count_installed(own), defects=defects, **figures)


def _count_installed(own: QuerySet[Listing]) -> int:
    return Integration.objects.filter(listing__in=own.values("slug")).count()
