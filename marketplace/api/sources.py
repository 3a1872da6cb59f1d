"""Where the marketplace's listings come from, for admins: add, look, refresh, change, remove."""

from typing import Any

from django.db.models import Count, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.api.callers import installation_admin
from acl.api.serializers import Flag, Number, StrictSerializer, Text
from acl.models import ApiKey
from catalog.normalizing.reading import RefusedError
from catalog.outgoing.problems import EndpointNotAllowedError
from marketplace.models import Source
from marketplace.models.source import ADDED_KINDS
from marketplace.services.sources import (
    NotRefreshableError,
    SourceOfOursError,
    add_source,
    change_source,
    remove_source,
    request_refresh,
)
from marketplace.sources.problems import LocationNotAllowedError

MOST_HOURS = 8_760


class SourceSerializer(serializers.ModelSerializer[Source]):
    """A source, how it stands, and how far it is while it is being read."""

    listings = serializers.IntegerField(source="listing_count", help_text="How many it offers.")

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
    """Why an entry was not taken, or not wholly."""

    file = serializers.CharField()
    field = serializers.CharField()
    reason = serializers.CharField()


class SourceReportSerializer(serializers.Serializer[Any]):
    """What the last reading found."""

    created = serializers.IntegerField(default=0)
    changed = serializers.IntegerField(default=0)
    unchanged = serializers.IntegerField(default=0)
    held = serializers.IntegerField(default=0, help_text="New texts that an admin has to review.")
    vanished = serializers.IntegerField(default=0)
    complete = serializers.BooleanField(
        default=False, help_text="Whether the end was reached; otherwise nothing counts as gone."
    )
    defects = SourceDefectSerializer(many=True, default=list)


class SourceDetailSerializer(SourceSerializer):
    """A source with the report of its last reading."""

    report = SourceReportSerializer()

    class Meta(SourceSerializer.Meta):
        fields: tuple[str, ...] = (*SourceSerializer.Meta.fields, "report")


class AddSourceSerializer(StrictSerializer):
    """A new source."""

    kind = serializers.ChoiceField(ADDED_KINDS)
    location = Text(
        max_length=500,
        help_text="A public https address, or a path below a folder that the operator has opened.",
    )
    title = Text(max_length=200, required=False, default="", allow_blank=True)
    schedule_hours = Number(min_value=0, max_value=MOST_HOURS, default=24)


class ChangeSourceSerializer(StrictSerializer):
    """What of a source can be changed."""

    enabled = Flag(required=False)
    schedule_hours = Number(min_value=0, max_value=MOST_HOURS, required=False)


class SourcesView(APIView):
    """All sources, and new ones."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="list_sources",
        tags=["Marketplace"],
        summary="List sources",
        responses={200: SourceSerializer(many=True)},
    )
    def get(self, request: Request) -> Response:
        """By title. For admins themselves, or keys that are an admin's own."""
        installation_admin(request)
        return Response(SourceSerializer(_sources().defer("report"), many=True).data)

    @extend_schema(
        operation_id="add_source",
        tags=["Marketplace"],
        summary="Add a source",
        request=AddSourceSerializer,
        responses={201: SourceDetailSerializer},
    )
    def post(self, request: Request) -> Response:
        """It is read as soon as a worker comes to it."""
        admin = installation_admin(request)
        serializer = AddSourceSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        try:
            source = add_source(by=admin, **serializer.validated_data)
        except (EndpointNotAllowedError, LocationNotAllowedError) as refused:
            raise ValidationError({"location": f"{refused.code}: {refused}"}) from None
        except RefusedError as refused:
            raise ValidationError({"location": refused.reason}) from None
        return Response(SourceDetailSerializer(_one(source.slug)).data, status=201)


class SourceView(APIView):
    """One source."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="get_source",
        tags=["Marketplace"],
        summary="One source",
        responses={200: SourceDetailSerializer},
    )
    def get(self, request: Request, slug: str) -> Response:
        """With a line for every entry that was not taken, or not wholly."""
        installation_admin(request)
        return Response(SourceDetailSerializer(_one(slug)).data)

    @extend_schema(
        operation_id="change_source",
        tags=["Marketplace"],
        summary="Change a source",
        request=ChangeSourceSerializer,
        responses={200: SourceDetailSerializer},
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Switch it on or off, or have it read at other times."""
        admin, source = installation_admin(request), _one(slug)
        serializer = ChangeSourceSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        now = {"enabled": source.enabled, "schedule_hours": source.schedule_hours}
        try:
            change_source(by=admin, source=source, **{**now, **serializer.validated_data})
        except SourceOfOursError as refused:
            raise PermissionDenied(str(refused)) from None
        return Response(SourceDetailSerializer(_one(slug)).data)

    @extend_schema(
        operation_id="remove_source",
        tags=["Marketplace"],
        summary="Remove a source",
        responses={204: None},
    )
    def delete(self, request: Request, slug: str) -> Response:
        """Its listings go with it; what is installed stays."""
        admin, source = installation_admin(request), _one(slug)
        try:
            remove_source(by=admin, source=source)
        except SourceOfOursError as refused:
            raise PermissionDenied(str(refused)) from None
        return Response(status=204)


class RefreshSourceView(APIView):
    """Reading a source now."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="refresh_source",
        tags=["Marketplace"],
        summary="Refresh a source",
        request=None,
        responses={202: SourceDetailSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Asks for it; one that is under way already goes on. The source tells how far it is."""
        admin, source = installation_admin(request), _one(slug)
        try:
            request_refresh(by=admin, source=source)
        except NotRefreshableError as refused:
            raise PermissionDenied(str(refused)) from None
        return Response(SourceDetailSerializer(_one(slug)).data, status=202)


def _sources() -> QuerySet[Source]:
    return Source.objects.annotate(listing_count=Count("listings")).order_by("title", "pk")


def _one(slug: str) -> Source:
    return get_object_or_404(_sources(), slug=slug)
