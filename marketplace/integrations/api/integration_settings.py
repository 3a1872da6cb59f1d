"""REST endpoints for settings of integrations: limits of calls, marks, and people's own servers."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.problems import CONTENT_TYPE
from acl.web.request_callers import installation_admin
from acl.web.serializers import Flag, Number, ProblemSerializer, StrictSerializer
from catalog.access.grants import set_application_executes, set_requestable
from catalog.models import Integration
from discovery.calls.quotas import MOST_A_MINUTE, call_limits, set_call_limit
from marketplace.installs.own_servers import allow_own_servers, are_own_servers_allowed

# REST endpoint for an integration's limit of calls a minute, for admins.

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
        return _shown(get_object_or_404(Integration, slug=slug))

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
        return _shown(row)


def _shown(row: Integration) -> Response:
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
