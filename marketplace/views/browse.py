"""Browsing: what the marketplace offers."""

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.views.decorators.http import require_GET

from discovery.views.frame import PageRequest, frame_of, render_page
from marketplace.models import Listing

PAGE_SIZE = 24


@login_required
@require_GET
def browse(request: PageRequest) -> HttpResponse:
    """Listings by title, a page at a time."""
    listings = Paginator(Listing.objects.order_by("title", "pk"), PAGE_SIZE)
    context = {"listings": listings.get_page(request.GET.get("page"))}
    return render_page(request, "marketplace/browse.html", context, frame=frame_of(request))
