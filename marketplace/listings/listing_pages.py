"""Pages of the marketplace: browsing, and one listing."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_GET

from acl.pages.frame import Frame, PageRequest, frame_of, render_page
from marketplace.listings.browse import browse_listings
from marketplace.listings.browse_forms import BrowseForm
from marketplace.listings.listing_details import listing_details
from marketplace.listings.listing_reviews import review_of
from marketplace.listings.readme import LONGEST, readme_html
from marketplace.listings.viewer import Viewer


@login_required
@require_GET
def browse(request: PageRequest) -> HttpResponse:
    """Show a page of matching listings; htmx requests get only the results."""
    frame = frame_of(request)
    form = BrowseForm(request.GET)
    wanted = form.to_query()
    shelf = browse_listings(viewer=viewer_of(request, frame), wanted=wanted)
    template = "listings/browse.html" + ("#found" if request.htmx else "")
    return render_page(request, template, {"wanted": wanted, "found": shelf}, frame=frame)


@login_required
@require_GET
def listing(request: PageRequest, slug: str) -> HttpResponse:
    """Show one listing in full."""
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
    return render_page(request, "listings/listing.html", context, frame=frame)


def viewer_of(request: PageRequest, frame: Frame) -> Viewer:
    """Return the viewer for a page of the marketplace."""
    return Viewer(is_admin=request.user.is_staff, caller=frame.caller)
