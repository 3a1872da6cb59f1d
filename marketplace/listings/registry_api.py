"""The MCP registry API (v0.1), with the integrations that the caller may use.

Admins publish by adding and installing; here they change an entry's status.
"""

from typing import Any

from django.http import Http404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from acl.http.api_views import AdminView, CallerSerializer, CallerView
from acl.http.problems import CONTENT_TYPE
from acl.http.request_callers import installation_admin
from acl.http.strict_serializer import ProblemSerializer, StrictSerializer, Text
from catalog.models import Integration
from marketplace.listings.served_registry import (
    ServersQuery,
    list_servers,
    set_registry_status,
    versions_of,
)

_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404)}

_NAME = OpenApiParameter(
    "name",
    OpenApiTypes.STR,
    OpenApiParameter.PATH,
    description="`pegboard/gmail`, its slash as `%2F` or as it is.",
)


class ServersQuerySerializer(CallerSerializer):
    """Query parameters of the server list."""

    cursor = Text(
        max_length=100, default="", allow_blank=True, help_text="`nextCursor` of the previous page."
    )
    limit = serializers.IntegerField(min_value=1, max_value=100, default=30)
    search = Text(max_length=200, default="", allow_blank=True, help_text="A part of the name.")
    updated_since = serializers.DateTimeField(required=False, default=None)
    version = Text(
        max_length=80, default="", allow_blank=True, help_text="`latest`, or one version."
    )


class RegistryEntrySerializer(serializers.Serializer[Any]):
    """A server.json with the registry's metadata."""

    server = serializers.DictField()
    _meta = serializers.DictField()


class RegistryMetadataSerializer(serializers.Serializer[Any]):
    """Number of entries on this page, and the cursor of the next page."""

    count = serializers.IntegerField()
    nextCursor = serializers.CharField(required=False)


class ServersSerializer(serializers.Serializer[Any]):
    """A page of servers."""

    servers = RegistryEntrySerializer(many=True)
    metadata = RegistryMetadataSerializer()


class ServersView(CallerView):
    """The list of servers."""

    @extend_schema(
        operation_id="list_registry_servers",
        tags=["Registry"],
        summary="List servers, as an MCP registry does",
        parameters=[ServersQuerySerializer],
        responses={200: ServersSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return integrations with at least one usable capability, by name."""
        caller, wanted = self.read_parameters(
            request, request.query_params.dict(), ServersQuerySerializer
        )
        page = list_servers(caller=caller, address=_address(request), wanted=ServersQuery(**wanted))
        return Response(_page(page.servers, page.next_cursor))


class VersionsView(CallerView):
    """Versions of one server."""

    @extend_schema(
        operation_id="list_registry_versions",
        tags=["Registry"],
        summary="List the versions of a server, as an MCP registry does",
        parameters=[_NAME, CallerSerializer],
        responses={200: ServersSerializer},
    )
    def get(self, request: Request, name: str) -> Response:
        """Return the installed version; 404 for unknown servers and for those of others."""
        caller, _ = self.read_parameters(request, request.query_params.dict(), CallerSerializer)
        found = versions_of(caller=caller, address=_address(request), name=name)
        if not found:
            raise Http404
        return Response(_page(found))


class VersionView(CallerView):
    """A version of a server."""

    @extend_schema(
        operation_id="get_registry_version",
        tags=["Registry"],
        summary="Get a version of a server, or the latest",
        parameters=[_NAME, CallerSerializer],
        responses={200: RegistryEntrySerializer},
    )
    def get(self, request: Request, name: str, version: str) -> Response:
        """Return a version by its number, or `latest`."""
        caller, _ = self.read_parameters(request, request.query_params.dict(), CallerSerializer)
        found = versions_of(caller=caller, address=_address(request), name=name, version=version)
        if not found:
            raise Http404
        return Response(found[0])


class ChangeStatusSerializer(StrictSerializer):
    """The new status of a server's entry."""

    status = serializers.ChoiceField(
        Integration.RegistryStatus.choices,
        help_text="`draft` is not listed, `deprecated` is listed as such. Rights stay as they are.",
    )


class StatusSerializer(serializers.Serializer[Any]):
    """The status of a server's entry."""

    status = serializers.CharField()


class StatusView(AdminView):
    """The status of a version of a server, for admins."""

    @extend_schema(
        operation_id="change_registry_status",
        tags=["Registry"],
        summary="Make a server's entry a draft, active or deprecated",
        parameters=[_NAME],
        request=ChangeStatusSerializer,
        responses={200: StatusSerializer, **_PROBLEMS},
    )
    def patch(self, request: Request, name: str, version: str) -> Response:
        """Change what the registry says of it; `latest` is the installed version."""
        wanted = ChangeStatusSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        by, status = installation_admin(request), wanted.validated_data["status"]
        try:
            row = set_registry_status(by=by, name=name, version=version, status=status)
        except Integration.DoesNotExist as unknown:
            raise Http404 from unknown
        return Response({"status": row.registry_status})


def _address(request: Request) -> str:
    return request.build_absolute_uri(reverse("mcp"))


def _page(servers: tuple[dict[str, Any], ...], cursor: str = "") -> dict[str, Any]:
    metadata = {"count": len(servers)} | ({"nextCursor": cursor} if cursor else {})
    return {"servers": servers, "metadata": metadata}
