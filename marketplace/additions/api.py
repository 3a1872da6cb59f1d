"""REST endpoints to add anything, for admins."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.problems import CONTENT_TYPE, refusals_as_problems
from acl.web.request_callers import installation_admin
from acl.web.serializers import ProblemSerializer, StrictSerializer, Text
from catalog.servers.net.address_check import EndpointNotAllowedError
from marketplace.additions.recognition import LONGEST_DOCUMENT, NotRecognisedError
from marketplace.additions.requests import add
from marketplace.listings.details import list_operations
from marketplace.models import Addition, Listing

_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404)}


def _invalid(refused: Exception) -> serializers.ValidationError:
    return serializers.ValidationError({"what": [str(refused)]})


class AddSerializer(StrictSerializer):
    """Something to add, and its name."""

    what = Text(
        max_length=LONGEST_DOCUMENT,
        help_text="An address, a package, a command, a client's JSON, a skill, or an API.",
    )
    name = Text(max_length=60, required=False, default="", allow_blank=True)
    index = serializers.ChoiceField(
        ["", "pypi", "npm"], default="", help_text="Where a bare package name is meant."
    )
    address = Text(
        max_length=500,
        required=False,
        default="",
        allow_blank=True,
        help_text="Of the API, if its document says none.",
    )


class OperationSerializer(serializers.Serializer[Any]):
    """An operation to choose."""

    name = serializers.CharField()
    method = serializers.CharField()
    path = serializers.CharField()
    summary = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())


class AdditionSerializer(serializers.ModelSerializer[Addition]):
    """An addition: its kind, its state, and its listing."""

    id = serializers.UUIDField(source="public_id")
    operations = serializers.SerializerMethodField(
        help_text="Those of an API, to choose from when it is installed."
    )

    class Meta:
        model = Addition
        fields: tuple[str, ...] = (
            "id", "what", "name", "state", "reason", "message", "listing", "operations",
            "created_at",
        )  # fmt: skip
        read_only_fields = fields

    def get_operations(self, row: Addition) -> list[dict[str, Any]]:
        """Return the operations of the listing's document."""
        listing = Listing.objects.filter(slug=row.listing).first() if row.listing else None
        operations = list_operations(listing) if listing else []
        return list(OperationSerializer(operations, many=True).data)


class AdditionsView(AdminView):
    """Additions: add what was pasted."""

    @extend_schema(
        operation_id="add_anything",
        tags=["Installations"],
        summary="Add anything",
        request=AddSerializer,
        responses={202: AdditionSerializer(many=True), **_PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Recognise it, and look at it in the background. What becomes ready is a listing, which
        is installed like any other."""
        serializer = AddSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        refusals = {NotRecognisedError: _invalid, EndpointNotAllowedError: _invalid}
        with refusals_as_problems(refusals):
            rows = add(
                by=installation_admin(request),
                text=data["what"],
                name=data["name"],
                index=data["index"],
                api_address=data["address"],
            )
        return Response(AdditionSerializer(rows, many=True).data, status=202)


class AdditionView(AdminView):
    """An addition by its id."""

    @extend_schema(
        operation_id="get_addition",
        tags=["Installations"],
        summary="Get an addition",
        responses={200: AdditionSerializer, **_PROBLEMS},
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """Return what it is. Poll until its state is no longer `looking`."""
        return Response(AdditionSerializer(get_object_or_404(Addition, public_id=pk)).data)
