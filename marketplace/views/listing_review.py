"""An admin's decision about a listing whose text the scanner holds."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from catalog.services.reviewing import ChangedSinceError
from discovery.views.access.admins import admins_only
from discovery.views.frame import PageRequest
from marketplace.models import Listing
from marketplace.services.listing_reviews import approve_listing, hide_listing

APPROVED = "Listing text approved. Everybody can find it now."
HIDDEN = "The listing stays hidden from everybody but admins."
CHANGED = "The listing changed since you opened the page. Nothing was decided; review it again."
NOT_HELD = "There was nothing to decide: somebody else was quicker."


@admins_only
@require_POST
def decide(request: PageRequest, slug: str) -> HttpResponse:
    """Approve the text that was on the page, or keep the listing hidden."""
    listing = get_object_or_404(Listing, slug=slug, vanished_at=None)
    approves = request.POST.get("decision") == "approve"
    decision = approve_listing if approves else hide_listing
    try:
        decided = decision(by=request.user, listing=listing, seen=request.POST.get("seen", ""))
    except ChangedSinceError:
        messages.error(request, CHANGED)
    else:
        told = APPROVED if approves else HIDDEN
        (messages.success if decided else messages.info)(request, told if decided else NOT_HELD)
    return redirect("listing", slug)
