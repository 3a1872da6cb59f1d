"""Deciding about held listings by API: for admins, or by an admin key of one of them."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.http.admin_api import AdminView
from acl.http.problems import CONTENT_TYPE
from acl.http.refusals import Conflict
from acl.http.request_callers import installation_admin
from acl.http.strict_serializer import ProblemSerializer, StrictSerializer
from catalog.registration.definition_review import ChangedSinceError
from marketplace.listings.listing_reviews import approve_listing, hide_listing, review_of
from marketplace.listings.listing_serializers import ListingReviewSerializer
from marketplace.models import Listing

_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404, 409)}


class SeenSerializer(StrictSerializer):
    """Digest of the texts that were reviewed."""

    seen = serializers.RegexField(
        r"^[0-9a-f]{64}$", help_text="`review.seen` of the listing, as it was looked up."
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
        """Everybody finds it from now on. 409 where its text is another by now."""
        return _decided(request, slug, approve_listing)


class HideListingView(AdminView):
    """Keeping a listing hidden."""

    @extend_schema(
        operation_id="hide_listing",
        tags=["Marketplace"],
        summary="Keep a held listing hidden from everybody but admins",
        request=SeenSerializer,
        responses={200: ListingReviewSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Later texts of it wait for an admin, too. 409 where its text is another by now."""
        return _decided(request, slug, hide_listing)


def _decided(request: Request, slug: str, decision: Callable[..., bool]) -> Response:
    listing = get_object_or_404(Listing, slug=slug, vanished_at=None)
    wanted = SeenSerializer(data=request.data)
    wanted.is_valid(raise_exception=True)
    by, seen = installation_admin(request), wanted.validated_data["seen"]
    try:
        if not decision(by=by, listing=listing, seen=seen):
            raise Conflict("There is nothing to decide about it.")
    except ChangedSinceError:
        raise Conflict("This is not its text now: look it up again.") from None
    listing.refresh_from_db()
    return Response(_shown(listing))


def _shown(listing: Listing) -> dict[str, Any]:
    return dict(ListingReviewSerializer(review_of(listing)).data)
