"""The MCP registry's own API (v0.1), read only: what the caller may use, for MCP clients."""

from typing import Any

from django.http import Http404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from acl.http.caller_serializer import CallerSerializer
from acl.http.caller_view import CallerView
from acl.http.strict_serializer import Text
from marketplace.listings.served_registry import WantedServers, list_servers, versions_of

_NAME = OpenApiParameter(
    "name",
    OpenApiTypes.STR,
    OpenApiParameter.PATH,
    description="`pegboard/gmail`, its slash as `%2F` or as it is.",
)


class ServersQuerySerializer(CallerSerializer):
    """Which servers, and for whom."""

    cursor = Text(
        max_length=100, default="", allow_blank=True, help_text="`nextCursor` of the page before."
    )
    limit = serializers.IntegerField(min_value=1, max_value=100, default=30)
    search = Text(max_length=200, default="", allow_blank=True, help_text="A part of the name.")
    updated_since = serializers.DateTimeField(required=False, default=None)
    version = Text(
        max_length=80, default="", allow_blank=True, help_text="`latest`, or one version."
    )


class RegistryEntrySerializer(serializers.Serializer[Any]):
    """A server.json, and beside it what the registry says of it."""

    server = serializers.DictField()
    _meta = serializers.DictField()


class RegistryMetadataSerializer(serializers.Serializer[Any]):
    """How many entries this page has, and where the next one begins."""

    count = serializers.IntegerField()
    nextCursor = serializers.CharField(required=False)


class ServersSerializer(serializers.Serializer[Any]):
    """A page of servers."""

    servers = RegistryEntrySerializer(many=True)
    metadata = RegistryMetadataSerializer()


class ServersView(CallerView):
    """The list."""

    @extend_schema(
        operation_id="list_registry_servers",
        tags=["Registry"],
        summary="List servers, as an MCP registry does",
        parameters=[ServersQuerySerializer],
        responses={200: ServersSerializer},
    )
    def get(self, request: Request) -> Response:
        """Every integration of which the caller may use something, by name."""
        caller, wanted = self.asked(request, request.query_params.dict(), ServersQuerySerializer)
        page = list_servers(
            caller=caller, address=_address(request), wanted=WantedServers(**wanted)
        )
        return Response(_page(page.servers, page.next_cursor))


class VersionsView(CallerView):
    """One server's versions."""

    @extend_schema(
        operation_id="list_registry_versions",
        tags=["Registry"],
        summary="The versions of a server, as an MCP registry tells them",
        parameters=[_NAME, CallerSerializer],
        responses={200: ServersSerializer},
    )
    def get(self, request: Request, name: str) -> Response:
        """The one that is installed; 404 alike for an unknown server and somebody else's."""
        caller, _ = self.asked(request, request.query_params.dict(), CallerSerializer)
        found = versions_of(caller=caller, address=_address(request), name=name)
        if not found:
            raise Http404
        return Response(_page(found))


class VersionView(CallerView):
    """One version of one server."""

    @extend_schema(
        operation_id="get_registry_version",
        tags=["Registry"],
        summary="One version of a server, or the latest",
        parameters=[_NAME, CallerSerializer],
        responses={200: RegistryEntrySerializer},
    )
    def get(self, request: Request, name: str, version: str) -> Response:
        """By its number, or `latest`."""
        caller, _ = self.asked(request, request.query_params.dict(), CallerSerializer)
        found = versions_of(caller=caller, address=_address(request), name=name, version=version)
        if not found:
            raise Http404
        return Response(found[0])


def _address(request: Request) -> str:
    return request.build_absolute_uri(reverse("mcp"))


def _page(servers: tuple[dict[str, Any], ...], cursor: str = "") -> dict[str, Any]:
    metadata = {"count": len(servers)} | ({"nextCursor": cursor} if cursor else {})
    return {"servers": servers, "metadata": metadata}
