"""REST endpoints of the marketplace: search listings, look up one, and decide about held ones."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.web.api_views import AdminView, CallerSerializer, take_caller_names
from acl.web.authentication import has_scope
from acl.web.problems import CONTENT_TYPE, Conflict
from acl.web.request_callers import (
    caller_of,
    installation_admin,
    is_installation_admin,
    principal_of,
)
from acl.web.serializers import ProblemSerializer, StrictSerializer, serializer_for
from catalog.models import Capability, Integration
from catalog.registration.definition_review import ChangedSinceError
from marketplace.listings._browse import Card, browse_listings
from marketplace.listings._filters import Choice, Filters, ListingQuery
from marketplace.listings.details import ListingDetails, listing_details
from marketplace.listings.reviews import ListingReview, approve_listing, hide_listing, review_of
from marketplace.listings.viewer import Viewer
from marketplace.models import Listing, ListingVersion
from marketplace.offers.kinds.registry import CHOICES
from marketplace.offers.offer import PackageTest

# Serializers of the listing endpoints.

MOST_ITEMS = 100


class ListingsQuerySerializer(CallerSerializer):
    """A search, narrowed and paged."""

    query = serializers.CharField(
        default="", allow_blank=True, max_length=200, help_text="What it should do, in plain words."
    )
    kind = serializers.ChoiceField(
        ["", *Integration.Kind.values], default="", help_text="Defaults to all kinds."
    )
    category = serializers.CharField(default="", allow_blank=True, max_length=60)
    # The metaclass collects the fields, so `source` does not override the attribute of `Field`.
    source = serializers.CharField(  # type: ignore[assignment]
        default="", allow_blank=True, max_length=48, help_text="Its slug."
    )
    show = serializers.ChoiceField(
        ["", "installed", "known", "updates", "held"],
        default="",
        help_text="Only what is installed, is known to work, has an update, or (for admins) is "
        "held for review.",
    )
    limit = serializers.IntegerField(default=24, min_value=1, max_value=MOST_ITEMS)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=10_000_000)


class ListingSerializer(serializers.Serializer[Any]):
    """A listing, as on a card."""

    slug = serializers.CharField()
    title = serializers.CharField()
    kind = serializers.ChoiceField(Integration.Kind.choices)
    category = serializers.CharField()
    description = serializers.CharField()
    publisher = serializers.CharField()
    licence = serializers.CharField()
    version = serializers.CharField(help_text="The latest version.")
    transport = serializers.CharField(help_text="`stdio` starts a program here.")
    source = serializers.CharField(  # type: ignore[assignment]
        allow_null=True, help_text="The source's slug."
    )
    required_secrets = serializers.ListField(child=serializers.CharField())
    tool_count = serializers.IntegerField(help_text="As declared by its source.")
    integration = serializers.CharField(
        allow_null=True,
        help_text="The integration that it is installed as; null if it is not, or not for you.",
    )
    installed_version = serializers.CharField(allow_null=True, help_text="For admins.")
    has_update = serializers.BooleanField(help_text="For admins.")
    known_to_work = serializer_for(PackageTest)(
        allow_null=True, help_text="The test of its package that comes with Pegboard."
    )
    described_only = serializers.BooleanField(
        help_text="Whether Pegboard only describes its tools: the client carries out their calls."
    )
    held = serializers.BooleanField(
        help_text="For admins: hidden from everyone else until an admin has reviewed its text."
    )


class ListingPageSerializer(serializers.Serializer[Any]):
    """A page of matching listings: best first, or by title if there is no query."""

    items = ListingSerializer(many=True)
    total = serializers.IntegerField()
    has_more = serializers.BooleanField()
    limit = serializers.IntegerField()
    offset = serializers.IntegerField()
    filters = serializer_for(Filters)()
    hint = serializers.CharField(help_text="Reason why the search used keywords only, or empty.")


class ListedToolSerializer(serializers.Serializer[Any]):
    """A tool, as its source describes it."""

    name = serializers.CharField()
    title = serializers.CharField(required=False)
    description = serializers.CharField(required=False)
    side_effect = serializers.ChoiceField(Capability.SideEffect.choices, required=False)


class ListedVersionSerializer(serializers.Serializer[Any]):
    """A version of a listing."""

    version = serializers.CharField()
    status = serializers.ChoiceField(ListingVersion.Status.choices)
    is_latest = serializers.BooleanField()
    published_at = serializers.DateTimeField(allow_null=True)


class VariableSerializer(serializers.Serializer[Any]):
    """A variable in the listing's requirements."""

    name = serializers.CharField()
    description = serializers.CharField()
    secret = serializers.BooleanField()
    required = serializers.BooleanField()  # type: ignore[assignment]
    default = serializers.CharField(
        default="", help_text="Used where none is set: the source's, for what is no secret."
    )
    choices = serializers.ListField(
        child=serializers.CharField(), default=list, help_text="Values that the source names."
    )
    refusal = serializers.CharField(
        help_text="Why Pegboard never sets it, as the end of a sentence, or empty."
    )


ListingReviewSerializer = serializer_for(ListingReview)


class OneListingSerializer(ListingSerializer):
    """A listing in full."""

    tags = serializers.ListField(child=serializers.CharField())
    homepage = serializers.CharField()
    repository = serializers.CharField()
    readme = serializers.CharField(help_text="Markdown from a third party: sanitize it.")
    tools = ListedToolSerializer(many=True)
    versions = ListedVersionSerializer(many=True, help_text="The newest versions.")
    variables = VariableSerializer(many=True)
    problem = serializers.CharField(
        help_text="Why it cannot be installed: it requires a variable that Pegboard never sets."
    )
    files = serializers.ListField(child=serializers.CharField(), help_text="Of a skill.")
    source_kind = serializers.ChoiceField(CHOICES, allow_null=True)
    command = serializers.ListField(
        child=serializers.CharField(), allow_null=True, help_text="For admins."
    )
    endpoint = serializers.CharField(allow_null=True, help_text="For admins.")
    hosts = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="Hosts that it says it connects to. For admins.",
    )
    review = ListingReviewSerializer(allow_null=True, help_text="For admins.")


class SeenSerializer(StrictSerializer):
    """Digest of the texts that were reviewed."""

    seen = serializers.RegexField(
        r"^[0-9a-f]{64}$", help_text="`review.seen` of the listing, as it was looked up."
    )


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
    # True for an admin who has signed in, or whose own key may do what admins do.
    if not any(place.values()) and (
        has_scope(principal_of(request), ApiKey.Scope.ADMIN) and is_installation_admin(request)
    ):
        return Viewer(is_admin=True), values
    return Viewer(is_admin=False, caller=caller_of(request, **place)), values


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
