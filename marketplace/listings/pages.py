"""Pages of the marketplace: browsing, one listing, and an admin's decision about a held one."""

from functools import lru_cache

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from acl.web.frame import Frame, PageRequest, frame_of, render_page
from acl.web.markdown import safe_html
from acl.web.staff_pages import admins_only
from catalog.registration.definition_review import ChangedSinceError
from catalog.servers.cell.report import report_for
from marketplace.listings._browse import browse_listings
from marketplace.listings._filters import HELD, INSTALLED, KNOWN, UPDATES, ListingQuery
from marketplace.listings.details import listing_details
from marketplace.listings.reviews import approve_listing, hide_listing, review_of
from marketplace.listings.viewer import Viewer
from marketplace.models import Listing

SHOWN = [
    ("", _("Everything")),
    (INSTALLED, _("Installed")),
    (KNOWN, _("Known to work")),
    (UPDATES, _("Updates")),
    (HELD, _("Held")),
]
# Rendering hostile Markdown takes quadratic time: half a second at this length, then cached.
LONGEST_README = 16_000
APPROVED = _("Listing text approved. Everyone can find it now.")
HIDDEN = _("The listing stays hidden from everyone but admins.")
CHANGED = _("The listing has changed since you opened the page. Review it again.")
NOT_HELD = _("Someone else has already decided about this listing.")


class BrowseForm(forms.Form):
    """Search words and filters from the query string. Invalid values count as not set."""

    q = forms.CharField(required=False, max_length=200)
    kind = forms.CharField(required=False, max_length=12)
    category = forms.CharField(required=False, max_length=60)
    source = forms.CharField(required=False, max_length=48)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def to_query(self) -> ListingQuery:
        """Return the cleaned values as a query."""
        self.full_clean()
        data = self.cleaned_data
        return ListingQuery(
            words=data.get("q", ""),
            kind=data.get("kind", ""),
            category=data.get("category", ""),
            source=data.get("source", ""),
            show=data.get("show", ""),
            page=data.get("page") or 1,
        )


@login_required
@require_GET
def browse(request: PageRequest) -> HttpResponse:
    """Show a page of matching listings; htmx requests get only the results."""
    frame = frame_of(request)
    form = BrowseForm(request.GET)
    query = form.to_query()
    shelf = browse_listings(viewer=viewer_of(request, frame), query=query)
    template = "listings/browse.html" + ("#found" if request.htmx else "")
    return render_page(request, template, {"wanted": query, "found": shelf}, frame=frame)


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
        "cells": report_for(details.listing.command),
        "readme": render_readme(readme),
        "readme_is_cut": len(readme) > LONGEST_README,
    }
    return render_page(request, "listings/listing.html", context, frame=frame)


@admins_only
@require_POST
def decide(request: PageRequest, slug: str) -> HttpResponse:
    """Approve the text that was on the page, or keep the listing hidden."""
    listing = get_object_or_404(Listing, slug=slug, vanished_at=None)
    approves = request.POST.get("decision") == "approve"
    decision = approve_listing if approves else hide_listing
    try:
        decided = decision(by=request.user, listing=listing, digest=request.POST.get("seen", ""))
    except ChangedSinceError:
        messages.error(request, CHANGED)
    else:
        message = APPROVED if approves else HIDDEN
        (messages.success if decided else messages.info)(request, message if decided else NOT_HELD)
    return redirect("listing", slug)


def viewer_of(request: PageRequest, frame: Frame) -> Viewer:
    """Return the viewer for a page of the marketplace."""
    return Viewer(is_admin=request.user.is_staff, caller=frame.caller)


@lru_cache(maxsize=256)
def render_readme(markdown: str) -> SafeString:
    """Render the README, cut at a line if too long. Only https links and no images survive."""
    if len(markdown) > LONGEST_README:
        markdown = markdown[:LONGEST_README].rpartition("\n")[0] or markdown[:LONGEST_README]
    return safe_html(markdown)
