"""REST endpoints of the marketplace: search listings, look up one, and decide about held ones."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.web.api_views import AdminView, CallerSerializer, take_caller_names
from acl.web.problems import CONTENT_TYPE, Conflict
from acl.web.request_callers import (
    caller_of,
    installation_admin,
    is_installation_admin,
    principal_of,
)
from acl.web.scopes import has_scope
from acl.web.strict_serializer import ProblemSerializer
from catalog.registration.definition_review import ChangedSinceError
from marketplace.listings._browse import Card, browse_listings
from marketplace.listings._filters import Choice, ListingQuery
from marketplace.listings.details import ListingDetails, listing_details
from marketplace.listings.reviews import approve_listing, hide_listing, review_of
from marketplace.listings.serializers import (
    ListingPageSerializer,
    ListingReviewSerializer,
    ListingsQuerySerializer,
    OneListingSerializer,
    SeenSerializer,
)
from marketplace.listings.viewer import Viewer
from marketplace.models import Listing

_CARD_FIELDS = (
    "slug", "title", "kind", "category", "description", "publisher", "licence", "version",
    "transport", "required_secrets",
)  # fmt: skip
BROWSE_SCOPES = (ApiKey.Scope.DISCOVER, ApiKey.Scope.ADMIN)
_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404, 409)}


class ListingView(APIView):
    """A listing in full."""

    required_scope = BROWSE_SCOPES

    @extend_schema(
        operation_id="get_listing",
        tags=["Marketplace"],
        summary="Get a listing",
        parameters=[CallerSerializer],
        responses={200: OneListingSerializer},
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
        parameters=[ListingsQuerySerializer],
        responses={200: ListingPageSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return visible listings by meaning and keywords, with counts for each filter."""
        viewer, data = read_query(request, ListingsQuerySerializer)
        limit, offset = data.pop("limit"), data.pop("offset")
        query = ListingQuery(words=data.pop("query"), size=limit, offset=offset, **data)
        page = browse_listings(viewer=viewer, query=query)
        filters = page.filters
        return Response(
            {
                "items": [_card_json(card, viewer) for card in page.cards],
                "total": page.count,
                "has_more": offset + len(page.cards) < page.count,
                "limit": limit,
                "offset": offset,
                "filters": {
                    name: [_choice_json(choice) for choice in getattr(filters, name)]
                    for name in ("kinds", "categories", "sources", "shown")
                },
                "hint": page.problem,
            }
        )


class ApproveListingView(AdminView):
    """Approving a listing's text."""

    @extend_schema(
        operation_id="approve_listing",
        tags=["Marketplace"],
        summary="Approve the text of a held listing",
        request=SeenSerializer,
        responses={200: ListingReviewSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Show the listing to everyone; 409 if its text has changed since it was seen."""
        return _decided(request, slug, approve_listing)


class HideListingView(AdminView):
    """Keeping a listing hidden."""

    @extend_schema(
        operation_id="hide_listing",
        tags=["Marketplace"],
        summary="Keep a held listing hidden from everyone but admins",
        request=SeenSerializer,
        responses={200: ListingReviewSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Hide this and later texts from everyone but admins; 409 if the text has changed."""
        return _decided(request, slug, hide_listing)


def read_query(request: Request, form: type[CallerSerializer]) -> tuple[Viewer, dict[str, Any]]:
    """Return the viewer and the other query parameters.

    Admins who name no user, group or space see the whole marketplace.
    """
    serializer = form(data=request.query_params.dict())
    serializer.is_valid(raise_exception=True)
    values = dict(serializer.validated_data)
    place = take_caller_names(values)
    if not any(place.values()) and _is_admin(request):
        return Viewer(is_admin=True), values
    return Viewer(is_admin=False, caller=caller_of(request, **place)), values


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
        "known_to_work": asdict(card.test) if card.test else None,
        "described_only": listing.is_described_only,
        "held": listing.is_held,
    }


def _details_json(details: ListingDetails, viewer: Viewer) -> dict[str, Any]:
    listing = details.listing
    review = ListingReviewSerializer(review_of(listing))
    return _card_json(details.card, viewer) | {
        "tags": listing.tags,
        "homepage": listing.homepage,
        "repository": listing.repository,
        "readme": listing.readme,
        "tools": listing.tools,
        "versions": [
            {
                "version": version.version,
                "status": version.status,
                "is_latest": version.is_latest,
                "published_at": version.published_at,
            }
            for version in details.versions
        ],
        "variables": list(details.variables),
        "problem": details.problem,
        "files": list(details.files),
        "source_kind": listing.source.kind if listing.source else None,
        "command": listing.command if viewer.is_admin else None,
        "endpoint": listing.endpoint if viewer.is_admin else None,
        "hosts": list(listing.needs.get("hosts", ())) if viewer.is_admin else None,
        "review": review.data if viewer.is_admin else None,
    }


def _choice_json(choice: Choice) -> dict[str, Any]:
    values = asdict(choice)
    return {name: values[name] for name in ("value", "count")}


def _decided(request: Request, slug: str, decision: Callable[..., bool]) -> Response:
    listing = get_object_or_404(Listing, slug=slug, vanished_at=None)
    serializer = SeenSerializer(data=request.data)
    serializer.is_valid(raise_exception=True)
    by, digest = installation_admin(request), serializer.validated_data["seen"]
    try:
        if not decision(by=by, listing=listing, digest=digest):
            raise Conflict("There is nothing to decide about this listing.")
    except ChangedSinceError:
        raise Conflict("The text has changed. Look it up again.") from None
    listing.refresh_from_db()
    return Response(dict(ListingReviewSerializer(review_of(listing)).data))
