"""Browsing: what the marketplace offers, and one listing of it."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_GET

from discovery.views.frame import Frame, PageRequest, frame_of, render_page
from marketplace.forms import BrowseForm
from marketplace.readme import LONGEST, readme_html
from marketplace.services.browsing import browse_listings
from marketplace.services.listing_details import listing_details
from marketplace.services.listing_reviews import review_of
from marketplace.viewing import Viewer


@login_required
@require_GET
def browse(request: PageRequest) -> HttpResponse:
    """A page of the listings that fit."""
    frame = frame_of(request)
    form = BrowseForm(request.GET)
    wanted = form.wanted()
    shelf = browse_listings(viewer=viewer_of(request, frame), wanted=wanted)
    template = "marketplace/browse.html" + ("#found" if request.htmx else "")
    return render_page(request, template, {"wanted": wanted, "found": shelf}, frame=frame)


@login_required
@require_GET
def listing(request: PageRequest, slug: str) -> HttpResponse:
    """One listing in full."""
    frame = frame_of(request)
    details = listing_details(viewer=viewer_of(request, frame), slug=slug)
    if details is None:
        raise Http404
    readme = details.listing.readme
    context = {
        "details": details,
        "review": review_of(details.listing) if request.user.is_staff else None,
        "listing": details.listing,
        "readme": readme_html(readme),
        "readme_is_cut": len(readme) > LONGEST,
    }
    return render_page(request, "marketplace/listing.html", context, frame=frame)


def viewer_of(request: PageRequest, frame: Frame) -> Viewer:
    """Whom the pages of the marketplace are for."""
    return Viewer(is_admin=request.user.is_staff, caller=frame.caller)
