"""REST endpoint for the switch of people's own servers."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.problems import CONTENT_TYPE
from acl.web.request_callers import installation_admin
from acl.web.serializers import Flag, ProblemSerializer, StrictSerializer
from catalog.models import Integration
from marketplace.installs.own_servers import allow_own_servers, are_own_servers_allowed

_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403)}


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
        responses={200: OwnServersSerializer, **_PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """Return the switch."""
        installation_admin(request)
        return _shown()

    @extend_schema(
        operation_id="change_own_servers",
        tags=["Integrations"],
        summary="Set whether people may add servers of their own",
        request=ChangeOwnServersSerializer,
        responses={200: OwnServersSerializer, **_PROBLEMS},
    )
    def put(self, request: Request) -> Response:
        """Allow or forbid people to add servers of their own. Those that are there stay."""
        by = installation_admin(request)
        serializer = ChangeOwnServersSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        allow_own_servers(by=by, allowed=serializer.validated_data["allowed"])
        return _shown()


def _shown() -> Response:
    number = Integration.objects.exclude(owner=None).count()
    return Response({"allowed": are_own_servers_allowed(), "servers": number})
