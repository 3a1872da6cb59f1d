"""GET what the marketplace offers: a search, and one listing."""

from dataclasses import asdict
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.api.callers import caller_of, is_installation_admin, principal_of
from acl.api.permissions import has_scope
from acl.models import ApiKey
from catalog.api.serializers import CallerSerializer
from marketplace.api import listing_serializers as serializers
from marketplace.filtering import Choice, Wanted
from marketplace.services.browsing import Card, browse_listings
from marketplace.services.listing_details import Details, listing_details
from marketplace.services.listing_reviews import review_of
from marketplace.viewing import Viewer

_ON_CARDS = (
    "slug", "title", "kind", "category", "description", "publisher", "licence", "version",
    "transport", "required_secrets",
)  # fmt: skip


BROWSING = (ApiKey.Scope.DISCOVER, ApiKey.Scope.ADMIN)


class ListingView(APIView):
    """One listing."""

    required_scope = BROWSING

    @extend_schema(
        operation_id="get_listing",
        tags=["Marketplace"],
        summary="Look up one listing",
        parameters=[CallerSerializer],
        responses={200: serializers.OneListingSerializer},
    )
    def get(self, request: Request, slug: str) -> Response:
        """What it brings, needs and may do. 404 alike for what is not there and what is hidden."""
        viewer, _ = asked(request, CallerSerializer)
        details = listing_details(viewer=viewer, slug=slug)
        if details is None:
            raise Http404
        return Response(_in_full(details, viewer))


class ListingsView(APIView):
    """The marketplace."""

    required_scope = BROWSING

    @extend_schema(
        operation_id="list_listings",
        tags=["Marketplace"],
        summary="Search the marketplace",
        parameters=[serializers.ListingsQuerySerializer],
        responses={200: serializers.ListingPageSerializer},
    )
    def get(self, request: Request) -> Response:
        """What is on offer, by meaning and words, with what it can be narrowed by."""
        viewer, data = asked(request, serializers.ListingsQuerySerializer)
        limit, offset = data.pop("limit"), data.pop("offset")
        wanted = Wanted(words=data.pop("query"), size=limit, offset=offset, **data)
        shelf = browse_listings(viewer=viewer, wanted=wanted)
        filters = shelf.filters
        return Response(
            {
                "items": [_on_card(card, viewer) for card in shelf.cards],
                "total": shelf.count,
                "has_more": offset + len(shelf.cards) < shelf.count,
                "limit": limit,
                "offset": offset,
                "filters": {
                    name: [_choice(one) for one in getattr(filters, name)]
                    for name in ("kinds", "categories", "sources", "shown")
                },
                "hint": shelf.problem,
            }
        )


def asked(request: Request, form: type[CallerSerializer]) -> tuple[Viewer, dict[str, Any]]:
    """Who looks, and what else the request says. An admin looks for nobody else: theirs is the
    whole marketplace."""
    serializer = form(data=request.query_params.dict())
    serializer.is_valid(raise_exception=True)
    wanted = dict(serializer.validated_data)
    named: dict[str, Any] = {
        name: wanted.pop(name, None) or None for name in ("user", "group", "space")
    }
    if not any(named.values()) and _is_admin(request):
        return Viewer(is_admin=True), wanted
    return Viewer(is_admin=False, caller=caller_of(request, **named)), wanted


def _is_admin(request: Request) -> bool:
    """Return True for an admin who has signed in, or whose own key may do what admins do."""
    return has_scope(principal_of(request), ApiKey.Scope.ADMIN) and is_installation_admin(request)


def _on_card(card: Card, viewer: Viewer) -> dict[str, Any]:
    listing, kept = card.listing, card.integration
    return {name: getattr(listing, name) for name in _ON_CARDS} | {
        "source": listing.source.slug if listing.source else None,
        "tool_count": card.tool_count,
        "integration": kept.slug if kept else None,
        "installed_version": kept.version if kept and viewer.is_admin else None,
        "has_update": card.has_update,
        "held": listing.is_held,
    }


def _in_full(details: Details, viewer: Viewer) -> dict[str, Any]:
    listing = details.listing
    review = serializers.ListingReviewSerializer(review_of(listing))
    return _on_card(details.card, viewer) | {
        "tags": listing.tags,
        "homepage": listing.homepage,
        "repository": listing.repository,
        "readme": listing.readme,
        "tools": listing.tools,
        "versions": [
            {
                "version": one.version,
                "status": one.status,
                "is_latest": one.is_latest,
                "published_at": one.published_at,
            }
            for one in details.versions
        ],
        "variables": list(details.variables),
        "problem": details.problem,
        "files": list(details.files),
        "source_kind": listing.source.kind if listing.source else None,
        "command": listing.command if viewer.is_admin else None,
        "endpoint": listing.endpoint if viewer.is_admin else None,
        "review": review.data if viewer.is_admin else None,
    }


def _choice(choice: Choice) -> dict[str, Any]:
    values = asdict(choice)
    return {name: values[name] for name in ("value", "count")}
