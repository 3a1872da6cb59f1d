"""REST endpoints of the marketplace: search listings, and look up one."""

from dataclasses import asdict
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.http.caller_serializer import CallerSerializer
from acl.http.request_callers import caller_of, is_installation_admin, principal_of
from acl.http.scopes import has_scope
from acl.models import ApiKey
from marketplace.listings import listing_serializers as serializers
from marketplace.listings.browse import Card, browse_listings
from marketplace.listings.listing_details import Details, listing_details
from marketplace.listings.listing_filters import Choice, ListingQuery
from marketplace.listings.listing_reviews import review_of
from marketplace.listings.viewer import Viewer

_CARD_FIELDS = (
    "slug", "title", "kind", "category", "description", "publisher", "licence", "version",
    "transport", "required_secrets",
)  # fmt: skip


BROWSE_SCOPES = (ApiKey.Scope.DISCOVER, ApiKey.Scope.ADMIN)


class ListingView(APIView):
    """A listing in full."""

    required_scope = BROWSE_SCOPES

    @extend_schema(
        operation_id="get_listing",
        tags=["Marketplace"],
        summary="Look up one listing",
        parameters=[CallerSerializer],
        responses={200: serializers.OneListingSerializer},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return what it brings, needs and may do. Missing and hidden listings both get 404."""
        viewer, _ = read_query(request, CallerSerializer)
        details = listing_details(viewer=viewer, slug=slug)
        if details is None:
            raise Http404
        return Response(_details_json(details, viewer))


class ListingsView(APIView):
    """Listings of the marketplace."""

    required_scope = BROWSE_SCOPES

    @extend_schema(
        operation_id="list_listings",
        tags=["Marketplace"],
        summary="Search the marketplace",
        parameters=[serializers.ListingsQuerySerializer],
        responses={200: serializers.ListingPageSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return visible listings by meaning and keywords, with counts for each filter."""
        viewer, data = read_query(request, serializers.ListingsQuerySerializer)
        limit, offset = data.pop("limit"), data.pop("offset")
        wanted = ListingQuery(words=data.pop("query"), size=limit, offset=offset, **data)
        page = browse_listings(viewer=viewer, wanted=wanted)
        filters = page.filters
        return Response(
            {
                "items": [_card_json(card, viewer) for card in page.cards],
                "total": page.count,
                "has_more": offset + len(page.cards) < page.count,
                "limit": limit,
                "offset": offset,
                "filters": {
                    name: [_choice_json(one) for one in getattr(filters, name)]
                    for name in ("kinds", "categories", "sources", "shown")
                },
                "hint": page.problem,
            }
        )


def read_query(request: Request, form: type[CallerSerializer]) -> tuple[Viewer, dict[str, Any]]:
    """Return the viewer and the other query parameters.

    Admins who name no user, group or space see the whole marketplace.
    """
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


def _card_json(card: Card, viewer: Viewer) -> dict[str, Any]:
    listing, installed = card.listing, card.integration
    return {name: getattr(listing, name) for name in _CARD_FIELDS} | {
        "source": listing.source.slug if listing.source else None,
        "tool_count": card.tool_count,
        "integration": installed.slug if installed else None,
        "installed_version": installed.version if installed and viewer.is_admin else None,
        "has_update": card.has_update,
        "held": listing.is_held,
    }


def _details_json(details: Details, viewer: Viewer) -> dict[str, Any]:
    listing = details.listing
    review = serializers.ListingReviewSerializer(review_of(listing))
    return _card_json(details.card, viewer) | {
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


def _choice_json(choice: Choice) -> dict[str, Any]:
    values = asdict(choice)
    return {name: values[name] for name in ("value", "count")}
