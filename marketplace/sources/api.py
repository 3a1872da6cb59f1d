"""REST endpoints of listing sources, for admins."""

from typing import Any

from django.db.models import Count, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.web.request_callers import installation_admin
from acl.web.serializers import Flag, Number, StrictSerializer, Text
from catalog.formats.files import RefusedError
from catalog.servers.net.address_check import EndpointNotAllowedError
from marketplace.models import Source
from marketplace.offers.kinds.registry import ADDED_KINDS, CHOICES
from marketplace.offers.offer import LocationNotAllowedError
from marketplace.sources.subscriptions import (
    BuiltInSourceError,
    NotRefreshableError,
    add_source,
    change_source,
    remove_source,
    request_refresh,
)

MOST_HOURS = 8_760


class SourceSerializer(serializers.ModelSerializer[Source]):
    """A source with its state, and its progress while it is being read."""

    listings = serializers.IntegerField(
        source="listing_count", help_text="Number of listings that it offers."
    )

    kind = serializers.ChoiceField(CHOICES, read_only=True)
    location = serializers.CharField(
        source="worded_location",
        read_only=True,
        help_text="Whatever in it could be a secret is redacted.",
    )

    class Meta:
        model = Source
        fields: tuple[str, ...] = (
            "slug",
            "title",
            "kind",
            "location",
            "enabled",
            "schedule_hours",
            "state",
            "done",
            "total",
            "reason",
            "message",
            "listings",
            "tried_at",
            "refreshed_at",
        )
        read_only_fields = fields


class SourceDefectSerializer(serializers.Serializer[Any]):
    """A fault in an entry, with its reason."""

    file = serializers.CharField()
    field = serializers.CharField()
    reason = serializers.CharField()
    line = serializers.IntegerField(default=0, help_text="Of the file; 0 if it is not known.")


class SourceReportSerializer(serializers.Serializer[Any]):
    """The result of the last reading."""

    created = serializers.IntegerField(default=0)
    changed = serializers.IntegerField(default=0)
    unchanged = serializers.IntegerField(default=0)
    held = serializers.IntegerField(default=0, help_text="New texts that an admin has to review.")
    vanished = serializers.IntegerField(default=0)
    complete = serializers.BooleanField(
        default=False, help_text="Whether the whole source was read; otherwise nothing is removed."
    )
    defects = SourceDefectSerializer(many=True, default=list)


class SourceDetailSerializer(SourceSerializer):
    """A source with the report of its last reading."""

    report = SourceReportSerializer()

    class Meta(SourceSerializer.Meta):
        fields: tuple[str, ...] = (*SourceSerializer.Meta.fields, "report")


class AddSourceSerializer(StrictSerializer):
    """Fields of a new source."""

    kind = serializers.ChoiceField(ADDED_KINDS)
    location = Text(
        max_length=500,
        help_text="A public https address, or a path below a folder that the operator has allowed.",
    )
    title = Text(max_length=200, required=False, default="", allow_blank=True)
    schedule_hours = Number(min_value=0, max_value=MOST_HOURS, default=24)


class ChangeSourceSerializer(StrictSerializer):
    """Fields of a source that can be changed."""

    enabled = Flag(required=False)
    schedule_hours = Number(min_value=0, max_value=MOST_HOURS, required=False)


class SourcesView(APIView):
    """Sources: list and add."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="list_sources",
        tags=["Marketplace"],
        summary="List sources",
        responses={200: SourceSerializer(many=True)},
    )
    def get(self, request: Request) -> Response:
        """Return sources by title. Requires an admin or an admin's own key."""
        installation_admin(request)
        return Response(SourceSerializer(_query_sources().defer("report"), many=True).data)

    @extend_schema(
        operation_id="add_source",
        tags=["Marketplace"],
        summary="Add a source",
        request=AddSourceSerializer,
        responses={201: SourceDetailSerializer},
    )
    def post(self, request: Request) -> Response:
        """Add a source. A worker then reads it in the background."""
        admin = installation_admin(request)
        serializer = AddSourceSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        try:
            source = add_source(by=admin, **serializer.validated_data)
        except (EndpointNotAllowedError, LocationNotAllowedError) as refused:
            raise ValidationError({"location": f"{refused.code}: {refused}"}) from None
        except RefusedError as refused:
            raise ValidationError({"location": refused.reason}) from None
        return Response(SourceDetailSerializer(_get_source(source.slug)).data, status=201)


class SourceView(APIView):
    """A source: look up, change and remove."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="get_source",
        tags=["Marketplace"],
        summary="Get a source",
        responses={200: SourceDetailSerializer},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the source with the defects of its last reading."""
        installation_admin(request)
        return Response(SourceDetailSerializer(_get_source(slug)).data)

    @extend_schema(
        operation_id="change_source",
        tags=["Marketplace"],
        summary="Change a source",
        request=ChangeSourceSerializer,
        responses={200: SourceDetailSerializer},
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Enable or disable a source, or change its schedule."""
        admin, source = installation_admin(request), _get_source(slug)
        serializer = ChangeSourceSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        now = {"enabled": source.enabled, "schedule_hours": source.schedule_hours}
        try:
            change_source(by=admin, source=source, **{**now, **serializer.validated_data})
        except BuiltInSourceError as refused:
            raise PermissionDenied(str(refused)) from None
        return Response(SourceDetailSerializer(_get_source(slug)).data)

    @extend_schema(
        operation_id="remove_source",
        tags=["Marketplace"],
        summary="Remove a source",
        responses={204: None},
    )
    def delete(self, request: Request, slug: str) -> Response:
        """Remove a source and its listings. Installed integrations stay."""
        admin, source = installation_admin(request), _get_source(slug)
        try:
            remove_source(by=admin, source=source)
        except BuiltInSourceError as refused:
            raise PermissionDenied(str(refused)) from None
        return Response(status=204)


class RefreshSourceView(APIView):
    """Requests to read a source now."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="refresh_source",
        tags=["Marketplace"],
        summary="Refresh a source",
        request=None,
        responses={202: SourceDetailSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Queue a reading, unless one is under way. The source shows its progress."""
        admin, source = installation_admin(request), _get_source(slug)
        try:
            request_refresh(by=admin, source=source)
        except NotRefreshableError as refused:
            raise PermissionDenied(str(refused)) from None
        return Response(SourceDetailSerializer(_get_source(slug)).data, status=202)


def _query_sources() -> QuerySet[Source]:
    return Source.objects.annotate(listing_count=Count("listings")).order_by("title", "pk")


def _get_source(slug: str) -> Source:
    return get_object_or_404(_query_sources(), slug=slug)
