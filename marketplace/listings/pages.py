"""Pages of the marketplace: browsing, one listing, and an admin's decision about a held one.

Cards bear at most two badges, and none that nearly all of them would bear.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef, Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST, require_safe

from acl.rights.caller_lookup import Caller
from acl.templatetags.pegboard import kind_label
from acl.web.frame import Frame, PageRequest, admins_only, frame_of, render_page, usual_value
from acl.web.markdown import safe_html
from catalog.models import Capability, IconImage, Integration
from catalog.registration.definition_review import ChangedSinceError
from catalog.servers.cell.report import report_for
from marketplace.listings._browse import Card, browse_listings
from marketplace.listings._filters import HELD, INSTALLED, KNOWN, UPDATES, ListingQuery
from marketplace.listings.details import listing_details
from marketplace.listings.reviews import approve_listing, hide_listing, review_of
from marketplace.listings.viewer import Viewer, visible_listings
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
MOST_BADGES = 2
# Of three cards, two with the same badge are still news.
_FEWEST_CARDS = 4


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
    badges, usual = badge_cards(shelf.cards)
    context = {
        "wanted": query,
        "found": shelf,
        "badged_cards": list(zip(shelf.cards, badges, strict=True)),
        "usual": usual,
    }
    template = "listings/browse.html" + ("#found" if request.htmx else "")
    return render_page(request, template, context, frame=frame)


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


@dataclass(frozen=True, slots=True)
class Badge:
    """A badge: its label, and its reason on demand."""

    label: str
    icon: str = ""
    tone: str = ""
    title: str = ""


def badge_cards(cards: Sequence[Card]) -> tuple[list[list[Badge]], str]:
    """Return the badges of each card, and what is said once of nearly all of them."""
    states = [_state_badges(card) for card in cards]
    tests: list[Badge | None] = [_test_badge(card) for card in cards]
    ways = [_way_badge(card) for card in cards]
    common: set[str] = set()
    if len(cards) >= _FEWEST_CARDS:
        # Those that lack a state bear no badge which would say so: all must have it.
        common.update(set.intersection(*({badge.label for badge in badges} for badges in states)))
        common.add(usual_value(badge.label if badge else "" for badge in tests) or "")
        common.add(usual_value(badge.label if badge else "" for badge in ways) or "")
    common.discard("")
    if gettext("known to work") not in common:
        # Worth a badge, and a word, only where nearly all others were tested.
        common.discard(gettext("not tested"))
        tests = [badge if badge and badge.icon else None for badge in tests]
    badges = [
        [badge for badge in [*state, test, way] if badge and badge.label not in common][
            :MOST_BADGES
        ]
        for state, test, way in zip(states, tests, ways, strict=True)
    ]
    return badges, capfirst(", ".join(sorted(common)))


def _state_badges(card: Card) -> list[Badge]:
    """Return what decides about a listing before anything else does."""
    listing = card.listing
    secrets = ", ".join(listing.required_secrets)
    badges: list[Badge] = []
    if listing.is_held:
        title = gettext("Only admins can see it.")
        badges.append(Badge(gettext("held for review"), "triangle-alert", "danger", title))
    if card.has_update:
        badges.append(Badge(gettext("update available"), "refresh-cw", "note"))
    elif card.integration:
        badges.append(Badge(gettext("installed"), "check", "good"))
    if listing.kind != "mcp":
        badges.append(Badge(kind_label(listing.kind)))
    if secrets:
        title = gettext("Needs %(names)s") % {"names": secrets}
        badges.append(Badge(gettext("needs a secret"), "key-round", "", title))
    return badges


def _test_badge(card: Card) -> Badge:
    if not card.test:
        return Badge(gettext("not tested"))
    tested_on = date_format(card.test.tested_on, "SHORT_DATE_FORMAT")
    values = {"version": card.test.version, "on": tested_on}
    title = gettext("Version %(version)s was tested on %(on)s.") % values
    return Badge(gettext("known to work"), "circle-check", "good", title)


def _way_badge(card: Card) -> Badge | None:
    """Return how its server is reached; None for a skill, which has none."""
    if card.listing.transport == "stdio":
        title = gettext("Runs as a program on the Pegboard server.")
        return Badge(gettext("program"), "terminal", "", title)
    if card.listing.transport:
        return Badge(gettext("remote"), "globe", "", gettext("Reached over the network."))
    if card.listing.is_described_only:
        title = gettext("Pegboard describes its tools. Your application carries out their calls.")
        return Badge(gettext("carried out by your application"), "info", "", title)
    return None


# Pictures of icons, from Pegboard's own origin: what is shown to a person, and nothing else.

_YEAR = 365 * 24 * 3600


@login_required
@require_safe
def icon(request: PageRequest, public_id: UUID) -> HttpResponse:
    """Answer with a picture. Its key changes with its content, so browsers keep it."""
    staff = request.user.is_staff
    # Of all their groups: a page of another group may have shown it a moment ago.
    content = find_picture(
        public_id, by_admin=staff, caller=None if staff else frame_of(request).everywhere
    )
    if content is None:
        raise Http404
    response = HttpResponse(content, content_type="image/png")
    response["Cache-Control"] = f"private, max-age={_YEAR}, immutable"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


def find_picture(public_id: UUID, *, by_admin: bool, caller: Caller | None) -> bytes | None:
    """Return the picture if something that has it may be seen, else None."""
    listed = visible_listings(Viewer(by_admin, caller)).filter(icon__image=OuterRef("pk"))
    condition = Q(Exists(listed))
    if by_admin:
        condition |= Q(Exists(Integration.objects.filter(icon__image=OuterRef("pk"))))
    elif caller is not None:
        usable = Capability.objects.reachable_by(caller, unavailable=True)
        condition |= Q(Exists(usable.filter(integration__icon__image=OuterRef("pk"))))
    content = (
        IconImage.objects.filter(condition, pk=public_id).values_list("content", flat=True).first()
    )
    return None if content is None else bytes(content)
