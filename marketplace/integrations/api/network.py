"""REST endpoints for the network of a program, and for the allowed hosts of one's own network."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.problems import CONTENT_TYPE
from acl.web.request_callers import installation_admin
from acl.web.serializers import Flag, ProblemSerializer, StrictSerializer, Text
from catalog.models import Integration, OutgoingHost, PrivateHost
from catalog.servers.cell.allowed_hosts import MOST_CHARACTERS, MOST_HOSTS, NotAHostError
from catalog.servers.net.private_hosts import MOST_CHARACTERS as MOST_NAME_CHARACTERS
from catalog.servers.net.private_hosts import (
    HostRefusedError,
    allow_private_host,
    forget_private_host,
    list_private_hosts,
)
from catalog.servers.program_network import program_network, set_network

# REST endpoint for the network of an integration's program, for admins.

_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404)}


class TriedSerializer(serializers.ModelSerializer[OutgoingHost]):
    """Attempts of the program to reach one host."""

    class Meta:
        model = OutgoingHost
        fields = ("host", "allowed", "times", "last_at")


class NetworkSerializer(serializers.Serializer[Any]):
    """Allowed hosts of a program, and its attempts."""

    whole_network = serializers.BooleanField(source="whole")
    hosts = serializers.ListField(child=serializers.CharField())
    refused = TriedSerializer(many=True, help_text="Hosts that it tried to reach but may not.")
    tried = TriedSerializer(many=True, help_text="Hosts that it reached.")


class ChangeNetworkSerializer(StrictSerializer):
    """New network of a program."""

    whole_network = Flag(default=False)
    hosts = serializers.ListField(
        child=Text(max_length=MOST_CHARACTERS),
        max_length=MOST_HOSTS,
        help_text="The complete list, such as `api.example.com`, `api.example.com:8443`, "
        "`*.example.com` or `*`.",
    )


class NetworkView(AdminView):
    """The network of an integration's program."""

    @extend_schema(
        operation_id="program_network",
        tags=["Integrations"],
        summary="Get the network access of a program",
        responses={200: NetworkSerializer, **_PROBLEMS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the allowed hosts, and those that the program tried."""
        return _shown(_program_or_404(slug))

    @extend_schema(
        operation_id="change_program_network",
        tags=["Integrations"],
        summary="Set the network access of a program",
        request=ChangeNetworkSerializer,
        responses={200: NetworkSerializer, **_PROBLEMS},
    )
    def put(self, request: Request, slug: str) -> Response:
        """Replace the allowed hosts. The program is restarted before its next call."""
        row = _program_or_404(slug)
        serializer = ChangeNetworkSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        data = serializer.validated_data
        try:
            by = installation_admin(request)
            set_network(by=by, integration=row, whole=data["whole_network"], hosts=data["hosts"])
        except NotAHostError as problem:
            raise exceptions.ValidationError({"hosts": [str(problem)]}) from None
        return _shown(row)


def _program_or_404(slug: str) -> Integration:
    return get_object_or_404(Integration, slug=slug, transport="stdio")


def _shown(row: Integration) -> Response:
    return Response(NetworkSerializer(program_network(row)).data)


# REST endpoint for the allowed hosts of one's own network.

_HOST_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403)}


class AllowedHostSerializer(serializers.ModelSerializer[PrivateHost]):
    """A host allowed by an admin."""

    host = serializers.CharField(source="__str__", help_text="With its port: `localhost:8205`.")
    by = serializers.CharField(source="by.username", default=None, allow_null=True)

    class Meta:
        model = PrivateHost
        fields = ("host", "by", "created_at")
        read_only_fields = fields


class AllowHostSerializer(StrictSerializer):
    """A host of one's own network, with its port."""

    host = Text(
        max_length=MOST_NAME_CHARACTERS, help_text="Such as `localhost:8205` or `[::1]:8080`."
    )


class AllowedHostsView(AdminView):
    """Hosts at private addresses that Pegboard may reach, beside those of its settings."""

    @extend_schema(
        operation_id="list_allowed_hosts",
        tags=["Integrations"],
        summary="List the allowed hosts of one's own network",
        responses={200: AllowedHostSerializer(many=True), **_HOST_PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """Return the hosts that admins allowed."""
        installation_admin(request)
        return Response(AllowedHostSerializer(list_private_hosts(), many=True).data)

    @extend_schema(
        operation_id="allow_host",
        tags=["Integrations"],
        summary="Allow a host of one's own network",
        request=AllowHostSerializer,
        responses={200: AllowedHostSerializer, **_HOST_PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Allow a host at a port, also without TLS. Metadata services stay closed."""
        return Response(AllowedHostSerializer(_changed(request, allow_private_host)).data)

    @extend_schema(
        operation_id="close_host",
        tags=["Integrations"],
        summary="Close an allowed host again",
        parameters=[AllowHostSerializer],
        responses={204: None, **_HOST_PROBLEMS},
    )
    def delete(self, request: Request) -> Response:
        """Close a host again. One that was not allowed changes nothing."""
        _changed(request, forget_private_host)
        return Response(status=204)


def _changed(request: Request, change: Any) -> Any:
    by = installation_admin(request)
    is_body = request.method != "DELETE"
    data = request.data if is_body else request.query_params.dict()
    serializer = AllowHostSerializer(data=data)
    serializer.is_valid(raise_exception=True)
    try:
        return change(by=by, text=serializer.validated_data["host"])
    except HostRefusedError as refused:
        raise serializers.ValidationError({"host": [str(refused)]}) from refused
