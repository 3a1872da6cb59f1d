"""REST endpoints for settings of integrations: limits of calls, marks, networks, own servers."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.problems import CONTENT_TYPE
from acl.web.request_callers import installation_admin
from acl.web.serializers import Flag, Number, ProblemSerializer, StrictSerializer, Text
from catalog.access.grants import set_application_executes, set_requestable
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
from discovery.calls.quotas import MOST_A_MINUTE, call_limits, set_call_limit
from marketplace.installs.own_servers import allow_own_servers, are_own_servers_allowed

_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404)}


class CallLimitSerializer(serializers.Serializer[Any]):
    """An integration's limit."""

    calls_per_minute = serializers.IntegerField(help_text="0 is no limit.")


class ChangeCallLimitSerializer(StrictSerializer):
    """The new limit; 0 is none."""

    calls_per_minute = Number(min_value=0, max_value=MOST_A_MINUTE)


class CallLimitView(AdminView):
    """An integration's limit of calls a minute, of all callers together."""

    @extend_schema(
        operation_id="integration_call_limit",
        tags=["Integrations"],
        summary="Get an integration's limit of calls a minute",
        responses={200: CallLimitSerializer, **_PROBLEMS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the limit."""
        row = get_object_or_404(Integration, slug=slug)
        return Response({"calls_per_minute": call_limits().get(row.pk, 0)})

    @extend_schema(
        operation_id="change_integration_call_limit",
        tags=["Integrations"],
        summary="Set an integration's limit of calls a minute",
        request=ChangeCallLimitSerializer,
        responses={200: CallLimitSerializer, **_PROBLEMS},
    )
    def put(self, request: Request, slug: str) -> Response:
        """Set or remove the limit. Beyond it calls get 429 with `Retry-After`, and are not run."""
        row, serializer = (
            get_object_or_404(Integration, slug=slug),
            ChangeCallLimitSerializer(data=request.data),
        )
        serializer.is_valid(raise_exception=True)
        a_minute = serializer.validated_data["calls_per_minute"]
        set_call_limit(by=installation_admin(request), integration=row, a_minute=a_minute)
        return Response({"calls_per_minute": a_minute})


# REST endpoints for marks of an integration: who may ask for it, and who carries it out.


class RequestableSerializer(serializers.Serializer[Any]):
    """An integration's mark: everyone may see the names of its tools and ask for them."""

    requestable = serializers.BooleanField(
        help_text="Where nothing that a caller may use fits their message, they are told the names "
        "of its fitting tools, unless a rule denies them."
    )


class ChangeRequestableSerializer(StrictSerializer):
    """The new mark of an integration."""

    requestable = Flag()


class RequestableView(AdminView):
    """An integration's mark for requests by everyone."""

    @extend_schema(
        operation_id="integration_requestable",
        tags=["Integrations"],
        summary="Get whether everyone may ask for an integration",
        responses={200: RequestableSerializer, **_PROBLEMS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the mark."""
        return Response(RequestableSerializer(get_object_or_404(Integration, slug=slug)).data)

    @extend_schema(
        operation_id="change_integration_requestable",
        tags=["Integrations"],
        summary="Set whether everyone may ask for an integration",
        request=ChangeRequestableSerializer,
        responses={200: RequestableSerializer, **_PROBLEMS},
    )
    def put(self, request: Request, slug: str) -> Response:
        """Set or remove the mark. It gives nobody a right to use the tools."""
        row = get_object_or_404(Integration, slug=slug)
        serializer = ChangeRequestableSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        requestable = serializer.validated_data["requestable"]
        set_requestable(by=installation_admin(request), integration=row, requestable=requestable)
        row.refresh_from_db(fields=["requestable"])
        return Response(RequestableSerializer(row).data)


class ApplicationExecutesSerializer(serializers.Serializer[Any]):
    """An integration's mark: the chat application carries out its calls."""

    application_executes = serializers.BooleanField(
        help_text="Until an admin says so, tools that came with Pegboard as descriptions only are "
        "left out of My tools and of Risk."
    )


class ChangeApplicationExecutesSerializer(StrictSerializer):
    """The new mark of an integration."""

    application_executes = Flag()


class ApplicationExecutesView(AdminView):
    """An integration's mark: its calls are those of the chat application."""

    @extend_schema(
        operation_id="application_executes",
        tags=["Integrations"],
        summary="Get whether the chat application carries out an integration's calls",
        responses={200: ApplicationExecutesSerializer, **_PROBLEMS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the mark."""
        row = get_object_or_404(Integration, slug=slug)
        return Response(ApplicationExecutesSerializer(row).data)

    @extend_schema(
        operation_id="change_application_executes",
        tags=["Integrations"],
        summary="Set whether the chat application carries out an integration's calls",
        request=ChangeApplicationExecutesSerializer,
        responses={200: ApplicationExecutesSerializer, **_PROBLEMS},
    )
    def put(self, request: Request, slug: str) -> Response:
        """Set or remove the mark. It changes nothing for tools that run in Pegboard."""
        row = get_object_or_404(Integration, slug=slug)
        serializer = ChangeApplicationExecutesSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        executes = serializer.validated_data["application_executes"]
        set_application_executes(by=installation_admin(request), integration=row, executes=executes)
        row.refresh_from_db(fields=["application_executes"])
        return Response(ApplicationExecutesSerializer(row).data)


# The switch of people's own servers.

_OWN_SERVERS_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403)}


class OwnServersSerializer(serializers.Serializer[Any]):
    """The switch of people's own servers, and their number."""

    allowed = serializers.BooleanField()
    servers = serializers.IntegerField()


class ChangeOwnServersSerializer(StrictSerializer):
    """The new switch of people's own servers."""

    allowed = Flag()


class OwnServersView(AdminView):
    """People's own remote MCP servers: their calls only, reviewed as any other."""

    @extend_schema(
        operation_id="own_servers",
        tags=["Integrations"],
        summary="Get whether people may add servers of their own",
        responses={200: OwnServersSerializer, **_OWN_SERVERS_PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """Return the switch."""
        installation_admin(request)
        return _own_servers()

    @extend_schema(
        operation_id="change_own_servers",
        tags=["Integrations"],
        summary="Set whether people may add servers of their own",
        request=ChangeOwnServersSerializer,
        responses={200: OwnServersSerializer, **_OWN_SERVERS_PROBLEMS},
    )
    def put(self, request: Request) -> Response:
        """Allow or forbid people to add servers of their own. Those that are there stay."""
        by = installation_admin(request)
        serializer = ChangeOwnServersSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        allow_own_servers(by=by, allowed=serializer.validated_data["allowed"])
        return _own_servers()


def _own_servers() -> Response:
    number = Integration.objects.exclude(owner=None).count()
    return Response({"allowed": are_own_servers_allowed(), "servers": number})


# REST endpoint for the network of an integration's program, for admins.


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
        return Response(NetworkSerializer(program_network(_program_or_404(slug))).data)

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
        return Response(NetworkSerializer(program_network(row)).data)


def _program_or_404(slug: str) -> Integration:
    return get_object_or_404(Integration, slug=slug, transport="stdio")


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
