"""Sources as admins look at them."""

from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from catalog.models import Integration
from marketplace.models import Listing, Source

_PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class SourceDetails:
    """One source with what it offers and what was wrong."""

    source: Source
    listings: int
    installed: int
    vanished: int
    defects: Page  # of plain rows of the report


def list_sources() -> QuerySet[Source]:
    """All sources with how much they offer; without their reports, which may be long."""
    offered = Count("listings", filter=Q(listings__vanished_at=None))
    return Source.objects.annotate(offered=offered).defer("report").order_by("title", "pk")


def source_details(*, slug: str, page: str = "") -> SourceDetails | None:
    """One source; None where there is none of this name."""
    source = Source.objects.select_related("by").filter(slug=slug).first()
    if source is None:
        return None
    own = Listing.objects.filter(source=source)
    figures = own.aggregate(
        listings=Count("pk", filter=Q(vanished_at=None)),
        vanished=Count("pk", filter=~Q(vanished_at=None)),
    )
    defects = Paginator(source.report.get("defects", []), _PER_PAGE).get_page(page)
    return SourceDetails(source, installed=_installed(own), defects=defects, **figures)


def _installed(own: QuerySet[Listing]) -> int:
    return Integration.objects.filter(listing__in=own.values("slug")).count()
